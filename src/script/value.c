/* value.c: values and dims as Lua objects. */
#include "script/internal.h"

/* Their addresses are keys: of the registry, for the table that holds the objects by address and the metatable at 1;
 * and of that metatable. */
static const char VALUE[] = "t2o.value", DIM[] = "t2o.dim";

/* The registry table under `cache` keeps one object for each pointer. */
static void push_cached(lua_State *L, const void *pointer, const char *type)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, type);
    if (lua_rawgetp(L, -1, pointer) == LUA_TNIL) {
        lua_pop(L, 1);
        *(const void **)lua_newuserdatauv(L, sizeof pointer, 0) = pointer;
        lua_rawgeti(L, -2, 1);
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, -3, pointer);
    }
    lua_remove(L, -2);
}

static void *test_cached(lua_State *L, int index, const char *type)
{
    void **box = lua_touserdata(L, index);
    if (!box || !lua_getmetatable(L, index))
        return NULL;
    bool same = lua_rawgetp(L, -1, type) != LUA_TNIL;
    lua_pop(L, 2);
    return same ? *box : NULL;
}

void push_value(lua_State *L, t2o_value *v)
{
    if (v)
        push_cached(L, v, VALUE);
    else
        lua_pushnil(L);
}

t2o_value *test_value(lua_State *L, int index)
{
    return test_cached(L, index, VALUE);
}

t2o_value *check_value(lua_State *L, int index)
{
    t2o_value *v = test_value(L, index);
    if (!v)
        luaL_typeerror(L, index, "value");
    return v;
}

void push_dim(lua_State *L, const t2o_expr *x)
{
    if (!x)
        lua_pushnil(L);
    else if (x->kind == T2O_EXPR_INT)
        lua_pushinteger(L, x->value);
    else
        push_cached(L, x, DIM);
}

const t2o_expr *test_dim(lua_State *L, int index)
{
    int is_integer;
    lua_Integer i = lua_tointegerx(L, index, &is_integer);
    if (is_integer && lua_type(L, index) == LUA_TNUMBER)
        return t2o_expr_int(script_of(L)->exprs, i);
    return test_cached(L, index, DIM);
}

static const t2o_expr *check_dim(lua_State *L, int index)
{
    const t2o_expr *x = test_dim(L, index);
    if (!x)
        luaL_typeerror(L, index, "integer or dim");
    return x;
}

/* ---- dims ---- */

typedef const t2o_expr *(*dim_function)(t2o_exprs *, const t2o_expr *, const t2o_expr *);

static int dim_arith(lua_State *L, dim_function fn)
{
    const t2o_expr *x = fn(script_of(L)->exprs, check_dim(L, 1), check_dim(L, 2));
    if (!x)
        return luaL_error(L, "a size that is out of range, or divided by zero");
    push_dim(L, x);
    return 1;
}

static int l_dim_add(lua_State *L) { return dim_arith(L, t2o_expr_add); }
static int l_dim_sub(lua_State *L) { return dim_arith(L, t2o_expr_sub); }
static int l_dim_mul(lua_State *L) { return dim_arith(L, t2o_expr_mul); }
static int l_dim_idiv(lua_State *L) { return dim_arith(L, t2o_expr_floordiv); }
static int l_dim_mod(lua_State *L) { return dim_arith(L, t2o_expr_mod); }

static int l_dim_unm(lua_State *L)
{
    t2o_exprs *e = script_of(L)->exprs;
    push_dim(L, t2o_expr_sub(e, t2o_expr_int(e, 0), check_dim(L, 1)));
    return 1;
}

/* core.compare(a, b) -> -1, 0, 1, or nil where it is not known. */
static int l_dim_compare(lua_State *L)
{
    int order = t2o_expr_compare(script_of(L)->exprs, check_dim(L, 1), check_dim(L, 2));
    if (order == 2)
        lua_pushnil(L);
    else
        lua_pushinteger(L, order);
    return 1;
}

