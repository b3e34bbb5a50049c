/* check.c: a whole graph against the operator schemas of one opset, its names, and the order of
 * its nodes.
 *
 * Every fault is looked for, so that one run shows them all; the same fault of several nodes is
 * one error which says how many there are. Values that are defined and visible carry the mark 1
 * while the check runs.
 */
#include "graph/meta.h"
#include "onnx/onnx.h"

#include <stdio.h>

#define MAX_PROBLEMS 50

typedef struct problem {
    t2o_diag *diag;
    uint32_t nodes;
} problem;

/* The names of one graph; a body sees those of the graphs around it. */
typedef struct scope {
    const struct scope *outer;
    t2o_map values, nodes;
} scope;

typedef struct checker {
    t2o_session *s;
    int opset;
    t2o_map problems; /* by text without the node's name */
    bool ok;
} checker;

/* ---- Reporting ---- */

static const char *node_text(t2o_arena *arena, const t2o_node *n)
{
    const char *name = n->name;
    for (uint32_t i = 0; !name && i < n->n_outputs; i++)
        name = n->outputs[i] ? n->outputs[i]->name : NULL;
    const char *op = t2o_onnx_op_type(n);
    return t2o_printf(arena, "node %s%s%s (%s)", name ? "'" : "", name ? name : "without a name",
                      name ? "'" : "", op ? op : n->op);
}

/* The rule that built the node, then what the archive says of the torch node. */
static void note_origin(checker *c, const t2o_node *n)
{
    if (n->rule)
        t2o_note(c->s, "%s", n->rule);
    if (n->origin)
        t2o_note_node(n->origin);
}

/* A new error, or one more node of a known one. True when hints and notes are still to be added. */
static bool report(checker *c, const char *code, const t2o_node *n, const char *text)
{
    c->ok = false;
    problem *known = t2o_map_get(&c->problems, text);
    if (known) {
        known->nodes++;
        return false;
    }
    if (c->problems.n >= MAX_PROBLEMS)
        return false;
    known = T2O_NEW(c->s->arena, problem);
    t2o_map_set(c->s->arena, &c->problems, text, known);
    t2o_fail(c->s, code, "%s%s%s", n ? node_text(c->s->arena, n) : "", n ? ": " : "", text);
    known->diag = c->s->diags.at[c->s->diags.n - 1];
    known->nodes = 1;
    if (n)
        note_origin(c, n);
    return true;
}

static void note_counts(checker *c)
{
    for (size_t i = 0; i < c->problems.n; i++) {
        const problem *p = c->problems.entries[i].value;
        if (p->nodes > 1)
            t2o_push(
                c->s->arena, &p->diag->notes,
                (const char *)t2o_printf(c->s->arena, "the same holds for %u more", p->nodes - 1));
    }
}

#define TEXT(c, ...) t2o_printf((c)->s->arena, __VA_ARGS__)

/* ---- One node ---- */

typedef struct wanted {
    const t2o_node *n;
    int after;
} wanted;

static bool newer_that_fits(const t2o_schema *schema, void *ctx)
{
    const wanted *w = ctx;
    const char *why;
    bool unsupported;
    return schema->since > w->after && t2o_onnx_check_node(schema, w->n, &why, &unsupported);
}

/* E0303 where a later version of the operator takes the node as it is, else E0102. */
static void report_misfit(checker *c, const t2o_node *n, const char *op, const char *why)
{
    wanted w = { n, c->opset };
    const t2o_schema *later = t2o_schema_first_where(op, newer_that_fits, &w);
    if (!later) {
        report(c, "E0102", n, TEXT(c, "%s, at opset %d", why, c->opset));
        return;
    }
    if (report(c, "E0303", n,
               TEXT(c, "%s at opset %d; opset %d allows it", why, c->opset, later->since)))
        t2o_hint(c->s, "convert with --opset %d", later->since);
}

static bool any_later(const t2o_schema *schema, void *after)
{
    return schema->since > *(int *)after;
}

/* An operator that this opset does not have: unknown, not yet there, or withdrawn. */
static void report_missing(checker *c, const t2o_node *n, const char *op,
                           const t2o_schema *withdrawn)
{
    const t2o_schema *later = t2o_schema_first_where(op, any_later, &c->opset);
    const char *near = t2o_schema_first(op) ? NULL : t2o_schema_suggest(op);
    if (withdrawn && !later) {
        report(c, "E0303", n, TEXT(c, "%s was withdrawn in opset %d", op, withdrawn->since));
        return;
    }
    if (!later) {
        const char *text = TEXT(c, "ONNX has no operator '%s'", op);
        report(c, "E0102", n, near ? TEXT(c, "%s (did you mean '%s'?)", text, near) : text);
        return;
    }
    if (report(c, "E0303", n,
               TEXT(c, "%s needs opset %d, the model is for opset %d", op, later->since, c->opset)))
        t2o_hint(c->s, "convert with --opset %d", later->since);
}

static void check_schema(checker *c, const t2o_node *n)
{
    const char *op = t2o_onnx_op_type(n), *why;
    bool unsupported;
    if (!op)
        return;
    const t2o_schema *schema = t2o_schema_find(op, c->opset);
    if (!schema || schema->deprecated)
        report_missing(c, n, op, schema);
    else if (!t2o_onnx_check_node(schema, n, &why, &unsupported))
        report_misfit(c, n, op, why);
}

