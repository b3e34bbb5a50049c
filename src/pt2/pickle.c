/* pickle.c: the pickle machine, one function an opcode.
 *
 * The machine works on objects, which are the public values with what only it needs behind them.
 * Each opcode creates at most a few objects, so memory is bounded by the pickle's length; a limit
 * on objects bounds it further.
 */
#include "pt2/pickle.h"

#include "pt2/sniff.h"
#include "pt2/storage.h"

#include <inttypes.h>

#define MAX_OBJECTS ((size_t)4 << 20)
#define MAX_EXPANDED ((uint64_t)16 << 20) /* nodes when shared ones are counted each time */

typedef enum role { ROLE_VALUE, ROLE_NAME, ROLE_STORAGE, ROLE_MARK } role;

typedef struct object {
    t2o_pickle p; /* first: a pointer to one is a pointer to the other */
    role role;
    size_t cap;   /* of p.items */
    t2o_dtype dtype;
    t2o_storage storage;
    enum { UNSEEN, OPEN, CHECKED } state;
    unsigned depth;
    uint64_t expanded;
} object;

typedef struct machine {
    t2o_session *s;
    const char *what;
    t2o_archive *zip;
    bool legacy;      /* no zip: storages are found behind the pickles */
    t2o_map storages; /* of these: key -> object */
    bool in_file;     /* what is read is a slice of the mapped file */
    const uint8_t *start, *at, *end;
    T2O_VEC(object *) stack;
    T2O_VEC(object *) memo;
    size_t n_objects;
    bool done;
} machine;

typedef bool opcode(machine *m);

/* ---- the machine's parts ---- */

static bool fault(machine *m, const char *why)
{
    return t2o_fail(m->s, "E0503", "%s: the pickle is damaged at byte %zu: %s", m->what,
                    (size_t)(m->at - m->start), why);
}

static object *new_object(machine *m, t2o_pickle_kind kind)
{
    object *o = T2O_NEW(m->s->arena, object);
    o->p.kind = kind;
    m->n_objects++;
    return o;
}

static bool push(machine *m, object *o)
{
    if (m->n_objects > MAX_OBJECTS || m->stack.n > MAX_OBJECTS)
        return fault(m, "it holds too many objects");
    t2o_push(m->s->arena, &m->stack, o);
    return true;
}

/* NULL where the stack is empty or a mark is on top; the caller reports it. */
static object *top(machine *m)
{
    object *o = m->stack.n ? m->stack.at[m->stack.n - 1] : NULL;
    return o && o->role != ROLE_MARK ? o : NULL;
}

static object *pop(machine *m)
{
    object *o = top(m);
    if (o)
        m->stack.n--;
    else
        fault(m, "nothing on the stack");
    return o;
}

/* The place of the last mark, or SIZE_MAX after an error. */
static size_t find_mark(machine *m)
{
    for (size_t i = m->stack.n; i-- > 0;)
        if (m->stack.at[i]->role == ROLE_MARK)
            return i;
    fault(m, "a mark is missing");
    return SIZE_MAX;
}

static void append(machine *m, object *to, object *item)
{
    t2o_pickle *p = &to->p;
    if (p->n == to->cap)
        p->items = t2o_vec_grow(m->s->arena, p->items, p->n, &to->cap, sizeof *p->items);
    p->items[p->n++] = &item->p;
    m->n_objects++; /* a reference costs as much */
}

static object *item_at(const object *o, size_t i)
{
    return o && i < o->p.n && o->p.items ? (object *)o->p.items[i] : NULL;
}

static bool has_items(const object *o)
{
    switch (o->p.kind) {
    case T2O_PICKLE_TUPLE: case T2O_PICKLE_LIST: case T2O_PICKLE_DICT: case T2O_PICKLE_OPAQUE:
        return o->role == ROLE_VALUE;
    default:
        return false;
    }
}

/* n bytes of the pickle, or NULL after an error. */
static const uint8_t *take(machine *m, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->at)) {
        fault(m, "it is cut short");
        return NULL;
    }
    const uint8_t *p = m->at;
    m->at += n;
    return p;
}

