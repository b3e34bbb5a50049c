/* functional.c: in-place ops, and those that write into `out` arguments, become pure.
 *
 * Each value of the program stands for a tensor: the result of an in-place op is the tensor it wrote, a view is a
 * window on its base. For each tensor the pass keeps the value that holds its present contents. A write gives the
 * tensor a new value, and rebuilds the bases above it by the inverse that the view's rule declares; a view that is read
 * after its base has changed is taken anew. What nobody reads is dead code and goes with it.
 *
 * Where a link may or may not be a view (reshape, to, dropout), a write is pure only when nothing else of the same
 * memory is read later; else it is refused. Inputs and state are not written to.
 */
#include "graph/meta.h"
#include "pass/pass.h"

typedef struct tensor {
    uint32_t same;        /* id + 1 of the value that it is another name of; 0 = itself */
    uint32_t root;        /* id of the tensor that owns the memory */
    uint32_t next;        /* id + 1 of the next tensor in the same memory */
    uint32_t last_use;    /* number of the last node that reads it; outputs count as behind the last */
    uint32_t version;     /* of a root: how often its memory was written */
    uint32_t stamp;       /* the root's version that `now` shows */
    uint32_t output;      /* of a view: which output of its node */
    bool unsure;          /* it may as well be a copy of its base */
    t2o_node *view;       /* the node that made it from its base; NULL for a root */
    t2o_value *base, *now;
} tensor;

typedef struct state {
    t2o_graph *g;
    const t2o_view_oracle *views;
    tensor *of; /* by id of the program's own values */
    size_t n;   /* how many these are */
    uint32_t *last_member;
    t2o_node *before; /* where new nodes go: before the node that is looked at, or behind it (NULL = at the end) */
    uint32_t number;
} state;

static t2o_value *owner(const state *st, t2o_value *v)
{
    while (st->of[v->id].same)
        v = st->g->values.at[st->of[v->id].same - 1];
    return v;
}

static tensor *tensor_of(const state *st, t2o_value *v)
{
    return &st->of[owner(st, v)->id];
}

static tensor *root_of(const state *st, const tensor *t)
{
    return &st->of[t->root];
}

/* ---- what shares memory ---- */

/* The tensor that a node writes, or is a view of: `self`, or the first argument. */
static t2o_value *first_tensor(const t2o_node *n)
{
    const t2o_arg *arg = t2o_node_attr(n, "self");
    if (!arg || arg->kind != T2O_ARG_VALUE)
        arg = n->n_attrs && n->attrs[0].arg.kind == T2O_ARG_VALUE ? &n->attrs[0].arg : NULL;
    return arg ? n->inputs[arg->index] : NULL;
}

static void be_same(state *st, t2o_value *v, t2o_value *as)
{
    v = owner(st, v), as = owner(st, as);
    if (v == as)
        return;
    st->of[v->id].same = as->id + 1;
    if (st->of[v->id].last_use > st->of[as->id].last_use)
        st->of[as->id].last_use = st->of[v->id].last_use;
}

static void be_view(state *st, t2o_value *v, uint32_t output, t2o_value *base, t2o_node *node, bool unsure)
{
    tensor *t = &st->of[v->id], *b = tensor_of(st, base);
    if (unsure && v->dtype != base->dtype)
        return; /* a copy for certain */
    t->unsure = unsure || b->unsure;
    t->view = node;
    t->output = output;
    t->base = owner(st, base);
    t->root = b->root;
    t->stamp = root_of(st, b)->version;
    st->of[st->last_member[b->root]].next = v->id + 1;
    st->last_member[b->root] = v->id;
}

static void find_last_uses(state *st)
{
    uint32_t number = 1;
    for (t2o_node *n = st->g->first; n; n = n->next, number++)
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (n->inputs[i])
                st->of[n->inputs[i]->id].last_use = number;
    for (size_t i = 0; i < st->g->outputs.n; i++)
        if (st->g->outputs.at[i].value)
            st->of[st->g->outputs.at[i].value->id].last_use = number;
}

/* ---- inputs that share memory ---- */

/* Inputs that show the same memory in the same way are one tensor, which goes by the first one's name: a buffer that
 * was traced as an attribute of some other object is recorded again as a constant, behind the buffers. */
static void tie_inputs(state *st)
{
    t2o_session *s = st->g->s;
    t2o_map seen = { 0 };
    for (size_t i = 0; i < st->g->inputs.n; i++) {
        t2o_value *v = st->g->inputs.at[i];
        if (!v->data || !v->data->data || t2o_tensor_count(v->data) <= 0)
            continue;
        t2o_string place;
        t2o_string_start(&place, s->arena);
        t2o_tensor_add_place(v->data, &place);
        const char *key = t2o_string_end(&place);
        t2o_value *first = t2o_map_get(&seen, key);
        if (first)
            be_same(st, v, first);
        else
            t2o_map_set(s->arena, &seen, key, v);
    }
}

