/* info.c: t2o info MODEL.pt2: what an archive holds. */
#include "base/file.h"
#include "cli/cli.h"
#include "pt2/pt2.h"

typedef struct totals {
    size_t parameters, buffers, constants;
    uint64_t bytes;
} totals;

static totals sum_weights(const t2o_graph *g)
{
    totals t = { 0 };
    for (size_t i = 0; i < g->inputs.n; i++) {
        const t2o_value *v = g->inputs.at[i];
        t.parameters += v->spec == T2O_SPEC_PARAMETER;
        t.buffers += v->spec == T2O_SPEC_BUFFER;
        t.constants += v->spec == T2O_SPEC_CONSTANT_TENSOR;
        int64_t bytes = v->data ? t2o_tensor_bytes(v->data) : 0;
        t.bytes += bytes > 0 ? (uint64_t)bytes : 0;
    }
    return t;
}

static void print_text(t2o_session *s, const t2o_program *p, const options *o)
{
    t2o_graph *g = p->graph;
    totals t = sum_weights(g);
    printf("%s: torch.export archive, PyTorch %s, schema %d.%d, dialect %s\n", p->path,
           p->torch_version ? p->torch_version : "?", p->schema_major, p->schema_minor, p->verifier ? p->verifier : "?");
    for (size_t i = 0; i < p->models.n; i++)
        printf("model %s%s\n", p->models.at[i], !strcmp(p->models.at[i], p->model) ? " (shown)" : "");
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->spec == T2O_SPEC_USER_INPUT)
            printf("input  %s: %s\n", g->inputs.at[i]->name, t2o_value_type_text(g, g->inputs.at[i]));
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i].value)
            printf("output %s: %s%s%s\n", g->outputs.at[i].name, t2o_value_type_text(g, g->outputs.at[i].value),
                   g->outputs.at[i].target ? " -> " : "", g->outputs.at[i].target ? g->outputs.at[i].target : "");
    printf("%u nodes; %zu parameters, %zu buffers, %zu constants, %s\n", g->n_nodes, t.parameters, t.buffers,
           t.constants, human_bytes(s, t.bytes));
    if (o->verbose)
        t2o_graph_print(g, stdout);
}

static void json_values(const t2o_graph *g, bool outputs)
{
    const char *comma = "";
    for (size_t i = 0; i < (outputs ? g->outputs.n : g->inputs.n); i++) {
        const t2o_value *v = outputs ? g->outputs.at[i].value : g->inputs.at[i];
        if (!v || (!outputs && v->spec != T2O_SPEC_USER_INPUT))
            continue;
        printf("%s{\"name\": ", comma);
        json_string(stdout, v->name);
        printf(", \"dtype\": ");
        json_string(stdout, t2o_dtype_name(v->dtype));
        printf(", \"shape\": [");
        for (int32_t d = 0; d < v->rank; d++) {
            printf("%s", d ? ", " : "");
            if (t2o_expr_is_int(v->dims[d]))
                printf("%lld", (long long)v->dims[d]->value);
            else
                json_string(stdout, t2o_expr_text(g->exprs, v->dims[d]));
        }
        printf("]}");
        comma = ", ";
    }
}

static void print_json(const t2o_program *p)
{
    totals t = sum_weights(p->graph);
    printf("{\"path\": ");
    json_string(stdout, p->path);
    printf(", \"torch_version\": ");
    json_string(stdout, p->torch_version);
    printf(", \"schema_version\": [%d, %d], \"dialect\": ", p->schema_major, p->schema_minor);
    json_string(stdout, p->verifier);
    printf(", \"model\": ");
    json_string(stdout, p->model);
    printf(", \"models\": [");
    for (size_t i = 0; i < p->models.n; i++) {
        printf("%s", i ? ", " : "");
        json_string(stdout, p->models.at[i]);
    }
    printf("], \"inputs\": [");
    json_values(p->graph, false);
    printf("], \"outputs\": [");
    json_values(p->graph, true);
    printf("], \"nodes\": %u, \"parameters\": %zu, \"buffers\": %zu, \"constants\": %zu, \"weight_bytes\": %llu}\n",
           p->graph->n_nodes, t.parameters, t.buffers, t.constants, (unsigned long long)t.bytes);
}

int command_info(t2o_session *s, const options *o)
{
    if (o->operands.n != 1) {
        t2o_fail(s, "E0201", "info takes one model");
        t2o_hint(s, "t2o info MODEL.pt2");
        return t2o_exit_code(s);
    }
    t2o_file *file = t2o_file_map(s, o->operands.at[0]);
    t2o_program *p = file ? t2o_pt2_read(s, t2o_exprs_new(s), file, o->model) : NULL;
    if (p && o->json)
        print_json(p);
    else if (p)
        print_text(s, p, o);
    t2o_file_unmap(file);
    return t2o_exit_code(s);
}
