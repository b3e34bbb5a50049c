/* call.c: torch calls that Lua makes: rebuilt bases of views, and the rows in tests/rules (`t2o rules test`). */
#include "script/internal.h"

typedef T2O_VEC(t2o_value *) operands;

static t2o_arg read_arg(lua_State *L, t2o_graph *torch, operands *inputs);

static t2o_arg read_table(lua_State *L, t2o_graph *torch, operands *inputs)
{
    t2o_arg arg = { .kind = T2O_ARG_LIST };
    if (lua_getfield(L, -1, "dtype") == LUA_TSTRING)
        arg = (t2o_arg){ .kind = T2O_ARG_DTYPE, .dtype = t2o_dtype_named(lua_tostring(L, -1)) };
    lua_pop(L, 1);
    if (arg.kind == T2O_ARG_DTYPE)
        return arg;
    arg.n = lua_getfield(L, -1, "n") == LUA_TNUMBER ? (uint32_t)lua_tointeger(L, -1) : (uint32_t)luaL_len(L, -2);
    lua_pop(L, 1);
    arg.items = T2O_NEW_N(torch->s->arena, t2o_arg, arg.n + 1);
    for (uint32_t i = 0; i < arg.n; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        arg.items[i] = read_arg(L, torch, inputs);
        lua_pop(L, 1);
    }
    return arg;
}

/* The argument on top of the stack: nil, a number, text, a dim, a value, a list, or { dtype = name }. */
static t2o_arg read_arg(lua_State *L, t2o_graph *torch, operands *inputs)
{
    size_t n;
    luaL_checkstack(L, 8, "a list that nests too deep");
    switch (lua_type(L, -1)) {
    case LUA_TNIL: return (t2o_arg){ .kind = T2O_ARG_NONE };
    case LUA_TBOOLEAN: return (t2o_arg){ .kind = T2O_ARG_BOOL, .b = lua_toboolean(L, -1) };
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1))
            return (t2o_arg){ .kind = T2O_ARG_INT, .i = lua_tointeger(L, -1) };
        return (t2o_arg){ .kind = T2O_ARG_FLOAT, .f = lua_tonumber(L, -1) };
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, -1, &n);
        return (t2o_arg){ .kind = T2O_ARG_STRING, .text = t2o_strndup(torch->s->arena, text, n), .n = (uint32_t)n };
    }
    case LUA_TTABLE: return read_table(L, torch, inputs);
    default: break;
    }
    t2o_value *v = test_value(L, -1);
    t2o_graph *body = v ? NULL : test_torch_body(L, -1);
    if (body)
        return (t2o_arg){ .kind = T2O_ARG_GRAPH, .graph = body, .text = body->name };
    if (!v)
        return (t2o_arg){ .kind = T2O_ARG_EXPR, .expr = test_dim(L, -1) };
    t2o_push(torch->s->arena, inputs, v);
    return (t2o_arg){ .kind = T2O_ARG_VALUE, .index = (uint32_t)inputs->n - 1 };
}

static t2o_attr *read_args(lua_State *L, int index, t2o_graph *torch, operands *inputs, uint32_t *n)
{
    T2O_VEC(t2o_attr) attrs = { 0 };
    for (lua_Integer i = 1, count = luaL_len(L, index); i <= count; i++) {
        lua_geti(L, index, i); /* { name, value [, by keyword] } */
        lua_geti(L, -1, 1);
        t2o_attr attr = { .name = t2o_intern(torch->s, luaL_checkstring(L, -1)) };
        lua_pop(L, 1);
        lua_geti(L, -1, 2);
        attr.arg = read_arg(L, torch, inputs);
        lua_pop(L, 1);
        lua_geti(L, -1, 3);
        attr.keyword = lua_toboolean(L, -1);
        lua_pop(L, 2);
        t2o_push(torch->s->arena, &attrs, attr);
    }
    *n = (uint32_t)attrs.n;
    return attrs.at;
}

/* core.torch_graph(): begins a torch graph of its own for the calls that follow */
static int l_torch_graph(lua_State *L)
{
    t2o_script *k = script_of(L);
    k->torch = t2o_graph_new(k->s, k->exprs, "test");
    return 0;
}

/* core.torch_value(dtype, name, is_input) -> a tensor of it, whose shape is set with core.set_shape; or a number or
 * another object, where the dtype is "symint", "symfloat", "symbool" or "object" */
