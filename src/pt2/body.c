/* body.c: one scope at a time; arguments by a table of the union's tags. */
#include "pt2/body.h"

#include "pt2/enums.h"
#include "pt2/history.h"
#include "pt2/storage.h"

#define MAX_NESTING 64

typedef T2O_VEC(t2o_value *) value_list;

typedef struct scope {
    t2o_body_reader *r;
    t2o_graph *graph;
    unsigned depth;
    t2o_map defined;                      /* name -> t2o_value */
    t2o_map tensors, ints, floats, bools; /* name -> what the JSON says of it */
} scope;

/* The arguments of one call, or the results of it, or the ports of a graph. */
typedef struct call {
    scope *in;
    value_list operands;
    bool defines;
} call;

static bool read_graph(t2o_body_reader *r, const t2o_json *json, const char *name,
                       t2o_graph *parent, unsigned depth, t2o_body *out);

/* ---- op names ---- */

static const char *join_op(t2o_session *s, const char *space, size_t n, const char *op)
{
    return t2o_intern(s, t2o_printf(s->arena, "%.*s::%s", (int)n, space, op));
}

/* "aten.add.Tensor", "aten.relu.default", "higher_order.cond" */
static const char *registered_op(t2o_session *s, const char *path)
{
    const char *dot = strchr(path, '.');
    if (!dot)
        return join_op(s, "torch", 5, path);
    const char *op = dot + 1, *overload = strrchr(op, '.');
    if (overload && !strcmp(overload, ".default"))
        op = t2o_strndup(s->arena, op, (size_t)(overload - op));
    return join_op(s, path, (size_t)(dot - path), op);
}

const char *t2o_op_of_target(t2o_session *s, const char *target)
{
    static const char registered[] = "torch.ops.", functions[] = "torch._functorch.predispatch.";
    if (!strncmp(target, registered, sizeof registered - 1))
        return registered_op(s, target + sizeof registered - 1);
    if (!strncmp(target, functions, sizeof functions - 1))
        return join_op(s, "predispatch", 11, target + sizeof functions - 1);
    const char *colon = *target == '#' ? strchr(target, ':') : NULL;
    if (colon)
        return join_op(s, target + 1, (size_t)(colon - target - 1), colon + 1);
    const char *dot = strrchr(target, '.');
    return dot ? join_op(s, target, (size_t)(dot - target), dot + 1)
               : join_op(s, "python", 6, target);
}

/* ---- expressions and types ---- */

/* NULL in *out, without an error, where the numbers do not fit: nothing is known of the size. */
static bool read_expr_text(t2o_body_reader *r, const t2o_json *at, const char *text,
                           const t2o_expr **out)
{
    *out = t2o_map_get(&r->expressions, text);
    if (*out)
        return true;
    const char *why = NULL;
    *out = t2o_history_expr(r->doc->s, r->exprs, r->program, text, &why);
    if (*out)
        t2o_map_set(r->doc->s->arena, &r->expressions, text, (void *)*out);
    else if (why && strncmp(why, "a number", 8))
        return t2o_json_fail(r->doc, at, "%s in the expression '%.200s'", why, text);
    return true;
}

/* SymInt, SymFloat, SymBool: a number gives an expression only for an integer. */
static bool read_expr(t2o_body_reader *r, const t2o_json *json, const t2o_expr **out)
{
    const t2o_json *v = t2o_json_union(r->doc, json);
    const char *text;
    int64_t number;
    *out = NULL;
    if (!v)
        return false;
    if (!strcmp(t2o_json_key(v), "as_expr"))
        return t2o_json_text(r->doc, t2o_json_get(r->doc, v, "expr_str"), &text) &&
               read_expr_text(r, v, text, out);
    if (strcmp(t2o_json_key(v), "as_int"))
        return t2o_json_fail(r->doc, v, "an integer or an expression expected");
    if (!t2o_json_int(r->doc, v, &number))
        return false;
    *out = t2o_expr_int(r->exprs, number);
    return true;
}

