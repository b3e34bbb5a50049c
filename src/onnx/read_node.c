/* read_node.c: nodes as a file has them: names, attributes, metadata, and an order in which they can be made. */
#include "onnx/read.h"

#define MAX_NODES (1u << 22) /* of a whole model, functions put in the place of their calls */
#define MAX_OPERANDS (1u << 20)

/* ---- Texts ---- */

/* Text that is no name: what follows a zero byte is left out. */
const char *t2o_plain_text(t2o_reader *r, const t2o_field *f)
{
    return t2o_strndup(r->s->arena, f->slice.n ? (const char *)f->slice.bytes : "", f->slice.n);
}

const char *t2o_node_text(t2o_reader *r, const raw_node *n)
{
    const char *name = *n->name ? n->name : n->outputs.n ? n->outputs.at[0] : "";
    return t2o_printf(r->s->arena, "node '%s' (%s%s%s)", name, n->domain, *n->domain ? "::" : "", n->op);
}

bool t2o_read_prop(t2o_reader *r, t2o_slice bytes, t2o_props *props)
{
    t2o_prop entry;
    if (!t2o_read_entry(r, bytes, &entry))
        return false;
    t2o_push(r->s->arena, props, entry);
    return true;
}

/* ---- Metadata ---- */

const char *t2o_prop_of(const t2o_props *props, const char *key)
{
    for (size_t i = 0; i < props->n; i++)
        if (!strcmp(props->at[i].key, key))
            return props->at[i].value;
    return NULL;
}

/* The next text of a Python list of texts, "['a', \"b\"]"; NULL at the end. */
static const char *next_item(t2o_reader *r, const char **at)
{
    const char *p = *at + strcspn(*at, "'\"");
    char quote = *p;
    if (!quote)
        return NULL;
    size_t n = 0;
    while (p[1 + n] && p[1 + n] != quote)
        n += p[1 + n] == '\\' && p[2 + n] ? 2 : 1;
    *at = p[1 + n] ? p + n + 2 : p + n + 1;
    return t2o_strndup(r->s->arena, p + 1, n);
}

/* PyTorch's exporter lists the modules around a node, the node itself last: back to the form of an archive, in which
 * the path has to tell calls apart. */
static void read_modules(t2o_reader *r, t2o_meta *meta)
{
    const char *scopes = t2o_prop_of(&meta->props, "pkg.torch.onnx.name_scopes");
    const char *classes = t2o_prop_of(&meta->props, "pkg.torch.onnx.class_hierarchy");
    const char *stack = "", *name = scopes ? next_item(r, &scopes) : NULL;
    const char *type = classes ? next_item(r, &classes) : NULL;
    while (name && type) {
        const char *next_name = next_item(r, &scopes), *next_type = next_item(r, &classes);
        if (!next_name || !next_type) {
            meta->fx_node = name;
            meta->target = type;
            break;
        }
        stack = t2o_printf(r->s->arena, "%s%s%s,%s,%s", stack, *stack ? ";" : "", name, name, type);
        name = next_name;
        type = next_type;
    }
    meta->nn_module_stack = *stack ? stack : NULL;
}

/* PyTorch's exporter by TorchScript says the modules in the name: "/encoder/layers.0/attention/MatMul_1"; a Sequential
 * says itself twice: "/layer1/layer1.0/conv1/Conv". Their classes are not known. NULL for any other name. */
static const char *stack_of_name(t2o_reader *r, const char *name)
{
    if (!name || *name != '/' || strpbrk(name, ",;()[]"))
        return NULL;
    const char *stack = ",,", *path = "", *outer = "", *last = NULL;
    for (const char *p = name + 1, *end; (end = strchr(p, '/')); p = end + 1) {
        const char *part = t2o_strndup(r->s->arena, p, (size_t)(end - p));
        bool twice = last && !strncmp(part, last, strlen(last)) && part[strlen(last)] == '.';
        outer = twice ? outer : path;
        path = *outer ? t2o_printf(r->s->arena, "%s.%s", outer, part) : part;
        stack = t2o_printf(r->s->arena, "%s;%s,%s,", stack, path, path);
        last = part;
    }
    return stack;
}

const t2o_meta *t2o_read_meta(t2o_reader *r, const raw_node *n, const call *c)
{
    const char *stack = stack_of_name(r, n->name);
    if (!n->props.n && !n->doc && !stack)
        return c ? c->meta : NULL;
    t2o_meta *meta = T2O_NEW(r->s->arena, t2o_meta);
    meta->props = n->props;
    meta->doc = n->doc;
    meta->stack_trace = t2o_prop_of(&n->props, "pkg.torch.onnx.stack_trace");
    read_modules(r, meta);
    if (!meta->nn_module_stack)
        meta->nn_module_stack = stack;
    return meta;
}
/* ---- Attributes ---- */

