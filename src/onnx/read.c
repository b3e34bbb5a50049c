/* read.c: an ONNX model file as a program: the model, its graphs, values, functions.
 *
 * Names become values in scopes: a body sees the values of the graphs around it, the body of a function only its own
 * inputs. A call of a function is replaced by the function's nodes where it stands, under names that begin with the
 * call's.
 */
#include "onnx/read.h"

#include <stdlib.h>

#define NEWEST_IR 20

/* A GraphProto taken apart. */
typedef struct raw_graph {
    const char *name;
    t2o_slices nodes, initialisers, sparse, inputs, outputs, infos;
    t2o_props props;
} raw_graph;

/* ---- Texts and errors ---- */

bool t2o_read_whole(t2o_reader *r, const t2o_wire *w, const char *what)
{
    return !w->bad || t2o_fail(r->s, "E0508", "%s is damaged or cut short", what);
}

const char *t2o_read_text(t2o_reader *r, const t2o_field *f)
{
    if (f->type != T2O_WIRE_BYTES || memchr(f->slice.n ? f->slice.bytes : (const uint8_t *)" ", 0, f->slice.n)) {
        t2o_fail(r->s, "E0508", "a name in the model has a zero byte in it, or is no text");
        return NULL;
    }
    return t2o_intern_n(r->s, (const char *)f->slice.bytes, f->slice.n);
}
/* ---- Messages without a graph in them ---- */

static bool read_opset(t2o_reader *r, t2o_slice bytes, const char **domain, int64_t *version)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    *domain = "";
    *version = 0;
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == 1 && !(*domain = t2o_read_text(r, &f)))
            return false;
        if (f.number == 2)
            *version = (int64_t)f.value;
    }
    if (!strcmp(*domain, "ai.onnx"))
        *domain = "";
    return t2o_read_whole(r, &w, "an opset import");
}

static bool add_opset(t2o_reader *r, t2o_slice bytes, t2o_map *opsets)
{
    const char *domain;
    int64_t version;
    if (!read_opset(r, bytes, &domain, &version))
        return false;
    if (version < 1 || version > INT32_MAX)
        return t2o_fail(r->s, "E0508", "the model imports opset %lld of domain '%s'", (long long)version, domain);
    t2o_map_set(r->s->arena, opsets, domain, (void *)(intptr_t)version);
    return true;
}
/* ---- Values ---- */

static bool apply_type(t2o_reader *r, t2o_slice bytes, t2o_value *v)
{
    t2o_stated_type type;
    if (!t2o_read_type(r, bytes, t2o_printf(r->s->arena, "'%s'", v->name), &type))
        return false;
    v->kind = type.kind;
    v->dtype = type.dtype;
    v->container = type.container;
    t2o_value_set_dims(v, type.rank, type.dims);
    return true;
}

static bool define(t2o_reader *r, scope *in, const char *name, t2o_value *v)
{
    if (t2o_map_get(&in->values, name))
        return t2o_fail(r->s, "E0508", "'%s' is defined twice in graph '%s'", name, in->g->name);
    t2o_map_set(r->s->arena, &in->values, name, v);
    return true;
}

static t2o_value *lookup(const scope *in, const char *name)
{
    for (; in; in = in->outer) {
        t2o_value *v = t2o_map_get(&in->values, name);
        if (v)
            return v;
    }
    return NULL;
}

static bool is_absent(const scope *in, const char *name)
{
    return !*name || (in->call && t2o_map_get(&in->call->absent, name));
}

/* The name that a value has in the end: outputs of a function have that of the call's. */
static const char *outer_name(t2o_reader *r, const scope *in, const char *name)
{
    if (!in->call)
        return name;
    const char *renamed = in->outer ? NULL : t2o_map_get(&in->call->renamed, name);
    return renamed ? renamed : t2o_intern(r->s, t2o_printf(r->s->arena, "%s%s", in->call->prefix, name));
}

