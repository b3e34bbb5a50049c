/* write.c: an ONNX graph as a model file.
 *
 * The whole model is first built as protobuf-c's structures in the arena, which point at names
 * and weights where they are; then it is packed straight into the output. A tensor whose
 * elements do not lie side by side is packed with the address of its t2o_tensor in place of
 * bytes: append() knows that address and writes the elements block by block.
 */
#include "base/version.h"
#include "onnx/metadata.h"
#include "onnx/onnx.h"

#include "onnx.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>

#define EXTERNAL_BYTES 1024          /* smaller initialisers always stand in the model */
#define ALIGNED_BYTES ((uint64_t)1 << 20) /* larger ones are aligned, so that a runtime can map them */
#define CUSTOM_DOMAIN_VERSION 1
#define FUNCTIONS_IR_VERSION 8
#define LEAST_IR_VERSION 4 /* before it, every initialiser had to be an input too */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw_data is little endian; this writer does not swap bytes"
#endif

/* Declares `name`, a pointer to a new message: NEW_MESSAGE(w, node, NodeProto, node_proto). */
#define NEW_MESSAGE(w, name, type, lower)                                                          \
    Onnx__##type *name = T2O_NEW((w)->arena, Onnx__##type);                                        \
    onnx__##lower##__init(name)

typedef T2O_VEC(Onnx__ValueInfoProto *) value_infos;

/* A tensor in the file of weights; the entry tells its place once all are known. */
typedef struct placed {
    const t2o_tensor *tensor;
    const char *name;
    Onnx__StringStringEntryProto *entry;
    uint64_t offset;
} placed;