static bool take_number(machine *m, unsigned bytes, uint64_t *out)
{
    const uint8_t *p = take(m, bytes);
    if (!p)
        return false;
    *out = 0;
    for (unsigned i = bytes; i-- > 0;)
        *out = *out << 8 | p[i];
    return true;
}

/* The bytes up to a newline, which is skipped. */
static const char *take_line(machine *m)
{
    const uint8_t *newline = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!newline) {
        fault(m, "it is cut short");
        return NULL;
    }
    const char *line = t2o_strndup(m->s->arena, (const char *)m->at, (size_t)(newline - m->at));
    m->at = newline + 1;
    return line;
}

/* ---- plain values ---- */

static bool push_kind(machine *m, t2o_pickle_kind kind, int64_t i)
{
    object *o = new_object(m, kind);
    o->p.i = i;
    return push(m, o);
}

static bool op_none(machine *m) { return push_kind(m, T2O_PICKLE_NONE, 0); }
static bool op_true(machine *m) { return push_kind(m, T2O_PICKLE_BOOL, 1); }
static bool op_false(machine *m) { return push_kind(m, T2O_PICKLE_BOOL, 0); }

static bool op_int4(machine *m)
{
    uint64_t v;
    return take_number(m, 4, &v) && push_kind(m, T2O_PICKLE_INT, (int32_t)v);
}

static bool op_int2(machine *m)
{
    uint64_t v;
    return take_number(m, 2, &v) && push_kind(m, T2O_PICKLE_INT, (int64_t)v);
}

static bool op_int1(machine *m)
{
    uint64_t v;
    return take_number(m, 1, &v) && push_kind(m, T2O_PICKLE_INT, (int64_t)v);
}

/* Little-endian two's complement of any length; what 64 bits cannot hold becomes opaque. */
static bool push_long(machine *m, uint64_t n)
{
    const uint8_t *p = take(m, n);
    if (!p)
        return false;
    uint8_t sign = n && p[n - 1] & 0x80 ? 0xff : 0;
    while (n > 8 && p[n - 1] == sign && (p[n - 2] & 0x80) == (sign & 0x80))
        n--;
    if (n > 8) {
        object *o = new_object(m, T2O_PICKLE_OPAQUE);
        o->p.text = "int";
        return push(m, o);
    }
    uint64_t v = sign ? UINT64_MAX : 0;
    for (uint64_t i = n; i-- > 0;)
        v = v << 8 | p[i];
    return push_kind(m, T2O_PICKLE_INT, (int64_t)v);
}

static bool op_long1(machine *m)
{
    uint64_t n;
    return take_number(m, 1, &n) && push_long(m, n);
}

static bool op_long4(machine *m)
{
    uint64_t n;
    return take_number(m, 4, &n) && push_long(m, n);
}

static bool op_float(machine *m)
{
    const uint8_t *p = take(m, 8);
    if (!p)
        return false;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    object *o = new_object(m, T2O_PICKLE_FLOAT);
    memcpy(&o->p.f, &bits, sizeof bits);
    return push(m, o);
}

static bool push_text(machine *m, t2o_pickle_kind kind, unsigned length_bytes)
{
    uint64_t n;
    if (!take_number(m, length_bytes, &n))
        return false;
    const uint8_t *p = take(m, n);
    if (!p)
        return false;
    object *o = new_object(m, kind);
    o->p.text = t2o_strndup(m->s->arena, (const char *)p, n);
    o->p.n = n;
    return push(m, o);
}

static bool op_unicode1(machine *m) { return push_text(m, T2O_PICKLE_STRING, 1); }
static bool op_unicode4(machine *m) { return push_text(m, T2O_PICKLE_STRING, 4); }
static bool op_unicode8(machine *m) { return push_text(m, T2O_PICKLE_STRING, 8); }
static bool op_bytes1(machine *m) { return push_text(m, T2O_PICKLE_BYTES, 1); }
static bool op_bytes4(machine *m) { return push_text(m, T2O_PICKLE_BYTES, 4); }
static bool op_bytes8(machine *m) { return push_text(m, T2O_PICKLE_BYTES, 8); }

