/* subclass.h: weights that are objects around tensors (of quantisers, mostly): the tensors inside become weights of
 * their own where the program takes them out.
 */
#ifndef T2O_PT2_SUBCLASS_H
#define T2O_PT2_SUBCLASS_H

#include "graph/graph.h"
#include "pt2/pt2.h"

/* `objects` holds, by the input's name, the t2o_pickle of each weight that is an object. */
void t2o_subclass_unwrap(t2o_graph *g, t2o_map *objects);

#endif
