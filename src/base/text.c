/* text.c: text that grows by doubling. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void t2o_string_start(t2o_string *t, t2o_arena *arena)
{
    t->arena = arena;
    t->n = 0;
    t->cap = sizeof t->brief;
    t->at = t->brief;
}

void t2o_string_add_n(t2o_string *t, const char *s, size_t n)
{
    if (n > t->cap - t->n) {
        t->cap = 2 * t->cap + n;
        char *larger = t2o_alloc(t->arena, t->cap);
        memcpy(larger, t->at, t->n);
        t->at = larger;
    }
    memcpy(t->at + t->n, s, n);
    t->n += n;
}

void t2o_string_add(t2o_string *t, const char *s)
{
    t2o_string_add_n(t, s, strlen(s));
}

static void add_digits(t2o_string *t, uint64_t number, uint64_t base)
{
    char digits[20], *p = digits + sizeof digits;
    do
        *--p = "0123456789abcdef"[number % base];
    while (number /= base);
    t2o_string_add_n(t, p, (size_t)(digits + sizeof digits - p));
}

void t2o_string_add_int(t2o_string *t, int64_t number)
{
    if (number < 0)
        t2o_string_add_n(t, "-", 1);
    add_digits(t, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
}

void t2o_string_vaddf(t2o_string *t, const char *format, va_list args)
{
    va_list first;
    va_copy(first, args);
    int n = vsnprintf(t->at + t->n, t->cap - t->n, format, first);
    va_end(first);
    if (n > 0 && (size_t)n < t->cap - t->n)
        t->n += (size_t)n;
    else if (n > 0)
        t2o_string_add(t, t2o_vprintf(t->arena, format, args));
}

void t2o_string_addf(t2o_string *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t2o_string_vaddf(t, format, args);
    va_end(args);
}

void t2o_string_add_json(t2o_string *t, const char *s, size_t n)
{
    t2o_string_add_n(t, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            t2o_string_add_n(t, "\\", 1);
        if (c < ' ')
            t2o_string_addf(t, "\\u%04x", c);
        else
            t2o_string_add_n(t, s + i, 1);
    }
    t2o_string_add_n(t, "\"", 1);
}

void t2o_string_add_address(t2o_string *t, const void *p)
{
    add_digits(t, (uintptr_t)p, 16);
}

const char *t2o_string_end(t2o_string *t)
{
    return t2o_strndup(t->arena, t->at, t->n);
}