/* ---- containers ---- */

static bool push_last(machine *m, t2o_pickle_kind kind, size_t n)
{
    object *o = new_object(m, kind);
    if (m->stack.n < n)
        return fault(m, "nothing on the stack");
    for (size_t i = m->stack.n - n; i < m->stack.n; i++) {
        if (m->stack.at[i]->role == ROLE_MARK)
            return fault(m, "a mark inside a tuple");
        append(m, o, m->stack.at[i]);
    }
    m->stack.n -= n;
    return push(m, o);
}

static bool op_empty_tuple(machine *m) { return push_last(m, T2O_PICKLE_TUPLE, 0); }
static bool op_tuple1(machine *m) { return push_last(m, T2O_PICKLE_TUPLE, 1); }
static bool op_tuple2(machine *m) { return push_last(m, T2O_PICKLE_TUPLE, 2); }
static bool op_tuple3(machine *m) { return push_last(m, T2O_PICKLE_TUPLE, 3); }
static bool op_empty_list(machine *m) { return push_last(m, T2O_PICKLE_LIST, 0); }
static bool op_empty_dict(machine *m) { return push_last(m, T2O_PICKLE_DICT, 0); }

static bool op_empty_set(machine *m)
{
    if (!push_last(m, T2O_PICKLE_OPAQUE, 0))
        return false;
    top(m)->p.text = "builtins.set";
    return true;
}

static bool op_mark(machine *m)
{
    object *o = new_object(m, T2O_PICKLE_NONE);
    o->role = ROLE_MARK;
    return push(m, o);
}

/* Everything above the last mark as one container, which takes their and the mark's place. */
static bool push_marked(machine *m, t2o_pickle_kind kind)
{
    size_t mark = find_mark(m);
    if (mark == SIZE_MAX || !push_last(m, kind, m->stack.n - mark - 1))
        return false;
    m->stack.at[mark] = m->stack.at[m->stack.n - 1];
    m->stack.n = mark + 1;
    return true;
}

static bool op_tuple(machine *m) { return push_marked(m, T2O_PICKLE_TUPLE); }
static bool op_list(machine *m) { return push_marked(m, T2O_PICKLE_LIST); }
static bool op_dict(machine *m) { return push_marked(m, T2O_PICKLE_DICT); }

/* Moves stack[from..] to the end of the container below `bottom` entries. */
static bool extend(machine *m, size_t bottom, size_t from)
{
    object *to = bottom ? m->stack.at[bottom - 1] : NULL;
    if (!to || !has_items(to))
        return fault(m, "items for something that is no container");
    for (size_t i = from; i < m->stack.n; i++)
        append(m, to, m->stack.at[i]);
    m->stack.n = bottom;
    return true;
}

static bool op_appends(machine *m)
{
    size_t mark = find_mark(m);
    return mark != SIZE_MAX && extend(m, mark, mark + 1);
}

static bool extend_by(machine *m, size_t n)
{
    if (m->stack.n < n + 1)
        return fault(m, "nothing on the stack");
    for (size_t i = m->stack.n - n; i < m->stack.n; i++)
        if (m->stack.at[i]->role == ROLE_MARK)
            return fault(m, "a mark instead of an item");
    return extend(m, m->stack.n - n, m->stack.n - n);
}

static bool op_append(machine *m) { return extend_by(m, 1); }
static bool op_setitem(machine *m) { return extend_by(m, 2); }

/* ---- the stack and the memo ---- */

static bool op_pop(machine *m)
{
    if (m->stack.n == 0)
        return fault(m, "nothing on the stack");
    m->stack.n--;
    return true;
}

static bool op_pop_mark(machine *m)
{
    size_t mark = find_mark(m);
    if (mark == SIZE_MAX)
        return false;
    m->stack.n = mark;
    return true;
}

