/* storage.c: bounds of strided views, with arithmetic that cannot wrap. */
#include "pt2/storage.h"

#include <inttypes.h>

static bool is_empty(const t2o_view *v)
{
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->dims[i] == 0)
            return true;
    return false;
}

static const char *number_fault(const t2o_view *v)
{
    int64_t bytes = (int64_t)t2o_dtype_size(v->dtype);
    if (bytes == 0)
        return "has an element type without a size";
    if (v->offset < 0)
        return "starts before its storage";
    for (uint32_t i = 0; i < v->rank; i++)
        if (v->dims[i] < 0 || v->strides[i] < 0)
            return "has a negative size or stride";
    for (uint32_t i = 0; i < v->rank && !is_empty(v); i++)
        if (__builtin_mul_overflow(bytes, v->dims[i], &bytes))
            return "is larger than any memory";
    return NULL;
}

/* The bytes of storage that the view reaches, or -1 where that is no 64-bit number. */
static int64_t reach(const t2o_view *v)
{
    int64_t elements, bytes;
    if (__builtin_add_overflow(v->offset, 1, &elements))
        return -1;
    for (uint32_t i = 0; i < v->rank; i++) {
        int64_t step;
        if (__builtin_mul_overflow(v->dims[i] - 1, v->strides[i], &step) ||
            __builtin_add_overflow(elements, step, &elements))
            return -1;
    }
    if (__builtin_mul_overflow(elements, (int64_t)t2o_dtype_size(v->dtype), &bytes))
        return -1;
    return bytes;
}

static const int64_t *copy_numbers(t2o_session *s, const int64_t *from, uint32_t n)
{
    int64_t *to = T2O_NEW_N(s->arena, int64_t, n ? n : 1);
    memcpy(to, from, n * sizeof *to);
    return to;
}

static t2o_tensor *new_tensor(t2o_session *s, const t2o_view *v)
{
    t2o_tensor *t = T2O_NEW(s->arena, t2o_tensor);
    t->dtype = v->dtype;
    t->rank = v->rank;
    t->dims = copy_numbers(s, v->dims, v->rank);
    t->strides = v->strides;
    t->strides =
        is_empty(v) || t2o_tensor_contiguous(t) ? NULL : copy_numbers(s, v->strides, v->rank);
    return t;
}

const t2o_tensor *t2o_storage_view(t2o_session *s, const char *what, const t2o_storage *storage,
                                   const t2o_view *view)
{
    const char *fault = number_fault(view);
    if (fault) {
        t2o_fail(s, "E0504", "%s %s", what, fault);
        return NULL;
    }
    bool empty = is_empty(view);
    int64_t needed = empty ? 0 : reach(view);
    t2o_tensor *t = new_tensor(s, view);
    if (!empty && storage->size == 0)
        return t;
    if (needed < 0 || (uint64_t)needed > storage->size) {
        t2o_fail(s, "E0507", "%s needs %" PRId64 " bytes, but the archive holds %zu", what,
                 needed < 0 ? INT64_MAX : needed, storage->size);
        return NULL;
    }
    size_t skip = empty ? 0 : (size_t)view->offset * t2o_dtype_size(view->dtype);
    t->data = storage->bytes + skip;
    t->available = storage->size - skip;
    t->in_file = storage->in_file;
    return t;
}
