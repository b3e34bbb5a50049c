/* body.h: builds a t2o_graph from the JSON of a Graph: values, nodes and their arguments.
 *
 * Each Graph is a scope of its own: names are defined by its inputs and by the outputs of its
 * nodes, in order, and a nested graph sees none of the outer ones. All failures are E0504 with the
 * place in the JSON and the node's name.
 */
#ifndef T2O_PT2_BODY_H
#define T2O_PT2_BODY_H

#include "graph/graph.h"
#include "pt2/json.h"

typedef struct t2o_body_reader {
    t2o_json_doc *doc;
    t2o_exprs *exprs;
    const t2o_program *program;
    const char *doubt;   /* of what the archive records; NULL where nothing was found wrong */
    t2o_map expressions; /* text -> t2o_expr: the same few come back thousands of times */
} t2o_body_reader;

/* What a Graph's JSON lists as inputs or outputs: kind VALUE (index into values), LIST, or a
 * literal. */
typedef struct t2o_ports {
    t2o_arg *args;
    uint32_t n;
    t2o_value **values;
} t2o_ports;

typedef struct t2o_body {
    t2o_graph *graph; /* its inputs are filled, its outputs are not */
    t2o_ports inputs, outputs;
} t2o_body;

/* False after E0504. Values that are used have mark 1. */
bool t2o_body_read(t2o_body_reader *r, const t2o_json *json, const char *name, t2o_body *out);

/* Appends arg, a list of them flattened, to the graph's outputs. */
void t2o_body_add_output(t2o_body *body, const t2o_arg *arg, t2o_spec_kind kind,
                         const char *target);

/* "torch.ops.aten.add.Tensor" -> "aten::add.Tensor"; interned. */
const char *t2o_op_of_target(t2o_session *s, const char *target);

#endif