static bool op_dup(machine *m)
{
    object *o = top(m);
    return o ? push(m, o) : fault(m, "nothing on the stack");
}

static bool remember(machine *m, uint64_t index)
{
    object *o = top(m);
    if (!o)
        return fault(m, "nothing on the stack");
    /* Picklers count the memo up; an index far ahead would only cost memory. */
    if (index > (uint64_t)(m->end - m->start) || index > MAX_OBJECTS)
        return fault(m, "a memo index out of range");
    while (m->memo.n <= index)
        t2o_push(m->s->arena, &m->memo, NULL);
    m->memo.at[index] = o;
    return true;
}

static bool recall(machine *m, uint64_t index)
{
    object *o = index < m->memo.n ? m->memo.at[index] : NULL;
    return o ? push(m, o) : fault(m, "a memo entry that was not set");
}

static bool op_memoize(machine *m) { return remember(m, m->memo.n); }

static bool op_put1(machine *m)
{
    uint64_t i;
    return take_number(m, 1, &i) && remember(m, i);
}

static bool op_put4(machine *m)
{
    uint64_t i;
    return take_number(m, 4, &i) && remember(m, i);
}

static bool op_get1(machine *m)
{
    uint64_t i;
    return take_number(m, 1, &i) && recall(m, i);
}

static bool op_get4(machine *m)
{
    uint64_t i;
    return take_number(m, 4, &i) && recall(m, i);
}

/* ---- names ---- */

static bool push_name(machine *m, const char *module, const char *name)
{
    object *o = new_object(m, T2O_PICKLE_OPAQUE);
    o->role = ROLE_NAME;
    o->p.text = t2o_printf(m->s->arena, "%s.%s", module, name);
    return push(m, o);
}

static bool op_global(machine *m)
{
    const char *module = take_line(m);
    const char *name = module ? take_line(m) : NULL;
    return name && push_name(m, module, name);
}

static bool op_stack_global(machine *m)
{
    object *name = pop(m);
    object *module = name ? pop(m) : NULL;
    if (!module)
        return false;
    if (name->p.kind != T2O_PICKLE_STRING || module->p.kind != T2O_PICKLE_STRING)
        return fault(m, "a name that is no string");
    return push_name(m, module->p.text, name->p.text);
}

static bool is_name(const object *o, const char *text)
{
    return o && o->role == ROLE_NAME && !strcmp(o->p.text, text);
}

/* ---- tensors ---- */

static t2o_dtype dtype_of_storage(const char *type)
{
    static const struct {
        const char *type;
        t2o_dtype dtype;
    } table[] = {
        { "torch.FloatStorage", T2O_FLOAT32 },
        { "torch.DoubleStorage", T2O_FLOAT64 },
        { "torch.HalfStorage", T2O_FLOAT16 },
        { "torch.BFloat16Storage", T2O_BFLOAT16 },
        { "torch.LongStorage", T2O_INT64 },
        { "torch.IntStorage", T2O_INT32 },
        { "torch.ShortStorage", T2O_INT16 },
        { "torch.CharStorage", T2O_INT8 },
        { "torch.ByteStorage", T2O_UINT8 },
        { "torch.BoolStorage", T2O_BOOL },
        { "torch.ComplexFloatStorage", T2O_COMPLEX64 },
        { "torch.ComplexDoubleStorage", T2O_COMPLEX128 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].type, type))
            return table[i].dtype;
    return T2O_NO_DTYPE;
}

/* The same object each time; its bytes are known when the pickle is read again. */
static bool legacy_storage(machine *m, const object *id, const object *type, const char *key)
{
    const object *view = item_at(id, 5);
    if (view && view->p.kind != T2O_PICKLE_NONE)
        return fault(m, "a storage that is a part of another one");
    object *o = t2o_map_get(&m->storages, key);
    if (!o) {
        o = new_object(m, T2O_PICKLE_OPAQUE);
        o->role = ROLE_STORAGE;
        o->p.text = type->p.text;
        o->dtype = dtype_of_storage(type->p.text);
        t2o_map_set(m->s->arena, &m->storages, key, o);
    }
    return push(m, o);
}

