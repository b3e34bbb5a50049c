/* graph.c: making and taking apart graphs, nodes and values; reading constants. */
#include "graph/graph.h"

#include <math.h>

#define BLOCK 65536 /* bytes of a tensor that are gathered at a time */

#define MAX_CONTENT 64 /* longest integer constant whose values are known to shape computations */

int64_t t2o_tensor_count(const t2o_tensor *t)
{
    int64_t n = 1;
    bool empty = false;
    for (uint32_t i = 0; i < t->rank; i++)
        empty |= t->dims[i] == 0;
    if (empty)
        return 0;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 || __builtin_mul_overflow(n, t->dims[i], &n))
            return -1;
    return n;
}

int64_t t2o_tensor_bytes(const t2o_tensor *t)
{
    int64_t n = t2o_tensor_count(t), bytes;
    unsigned bits = t2o_dtype_bits(t->dtype);
    if (n > 0 && bits && bits < 8)
        return (n - 1) / (8 / bits) + 1;
    if (n < 0 || __builtin_mul_overflow(n, (int64_t)(bits / 8), &bytes))
        return -1;
    return bytes;
}

bool t2o_tensor_contiguous(const t2o_tensor *t)
{
    int64_t expected = 1;
    if (t->stored)
        return false;
    if (!t->strides || t2o_tensor_count(t) == 0)
        return true;
    for (uint32_t i = t->rank; i-- > 0;) {
        if (t->dims[i] != 1 && t->strides[i] != expected)
            return false;
        expected *= t->dims[i];
    }
    return true;
}

/* An axis of a walk through a strided tensor; step in bytes. */
typedef struct axis {
    int64_t dim, step, at;
} axis;

/* The axes in order, those of one element left out and neighbours that lie one behind the other in memory joined. */
static uint32_t walk_axes(const t2o_tensor *t, axis *axes)
{
    int64_t size = (int64_t)t2o_dtype_size(t->dtype);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t dim = t->dims[i];
        if (dim == 1) /* its stride may be anything */
            continue;
        int64_t step = t->strides[i] * size;
        if (n && axes[n - 1].step == step * dim)
            axes[n - 1] = (axis){ axes[n - 1].dim * dim, step, 0 };
        else
            axes[n++] = (axis){ dim, step, 0 };
    }
    return n;
}

/* Copies n elements of one row; the common sizes are spelt out, so that they become loads and stores. */
static void read_row(uint8_t *to, const uint8_t *from, int64_t step, size_t size, int64_t n)
{
    if (step == (int64_t)size)
        memcpy(to, from, (size_t)n * size);
    else if (size == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * 4, from + i * step, 4);
    else if (size == 2)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * 2, from + i * step, 2);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * (int64_t)size, from + i * step, size);
}

static double largest(t2o_dtype d)
{
    return d == T2O_FLOAT16 ? 65504.0 : d == T2O_BFLOAT16 ? 0x1.FEp127 : INFINITY;
}

static void convert(t2o_dtype from, const uint8_t *in, t2o_dtype to, uint8_t *out, int64_t n)
{
    size_t step_in = t2o_dtype_size(from), step_out = t2o_dtype_size(to);
    double max = largest(to), x = 0;
    for (int64_t i = 0; i < n; i++, in += step_in, out += step_out) {
        t2o_element_to_double(from, in, &x);
        if (isfinite(x))
            x = x > max ? max : x < -max ? -max : x;
        t2o_element_from_double(to, x, out);
    }
}

/* An element of 4 or 2 bits; the first of a byte is in its low ones. */
static double small_element(t2o_dtype d, const uint8_t *data, int64_t at)
{
    static const double float4[8] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
    int64_t bits = t2o_dtype_bits(d), all = 1 << bits;
    int64_t x = data[at * bits / 8] >> (at * bits % 8) & (all - 1);
    if (d == T2O_FLOAT4_E2M1)
        return x & 8 ? -float4[x & 7] : float4[x];
    bool negative = (d == T2O_INT4 || d == T2O_INT2) && x >= all / 2;
    return (double)(negative ? x - all : x);
}

static void read_small(const t2o_tensor *t, int64_t first, int64_t n, uint8_t *out)
{
    size_t size = t2o_dtype_size(t->dtype);
    for (int64_t i = 0; i < n; i++)
        t2o_element_from_double(t->dtype, small_element(t->stored, t->data, first + i), out + (size_t)i * size);
}

