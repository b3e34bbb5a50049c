/* pipeline.c: the one list of steps from an archive to a model. */
#include "base/file.h"
#include "cli/cli.h"
#include "onnx/onnx.h"
#include "onnx/schema.h"
#include "pass/pass.h"
#include "pt2/pt2.h"
#include "python/python.h"

#include <time.h>

static int ask_view_kind(void *ctx, const t2o_node *n)
{
    return t2o_script_view_kind(ctx, n);
}

static const char *ask_without_out(void *ctx, const t2o_node *n, bool *takes_dtype)
{
    return t2o_script_without_out(ctx, n, takes_dtype);
}

static t2o_value *ask_rebuild(void *ctx, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                              t2o_node *before)
{
    return t2o_script_rebuild(ctx, view, output, base, changed, before);
}

static bool ask_effects(void *ctx, t2o_node *n, t2o_value **results, t2o_value **written)
{
    return t2o_script_effects(ctx, n, results, written);
}

/* ONNX has no signature: the suffix says it, or the contents do. */
static bool is_onnx(const t2o_file *file)
{
    size_t n = strlen(file->path);
    return (n > 5 && !strcmp(file->path + n - 5, ".onnx")) || t2o_onnx_sniff(file->bytes, file->size);
}

t2o_program *read_program(t2o_session *s, t2o_exprs *exprs, const t2o_file *file, const char *model)
{
    return is_onnx(file) ? t2o_onnx_read(s, exprs, file) : t2o_pt2_read(s, exprs, file, model);
}

/* What was asked for; else a model that is ONNX keeps its own. */
static int opset_of(const run *r)
{
    int own = r->source->onnx ? r->source->onnx->opset : 0, newest = t2o_newest_opset();
    if (r->o->opset)
        return r->o->opset;
    return own < 9 ? DEFAULT_OPSET : own > newest ? newest : own;
}

static bool step_read(run *r)
{
    r->file = t2o_file_map(r->s, r->input);
    if (!r->file)
        return false;
    r->exprs = t2o_exprs_new(r->s);
    r->program = r->source = read_program(r->s, r->exprs, r->file, r->o->model);
    if (!r->program && r->s->diags.n && !strstr(r->s->diags.at[r->s->diags.n - 1]->text, r->input))
        t2o_note(r->s, "in %s", r->input);
    r->opset = r->source ? opset_of(r) : DEFAULT_OPSET;
    t2o_dim_requests dims = {
        .rename = r->o->dim.at, .n_rename = r->o->dim.n, .set = r->o->set.at, .n_set = r->o->set.n,
        .dynamic = r->o->require_dynamic.at, .n_dynamic = r->o->require_dynamic.n,
    };
    return r->program && (!r->o->weights_from || take_weights(r, r->o->weights_from)) &&
           t2o_pass_dims(r->program, &dims);
}

static bool open_script(run *r)
{
    t2o_script_options script_options = {
        .rules = r->o->rules.at, .n_rules = r->o->rules.n, .no_user_rules = r->o->no_user_rules,
        .target = r->o->target, .state = r->o->state, .opset = r->opset,
        .precision = r->o->bfloat16 ? "bfloat16" : r->o->float16 ? "float16" : NULL, .keep = r->o->keep.at,
        .n_keep = r->o->keep.n, .convert_io = r->o->convert_io,
        .keep_unknown = !strcmp(r->o->unknown, "keep"),
        .python = r->output && output_is_python(r->output), .comments = r->o->comments,
    };
    r->script = t2o_script_new(r->s, r->exprs, &script_options);
    return r->script != NULL;
}

static bool step_skip(run *r)
{
    if (r->o->skip_existing && !r->check_only)
        r->skipped = stamp_run(r) && stamp_is_current(r);
    return !t2o_failed(r->s);
}

/* Of a model that is ONNX already. */
static bool step_raise(run *r)
{
    r->onnx = r->program->graph;
    return open_script(r) && t2o_script_raise(r->script, r->onnx);
}

