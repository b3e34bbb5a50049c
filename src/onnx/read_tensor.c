/* read_tensor.c: TensorProto and SparseTensorProto: raw bytes where they are, typed fields decoded, external data. */
#include "onnx/read.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_DENSE ((int64_t)1 << 30) /* bytes that a sparse tensor may become */
#define SMALL 1024 /* bytes up to which data are copied: such a constant is one that rules may fold */

enum { /* fields of TensorProto */
    DIMS = 1, DATA_TYPE = 2, SEGMENT = 3, FLOAT_DATA = 4, INT32_DATA = 5, STRING_DATA = 6, INT64_DATA = 7, NAME = 8,
    RAW_DATA = 9, DOUBLE_DATA = 10, UINT64_DATA = 11, EXTERNAL_DATA = 13, DATA_LOCATION = 14,
};

/* What a TensorProto says, but for its typed data. */
typedef struct proto {
    const char *what; /* for messages */
    t2o_slice bytes, raw;
    t2o_tensor *t;
    bool has_raw, is_external;
    t2o_props external;
} proto;

bool t2o_read_entry(t2o_reader *r, t2o_slice bytes, t2o_prop *entry)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    *entry = (t2o_prop){ "", "" };
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (f.type == T2O_WIRE_BYTES && (f.number == 1 || f.number == 2)) {
            /* texts for people: what is behind a zero byte is not kept */
            const char *text = t2o_strndup(r->s->arena, (const char *)f.slice.bytes, f.slice.n);
            *(f.number == 1 ? &entry->key : &entry->value) = text;
        }
    return t2o_read_whole(r, &w, "an entry of metadata");
}

/* ---- What is said of the tensor ---- */

static bool add_dims(t2o_reader *r, proto *p, const t2o_field *f, int64_t *dims)
{
    t2o_numbers numbers = t2o_wire_numbers(f, T2O_WIRE_VARINT);
    for (uint64_t dim; t2o_wire_number(&numbers, &dim);) {
        if (p->t->rank == T2O_MAX_RANK)
            return t2o_fail(r->s, "E0508", "%s has more than %d dimensions", p->what, T2O_MAX_RANK);
        dims[p->t->rank++] = (int64_t)dim;
    }
    return t2o_read_whole(r, &numbers.wire, p->what);
}

static bool read_head_field(t2o_reader *r, proto *p, const t2o_field *f, int64_t *dims, const char **name)
{
    t2o_prop entry;
    switch (f->number) {
    case DIMS: return add_dims(r, p, f, dims);
    case DATA_TYPE: return t2o_read_dtype(r, f->value, p->what, &p->t->dtype);
    case SEGMENT: return t2o_fail(r->s, "E0509", "%s is a segment of a tensor, which is not read", p->what);
    case NAME: return !name || (*name = t2o_read_text(r, f)) != NULL;
    case RAW_DATA: p->raw = f->slice; p->has_raw = true; return true;
    case DATA_LOCATION: p->is_external = f->value == 1; return true;
    case EXTERNAL_DATA:
        if (!t2o_read_entry(r, f->slice, &entry))
            return false;
        t2o_push(r->s->arena, &p->external, entry);
        return true;
    default: return true;
    }
}

static bool read_head(t2o_reader *r, proto *p, const char **name)
{
    int64_t *dims = T2O_NEW_N(r->s->arena, int64_t, T2O_MAX_RANK);
    t2o_wire w = t2o_wire_of(p->bytes.bytes, p->bytes.n);
    p->t = T2O_NEW(r->s->arena, t2o_tensor);
    p->t->dims = dims;
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (!read_head_field(r, p, &f, dims, name))
            return false;
    if (!t2o_read_whole(r, &w, p->what))
        return false;
    if (p->t->dtype == T2O_NO_DTYPE)
        return t2o_fail(r->s, "E0508", "%s has no element type", p->what);
    if (t2o_tensor_count(p->t) < 0 || t2o_onnx_tensor_size(p->t) < 0)
        return t2o_fail(r->s, "E0508", "%s has impossible dimensions", p->what);
    return true;
}

