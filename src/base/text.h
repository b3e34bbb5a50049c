/* text.h: text that is put together piece by piece; short ones need no memory until they are done.
 *
 *     t2o_string t;
 *     t2o_string_start(&t, s->arena);
 *     t2o_string_add(&t, "a");
 *     t2o_string_add_int(&t, 7);
 *     const char *done = t2o_string_end(&t);               a copy in the arena
 */
#ifndef T2O_BASE_TEXT_H
#define T2O_BASE_TEXT_H

#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>

typedef struct t2o_string {
    t2o_arena *arena;
    size_t n, cap;
    char *at;         /* where the text is: `brief`, or memory of the arena */
    char brief[1024];
} t2o_string;

void t2o_string_start(t2o_string *t, t2o_arena *arena);
void t2o_string_add(t2o_string *t, const char *s);
void t2o_string_add_n(t2o_string *t, const char *s, size_t n);
void t2o_string_add_int(t2o_string *t, int64_t number);
void t2o_string_addf(t2o_string *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void t2o_string_vaddf(t2o_string *t, const char *format, va_list args);
/* As a string of JSON, in quotes; bytes above 127 stay as they are. */
void t2o_string_add_json(t2o_string *t, const char *s, size_t n);
/* Names something by where it is. */
void t2o_string_add_address(t2o_string *t, const void *p);
const char *t2o_string_end(t2o_string *t);

#endif
