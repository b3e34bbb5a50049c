/* weights.c: PayloadConfig records and the raw or pickled records that they point to. */
#include "pt2/weights.h"

#include "pt2/enums.h"
#include "pt2/json.h"
#include "pt2/pickle.h"
#include "pt2/storage.h"

typedef struct payload {
    t2o_json_doc *doc;
    const t2o_json *meta; /* PayloadMeta */
    const char *folder;
    const char *name;
} payload;

struct t2o_weights {
    t2o_session *s;
    t2o_archive *archive;
    t2o_map payloads; /* state_dict name -> payload */
};

/* ---- the configurations ---- */

static bool add_payload(t2o_weights *w, t2o_json_doc *doc, const char *folder, const t2o_json *meta)
{
    const char *name = t2o_json_key(meta);
    if (!t2o_json_object(doc, meta))
        return false;
    payload *p = T2O_NEW(w->s->arena, payload);
    *p = (payload){ doc, meta, folder, name };
    /* Weights are read first; a constant of the same name does not hide one. */
    payload *known = t2o_map_get(&w->payloads, name);
    if (known && known->doc == doc)
        return t2o_json_fail(doc, meta, "'%s' is listed twice", name);
    if (!known)
        t2o_map_set(w->s->arena, &w->payloads, name, p);
    return true;
}

static bool read_config(t2o_weights *w, const char *folder, const char *file)
{
    t2o_record *r = t2o_archive_find(w->archive, folder, file);
    if (!r)
        return true;
    if (!t2o_archive_read(w->archive, r))
        return false;
    t2o_json_doc *doc = t2o_json_parse(w->s, r->name, r->bytes, r->size);
    if (!doc)
        return false;
    const t2o_json *config = t2o_json_object(doc, t2o_json_get(doc, doc->root, "config"));
    if (!config)
        return false;
    for (const t2o_json *v = t2o_json_first(config); v; v = t2o_json_next(v))
        if (!add_payload(w, doc, folder, v))
            return false;
    return true;
}

/* PyTorch 2.8 pickles all weights of a model into one record, and 2.7 and before use other records
 * altogether. */
static bool check_layout(const t2o_archive *a, const char *model, const char *writer)
{
    t2o_session *s = a->s;
    const char *pickled = t2o_printf(s->arena, "%s.pt", model);
    const char *config = t2o_printf(s->arena, "%s_weights_config.json", model);
    bool old = t2o_archive_find(a, "", "serialized_exported_program.json") ||
               (t2o_archive_find(a, "data/weights/", pickled) &&
                !t2o_archive_find(a, "data/weights/", config));
    if (!old)
        return true;
    t2o_fail(s, "E0506", "'%s' was written by PyTorch %s, whose layout is not read yet", a->path,
             writer);
    t2o_hint(s, "load it with that PyTorch and save it again with 2.9 or newer");
    return false;
}

t2o_weights *t2o_weights_open(t2o_session *s, t2o_archive *a, const char *model, const char *writer)
{
    t2o_weights *w = T2O_NEW(s->arena, t2o_weights);
    w->s = s;
    w->archive = a;
    if (!check_layout(a, model, writer) || !t2o_archive_check_byteorder(a) ||
        !read_config(w, "data/weights/", t2o_printf(s->arena, "%s_weights_config.json", model)) ||
        !read_config(w, "data/constants/", t2o_printf(s->arena, "%s_constants_config.json", model)))
        return NULL;
    return w;
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

static bool read_pickled(t2o_weights *w, const payload *p, const t2o_record *r,
                         const t2o_tensor **out)
{
    const char *what = t2o_printf(w->s->arena, "weight '%s' (record '%s')", p->name, r->name);
    const t2o_pickle *v = t2o_pickle_read(w->s, what, r->bytes, r->size);
    if (!v)
        return false;
    if (v->kind != T2O_PICKLE_TENSOR) {
        const char *type =
            v->kind == T2O_PICKLE_OPAQUE && v->text ? v->text : "something other than a tensor";
        t2o_fail(w->s, "E0305", "weight '%s' is not a plain tensor but an object (%s)", p->name,
                 type);
        t2o_hint(w->s, "unwrap tensor subclasses before the export (unwrap_tensor_subclass)");
        return false;
    }
    *out = v->tensor;
    return true;
}

bool t2o_weights_find(t2o_weights *w, const char *name, const t2o_tensor **out)
{
    const payload *p = t2o_map_get(&w->payloads, name);
    const char *path;
    bool pickled = false;
    *out = NULL;
    if (!p)
        return true;
    const t2o_json *flag = t2o_json_find(p->meta, "use_pickle");
    if (!t2o_json_text(p->doc, t2o_json_get(p->doc, p->meta, "path_name"), &path) ||
        (flag && !t2o_json_bool(p->doc, flag, &pickled)))
        return false;
    t2o_record *r = t2o_archive_find(w->archive, p->folder, path);
    if (!r)
        return t2o_fail(w->s, "E0507", "the archive has no record '%s' for weight '%s'", path,
                        name);
    if (!t2o_archive_read(w->archive, r))
        return false;
    /* Without bytes there is nothing to unpickle: a fake tensor, as in a raw record. */
    return pickled && r->size ? read_pickled(w, p, r, out) : read_raw(w, p, r, out);
}
