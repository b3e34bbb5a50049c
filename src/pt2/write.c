/* write.c: a torch graph as an archive that torch.export.load takes (layout and schema of PyTorch 2.9 to 2.14).
 *
 * The program's JSON is one text in the arena; weights go from where they lie straight into the zip. Of intermediate
 * values the archive needs names and ranks only: what is not known of a dtype or size is written as that of a float
 * scalar, which PyTorch never looks at. Size arguments must be numbers or values (t2o_pass_sizes sees to that).
 */
#include "base/python_names.h"
#include "pt2/enums.h"
#include "pt2/pt2.h"
#include "pt2/zip.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEMA "\"schema_version\": {\"major\": 8, \"minor\": 14}"
#define ATEN_OPSET 10
#define LARGEST_EXAMPLE (1 << 18) /* of a size: seconds of sound */

typedef struct writer {
    t2o_session *s;
    t2o_arena *arena;
    const t2o_program *p;
    t2o_string text;
    t2o_map names; /* of values in the graph that is written; value->name -> identifier */
    t2o_map used;
    unsigned n_unbacked;
    int64_t usual; /* the example of a size of which nothing is known */
    bool ok;
} writer;

/* ---- text ---- */

static void put(writer *w, const char *text)
{
    t2o_string_add(&w->text, text);
}

__attribute__((format(printf, 2, 3))) static void putf(writer *w, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t2o_string_vaddf(&w->text, format, args);
    va_end(args);
}

static void put_string(writer *w, const char *text, size_t n)
{
    t2o_string_add_json(&w->text, text, n);
}

static void put_text(writer *w, const char *text)
{
    put_string(w, text, strlen(text));
}

