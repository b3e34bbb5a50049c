/* python.h: what stands beside a Python module, or an ONNX model: weights as a safetensors file.
 *
 * The data go from where they are (the mapped archive) to the output without a copy. The same weights give the same
 * bytes: they stand in order of falling element size, then of name, so that each is aligned to its elements.
 */
#ifndef T2O_PYTHON_PYTHON_H
#define T2O_PYTHON_PYTHON_H

#include "base/file.h"
#include "graph/graph.h"

/* False after E0101 (a dtype that the format does not have) or E0507 (no data in the archive). The caller
 * commits. `source` (or NULL) stands in the metadata. */
bool t2o_safetensors_write(t2o_session *s, const t2o_weight_list *weights, const char *source, t2o_output *out);
/* The `source` that a file was written with; NULL for others. */
const char *t2o_safetensors_source(t2o_session *s, const t2o_file *file);

/* The same layout for a writer of the data: adds the header to a text that is empty, and fills in where each weight
 * stands, from the start of the file. False after the errors above. */
bool t2o_safetensors_layout(t2o_session *s, const t2o_weight_list *weights, t2o_string *header, uint64_t *offsets);

#endif
