/* types.c: one node against its schema, and the dtypes of its outputs. */
#include "onnx/onnx.h"

#include <stdlib.h>

#define NO_LIMIT 65535
#define MAX_VARIABLES 16 /* no operator of the standard has more than four */
#define TENSOR_TYPES (((t2o_type_set)1 << T2O_N_DTYPES) - 1)
#define LISTED_TYPES 8 /* a message lists the types that an input takes up to this number */

const char *t2o_onnx_op_type(const t2o_node *n)
{
    return strncmp(n->op, "onnx::", 6) ? NULL : n->op + 6;
}

/* A node being checked; fail() keeps the reason. */
typedef struct check {
    const t2o_schema *schema;
    const t2o_node *n;
    t2o_arena *arena;
    const char *why;
} check;

static bool fail(check *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->why = t2o_vprintf(c->arena, format, args);
    va_end(args);
    return false;
}

/* ---- How many inputs and outputs ---- */

/* Those at the end that are left out do not count. */
static uint32_t n_given(t2o_value *const *values, uint32_t n)
{
    while (n && !values[n - 1])
        n--;
    return n;
}

static const char *limits_text(check *c, uint32_t min, uint32_t max, const char *what)
{
    if (max == NO_LIMIT)
        return t2o_printf(c->arena, "at least %u %s%s", min, what, min == 1 ? "" : "s");
    if (min == max)
        return min ? t2o_printf(c->arena, "%u %s%s", min, what, min == 1 ? "" : "s")
                   : t2o_printf(c->arena, "no %ss", what);
    return t2o_printf(c->arena, "%u to %u %ss", min, max, what);
}

static bool check_required(check *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const t2o_param *p = t2o_schema_input(c->schema, i);
        if (!c->n->inputs[i] && p && p->option != T2O_OPTIONAL)
            return fail(c, "input %u '%s' of %s is missing", i + 1, p->name, c->schema->op);
    }
    return true;
}

static bool check_arity(check *c)
{
    const t2o_schema *s = c->schema;
    uint32_t n_in = n_given(c->n->inputs, c->n->n_inputs),
             n_out = n_given(c->n->outputs, c->n->n_outputs);
    if (n_in < s->min_inputs || (n_in > s->max_inputs && s->max_inputs != NO_LIMIT))
        return fail(c, "%s takes %s, got %u", s->op,
                    limits_text(c, s->min_inputs, s->max_inputs, "input"), n_in);
    if (n_out < s->min_outputs || (n_out > s->max_outputs && s->max_outputs != NO_LIMIT))
        return fail(c, "%s has %s, got %u", s->op,
                    limits_text(c, s->min_outputs, s->max_outputs, "output"), n_out);
    return check_required(c, n_in);
}

/* ---- Attributes ---- */

static const char *const attr_type_texts[] = {
    [T2O_ATTR_FLOAT] = "a number",
    [T2O_ATTR_INT] = "an integer",
    [T2O_ATTR_STRING] = "a string",
    [T2O_ATTR_TENSOR] = "a tensor",
    [T2O_ATTR_GRAPH] = "a graph",
    [T2O_ATTR_FLOATS] = "a list of numbers",
    [T2O_ATTR_INTS] = "a list of integers",
    [T2O_ATTR_STRINGS] = "a list of strings",
    [T2O_ATTR_TENSORS] = "a list of tensors",
    [T2O_ATTR_GRAPHS] = "a list of graphs",
    [T2O_ATTR_SPARSE_TENSOR] = "a sparse tensor",
    [T2O_ATTR_SPARSE_TENSORS] = "a list of sparse tensors",
    [T2O_ATTR_TYPE_PROTO] = "a type",
    [T2O_ATTR_TYPE_PROTOS] = "a list of types",
};

