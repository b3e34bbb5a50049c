/* translate.c: runs the rule of each torch node and holds its results against what the archive records. */
#include "graph/meta.h"
#include "onnx/schema.h"
#include "script/internal.h"

#define MAX_REPORTED 20

/* Modules that have been asked for stand in the registry by the address of their name, a literal. */
bool push_function(t2o_script *k, const char *module, const char *name)
{
    if (lua_rawgetp(k->L, LUA_REGISTRYINDEX, module) == LUA_TTABLE) {
        lua_getfield(k->L, -1, name);
        lua_remove(k->L, -2);
        return true;
    }
    lua_pop(k->L, 1);
    lua_getglobal(k->L, "require");
    lua_pushstring(k->L, module);
    if (!script_call(k, 1, 1))
        return false;
    lua_pushvalue(k->L, -1);
    lua_rawsetp(k->L, LUA_REGISTRYINDEX, module);
    lua_getfield(k->L, -1, name);
    lua_remove(k->L, -2);
    return true;
}

/* ---- symbols ---- */

/* x as mul * symbol + add; NULL where it has another form. */
static const t2o_expr *linear(const t2o_expr *x, int64_t *mul, int64_t *add)
{
    *mul = 1, *add = 0;
    if (x->kind == T2O_EXPR_ADD && x->n_args == 2 && x->args[1]->kind == T2O_EXPR_INT) {
        *add = x->args[1]->value;
        x = x->args[0];
    }
    if (x->kind == T2O_EXPR_MUL && x->n_args == 2 && x->args[0]->kind == T2O_EXPR_INT) {
        *mul = x->args[0]->value;
        x = x->args[1];
    }
    return x->kind == T2O_EXPR_SYMBOL && *mul > 0 ? x : NULL;
}

static void set_source(t2o_script *k, const t2o_expr *symbol, symbol_source from)
{
    symbol_source *source = T2O_NEW(k->s->arena, symbol_source);
    *source = from;
    t2o_map_set(k->s->arena, &k->symbols, symbol->name, source);
}

static void add_source(t2o_script *k, const t2o_expr *x, t2o_value *value, int axis)
{
    int64_t mul, add;
    const t2o_expr *symbol = x ? linear(x, &mul, &add) : NULL;
    const symbol_source *known = symbol ? t2o_map_get(&k->symbols, symbol->name) : NULL;
    bool plain = symbol == x;
    /* a place where the symbol itself stands is better than one where it is computed from */
    if (!symbol || (known && (!plain || (known->mul == 1 && known->add == 0))))
        return;
    set_source(k, symbol, (symbol_source){ value, axis, mul, add });
}

static void add_sources(t2o_script *k, t2o_value *v)
{
    for (int32_t i = 0; i < v->rank; i++)
        add_source(k, v->dims[i], v, i);
}

/* ---- results against the record ---- */

static bool wrong_result(t2o_script *k, const t2o_node *n, const char *place, const char *what)
{
    t2o_fail(k->s, "E0604", "%s: the rule for %s %s", place ? place : "a rule", n->op, what);
    t2o_note_node(n);
    if (n->graph->program && n->graph->program->doubt)
        t2o_hint(k->s, "%s", n->graph->program->doubt);
    return false;
}

/* An operator that PyTorch takes apart is cast within, between its parts. */
static bool cast_within(t2o_script *k, const t2o_node *n, t2o_dtype got, t2o_dtype want)
{
    t2o_fail(k->s, "E0302", "%s under autocast: its result would be %s, where the archive records %s", n->op,
             t2o_dtype_name(got), t2o_dtype_name(want));
    t2o_note_node(n);
    t2o_hint(k->s, "export with strict=False, and call .run_decompositions() before it is saved, for explicit casts");
    return false;
}

static bool same_shape(t2o_script *k, const t2o_value *got, const t2o_value *want)
{
    if (got->rank != want->rank)
        return got->rank < 0;
    for (int32_t i = 0; i < got->rank; i++) {
        int order = got->dims[i] && want->dims[i] ? t2o_expr_compare(k->exprs, got->dims[i], want->dims[i]) : 2;
        if (order == 1 || order == -1)
            return false;
    }
    return true;
}

t2o_value *script_cast(t2o_script *k, t2o_graph *g, t2o_node *before, t2o_value *v, t2o_dtype dtype)
{
    t2o_value *out = t2o_value_new(g, T2O_VALUE_TENSOR, NULL, dtype, v->rank, v->dims);
    t2o_attr to = { t2o_intern(k->s, "to"), { .kind = T2O_ARG_INT, .i = dtype }, false };
    t2o_node *n = t2o_node_new(g, before, "onnx::Cast", &v, 1, &to, 1, &out, 1);
    n->origin = k->node;
    n->rule = k->rule;
    n->opset = k->opset;
    return out;
}

static t2o_value *cast_to(t2o_script *k, t2o_value *v, t2o_dtype dtype)
{
    return script_cast(k, k->graph, k->before, v, dtype);
}

/* The torch value as it stands in ONNX, to compare with; itself where it is not complex. */
static const t2o_value *form_of(t2o_script *k, const t2o_value *v)
{
    if (!t2o_dtype_is_complex(v->dtype))
        return v;
    t2o_value *form = T2O_NEW(k->s->arena, t2o_value);
    *form = *v;
    form->dims = form_dims(k, v, &form->rank);
    form->dtype = t2o_dtype_real_of(v->dtype);
    return form;
}