static void put_float(writer *w, double f)
{
    if (isnan(f))
        put(w, "\"NaN\"");
    else if (isinf(f))
        put(w, f < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    else {
        const char *text = t2o_printf(w->arena, "%.17g", f);
        putf(w, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
    }
}

/* Python's identifier for a value, unique in its graph. */
static const char *identifier(writer *w, const t2o_value *v)
{
    const char *key = t2o_printf(w->arena, "%p", (const void *)v), *known = t2o_map_get(&w->names, key);
    if (known)
        return known;
    char *name = t2o_printf(w->arena, "%s%s", v->name && isdigit((unsigned char)*v->name) ? "v_" : "",
                            v->name && *v->name ? v->name : "value");
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            *p = '_';
    static const char *const globals[] = { "self", "torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree" };
    bool taken = t2o_is_python_keyword(name);
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        taken |= !strcmp(name, globals[i]); /* of the code that torch.fx makes */
    if (taken)
        name = t2o_printf(w->arena, "%s_", name);
    const char *unique = t2o_unique_name(w->s, &w->used, name);
    t2o_map_set(w->arena, &w->names, t2o_intern(w->s, key), (void *)unique);
    return unique;
}

/* ---- size expressions ---- */

static bool is_backed(const char *symbol)
{
    return *symbol != 'u' || !isdigit((unsigned char)symbol[1]);
}

/* PyTorch tells kinds of symbols by their first letters: sizes begin with s. */
static const char *symbol_name(writer *w, const char *name)
{
    size_t digits = strspn(name + 1, "0123456789");
    bool plain = (*name == 's' || *name == 'u') && digits && !name[1 + digits];
    return plain ? name : t2o_printf(w->arena, "s_%s", name);
}

/* sympy's srepr */
static void put_expr(writer *w, const t2o_expr *x)
{
    static const char *const kinds[] = { [T2O_EXPR_ADD] = "Add", [T2O_EXPR_MUL] = "Mul" };
    if (x->kind == T2O_EXPR_INT) {
        putf(w, "Integer(%" PRId64 ")", x->value);
        return;
    }
    if (x->kind == T2O_EXPR_SYMBOL) {
        putf(w, "Symbol('%s', %sinteger=True)", symbol_name(w, x->name), is_backed(x->name) ? "positive=True, " : "");
        return;
    }
    putf(w, "%s(", x->kind == T2O_EXPR_CALL ? x->name : kinds[x->kind]);
    for (uint32_t i = 0; i < x->n_args; i++) {
        put(w, i ? ", " : "");
        put_expr(w, x->args[i]);
    }
    put(w, ")");
}

/* An example of a size: each symbol the number, or the next one of its range. False where a function has no such. */
static bool example(const t2o_exprs *e, const t2o_expr *x, int64_t usual, int64_t *out)
{
    int64_t min = 0, max = INT64_MAX, a = 0, b = 0;
    switch (x->kind) {
    case T2O_EXPR_INT: *out = x->value; return true;
    case T2O_EXPR_SYMBOL:
        t2o_expr_range(e, x->name, &min, &max);
        *out = min > usual ? min : max < usual ? max : usual;
        return true;
    default: break;
    }
    bool is_sum = x->kind == T2O_EXPR_ADD, is_product = x->kind == T2O_EXPR_MUL;
    if (is_sum || is_product) {
        *out = is_product;
        for (uint32_t i = 0; i < x->n_args; i++)
            if (!example(e, x->args[i], usual, &a) || (is_sum ? __builtin_add_overflow(*out, a, out)
                                                       : __builtin_mul_overflow(*out, a, out)))
                return false;
        return true;
    }
    if (x->n_args != 2 || !example(e, x->args[0], usual, &a) || !example(e, x->args[1], usual, &b))
        return false;
    if (!strcmp(x->name, "Max") || !strcmp(x->name, "Min"))
        *out = (x->name[1] == 'a') == (a > b) ? a : b;
    else if (b > 0 && !strcmp(x->name, "FloorDiv"))
        *out = a / b - (a % b < 0);
    else if (b > 0 && !strcmp(x->name, "Mod"))
        *out = a % b + (a % b < 0 ? b : 0);
    else
        return false;
    return true;
}

/* How many sizes of the graph's tensors are less than 2 by these examples: PyTorch takes 0 and 1 for special, and no
 * size can be negative. */
static size_t unusual(const t2o_graph *g, int64_t usual)
{
    size_t n = 0;
    int64_t number;
    for (size_t i = 0; i < g->values.n; i++)
        for (int32_t d = 0; d < g->values.at[i]->rank; d++) {
            const t2o_expr *x = g->values.at[i]->dims[d];
            n += x && !t2o_expr_is_int(x) && (!example(g->exprs, x, usual, &number) || number < 2);
        }
    for (const t2o_node *node = g->first; node; node = node->next)
        for (uint32_t i = 0; i < node->n_attrs; i++)
            if (node->attrs[i].arg.kind == T2O_ARG_GRAPH)
                n += unusual(node->attrs[i].arg.graph, usual);
    return n;
}

/* The least power of 2 that is large enough for the graph's windows and cuts, as far as any is. */
static int64_t usual_size(const t2o_graph *g)
{
    int64_t best = 4;
    size_t least = SIZE_MAX;
    for (int64_t usual = 4; usual <= LARGEST_EXAMPLE && least; usual *= 2) {
        size_t n = unusual(g, usual);
        if (n < least) {
            best = usual;
            least = n;
        }
    }
    return best;
}

static void put_size(writer *w, const t2o_expr *x)
{
    int64_t number;
    if (!x || t2o_expr_is_int(x)) {
        putf(w, "{\"as_int\": %" PRId64 "}", x ? x->value : 1);
        return;
    }
    put(w, "{\"as_expr\": {\"expr_str\": \"");
    put_expr(w, x);
    put(w, "\", \"hint\": ");
    if (example(w->p->graph->exprs, x, w->usual, &number))
        putf(w, "{\"as_int\": %" PRId64 "}}}", number);
    else
        put(w, "null}}");
}

/* ---- values ---- */

static void put_device(writer *w, const char *device)
{
    const char *colon = device ? strchr(device, ':') : NULL;
    put(w, "{\"type\": ");
    put_string(w, device ? device : "cpu", colon ? (size_t)(colon - device) : strlen(device ? device : "cpu"));
    putf(w, ", \"index\": %s}", colon ? colon + 1 : "null");
}

static void put_sizes(writer *w, const t2o_value *v)
{
    put(w, "\"sizes\": [");
    for (int32_t i = 0; i < v->rank; i++) {
        put(w, i ? ", " : "");
        put_size(w, v->dims[i]);
    }
    put(w, "], \"strides\": [");
    const t2o_expr *stride = t2o_expr_int(v->graph->exprs, 1),
                   **strides = T2O_NEW_N(w->arena, const t2o_expr *, v->rank > 0 ? v->rank : 1);
    for (int32_t i = v->rank; i-- > 0;) {
        strides[i] = stride;
        stride = t2o_expr_mul(v->graph->exprs, stride, v->dims[i]);
    }
    for (int32_t i = 0; i < v->rank; i++) {
        put(w, i ? ", " : "");
        put_size(w, strides[i]);
    }
    put(w, "]");
}

static void put_tensor_meta(writer *w, const t2o_value *v)
{
    int64_t dtype = t2o_schema_of_dtype(v->dtype);
    putf(w, "{\"dtype\": %" PRId64 ", ", dtype ? dtype : t2o_schema_of_dtype(T2O_FLOAT32));
    put_sizes(w, v);
    putf(w, ", \"requires_grad\": %s, \"device\": ", v->spec == T2O_SPEC_PARAMETER ? "true" : "false");
    put_device(w, v->device);
    put(w, ", \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}");
}

/* A size that only the run tells. */
static const t2o_expr *unbacked(writer *w)
{
    return t2o_expr_symbol(w->p->graph->exprs, t2o_intern(w->s, t2o_printf(w->arena, "u%u", w->n_unbacked++)));
}

/* {"tensor_values": ..., "sym_int_values": ...} of the values that the graph's inputs and nodes define. */
static void put_values_of(writer *w, const t2o_graph *g, t2o_value_kind kind, const char *member)
{
    const char *comma = "";
    putf(w, "\"%s\": {", member);
    for (size_t i = 0; i < g->values.n; i++) {
        const t2o_value *v = g->values.at[i];
        if (v->kind != kind || v->graph != g || !v->mark)
            continue;
        putf(w, "%s\"%s\": ", comma, identifier(w, v));
        comma = ", ";
        if (kind == T2O_VALUE_TENSOR)
            put_tensor_meta(w, v);
        else if (kind == T2O_VALUE_SYMINT)
            put_size(w, v->expr ? v->expr : unbacked(w));
        else
            put(w, kind == T2O_VALUE_SYMBOOL ? "{\"as_bool\": true}" : "{\"as_float\": 1.0}");
    }
    put(w, "}");
}

/* ---- arguments ---- */

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Targets that are Python's own functions: "_operator.mul", "torch.sym_max". */
static bool is_python(const char *op)
{
    return begins(op, "_operator::") || begins(op, "torch::") || begins(op, "math::");
}

/* "torch.ops.aten.add.Tensor" of aten::add.Tensor, "_operator.mul" of _operator::mul. */
static void put_target_of(writer *w, const char *op)
{
    const char *colons = strstr(op, "::");
    int ns = colons ? (int)(colons - op) : 0;
    const char *name = colons ? colons + 2 : op;
    bool plain = is_python(op) || strchr(name, '.') || begins(op, "higher_order::");
    putf(w, "%s%.*s.%s%s", is_python(op) ? "" : "torch.ops.", ns, op, name, plain ? "" : ".default");
}

static void put_target(writer *w, const t2o_node *n)
{
    const char *target = n->meta ? n->meta->target : NULL;
    put(w, "\"");
    if (target)
        putf(w, "%s%s", is_python(n->op) || begins(target, "torch.") ? "" : "torch.ops.", target);
    else
        put_target_of(w, n->op);
    put(w, "\"");
}

static void put_graph(writer *w, const t2o_graph *g, bool single);
static void put_arg(writer *w, const t2o_node *n, const t2o_arg *arg);

static bool fail_arg(writer *w, const t2o_node *n, const char *what)
{
    if (w->ok)
        t2o_fail(w->s, "E0102", "%s: %s has no form in an archive", n ? n->op : "an output", what);
    w->ok = false;
    return false;
}

static void put_value(writer *w, const t2o_value *v)
{
    const char *name = identifier(w, v);
    switch (v->kind) {
    case T2O_VALUE_SYMINT: putf(w, "{\"as_sym_int\": {\"as_name\": \"%s\"}}", name); break;
    case T2O_VALUE_SYMBOOL: putf(w, "{\"as_sym_bool\": {\"as_name\": \"%s\"}}", name); break;
    case T2O_VALUE_SYMFLOAT: putf(w, "{\"as_sym_float\": {\"as_name\": \"%s\"}}", name); break;
    default: putf(w, "{\"as_tensor\": {\"name\": \"%s\"}}", name);
    }
}

typedef enum list_kind { INTS, FLOATS, BOOLS, STRINGS, SYM_INTS, TENSORS, OPTIONAL_TENSORS, LISTS, MIXED } list_kind;

static const t2o_value *operand(const t2o_node *n, const t2o_arg *arg)
{
    return arg->kind == T2O_ARG_VALUE ? n->inputs[arg->index] : NULL;
}

static list_kind kind_of_item(const t2o_node *n, const t2o_arg *item)
{
    const t2o_value *v = operand(n, item);
    switch (item->kind) {
    case T2O_ARG_INT: return INTS;
    case T2O_ARG_FLOAT: return FLOATS;
    case T2O_ARG_BOOL: return BOOLS;
    case T2O_ARG_STRING: return STRINGS;
    case T2O_ARG_NONE: return OPTIONAL_TENSORS;
    case T2O_ARG_LIST: return LISTS;
    case T2O_ARG_VALUE:
        return v && v->kind == T2O_VALUE_SYMINT ? SYM_INTS : v && v->kind == T2O_VALUE_TENSOR ? TENSORS : MIXED;
    default: return MIXED;
    }
}

static list_kind joined(list_kind a, list_kind b)
{
    if (a == b)
        return a;
    if ((a == INTS && b == FLOATS) || (a == FLOATS && b == INTS))
        return FLOATS;
    if ((a == INTS && b == SYM_INTS) || (a == SYM_INTS && b == INTS))
        return SYM_INTS;
    if ((a == TENSORS && b == OPTIONAL_TENSORS) || (a == OPTIONAL_TENSORS && b == TENSORS))
        return OPTIONAL_TENSORS;
    if ((a == TENSORS && b == SYM_INTS) || (a == SYM_INTS && b == TENSORS))
        return TENSORS; /* operands of a body: archives list sizes among the tensors */
    return MIXED;
}

static void put_item(writer *w, const t2o_node *n, const t2o_arg *item, list_kind kind)
{
    const t2o_value *v = operand(n, item);
    switch (kind) {
    case INTS: putf(w, "%" PRId64, item->i); break;
    case FLOATS: put_float(w, item->kind == T2O_ARG_INT ? (double)item->i : item->f); break;
    case BOOLS: put(w, item->b ? "true" : "false"); break;
    case STRINGS: put_string(w, item->text, item->n); break;
    case SYM_INTS:
        if (v)
            putf(w, "{\"as_name\": \"%s\"}", identifier(w, v));
        else
            putf(w, "{\"as_int\": %" PRId64 "}", item->i);
        break;
    case TENSORS: putf(w, "{\"name\": \"%s\"}", identifier(w, v)); break;
    case OPTIONAL_TENSORS:
        if (v)
            put_value(w, v);
        else
            put(w, "{\"as_none\": true}");
        break;
    default: fail_arg(w, n, "a list of such items");
    }
}

static void put_list(writer *w, const t2o_node *n, const t2o_arg *arg, list_kind kind)
{
    put(w, "[");
    for (uint32_t i = 0; i < arg->n; i++) {
        put(w, i ? ", " : "");
        put_item(w, n, &arg->items[i], kind);
    }
    put(w, "]");
}

static void put_list_arg(writer *w, const t2o_node *n, const t2o_arg *arg)
{
    static const char *const tags[] = { "as_ints", "as_floats", "as_bools", "as_strings", "as_sym_ints", "as_tensors",
                                        "as_optional_tensors" };
    list_kind kind = arg->n ? kind_of_item(n, &arg->items[0]) : n->op && strstr(n->op, "higher_order") ? TENSORS : INTS;
    for (uint32_t i = 1; i < arg->n; i++)
        kind = joined(kind, kind_of_item(n, &arg->items[i]));
    if (kind >= LISTS) {
        fail_arg(w, n, "a list of such items");
        return;
    }
    putf(w, "{\"%s\": ", tags[kind]);
    put_list(w, n, arg, kind);
    put(w, "}");
}

static void put_map_arg(writer *w, const t2o_node *n, const t2o_arg *arg)
{
    put(w, "{\"as_string_to_argument\": {");
    for (uint32_t i = 0; i < arg->n; i++) {
        put(w, i ? ", " : "");
        put_text(w, arg->keys[i]);
        put(w, ": ");
        put_arg(w, n, &arg->items[i]);
    }
    put(w, "}}");
}

/* The condition of a while_loop alone returns a tensor instead of a tuple. */
static void put_graph_arg(writer *w, const t2o_node *n, const t2o_arg *arg)
{
    bool single = !strcmp(n->op, "higher_order::while_loop") && arg == &n->attrs[0].arg;
    t2o_map names = w->names, used = w->used;
    w->names = w->used = (t2o_map){ 0 };
    put(w, "{\"as_graph\": {\"name\": ");
    put_text(w, arg->text ? arg->text : arg->graph->name);
    put(w, ", \"graph\": ");
    put_graph(w, arg->graph, single);
    put(w, "}}");
    w->names = names;
    w->used = used;
}

static void put_arg(writer *w, const t2o_node *n, const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_NONE: put(w, "{\"as_none\": true}"); break;
    case T2O_ARG_VALUE: put_value(w, n->inputs[arg->index]); break;
    case T2O_ARG_INT: putf(w, "{\"as_int\": %" PRId64 "}", arg->i); break;
    case T2O_ARG_FLOAT: put(w, "{\"as_float\": "); put_float(w, arg->f); put(w, "}"); break;
    case T2O_ARG_BOOL: putf(w, "{\"as_bool\": %s}", arg->b ? "true" : "false"); break;
    case T2O_ARG_STRING: put(w, "{\"as_string\": "); put_string(w, arg->text, arg->n); put(w, "}"); break;
    case T2O_ARG_COMPLEX:
        put(w, "{\"as_complex\": {\"real\": ");
        put_float(w, arg->f);
        put(w, ", \"imag\": ");
        put_float(w, arg->imag);
        put(w, "}}");
        break;
    case T2O_ARG_DTYPE: putf(w, "{\"as_scalar_type\": %" PRId64 "}", t2o_schema_of_dtype(arg->dtype)); break;
    case T2O_ARG_DEVICE: put(w, "{\"as_device\": "); put_device(w, arg->text); put(w, "}"); break;
    case T2O_ARG_LAYOUT: put(w, "{\"as_layout\": 7}"); break;
    case T2O_ARG_MEMORY_FORMAT:
        putf(w, "{\"as_memory_format\": %" PRId64 "}", t2o_schema_of_memory_format(arg->text));
        break;
    case T2O_ARG_LIST: put_list_arg(w, n, arg); break;
    case T2O_ARG_MAP: put_map_arg(w, n, arg); break;
    case T2O_ARG_GRAPH: put_graph_arg(w, n, arg); break;
    case T2O_ARG_OPERATOR:
        put(w, "{\"as_operator\": \"");
        put_target_of(w, arg->text);
        put(w, "\"}");
        break;
    default: fail_arg(w, n, "an argument");
    }
}

/* ---- nodes ---- */

static void put_result(writer *w, const t2o_node *n, const t2o_arg *result)
{
    if (result->kind == T2O_ARG_VALUE) {
        put_value(w, n->outputs[result->index]);
        return;
    }
    if (result->kind != T2O_ARG_LIST) {
        put(w, "{\"as_none\": true}");
        return;
    }
    put(w, "{\"as_tensors\": [");
    for (uint32_t i = 0; i < result->n; i++)
        putf(w, "%s{\"name\": \"%s\"}", i ? ", " : "", identifier(w, n->outputs[result->items[i].index]));
    put(w, "]}");
}

static void put_meta(writer *w, const t2o_meta *meta)
{
    const char *const names[] = { "stack_trace", "nn_module_stack", "torch_fn" }, *comma = "";
    const char *texts[] = { meta ? meta->stack_trace : NULL, meta ? meta->nn_module_stack : NULL,
                            meta ? meta->torch_fn : NULL };
    put(w, "{");
    for (int i = 0; i < 3; i++)
        if (texts[i]) {
            putf(w, "%s\"%s\": ", comma, names[i]);
            put_text(w, texts[i]);
            comma = ", ";
        }
    put(w, "}");
}

static void put_node(writer *w, const t2o_node *n)
{
    bool higher = !strncmp(n->op, "higher_order", 12);
    put(w, "{\"target\": ");
    put_target(w, n);
    put(w, ", \"inputs\": [");
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        putf(w, "%s{\"name\": \"%s\", \"arg\": ", i ? ", " : "", n->attrs[i].name);
        put_arg(w, n, &n->attrs[i].arg);
        putf(w, ", \"kind\": %d}", n->attrs[i].keyword ? 2 : 1);
    }
    put(w, "], \"outputs\": [");
    for (uint32_t i = 0; i < n->n_returns; i++) {
        put(w, i ? ", " : "");
        put_result(w, n, &n->returns[i]);
    }
    put(w, "], \"metadata\": ");
    put_meta(w, n->meta);
    putf(w, ", \"is_hop_single_tensor_return\": %s, \"name\": ", higher ? "false" : "null");
    if (n->meta && n->meta->fx_node)
        put_text(w, n->meta->fx_node);
    else
        put(w, "null");
    put(w, "}");
}