static const char *arg_text(check *c, const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_INT: return t2o_printf(c->arena, "%lld", (long long)arg->i);
    case T2O_ARG_FLOAT: return t2o_printf(c->arena, "%.9g", arg->f);
    case T2O_ARG_BOOL: return arg->b ? "true" : "false";
    case T2O_ARG_STRING: return t2o_printf(c->arena, "'%s'", arg->text);
    case T2O_ARG_DTYPE: return t2o_dtype_name(arg->dtype);
    case T2O_ARG_LIST:
        return arg->n ? t2o_printf(c->arena, "a list with %s", arg_text(c, arg->items))
                      : "an empty list";
    case T2O_ARG_TENSOR: return "a tensor";
    case T2O_ARG_GRAPH: return "a graph";
    case T2O_ARG_VALUE: return "a value of the graph";
    case T2O_ARG_EXPR: return "a symbolic size";
    default: return "something that ONNX has no attribute type for";
    }
}

static bool arg_fits_one(const t2o_arg *arg, t2o_attr_type type)
{
    bool integer = arg->kind == T2O_ARG_INT || arg->kind == T2O_ARG_BOOL ||
                   arg->kind == T2O_ARG_DTYPE ||
                   (arg->kind == T2O_ARG_EXPR && t2o_expr_is_int(arg->expr));
    switch (type) {
    case T2O_ATTR_FLOAT: return arg->kind == T2O_ARG_FLOAT || arg->kind == T2O_ARG_INT;
    case T2O_ATTR_INT: return integer;
    case T2O_ATTR_STRING: return arg->kind == T2O_ARG_STRING;
    case T2O_ATTR_TENSOR: return arg->kind == T2O_ARG_TENSOR;
    case T2O_ATTR_GRAPH: return arg->kind == T2O_ARG_GRAPH;
    case T2O_ATTR_TYPE_PROTO: return arg->kind == T2O_ARG_TYPE;
    default: return false;
    }
}

/* The type of the items of a list type, or the type itself. */
static t2o_attr_type item_type(t2o_attr_type type)
{
    return type >= T2O_ATTR_FLOATS && type <= T2O_ATTR_GRAPHS
               ? type - T2O_ATTR_FLOATS + T2O_ATTR_FLOAT
               : type;
}

static bool arg_fits(const t2o_arg *arg, t2o_attr_type type)
{
    if (item_type(type) == type)
        return arg_fits_one(arg, type);
    if (arg->kind != T2O_ARG_LIST)
        return false;
    for (uint32_t i = 0; i < arg->n; i++)
        if (!arg_fits_one(&arg->items[i], item_type(type)))
            return false;
    return true;
}

static bool check_attr(check *c, const t2o_attr *attr)
{
    const t2o_schema *s = c->schema;
    int at = t2o_schema_attr(s, attr->name);
    if (at < 0) {
        const char *near = t2o_schema_suggest_attr(s, attr->name);
        const char *ask = near ? t2o_printf(c->arena, " (did you mean '%s'?)", near) : "";
        return fail(c, "%s has no attribute '%s'%s", s->op, attr->name, ask);
    }
    if (arg_fits(&attr->arg, s->attrs[at].type))
        return true;
    return fail(c, "attribute '%s' of %s is %s, got %s", attr->name, s->op,
                attr_type_texts[s->attrs[at].type], arg_text(c, &attr->arg));
}

/* An attribute that is None counts as left out. */
static const t2o_arg *given_attr(const t2o_node *n, const char *name)
{
    const t2o_arg *arg = t2o_node_attr(n, name);
    return arg && arg->kind != T2O_ARG_NONE ? arg : NULL;
}

static bool check_attrs(check *c)
{
    for (uint32_t i = 0; i < c->n->n_attrs; i++) {
        const t2o_attr *attr = &c->n->attrs[i];
        if (t2o_node_attr(c->n, attr->name) != &attr->arg)
            return fail(c, "attribute '%s' of %s is given twice", attr->name, c->schema->op);
        if (attr->arg.kind != T2O_ARG_NONE && !check_attr(c, attr))
            return false;
    }
    for (uint32_t i = 0; i < c->schema->n_attrs; i++) {
        const t2o_attr_schema *a = &c->schema->attrs[i];
        if (a->required && !given_attr(c->n, a->name))
            return fail(c, "%s needs its attribute '%s'", c->schema->op, a->name);
    }
    return true;
}

