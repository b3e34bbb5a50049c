/* testing.c: one call of a torch op, made from text, for the rows in tests/rules (`t2o rules test`). */
#include "script/internal.h"

typedef struct call {
    t2o_graph *torch;
    T2O_VEC(t2o_value *) inputs;
} call;

static bool string_is(lua_State *L, const char *field, const char *wanted)
{
    lua_getfield(L, -1, field);
    bool same = lua_type(L, -1) == LUA_TSTRING && !strcmp(lua_tostring(L, -1), wanted);
    lua_pop(L, 1);
    return same;
}

/* A new tensor from { dtype = , shape = , name = } on top of the stack. */
static t2o_value *read_tensor(lua_State *L, call *c)
{
    const t2o_expr *dims[64];
    lua_getfield(L, -1, "dtype");
    t2o_dtype dtype = t2o_dtype_named(luaL_checkstring(L, -1));
    lua_getfield(L, -2, "name");
    const char *name = luaL_checkstring(L, -1);
    lua_getfield(L, -3, "shape");
    lua_Integer rank = luaL_len(L, -1);
    for (lua_Integer i = 0; i < rank && i < 64; i++) {
        lua_geti(L, -1, i + 1);
        dims[i] = test_dim(L, -1);
        lua_pop(L, 1);
    }
    t2o_value *v = t2o_value_new(c->torch, T2O_VALUE_TENSOR, name, dtype, (int32_t)rank, dims);
    lua_pop(L, 3);
    return v;
}

static t2o_arg read_arg(lua_State *L, call *c);

static t2o_arg read_table(lua_State *L, call *c)
{
    t2o_arg arg = { .kind = T2O_ARG_LIST };
    if (string_is(L, "kind", "tensor")) {
        t2o_value *v = read_tensor(L, c);
        v->spec = T2O_SPEC_USER_INPUT;
        t2o_push(c->torch->s->arena, &c->torch->inputs, v);
        arg = (t2o_arg){ .kind = T2O_ARG_VALUE, .index = (uint32_t)c->inputs.n };
        t2o_push(c->torch->s->arena, &c->inputs, v);
        return arg;
    }
    if (string_is(L, "kind", "dtype")) {
        lua_getfield(L, -1, "dtype");
        arg = (t2o_arg){ .kind = T2O_ARG_DTYPE, .dtype = t2o_dtype_named(luaL_checkstring(L, -1)) };
        lua_pop(L, 1);
        return arg;
    }
    lua_getfield(L, -1, "n");
    arg.n = (uint32_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    arg.items = T2O_NEW_N(c->torch->s->arena, t2o_arg, arg.n + 1);
    for (uint32_t i = 0; i < arg.n; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        arg.items[i] = read_arg(L, c);
        lua_pop(L, 1);
    }
    return arg;
}

/* The argument on top of the stack: a number, text, nil, a dim, a list, or { kind = "tensor" | "dtype", ... }. */
static t2o_arg read_arg(lua_State *L, call *c)
{
    size_t n;
    luaL_checkstack(L, 8, "a row that nests too deep");
    switch (lua_type(L, -1)) {
    case LUA_TNIL: return (t2o_arg){ .kind = T2O_ARG_NONE };
    case LUA_TBOOLEAN: return (t2o_arg){ .kind = T2O_ARG_BOOL, .b = lua_toboolean(L, -1) };
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1))
            return (t2o_arg){ .kind = T2O_ARG_INT, .i = lua_tointeger(L, -1) };
        return (t2o_arg){ .kind = T2O_ARG_FLOAT, .f = lua_tonumber(L, -1) };
    case LUA_TSTRING: {
        const char *text = lua_tolstring(L, -1, &n);
        return (t2o_arg){ .kind = T2O_ARG_STRING, .text = t2o_strndup(c->torch->s->arena, text, n), .n = (uint32_t)n };
    }
    case LUA_TTABLE: return read_table(L, c);
    default: return (t2o_arg){ .kind = T2O_ARG_EXPR, .expr = test_dim(L, -1) };
    }
}