static void put_output(writer *w, const t2o_output_spec *o)
{
    static const t2o_node none = { .op = "an output" };
    if (o->value)
        put_value(w, o->value);
    else
        put_arg(w, &none, &o->literal);
}

static void mark_defined(const t2o_graph *g, uint32_t mark)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        g->inputs.at[i]->mark = mark;
    for (const t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            n->outputs[i]->mark = mark;
}

static void put_graph(writer *w, const t2o_graph *g, bool single)
{
    put(w, "{\"inputs\": [");
    for (size_t i = 0; i < g->inputs.n; i++) {
        put(w, i ? ", " : "");
        put_value(w, g->inputs.at[i]);
    }
    put(w, "], \"nodes\": [");
    for (const t2o_node *n = g->first; n; n = n->next) {
        put_node(w, n);
        put(w, n->next ? ", " : "");
    }
    put(w, "], \"outputs\": [");
    for (size_t i = 0; i < g->outputs.n; i++) {
        put(w, i ? ", " : "");
        put_output(w, &g->outputs.at[i]);
    }
    put(w, "], ");
    mark_defined(g, 1);
    put_values_of(w, g, T2O_VALUE_TENSOR, "tensor_values");
    put(w, ", ");
    put_values_of(w, g, T2O_VALUE_SYMINT, "sym_int_values");
    put(w, ", ");
    put_values_of(w, g, T2O_VALUE_SYMBOOL, "sym_bool_values");
    put(w, ", ");
    put_values_of(w, g, T2O_VALUE_SYMFLOAT, "sym_float_values");
    mark_defined(g, 0);
    putf(w, ", \"is_single_tensor_return\": %s}", single ? "true" : "false");
}

