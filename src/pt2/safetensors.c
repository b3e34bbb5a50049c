/* safetensors.c: 8 bytes of header size, a header in JSON, and the data. */
#include "pt2/safetensors.h"

#include "pt2/json.h"

#define SIZE_FIELD 8
#define MAX_HEADER ((uint64_t)100 << 20) /* as the format's own library has it */

static bool read_shape(t2o_json_doc *d, const t2o_json *list, t2o_tensor *t)
{
    if (!t2o_json_array(d, list))
        return false;
    t->rank = t2o_json_count(list);
    if (t->rank > T2O_MAX_RANK)
        return t2o_json_fail(d, list, "a tensor of %u dimensions", t->rank);
    int64_t *dims = T2O_NEW_N(d->s->arena, int64_t, t->rank + 1);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v), i++) {
        if (!t2o_json_int(d, v, &dims[i]))
            return false;
        if (dims[i] < 0)
            return t2o_json_fail(d, v, "a negative size");
    }
    t->dims = dims;
    return true;
}

static bool read_place(t2o_json_doc *d, const t2o_json *offsets, const uint8_t *data, uint64_t size, t2o_tensor *t)
{
    int64_t begin, end;
    const t2o_json *first = t2o_json_array(d, offsets) ? t2o_json_first(offsets) : NULL;
    if (!first || !t2o_json_next(first))
        return t2o_failed(d->s) ? false : t2o_json_fail(d, offsets, "two offsets are due");
    if (!t2o_json_int(d, first, &begin) || !t2o_json_int(d, t2o_json_next(first), &end))
        return false;
    int64_t bytes = t2o_tensor_bytes(t);
    if (begin < 0 || end < begin || (uint64_t)end > size || bytes < 0 || end - begin != bytes)
        return t2o_fail(d->s, "E0503", "a tensor's offsets do not fit its size or the file");
    t->data = data + begin;
    t->available = (size_t)bytes;
    t->in_file = true;
    return true;
}

static bool read_tensor(t2o_json_doc *d, const t2o_json *entry, const uint8_t *data, uint64_t size, t2o_tensor *t)
{
    const char *dtype;
    if (!t2o_json_object(d, entry) || !t2o_json_text(d, t2o_json_get(d, entry, "dtype"), &dtype))
        return false;
    t->dtype = t2o_dtype_of_safetensors(dtype);
    if (t->dtype == T2O_NO_DTYPE)
        return t2o_json_fail(d, entry, "the dtype '%s' is not known", dtype);
    return read_shape(d, t2o_json_get(d, entry, "shape"), t) &&
           read_place(d, t2o_json_get(d, entry, "data_offsets"), data, size, t);
}

t2o_weight_list *t2o_safetensors_read(t2o_session *s, const t2o_file *file)
{
    uint64_t header = 0;
    for (size_t i = 0; i < SIZE_FIELD && i < file->size; i++)
        header |= (uint64_t)file->bytes[i] << (8 * i);
    if (file->size < SIZE_FIELD || header > MAX_HEADER || header > file->size - SIZE_FIELD) {
        t2o_fail(s, "E0503", "'%s' is no safetensors file, or is cut short", file->path);
        return NULL;
    }
    const uint8_t *data = file->bytes + SIZE_FIELD + header;
    t2o_json_doc *d = t2o_json_parse(s, file->path, file->bytes + SIZE_FIELD, (size_t)header);
    if (!d || !t2o_json_object(d, d->root))
        return NULL;
    t2o_weight_list *out = T2O_NEW(s->arena, t2o_weight_list);
    for (const t2o_json *v = t2o_json_first(d->root); v; v = t2o_json_next(v)) {
        if (!strcmp(t2o_json_key(v), "__metadata__"))
            continue;
        t2o_tensor *t = T2O_NEW(s->arena, t2o_tensor);
        *t = (t2o_tensor){ 0 };
        if (!read_tensor(d, v, data, file->size - SIZE_FIELD - header, t)) {
            t2o_note(s, "tensor '%s' in %s", t2o_json_key(v), file->path);
            return NULL;
        }
        t2o_weight w = { t2o_intern(s, t2o_json_key(v)), t, true };
        t2o_push(s->arena, out, w);
    }
    return out;
}