/* What the file says of the type of a value, under its name in this scope. */
static const t2o_slice *stated_type(const scope *in, const char *name)
{
    const t2o_slice *type = t2o_map_get(&in->types, name);
    const char *renamed = in->call && in->caller ? t2o_map_get(&in->call->renamed, name) : NULL;
    return type || !renamed ? type : stated_type(in->caller, renamed);
}

static t2o_value *new_value(t2o_reader *r, const scope *in, const char *name)
{
    const t2o_slice *type = stated_type(in, name);
    t2o_value *v = t2o_value_new(in->g, T2O_VALUE_TENSOR, outer_name(r, in, name), T2O_NO_DTYPE, -1, NULL);
    v->original_name = v->name;
    return !type || apply_type(r, *type, v) ? v : NULL;
}

static t2o_value *identity(t2o_reader *r, t2o_graph *g, t2o_value *v, const char *name)
{
    t2o_value *copy = t2o_value_new(g, v->kind, name, v->dtype, v->rank, v->dims);
    copy->container = v->container;
    copy->original_name = copy->name;
    t2o_node *n = t2o_node_new(g, NULL, "onnx::Identity", &v, 1, NULL, 0, &copy, 1);
    n->opset = r->source->opset ? r->source->opset : t2o_newest_opset();
    return copy;
}
/* ---- Nodes ---- */

static bool read_nodes(t2o_reader *r, const t2o_slices *slices, scope *in);

static bool find_operands(t2o_reader *r, const raw_node *n, const scope *in, t2o_value **inputs)
{
    for (size_t i = 0; i < n->inputs.n; i++) {
        const char *name = n->inputs.at[i];
        inputs[i] = is_absent(in, name) ? NULL : lookup(in, name);
        if (!inputs[i] && !is_absent(in, name))
            return t2o_fail(r->s, "E0508", "%s uses '%s', which nothing defines", t2o_node_text(r, n), name);
    }
    return true;
}

/* The opset of a domain that holds where the node stands; 0 where none is imported. */
static int64_t opset_of(const t2o_reader *r, const scope *in, const char *domain)
{
    const t2o_map *opsets = in->call ? &in->call->fn->opsets : &r->source->opsets;
    return (intptr_t)t2o_map_get(opsets, domain);
}

static bool node_opset(t2o_reader *r, const raw_node *n, const scope *in, int *opset)
{
    int64_t version = opset_of(r, in, n->domain);
    if (!version && !*n->domain && r->source->ir_version < 3)
        version = 1;
    if (!version && !*n->domain)
        return t2o_fail(r->s, "E0508", "%s is of a domain that the model does not import", t2o_node_text(r, n));
    if (!*n->domain && version > t2o_newest_opset())
        return t2o_fail(r->s, "E0509", "the model is for opset %lld; %d is the newest that is read",
                        (long long)version, t2o_newest_opset());
    *opset = (int)version;
    return true;
}

static bool add_node(t2o_reader *r, const raw_node *n, scope *in, t2o_value **inputs, const t2o_attr *attrs,
                     uint32_t n_attrs)
{
    int opset = 0;
    size_t n_outputs = n->outputs.n;
    while (n_outputs && !*n->outputs.at[n_outputs - 1])
        n_outputs--;
    t2o_value **outputs = T2O_NEW_N(r->s->arena, t2o_value *, n_outputs + 1);
    if (!node_opset(r, n, in, &opset))
        return false;
    for (size_t i = 0; i < n_outputs; i++) {
        const char *output = n->outputs.at[i];
        outputs[i] = *output ? new_value(r, in, output)
                             : t2o_value_new(in->g, T2O_VALUE_TENSOR, NULL, T2O_NO_DTYPE, -1, NULL);
        if (!outputs[i] || (*output && !define(r, in, output, outputs[i])))
            return false;
        outputs[i]->omitted = !*output;
    }
    const char *op = t2o_printf(r->s->arena, "%s::%s", *n->domain ? n->domain : "onnx", n->op);
    t2o_node *node = t2o_node_new(in->g, NULL, op, inputs, (uint32_t)n->inputs.n, attrs, n_attrs, outputs,
                                  (uint32_t)n_outputs);
    if (*n->name)
        node->name = outer_name(r, in, n->name);
    node->opset = opset;
    node->meta = t2o_read_meta(r, n, in->call);
    return true;
}

