/* arena.c: chunks of growing size, handed out front to back. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_CHUNK ((size_t)64 << 10)
#define LARGEST_CHUNK ((size_t)4 << 20)
#define ALIGNMENT alignof(max_align_t)

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    bool mapped;
    alignas(max_align_t) char bytes[];
} chunk;

struct t2o_arena {
    chunk *first;
    size_t next_size, total;
};

static void *checked(void *p)
{
    if (!p) {
        fputs("t2o: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

/* Chunks of full size are filled one after the other: the system gives all their pages at once, which is faster than a
 * fault for each. */
static void *map_chunk(void)
{
    void *p = mmap(NULL, LARGEST_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

t2o_arena *t2o_arena_new(void)
{
    t2o_arena *arena = checked(calloc(1, sizeof *arena));
    arena->next_size = FIRST_CHUNK;
    return arena;
}

void t2o_arena_free(t2o_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->first; c;) {
        chunk *next = c->next;
        if (c->mapped)
            munmap(c, LARGEST_CHUNK);
        else
            free(c);
        c = next;
    }
    free(arena);
}

static chunk *add_chunk(t2o_arena *arena, size_t at_least)
{
    size_t size = arena->next_size;
    bool mapped = size == LARGEST_CHUNK && at_least <= size - sizeof(chunk);
    if (arena->next_size < LARGEST_CHUNK)
        arena->next_size *= 2;
    if (size < at_least)
        size = at_least;
    chunk *c = checked(mapped ? map_chunk() : calloc(1, sizeof *c + size));
    c->mapped = mapped;
    c->size = mapped ? size - sizeof *c : size;
    c->next = arena->first;
    arena->first = c;
    return c;
}

void *t2o_alloc(t2o_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        fputs("t2o: out of memory\n", stderr);
        exit(1);
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    chunk *c = arena->first;
    if (!c || c->size - c->used < size)
        c = add_chunk(arena, size);
    void *p = c->bytes + c->used;
    c->used += size;
    arena->total += size;
    return p;
}

char *t2o_strndup(t2o_arena *arena, const char *text, size_t n)
{
    char *copy = t2o_alloc(arena, n + 1);
    memcpy(copy, text, n);
    return copy;
}

char *t2o_strdup(t2o_arena *arena, const char *text)
{
    return t2o_strndup(arena, text, strlen(text));
}

char *t2o_vprintf(t2o_arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    char brief[128];
    int n = format ? vsnprintf(brief, sizeof brief, format, args) : 0;
    char *text = t2o_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
    if (n >= (int)sizeof brief)
        vsnprintf(text, (size_t)n + 1, format, again);
    else if (n > 0)
        memcpy(text, brief, (size_t)n);
    va_end(again);
    return text;
}

char *t2o_printf(t2o_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = t2o_vprintf(arena, format, args);
    va_end(args);
    return text;
}

size_t t2o_arena_used(const t2o_arena *arena)
{
    return arena->total;
}