/* ---- Names and order ---- */

static const char *value_text(checker *c, const t2o_value *v)
{
    return v->name ? TEXT(c, "'%s'", v->name) : "a value without a name";
}

static bool name_taken(const scope *names, const t2o_value *v)
{
    for (; names; names = names->outer) {
        const t2o_value *other = t2o_map_get(&names->values, v->name);
        if (other && other != v)
            return true;
    }
    return false;
}

/* n: the node that defines it; NULL for inputs and initialisers. */
static void define(checker *c, scope *names, const t2o_node *n, t2o_value *v)
{
    if (v->mark)
        report(c, "E0102", n, TEXT(c, "%s is defined twice", value_text(c, v)));
    v->mark = 1;
    if (!v->name)
        return;
    if (name_taken(names, v))
        report(c, "E0102", n, TEXT(c, "two values have the name '%s'", v->name));
    t2o_map_set(c->s->arena, &names->values, v->name, v);
}

static void check_element_type(checker *c, const t2o_value *v, const char *what)
{
    if (v->kind == T2O_VALUE_OBJECT && v->container)
        return;
    if (v->kind != T2O_VALUE_TENSOR)
        report(c, "E0102", NULL, TEXT(c, "%s %s is no tensor", what, value_text(c, v)));
    else if (v->dtype == T2O_NO_DTYPE || v->dtype >= T2O_COMPLEX32)
        report(c, "E0102", NULL,
               TEXT(c, "%s %s has the dtype %s, which ONNX does not have", what, value_text(c, v),
                    t2o_dtype_name(v->dtype)));
}

static void check_operands(checker *c, const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] && !n->inputs[i]->mark)
            report(c, "E0102", n, TEXT(c, "its input %u, %s, is not defined before it", i + 1,
                                       value_text(c, n->inputs[i])));
}

static void check_node_name(checker *c, scope *names, const t2o_node *n)
{
    if (!n->name)
        return;
    if (t2o_map_get(&names->nodes, n->name))
        report(c, "E0102", n, TEXT(c, "two nodes have the name '%s'", n->name));
    t2o_map_set(c->s->arena, &names->nodes, n->name, (void *)n);
}

/* ---- Graphs ---- */

static void check_graph(checker *c, const t2o_graph *g, const scope *outer);

static void check_bodies(checker *c, const t2o_arg *arg, const scope *names)
{
    if (arg->kind == T2O_ARG_GRAPH)
        check_graph(c, arg->graph, names);
    for (uint32_t i = 0; arg->kind == T2O_ARG_LIST && i < arg->n; i++)
        check_bodies(c, &arg->items[i], names);
}

static void check_node(checker *c, scope *names, const t2o_node *n)
{
    check_node_name(c, names, n);
    check_operands(c, n);
    check_schema(c, n);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        check_bodies(c, &n->attrs[i].arg, names);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i])
            define(c, names, n, n->outputs[i]);
}

static void define_inputs(checker *c, scope *names, const t2o_graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        define(c, names, NULL, g->inputs.at[i]);
        check_element_type(c, g->inputs.at[i], "input");
    }
    for (size_t i = 0; i < g->constants.n; i++) {
        define(c, names, NULL, g->constants.at[i]);
        check_element_type(c, g->constants.at[i], "initialiser");
    }
}

static void check_outputs(checker *c, const t2o_graph *g)
{
    t2o_map seen = { 0 };
    for (size_t i = 0; i < g->outputs.n; i++) {
        t2o_value *v = g->outputs.at[i].value;
        if (!v) {
            report(c, "E0102", NULL,
                   TEXT(c, "output %zu of graph '%s' is no value", i + 1, g->name));
            continue;
        }
        if (!v->mark)
            report(c, "E0102", NULL,
                   TEXT(c, "output %s of graph '%s' is not defined", value_text(c, v), g->name));
        if (v->name && t2o_map_set(c->s->arena, &seen, v->name, v))
            report(c, "E0102", NULL,
                   TEXT(c, "output %s of graph '%s' stands twice", value_text(c, v), g->name));
        check_element_type(c, v, "output");
    }
}

/* What a graph defines is not visible outside it. */
static void forget(const t2o_graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        g->inputs.at[i]->mark = 0;
    for (size_t i = 0; i < g->constants.n; i++)
        g->constants.at[i]->mark = 0;
    for (const t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i])
                n->outputs[i]->mark = 0;
}

static void check_graph(checker *c, const t2o_graph *g, const scope *outer)
{
    scope names = { .outer = outer };
    define_inputs(c, &names, g);
    for (const t2o_node *n = g->first; n; n = n->next)
        check_node(c, &names, n);
    check_outputs(c, g);
    forget(g);
}

bool t2o_onnx_check(const t2o_graph *g, int opset)
{
    checker c = { .s = g->s, .opset = opset, .ok = true };
    check_graph(&c, g, NULL);
    for (size_t i = 0; i < g->functions.n; i++)
        check_graph(&c, g->functions.at[i], NULL);
    note_counts(&c);
    return c.ok;
}