/* ---- Constant nodes ---- */

static const t2o_tensor *constant_of(t2o_reader *r, const t2o_attr *attr)
{
    static const struct { const char *name; t2o_dtype dtype; bool list; } forms[] = {
        { "value_float", T2O_FLOAT32, false },  { "value_floats", T2O_FLOAT32, true },
        { "value_int", T2O_INT64, false },      { "value_ints", T2O_INT64, true },
        { "value_string", T2O_STRING, false },  { "value_strings", T2O_STRING, true },
    };
    static const t2o_arg_kind kinds[] = { [T2O_FLOAT32] = T2O_ARG_FLOAT, [T2O_INT64] = T2O_ARG_INT,
                                          [T2O_STRING] = T2O_ARG_STRING };
    const t2o_arg *arg = &attr->arg;
    if (arg->kind == T2O_ARG_TENSOR)
        return arg->tensor;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(forms[i].name, attr->name))
            continue;
        const t2o_arg *first = arg->kind == T2O_ARG_LIST ? arg->n ? arg->items : NULL : arg;
        bool fits = (arg->kind == T2O_ARG_LIST) == forms[i].list;
        return fits && (!first || first->kind == kinds[forms[i].dtype]) ? t2o_tensor_of_arg(r, arg, forms[i].dtype)
                                                                        : NULL;
    }
    return NULL;
}

static bool is_graph_output(const scope *in, const char *name)
{
    for (size_t i = 0; i < in->g->outputs.n; i++)
        if (!strcmp(in->g->outputs.at[i].name, name))
            return true;
    return false;
}

/* The result of a graph is made by a node: a constant that is one has a name of its own. */
static bool add_constant(t2o_reader *r, const raw_node *n, scope *in, const t2o_attr *attrs, uint32_t n_attrs)
{
    const t2o_tensor *t = n_attrs == 1 ? constant_of(r, &attrs[0]) : NULL;
    if (!t || n->outputs.n != 1 || !*n->outputs.at[0])
        return t2o_fail(r->s, "E0508", "%s has no value, or several", t2o_node_text(r, n));
    const char *name = outer_name(r, in, n->outputs.at[0]);
    bool result = is_graph_output(in, name);
    t2o_value *v = t2o_constant_new(in->g, result ? t2o_printf(r->s->arena, "%s_value", name) : name, t);
    v->original_name = v->name;
    return define(r, in, n->outputs.at[0], result ? identity(r, in->g, v, name) : v);
}

/* ---- Calls of functions ---- */

static function *find_function(t2o_reader *r, const raw_node *n)
{
    return t2o_map_get(&r->functions, t2o_printf(r->s->arena, "%s::%s:%s", n->domain, n->op, n->overload));
}

static bool bind_inputs(t2o_reader *r, const raw_node *n, const function *fn, t2o_value *const *inputs, scope *inner,
                        call *c)
{
    for (size_t i = 0; i < fn->inputs.n; i++) {
        t2o_value *v = i < n->inputs.n ? inputs[i] : NULL;
        if (!v)
            t2o_map_set(r->s->arena, &c->absent, fn->inputs.at[i], c);
        else if (!define(r, inner, fn->inputs.at[i], v))
            return false;
    }
    return true;
}