/* What is recorded is one of a batch: the form of them all. */
static const t2o_value *batch_of(t2o_script *k, const t2o_value *form, const t2o_value *got)
{
    int32_t n = __builtin_popcount(got->batch);
    if (n == 0 || got->rank < n)
        return form;
    t2o_value *all = T2O_NEW(k->s->arena, t2o_value);
    *all = *form;
    all->rank = form->rank + n;
    all->dims = T2O_NEW_N(k->s->arena, const t2o_expr *, all->rank);
    for (int32_t i = 0; i < all->rank; i++)
        all->dims[i] = i < n ? got->dims[i] : form->dims[i - n];
    return all;
}

static t2o_value *identity(t2o_script *k, t2o_graph *g, t2o_value *v);

/* A value is complex for all who read it, or for none: what a rule made is marked, else a copy is. */
static t2o_value *as_complex(t2o_script *k, t2o_value *v, bool is_complex)
{
    if (v->complex != is_complex && (v->complex || !v->producer || v->producer->origin != k->node))
        v = identity(k, k->graph, v);
    v->complex = is_complex;
    return v;
}

/* Takes one result, on top of the stack, as the twin of the torch value. */
static bool take_tensor(t2o_script *k, const t2o_node *n, t2o_value *want, const char *place)
{
    t2o_value *got = test_value(k->L, -1);
    if (!got && lua_isnil(k->L, -1) && !want->mark)
        return true; /* an output that nobody reads */
    if (!got)
        return wrong_result(k, n, place, t2o_printf(k->s->arena, "returned a %s where a value for '%s' is due",
                                                    luaL_typename(k->L, -1), want->name));
    if (k->learning && want->dtype == T2O_NO_DTYPE && !got->complex) {
        want->dtype = got->dtype;
        if (got->rank >= 0)
            t2o_value_set_dims(want, got->rank, got->dims);
    }
    const t2o_value *form = form_of(k, want);
    bool is_complex = form != want;
    form = batch_of(k, form, got);
    if (n->inplace && got->dtype != form->dtype) {
        uint32_t batch = got->batch;
        got = cast_to(k, got, form->dtype);
        got->batch = batch;
    }
    if (got->dtype != form->dtype && n->autocast)
        return cast_within(k, n, got->dtype, form->dtype);
    if (got->dtype != form->dtype)
        return wrong_result(k, n, place, t2o_printf(k->s->arena, "returned dtype %s, the archive records %s for '%s'",
                                                    t2o_dtype_name(got->dtype), t2o_dtype_name(form->dtype),
                                                    want->name));
    if (!same_shape(k, got, form))
        return wrong_result(k, n, place, t2o_printf(k->s->arena, "returned %s, the archive records %s for '%s'",
                                                    t2o_value_type_text(k->graph, got),
                                                    t2o_value_type_text(want->graph, form), want->name));
    got = as_complex(k, got, is_complex);
    /* the record knows the sizes best; but a weight or input keeps its own */
    if (got->producer)
        t2o_value_set_dims(got, form->rank, form->dims);
    want->twin = got;
    if (!got->original_name && got->producer)
        got->original_name = want->name;
    add_sources(k, got);
    return true;
}

static bool take_number(t2o_script *k, const t2o_node *n, t2o_value *want, const char *place)
{
    t2o_value *got = test_value(k->L, -1);
    if (!got) {
        if (want->expr || !want->mark)
            return true; /* known as an expression */
        return wrong_result(k, n, place, "returned no value for a symbolic number");
    }
    want->twin = got;
    add_source(k, want->expr, got, -1);
    return true;
}

static bool take_result(t2o_script *k, const t2o_node *n, const t2o_arg *result, const char *place)
{
    if (result->kind == T2O_ARG_VALUE) {
        t2o_value *want = n->outputs[result->index];
        return want->kind == T2O_VALUE_TENSOR ? take_tensor(k, n, want, place) : take_number(k, n, want, place);
    }
    if (result->kind != T2O_ARG_LIST)
        return true;
    if (!lua_istable(k->L, -1))
        return wrong_result(k, n, place, "returned no list where a list of values is due");
    for (uint32_t i = 0; i < result->n; i++) {
        lua_geti(k->L, -1, (lua_Integer)i + 1);
        bool ok = take_result(k, n, &result->items[i], place);
        lua_pop(k->L, 1);
        if (!ok)
            return false;
    }
    return true;
}