/* ---- reading ---- */

static t2o_value *read_now(state *st, t2o_value *v);

/* Another value for the same tensor: it lies as that does. */
static void lies_like(t2o_value *v, const t2o_value *as)
{
    v->contiguous = as->contiguous;
    v->scattered = as->scattered;
    v->device = as->device;
}

/* The view node again, on what its base is now. */
static void take_anew(state *st, t2o_node *view, t2o_value *base)
{
    const t2o_value *view_operand = first_tensor(view);
    t2o_node *again = t2o_node_again(view, st->before);
    for (uint32_t i = 0; i < again->n_inputs; i++)
        if (again->inputs[i] == view_operand)
            again->inputs[i] = base;
    for (uint32_t i = 0; i < view->n_outputs; i++) {
        tensor *t = tensor_of(st, view->outputs[i]);
        t->now = again->outputs[i];
        t->stamp = root_of(st, t)->version;
    }
}

static t2o_value *read_now(state *st, t2o_value *v)
{
    tensor *t = tensor_of(st, v);
    if (t->view && t->stamp != root_of(st, t)->version)
        take_anew(st, t->view, read_now(st, t->base));
    return t->now;
}

/* ---- writing ---- */

/* The functional name of an in-place op: "aten::add_.Tensor" -> "aten::add.Tensor", "__iand__" -> "__and__"; NULL where
 * the op is not in place. */
static const char *functional_name(t2o_session *s, const char *op)
{
    if (strncmp(op, "aten::", 6))
        return NULL;
    const char *name = op + 6, *dot = strchr(name, '.');
    size_t n = dot ? (size_t)(dot - name) : strlen(name);
    const char *overload = dot ? dot : "";
    if (n > 5 && !strncmp(name, "__i", 3) && strncmp(name, "__invert", 8))
        return t2o_intern(s, t2o_printf(s->arena, "aten::__%.*s%s", (int)(n - 3), name + 3, overload));
    if (n < 2 || name[n - 1] != '_' || name[0] == '_')
        return NULL;
    return t2o_intern(s, t2o_printf(s->arena, "aten::%.*s%s", (int)(n - 1), name, overload));
}

static bool refuse(const state *st, const t2o_node *n, const char *what)
{
    t2o_session *s = st->g->s;
    t2o_fail(s, "E0304", "%s writes into %s", n->op, what);
    t2o_note_node(n);
    t2o_hint(s, "export the program and call .run_decompositions() on it before it is saved");
    return false;
}

/* Another tensor in the same memory that is read later, or NULL; one that may be a copy before any other. */
static const t2o_value *other_reader(const state *st, const t2o_value *v)
{
    const t2o_value *found = NULL;
    for (uint32_t id = st->of[v->id].root + 1; id; id = st->of[id - 1].next) {
        const tensor *t = &st->of[id - 1];
        if (id - 1 != v->id && !t->same && t->last_use > st->number && (!found || t->unsure))
            found = st->g->values.at[id - 1];
    }
    return found;
}

/* The bytes that an input reaches over. */
static size_t reach(const t2o_tensor *t)
{
    size_t last = 0, count = (size_t)t2o_tensor_count(t);
    for (uint32_t i = 0; t->strides && i < t->rank; i++)
        last += (size_t)((t->dims[i] - 1) * t->strides[i]);
    return (t->strides ? last + 1 : count) * t2o_dtype_size(t->dtype);
}

/* Another input that lies partly in the memory of this one and is read later, or NULL. */
static const t2o_value *overlapping(const state *st, const t2o_value *root)
{
    const t2o_tensor *a = root->data;
    if (!a || !a->data || t2o_tensor_count(a) <= 0)
        return NULL;
    for (size_t i = 0; i < st->g->inputs.n; i++) {
        const t2o_value *v = st->g->inputs.at[i];
        const t2o_tensor *b = v->data;
        if (v == root || !b || !b->data || st->of[v->id].same || t2o_tensor_count(b) <= 0)
            continue;
        bool overlap = b->data < a->data + reach(a) && a->data < b->data + reach(b);
        if (overlap && (st->of[v->id].last_use > st->number || other_reader(st, v)))
            return v;
    }
    return NULL;
}

