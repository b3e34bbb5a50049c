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

/* "f32[2, 3]" of a tensor, the value of a number, "(...)" of a container. */
static const char *sample_text(t2o_session *s, const t2o_pickle *x, int depth)
{
    static const char *const brackets[] = { "()", "[]", "{}" };
    switch (x->kind) {
    case T2O_PICKLE_NONE: return "None";
    case T2O_PICKLE_BOOL: return x->i ? "True" : "False";
    case T2O_PICKLE_INT: return t2o_printf(s->arena, "%lld", (long long)x->i);
    case T2O_PICKLE_FLOAT: return t2o_printf(s->arena, "%.9g", x->f);
    case T2O_PICKLE_STRING: return t2o_printf(s->arena, "'%s'", x->text);
    case T2O_PICKLE_BYTES: return t2o_printf(s->arena, "%zu bytes", x->n);
    case T2O_PICKLE_OPAQUE: return x->text ? x->text : "object";
    case T2O_PICKLE_TENSOR: {
        const char *text = t2o_printf(s->arena, "%s[", t2o_dtype_short(x->tensor->dtype));
        for (uint32_t i = 0; i < x->tensor->rank; i++)
            text = t2o_printf(s->arena, "%s%s%lld", text, i ? ", " : "", (long long)x->tensor->dims[i]);
        return t2o_printf(s->arena, "%s]", text);
    }
    default: break;
    }
    const char *bracket = brackets[x->kind - T2O_PICKLE_TUPLE], *text = t2o_printf(s->arena, "%c", bracket[0]);
    for (size_t i = 0; i < x->n && i < 16 && depth < 8; i++) {
        bool value = x->kind == T2O_PICKLE_DICT && i % 2;
        text = t2o_printf(s->arena, "%s%s%s", text, value ? ": " : i ? ", " : "",
                          sample_text(s, x->items[i], depth + 1));
    }
    return t2o_printf(s->arena, "%s%s%c", text, x->n > 16 || depth >= 8 ? ", ..." : "", bracket[1]);
}

static void print_samples(t2o_session *s, const t2o_program *p, const t2o_file *file)
{
    const t2o_pickle *samples = NULL;
    size_t before = s->diags.n;
    if (!t2o_pt2_samples(s, file, p->model, &samples)) {
        printf("sample inputs cannot be read: %s\n", s->diags.at[before]->text);
        t2o_forget_diags(s, before); /* they are an extra: the program itself is whole */
    } else if (samples)
        printf("sample inputs %s\n", sample_text(s, samples, 0));
}

static void print_text(t2o_session *s, const t2o_program *p)
{
    t2o_graph *g = p->graph;
    totals t = sum_weights(g);
    printf("%s: torch.export archive, PyTorch %s, schema %d.%d, dialect %s\n", p->path,
           p->torch_version ? p->torch_version : "?", p->schema_major, p->schema_minor,
           p->verifier ? p->verifier : "?");
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
    else if (p) {
        print_text(s, p);
        print_samples(s, p, file);
        if (o->verbose)
            t2o_graph_print(p->graph, stdout);
    }
    t2o_file_unmap(file);
    return t2o_exit_code(s);
}
