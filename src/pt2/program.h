/* program.h: builds a t2o_program from a model's JSON text and the weights beside it. */
#ifndef T2O_PT2_PROGRAM_H
#define T2O_PT2_PROGRAM_H

#include "graph/graph.h"
#include "pt2/archive.h"

/* `record` is the model's JSON. NULL after E0503, E0504, E0506 or E0507. */
t2o_program *t2o_program_read(t2o_exprs *exprs, t2o_archive *a, t2o_record *record,
                              const char *model);

#endif
