/* onnx.h: reads model files, checks an ONNX graph and writes it as one.
 *
 * The writer streams: protobuf-c packs into the output's buffer and weights go from the map
 * straight to the file, so that memory does not grow with their size. The same graph and options
 * give the same bytes.
 *
 *     if (!t2o_onnx_check(g, opset))
 *         return false;                                   the session has the errors
 *     t2o_output *out = t2o_output_open(s, path);
 *     if (!out || !t2o_onnx_write(g, &options, out)) ...  then t2o_output_commit(out)
 *
 * Everything that is built on the way lives in the arena of the graph's session.
 */
#ifndef T2O_ONNX_ONNX_H
#define T2O_ONNX_ONNX_H

#include "base/file.h"
#include "graph/graph.h"
#include "onnx/schema.h"

typedef enum t2o_weights {
    T2O_WEIGHTS_EMBED,    /* in the model file; in a file of their own where that would exceed 2^31-1 bytes */
    T2O_WEIGHTS_EXTERNAL, /* in one file beside it */
    T2O_WEIGHTS_LINK,     /* where they lie: in the archive, whose bytes the model points at */
    T2O_WEIGHTS_NONE,     /* nowhere: they become inputs */
    T2O_WEIGHTS_LAID_OUT, /* in one file beside it, of a format that `layout` knows */
} t2o_weights;

/* Where weights stand in a file of a format of its own: fills offsets (from the file's start, one a weight) and adds
 * what stands before the first of them. False after an error. */
typedef bool t2o_layout(t2o_session *s, const t2o_weight_list *weights, t2o_string *header, uint64_t *offsets);

#define T2O_SOURCE "pkg.t2o.source"

typedef struct t2o_onnx_options {
    int opset;
    int ir_version;  /* 0 = as the opset needs; from opset 20 on at least 10, as PyTorch does */
    bool strip_meta; /* leave out the metadata of nodes, values and the graph */
    const char *source; /* what tells apart what the model was made of: its property T2O_SOURCE; or NULL */
    t2o_weights weights;
    int64_t align;           /* of external weights of more than 1 MiB, in bytes: a power of two; 0 = 64 KiB */
    const char *data_path;   /* the file of external weights */
    t2o_layout *layout;      /* for T2O_WEIGHTS_LAID_OUT: of all weights whose dtype has a place there */
    bool (*has_place)(t2o_dtype);
    const t2o_file *archive; /* what plain weights are slices of */
    const char *link;        /* its path as seen from the model's folder */
} t2o_onnx_options;

/* Every node against its schema at this opset (arity, attribute names and types, type
 * constraints), every name unique, every operand defined before its use, bodies included. Values
 * without a name pass. False after one or more errors: E0303 (with the first opset that would
 * do) or E0102. Uses the marks of the graph's values; leaves 0. */
bool t2o_onnx_check(const t2o_graph *g, int opset);

/* One node against one version of its operator: what a rule builds is checked with this. When it
 * returns false, *why is a phrase in the arena ("Conv takes 2 to 3 inputs, got 1") and
 * *dtype_unsupported tells that the only fault is a dtype which the operator does not take (its
 * type variables are consistent). Inputs and outputs whose dtype is T2O_NO_DTYPE count as
 * fitting. Adds no diagnostic. */
bool t2o_onnx_check_node(const t2o_schema *schema, const t2o_node *n, const char **why,
                         bool *dtype_unsupported);

/* The dtype that an output has by the node's inputs, attributes and bodies, or T2O_NO_DTYPE
 * where they do not say (a sequence, an input without dtype). */
t2o_dtype t2o_onnx_output_dtype(const t2o_schema *schema, const t2o_node *n, uint32_t output);

/* The operator's name without "onnx::", or NULL for an operator of another domain. */
const char *t2o_onnx_op_type(const t2o_node *n);

/* Bytes of the elements side by side; types below a byte are packed, strings count as a byte each. -1 when the
 * dimensions or the type are impossible. */
int64_t t2o_onnx_tensor_size(const t2o_tensor *t);

/* What a model file says beside its graph. */
typedef struct t2o_onnx_source {
    int ir_version;
    int opset;                          /* of ONNX's own domain; 0 where it is not imported */
    t2o_map opsets;                     /* other domains -> the version imported, as (void *)(intptr_t) */
    const char *producer, *producer_version;
    t2o_props props;                    /* metadata_props of the model */
    t2o_map dims;                       /* a symbol's name -> the dim_param that it stands for */
    T2O_VEC(t2o_file *) files;          /* mapped files of external data */
} t2o_onnx_source;

/* Reads a model into a program whose graph has ONNX nodes, each in the signature of the opset that the file imports
 * (node->opset); functions are put in the place of their calls and Constant nodes are constants. Dtypes and shapes are
 * those that the file states. Weights are slices of the file, so it stays mapped while the program is used, and so do
 * the files of external data, which t2o_onnx_close unmaps. Everything is checked: NULL after E0508 (malformed), E0509
 * (a part of ONNX that is not read) or E0507 (data that are not there). */
t2o_program *t2o_onnx_read(t2o_session *s, t2o_exprs *exprs, const t2o_file *file);
void t2o_onnx_close(const t2o_program *program);
/* Whether the bytes look like a model: the beginning of a ModelProto that has a graph. */
bool t2o_onnx_sniff(const uint8_t *bytes, size_t n);

/* Writes the model; every value must have a name. Where weights go into a file of their own, *data is its output, else
 * NULL. False after E0102 (it would exceed protobuf's 2 GiB even so, or holds what ONNX cannot), E0101 or E0507. Does
 * not commit: a full disk is told by t2o_output_commit. Uses the marks of the nodes of the program's graph; leaves 0.
 * */
bool t2o_onnx_write(const t2o_graph *g, const t2o_onnx_options *options, t2o_output *out, t2o_output **data);

#endif