enum { /* fields of AttributeProto */
    A_NAME = 1, A_FLOAT = 2, A_INT = 3, A_STRING = 4, A_TENSOR = 5, A_GRAPH = 6, A_FLOATS = 7, A_INTS = 8,
    A_STRINGS = 9, A_TENSORS = 10, A_GRAPHS = 11, A_TYPE_PROTO = 14, A_TYPE_PROTOS = 15, A_TYPE = 20, A_REFERENCE = 21,
    A_SPARSE = 22, A_SPARSES = 23,
};

/* The field that holds values of a type, which files before IR version 2 leave out. */
static const struct { uint32_t field; t2o_attr_type type; } value_fields[] = {
    { A_FLOAT, T2O_ATTR_FLOAT },     { A_INT, T2O_ATTR_INT },         { A_STRING, T2O_ATTR_STRING },
    { A_TENSOR, T2O_ATTR_TENSOR },   { A_GRAPH, T2O_ATTR_GRAPH },     { A_FLOATS, T2O_ATTR_FLOATS },
    { A_INTS, T2O_ATTR_INTS },       { A_STRINGS, T2O_ATTR_STRINGS }, { A_TENSORS, T2O_ATTR_TENSORS },
    { A_GRAPHS, T2O_ATTR_GRAPHS },   { A_TYPE_PROTO, T2O_ATTR_TYPE_PROTO },
    { A_TYPE_PROTOS, T2O_ATTR_TYPE_PROTOS }, { A_SPARSE, T2O_ATTR_SPARSE_TENSOR },
    { A_SPARSES, T2O_ATTR_SPARSE_TENSORS },
};

static uint32_t field_of(t2o_attr_type type)
{
    for (size_t i = 0; i < sizeof value_fields / sizeof *value_fields; i++)
        if (value_fields[i].type == type)
            return value_fields[i].field;
    return 0;
}

static t2o_attr_type type_of(uint32_t field)
{
    for (size_t i = 0; i < sizeof value_fields / sizeof *value_fields; i++)
        if (value_fields[i].field == field)
            return value_fields[i].type;
    return 0;
}

bool t2o_read_attr_head(t2o_reader *r, t2o_slice bytes, attr_head *head)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    t2o_attr_type implied = 0;
    *head = (attr_head){ .name = "" };
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        if (f.number == A_NAME && !(head->name = t2o_read_text(r, &f)))
            return false;
        if (f.number == A_REFERENCE && !(head->reference = t2o_read_text(r, &f)))
            return false;
        if (f.number == A_TYPE)
            head->type = f.value <= T2O_ATTR_TYPE_PROTOS ? (t2o_attr_type)f.value : 0;
        if (!implied)
            implied = type_of(f.number);
    }
    if (!head->type)
        head->type = implied;
    if (head->reference && !*head->reference)
        head->reference = NULL;
    return t2o_read_whole(r, &w, "an attribute");
}

typedef T2O_VEC(t2o_arg) args;

static bool add_numbers(t2o_reader *r, const t2o_field *f, t2o_attr_type type, args *out)
{
    bool is_float = type == T2O_ATTR_FLOAT || type == T2O_ATTR_FLOATS;
    t2o_numbers numbers = t2o_wire_numbers(f, is_float ? T2O_WIRE_FIXED32 : T2O_WIRE_VARINT);
    for (uint64_t bits; t2o_wire_number(&numbers, &bits);) {
        t2o_arg arg = { .kind = T2O_ARG_INT, .i = (int64_t)bits };
        if (is_float)
            arg = (t2o_arg){ .kind = T2O_ARG_FLOAT, .f = (double)t2o_wire_float(bits) };
        t2o_push(r->s->arena, out, arg);
    }
    return t2o_read_whole(r, &numbers.wire, "an attribute");
}

static bool type_arg(t2o_reader *r, t2o_slice bytes, const char *what, t2o_arg *arg)
{
    t2o_stated_type type;
    *arg = (t2o_arg){ .kind = T2O_ARG_TYPE };
    if (!t2o_read_type(r, bytes, what, &type))
        return false;
    arg->text = t2o_type_text(r, &type);
    return true;
}

