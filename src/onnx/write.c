/* write.c: an ONNX graph as a model file.
 *
 * The whole model is first built as protobuf-c's structures in the arena, which point at names
 * and weights where they are; then it is packed straight into the output. A tensor whose
 * elements do not lie side by side is packed with the address of its t2o_tensor in place of
 * bytes: append() knows that address and writes the elements block by block.
 */
#include "onnx/metadata.h"
#include "onnx/onnx.h"

#include "onnx.pb-c.h"

#include <stdlib.h>

#ifndef T2O_VERSION
#define T2O_VERSION "0.1.0"
#endif

#define BLOCK 65536 /* bytes of a strided tensor that are gathered at a time */
#define CUSTOM_DOMAIN_VERSION 1
#define LEAST_IR_VERSION 4 /* before it, every initialiser had to be an input too */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw_data is little endian; this writer does not swap bytes"
#endif

/* Declares `name`, a pointer to a new message: NEW_MESSAGE(w, node, NodeProto, node_proto). */
#define NEW_MESSAGE(w, name, type, lower)                                                          \
    Onnx__##type *name = T2O_NEW((w)->arena, Onnx__##type);                                        \
    onnx__##lower##__init(name)

typedef T2O_VEC(Onnx__ValueInfoProto *) value_infos;

typedef struct writer {
    t2o_session *s;
    t2o_arena *arena;
    const t2o_onnx_options *options;
    t2o_map domains;                    /* of operators outside ONNX's own domain */
    T2O_VEC(const t2o_tensor *) strided; /* sorted by address once all are known */
    uint64_t tensor_bytes;
} writer;

/* protobuf-c's structures have no const; nothing writes through these. */
static char *text_field(const char *text)
{
    return (char *)text;
}

static bool name_field(writer *w, const t2o_value *v, char **field)
{
    if (!v->name)
        return t2o_fail(w->s, "E0102", "a value of graph '%s' has no name", v->graph->name);
    *field = text_field(v->name);
    return true;
}

/* ---- Metadata ---- */

static size_t props_field(writer *w, const t2o_props *props, Onnx__StringStringEntryProto ***field)
{
    *field = T2O_NEW_N(w->arena, Onnx__StringStringEntryProto *, props->n);
    for (size_t i = 0; i < props->n; i++) {
        NEW_MESSAGE(w, entry, StringStringEntryProto, string_string_entry_proto);
        entry->key = text_field(props->at[i].key);
        entry->value = text_field(props->at[i].value);
        (*field)[i] = entry;
    }
    return props->n;
}

/* ---- Tensors ---- */

/* Bytes of the elements side by side; types below a byte are packed. -1 when they cannot be
 * written. */
static int64_t tensor_size(const t2o_tensor *t)
{
    int64_t n = t2o_tensor_count(t);
    switch (t->dtype) {
    case T2O_UINT4: case T2O_INT4: case T2O_FLOAT4_E2M1: return n < 0 ? n : n / 2 + n % 2;
    case T2O_UINT2: case T2O_INT2: return n < 0 ? n : n / 4 + (n % 4 != 0);
    default: return t2o_dtype_size(t->dtype) ? t2o_tensor_bytes(t) : -1;
    }
}

static bool raw_data_field(writer *w, const t2o_tensor *t, const char *name,
                           ProtobufCBinaryData *field)
{
    int64_t bytes = tensor_size(t);
    bool contiguous = t2o_tensor_contiguous(t);
    if (bytes < 0 || t->dtype >= T2O_COMPLEX32 || (!contiguous && !t2o_dtype_size(t->dtype)))
        return t2o_fail(w->s, "E0102", "tensor '%s' of dtype %s cannot be written", name,
                        t2o_dtype_name(t->dtype));
    if (bytes && !t->data)
        return t2o_fail(w->s, "E0507", "tensor '%s' has no data", name);
    w->tensor_bytes += (uint64_t)bytes;
    field->len = (size_t)bytes;
    field->data = (uint8_t *)(bytes ? t->data : NULL);
    if (bytes && !contiguous) {
        field->data = (uint8_t *)t;
        t2o_push(w->arena, &w->strided, t);
    }
    return true;
}

