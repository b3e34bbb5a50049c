/* convert.c: t2o convert MODEL.pt2 [-o OUT.onnx] */
#include "cli/cli.h"

/* model.pt2 -> model.onnx, beside it. */
static const char *default_output(t2o_session *s, const char *input)
{
    const char *slash = strrchr(input, '/'), *dot = strrchr(input, '.');
    size_t n = dot && dot > (slash ? slash + 1 : input) ? (size_t)(dot - input) : strlen(input);
    return t2o_printf(s->arena, "%.*s.onnx", (int)n, input);
}

static bool check_output(t2o_session *s, const char *input, const char *output)
{
    size_t n = strlen(output);
    if (n < 5 || strcmp(output + n - 5, ".onnx")) {
        t2o_fail(s, "E0201", "the output '%s' does not end in .onnx", output);
        return false;
    }
    return strcmp(input, output) ? true : t2o_fail(s, "E0201", "input and output are the same file");
}

static uint64_t weight_bytes(const t2o_graph *g)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < g->constants.n; i++)
        sum += (uint64_t)t2o_tensor_bytes(g->constants.at[i]->data);
    return sum;
}

static void print_json(const run *r, bool ok)
{
    printf("{\"input\": ");
    json_string(stdout, r->input);
    printf(", \"output\": ");
    json_string(stdout, ok && !r->check_only ? r->output : NULL);
    printf(", \"ok\": %s, \"exit_code\": %d", ok ? "true" : "false", t2o_exit_code(r->s));
    if (ok && r->onnx)
        printf(", \"opset\": %d, \"nodes\": %u, \"initializers\": %zu, \"weight_bytes\": %llu, \"bytes\": %llu",
               r->o->opset, r->onnx->n_nodes, r->onnx->constants.n, (unsigned long long)weight_bytes(r->onnx),
               (unsigned long long)r->bytes_written);
    printf(", \"diagnostics\": ");
    json_diags(stdout, r->s);
    printf("}\n");
}

int command_convert(t2o_session *s, const options *o)
{
    if (o->operands.n != 1) {
        t2o_fail(s, "E0201", o->operands.n ? "convert takes one model" : "convert needs the .pt2 file of a model");
        t2o_hint(s, "t2o convert MODEL.pt2 -o OUT.onnx");
        return t2o_exit_code(s);
    }
    run r = { .s = s, .o = o, .input = o->operands.at[0] };
    r.output = o->output ? o->output : default_output(s, r.input);
    bool ok = check_output(s, r.input, r.output) && run_steps(&r);
    if (o->json)
        print_json(&r, ok);
    else if (ok && !o->quiet && !r.check_only)
        fprintf(stderr, "%s: opset %d, %u nodes, %zu initializers, %s\n", r.output, o->opset, r.onnx->n_nodes,
                r.onnx->constants.n, human_bytes(s, r.bytes_written));
    run_end(&r);
    return t2o_exit_code(s);
}