/* ---- Typed data ---- */

typedef struct typed {
    uint32_t field;     /* of TensorProto that holds elements of the dtype */
    t2o_wire_type item; /* of its numbers */
    size_t size;        /* bytes that each number stands for: of 64 bits of a complex one, its parts */
} typed;

static typed typed_field(t2o_dtype d)
{
    size_t size = t2o_dtype_size(d);
    switch (d) {
    case T2O_FLOAT32: case T2O_COMPLEX64: return (typed){ FLOAT_DATA, T2O_WIRE_FIXED32, 4 };
    case T2O_FLOAT64: case T2O_COMPLEX128: return (typed){ DOUBLE_DATA, T2O_WIRE_FIXED64, 8 };
    case T2O_INT64: return (typed){ INT64_DATA, T2O_WIRE_VARINT, 8 };
    case T2O_UINT32: case T2O_UINT64: return (typed){ UINT64_DATA, T2O_WIRE_VARINT, size };
    default: return (typed){ INT32_DATA, T2O_WIRE_VARINT, size ? size : 1 }; /* below a byte: packed into bytes */
    }
}

/* Appends the numbers of one field to the data, which has room for `bytes`. */
static bool add_numbers(t2o_reader *r, const proto *p, const t2o_field *f, const typed *as, uint8_t *data, size_t bytes,
                        size_t *used)
{
    t2o_numbers numbers = t2o_wire_numbers(f, as->item);
    for (uint64_t number; t2o_wire_number(&numbers, &number); *used += as->size) {
        if (*used + as->size > bytes)
            return t2o_fail(r->s, "E0508", "%s has more data than elements", p->what);
        memcpy(data + *used, &number, as->size); /* little endian */
    }
    return t2o_read_whole(r, &numbers.wire, p->what);
}

static bool too_little(t2o_reader *r, const proto *p)
{
    return t2o_fail(r->s, "E0507", "%s has less data than elements", p->what);
}

static bool read_numbers(t2o_reader *r, const proto *p, size_t bytes)
{
    typed as = typed_field(p->t->dtype);
    /* a number takes a byte at least, so no allocation is larger than eight times the file */
    if (bytes / as.size > p->bytes.n)
        return too_little(r, p);
    uint8_t *data = t2o_alloc(r->s->arena, bytes + 8);
    size_t used = 0;
    t2o_wire w = t2o_wire_of(p->bytes.bytes, p->bytes.n);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (f.number == as.field && !add_numbers(r, p, &f, &as, data, bytes, &used))
            return false;
    p->t->data = data;
    p->t->available = bytes;
    return used == bytes || too_little(r, p);
}

static bool read_strings(t2o_reader *r, const proto *p)
{
    size_t n = (size_t)t2o_tensor_count(p->t), used = 0;
    if (n > p->bytes.n)
        return too_little(r, p);
    t2o_text *data = T2O_NEW_N(r->s->arena, t2o_text, n + 1);
    t2o_wire w = t2o_wire_of(p->bytes.bytes, p->bytes.n);
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number != STRING_DATA || f.type != T2O_WIRE_BYTES)
            continue;
        if (used == n)
            return t2o_fail(r->s, "E0508", "%s has more data than elements", p->what);
        data[used++] = (t2o_text){ (const char *)f.slice.bytes, f.slice.n };
    }
    p->t->data = (const uint8_t *)data;
    p->t->available = n * sizeof *data;
    return used == n || too_little(r, p);
}

/* ---- Bytes ---- */

/* Data that lie in a mapped file; small ones are copied. */
static void take_bytes(t2o_reader *r, t2o_tensor *t, const uint8_t *bytes, size_t n)
{
    t->data = bytes;
    t->available = n;
    t->in_file = n > SMALL;
    if (t->in_file)
        return;
    uint8_t *copy = t2o_alloc(r->s->arena, n + 1);
    if (n)
        memcpy(copy, bytes, n);
    t->data = copy;
}

static const char *external_entry(const proto *p, const char *key)
{
    for (size_t i = 0; i < p->external.n; i++)
        if (!strcmp(p->external.at[i].key, key))
            return p->external.at[i].value;
    return NULL;
}

