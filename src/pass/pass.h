/* pass.h: the C passes over a graph. Each takes a whole graph and leaves value marks and twins clear. */
#ifndef T2O_PASS_PASS_H
#define T2O_PASS_PASS_H

#include "graph/graph.h"

/* What the functional pass asks of the rules. */
typedef struct t2o_view_oracle {
    /* 0 no view, 1 a view of its first tensor, 2 that tensor itself, 3 a view or a copy, which only the run tells */
    int (*kind)(void *ctx, const t2o_node *n);
    /* The base with the window that output number `output` of the node `view` shows replaced by `changed`: built before
     * the node `before` (NULL = at the end). NULL where the op has no inverse, or after an error. */
    t2o_value *(*rebuild)(void *ctx, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                          t2o_node *before);
    void *ctx;
} t2o_view_oracle;

/* Torch: puts the bodies of no_grad and autocast regions in their place. False after E0302 (an autocast that is on). */
bool t2o_pass_inline(t2o_graph *g);

/* Torch: in-place ops become pure ones whose result takes the tensor's place from there on, also where it is seen
 * through views. Inputs and state that are written become outputs behind the program's own (T2O_SPEC_..._MUTATION).
 * False after E0304: a write through what may or may not be a view, or into an operand of a body. */
bool t2o_pass_functional(t2o_graph *g, const t2o_view_oracle *views);

/* ONNX: removes nodes and constants that no output needs. */
void t2o_pass_dead_code(t2o_graph *g);

/* ONNX: equal constants become one. Weights are equal when they are the same storage seen the same way. */
void t2o_pass_share_constants(t2o_graph *g);

/* ONNX: gives every value and node its final name, all of them unique: inputs, outputs and weights keep theirs, results
 * of torch nodes take those, the rest is numbered. */
void t2o_pass_names(t2o_graph *g);

#endif