/* The function's results under the names of the call's outputs. */
static bool bind_outputs(t2o_reader *r, const raw_node *n, const function *fn, const scope *inner, scope *in)
{
    for (size_t i = 0; i < n->outputs.n; i++) {
        const char *name = n->outputs.at[i];
        if (!*name)
            continue;
        t2o_value *v = lookup(inner, fn->outputs.at[i]);
        if (!v)
            return t2o_fail(r->s, "E0508", "%s: the function does not define its output '%s'", t2o_node_text(r, n),
                            fn->outputs.at[i]);
        const char *outer = outer_name(r, in, name);
        if (v->name != outer)
            v = identity(r, in->g, v, outer); /* an input or constant, or a result that stands twice */
        if (!define(r, in, name, v))
            return false;
    }
    return true;
}

static bool call_function(t2o_reader *r, const raw_node *n, function *fn, scope *in, t2o_value *const *inputs,
                          const t2o_attr *attrs, uint32_t n_attrs)
{
    const char *base = *n->name ? n->name : fn->name;
    call c = { .fn = fn, .attrs = attrs, .n_attrs = n_attrs, .meta = t2o_read_meta(r, n, in->call) };
    scope inner = { .caller = in, .g = in->g, .call = &c, .depth = in->depth + 1 };
    c.prefix = t2o_printf(r->s->arena, "%s%s_%u/", in->call ? in->call->prefix : "", base, r->n_calls++);
    if (fn->running || inner.depth > T2O_MAX_DEPTH)
        return t2o_fail(r->s, "E0509", "%s: the function calls itself, or calls nest too deep", t2o_node_text(r, n));
    if (n->inputs.n > fn->inputs.n || n->outputs.n > fn->outputs.n)
        return t2o_fail(r->s, "E0508", "%s has more inputs or outputs than the function", t2o_node_text(r, n));
    for (size_t i = n->outputs.n; i-- > 0;) /* the first place of one that stands twice counts */
        if (*n->outputs.at[i])
            t2o_map_set(r->s->arena, &c.renamed, fn->outputs.at[i], (void *)outer_name(r, in, n->outputs.at[i]));
    fn->running = true;
    bool ok = bind_inputs(r, n, fn, inputs, &inner, &c) && read_nodes(r, &fn->nodes, &inner) &&
              bind_outputs(r, n, fn, &inner, in);
    fn->running = false;
    return ok;
}

static bool read_node(t2o_reader *r, const raw_node *n, scope *in)
{
    t2o_attr *attrs;
    uint32_t n_attrs;
    t2o_value **inputs = T2O_NEW_N(r->s->arena, t2o_value *, n->inputs.n + 1);
    if (!find_operands(r, n, in, inputs) || !t2o_read_attrs(r, n, in, &attrs, &n_attrs))
        return false;
    function *fn = find_function(r, n);
    if (fn)
        return call_function(r, n, fn, in, inputs, attrs, n_attrs);
    if (!*n->domain && !strcmp(n->op, "Constant"))
        return add_constant(r, n, in, attrs, n_attrs);
    return add_node(r, n, in, inputs, attrs, n_attrs);
}

static bool read_nodes(t2o_reader *r, const t2o_slices *slices, scope *in)
{
    raw_nodes nodes = { 0 };
    if (!t2o_read_raw_nodes(r, slices, &nodes))
        return false;
    for (size_t i = 0; i < nodes.n; i++)
        if (!read_node(r, nodes.at[i], in))
            return false;
    return true;
}

/* ---- Graphs ---- */

static bool split_graph(t2o_reader *r, t2o_slice bytes, const char *what, raw_graph *out)
{
    enum { NODE = 1, NAME = 2, INITIALISER = 5, INPUT = 11, OUTPUT = 12, INFO = 13, SPARSE = 15, PROPS = 16 };
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    *out = (raw_graph){ .name = "" };
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        t2o_slices *list = NULL;
        switch (f.number) {
        case NODE: list = &out->nodes; break;
        case INITIALISER: list = &out->initialisers; break;
        case INPUT: list = &out->inputs; break;
        case OUTPUT: list = &out->outputs; break;
        case INFO: list = &out->infos; break;
        case SPARSE: list = &out->sparse; break;
        case NAME: out->name = t2o_plain_text(r, &f); break;
        default: break;
        }
        if (list && f.type == T2O_WIRE_BYTES)
            t2o_push(r->s->arena, list, f.slice);
        if (f.number == PROPS && f.type == T2O_WIRE_BYTES && !t2o_read_prop(r, f.slice, &out->props))
            return false;
    }
    return t2o_read_whole(r, &w, what);
}