/* named: initialisers carry their name, attributes do not. */
static Onnx__TensorProto *tensor_proto(writer *w, const t2o_tensor *t, const char *name, bool named)
{
    NEW_MESSAGE(w, p, TensorProto, tensor_proto);
    p->n_dims = t->rank;
    p->dims = (int64_t *)t->dims;
    p->has_data_type = true;
    p->data_type = t->dtype;
    p->has_raw_data = true;
    p->name = named ? text_field(name) : NULL;
    return raw_data_field(w, t, name, &p->raw_data) ? p : NULL;
}

/* ---- Types of values ---- */

static Onnx__TensorShapeProto__Dimension *dimension(writer *w, const t2o_graph *g,
                                                    const t2o_expr *dim)
{
    Onnx__TensorShapeProto__Dimension *d = T2O_NEW(w->arena, Onnx__TensorShapeProto__Dimension);
    onnx__tensor_shape_proto__dimension__init(d);
    if (t2o_expr_is_int(dim)) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        d->dim_value = dim->value;
    } else if (dim) {
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = text_field(t2o_expr_text(g->exprs, dim));
    }
    return d;
}

static Onnx__TensorShapeProto *shape_proto(writer *w, const t2o_value *v)
{
    NEW_MESSAGE(w, shape, TensorShapeProto, tensor_shape_proto);
    shape->n_dim = (size_t)v->rank;
    shape->dim = T2O_NEW_N(w->arena, Onnx__TensorShapeProto__Dimension *, v->rank);
    for (int32_t i = 0; i < v->rank; i++)
        shape->dim[i] = dimension(w, v->graph, v->dims[i]);
    return shape;
}

static Onnx__TypeProto *type_proto(writer *w, const t2o_value *v)
{
    NEW_MESSAGE(w, type, TypeProto, type_proto);
    Onnx__TypeProto__Tensor *tensor = T2O_NEW(w->arena, Onnx__TypeProto__Tensor);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = true;
    tensor->elem_type = v->dtype;
    tensor->shape = v->rank >= 0 ? shape_proto(w, v) : NULL;
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    return type;
}

/* Values that are no tensors (sequences) go without a type. */
static Onnx__ValueInfoProto *value_info(writer *w, const t2o_value *v, const t2o_props *props)
{
    NEW_MESSAGE(w, info, ValueInfoProto, value_info_proto);
    if (!name_field(w, v, &info->name))
        return NULL;
    info->type = v->kind == T2O_VALUE_TENSOR ? type_proto(w, v) : NULL;
    if (!w->options->strip_meta)
        info->n_metadata_props = props_field(w, props, &info->metadata_props);
    return info;
}

/* ---- Attributes ---- */

static Onnx__GraphProto *graph_proto(writer *w, const t2o_graph *g);

static int64_t int_of(const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_BOOL: return arg->b;
    case T2O_ARG_DTYPE: return arg->dtype;
    case T2O_ARG_EXPR: return t2o_expr_is_int(arg->expr) ? arg->expr->value : 0;
    case T2O_ARG_FLOAT: return (int64_t)arg->f;
    default: return arg->i;
    }
}

static float float_of(const t2o_arg *arg)
{
    return arg->kind == T2O_ARG_FLOAT ? (float)arg->f : (float)int_of(arg);
}

static ProtobufCBinaryData bytes_of(const t2o_arg *arg)
{
    const char *text = arg->text ? arg->text : "";
    size_t n = arg->kind == T2O_ARG_STRING && arg->n ? arg->n : strlen(text);
    return (ProtobufCBinaryData){ n, (uint8_t *)text };
}

/* The attribute type that says most of an argument by itself, 0 when none does: for operators
 * without a schema. */
static t2o_attr_type own_type(const t2o_arg *arg)
{
    switch (arg->kind) {
    case T2O_ARG_INT: case T2O_ARG_BOOL: case T2O_ARG_DTYPE: return T2O_ATTR_INT;
    case T2O_ARG_EXPR: return t2o_expr_is_int(arg->expr) ? T2O_ATTR_INT : 0;
    case T2O_ARG_FLOAT: return T2O_ATTR_FLOAT;
    case T2O_ARG_STRING:
    case T2O_ARG_DEVICE:
    case T2O_ARG_LAYOUT:
    case T2O_ARG_MEMORY_FORMAT: return T2O_ATTR_STRING;
    case T2O_ARG_TENSOR: return T2O_ATTR_TENSOR;
    case T2O_ARG_GRAPH: return T2O_ATTR_GRAPH;
    default: return 0;
    }
}