static bool read_dims(t2o_body_reader *r, const t2o_json *list, const t2o_expr **dims,
                      int32_t *rank)
{
    if (!t2o_json_array(r->doc, list))
        return false;
    *rank = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v)) {
        if (*rank == T2O_MAX_RANK)
            return t2o_json_fail(r->doc, list, "more than %d dimensions", T2O_MAX_RANK);
        const t2o_expr **dim = &dims[(*rank)++];
        if (!read_expr(r, v, dim))
            return false;
        if (t2o_expr_is_int(*dim) && (*dim)->value < 0)
            return t2o_json_fail(r->doc, v, "a negative size");
    }
    return true;
}

static bool read_dtype(t2o_json_doc *d, const t2o_json *v, t2o_dtype *out)
{
    int64_t number;
    return t2o_json_int(d, v, &number) &&
           (t2o_dtype_of_schema(number, out) ||
            t2o_json_fail(d, v, "unknown element type %ld", (long)number));
}

/* ---- values ---- */

static const t2o_map *types_of(const scope *in, t2o_value_kind kind)
{
    switch (kind) {
    case T2O_VALUE_TENSOR: return &in->tensors;
    case T2O_VALUE_SYMINT: return &in->ints;
    case T2O_VALUE_SYMFLOAT: return &in->floats;
    default: return &in->bools;
    }
}

/* Whether the tensor lay row by row when the program was traced, from the start of its memory (`contiguous`), or for
 * certain did not (`scattered`). What says nothing of it, or only in symbols that differ, is neither. */
static void read_layout(t2o_body_reader *r, const t2o_json *meta, t2o_value *v)
{
    const t2o_expr *strides[T2O_MAX_RANK], *offset, *step = t2o_expr_int(r->exprs, 1);
    const t2o_json *list = t2o_json_get(r->doc, meta, "strides");
    const t2o_json *start = t2o_json_get(r->doc, meta, "storage_offset");
    int32_t n;
    if (!list || !start || !read_dims(r, list, strides, &n) || n != v->rank || !read_expr(r, start, &offset))
        return;
    bool in_order = true;
    for (int32_t i = v->rank; i-- > 0 && step; step = t2o_expr_mul(r->exprs, step, v->dims[i])) {
        if (strides[i] == step || (t2o_expr_is_int(v->dims[i]) && v->dims[i]->value == 1))
            continue;
        in_order = false;
        int order = t2o_expr_compare(r->exprs, strides[i], step);
        if ((order == 1 || order == -1) && t2o_expr_compare(r->exprs, v->dims[i], t2o_expr_int(r->exprs, 1)) == 1)
            v->scattered = true;
    }
    v->contiguous = in_order && step && t2o_expr_is_int(offset) && offset->value == 0;
}

/* "cpu", "cuda:0"; NULL after an error. */
static const char *device_text(t2o_json_doc *d, const t2o_json *v)
{
    const t2o_json *index = t2o_json_find(v, "index");
    const char *type;
    int64_t number;
    if (!t2o_json_text(d, t2o_json_get(d, v, "type"), &type) || (index && !t2o_json_int(d, index, &number)))
        return NULL;
    return t2o_intern(d->s, index ? t2o_printf(d->s->arena, "%s:%ld", type, (long)number) : type);
}

static t2o_value *new_tensor(scope *in, const char *name, const t2o_json *meta)
{
    t2o_body_reader *r = in->r;
    const t2o_expr *dims[T2O_MAX_RANK];
    t2o_dtype dtype;
    int32_t rank;
    if (!read_dtype(r->doc, t2o_json_get(r->doc, meta, "dtype"), &dtype) ||
        !read_dims(r, t2o_json_get(r->doc, meta, "sizes"), dims, &rank))
        return NULL;
    t2o_value *v = t2o_value_new(in->graph, T2O_VALUE_TENSOR, name, dtype, rank, dims);
    t2o_session *s = in->graph->s;
    size_t before = s->diags.n;
    read_layout(r, meta, v);
    v->device = device_text(r->doc, t2o_json_get(r->doc, meta, "device"));
    t2o_forget_diags(s, before); /* strides and device are hints: nothing fails for want of them */
    return v;
}

