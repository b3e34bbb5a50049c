/* names.c: one table of names for values and one for nodes, so that collisions cannot arise. */
#include "pass/pass.h"

typedef struct naming {
    t2o_session *s;
    t2o_map values, nodes;
    uint32_t next_value;
} naming;

static const char *free_name(naming *names, t2o_map *table, const char *wanted)
{
    const char *name = t2o_intern(names->s, wanted);
    for (unsigned i = 1; t2o_map_get(table, name); i++)
        name = t2o_intern(names->s, t2o_printf(names->s->arena, "%s_%u", wanted, i));
    t2o_map_set(names->s->arena, table, name, (void *)name);
    return name;
}

static void take(naming *names, t2o_value *v, const char *wanted)
{
    v->name = free_name(names, &names->values, wanted);
    v->mark = 1;
}

static void name_rest(naming *names, t2o_value *v)
{
    if (!v || v->mark)
        return;
    if (v->original_name)
        take(names, v, v->original_name);
    else
        take(names, v, t2o_printf(names->s->arena, "val_%u", names->next_value++));
}

static void name_results(naming *names, t2o_graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        name_rest(names, g->inputs.at[i]);
    for (size_t i = 0; i < g->constants.n; i++)
        name_rest(names, g->constants.at[i]);
    for (t2o_node *n = g->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_outputs; i++)
            name_rest(names, n->outputs[i]);
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                name_results(names, n->attrs[i].arg.graph);
        const char *first = n->n_outputs && n->outputs[0] ? n->outputs[0]->name : n->op;
        n->name = free_name(names, &names->nodes, t2o_printf(names->s->arena, "node_%s", first));
    }
}

static void clear(t2o_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        g->values.at[i]->mark = 0;
    for (t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                clear(n->attrs[i].arg.graph);
}

void t2o_pass_names(t2o_graph *g)
{
    naming names = { .s = g->s };
    for (size_t i = 0; i < g->inputs.n; i++)
        take(&names, g->inputs.at[i], g->inputs.at[i]->name);
    for (size_t i = 0; i < g->outputs.n; i++)
        take(&names, g->outputs.at[i].value, g->outputs.at[i].name ? g->outputs.at[i].name : "output");
    for (size_t i = 0; i < g->constants.n; i++)
        if (!g->constants.at[i]->mark && g->constants.at[i]->target)
            take(&names, g->constants.at[i], g->constants.at[i]->target);
    name_results(&names, g);
    clear(g);
}
