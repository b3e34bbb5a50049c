/* build.c: what the builder in lua/t2o/builder.lua stands on: nodes, constants, bodies. */
#include "onnx/onnx.h"
#include "onnx/schema.h"
#include "script/internal.h"

#include <stdlib.h>

#define MAX_INPUTS 1000000 /* and results */
#define FEW 16
#define MAX_ELEMENTS ((int64_t)1 << 26)

/* ---- attributes ---- */

/* The body of an ONNX node of a file, for a node that takes its place. */
static t2o_arg moved_body(t2o_script *k, t2o_graph *body)
{
    body->parent = k->graph;
    return (t2o_arg){ .kind = T2O_ARG_GRAPH, .graph = body };
}

static bool scalar_arg(lua_State *L, int index, t2o_arg *arg)
{
    t2o_script *k = script_of(L);
    int type = lua_type(L, index);
    size_t n;
    if (type == LUA_TBOOLEAN)
        *arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = lua_toboolean(L, index) };
    else if (lua_isinteger(L, index))
        *arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = lua_tointeger(L, index) };
    else if (type == LUA_TNUMBER)
        *arg = (t2o_arg){ .kind = T2O_ARG_FLOAT, .f = lua_tonumber(L, index) };
    else if (type == LUA_TSTRING) {
        const char *text = lua_tolstring(L, index, &n);
        *arg = (t2o_arg){ .kind = T2O_ARG_STRING, .text = t2o_strndup(k->s->arena, text, n), .n = (uint32_t)n };
    } else if (type == LUA_TLIGHTUSERDATA)
        *arg = (t2o_arg){ .kind = T2O_ARG_GRAPH, .graph = lua_touserdata(L, index) };
    else if (test_torch_body(L, index))
        *arg = moved_body(k, test_torch_body(L, index));
    else {
        t2o_value *v = test_value(L, index);
        if (!v || !v->data)
            return false;
        *arg = (t2o_arg){ .kind = T2O_ARG_TENSOR, .tensor = v->data };
    }
    return true;
}

static bool list_arg(lua_State *L, int index, t2o_arg *arg)
{
    lua_Integer n = luaL_len(L, index);
    if (n > MAX_ELEMENTS)
        return false;
    *arg = (t2o_arg){ .kind = T2O_ARG_LIST, .n = (uint32_t)n };
    arg->items = T2O_NEW_N(script_of(L)->s->arena, t2o_arg, n ? n : 1);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, index, i + 1);
        bool ok = scalar_arg(L, lua_gettop(L), &arg->items[i]);
        lua_pop(L, 1);
        if (!ok)
            return false;
    }
    return true;
}

/* Brings the argument to the type that the schema asks for where nothing is lost: integers where floats are asked
 * for, a dtype's name where its number is. */
static void adapt(t2o_arg *arg, t2o_attr_type type)
{
    if (arg->kind == T2O_ARG_INT && type == T2O_ATTR_FLOAT)
        *arg = (t2o_arg){ .kind = T2O_ARG_FLOAT, .f = (double)arg->i };
    if (arg->kind == T2O_ARG_STRING && type == T2O_ATTR_INT && t2o_dtype_named(arg->text))
        *arg = (t2o_arg){ .kind = T2O_ARG_INT, .i = t2o_dtype_named(arg->text) };
    if (arg->kind == T2O_ARG_STRING && type == T2O_ATTR_TYPE_PROTO)
        arg->kind = T2O_ARG_TYPE;
    if (arg->kind == T2O_ARG_LIST && type == T2O_ATTR_FLOATS)
        for (uint32_t i = 0; i < arg->n; i++)
            adapt(&arg->items[i], T2O_ATTR_FLOAT);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const t2o_attr *)a)->name, ((const t2o_attr *)b)->name);
}

