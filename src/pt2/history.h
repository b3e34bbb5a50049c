/* history.h: what schemas of export's JSON before today's wrote otherwise, and which ones are read.
 *
 * Members that came later are optional wherever they are read; what was written in another form is brought to today's
 * here, one table a change, so that no other file asks for a version.
 */
#ifndef T2O_PT2_HISTORY_H
#define T2O_PT2_HISTORY_H

#include "graph/graph.h"

/* E0506 where the schema is too old, or newer by its major number. A newer minor one only adds: that is a warning. */
bool t2o_history_check(t2o_session *s, const t2o_program *p);

/* A size expression, by the syntax of the program's time; as t2o_expr_parse. */
const t2o_expr *t2o_history_expr(t2o_session *s, t2o_exprs *e, const t2o_program *p, const char *text,
                                 const char **why);

/* The results of a call, one for each thing that it returns. */
void t2o_history_returns(const t2o_program *p, const char *target, t2o_arg **returns, uint32_t *n);

/* Which arguments of a call go by keyword, where the schema has no place for it. */
void t2o_history_keywords(t2o_session *s, const t2o_program *p, const char *target, t2o_attr *attrs, uint32_t n);

/* Corrects what is recorded of a call's results; then it says why other records may be wrong, else NULL. */
const char *t2o_history_records(const char *target, t2o_node *n);

#endif