static bool step_normalise(run *r)
{
    if (!open_script(r))
        return false;
    t2o_view_oracle views = { ask_view_kind, ask_without_out, ask_rebuild, ask_effects, r->script };
    return t2o_pass_inline(r->program->graph) && t2o_pass_functional(r->program->graph, &views);
}

static bool step_translate(run *r)
{
    r->onnx = t2o_script_translate(r->script, r->program);
    return r->onnx != NULL;
}

/* ONNX to PyTorch: from here on the program is a torch program. */
static bool step_back(run *r)
{
    t2o_pass_dead_code(r->onnx);
    r->program = t2o_script_back(r->script, r->source);
    r->onnx = NULL;
    return r->program != NULL;
}

static bool step_optimise(run *r)
{
    t2o_pass_dead_code(r->onnx);
    return true;
}

static bool step_lower(run *r)
{
    return t2o_script_lower(r->script, r->onnx, r->opset);
}

static bool step_precision(run *r)
{
    return t2o_script_precision(r->script, r->onnx, r->opset);
}

/* What quantises stands where it was put: runtimes look for it round each operator. */
static bool quantises(const t2o_schema *schema)
{
    for (int i = 0; i < schema->n_inputs; i++) {
        const char *end = strstr(schema->inputs[i].name, "_scale");
        if (end && !end[6])
            return true;
    }
    return false;
}

static bool repeats(const t2o_node *n)
{
    const t2o_schema *schema = strncmp(n->op, "onnx::", 6) ? NULL : t2o_schema_find(n->op + 6, n->opset);
    return schema && schema->deterministic && !quantises(schema);
}

static bool step_target(run *r)
{
    if (!t2o_script_target(r->script, r->onnx, r->opset))
        return false;
    t2o_pass_dead_code(r->onnx);
    t2o_pass_share_constants(r->onnx);
    t2o_pass_functions(r->onnx, r->o->functions.at, r->o->functions.n); /* before nodes of two modules become one */
    t2o_pass_share_nodes(r->onnx, repeats);
    t2o_name_requests names = {
        .inputs = r->o->input_names.at, .n_inputs = r->o->input_names.n, .outputs = r->o->output_names.at,
        .n_outputs = r->o->output_names.n, .rename = r->o->rename.at, .n_rename = r->o->rename.n,
    };
    return t2o_pass_names(r->onnx, &names);
}

static bool step_check(run *r)
{
    return t2o_onnx_check(r->onnx, r->opset);
}

const char *const weights_modes[] = { "embed", "external", "link", "none", "external-safetensors", NULL };

static bool in_safetensors(t2o_dtype d) { return t2o_dtype_safetensors(d) != NULL; }

static bool weights_options(run *r, t2o_onnx_options *o)
{
    while (strcmp(weights_modes[o->weights], r->o->weights))
        o->weights++;
    o->align = r->o->align;
    o->data_path = t2o_printf(r->s->arena, "%s.data", r->output);
    o->archive = r->file;
    o->layout = t2o_safetensors_layout;
    o->has_place = in_safetensors;
    if (o->weights == T2O_WEIGHTS_LAID_OUT) {
        o->data_path = safetensors_beside(r->s, r->output);
        if (r->o->weights_from && !strcmp(o->data_path, r->o->weights_from))
            return t2o_fail(r->s, "E0201", "'%s' is where the weights come from: write the model into another folder",
                            o->data_path);
    }
    if (o->weights != T2O_WEIGHTS_LINK)
        return true;
    o->link = t2o_path_below(r->s, r->output, r->input);
    if (o->link)
        return true;
    t2o_fail(r->s, "E0201", "--weights link: '%s' is not in the folder of '%s', nor below it", r->input, r->output);
    t2o_hint(r->s, "write the model beside the archive, or use --weights external");
    return false;
}

