/* back.c: an ONNX graph in the newest signatures as a torch program, by rules/onnx (lua/t2o/back.lua). */
#include "base/python_names.h"
#include "graph/meta.h"
#include "onnx/onnx.h"
#include "script/internal.h"

#include <ctype.h>
#include <strings.h>

typedef struct capture {
    t2o_value *outer, *inner; /* a value of the torch graph around, the input of the body that stands for it */
} capture;

/* A graph that is being translated; a body sees the values around it through inputs of its own. */
typedef struct back_scope {
    const t2o_graph *onnx;
    t2o_graph *torch;
    T2O_VEC(capture) captures;
    struct back_scope *outer;
} back_scope;

/* ---- weights ---- */

/* "conv.bias" for "conv.weight_bias", as PyTorch's exporter calls the bias of a folded norm. */
static const char *bias_name(t2o_script *k, const char *name)
{
    static const char suffix[] = "weight_bias";
    size_t n = name ? strlen(name) : 0, m = sizeof suffix - 1;
    if (n <= m || strcmp(name + n - m, suffix) != 0)
        return name;
    const char *bias = t2o_printf(k->s->arena, "%.*sbias", (int)(n - m), name);
    const char *weight = t2o_printf(k->s->arena, "%.*sweight", (int)(n - m), name);
    bool fits = t2o_map_get(&k->back->named, t2o_intern(k->s, weight)) &&
                !t2o_map_get(&k->back->named, t2o_intern(k->s, bias));
    return fits ? bias : name;
}

/* The path with an underscore behind each part that no attribute of a module can be called. */
static const char *free_path(t2o_script *k, const char *name)
{
    t2o_string out;
    t2o_string_start(&out, k->s->arena);
    for (const char *end; *name; name = *end ? end + 1 : end) {
        end = name + strcspn(name, ".");
        const char *part = t2o_printf(k->s->arena, "%.*s", (int)(end - name), name);
        t2o_string_add(&out, part);
        if (t2o_is_python_keyword(part) || t2o_is_module_attribute(part))
            t2o_string_add(&out, "_");
        if (*end)
            t2o_string_add(&out, ".");
    }
    return t2o_string_end(&out);
}

/* "conv.weight" for "conv/kernel:0": what Keras and PaddlePaddle call the weights of a layer. */
static const char *role_name(t2o_script *k, const char *name)
{
    static const struct {
        const char *theirs, *ours;
    } roles[] = {
        { "/kernel:0", ".weight" }, { "/depthwise_kernel:0", ".weight" }, { "/embeddings:0", ".weight" },
        { "/bias:0", ".bias" }, { "/gamma:0", ".weight" }, { "/beta:0", ".bias" }, { "/alpha:0", ".weight" },
        { "/moving_mean:0", ".running_mean" }, { "/moving_variance:0", ".running_var" },
        { "_bn_scale", "_bn.weight" }, { "_bn_offset", "_bn.bias" }, { "_bn_mean", "_bn.running_mean" },
        { "_bn_variance", "_bn.running_var" }, { "_weights", ".weight" }, { ".w_0", ".weight" }, { ".b_0", ".bias" },
    };
    size_t n = name && !k->back->from_torch ? strlen(name) : 0;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        size_t m = strlen(roles[i].theirs);
        if (n > m && !strcmp(name + n - m, roles[i].theirs))
            return t2o_printf(k->s->arena, "%.*s%s", (int)(n - m), name, roles[i].ours);
    }
    return name;
}

