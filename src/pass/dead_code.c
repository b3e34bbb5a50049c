/* dead_code.c: marks what the outputs need, from behind, and removes the rest. */
#include "pass/pass.h"

static void mark_graph(t2o_graph *g);

static void mark_node(t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i])
            n->inputs[i]->mark = 1;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
            mark_graph(n->attrs[i].arg.graph);
}

static bool is_needed(const t2o_node *n)
{
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] && n->outputs[i]->mark)
            return true;
    return n->n_outputs == 0;
}

static void mark_graph(t2o_graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark = 1;
    for (t2o_node *n = g->last, *prev; n; n = prev) {
        prev = n->prev;
        if (is_needed(n))
            mark_node(n);
        else
            t2o_node_remove(n);
    }
}

/* Drops the constants that nothing marked, those of bodies too. */
static void sweep(t2o_graph *g)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->constants.n; i++)
        if (g->constants.at[i]->mark)
            g->constants.at[kept++] = g->constants.at[i];
    g->constants.n = kept;
    for (t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                sweep(n->attrs[i].arg.graph);
}

void t2o_pass_dead_code(t2o_graph *g)
{
    mark_graph(g);
    sweep(g);
    t2o_graph_clear_marks(g);
}