/* An undecided comparison makes the rule decline: no rule may take a side by accident. */
static int decided(lua_State *L)
{
    t2o_exprs *e = script_of(L)->exprs;
    const t2o_expr *a = check_dim(L, 1), *b = check_dim(L, 2);
    int order = t2o_expr_compare(e, a, b);
    if (order == 2) {
        lua_pushfstring(L, "it cannot be known before the run how the size %s compares with %s", t2o_expr_text(e, a),
                        t2o_expr_text(e, b));
        raise_decline(L);
    }
    return order;
}

static int l_dim_lt(lua_State *L)
{
    lua_pushboolean(L, decided(L) < 0);
    return 1;
}

static int l_dim_le(lua_State *L)
{
    t2o_exprs *e = script_of(L)->exprs;
    const t2o_expr *a = check_dim(L, 1), *b = check_dim(L, 2);
    /* a <= b is b < a the other way round, and may be known where a < b is not */
    const t2o_expr *beyond = t2o_expr_add(e, b, t2o_expr_int(e, 1));
    int order = beyond ? t2o_expr_compare(e, a, beyond) : 2;
    lua_pushboolean(L, order != 2 ? order < 0 : decided(L) <= 0);
    return 1;
}

static int l_dim_tostring(lua_State *L)
{
    lua_pushstring(L, t2o_expr_text(script_of(L)->exprs, check_dim(L, 1)));
    return 1;
}