/* ('storage', type, key, location, number of elements): the bytes are the record data/<key>. */
static bool op_persid(machine *m)
{
    object *id = pop(m);
    if (!id)
        return false;
    const object *tag = item_at(id, 0), *type = item_at(id, 1), *key = item_at(id, 2);
    if (!key || tag->p.kind != T2O_PICKLE_STRING || strcmp(tag->p.text, "storage") ||
        type->role != ROLE_NAME || key->p.kind != T2O_PICKLE_STRING)
        return fault(m, "a persistent object that is no storage");
    if (m->legacy)
        return legacy_storage(m, id, type, key->p.text);
    t2o_record *r = t2o_archive_find(m->zip, "data/", key->p.text);
    if (!r)
        return fault(m, "a storage without a record");
    if (!t2o_archive_read(m->zip, r))
        return false;
    object *o = new_object(m, T2O_PICKLE_OPAQUE);
    o->role = ROLE_STORAGE;
    o->p.text = type->p.text;
    o->dtype = dtype_of_storage(type->p.text);
    o->storage = (t2o_storage){ r->bytes, r->size, r->in_file && m->in_file };
    return push(m, o);
}

static bool read_ints(const object *tuple, int64_t *out, uint32_t *n)
{
    if (!tuple || tuple->p.kind != T2O_PICKLE_TUPLE || tuple->p.n > T2O_MAX_RANK)
        return false;
    *n = (uint32_t)tuple->p.n;
    for (uint32_t i = 0; i < *n; i++) {
        const t2o_pickle *item = tuple->p.items[i];
        if (item->kind != T2O_PICKLE_INT)
            return false;
        out[i] = item->i;
    }
    return true;
}

static t2o_dtype dtype_named(const object *o)
{
    bool torch_name = o && o->role == ROLE_NAME && !strncmp(o->p.text, "torch.", 6);
    return torch_name ? t2o_dtype_named(o->p.text + 6) : T2O_NO_DTYPE;
}

/* A tensor whose bytes are not its values (conjugated or negated lazily) stays opaque. */
static bool is_lazy(const object *metadata)
{
    return metadata && metadata->p.kind == T2O_PICKLE_DICT && metadata->p.n > 0;
}

/* (storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata]); NULL leaves the call
 * opaque. */
static bool rebuild_tensor(machine *m, const object *args, bool with_dtype, object **out)
{
    const object *storage = item_at(args, 0), *offset = item_at(args, 1);
    t2o_view view = { .dtype = storage ? storage->dtype : T2O_NO_DTYPE };
    uint32_t n_strides = 0;
    if (!offset || storage->role != ROLE_STORAGE || offset->p.kind != T2O_PICKLE_INT ||
        !read_ints(item_at(args, 2), view.dims, &view.rank) ||
        !read_ints(item_at(args, 3), view.strides, &n_strides) || n_strides != view.rank)
        return fault(m, "a tensor with strange arguments");
    view.offset = offset->p.i;
    if (with_dtype)
        view.dtype = dtype_named(item_at(args, 6));
    if (view.dtype == T2O_NO_DTYPE || is_lazy(item_at(args, with_dtype ? 7 : 6)))
        return true;
    const t2o_tensor *t = t2o_storage_view(m->s, m->what, &storage->storage, &view);
    if (!t)
        return false;
    *out = new_object(m, T2O_PICKLE_TENSOR);
    (*out)->p.tensor = t;
    return true;
}

/* ---- calls ---- */

/* What a call of a known function gives; *out stays NULL for an unknown one. */
typedef bool known_call(machine *m, object *args, object **out);

static bool call_tensor_v2(machine *m, object *args, object **out)
{
    return rebuild_tensor(m, args, false, out);
}

static bool call_tensor_v3(machine *m, object *args, object **out)
{
    return rebuild_tensor(m, args, true, out);
}

static bool call_first(machine *m, object *args, object **out)
{
    (void)m;
    *out = item_at(args, 0);
    return true;
}