/* A list is of what all its items are; integers and floats together are floats, an empty list is
 * of integers. */
static t2o_attr_type own_list_type(const t2o_arg *list)
{
    t2o_attr_type type = list->n ? own_type(&list->items[0]) : T2O_ATTR_INT;
    for (uint32_t i = 1; i < list->n && type; i++) {
        t2o_attr_type item = own_type(&list->items[i]);
        if (item == type)
            continue;
        bool numbers = item && item <= T2O_ATTR_INT && type <= T2O_ATTR_INT;
        type = numbers ? T2O_ATTR_FLOAT : 0;
    }
    return type ? type + T2O_ATTR_FLOATS - T2O_ATTR_FLOAT : 0;
}

static t2o_attr_type attr_type(const t2o_schema *schema, const t2o_attr *attr)
{
    int at = schema ? t2o_schema_attr(schema, attr->name) : -1;
    if (at >= 0)
        return schema->attrs[at].type;
    return attr->arg.kind == T2O_ARG_LIST ? own_list_type(&attr->arg) : own_type(&attr->arg);
}

/* Sets one list field of an AttributeProto, element by element. */
#define FILL_LIST(w, p, field, type, list, element)                                                \
    do {                                                                                           \
        (p)->n_##field = (list)->n;                                                                \
        (p)->field = T2O_NEW_N((w)->arena, type, (list)->n);                                       \
        for (uint32_t i_ = 0; i_ < (list)->n; i_++) {                                              \
            const t2o_arg *item = &(list)->items[i_];                                              \
            (p)->field[i_] = element;                                                              \
        }                                                                                          \
    } while (0)

static bool fill_tensors(writer *w, Onnx__AttributeProto *p, const t2o_arg *list)
{
    bool ok = true;
    FILL_LIST(w, p, tensors, Onnx__TensorProto *, list,
              tensor_proto(w, item->tensor, p->name, false));
    for (size_t i = 0; i < p->n_tensors; i++)
        ok &= p->tensors[i] != NULL;
    return ok;
}

static bool fill_graphs(writer *w, Onnx__AttributeProto *p, const t2o_arg *list)
{
    bool ok = true;
    FILL_LIST(w, p, graphs, Onnx__GraphProto *, list, graph_proto(w, item->graph));
    for (size_t i = 0; i < p->n_graphs; i++)
        ok &= p->graphs[i] != NULL;
    return ok;
}

static bool fill_attr(writer *w, Onnx__AttributeProto *p, t2o_attr_type type, const t2o_arg *arg)
{
    switch (type) {
    case T2O_ATTR_INT: p->has_i = true; p->i = int_of(arg); return true;
    case T2O_ATTR_FLOAT: p->has_f = true; p->f = float_of(arg); return true;
    case T2O_ATTR_STRING: p->has_s = true; p->s = bytes_of(arg); return true;
    case T2O_ATTR_TENSOR: p->t = tensor_proto(w, arg->tensor, p->name, false); return p->t != NULL;
    case T2O_ATTR_GRAPH: p->g = graph_proto(w, arg->graph); return p->g != NULL;
    case T2O_ATTR_INTS: FILL_LIST(w, p, ints, int64_t, arg, int_of(item)); return true;
    case T2O_ATTR_FLOATS: FILL_LIST(w, p, floats, float, arg, float_of(item)); return true;
    case T2O_ATTR_STRINGS:
        FILL_LIST(w, p, strings, ProtobufCBinaryData, arg, bytes_of(item));
        return true;
    case T2O_ATTR_TENSORS: return fill_tensors(w, p, arg);
    case T2O_ATTR_GRAPHS: return fill_graphs(w, p, arg);
    default: return false;
    }
}

/* What the schema asks for and the argument is must agree, or the union in t2o_arg would be
 * misread. */
static bool readable_as(const t2o_arg *arg, t2o_attr_type type)
{
    t2o_attr_type own = arg->kind == T2O_ARG_LIST ? own_list_type(arg) : own_type(arg);
    bool empty =
        arg->kind == T2O_ARG_LIST && !arg->n && type >= T2O_ATTR_FLOATS && type <= T2O_ATTR_GRAPHS;
    bool whole = (own == T2O_ATTR_INT && type == T2O_ATTR_FLOAT) ||
                 (own == T2O_ATTR_INTS && type == T2O_ATTR_FLOATS);
    return empty || whole || (own && own == type);
}

