/* python.c: how lua/t2o/python.lua reads a torch graph: its parts, calls with the kinds of their arguments, places. */
#include "base/python_names.h"
#include "graph/meta.h"
#include "script/internal.h"

static const char *const arg_kinds[] = { "none", "value", "int", "float", "bool", "string", "complex", "dtype",
                                         "device", "layout", "memory_format", "expr", "list", "tensor", "graph",
                                         "operator", "map", "unknown", "type" };

static void set_text(lua_State *L, const char *key, const char *text)
{
    lua_pushstring(L, text); /* nil for NULL */
    lua_setfield(L, -2, key);
}

static void set_flag(lua_State *L, const char *key, bool flag)
{
    lua_pushboolean(L, flag);
    lua_setfield(L, -2, key);
}

static void push_item(lua_State *L, const t2o_node *n, const t2o_arg *arg);

/* The plain part of an argument; nil where it has none. */
static void push_content(lua_State *L, const t2o_node *n, const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_VALUE: push_value(L, n ? n->inputs[arg->index] : NULL); break;
    case T2O_ARG_INT: lua_pushinteger(L, arg->i); break;
    case T2O_ARG_FLOAT:
    case T2O_ARG_COMPLEX: lua_pushnumber(L, arg->f); break;
    case T2O_ARG_BOOL: lua_pushboolean(L, arg->b); break;
    case T2O_ARG_EXPR: push_dim(L, arg->expr); break;
    case T2O_ARG_DTYPE: lua_pushstring(L, t2o_dtype_name(arg->dtype)); break;
    case T2O_ARG_STRING: lua_pushlstring(L, arg->text, arg->n); break;
    case T2O_ARG_GRAPH: push_torch_body(L, arg->graph); break;
    case T2O_ARG_LIST:
    case T2O_ARG_MAP:
        lua_createtable(L, (int)arg->n, 0);
        for (uint32_t i = 0; i < arg->n; i++) {
            push_item(L, n, &arg->items[i]);
            if (arg->kind == T2O_ARG_MAP)
                set_text(L, "name", arg->keys[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case T2O_ARG_NONE:
    case T2O_ARG_TENSOR: lua_pushnil(L); break;
    default: lua_pushstring(L, arg->text);
    }
}

/* { kind = "int", value = 3 } */
static void push_item(lua_State *L, const t2o_node *n, const t2o_arg *arg)
{
    luaL_checkstack(L, 8, "arguments that nest too deep");
    lua_createtable(L, 0, 4);
    set_text(L, "kind", arg_kinds[arg->kind]);
    push_content(L, n, arg);
    lua_setfield(L, -2, "value");
    if (arg->kind == T2O_ARG_COMPLEX) {
        lua_pushnumber(L, arg->imag);
        lua_setfield(L, -2, "imag");
    }
}

/* core.call(node) -> list of { name, kind, value, keyword }, in the order of the call */
static int l_call(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    lua_createtable(L, (int)n->n_attrs, 0);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        push_item(L, n, &n->attrs[i].arg);
        set_text(L, "name", n->attrs[i].name);
        set_flag(L, "keyword", n->attrs[i].keyword);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void push_return(lua_State *L, const t2o_node *n, const t2o_arg *arg)
{
    luaL_checkstack(L, 8, "results that nest too deep");
    if (arg->kind == T2O_ARG_VALUE)
        push_value(L, n->outputs[arg->index]);
    else {
        lua_createtable(L, (int)arg->n, 1);
        for (uint32_t i = 0; arg->kind == T2O_ARG_LIST && i < arg->n; i++) {
            push_return(L, n, &arg->items[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_pushinteger(L, arg->kind == T2O_ARG_LIST ? arg->n : 0);
        lua_setfield(L, -2, "n");
    }
}

/* core.returns(node) -> list, one a result of the schema: a value, or a list of them; { n = 0 } for None */
static int l_returns(lua_State *L)
{
    const t2o_node *n = check_node(L, 1);
    lua_createtable(L, (int)n->n_returns, 0);
    for (uint32_t i = 0; i < n->n_returns; i++) {
        push_return(L, n, &n->returns[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.places(node) -> stack trace, stack of modules, both as they stand in the archive; nil where they do not */
static int l_places(lua_State *L)
{
    const t2o_meta *meta = t2o_meta_of(check_node(L, 1));
    lua_pushstring(L, meta ? meta->stack_trace : NULL);
    lua_pushstring(L, meta ? meta->nn_module_stack : NULL);
    return 2;
}

/* core.again(node, before) -> the same call once more, before that node of the same graph */
static int l_again(lua_State *L)
{
    push_node(L, t2o_node_again(check_node(L, 1), check_node(L, 2)));
    return 1;
}

/* core.read_from(reader, node, copy): where the reader reads a result of the node, it reads the copy's */
static int l_read_from(lua_State *L)
{
    t2o_node *reader = check_node(L, 1), *n = check_node(L, 2), *copy = check_node(L, 3);
    for (uint32_t i = 0; i < reader->n_inputs; i++)
        for (uint32_t j = 0; j < n->n_outputs && j < copy->n_outputs; j++)
            if (reader->inputs[i] == n->outputs[j] && reader->inputs[i])
                reader->inputs[i] = copy->outputs[j];
    return 0;
}

/* Equal for tensors that are the same elements of the same memory. */
static void set_memory(lua_State *L, const t2o_tensor *t)
{
    t2o_string place;
    if (!t || !t->data)
        return;
    t2o_string_start(&place, script_of(L)->s->arena);
    t2o_tensor_add_place(t, &place);
    lua_pushlstring(L, place.at, place.n);
    lua_setfield(L, -2, "memory");
}

/* core.signature(v) -> { spec, target, persistent, expr, memory } of a value */
static int l_signature(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    lua_createtable(L, 0, 5);
    set_text(L, "spec", t2o_spec_name(v->spec));
    set_text(L, "target", v->target);
    set_flag(L, "persistent", v->persistent);
    push_dim(L, v->expr);
    lua_setfield(L, -2, "expr");
    set_memory(L, v->data);
    return 1;
}

static void push_outputs(lua_State *L, const t2o_graph *g)
{
    lua_createtable(L, (int)g->outputs.n, 0);
    for (size_t i = 0; i < g->outputs.n; i++) {
        const t2o_output_spec *o = &g->outputs.at[i];
        push_item(L, NULL, &o->literal);
        push_value(L, o->value);
        lua_setfield(L, -2, "tensor");
        set_text(L, "spec", t2o_spec_name(o->kind));
        set_text(L, "target", o->target);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* core.parts(body) -> { inputs, outputs, nodes } */
static int l_parts(lua_State *L)
{
    const t2o_graph *g = check_torch_body(L, 1);
    lua_Integer i = 0;
    lua_createtable(L, 0, 3);
    lua_createtable(L, (int)g->inputs.n, 0);
    for (size_t j = 0; j < g->inputs.n; j++) {
        push_value(L, g->inputs.at[j]);
        lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
    lua_setfield(L, -2, "inputs");
    push_outputs(L, g);
    lua_setfield(L, -2, "outputs");
    lua_createtable(L, (int)g->n_nodes, 0);
    for (const t2o_node *n = g->first; n; n = n->next) {
        push_node(L, n);
        lua_rawseti(L, -2, ++i);
    }
    lua_setfield(L, -2, "nodes");
    return 1;
}

/* core.body_key(body) -> what is equal for the same body */
static int l_body_key(lua_State *L)
{
    lua_pushlightuserdata(L, check_torch_body(L, 1));
    return 1;
}

/* core.is_keyword(name): one of Python's */
static int l_is_keyword(lua_State *L)
{
    lua_pushboolean(L, t2o_is_python_keyword(luaL_checkstring(L, 1)));
    return 1;
}

int open_python(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "again", l_again }, { "read_from", l_read_from }, { "body_key", l_body_key },
        { "call", l_call }, { "returns", l_returns }, { "places", l_places },
        { "signature", l_signature }, { "parts", l_parts },     { "is_keyword", l_is_keyword },
        { NULL, NULL },
    };
    luaL_setfuncs(L, functions, 0);
    return 0;
}

/* ---- the whole ---- */

static void push_weight(lua_State *L, const t2o_weight *w)
{
    lua_createtable(L, 0, 6);
    set_text(L, "name", w->name);
    set_text(L, "dtype", t2o_dtype_name(w->data->dtype));
    set_flag(L, "parameter", w->parameter);
    set_flag(L, "filled", w->data->data != NULL);
    set_memory(L, w->data);
    lua_createtable(L, (int)w->data->rank, 0);
    for (uint32_t i = 0; i < w->data->rank; i++) {
        lua_pushinteger(L, w->data->dims[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "shape");
}

/* { graph, state, comments, in_spec, out_spec } */
static void push_program(lua_State *L, const t2o_program *p)
{
    lua_createtable(L, 0, 5);
    push_torch_body(L, p->graph);
    lua_setfield(L, -2, "graph");
    lua_createtable(L, (int)p->state.n, 0);
    for (size_t i = 0; i < p->state.n; i++) {
        push_weight(L, &p->state.at[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "state");
    set_flag(L, "comments", script_of(L)->options.comments);
    set_text(L, "in_spec", p->in_spec);
    set_text(L, "out_spec", p->out_spec);
}

/* The list { { name, index of a weight of the program, or a value } ... } on top of the stack. */
static void take_weights(lua_State *L, const t2o_program *p, t2o_python_module *out)
{
    t2o_script *k = script_of(L);
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        lua_geti(L, -1, i);
        lua_geti(L, -1, 1);
        lua_geti(L, -2, 2);
        size_t index = (size_t)lua_tointeger(L, -1);
        const t2o_value *v = test_value(L, -1);
        t2o_weight w = { .name = t2o_intern(k->s, luaL_checkstring(L, -2)) };
        w.data = v ? v->data : index && index <= p->state.n ? p->state.at[index - 1].data : NULL;
        if (w.data)
            t2o_push(k->s->arena, &out->weights, w);
        lua_pop(L, 3);
    }
}

bool t2o_script_python(t2o_script *k, const t2o_program *program, t2o_python_module *out)
{
    lua_State *L = k->L;
    if (!push_function(k, "t2o.python", "write"))
        return false;
    push_program(L, program);
    if (!script_call_long(k, 1, 2)) /* text, weights */
        return false;
    const char *text = lua_tolstring(L, -2, &out->n);
    out->text = t2o_strndup(k->s->arena, text ? text : "", out->n);
    take_weights(L, program, out);
    lua_pop(L, 2);
    return true;
}
