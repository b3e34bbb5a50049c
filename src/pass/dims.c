/* dims.c: names of symbols, numbers for them, and dimensions that must vary (--dim, --set, --require-dynamic). */
#include "pass/pass.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

typedef struct editor {
    t2o_session *s;
    t2o_program *p;
    t2o_exprs *exprs;
    t2o_map symbols; /* of the inputs */
    t2o_map by;      /* symbol -> what takes its place */
} editor;

/* ---- places ---- */

static void list_symbol(void *ctx, const char *name)
{
    editor *e = ctx;
    t2o_map_set(e->s->arena, &e->symbols, name, (void *)name);
}

/* The symbols in the dimensions of inputs, which are those that may be asked for. */
static void list_symbols(editor *e)
{
    e->symbols = (t2o_map){ 0 };
    for (size_t i = 0; i < e->p->graph->inputs.n; i++) {
        const t2o_value *v = e->p->graph->inputs.at[i];
        for (int32_t d = 0; d < v->rank; d++)
            if (v->dims[d])
                t2o_expr_each_symbol(v->dims[d], list_symbol, e);
        if (v->expr)
            t2o_expr_each_symbol(v->expr, list_symbol, e);
    }
}

static bool is_input_symbol(const editor *e, const char *name)
{
    return t2o_map_get(&e->symbols, name) != NULL;
}

/* "s77, s31" */
static const char *symbols_text(const editor *e)
{
    const char *text = "";
    for (size_t i = 0; i < e->symbols.n; i++)
        text = t2o_printf(e->s->arena, "%s%s%s", text, i ? ", " : "", e->symbols.entries[i].key);
    return *text ? text : "none";
}

static t2o_value *find_input(editor *e, const char *name, size_t n)
{
    for (size_t i = 0; i < e->p->graph->inputs.n; i++) {
        t2o_value *v = e->p->graph->inputs.at[i];
        if (v->name && !strncmp(v->name, name, n) && !v->name[n] && v->kind == T2O_VALUE_TENSOR)
            return v;
    }
    return NULL;
}

/* The dimension "x:0" or symbol "s77" that the first n letters of text name; NULL after E0201. */
static const t2o_expr *dim_at(editor *e, const char *text, size_t n)
{
    const char *place = t2o_strndup(e->s->arena, text, n), *colon = strrchr(place, ':');
    char *end;
    if (!colon && is_input_symbol(e, place))
        return t2o_expr_symbol(e->exprs, t2o_intern(e->s, place));
    if (!colon) {
        t2o_fail(e->s, "E0201", "there is no dimension '%s'", place);
        t2o_hint(e->s, "symbols of the inputs: %s; or name one by its place, as in x:0", symbols_text(e));
        return NULL;
    }
    const t2o_value *v = find_input(e, place, (size_t)(colon - place));
    if (!v) {
        t2o_fail(e->s, "E0201", "there is no input '%.*s'", (int)(colon - place), place);
        t2o_hint(e->s, "t2o info %s lists the inputs", e->p->path);
        return NULL;
    }
    long axis = strtol(colon + 1, &end, 10);
    axis += axis < 0 ? v->rank : 0;
    if (end == colon + 1 || *end || axis < 0 || axis >= v->rank) {
        t2o_fail(e->s, "E0201", "'%s': input %s has dimensions 0 to %d", place, v->name, v->rank - 1);
        return NULL;
    }
    return v->dims[axis];
}

/* ---- the three requests ---- */

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_')
            return false;
    return true;
}

static bool rename_symbol(editor *e, const char *request)
{
    const char *equals = strchr(request, '=');
    if (!equals || !is_identifier(equals + 1))
        return t2o_fail(e->s, "E0201", "--dim %s: a place and a name are due, as in s77=batch or x:0=batch", request);
    const t2o_expr *dim = dim_at(e, request, (size_t)(equals - request));
    const char *name = t2o_intern(e->s, equals + 1);
    int64_t min, max;
    if (!dim)
        return t2o_failed(e->s) ? false : t2o_fail(e->s, "E0201", "--dim %s: nothing is known of it", request);
    if (dim->kind != T2O_EXPR_SYMBOL) {
        t2o_fail(e->s, "E0201", "--dim %s: the dimension is %s, not a symbol", request, t2o_expr_text(e->exprs, dim));
        if (dim->kind == T2O_EXPR_INT)
            t2o_hint(e->s, "export with a dynamic shape for it and an example size of at least 2");
        return false;
    }
    for (size_t i = 0; i < e->by.n; i++)
        if (strcmp(e->by.entries[i].key, dim->name) && ((const t2o_expr *)e->by.entries[i].value)->name == name)
            return t2o_fail(e->s, "E0201", "--dim %s: another dimension has that name", request);
    if (is_input_symbol(e, name) && name != dim->name)
        return t2o_fail(e->s, "E0201", "--dim %s: another dimension has that name", request);
    if (t2o_expr_range(e->exprs, dim->name, &min, &max))
        t2o_expr_set_range(e->exprs, name, min, max);
    t2o_map_set(e->s->arena, &e->by, dim->name, (void *)t2o_expr_symbol(e->exprs, name));
    return true;
}

/* Sizes of 1 are tried by few programs and excluded by the default range of the exporter; they are allowed here. */
static bool in_range(editor *e, const char *symbol, int64_t number)
{
    int64_t min, max;
    if (number < 0 || !t2o_expr_range(e->exprs, symbol, &min, &max))
        return number >= 0;
    return number <= max && (number >= min || (number == 1 && min <= 2));
}