/* ---- Types of inputs ---- */

typedef struct bindings {
    struct { const char *variable, *param; t2o_dtype dtype; } at[MAX_VARIABLES];
    int n;
} bindings;

static int bound(const bindings *b, const char *variable)
{
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->at[i].variable, variable))
            return i;
    return -1;
}

/* Whether this input says what its type variable stands for. */
static bool binds(const t2o_param *p, const t2o_value *v)
{
    return p && p->type_var && !p->heterogeneous && v && v->kind == T2O_VALUE_TENSOR &&
           v->dtype != T2O_NO_DTYPE;
}

static void bind(bindings *b, const t2o_param *p, t2o_dtype dtype)
{
    if (b->n < MAX_VARIABLES && bound(b, p->type_var) < 0) {
        b->at[b->n].variable = p->type_var;
        b->at[b->n].param = p->name;
        b->at[b->n++].dtype = dtype;
    }
}

static bool check_consistent(check *c)
{
    bindings b = { .n = 0 };
    for (uint32_t i = 0; i < c->n->n_inputs; i++) {
        const t2o_param *p = t2o_schema_input(c->schema, i);
        const t2o_value *v = c->n->inputs[i];
        if (!binds(p, v))
            continue;
        bind(&b, p, v->dtype);
        int at = bound(&b, p->type_var);
        if (at >= 0 && b.at[at].dtype != v->dtype)
            return fail(c, "input %u '%s' of %s is %s, but '%s' is %s (both are %s)", i + 1,
                        p->name, c->schema->op, t2o_dtype_name(v->dtype), b.at[at].param,
                        t2o_dtype_name(b.at[at].dtype), p->type_var);
    }
    return true;
}

static const char *types_text(check *c, t2o_type_set types)
{
    const char *text = NULL;
    for (int d = T2O_NO_DTYPE + 1; d < T2O_N_DTYPES; d++)
        if (types & T2O_TYPE_BIT(d)) {
            types &= ~T2O_TYPE_BIT(d);
            const char *link = !text ? "" : types & TENSOR_TYPES ? ", " : " or ";
            text = t2o_printf(c->arena, "%s%s%s", text ? text : "", link,
                              t2o_dtype_name((t2o_dtype)d));
        }
    return text ? text : types & T2O_TYPE_SEQUENCE ? "a sequence" : "an optional value";
}

/* "Not" where it has one input, else "input 2 'B' of Add". */
static const char *input_text(check *c, uint32_t i, const t2o_param *p)
{
    if (c->schema->max_inputs == 1)
        return c->schema->op;
    return t2o_printf(c->arena, "input %u '%s' of %s", i + 1, p->name, c->schema->op);
}

static bool fail_type(check *c, uint32_t i, const t2o_param *p, t2o_dtype dtype)
{
    const char *where = input_text(c, i, p), *got = t2o_dtype_name(dtype);
    if (__builtin_popcountll(p->types) > LISTED_TYPES)
        return fail(c, "%s does not take %s", where, got);
    return fail(c, "%s takes %s, got %s", where, types_text(c, p->types), got);
}

/* Sequences and the numbers of the torch graph stand where only tensors may. */
static bool check_kinds(check *c)
{
    for (uint32_t i = 0; i < c->n->n_inputs; i++) {
        const t2o_param *p = t2o_schema_input(c->schema, i);
        const t2o_value *v = c->n->inputs[i];
        if (!p || !v || v->kind == T2O_VALUE_TENSOR ||
            (v->kind == T2O_VALUE_OBJECT && p->types & ~TENSOR_TYPES))
            continue;
        return fail(c, "%s takes a tensor, got %s", input_text(c, i, p),
                    v->kind == T2O_VALUE_OBJECT ? "an object" : "a number of the torch graph");
    }
    return true;
}

