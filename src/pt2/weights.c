/* weights.c: where a model's weights are listed, and the raw or pickled records that hold them. */
#include "pt2/weights.h"

#include "pt2/enums.h"
#include "pt2/json.h"
#include "pt2/pickle.h"
#include "pt2/storage.h"

/* One weight or constant, as a PayloadMeta that names a record, or as a value of a pickled state_dict. */
typedef struct payload {
    const struct source *from;
    const char *name;
    t2o_json_doc *doc;
    const t2o_json *meta; /* NULL where pickled is set */
    const t2o_pickle *pickled;
    bool known;             /* it has been asked for, and found to be one of these: */
    const t2o_tensor *data;
    const t2o_pickle *object;
} payload;

struct t2o_weights {
    t2o_session *s;
    t2o_archive *archive;
    t2o_map payloads; /* state_dict name -> payload */
};

/* ---- where weights are listed ---- */

typedef bool list_reader(t2o_weights *w, const struct source *from, const t2o_record *r);

static bool read_config(t2o_weights *w, const struct source *from, const t2o_record *r);
static bool read_dictionary(t2o_weights *w, const struct source *from, const t2o_record *r);

/* The layouts that PyTorch has written, the newest first: of weights, and of constants, the first that is there
 * counts. */
static const struct source {
    const char *folder, *file;
    list_reader *read;
    bool of_model; /* the model's name stands before the file's */
    bool constants;
} sources[] = {
    { "data/weights/", "_weights_config.json", read_config, true, false },     /* 2.9 */
    { "data/weights/", "_model_param_config.json", read_config, true, false }, /* its C++ side */
    { "data/weights/", ".pt", read_dictionary, true, false },                  /* 2.8 */
    { "", "serialized_state_dict.pt", read_dictionary, false, false },         /* 2.3 to 2.7 */
    { "data/constants/", "_constants_config.json", read_config, true, true },
    { "data/constants/", "_model_constants_config.json", read_config, true, true },
    { "data/constants/", ".pt", read_dictionary, true, true },
    { "", "serialized_constants.pt", read_dictionary, false, true },
};

/* Weights are read first; a constant of the same name does not hide one. */
static bool add_payload(t2o_weights *w, const payload *p, const t2o_record *r)
{
    const payload *known = t2o_map_get(&w->payloads, p->name);
    if (known && known->from == p->from)
        return t2o_fail(w->s, "E0504", "%s: '%s' is listed twice", r->name, p->name);
    if (known)
        return true;
    payload *kept = T2O_NEW(w->s->arena, payload);
    *kept = *p;
    t2o_map_set(w->s->arena, &w->payloads, kept->name, kept);
    return true;
}

/* PayloadConfig: {"config": {name: PayloadMeta}} */
static bool read_config(t2o_weights *w, const struct source *from, const t2o_record *r)
{
    t2o_json_doc *doc = t2o_json_parse(w->s, r->name, r->bytes, r->size);
    if (!doc)
        return false;
    const t2o_json *config = t2o_json_object(doc, t2o_json_get(doc, doc->root, "config"));
    if (!config)
        return false;
    for (const t2o_json *v = t2o_json_first(config); v; v = t2o_json_next(v)) {
        payload p = { .from = from, .name = t2o_json_key(v), .doc = doc, .meta = v };
        if (!t2o_json_object(doc, v) || !add_payload(w, &p, r))
            return false;
    }
    return true;
}

/* A torch.save of {name: tensor}; without bytes there is none. */
static bool read_dictionary(t2o_weights *w, const struct source *from, const t2o_record *r)
{
    if (r->size == 0)
        return true;
    const t2o_pickle *d = t2o_pickle_read(w->s, t2o_printf(w->s->arena, "record '%s'", r->name), r);
    if (!d)
        return false;
    if (d->kind != T2O_PICKLE_DICT)
        return t2o_fail(w->s, "E0504", "record '%s' is not a dictionary of weights", r->name);
    for (size_t i = 0; i + 1 < d->n; i += 2) {
        payload p = { .from = from, .name = d->items[i]->text, .pickled = d->items[i + 1] };
        if (d->items[i]->kind != T2O_PICKLE_STRING)
            return t2o_fail(w->s, "E0504", "record '%s' has a weight without a name", r->name);
        if (!add_payload(w, &p, r))
            return false;
    }
    return true;
}

static bool read_lists(t2o_weights *w, const char *model, bool constants)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct source *from = &sources[i];
        const char *file = t2o_printf(w->s->arena, "%s%s", from->of_model ? model : "", from->file);
        t2o_record *r = from->constants == constants ? t2o_archive_find(w->archive, from->folder, file) : NULL;
        if (r)
            return t2o_archive_read(w->archive, r) && from->read(w, from, r);
    }
    return true;
}

t2o_weights *t2o_weights_open(t2o_session *s, t2o_archive *a, const char *model)
{
    t2o_weights *w = T2O_NEW(s->arena, t2o_weights);
    w->s = s;
    w->archive = a;
    bool ok = t2o_archive_check_byteorder(a) && read_lists(w, model, false) && read_lists(w, model, true);
    return ok ? w : NULL;
}

/* ---- one tensor ---- */

