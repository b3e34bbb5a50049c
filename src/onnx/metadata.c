/* metadata.c: the key-value texts of nodes, values and the graph. */
#include "onnx/metadata.h"

#include "base/text.h"
#include "graph/meta.h"
#include "onnx/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SPEC "pkg.torch.export.graph_signature."
#define RULE "pkg.t2o.rule"

static void put_n(t2o_string *t, const char *s, size_t n)
{
    t2o_string_add_n(t, s, n);
}

static void put(t2o_string *t, const char *s)
{
    t2o_string_add(t, s);
}

/* ---- Python's forms ---- */

static void put_escaped(t2o_string *t, unsigned char c, char quote)
{
    static const char *const short_forms[] = {
        ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t", ['\\'] = "\\\\"
    };
    char form[8];
    if (c < sizeof short_forms / sizeof *short_forms && short_forms[c])
        put(t, short_forms[c]);
    else if (c < 0x20 || c == 0x7f || c == (unsigned char)quote) {
        snprintf(form, sizeof form, c == (unsigned char)quote ? "\\%c" : "\\x%02x", c);
        put(t, form);
    } else
        put_n(t, (const char *)&c, 1);
}

/* How many bytes stand as they are. */
static size_t plain_length(const char *s, char quote)
{
    size_t n = 0;
    while ((unsigned char)s[n] >= 0x20 && s[n] != 0x7f && s[n] != '\\' && s[n] != quote)
        n++;
    return n;
}

/* repr(str): in single quotes, unless only those stand in it. */
static void put_repr(t2o_string *t, const char *s)
{
    char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    put_n(t, &quote, 1);
    while (*s) {
        size_t n = plain_length(s, quote);
        put_n(t, s, n);
        s += n;
        if (*s)
            put_escaped(t, (unsigned char)*s++, quote);
    }
    put_n(t, &quote, 1);
}

/* A decimal form of "d.ddde+xx" without an exponent, as repr(float) has it between 1e-4 and
 * 1e16. */
static void put_plain(t2o_string *t, double f, int digits, int exponent)
{
    char form[64];
    int decimals = digits - 1 - exponent;
    snprintf(form, sizeof form, "%.*f", decimals > 1 ? decimals : 1, f);
    put(t, form);
}