/* A tensor that has no entry carries no data (a token). */
static t2o_value *new_value(scope *in, t2o_value_kind kind, const char *name)
{
    const t2o_json *meta = kind == T2O_VALUE_OBJECT ? NULL : t2o_map_get(types_of(in, kind), name);
    const t2o_expr *expr = NULL;
    if (kind == T2O_VALUE_TENSOR && meta)
        return new_tensor(in, name, meta);
    if (kind == T2O_VALUE_SYMINT && meta && !read_expr(in->r, meta, &expr))
        return NULL;
    if (kind == T2O_VALUE_TENSOR)
        kind = T2O_VALUE_OBJECT;
    int32_t rank = kind == T2O_VALUE_OBJECT ? -1 : 0;
    t2o_value *v = t2o_value_new(in->graph, kind, name, T2O_NO_DTYPE, rank, NULL);
    v->expr = expr;
    return v;
}

static t2o_value *define(scope *in, t2o_value_kind kind, const char *name, const t2o_json *at)
{
    if (t2o_map_get(&in->defined, name)) {
        t2o_json_fail(in->r->doc, at, "the name '%s' is defined twice", name);
        return NULL;
    }
    t2o_value *v = new_value(in, kind, name);
    if (v)
        t2o_map_set(in->r->doc->s->arena, &in->defined, v->name, v);
    return v;
}

static t2o_value *look_up(scope *in, t2o_value_kind kind, const char *name, const t2o_json *at)
{
    t2o_value *v = t2o_map_get(&in->defined, name);
    if (!v) {
        t2o_json_fail(in->r->doc, at, "the name '%s' is used, but not defined before", name);
        return NULL;
    }
    /* lists of operands are written as lists of tensors, whatever is in them */
    if (v->kind != kind && kind != T2O_VALUE_TENSOR) {
        t2o_json_fail(in->r->doc, at, "'%s' is a value of another kind", name);
        return NULL;
    }
    v->mark = 1;
    return v;
}

/* Defines or uses a name, and makes arg refer to it. */
static bool operand(call *c, t2o_value_kind kind, const t2o_json *name, t2o_arg *arg)
{
    const char *text;
    if (!t2o_json_text(c->in->r->doc, name, &text))
        return false;
    t2o_value *v = c->defines ? define(c->in, kind, text, name) : look_up(c->in, kind, text, name);
    if (!v)
        return false;
    arg->kind = T2O_ARG_VALUE;
    arg->index = (uint32_t)c->operands.n;
    t2o_push(c->in->r->doc->s->arena, &c->operands, v);
    return true;
}

/* ---- the argument union: one function a kind of value ---- */

typedef bool arg_reader(call *c, const t2o_json *v, t2o_arg *arg);

static bool read_argument(call *c, const t2o_json *json, t2o_arg *arg);

static bool arg_none(call *c, const t2o_json *v, t2o_arg *arg)
{
    (void)c;
    (void)v;
    arg->kind = T2O_ARG_NONE;
    return true;
}

static bool arg_tensor(call *c, const t2o_json *v, t2o_arg *arg)
{
    return operand(c, T2O_VALUE_TENSOR, t2o_json_get(c->in->r->doc, v, "name"), arg);
}

static bool arg_object(call *c, const t2o_json *v, t2o_arg *arg)
{
    return operand(c, T2O_VALUE_OBJECT, t2o_json_get(c->in->r->doc, v, "name"), arg);
}

static bool arg_int(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_INT;
    return t2o_json_int(c->in->r->doc, v, &arg->i);
}

static bool arg_float(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_FLOAT;
    return t2o_json_double(c->in->r->doc, v, &arg->f);
}

static bool arg_bool(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_BOOL;
    return t2o_json_bool(c->in->r->doc, v, &arg->b);
}

static bool arg_string(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_STRING;
    if (!t2o_json_text(c->in->r->doc, v, &arg->text))
        return false;
    arg->n = (uint32_t)strlen(arg->text);
    return true;
}