/* A name that state_dict takes as a path of attributes; for '-' in one there is getattr. */
static const char *state_name(t2o_script *k, const char *name)
{
    name = role_name(k, bias_name(k, name));
    char *out = t2o_strdup(k->s->arena, name && *name ? name : "constant");
    for (char *p = out; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-' && (*p != '.' || p == out || p[-1] == '.' || !p[1]))
            *p = '_';
    return t2o_unique_name(k->s, &k->back->names, free_path(k, out));
}

/* "val_12", "/encoder/Constant_3_output_0": what PyTorch's exporters and t2o call constants of theirs. */
static bool is_exporters_own(const char *name)
{
    const char *slash = name ? strrchr(name, '/') : NULL;
    return name && ((!strncmp(name, "val_", 4) && isdigit((unsigned char)name[4])) ||
                    (slash && *name == '/' && !strncmp(slash, "/Constant", 9)));
}

/* What exporters say of a weight counts; else floats that are no mere numbers are parameters, where some kinds are said
 * those only that are named as a module's: PyTorch's exporter says none of a weight that it changed (a folded norm). */
static t2o_spec_kind spec_of(const t2o_script *k, const t2o_value *v)
{
    if (v->spec != T2O_SPEC_NONE && v->spec != T2O_SPEC_USER_INPUT) /* which an initialiser may be too */
        return v->spec;
    if (is_exporters_own(v->name))
        return T2O_SPEC_CONSTANT_TENSOR;
    bool named = !k->back->says_kinds || (v->name && strchr(v->name, '.'));
    bool trained = named && t2o_dtype_is_float(v->dtype) && v->rank > 0;
    return trained ? T2O_SPEC_PARAMETER : T2O_SPEC_CONSTANT_TENSOR;
}

/* w is a weight of the kind that v is. */
static void keep_weight(t2o_script *k, t2o_value *w, const t2o_value *v, const char *target)
{
    w->constant = true;
    w->spec = spec_of(k, v);
    w->persistent = w->spec != T2O_SPEC_CONSTANT_TENSOR && (v->spec != T2O_SPEC_BUFFER || v->persistent);
    w->target = target;
    w->mark = 1;
    t2o_push(k->s->arena, &k->back->weights, w);
}

/* PyTorch has no numbers of less than a byte: the dtype of what carries them. */
static t2o_dtype carrier_of(t2o_dtype d)
{
    if (t2o_dtype_bits(d) >= 8 || d == T2O_STRING || d == T2O_NO_DTYPE)
        return d;
    return t2o_dtype_is_float(d) ? T2O_FLOAT32 : d == T2O_INT4 || d == T2O_INT2 ? T2O_INT8 : T2O_UINT8;
}

/* The tensor, or one that carries its numbers, converted as they are read. */
static const t2o_tensor *carried(t2o_script *k, const t2o_tensor *data)
{
    if (!data || carrier_of(data->dtype) == data->dtype)
        return data;
    return t2o_tensor_converted(k->s->arena, data, carrier_of(data->dtype));
}

static t2o_value *weight_of(t2o_script *k, t2o_value *v)
{
    t2o_graph *top = k->back->program->graph;
    const char *target = state_name(k, v->target ? v->target : v->name);
    t2o_value *w = t2o_value_new(top, T2O_VALUE_TENSOR, t2o_intern(k->s, t2o_printf(k->s->arena, "p_%s", target)),
                                 carrier_of(v->dtype), v->rank, v->dims);
    w->data = carried(k, v->data);
    keep_weight(k, w, v, target);
    return w;
}

/* ---- values ---- */

/* A value of a torch graph around, as it is seen in a scope; its twin is the value around. */
static t2o_value *captured(t2o_script *k, back_scope *in, t2o_value *v)
{
    if (v->graph == in->torch || !in->outer)
        return v;
    t2o_value *outer = captured(k, in->outer, v);
    for (size_t i = 0; i < in->captures.n; i++)
        if (in->captures.at[i].outer == outer)
            return in->captures.at[i].inner;
    t2o_value *inner = t2o_value_new(in->torch, outer->kind, outer->name, outer->dtype, outer->rank, outer->dims);
    inner->container = outer->container;
    inner->expr = outer->expr;
    inner->data = outer->data;
    inner->constant = outer->constant;
    inner->spec = outer->spec;
    inner->persistent = outer->persistent;
    inner->target = outer->target;
    inner->twin = outer;
    inner->mark = 1;
    capture c = { outer, inner };
    t2o_push(k->s->arena, &in->captures, c);
    return inner;
}

/* The torch value of an ONNX one, as it is seen in a scope; NULL where nothing has made it. */
static t2o_value *torch_value_in(t2o_script *k, back_scope *in, t2o_value *v)
{
    if (in->outer && (v->graph != in->onnx || v->constant)) {
        t2o_value *outer = torch_value_in(k, in->outer, v);
        return outer ? captured(k, in, outer) : NULL;
    }
    if (!v->twin && v->constant)
        v->twin = weight_of(k, v);
    return v->twin;
}

/* core.back_value(v) -> the torch value of an ONNX one */
static int l_back_value(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_value *v = check_value(L, 1), *twin = torch_value_in(k, k->back->scope, v);
    if (!twin)
        return luaL_error(L, "the value '%s' has no counterpart in PyTorch", v->name ? v->name : "?");
    push_value(L, twin);
    return 1;
}

static void know(t2o_value *twin, const t2o_value *v)
{
    if (!twin->producer)
        return;
    if (twin->dtype == T2O_NO_DTYPE)
        twin->dtype = v->dtype;
    if (v->rank >= 0)
        t2o_value_set_dims(twin, v->rank, v->dims);
    if (!twin->original_name) {
        twin->original_name = v->name;
        twin->name = v->name ? v->name : twin->name;
    }
}

/* core.set_twin(v, t): the torch value t is what the ONNX value v is */
static int l_set_twin(lua_State *L)
{
    t2o_value *v = check_value(L, 1), *twin = check_value(L, 2);
    if (twin->dtype != T2O_NO_DTYPE && v->dtype != T2O_NO_DTYPE && carrier_of(twin->dtype) != carrier_of(v->dtype))
        return raise_coded(L, "E0604", "returned dtype %s for '%s', which is %s", t2o_dtype_name(twin->dtype),
                           v->name ? v->name : "?", t2o_dtype_name(v->dtype));
    know(twin, v);
    if (twin->kind == T2O_VALUE_TENSOR && v->kind == T2O_VALUE_OBJECT)
        twin->kind = T2O_VALUE_OBJECT;
    v->twin = twin;
    return 0;
}

/* core.make_buffer(t): a weight that is no parameter */
static int l_make_buffer(lua_State *L)
{
    bool says_kinds = script_of(L)->back->says_kinds;
    for (t2o_value *v = check_value(L, 1); v && v->constant; v = v->twin)
        if (v->spec == T2O_SPEC_PARAMETER || (v->spec == T2O_SPEC_CONSTANT_TENSOR && !says_kinds && v->rank > 0)) {
            v->spec = T2O_SPEC_BUFFER;
            v->persistent = true;
        }
    return 0;
}

/* Copies the ranges in the list at `index`, { first, count, first, count, ... } in elements, behind each other. */
static void copy_ranges(lua_State *L, int index, const t2o_tensor *from, uint8_t *at, int64_t room)
{
    int64_t total = t2o_tensor_count(from);
    size_t size = t2o_dtype_size(from->dtype);
    for (lua_Integer i = 1, n = luaL_len(L, index); i < n; i += 2) {
        lua_geti(L, index, i);
        lua_geti(L, index, i + 1);
        int64_t first = luaL_checkinteger(L, -2), count = luaL_checkinteger(L, -1);
        lua_pop(L, 2);
        luaL_argcheck(L, first >= 0 && count >= 0 && first <= total && count <= total - first && count <= room, index,
                      "a range beyond the tensor");
        t2o_tensor_read(from, first, count, at);
        at += (size_t)count * size;
        room -= count;
    }
    luaL_argcheck(L, room == 0, index, "the ranges do not fill the shape");
}

static bool same_elements(const t2o_tensor *a, const t2o_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0)
        return false;
    uint8_t x[4096], y[4096];
    int64_t total = t2o_tensor_count(a), room = (int64_t)(sizeof x / t2o_dtype_size(a->dtype));
    for (int64_t first = 0; first < total; first += room) {
        int64_t n = total - first < room ? total - first : room;
        t2o_tensor_read(a, first, n, x);
        t2o_tensor_read(b, first, n, y);
        if (memcmp(x, y, (size_t)n * t2o_dtype_size(a->dtype)) != 0)
            return false;
    }
    return true;
}