/* repr(float): the fewest digits that give the same number. */
static void put_float(t2o_string *t, double f)
{
    char form[40];
    if (f != f || f - f != 0) {
        put(t, f != f ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 1;
    do
        snprintf(form, sizeof form, "%.*e", digits - 1, f);
    while (strtod(form, NULL) != f && ++digits <= 17);
    int exponent = atoi(strchr(form, 'e') + 1);
    if (exponent >= -4 && exponent < 16)
        put_plain(t, f, digits, exponent);
    else
        put(t, form);
}

/* ---- The text of a torch node, as FX prints it ---- */

static const char *name_in_program(const t2o_value *v)
{
    return v->original_name ? v->original_name : v->name ? v->name : "?";
}

static void put_arg(t2o_string *t, const t2o_node *n, const t2o_arg *arg);

static void put_items(t2o_string *t, const t2o_node *n, const t2o_arg *arg)
{
    bool map = arg->kind == T2O_ARG_MAP;
    put(t, map ? "{" : "[");
    for (uint32_t i = 0; i < arg->n; i++) {
        put(t, i ? ", " : "");
        if (map) {
            put(t, arg->keys[i]);
            put(t, ": ");
        }
        put_arg(t, n, &arg->items[i]);
    }
    put(t, map ? "}" : "]");
}

static void put_complex(t2o_string *t, const t2o_arg *arg)
{
    put(t, "(");
    put_float(t, arg->f);
    put(t, arg->imag < 0 ? "" : "+");
    put_float(t, arg->imag);
    put(t, "j)");
}

static void put_arg(t2o_string *t, const t2o_node *n, const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_NONE: put(t, "None"); break;
    case T2O_ARG_VALUE: put(t, "%"); put(t, name_in_program(n->inputs[arg->index])); break;
    case T2O_ARG_INT: t2o_string_add_int(t, arg->i); break;
    case T2O_ARG_FLOAT: put_float(t, arg->f); break;
    case T2O_ARG_BOOL: put(t, arg->b ? "True" : "False"); break;
    case T2O_ARG_COMPLEX: put_complex(t, arg); break;
    case T2O_ARG_DTYPE: put(t, "torch."); put(t, t2o_dtype_name(arg->dtype)); break;
    case T2O_ARG_LAYOUT: put(t, "torch."); put(t, arg->text); break;
    case T2O_ARG_MEMORY_FORMAT:
        put(t, t2o_printf(t->arena, "torch.%s%s", arg->text,
                          strstr(arg->text, "channels") ? "" : "_format"));
        break;
    case T2O_ARG_EXPR: put(t, t2o_expr_text(n->graph->exprs, arg->expr)); break;
    case T2O_ARG_LIST:
    case T2O_ARG_MAP: put_items(t, n, arg); break;
    case T2O_ARG_GRAPH: put(t, "%"); put(t, arg->text ? arg->text : arg->graph->name); break;
    default: put(t, arg->text ? arg->text : "?"); break;
    }
}

/* Positional arguments in the form of a tuple, or the keyword ones in the form of a dict. */
static void put_args(t2o_string *t, const t2o_node *n, bool keyword)
{
    uint32_t count = 0;
    put(t, keyword ? "{" : "(");
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].keyword != keyword)
            continue;
        put(t, count++ ? ", " : "");
        if (keyword) {
            put(t, n->attrs[i].name);
            put(t, ": ");
        }
        put_arg(t, n, &n->attrs[i].arg);
    }
    put(t, keyword ? "}" : count == 1 ? ",)" : ")");
}

static const char *node_name(const t2o_node *n)
{
    if (n->meta && n->meta->fx_node)
        return n->meta->fx_node;
    return n->n_outputs && n->outputs[0] ? name_in_program(n->outputs[0]) : n->name ? n->name : "?";
}

/* "aten.add.Tensor": without the "torch.ops." that archives put before it. */
static const char *target_of(t2o_arena *arena, const t2o_node *n)
{
    const char *target = n->meta ? n->meta->target : NULL;
    if (target)
        return strncmp(target, "torch.ops.", 10) ? target : target + 10;
    const char *colons = strstr(n->op, "::");
    if (!colons)
        return n->op;
    const char *suffix = strchr(colons, '.') ? "" : ".default";
    return t2o_printf(arena, "%.*s.%s%s", (int)(colons - n->op), n->op, colons + 2, suffix);
}

/* FX has a node that picks each result of a call with several. */
static uint32_t n_users(const t2o_node *n)
{
    uint32_t users = n->n_outputs > 1 ? n->n_outputs : n->mark;
    return users ? users : 1;
}

static const char *fx_text(t2o_arena *arena, const t2o_node *n)
{
    t2o_string t;
    t2o_string_start(&t, arena);
    const char *target = target_of(arena, n), *prefix = "torch.ops.";
    if (!strncmp(target, "_operator.", 10))
        prefix = "", target++;
    else if (!strncmp(target, "torch.", 6) || !strncmp(target, "math.", 5))
        prefix = "";
    put(&t, "%");
    put(&t, node_name(n));
    put(&t, " : [num_users=");
    t2o_string_add_int(&t, n_users(n));
    put(&t, "] = call_function[target=");
    put(&t, prefix);
    put(&t, target);
    put(&t, "](args = ");
    put_args(&t, n, false);
    put(&t, ", kwargs = ");
    put_args(&t, n, true);
    put(&t, ")");
    return t2o_string_end(&t);
}

/* ---- Users of torch nodes ---- */

static void count_use(const t2o_value *v)
{
    if (v && v->producer)
        v->producer->mark++;
}

static bool seen_before(t2o_value *const *values, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++)
        if (values[j] && values[i] && values[j]->producer == values[i]->producer)
            return true;
    return false;
}

