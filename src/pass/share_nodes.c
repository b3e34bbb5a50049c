/* share_nodes.c: equal calls become one.
 *
 * A trace computes a thing wherever the model's code asks for it, and so do rules: each layer of a transformer makes
 * its mask and its indices again. Two calls are equal when operator, operands and attributes are; what is made at
 * random and what holds a body is never equal to anything. Bodies are looked through by themselves.
 */
#include "pass/key.h"
#include "pass/pass.h"

#include <stdlib.h>

/* Constants take part by what they are: a pass before this one made equal ones into one. */
static const t2o_value *now(const t2o_value *v)
{
    return v && v->twin ? v->twin : v;
}

static int by_name(const void *x, const void *y)
{
    const t2o_attr *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

static const char *key_of(t2o_arena *a, const t2o_node *n)
{
    t2o_string key;
    t2o_string_start(&key, a);
    t2o_string_add(&key, n->op);
    t2o_key_add_int(&key, '/', n->opset);
    t2o_key_add_int(&key, '>', n->n_outputs);
    const t2o_attr **attrs = T2O_NEW_N(a, const t2o_attr *, n->n_attrs + 1);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        t2o_string_add_n(&key, " ", 1);
        t2o_string_add_address(&key, now(n->inputs[i]));
    }
    for (uint32_t i = 0; i < n->n_attrs; i++)
        attrs[i] = &n->attrs[i];
    qsort(attrs, n->n_attrs, sizeof *attrs, by_name);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        t2o_key_add_int(&key, ' ', (int64_t)strlen(attrs[i]->name));
        t2o_string_add(&key, attrs[i]->name);
        if (!t2o_key_add_arg(&key, &attrs[i]->arg))
            return NULL;
    }
    return t2o_string_end(&key);
}

/* Outputs of a graph keep their own node: each has its name. Which outputs are asked for has to be the same. */
static bool can_be(const t2o_node *n, const t2o_node *same)
{
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        const t2o_value *v = n->outputs[i], *w = same->outputs[i];
        if (!v != !w || (v && (v->mark || v->dtype != w->dtype || v->rank != w->rank || v->complex != w->complex)))
            return false;
    }
    return true;
}

static void share(t2o_graph *g, bool (*repeats)(const t2o_node *))
{
    t2o_map seen = { 0 };
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value->mark = 1;
    for (t2o_node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                share(n->attrs[i].arg.graph, repeats);
        const char *key = repeats(n) ? key_of(g->s->arena, n) : NULL;
        t2o_node *same = key ? t2o_map_get(&seen, key) : NULL;
        if (same && can_be(n, same)) {
            for (uint32_t i = 0; i < n->n_outputs; i++)
                if (n->outputs[i])
                    n->outputs[i]->twin = same->outputs[i];
            t2o_node_remove(n);
        } else if (key && !same)
            t2o_map_set(g->s->arena, &seen, key, n);
    }
}

void t2o_pass_share_nodes(t2o_graph *g, bool (*repeats)(const t2o_node *))
{
    share(g, repeats);
    t2o_graph_take_twins(g);
    t2o_graph_clear_marks(g);
}