/* ---- the signature ---- */

static void put_input_spec(writer *w, const t2o_value *v)
{
    static const struct { t2o_spec_kind kind; const char *tag;
    } tags[] = {
        { T2O_SPEC_PARAMETER, "parameter" },
        { T2O_SPEC_BUFFER, "buffer" },
        { T2O_SPEC_CONSTANT_TENSOR, "tensor_constant" },
    };
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (tags[i].kind != v->spec)
            continue;
        putf(w, "{\"%s\": {\"arg\": {\"name\": \"%s\"}, \"%s_name\": ", tags[i].tag, identifier(w, v), tags[i].tag);
        put_text(w, v->target);
        if (v->spec == T2O_SPEC_BUFFER)
            putf(w, ", \"persistent\": %s", v->persistent ? "true" : "false");
        put(w, "}}");
        return;
    }
    if (v->spec == T2O_SPEC_TOKEN) {
        putf(w, "{\"token\": {\"arg\": {\"name\": \"%s\"}}}", identifier(w, v));
        return;
    }
    put(w, "{\"user_input\": {\"arg\": ");
    put_value(w, v);
    put(w, "}}");
}

static void put_output_spec(writer *w, const t2o_output_spec *o)
{
    const char *tag = o->kind == T2O_SPEC_BUFFER_MUTATION       ? "buffer"
                      : o->kind == T2O_SPEC_PARAMETER_MUTATION  ? "parameter"
                      : o->kind == T2O_SPEC_USER_INPUT_MUTATION ? "user_input"
                                                                : NULL;
    if (o->kind == T2O_SPEC_TOKEN) {
        putf(w, "{\"token\": {\"arg\": {\"name\": \"%s\"}}}", identifier(w, o->value));
        return;
    }
    if (!tag) {
        put(w, "{\"user_output\": {\"arg\": ");
        put_output(w, o);
        put(w, "}}");
        return;
    }
    putf(w, "{\"%s_mutation\": {\"arg\": {\"name\": \"%s\"}, \"%s_name\": ", tag, identifier(w, o->value), tag);
    put_text(w, o->target);
    put(w, "}}");
}