/* {"as_name": ...} or a number of its own. */
static bool symbolic(call *c, const t2o_json *json, t2o_value_kind kind, t2o_arg *arg)
{
    const t2o_json *v = t2o_json_union(c->in->r->doc, json);
    if (!v)
        return false;
    const char *tag = t2o_json_key(v);
    if (!strcmp(tag, "as_name"))
        return operand(c, kind, v, arg);
    if (!strcmp(tag, "as_int"))
        return arg_int(c, v, arg);
    if (!strcmp(tag, "as_float"))
        return arg_float(c, v, arg);
    if (!strcmp(tag, "as_bool"))
        return arg_bool(c, v, arg);
    return t2o_json_fail(c->in->r->doc, v, "a name or a number expected");
}

static bool arg_sym_int(call *c, const t2o_json *v, t2o_arg *arg)
{
    return symbolic(c, v, T2O_VALUE_SYMINT, arg);
}

static bool arg_sym_float(call *c, const t2o_json *v, t2o_arg *arg)
{
    return symbolic(c, v, T2O_VALUE_SYMFLOAT, arg);
}

static bool arg_sym_bool(call *c, const t2o_json *v, t2o_arg *arg)
{
    return symbolic(c, v, T2O_VALUE_SYMBOOL, arg);
}

static bool arg_dtype(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_DTYPE;
    return read_dtype(c->in->r->doc, v, &arg->dtype);
}

static bool named(call *c, const t2o_json *v, t2o_arg *arg, t2o_arg_kind kind,
                  const char *(*name_of)(int64_t))
{
    int64_t number;
    if (!t2o_json_int(c->in->r->doc, v, &number))
        return false;
    arg->kind = kind;
    arg->text = name_of(number);
    return arg->text || t2o_json_fail(c->in->r->doc, v, "unknown number %ld", (long)number);
}

static bool arg_layout(call *c, const t2o_json *v, t2o_arg *arg)
{
    return named(c, v, arg, T2O_ARG_LAYOUT, t2o_layout_of_schema);
}

static bool arg_memory_format(call *c, const t2o_json *v, t2o_arg *arg)
{
    return named(c, v, arg, T2O_ARG_MEMORY_FORMAT, t2o_memory_format_of_schema);
}

static bool arg_device(call *c, const t2o_json *v, t2o_arg *arg)
{
    arg->kind = T2O_ARG_DEVICE;
    arg->text = device_text(c->in->r->doc, v);
    return arg->text != NULL;
}

static bool arg_complex(call *c, const t2o_json *v, t2o_arg *arg)
{
    t2o_json_doc *d = c->in->r->doc;
    arg->kind = T2O_ARG_COMPLEX;
    return t2o_json_double(d, t2o_json_get(d, v, "real"), &arg->f) &&
           t2o_json_double(d, t2o_json_get(d, v, "imag"), &arg->imag);
}

static bool arg_operator(call *c, const t2o_json *v, t2o_arg *arg)
{
    const char *target;
    if (!t2o_json_text(c->in->r->doc, v, &target))
        return false;
    arg->kind = T2O_ARG_OPERATOR;
    arg->text = t2o_op_of_target(c->in->r->doc->s, target);
    return true;
}

static bool arg_graph(call *c, const t2o_json *v, t2o_arg *arg)
{
    scope *in = c->in;
    t2o_json_doc *d = in->r->doc;
    const char *name;
    t2o_body body;
    if (!t2o_json_text(d, t2o_json_get(d, v, "name"), &name) ||
        !read_graph(in->r, t2o_json_get(d, v, "graph"), name, in->graph, in->depth + 1, &body))
        return false;
    for (uint32_t i = 0; i < body.outputs.n; i++)
        t2o_body_add_output(&body, &body.outputs.args[i], T2O_SPEC_NONE, NULL);
    arg->kind = T2O_ARG_GRAPH;
    arg->graph = body.graph;
    arg->text = body.graph->name;
    return true;
}