/* The attributes of the table at index, sorted by name. */
static t2o_attr *read_attrs(lua_State *L, int index, const t2o_schema *schema, uint32_t *n)
{
    t2o_script *k = script_of(L);
    T2O_VEC(t2o_attr) attrs = { 0 };
    for (lua_pushnil(L); lua_istable(L, index) && lua_next(L, index); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            raise_coded(L, "E0603", "attributes are given by name");
        t2o_attr attr = { .name = t2o_intern(k->s, lua_tostring(L, -2)) };
        int top = lua_gettop(L);
        if (!(lua_istable(L, top) ? list_arg(L, top, &attr.arg) : scalar_arg(L, top, &attr.arg)))
            raise_coded(L, "E0603", "attribute '%s' cannot be a %s", attr.name, luaL_typename(L, top));
        int at = schema ? t2o_schema_attr(schema, attr.name) : -1;
        if (at >= 0)
            adapt(&attr.arg, schema->attrs[at].type);
        t2o_push(k->s->arena, &attrs, attr);
    }
    if (!lua_istable(L, index))
        lua_pop(L, 1);
    if (attrs.n > 1)
        qsort(attrs.at, attrs.n, sizeof *attrs.at, by_name);
    *n = (uint32_t)attrs.n;
    return attrs.at;
}

/* ---- nodes ---- */

static const t2o_schema *schema_for(lua_State *L, const char *op)
{
    t2o_script *k = script_of(L);
    const t2o_schema *schema = t2o_schema_find(op, k->opset), *first = t2o_schema_first(op);
    if (schema)
        return schema;
    if (first)
        raise_coded(L, "E0603", "%s does not exist before opset %d", op, first->since);
    const char *near = t2o_schema_suggest(op);
    raise_coded(L, "E0603", near ? "ONNX has no operator '%s' (did you mean '%s'?)" : "ONNX has no operator '%s'", op,
                near);
    return NULL;
}

static bool visible(const t2o_graph *from, const t2o_graph *owner)
{
    for (; from; from = from->parent)
        if (from == owner)
            return true;
    return false;
}

/* The list's values in `few`, or in the arena where they are more. */
static t2o_value **read_inputs(lua_State *L, int index, t2o_value **few, uint32_t *n_inputs)
{
    t2o_script *k = script_of(L);
    lua_getfield(L, index, "n");
    lua_Integer n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (n < 0 || n > MAX_INPUTS)
        raise_coded(L, "E0603", "too many inputs");
    t2o_value **inputs = n <= FEW ? few : T2O_NEW_N(k->s->arena, t2o_value *, n);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, index, i + 1);
        inputs[i] = lua_isnil(L, -1) ? NULL : test_value(L, -1);
        if (!inputs[i] && !lua_isnil(L, -1))
            raise_coded(L, "E0603", "input %d is a %s, not a value (g.const and g.scalar make values of numbers)",
                        (int)i + 1, luaL_typename(L, -1));
        if (inputs[i] && !visible(k->graph, inputs[i]->graph))
            raise_coded(L, "E0603", "input %d belongs to another graph", (int)i + 1);
        lua_pop(L, 1);
    }
    while (n > 0 && !inputs[n - 1])
        n--;
    *n_inputs = (uint32_t)n;
    return inputs;
}

static void check_built(lua_State *L, const t2o_schema *schema, const t2o_node *n)
{
    const char *why = NULL;
    bool dtype_unsupported = false;
    if (t2o_onnx_check_node(schema, n, &why, &dtype_unsupported))
        return;
    /* a dtype that the operator does not take is a limit of a built-in rule, and a fault of a user's */
    if (!dtype_unsupported || script_of(L)->strict)
        raise_coded(L, "E0603", "%s", why);
    lua_pushstring(L, why);
    raise_decline(L);
}

/* core.build(op, inputs, attrs, n_outputs, [dtypes for a custom op]) -> list of values, their shapes not yet known.
 * op is an ONNX operator or "domain::Name"; inputs has its length in `n`. */