static void read_converted(const t2o_tensor *t, int64_t first, int64_t n, uint8_t *out)
{
    if (t2o_dtype_bits(t->stored) < 8) {
        read_small(t, first, n, out);
        return;
    }
    uint8_t block[4096];
    t2o_tensor as_stored = *t;
    as_stored.dtype = t->stored;
    as_stored.stored = T2O_NO_DTYPE;
    int64_t step = (int64_t)(sizeof block / t2o_dtype_size(t->stored)), size = (int64_t)t2o_dtype_size(t->dtype);
    for (int64_t at = 0; at < n; at += step) {
        int64_t count = n - at < step ? n - at : step;
        t2o_tensor_read(&as_stored, first + at, count, block);
        convert(t->stored, block, t->dtype, out + at * size, count);
    }
}

void t2o_tensor_read(const t2o_tensor *t, int64_t first, int64_t n, void *out)
{
    if (t->stored) {
        read_converted(t, first, n, out);
        return;
    }
    size_t size = t2o_dtype_size(t->dtype);
    if (n <= 0)
        return;
    if (t2o_tensor_contiguous(t)) {
        memcpy(out, t->data + (size_t)first * size, (size_t)n * size);
        return;
    }
    axis axes[T2O_MAX_RANK] = { { 1, 0, 0 } };
    uint32_t rank = walk_axes(t, axes), inner = rank ? rank - 1 : 0;
    const uint8_t *from = t->data;
    for (uint32_t d = rank; d-- > 0; first /= axes[d].dim) {
        axes[d].at = first % axes[d].dim;
        from += axes[d].at * axes[d].step;
    }
    for (uint8_t *to = out; n > 0;) {
        int64_t row = axes[inner].dim - axes[inner].at;
        row = row < n ? row : n;
        read_row(to, from, axes[inner].step, size, row);
        to += row * (int64_t)size;
        n -= row;
        axes[inner].at += row;
        from += row * axes[inner].step;
        for (uint32_t d = inner; n > 0 && axes[d].at == axes[d].dim && d > 0; d--) {
            from += axes[d - 1].step - axes[d].dim * axes[d].step;
            axes[d].at = 0;
            axes[d - 1].at++;
        }
    }
}

void t2o_tensor_blocks(const t2o_tensor *t, void (*take)(void *to, const void *bytes, size_t n), void *to)
{
    if (t2o_tensor_contiguous(t)) {
        take(to, t->data, (size_t)t2o_tensor_bytes(t));
        return;
    }
    uint8_t block[BLOCK];
    int64_t n = t2o_tensor_count(t), size = (int64_t)t2o_dtype_size(t->dtype), step = BLOCK / size;
    for (int64_t first = 0; first < n; first += step) {
        int64_t count = n - first < step ? n - first : step;
        t2o_tensor_read(t, first, count, block);
        take(to, block, (size_t)(count * size));
    }
}

static void add_numbers(t2o_string *to, const int64_t *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        t2o_string_add(to, ",");
        t2o_string_add_int(to, numbers[i]);
    }
}

void t2o_tensor_add_type(const t2o_tensor *t, t2o_string *to)
{
    t2o_string_add_int(to, (int)t->dtype);
    add_numbers(to, t->dims, t->rank);
}

void t2o_tensor_add_place(const t2o_tensor *t, t2o_string *to)
{
    t2o_tensor_add_type(t, to);
    t2o_string_add(to, " @");
    t2o_string_add_address(to, t->data);
    t2o_string_add(to, " ");
    t2o_string_add_int(to, (int)t->stored);
    add_numbers(to, t->strides, t->strides ? t->rank : 0);
}

const t2o_tensor *t2o_tensor_converted(t2o_arena *arena, const t2o_tensor *t, t2o_dtype dtype)
{
    t2o_tensor *out = T2O_NEW(arena, t2o_tensor);
    *out = *t;
    out->stored = t->stored ? t->stored : t->dtype;
    out->dtype = dtype;
    return out;
}

bool t2o_spec_is_mutation(t2o_spec_kind kind)
{
    return kind == T2O_SPEC_BUFFER_MUTATION || kind == T2O_SPEC_PARAMETER_MUTATION ||
           kind == T2O_SPEC_USER_INPUT_MUTATION;
}