static const char *weight_name(const t2o_value *v) { return v->target ? v->target : v->name; }

static void index_weights(t2o_script *k, const t2o_graph *g)
{
    for (size_t i = 0; i < g->constants.n; i++) {
        t2o_value *v = g->constants.at[i];
        const char *name = weight_name(v);
        if (name)
            t2o_map_set(k->s->arena, &k->back->named, t2o_intern(k->s, name), v);
        for (const char *dot = name; dot && (dot = strchr(dot, '.')); dot++) /* a module, so no weight may be that */
            t2o_map_set(k->s->arena, &k->back->names, t2o_intern_n(k->s, name, (size_t)(dot - name)), (void *)1);
    }
}

/* The weight that has the name and these elements: exporters that turn a shared weight make two. */
static t2o_value *weight_named(t2o_script *k, const char *name, const t2o_tensor *t)
{
    t2o_value *v = t2o_map_get(&k->back->named, t2o_intern(k->s, name));
    if (!v || !v->data || !v->data->data || !same_elements(v->data, t))
        return NULL;
    return v->graph == k->back->program->graph ? v : torch_value_in(k, k->back->scope, v);
}

/* A weight of the torch program, made out of v; by its name, which became `target`, it is found again. */
static t2o_value *new_weight(t2o_script *k, const t2o_tensor *t, const t2o_value *v, const char *name,
                             const char *target, const t2o_expr *const *sizes)
{
    t2o_value *w = t2o_value_new(k->back->program->graph, T2O_VALUE_TENSOR,
                                 t2o_intern(k->s, t2o_printf(k->s->arena, "p_%s", target)), t->dtype, (int)t->rank,
                                 sizes);
    w->data = t;
    keep_weight(k, w, v, target);
    if (!t2o_map_get(&k->back->named, t2o_intern(k->s, name)))
        t2o_map_set(k->s->arena, &k->back->named, t2o_intern(k->s, name), w);
    return w;
}

