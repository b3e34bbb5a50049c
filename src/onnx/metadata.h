/* metadata.h: the key-value texts that go with nodes, values and the graph.
 *
 * Keys and text forms are those of PyTorch's exporter, so that viewers which know them show the
 * module tree; t2o adds `pkg.t2o.rule`. Lists are in the order in which they are written (by
 * key). Texts live in the session's arena.
 */
#ifndef T2O_ONNX_METADATA_H
#define T2O_ONNX_METADATA_H

#include "graph/graph.h"

/* Sets the mark of every torch node, bodies included, to the number of nodes that use a result
 * of it; clear resets the marks to 0. NULL is allowed. */
void t2o_metadata_count_users(const t2o_graph *torch);
void t2o_metadata_clear_users(const t2o_graph *torch);

/* Of a node: the module path, class path and text of the torch node it came from, its stack
 * trace, its rule. Nothing where it has neither origin nor rule. */
void t2o_metadata_of_node(t2o_props *out, const t2o_node *n);

/* Of a graph input or an initialiser; of an output. */
void t2o_metadata_of_value(t2o_props *out, const t2o_value *v);
void t2o_metadata_of_output(t2o_props *out, const t2o_output_spec *o);

/* Of the main graph: the program's signature and the ranges of its symbols. */
void t2o_metadata_of_graph(t2o_props *out, const t2o_graph *g);

#endif