static bool call_parameter(machine *m, object *args, object **out)
{
    if (!call_first(m, args, out))
        return false;
    if (*out && (*out)->p.kind == T2O_PICKLE_TENSOR)
        (*out)->p.i = 1;
    return true;
}

static bool call_ordered_dict(machine *m, object *args, object **out)
{
    object *pairs = item_at(args, 0);
    *out = new_object(m, T2O_PICKLE_DICT);
    for (size_t i = 0; pairs && has_items(pairs) && i < pairs->p.n; i++) {
        object *pair = item_at(pairs, i);
        if (!item_at(pair, 1))
            return fault(m, "a dictionary with strange items");
        append(m, *out, item_at(pair, 0));
        append(m, *out, item_at(pair, 1));
    }
    return true;
}

/* Protocol 2 has no bytes: they come as text and "latin1". */
static bool call_encode(machine *m, object *args, object **out)
{
    const object *text = item_at(args, 0);
    if (!text || text->p.kind != T2O_PICKLE_STRING)
        return true;
    char *bytes = t2o_alloc(m->s->arena, text->p.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < text->p.n; i++) {
        uint8_t c = (uint8_t)text->p.text[i];
        if (c >= 0xc2 && c <= 0xc3 && i + 1 < text->p.n)
            c = (uint8_t)(c << 6 | ((uint8_t)text->p.text[++i] & 0x3f));
        bytes[n++] = (char)c;
    }
    *out = new_object(m, T2O_PICKLE_BYTES);
    (*out)->p.text = bytes;
    (*out)->p.n = n;
    return true;
}

static bool find_call(machine *m, const object *callable, object *args, object **out);

/* Neither called nor imported: a name with its arguments. */
static object *opaque_call(machine *m, const object *callable, const object *args)
{
    object *o = new_object(m, T2O_PICKLE_OPAQUE);
    o->p.text = callable->p.text ? callable->p.text : "";
    for (size_t i = 0; has_items(args) && i < args->p.n; i++)
        append(m, o, item_at(args, i));
    return o;
}

/* (function, type, arguments, state). What a plain tensor's function builds holds all its values,
 * whatever its type is called in Python; a wrapper around other tensors stays opaque, under the
 * name of its type. */
static bool call_from_type(machine *m, object *args, object **out)
{
    const object *function = item_at(args, 0), *type = item_at(args, 1);
    object *inner = item_at(args, 2), *state = item_at(args, 3);
    if (!state || is_name(function, "torch._tensor._rebuild_from_type_v2"))
        return true;
    if (!find_call(m, function, inner, out))
        return false;
    if (!*out) {
        *out = opaque_call(m, type, inner);
        append(m, *out, state);
    }
    return true;
}

static bool find_call(machine *m, const object *callable, object *args, object **out)
{
    static const struct { const char *name; known_call *call; } known[] = {
        { "torch._utils._rebuild_tensor_v2", call_tensor_v2 },
        { "torch._utils._rebuild_tensor_v3", call_tensor_v3 },
        { "torch._utils._rebuild_parameter", call_parameter },
        { "torch._utils._rebuild_parameter_with_state", call_parameter },
        { "torch._tensor._rebuild_from_type_v2", call_from_type },
        { "torch.Size", call_first },
        { "collections.OrderedDict", call_ordered_dict },
        { "_codecs.encode", call_encode },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_name(callable, known[i].name))
            return known[i].call(m, args, out);
    return true;
}

static bool op_reduce(machine *m)
{
    object *args = pop(m);
    object *callable = args ? pop(m) : NULL, *result = NULL;
    if (!callable)
        return false;
    if (args->p.kind != T2O_PICKLE_TUPLE)
        return fault(m, "a call without arguments");
    if (!find_call(m, callable, args, &result))
        return false;
    return push(m, result ? result : opaque_call(m, callable, args));
}

static bool op_newobj(machine *m)
{
    object *args = pop(m);
    object *type = args ? pop(m) : NULL;
    return type && push(m, opaque_call(m, type, args));
}