typedef struct writer {
    t2o_session *s;
    t2o_arena *arena;
    const t2o_onnx_options *options;
    const t2o_onnx_source *source;      /* of a graph that was read from ONNX */
    t2o_map domains;                    /* of operators outside ONNX's own domain */
    T2O_VEC(const t2o_tensor *) strided; /* sorted by address once all are known */
    uint64_t tensor_bytes;
    t2o_weights weights;
    T2O_VEC(placed) external;           /* at last in the order of the file of weights */
    t2o_string header;                  /* of that file */
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

int64_t t2o_onnx_tensor_size(const t2o_tensor *t)
{
    int64_t n = t2o_tensor_count(t);
    if (t->dtype == T2O_STRING)
        return n;
    return t2o_dtype_bits(t->dtype) ? t2o_tensor_bytes(t) : -1;
}

static void string_data_field(writer *w, const t2o_tensor *t, Onnx__TensorProto *p)
{
    const t2o_text *texts = (const t2o_text *)(const void *)t->data;
    p->n_string_data = (size_t)t2o_tensor_count(t);
    p->string_data = T2O_NEW_N(w->arena, ProtobufCBinaryData, p->n_string_data + 1);
    for (size_t i = 0; i < p->n_string_data; i++) {
        p->string_data[i] = (ProtobufCBinaryData){ texts[i].n, (uint8_t *)texts[i].bytes };
        w->tensor_bytes += texts[i].n;
    }
}

static bool raw_data_field(writer *w, const t2o_tensor *t, const char *name,
                           ProtobufCBinaryData *field)
{
    int64_t bytes = t2o_onnx_tensor_size(t);
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

static Onnx__StringStringEntryProto *entry_field(writer *w, Onnx__TensorProto *p, const char *key, const char *value)
{
    NEW_MESSAGE(w, entry, StringStringEntryProto, string_string_entry_proto);
    entry->key = text_field(key);
    entry->value = text_field(value);
    p->external_data[p->n_external_data++] = entry;
    return entry;
}

static const char *number_text(writer *w, uint64_t number)
{
    return t2o_printf(w->arena, "%" PRIu64, number);
}

/* Returns the entry of the offset, which may be told later (NULL). */
static Onnx__StringStringEntryProto *external_data_field(writer *w, Onnx__TensorProto *p, const char *location,
                                                         const char *offset, uint64_t length)
{
    p->has_data_location = true;
    p->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    p->external_data = T2O_NEW_N(w->arena, Onnx__StringStringEntryProto *, 3);
    entry_field(w, p, "location", location);
    Onnx__StringStringEntryProto *entry = entry_field(w, p, "offset", offset);
    entry_field(w, p, "length", number_text(w, length));
    return entry;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether the bytes of an initialiser go into a file of weights. */
static bool goes_outside(const writer *w, const t2o_value *v, const t2o_tensor *t, int64_t bytes)
{
    if (w->weights == T2O_WEIGHTS_LAID_OUT) { /* that is the model's weights, the small ones too */
        bool weight = v->target && t->rank > 0 && t2o_dtype_is_float(t->dtype);
        return (weight || bytes >= EXTERNAL_BYTES) && w->options->has_place(t->dtype);
    }
    return w->weights == T2O_WEIGHTS_EXTERNAL && bytes >= EXTERNAL_BYTES && t->dtype < T2O_COMPLEX32 &&
           t2o_dtype_bits(t->dtype) && (t2o_dtype_size(t->dtype) || t2o_tensor_contiguous(t));
}

/* The bytes of an initialiser in another file, where they go into one: small ones are part of the graph's logic, and
 * runtimes want to see them. */
static bool is_outside(writer *w, const t2o_value *v, const t2o_tensor *t, Onnx__TensorProto *p)
{
    int64_t bytes = t2o_onnx_tensor_size(t);
    const t2o_file *archive = w->options->archive;
    if (bytes <= 0 || !t->data)
        return false;
    if (w->weights == T2O_WEIGHTS_LINK && bytes >= EXTERNAL_BYTES && t->in_file && t2o_tensor_contiguous(t) &&
        archive && t2o_file_holds(archive, t->data, (size_t)bytes)) {
        const char *offset = number_text(w, (uint64_t)(t->data - archive->bytes));
        external_data_field(w, p, w->options->link, offset, (uint64_t)bytes);
        return true;
    }
    if (!goes_outside(w, v, t, bytes))
        return false;
    placed at = { .tensor = t, .name = v->name };
    at.entry = external_data_field(w, p, base_name(w->options->data_path), NULL, (uint64_t)bytes);
    t2o_push(w->arena, &w->external, at);
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* One behind the other, each aligned. */
static void align_external(writer *w)
{
    uint64_t end = 0;
    for (size_t i = 0; i < w->external.n; i++) {
        uint64_t bytes = (uint64_t)t2o_onnx_tensor_size(w->external.at[i].tensor);
        uint64_t align = bytes <= ALIGNED_BYTES ? 64 : w->options->align ? (uint64_t)w->options->align : 65536;
        w->external.at[i].offset = (end + align - 1) & ~(align - 1);
        end = w->external.at[i].offset + bytes;
    }
}

/* As the format of the file has it. */
static bool lay_out(writer *w)
{
    t2o_weight_list list = { 0 };
    uint64_t *offsets = T2O_NEW_N(w->arena, uint64_t, w->external.n + 1);
    for (size_t i = 0; i < w->external.n; i++)
        t2o_push(w->arena, &list, ((t2o_weight){ .name = w->external.at[i].name, .data = w->external.at[i].tensor }));
    t2o_string_start(&w->header, w->arena);
    if (!w->options->layout(w->s, &list, &w->header, offsets))
        return false;
    for (size_t i = 0; i < w->external.n; i++)
        w->external.at[i].offset = offsets[i];
    qsort(w->external.at, w->external.n, sizeof *w->external.at, by_offset);
    return true;
}

/* Gives each weight that goes into a file its place there. */
static bool place_external(writer *w)
{
    if (!w->external.n)
        return true;
    if (w->weights != T2O_WEIGHTS_LAID_OUT)
        align_external(w);
    else if (!lay_out(w))
        return false;
    for (size_t i = 0; i < w->external.n; i++)
        w->external.at[i].entry->value = text_field(number_text(w, w->external.at[i].offset));
    return true;
}

/* Of an initialiser, which carries its name; or of an attribute (NULL). */
static Onnx__TensorProto *tensor_proto(writer *w, const t2o_tensor *t, const char *name, const t2o_value *initialiser)
{
    NEW_MESSAGE(w, p, TensorProto, tensor_proto);
    p->n_dims = t->rank;
    p->dims = (int64_t *)t->dims;
    p->has_data_type = true;
    p->data_type = t->dtype;
    p->name = initialiser ? text_field(name) : NULL;
    if (initialiser && w->weights != T2O_WEIGHTS_EMBED && is_outside(w, initialiser, t, p))
        return p;
    p->has_raw_data = t->dtype != T2O_STRING;
    if (t->dtype == T2O_STRING && t->data) {
        string_data_field(w, t, p);
        return p;
    }
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
    } else if (dim && !(w->source && t2o_expr_is_fresh(g->exprs, dim))) {
        const char *stated = w->source ? t2o_map_get(&w->source->dims, t2o_expr_text(g->exprs, dim)) : NULL;
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        d->dim_param = text_field(stated ? stated : t2o_expr_text(g->exprs, dim));
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

/* The type that a text such as "optional(seq(tensor(float32)))" names; *text is moved behind it. NULL where it is
 * none. */
static Onnx__TypeProto *container_proto(writer *w, const char **text)
{
    NEW_MESSAGE(w, type, TypeProto, type_proto);
    size_t n = strcspn(*text, "(");
    const char *form = t2o_intern_n(w->s, *text, n);
    *text += n + ((*text)[n] == '(');
    if (!strcmp(form, "tensor")) {
        Onnx__TypeProto__Tensor *tensor = T2O_NEW(w->arena, Onnx__TypeProto__Tensor);
        onnx__type_proto__tensor__init(tensor);
        n = strcspn(*text, ")");
        tensor->has_elem_type = true;
        tensor->elem_type = t2o_dtype_named(t2o_intern_n(w->s, *text, n));
        *text += n;
        type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
        type->tensor_type = tensor;
    } else if (!strcmp(form, "seq")) {
        type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
        type->sequence_type = T2O_NEW(w->arena, Onnx__TypeProto__Sequence);
        onnx__type_proto__sequence__init(type->sequence_type);
        type->sequence_type->elem_type = container_proto(w, text);
    } else if (!strcmp(form, "optional")) {
        type->value_case = ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE;
        type->optional_type = T2O_NEW(w->arena, Onnx__TypeProto__Optional);
        onnx__type_proto__optional__init(type->optional_type);
        type->optional_type->elem_type = container_proto(w, text);
    } else
        return NULL;
    return type;
}

static Onnx__TypeProto *type_proto(writer *w, const t2o_value *v)
{
    const char *container = v->container;
    if (v->kind == T2O_VALUE_OBJECT)
        return container ? container_proto(w, &container) : NULL;
    if (v->dtype == T2O_NO_DTYPE)
        return NULL;
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

/* Values whose type is not known go without one. */
static Onnx__ValueInfoProto *value_info(writer *w, const t2o_value *v, const t2o_props *props)
{
    NEW_MESSAGE(w, info, ValueInfoProto, value_info_proto);
    if (!name_field(w, v, &info->name))
        return NULL;
    info->type = type_proto(w, v);
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
    case T2O_ARG_TYPE: return T2O_ATTR_TYPE_PROTO;
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
    if (type == T2O_ATTR_TYPE_PROTO)
        return T2O_ATTR_TYPE_PROTOS;
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
              tensor_proto(w, item->tensor, p->name, NULL));
    for (size_t i = 0; i < p->n_tensors; i++)
        ok &= p->tensors[i] != NULL;
    return ok;
}

static bool fill_types(writer *w, Onnx__AttributeProto *p, const t2o_arg *list)
{
    bool ok = true;
    FILL_LIST(w, p, type_protos, Onnx__TypeProto *, list, container_proto(w, &(const char *){ item->text }));
    for (size_t i = 0; i < p->n_type_protos; i++)
        ok &= p->type_protos[i] != NULL;
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
    case T2O_ATTR_TENSOR: p->t = tensor_proto(w, arg->tensor, p->name, NULL); return p->t != NULL;
    case T2O_ATTR_GRAPH: p->g = graph_proto(w, arg->graph); return p->g != NULL;
    case T2O_ATTR_INTS: FILL_LIST(w, p, ints, int64_t, arg, int_of(item)); return true;
    case T2O_ATTR_FLOATS: FILL_LIST(w, p, floats, float, arg, float_of(item)); return true;
    case T2O_ATTR_STRINGS:
        FILL_LIST(w, p, strings, ProtobufCBinaryData, arg, bytes_of(item));
        return true;
    case T2O_ATTR_TYPE_PROTOS: return fill_types(w, p, arg);
    case T2O_ATTR_TENSORS: return fill_tensors(w, p, arg);
    case T2O_ATTR_GRAPHS: return fill_graphs(w, p, arg);
    case T2O_ATTR_TYPE_PROTO: {
        const char *type_text = arg->text;
        p->tp = container_proto(w, &type_text);
        return p->tp != NULL;
    }
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
    while (n && (!values[n - 1] || values[n - 1]->omitted))
        n--;
    *n_names = n;
    *names = T2O_NEW_N(w->arena, char *, n);
    for (uint32_t i = 0; i < n; i++) {
        (*names)[i] = text_field("");
        if (values[i] && !values[i]->omitted && !name_field(w, values[i], &(*names)[i]))
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
    if (n->meta && n->meta->doc && !w->options->strip_meta)
        p->doc_string = text_field(n->meta->doc);
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

/* Without weights they are inputs. */
static bool is_left_out(const writer *w, const t2o_value *v)
{
    return w->weights == T2O_WEIGHTS_NONE && v->target;
}

static bool add_input(writer *w, Onnx__GraphProto *p, const t2o_value *v)
{
    t2o_props props = { 0 };
    t2o_metadata_of_value(&props, v);
    p->input[p->n_input] = value_info(w, v, &props);
    return p->input[p->n_input++] != NULL;
}

static bool inputs_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->input = T2O_NEW_N(w->arena, Onnx__ValueInfoProto *, g->inputs.n + g->constants.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!add_input(w, p, g->inputs.at[i]))
            return false;
    for (size_t i = 0; i < g->constants.n; i++)
        if (is_left_out(w, g->constants.at[i]) && !add_input(w, p, g->constants.at[i]))
            return false;
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
    p->initializer[p->n_initializer] = tensor_proto(w, data, name, v);
    return p->initializer[p->n_initializer++] != NULL;
}

static bool initialisers_field(writer *w, const t2o_graph *g, Onnx__GraphProto *p)
{
    p->initializer = T2O_NEW_N(w->arena, Onnx__TensorProto *, g->constants.n + g->inputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->initial && !add_initialiser(w, p, g->inputs.at[i], g->inputs.at[i]->initial))
            return false;
    for (size_t i = 0; i < g->constants.n; i++)
        if (!is_left_out(w, g->constants.at[i]) && !add_initialiser(w, p, g->constants.at[i], g->constants.at[i]->data))
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
        if (props.n && !is_left_out(w, g->constants.at[i]) && !add_info(w, infos, g->constants.at[i], &props))
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
    for (size_t i = 0; i < w->domains.n; i++) {
        const char *domain = w->domains.entries[i].key;
        int64_t stated = w->source ? (intptr_t)t2o_map_get(&w->source->opsets, domain) : 0;
        p->opset_import[i + 1] = opset_import(w, domain, stated ? stated : CUSTOM_DOMAIN_VERSION);
    }
}

static int ir_version(const t2o_onnx_options *options, bool functions)
{
    int needed = t2o_ir_version_for(options->opset);
    if (options->ir_version)
        return options->ir_version;
    int least = options->opset >= 20 ? 10 : functions ? FUNCTIONS_IR_VERSION : LEAST_IR_VERSION;
    return needed < least ? least : needed;
}

/* ---- Functions ---- */

static bool function_names(writer *w, const t2o_graph *g, Onnx__FunctionProto *p)
{
    p->input = T2O_NEW_N(w->arena, char *, g->inputs.n);
    p->output = T2O_NEW_N(w->arena, char *, g->outputs.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!name_field(w, g->inputs.at[i], &p->input[p->n_input++]))
            return false;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!name_field(w, g->outputs.at[i].value, &p->output[p->n_output++]))
            return false;
    return true;
}

static Onnx__FunctionProto *function_proto(writer *w, const t2o_graph *g)
{
    NEW_MESSAGE(w, p, FunctionProto, function_proto);
    const char *name = strrchr(g->name, ':') + 1;
    p->name = text_field(name);
    p->domain = text_field(t2o_intern_n(w->s, g->name, (size_t)(name - 2 - g->name)));
    p->node = T2O_NEW_N(w->arena, Onnx__NodeProto *, g->n_nodes);
    for (const t2o_node *n = g->first; n; n = n->next)
        if (!(p->node[p->n_node++] = node_proto(w, n)))
            return NULL;
    return function_names(w, g, p) ? p : NULL;
}

/* Each imports what the model does: its nodes are in the same signatures. */
static bool functions_field(writer *w, const t2o_graph *g, Onnx__ModelProto *p)
{
    p->functions = T2O_NEW_N(w->arena, Onnx__FunctionProto *, g->functions.n);
    for (size_t i = 0; i < g->functions.n; i++)
        if (!(p->functions[p->n_functions++] = function_proto(w, g->functions.at[i])))
            return false;
    return true;
}

/* Those of the model that was read, and what this one was made of. */
static t2o_props properties(writer *w)
{
    t2o_props props = { 0 };
    for (size_t i = 0; w->source && !w->options->strip_meta && i < w->source->props.n; i++)
        if (strcmp(w->source->props.at[i].key, T2O_SOURCE))
            t2o_push(w->arena, &props, w->source->props.at[i]);
    if (w->options->source)
        t2o_push(w->arena, &props, ((t2o_prop){ T2O_SOURCE, w->options->source }));
    return props;
}

static Onnx__ModelProto *model_proto(writer *w, const t2o_graph *g)
{
    NEW_MESSAGE(w, p, ModelProto, model_proto);
    t2o_props props = { 0 };
    p->has_ir_version = true;
    p->ir_version = ir_version(w->options, g->functions.n > 0);
    p->producer_name = text_field("t2o");
    p->producer_version = text_field(T2O_VERSION);
    p->graph = graph_proto(w, g);
    if (!p->graph || !functions_field(w, g, p))
        return NULL;
    p->graph->name = text_field("main_graph");
    if (!w->options->strip_meta)
        t2o_metadata_of_graph(&props, g);
    p->graph->n_metadata_props = props_field(w, &props, &p->graph->metadata_props);
    t2o_props own = properties(w);
    p->n_metadata_props = props_field(w, &own, &p->metadata_props);
    opset_imports_field(w, p);
    for (size_t i = 0; i < p->n_functions; i++) {
        p->functions[i]->n_opset_import = p->n_opset_import;
        p->functions[i]->opset_import = p->opset_import;
    }
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

static void take_block(void *out, const void *bytes, size_t n)
{
    t2o_output_write(out, bytes, n);
}

static void append(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
    stream *to = (stream *)buffer;
    writer *w = to->w;
    if (!n)
        return;
    if (w->strided.n &&
        bsearch(&bytes, w->strided.at, w->strided.n, sizeof *w->strided.at, by_address))
        t2o_tensor_blocks((const t2o_tensor *)(const void *)bytes, take_block, to->out);
    else
        t2o_output_write(to->out, bytes, n);
}

/* protobuf-c adds up the size of a message anew for each message around it. So a model is written in pieces, in the
 * order of the fields, and the nodes, of which there may be very many, one by one. */
typedef struct pieces {
    Onnx__ModelProto head, tail; /* what stands before the graph, and behind it */
    Onnx__GraphProto rest;       /* the graph without its nodes, which come first */
    uint32_t *nodes;             /* their sizes */
    uint64_t graph, total;
} pieces;

enum { GRAPH_NODE = 1, MODEL_GRAPH = 7 }; /* numbers of fields */

static size_t put_varint(uint8_t *to, uint64_t number)
{
    size_t n = 0;
    for (; number >= 0x80; number >>= 7)
        to[n++] = (uint8_t)(number | 0x80);
    to[n++] = (uint8_t)number;
    return n;
}

/* What stands before a nested message of this size. */
static size_t put_header(uint8_t *to, unsigned field, uint64_t size)
{
    to[0] = (uint8_t)(field << 3 | 2);
    return 1 + put_varint(to + 1, size);
}

static void add_up(writer *w, const Onnx__ModelProto *m, pieces *p)
{
    uint8_t header[16];
    p->head = *m;
    p->head.graph = NULL;
    p->head.n_opset_import = p->head.n_metadata_props = p->head.n_functions = 0;
    onnx__model_proto__init(&p->tail);
    p->tail.n_opset_import = m->n_opset_import, p->tail.opset_import = m->opset_import;
    p->tail.n_metadata_props = m->n_metadata_props, p->tail.metadata_props = m->metadata_props;
    p->tail.n_functions = m->n_functions, p->tail.functions = m->functions;
    p->rest = *m->graph;
    p->rest.n_node = 0;
    p->nodes = T2O_NEW_N(w->arena, uint32_t, m->graph->n_node + 1);
    p->graph = onnx__graph_proto__get_packed_size(&p->rest);
    for (size_t i = 0; i < m->graph->n_node; i++) {
        p->nodes[i] = (uint32_t)onnx__node_proto__get_packed_size(m->graph->node[i]);
        p->graph += put_header(header, GRAPH_NODE, p->nodes[i]) + p->nodes[i];
    }
    p->total = onnx__model_proto__get_packed_size(&p->head) + onnx__model_proto__get_packed_size(&p->tail) +
               put_header(header, MODEL_GRAPH, p->graph) + p->graph;
}

static void pack(stream *to, const Onnx__ModelProto *m, const pieces *p)
{
    uint8_t header[16];
    onnx__model_proto__pack_to_buffer(&p->head, &to->base);
    append(&to->base, put_header(header, MODEL_GRAPH, p->graph), header);
    for (size_t i = 0; i < m->graph->n_node; i++) {
        append(&to->base, put_header(header, GRAPH_NODE, p->nodes[i]), header);
        onnx__node_proto__pack_to_buffer(m->graph->node[i], &to->base);
    }
    onnx__graph_proto__pack_to_buffer(&p->rest, &to->base);
    onnx__model_proto__pack_to_buffer(&p->tail, &to->base);
}

/* The tensors alone are summed first, in 64 bits: then the sizes that protobuf-c adds up cannot
 * overflow. */
static bool fits(writer *w, const Onnx__ModelProto *model, pieces *p)
{
    if (w->tensor_bytes > INT32_MAX)
        return false;
    add_up(w, model, p);
    return p->total <= INT32_MAX;
}

/* The writer of a model with its structures built; NULL after an error. */
static const Onnx__ModelProto *build(writer *w, const t2o_graph *g, t2o_weights weights)
{
    const t2o_graph *torch = g->program && !g->program->onnx ? g->program->graph : NULL;
    *w = (writer){ .s = g->s, .arena = g->s->arena, .options = w->options, .weights = weights };
    w->source = g->program ? g->program->onnx : NULL;
    t2o_metadata_count_users(torch);
    const Onnx__ModelProto *model = model_proto(w, g);
    t2o_metadata_clear_users(torch);
    return model && place_external(w) ? model : NULL;
}

static bool write_external(writer *w, t2o_output **data)
{
    static const uint8_t zeros[4096];
    *data = t2o_output_open(w->s, w->options->data_path);
    if (!*data)
        return false;
    if (w->options->archive)
        t2o_output_copies_from(*data, w->options->archive);
    t2o_output_write(*data, w->header.at, w->header.n);
    for (size_t i = 0; i < w->external.n; i++) {
        const placed *at = &w->external.at[i];
        for (uint64_t gap; (gap = at->offset - t2o_output_size(*data)) > 0;)
            t2o_output_write(*data, zeros, gap < sizeof zeros ? gap : sizeof zeros);
        t2o_tensor_blocks(at->tensor, take_block, *data);
    }
    return true;
}

bool t2o_onnx_write(const t2o_graph *g, const t2o_onnx_options *options, t2o_output *out, t2o_output **data)
{
    writer w = { .options = options };
    const Onnx__ModelProto *model = build(&w, g, options->weights);
    *data = NULL;
    pieces p;
    bool fit = model && fits(&w, model, &p);
    if (model && !fit && options->weights == T2O_WEIGHTS_EMBED && options->data_path) {
        t2o_warn(g->s, "the model takes more than 2 GiB, so its weights go into %s", base_name(options->data_path));
        model = build(&w, g, T2O_WEIGHTS_EXTERNAL);
        fit = model && fits(&w, model, &p);
    }
    if (!model)
        return false;
    if (!fit)
        return t2o_fail(g->s, "E0102",
                        "the model takes more than 2 GiB (2^31-1 bytes), the most that one ONNX file holds");
    if (w.strided.n)
        qsort(w.strided.at, w.strided.n, sizeof *w.strided.at, by_address);
    if (options->archive)
        t2o_output_copies_from(out, options->archive);
    stream to = { .base.append = append, .w = &w, .out = out };
    pack(&to, model, &p);
    return !w.external.n || write_external(&w, data);
}