/* The results stand in the list on top of the stack. */
static bool take_results(t2o_script *k, const t2o_node *n, const char *place)
{
    lua_geti(k->L, -1, 1);
    bool gives = test_value(k->L, -1) != NULL;
    lua_pop(k->L, 1);
    if (gives && !n->n_returns)
        return wrong_result(k, n, place, "returned a value, where the operator has no result; the schema marks an "
                                         "argument that it writes: Tensor(a!) x");
    for (uint32_t i = 0; i < n->n_returns; i++) {
        lua_geti(k->L, -1, (lua_Integer)i + 1);
        bool ok = take_result(k, n, &n->returns[i], place);
        lua_pop(k->L, 1);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- one node ---- */

/* So that later nodes can be looked at after one failed; the graph is thrown away in the end. */
static void stand_in(t2o_script *k, const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        t2o_value *v = n->outputs[i];
        if (v->twin || v->kind == T2O_VALUE_OBJECT)
            continue;
        bool tensor = v->kind == T2O_VALUE_TENSOR;
        const t2o_value *form = form_of(k, v);
        v->twin = t2o_value_new(k->graph, T2O_VALUE_TENSOR, NULL, tensor ? form->dtype : T2O_INT64,
                                tensor ? form->rank : 0, tensor ? form->dims : NULL);
        v->twin->complex = form != v;
        if (tensor)
            add_sources(k, v->twin);
        else
            add_source(k, v->expr, v->twin, -1);
    }
}

static void report_declined(t2o_script *k, const t2o_node *n)
{
    lua_State *L = k->L; /* on top: the list of reasons */
    t2o_fail(k->s, "E0302", "unsupported call of %s: its rules declined", n->op);
    t2o_note_node(n);
    for (lua_Integer i = 1, count = luaL_len(L, -1); i <= count; i++) {
        lua_geti(L, -1, i);
        t2o_note(k->s, "declined: %s", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    t2o_hint(k->s, "t2o rules stub %s > my.lua, fill it in, and convert with -r my.lua", n->op);
}

static bool translate_node(t2o_script *k, t2o_graph *g, const t2o_node *n)
{
    lua_State *L = k->L;
    size_t before = k->s->diags.n;
    k->graph = g;
    k->before = NULL;
    k->node = n;
    k->rule = NULL;
    if (!push_function(k, "t2o.translate", "translate"))
        return false;
    push_node(L, n);
    if (!script_call(k, 1, 3)) { /* results or nil, place of the rule, reasons */
        if (k->s->diags.n > before)
            t2o_note_node(n);
        return false;
    }
    bool ok = true;
    const char *place = lua_isstring(L, -2) ? t2o_intern(k->s, lua_tostring(L, -2)) : NULL;
    if (lua_istable(L, -1))
        report_declined(k, n), ok = false;
    else {
        lua_pushvalue(L, -3);
        k->rule = place;
        ok = take_results(k, n, place);
        lua_pop(L, 1);
    }
    lua_pop(L, 3);
    return ok;
}

/* Symbolic arithmetic needs no node: sizes are expressions, built where a rule asks for them. */
static bool only_numbers(t2o_script *k, const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i]->kind != T2O_VALUE_SYMINT && n->outputs[i]->kind != T2O_VALUE_SYMBOOL &&
            n->outputs[i]->kind != T2O_VALUE_SYMFLOAT)
            return false;
    return n->n_outputs && !t2o_script_rule_place(k, n->op);
}

/* Whether the last error repeats one that is there, at another node: then it is dropped and counted in `more`. */
static bool is_repeated(t2o_script *k, size_t before, t2o_map *more)
{
    t2o_session *s = k->s;
    if (s->diags.n != before + 1)
        return false;
    const char *text = s->diags.at[before]->text;
    uintptr_t seen = (uintptr_t)t2o_map_get(more, text);
    t2o_map_set(s->arena, more, text, (void *)(seen + 1));
    if (seen)
        t2o_forget_diags(s, before);
    return seen > 0;
}

static void note_repeats(t2o_script *k, const t2o_map *more)
{
    for (size_t i = 0; i < k->s->diags.n; i++) {
        t2o_diag *d = k->s->diags.at[i];
        unsigned n = (unsigned)(uintptr_t)t2o_map_get(more, d->text);
        if (n > 1)
            t2o_push(k->s->arena, &d->notes, (const char *)t2o_printf(k->s->arena, "and %u more node%s", n - 1,
                                                                       n == 2 ? "" : "s"));
    }
}

static bool last_is(const t2o_script *k, const char *code)
{
    const t2o_diag *d = k->s->diags.n ? k->s->diags.at[k->s->diags.n - 1] : NULL;
    return d && d->code && !strcmp(d->code, code);
}

/* Translates all nodes that are needed; returns how many kinds of failures there were. */
static size_t translate_nodes(t2o_script *k, const t2o_graph *torch, t2o_graph *g)
{
    size_t failures = 0;
    t2o_map more = { 0 };
    for (const t2o_node *n = torch->first; n && (failures < MAX_REPORTED || k->learning); n = n->next) {
        size_t before = k->s->diags.n;
        if (!n->mark || only_numbers(k, n) || translate_node(k, g, n))
            continue;
        bool limits = last_is(k, "E0605");
        failures += !is_repeated(k, before, &more);
        if (limits)
            break; /* each further node would take as long */
        stand_in(k, n);
    }
    note_repeats(k, &more);
    return failures;
}

/* ---- the whole ---- */

static bool is_dropped(t2o_script *k, const char *op)
{
    if (!push_function(k, "t2o.rules", "is_dropped"))
        return false;
    lua_pushstring(k->L, op);
    bool dropped = script_call(k, 1, 1) && lua_toboolean(k->L, -1);
    lua_pop(k->L, 1);
    return dropped;
}

/* mark = 1 on values that are read, and on nodes that are needed for them or have no result at all. */
static void mark_needed(t2o_script *k, t2o_graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].value)
            g->outputs.at[i].value->mark = 1;
    for (t2o_node *n = g->last; n; n = n->prev) {
        n->mark = n->n_outputs == 0 && !is_dropped(k, n->op);
        for (uint32_t i = 0; i < n->n_outputs; i++)
            n->mark |= n->outputs[i]->mark;
        for (uint32_t i = 0; n->mark && i < n->n_inputs; i++)
            if (n->inputs[i])
                n->inputs[i]->mark = 1;
    }
}

