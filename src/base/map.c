/* map.c: open addressing over an array of entries in order of insertion. */
#include "base/map.h"

#include <string.h>

/* FNV-1a, 64 bits. */
uint64_t t2o_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static t2o_map_entry *find(const t2o_map *map, const char *key, size_t n, uint64_t hash)
{
    if (!map->n_slots)
        return NULL;
    for (size_t i = hash & (map->n_slots - 1);; i = (i + 1) & (map->n_slots - 1)) {
        uint32_t slot = map->slots[i];
        if (!slot)
            return NULL;
        t2o_map_entry *e = &map->entries[slot - 1];
        if (e->hash == hash && !strncmp(e->key, key, n) && !e->key[n])
            return e;
    }
}

static void put_slot(t2o_map *map, uint64_t hash, size_t index)
{
    size_t i = hash & (map->n_slots - 1);
    while (map->slots[i])
        i = (i + 1) & (map->n_slots - 1);
    map->slots[i] = (uint32_t)index + 1;
}

static void grow(t2o_arena *arena, t2o_map *map)
{
    size_t cap = map->cap ? map->cap * 2 : 16;
    t2o_map_entry *entries = T2O_NEW_N(arena, t2o_map_entry, cap);
    if (map->n)
        memcpy(entries, map->entries, map->n * sizeof *entries);
    map->entries = entries;
    map->cap = cap;
    map->n_slots = cap * 2;
    map->slots = T2O_NEW_N(arena, uint32_t, map->n_slots);
    for (size_t i = 0; i < map->n; i++)
        put_slot(map, map->entries[i].hash, i);
}

void *t2o_map_getn(const t2o_map *map, const char *key, size_t n)
{
    t2o_map_entry *e = find(map, key, n, t2o_hash(key, n));
    return e ? e->value : NULL;
}

void *t2o_map_get(const t2o_map *map, const char *key)
{
    return t2o_map_getn(map, key, strlen(key));
}

void *t2o_map_set(t2o_arena *arena, t2o_map *map, const char *key, void *value)
{
    size_t n = strlen(key);
    uint64_t hash = t2o_hash(key, n);
    t2o_map_entry *e = find(map, key, n, hash);
    if (e) {
        void *before = e->value;
        e->value = value;
        return before;
    }
    if (map->n == map->cap)
        grow(arena, map);
    map->entries[map->n] = (t2o_map_entry){ key, value, hash };
    put_slot(map, hash, map->n++);
    return NULL;
}
