/* arena.h: memory that is freed all at once.
 *
 * A session owns one arena; graphs, names, diagnostics and everything read from a file live in it and
 * go with it. Memory is zeroed. Running out of memory ends the process with a message (exit 1): no
 * caller checks for NULL. Sizes that come from a file are checked by the caller before they get here.
 *
 *     t2o_arena *a = t2o_arena_new();
 *     char *s = t2o_printf(a, "%s.%d", name, i);
 *     t2o_arena_free(a);
 */
#ifndef T2O_BASE_ARENA_H
#define T2O_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct t2o_arena t2o_arena;

t2o_arena *t2o_arena_new(void);
void t2o_arena_free(t2o_arena *arena);

/* size bytes, zeroed, aligned for any type. */
void *t2o_alloc(t2o_arena *arena, size_t size);

/* Text of n bytes with a NUL added. */
char *t2o_strndup(t2o_arena *arena, const char *text, size_t n);
char *t2o_strdup(t2o_arena *arena, const char *text);

char *t2o_printf(t2o_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *t2o_vprintf(t2o_arena *arena, const char *format, va_list args);

/* Bytes handed out so far. */
size_t t2o_arena_used(const t2o_arena *arena);

#define T2O_NEW(arena, type) ((type *)t2o_alloc((arena), sizeof(type)))
#define T2O_NEW_N(arena, type, n) ((type *)t2o_alloc((arena), sizeof(type) * (size_t)(n)))

#endif
