/* pt2.c: which models an archive holds, and the way from a name to a program. */
#include "pt2/pt2.h"

#include "pt2/archive.h"
#include "pt2/pickle.h"
#include "pt2/program.h"
#include "pt2/sniff.h"

/* PyTorch 2.7 and before: one program, not in a folder. */
#define OLD_PROGRAM "serialized_exported_program.json"

#define LISTED_MODELS 20

typedef struct model {
    const char *name;
    t2o_record *record;
} model;

typedef T2O_VEC(model) model_list;

/* The "a/b" of "models/a/b.json", or NULL. */
static const char *model_name(const t2o_archive *a, const t2o_record *r)
{
    static const char folder[] = "models/", ending[] = ".json";
    const size_t before = sizeof folder - 1, behind = sizeof ending - 1;
    const char *path = t2o_archive_relative(a, r);
    size_t n = path ? strlen(path) : 0;
    if (n <= before + behind || strncmp(path, folder, before) || strcmp(path + n - behind, ending))
        return NULL;
    return t2o_intern_n(a->s, path + before, n - before - behind);
}

static void list_models(const t2o_archive *a, model_list *out)
{
    t2o_record *old = t2o_archive_find(a, "", OLD_PROGRAM);
    if (old) {
        model only = { t2o_intern(a->s, "model"), old };
        t2o_push(a->s->arena, out, only);
        return;
    }
    for (size_t i = 0; i < a->records.n; i++) {
        model m = { NULL, a->records.entries[i].value };
        m.name = model_name(a, m.record);
        if (m.name)
            t2o_push(a->s->arena, out, m);
    }
}

static bool has_below(const t2o_archive *a, const char *folder)
{
    for (size_t i = 0; i < a->records.n; i++) {
        const char *path = t2o_archive_relative(a, a->records.entries[i].value);
        if (path && !strncmp(path, folder, strlen(folder)))
            return true;
    }
    return false;
}

static bool no_models(const t2o_archive *a)
{
    if (has_below(a, "data/aotinductor/")) {
        t2o_fail(a->s, "E0502",
                 "'%s' has no exported program in it: it is a package compiled by AOTInductor",
                 a->path);
        t2o_hint(a->s, "save the program itself with torch.export.save");
        return false;
    }
    t2o_fail(a->s, "E0502", "'%s' has no exported program in it", a->path);
    t2o_hint(a->s, "a torch.export.save that failed leaves such a file behind");
    return false;
}

static const char *names_of(const t2o_archive *a, const model_list *models)
{
    const char *text = "";
    for (size_t i = 0; i < models->n && i < LISTED_MODELS; i++)
        text = t2o_printf(a->s->arena, "%s%s'%s'", text, i ? ", " : "", models->at[i].name);
    return models->n > LISTED_MODELS ? t2o_printf(a->s->arena, "%s and others", text) : text;
}

/* NULL after E0505. */
static const model *pick_model(const t2o_archive *a, const model_list *models, const char *name)
{
    if (!name && models->n == 1)
        return &models->at[0];
    for (size_t i = 0; i < models->n; i++)
        if (!strcmp(models->at[i].name, name ? name : "model"))
            return &models->at[i];
    if (name)
        t2o_fail(a->s, "E0505", "'%s' has no model '%s'; it has %s", a->path, name,
                 names_of(a, models));
    else
        t2o_fail(a->s, "E0505", "'%s' has several models: %s", a->path, names_of(a, models));
    t2o_hint(a->s, "choose one with --model");
    return NULL;
}

/* The archive and its models, or NULL after an error. */
static t2o_archive *open_archive(t2o_session *s, const t2o_file *file, model_list *models)
{
    t2o_archive *a = t2o_archive_open(s, file->path, file->bytes, file->size, false);
    if (!a)
        return NULL;
    const char *other = t2o_sniff_zip(a);
    if (other) {
        t2o_fail(s, "E0502", "'%s' is not a torch.export archive: it looks like %s", file->path,
                 other);
        return NULL;
    }
    list_models(a, models);
    if (models->n == 0) {
        no_models(a);
        return NULL;
    }
    return a;
}

/* The archive and the model that is asked for, or NULL after an error. */
static t2o_archive *open_model(t2o_session *s, const t2o_file *file, const char *name,
                               model_list *models, const model **picked)
{
    t2o_archive *a = open_archive(s, file, models);
    *picked = a ? pick_model(a, models, name) : NULL;
    return *picked ? a : NULL;
}

bool t2o_pt2_models(t2o_session *s, const t2o_file *file, t2o_model_names *out)
{
    model_list models = { 0 };
    if (!open_archive(s, file, &models))
        return false;
    for (size_t i = 0; i < models.n; i++)
        t2o_push(s->arena, out, models.at[i].name);
    return true;
}

static void add_records(const t2o_archive *a, t2o_digest *h)
{
    for (size_t i = 0; i < a->records.n; i++) {
        const t2o_record *r = a->records.entries[i].value;
        t2o_digest_text(h, r->name);
        t2o_digest_number(h, r->size);
        t2o_digest_number(h, r->crc);
        t2o_digest_number(h, r->in_file ? (uint64_t)(r->bytes - a->bytes) : r->place[0]);
    }
}

t2o_program *t2o_pt2_read(t2o_session *s, t2o_exprs *exprs, const t2o_file *file, const char *name)
{
    model_list models = { 0 };
    const model *m;
    t2o_archive *a = open_model(s, file, name, &models, &m);
    if (!a)
        return NULL;
    t2o_program *p = t2o_program_read(exprs, a, m->record, m->name);
    for (size_t i = 0; p && i < models.n; i++)
        t2o_push(s->arena, &p->models, models.at[i].name);
    if (p) {
        p->contents = t2o_digest_start();
        add_records(a, &p->contents);
    }
    return p;
}

const char *t2o_pt2_extra(t2o_session *s, const t2o_file *file, const char *name)
{
    t2o_archive *a = t2o_archive_open(s, file->path, file->bytes, file->size, false);
    t2o_record *r = a ? t2o_archive_find(a, "extra/", name) : NULL;
    return r && t2o_archive_read(a, r) ? t2o_strndup(s->arena, (const char *)r->bytes, r->size) : NULL;
}

bool t2o_pt2_samples(t2o_session *s, const t2o_file *file, const char *name, const t2o_pickle **out)
{
    model_list models = { 0 };
    const model *m;
    *out = NULL;
    t2o_archive *a = open_model(s, file, name, &models, &m);
    if (!a)
        return false;
    t2o_record *r =
        t2o_archive_find(a, "data/sample_inputs/", t2o_printf(s->arena, "%s.pt", m->name));
    if (!r)
        r = t2o_archive_find(a, "", "serialized_example_inputs.pt");
    if (!r || r->size == 0)
        return true;
    if (!t2o_archive_read(a, r))
        return false;
    *out = t2o_pickle_read(s, r->name, r);
    return *out != NULL;
}