static void put_spec_leaves(writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        putf(w, "%s{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}", i ? ", " : "");
}

#define TUPLE "{\\\"type\\\": \\\"builtins.tuple\\\", \\\"context\\\": \\\"null\\\", \\\"children_spec\\\": ["
#define EMPTY_DICT "{\\\"type\\\": \\\"builtins.dict\\\", \\\"context\\\": \\\"[]\\\", \\\"children_spec\\\": []}"

/* How inputs and outputs nest: as the program has it, else a flat tuple, or one output alone. */
static void put_specs(writer *w, const t2o_graph *g)
{
    size_t inputs = 0, outputs = 0;
    for (size_t i = 0; i < g->inputs.n; i++)
        inputs += !g->inputs.at[i]->constant && g->inputs.at[i]->spec == T2O_SPEC_USER_INPUT;
    for (size_t i = 0; i < g->outputs.n; i++)
        outputs += !t2o_spec_is_mutation(g->outputs.at[i].kind);
    put(w, "\"in_spec\": ");
    if (w->p->in_spec)
        put_text(w, w->p->in_spec);
    else {
        put(w, "\"[1, " TUPLE TUPLE);
        put_spec_leaves(w, inputs);
        put(w, "]}, " EMPTY_DICT "]}]\"");
    }
    put(w, ", \"out_spec\": ");
    if (w->p->out_spec)
        put_text(w, w->p->out_spec);
    else if (outputs == 1) {
        put(w, "\"[1, ");
        put_spec_leaves(w, 1);
        put(w, "]\"");
    } else {
        put(w, "\"[1, " TUPLE);
        put_spec_leaves(w, outputs);
        put(w, "]}]\"");
    }
}