/* How often an operator without a rule is called, and the first call. */
typedef struct missing_op {
    unsigned count;
    const t2o_node *first;
} missing_op;

static void find_missing(t2o_script *k, t2o_graph *g, t2o_map *missing)
{
    for (t2o_node *n = g->first; n; n = n->next) {
        if (!n->mark || only_numbers(k, n))
            continue;
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH) {
                mark_needed(k, n->attrs[i].arg.graph);
                find_missing(k, n->attrs[i].arg.graph, missing);
            }
        if (t2o_script_rule_place(k, n->op))
            continue;
        missing_op *m = t2o_map_get(missing, n->op);
        if (!m) {
            m = T2O_NEW(k->s->arena, missing_op);
            m->first = n;
            t2o_map_set(k->s->arena, missing, n->op, m);
        }
        m->count++;
    }
}

static bool report_missing(t2o_script *k, t2o_graph *g)
{
    t2o_map missing = { 0 };
    find_missing(k, g, &missing);
    for (size_t i = 0; i < missing.n; i++) {
        const missing_op *m = missing.entries[i].value;
        t2o_fail(k->s, "E0301", "unsupported operator: no rule for %s (%u node%s)", m->first->op, m->count,
                 m->count == 1 ? "" : "s");
        t2o_note_node(m->first);
        t2o_hint(k->s, "t2o rules stub %s > my.lua, fill it in, and convert with -r my.lua", m->first->op);
    }
    return missing.n == 0;
}

static void add_input(t2o_script *k, t2o_graph *g, t2o_value *v)
{
    if (v->constant || v->kind == T2O_VALUE_OBJECT)
        return;
    bool tensor = v->kind == T2O_VALUE_TENSOR;
    const t2o_value *form = form_of(k, v);
    t2o_dtype dtype = tensor ? form->dtype : v->kind == T2O_VALUE_SYMINT ? T2O_INT64
                      : v->kind == T2O_VALUE_SYMBOOL ? T2O_BOOL : T2O_FLOAT32;
    t2o_value *input = t2o_value_new(g, T2O_VALUE_TENSOR, v->name, dtype, tensor ? form->rank : 0,
                                     tensor ? form->dims : NULL);
    input->complex = form != v;
    input->spec = T2O_SPEC_USER_INPUT;
    input->original_name = v->name;
    v->twin = input;
    t2o_push(k->s->arena, &g->inputs, input);
    if (tensor)
        add_sources(k, input);
    else
        add_source(k, v->expr, input, -1);
}

/* ---- bodies of higher-order ops ---- */

static t2o_value *output_value(t2o_script *k, const t2o_output_spec *o);

static t2o_map copy_map(t2o_script *k, const t2o_map *map)
{
    t2o_map copy = { 0 };
    for (size_t i = 0; i < map->n; i++)
        t2o_map_set(k->s->arena, &copy, map->entries[i].key, map->entries[i].value);
    return copy;
}

/* The operands in the list at index become the values of the body's inputs. A number that a loop carries is a symbol
 * within, and another one in each round; other sizes are expressions of the program's own. */
static void bind_inputs(lua_State *L, int index, t2o_graph *body)
{
    for (size_t i = 0; i < body->inputs.n; i++) {
        lua_geti(L, index, (lua_Integer)i + 1);
        t2o_value *in = body->inputs.at[i], *v = test_value(L, -1);
        if (!v && in->kind == T2O_VALUE_TENSOR)
            raise_coded(L, "E0603", "operand %d of a body is a %s, not a value", (int)i + 1, luaL_typename(L, -1));
        in->twin = v;
        if (v)
            v->complex = in->kind == T2O_VALUE_TENSOR && t2o_dtype_is_complex(in->dtype);
        if (v && in->expr && in->expr->kind == T2O_EXPR_SYMBOL)
            set_source(script_of(L), in->expr, (symbol_source){ v, -1, 1, 0 });
        lua_pop(L, 1);
    }
}

/* The first error of a body's translation as a Lua error of the rule that asked for it. */
int raise_failure(lua_State *L, size_t before)
{
    t2o_script *k = script_of(L);
    const t2o_diag *d = k->s->diags.at[before];
    const char *code = d->code ? d->code : "E0602", *text = d->text;
    for (size_t i = 0; i < d->notes.n && i < 1; i++)
        text = t2o_printf(k->s->arena, "%s (%s)", text, d->notes.at[i]);
    t2o_forget_diags(k->s, before);
    return raise_coded(L, code, "in a body: %s", text);
}