/* core.rearranged(t, name, ranges, {dims}) -> a weight of the same elements in another order, by its name; ranges of a
 * part make a weight of the part */
static int l_rearranged(lua_State *L)
{
    t2o_script *k = script_of(L);
    const t2o_value *v = check_value(L, 1);
    const char *name = luaL_checkstring(L, 2);
    luaL_argcheck(L, v->constant && v->data && v->data->data, 1, "a weight is needed");
    t2o_tensor *t = T2O_NEW(k->s->arena, t2o_tensor);
    t->dtype = v->data->dtype;
    t->rank = (uint32_t)luaL_len(L, 4);
    int64_t *dims = T2O_NEW_N(k->s->arena, int64_t, t->rank + 1);
    const t2o_expr **sizes = T2O_NEW_N(k->s->arena, const t2o_expr *, t->rank + 1);
    for (uint32_t i = 0; i < t->rank; i++) {
        lua_geti(L, 4, (lua_Integer)i + 1);
        dims[i] = luaL_checkinteger(L, -1);
        sizes[i] = t2o_expr_int(k->exprs, dims[i]);
        lua_pop(L, 1);
    }
    t->dims = dims;
    int64_t bytes = t2o_tensor_bytes(t);
    luaL_argcheck(L, bytes >= 0, 4, "too large a shape");
    uint8_t *data = t2o_alloc(k->s->arena, (size_t)bytes + 1);
    copy_ranges(L, 3, v->data, data, t2o_tensor_count(t));
    t->data = data;
    t->available = (size_t)bytes;
    push_value(L, new_weight(k, t, v, name, state_name(k, name), sizes));
    return 1;
}

/* core.transposed(t, name, like) -> a weight that is t with its two dimensions exchanged, a parameter where `like` is
 * one or true; it may have the name of t, which is then not to be read */
static int l_transposed(lua_State *L)
{
    t2o_script *k = script_of(L);
    const t2o_value *v = check_value(L, 1), *like = lua_isboolean(L, 3) ? NULL : check_value(L, 3);
    luaL_argcheck(L, v->constant && v->data && v->data->rank == 2, 1, "a weight of rank 2 is needed");
    const char *name = luaL_checkstring(L, 2);
    t2o_tensor *t = T2O_NEW(k->s->arena, t2o_tensor);
    *t = *v->data;
    int64_t *dims = T2O_NEW_N(k->s->arena, int64_t, 2), *strides = T2O_NEW_N(k->s->arena, int64_t, 2);
    for (int i = 0; i < 2; i++) {
        dims[i] = v->data->dims[1 - i];
        strides[i] = v->data->strides ? v->data->strides[1 - i] : i ? v->data->dims[1] : 1;
    }
    t->dims = dims;
    t->strides = strides;
    t2o_value *shared = t->data ? weight_named(k, name, t) : NULL;
    if (shared)
        return push_value(L, shared), 1;
    const t2o_expr *sizes[2] = { t2o_expr_int(k->exprs, dims[0]), t2o_expr_int(k->exprs, dims[1]) };
    const char *target = v->target && !strcmp(v->target, name) ? v->target : state_name(k, name);
    t2o_value *w = new_weight(k, t, v, name, target, sizes);
    if (like ? like->spec == T2O_SPEC_PARAMETER : lua_toboolean(L, 3)) {
        w->spec = T2O_SPEC_PARAMETER;
        w->persistent = true;
    }
    push_value(L, w);
    return 1;
}

/* Notes in the marks how often nodes and outputs read each value. */
static void count_readers(const t2o_graph *g)
{
    for (const t2o_node *n = g->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_inputs; i++)
            if (n->inputs[i])
                n->inputs[i]->mark++;
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                count_readers(n->attrs[i].arg.graph);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark++;
}

