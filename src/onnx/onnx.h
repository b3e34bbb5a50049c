/* onnx.h: checks an ONNX graph and writes it as a model file.
 *
 * The writer streams: protobuf-c packs into the output's buffer and weights go from the map
 * straight to the file, so that memory does not grow with their size. The same graph and options
 * give the same bytes.
 *
 *     if (!t2o_onnx_check(g, opset))
 *         return false;                                   the session has the errors
 *     t2o_output *out = t2o_output_open(s, path);
 *     if (!out || !t2o_onnx_write(g, &options, out)) ...  then t2o_output_commit(out)
 *
 * Everything that is built on the way lives in the arena of the graph's session.
 */
#ifndef T2O_ONNX_ONNX_H
#define T2O_ONNX_ONNX_H

#include "base/file.h"
#include "graph/graph.h"
#include "onnx/schema.h"

typedef struct t2o_onnx_options {
    int opset;
    int ir_version;  /* 0 = as the opset needs; from opset 20 on at least 10, as PyTorch does */
    bool strip_meta; /* leave out the metadata of nodes, values and the graph */
} t2o_onnx_options;

/* Every node against its schema at this opset (arity, attribute names and types, type
 * constraints), every name unique, every operand defined before its use, bodies included. Values
 * without a name pass. False after one or more errors: E0303 (with the first opset that would
 * do) or E0102. Uses the marks of the graph's values; leaves 0. */
bool t2o_onnx_check(const t2o_graph *g, int opset);

/* One node against one version of its operator: what a rule builds is checked with this. When it
 * returns false, *why is a phrase in the arena ("Conv takes 2 to 3 inputs, got 1") and
 * *dtype_unsupported tells that the only fault is a dtype which the operator does not take (its
 * type variables are consistent). Inputs and outputs whose dtype is T2O_NO_DTYPE count as
 * fitting. Adds no diagnostic. */
bool t2o_onnx_check_node(const t2o_schema *schema, const t2o_node *n, const char **why,
                         bool *dtype_unsupported);

/* The dtype that an output has by the node's inputs, attributes and bodies, or T2O_NO_DTYPE
 * where they do not say (a sequence, an input without dtype). */
t2o_dtype t2o_onnx_output_dtype(const t2o_schema *schema, const t2o_node *n, uint32_t output);

/* The operator's name without "onnx::", or NULL for an operator of another domain. */
const char *t2o_onnx_op_type(const t2o_node *n);

/* Writes the model; every value must have a name. False after E0102 (it would exceed protobuf's
 * 2 GiB, or holds what ONNX cannot) or E0507. Does not commit: a full disk is told by
 * t2o_output_commit. Uses the marks of the nodes of the program's graph; leaves 0. */
bool t2o_onnx_write(const t2o_graph *g, const t2o_onnx_options *options, t2o_output *out);

#endif
