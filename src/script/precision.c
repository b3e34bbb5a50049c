/* precision.c: a float32 graph in 16 bits (--float16, --bfloat16): nodes by lua/t2o/precision.lua, inputs and
 * outputs. */
#include "script/internal.h"

/* Inputs take the dtype; what was made of them reads a cast. State begins with converted numbers. */
static void convert_inputs(t2o_script *k, t2o_graph *g, t2o_dtype dtype)
{
    t2o_node *first = g->first;
    for (size_t i = 0; i < g->inputs.n; i++) {
        t2o_value *old = g->inputs.at[i];
        if (old->kind != T2O_VALUE_TENSOR || old->dtype != T2O_FLOAT32)
            continue;
        t2o_value *input = t2o_value_new(g, T2O_VALUE_TENSOR, old->name, dtype, old->rank, old->dims);
        input->spec = old->spec;
        input->target = old->target;
        input->persistent = old->persistent;
        input->original_name = old->original_name;
        if (old->initial)
            input->initial = t2o_tensor_converted(k->s->arena, old->initial, dtype);
        old->twin = script_cast(k, g, first, input, T2O_FLOAT32);
        g->inputs.at[i] = input;
    }
}

static void convert_outputs(t2o_script *k, t2o_graph *g, t2o_dtype dtype)
{
    for (size_t i = 0; i < g->outputs.n; i++) {
        t2o_value *v = g->outputs.at[i].value;
        if (v->dtype == T2O_FLOAT32)
            g->outputs.at[i].value = script_cast(k, g, NULL, v, dtype);
    }
}

bool t2o_script_precision(t2o_script *k, t2o_graph *g, int opset)
{
    if (!k->options.precision)
        return true;
    t2o_dtype dtype = t2o_dtype_named(k->options.precision);
    k->node = NULL;
    k->rule = NULL;
    k->opset = opset;
    if (k->options.convert_io) {
        convert_inputs(k, g, dtype);
        t2o_graph_take_twins(g);
        convert_outputs(k, g, dtype);
    }
    if (!script_rewrite(k, "t2o.precision", "convert", g, opset) ||
        !push_function(k, "t2o.precision", "left_out") || !script_call(k, 0, 1))
        return false;
    if (lua_isstring(k->L, -1))
        t2o_warn(k->s, "%s", lua_tostring(k->L, -1));
    lua_pop(k->L, 1);
    return true;
}