/* v holds `result` from here on; the bases above it are rebuilt. False where a link has no inverse. */
static bool write_through(state *st, t2o_value *v, t2o_value *result)
{
    tensor *t = &st->of[v->id];
    uint32_t version = root_of(st, t)->version + 1;
    for (;; v = t->base, t = &st->of[v->id]) {
        t2o_value *base = t->view ? read_now(st, t->base) : NULL;
        t->now = result;
        t->stamp = version;
        if (!t->view)
            break;
        result = st->views->rebuild(st->views->ctx, t->view, t->output, base, result, st->before);
        if (!result)
            return false;
        lies_like(result, base);
    }
    t->version = version;
    return true;
}

/* State and inputs may be written: what they hold in the end becomes an output of the program. */
static bool may_write(const state *st, const t2o_node *n, t2o_value *v)
{
    const t2o_value *root = st->g->values.at[st->of[v->id].root];
    if (root->producer || !st->g->parent)
        return true;
    return refuse(st, n, t2o_printf(st->g->s->arena, "'%s', an operand of the body that it is in", root->name));
}

static t2o_spec_kind mutation_of(const t2o_value *root)
{
    switch (root->spec) {
    case T2O_SPEC_PARAMETER: return T2O_SPEC_PARAMETER_MUTATION;
    case T2O_SPEC_USER_INPUT: return T2O_SPEC_USER_INPUT_MUTATION;
    default: return T2O_SPEC_BUFFER_MUTATION;
    }
}

/* The outputs of the inputs and the state that were written, behind the program's own. */
static void add_mutations(state *st)
{
    t2o_graph *g = st->g;
    for (size_t i = 0; i < g->inputs.n; i++) {
        t2o_value *root = g->inputs.at[i], *now = st->of[root->id].now;
        if (now == root)
            continue;
        const char *target = root->target ? root->target : root->name;
        t2o_output_spec o = { .value = now, .kind = mutation_of(root), .target = target };
        o.name = t2o_intern(g->s, t2o_printf(g->s->arena, "%s.out", target));
        t2o_push(g->s->arena, &g->outputs, o);
    }
}

static bool write(state *st, t2o_node *n, t2o_value *self, t2o_value *result)
{
    t2o_value *v = owner(st, self);
    if (!may_write(st, n, v))
        return false;
    const t2o_value *reader = other_reader(st, v), *root = st->g->values.at[st->of[v->id].root];
    const t2o_value *neighbour = overlapping(st, root);
    if (neighbour)
        return refuse(st, n, t2o_printf(st->g->s->arena, "'%s', whose memory '%s' shares in part and is read later",
                                        root->name, neighbour->name));
    if (result->id < st->n) {
        st->of[result->id].now = result;
        be_same(st, result, v);
    }
    if (!reader && root->producer) {
        st->of[v->id].now = result;
        st->of[v->id].stamp = root_of(st, &st->of[v->id])->version;
        return true;
    }
    reader = reader ? reader : root; /* what an input or state holds in the end is read by whoever runs the model */
    size_t before = st->g->s->diags.n;
    bool unsure = st->of[v->id].unsure || st->of[reader->id].unsure;
    if (!unsure && write_through(st, v, result))
        return true;
    if (st->g->s->diags.n > before)
        return false;
    return refuse(st, n, t2o_printf(st->g->s->arena, "'%s', which may share memory with '%s' that is read later",
                                    v->name, reader->name));
}

/* ---- overloads with `out` ---- */

/* The last operands, one a result, where keywords give tensors. */
static bool may_write_out(const t2o_node *n)
{
    if (!n->n_outputs || n->n_attrs < n->n_outputs || n->n_inputs < n->n_outputs)
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const t2o_attr *a = &n->attrs[n->n_attrs - n->n_outputs + i];
        uint32_t index = n->n_inputs - n->n_outputs + i;
        if (!a->keyword || a->arg.kind != T2O_ARG_VALUE || a->arg.index != index)
            return false;
        if (!n->inputs[index] || n->inputs[index]->kind != T2O_VALUE_TENSOR || n->outputs[i]->kind != T2O_VALUE_TENSOR)
            return false;
    }
    return true;
}

/* Makes the node the pure one; its operands that were written stand behind those that are left. NULL where it is none
 * of these, or after an error. */
static t2o_value **take_outs(state *st, t2o_node *n)
{
    bool takes_dtype = false;
    const char *pure = may_write_out(n) ? st->views->without_out(st->views->ctx, n, &takes_dtype) : NULL;
    if (!pure)
        return NULL;
    n->op = pure;
    n->inplace = true;
    n->n_inputs -= n->n_outputs;
    n->n_attrs -= n->n_outputs;
    if (takes_dtype) {
        t2o_arg dtype = { .kind = T2O_ARG_DTYPE, .dtype = n->outputs[0]->dtype };
        n->attrs[n->n_attrs++] = (t2o_attr){ t2o_intern(st->g->s, "dtype"), dtype, true };
    }
    return n->inputs + n->n_inputs;
}

