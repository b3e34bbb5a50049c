/* key.h: text that is equal for equal attributes, for passes that look for equal nodes. */
#ifndef T2O_PASS_KEY_H
#define T2O_PASS_KEY_H

#include "graph/graph.h"

/* Numbers, text and lists of them. False, with a part added, for what has no such text: tensors, bodies ... */
bool t2o_key_add_arg(t2o_string *key, const t2o_arg *arg);
/* The number behind a character that tells it from its neighbours. */
void t2o_key_add_int(t2o_string *key, char before, int64_t number);

#endif
