/* pass.h: the C passes over a graph. Each takes a whole graph and leaves value marks and twins clear. */
#ifndef T2O_PASS_PASS_H
#define T2O_PASS_PASS_H

#include "graph/graph.h"

/* What the functional pass asks of the rules. */
typedef struct t2o_view_oracle {
    /* 0 no view, 1 a view of its first tensor, 2 that tensor itself, 3 a view or a copy, which only the run tells; 4 an
     * op that writes into arguments of its own accord */
    int (*kind)(void *ctx, const t2o_node *n);
    /* For a node whose last operands, one a result, may be written: the operator that gives these results, and whether
     * it has an argument dtype that is not given. NULL for others, or after an error. */
    const char *(*without_out)(void *ctx, const t2o_node *n, bool *takes_dtype);
    /* The base with the window that output number `output` of the node `view` shows replaced by `changed`: built before
     * the node `before` (NULL = at the end). NULL where the op has no inverse, or after an error. */
    t2o_value *(*rebuild)(void *ctx, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                          t2o_node *before);
    /* Of an op of kind 4: results[i] = what its output number i is, and written[i] = what its operand number i holds
     * afterwards; NULL where the node gives it or it is as it was. What makes them is built before the node. False
     * after an error. */
    bool (*effects)(void *ctx, t2o_node *n, t2o_value **results, t2o_value **written);
    void *ctx;
} t2o_view_oracle;

/* Torch: puts the bodies of regions (no_grad, checkpoints, autocast ...) in their place. Nodes that were in an autocast
 * region that is on keep a note of it. False after E0504. */
bool t2o_pass_inline(t2o_graph *g);

/* Torch: in-place ops and those that write into `out` arguments become pure ones, whose result takes the tensor's place
 * from there on, also where it is seen through views. Inputs and state that are written become outputs behind the
 * program's own (T2O_SPEC_..._MUTATION). False after E0304: a write through what may or may not be a view, or into an
 * operand of a body. */
bool t2o_pass_functional(t2o_graph *g, const t2o_view_oracle *views);

/* What is asked of the dimensions of a program's inputs. A place is "s77", a symbol, or "x:0", a dimension of an
 * input. */
typedef struct t2o_dim_requests {
    const char *const *rename;  /* "s77=batch", "x:0=batch" */
    size_t n_rename;
    const char *const *set;     /* "batch=1", "x:0=1" */
    size_t n_set;
    const char *const *dynamic; /* "x:0": an error where it is fixed */
    size_t n_dynamic;
} t2o_dim_requests;

/* Either dialect: names symbols, and gives numbers to them, wherever they stand. False after E0201 (no such dimension,
 * a number that it cannot have, two symbols of one name) or E0104 (one that must vary is fixed). */
bool t2o_pass_dims(t2o_program *p, const t2o_dim_requests *requests);

/* Either dialect: removes nodes and constants that no output needs. */
void t2o_pass_dead_code(t2o_graph *g);

/* ONNX: equal constants become one. Weights are equal when they are the same storage seen the same way. */
void t2o_pass_share_constants(t2o_graph *g);

/* ONNX: nodes that compute the same from the same become one; repeats(n) says that a node gives the same each time.
 * Outputs of the graph keep their nodes. */
void t2o_pass_share_nodes(t2o_graph *g, bool (*repeats)(const t2o_node *));

/* Torch: size expressions among the arguments become values, computed by symbolic-int nodes before the call. False
 * after E0102: a symbol that no value before it has, or a function without such a node. */
bool t2o_pass_sizes(t2o_graph *g);

/* ONNX: the nodes of each call of a module whose class or path a glob names become a function of the model, equal
 * bodies one. Warns of modules whose nodes others lie between. */
void t2o_pass_functions(t2o_graph *g, const char *const *globs, size_t n_globs);

/* Names that are asked for: of the program's inputs and outputs in their order (state has its own), and "glob=text" for
 * all others, where a '*' of the text stands for what the glob's matched. */
typedef struct t2o_name_requests {
    const char *const *inputs, *const *outputs;
    size_t n_inputs, n_outputs;
    const char *const *rename;
    size_t n_rename;
} t2o_name_requests;

/* ONNX: gives every value and node its final name, all of them unique: inputs, outputs and weights keep theirs, results
 * of torch nodes take those, the rest is numbered. False after E0201: more names than there are inputs or outputs, or
 * one name twice. */
bool t2o_pass_names(t2o_graph *g, const t2o_name_requests *requests);

#endif