static bool same_size(const t2o_value *a, const t2o_value *b)
{
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* A tensor of another size takes that of the result, which goes well where nothing else sees its memory. */
static bool may_resize(const state *st, const t2o_node *n, t2o_value *v, const t2o_value *result)
{
    const tensor *t = &st->of[v->id];
    if (same_size(t->now, result) || (!t->view && v->producer && !other_reader(st, v)))
        return true;
    return refuse(st, n, t2o_printf(st->g->s->arena, "'%s', which has another size", v->name));
}

static bool write_outs(state *st, t2o_node *n, t2o_value *const *outs)
{
    for (uint32_t i = 0; i < n->n_outputs; i++)
        be_same(st, n->outputs[i], outs[i]); /* before any write asks who reads them */
    bool ok = true;
    for (uint32_t i = 0; ok && i < n->n_outputs; i++)
        ok = may_resize(st, n, owner(st, outs[i]), n->outputs[i]) && write(st, n, outs[i], n->outputs[i]);
    return ok;
}

/* An op that writes into arguments beside what it returns, as training does to the statistics of a normalisation. `own`
 * are its operands as the program names them. */
static bool write_arguments(state *st, t2o_node *n, t2o_value *const *own)
{
    t2o_value **results = T2O_NEW_N(st->g->s->arena, t2o_value *, n->n_outputs + 1);
    t2o_value **written = T2O_NEW_N(st->g->s->arena, t2o_value *, n->n_inputs + 1);
    if (!st->views->effects(st->views->ctx, n, results, written))
        return false;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (results[i])
            tensor_of(st, n->outputs[i])->now = results[i];
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (written[i] && !write(st, n, own[i], written[i]))
            return false;
    bool replaced = true;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        replaced = replaced && results[i];
    if (replaced)
        t2o_node_remove(n);
    return true;
}

static bool look_at(state *st, t2o_node *n, t2o_value *self, t2o_value *const *own)
{
    const char *pure = functional_name(st->g->s, n->op);
    int kind = st->views->kind(st->views->ctx, n);
    if (kind == 4)
        return write_arguments(st, n, own);
    if (pure && self && n->n_outputs && kind != 2) {
        n->op = pure;
        n->inplace = !kind;
        if (!kind)
            return write(st, n, self, n->outputs[0]);
        be_view(st, n->outputs[0], 0, self, n, false); /* unsqueeze_ and the like: the tensor goes by its new form */
    } else if (kind == 2 && self && n->n_outputs)
        be_same(st, n->outputs[0], self);
    else if (kind && self)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            be_view(st, n->outputs[i], i, self, n, kind == 3);
    return true;
}

static bool visit(state *st, t2o_node *n)
{
    size_t errors = st->g->s->diags.n;
    t2o_value **outs = take_outs(st, n), *self = first_tensor(n);
    if (st->g->s->diags.n > errors)
        return t2o_note_node(n), false;
    t2o_value **own = T2O_NEW_N(st->g->s->arena, t2o_value *, n->n_inputs + 1);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        own[i] = n->inputs[i];
    st->before = n;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i])
            n->inputs[i] = read_now(st, n->inputs[i]);
    st->before = n->next;
    return outs ? write_outs(st, n, outs) : look_at(st, n, self, own);
}

static bool run_bodies(const t2o_node *n, const t2o_view_oracle *views)
{
    bool ok = true;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
            ok = t2o_pass_functional(n->attrs[i].arg.graph, views) && ok;
    return ok;
}

bool t2o_pass_functional(t2o_graph *g, const t2o_view_oracle *views)
{
    size_t n = g->values.n;
    state st = { .g = g, .views = views, .n = n, .of = T2O_NEW_N(g->s->arena, tensor, n + 1),
                 .last_member = T2O_NEW_N(g->s->arena, uint32_t, n + 1) };
    for (uint32_t i = 0; i < n; i++) {
        st.of[i].root = st.last_member[i] = i;
        st.of[i].now = g->values.at[i];
    }
    find_last_uses(&st);
    tie_inputs(&st);
    bool ok = true;
    for (t2o_node *node = g->first, *next; node; node = next) {
        next = node->next; /* nodes that a write adds behind it are not the program's own */
        st.number++;
        ok = run_bodies(node, views) && ok;
        ok = visit(&st, node) && ok;
    }
    st.before = NULL;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].value)
            g->outputs.at[i].value = read_now(&st, g->outputs.at[i].value);
    if (!g->parent)
        add_mutations(&st);
    return ok;
}