static int l_build(lua_State *L)
{
    t2o_script *k = script_of(L);
    const char *op = luaL_checkstring(L, 1);
    bool custom = strstr(op, "::") != NULL;
    const t2o_schema *schema = custom ? NULL : schema_for(L, op);
    lua_Integer n_outputs = luaL_optinteger(L, 4, 1);
    luaL_argcheck(L, n_outputs >= 0 && n_outputs <= MAX_INPUTS, 4, "number of outputs");
    t2o_value *few[FEW];
    uint32_t n_inputs, n_attrs;
    t2o_value **inputs = read_inputs(L, 2, few, &n_inputs);
    t2o_attr *attrs = read_attrs(L, 3, schema, &n_attrs);
    t2o_value **outputs = T2O_NEW_N(k->s->arena, t2o_value *, n_outputs ? n_outputs : 1);
    for (lua_Integer i = 0; i < n_outputs; i++)
        outputs[i] = t2o_value_new(k->graph, T2O_VALUE_TENSOR, NULL, T2O_NO_DTYPE, -1, NULL);
    const char *full = custom ? op : t2o_printf(k->s->arena, "onnx::%s", op);
    t2o_node *n = t2o_node_new(k->graph, k->before, full, inputs, n_inputs, attrs, n_attrs, outputs,
                               (uint32_t)n_outputs);
    n->origin = k->node && k->node->origin ? k->node->origin : k->node;
    n->rule = k->rule;
    n->opset = k->opset;
    if (schema)
        check_built(L, schema, n);
    lua_createtable(L, (int)n_outputs, 0);
    for (lua_Integer i = 0; i < n_outputs; i++) {
        if (schema)
            outputs[i]->dtype = t2o_onnx_output_dtype(schema, n, (uint32_t)i);
        push_value(L, outputs[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.set_dtype(v, dtype): of a custom operator's output */
static int l_set_dtype(lua_State *L)
{
    check_value(L, 1)->dtype = t2o_dtype_named(luaL_checkstring(L, 2));
    return 0;
}

/* core.dtype_of_number(n) -> the dtype of ONNX's number, or nil */
static int l_dtype_of_number(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    if (n > T2O_NO_DTYPE && n < T2O_COMPLEX32)
        lua_pushstring(L, t2o_dtype_name((t2o_dtype)n));
    else
        lua_pushnil(L);
    return 1;
}

/* core.operator(op [, opset]) -> {since, inputs = {names}, attrs = {name = default}, min_outputs, variadic_outputs}
 * in force, or nil; with a true third argument an operator that does not exist at any opset is an error */
static int l_operator(lua_State *L)
{
    const t2o_schema *schema = t2o_schema_find(luaL_checkstring(L, 1), (int)luaL_optinteger(L, 2, t2o_newest_opset()));
    if (!schema && lua_toboolean(L, 3) && !t2o_schema_first(lua_tostring(L, 1)))
        schema = schema_for(L, lua_tostring(L, 1));
    if (!schema)
        return lua_pushnil(L), 1;
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, schema->since);
    lua_setfield(L, -2, "since");
    lua_pushinteger(L, schema->min_outputs);
    lua_setfield(L, -2, "min_outputs");
    lua_pushboolean(L, schema->n_outputs && schema->outputs[schema->n_outputs - 1].option == T2O_VARIADIC);
    lua_setfield(L, -2, "variadic_outputs");
    lua_createtable(L, schema->n_inputs, 0);
    for (int i = 0; i < schema->n_inputs; i++) {
        lua_pushstring(L, schema->inputs[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "inputs");
    lua_createtable(L, 0, schema->n_attrs);
    for (int i = 0; i < schema->n_attrs; i++) {
        lua_pushstring(L, schema->attrs[i].default_text ? schema->attrs[i].default_text : "");
        lua_setfield(L, -2, schema->attrs[i].name);
    }
    lua_setfield(L, -2, "attrs");
    return 1;
}

/* ONNX Runtime's optimiser leaves operators in models whose opset does not have them yet. */
static const t2o_schema *schema_of_file(t2o_node *n, const char *op)
{
    const t2o_schema *schema = t2o_schema_find(op, n->opset), *first = t2o_schema_first(op);
    if (schema || !first)
        return schema && !schema->deprecated ? schema : NULL;
    n->opset = first->since;
    return first;
}

/* core.settle(node): a node of a file against its schema (an error where it does not fit), and the dtypes of outputs
 * of which the file does not state them. Returns what to say of an operator that ONNX does not have. */
static int l_settle(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_node *n = (t2o_node *)check_node(L, 1);
    const char *op = t2o_onnx_op_type(n), *why = NULL;
    bool dtype_unsupported;
    if (!op)
        return 0;
    const t2o_schema *schema = schema_of_file(n, op);
    const char *name = n->name ? n->name : n->n_outputs && n->outputs[0] ? n->outputs[0]->name : "";
    if (!schema) {
        const char *near = t2o_schema_first(op) ? NULL : t2o_schema_suggest(op);
        lua_pushstring(L, t2o_printf(k->s->arena, "opset %d of ONNX has no operator '%s' (node '%s')%s", n->opset, op,
                                     name, near ? t2o_printf(k->s->arena, "; did you mean '%s'?", near) : ""));
        return 1;
    }
    if (!t2o_onnx_check_node(schema, n, &why, &dtype_unsupported) && !dtype_unsupported)
        return raise_coded(L, "E0508", "node '%s': %s, at opset %d", name, why, n->opset);
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        t2o_value *v = n->outputs[i];
        if (v && v->kind == T2O_VALUE_TENSOR && v->dtype == T2O_NO_DTYPE)
            v->dtype = t2o_onnx_output_dtype(schema, n, i);
    }
    return 0;
}

/* core.type_vars(node) -> { T = dtype }, the variable of each input, the variable of each output: by the schema at the
 * node's opset; parameters of a fixed type go by their own name */
static int l_type_vars(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    const char *op = t2o_onnx_op_type(n);
    const t2o_schema *schema = op ? t2o_schema_find(op, n->opset) : NULL;
    lua_settop(L, 1);
    lua_newtable(L); /* 2: variables */
    lua_newtable(L); /* 3: of inputs */
    lua_newtable(L); /* 4: of outputs */
    for (int side = 0; schema && side < 2; side++)
        for (uint32_t i = 0; i < (side ? n->n_outputs : n->n_inputs); i++) {
            const t2o_param *p = side ? t2o_schema_output(schema, i) : t2o_schema_input(schema, i);
            const t2o_value *v = side ? n->outputs[i] : n->inputs[i];
            const char *name = p ? p->type_var ? p->type_var : p->name : "";
            lua_pushstring(L, name);
            lua_rawseti(L, 3 + side, (lua_Integer)i + 1);
            if (v && v->dtype != T2O_NO_DTYPE) {
                lua_pushstring(L, t2o_dtype_name(v->dtype));
                lua_setfield(L, 2, name);
            }
        }
    return 3;
}

typedef struct wanted_type {
    const char *var;
    t2o_dtype dtype;
} wanted_type;

static bool allows(const t2o_schema *schema, void *ctx)
{
    const wanted_type *w = ctx;
    for (uint32_t i = 0; i < schema->n_inputs; i++) {
        const t2o_param *p = &schema->inputs[i];
        if (!strcmp(p->type_var ? p->type_var : p->name, w->var) && (p->types & T2O_TYPE_BIT(w->dtype)))
            return true;
    }
    return false;
}

/* core.type_allows(node, variable, dtype) -> whether the schema lets that variable (as of type_vars) be of the dtype;
 * else false and the first opset whose schema does, or nil */
static int l_type_allows(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    wanted_type w = { luaL_checkstring(L, 2), t2o_dtype_named(luaL_checkstring(L, 3)) };
    const char *op = t2o_onnx_op_type(n);
    const t2o_schema *schema = op ? t2o_schema_find(op, n->opset) : NULL;
    bool allowed = schema && allows(schema, &w);
    const t2o_schema *first = op && !allowed ? t2o_schema_first_where(op, allows, &w) : NULL;
    lua_pushboolean(L, allowed);
    if (first)
        lua_pushinteger(L, first->since);
    else
        lua_pushnil(L);
    return 2;
}

/* ---- constants ---- */

/* A constant with other data that takes the place of a weight. */
static t2o_value *constant_like(t2o_graph *g, const t2o_value *v, const t2o_tensor *data)
{
    t2o_value *out = t2o_constant_new(g, v->name, data);
    out->spec = v->spec;
    out->target = v->target;
    out->persistent = v->persistent;
    out->original_name = v->original_name;
    return out;
}

/* core.converted(v, dtype) -> a constant with the numbers of another one, converted as they are written */
static int l_converted(lua_State *L)
{
    const t2o_value *v = check_value(L, 1);
    t2o_graph *top = script_of(L)->graph;
    if (!v->data || !v->data->data)
        return luaL_error(L, "'%s' is not a constant", v->name ? v->name : "a value");
    while (top->parent)
        top = top->parent;
    t2o_dtype dtype = t2o_dtype_named(luaL_checkstring(L, 2));
    push_value(L, constant_like(top, v, t2o_tensor_converted(top->s->arena, v->data, dtype)));
    return 1;
}

static void read_element(lua_State *L, t2o_dtype d, uint8_t *out)
{
    bool ok;
    if (lua_type(L, -1) == LUA_TBOOLEAN)
        ok = t2o_element_from_int(d, lua_toboolean(L, -1), out);
    else if (lua_isinteger(L, -1))
        ok = t2o_element_from_int(d, lua_tointeger(L, -1), out);
    else if (lua_type(L, -1) == LUA_TNUMBER)
        ok = t2o_element_from_double(d, lua_tonumber(L, -1), out);
    else
        ok = false;
    if (!ok)
        raise_coded(L, "E0603", "a %s cannot be an element of a constant of dtype %s", luaL_typename(L, -1),
                    t2o_dtype_name(d));
}

/* core.constant(dtype, {dims}, elements): a flat list of numbers, or one number for all */
static int l_constant(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_tensor *t = T2O_NEW(k->s->arena, t2o_tensor);
    t->dtype = t2o_dtype_named(luaL_checkstring(L, 1));
    size_t size = t2o_dtype_size(t->dtype);
    if (!size)
        raise_coded(L, "E0603", "a constant of dtype %s cannot be made", lua_tostring(L, 1));
    t->rank = (uint32_t)luaL_len(L, 2);
    int64_t *dims = T2O_NEW_N(k->s->arena, int64_t, t->rank + 1);
    for (uint32_t i = 0; i < t->rank; i++) {
        lua_geti(L, 2, (lua_Integer)i + 1);
        if (!lua_isinteger(L, -1))
            raise_coded(L, "E0603", "the shape of a constant is made of integers");
        dims[i] = lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    t->dims = dims;
    int64_t n = t2o_tensor_count(t);
    if (n < 0 || n > MAX_ELEMENTS)
        raise_coded(L, "E0603", "a constant of that many elements is too large");
    bool fill = !lua_istable(L, 3);
    if (!fill && luaL_len(L, 3) != n)
        raise_coded(L, "E0603", "a constant of %d elements was given %d", (int)n, (int)luaL_len(L, 3));
    uint8_t *data = t2o_alloc(k->s->arena, (size_t)n * size + 1);
    for (int64_t i = 0; i < n; i++) {
        if (fill && i) {
            memcpy(data + (size_t)i * size, data, size);
            continue;
        }
        if (fill)
            lua_pushvalue(L, 3);
        else
            lua_geti(L, 3, i + 1);
        read_element(L, t->dtype, data + (size_t)i * size);
        lua_pop(L, 1);
    }
    t->data = data;
    t->available = (size_t)n * size;
    push_value(L, t2o_constant_new(k->graph, NULL, t));
    return 1;
}

/* The elements of a tensor of 8-bit integers, two to a byte, the first in the low half; NULL where one does not fit. */
static uint8_t *pack_nibbles(t2o_arena *arena, const t2o_tensor *t, t2o_dtype dtype)
{
    int64_t n = t2o_tensor_count(t), low = dtype == T2O_INT4 ? -8 : 0;
    uint8_t *packed = t2o_alloc(arena, (size_t)n / 2 + 1);
    uint8_t block[4096];
    for (int64_t first = 0; first < n; first += (int64_t)sizeof block) {
        int64_t count = n - first < (int64_t)sizeof block ? n - first : (int64_t)sizeof block;
        t2o_tensor_read(t, first, count, block);
        for (int64_t i = 0; i < count; i++) {
            int64_t value = 0;
            t2o_element_to_int(t->dtype, &block[i], &value);
            if (value < low || value > low + 15)
                return NULL;
            uint8_t *byte = &packed[(first + i) / 2];
            *byte = i % 2 ? (uint8_t)(*byte | (value & 15) << 4) : (uint8_t)(value & 15);
        }
    }
    return packed;
}

/* core.packed(v, dtype) -> a constant of int8 or uint8 as one of int4 or uint4, under the same name; nil where v is
 * none, or an element does not fit. */
static int l_packed(lua_State *L)
{
    t2o_script *k = script_of(L);
    const t2o_value *v = check_value(L, 1);
    t2o_dtype dtype = t2o_dtype_named(luaL_checkstring(L, 2));
    luaL_argcheck(L, dtype == T2O_INT4 || dtype == T2O_UINT4, 2, "int4 or uint4");
    bool bytes = v->data && v->data->data && (v->dtype == T2O_INT8 || v->dtype == T2O_UINT8);
    const uint8_t *packed = bytes ? pack_nibbles(k->s->arena, v->data, dtype) : NULL;
    if (!packed)
        return lua_pushnil(L), 1;
    t2o_tensor *t = T2O_NEW(k->s->arena, t2o_tensor);
    *t = (t2o_tensor){ .dtype = dtype, .rank = v->data->rank, .dims = v->data->dims, .data = packed };
    t->available = (size_t)t2o_tensor_bytes(t);
    push_value(L, constant_like(v->graph, v, t));
    return 1;
}

/* ---- bodies ---- */

/* An output of a body must be made in it, and only once: else it is copied. */
static t2o_value *own_output(t2o_script *k, t2o_graph *body, t2o_value *v)
{
    bool own = v->producer && v->producer->graph == body;
    for (size_t i = 0; i < body->outputs.n; i++)
        own = own && body->outputs.at[i].value != v;
    if (own)
        return v;
    t2o_value *copy = t2o_value_new(body, T2O_VALUE_TENSOR, NULL, v->dtype, v->rank, v->dims);
    t2o_node *n = t2o_node_new(body, NULL, "onnx::Identity", &v, 1, NULL, 0, &copy, 1);
    n->origin = k->node && k->node->origin ? k->node->origin : k->node;
    n->rule = k->rule;
    n->opset = k->opset;
    copy->complex = v->complex;
    return copy;
}

/* core.body(name, function) -> a graph for an attribute. The function builds in it and returns its outputs' list;
 * inputs are made with core.body_input. */
static int l_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *outer = k->graph;
    t2o_node *before = k->before;
    t2o_graph *body = t2o_graph_new(k->s, k->exprs, luaL_checkstring(L, 1));
    body->parent = outer;
    k->graph = body;
    k->before = NULL;
    lua_pushvalue(L, 2);
    lua_call(L, 0, 1); /* on an error whoever catches it goes back with core.resume */
    k->graph = outer;
    k->before = before;
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        lua_geti(L, -1, i);
        t2o_value *v = test_value(L, -1);
        if (!v)
            return raise_coded(L, "E0603", "output %d of a body is not a value", (int)i);
        v = own_output(k, body, v);
        t2o_push(k->s->arena, &body->outputs, ((t2o_output_spec){ .value = v, .kind = T2O_SPEC_USER_OUTPUT }));
        lua_pop(L, 1);
    }
    lua_pushlightuserdata(L, body);
    return 1;
}

/* core.body_input(dtype, {dims}) -> a new input of the body that is being built */
static int l_body_input(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_value *v = t2o_value_new(k->graph, T2O_VALUE_TENSOR, NULL, t2o_dtype_named(luaL_checkstring(L, 1)), -1, NULL);
    t2o_push(k->s->arena, &k->graph->inputs, v);
    push_value(L, v);
    return 1;
}

/* core.place() -> where nodes are built now; core.resume(graph, node) goes back there after a rule gave up half-way */
static int l_place(lua_State *L)
{
    t2o_script *k = script_of(L);
    lua_pushlightuserdata(L, k->graph);
    if (k->before)
        lua_pushlightuserdata(L, k->before);
    else
        lua_pushnil(L);
    return 2;
}

static int l_resume(lua_State *L)
{
    t2o_script *k = script_of(L);
    k->graph = lua_touserdata(L, 1);
    k->before = lua_touserdata(L, 2);
    return 0;
}

/* core.symbol_source(name) -> value, axis, mul, add, or nil: the symbol is (n - add) / mul, n being the size of the
 * value at the axis (0-based), or the value itself (axis -1) */
static int l_symbol_source(lua_State *L)
{
    const symbol_source *source = t2o_map_get(&script_of(L)->symbols, luaL_checkstring(L, 1));
    if (!source)
        return lua_pushnil(L), 1;
    push_value(L, source->value);
    lua_pushinteger(L, source->axis);
    lua_pushinteger(L, source->mul);
    lua_pushinteger(L, source->add);
    return 4;
}

/* core.context() -> opset asked for, target, opset that is built with */
static int l_context(lua_State *L)
{
    t2o_script *k = script_of(L);
    lua_pushinteger(L, k->options.opset);
    lua_pushstring(L, k->options.target);
    lua_pushinteger(L, k->opset);
    return 3;
}

/* core.keeps_unknown(): whether an operator without a rule becomes a node of its own domain */
static int l_keeps_unknown(lua_State *L)
{
    lua_pushboolean(L, script_of(L)->options.keep_unknown);
    return 1;
}

/* core.precision() -> "float16" or "bfloat16", and the globs of what keeps its dtype */
static int l_precision(lua_State *L)
{
    const t2o_script_options *o = &script_of(L)->options;
    lua_pushstring(L, o->precision);
    lua_createtable(L, (int)o->n_keep, 0);
    for (size_t i = 0; i < o->n_keep; i++) {
        lua_pushstring(L, o->keep[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 2;
}

/* core.set_rule(place, strict): what nodes that are built from here on carry as their rule, and whether a dtype that an
 * operator does not take is an error instead of a decline; returns what was set before */
static int l_set_rule(lua_State *L)
{
    t2o_script *k = script_of(L);
    lua_pushstring(L, k->rule);
    lua_pushboolean(L, k->strict);
    k->rule = lua_isnil(L, 1) ? NULL : t2o_intern(k->s, luaL_checkstring(L, 1));
    k->strict = lua_toboolean(L, 2);
    return 2;
}

/* core.set_opset(n): the opset whose signatures are built with */
static int l_set_opset(lua_State *L)
{
    script_of(L)->opset = (int)luaL_checkinteger(L, 1);
    return 0;
}

/* core.set_node_opset(node, n): the node is in the signature of that opset already */
static int l_set_node_opset(lua_State *L)
{
    ((t2o_node *)check_node(L, 1))->opset = (int)luaL_checkinteger(L, 2);
    return 0;
}

int open_build(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "build", l_build },
        { "constant", l_constant },
        { "set_dtype", l_set_dtype },
        { "dtype_of_number", l_dtype_of_number },
        { "packed", l_packed },
        { "operator", l_operator },
        { "body", l_body },
        { "body_input", l_body_input },
        { "settle", l_settle },
        { "type_vars", l_type_vars },
        { "set_opset", l_set_opset },
        { "set_node_opset", l_set_node_opset },
        { "place", l_place },
        { "resume", l_resume },
        { "context", l_context },
        { "symbol_source", l_symbol_source },
        { "set_rule", l_set_rule },
        { "keeps_unknown", l_keeps_unknown },
        { "type_allows", l_type_allows },
        { "converted", l_converted },
        { "precision", l_precision },
        { NULL, NULL },
    };
    luaL_setfuncs(L, functions, 0);
    return 0;
}