static bool arg_map(call *c, const t2o_json *v, t2o_arg *arg)
{
    t2o_json_doc *d = c->in->r->doc;
    if (!t2o_json_object(d, v))
        return false;
    uint32_t n = t2o_json_count(v), i = 0;
    arg->kind = T2O_ARG_MAP;
    arg->n = n;
    arg->items = T2O_NEW_N(d->s->arena, t2o_arg, n);
    arg->keys = T2O_NEW_N(d->s->arena, const char *, n);
    for (const t2o_json *item = t2o_json_first(v); item; item = t2o_json_next(item), i++) {
        arg->keys[i] = t2o_intern(d->s, t2o_json_key(item));
        if (!read_argument(c, item, &arg->items[i]))
            return false;
    }
    return true;
}

/* ---- the argument union: tags ---- */

static const struct arg_tag {
    const char *name;
    arg_reader *read;
    int lists; /* how many levels of lists stand around what is read */
} arg_tags[] = {
    { "as_tensor", arg_tensor, 0 },
    { "as_int", arg_int, 0 },
    { "as_ints", arg_int, 1 },
    { "as_sym_int", arg_sym_int, 0 },
    { "as_sym_ints", arg_sym_int, 1 },
    { "as_float", arg_float, 0 },
    { "as_bool", arg_bool, 0 },
    { "as_none", arg_none, 0 },
    { "as_tensors", arg_tensor, 1 },
    { "as_optional_tensors", read_argument, 1 },
    { "as_optional_tensor", read_argument, 0 },
    { "as_nested_tensors", arg_tensor, 2 },
    { "as_string", arg_string, 0 },
    { "as_strings", arg_string, 1 },
    { "as_floats", arg_float, 1 },
    { "as_bools", arg_bool, 1 },
    { "as_int_lists", arg_int, 2 },
    { "as_float_lists", arg_float, 2 },
    { "as_sym_float", arg_sym_float, 0 },
    { "as_sym_floats", arg_sym_float, 1 },
    { "as_sym_bool", arg_sym_bool, 0 },
    { "as_sym_bools", arg_sym_bool, 1 },
    { "as_scalar_type", arg_dtype, 0 },
    { "as_device", arg_device, 0 },
    { "as_layout", arg_layout, 0 },
    { "as_memory_format", arg_memory_format, 0 },
    { "as_complex", arg_complex, 0 },
    { "as_graph", arg_graph, 0 },
    { "as_custom_obj", arg_object, 0 },
    { "as_operator", arg_operator, 0 },
    { "as_string_to_argument", arg_map, 0 },
};

static bool read_list(call *c, const t2o_json *list, const struct arg_tag *tag, int lists,
                      t2o_arg *arg)
{
    if (lists == 0)
        return tag->read(c, list, arg);
    if (!t2o_json_array(c->in->r->doc, list))
        return false;
    arg->kind = T2O_ARG_LIST;
    arg->n = t2o_json_count(list);
    arg->items = T2O_NEW_N(c->in->r->doc->s->arena, t2o_arg, arg->n);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v))
        if (!read_list(c, v, tag, lists - 1, &arg->items[i++]))
            return false;
    return true;
}

static bool read_argument(call *c, const t2o_json *json, t2o_arg *arg)
{
    const t2o_json *v = t2o_json_union(c->in->r->doc, json);
    if (!v)
        return false;
    for (size_t i = 0; i < sizeof arg_tags / sizeof *arg_tags; i++)
        if (!strcmp(arg_tags[i].name, t2o_json_key(v)))
            return read_list(c, v, &arg_tags[i], arg_tags[i].lists, arg);
    arg->kind = T2O_ARG_UNKNOWN;
    arg->text = t2o_json_raw(c->in->r->doc, json);
    return true;
}

/* ---- nodes ---- */

/* Arguments without names: results, ports. */
static bool read_arguments(call *c, const t2o_json *list, t2o_arg **out, uint32_t *n)
{
    if (!t2o_json_array(c->in->r->doc, list))
        return false;
    *n = t2o_json_count(list);
    *out = T2O_NEW_N(c->in->r->doc->s->arena, t2o_arg, *n);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v))
        if (!read_argument(c, v, &(*out)[i++]))
            return false;
    return true;
}

