/* weights.c: weights that come from another file: --weights-from, and t2o attach. */
#include "base/file.h"
#include "cli/cli.h"
#include "pt2/pt2.h"
#include "pt2/safetensors.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static const t2o_weight_list *read_weights(run *r, const char *path)
{
    r->weights_file = t2o_file_map(r->s, path);
    if (!r->weights_file)
        return NULL;
    if (ends_with(path, ".safetensors"))
        return t2o_safetensors_read(r->s, r->weights_file);
    const t2o_program *p = t2o_pt2_read(r->s, r->exprs, r->weights_file, NULL);
    if (!p)
        t2o_hint(r->s, "weights are read from .safetensors and .pt2 files");
    return p ? &p->state : NULL;
}

static bool same_type(const t2o_value *v, const t2o_tensor *t)
{
    bool same = v->dtype == t->dtype && v->rank == (int32_t)t->rank;
    for (int32_t i = 0; same && i < v->rank; i++)
        same = t2o_expr_is_int(v->dims[i]) && v->dims[i]->value == t->dims[i];
    return same;
}

static bool take(run *r, t2o_value *v, const t2o_tensor *t, const char *name)
{
    t2o_graph *g = v->graph;
    if (!same_type(v, t)) {
        t2o_fail(r->s, "E0507", "weight '%s' is %s in the model, but of another dtype or shape in %s", name,
                 t2o_value_type_text(g, v), r->weights_file->path);
        return false;
    }
    v->data = t;
    return true;
}

/* An ONNX model without weights has them as inputs: those that are given are constants from here on. */
static bool take_inputs(run *r, t2o_graph *g, const t2o_map *weights, size_t *taken)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->inputs.n; i++) {
        t2o_value *v = g->inputs.at[i];
        const t2o_tensor *t = v->name && !v->constant ? t2o_map_get(weights, v->name) : NULL;
        if (!t) {
            g->inputs.at[kept++] = v;
            continue;
        }
        if (!take(r, v, t, v->name))
            return false;
        v->constant = true;
        v->target = v->name;
        v->initial = NULL;
        t2o_push(r->s->arena, &g->constants, v);
        ++*taken;
    }
    g->inputs.n = kept;
    return true;
}

static bool take_constants(run *r, t2o_value **values, size_t n, const t2o_map *weights, size_t *taken)
{
    for (size_t i = 0; i < n; i++) {
        t2o_value *v = values[i];
        const char *name = v->target ? v->target : v->name;
        const t2o_tensor *t = v->constant && name ? t2o_map_get(weights, name) : NULL;
        if (t && !take(r, v, t, name))
            return false;
        *taken += t != NULL;
    }
    return true;
}

bool take_weights(run *r, const char *path)
{
    const t2o_weight_list *list = read_weights(r, path);
    t2o_graph *g = r->program->graph;
    t2o_map weights = { 0 };
    size_t taken = 0;
    if (!list)
        return false;
    for (size_t i = 0; i < list->n; i++)
        t2o_map_set(r->s->arena, &weights, list->at[i].name, (void *)list->at[i].data);
    bool ok = r->program->onnx ? take_constants(r, g->constants.at, g->constants.n, &weights, &taken) &&
                                     take_inputs(r, g, &weights, &taken)
                               : take_constants(r, g->inputs.at, g->inputs.n, &weights, &taken);
    if (!ok)
        return false;
    if (!taken)
        return t2o_fail(r->s, "E0507", "no weight of '%s' has a name that the model has", path);
    if (taken < list->n)
        t2o_warn(r->s, "%zu of the %zu weights in %s are not the model's", list->n - taken, list->n, path);
    return true;
}

int command_attach(t2o_session *s, const options *o)
{
    if (o->operands.n != 2) {
        t2o_fail(s, "E0201", "attach takes a model and its weights");
        t2o_hint(s, "t2o attach MODEL.onnx WEIGHTS.safetensors [-o OUT.onnx]");
        return t2o_exit_code(s);
    }
    options with = *o;
    with.weights_from = o->operands.at[1];
    with.operands.n = 1;
    with.attach = true;
    with.target = "onnx";
    if (!with.output)
        with.output = o->operands.at[0];
    return command_convert(s, &with);
}