static int l_torch_value(lua_State *L)
{
    t2o_script *k = script_of(L);
    static const char *const others[] = { "symint", "symfloat", "symbool", "object" };
    const char *dtype = luaL_checkstring(L, 1);
    t2o_value_kind kind = T2O_VALUE_TENSOR;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(dtype, others[i]))
            kind = (t2o_value_kind)(T2O_VALUE_SYMINT + i);
    t2o_value *v = t2o_value_new(k->torch, kind, luaL_checkstring(L, 2), t2o_dtype_named(dtype), -1, NULL);
    v->mark = 1;
    if (lua_toboolean(L, 3))
        t2o_push(k->s->arena, &k->torch->inputs, v);
    push_value(L, v);
    return 1;
}

/* core.set_expr(v, size): the symbolic int that a value is */
static int l_set_expr(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    const t2o_expr *x = test_dim(L, 2);
    luaL_argcheck(L, x != NULL && v->kind == T2O_VALUE_SYMINT, 2, "a size of a symbolic int is due");
    v->expr = x;
    return 0;
}

static void add_result(t2o_script *k, t2o_arg *result, operands *outputs)
{
    lua_State *L = k->L;
    t2o_value *v = test_value(L, -1);
    if (v) {
        *result = (t2o_arg){ .kind = T2O_ARG_VALUE, .index = (uint32_t)outputs->n };
        t2o_push(k->s->arena, outputs, v);
        return;
    }
    if (!lua_toboolean(L, -1)) {
        *result = (t2o_arg){ .kind = T2O_ARG_NONE };
        return;
    }
    *result = (t2o_arg){ .kind = T2O_ARG_LIST, .n = (uint32_t)luaL_len(L, -1) };
    result->items = T2O_NEW_N(k->s->arena, t2o_arg, result->n + 1);
    for (uint32_t i = 0; i < result->n; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        add_result(k, &result->items[i], outputs);
        lua_pop(L, 1);
    }
}

/* core.torch_call(op, { { name, value } ... }, { results }) -> the node: a call in the torch graph that is built, its
 * results being values of that graph, lists of them, or false for one that is not there */
static int l_torch_call(lua_State *L)
{
    t2o_script *k = script_of(L);
    operands inputs = { 0 }, outputs = { 0 };
    uint32_t n_attrs, n_returns = (uint32_t)luaL_len(L, 3);
    t2o_attr *attrs = read_args(L, 2, k->torch, &inputs, &n_attrs);
    t2o_arg *returns = T2O_NEW_N(k->s->arena, t2o_arg, n_returns + 1);
    for (uint32_t i = 0; i < n_returns; i++) {
        lua_geti(L, 3, (lua_Integer)i + 1);
        add_result(k, &returns[i], &outputs);
        lua_pop(L, 1);
    }
    t2o_node *n = t2o_node_new(k->torch, k->torch_before, luaL_checkstring(L, 1), inputs.at, (uint32_t)inputs.n, attrs,
                               n_attrs, outputs.at, (uint32_t)outputs.n);
    n->name = outputs.n ? outputs.at[0]->name : n->op;
    n->returns = returns;
    n->n_returns = n_returns;
    n->origin = k->back ? k->node : NULL;
    push_node(L, n);
    return 1;
}

/* The error that made a translation fail, with the reasons of the rules that declined. */
static const char *failure(t2o_script *k, size_t at)
{
    const t2o_diag *d = k->s->diags.at[at];
    const char *text = t2o_printf(k->s->arena, "%s: %s", d->code, d->text);
    for (size_t i = 0; i < d->notes.n; i++)
        if (!strncmp(d->notes.at[i], "declined", 8))
            text = t2o_printf(k->s->arena, "%s; %s", text, d->notes.at[i]);
    return text;
}

/* core.translate(node) -> list of the ONNX values of its outputs, or nil and the error's text */
static int l_translate(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_node *n = (t2o_node *)check_node(L, 1);
    size_t before = k->s->diags.n;
    if (!script_translate_one(k, n)) {
        lua_pushnil(L);
        lua_pushstring(L, failure(k, before));
        t2o_forget_diags(k->s, before);
        return 2;
    }
    lua_createtable(L, (int)n->n_outputs, 0);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        push_value(L, n->outputs[i]->twin);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.producer(v) -> the ONNX node that makes a value, and which of its outputs (from 1) it is; nil for none */
static int l_producer(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    if (!v->producer)
        return lua_pushnil(L), 1;
    push_node(L, v->producer);
    lua_pushinteger(L, (lua_Integer)v->output_index + 1);
    return 2;
}

int open_calls(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "torch_graph", l_torch_graph }, { "torch_value", l_torch_value },
        { "torch_call", l_torch_call },   { "set_expr", l_set_expr },
        { "translate", l_translate },     { "producer", l_producer },
        { "run_file", l_run_file },       { "load", l_load },
        { "inline", l_inline },           { NULL, NULL },
    };
    luaL_setfuncs(L, functions, 0);
    return 0;
}