static bool read_attr(call *c, const t2o_json *json, t2o_attr *attr)
{
    t2o_json_doc *d = c->in->r->doc;
    const t2o_json *kind = t2o_json_find(json, "kind");
    const char *name;
    int64_t number = 0;
    if (!t2o_json_text(d, t2o_json_get(d, json, "name"), &name) ||
        (kind && !t2o_json_int(d, kind, &number)) ||
        !read_argument(c, t2o_json_get(d, json, "arg"), &attr->arg))
        return false;
    attr->name = t2o_intern(d->s, name);
    attr->keyword = number == 2;
    return true;
}

static bool read_attrs(call *c, const t2o_json *list, t2o_attr **out, uint32_t *n)
{
    if (!t2o_json_array(c->in->r->doc, list))
        return false;
    *n = t2o_json_count(list);
    *out = T2O_NEW_N(c->in->r->doc->s->arena, t2o_attr, *n);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v))
        if (!read_attr(c, v, &(*out)[i++]))
            return false;
    return true;
}

/* The strings stay where the JSON has them. */
static t2o_meta *read_meta(t2o_json_doc *d, const t2o_json *json, const char *target)
{
    static const char registered[] = "torch.ops.";
    const t2o_json *strings = t2o_json_find(json, "metadata");
    t2o_meta *m = T2O_NEW(d->s->arena, t2o_meta);
    m->stack_trace = t2o_json_maybe_text(t2o_json_find(strings, "stack_trace"));
    m->nn_module_stack = t2o_json_maybe_text(t2o_json_find(strings, "nn_module_stack"));
    m->torch_fn = t2o_json_maybe_text(t2o_json_find(strings, "torch_fn"));
    bool is_registered = !strncmp(target, registered, sizeof registered - 1);
    m->target = is_registered ? target + sizeof registered - 1 : target;
    m->fx_node = t2o_json_maybe_text(t2o_json_find(json, "name"));
    return m;
}

/* Up to 2.10 a node has no name of its own: its first result's stands for it. */
static const char *node_name(const t2o_json *json, const call *results)
{
    const char *name = t2o_json_maybe_text(t2o_json_find(json, "name"));
    return name ? name : results->operands.n ? results->operands.at[0]->name : NULL;
}

static bool read_node_parts(scope *in, const t2o_json *json, const char *target)
{
    t2o_json_doc *d = in->r->doc;
    call arguments = { .in = in }, results = { .in = in, .defines = true };
    t2o_attr *attrs;
    t2o_arg *returns;
    uint32_t n_attrs, n_returns;
    if (!read_attrs(&arguments, t2o_json_get(d, json, "inputs"), &attrs, &n_attrs) ||
        !read_arguments(&results, t2o_json_get(d, json, "outputs"), &returns, &n_returns))
        return false;
    t2o_history_keywords(d->s, in->r->program, target, attrs, n_attrs);
    t2o_history_returns(in->r->program, target, &returns, &n_returns);
    t2o_node *n = t2o_node_new(in->graph, NULL, t2o_op_of_target(d->s, target),
                               arguments.operands.at, (uint32_t)arguments.operands.n, attrs,
                               n_attrs, results.operands.at, (uint32_t)results.operands.n);
    const char *doubt = t2o_history_records(target, n);
    if (doubt)
        in->r->doubt = doubt;
    const char *name = node_name(json, &results);
    n->name = name ? t2o_intern(d->s, name) : NULL;
    n->returns = returns;
    n->n_returns = n_returns;
    t2o_meta *meta = read_meta(d, json, target);
    if (!meta->fx_node)
        meta->fx_node = n->name;
    n->meta = meta;
    return true;
}

static bool read_node(scope *in, const t2o_json *json)
{
    t2o_json_doc *d = in->r->doc;
    const char *target;
    if (!t2o_json_text(d, t2o_json_get(d, json, "target"), &target))
        return false;
    if (read_node_parts(in, json, target))
        return true;
    const char *name = t2o_json_maybe_text(t2o_json_find(json, "name"));
    t2o_note(d->s, "in node '%s' (%s) of graph '%s'", name ? name : "?", target, in->graph->name);
    return false;
}

