/* inline.c: no_grad and autocast regions say nothing about inference: their bodies move into the graph; and calls that
 * are chained by tokens, for their effects, become plain ones. */
#include "graph/meta.h"
#include "pass/pass.h"

/* The regions, and the number of arguments before the body. */
static const struct {
    const char *op;
    uint32_t body;
} regions[] = {
    { "higher_order::wrap_with_set_grad_enabled", 1 },
    { "higher_order::wrap_with_autocast", 4 },
};

static t2o_value *resolve(t2o_value *v)
{
    while (v && v->twin)
        v = v->twin;
    return v;
}

static void move_node(t2o_node *n, t2o_graph *to, t2o_node *before)
{
    t2o_node_remove(n);
    t2o_node *copy = t2o_node_new(to, before, n->op, n->inputs, n->n_inputs, n->attrs, n->n_attrs, n->outputs,
                                  n->n_outputs);
    copy->name = n->name;
    copy->meta = n->meta;
    copy->returns = n->returns;
    copy->n_returns = n->n_returns;
    for (uint32_t i = 0; i < copy->n_attrs; i++)
        if (copy->attrs[i].arg.kind == T2O_ARG_GRAPH)
            copy->attrs[i].arg.graph->parent = to;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        n->outputs[i]->graph = to;
        n->outputs[i]->id = (uint32_t)to->values.n;
        t2o_push(to->s->arena, &to->values, n->outputs[i]);
    }
}

static bool splice(t2o_graph *g, t2o_node *n, uint32_t at)
{
    if (at >= n->n_attrs || n->attrs[at].arg.kind != T2O_ARG_GRAPH)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) holds no body", n->name, n->op);
    t2o_graph *body = n->attrs[at].arg.graph;
    if (n->n_attrs - at - 1 != body->inputs.n || body->outputs.n != n->n_outputs)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) does not fit its body", n->name, n->op);
    for (size_t i = 0; i < body->inputs.n; i++) {
        const t2o_arg *operand = &n->attrs[at + 1 + i].arg;
        if (operand->kind == T2O_ARG_VALUE)
            body->inputs.at[i]->twin = n->inputs[operand->index];
    }
    while (body->first)
        move_node(body->first, g, n);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (body->outputs.at[i].value)
            n->outputs[i]->twin = resolve(body->outputs.at[i].value);
    t2o_node_remove(n);
    return true;
}

static bool autocast_is_on(const t2o_node *n)
{
    return !strcmp(n->op, regions[1].op) && n->n_attrs > 2 && n->attrs[2].arg.kind == T2O_ARG_BOOL && n->attrs[2].arg.b;
}

static int region_of(const t2o_node *n)
{
    for (int r = 0; r < (int)(sizeof regions / sizeof *regions); r++)
        if (!strcmp(n->op, regions[r].op))
            return r;
    return -1;
}

static bool inline_region(t2o_graph *g, t2o_node *n, int region)
{
    if (!autocast_is_on(n))
        return splice(g, n, regions[region].body);
    t2o_fail(g->s, "E0302", "an autocast region that is on is not converted");
    t2o_note_node(n);
    t2o_hint(g->s, "export with autocast outside of the model, or after run_decompositions()");
    return false;
}

static void count_down(t2o_arg *list, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].kind == T2O_ARG_VALUE)
            list[i].index--;
        else if (list[i].kind == T2O_ARG_LIST)
            count_down(list[i].items, list[i].n);
}

/* with_effects(token, operator, arguments...) -> token, results...: the call itself takes its place. */
static bool without_token(t2o_graph *g, t2o_node *n)
{
    const t2o_attr *a = n->attrs;
    if (n->n_attrs < 2 || a[0].arg.kind != T2O_ARG_VALUE || a[1].arg.kind != T2O_ARG_OPERATOR || !n->n_outputs ||
        !n->n_returns || n->returns[0].kind != T2O_ARG_VALUE || n->returns[0].index != 0)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) holds no call", n->name, n->op);
    t2o_node *call = t2o_node_new(g, n, a[1].arg.text, n->inputs, n->n_inputs, a + 2, n->n_attrs - 2, n->outputs + 1,
                                  n->n_outputs - 1);
    call->name = n->name;
    call->meta = n->meta;
    call->returns = n->returns + 1;
    call->n_returns = n->n_returns - 1;
    count_down(call->returns, call->n_returns);
    n->outputs[0]->twin = n->inputs[a[0].arg.index];
    t2o_node_remove(n);
    return true;
}

static void drop_tokens(t2o_graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].kind != T2O_SPEC_TOKEN)
            g->outputs.at[kept++] = g->outputs.at[i];
    g->outputs.n = kept;
}

/* The branches of a condition, say, have regions of their own. */
static bool inline_in_bodies(const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH && !t2o_pass_inline(n->attrs[i].arg.graph))
            return false;
    return true;
}

bool t2o_pass_inline(t2o_graph *g)
{
    for (t2o_node *n = g->first, *next; n; n = next) {
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i] = resolve(n->inputs[i]);
        t2o_node *before = n->prev;
        int region = region_of(n);
        bool effect = !strcmp(n->op, "higher_order::with_effects");
        if (!(effect ? without_token(g, n) : region < 0 ? inline_in_bodies(n) : inline_region(g, n, region)))
            return false;
        /* what took the node's place is looked at in turn */
        next = region < 0 && !effect ? n->next : before ? before->next : g->first;
    }
    drop_tokens(g);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value = resolve(g->outputs.at[i].value);
    for (size_t i = 0; i < g->values.n; i++)
        g->values.at[i]->twin = NULL;
    return true;
}