/* core.readers(v) -> how often nodes and outputs of the ONNX graph read a value */
static int l_readers(lua_State *L)
{
    lua_pushinteger(L, check_value(L, 1)->mark);
    return 1;
}

/* core.is_scope(path) -> whether the path is that of a module or a weight of the file, or of a weight made so far */
static int l_is_scope(lua_State *L)
{
    t2o_script *k = script_of(L);
    const char *path = t2o_intern(k->s, luaL_checkstring(L, 1));
    lua_pushboolean(L, t2o_map_get(&k->back->names, path) || t2o_map_get(&k->back->named, path));
    return 1;
}

/* ---- graphs ---- */

/* Inputs and nodes of the scope's ONNX graph. */
static bool translate_nodes(t2o_script *k, back_scope *in)
{
    back_scope *outer = k->back->scope;
    t2o_graph *torch = k->torch;
    bool ok = true;
    k->back->scope = in;
    k->torch = in->torch;
    k->torch_before = NULL;
    for (t2o_node *n = in->onnx->first; ok && n; n = n->next) {
        k->node = n;
        ok = push_function(k, "t2o.back", "translate");
        if (!ok)
            break;
        push_node(k->L, n);
        ok = script_call(k, 1, 0);
        if (!ok)
            t2o_note(k->s, "node %s", t2o_node_summary(n));
    }
    k->back->scope = outer;
    k->torch = torch;
    return ok;
}

static void add_input(t2o_script *k, t2o_graph *torch, t2o_value *v)
{
    t2o_value *input = t2o_value_new(torch, v->kind, v->name, v->dtype, v->rank, v->dims);
    input->container = v->container;
    input->spec = T2O_SPEC_USER_INPUT;
    input->original_name = v->name;
    input->mark = 1;
    v->twin = input;
    t2o_push(k->s->arena, &torch->inputs, input);
}

static bool add_outputs(t2o_script *k, back_scope *in)
{
    for (size_t i = 0; i < in->onnx->outputs.n; i++) {
        t2o_value *v = in->onnx->outputs.at[i].value, *twin = torch_value_in(k, in, v);
        if (!twin)
            return t2o_fail(k->s, "E0508", "output '%s' is not defined", v->name);
        t2o_output_spec out = { .value = twin, .kind = T2O_SPEC_USER_OUTPUT, .name = v->name };
        t2o_push(k->s->arena, &in->torch->outputs, out);
    }
    return true;
}

/* Weights that rules made are captured where they are read. */
static void capture_weights(t2o_script *k, back_scope *in)
{
    for (t2o_node *n = in->torch->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i] = captured(k, in, n->inputs[i]);
    for (size_t i = 0; i < in->torch->outputs.n; i++)
        in->torch->outputs.at[i].value = captured(k, in, in->torch->outputs.at[i].value);
}

/* Captures that only told sizes are none. */
static void drop_unread(back_scope *in)
{
    size_t kept = 0;
    for (size_t i = 0; i < in->captures.n; i++)
        in->captures.at[i].inner->mark = 0;
    for (const t2o_node *n = in->torch->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i]->mark = 1;
    for (size_t i = 0; i < in->torch->outputs.n; i++)
        in->torch->outputs.at[i].value->mark = 1;
    for (size_t i = 0; i < in->captures.n; i++)
        if (in->captures.at[i].inner->mark)
            in->captures.at[kept++] = in->captures.at[i];
    in->captures.n = kept;
}

/* core.back_body(body) -> the torch body of an ONNX one, and the list of torch values around that it reads: they are
 * inputs behind its own */
static int l_back_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *onnx = check_torch_body(L, 1);
    back_scope in = { .onnx = onnx, .outer = k->back->scope };
    in.torch = t2o_graph_new(k->s, k->exprs, state_name(k, "body")); /* an attribute of the module: one of each name */
    in.torch->parent = k->torch;
    for (size_t i = 0; i < onnx->inputs.n; i++)
        add_input(k, in.torch, onnx->inputs.at[i]);
    size_t before = k->s->diags.n;
    const t2o_node *node = k->node;
    if (!translate_nodes(k, &in) || !add_outputs(k, &in))
        return raise_failure(L, before);
    k->node = node;
    capture_weights(k, &in);
    drop_unread(&in);
    push_torch_body(L, in.torch);
    lua_createtable(L, (int)in.captures.n, 0);
    for (size_t i = 0; i < in.captures.n; i++) {
        t2o_push(k->s->arena, &in.torch->inputs, in.captures.at[i].inner);
        push_value(L, in.captures.at[i].outer);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 2;
}

