/* digest.h: a fast digest of 128 bits that tells contents apart. It is no protection against someone who looks for
 * equal ones.
 *
 *     t2o_digest h = t2o_digest_start();
 *     t2o_digest_text(&h, name);
 *     t2o_digest_bytes(&h, bytes, n);                         its length counts: "ab" + "c" is not "a" + "bc"
 *     const char *text = t2o_digest_hex(s->arena, &h);
 */
#ifndef T2O_BASE_DIGEST_H
#define T2O_BASE_DIGEST_H

#include "base/arena.h"

#include <stdint.h>

typedef struct t2o_digest {
    uint64_t a, b;
} t2o_digest;

t2o_digest t2o_digest_start(void);
void t2o_digest_bytes(t2o_digest *h, const void *bytes, size_t n);
void t2o_digest_number(t2o_digest *h, uint64_t number);
/* NULL is not the empty text. */
void t2o_digest_text(t2o_digest *h, const char *text);
/* 32 digits, in the arena. */
const char *t2o_digest_hex(t2o_arena *arena, const t2o_digest *h);

#endif
