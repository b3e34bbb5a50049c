/* node.c: nodes as Lua objects: arguments of torch nodes, inputs and attributes of ONNX nodes. */
#include "graph/meta.h"
#include "script/internal.h"

#define NODE "t2o.node"
#define TORCH_BODY "t2o.body"

/* The body of a higher-order op. */
void push_torch_body(lua_State *L, t2o_graph *g)
{
    t2o_graph **box = lua_newuserdatauv(L, sizeof g, 0);
    *box = g;
    luaL_setmetatable(L, TORCH_BODY);
}

t2o_graph *check_torch_body(lua_State *L, int index)
{
    return *(t2o_graph **)luaL_checkudata(L, index, TORCH_BODY);
}

t2o_graph *test_torch_body(lua_State *L, int index)
{
    t2o_graph **box = luaL_testudata(L, index, TORCH_BODY);
    return box ? *box : NULL;
}

void push_node(lua_State *L, const t2o_node *n)
{
    const t2o_node **box = lua_newuserdatauv(L, sizeof n, 0);
    *box = n;
    luaL_setmetatable(L, NODE);
}

t2o_node *check_node(lua_State *L, int index)
{
    return *(t2o_node **)luaL_checkudata(L, index, NODE);
}

const t2o_expr **form_dims(t2o_script *k, const t2o_value *v, int32_t *rank)
{
    *rank = v->rank;
    if (!t2o_dtype_is_complex(v->dtype) || v->rank < 0)
        return v->dims;
    const t2o_expr **dims = T2O_NEW_N(k->s->arena, const t2o_expr *, v->rank + 1);
    for (int32_t i = 0; i < v->rank; i++)
        dims[i] = v->dims[i];
    dims[v->rank] = t2o_expr_int(k->exprs, 2);
    *rank = v->rank + 1;
    return dims;
}

/* The bytes of complex numbers as those of their parts. */
static const t2o_tensor *form_data(t2o_script *k, const t2o_tensor *data)
{
    if (!t2o_dtype_is_complex(data->dtype))
        return data;
    uint32_t rank = data->rank;
    int64_t *dims = T2O_NEW_N(k->s->arena, int64_t, 2 * (rank + 1)), *strides = dims + rank + 1;
    for (uint32_t i = 0; i < rank; i++) {
        dims[i] = data->dims[i];
        strides[i] = data->strides ? 2 * data->strides[i] : 0;
    }
    dims[rank] = 2;
    strides[rank] = 1;
    t2o_tensor *parts = T2O_NEW(k->s->arena, t2o_tensor);
    *parts = *data;
    parts->dtype = t2o_dtype_real_of(data->dtype);
    parts->rank = rank + 1;
    parts->dims = dims;
    parts->strides = data->strides ? strides : NULL;
    return parts;
}

/* The ONNX side of a torch value. Weights become initialisers when they are first asked for. */
static t2o_value *twin_of(lua_State *L, t2o_value *v)
{
    t2o_script *k = script_of(L);
    if (!v->twin && v->constant) {
        if (v->wrapped)
            raise_coded(L, "E0305",
                        "weight '%s' is not a plain tensor but an object (%s): unwrap tensor subclasses before "
                        "the export (unwrap_tensor_subclass)",
                        v->target ? v->target : v->name, v->wrapped);
        if (!v->data || !v->data->data)
            raise_coded(L, "E0507", "the archive holds no data for '%s'", v->target ? v->target : v->name);
        t2o_graph *top = k->graph;
        while (top->parent)
            top = top->parent;
        v->twin = t2o_constant_new(top, v->target ? v->target : v->name, form_data(k, v->data));
        v->twin->complex = t2o_dtype_is_complex(v->dtype);
        v->twin->spec = v->spec;
        v->twin->persistent = v->persistent;
        v->twin->target = v->target;
        v->twin->original_name = v->name;
    }
    if (!v->twin)
        raise_coded(L, "E0305", "'%s' (%s) has no counterpart in ONNX", v->name, t2o_value_type_text(v->graph, v));
    return v->twin;
}

static void push_operand(lua_State *L, t2o_value *v)
{
    if (!v)
        lua_pushnil(L);
    else if (v->kind == T2O_VALUE_SYMINT && v->expr)
        push_dim(L, v->expr);
    else if (script_of(L)->graph)
        push_value(L, twin_of(L, v));
    else
        push_value(L, v); /* the torch graph is being rewritten; there is no other yet */
}