/* A ValueInfoProto: its name, its type (bytes NULL where it has none), its metadata. */
static bool read_info(t2o_reader *r, t2o_slice bytes, const char **name, t2o_slice *type, t2o_props *props)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    *name = "";
    *type = (t2o_slice){ NULL, 0 };
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == 1 && !(*name = t2o_read_text(r, &f)))
            return false;
        if (f.number == 2 && f.type == T2O_WIRE_BYTES)
            *type = f.slice;
        if (f.number == 4 && !t2o_read_prop(r, f.slice, props))
            return false;
    }
    return t2o_read_whole(r, &w, "the type of a value");
}

/* Initialisers by their name, in the order of the file. */
static bool read_initialisers(t2o_reader *r, const raw_graph *raw, t2o_map *out)
{
    for (size_t i = 0; i < raw->initialisers.n + raw->sparse.n; i++) {
        bool sparse = i >= raw->initialisers.n;
        const char *name;
        const t2o_tensor *t =
            sparse ? t2o_read_sparse(r, raw->sparse.at[i - raw->initialisers.n], "an initialiser", &name)
                   : t2o_read_tensor(r, raw->initialisers.at[i], "an initialiser", &name);
        if (!t)
            return false;
        if (!*name || t2o_map_set(r->s->arena, out, name, (void *)t))
            return t2o_fail(r->s, "E0508", *name ? "two initialisers have the name '%s'"
                                                 : "an initialiser has no name%s", name);
    }
    return true;
}

static void take_spec(t2o_value *v, const t2o_props *props)
{
    const char *kind = t2o_prop_of(props, "pkg.torch.export.graph_signature.InputSpec.kind");
    const char *persistent = t2o_prop_of(props, "pkg.torch.export.graph_signature.InputSpec.persistent");
    for (int spec = T2O_SPEC_USER_INPUT; kind && spec <= T2O_SPEC_CONSTANT_TENSOR; spec++)
        if (!strcmp(kind, t2o_spec_name((t2o_spec_kind)spec)))
            v->spec = (t2o_spec_kind)spec;
    if (v->spec == T2O_SPEC_NONE && t2o_prop_of(props, "pkg.onnxscript.optimizer.folded_from"))
        v->spec = T2O_SPEC_CONSTANT_TENSOR; /* PyTorch's exporter computed it */
    v->persistent = v->spec == T2O_SPEC_PARAMETER || (persistent && !strcmp(persistent, "True"));
}

/* Before IR version 4 every initialiser had to be an input too; since then such an input may be given. */
static bool read_inputs(t2o_reader *r, const raw_graph *raw, scope *in, const t2o_map *initialisers)
{
    for (size_t i = 0; i < raw->inputs.n; i++) {
        const char *name;
        t2o_slice type;
        t2o_props props = { 0 };
        if (!read_info(r, raw->inputs.at[i], &name, &type, &props))
            return false;
        const t2o_tensor *initial = t2o_map_get(initialisers, name);
        if (initial && r->source->ir_version < 4)
            continue;
        if (!*name)
            return t2o_fail(r->s, "E0508", "input %zu of graph '%s' has no name", i + 1, in->g->name);
        t2o_value *v = t2o_value_new(in->g, T2O_VALUE_TENSOR, outer_name(r, in, name), T2O_NO_DTYPE, -1, NULL);
        v->original_name = v->name;
        v->initial = initial;
        take_spec(v, &props);
        if ((type.bytes && !apply_type(r, type, v)) || !define(r, in, name, v))
            return false;
        t2o_push(r->s->arena, &in->g->inputs, v);
    }
    return true;
}