/* One value that a field of bytes holds. */
static bool read_arg(t2o_reader *r, const t2o_field *f, t2o_attr_type type, const scope *in, const char *what,
                     t2o_arg *arg)
{
    switch (type) {
    case T2O_ATTR_STRING: case T2O_ATTR_STRINGS:
        if (f->slice.n > UINT32_MAX)
            return t2o_fail(r->s, "E0509", "%s is a text of more than 4 GiB", what);
        *arg = (t2o_arg){ .kind = T2O_ARG_STRING, .text = t2o_plain_text(r, f), .n = (uint32_t)f->slice.n };
        return true;
    case T2O_ATTR_TENSOR: case T2O_ATTR_TENSORS:
        *arg = (t2o_arg){ .kind = T2O_ARG_TENSOR, .tensor = t2o_read_tensor(r, f->slice, what, NULL) };
        return arg->tensor != NULL;
    case T2O_ATTR_SPARSE_TENSOR: case T2O_ATTR_SPARSE_TENSORS:
        *arg = (t2o_arg){ .kind = T2O_ARG_TENSOR, .tensor = t2o_read_sparse(r, f->slice, what, NULL) };
        return arg->tensor != NULL;
    case T2O_ATTR_GRAPH: case T2O_ATTR_GRAPHS:
        *arg = (t2o_arg){ .kind = T2O_ARG_GRAPH, .graph = t2o_read_graph(r, f->slice, in, what, in->depth + 1) };
        return arg->graph != NULL;
    default: return type_arg(r, f->slice, what, arg);
    }
}

static bool is_list(t2o_attr_type type)
{
    return (type >= T2O_ATTR_FLOATS && type <= T2O_ATTR_GRAPHS) || type == T2O_ATTR_SPARSE_TENSORS ||
           type == T2O_ATTR_TYPE_PROTOS;
}

/* Whatever is missing is empty: protobuf leaves out fields that hold nothing. */
static t2o_arg empty_arg(t2o_attr_type type)
{
    switch (type) {
    case T2O_ATTR_INT: return (t2o_arg){ .kind = T2O_ARG_INT };
    case T2O_ATTR_FLOAT: return (t2o_arg){ .kind = T2O_ARG_FLOAT };
    case T2O_ATTR_STRING: return (t2o_arg){ .kind = T2O_ARG_STRING, .text = "" };
    default: return (t2o_arg){ .kind = T2O_ARG_NONE };
    }
}

static bool read_attr_value(t2o_reader *r, t2o_slice bytes, const attr_head *head, const scope *in, const char *what,
                            t2o_arg *out)
{
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    args items = { 0 };
    uint32_t field = field_of(head->type);
    bool number = head->type == T2O_ATTR_INT || head->type == T2O_ATTR_INTS || head->type == T2O_ATTR_FLOAT ||
                  head->type == T2O_ATTR_FLOATS;
    for (t2o_field f; t2o_wire_next(&w, &f);) {
        t2o_arg arg = { .kind = T2O_ARG_NONE };
        if (f.number != field)
            continue;
        if (number ? !add_numbers(r, &f, head->type, &items) : !read_arg(r, &f, head->type, in, what, &arg))
            return false;
        if (!number)
            t2o_push(r->s->arena, &items, arg);
        if (items.n > UINT32_MAX / 2)
            return t2o_fail(r->s, "E0509", "%s is too long", what);
    }
    if (is_list(head->type))
        *out = (t2o_arg){ .kind = T2O_ARG_LIST, .items = items.at, .n = (uint32_t)items.n };
    else
        *out = items.n ? items.at[items.n - 1] : empty_arg(head->type);
    return true; /* the head was read from the same bytes, all of them */
}

/* In the body of a function an attribute may refer to one of the call's; false in *given where that has none. */
static bool read_reference(t2o_reader *r, const attr_head *head, const scope *in, const char *what, t2o_arg *out,
                           bool *given)
{
    const call *c = in->call;
    if (!c)
        return t2o_fail(r->s, "E0508", "%s refers to an attribute outside of a function", what);
    for (uint32_t i = 0; i < c->n_attrs; i++)
        if (!strcmp(c->attrs[i].name, head->reference)) {
            *out = c->attrs[i].arg;
            return true;
        }
    const t2o_slice *preset = t2o_map_get(&c->fn->defaults, head->reference);
    attr_head own;
    *given = preset != NULL;
    return !preset || (t2o_read_attr_head(r, *preset, &own) && read_attr_value(r, *preset, &own, in, what, out));
}

