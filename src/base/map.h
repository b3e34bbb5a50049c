/* map.h: a hash map from text to a pointer, in an arena.
 *
 * Keys are compared by content and are not copied: they must live as long as the map (interned text does).
 * Iteration is in order of insertion. There is no removal; a value may be set to NULL.
 *
 *     t2o_map m = {0};
 *     t2o_map_set(arena, &m, "conv1.weight", tensor);
 *     tensor = t2o_map_get(&m, "conv1.weight");
 *     for (size_t i = 0; i < m.n; i++) use(m.entries[i].key, m.entries[i].value);
 */
#ifndef T2O_BASE_MAP_H
#define T2O_BASE_MAP_H

#include "base/arena.h"

#include <stdint.h>

typedef struct t2o_map_entry {
    const char *key;
    void *value;
    uint64_t hash;
} t2o_map_entry;

typedef struct t2o_map {
    t2o_map_entry *entries;
    size_t n, cap;
    uint32_t *slots; /* index + 1 into entries */
    size_t n_slots;
} t2o_map;

/* NULL where the key is absent. */
void *t2o_map_get(const t2o_map *map, const char *key);
void *t2o_map_getn(const t2o_map *map, const char *key, size_t n);

/* Sets or replaces; returns what stood there before, or NULL. */
void *t2o_map_set(t2o_arena *arena, t2o_map *map, const char *key, void *value);

uint64_t t2o_hash(const void *bytes, size_t n);

#endif