static void put_signature(writer *w, const t2o_graph *g)
{
    put(w, "{\"input_specs\": [");
    for (size_t i = 0; i < g->inputs.n; i++) {
        put(w, i ? ", " : "");
        put_input_spec(w, g->inputs.at[i]);
    }
    put(w, "], \"output_specs\": [");
    for (size_t i = 0; i < g->outputs.n; i++) {
        put(w, i ? ", " : "");
        put_output_spec(w, &g->outputs.at[i]);
    }
    put(w, "]}, \"module_call_graph\": [{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], ");
    put_specs(w, g);
    put(w, ", \"forward_arg_names\": null}}]");
}

typedef struct symbol_list {
    writer *w;
    t2o_map seen;
} symbol_list;

static void note_symbol(void *ctx, const char *name)
{
    symbol_list *list = ctx;
    t2o_map_set(list->w->arena, &list->seen, name, (void *)name);
}

static void note_symbols(symbol_list *list, const t2o_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const t2o_value *v = g->values.at[i];
        for (int32_t d = 0; d < v->rank; d++)
            if (v->dims[d])
                t2o_expr_each_symbol(v->dims[d], note_symbol, list);
        if (v->expr)
            t2o_expr_each_symbol(v->expr, note_symbol, list);
    }
}

static void put_ranges(writer *w, const t2o_graph *g)
{
    symbol_list list = { .w = w };
    note_symbols(&list, g);
    for (size_t i = 0; i < list.seen.n; i++) {
        const char *name = list.seen.entries[i].key;
        int64_t min = 0, max = INT64_MAX;
        t2o_expr_range(g->exprs, name, &min, &max);
        putf(w, "%s\"%s\": {\"min_val\": %" PRId64 ", \"max_val\": ", i ? ", " : "", symbol_name(w, name),
             min < 0 ? 0 : min);
        put(w, max == INT64_MAX ? "null}" : t2o_printf(w->arena, "%" PRId64 "}", max));
    }
}

