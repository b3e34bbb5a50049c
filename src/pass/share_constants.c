/* share_constants.c: one initialiser for equal constants. */
#include "pass/pass.h"

/* Weights are told apart by their storage, which is not read here, and so is whatever does not lie in one piece. */
static bool by_storage(const t2o_tensor *t)
{
    return t->in_file || t2o_tensor_bytes(t) < 0 || !t2o_tensor_contiguous(t);
}

/* Two constants with the same key are equal, but for the chance of a hash. */
static const char *key_of(t2o_graph *g, const t2o_value *v)
{
    const t2o_tensor *t = v->data;
    t2o_string key;
    t2o_string_start(&key, g->s->arena);
    if (by_storage(t))
        t2o_tensor_add_place(t, &key);
    else {
        t2o_tensor_add_type(t, &key);
        t2o_string_add(&key, " #");
        t2o_string_add_int(&key, (int64_t)t2o_hash(t->data, (size_t)t2o_tensor_bytes(t)));
    }
    return t2o_string_end(&key);
}

static bool equal(const t2o_value *a, const t2o_value *b)
{
    return by_storage(a->data) || !memcmp(a->data->data, b->data->data, (size_t)t2o_tensor_bytes(a->data));
}

/* An initialiser of a file is somebody's weight, whatever it holds; below a byte sizes are not known here. */
static bool has_own_place(const t2o_graph *g, const t2o_value *v)
{
    return !t2o_dtype_size(v->dtype) || (v->target && g->program && g->program->onnx);
}

void t2o_pass_share_constants(t2o_graph *g)
{
    t2o_map seen = { 0 };
    size_t kept = 0;
    for (size_t i = 0; i < g->constants.n; i++) {
        t2o_value *v = g->constants.at[i], *same;
        if (!v->data->data || has_own_place(g, v)) {
            g->constants.at[kept++] = v;
            continue;
        }
        const char *key = key_of(g, v);
        same = t2o_map_get(&seen, key);
        if (same && equal(same, v)) {
            v->twin = same;
            continue;
        }
        t2o_map_set(g->s->arena, &seen, key, v);
        g->constants.at[kept++] = v;
    }
    g->constants.n = kept;
    t2o_graph_take_twins(g);
}
