/* meta.h: the places that the archive records of a node, in the form that people read. All texts are in the arena. */
#ifndef T2O_GRAPH_META_H
#define T2O_GRAPH_META_H

#include "graph/graph.h"

/* What is said of the node, or of the one that it came from; NULL where nothing is. */
const t2o_meta *t2o_meta_of(const t2o_node *n);
/* "model.py:118 in forward: y = self.conv(x)": the innermost frame of the stack trace; NULL when there is none. */
const char *t2o_meta_user_line(t2o_session *s, const t2o_meta *meta);
/* "layer1.0.conv1 (torch.nn.modules.conv.Conv2d)": the innermost module; NULL when there is none. */
const char *t2o_meta_module(t2o_session *s, const t2o_meta *meta);

/* One entry of nn_module_stack. The key tells the calls of a module apart. */
typedef struct t2o_module {
    const char *key, *path, *type; /* no type ("") where nothing says it */
} t2o_module;

/* Returns the rest behind the first entry, NULL at the end; entries that are not of three parts are passed over. Commas
 * inside brackets belong to the type. */
const char *t2o_meta_next_module(t2o_session *s, const char *rest, t2o_module *out);

/* "add: f32[2, 3] <- x, y": name, first output's type and operands. */
const char *t2o_node_summary(const t2o_node *n);
/* Adds the notes user line, module and summary to the last diagnostic. */
void t2o_note_node(const t2o_node *n);

#endif
