/* program.c: versions, ranges, the signature, and which weight belongs to which input. */
#include "pt2/program.h"

#include "pt2/body.h"
#include "pt2/history.h"
#include "pt2/json.h"
#include "pt2/subclass.h"
#include "pt2/weights.h"

/* ---- versions ---- */

/* {"major": 8, "minor": 20}; PyTorch 2.2 wrote a plain number. */
static bool read_schema_version(t2o_json_doc *d, t2o_program *p)
{
    const t2o_json *v = t2o_json_get(d, d->root, "schema_version");
    int64_t major, minor = 0;
    if (t2o_json_is_number(v)) {
        if (!t2o_json_int(d, v, &major))
            return false;
    } else if (!t2o_json_int(d, t2o_json_get(d, v, "major"), &major) ||
               !t2o_json_int(d, t2o_json_get(d, v, "minor"), &minor))
        return false;
    p->schema_major = major >= 0 && major < INT32_MAX ? (int)major : -1;
    p->schema_minor = minor >= 0 && minor < INT32_MAX ? (int)minor : -1;
    return true;
}

/* The dialect: the first verifier, or before 2.5 a member of its own. */
static const char *read_verifier(const t2o_json *root)
{
    const t2o_json *list = t2o_json_find(root, "verifiers");
    const char *name =
        t2o_json_maybe_text(list ? t2o_json_first(list) : t2o_json_find(root, "dialect"));
    return name ? name : "";
}

static bool read_header(t2o_json_doc *d, t2o_program *p)
{
    const t2o_json *root = t2o_json_object(d, d->root);
    const t2o_json *opset =
        root ? t2o_json_find(t2o_json_find(root, "opset_version"), "aten") : NULL;
    if (!root || !read_schema_version(d, p) || (opset && !t2o_json_int(d, opset, &p->aten_opset)))
        return false;
    p->torch_version = t2o_json_maybe_text(t2o_json_find(root, "torch_version"));
    if (!p->torch_version)
        p->torch_version = "2.4 or older";
    p->verifier = read_verifier(root);
    return t2o_history_check(d->s, p);
}

/* ---- ranges ---- */

static bool read_bound(t2o_json_doc *d, const t2o_json *range, const char *member, int64_t *out)
{
    const t2o_json *v = t2o_json_find(range, member);
    return !v || t2o_json_int_clamped(d, v, out);
}

static bool read_ranges(t2o_body_reader *r, t2o_program *p)
{
    t2o_json_doc *d = r->doc;
    const t2o_json *ranges = t2o_json_find(d->root, "range_constraints");
    if (ranges && !t2o_json_object(d, ranges))
        return false;
    for (const t2o_json *v = t2o_json_first(ranges); v; v = t2o_json_next(v)) {
        int64_t min = INT64_MIN, max = INT64_MAX;
        if (!t2o_json_object(d, v) || !read_bound(d, v, "min_val", &min) ||
            !read_bound(d, v, "max_val", &max))
            return false;
        if (min > max)
            return t2o_json_fail(d, v, "an empty range");
        const char *symbol = t2o_intern(d->s, t2o_json_key(v));
        t2o_expr_set_range(r->exprs, symbol, min, max);
        t2o_push(d->s->arena, &p->range_symbols, symbol);
    }
    return true;
}

/* ---- the signature ---- */

typedef struct spec_tag {
    const char *name;
    t2o_spec_kind kind;
    const char *target; /* the member that names what the port stands for */
} spec_tag;

static const spec_tag input_tags[] = {
    { "user_input", T2O_SPEC_USER_INPUT, NULL },
    { "parameter", T2O_SPEC_PARAMETER, "parameter_name" },
    { "buffer", T2O_SPEC_BUFFER, "buffer_name" },
    { "tensor_constant", T2O_SPEC_CONSTANT_TENSOR, "tensor_constant_name" },
    { "custom_obj", T2O_SPEC_CUSTOM_OBJ, "custom_obj_name" },
    { "token", T2O_SPEC_TOKEN, NULL },
    { "constant_input", T2O_SPEC_NONE, NULL },
    { NULL, T2O_SPEC_NONE, NULL },
};

static const spec_tag output_tags[] = {
    { "user_output", T2O_SPEC_USER_OUTPUT, NULL },
    { "loss_output", T2O_SPEC_LOSS_OUTPUT, NULL },
    { "buffer_mutation", T2O_SPEC_BUFFER_MUTATION, "buffer_name" },
    { "parameter_mutation", T2O_SPEC_PARAMETER_MUTATION, "parameter_name" },
    { "user_input_mutation", T2O_SPEC_USER_INPUT_MUTATION, "user_input_name" },
    { "gradient_to_parameter", T2O_SPEC_GRADIENT_TO_PARAMETER, "parameter_name" },
    { "gradient_to_user_input", T2O_SPEC_GRADIENT_TO_USER_INPUT, "user_input_name" },
    { "token", T2O_SPEC_TOKEN, NULL },
    { NULL, T2O_SPEC_NONE, NULL },
};

