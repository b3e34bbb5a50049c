/* check.c: t2o check MODEL.pt2: the conversion without the file, and what there is to know before it. */
#include "cli/cli.h"

typedef struct op_count {
    const char *op, *place;
    unsigned n;
} op_count;

typedef T2O_VEC(op_count) op_counts;

static void count_ops(const run *r, op_counts *out)
{
    t2o_map index = { 0 };
    for (const t2o_node *n = r->program->graph->first; n; n = n->next) {
        uintptr_t at = (uintptr_t)t2o_map_get(&index, n->op);
        if (!at) {
            op_count c = { n->op, r->script ? t2o_script_rule_place(r->script, n->op) : NULL, 0 };
            t2o_push(r->s->arena, out, c);
            at = out->n;
            t2o_map_set(r->s->arena, &index, n->op, (void *)at);
        }
        out->at[at - 1].n++;
    }
}

/* "x: f32[1, 3] (dimensions 0, 1 are fixed)" */
static const char *fixed_dims(t2o_session *s, const t2o_value *v)
{
    const char *text = "";
    for (int32_t i = 0; i < v->rank; i++)
        if (t2o_expr_is_int(v->dims[i]))
            text = t2o_printf(s->arena, "%s%s%d", text, *text ? ", " : "", i);
    return text;
}

static const char *status_of(const op_count *c)
{
    return c->place ? c->place : "-";
}

static void print_text(run *r, const op_counts *ops, bool ok)
{
    printf("%-44s %5s  %s\n", "operator", "count", "rule");
    for (size_t i = 0; i < ops->n; i++)
        printf("%-44s %5u  %s\n", ops->at[i].op, ops->at[i].n, status_of(&ops->at[i]));
    for (size_t i = 0; r->program && i < r->program->graph->inputs.n; i++) {
        t2o_value *v = r->program->graph->inputs.at[i];
        if (v->spec == T2O_SPEC_USER_INPUT && v->kind == T2O_VALUE_TENSOR && *fixed_dims(r->s, v))
            printf("input %s: %s, fixed dimensions: %s\n", v->name, t2o_value_type_text(r->program->graph, v),
                   fixed_dims(r->s, v));
    }
    for (size_t i = 0; r->program && i < r->program->graph->outputs.n; i++) {
        const t2o_output_spec *o = &r->program->graph->outputs.at[i];
        if (t2o_spec_is_mutation(o->kind))
            printf("changes %s\n", o->target);
    }
    printf("%s\n", ok ? "can be converted" : "cannot be converted");
}

static void print_json(run *r, const op_counts *ops, bool ok)
{
    printf("{\"input\": ");
    json_string(stdout, r->input);
    printf(", \"ok\": %s, \"exit_code\": %d, \"operators\": [", ok ? "true" : "false", t2o_exit_code(r->s));
    for (size_t i = 0; i < ops->n; i++) {
        printf("%s{\"op\": ", i ? ", " : "");
        json_string(stdout, ops->at[i].op);
        printf(", \"count\": %u, \"rule\": ", ops->at[i].n);
        json_string(stdout, ops->at[i].place);
        printf("}");
    }
    printf("], \"missing\": [");
    const char *comma = "";
    for (size_t i = 0; i < r->s->diags.n; i++) {
        const t2o_diag *d = r->s->diags.at[i];
        if (!d->code || strcmp(d->code, "E0301"))
            continue;
        const char *name = strstr(d->text, "no rule for ") + strlen("no rule for ");
        printf("%s", comma);
        json_string(stdout, t2o_strndup(r->s->arena, name, strcspn(name, " ")));
        comma = ", ";
    }
    printf("], \"inputs\": [");
    comma = "";
    for (size_t i = 0; r->program && i < r->program->graph->inputs.n; i++) {
        t2o_value *v = r->program->graph->inputs.at[i];
        if (v->spec != T2O_SPEC_USER_INPUT)
            continue;
        printf("%s{\"name\": ", comma);
        json_string(stdout, v->name);
        printf(", \"type\": ");
        json_string(stdout, t2o_value_type_text(r->program->graph, v));
        printf(", \"fixed_dims\": [%s]}", v->kind == T2O_VALUE_TENSOR ? fixed_dims(r->s, v) : "");
        comma = ", ";
    }
    printf("], \"changes\": [");
    comma = "";
    for (size_t i = 0; r->program && i < r->program->graph->outputs.n; i++)
        if (t2o_spec_is_mutation(r->program->graph->outputs.at[i].kind)) {
            printf("%s", comma);
            json_string(stdout, r->program->graph->outputs.at[i].target);
            comma = ", ";
        }
    printf("], \"diagnostics\": ");
    json_diags(stdout, r->s);
    printf("}\n");
}

int command_check(t2o_session *s, const options *o)
{
    if (o->operands.n != 1) {
        t2o_fail(s, "E0201", "check takes one model");
        t2o_hint(s, "t2o check MODEL.pt2");
        return t2o_exit_code(s);
    }
    run r = { .s = s, .o = o, .input = o->operands.at[0], .check_only = true };
    bool ok = run_steps(&r);
    op_counts ops = { 0 };
    if (r.program)
        count_ops(&r, &ops);
    if (o->json)
        print_json(&r, &ops, ok);
    else if (r.program)
        print_text(&r, &ops, ok);
    run_end(&r);
    return t2o_exit_code(s);
}
