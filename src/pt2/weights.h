/* weights.h: the weights and constants of one model in an archive, by their state_dict names.
 *
 * Opening reads the two configurations; a tensor is made when it is asked for, as a view of the
 * mapped archive.
 */
#ifndef T2O_PT2_WEIGHTS_H
#define T2O_PT2_WEIGHTS_H

#include "graph/graph.h"
#include "pt2/archive.h"

typedef struct t2o_weights t2o_weights;

/* NULL after E0504 (malformed configuration) or E0506 (a layout that is not read); `writer` names
 * the version of PyTorch in the message. A model without weights is no error. */
t2o_weights *t2o_weights_open(t2o_session *s, t2o_archive *a, const char *model,
                              const char *writer);

/* The tensor of this name; *out is NULL where the archive does not list it. False after an error:
 * E0305 for an object of a tensor subclass, E0503, E0504, E0507. */
bool t2o_weights_find(t2o_weights *w, const char *name, const t2o_tensor **out);

#endif
