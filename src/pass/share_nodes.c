/* share_nodes.c: equal calls become one.
 *
 * A trace computes a thing wherever the model's code asks for it, and so do rules: each layer of a transformer makes its
 * mask and its indices again. Two calls are equal when operator, operands and attributes are; what is made at random and
 * what holds a body is never equal to anything. Bodies are looked through by themselves.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "pass/pass.h"

/* Constants take part by what they are: a pass before this one made equal ones into one. */
static const t2o_value *now(const t2o_value *v)
{
    return v && v->twin ? v->twin : v;
}

/* Text that is the same for equal attributes only, or NULL where they cannot be compared. */
static const char *arg_key(t2o_arena *a, const t2o_arg *arg)
{
    const char *key;
    switch (arg->kind) {
    case T2O_ARG_VALUE: return t2o_printf(a, "#%u", arg->index);
    case T2O_ARG_INT: return t2o_printf(a, "%" PRId64, arg->i);
    case T2O_ARG_FLOAT: return t2o_printf(a, "%a", arg->f);
    case T2O_ARG_STRING: return t2o_printf(a, "%u\"%.*s", arg->n, (int)arg->n, arg->text);
    case T2O_ARG_LIST:
        key = "[";
        for (uint32_t i = 0; key && i < arg->n; i++) {
            const char *item = arg_key(a, &arg->items[i]);
            key = item ? t2o_printf(a, "%s%s,", key, item) : NULL;
        }
        return key;
    default: return NULL;
    }
}

static int by_name(const void *x, const void *y)
{
    const t2o_attr *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

static const char *key_of(t2o_arena *a, const t2o_node *n)
{
    const char *key = t2o_printf(a, "%s/%d>%u", n->op, n->opset, n->n_outputs);
    const t2o_attr **attrs = T2O_NEW_N(a, const t2o_attr *, n->n_attrs + 1);
    for (uint32_t i = 0; i < n->n_inputs; i++)
        key = n->inputs[i] ? t2o_printf(a, "%s %p", key, (const void *)now(n->inputs[i])) : t2o_printf(a, "%s -", key);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        attrs[i] = &n->attrs[i];
    qsort(attrs, n->n_attrs, sizeof *attrs, by_name);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const char *text = arg_key(a, &attrs[i]->arg);
        if (!text)
            return NULL;
        key = t2o_printf(a, "%s %s=%s", key, attrs[i]->name, text);
    }
    return key;
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