static void put_program(writer *w)
{
    const t2o_graph *g = w->p->graph;
    put(w, "{\"graph_module\": {\"graph\": ");
    put_graph(w, g, false);
    put(w, ", \"signature\": ");
    put_signature(w, g);
    putf(w, ", \"metadata\": {}, \"treespec_namedtuple_fields\": {}}, \"opset_version\": {\"aten\": %d}, ", ATEN_OPSET);
    put(w, "\"range_constraints\": {");
    put_ranges(w, g);
    putf(w, "}, " SCHEMA ", \"verifiers\": [\"%s\"], \"torch_version\": \"t2o\", \"guards_code\": []}",
         w->p->verifier ? w->p->verifier : "TRAINING");
}

/* ---- weights ---- */

static bool in_weights(const t2o_value *v)
{
    return v->spec == T2O_SPEC_PARAMETER || (v->spec == T2O_SPEC_BUFFER && v->persistent);
}

static void put_weight_config(writer *w, const t2o_value *v, const char *file)
{
    const t2o_tensor *t = v->data;
    int64_t stride = 1;
    put_text(w, v->target);
    putf(w, ": {\"path_name\": \"%s\", \"is_param\": %s, \"use_pickle\": false, \"tensor_meta\": {\"dtype\": %" PRId64
            ", \"sizes\": [", file, v->spec == T2O_SPEC_PARAMETER ? "true" : "false", t2o_schema_of_dtype(t->dtype));
    int64_t *strides = T2O_NEW_N(w->arena, int64_t, t->rank);
    for (uint32_t i = t->rank; i-- > 0; stride *= t->dims[i] ? t->dims[i] : 1)
        strides[i] = stride;
    for (uint32_t i = 0; i < t->rank; i++)
        putf(w, "%s{\"as_int\": %" PRId64 "}", i ? ", " : "", t->dims[i]);
    put(w, "], \"strides\": [");
    for (uint32_t i = 0; i < t->rank; i++)
        putf(w, "%s{\"as_int\": %" PRId64 "}", i ? ", " : "", strides[i]);
    bool floats = t2o_dtype_is_float(t->dtype) && v->spec == T2O_SPEC_PARAMETER;
    putf(w, "], \"requires_grad\": %s, \"device\": {\"type\": \"cpu\", \"index\": null}, \"storage_offset\": "
            "{\"as_int\": 0}, \"layout\": 7}}", floats ? "true" : "false");
}