static int l_dim_index(lua_State *L)
{
    const t2o_expr *x = check_dim(L, 1);
    const char *key = luaL_checkstring(L, 2);
    static const char *const kinds[] = { "int", "symbol", "add", "mul", "call" };
    if (!strcmp(key, "kind"))
        lua_pushstring(L, kinds[x->kind]);
    else if (!strcmp(key, "name"))
        lua_pushstring(L, x->name);
    else if (!strcmp(key, "args")) {
        lua_createtable(L, (int)x->n_args, 0);
        for (uint32_t i = 0; i < x->n_args; i++) {
            push_dim(L, x->args[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
    } else
        return luaL_error(L, "a dim has no field '%s'", key);
    return 1;
}

/* core.dim_call(name, a, b, ...) -> dim */
static int l_dim_call(lua_State *L)
{
    const t2o_expr *args[16];
    int n = lua_gettop(L) - 1;
    luaL_argcheck(L, n >= 1 && n <= 16, 2, "1 to 16 sizes");
    for (int i = 0; i < n; i++)
        args[i] = check_dim(L, i + 2);
    const t2o_expr *x = t2o_expr_call(script_of(L)->exprs, luaL_checkstring(L, 1), args, (uint32_t)n);
    if (!x)
        return luaL_error(L, "a size that is out of range");
    push_dim(L, x);
    return 1;
}

/* core.fresh() -> a dim of which nothing is known but that it is a size */
static int l_dim_fresh(lua_State *L)
{
    t2o_script *k = script_of(L);
    push_dim(L, t2o_expr_fresh(k->exprs));
    return 1;
}

/* core.symbol(name) -> dim */
static int l_dim_symbol(lua_State *L)
{
    push_dim(L, t2o_expr_symbol(script_of(L)->exprs, luaL_checkstring(L, 1)));
    return 1;
}

static int l_is_dim(lua_State *L)
{
    lua_pushboolean(L, test_cached(L, 1, DIM) != NULL);
    return 1;
}

/* ---- values ---- */

void push_shape(lua_State *L, const t2o_value *v)
{
    lua_createtable(L, v->rank, 0);
    for (int32_t i = 0; i < v->rank; i++) {
        push_dim(L, v->dims[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static int unknown_shape(lua_State *L, const t2o_value *v)
{
    return luaL_error(L, "the shape of '%s' is not known here",
                      v->name ? v->name : v->producer ? v->producer->op : "a value");
}

/* core.field(v, name): nil for what is no field of a value */
static int l_value_field(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    const char *key = luaL_checkstring(L, 2);
    if (!strcmp(key, "dtype"))
        lua_pushstring(L, t2o_dtype_name(v->dtype));
    else if (!strcmp(key, "rank") || !strcmp(key, "shape")) {
        if (v->rank < 0)
            return unknown_shape(L, v);
        if (key[0] == 'r')
            lua_pushinteger(L, v->rank);
        else
            push_shape(L, v);
    } else if (!strcmp(key, "container"))
        lua_pushstring(L, v->container); /* the type of what is no tensor, or nil */
    else if (!strcmp(key, "known_rank"))
        lua_pushboolean(L, v->rank >= 0);
    else if (!strcmp(key, "name"))
        lua_pushstring(L, v->name);
    else if (!strcmp(key, "device"))
        lua_pushstring(L, v->device);
    else if (!strcmp(key, "id"))
        lua_pushinteger(L, v->id);
    else if (!strcmp(key, "is_constant"))
        lua_pushboolean(L, v->data != NULL);
    else if (!strcmp(key, "is_complex"))
        lua_pushboolean(L, v->complex);
    else if (!strcmp(key, "batch"))
        lua_pushinteger(L, v->batch);
    else if (!strcmp(key, "is_used"))
        lua_pushboolean(L, v->mark); /* of a torch node's outputs: what nobody reads need not be made */
    else if (!strcmp(key, "kind")) {
        static const char *const kinds[] = { "tensor", "symint", "symfloat", "symbool", "object" };
        lua_pushstring(L, kinds[v->kind]);
    } else
        lua_pushnil(L);
    return 1;
}

static int l_is_value(lua_State *L)
{
    lua_pushboolean(L, test_value(L, 1) != NULL);
    return 1;
}

/* core.set_batch(v, levels): which levels of vmap the dimensions in front are of */
static int l_set_batch(lua_State *L)
{
    check_value(L, 1)->batch = (uint32_t)luaL_checkinteger(L, 2);
    return 0;
}

/* core.set_shape(v, {dims}) */
static int l_set_shape(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 2);
    luaL_argcheck(L, n <= 64, 2, "at most 64 dimensions");
    const t2o_expr *dims[64];
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 2, i + 1);
        dims[i] = test_dim(L, -1);
        if (!dims[i])
            return luaL_error(L, "dimension %d of a shape is a %s", (int)i, luaL_typename(L, -1));
        lua_pop(L, 1);
    }
    t2o_value_set_dims(v, (int32_t)n, dims);
    return 0;
}

/* core.merge_shape(v, {dims}): what was inferred, with what the file states where that says more */
static int l_merge_shape(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_value *v = check_value(L, 1);
    int32_t rank = v->rank;
    const t2o_expr **stated = v->dims;
    l_set_shape(L);
    for (int32_t i = 0; rank == v->rank && i < rank; i++) {
        bool number = t2o_expr_is_int(stated[i]) && !t2o_expr_is_int(v->dims[i]);
        if (number || (stated[i] && t2o_expr_is_fresh(k->exprs, v->dims[i])))
            v->dims[i] = stated[i];
    }
    return 0;
}

/* core.set_container(v, "seq(tensor(float32))"): the value is no tensor but of this type */
static int l_set_container(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_value *v = check_value(L, 1);
    const char *text = luaL_checkstring(L, 2), *innermost = strrchr(text, '(');
    v->kind = T2O_VALUE_OBJECT;
    v->container = t2o_intern(k->s, text);
    if (innermost)
        v->dtype = t2o_dtype_named(t2o_intern_n(k->s, innermost + 1, strcspn(innermost + 1, ")")));
    t2o_value_set_dims(v, -1, NULL);
    return 0;
}

/* core.set_complex(v, is): whether the last dimension holds parts of complex numbers */
static int l_set_complex(lua_State *L)
{
    check_value(L, 1)->complex = lua_toboolean(L, 2);
    return 0;
}

/* core.copy_shape(v, from): where the shape of `from` is known */
static int l_copy_shape(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    const t2o_value *from = check_value(L, 2);
    if (from->rank >= 0)
        t2o_value_set_dims(v, from->rank, from->dims);
    return 0;
}

/* core.set_content(v, {dims}): what an integer tensor holds */
static int l_set_content(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    lua_Integer n = luaL_len(L, 2);
    const t2o_expr **content = T2O_NEW_N(script_of(L)->s->arena, const t2o_expr *, n ? n : 1);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 2, i + 1);
        content[i] = check_dim(L, -1);
        lua_pop(L, 1);
    }
    v->content = content;
    v->n_content = (uint32_t)n;
    return 0;
}

/* core.content(v) -> {dims}, or nil */
static int l_content(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    if (!v->content) {
        lua_pushnil(L);
        return 1;
    }
    lua_createtable(L, (int)v->n_content, 0);
    for (uint32_t i = 0; i < v->n_content; i++) {
        push_dim(L, v->content[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void push_element(lua_State *L, const t2o_tensor *t, int64_t at)
{
    uint64_t element[2];
    int64_t integer;
    double real;
    if (t->dtype == T2O_STRING) {
        const t2o_text *text = (const t2o_text *)t->data + at;
        lua_pushlstring(L, text->bytes, text->n);
        return;
    }
    t2o_tensor_read(t, at, 1, element);
    if (t->dtype == T2O_BOOL)
        lua_pushboolean(L, *(uint8_t *)element);
    else if (t2o_element_to_int(t->dtype, element, &integer))
        lua_pushinteger(L, integer);
    else if (t2o_element_to_double(t->dtype, element, &real))
        lua_pushnumber(L, real);
    else
        luaL_error(L, "elements of dtype %s cannot be read", t2o_dtype_name(t->dtype));
}

/* core.elements(v [, limit]) -> a flat list of the elements of a constant */
static int l_elements(lua_State *L)
{
    t2o_value *v = check_value(L, 1);
    lua_Integer limit = luaL_optinteger(L, 2, 4096);
    if (!v->data || !v->data->data)
        return luaL_error(L, "'%s' is not a constant", v->name ? v->name : "a value");
    int64_t n = t2o_tensor_count(v->data);
    if (n > limit)
        return luaL_error(L, "a constant of %d elements is too large to be read here", (int)n);
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        push_element(L, v->data, i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* core.is_literal(v, limit): a constant that a rule made, of at most so many elements, readable as numbers */
static int l_is_literal(lua_State *L)
{
    const t2o_value *v = check_value(L, 1);
    const t2o_tensor *t = v->data;
    double ignored;
    uint64_t zero[2] = { 0 };
    bool weight = v->target && v->spec != T2O_SPEC_NONE; /* not just an initialiser of a file */
    lua_pushboolean(L, t && t->data && !t->in_file && !weight && t2o_tensor_count(t) <= luaL_checkinteger(L, 2) &&
                           t2o_element_to_double(t->dtype, zero, &ignored));
    return 1;
}

static int new_type(lua_State *L, const char *type, const luaL_Reg *functions, const char *field)
{
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    lua_pushboolean(L, true);
    lua_rawsetp(L, -2, type);
    lua_newtable(L);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, type);
    lua_setfield(L, -2, field);
    return 0;
}

int open_values(lua_State *L)
{
    static const luaL_Reg dim_meta[] = {
        { "__add", l_dim_add },   { "__sub", l_dim_sub }, { "__mul", l_dim_mul },
        { "__idiv", l_dim_idiv }, { "__mod", l_dim_mod }, { "__unm", l_dim_unm },
        { "__lt", l_dim_lt },     { "__le", l_dim_le },   { "__tostring", l_dim_tostring },
        { "__index", l_dim_index }, { NULL, NULL },
    };
    static const luaL_Reg value_meta[] = { { NULL, NULL } }; /* filled by lua/t2o/value.lua */
    static const luaL_Reg functions[] = {
        { "compare", l_dim_compare }, { "dim_call", l_dim_call },     { "fresh", l_dim_fresh },
        { "symbol", l_dim_symbol },   { "is_dim", l_is_dim },         { "is_value", l_is_value },
        { "merge_shape", l_merge_shape },
        { "set_container", l_set_container },
        { "field", l_value_field },   { "set_shape", l_set_shape },         { "copy_shape", l_copy_shape },
          { "set_content", l_set_content },
        { "set_complex", l_set_complex }, { "set_batch", l_set_batch },
        { "content", l_content },     { "elements", l_elements },
        { "is_literal", l_is_literal }, { NULL, NULL },
    };
    new_type(L, DIM, dim_meta, "dim_meta");
    new_type(L, VALUE, value_meta, "value_meta");
    luaL_setfuncs(L, functions, 0);
    return 0;
}