static bool add_constants(t2o_reader *r, scope *in, const t2o_map *initialisers, const t2o_map *infos)
{
    for (size_t i = 0; i < initialisers->n; i++) {
        const char *name = initialisers->entries[i].key;
        const t2o_props *props = t2o_map_get(infos, name);
        const t2o_value *given = t2o_map_get(&in->values, name);
        if (given && given->initial)
            continue;
        t2o_value *v = t2o_constant_new(in->g, outer_name(r, in, name), initialisers->entries[i].value);
        v->original_name = v->target = v->name;
        if (props)
            take_spec(v, props);
        if (!define(r, in, name, v))
            return false;
    }
    return true;
}

/* What the file says of types: value_info and the graph's outputs. Metadata are those of initialisers. */
static bool read_infos(t2o_reader *r, const raw_graph *raw, scope *in, t2o_map *metadata)
{
    for (size_t i = 0; i < raw->infos.n + raw->outputs.n; i++) {
        const char *name;
        t2o_slice *type = T2O_NEW(r->s->arena, t2o_slice);
        t2o_props *props = T2O_NEW(r->s->arena, t2o_props);
        bool output = i >= raw->infos.n;
        if (!read_info(r, output ? raw->outputs.at[i - raw->infos.n] : raw->infos.at[i], &name, type, props))
            return false;
        if (type->bytes)
            t2o_map_set(r->s->arena, &in->types, name, type);
        if (props->n && !output)
            t2o_map_set(r->s->arena, metadata, name, props);
        t2o_output_spec o = { .name = outer_name(r, in, name), .kind = T2O_SPEC_USER_OUTPUT, .target = name };
        if (output)
            t2o_push(r->s->arena, &in->g->outputs, o);
    }
    return true;
}

/* Outputs were entered by name; what a body hands on from outside, or what stands twice, is copied. */
static bool bind_graph_outputs(t2o_reader *r, scope *in)
{
    for (size_t i = 0; i < in->g->outputs.n; i++) {
        t2o_output_spec *o = &in->g->outputs.at[i];
        t2o_value *v = lookup(in, o->target);
        if (!v)
            return t2o_fail(r->s, "E0508", "nothing defines the output '%s' of graph '%s'", o->target, in->g->name);
        if (v->graph != in->g || v->mark)
            v = identity(r, in->g, v, t2o_printf(r->s->arena, "%s_out", o->name));
        v->mark = 1;
        o->value = v;
        o->target = NULL;
    }
    for (size_t i = 0; i < in->g->outputs.n; i++)
        in->g->outputs.at[i].value->mark = 0;
    return true;
}

/* "2]" or "int_oo]"; NULL after anything else. */
static const char *read_bound(const char *p, int64_t *bound)
{
    bool below = *p == '-';
    if (!strncmp(p + below, "int_oo", 6)) {
        *bound = below ? INT64_MIN : INT64_MAX;
        return p + below + 6;
    }
    char *end;
    *bound = strtoll(p, &end, 10);
    return end != p ? end : NULL;
}

/* The ranges of sizes that exporters say: {s0: VR[2, int_oo], s1: VR[1, 8]}. They apply to the dim_params of these
 * names; what is of another form is passed over. */
static void read_ranges(t2o_reader *r, const char *text)
{
    for (const char *p = text + (*text == '{'); *p && *p != '}'; p += strspn(p, ", ")) {
        size_t n = strcspn(p, ":");
        int64_t *range = T2O_NEW_N(r->s->arena, int64_t, 2);
        const char *name = t2o_intern_n(r->s, p, n), *rest = p + n;
        if (strncmp(rest, ": VR[", 5) != 0 || !(rest = read_bound(rest + 5, &range[0])) ||
            strncmp(rest, ", ", 2) != 0 || !(rest = read_bound(rest + 2, &range[1])) || *rest != ']')
            return;
        if (range[0] <= range[1])
            t2o_map_set(r->s->arena, &r->ranges, name, range);
        p = rest + 1;
    }
}