void t2o_graph_clear_marks(t2o_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        g->values.at[i]->mark = 0;
    for (t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                t2o_graph_clear_marks(n->attrs[i].arg.graph);
}

static void read_twins(t2o_graph *g)
{
    for (t2o_node *n = g->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (n->inputs[i] && n->inputs[i]->twin)
                n->inputs[i] = n->inputs[i]->twin;
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                read_twins(n->attrs[i].arg.graph);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].value->twin)
            g->outputs.at[i].value = g->outputs.at[i].value->twin;
}

void t2o_graph_forget_twins(t2o_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        g->values.at[i]->twin = NULL;
    for (t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                t2o_graph_forget_twins(n->attrs[i].arg.graph);
}

void t2o_graph_take_twins(t2o_graph *g)
{
    read_twins(g);
    t2o_graph_forget_twins(g);
}

const char *t2o_spec_name(t2o_spec_kind kind)
{
    static const char *const names[] = {
        [T2O_SPEC_NONE] = "NONE",
        [T2O_SPEC_USER_INPUT] = "USER_INPUT",
        [T2O_SPEC_PARAMETER] = "PARAMETER",
        [T2O_SPEC_BUFFER] = "BUFFER",
        [T2O_SPEC_CONSTANT_TENSOR] = "CONSTANT_TENSOR",
        [T2O_SPEC_CUSTOM_OBJ] = "CUSTOM_OBJ",
        [T2O_SPEC_TOKEN] = "TOKEN",
        [T2O_SPEC_USER_OUTPUT] = "USER_OUTPUT",
        [T2O_SPEC_LOSS_OUTPUT] = "LOSS_OUTPUT",
        [T2O_SPEC_BUFFER_MUTATION] = "BUFFER_MUTATION",
        [T2O_SPEC_PARAMETER_MUTATION] = "PARAMETER_MUTATION",
        [T2O_SPEC_USER_INPUT_MUTATION] = "USER_INPUT_MUTATION",
        [T2O_SPEC_GRADIENT_TO_PARAMETER] = "GRADIENT_TO_PARAMETER",
        [T2O_SPEC_GRADIENT_TO_USER_INPUT] = "GRADIENT_TO_USER_INPUT",
    };
    return names[kind];
}

t2o_graph *t2o_graph_new(t2o_session *s, t2o_exprs *exprs, const char *name)
{
    t2o_graph *g = T2O_NEW(s->arena, t2o_graph);
    g->s = s;
    g->exprs = exprs;
    g->name = t2o_intern(s, name);
    return g;
}

void t2o_value_set_dims(t2o_value *v, int32_t rank, const t2o_expr *const *dims)
{
    v->rank = rank;
    v->dims = NULL;
    if (rank < 0)
        return;
    v->dims = T2O_NEW_N(v->graph->s->arena, const t2o_expr *, rank);
    if (dims && rank)
        memcpy(v->dims, dims, (size_t)rank * sizeof *dims);
}

t2o_value *t2o_value_new(t2o_graph *g, t2o_value_kind kind, const char *name, t2o_dtype dtype, int32_t rank,
                         const t2o_expr *const *dims)
{
    t2o_value *v = T2O_NEW(g->s->arena, t2o_value);
    v->graph = g;
    v->id = (uint32_t)g->values.n;
    v->name = name ? t2o_intern(g->s, name) : NULL;
    v->kind = kind;
    v->dtype = dtype;
    t2o_value_set_dims(v, rank, dims);
    t2o_push(g->s->arena, &g->values, v);
    return v;
}

static void set_content(t2o_value *v, const t2o_tensor *data)
{
    int64_t n = t2o_tensor_count(data);
    if (!t2o_dtype_is_int(data->dtype) || !t2o_dtype_size(data->dtype) || data->rank > 1 || n < 0 || n > MAX_CONTENT ||
        !data->data)
        return;
    v->content = T2O_NEW_N(v->graph->s->arena, const t2o_expr *, n ? n : 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t element;
        int64_t value = 0;
        t2o_tensor_read(data, i, 1, &element);
        t2o_element_to_int(data->dtype, &element, &value);
        v->content[i] = t2o_expr_int(v->graph->exprs, value);
    }
    v->n_content = (uint32_t)n;
}

t2o_value *t2o_constant_new(t2o_graph *g, const char *name, const t2o_tensor *data)
{
    t2o_value *v = t2o_value_new(g, T2O_VALUE_TENSOR, name, data->dtype, (int32_t)data->rank, NULL);
    for (uint32_t i = 0; i < data->rank; i++)
        v->dims[i] = t2o_expr_int(g->exprs, data->dims[i]);
    v->data = data;
    v->constant = true;
    set_content(v, data);
    t2o_push(g->s->arena, &g->constants, v);
    return v;
}

static void *copy_array(t2o_graph *g, const void *array, size_t bytes)
{
    if (!bytes)
        return NULL;
    void *copy = t2o_alloc(g->s->arena, bytes);
    memcpy(copy, array, bytes);
    return copy;
}

static void link_before(t2o_graph *g, t2o_node *n, t2o_node *before)
{
    n->next = before;
    n->prev = before ? before->prev : g->last;
    if (n->prev)
        n->prev->next = n;
    else
        g->first = n;
    if (before)
        before->prev = n;
    else
        g->last = n;
    g->n_nodes++;
}

t2o_node *t2o_node_new(t2o_graph *g, t2o_node *before, const char *op, t2o_value *const *inputs, uint32_t n_inputs,
                       const t2o_attr *attrs, uint32_t n_attrs, t2o_value *const *outputs, uint32_t n_outputs)
{
    t2o_node *n = T2O_NEW(g->s->arena, t2o_node);
    n->graph = g;
    n->op = t2o_intern(g->s, op);
    n->inputs = copy_array(g, inputs, n_inputs * sizeof *inputs);
    n->n_inputs = n_inputs;
    n->attrs = copy_array(g, attrs, n_attrs * sizeof *attrs);
    n->n_attrs = n_attrs;
    n->outputs = copy_array(g, outputs, n_outputs * sizeof *outputs);
    n->n_outputs = n_outputs;
    for (uint32_t i = 0; i < n_outputs; i++)
        if (outputs[i]) {
            outputs[i]->producer = n;
            outputs[i]->output_index = i;
        }
    link_before(g, n, before);
    return n;
}

t2o_node *t2o_node_again(const t2o_node *n, t2o_node *before)
{
    t2o_graph *g = n->graph;
    t2o_value **outputs = T2O_NEW_N(g->s->arena, t2o_value *, n->n_outputs + 1);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const t2o_value *o = n->outputs[i];
        if (!o)
            continue;
        outputs[i] = t2o_value_new(g, o->kind, o->name, o->dtype, o->rank, o->dims);
        outputs[i]->expr = o->expr;
        outputs[i]->contiguous = o->contiguous;
        outputs[i]->scattered = o->scattered;
        outputs[i]->device = o->device;
    }
    t2o_node *again = t2o_node_new(g, before, n->op, n->inputs, n->n_inputs, n->attrs, n->n_attrs, outputs,
                                   n->n_outputs);
    again->name = n->name;
    again->meta = n->meta;
    again->origin = n->origin;
    again->autocast = n->autocast;
    again->returns = n->returns;
    again->n_returns = n->n_returns;
    return again;
}

void t2o_node_remove(t2o_node *n)
{
    t2o_graph *g = n->graph;
    *(n->prev ? &n->prev->next : &g->first) = n->next;
    *(n->next ? &n->next->prev : &g->last) = n->prev;
    n->prev = n->next = NULL;
    g->n_nodes--;
}

void t2o_node_move(t2o_node *n, t2o_graph *to, t2o_node *before)
{
    t2o_node_remove(n);
    for (uint32_t i = 0; to != n->graph && i < n->n_outputs; i++)
        if (n->outputs[i]) {
            n->outputs[i]->graph = to;
            n->outputs[i]->id = (uint32_t)to->values.n;
            t2o_push(to->s->arena, &to->values, n->outputs[i]);
        }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
            n->attrs[i].arg.graph->parent = to;
    n->graph = to;
    link_before(to, n, before);
}

const t2o_arg *t2o_node_attr(const t2o_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return &n->attrs[i].arg;
    return NULL;
}

bool t2o_op_is(const t2o_node *n, const char *op)
{
    return !strcmp(n->op, op);
}