static bool op_newobj_ex(machine *m)
{
    object *keywords = pop(m);
    return keywords && op_newobj(m) && (append(m, top(m), keywords), true);
}

/* The state of an opaque object is its last item; attributes of anything else say nothing that is
 * needed. */
static bool op_build(machine *m)
{
    object *state = pop(m);
    object *o = state ? top(m) : NULL;
    if (!o)
        return state && fault(m, "nothing on the stack");
    if (o->p.kind == T2O_PICKLE_OPAQUE && o->role == ROLE_VALUE)
        append(m, o, state);
    return true;
}

/* ---- the loop ---- */

static bool op_proto(machine *m) { return take(m, 1) != NULL; }
static bool op_frame(machine *m) { return take(m, 8) != NULL; }

static bool op_stop(machine *m)
{
    m->done = true;
    return true;
}

static opcode *const opcodes[256] = {
    [0x80] = op_proto,     [0x95] = op_frame,      ['.'] = op_stop,       ['('] = op_mark,
    ['0'] = op_pop,        ['1'] = op_pop_mark,    ['2'] = op_dup,        ['N'] = op_none,
    [0x88] = op_true,      [0x89] = op_false,      ['J'] = op_int4,       ['K'] = op_int1,
    ['M'] = op_int2,       [0x8a] = op_long1,      [0x8b] = op_long4,     ['G'] = op_float,
    ['X'] = op_unicode4,   [0x8c] = op_unicode1,   [0x8d] = op_unicode8,  ['U'] = op_unicode1,
    ['T'] = op_unicode4,   ['C'] = op_bytes1,      ['B'] = op_bytes4,     [0x8e] = op_bytes8,
    [0x96] = op_bytes8,    [')'] = op_empty_tuple, ['t'] = op_tuple,      [0x85] = op_tuple1,
    [0x86] = op_tuple2,    [0x87] = op_tuple3,     [']'] = op_empty_list, ['l'] = op_list,
    ['a'] = op_append,     ['e'] = op_appends,     ['}'] = op_empty_dict, ['d'] = op_dict,
    ['s'] = op_setitem,    ['u'] = op_appends,     [0x8f] = op_empty_set, [0x90] = op_appends,
    ['q'] = op_put1,       ['r'] = op_put4,        ['h'] = op_get1,       ['j'] = op_get4,
    [0x94] = op_memoize,   ['c'] = op_global,      [0x93] = op_stack_global, ['Q'] = op_persid,
    ['R'] = op_reduce,     [0x81] = op_newobj,     [0x92] = op_newobj_ex, ['b'] = op_build,
};

static object *run(machine *m)
{
    while (!m->done) {
        const uint8_t *p = take(m, 1);
        if (!p)
            return NULL;
        if (!opcodes[*p]) {
            fault(m, t2o_printf(m->s->arena, "unknown operation 0x%02x", *p));
            return NULL;
        }
        if (!opcodes[*p](m))
            return NULL;
    }
    return pop(m);
}

/* Depth and expanded size, each object looked at once. An object met while it is open contains
 * itself. */
static bool check_tree(machine *m, object *o, unsigned level)
{
    if (o->state == OPEN)
        return fault(m, "an object that contains itself");
    if (o->state == CHECKED)
        return level + o->depth <= T2O_PICKLE_DEPTH || fault(m, "objects nest too deep");
    if (level >= T2O_PICKLE_DEPTH)
        return fault(m, "objects nest too deep");
    o->state = OPEN;
    o->expanded = 1;
    for (size_t i = 0; has_items(o) && i < o->p.n; i++) {
        object *item = item_at(o, i);
        if (!check_tree(m, item, level + 1))
            return false;
        o->depth = item->depth + 1 > o->depth ? item->depth + 1 : o->depth;
        o->expanded += item->expanded;
        if (o->expanded > MAX_EXPANDED)
            return fault(m, "shared objects expand too far");
    }
    if (o->p.kind == T2O_PICKLE_DICT && o->p.n % 2)
        return fault(m, "a dictionary with a key without value");
    o->state = CHECKED;
    return true;
}