t2o_graph *t2o_read_graph(t2o_reader *r, t2o_slice bytes, const scope *outer, const char *what, int depth)
{
    raw_graph raw;
    t2o_map initialisers = { 0 }, metadata = { 0 };
    if (depth > T2O_MAX_DEPTH) {
        t2o_fail(r->s, "E0509", "%s: graphs nest too deep", what);
        return NULL;
    }
    if (!split_graph(r, bytes, what, &raw))
        return NULL;
    const char *ranges = t2o_prop_of(&raw.props, "pkg.torch.export.ExportedProgram.range_constraints");
    if (ranges && !outer)
        read_ranges(r, ranges);
    scope in = { .outer = outer, .call = outer ? outer->call : NULL, .depth = depth };
    in.g = t2o_graph_new(r->s, r->exprs, *raw.name ? raw.name : "graph");
    in.g->parent = outer ? outer->g : NULL;
    bool ok = read_initialisers(r, &raw, &initialisers) && read_infos(r, &raw, &in, &metadata) &&
              read_inputs(r, &raw, &in, &initialisers) && add_constants(r, &in, &initialisers, &metadata) &&
              read_nodes(r, &raw.nodes, &in) && bind_graph_outputs(r, &in);
    return ok ? in.g : NULL;
}

/* ---- Functions ---- */

typedef struct function_head {
    const char *name, *domain, *overload;
} function_head;

static bool add_default(t2o_reader *r, t2o_slice bytes, function *fn)
{
    attr_head head;
    t2o_slice *copy = T2O_NEW(r->s->arena, t2o_slice);
    *copy = bytes;
    if (!t2o_read_attr_head(r, bytes, &head))
        return false;
    t2o_map_set(r->s->arena, &fn->defaults, head.name, copy);
    return true;
}

static bool read_function_field(t2o_reader *r, const t2o_field *f, function *fn, function_head *head)
{
    enum { NAME = 1, INPUT = 4, OUTPUT = 5, NODE = 7, OPSET = 9, DOMAIN = 10, DEFAULT = 11, OVERLOAD = 13 };
    switch (f->number) {
    case NAME: return t2o_set_text(r, f, &head->name);
    case DOMAIN: return t2o_set_text(r, f, &head->domain);
    case OVERLOAD: return t2o_set_text(r, f, &head->overload);
    case INPUT: return t2o_read_name(r, f, &fn->inputs);
    case OUTPUT: return t2o_read_name(r, f, &fn->outputs);
    case OPSET: return add_opset(r, f->slice, &fn->opsets);
    case DEFAULT: return add_default(r, f->slice, fn);
    case NODE: t2o_push(r->s->arena, &fn->nodes, f->slice); return true;
    default: return true;
    }
}

/* Domains that only functions import are imports of the model that is written. */
static void import_domains(t2o_reader *r, const function *fn)
{
    for (size_t i = 0; i < fn->opsets.n; i++)
        if (!t2o_map_get(&r->source->opsets, fn->opsets.entries[i].key))
            t2o_map_set(r->s->arena, &r->source->opsets, fn->opsets.entries[i].key, fn->opsets.entries[i].value);
}

static bool read_function(t2o_reader *r, t2o_slice bytes)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    function *fn = T2O_NEW(r->s->arena, function);
    function_head head = { "", "", "" };
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (!read_function_field(r, &f, fn, &head))
            return false;
    if (!t2o_read_whole(r, &w, "a function"))
        return false;
    fn->name = head.name;
    import_domains(r, fn);
    const char *domain = strcmp(head.domain, "ai.onnx") ? head.domain : "";
    const char *key = t2o_printf(r->s->arena, "%s::%s:%s", domain, head.name, head.overload);
    return !t2o_map_set(r->s->arena, &r->functions, key, fn) ||
           t2o_fail(r->s, "E0508", "the function '%s' is defined twice", head.name);
}