static Onnx__AttributeProto *attribute_proto(writer *w, const t2o_node *n, const t2o_schema *schema,
                                             const t2o_attr *attr)
{
    NEW_MESSAGE(w, p, AttributeProto, attribute_proto);
    t2o_attr_type type = attr_type(schema, attr);
    p->name = text_field(attr->name);
    p->has_type = true;
    p->type = (Onnx__AttributeProto__AttributeType)type;
    if (!readable_as(&attr->arg, type)) {
        t2o_fail(w->s, "E0102", "attribute '%s' of %s has no form in ONNX", attr->name, n->op);
        return NULL;
    }
    return fill_attr(w, p, type, &attr->arg) ? p : NULL;
}

static bool attributes_field(writer *w, const t2o_node *n, const t2o_schema *schema,
                             Onnx__NodeProto *p)
{
    p->attribute = T2O_NEW_N(w->arena, Onnx__AttributeProto *, n->n_attrs);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].arg.kind == T2O_ARG_NONE)
            continue;
        Onnx__AttributeProto *attribute = attribute_proto(w, n, schema, &n->attrs[i]);
        if (!attribute)
            return false;
        p->attribute[p->n_attribute++] = attribute;
    }
    return true;
}

/* ---- Nodes ---- */

/* The names of inputs or outputs; those left out are empty, and at the end not written. */
static bool names_field(writer *w, t2o_value *const *values, uint32_t n, size_t *n_names,
                        char ***names)
{
    while (n && !values[n - 1])
        n--;
    *n_names = n;
    *names = T2O_NEW_N(w->arena, char *, n);
    for (uint32_t i = 0; i < n; i++) {
        (*names)[i] = text_field("");
        if (values[i] && !name_field(w, values[i], &(*names)[i]))
            return false;
    }
    return true;
}

/* Splits the op at its last "::"; domains other than ONNX's are noted for the opset imports. */
static void operator_fields(writer *w, const t2o_node *n, Onnx__NodeProto *p)
{
    const char *type = n->op, *colons;
    while ((colons = strstr(type, "::")))
        type = colons + 2;
    p->op_type = text_field(type);
    if (t2o_onnx_op_type(n) || type == n->op)
        return;
    p->domain = text_field(t2o_intern_n(w->s, n->op, (size_t)(type - 2 - n->op)));
    t2o_map_set(w->arena, &w->domains, p->domain, p->domain);
}

/* A node without a name takes that of its first output: viewers need one. */
static const char *node_name(writer *w, const t2o_node *n)
{
    if (n->name)
        return n->name;
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] && n->outputs[i]->name)
            return t2o_printf(w->arena, "node_%s", n->outputs[i]->name);
    return NULL;
}

static Onnx__NodeProto *node_proto(writer *w, const t2o_node *n)
{
    NEW_MESSAGE(w, p, NodeProto, node_proto);
    const char *op = t2o_onnx_op_type(n);
    const t2o_schema *schema = op ? t2o_schema_find(op, w->options->opset) : NULL;
    t2o_props props = { 0 };
    operator_fields(w, n, p);
    p->name = text_field(node_name(w, n));
    if (!w->options->strip_meta)
        t2o_metadata_of_node(&props, n);
    p->n_metadata_props = props_field(w, &props, &p->metadata_props);
    bool ok = names_field(w, n->inputs, n->n_inputs, &p->n_input, &p->input) &&
              names_field(w, n->outputs, n->n_outputs, &p->n_output, &p->output) &&
              attributes_field(w, n, schema, p);
    return ok ? p : NULL;
}

/* ---- Graphs ---- */

static bool nodes_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->node = T2O_NEW_N(w->arena, Onnx__NodeProto *, g->n_nodes);
    for (const t2o_node *n = g->first; n; n = n->next) {
        Onnx__NodeProto *node = node_proto(w, n);
        if (!node)
            return false;
        p->node[p->n_node++] = node;
    }
    return true;
}

