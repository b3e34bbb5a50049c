/* stamp.c: what an output was made of, so that --skip-existing knows whether it would come out the same.
 *
 * A model holds the stamp as its property pkg.t2o.source, an archive as the record extra/t2o_source, Python source in
 * the metadata of its weights. No time and no path goes into it: the same model is made of the same things anywhere.
 */
#include "base/version.h"
#include "base/file.h"
#include "cli/cli.h"
#include "onnx/onnx.h"
#include "pt2/pt2.h"
#include "python/python.h"

#include <unistd.h>

static void add_digest(t2o_digest *h, const t2o_digest *part)
{
    t2o_digest_number(h, part->a);
    t2o_digest_number(h, part->b);
}

/* Of an archive, whose zip has checksums, the directory is enough; anything else is read as a whole. */
static bool add_input(run *r, t2o_digest *h)
{
    const t2o_onnx_source *onnx = r->source->onnx;
    if (!onnx)
        add_digest(h, &r->source->contents);
    else if (!t2o_file_digest(r->s, r->file, h))
        return false;
    for (size_t i = 0; onnx && i < onnx->files.n; i++)
        if (!t2o_file_digest(r->s, onnx->files.at[i], h))
            return false;
    return !r->weights_file || t2o_file_digest(r->s, r->weights_file, h);
}

static bool add_rules(run *r, t2o_digest *h)
{
    t2o_script_options o = {
        .rules = r->o->rules.at, .n_rules = r->o->rules.n, .no_user_rules = r->o->no_user_rules,
    };
    t2o_digest rules;
    if (r->script)
        rules = t2o_script_digest(r->script);
    else if (!t2o_script_digest_rules(r->s, &o, &rules))
        return false;
    add_digest(h, &rules);
    return true;
}

bool stamp_run(run *r)
{
    if (r->stamp)
        return true;
    t2o_digest h = t2o_digest_start();
    t2o_digest_text(&h, T2O_VERSION);
    t2o_digest_number(&h, (uint64_t)r->opset);
    options_digest(r->o, &h);
    if (!strcmp(r->o->weights, "link")) /* the model names the place of the archive */
        t2o_digest_text(&h, t2o_path_below(r->s, r->output, r->input));
    if (!add_rules(r, &h) || !add_input(r, &h))
        return false;
    r->stamp = t2o_digest_hex(r->s->arena, &h);
    return true;
}

/* ---- of an output ---- */

static const char *stamp_of_onnx(t2o_session *s, const t2o_file *file)
{
    const t2o_program *p = t2o_onnx_read(s, t2o_exprs_new(s), file); /* with its external data, so it is whole */
    const char *stamp = NULL;
    for (size_t i = 0; p && i < p->onnx->props.n; i++)
        if (!strcmp(p->onnx->props.at[i].key, T2O_SOURCE))
            stamp = p->onnx->props.at[i].value;
    t2o_onnx_close(p);
    return stamp;
}

static const char *stamp_of(t2o_session *s, const char *path)
{
    bool python = output_is_python(path);
    const char *holder = python ? safetensors_beside(s, path) : path;
    if (access(path, R_OK) || access(holder, R_OK))
        return NULL;
    t2o_file *file = t2o_file_map(s, holder);
    if (!file)
        return NULL;
    const char *stamp = python                   ? t2o_safetensors_source(s, file)
                        : output_is_archive(path) ? t2o_pt2_extra(s, file, "t2o_source")
                                                  : stamp_of_onnx(s, file);
    t2o_file_unmap(file);
    return stamp;
}

bool stamp_is_current(run *r)
{
    t2o_session *s = t2o_session_new(); /* what is wrong with an older file is nobody's error */
    const char *stamp = stamp_of(s, r->output);
    bool same = stamp && !strcmp(stamp, r->stamp);
    t2o_session_free(s);
    return same;
}
