/* onnx.h: checks an ONNX graph and writes it as a model file.
 *
 * The writer streams: protobuf-c packs into the output's buffer and weights go from the map straight to the file, so
 * that memory does not grow with their size. The same graph and options give the same bytes.
 */
#ifndef T2O_ONNX_ONNX_H
#define T2O_ONNX_ONNX_H

#include "base/file.h"
#include "graph/graph.h"

typedef struct t2o_onnx_options {
    int opset;
    int ir_version;  /* 0 = as the opset needs, at least 10 from opset 20 on as PyTorch's exporter writes */
    bool strip_meta; /* leave out node and value metadata */
} t2o_onnx_options;

/* Every node against its schema at this opset (arity, attribute names and types, type constraints), every name
 * unique, every operand defined before its use. False after E0303 (with the first opset that would do) or E0102. */
bool t2o_onnx_check(const t2o_graph *g, int opset);

/* Writes the model. False after E0101 (or E0102 when it would exceed protobuf's 2 GiB). Does not commit. */
bool t2o_onnx_write(const t2o_graph *g, const t2o_onnx_options *options, t2o_output *out);

#endif
