/* subclass.c: torch.ops.export.access_subclass_inner_tensor(object, "attribute") of a weight. */
#include "pt2/subclass.h"

#include <string.h>

#define ACCESS "export::access_subclass_inner_tensor"

/* The attribute in the state of an object, which is its last item; NULL where there is none. */
static const t2o_pickle *attribute(const t2o_pickle *object, const char *name)
{
    const t2o_pickle *state = object->n ? object->items[object->n - 1] : NULL;
    if (!state || state->kind != T2O_PICKLE_DICT)
        return NULL;
    for (size_t i = 0; i + 1 < state->n; i += 2)
        if (state->items[i]->kind == T2O_PICKLE_STRING && !strcmp(state->items[i]->text, name))
            return state->items[i + 1];
    return NULL;
}

/* What the program records of the tensor has to be what the object holds. */
static bool is_of(const t2o_value *v, const t2o_tensor *t)
{
    if (v->kind != T2O_VALUE_TENSOR || v->dtype != t->dtype || v->rank != (int32_t)t->rank)
        return false;
    for (uint32_t i = 0; i < t->rank; i++)
        if (!t2o_expr_is_int(v->dims[i]) || v->dims[i]->value != t->dims[i])
            return false;
    return true;
}

/* The node's result becomes a weight; what cannot be read stays a call, which no rule takes. */
static void unwrap(t2o_node *n, t2o_map *objects)
{
    t2o_graph *g = n->graph;
    const t2o_arg *name = t2o_node_attr(n, "attr");
    const t2o_value *from = n->n_inputs == 1 ? n->inputs[0] : NULL;
    const t2o_pickle *object = from ? t2o_map_get(objects, from->name) : NULL;
    const t2o_pickle *inner =
        object && name && name->kind == T2O_ARG_STRING && n->n_outputs == 1 ? attribute(object, name->text) : NULL;
    if (!inner || (inner->kind == T2O_PICKLE_TENSOR ? !is_of(n->outputs[0], inner->tensor)
                                                    : inner->kind != T2O_PICKLE_OPAQUE))
        return;
    t2o_value *v = n->outputs[0];
    v->producer = NULL;
    v->constant = true;
    v->spec = T2O_SPEC_CONSTANT_TENSOR;
    v->target = t2o_intern(g->s, t2o_printf(g->s->arena, "%s.%s", from->target, name->text));
    if (inner->kind == T2O_PICKLE_TENSOR)
        v->data = inner->tensor;
    else {
        v->wrapped = inner->text;
        t2o_map_set(g->s->arena, objects, v->name, (void *)inner);
    }
    t2o_push(g->s->arena, &g->inputs, v);
    t2o_node_remove(n);
}

void t2o_subclass_unwrap(t2o_graph *g, t2o_map *objects)
{
    for (t2o_node *n = g->first, *next; objects->n && n; n = next) {
        next = n->next;
        if (t2o_op_is(n, ACCESS))
            unwrap(n, objects);
    }
}