/* "weights/a.bin": no way out of the model's folder. */
static bool is_plain_path(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\'))
        return false;
    for (const char *p = path; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n == 2 && !strncmp(p, "..", 2))
            return false;
        p += n;
    }
    return true;
}

static t2o_file *external_file(t2o_reader *r, const proto *p, const char *location)
{
    t2o_file *known = t2o_map_get(&r->external, location);
    if (known)
        return known;
    const char *slash = strrchr(r->file->path, '/');
    const char *path = t2o_printf(r->s->arena, "%.*s%s", slash ? (int)(slash + 1 - r->file->path) : 0, r->file->path,
                                  location);
    t2o_file *file = t2o_file_map(r->s, path);
    if (!file) {
        t2o_note(r->s, "which holds the data of %s", p->what);
        return NULL;
    }
    t2o_file_close(file); /* there may be one for each weight */
    t2o_map_set(r->s->arena, &r->external, location, file);
    t2o_push(r->s->arena, &r->source->files, file);
    return file;
}

static bool read_offset(const char *text, uint64_t *value)
{
    char *end;
    if (!text)
        return true;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static bool read_external(t2o_reader *r, const proto *p, size_t bytes)
{
    const char *location = external_entry(p, "location");
    uint64_t offset = 0, length = bytes;
    if (!location || !is_plain_path(location))
        return t2o_fail(r->s, "E0508", "%s lies in '%s', which is no path below the model's folder", p->what,
                        location ? location : "");
    if (!read_offset(external_entry(p, "offset"), &offset) || !read_offset(external_entry(p, "length"), &length))
        return t2o_fail(r->s, "E0508", "%s has an offset or a length that is no number", p->what);
    t2o_file *file = external_file(r, p, location);
    if (!file)
        return false;
    if (length < bytes || offset > file->size || length > file->size - offset)
        return t2o_fail(r->s, "E0507", "%s needs %zu bytes at %llu of '%s', which has %zu", p->what, bytes,
                        (unsigned long long)offset, file->path, file->size);
    take_bytes(r, p->t, file->bytes + offset, bytes);
    return true;
}

static bool read_raw(t2o_reader *r, const proto *p, size_t bytes)
{
    if (p->raw.n < bytes)
        return too_little(r, p);
    if (p->raw.n > bytes)
        return t2o_fail(r->s, "E0508", "%s has more data than elements", p->what);
    take_bytes(r, p->t, p->raw.bytes, bytes);
    return true;
}

static bool read_data(t2o_reader *r, const proto *p)
{
    size_t bytes = (size_t)t2o_onnx_tensor_size(p->t);
    if (p->t->dtype == T2O_STRING)
        return p->has_raw || p->is_external
                   ? t2o_fail(r->s, "E0508", "%s holds strings as raw bytes", p->what)
                   : read_strings(r, p);
    if (p->is_external)
        return read_external(r, p, bytes);
    return p->has_raw ? read_raw(r, p, bytes) : read_numbers(r, p, bytes);
}

const t2o_tensor *t2o_read_tensor(t2o_reader *r, t2o_slice bytes, const char *what, const char **name)
{
    proto p = { .what = what, .bytes = bytes };
    if (name)
        *name = "";
    if (!read_head(r, &p, name))
        return NULL;
    if (name && **name)
        p.what = t2o_printf(r->s->arena, "tensor '%s'", *name);
    return read_data(r, &p) ? p.t : NULL;
}

/* ---- Sparse tensors ---- */

typedef struct sparse {
    const t2o_tensor *values, *indices;
    t2o_tensor *t;
    int64_t *dims;
} sparse;

/* The place of value i among the elements, or -1: indices are places, or a coordinate each. */
static int64_t place_of(const sparse *p, int64_t i)
{
    int64_t at = 0, n = t2o_tensor_count(p->t);
    if (p->indices->rank == 1) {
        t2o_tensor_read(p->indices, i, 1, &at);
        return at >= 0 && at < n ? at : -1;
    }
    for (uint32_t d = 0; d < p->t->rank; d++) {
        int64_t x;
        t2o_tensor_read(p->indices, i * p->t->rank + d, 1, &x);
        if (x < 0 || x >= p->dims[d])
            return -1;
        at = at * p->dims[d] + x;
    }
    return at;
}

static bool fits(const sparse *p)
{
    const t2o_tensor *values = p->values, *indices = p->indices;
    bool flat = indices && indices->rank == 1, rows = indices && indices->rank == 2;
    return values && values->rank == 1 && t2o_dtype_size(values->dtype) && indices && indices->dtype == T2O_INT64 &&
           (flat || (rows && indices->dims[1] == p->t->rank)) && indices->dims[0] == values->dims[0];
}

static const t2o_tensor *make_dense(t2o_reader *r, sparse *p, const char *what)
{
    p->t->dtype = p->values ? p->values->dtype : T2O_NO_DTYPE;
    int64_t bytes = t2o_tensor_bytes(p->t), size = (int64_t)t2o_dtype_size(p->t->dtype);
    if (!fits(p) || bytes < 0) {
        t2o_fail(r->s, "E0508", "%s is a sparse tensor that contradicts itself", what);
        return NULL;
    }
    if (bytes > MAX_DENSE) {
        t2o_fail(r->s, "E0509", "%s is a sparse tensor that is too large to be made dense", what);
        return NULL;
    }
    uint8_t *data = t2o_alloc(r->s->arena, (size_t)bytes + 1);
    for (int64_t i = 0; i < p->values->dims[0]; i++) {
        int64_t at = place_of(p, i);
        if (at < 0) {
            t2o_fail(r->s, "E0508", "%s has an index that is out of range", what);
            return NULL;
        }
        t2o_tensor_read(p->values, i, 1, data + at * size);
    }
    p->t->data = data;
    p->t->available = (size_t)bytes;
    return p->t;
}

const t2o_tensor *t2o_read_sparse(t2o_reader *r, t2o_slice bytes, const char *what, const char **name)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    sparse p = { .t = T2O_NEW(r->s->arena, t2o_tensor), .dims = T2O_NEW_N(r->s->arena, int64_t, T2O_MAX_RANK) };
    proto head = { .what = what, .t = p.t };
    p.t->dims = p.dims;
    if (name)
        *name = "";
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == 1 && !(p.values = t2o_read_tensor(r, f.slice, what, name)))
            return NULL;
        if (f.number == 2 && !(p.indices = t2o_read_tensor(r, f.slice, what, NULL)))
            return NULL;
        if (f.number == 3 && !add_dims(r, &head, &f, p.dims))
            return NULL;
    }
    return t2o_read_whole(r, &w, what) ? make_dense(r, &p, what) : NULL;
}