static void each_body(const t2o_node *n, void (*fn)(const t2o_graph *))
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
            fn(n->attrs[i].arg.graph);
}

void t2o_metadata_count_users(const t2o_graph *torch)
{
    if (!torch)
        return;
    for (t2o_node *n = torch->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (!seen_before(n->inputs, i))
                count_use(n->inputs[i]);
        each_body(n, t2o_metadata_count_users);
    }
    for (size_t i = 0; i < torch->outputs.n; i++)
        count_use(torch->outputs.at[i].value);
}

void t2o_metadata_clear_users(const t2o_graph *torch)
{
    if (!torch)
        return;
    for (t2o_node *n = torch->first; n; n = n->next) {
        n->mark = 0;
        each_body(n, t2o_metadata_clear_users);
    }
}

/* ---- The module stack ---- */

typedef T2O_VEC(t2o_module) modules;

static void read_modules(modules *out, t2o_session *s, const char *stack)
{
    t2o_module m;
    while ((stack = t2o_meta_next_module(s, stack, &m)))
        t2o_push(s->arena, out, m);
}

/* str() of what the node calls. */
static const char *target_text(t2o_arena *arena, const t2o_node *n)
{
    const char *target = target_of(arena, n);
    if (!strncmp(target, "_operator.", 10))
        return t2o_printf(arena, "<built-in function %s>", target + 10);
    return strncmp(target, "higher_order.", 13) ? target : target + 13;
}

static const char *namespace_text(t2o_arena *arena, const modules *stack)
{
    t2o_string t;
    t2o_string_start(&t, arena);
    for (size_t i = 0; i < stack->n; i++) {
        put(&t, i ? "/" : "");
        put(&t, stack->at[i].path);
        put(&t, ": ");
        put(&t, stack->at[i].type);
    }
    return t2o_string_end(&t);
}

static const char *list_text(t2o_arena *arena, const modules *stack, bool types)
{
    t2o_string t;
    t2o_string_start(&t, arena);
    put(&t, "[");
    for (size_t i = 0; i < stack->n; i++) {
        put(&t, i ? ", " : "");
        put_repr(&t, types ? stack->at[i].type : stack->at[i].path);
    }
    put(&t, "]");
    return t2o_string_end(&t);
}

/* ---- Lists of properties ---- */

static void add(t2o_props *out, t2o_arena *arena, const char *key, const char *value)
{
    t2o_prop p = { key, value };
    t2o_push(arena, out, p);
}

void t2o_metadata_of_node(t2o_props *out, const t2o_node *n)
{
    t2o_arena *arena = n->graph->s->arena;
    const t2o_node *torch = n->origin;
    modules stack = { 0 };
    const t2o_node *of_file = torch ? torch : n;
    if (of_file->meta && of_file->meta->props.n) {
        for (size_t i = 0; i < of_file->meta->props.n; i++)
            if (!n->rule || strcmp(of_file->meta->props.at[i].key, RULE))
                t2o_push(arena, out, of_file->meta->props.at[i]);
        torch = NULL;
    }
    if (torch && t2o_onnx_op_type(torch))
        torch = NULL; /* a node of an ONNX file, which had nothing to say */
    if (torch) {
        if (torch->meta && torch->meta->nn_module_stack)
            read_modules(&stack, n->graph->s, torch->meta->nn_module_stack);
        t2o_module self = { "", node_name(torch), target_text(arena, torch) };
        t2o_push(arena, &stack, self);
        add(out, arena, "namespace", namespace_text(arena, &stack));
    }
    if (n->rule)
        add(out, arena, RULE, n->rule);
    if (!torch)
        return;
    const char *trace = torch->meta ? torch->meta->stack_trace : NULL;
    add(out, arena, "pkg.torch.onnx.class_hierarchy", list_text(arena, &stack, true));
    add(out, arena, "pkg.torch.onnx.fx_node", fx_text(arena, torch));
    add(out, arena, "pkg.torch.onnx.name_scopes", list_text(arena, &stack, false));
    add(out, arena, "pkg.torch.onnx.stack_trace", trace ? trace : "");
}

