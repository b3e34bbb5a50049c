/* sizes.c: size expressions that stand as arguments become values of symbolic-int nodes, as archives hold them. */
#include "pass/pass.h"

/* The nodes that sizes are computed by: function of an expression -> op and names of its operands. */
static const struct operation {
    const char *function, *op, *names[2];
} operations[] = {
    { "+", "_operator::add", { "a", "b" } },
    { "*", "_operator::mul", { "a", "b" } },
    { "FloorDiv", "_operator::floordiv", { "a", "b" } },
    { "CleanDiv", "_operator::floordiv", { "a", "b" } },
    { "Mod", "_operator::mod", { "a", "b" } },
    { "PythonMod", "_operator::mod", { "a", "b" } },
    { "PowByNatural", "_operator::pow", { "a", "b" } },
    { "Max", "torch::sym_max", { "a", "b" } },
    { "Min", "torch::sym_min", { "a", "b" } },
};
static const char size_op[] = "aten::sym_size.int";

typedef struct source {
    t2o_value *value;
    int axis; /* -1: the value is the size itself */
} source;

typedef struct scope {
    t2o_session *s;
    t2o_graph *g;
    t2o_map symbols; /* name -> source */
    t2o_map known;   /* text of an expression -> its value */
    t2o_node *before;
} scope;

static void add_source(scope *in, const t2o_expr *x, t2o_value *v, int axis)
{
    if (!x || x->kind != T2O_EXPR_SYMBOL || t2o_map_get(&in->symbols, x->name))
        return;
    source *at = T2O_NEW(in->s->arena, source);
    *at = (source){ v, axis };
    t2o_map_set(in->s->arena, &in->symbols, x->name, at);
}

static void add_sources(scope *in, t2o_value *v)
{
    if (v->kind == T2O_VALUE_SYMINT)
        add_source(in, v->expr, v, -1);
    for (int32_t i = 0; v->kind == T2O_VALUE_TENSOR && i < v->rank; i++)
        add_source(in, v->dims[i], v, i);
}

static t2o_value *new_node(scope *in, const char *op, t2o_value **inputs, uint32_t n_inputs, const t2o_attr *attrs,
                           const t2o_expr *x)
{
    t2o_value *out = t2o_value_new(in->g, T2O_VALUE_SYMINT, "size", T2O_INT64, 0, NULL);
    out->expr = x;
    t2o_node *n = t2o_node_new(in->g, in->before, op, inputs, n_inputs, attrs, 2, &out, 1);
    n->returns = T2O_NEW(in->s->arena, t2o_arg);
    *n->returns = (t2o_arg){ .kind = T2O_ARG_VALUE, .index = 0 };
    n->n_returns = 1;
    n->name = out->name;
    return out;
}

static t2o_value *value_of(scope *in, const t2o_expr *x);

/* The call of the operation on two expressions; NULL after an error. */
static t2o_value *apply(scope *in, const struct operation *by, const t2o_expr *a, const t2o_expr *b, t2o_value *left,
                        const t2o_expr *x)
{
    const t2o_expr *parts[2] = { a, b };
    t2o_value *inputs[2];
    t2o_attr attrs[2];
    uint32_t n = 0;
    for (int i = 0; i < 2; i++) {
        t2o_arg arg = { .kind = T2O_ARG_VALUE, .index = n };
        if (i == 0 && left)
            inputs[n++] = left;
        else if (t2o_expr_is_int(parts[i]))
            arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = parts[i]->value };
        else if (!(inputs[n++] = value_of(in, parts[i])))
            return NULL;
        attrs[i] = (t2o_attr){ t2o_intern(in->s, by->names[i]), arg, false };
    }
    return new_node(in, by->op, inputs, n, attrs, x);
}

static t2o_value *symbol_value(scope *in, const t2o_expr *x)
{
    const source *at = t2o_map_get(&in->symbols, x->name);
    if (!at)
        return t2o_fail(in->s, "E0102", "the size %s stands nowhere among the values before its use", x->name), NULL;
    if (at->axis < 0)
        return at->value;
    t2o_value *v = at->value;
    t2o_attr attrs[] = { { t2o_intern(in->s, "self"), { .kind = T2O_ARG_VALUE, .index = 0 }, false },
                         { t2o_intern(in->s, "dim"), { .kind = T2O_ARG_INT, .i = at->axis }, false } };
    return new_node(in, size_op, &v, 1, attrs, x);
}

static t2o_value *call_value(scope *in, const t2o_expr *x)
{
    const char *function = x->kind == T2O_EXPR_ADD ? "+" : x->kind == T2O_EXPR_MUL ? "*" : x->name;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].function, function) || x->n_args < 2)
            continue;
        t2o_value *v = apply(in, &operations[i], x->args[0], x->args[1], NULL, x);
        for (uint32_t k = 2; v && k < x->n_args; k++)
            v = apply(in, &operations[i], x->args[0], x->args[k], v, x);
        return v;
    }
    return t2o_fail(in->s, "E0102", "the size %s has no form in an archive", t2o_expr_text(in->g->exprs, x)), NULL;
}

static t2o_value *value_of(scope *in, const t2o_expr *x)
{
    const char *text = t2o_intern(in->s, t2o_expr_text(in->g->exprs, x));
    t2o_value *v = t2o_map_get(&in->known, text);
    if (v)
        return v;
    v = x->kind == T2O_EXPR_SYMBOL ? symbol_value(in, x) : call_value(in, x);
    if (v)
        t2o_map_set(in->s->arena, &in->known, text, v);
    return v;
}

static void add_input(t2o_node *n, t2o_value *v)
{
    t2o_value **inputs = T2O_NEW_N(n->graph->s->arena, t2o_value *, n->n_inputs + 1);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        inputs[i] = n->inputs[i];
    inputs[n->n_inputs++] = v;
    n->inputs = inputs;
}

static bool replace_arg(scope *in, t2o_node *n, t2o_arg *arg)
{
    if (arg->kind == T2O_ARG_GRAPH)
        return t2o_pass_sizes(arg->graph);
    for (uint32_t i = 0; arg->kind == T2O_ARG_LIST && i < arg->n; i++)
        if (!replace_arg(in, n, &arg->items[i]))
            return false;
    if (arg->kind != T2O_ARG_EXPR)
        return true;
    if (t2o_expr_is_int(arg->expr)) {
        *arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = arg->expr->value };
        return true;
    }
    in->before = n;
    t2o_value *v = value_of(in, arg->expr);
    if (!v)
        return false;
    add_input(n, v);
    *arg = (t2o_arg){ .kind = T2O_ARG_VALUE, .index = n->n_inputs - 1 };
    return true;
}

bool t2o_pass_sizes(t2o_graph *g)
{
    scope in = { .s = g->s, .g = g };
    for (size_t i = 0; i < g->inputs.n; i++)
        add_sources(&in, g->inputs.at[i]);
    for (t2o_node *n = g->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (!replace_arg(&in, n, &n->attrs[i].arg))
                return false;
        for (uint32_t i = 0; i < n->n_outputs; i++)
            add_sources(&in, n->outputs[i]);
    }
    return true;
}