static bool check_types(check *c)
{
    for (uint32_t i = 0; i < c->n->n_inputs; i++) {
        const t2o_param *p = t2o_schema_input(c->schema, i);
        const t2o_value *v = c->n->inputs[i];
        if (!p || !v || v->kind != T2O_VALUE_TENSOR || v->dtype == T2O_NO_DTYPE)
            continue;
        if (!(p->types & T2O_TYPE_BIT(v->dtype)))
            return fail_type(c, i, p, v->dtype);
    }
    return true;
}

/* ---- Types of outputs ---- */

static t2o_dtype only_type(t2o_type_set types)
{
    bool one = types && !(types & (types - 1)) && types & TENSOR_TYPES;
    return one ? (t2o_dtype)__builtin_ctzll(types) : T2O_NO_DTYPE;
}

static t2o_dtype dtype_by_variable(const t2o_schema *schema, const t2o_node *n,
                                   const t2o_param *output)
{
    for (uint32_t i = 0; output->type_var && i < n->n_inputs; i++) {
        const t2o_param *p = t2o_schema_input(schema, i);
        if (binds(p, n->inputs[i]) && !strcmp(p->type_var, output->type_var))
            return n->inputs[i]->dtype;
    }
    return T2O_NO_DTYPE;
}

static t2o_dtype dtype_of_arg(const t2o_arg *arg)
{
    if (arg->kind == T2O_ARG_DTYPE)
        return arg->dtype;
    bool known = arg->kind == T2O_ARG_INT && arg->i > 0 && arg->i < T2O_N_DTYPES;
    return known ? (t2o_dtype)arg->i : T2O_NO_DTYPE;
}

/* The attributes by which operators let the caller choose the type of an output. */
static t2o_dtype dtype_by_choice(const t2o_schema *schema, const t2o_node *n)
{
    static const char *const names[] = { "to", "dtype", "output_dtype", "output_datatype",
                                         "stash_type" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int at = t2o_schema_attr(schema, names[i]);
        if (at < 0)
            continue;
        const t2o_arg *arg = given_attr(n, names[i]);
        const char *preset = schema->attrs[at].default_text;
        t2o_arg assumed = { .kind = T2O_ARG_INT, .i = preset ? strtoll(preset, NULL, 10) : 0 };
        return dtype_of_arg(arg ? arg : &assumed);
    }
    return T2O_NO_DTYPE;
}

/* Constants: the type of whichever value attribute is given. */
static t2o_dtype dtype_by_content(const t2o_schema *schema, const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const t2o_attr *a = &n->attrs[i];
        int at = t2o_schema_attr(schema, a->name);
        if (at < 0 || strncmp(a->name, "value", 5) || a->arg.kind == T2O_ARG_NONE)
            continue;
        if (a->arg.kind == T2O_ARG_TENSOR)
            return a->arg.tensor->dtype;
        t2o_attr_type type = item_type(schema->attrs[at].type);
        return type == T2O_ATTR_FLOAT ? T2O_FLOAT32 : type == T2O_ATTR_INT ? T2O_INT64 : T2O_STRING;
    }
    return t2o_schema_attr(schema, "value") >= 0 ? T2O_FLOAT32 : T2O_NO_DTYPE;
}

/* A loop's body returns its condition first; branches and scans return just the outputs. */
static t2o_dtype dtype_by_body(const t2o_schema *schema, const t2o_node *n, uint32_t output)
{
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const t2o_attr *a = &n->attrs[i];
        if (a->arg.kind != T2O_ARG_GRAPH)
            continue;
        bool loop = !strcmp(a->name, "body") && t2o_schema_attr(schema, "num_scan_inputs") < 0;
        uint32_t at = output + (loop ? 1 : 0);
        const t2o_graph *body = a->arg.graph;
        return at < body->outputs.n && body->outputs.at[at].value
                   ? body->outputs.at[at].value->dtype
                   : T2O_NO_DTYPE;
    }
    return T2O_NO_DTYPE;
}