static t2o_attr *read_args(lua_State *L, int index, call *c, uint32_t *n)
{
    T2O_VEC(t2o_attr) attrs = { 0 };
    for (lua_Integer i = 1, count = luaL_len(L, index); i <= count; i++) {
        lua_geti(L, index, i); /* { name, value } */
        lua_geti(L, -1, 1);
        t2o_attr attr = { .name = t2o_intern(c->torch->s, luaL_checkstring(L, -1)) };
        lua_pop(L, 1);
        lua_geti(L, -1, 2);
        attr.arg = read_arg(L, c);
        lua_pop(L, 2);
        t2o_push(c->torch->s->arena, &attrs, attr);
    }
    *n = (uint32_t)attrs.n;
    return attrs.at;
}

/* The result at the top of the stack: a tensor, or a list of them. */
static t2o_arg read_result(lua_State *L, call *c, t2o_value **outputs, uint32_t *n)
{
    if (string_is(L, "kind", "tensor")) {
        outputs[*n] = read_tensor(L, c);
        outputs[*n]->mark = 1;
        return (t2o_arg){ .kind = T2O_ARG_VALUE, .index = (*n)++ };
    }
    t2o_arg list = { .kind = T2O_ARG_LIST, .n = (uint32_t)luaL_len(L, -1) };
    list.items = T2O_NEW_N(c->torch->s->arena, t2o_arg, list.n + 1);
    for (uint32_t i = 0; i < list.n && *n < 64; i++) {
        lua_geti(L, -1, (lua_Integer)i + 1);
        list.items[i] = read_result(L, c, outputs, n);
        lua_pop(L, 1);
    }
    return list;
}

/* core.test_call(op, { { name, value } ... }, { results }) -> list of result values, or nil and the error's text */
static int l_test_call(lua_State *L)
{
    t2o_script *k = script_of(L);
    call c = { .torch = t2o_graph_new(k->s, k->exprs, "test") };
    t2o_value *outputs[64];
    uint32_t n_attrs, n_outputs = 0, n_returns = (uint32_t)luaL_len(L, 3);
    t2o_attr *attrs = read_args(L, 2, &c, &n_attrs);
    t2o_arg *returns = T2O_NEW_N(k->s->arena, t2o_arg, n_returns + 1);
    for (uint32_t i = 0; i < n_returns && n_outputs < 64; i++) {
        lua_geti(L, 3, (lua_Integer)i + 1);
        returns[i] = read_result(L, &c, outputs, &n_outputs);
        lua_pop(L, 1);
    }
    t2o_node *n = t2o_node_new(c.torch, NULL, luaL_checkstring(L, 1), c.inputs.at, (uint32_t)c.inputs.n, attrs, n_attrs,
                               outputs, n_outputs);
    n->name = n->op;
    n->returns = returns;
    n->n_returns = n_returns;
    size_t before = k->s->diags.n;
    if (script_translate_one(k, n)) {
        lua_createtable(L, (int)n_outputs, 0);
        for (uint32_t i = 0; i < n_outputs; i++) {
            push_value(L, outputs[i]->twin);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return 1;
    }
    lua_pushnil(L);
    const t2o_diag *d = k->s->diags.at[before];
    const char *text = t2o_printf(k->s->arena, "%s: %s", d->code, d->text);
    for (size_t i = 0; i < d->notes.n; i++)
        if (!strncmp(d->notes.at[i], "declined", 8))
            text = t2o_printf(k->s->arena, "%s; %s", text, d->notes.at[i]);
    lua_pushstring(L, text);
    t2o_forget_diags(k->s, before);
    return 2;
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

int open_testing(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "test_call", l_test_call }, { "producer", l_producer }, { "run_file", l_run_file }, { NULL, NULL },
    };
    luaL_setfuncs(L, functions, 0);
    return 0;
}
