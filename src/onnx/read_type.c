/* read_type.c: TypeProto: element types, shapes, containers. */
#include "onnx/read.h"

#include <ctype.h>

#define MAX_DEPTH 8 /* of containers in containers */

bool t2o_read_dtype(t2o_reader *r, uint64_t number, const char *what, t2o_dtype *out)
{
    *out = T2O_NO_DTYPE;
    if (number > T2O_INT2)
        return t2o_fail(r->s, "E0509", "%s has the element type %llu, which is not read", what,
                        (unsigned long long)number);
    *out = (t2o_dtype)number;
    return true;
}

/* ---- Shapes ---- */

/* A name that is an identifier and that no other dim_param has. */
static const char *symbol_name(t2o_reader *r, const char *param)
{
    size_t n = strlen(param);
    char *name = t2o_strndup(r->s->arena, param, n);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]))
            name[i] = '_';
    const char *wanted = isdigit((unsigned char)*name) ? t2o_printf(r->s->arena, "n%s", name) : name;
    const char *free = t2o_intern(r->s, wanted);
    for (unsigned i = 1; t2o_map_get(&r->source->dims, free); i++)
        free = t2o_intern(r->s, t2o_printf(r->s->arena, "%s_%u", wanted, i));
    return free;
}

static const t2o_expr *symbol_of(t2o_reader *r, const char *param)
{
    t2o_expr *known = t2o_map_get(&r->dims, param);
    if (known)
        return known;
    const char *name = symbol_name(r, param);
    const int64_t *range = t2o_map_get(&r->ranges, t2o_intern(r->s, param));
    if (range)
        t2o_expr_set_range(r->exprs, name, range[0], range[1]);
    const t2o_expr *x = t2o_expr_symbol(r->exprs, name);
    t2o_map_set(r->s->arena, &r->source->dims, name, (void *)param);
    t2o_map_set(r->s->arena, &r->dims, param, (void *)x);
    return x;
}

/* Exporters write "?" or "None" for any size; the same twice is not the same size. */
static bool names_size(const char *param)
{
    const char *p = param;
    while (*p && !isalnum((unsigned char)*p) && (unsigned char)*p < 0x80)
        p++;
    return *p && strcmp(param, "None") != 0;
}

/* A dimension of which nothing is said has a symbol of its own. */
static const t2o_expr *read_dim(t2o_reader *r, t2o_slice bytes)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    const t2o_expr *dim = NULL;
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == 1 && f.type == T2O_WIRE_VARINT)
            dim = (int64_t)f.value < 0 ? NULL : t2o_expr_int(r->exprs, (int64_t)f.value);
        if (f.number == 2 && f.type == T2O_WIRE_BYTES) {
            const char *param = t2o_read_text(r, &f);
            if (!param)
                return NULL;
            dim = names_size(param) ? symbol_of(r, param) : NULL;
        }
    }
    if (!t2o_read_whole(r, &w, "a dimension"))
        return NULL;
    return dim ? dim : t2o_expr_fresh(r->exprs);
}

static bool read_shape(t2o_reader *r, t2o_slice bytes, const char *what, t2o_stated_type *out)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    T2O_VEC(const t2o_expr *) dims = { 0 };
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number != 1 || f.type != T2O_WIRE_BYTES)
            continue;
        if (dims.n == T2O_MAX_RANK)
            return t2o_fail(r->s, "E0508", "%s has more than %d dimensions", what, T2O_MAX_RANK);
        const t2o_expr *dim = read_dim(r, f.slice);
        if (!dim)
            return false;
        t2o_push(r->s->arena, &dims, dim);
    }
    out->rank = (int32_t)dims.n;
    out->dims = dims.at;
    return t2o_read_whole(r, &w, what);
}

/* ---- Types ---- */

static bool read_tensor_type(t2o_reader *r, t2o_slice bytes, const char *what, t2o_stated_type *out)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == 1 && f.type == T2O_WIRE_VARINT && !t2o_read_dtype(r, f.value, what, &out->dtype))
            return false;
        if (f.number == 2 && f.type == T2O_WIRE_BYTES && !read_shape(r, f.slice, what, out))
            return false;
    }
    return t2o_read_whole(r, &w, what);
}

static bool read_type(t2o_reader *r, t2o_slice bytes, const char *what, int depth, t2o_stated_type *out);

/* A sequence or an optional: their element's type is field 1 of both. */
static bool read_container(t2o_reader *r, t2o_slice bytes, const char *what, int depth, const char *form,
                           t2o_stated_type *out)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    t2o_stated_type element = { .rank = -1 };
    if (depth == MAX_DEPTH)
        return t2o_fail(r->s, "E0509", "%s is of a type that nests too deep", what);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (f.number == 1 && f.type == T2O_WIRE_BYTES && !read_type(r, f.slice, what, depth + 1, &element))
            return false;
    out->kind = T2O_VALUE_OBJECT;
    out->dtype = element.dtype;
    out->container = t2o_intern(r->s, t2o_printf(r->s->arena, "%s(%s)", form, t2o_type_text(r, &element)));
    return t2o_read_whole(r, &w, what);
}

static bool read_type(t2o_reader *r, t2o_slice bytes, const char *what, int depth, t2o_stated_type *out)
{
    enum { TENSOR = 1, SEQUENCE = 4, MAP = 5, OPAQUE = 7, SPARSE = 8, OPTIONAL = 9 };
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    *out = (t2o_stated_type){ .kind = T2O_VALUE_TENSOR, .rank = -1 };
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        bool ok = true;
        if (f.type != T2O_WIRE_BYTES)
            continue;
        switch (f.number) {
        case TENSOR: ok = read_tensor_type(r, f.slice, what, out); break;
        case SEQUENCE: ok = read_container(r, f.slice, what, depth, "seq", out); break;
        case OPTIONAL: ok = read_container(r, f.slice, what, depth, "optional", out); break;
        case MAP: ok = t2o_fail(r->s, "E0509", "%s is a map, which is not read", what); break;
        case SPARSE: ok = t2o_fail(r->s, "E0509", "%s is a sparse tensor, which is not read", what); break;
        case OPAQUE: ok = t2o_fail(r->s, "E0509", "%s is of an opaque type, which is not read", what); break;
        default: break;
        }
        if (!ok)
            return false;
    }
    return t2o_read_whole(r, &w, what);
}

bool t2o_read_type(t2o_reader *r, t2o_slice bytes, const char *what, t2o_stated_type *out)
{
    return read_type(r, bytes, what, 0, out);
}

const char *t2o_type_text(t2o_reader *r, const t2o_stated_type *type)
{
    if (type->container)
        return type->container;
    return t2o_printf(r->s->arena, "tensor(%s)", t2o_dtype_name(type->dtype));
}
