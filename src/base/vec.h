/* vec.h: growing arrays in an arena.
 *
 *     T2O_VEC(int) v = {0};
 *     t2o_push(arena, &v, 3);
 *     for (size_t i = 0; i < v.n; i++) use(v.at[i]);
 *
 * Growth copies the elements to a new place: a pointer to an element is good until the next push.
 */
#ifndef T2O_BASE_VEC_H
#define T2O_BASE_VEC_H

#include "base/arena.h"

#include <string.h>

#define T2O_VEC(type) struct { type *at; size_t n, cap; }

static inline void *t2o_vec_grow(t2o_arena *arena, void *old, size_t n, size_t *cap, size_t item)
{
    *cap = *cap ? *cap * 2 : 8;
    void *grown = t2o_alloc(arena, *cap * item);
    if (n)
        memcpy(grown, old, n * item);
    return grown;
}

#define t2o_push(arena, v, item)                                                                   \
    do {                                                                                           \
        if ((v)->n == (v)->cap)                                                                    \
            (v)->at = t2o_vec_grow((arena), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at);          \
        (v)->at[(v)->n++] = (item);                                                                \
    } while (0)

#endif