static const char *persistent_text(const t2o_value *v)
{
    return v->spec != T2O_SPEC_BUFFER ? NULL : v->persistent ? "True" : "False";
}

void t2o_metadata_of_value(t2o_props *out, const t2o_value *v)
{
    t2o_arena *arena = v->graph->s->arena;
    if (v->spec != T2O_SPEC_NONE) {
        const char *persistent = persistent_text(v);
        add(out, arena, SPEC "InputSpec.kind", t2o_spec_name(v->spec));
        add(out, arena, SPEC "InputSpec.persistent", persistent ? persistent : "None");
    }
    if (v->original_name && (!v->name || strcmp(v->original_name, v->name)))
        add(out, arena, "pkg.torch.onnx.original_node_name", v->original_name);
}

void t2o_metadata_of_output(t2o_props *out, const t2o_output_spec *o)
{
    const t2o_value *v = o->value;
    t2o_arena *arena = v->graph->s->arena;
    if (o->kind != T2O_SPEC_NONE)
        add(out, arena, SPEC "OutputSpec.kind", t2o_spec_name(o->kind));
    if (v->original_name && (!v->name || strcmp(v->original_name, v->name)))
        add(out, arena, "pkg.torch.onnx.original_node_name", v->original_name);
}

/* ---- The graph's ---- */

static void put_spec(t2o_string *t, const char *name, t2o_spec_kind kind, const char *target,
                     const char *persistent)
{
    put(t, name ? name : "");
    put(t, ": ");
    put(t, t2o_spec_name(kind));
    if (target)
        put(t, t2o_printf(t->arena, " target='%s'", target));
    if (persistent)
        put(t, t2o_printf(t->arena, " persistent=%s", persistent));
    put(t, "\n");
}

static const char *signature_text(t2o_arena *arena, const t2o_graph *torch)
{
    t2o_string t;
    t2o_string_start(&t, arena);
    put(&t, "\n# inputs\n");
    for (size_t i = 0; i < torch->inputs.n; i++) {
        const t2o_value *v = torch->inputs.at[i];
        put_spec(&t, name_in_program(v), v->spec, v->target, persistent_text(v));
    }
    put(&t, "\n# outputs\n");
    for (size_t i = 0; i < torch->outputs.n; i++) {
        const t2o_output_spec *o = &torch->outputs.at[i];
        put_spec(&t, o->value ? name_in_program(o->value) : o->name, o->kind, o->target, NULL);
    }
    return t2o_string_end(&t);
}

static const char *bound_text(t2o_arena *arena, int64_t bound)
{
    if (bound == INT64_MAX || bound == INT64_MIN)
        return bound < 0 ? "-int_oo" : "int_oo";
    return t2o_printf(arena, "%" PRId64, bound);
}

static const char *ranges_text(t2o_arena *arena, const t2o_program *p)
{
    t2o_string t;
    t2o_string_start(&t, arena);
    put(&t, "{");
    for (size_t i = 0; i < p->range_symbols.n; i++) {
        const char *symbol = p->range_symbols.at[i];
        int64_t min, max;
        t2o_expr_range(p->graph->exprs, symbol, &min, &max);
        put(&t, t2o_printf(arena, "%s%s: VR[%s, %s]", i ? ", " : "", symbol, bound_text(arena, min),
                           bound_text(arena, max)));
    }
    put(&t, "}");
    return t2o_string_end(&t);
}

void t2o_metadata_of_graph(t2o_props *out, const t2o_graph *g)
{
    const t2o_program *p = g->program;
    t2o_arena *arena = g->s->arena;
    if (!p || !p->graph || p->onnx)
        return;
    add(out, arena, "pkg.torch.export.ExportedProgram.graph_signature",
        signature_text(arena, p->graph));
    add(out, arena, "pkg.torch.export.ExportedProgram.range_constraints", ranges_text(arena, p));
}
