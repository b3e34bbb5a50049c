/* info.c: t2o info MODEL: what an archive, or an ONNX model, holds. */
#include "base/file.h"
#include "cli/cli.h"
#include "onnx/onnx.h"
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
    printf("%s: torch.export archive, PyTorch %s, schema %d.%d, ATen opset %lld, dialect %s\n", p->path,
           p->torch_version ? p->torch_version : "?", p->schema_major, p->schema_minor, (long long)p->aten_opset,
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
        printf(", \"shape\": %s", v->rank < 0 ? "null" : "[");
        for (int32_t d = 0; d < v->rank; d++) {
            printf("%s", d ? ", " : "");
            if (t2o_expr_is_int(v->dims[d]))
                printf("%lld", (long long)v->dims[d]->value);
            else
                json_string(stdout, t2o_expr_text(g->exprs, v->dims[d]));
        }
        printf("%s}", v->rank < 0 ? "" : "]");
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
    printf(", \"schema_version\": [%d, %d], \"aten_opset\": %lld, \"dialect\": ", p->schema_major, p->schema_minor,
           (long long)p->aten_opset);
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
    printf("], \"nodes\": %u, \"parameters\": %zu, \"buffers\": %zu, \"constants\": %zu, \"weight_bytes\": %llu",
           p->graph->n_nodes, t.parameters, t.buffers, t.constants, (unsigned long long)t.bytes);
}

/* ---- ONNX ---- */

/* How often each operator stands in the graph and its bodies, in order of first use. */
static void count_ops(const t2o_graph *g, t2o_map *counts, totals *t)
{
    for (size_t i = 0; i < g->constants.n; i++) {
        t->constants++;
        t->bytes += (uint64_t)t2o_onnx_tensor_size(g->constants.at[i]->data);
    }
    for (const t2o_node *n = g->first; n; n = n->next) {
        uintptr_t so_far = (uintptr_t)t2o_map_get(counts, n->op);
        t2o_map_set(g->s->arena, counts, n->op, (void *)(so_far + 1));
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                count_ops(n->attrs[i].arg.graph, counts, t);
    }
}

static const char *port_text(t2o_graph *g, const t2o_value *v)
{
    return v->container ? v->container : t2o_value_type_text(g, v);
}

static void print_onnx(const t2o_program *p)
{
    const t2o_onnx_source *source = p->onnx;
    t2o_graph *g = p->graph;
    t2o_map counts = { 0 };
    totals t = { 0 };
    count_ops(g, &counts, &t);
    printf("%s: ONNX model, IR version %d, written by %s %s\n", p->path, source->ir_version,
           source->producer ? source->producer : "?", source->producer_version ? source->producer_version : "");
    for (size_t i = 0; i < source->opsets.n; i++)
        printf("opset  %s %d\n", *source->opsets.entries[i].key ? source->opsets.entries[i].key : "ai.onnx",
               (int)(intptr_t)source->opsets.entries[i].value);
    for (size_t i = 0; i < g->inputs.n; i++)
        printf("input  %s: %s%s\n", g->inputs.at[i]->name, port_text(g, g->inputs.at[i]),
               g->inputs.at[i]->initial ? " (has a default)" : "");
    for (size_t i = 0; i < g->outputs.n; i++)
        printf("output %s: %s\n", g->outputs.at[i].name, port_text(g, g->outputs.at[i].value));
    for (size_t i = 0; i < counts.n; i++) {
        const char *op = counts.entries[i].key;
        printf("%6u  %s\n", (unsigned)(uintptr_t)counts.entries[i].value, strncmp(op, "onnx::", 6) ? op : op + 6);
    }
    printf("%u nodes; %zu constants, %s\n", g->n_nodes, t.constants, human_bytes(g->s, t.bytes));
}

static void print_onnx_json(const t2o_program *p)
{
    t2o_map counts = { 0 };
    totals t = { 0 };
    count_ops(p->graph, &counts, &t);
    printf("{\"path\": ");
    json_string(stdout, p->path);
    printf(", \"ir_version\": %d, \"producer\": ", p->onnx->ir_version);
    json_string(stdout, p->onnx->producer);
    printf(", \"opsets\": {");
    for (size_t i = 0; i < p->onnx->opsets.n; i++) {
        printf("%s", i ? ", " : "");
        json_string(stdout, p->onnx->opsets.entries[i].key);
        printf(": %d", (int)(intptr_t)p->onnx->opsets.entries[i].value);
    }
    printf("}, \"inputs\": [");
    json_values(p->graph, false);
    printf("], \"outputs\": [");
    json_values(p->graph, true);
    printf("], \"operators\": {");
    for (size_t i = 0; i < counts.n; i++) {
        printf("%s", i ? ", " : "");
        json_string(stdout, counts.entries[i].key);
        printf(": %u", (unsigned)(uintptr_t)counts.entries[i].value);
    }
    printf("}, \"nodes\": %u, \"constants\": %zu, \"weight_bytes\": %llu", p->graph->n_nodes, t.constants,
           (unsigned long long)t.bytes);
}

static bool show(t2o_session *s, const t2o_file *file, const char *model, const options *o)
{
    t2o_program *p = read_program(s, t2o_exprs_new(s), file, model);
    if (!p)
        return false;
    if (o->json)
        (p->onnx ? print_onnx_json : print_json)(p);
    else if (p->onnx)
        print_onnx(p);
    else {
        print_text(s, p);
        print_samples(s, p, file);
    }
    if (o->check_data)
        show_data(s, p, file, o->json);
    if (o->json)
        printf("}\n");
    else if (o->verbose)
        t2o_graph_print(p->graph, stdout);
    t2o_onnx_close(p);
    return true;
}

/* Whether all of several models are to be shown. What cannot be read is reported by whoever reads it next. */
static bool is_ambiguous(t2o_session *s, const t2o_file *file, const options *o, t2o_model_names *names)
{
    size_t before = s->diags.n;
    bool several = !o->model && t2o_pt2_models(s, file, names) && names->n > 1;
    t2o_forget_diags(s, before);
    return several;
}

int command_info(t2o_session *s, const options *o)
{
    if (o->operands.n != 1) {
        t2o_fail(s, "E0201", "info takes one model");
        t2o_hint(s, "t2o info MODEL.pt2 or MODEL.onnx");
        return t2o_exit_code(s);
    }
    t2o_file *file = t2o_file_map(s, o->operands.at[0]);
    t2o_model_names names = { 0 };
    if (file && is_ambiguous(s, file, o, &names)) {
        for (size_t i = 0; i < names.n && show(s, file, names.at[i], o); i++)
            ;
    } else if (file)
        show(s, file, o->model, o);
    t2o_file_unmap(file);
    return t2o_exit_code(s);
}
