/* safetensors.c: 8 bytes of header size, a header in JSON, and the data. */
#include "python/python.h"

#include <stdlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors is little endian; this writer does not swap bytes"
#endif

/* A weight, its place among those that were given, and its place in the file. */
typedef struct entry {
    const t2o_weight *weight;
    size_t index;
    uint64_t offset;
} entry;

static int by_size(const void *a, const void *b)
{
    const t2o_weight *x = ((const entry *)a)->weight, *y = ((const entry *)b)->weight;
    size_t m = t2o_dtype_size(x->data->dtype), n = t2o_dtype_size(y->data->dtype);
    return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

/* "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} */
static bool add_entry(t2o_session *s, t2o_string *to, const t2o_weight *w, uint64_t *offset)
{
    const char *dtype = t2o_dtype_safetensors(w->data->dtype);
    int64_t bytes = t2o_tensor_bytes(w->data);
    if (!dtype)
        return t2o_fail(s, "E0101", "safetensors has no element type for '%s' (%s)", w->name,
                        t2o_dtype_name(w->data->dtype));
    if (bytes < 0 || (bytes && !w->data->data))
        return t2o_fail(s, "E0507", "the archive holds no data for '%s'", w->name);
    uint64_t end = *offset + (uint64_t)bytes;
    t2o_string_add_json(to, w->name, strlen(w->name));
    t2o_string_addf(to, ":{\"dtype\":\"%s\",\"shape\":[", dtype);
    for (uint32_t i = 0; i < w->data->rank; i++)
        t2o_string_addf(to, "%s%lld", i ? "," : "", (long long)w->data->dims[i]);
    t2o_string_addf(to, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*offset, (unsigned long long)end);
    *offset = end;
    return true;
}

static void take_block(void *out, const void *bytes, size_t n)
{
    t2o_output_write(out, bytes, n);
}

#define BEGINNING "{\"__metadata__\":{\"format\":\"pt\""
#define SOURCE ",\"t2o.source\":\""

const char *t2o_safetensors_source(t2o_session *s, const t2o_file *file)
{
    static const char known[] = BEGINNING SOURCE;
    size_t at = 8 + strlen(known);
    if (file->size < at || memcmp(file->bytes + 8, known, strlen(known)))
        return NULL;
    const uint8_t *end = memchr(file->bytes + at, '"', file->size - at);
    return end ? t2o_strndup(s->arena, (const char *)file->bytes + at, (size_t)(end - file->bytes) - at) : NULL;
}

/* The weights in the order of the file, and its header; NULL after an error. */
static const entry *lay_out(t2o_session *s, const t2o_weight_list *weights, const char *source, t2o_string *header)
{
    entry *sorted = T2O_NEW_N(s->arena, entry, weights->n + 1);
    uint64_t offset = 0;
    for (size_t i = 0; i < weights->n; i++)
        sorted[i] = (entry){ &weights->at[i], i, 0 };
    qsort(sorted, weights->n, sizeof *sorted, by_size);
    t2o_string_add(header, "........"); /* the size comes here */
    t2o_string_add(header, BEGINNING);
    if (source)
        t2o_string_addf(header, SOURCE "%s\"", source);
    t2o_string_add(header, "}");
    for (size_t i = 0; i < weights->n; i++) {
        sorted[i].offset = offset;
        t2o_string_add(header, ",");
        if (!add_entry(s, header, sorted[i].weight, &offset))
            return NULL;
    }
    t2o_string_add(header, "}");
    while (header->n % 8)
        t2o_string_add(header, " "); /* so that the data are aligned */
    uint64_t size = header->n - 8;
    memcpy(header->at, &size, sizeof size);
    return sorted;
}

bool t2o_safetensors_layout(t2o_session *s, const t2o_weight_list *weights, t2o_string *header, uint64_t *offsets)
{
    const entry *sorted = lay_out(s, weights, NULL, header);
    for (size_t i = 0; sorted && i < weights->n; i++)
        offsets[sorted[i].index] = header->n + sorted[i].offset;
    return sorted != NULL;
}

bool t2o_safetensors_write(t2o_session *s, const t2o_weight_list *weights, const char *source, t2o_output *out)
{
    t2o_string header;
    t2o_string_start(&header, s->arena);
    const entry *sorted = lay_out(s, weights, source, &header);
    if (!sorted)
        return false;
    t2o_output_write(out, header.at, header.n);
    for (size_t i = 0; i < weights->n; i++)
        t2o_tensor_blocks(sorted[i].weight->data, take_block, out);
    return true;
}
