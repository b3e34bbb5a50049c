/* pipeline.c: the one list of steps from an archive to a model. */
#include "base/file.h"
#include "cli/cli.h"
#include "onnx/onnx.h"
#include "pass/pass.h"
#include "pt2/pt2.h"

#include <time.h>

static int ask_view_kind(void *ctx, const t2o_node *n)
{
    return t2o_script_view_kind(ctx, n);
}

static t2o_value *ask_rebuild(void *ctx, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                              t2o_node *before)
{
    return t2o_script_rebuild(ctx, view, output, base, changed, before);
}

static bool step_read(run *r)
{
    r->file = t2o_file_map(r->s, r->input);
    if (!r->file)
        return false;
    r->exprs = t2o_exprs_new(r->s);
    r->program = t2o_pt2_read(r->s, r->exprs, r->file, r->o->model);
    if (!r->program && r->s->diags.n && !strstr(r->s->diags.at[r->s->diags.n - 1]->text, r->input))
        t2o_note(r->s, "in %s", r->input);
    return r->program != NULL;
}

static bool step_normalise(run *r)
{
    t2o_script_options script_options = {
        .rules = r->o->rules.at, .n_rules = r->o->rules.n, .no_user_rules = r->o->no_user_rules,
        .target = r->o->target, .state = r->o->state, .opset = r->o->opset,
    };
    r->script = t2o_script_new(r->s, r->exprs, &script_options);
    if (!r->script)
        return false;
    t2o_view_oracle views = { ask_view_kind, ask_rebuild, r->script };
    return t2o_pass_inline(r->program->graph) && t2o_pass_functional(r->program->graph, &views);
}

static bool step_translate(run *r)
{
    r->onnx = t2o_script_translate(r->script, r->program);
    return r->onnx != NULL;
}

static bool step_optimise(run *r)
{
    t2o_pass_dead_code(r->onnx);
    return true;
}

static bool step_lower(run *r)
{
    return t2o_script_lower(r->script, r->onnx, r->o->opset);
}

static bool step_target(run *r)
{
    if (!t2o_script_target(r->script, r->onnx, r->o->opset))
        return false;
    t2o_pass_dead_code(r->onnx);
    t2o_pass_share_constants(r->onnx);
    t2o_pass_names(r->onnx);
    return true;
}

static bool step_check(run *r)
{
    return t2o_onnx_check(r->onnx, r->o->opset);
}

static bool step_write(run *r)
{
    t2o_onnx_options write_options = { r->o->opset, r->o->ir_version, r->o->strip_meta };
    t2o_output *out = t2o_output_open(r->s, r->output);
    if (!out)
        return false;
    if (!t2o_onnx_write(r->onnx, &write_options, out)) {
        t2o_output_discard(out);
        return false;
    }
    r->bytes_written = t2o_output_size(out);
    return t2o_output_commit(out);
}

static const struct {
    const char *name;
    bool (*fn)(run *);
} steps[] = {
    { "read", step_read },         { "normalise", step_normalise }, { "translate", step_translate },
    { "optimise", step_optimise }, { "lower", step_lower },         { "target", step_target },
    { "check", step_check },         { "write", step_write },
};

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
        if (r->check_only && steps[i].fn == step_write)
            break;
        double start = now();
        if (!steps[i].fn(r))
            return false;
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
    t2o_file_unmap(r->file);
}
