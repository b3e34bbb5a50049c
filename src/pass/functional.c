/* functional.c: in-place ops become pure.
 *
 * Values that may share memory form a class: a view joins that of its first operand. A write into a value is pure when
 * no other member of its class is read later and the class holds no input and no weight; the result then takes the
 * value's place in all that follows.
 */
#include "graph/meta.h"
#include "pass/pass.h"

typedef struct alias {
    uint32_t class;    /* id of the class's first value */
    uint32_t next;     /* id + 1 of the next member */
    uint32_t last_use; /* number of the last node that reads it; outputs count as behind the last */
} alias;

typedef struct state {
    t2o_graph *g;
    alias *of; /* by value id */
    uint32_t *last_member;
} state;

static t2o_value *current(t2o_value *v)
{
    while (v && v->twin)
        v = v->twin;
    return v;
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

static void join(state *st, t2o_value *v, t2o_value *base)
{
    uint32_t class = st->of[base->id].class;
    st->of[v->id].class = class;
    st->of[st->last_member[class]].next = v->id + 1;
    st->last_member[class] = v->id;
}

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

static t2o_value *written(const t2o_node *n)
{
    const t2o_arg *self = t2o_node_attr(n, "self");
    return self && self->kind == T2O_ARG_VALUE ? n->inputs[self->index] : NULL;
}

static bool refuse(const t2o_node *n, const char *what)
{
    t2o_session *s = n->graph->s;
    t2o_fail(s, "E0304", "%s writes into %s", n->op, what);
    t2o_note_node(n);
    t2o_hint(s, "export the program and call .run_decompositions() on it before it is saved");
    return false;
}

static bool may_write(state *st, const t2o_node *n, const t2o_value *v, uint32_t number)
{
    t2o_session *s = st->g->s;
    for (uint32_t id = st->of[v->id].class + 1; id; id = st->of[id - 1].next) {
        const t2o_value *member = st->g->values.at[id - 1];
        if (!member->producer)
            return refuse(n, member->target ? t2o_printf(s->arena, "the state '%s'", member->target)
                                            : t2o_printf(s->arena, "the input '%s'", member->name));
        if (member != v && st->of[id - 1].last_use > number)
            return refuse(n, t2o_printf(s->arena, "'%s', which shares memory with '%s' that is read later", v->name,
                                        member->name));
    }
    return true;
}

static bool rewrite(state *st, t2o_node *n, const t2o_view_oracle *views, uint32_t number)
{
    const char *pure = functional_name(st->g->s, n->op);
    int kind = views->kind(views->ctx, n->op);
    t2o_value *self = written(n), *result = n->n_outputs ? n->outputs[0] : NULL;
    if (pure && self && result && kind != 2) {
        if (!kind && !may_write(st, n, self, number))
            return false;
        n->op = pure;
        n->inplace = !kind;
        uint32_t before = st->of[self->id].last_use;
        if (before > st->of[result->id].last_use)
            st->of[result->id].last_use = before;
        self->twin = result;
        return true;
    }
    if (kind && n->n_inputs && n->inputs[0])
        for (uint32_t i = 0; i < n->n_outputs; i++)
            join(st, n->outputs[i], n->inputs[0]);
    return true;
}

bool t2o_pass_functional(t2o_graph *g, const t2o_view_oracle *views)
{
    state st = { g, T2O_NEW_N(g->s->arena, alias, g->values.n + 1), T2O_NEW_N(g->s->arena, uint32_t, g->values.n + 1) };
    for (uint32_t i = 0; i < g->values.n; i++)
        st.of[i].class = st.last_member[i] = i;
    find_last_uses(&st);
    uint32_t number = 1;
    bool ok = true;
    for (t2o_node *n = g->first; n; n = n->next, number++) {
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i] = current(n->inputs[i]);
        ok = rewrite(&st, n, views, number) && ok;
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value = current(g->outputs.at[i].value);
    for (size_t i = 0; i < g->values.n; i++)
        g->values.at[i]->twin = NULL;
    return ok;
}
