/* inline.c: regions that say nothing about inference (no_grad, checkpoints, hints, regions that are compiled once):
 * their bodies move into the graph. So do those of autocast, whose nodes keep a note of it. And calls that are chained
 * by tokens, for their effects, become plain ones. */
#include "graph/meta.h"
#include "pass/pass.h"

static const char *const regions[] = {
    "higher_order::wrap_with_autocast", /* the first: autocast_of knows its arguments */
    "higher_order::wrap_with_set_grad_enabled",
    "higher_order::tag_activation_checkpoint",
    "higher_order::wrap_activation_checkpoint",
    "higher_order::invoke_subgraph",
    "higher_order::hints_wrapper",
    "higher_order::strict_mode",
    "higher_order::run_const_graph",
    "higher_order::wrap",
};

static t2o_value *resolve(t2o_value *v)
{
    while (v && v->twin)
        v = v->twin;
    return v;
}

typedef T2O_VEC(const t2o_arg *) arg_list;

/* The arguments behind the body, and those in lists: the operands, and None. */
static void add_operands(t2o_session *s, const t2o_arg *arg, arg_list *out)
{
    if (arg->kind == T2O_ARG_LIST)
        for (uint32_t i = 0; i < arg->n; i++)
            add_operands(s, &arg->items[i], out);
    else if (arg->kind != T2O_ARG_STRING && arg->kind != T2O_ARG_MAP)
        t2o_push(s->arena, out, arg);
}

/* The body's outputs stand for the node's; None among them has no value on either side. */
static bool give_results(t2o_node *n, const t2o_graph *body)
{
    uint32_t given = 0;
    for (size_t i = 0; i < body->outputs.n; i++) {
        t2o_value *v = resolve(body->outputs.at[i].value);
        if (v && given < n->n_outputs)
            n->outputs[given]->twin = v;
        given += v != NULL;
    }
    return given == n->n_outputs;
}

/* The body and, in `operands`, what it is given; NULL where there is none. */
static t2o_graph *body_of(const t2o_node *n, arg_list *operands)
{
    t2o_graph *body = NULL;
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const t2o_arg *arg = &n->attrs[i].arg;
        if (!body && arg->kind == T2O_ARG_GRAPH)
            body = arg->graph;
        else if (body && !n->attrs[i].keyword)
            add_operands(body->s, arg, operands);
    }
    return body;
}

static bool splice(t2o_graph *g, t2o_node *n)
{
    arg_list operands = { 0 };
    t2o_graph *body = body_of(n, &operands);
    if (!body)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) holds no body", n->name, n->op);
    if (operands.n != body->inputs.n)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) does not fit its body", n->name, n->op);
    for (size_t i = 0; i < operands.n; i++)
        if (operands.at[i]->kind == T2O_ARG_VALUE)
            body->inputs.at[i]->twin = n->inputs[operands.at[i]->index];
    while (body->first)
        t2o_node_move(body->first, g, n);
    if (!give_results(n, body))
        return t2o_fail(g->s, "E0504", "node '%s' (%s) does not fit its body", n->name, n->op);
    t2o_node_remove(n);
    return true;
}

static int region_of(const t2o_node *n)
{
    for (int r = 0; r < (int)(sizeof regions / sizeof *regions); r++)
        if (!strcmp(n->op, regions[r]))
            return r;
    return -1;
}

/* wrap_with_autocast(device, dtype, enabled, cache, body, ...): NULL in *out where it is off. */
static bool autocast_of(t2o_graph *g, const t2o_node *n, const t2o_autocast **out)
{
    const t2o_attr *a = n->attrs;
    *out = NULL;
    if (n->n_attrs > 2 && a[2].arg.kind == T2O_ARG_BOOL && !a[2].arg.b)
        return true;
    if (n->n_attrs < 3 || a[0].arg.kind != T2O_ARG_STRING)
        return t2o_fail(g->s, "E0504", "node '%s' (%s) names no device", n->name, n->op);
    t2o_autocast *region = T2O_NEW(g->s->arena, t2o_autocast);
    region->device = a[0].arg.text;
    region->dtype = a[1].arg.kind == T2O_ARG_DTYPE ? a[1].arg.dtype : T2O_NO_DTYPE;
    *out = region;
    return true;
}

/* The innermost region counts: what is nested is spliced later, and marked again. */
static void mark_autocast(t2o_graph *body, const t2o_autocast *region)
{
    for (t2o_node *n = body->first; n; n = n->next) {
        n->autocast = region;
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                mark_autocast(n->attrs[i].arg.graph, region);
    }
}

static bool inline_region(t2o_graph *g, t2o_node *n, int region)
{
    const t2o_autocast *autocast;
    arg_list unused = { 0 };
    t2o_graph *body = body_of(n, &unused);
    if (region == 0 && body) {
        if (!autocast_of(g, n, &autocast))
            return false;
        mark_autocast(body, autocast);
    }
    return splice(g, n);
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
    call->autocast = n->autocast;
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