/* What is left keeps the type of an input that could be the output's ("Like" operators,
 * dequantisation), and quantisation gives uint8. Elements of sequences are not known. */
static t2o_dtype dtype_by_likeness(const t2o_schema *schema, const t2o_node *n,
                                   const t2o_param *output)
{
    for (uint32_t i = 0; i < schema->n_inputs; i++)
        if (schema->inputs[i].types & ~TENSOR_TYPES)
            return T2O_NO_DTYPE;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        const t2o_value *v = n->inputs[i];
        if (v && v->dtype == T2O_NO_DTYPE)
            return T2O_NO_DTYPE;
        if (v && output->types & T2O_TYPE_BIT(v->dtype))
            return v->dtype;
    }
    return output->types & T2O_TYPE_BIT(T2O_UINT8) ? T2O_UINT8 : T2O_NO_DTYPE;
}

static bool has_attr_type(const t2o_schema *schema, t2o_attr_type type)
{
    for (uint32_t i = 0; i < schema->n_attrs; i++)
        if (schema->attrs[i].type == type)
            return true;
    return false;
}

t2o_dtype t2o_onnx_output_dtype(const t2o_schema *schema, const t2o_node *n, uint32_t output)
{
    const t2o_param *p = t2o_schema_output(schema, output);
    if (!p || !(p->types & TENSOR_TYPES))
        return T2O_NO_DTYPE;
    if (p->heterogeneous)
        return dtype_by_body(schema, n, output);
    t2o_dtype dtype = only_type(p->types);
    if (dtype == T2O_NO_DTYPE)
        dtype = dtype_by_variable(schema, n, p);
    if (dtype == T2O_NO_DTYPE)
        dtype = dtype_by_choice(schema, n);
    if (dtype == T2O_NO_DTYPE && has_attr_type(schema, T2O_ATTR_TENSOR))
        return dtype_by_content(schema, n);
    return dtype != T2O_NO_DTYPE ? dtype : dtype_by_likeness(schema, n, p);
}

static bool check_outputs(check *c)
{
    for (uint32_t i = 0; i < c->n->n_outputs; i++) {
        const t2o_value *v = c->n->outputs[i];
        if (!v || v->kind != T2O_VALUE_TENSOR || v->dtype == T2O_NO_DTYPE)
            continue;
        t2o_dtype dtype = t2o_onnx_output_dtype(c->schema, c->n, i);
        if (dtype != T2O_NO_DTYPE && dtype != v->dtype)
            return fail(c, "output %u '%s' of %s is %s, but the graph says %s", i + 1,
                        t2o_schema_output(c->schema, i)->name, c->schema->op, t2o_dtype_name(dtype),
                        t2o_dtype_name(v->dtype));
    }
    return true;
}

/* An output that the caller chose the type of. */
static bool check_output_types(check *c)
{
    for (uint32_t i = 0; i < c->n->n_outputs; i++) {
        const t2o_param *p = t2o_schema_output(c->schema, i);
        t2o_dtype dtype = p ? t2o_onnx_output_dtype(c->schema, c->n, i) : T2O_NO_DTYPE;
        if (dtype != T2O_NO_DTYPE && !(p->types & T2O_TYPE_BIT(dtype)))
            return fail(c, "output %u '%s' of %s cannot be %s", i + 1, p->name, c->schema->op,
                        t2o_dtype_name(dtype));
    }
    return true;
}

bool t2o_onnx_check_node(const t2o_schema *schema, const t2o_node *n, const char **why,
                         bool *dtype_unsupported)
{
    check c = { .schema = schema, .n = n, .arena = n->graph->s->arena };
    *dtype_unsupported = false;
    bool ok = check_arity(&c) && check_attrs(&c) && check_kinds(&c) && check_consistent(&c) &&
              check_outputs(&c);
    if (ok) {
        ok = check_types(&c) && check_output_types(&c);
        *dtype_unsupported = !ok;
    }
    *why = c.why;
    return ok;
}