/* core.inline(body, operands) -> its outputs: the body's nodes are translated where nodes are built now */
int l_inline(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *body = check_torch_body(L, 1), *g = k->graph;
    const t2o_node *node = k->node;
    const char *rule = k->rule;
    bool strict = k->strict;
    size_t before = k->s->diags.n;
    t2o_map symbols = copy_map(k, &k->symbols);
    lua_settop(L, 2);
    bind_inputs(L, 2, body);
    mark_needed(k, body);
    if (translate_nodes(k, body, g))
        return raise_failure(L, before);
    k->graph = g;
    k->node = node;
    lua_createtable(L, (int)body->outputs.n, 0);
    for (size_t i = 0; i < body->outputs.n; i++) {
        t2o_value *v = output_value(k, &body->outputs.at[i]);
        if (!v)
            return raise_failure(L, before);
        push_value(L, v);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    k->graph = g;
    k->node = node;
    k->rule = rule;
    k->strict = strict;
    k->symbols = symbols;
    if (!push_function(k, "t2o.builder", "set_current"))
        return raise_failure(L, before);
    push_node(L, node);
    lua_call(L, 1, 0);
    return 1;
}

bool script_translate_one(t2o_script *k, t2o_node *n)
{
    t2o_graph *g = t2o_graph_new(k->s, k->exprs, "main_graph");
    k->symbols = (t2o_map){ 0 };
    k->opset = t2o_newest_opset();
    for (size_t i = 0; i < n->graph->inputs.n; i++)
        add_input(k, g, n->graph->inputs.at[i]);
    return translate_node(k, g, n);
}

static t2o_value *identity(t2o_script *k, t2o_graph *g, t2o_value *v)
{
    t2o_value *copy = t2o_value_new(g, T2O_VALUE_TENSOR, NULL, v->dtype, v->rank, v->dims);
    t2o_node *n = t2o_node_new(g, NULL, "onnx::Identity", &v, 1, NULL, 0, &copy, 1);
    n->opset = k->opset;
    return copy;
}

/* The value of an output that is a number or a weight: built by lua/t2o/translate.lua's `output`. */
static t2o_value *output_value(t2o_script *k, const t2o_output_spec *o)
{
    lua_State *L = k->L;
    t2o_value *known = o->value ? o->value->twin : NULL;
    if (known && o->value->kind == T2O_VALUE_SYMFLOAT && known->dtype != T2O_FLOAT32)
        return cast_to(k, known, T2O_FLOAT32); /* a Python float, as PyTorch makes a tensor of one */
    if (known)
        return known;
    k->before = NULL;
    k->node = NULL;
    k->rule = NULL;
    if (!push_function(k, "t2o.translate", "output"))
        return NULL;
    if (o->value) {
        /* through an identity node, so that operands are fetched as those of any node are */
        t2o_attr self = { "self", { .kind = T2O_ARG_VALUE, .index = 0 }, false };
        t2o_node *n = T2O_NEW(k->s->arena, t2o_node);
        *n = (t2o_node){ .op = "output", .name = o->name, .inputs = T2O_NEW(k->s->arena, t2o_value *), .n_inputs = 1,
                         .attrs = T2O_NEW(k->s->arena, t2o_attr), .n_attrs = 1, .graph = o->value->graph };
        n->inputs[0] = o->value;
        n->attrs[0] = self;
        push_node(L, n);
    } else if (o->literal.kind == T2O_ARG_FLOAT)
        lua_pushnumber(L, o->literal.f);
    else if (o->literal.kind == T2O_ARG_BOOL)
        lua_pushboolean(L, o->literal.b);
    else
        lua_pushinteger(L, o->literal.i);
    if (!script_call(k, 1, 1))
        return NULL;
    t2o_value *v = test_value(L, -1);
    lua_pop(L, 1);
    return v;
}

static bool add_output(t2o_script *k, t2o_graph *g, const t2o_output_spec *o)
{
    if (!o->value && (o->literal.kind == T2O_ARG_NONE || o->literal.kind == T2O_ARG_STRING))
        return true; /* None and text have no place among ONNX outputs */
    if (!o->value && o->literal.kind != T2O_ARG_INT && o->literal.kind != T2O_ARG_FLOAT &&
        o->literal.kind != T2O_ARG_BOOL)
        return t2o_fail(k->s, "E0305", "an output of the program has no form in ONNX%s%.200s",
                        o->literal.kind == T2O_ARG_UNKNOWN ? ": " : "",
                        o->literal.kind == T2O_ARG_UNKNOWN ? o->literal.text : "");
    k->graph = g;
    t2o_value *v = output_value(k, o);
    if (!v)
        return t2o_failed(k->s) ? false : t2o_fail(k->s, "E0305", "output '%s' has no form in ONNX", o->name);
    if (!v->producer || v->mark)
        v = identity(k, g, v); /* an input, a constant, or an output that stands twice */
    v->mark = 1;
    t2o_output_spec out = { .value = v, .kind = o->kind, .target = o->target, .name = o->name };
    t2o_push(k->s->arena, &g->outputs, out);
    return true;
}

/* ---- state ---- */

static bool is_state(const t2o_script *k, const char *mode)
{
    return !strcmp(k->options.state, mode);
}

/* A weight or buffer that the program changes is an input whose default is what the archive holds. */
static void make_input(t2o_script *k, t2o_graph *g, t2o_value *v)
{
    if (!v->data || !v->data->data)
        return;
    t2o_value *input = t2o_value_new(g, T2O_VALUE_TENSOR, v->target, v->dtype, v->rank, v->dims);
    input->initial = v->data;
    input->spec = v->spec;
    input->persistent = v->persistent;
    input->target = v->target;
    input->original_name = v->name;
    v->twin = input;
    t2o_push(k->s->arena, &g->inputs, input);
}

/* What becomes of inputs and state that the program changes. */
static bool keep_state(t2o_script *k, t2o_graph *torch, t2o_graph *g)
{
    const char *names = "";
    for (size_t i = 0; i < torch->outputs.n; i++) {
        t2o_output_spec *o = &torch->outputs.at[i];
        if (!t2o_spec_is_mutation(o->kind))
            continue;
        names = t2o_printf(k->s->arena, "%s%s'%s'", names, *names ? ", " : "", o->target);
        o->name = t2o_intern(k->s, t2o_printf(k->s->arena, "%s.out", o->target));
        for (size_t j = 0; is_state(k, "io") && j < torch->inputs.n; j++)
            if (torch->inputs.at[j]->target == o->target && o->kind != T2O_SPEC_USER_INPUT_MUTATION)
                make_input(k, g, torch->inputs.at[j]);
    }
    if (*names && is_state(k, "error")) {
        t2o_fail(k->s, "E0306", "the model changes %s", names);
        t2o_hint(k->s, "--state io makes inputs and outputs of it, --state const drops the change");
        return false;
    }
    if (*names && is_state(k, "io"))
        t2o_warn(k->s, "the model changes %s: the new value is an output ('.out' behind the name), and state is an "
                       "input that may be given (--state const drops the change)", names);
    else if (*names)
        t2o_warn(k->s, "the model changes %s, which is dropped (--state const)", names);
    return true;
}

t2o_graph *t2o_script_translate(t2o_script *k, const t2o_program *program)
{
    t2o_graph *torch = program->graph, *g = t2o_graph_new(k->s, k->exprs, "main_graph");
    g->program = program;
    k->graph = g;
    k->opset = t2o_newest_opset();
    for (size_t i = 0; i < torch->inputs.n; i++)
        add_input(k, g, torch->inputs.at[i]);
    if (!keep_state(k, torch, g))
        return NULL;
    mark_needed(k, torch);
    if (!k->options.keep_unknown && !report_missing(k, torch))
        return NULL;
    size_t failures = translate_nodes(k, torch, g);
    for (int state = 0; state < 2; state++) /* the program's own outputs first */
        for (size_t i = 0; !failures && i < torch->outputs.n; i++)
            if (t2o_spec_is_mutation(torch->outputs.at[i].kind) == state && !(state && is_state(k, "const")))
                failures += !add_output(k, g, &torch->outputs.at[i]);
    for (size_t i = 0; i < torch->values.n; i++)
        torch->values.at[i]->mark = 0;
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark = 0;
    return failures ? NULL : g;
}

void t2o_script_learn(t2o_script *k, t2o_program *program)
{
    t2o_graph *torch = program->graph, *g = t2o_graph_new(k->s, k->exprs, "main_graph");
    size_t before = k->s->diags.n;
    k->learning = true;
    k->symbols = (t2o_map){ 0 };
    k->graph = g;
    k->opset = t2o_newest_opset();
    for (size_t i = 0; i < torch->inputs.n; i++)
        add_input(k, g, torch->inputs.at[i]);
    mark_needed(k, torch);
    translate_nodes(k, torch, g);
    t2o_graph_clear_marks(torch);
    t2o_graph_forget_twins(torch);
    t2o_forget_diags(k->s, before); /* what cannot be told stays unknown */
    k->learning = false;
}

/* ---- lowering ---- */

/* A function of the library that rewrites a node: (node, opset) -> its new outputs, or nil. */
typedef struct rewriter {
    const char *module, *function;
    const char *enter; /* called with a node before its bodies are rewritten; NULL = nothing is */
    bool (*passes)(const t2o_node *n); /* nodes that need not be shown to the function; NULL = none */
} rewriter;

static bool rewrite_node(t2o_script *k, const rewriter *by, t2o_node *n, int opset, bool *changed)
{
    lua_State *L = k->L;
    if (by->passes && by->passes(n))
        return true;
    k->graph = n->graph;
    k->before = n;
    k->node = n;
    k->rule = n->rule;
    if (!push_function(k, by->module, by->function))
        return false;
    push_node(L, n);
    lua_pushinteger(L, opset);
    if (!script_call(k, 2, 1)) {
        if (n->origin)
            t2o_note_node(n->origin);
        return false;
    }
    *changed = lua_istable(L, -1);
    for (uint32_t i = 0; *changed && i < n->n_outputs; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        t2o_value *v = test_value(L, -1);
        lua_pop(L, 1);
        if (!v)
            continue;
        if (v->dtype != n->outputs[i]->dtype)
            return t2o_fail(k->s, "E0604", "a rewrite of %s returned dtype %s instead of %s", n->op,
                            t2o_dtype_name(v->dtype), t2o_dtype_name(n->outputs[i]->dtype));
        n->outputs[i]->twin = v;
    }
    lua_pop(L, 1);
    return true;
}

/* What stands for a value after lowering; chains arise where a replacement is itself lowered. */
static t2o_value *replacement(t2o_value *v)
{
    while (v && v->twin)
        v = v->twin;
    return v;
}

static bool rewrite_graph(t2o_script *k, const rewriter *by, t2o_graph *g, int opset);

static bool rewrite_bodies(t2o_script *k, const rewriter *by, t2o_node *n, int opset)
{
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH && !rewrite_graph(k, by, n->attrs[i].arg.graph, opset))
            return false;
    return true;
}