/* ---- The model ---- */

enum { M_IR_VERSION = 1, M_PRODUCER = 2, M_PRODUCER_VERSION = 3, M_GRAPH = 7, M_OPSET = 8, M_PROPS = 14,
       M_TRAINING = 20, M_FUNCTION = 25 };

static bool read_model_field(t2o_reader *r, const t2o_field *f, t2o_slice *graph, t2o_slices *functions)
{
    t2o_onnx_source *source = r->source;
    switch (f->number) {
    case M_IR_VERSION: source->ir_version = f->value > NEWEST_IR ? NEWEST_IR + 1 : (int)f->value; return true;
    case M_PRODUCER: source->producer = t2o_plain_text(r, f); return true;
    case M_PRODUCER_VERSION: source->producer_version = t2o_plain_text(r, f); return true;
    case M_GRAPH: *graph = f->slice; return true;
    case M_OPSET: return add_opset(r, f->slice, &source->opsets);
    case M_PROPS: return t2o_read_prop(r, f->slice, &source->props);
    case M_TRAINING: t2o_warn(r->s, "the model's training graphs are left out"); return true;
    case M_FUNCTION: t2o_push(r->s->arena, functions, f->slice); return true;
    default: return true;
    }
}

static t2o_graph *read_model(t2o_reader *r)
{
    t2o_slice graph = { NULL, 0 };
    t2o_slices functions = { 0 };
    t2o_wire w = t2o_wire_of(r->file->bytes, r->file->size);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (!read_model_field(r, &f, &graph, &functions))
            return NULL;
    if (!t2o_read_whole(r, &w, "the model"))
        return NULL;
    if (!graph.bytes) {
        t2o_fail(r->s, "E0508", "the model has no graph");
        return NULL;
    }
    r->source->opset = (int)(intptr_t)t2o_map_get(&r->source->opsets, "");
    for (size_t i = 0; i < functions.n; i++)
        if (!read_function(r, functions.at[i]))
            return NULL;
    return t2o_read_graph(r, graph, NULL, "the graph", 0);
}

t2o_program *t2o_onnx_read(t2o_session *s, t2o_exprs *exprs, const t2o_file *file)
{
    t2o_program *p = T2O_NEW(s->arena, t2o_program);
    t2o_reader r = { .s = s, .exprs = exprs, .file = file, .source = T2O_NEW(s->arena, t2o_onnx_source) };
    p->path = file->path;
    p->onnx = r.source;
    p->graph = read_model(&r);
    if (!p->graph) {
        t2o_onnx_close(p);
        return NULL;
    }
    p->graph->program = p;
    for (size_t i = 0; i < p->graph->inputs.n; i++)
        if (p->graph->inputs.at[i]->spec == T2O_SPEC_NONE)
            p->graph->inputs.at[i]->spec = T2O_SPEC_USER_INPUT;
    return p;
}

void t2o_onnx_close(const t2o_program *program)
{
    for (size_t i = 0; program && program->onnx && i < program->onnx->files.n; i++)
        t2o_file_unmap(program->onnx->files.at[i]);
}

bool t2o_onnx_sniff(const uint8_t *bytes, size_t n)
{
    t2o_wire w = t2o_wire_of(bytes, n);
    bool version = false, graph = false;
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        version |= f.number == M_IR_VERSION && f.type == T2O_WIRE_VARINT && f.value > 0 && f.value <= NEWEST_IR;
        graph |= f.number == M_GRAPH && f.type == T2O_WIRE_BYTES;
    }
    return version && graph && !w.bad;
}