/* core.inline_body(body, {values}) -> its outputs as torch values; its nodes are made here, with these as inputs */
static int l_inline_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    const t2o_graph *onnx = check_torch_body(L, 1);
    luaL_argcheck(L, (size_t)luaL_len(L, 2) == onnx->inputs.n, 2, "one value for each input is needed");
    for (size_t i = 0; i < onnx->inputs.n; i++) {
        lua_geti(L, 2, (lua_Integer)i + 1);
        t2o_value *given = check_value(L, -1);
        onnx->inputs.at[i]->twin = given;
        if (given->rank < 0) /* sizes that the body names are read from it */
            know(given, onnx->inputs.at[i]);
        lua_pop(L, 1);
    }
    back_scope in = { .onnx = onnx, .torch = k->torch, .outer = k->back->scope };
    size_t before = k->s->diags.n;
    const t2o_node *node = k->node;
    if (!translate_nodes(k, &in))
        return raise_failure(L, before);
    k->node = node;
    lua_createtable(L, (int)onnx->outputs.n, 0);
    for (size_t i = 0; i < onnx->outputs.n; i++) {
        push_value(L, torch_value_in(k, &in, onnx->outputs.at[i].value));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.extend_body(body, {like}): more inputs, like these values, which the body does not read */
static int l_extend_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *g = check_torch_body(L, 1);
    for (lua_Integer i = 1, n = luaL_len(L, 2); i <= n; i++) {
        lua_geti(L, 2, i);
        const t2o_value *like = check_value(L, -1);
        t2o_value *v = t2o_value_new(g, like->kind, like->name, like->dtype, like->rank, like->dims);
        v->mark = 1;
        t2o_push(k->s->arena, &g->inputs, v);
        lua_pop(L, 1);
    }
    return 0;
}

/* core.new_body(name, {like}) -> a torch body with inputs like these values, and the list of the inputs */
static int l_new_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *g = t2o_graph_new(k->s, k->exprs, state_name(k, luaL_checkstring(L, 1)));
    g->parent = k->torch;
    push_torch_body(L, g);
    lua_replace(L, 1);
    l_extend_body(L);
    lua_settop(L, 1);
    lua_createtable(L, (int)g->inputs.n, 0);
    for (size_t i = 0; i < g->inputs.n; i++) {
        push_value(L, g->inputs.at[i]);
        lua_rawseti(L, 2, (lua_Integer)i + 1);
    }
    return 2;
}

/* core.finish_body(body, fn): fn makes calls in the torch body and returns the list of its results */
static int l_finish_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *g = check_torch_body(L, 1), *torch = k->torch;
    k->torch = g;
    lua_settop(L, 2);
    bool ok = lua_pcall(L, 0, 1, 0) == LUA_OK;
    k->torch = torch;
    if (!ok)
        return lua_error(L);
    g->outputs.n = 0;
    for (lua_Integer i = 1, n = luaL_len(L, 2); i <= n; i++) {
        lua_geti(L, 2, i);
        t2o_value *v = check_value(L, -1);
        t2o_output_spec out = { .value = v, .kind = T2O_SPEC_USER_OUTPUT, .name = v->name };
        t2o_push(k->s->arena, &g->outputs, out);
        lua_pop(L, 1);
    }
    return 0;
}

/* core.reorder_body(body, {places}): its inputs in another order */
static int l_reorder_body(lua_State *L)
{
    t2o_script *k = script_of(L);
    t2o_graph *g = check_torch_body(L, 1);
    size_t n = (size_t)luaL_len(L, 2);
    t2o_value **inputs = T2O_NEW_N(k->s->arena, t2o_value *, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        lua_geti(L, 2, (lua_Integer)i + 1);
        lua_Integer at = luaL_checkinteger(L, -1);
        luaL_argcheck(L, at >= 1 && (size_t)at <= g->inputs.n, 2, "there is no such input");
        inputs[i] = g->inputs.at[at - 1];
        lua_pop(L, 1);
    }
    g->inputs.at = inputs;
    g->inputs.n = g->inputs.cap = n;
    return 0;
}

static void add_ops(lua_State *L, const t2o_graph *g)
{
    for (const t2o_node *n = g->first; n; n = n->next) {
        lua_pushstring(L, n->op);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                add_ops(L, n->attrs[i].arg.graph);
    }
}