static void push_tensor(lua_State *L, const t2o_tensor *t)
{
    t2o_script *k = script_of(L);
    t2o_value *v = t2o_constant_new(k->graph, NULL, form_data(k, t));
    v->complex = t2o_dtype_is_complex(t->dtype);
    push_value(L, v);
}

static void push_arg(lua_State *L, const t2o_node *n, const t2o_arg *arg)
{
    luaL_checkstack(L, 8, "arguments that nest too deep");
    switch (arg->kind) {
    case T2O_ARG_VALUE: push_operand(L, n->inputs[arg->index]); break;
    case T2O_ARG_INT: lua_pushinteger(L, arg->i); break;
    case T2O_ARG_FLOAT: lua_pushnumber(L, arg->f); break;
    case T2O_ARG_BOOL: lua_pushboolean(L, arg->b); break;
    case T2O_ARG_EXPR: push_dim(L, arg->expr); break;
    case T2O_ARG_DTYPE: lua_pushstring(L, t2o_dtype_name(arg->dtype)); break;
    case T2O_ARG_STRING: lua_pushlstring(L, arg->text, arg->n); break;
    case T2O_ARG_DEVICE:
    case T2O_ARG_LAYOUT:
    case T2O_ARG_MEMORY_FORMAT:
    case T2O_ARG_TYPE:
    case T2O_ARG_OPERATOR: lua_pushstring(L, arg->text); break;
    case T2O_ARG_COMPLEX:
        lua_createtable(L, 0, 2);
        lua_pushnumber(L, arg->f);
        lua_setfield(L, -2, "real");
        lua_pushnumber(L, arg->imag);
        lua_setfield(L, -2, "imag");
        break;
    case T2O_ARG_LIST:
        lua_createtable(L, (int)arg->n, 1);
        for (uint32_t i = 0; i < arg->n; i++) {
            push_arg(L, n, &arg->items[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_pushinteger(L, arg->n);
        lua_setfield(L, -2, "n");
        break;
    case T2O_ARG_MAP:
        lua_createtable(L, 0, (int)arg->n);
        for (uint32_t i = 0; i < arg->n; i++) {
            push_arg(L, n, &arg->items[i]);
            lua_setfield(L, -2, arg->keys[i]);
        }
        break;
    case T2O_ARG_TENSOR: push_tensor(L, arg->tensor); break;
    case T2O_ARG_GRAPH: push_torch_body(L, arg->graph); break;
    case T2O_ARG_UNKNOWN:
        raise_coded(L, "E0305", "an argument of a kind that this version does not know: %.200s", arg->text);
        break;
    default: lua_pushnil(L);
    }
}

/* core.arguments(node) -> table of name to value; positional ones without a name stand at 1, 2, ... */
static int l_arguments(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    lua_Integer position = 0;
    lua_createtable(L, 0, (int)n->n_attrs);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        push_arg(L, n, &n->attrs[i].arg);
        if (*n->attrs[i].name)
            lua_setfield(L, -2, n->attrs[i].name);
        else
            lua_rawseti(L, -2, ++position);
    }
    return 1;
}

static bool any_complex(t2o_value *const *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (values[i] && values[i]->kind == T2O_VALUE_TENSOR && t2o_dtype_is_complex(values[i]->dtype))
            return true;
    return false;
}

/* core.is_complex_call(node): whether a tensor of it is complex */
static int l_is_complex_call(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    lua_pushboolean(L, any_complex(n->inputs, n->n_inputs) || any_complex(n->outputs, n->n_outputs));
    return 1;
}

/* core.is_batched(node): whether one of its operands stands for many, as within vmap */
static int l_is_batched(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    bool batched = false;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        batched = batched || (n->inputs[i] && n->inputs[i]->twin && n->inputs[i]->twin->batch);
    lua_pushboolean(L, batched);
    return 1;
}

/* core.argument_names(node) -> list, in the order of the call; core.is_none is not needed: None is nil. */
static int l_argument_names(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    lua_createtable(L, (int)n->n_attrs, 0);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        lua_pushstring(L, n->attrs[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void push_values(lua_State *L, t2o_value *const *values, uint32_t n)
{
    lua_createtable(L, (int)n, 1);
    for (uint32_t i = 0; i < n; i++) {
        push_value(L, values[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushinteger(L, n);
    lua_setfield(L, -2, "n");
}

/* Places in node.outputs, a list where a result is one. */
static void push_returns(lua_State *L, const t2o_arg *returns, uint32_t n)
{
    luaL_checkstack(L, 4, "results that nest too deep");
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (returns[i].kind == T2O_ARG_LIST)
            push_returns(L, returns[i].items, returns[i].n);
        else
            lua_pushinteger(L, returns[i].kind == T2O_ARG_VALUE ? (lua_Integer)returns[i].index + 1 : 0);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* core.modules(node) -> a flat list of path and class of the modules it was called in, from the outermost */
static int l_modules(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    const t2o_meta *meta = t2o_meta_of(n);
    t2o_module m;
    lua_Integer count = 0;
    lua_newtable(L);
    for (const char *p = meta ? meta->nn_module_stack : NULL;
         (p = t2o_meta_next_module(script_of(L)->s, p, &m));) {
        lua_pushstring(L, m.path);
        lua_rawseti(L, -2, ++count);
        lua_pushstring(L, m.type);
        lua_rawseti(L, -2, ++count);
    }
    return 1;
}

/* core.body_ports(body) -> lists of the values that come into a body of an ONNX node and that it gives */
static int l_body_ports(lua_State *L)
{
    t2o_graph *g = check_torch_body(L, 1);
    push_values(L, g->inputs.at, (uint32_t)g->inputs.n);
    lua_createtable(L, (int)g->outputs.n, 1);
    for (size_t i = 0; i < g->outputs.n; i++) {
        push_value(L, g->outputs.at[i].value);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushinteger(L, (lua_Integer)g->outputs.n);
    lua_setfield(L, -2, "n");
    return 2;
}

/* { device, dtype }, or nil outside of autocast */
static void push_autocast(lua_State *L, const t2o_autocast *region)
{
    if (!region)
        return lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, region->device);
    lua_setfield(L, -2, "device");
    lua_pushstring(L, region->dtype == T2O_NO_DTYPE ? NULL : t2o_dtype_name(region->dtype));
    lua_setfield(L, -2, "dtype");
}

static int l_node_index(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    t2o_session *s = script_of(L)->s;
    const char *key = luaL_checkstring(L, 2);
    if (!strcmp(key, "op"))
        lua_pushstring(L, n->op);
    else if (!strcmp(key, "target"))
        lua_pushstring(L, n->meta && n->meta->target ? n->meta->target : n->op);
    else if (!strcmp(key, "name"))
        lua_pushstring(L, n->name);
    else if (!strcmp(key, "module"))
        lua_pushstring(L, t2o_meta_module(s, n->meta));
    else if (!strcmp(key, "stack"))
        lua_pushstring(L, t2o_meta_user_line(s, n->meta));
    else if (!strcmp(key, "outputs"))
        push_values(L, n->outputs, n->n_outputs);
    else if (!strcmp(key, "inputs"))
        push_values(L, n->inputs, n->n_inputs);
    else if (!strcmp(key, "returns"))
        push_returns(L, n->returns, n->n_returns);
    else if (!strcmp(key, "contiguous")) {
        lua_createtable(L, (int)n->n_inputs, 0);
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (n->inputs[i] && (n->inputs[i]->contiguous || n->inputs[i]->scattered)) {
                lua_pushboolean(L, n->inputs[i]->contiguous);
                lua_rawseti(L, -2, (lua_Integer)i + 1);
            }
    } else if (!strcmp(key, "opset"))
        lua_pushinteger(L, n->opset);
    else if (!strcmp(key, "origin") && n->origin) /* of an ONNX node: the torch node that it came from */
        push_node(L, n->origin);
    else if (!strcmp(key, "autocast"))
        push_autocast(L, n->autocast);
    else if (!strcmp(key, "inplace"))
        lua_pushboolean(L, n->inplace);
    else if (!strcmp(key, "kwargs"))
        return lua_settop(L, 1), l_arguments(L);
    else
        lua_pushnil(L);
    return 1;
}

int open_nodes(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "arguments", l_arguments }, { "argument_names", l_argument_names },
        { "is_complex_call", l_is_complex_call }, { "is_batched", l_is_batched },
        { "body_ports", l_body_ports }, { "modules", l_modules },
        { NULL, NULL },
    };
    luaL_newmetatable(L, NODE);
    lua_pushcfunction(L, l_node_index);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newmetatable(L, TORCH_BODY); /* its methods: lua/t2o/builder.lua */
    lua_setfield(L, -2, "body_meta");
    luaL_setfuncs(L, functions, 0);
    return 0;
}