static bool read_numbers(t2o_json_doc *doc, const t2o_json *list, int64_t *out, uint32_t *n)
{
    if (!t2o_json_array(doc, list))
        return false;
    *n = 0;
    for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v)) {
        if (*n == T2O_MAX_RANK)
            return t2o_json_fail(doc, list, "more than %d dimensions", T2O_MAX_RANK);
        if (!t2o_json_int(doc, t2o_json_get(doc, v, "as_int"), &out[(*n)++]))
            return false;
    }
    return true;
}

static bool read_view(const payload *p, t2o_view *view)
{
    t2o_json_doc *d = p->doc;
    const t2o_json *meta = t2o_json_get(d, p->meta, "tensor_meta");
    int64_t dtype;
    uint32_t n_strides;
    const t2o_json *offset = t2o_json_get(d, meta, "storage_offset");
    if (!t2o_json_int(d, t2o_json_get(d, meta, "dtype"), &dtype) ||
        !read_numbers(d, t2o_json_get(d, meta, "sizes"), view->dims, &view->rank) ||
        !read_numbers(d, t2o_json_get(d, meta, "strides"), view->strides, &n_strides) ||
        !t2o_json_int(d, t2o_json_get(d, offset, "as_int"), &view->offset))
        return false;
    if (n_strides != view->rank)
        return t2o_json_fail(d, meta, "%u sizes, but %u strides", view->rank, n_strides);
    return t2o_dtype_of_schema(dtype, &view->dtype) ||
           t2o_json_fail(d, meta, "unknown element type %d", (int)dtype);
}

static bool read_raw(t2o_weights *w, const payload *p, const t2o_record *r, const t2o_tensor **out)
{
    t2o_view view;
    t2o_storage storage = { r->bytes, r->size, r->in_file };
    if (!read_view(p, &view))
        return false;
    *out = t2o_storage_view(w->s, t2o_printf(w->s->arena, "weight '%s'", p->name), &storage, &view);
    return *out != NULL;
}

/* A tensor that was traced without data, as the reader of pickles leaves it. */
static bool is_fake(const t2o_pickle *v)
{
    static const char *const functions[] = {
        "torch._export.serde.serialize._reconstruct_fake_tensor",
        "torch._utils._rebuild_meta_tensor_no_storage",
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (v->kind == T2O_PICKLE_OPAQUE && v->text && !strcmp(v->text, functions[i]))
            return true;
    return false;
}

/* A tensor, or the object that is there instead; neither for a fake one. */
static void take_pickled(const t2o_pickle *v, const t2o_tensor **out, const t2o_pickle **object)
{
    if (v->kind == T2O_PICKLE_TENSOR)
        *out = v->tensor;
    else if (!is_fake(v))
        *object = v;
}

static bool read_pickled(t2o_weights *w, const payload *p, const t2o_record *r, const t2o_tensor **out,
                         const t2o_pickle **object)
{
    const char *what = t2o_printf(w->s->arena, "weight '%s' (record '%s')", p->name, r->name);
    const t2o_pickle *v = t2o_pickle_read(w->s, what, r);
    if (v)
        take_pickled(v, out, object);
    return v != NULL;
}

static bool read_payload(t2o_weights *w, const payload *p, const t2o_tensor **out, const t2o_pickle **object)
{
    const char *path;
    bool pickled = false;
    const t2o_json *flag = t2o_json_find(p->meta, "use_pickle");
    if (!t2o_json_text(p->doc, t2o_json_get(p->doc, p->meta, "path_name"), &path) ||
        (flag && !t2o_json_bool(p->doc, flag, &pickled)))
        return false;
    t2o_record *r = t2o_archive_find(w->archive, p->from->folder, path);
    if (!r)
        return t2o_fail(w->s, "E0507", "the archive has no record '%s' for weight '%s'", path,
                        p->name);
    if (!t2o_archive_read(w->archive, r))
        return false;
    /* Without bytes there is nothing to unpickle: a fake tensor, as in a raw record. */
    return pickled && r->size ? read_pickled(w, p, r, out, object) : read_raw(w, p, r, out);
}

bool t2o_weights_find(t2o_weights *w, const char *name, const t2o_tensor **out, const t2o_pickle **object)
{
    payload *p = t2o_map_get(&w->payloads, name);
    *out = NULL;
    *object = NULL;
    if (!p)
        return true;
    if (!p->known) {
        if (p->pickled)
            take_pickled(p->pickled, &p->data, &p->object);
        else if (!read_payload(w, p, &p->data, &p->object))
            return false;
        p->known = true;
    }
    *out = p->data;
    *object = p->object;
    return true;
}

static bool is_parameter(const payload *p)
{
    bool is = false;
    const t2o_json *flag = p->meta ? t2o_json_find(p->meta, "is_param") : NULL;
    return p->pickled ? p->pickled->i != 0 : flag && t2o_json_bool(p->doc, flag, &is) && is;
}

void t2o_weights_list(t2o_weights *w, t2o_weight_list *out)
{
    t2o_session *s = w->s;
    for (size_t i = 0; i < w->payloads.n; i++) {
        const payload *p = w->payloads.entries[i].value;
        t2o_weight entry = { .name = t2o_intern(s, p->name) };
        size_t n_diags = s->diags.n;
        const t2o_pickle *object;
        if (p->from->constants)
            continue;
        entry.parameter = is_parameter(p);
        if (t2o_weights_find(w, p->name, &entry.data, &object) && entry.data)
            t2o_push(s->arena, out, entry);
        t2o_forget_diags(s, n_diags); /* an unreadable weight that is used has been reported */
    }
}