static bool read_attr(t2o_reader *r, t2o_slice bytes, const scope *in, const raw_node *n, t2o_attr *out, bool *given)
{
    attr_head head;
    if (!t2o_read_attr_head(r, bytes, &head)) {
        t2o_note(r->s, "%s", t2o_node_text(r, n));
        return false;
    }
    const char *what = t2o_printf(r->s->arena, "attribute '%s' of %s", head.name, t2o_node_text(r, n));
    *given = true;
    out->name = head.name;
    if (!*head.name || (!head.reference && !field_of(head.type)))
        return t2o_fail(r->s, "E0508", "%s has no %s", what, *head.name ? "type" : "name");
    return head.reference ? read_reference(r, &head, in, what, &out->arg, given)
                          : read_attr_value(r, bytes, &head, in, what, &out->arg);
}

bool t2o_read_attrs(t2o_reader *r, const raw_node *n, const scope *in, t2o_attr **attrs, uint32_t *n_attrs)
{
    *n_attrs = 0;
    *attrs = T2O_NEW_N(r->s->arena, t2o_attr, n->attrs.n + 1);
    for (size_t i = 0; i < n->attrs.n; i++) {
        bool given = false;
        t2o_attr attr = { .name = "" };
        if (!read_attr(r, n->attrs.at[i], in, n, &attr, &given))
            return false;
        for (uint32_t j = 0; j < *n_attrs; j++)
            if ((*attrs)[j].name == attr.name)
                return t2o_fail(r->s, "E0508", "%s has its attribute '%s' twice", t2o_node_text(r, n), attr.name);
        if (given && attr.arg.kind != T2O_ARG_NONE)
            (*attrs)[(*n_attrs)++] = attr;
    }
    return true;
}

/* ---- Nodes as they stand ---- */

bool t2o_read_name(t2o_reader *r, const t2o_field *f, names *to)
{
    const char *name = t2o_read_text(r, f);
    if (!name || to->n == MAX_OPERANDS)
        return name ? t2o_fail(r->s, "E0509", "a node has more than %u inputs", MAX_OPERANDS) : false;
    t2o_push(r->s->arena, to, name);
    return true;
}

bool t2o_set_text(t2o_reader *r, const t2o_field *f, const char **to)
{
    *to = t2o_read_text(r, f);
    return *to != NULL;
}

static bool read_node_field(t2o_reader *r, const t2o_field *f, raw_node *n)
{
    enum { INPUT = 1, OUTPUT = 2, NAME = 3, OP = 4, ATTRIBUTE = 5, DOC = 6, DOMAIN = 7, OVERLOAD = 8, PROPS = 9 };
    switch (f->number) {
    case INPUT: return t2o_read_name(r, f, &n->inputs);
    case OUTPUT: return t2o_read_name(r, f, &n->outputs);
    case NAME: return t2o_set_text(r, f, &n->name);
    case OP: return t2o_set_text(r, f, &n->op);
    case DOMAIN: return t2o_set_text(r, f, &n->domain);
    case OVERLOAD: return t2o_set_text(r, f, &n->overload);
    case DOC: n->doc = f->slice.n ? t2o_plain_text(r, f) : NULL; return true;
    case PROPS: return t2o_read_prop(r, f->slice, &n->props);
    case ATTRIBUTE: t2o_push(r->s->arena, &n->attrs, f->slice); return true;
    default: return true;
    }
}

static raw_node *read_raw_node(t2o_reader *r, t2o_slice bytes)
{
    raw_node *n = T2O_NEW(r->s->arena, raw_node);
    n->op = n->domain = n->name = n->overload = "";
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (!read_node_field(r, &f, n))
            return NULL;
    if (!strcmp(n->domain, "ai.onnx"))
        n->domain = "";
    if (!t2o_read_whole(r, &w, t2o_node_text(r, n)))
        return NULL;
    if (*n->op && ++r->n_nodes <= MAX_NODES)
        return n;
    if (*n->op)
        t2o_fail(r->s, "E0509", "the model has more than %u nodes", MAX_NODES);
    else
        t2o_fail(r->s, "E0508", "%s has no operator", t2o_node_text(r, n));
    return NULL;
}

/* ---- The order of nodes ---- */

static bool add_used(t2o_reader *r, t2o_slice attr, names *used, int depth);

/* Of a part of a body: the names that it reads (those of bodies in it too), or those that it defines. */
static bool add_names_of_part(t2o_reader *r, const t2o_field *part, bool reads, names *to, int depth)
{
    enum { NODE = 1, INITIALISER = 5, INPUT = 11, OUTPUT = 12 };
    uint32_t number = part->number == NODE          ? (reads ? 1 : 2)
                      : part->number == OUTPUT      ? (reads ? 1 : 0)
                      : part->number == INPUT       ? (reads ? 0 : 1)
                      : part->number == INITIALISER ? (reads ? 0 : 8)
                                                    : 0;
    t2o_wire w = t2o_wire_of(part->slice.bytes, part->slice.n);
    for (t2o_field f; number && t2o_wire_next(&w, &f);) {
        if (f.number == number && f.type == T2O_WIRE_BYTES && !t2o_read_name(r, &f, to))
            return false;
        if (reads && part->number == NODE && f.number == 5 && !add_used(r, f.slice, to, depth + 1))
            return false;
    }
    return true;
}