/* core.graph_ops(graph) -> the operators of its nodes, in order, those of bodies too */
static int l_graph_ops(lua_State *L)
{
    lua_newtable(L);
    add_ops(L, check_torch_body(L, 1));
    return 1;
}

/* A model of PyTorch's exporters or of t2o; one that does not say counts as such. */
static bool is_from_torch(const t2o_onnx_source *source)
{
    const char *producer = source ? source->producer : NULL;
    return !producer || !*producer || !strcasecmp(producer, "pytorch") || !strcmp(producer, "t2o");
}

static bool says_kinds(const t2o_graph *g)
{
    for (size_t i = 0; i < g->constants.n; i++)
        if (g->constants.at[i]->spec == T2O_SPEC_PARAMETER || g->constants.at[i]->spec == T2O_SPEC_BUFFER)
            return true;
    return false;
}

/* The first value of a graph that shows each symbol. */
typedef struct holders {
    t2o_session *s;
    t2o_map by_symbol;
    t2o_value *now;
} holders;

static void note_holder(void *ctx, const char *symbol)
{
    holders *h = ctx;
    if (!t2o_map_get(&h->by_symbol, symbol))
        t2o_map_set(h->s->arena, &h->by_symbol, symbol, h->now);
}

static void note_shape(holders *h, t2o_value *v)
{
    h->now = v;
    for (int32_t d = 0; v && d < v->rank; d++)
        t2o_expr_each_symbol(v->dims[d], note_holder, h);
}

static void mark_holder(void *ctx, const char *symbol)
{
    t2o_value *v = t2o_map_get(&((holders *)ctx)->by_symbol, symbol);
    if (v)
        v->mark = 1;
}

/* Sizes in arguments are read off values, which have to stay. */
static void mark_sizes(holders *h, const t2o_arg *arg)
{
    if (arg->kind == T2O_ARG_EXPR)
        t2o_expr_each_symbol(arg->expr, mark_holder, h);
    for (uint32_t i = 0; arg->kind == T2O_ARG_LIST && i < arg->n; i++)
        mark_sizes(h, &arg->items[i]);
}

/* Removes the nodes that no output needs: what layers were found to hold. Bodies read operands of their node. */
static void drop_dead(t2o_graph *g)
{
    holders h = { .s = g->s };
    for (size_t i = 0; i < g->inputs.n; i++)
        note_shape(&h, g->inputs.at[i]);
    for (const t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_outputs; i++)
            note_shape(&h, n->outputs[i]);
    t2o_graph_clear_marks(g);
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark = 1;
    for (t2o_node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        bool live = n->n_outputs == 0;
        for (uint32_t i = 0; i < n->n_outputs; i++)
            live = live || (n->outputs[i] && n->outputs[i]->mark);
        for (uint32_t i = 0; live && i < n->n_inputs; i++)
            if (n->inputs[i])
                n->inputs[i]->mark = 1;
        for (uint32_t i = 0; live && i < n->n_attrs; i++)
            mark_sizes(&h, &n->attrs[i].arg);
        if (!live)
            t2o_node_remove(n);
    }
}

/* Weights stand before the inputs, as export has it; those that only told sizes are not among them. */
static void weights_first(t2o_script *k, t2o_graph *g)
{
    T2O_VEC(t2o_value *) inputs = { 0 };
    size_t kept = 0;
    for (size_t i = 0; i < k->back->weights.n; i++)
        k->back->weights.at[i]->mark = 0;
    for (const t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_inputs; i++)
            n->inputs[i]->mark = 1;
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark = 1;
    for (size_t i = 0; i < k->back->weights.n; i++)
        if (k->back->weights.at[i]->mark)
            k->back->weights.at[kept++] = k->back->weights.at[i];
    k->back->weights.n = kept;
    for (size_t i = 0; i < kept; i++)
        t2o_push(k->s->arena, &inputs, k->back->weights.at[i]);
    for (size_t i = 0; i < g->inputs.n; i++)
        t2o_push(k->s->arena, &inputs, g->inputs.at[i]);
    g->inputs.at = inputs.at;
    g->inputs.n = g->inputs.cap = inputs.n;
}

static void list_state(t2o_script *k, t2o_program *p)
{
    for (size_t i = 0; i < k->back->weights.n; i++) {
        const t2o_value *w = k->back->weights.at[i];
        t2o_weight weight = { w->target, w->data, w->spec == T2O_SPEC_PARAMETER };
        if (w->persistent)
            t2o_push(k->s->arena, &p->state, weight);
    }
}