/* What the file states of a value, where inference knows less. */
static void keep_stated(const t2o_script *k, const t2o_value *stated, t2o_value *to)
{
    for (int32_t i = 0; stated->rank == to->rank && i < to->rank; i++) {
        const t2o_expr *dim = stated->dims[i];
        if (dim && !t2o_expr_is_int(to->dims[i]) &&
            (t2o_expr_is_int(dim) || !to->dims[i] || t2o_expr_is_fresh(k->exprs, to->dims[i])))
            to->dims[i] = dim;
    }
}

/* What comes into the bodies of a node has dtypes and shapes before they are looked at. */
static bool enter_bodies(t2o_script *k, const rewriter *by, t2o_node *n)
{
    bool bodies = false;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        bodies |= n->attrs[i].arg.kind == T2O_ARG_GRAPH;
    if (!by->enter || !bodies)
        return true;
    if (!push_function(k, by->module, by->enter))
        return false;
    push_node(k->L, n);
    return script_call(k, 1, 0);
}

static void inherit(t2o_script *k, const rewriter *by, t2o_value *from, t2o_value *to)
{
    t2o_node *made_by = to->producer;
    if (made_by && made_by->graph == from->graph && !made_by->name && from->output_index == 0)
        made_by->name = from->producer->name;
    if (to->producer && !to->original_name)
        to->original_name = from->original_name;
    if (from->omitted && to->producer && !to->original_name)
        to->omitted = true;
    if (to->producer && by->enter && to->rank >= 0)
        keep_stated(k, from, to);
    else if (to->producer && from->rank >= 0)
        t2o_value_set_dims(to, from->rank, from->dims);
    if (!to->content) {
        to->content = from->content;
        to->n_content = from->n_content;
    }
}