/* What a symbol must be for dim to be the number; -1 where none will do, or more than one symbol stands in it. */
static int64_t solve(const t2o_expr *dim, int64_t number, const t2o_expr **symbol)
{
    if (dim->kind == T2O_EXPR_ADD && dim->n_args == 2 && dim->args[1]->kind == T2O_EXPR_INT)
        return __builtin_sub_overflow(number, dim->args[1]->value, &number) ? -1 : solve(dim->args[0], number, symbol);
    if (dim->kind == T2O_EXPR_MUL && dim->n_args == 2 && dim->args[0]->kind == T2O_EXPR_INT) {
        int64_t by = dim->args[0]->value;
        return by > 0 && number % by == 0 ? solve(dim->args[1], number / by, symbol) : -1;
    }
    *symbol = dim->kind == T2O_EXPR_SYMBOL ? dim : NULL;
    return *symbol ? number : -1;
}

static bool set_symbol(editor *e, const char *request)
{
    const char *equals = strchr(request, '=');
    char *end = NULL;
    errno = 0;
    int64_t number = equals ? strtoll(equals + 1, &end, 10) : -1;
    if (!equals || end == equals + 1 || *end || errno || number < 0)
        return t2o_fail(e->s, "E0201", "--set %s: a place and a size are due, as in batch=1 or x:0=1", request);
    const t2o_expr *dim = dim_at(e, request, (size_t)(equals - request)), *symbol = NULL;
    if (!dim)
        return t2o_failed(e->s) ? false : t2o_fail(e->s, "E0201", "--set %s: nothing is known of it", request);
    if (dim->kind == T2O_EXPR_INT)
        return dim->value == number ? true
                                    : t2o_fail(e->s, "E0201", "--set %s: the dimension is fixed to %lld", request,
                                               (long long)dim->value);
    int64_t value = solve(dim, number, &symbol);
    if (value < 0 || !in_range(e, symbol->name, value)) {
        t2o_fail(e->s, "E0201", "--set %s: the archive does not allow that size", request);
        int64_t min = 0, max = INT64_MAX;
        if (symbol && t2o_expr_range(e->exprs, symbol->name, &min, &max))
            t2o_hint(e->s, max == INT64_MAX ? "%s is at least %lld" : "%s is at least %lld and at most %lld",
                     symbol->name, (long long)min, (long long)max);
        return false;
    }
    const t2o_expr *before = t2o_map_get(&e->by, symbol->name);
    if (t2o_expr_is_int(before) && before->value != value)
        return t2o_fail(e->s, "E0201", "--set %s: it is set to %lld by another", request, (long long)before->value);
    t2o_map_set(e->s->arena, &e->by, symbol->name, (void *)t2o_expr_int(e->exprs, value));
    return true;
}

static bool require_dynamic(editor *e, const char *request)
{
    const t2o_expr *dim = dim_at(e, request, strlen(request));
    if (t2o_failed(e->s) || !t2o_expr_is_int(dim))
        return !t2o_failed(e->s);
    t2o_fail(e->s, "E0104", "dimension %s is fixed to %lld in the archive", request, (long long)dim->value);
    t2o_hint(e->s, "export again with a dynamic shape for it and an example size of at least 2");
    return false;
}

/* ---- everywhere ---- */

static const t2o_expr *edited(editor *e, const t2o_expr *x)
{
    return x ? t2o_expr_replace(e->exprs, x, &e->by) : NULL;
}

static void edit_list(editor *e, const t2o_expr **list, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        list[i] = edited(e, list[i]);
}

static void edit_graph(editor *e, t2o_graph *g);

static void edit_arg(editor *e, t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_EXPR:
        arg->expr = edited(e, arg->expr);
        if (t2o_expr_is_int(arg->expr))
            *arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = arg->expr->value };
        break;
    case T2O_ARG_GRAPH: edit_graph(e, arg->graph); break;
    case T2O_ARG_LIST:
    case T2O_ARG_MAP:
        for (uint32_t i = 0; i < arg->n; i++)
            edit_arg(e, &arg->items[i]);
        break;
    default: break;
    }
}

static void edit_graph(editor *e, t2o_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++) {
        t2o_value *v = g->values.at[i];
        edit_list(e, v->dims, v->rank);
        edit_list(e, v->content, v->n_content);
        v->expr = edited(e, v->expr);
    }
    for (t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            edit_arg(e, &n->attrs[i].arg);
    for (size_t i = 0; i < g->outputs.n; i++)
        edit_arg(e, &g->outputs.at[i].literal);
}

/* Applies what was asked for so far, so that the next request sees it. */
static void apply(editor *e)
{
    if (!e->by.n)
        return;
    edit_graph(e, e->p->graph);
    size_t kept = 0;
    for (size_t i = 0; i < e->p->range_symbols.n; i++) {
        const t2o_expr *x = t2o_map_get(&e->by, e->p->range_symbols.at[i]);
        if (!x || x->kind == T2O_EXPR_SYMBOL)
            e->p->range_symbols.at[kept++] = x ? x->name : e->p->range_symbols.at[i];
    }
    e->p->range_symbols.n = kept;
    e->by = (t2o_map){ 0 };
    list_symbols(e);
}

bool t2o_pass_dims(t2o_program *p, const t2o_dim_requests *requests)
{
    editor e = { .s = p->graph->s, .p = p, .exprs = p->graph->exprs };
    if (!requests->n_dynamic && !requests->n_rename && !requests->n_set)
        return true;
    list_symbols(&e);
    for (size_t i = 0; i < requests->n_dynamic; i++)
        if (!require_dynamic(&e, requests->dynamic[i]))
            return false;
    for (size_t i = 0; i < requests->n_rename; i++)
        if (!rename_symbol(&e, requests->rename[i]))
            return false;
    apply(&e);
    for (size_t i = 0; i < requests->n_set; i++)
        if (!set_symbol(&e, requests->set[i]))
            return false;
    apply(&e);
    return true;
}
