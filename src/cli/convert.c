/* convert.c: t2o convert MODEL.pt2 [-o OUT.onnx] */
#include "cli/cli.h"

/* model.pt2 -> model.onnx, beside it. */
const char *default_output(t2o_session *s, const options *o, const char *input)
{
    const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
    size_t n = dot && dot > (slash ? slash + 1 : input) ? (size_t)(dot - input) : strlen(input);
    return t2o_printf(s->arena, "%.*s.%s", (int)n, input, o->to ? o->to : "onnx");
}

static bool check_output(t2o_session *s, const options *o, const char *input, const char *output)
{
    size_t n = strlen(output);
    if (!output_is_python(output) && (n < 5 || (strcmp(output + n - 5, ".onnx") && strcmp(output + n - 4, ".pt2")))) {
        t2o_fail(s, "E0201", "the output '%s' does not end in .onnx, .py or .pt2", output);
        return false;
    }
    return o->attach || strcmp(input, output) ? true : t2o_fail(s, "E0201", "input and output are the same file");
}

static uint64_t weight_bytes(const t2o_graph *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < g->constants.n; i++)
        sum += (uint64_t)t2o_tensor_bytes(g->constants.at[i]->data);
    return sum;
}

void convert_report(const run *r, bool ok, const char *verified)
{
    const char *quantised, *line;
    printf("{\"input\": ");
    json_string(stdout, r->input);
    printf(", \"output\": ");
    json_string(stdout, ok && !r->check_only ? r->output : NULL);
    printf(", \"ok\": %s, \"exit_code\": %d", ok ? "true" : "false", t2o_exit_code(r->s));
    if (r->skipped)
        printf(", \"skipped\": true");
    if (ok && r->onnx)
        printf(", \"opset\": %d, \"nodes\": %u, \"initializers\": %zu, \"weight_bytes\": %llu, \"bytes\": %llu",
               r->opset, r->onnx->n_nodes, r->onnx->constants.n, (unsigned long long)weight_bytes(r->onnx),
               (unsigned long long)r->bytes_written);
    if (ok && r->onnx && t2o_script_counts(r->script, r->program->graph, r->onnx, &quantised, &line))
        printf(", \"quantized\": %s", quantised);
    if (verified)
        printf(", \"verify\": %s", verified);
    printf(", \"diagnostics\": ");
    json_diags(stdout, r->s);
    printf("}\n");
}

static void print_summary(const run *r)
{
    const char *json, *quantised;
    fprintf(stderr, "%s: opset %d, %u nodes, %zu initializers, %s\n", r->output, r->opset, r->onnx->n_nodes,
            r->onnx->constants.n, human_bytes(r->s, r->bytes_written));
    if (t2o_script_counts(r->script, r->program->graph, r->onnx, &json, &quantised))
        fprintf(stderr, "  %s\n", quantised);
}

/* Of what was written as Python or as an archive. */
static size_t count_weights(const run *r)
{
    size_t n = r->python.weights.n;
    for (size_t i = 0; output_is_archive(r->output) && i < r->program->graph->inputs.n; i++)
        n += r->program->graph->inputs.at[i]->data != NULL;
    return n;
}

static void print_result(const run *r)
{
    if (r->skipped)
        fprintf(stderr, "%s: is up to date\n", r->output);
    else if (!r->check_only && !r->onnx)
        fprintf(stderr, "%s: %zu weights, %s\n", r->output, count_weights(r), human_bytes(r->s, r->bytes_written));
    else if (!r->check_only)
        print_summary(r);
}

int convert_file(t2o_session *s, const options *o, const char *input, const char *output, bool *skipped)
{
    run r = { .s = s, .o = o, .input = input, .output = output };
    bool ok = check_output(s, o, r.input, r.output) && run_steps(&r);
    if (ok && !o->quiet && !o->json)
        print_result(&r);
    const char *verified = ok && o->verify && !r.check_only && !r.skipped ? verify_conversion(&r) : NULL;
    if (o->json)
        convert_report(&r, ok, verified);
    run_end(&r);
    *skipped = r.skipped && !t2o_failed(s);
    return t2o_exit_code(s);
}

int command_convert(t2o_session *s, const options *o)
{
    if (batch_wanted(o))
        return batch_convert(s, o);
    if (o->operands.n != 1) {
        t2o_fail(s, "E0201", "convert needs the .pt2 file of a model");
        t2o_hint(s, "t2o convert MODEL.pt2 -o OUT.onnx");
        return t2o_exit_code(s);
    }
    const char *input = o->operands.at[0];
    bool skipped;
    return convert_file(s, o, input, o->output ? o->output : default_output(s, o, input), &skipped);
}