static bool rewrite_graph(t2o_script *k, const rewriter *by, t2o_graph *g, int opset)
{
    for (t2o_node *n = g->first, *next; n; n = next) {
        t2o_node *before = n->prev;
        bool changed = false;
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i] = replacement(n->inputs[i]);
        if (!enter_bodies(k, by, n) || !rewrite_bodies(k, by, n, opset) || !rewrite_node(k, by, n, opset, &changed))
            return false;
        next = n->next;
        if (!changed)
            continue;
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i]->twin)
                inherit(k, by, n->outputs[i], n->outputs[i]->twin);
        t2o_node_remove(n);
        next = before ? before->next : g->first; /* what was built may need lowering in its turn */
    }
    for (size_t i = 0; i < g->outputs.n; i++) {
        t2o_value *v = replacement(g->outputs.at[i].value);
        bool same = v == g->outputs.at[i].value; /* of a file: an output may be an input */
        g->outputs.at[i].value = v->producer || same ? v : identity(k, g, v);
    }
    return true;
}

static bool rewrite(t2o_script *k, const rewriter *by, t2o_graph *graph, int opset)
{
    bool ok = rewrite_graph(k, by, graph, opset);
    for (size_t i = 0; i < graph->values.n; i++)
        graph->values.at[i]->twin = NULL;
    return ok;
}

bool script_rewrite(t2o_script *k, const char *module, const char *function, t2o_graph *graph, int opset)
{
    rewriter by = { module, function, NULL, NULL };
    return rewrite(k, &by, graph, opset);
}

bool t2o_script_raise(t2o_script *k, t2o_graph *graph)
{
    static const rewriter raise = { "t2o.raise", "raise", "enter", NULL };
    k->opset = t2o_newest_opset();
    for (size_t i = 0; i < graph->inputs.n; i++)
        add_sources(k, graph->inputs.at[i]);
    return rewrite(k, &raise, graph, t2o_newest_opset());
}

bool t2o_script_lower(t2o_script *k, t2o_graph *graph, int opset)
{
    static const rewriter lower = { "t2o.opset", "lower", NULL, NULL };
    return rewrite(k, &lower, graph, opset);
}

static bool all_usual(t2o_value *const *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] && values[i]->dtype != T2O_FLOAT32 && values[i]->dtype != T2O_INT64)
            return false;
    return true;
}

/* Every runtime has kernels for these; lua/t2o/target.lua would say the same, but most nodes are of this kind. */
static bool has_usual_dtypes(const t2o_node *n)
{
    return all_usual(n->inputs, n->n_inputs) && all_usual(n->outputs, n->n_outputs);
}

bool t2o_script_target(t2o_script *k, t2o_graph *graph, int opset)
{
    static const rewriter adapt = { "t2o.target", "adapt", NULL, has_usual_dtypes };
    return !strcmp(k->options.target, "onnx") || rewrite(k, &adapt, graph, opset);
}

/* ---- questions to the registry ---- */

int t2o_script_view_kind(t2o_script *k, const t2o_node *n)
{
    uintptr_t known = (uintptr_t)t2o_map_get(&k->view_kinds, n->op);
    if (known)
        return (int)known - 1;
    if (!push_function(k, "t2o.rules", "view_kind"))
        return 0;
    lua_pushstring(k->L, n->op);
    push_node(k->L, n);
    if (!script_call(k, 2, 2)) /* the kind, whether it is that of every call */
        return 0;
    int kind = (int)lua_tointeger(k->L, -2);
    if (lua_toboolean(k->L, -1))
        t2o_map_set(k->s->arena, &k->view_kinds, n->op, (void *)(uintptr_t)(kind + 1));
    lua_pop(k->L, 2);
    return kind;
}

