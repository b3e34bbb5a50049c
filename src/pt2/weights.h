/* weights.h: the weights and constants of one model in an archive, by their state_dict names.
 *
 * Opening reads the lists: two configurations, or in older archives two pickled dictionaries. A tensor is a view of
 * the mapped archive.
 */
#ifndef T2O_PT2_WEIGHTS_H
#define T2O_PT2_WEIGHTS_H

#include "graph/graph.h"
#include "pt2/archive.h"
#include "pt2/pt2.h"

typedef struct t2o_weights t2o_weights;

/* NULL after E0503, E0504 (malformed lists), E0506 (another byte order) or, where the list holds the weights
 * themselves, E0507. A model without weights is no error. */
t2o_weights *t2o_weights_open(t2o_session *s, t2o_archive *a, const char *model);

/* The tensor of this name; *out is NULL where the archive does not list it, or has an object of a tensor subclass: then
 * that is *object. False after E0503, E0504 or E0507. */
bool t2o_weights_find(t2o_weights *w, const char *name, const t2o_tensor **out, const t2o_pickle **object);

/* All weights (not constants) that can be read, in the archive's order. */
void t2o_weights_list(t2o_weights *w, t2o_weight_list *out);

#endif