/* NULL after an error; *body is what stands behind the tag, *target is interned or NULL. */
static const spec_tag *read_spec(t2o_json_doc *d, const t2o_json *json, const spec_tag *tags,
                                 const t2o_json **body, const char **target)
{
    *body = t2o_json_union(d, json);
    *target = NULL;
    if (!*body)
        return NULL;
    while (tags->name && strcmp(tags->name, t2o_json_key(*body)))
        tags++;
    if (!tags->name) {
        t2o_json_fail(d, json, "the signature has an unknown kind of entry, '%s'",
                      t2o_json_key(*body));
        return NULL;
    }
    if (tags->target) {
        const char *text;
        if (!t2o_json_text(d, t2o_json_get(d, *body, tags->target), &text))
            return NULL;
        *target = t2o_intern(d->s, text);
    }
    return tags;
}

/* The name in an arg {"name": n}, {"as_tensor": {"name": n}} or {"as_sym_int": {"as_name": n}}. */
static const char *spec_arg_name(const t2o_json *body)
{
    const t2o_json *arg = t2o_json_find(body, "arg");
    const char *name = t2o_json_maybe_text(t2o_json_find(arg, "name"));
    const t2o_json *inner = t2o_json_first(arg);
    if (!name)
        name = t2o_json_maybe_text(t2o_json_find(inner, "name"));
    return name ? name : t2o_json_maybe_text(t2o_json_find(inner, "as_name"));
}

/* Entry i of the signature belongs to port i; the name is there twice and has to be the same. */
static bool check_port(t2o_json_doc *d, const t2o_json *spec, const t2o_json *body,
                       const t2o_ports *ports, uint32_t i)
{
    const char *said = spec_arg_name(body);
    const t2o_arg *arg = &ports->args[i];
    if (!said || arg->kind != T2O_ARG_VALUE || !strcmp(said, ports->values[arg->index]->name))
        return true;
    return t2o_json_fail(d, spec, "the signature says '%s' where the graph has '%s'", said,
                         ports->values[arg->index]->name);
}

static bool bind_input(t2o_json_doc *d, const t2o_json *json, const t2o_ports *ports, uint32_t i)
{
    const t2o_json *body;
    const char *target;
    const spec_tag *tag = read_spec(d, json, input_tags, &body, &target);
    if (!tag || !check_port(d, json, body, ports, i))
        return false;
    if (ports->args[i].kind != T2O_ARG_VALUE)
        return tag->kind == T2O_SPEC_NONE || tag->kind == T2O_SPEC_USER_INPUT ||
               t2o_json_fail(d, json, "'%s' is bound to a literal", tag->name);
    t2o_value *v = ports->values[ports->args[i].index];
    bool persistent = true;
    const t2o_json *flag = t2o_json_find(body, "persistent");
    if (flag && !t2o_json_bool(d, flag, &persistent))
        return false;
    v->spec = tag->kind;
    v->target = target;
    v->persistent = persistent && (tag->kind == T2O_SPEC_PARAMETER || tag->kind == T2O_SPEC_BUFFER);
    if (tag->kind == T2O_SPEC_TOKEN)
        v->kind = T2O_VALUE_OBJECT;
    return true;
}

static bool bind_inputs(t2o_json_doc *d, const t2o_json *list, const t2o_ports *ports)
{
    if (!t2o_json_array(d, list))
        return false;
    if (t2o_json_count(list) != ports->n)
        return t2o_json_fail(d, list, "%u entries for the graph's %u inputs", t2o_json_count(list),
                             ports->n);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v))
        if (!bind_input(d, v, ports, i++))
            return false;
    return true;
}

static bool bind_outputs(t2o_json_doc *d, const t2o_json *list, t2o_body *body)
{
    const t2o_ports *ports = &body->outputs;
    if (!t2o_json_array(d, list))
        return false;
    if (t2o_json_count(list) != ports->n)
        return t2o_json_fail(d, list, "%u entries for the graph's %u outputs", t2o_json_count(list),
                             ports->n);
    uint32_t i = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v), i++) {
        const t2o_json *inner;
        const char *target;
        const spec_tag *tag = read_spec(d, v, output_tags, &inner, &target);
        if (!tag || !check_port(d, v, inner, ports, i))
            return false;
        if (tag->kind == T2O_SPEC_TOKEN && ports->args[i].kind == T2O_ARG_VALUE)
            ports->values[ports->args[i].index]->kind = T2O_VALUE_OBJECT;
        t2o_body_add_output(body, &ports->args[i], tag->kind, target);
    }
    return true;
}

static bool read_signature(t2o_json_doc *d, const t2o_json *module, t2o_body *body)
{
    const t2o_json *signature = t2o_json_get(d, module, "signature");
    return bind_inputs(d, t2o_json_get(d, signature, "input_specs"), &body->inputs) &&
           bind_outputs(d, t2o_json_get(d, signature, "output_specs"), body);
}

/* ---- weights ---- */