/* The value on top of the stack, or the list of them, is what the operands of an argument hold afterwards. */
static void take_written(t2o_script *k, const t2o_arg *arg, t2o_value **written)
{
    if (arg->kind == T2O_ARG_VALUE)
        written[arg->index] = test_value(k->L, -1);
    for (uint32_t i = 0; arg->kind == T2O_ARG_LIST && i < arg->n && lua_istable(k->L, -1); i++) {
        lua_geti(k->L, -1, (lua_Integer)i + 1);
        take_written(k, &arg->items[i], written);
        lua_pop(k->L, 1);
    }
}

bool t2o_script_effects(t2o_script *k, t2o_node *n, t2o_value **results, t2o_value **written)
{
    lua_State *L = k->L;
    const t2o_node *before = n->prev;
    k->torch = n->graph;
    k->torch_before = n;
    bool ok = push_function(k, "t2o.views", "effects");
    if (ok)
        push_node(L, n);
    ok = ok && script_call(k, 1, 2); /* list of results, argument -> value */
    k->torch_before = NULL;
    if (!ok)
        return t2o_note_node(n), false;
    for (t2o_node *made = before ? before->next : n->graph->first; made != n; made = made->next) {
        made->meta = n->meta;
        made->autocast = n->autocast;
    }
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        lua_getfield(L, -1, n->attrs[i].name);
        take_written(k, &n->attrs[i].arg, written);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        results[i] = test_value(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return true;
}

const char *t2o_script_without_out(t2o_script *k, const t2o_node *n, bool *takes_dtype)
{
    if (!push_function(k, "t2o.views", "without_out"))
        return NULL;
    push_node(k->L, n);
    if (!script_call(k, 1, 2))
        return NULL;
    const char *op = lua_isstring(k->L, -2) ? t2o_intern(k->s, lua_tostring(k->L, -2)) : NULL;
    *takes_dtype = lua_toboolean(k->L, -1);
    lua_pop(k->L, 2);
    return op;
}

t2o_value *t2o_script_rebuild(t2o_script *k, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                              t2o_node *before)
{
    lua_State *L = k->L;
    k->torch = base->graph;
    k->torch_before = before;
    if (!push_function(k, "t2o.views", "rebuild"))
        return NULL;
    push_node(L, view);
    lua_pushinteger(L, (lua_Integer)output + 1);
    push_value(L, base);
    push_value(L, changed);
    bool ok = script_call(k, 4, 1);
    t2o_value *rebuilt = ok ? test_value(L, -1) : NULL;
    lua_pop(L, ok);
    k->torch_before = NULL;
    return rebuilt;
}

const char *t2o_script_rule_place(t2o_script *k, const char *op)
{
    const char *known = t2o_map_get(&k->places, op);
    if (known)
        return *known ? known : NULL;
    if (!push_function(k, "t2o.rules", "place_of"))
        return NULL;
    lua_pushstring(k->L, op);
    if (!script_call(k, 1, 1))
        return NULL;
    const char *place = lua_isstring(k->L, -1) ? t2o_intern(k->s, lua_tostring(k->L, -1)) : NULL;
    t2o_map_set(k->s->arena, &k->places, t2o_intern(k->s, op), (void *)(place ? place : ""));
    lua_pop(k->L, 1);
    return place;
}

const char *t2o_script_command(t2o_script *k, const char *name, const char *const *args, size_t n)
{
    if (!push_function(k, "t2o.commands", name))
        return NULL;
    for (size_t i = 0; i < n; i++)
        lua_pushstring(k->L, args[i]);
    if (!script_call(k, (int)n, 1))
        return NULL;
    const char *text = lua_isstring(k->L, -1) ? t2o_strdup(k->s->arena, lua_tostring(k->L, -1)) : NULL;
    lua_pop(k->L, 1);
    return text;
}

/* Adds the nodes of a graph and its bodies to the table on top of the stack: op -> how many. Of a torch graph those
 * that were translated. */
static void count_ops(lua_State *L, const t2o_graph *g, bool translated_only)
{
    for (const t2o_node *n = g->first; n; n = n->next) {
        if (translated_only && !(n->n_outputs && n->outputs[0]->twin))
            continue;
        lua_getfield(L, -1, n->op);
        lua_pushinteger(L, lua_tointeger(L, -1) + 1);
        lua_setfield(L, -3, n->op);
        lua_pop(L, 1);
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                count_ops(L, n->attrs[i].arg.graph, translated_only);
    }
}

bool t2o_script_counts(t2o_script *k, const t2o_graph *torch, const t2o_graph *onnx, const char **json,
                       const char **text)
{
    if (!push_function(k, "t2o.quant", "counts"))
        return false;
    lua_newtable(k->L);
    count_ops(k->L, torch, true);
    lua_newtable(k->L);
    count_ops(k->L, onnx, false);
    if (!script_call(k, 2, 2))
        return false;
    bool any = lua_isstring(k->L, -2);
    if (any) {
        *json = t2o_strdup(k->s->arena, lua_tostring(k->L, -2));
        *text = t2o_strdup(k->s->arena, lua_tostring(k->L, -1));
    }
    lua_pop(k->L, 2);
    return any;
}