static bool inputs_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->input = T2O_NEW_N(w->arena, Onnx__ValueInfoProto *, g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++) {
        t2o_props props = { 0 };
        t2o_metadata_of_value(&props, g->inputs.at[i]);
        p->input[i] = value_info(w, g->inputs.at[i], &props);
        if (!p->input[p->n_input++])
            return false;
    }
    return true;
}

static bool outputs_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->output = T2O_NEW_N(w->arena, Onnx__ValueInfoProto *, g->outputs.n);
    for (size_t i = 0; i < g->outputs.n; i++) {
        const t2o_output_spec *o = &g->outputs.at[i];
        t2o_props props = { 0 };
        if (!o->value)
            return t2o_fail(w->s, "E0102", "output %zu of graph '%s' is no value", i + 1, g->name);
        t2o_metadata_of_output(&props, o);
        p->output[i] = value_info(w, o->value, &props);
        if (!p->output[p->n_output++])
            return false;
    }
    return true;
}

static bool add_initialiser(writer *w, Onnx__GraphProto *p, const t2o_value *v, const t2o_tensor *data)
{
    char *name = NULL;
    if (!name_field(w, v, &name))
        return false;
    if (!data)
        return t2o_fail(w->s, "E0507", "tensor '%s' has no data", name);
    p->initializer[p->n_initializer] = tensor_proto(w, data, name, true);
    return p->initializer[p->n_initializer++] != NULL;
}

static bool initialisers_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->initializer = T2O_NEW_N(w->arena, Onnx__TensorProto *, g->constants.n + g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->initial && !add_initialiser(w, p, g->inputs.at[i], g->inputs.at[i]->initial))
            return false;
    for (size_t i = 0; i < g->constants.n; i++)
        if (!add_initialiser(w, p, g->constants.at[i], g->constants.at[i]->data))
            return false;
    return true;
}

static bool add_info(writer *w, value_infos *infos, const t2o_value *v, const t2o_props *props)
{
    Onnx__ValueInfoProto *info = value_info(w, v, props);
    t2o_push(w->arena, infos, info);
    return info != NULL;
}

/* An initialiser's type is known from its data: it is listed only for its metadata. */
static bool initialiser_infos(writer *w, const t2o_graph *g, value_infos *infos)
{
    for (size_t i = 0; !w->options->strip_meta && i < g->constants.n; i++) {
        t2o_props props = { 0 };
        t2o_metadata_of_value(&props, g->constants.at[i]);
        if (props.n && !add_info(w, infos, g->constants.at[i], &props))
            return false;
    }
    return true;
}

static bool node_infos(writer *w, const t2o_node *n, const t2o_map *outputs, value_infos *infos)
{
    static const t2o_props none;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const t2o_value *v = n->outputs[i];
        bool typed =
            v && v->kind == T2O_VALUE_TENSOR && v->rank >= 0 && v->dtype != T2O_NO_DTYPE && v->name;
        if (typed && !t2o_map_get(outputs, v->name) && !add_info(w, infos, v, &none))
            return false;
    }
    return true;
}

static bool value_infos_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    value_infos infos = { 0 };
    t2o_map outputs = { 0 };
    for (size_t i = 0; i < g->outputs.n; i++)
        t2o_map_set(w->arena, &outputs, g->outputs.at[i].value->name, g->outputs.at[i].value);
    if (!initialiser_infos(w, g, &infos))
        return false;
    for (const t2o_node *n = g->first; n; n = n->next)
        if (!node_infos(w, n, &outputs, &infos))
            return false;
    p->n_value_info = infos.n;
    p->value_info = infos.at;
    return true;
}

static Onnx__GraphProto *graph_proto(writer *w, const t2o_graph *g)
{
    NEW_MESSAGE(w, p, GraphProto, graph_proto);
    p->name = text_field(g->name);
    bool ok = inputs_field(w, g, p) && outputs_field(w, g, p) && initialisers_field(w, g, p) &&
              value_infos_field(w, g, p) && nodes_field(w, g, p);
    return ok ? p : NULL;
}

