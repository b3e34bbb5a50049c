/* pass.h: the C passes over a graph. Each takes a whole graph and leaves value marks and twins clear. */
#ifndef T2O_PASS_PASS_H
#define T2O_PASS_PASS_H

#include "graph/graph.h"

/* What the functional pass asks of the rules: 0 no view, 1 a view of its first operand, 2 the operand itself. */
typedef struct t2o_view_oracle {
    int (*kind)(void *ctx, const char *op);
    void *ctx;
} t2o_view_oracle;

/* Torch: puts the bodies of no_grad and autocast regions in their place. False after E0302 (an autocast that is on). */
bool t2o_pass_inline(t2o_graph *g);

/* Torch: in-place ops become pure ones whose result takes the tensor's place from there on. False after E0304 where a
 * write would be seen under another name: a view, an input, a buffer. */
bool t2o_pass_functional(t2o_graph *g, const t2o_view_oracle *views);

/* ONNX: removes nodes and constants that no output needs. */
void t2o_pass_dead_code(t2o_graph *g);

/* ONNX: equal constants become one. Weights are equal when they are the same storage seen the same way. */
void t2o_pass_share_constants(t2o_graph *g);

/* ONNX: gives every value and node its final name, all of them unique: inputs, outputs and weights keep theirs, results
 * of torch nodes take those, the rest is numbered. */
void t2o_pass_names(t2o_graph *g);

#endif