/* ---- Attributes as tensors ---- */

static void put_item(t2o_dtype dtype, const t2o_arg *item, uint8_t *to)
{
    if (dtype == T2O_STRING)
        *(t2o_text *)(void *)to = (t2o_text){ item->text, item->n };
    else if (dtype == T2O_INT64)
        memcpy(to, &item->i, 8);
    else
        t2o_element_from_double(T2O_FLOAT32, item->f, to);
}

const t2o_tensor *t2o_tensor_of_arg(t2o_reader *r, const t2o_arg *arg, t2o_dtype dtype)
{
    bool list = arg->kind == T2O_ARG_LIST;
    uint32_t n = list ? arg->n : 1;
    const t2o_arg *items = list ? arg->items : arg;
    int64_t *dims = T2O_NEW_N(r->s->arena, int64_t, 1);
    t2o_tensor *t = T2O_NEW(r->s->arena, t2o_tensor);
    t->dtype = dtype;
    t->rank = list;
    t->dims = dims;
    dims[0] = n;
    size_t size = dtype == T2O_STRING ? sizeof(t2o_text) : t2o_dtype_size(dtype);
    uint8_t *data = t2o_alloc(r->s->arena, n * size + 1);
    for (uint32_t i = 0; i < n; i++)
        put_item(dtype, &items[i], data + i * size);
    t->data = data;
    t->available = n * size;
    return t;
}
