/* pickle.h: reads the pickle of a torch.save file as a tree of values. Nothing is imported, called
 * or executed.
 *
 * Tensors, containers and plain values are understood; any other class or function becomes
 * T2O_PICKLE_OPAQUE with its arguments and state as items. The tree is free of cycles and bounded
 * in depth and size even where nodes are shared, so that a caller may simply recurse. It lives in
 * the session's arena; tensors are slices of the archive.
 */
#ifndef T2O_PT2_PICKLE_H
#define T2O_PT2_PICKLE_H

#include "pt2/archive.h"
#include "pt2/pt2.h"

#define T2O_PICKLE_DEPTH 100

/* The object in a record, which has been read and holds a torch.save file; `what` names it in messages. NULL after
 * E0503, E0504, E0506 or E0507. */
const t2o_pickle *t2o_pickle_read(t2o_session *s, const char *what, const t2o_record *record);

#endif