/* ---- torch.save before PyTorch 1.6: five pickles one behind the other, then the storages ---- */

static bool is_legacy(const uint8_t *bytes, size_t n)
{
    static const char magic[] = "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    return n >= sizeof magic - 1 && !memcmp(bytes, magic, sizeof magic - 1);
}

/* The object of the pickle that starts here; the machine is behind it then. */
static object *run_one(machine *m)
{
    m->done = false;
    m->stack.n = m->memo.n = 0;
    return run(m);
}

/* {"little_endian": True, ...} */
static bool check_system(machine *m, const object *info)
{
    for (size_t i = 0; has_items(info) && i + 1 < info->p.n; i += 2) {
        const object *key = item_at(info, i), *value = item_at(info, i + 1);
        if (key->p.kind == T2O_PICKLE_STRING && !strcmp(key->p.text, "little_endian") && !value->p.i)
            return t2o_fail(m->s, "E0506", "%s has the byte order 'big'; only 'little' is read", m->what);
    }
    return true;
}

/* For each key in the list: how many elements, and they themselves. */
static bool read_storages(machine *m, const object *keys)
{
    for (size_t i = 0; has_items(keys) && i < keys->p.n; i++) {
        const object *key = item_at(keys, i);
        object *o = key->p.kind == T2O_PICKLE_STRING ? t2o_map_get(&m->storages, key->p.text) : NULL;
        uint64_t n, size;
        if (!o)
            return fault(m, "a storage that nothing uses");
        size_t bytes = o->dtype == T2O_NO_DTYPE ? 1 : t2o_dtype_size(o->dtype);
        if (!take_number(m, 8, &n))
            return false;
        if (__builtin_mul_overflow(n, bytes, &size))
            return fault(m, "it is cut short");
        const uint8_t *data = take(m, size);
        if (!data)
            return false;
        o->storage = (t2o_storage){ data, size, m->in_file };
    }
    return true;
}

/* Tensors are described before their storages: that pickle is read to get behind it, and again when these are known. */
static object *run_legacy(machine *m)
{
    m->legacy = true;
    object *magic = run_one(m), *protocol = magic ? run_one(m) : NULL, *system = protocol ? run_one(m) : NULL;
    const uint8_t *described = m->at;
    if (!system || !check_system(m, system) || !run_one(m))
        return NULL;
    object *keys = run_one(m);
    if (!keys || !read_storages(m, keys))
        return NULL;
    m->at = described;
    return run_one(m);
}

/* ---- both ---- */

/* The record of the pickle in a zip of torch.save, or NULL after an error. */
static t2o_record *pickle_record(machine *m, const t2o_record *record)
{
    if (t2o_sniff_bytes(record->bytes, record->size)) {
        t2o_fail(m->s, "E0503", "%s is not a file of torch.save", m->what);
        return NULL;
    }
    m->zip = t2o_archive_open(m->s, m->what, record->bytes, record->size, true);
    if (!m->zip || !t2o_archive_check_byteorder(m->zip))
        return NULL;
    t2o_record *r = t2o_archive_find(m->zip, "", "data.pkl");
    if (!r) {
        t2o_fail(m->s, "E0503", "%s: the zip of torch.save in it has no data.pkl", m->what);
        return NULL;
    }
    return t2o_archive_read(m->zip, r) ? r : NULL;
}

const t2o_pickle *t2o_pickle_read(t2o_session *s, const char *what, const t2o_record *record)
{
    machine m = { .s = s, .what = what, .in_file = record->in_file };
    bool legacy = is_legacy(record->bytes, record->size);
    const t2o_record *r = legacy ? record : pickle_record(&m, record);
    if (!r)
        return NULL;
    m.start = m.at = r->bytes;
    m.end = r->bytes + r->size;
    object *o = legacy ? run_legacy(&m) : run(&m);
    return o && check_tree(&m, o, 0) ? &o->p : NULL;
}