static bool step_write(run *r)
{
    t2o_onnx_options o = { .opset = r->opset, .ir_version = r->o->ir_version, .strip_meta = r->o->strip_meta };
    if (!weights_options(r, &o) || !stamp_run(r))
        return false;
    o.source = r->stamp;
    t2o_output *out = t2o_output_open(r->s, r->output), *data = NULL;
    if (!out)
        return false;
    bool ok = t2o_onnx_write(r->onnx, &o, out, &data);
    r->bytes_written = t2o_output_size(out) + (data ? t2o_output_size(data) : 0);
    if (ok)
        return data ? t2o_output_commit_pair(data, out) : t2o_output_commit(out);
    t2o_output_discard(data);
    t2o_output_discard(out);
    return false;
}

bool output_is_archive(const char *path)
{
    size_t n = path ? strlen(path) : 0;
    return n > 4 && !strcmp(path + n - 4, ".pt2");
}

static bool step_write_archive(run *r)
{
    if (r->source->onnx)
        t2o_script_learn(r->script, r->program);
    if (!t2o_pass_sizes(r->program->graph) || !stamp_run(r))
        return false;
    t2o_output *out = t2o_output_open(r->s, r->output);
    if (!out)
        return false;
    if (!t2o_pt2_write(r->program, r->stamp, out)) {
        t2o_output_discard(out);
        return false;
    }
    r->bytes_written = t2o_output_size(out);
    return t2o_output_commit(out);
}

enum { ARCHIVE = 1, ONNX = 2, PYTHON = 4, ANY = 7 }; /* kinds of files */

/* Which steps are taken follows from what is read and what is written. */
static const struct {
    const char *name;
    bool (*fn)(run *);
    int from, to;
} steps[] = {
    { "read", step_read, ANY, ANY },
    { "skip", step_skip, ANY, ANY },
    { "raise", step_raise, ONNX, ANY },
    { "translate", step_back, ONNX, ARCHIVE | PYTHON },
    { "normalise", step_normalise, ARCHIVE, ONNX | PYTHON },
    { "translate", step_translate, ARCHIVE, ONNX },
    { "optimise", step_optimise, ANY, ONNX },
    { "lower", step_lower, ANY, ONNX },
    { "precision", step_precision, ANY, ONNX },
    { "target", step_target, ANY, ONNX },
    { "check", step_check, ANY, ONNX },
    { "write", step_write, ANY, ONNX },
    { "python", step_python, ANY, PYTHON },
    { "write", step_write_python, ANY, PYTHON },
    { "write", step_write_archive, ANY, ARCHIVE },
};

static bool is_wanted(const run *r, size_t i)
{
    int from = !r->source ? ANY : r->source->onnx ? ONNX : ARCHIVE;
    int to = !r->output ? ONNX : output_is_python(r->output) ? PYTHON : output_is_archive(r->output) ? ARCHIVE : ONNX;
    return (steps[i].from & from) && (steps[i].to & to);
}

bool run_step_exists(const char *name)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (!strcmp(steps[i].name, name))
            return true;
    return false;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool run_steps(run *r)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!is_wanted(r, i) || (r->check_only && !strcmp(steps[i].name, "write")))
            continue;
        double start = now();
        bool writes = !strcmp(steps[i].name, "write");
        if ((writes && !make_folders(r->s, t2o_strdup(r->s->arena, r->output))) || !steps[i].fn(r))
            return t2o_failed(r->s) ? false : t2o_fail(r->s, "E0102", "the step '%s' failed", steps[i].name);
        if (r->skipped)
            return true;
        if (r->o->verbose)
            fprintf(stderr, "%-10s %8.2f ms\n", steps[i].name, (now() - start) * 1e3);
        if (r->o->dump_after && !strcmp(r->o->dump_after, steps[i].name))
            t2o_graph_print(r->onnx ? r->onnx : r->program->graph, stdout);
        if (r->o->stop_after && !strcmp(r->o->stop_after, steps[i].name)) {
            r->check_only = true;
            break;
        }
    }
    return true;
}

void run_end(run *r)
{
    t2o_script_free(r->script);
    t2o_onnx_close(r->source);
    t2o_file_unmap(r->weights_file);
    t2o_file_unmap(r->file);
}
