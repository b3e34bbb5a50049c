/* safetensors.c: 8 bytes of header size, a header in JSON, and the data. */
#include "python/python.h"

#include <stdlib.h>

#define BLOCK 65536 /* bytes of a strided tensor that are gathered at a time */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors is little endian; this writer does not swap bytes"
#endif

typedef T2O_VEC(char) text_buffer;

static void add_text(t2o_session *s, text_buffer *to, const char *text)
{
    for (; *text; text++)
        t2o_push(s->arena, to, *text);
}

static void add_quoted(t2o_session *s, text_buffer *to, const char *text)
{
    t2o_push(s->arena, to, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            t2o_push(s->arena, to, '\\');
        if ((unsigned char)*text < ' ')
            add_text(s, to, t2o_printf(s->arena, "\\u%04x", (unsigned)*text));
        else
            t2o_push(s->arena, to, *text);
    }
    t2o_push(s->arena, to, '"');
}

static int by_size(const void *a, const void *b)
{
    const t2o_weight *x = a, *y = b;
    size_t m = t2o_dtype_size(x->data->dtype), n = t2o_dtype_size(y->data->dtype);
    return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

/* "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} */
static bool add_entry(t2o_session *s, text_buffer *to, const t2o_weight *w, uint64_t *offset)
{
    const char *dtype = t2o_dtype_safetensors(w->data->dtype);
    int64_t bytes = t2o_tensor_bytes(w->data);
    if (!dtype)
        return t2o_fail(s, "E0101", "safetensors has no element type for '%s' (%s)", w->name,
                        t2o_dtype_name(w->data->dtype));
    if (bytes < 0 || (bytes && !w->data->data))
        return t2o_fail(s, "E0507", "the archive holds no data for '%s'", w->name);
    uint64_t end = *offset + (uint64_t)bytes;
    add_quoted(s, to, w->name);
    add_text(s, to, t2o_printf(s->arena, ":{\"dtype\":\"%s\",\"shape\":[", dtype));
    for (uint32_t i = 0; i < w->data->rank; i++)
        add_text(s, to, t2o_printf(s->arena, "%s%lld", i ? "," : "", (long long)w->data->dims[i]));
    add_text(s, to, t2o_printf(s->arena, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*offset,
                               (unsigned long long)end));
    *offset = end;
    return true;
}

static void write_data(const t2o_tensor *t, t2o_output *out)
{
    if (t2o_tensor_contiguous(t)) {
        t2o_output_write(out, t->data, (size_t)t2o_tensor_bytes(t));
        return;
    }
    uint8_t block[BLOCK];
    int64_t n = t2o_tensor_count(t), size = (int64_t)t2o_dtype_size(t->dtype), step = BLOCK / size;
    for (int64_t first = 0; first < n; first += step) {
        int64_t count = n - first < step ? n - first : step;
        t2o_tensor_read(t, first, count, block);
        t2o_output_write(out, block, (size_t)(count * size));
    }
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

bool t2o_safetensors_write(t2o_session *s, const t2o_weight_list *weights, const char *source, t2o_output *out)
{
    text_buffer header = { 0 };
    uint64_t offset = 0;
    t2o_weight *sorted = T2O_NEW_N(s->arena, t2o_weight, weights->n + 1);
    for (size_t i = 0; i < weights->n; i++)
        sorted[i] = weights->at[i];
    qsort(sorted, weights->n, sizeof *sorted, by_size);
    add_text(s, &header, BEGINNING);
    if (source)
        add_text(s, &header, t2o_printf(s->arena, SOURCE "%s\"", source));
    t2o_push(s->arena, &header, '}');
    for (size_t i = 0; i < weights->n; i++) {
        t2o_push(s->arena, &header, ',');
        if (!add_entry(s, &header, &sorted[i], &offset))
            return false;
    }
    t2o_push(s->arena, &header, '}');
    while (header.n % 8)
        t2o_push(s->arena, &header, ' '); /* so that the data are aligned */
    uint64_t size = header.n;
    t2o_output_write(out, &size, sizeof size);
    t2o_output_write(out, header.at, header.n);
    for (size_t i = 0; i < weights->n; i++)
        write_data(sorted[i].data, out);
    return true;
}
