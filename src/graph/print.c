/* print.c: the text form of a graph.
 *
 *     graph main_graph(x: f32[s77, 3]) -> (linear)
 *       const fc.weight: f32[4, 3]
 *       linear: f32[s77, 4] = aten::linear(input=x, weight=p_fc_weight)
 *
 * A node is `outputs = op(operands, name=attribute ...)`; small constants show their values. Bodies follow their node,
 * indented. The text depends on nothing but the graph.
 */
#include "graph/graph.h"

#include <inttypes.h>

#define SHOWN_ELEMENTS 8
#define MAX_NESTING 64

static void print_graph(const t2o_graph *g, FILE *out, int indent);

const char *t2o_value_type_text(t2o_graph *g, const t2o_value *v)
{
    t2o_arena *a = g->s->arena;
    static const char *const others[] = { "", "symint", "symfloat", "symbool", "object" };
    if (v->kind != T2O_VALUE_TENSOR)
        return v->expr ? t2o_printf(a, "%s %s", others[v->kind], t2o_expr_text(g->exprs, v->expr)) : others[v->kind];
    if (v->rank < 0)
        return t2o_printf(a, "%s[...]", t2o_dtype_short(v->dtype));
    const char *text = t2o_printf(a, "%s[", t2o_dtype_short(v->dtype));
    for (int32_t i = 0; i < v->rank; i++)
        text = t2o_printf(a, "%s%s%s", text, i ? ", " : "", v->dims[i] ? t2o_expr_text(g->exprs, v->dims[i]) : "?");
    return t2o_printf(a, "%s]", text);
}

static const char *name_of(const t2o_graph *g, const t2o_value *v)
{
    if (!v)
        return "-";
    return v->name ? v->name : t2o_printf(g->s->arena, "%%%u", v->id);
}

static void print_elements(const t2o_tensor *t, FILE *out)
{
    int64_t n = t2o_tensor_count(t);
    if (n < 0 || n > SHOWN_ELEMENTS || !t->data)
        return;
    fputs(" {", out);
    for (int64_t i = 0; i < n; i++) {
        uint64_t element[2];
        int64_t integer;
        double real;
        t2o_tensor_read(t, i, 1, element);
        fputs(i ? ", " : "", out);
        if (t2o_element_to_int(t->dtype, element, &integer))
            fprintf(out, "%" PRId64, integer);
        else if (t2o_element_to_double(t->dtype, element, &real))
            fprintf(out, "%.9g", real);
        else
            fputc('?', out);
    }
    fputc('}', out);
}

static void print_arg(const t2o_node *n, const t2o_arg *arg, FILE *out)
{
    t2o_graph *g = n->graph;
    switch (arg->kind) {
    case T2O_ARG_NONE: fputs("None", out); break;
    case T2O_ARG_VALUE: fputs(name_of(g, n->inputs[arg->index]), out); break;
    case T2O_ARG_INT: fprintf(out, "%" PRId64, arg->i); break;
    case T2O_ARG_FLOAT: fprintf(out, "%.17g", arg->f); break;
    case T2O_ARG_BOOL: fputs(arg->b ? "True" : "False", out); break;
    case T2O_ARG_STRING: fprintf(out, "'%s'", arg->text); break;
    case T2O_ARG_COMPLEX: fprintf(out, "(%.17g+%.17gj)", arg->f, arg->imag); break;
    case T2O_ARG_DTYPE: fputs(t2o_dtype_name(arg->dtype), out); break;
    case T2O_ARG_EXPR: fputs(t2o_expr_text(g->exprs, arg->expr), out); break;
    case T2O_ARG_TENSOR: fputs(t2o_dtype_short(arg->tensor->dtype), out); print_elements(arg->tensor, out); break;
    case T2O_ARG_GRAPH: fprintf(out, "@%s", arg->text ? arg->text : arg->graph->name); break;
    case T2O_ARG_LIST:
    case T2O_ARG_MAP:
        fputc('[', out);
        for (uint32_t i = 0; i < arg->n; i++) {
            fprintf(out, "%s", i ? ", " : "");
            if (arg->kind == T2O_ARG_MAP)
                fprintf(out, "%s: ", arg->keys[i]);
            print_arg(n, &arg->items[i], out);
        }
        fputc(']', out);
        break;
    default: fputs(arg->text ? arg->text : "?", out); break;
    }
}

static void print_node(const t2o_node *n, FILE *out, int indent)
{
    bool torch = n->returns ||
                 (!n->opset && strncmp(n->op, "onnx::", 6)); /* arguments are attributes that name operands */
    const char *comma = "";
    fprintf(out, "%*s", indent, "");
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i])
            fprintf(out, "%s%s: %s", i ? ", " : "", name_of(n->graph, n->outputs[i]),
                    t2o_value_type_text(n->graph, n->outputs[i]));
    fprintf(out, "%s%s(", n->n_outputs ? " = " : "", n->op);
    for (uint32_t i = 0; !torch && i < n->n_inputs; i++, comma = ", ")
        fprintf(out, "%s%s", comma, name_of(n->graph, n->inputs[i]));
    for (uint32_t i = 0; i < n->n_attrs; i++, comma = ", ") {
        fprintf(out, "%s%s%s", comma, n->attrs[i].name, *n->attrs[i].name ? "=" : "");
        print_arg(n, &n->attrs[i].arg, out);
    }
    fputs(")\n", out);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH && indent < 4 * MAX_NESTING)
            print_graph(n->attrs[i].arg.graph, out, indent + 4);
}

static void print_output(const t2o_graph *g, const t2o_output_spec *o, FILE *out)
{
    t2o_node literal = { .graph = (t2o_graph *)g };
    if (o->value)
        fputs(name_of(g, o->value), out);
    else
        print_arg(&literal, &o->literal, out);
    if (o->target)
        fprintf(out, " -> %s", o->target);
}

static void print_graph(const t2o_graph *g, FILE *out, int indent)
{
    t2o_graph *mutable = (t2o_graph *)g; /* its arena takes the texts */
    fprintf(out, "%*sgraph %s(", indent, "", g->name);
    for (size_t i = 0; i < g->inputs.n; i++)
        fprintf(out, "%s%s: %s", i ? ", " : "", name_of(g, g->inputs.at[i]),
                t2o_value_type_text(mutable, g->inputs.at[i]));
    fputs(") -> (", out);
    for (size_t i = 0; i < g->outputs.n; i++) {
        fputs(i ? ", " : "", out);
        print_output(g, &g->outputs.at[i], out);
    }
    fputs(")\n", out);
    for (size_t i = 0; i < g->constants.n; i++) {
        const t2o_value *c = g->constants.at[i];
        fprintf(out, "%*sconst %s: %s", indent + 2, "", name_of(g, c), t2o_value_type_text(mutable, c));
        print_elements(c->data, out);
        fputc('\n', out);
    }
    for (const t2o_node *n = g->first; n; n = n->next)
        print_node(n, out, indent + 2);
}

void t2o_graph_print(const t2o_graph *g, FILE *out)
{
    print_graph(g, out, 0);
}