/* The output that holds what a state is after the run, which `--state io` calls so; or NULL. */
static t2o_output_spec *output_of_state(const t2o_graph *torch, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < torch->outputs.n; i++) {
        const char *output = torch->outputs.at[i].name;
        if (output && !strncmp(output, name, n) && !strcmp(output + n, ".out"))
            return &torch->outputs.at[i];
    }
    return NULL;
}

/* An input with a value of its own is a weight: exporters list all weights so. */
static bool take_inputs(t2o_script *k, const back_scope *top)
{
    for (size_t i = 0; i < top->onnx->inputs.n; i++) {
        t2o_value *v = top->onnx->inputs.at[i];
        if (v->kind == T2O_VALUE_OBJECT && !k->options.python)
            return t2o_fail(k->s, "E0302", "input '%s' is no tensor but %s, for which an archive has no place", v->name,
                            v->container ? v->container : "another object");
        v->constant = v->initial != NULL;
        v->data = v->initial;
        if (!v->constant)
            add_input(k, top->torch, v);
    }
    return true;
}

/* What is written stands before what is returned, as export has it. */
static void writes_first(t2o_graph *g)
{
    for (size_t i = 1; i < g->outputs.n; i++) {
        t2o_output_spec out = g->outputs.at[i];
        size_t at = i;
        for (; t2o_spec_is_mutation(out.kind) && at > 0 && !t2o_spec_is_mutation(g->outputs.at[at - 1].kind); at--)
            g->outputs.at[at] = g->outputs.at[at - 1];
        g->outputs.at[at] = out;
    }
}

/* State that the model changes is a buffer that is written. */
static void write_state(const back_scope *top)
{
    for (size_t i = 0; i < top->onnx->inputs.n; i++) {
        t2o_value *v = top->onnx->inputs.at[i], *weight = v->initial ? v->twin : NULL;
        t2o_output_spec *out = weight ? output_of_state(top->torch, v->name) : NULL;
        if (!out)
            continue;
        weight->spec = T2O_SPEC_BUFFER;
        weight->persistent = true;
        out->kind = T2O_SPEC_BUFFER_MUTATION;
        out->target = weight->target;
    }
    writes_first(top->torch);
}

t2o_program *t2o_script_back(t2o_script *k, const t2o_program *onnx)
{
    t2o_program *p = T2O_NEW(k->s->arena, t2o_program);
    *p = (t2o_program){ .path = onnx->path, .model = "model", .torch_version = "", .schema_major = 8, .aten_opset = 10,
                        .verifier = "TRAINING" };
    p->graph = t2o_graph_new(k->s, k->exprs, "main");
    p->graph->program = p;
    back_state back = { .program = p, .says_kinds = says_kinds(onnx->graph), .from_torch = is_from_torch(onnx->onnx) };
    back_scope top = { .onnx = onnx->graph, .torch = p->graph };
    k->back = &back;
    k->graph = onnx->graph;
    count_readers(onnx->graph);
    index_weights(k, onnx->graph);
    bool ok = take_inputs(k, &top) && push_function(k, "t2o.back", "check");
    if (ok) {
        push_torch_body(k->L, onnx->graph);
        ok = script_call(k, 1, 0);
    }
    ok = ok && translate_nodes(k, &top) && add_outputs(k, &top);
    if (ok)
        write_state(&top);
    drop_dead(p->graph);
    weights_first(k, p->graph);
    list_state(k, p);
    t2o_graph_clear_marks(onnx->graph);
    k->back = NULL;
    return ok ? p : NULL;
}

/* core.writes_python() -> whether the torch program is made for its Python source */
static int l_writes_python(lua_State *L)
{
    lua_pushboolean(L, script_of(L)->options.python);
    return 1;
}

int open_back(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "back_value", l_back_value }, { "set_twin", l_set_twin }, { "make_buffer", l_make_buffer },
        { "back_body", l_back_body }, { "graph_ops", l_graph_ops }, { "extend_body", l_extend_body },
        { "reorder_body", l_reorder_body }, { "writes_python", l_writes_python },
        { "rearranged", l_rearranged }, { "inline_body", l_inline_body },
        { "transposed", l_transposed }, { "readers", l_readers },
        { "is_scope", l_is_scope },
        { "new_body", l_new_body }, { "finish_body", l_finish_body },
        { NULL, NULL },
    };
    luaL_setfuncs(L, functions, 0);
    return 0;
}