static void take_block(void *z, const void *bytes, size_t n)
{
    t2o_zip_write(z, bytes, n);
}

static void write_tensor(t2o_zip *z, const char *name, const t2o_tensor *t)
{
    t2o_zip_begin(z, name, (uint64_t)t2o_tensor_bytes(t));
    t2o_tensor_blocks(t, take_block, z);
    t2o_zip_end(z);
}

/* What two inputs must share to be one weight. */
static const char *storage_key(writer *w, const t2o_tensor *t)
{
    t2o_string key;
    t2o_string_start(&key, w->arena);
    t2o_tensor_add_place(t, &key);
    return t2o_string_end(&key);
}

static bool write_weights(writer *w, t2o_zip *z, const char *root, bool weights)
{
    const char *folder = weights ? "weights" : "constants", *prefix = weights ? "weight" : "tensor", *comma = "";
    t2o_map files = { 0 };
    const t2o_graph *g = w->p->graph;
    w->text.n = 0;
    put(w, "{\"config\": {");
    for (size_t i = 0; i < g->inputs.n; i++) {
        const t2o_value *v = g->inputs.at[i];
        if (!v->constant || in_weights(v) != weights)
            continue;
        if (!v->data || !v->data->data || !t2o_schema_of_dtype(v->data->dtype))
            return t2o_fail(w->s, "E0102", "weight '%s' has no form in an archive", v->target);
        const char *key = storage_key(w, v->data), *file = t2o_map_get(&files, key);
        if (!file) {
            file = t2o_printf(w->arena, "%s_%zu", prefix, files.n);
            t2o_map_set(w->arena, &files, key, (void *)file);
            write_tensor(z, t2o_printf(w->arena, "%s/data/%s/%s", root, folder, file), v->data);
        }
        put(w, comma);
        put_weight_config(w, v, file);
        comma = ", ";
    }
    put(w, "}}");
    t2o_zip_record(z, t2o_printf(w->arena, "%s/data/%s/model_%s_config.json", root, folder, folder), w->text.at,
                   w->text.n);
    return true;
}

bool t2o_pt2_write(const t2o_program *p, const char *source, t2o_output *out)
{
    writer w = { .s = p->graph->s, .arena = p->graph->s->arena, .p = p, .ok = true };
    const char *root = "model";
    for (size_t i = 0; i < p->graph->inputs.n; i++)
        if (p->graph->inputs.at[i]->kind == T2O_VALUE_TENSOR && p->graph->inputs.at[i]->rank < 0)
            return t2o_fail(w.s, "E0302", "input '%s' has an unknown rank, for which an archive has no place: write"
                            " Python source (-o NAME.py)", p->graph->inputs.at[i]->name);
    w.usual = usual_size(p->graph);
    w.n_unbacked = (unsigned)p->graph->values.n; /* behind those that values have already */
    t2o_string_start(&w.text, w.arena);
    put_program(&w);
    if (!w.ok)
        return false;
    t2o_zip *z = t2o_zip_new(w.s, out);
    t2o_zip_record(z, "model/archive_format", "pt2", 3);
    t2o_zip_record(z, "model/archive_version", "0", 1);
    t2o_zip_record(z, "model/byteorder", "little", 6);
    t2o_zip_record(z, "model/models/model.json", w.text.at, w.text.n);
    bool ok = write_weights(&w, z, root, true) && write_weights(&w, z, root, false);
    t2o_zip_record(z, "model/data/sample_inputs/model.pt", "", 0);
    if (source)
        t2o_zip_record(z, "model/extra/t2o_source", source, strlen(source));
    t2o_zip_record(z, "model/.data/version", "6\n", 2);
    return t2o_zip_close(z) && ok;
}