/* ---- graphs ---- */

static bool index_types(scope *in, const t2o_json *graph, const char *member, t2o_map *map)
{
    t2o_json_doc *d = in->r->doc;
    const t2o_json *types = t2o_json_find(graph, member);
    if (types && !t2o_json_object(d, types))
        return false;
    for (const t2o_json *v = t2o_json_first(types); v; v = t2o_json_next(v))
        if (t2o_map_set(d->s->arena, map, t2o_json_key(v), (void *)v))
            return t2o_json_fail(d, v, "'%s' is described twice", t2o_json_key(v));
    return true;
}

static bool read_ports(call *c, const t2o_json *list, t2o_ports *out)
{
    if (!read_arguments(c, list, &out->args, &out->n))
        return false;
    out->values = c->operands.at;
    return true;
}

/* Literals among the inputs are folded into the nodes already. */
static bool add_inputs(scope *in, const t2o_json *list, t2o_body *out)
{
    call c = { .in = in, .defines = true };
    if (!read_ports(&c, list, &out->inputs))
        return false;
    for (uint32_t i = 0; i < out->inputs.n; i++)
        if (out->inputs.args[i].kind == T2O_ARG_LIST)
            return t2o_json_fail(in->r->doc, list, "a list as an input of a graph");
    for (size_t i = 0; i < c.operands.n; i++)
        t2o_push(in->r->doc->s->arena, &in->graph->inputs, c.operands.at[i]);
    return true;
}

static bool read_scope(scope *in, const t2o_json *json, t2o_body *out)
{
    t2o_json_doc *d = in->r->doc;
    if (!index_types(in, json, "tensor_values", &in->tensors) ||
        !index_types(in, json, "sym_int_values", &in->ints) ||
        !index_types(in, json, "sym_float_values", &in->floats) ||
        !index_types(in, json, "sym_bool_values", &in->bools) ||
        !add_inputs(in, t2o_json_get(d, json, "inputs"), out))
        return false;
    const t2o_json *nodes = t2o_json_array(d, t2o_json_get(d, json, "nodes"));
    if (!nodes)
        return false;
    for (const t2o_json *v = t2o_json_first(nodes); v; v = t2o_json_next(v))
        if (!read_node(in, v))
            return false;
    call results = { .in = in };
    return read_ports(&results, t2o_json_get(d, json, "outputs"), &out->outputs);
}

static bool read_graph(t2o_body_reader *r, const t2o_json *json, const char *name,
                       t2o_graph *parent, unsigned depth, t2o_body *out)
{
    if (depth > MAX_NESTING)
        return t2o_json_fail(r->doc, json, "graphs nest deeper than %d levels", MAX_NESTING);
    scope in = { .r = r, .depth = depth, .graph = t2o_graph_new(r->doc->s, r->exprs, name) };
    in.graph->parent = parent;
    in.graph->program = r->program;
    *out = (t2o_body){ .graph = in.graph };
    return read_scope(&in, json, out);
}

bool t2o_body_read(t2o_body_reader *r, const t2o_json *json, const char *name, t2o_body *out)
{
    return read_graph(r, json, name, NULL, 0, out);
}

void t2o_body_add_output(t2o_body *body, const t2o_arg *arg, t2o_spec_kind kind, const char *target)
{
    t2o_graph *g = body->graph;
    if (arg->kind == T2O_ARG_LIST) {
        for (uint32_t i = 0; i < arg->n; i++)
            t2o_body_add_output(body, &arg->items[i], kind, target);
        return;
    }
    t2o_output_spec spec = { .kind = kind, .target = target };
    if (arg->kind == T2O_ARG_VALUE) {
        spec.value = body->outputs.values[arg->index];
        spec.name = spec.value->name;
    } else
        spec.literal = *arg;
    t2o_push(g->s->arena, &g->outputs, spec);
}