/* ---- The model ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const t2o_map_entry *)a)->key, ((const t2o_map_entry *)b)->key);
}

static Onnx__OperatorSetIdProto *opset_import(writer *w, const char *domain, int64_t version)
{
    NEW_MESSAGE(w, p, OperatorSetIdProto, operator_set_id_proto);
    p->domain = text_field(domain);
    p->has_version = true;
    p->version = version;
    return p;
}

/* The map of domains is not looked up again: sorting its entries is its last use. */
static void opset_imports_field(writer *w, Onnx__ModelProto *p)
{
    if (w->domains.n)
        qsort(w->domains.entries, w->domains.n, sizeof *w->domains.entries, by_key);
    p->n_opset_import = w->domains.n + 1;
    p->opset_import = T2O_NEW_N(w->arena, Onnx__OperatorSetIdProto *, p->n_opset_import);
    p->opset_import[0] = opset_import(w, "", w->options->opset);
    for (size_t i = 0; i < w->domains.n; i++)
        p->opset_import[i + 1] = opset_import(w, w->domains.entries[i].key, CUSTOM_DOMAIN_VERSION);
}

static int ir_version(const t2o_onnx_options *options)
{
    int needed = t2o_ir_version_for(options->opset);
    if (options->ir_version)
        return options->ir_version;
    int least = options->opset >= 20 ? 10 : LEAST_IR_VERSION;
    return needed < least ? least : needed;
}

static Onnx__ModelProto *model_proto(writer *w, const t2o_graph *g)
{
    NEW_MESSAGE(w, p, ModelProto, model_proto);
    t2o_props props = { 0 };
    p->has_ir_version = true;
    p->ir_version = ir_version(w->options);
    p->producer_name = text_field("t2o");
    p->producer_version = text_field(T2O_VERSION);
    p->graph = graph_proto(w, g);
    if (!p->graph)
        return NULL;
    p->graph->name = text_field("main_graph");
    if (!w->options->strip_meta)
        t2o_metadata_of_graph(&props, g);
    p->graph->n_metadata_props = props_field(w, &props, &p->graph->metadata_props);
    opset_imports_field(w, p);
    return p;
}

/* ---- Packing ---- */

typedef struct stream {
    ProtobufCBuffer base;
    writer *w;
    t2o_output *out;
} stream;

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

static void write_strided(t2o_output *out, const t2o_tensor *t)
{
    uint8_t block[BLOCK];
    int64_t n = t2o_tensor_count(t), size = (int64_t)t2o_dtype_size(t->dtype), step = BLOCK / size;
    for (int64_t first = 0; first < n; first += step) {
        int64_t count = n - first < step ? n - first : step;
        t2o_tensor_read(t, first, count, block);
        t2o_output_write(out, block, (size_t)(count * size));
    }
}

static void append(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
    stream *to = (stream *)buffer;
    writer *w = to->w;
    if (!n)
        return;
    if (w->strided.n &&
        bsearch(&bytes, w->strided.at, w->strided.n, sizeof *w->strided.at, by_address))
        write_strided(to->out, (const t2o_tensor *)(const void *)bytes);
    else
        t2o_output_write(to->out, bytes, n);
}

/* The tensors alone are summed first, in 64 bits: then the sizes that protobuf-c adds up cannot
 * overflow. */
static bool fits(writer *w, const Onnx__ModelProto *model)
{
    uint64_t size = w->tensor_bytes;
    if (size <= INT32_MAX)
        size = onnx__model_proto__get_packed_size(model);
    if (size <= INT32_MAX)
        return true;
    t2o_fail(w->s, "E0102",
             "the model takes %.2f GiB, but one ONNX file holds at most 2 GiB (2^31-1 bytes)",
             (double)size / (1 << 30));
    t2o_hint(w->s, "write the weights into a file of their own: --weights external");
    return false;
}

bool t2o_onnx_write(const t2o_graph *g, const t2o_onnx_options *options, t2o_output *out)
{
    writer w = { .s = g->s, .arena = g->s->arena, .options = options };
    const t2o_graph *torch = g->program ? g->program->graph : NULL;
    t2o_metadata_count_users(torch);
    const Onnx__ModelProto *model = model_proto(&w, g);
    t2o_metadata_clear_users(torch);
    if (!model || !fits(&w, model))
        return false;
    if (w.strided.n)
        qsort(w.strided.at, w.strided.n, sizeof *w.strided.at, by_address);
    stream to = { .base.append = append, .w = &w, .out = out };
    protobuf_c_message_pack_to_buffer(&model->base, &to.base);
    return true;
}
