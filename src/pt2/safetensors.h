/* safetensors.h: reads a safetensors file: weights by name, as slices of the mapped file. */
#ifndef T2O_PT2_SAFETENSORS_H
#define T2O_PT2_SAFETENSORS_H

#include "base/file.h"
#include "graph/graph.h"

/* The tensors of the file, in its order. NULL after E0503 (cut short, offsets outside the file) or E0504 (its header is
 * not of the format). The file stays mapped while they are used. */
t2o_weight_list *t2o_safetensors_read(t2o_session *s, const t2o_file *file);

#endif
