/* functional.c: in-place ops become pure.
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
    uint32_t *last_member;
    t2o_node *at; /* the node that is looked at: new nodes go before it */
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

/* ---- reading ---- */

static t2o_value *read_now(state *st, t2o_value *v);

/* Another value for the same tensor: it lies as that does. */
static void lies_like(t2o_value *v, const t2o_value *as)
{
    v->contiguous = as->contiguous;
    v->scattered = as->scattered;
}

/* The view node again, on what its base is now. */
static void take_anew(state *st, t2o_node *view, t2o_value *base)
{
    const t2o_value *view_operand = first_tensor(view);
    t2o_graph *g = st->g;
    t2o_value *outputs[64];
    for (uint32_t i = 0; i < view->n_outputs && i < 64; i++) {
        const t2o_value *o = view->outputs[i];
        outputs[i] = t2o_value_new(g, o->kind, o->name, o->dtype, o->rank, o->dims);
        lies_like(outputs[i], o);
    }
    t2o_node *again = t2o_node_new(g, st->at, view->op, view->inputs, view->n_inputs, view->attrs, view->n_attrs,
                                   outputs, view->n_outputs);
    again->name = view->name;
    again->meta = view->meta;
    again->returns = view->returns;
    again->n_returns = view->n_returns;
    for (uint32_t i = 0; i < again->n_inputs; i++)
        if (again->inputs[i] == view_operand)
            again->inputs[i] = base;
    for (uint32_t i = 0; i < view->n_outputs; i++) {
        tensor *t = tensor_of(st, view->outputs[i]);
        t->now = outputs[i];
        t->stamp = root_of(st, t)->version;
    }
}

static t2o_value *read_now(state *st, t2o_value *v)
{
    tensor *t = tensor_of(st, v);
    if (t->view && t->stamp != root_of(st, t)->version && t->view->n_outputs <= 64)
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

/* v holds `result` from here on; the bases above it are rebuilt. False where a link has no inverse. */
static bool write_through(state *st, t2o_value *v, t2o_value *result)
{
    tensor *t = &st->of[v->id];
    uint32_t version = root_of(st, t)->version + 1;
    t2o_node *behind = st->at->next; /* what is built goes between the node that wrote and this one */
    for (;; v = t->base, t = &st->of[v->id]) {
        t2o_value *base = t->view ? read_now(st, t->base) : NULL;
        t->now = result;
        t->stamp = version;
        if (!t->view)
            break;
        result = st->views->rebuild(st->views->ctx, t->view, t->output, base, result, behind);
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
    st->of[result->id].now = result;
    be_same(st, result, v);
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

static bool look_at(state *st, t2o_node *n, t2o_value *self)
{
    const char *pure = functional_name(st->g->s, n->op);
    int kind = st->views->kind(st->views->ctx, n);
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
    t2o_value *self = first_tensor(n);
    st->at = n;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i])
            n->inputs[i] = read_now(st, n->inputs[i]);
    return look_at(st, n, self);
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
    state st = { .g = g, .views = views, .of = T2O_NEW_N(g->s->arena, tensor, n + 1),
                 .last_member = T2O_NEW_N(g->s->arena, uint32_t, n + 1) };
    for (uint32_t i = 0; i < n; i++) {
        st.of[i].root = st.last_member[i] = i;
        st.of[i].now = g->values.at[i];
    }
    find_last_uses(&st);
    bool ok = true;
    for (t2o_node *node = g->first, *next; node; node = next) {
        next = node->next; /* nodes that a write adds behind it are not the program's own */
        st.number++;
        ok = run_bodies(node, views) && ok;
        ok = visit(&st, node) && ok;
    }
    st.at = NULL;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].value)
            g->outputs.at[i].value = read_now(&st, g->outputs.at[i].value);
    if (!g->parent)
        add_mutations(&st);
    return ok;
}