/* A weight that the archive does not list, in the shape that the graph gives it. */
static const t2o_tensor *without_data(const t2o_value *v)
{
    t2o_arena *arena = v->graph->s->arena;
    int64_t *dims = T2O_NEW_N(arena, int64_t, v->rank);
    for (int32_t i = 0; i < v->rank; i++) {
        if (!t2o_expr_is_int(v->dims[i]))
            return NULL;
        dims[i] = v->dims[i]->value;
    }
    t2o_tensor *t = T2O_NEW(arena, t2o_tensor);
    t->dtype = v->dtype;
    t->rank = (uint32_t)v->rank;
    t->dims = dims;
    return t;
}

/* Whoever reads the data goes by the tensor, whoever converts goes by the value: they have to
 * agree. */
static bool agrees(const t2o_value *v, const t2o_tensor *t)
{
    if (v->dtype != t->dtype || v->rank != (int32_t)t->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (t2o_expr_is_int(v->dims[i]) && v->dims[i]->value != t->dims[i])
            return false;
    return true;
}

/* `objects` gets those that are no plain tensor. */
static bool bind_weight(t2o_weights *w, t2o_value *v, t2o_map *objects)
{
    t2o_session *s = v->graph->s;
    const t2o_tensor *t;
    const t2o_pickle *object;
    if (!t2o_weights_find(w, v->target, &t, &object))
        return false;
    if (object) {
        v->wrapped = object->kind == T2O_PICKLE_OPAQUE && object->text ? object->text : "a Python value";
        t2o_map_set(s->arena, objects, v->name, (void *)object);
    }
    if (t && !agrees(v, t))
        return t2o_fail(s, "E0504", "weight '%s' is %s in the graph, but its data are not",
                        v->target, t2o_value_type_text(v->graph, v));
    v->data = t;
    return true;
}

static bool is_weight(const t2o_value *v)
{
    return v->kind == T2O_VALUE_TENSOR &&
           (v->spec == T2O_SPEC_PARAMETER || v->spec == T2O_SPEC_BUFFER ||
            v->spec == T2O_SPEC_CONSTANT_TENSOR);
}

/* What is wrong with a weight that nothing uses does not matter. */
static bool bind_weights(t2o_weights *w, t2o_graph *g)
{
    t2o_map objects = { 0 };
    for (size_t i = 0; i < g->inputs.n; i++) {
        t2o_value *v = g->inputs.at[i];
        if (!is_weight(v))
            continue;
        size_t n_diags = g->s->diags.n;
        v->constant = true;
        if (!bind_weight(w, v, &objects)) {
            if (v->mark)
                return false;
            t2o_forget_diags(g->s, n_diags);
        }
        if (!v->data)
            v->data = without_data(v);
    }
    t2o_subclass_unwrap(g, &objects);
    return true;
}

/* ---- how inputs and outputs nest ---- */

/* The entry of the model itself is the one without a path. */
static void read_specs(const t2o_json *module, t2o_program *p)
{
    const t2o_json *calls = t2o_json_find(module, "module_call_graph");
    for (const t2o_json *v = t2o_json_first(calls); v; v = t2o_json_next(v)) {
        const char *path = t2o_json_maybe_text(t2o_json_find(v, "fqn"));
        const t2o_json *signature = t2o_json_find(v, "signature");
        if (!path || *path)
            continue;
        p->in_spec = t2o_json_maybe_text(t2o_json_find(signature, "in_spec"));
        p->out_spec = t2o_json_maybe_text(t2o_json_find(signature, "out_spec"));
        return;
    }
}

/* ---- the whole ---- */

static bool read_program(t2o_body_reader *r, t2o_archive *a, const char *model, t2o_program *p)
{
    t2o_json_doc *d = r->doc;
    t2o_body body;
    if (!read_header(d, p) || !read_ranges(r, p))
        return false;
    t2o_weights *weights = t2o_weights_open(d->s, a, model);
    if (!weights)
        return false;
    const t2o_json *module = t2o_json_get(d, d->root, "graph_module");
    if (!t2o_body_read(r, t2o_json_get(d, module, "graph"), "main_graph", &body) ||
        !read_signature(d, module, &body) || !bind_weights(weights, body.graph))
        return false;
    read_specs(module, p);
    p->doubt = r->doubt;
    t2o_weights_list(weights, &p->state);
    t2o_graph_clear_marks(body.graph);
    p->graph = body.graph;
    return true;
}

t2o_program *t2o_program_read(t2o_exprs *exprs, t2o_archive *a, t2o_record *record,
                              const char *model)
{
    t2o_session *s = a->s;
    if (!t2o_archive_read(a, record))
        return NULL;
    t2o_program *p = T2O_NEW(s->arena, t2o_program);
    p->path = a->path;
    p->model = model;
    t2o_body_reader r = { .exprs = exprs, .program = p };
    r.doc = t2o_json_parse(s, record->name, record->bytes, record->size);
    return r.doc && read_program(&r, a, model, p) ? p : NULL;
}