/* The names that a body and the bodies in it read from around it. */
static bool add_used_of_graph(t2o_reader *r, t2o_slice bytes, names *used, int depth)
{
    names all = { 0 }, own = { 0 };
    t2o_map defined = { 0 };
    if (depth > T2O_MAX_DEPTH)
        return t2o_fail(r->s, "E0509", "graphs nest too deep");
    t2o_wire w = t2o_wire_of(bytes.bytes, bytes.n);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if (!add_names_of_part(r, &f, true, &all, depth) || !add_names_of_part(r, &f, false, &own, depth))
            return false;
    for (size_t i = 0; i < own.n; i++)
        t2o_map_set(r->s->arena, &defined, own.at[i], (void *)own.at[i]);
    for (size_t i = 0; i < all.n; i++)
        if (!t2o_map_get(&defined, all.at[i]))
            t2o_push(r->s->arena, used, all.at[i]);
    return true;
}

static bool add_used(t2o_reader *r, t2o_slice attr, names *used, int depth)
{
    t2o_wire w = t2o_wire_of(attr.bytes, attr.n);
    for (t2o_field f; t2o_wire_next(&w, &f);)
        if ((f.number == A_GRAPH || f.number == A_GRAPHS) && !add_used_of_graph(r, f.slice, used, depth))
            return false;
    return true;
}

static bool read_all(t2o_reader *r, const t2o_slices *slices, raw_nodes *out)
{
    for (size_t i = 0; i < slices->n; i++) {
        raw_node *n = read_raw_node(r, slices->at[i]);
        if (!n)
            return false;
        for (size_t j = 0; j < n->attrs.n; j++)
            if (!add_used(r, n->attrs.at[j], &n->used, 0))
                return false;
        t2o_push(r->s->arena, out, n);
    }
    return true;
}

enum { NEW, ENTERED, DONE };

/* The node that defines operand i of n (its inputs first, then what its bodies use), in this list; NULL for none. */
static raw_node *definer(const t2o_map *definers, const raw_node *n, size_t i)
{
    const char *name = i < n->inputs.n ? n->inputs.at[i] : n->used.at[i - n->inputs.n];
    return *name ? t2o_map_get(definers, name) : NULL;
}

static bool is_cycle(t2o_reader *r, const raw_node *n)
{
    return t2o_fail(r->s, "E0508", "%s needs its own result: the graph has a cycle", t2o_node_text(r, n));
}

/* Puts the node behind the nodes that it needs. Nodes that are entered stand on the stack. */
static bool place(t2o_reader *r, const t2o_map *definers, raw_node *start, raw_nodes *out)
{
    struct visit { raw_node *n; size_t next; };
    T2O_VEC(struct visit) stack = { 0 };
    t2o_push(r->s->arena, &stack, ((struct visit){ start, 0 }));
    start->state = ENTERED;
    while (stack.n) {
        struct visit *top = &stack.at[stack.n - 1];
        raw_node *n = top->n;
        if (top->next == n->inputs.n + n->used.n) {
            n->state = DONE;
            t2o_push(r->s->arena, out, n);
            stack.n--;
            continue;
        }
        raw_node *needed = definer(definers, n, top->next++);
        if (!needed || needed->state == DONE)
            continue;
        if (needed->state == ENTERED)
            return is_cycle(r, needed);
        needed->state = ENTERED;
        t2o_push(r->s->arena, &stack, ((struct visit){ needed, 0 }));
    }
    return true;
}

/* Nodes in the order of the file where that is one in which values are defined before they are used. */
static bool in_order(t2o_reader *r, raw_nodes *nodes)
{
    t2o_map definers = { 0 };
    raw_nodes out = { 0 };
    for (size_t i = 0; i < nodes->n; i++)
        for (size_t j = 0; j < nodes->at[i]->outputs.n; j++)
            if (*nodes->at[i]->outputs.at[j])
                t2o_map_set(r->s->arena, &definers, nodes->at[i]->outputs.at[j], nodes->at[i]);
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->at[i]->state == NEW && !place(r, &definers, nodes->at[i], &out))
            return false;
    *nodes = out;
    return true;
}

bool t2o_read_raw_nodes(t2o_reader *r, const t2o_slices *slices, raw_nodes *out)
{
    return read_all(r, slices, out) && in_order(r, out);
}
