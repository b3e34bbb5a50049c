/* digest.c: 16 bytes at a time, each half multiplied to 128 bits and folded. */
#include "base/digest.h"

#include <string.h>

#define PRIME_A 0x9e3779b97f4a7c55u
#define PRIME_B 0xd1342543de82ef95u

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t x, uint64_t y)
{
    wide product = (wide)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void mix(t2o_digest *h, uint64_t x, uint64_t y)
{
    uint64_t a = fold(h->a ^ x, PRIME_A), b = fold(h->b ^ y, PRIME_B);
    h->a = a + (b << 31 | b >> 33);
    h->b = b ^ h->a;
}

t2o_digest t2o_digest_start(void)
{
    return (t2o_digest){ PRIME_B, PRIME_A };
}

void t2o_digest_number(t2o_digest *h, uint64_t number)
{
    mix(h, number, 8);
}

void t2o_digest_bytes(t2o_digest *h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t left = n;
    uint64_t half[2];
    for (; left >= 16; p += 16, left -= 16) {
        memcpy(half, p, 16);
        mix(h, half[0], half[1]);
    }
    half[0] = half[1] = 0;
    if (left)
        memcpy(half, p, left);
    mix(h, half[0], half[1]);
    mix(h, n, left);
}

void t2o_digest_text(t2o_digest *h, const char *text)
{
    t2o_digest_bytes(h, text ? text : "", text ? strlen(text) : 0);
    t2o_digest_number(h, text != NULL);
}

const char *t2o_digest_hex(t2o_arena *arena, const t2o_digest *h)
{
    t2o_digest end = *h;
    for (int i = 0; i < 3; i++)
        mix(&end, h->b, h->a);
    return t2o_printf(arena, "%016llx%016llx", (unsigned long long)end.a, (unsigned long long)end.b);
}
