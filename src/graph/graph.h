/* graph.h: the one graph, for both dialects.
 *
 * A graph is a list of nodes in order; a node has an op ("aten::add.Tensor", "onnx::Add"), operands (values),
 * named attributes and outputs (values). On the torch side the arguments of a call are attributes, which refer to
 * tensors as T2O_ARG_VALUE (an index into the node's inputs), so that every pass sees all operands in one array. On
 * the ONNX side inputs are positional (NULL where one is left out) and attributes hold what AttributeProto can.
 *
 * Everything lives in the session's arena. Strings are interned unless said otherwise: compare op names by pointer
 * or with t2o_op_is. Nothing here fails except where a comment says so.
 */
#ifndef T2O_GRAPH_GRAPH_H
#define T2O_GRAPH_GRAPH_H

#include "base/digest.h"
#include "base/session.h"
#include "base/text.h"
#include "graph/dtype.h"
#include "graph/expr.h"

#include <stdio.h>

typedef struct t2o_graph t2o_graph;
typedef struct t2o_node t2o_node;
typedef struct t2o_value t2o_value;

#define T2O_MAX_RANK 64 /* of what a file describes */

/* The bytes of a constant or weight: a strided view of storage that belongs to a mapped file or the arena. */
typedef struct t2o_tensor {
    t2o_dtype dtype;
    t2o_dtype stored;       /* what the elements are in memory, where they are converted as they are read; else none */
    uint32_t rank;
    const int64_t *dims;
    const int64_t *strides; /* in elements; NULL = contiguous */
    const uint8_t *data;    /* the first element (offset applied); NULL = the archive holds no data */
    size_t available;       /* bytes from data to the end of the storage, checked to suffice */
    bool in_file;           /* data points into the mapped archive */
} t2o_tensor;

/* An element of a tensor of strings, whose data are an array of these. */
typedef struct t2o_text {
    const char *bytes;
    size_t n;
} t2o_text;

/* Elements, or -1 when the product overflows. */
int64_t t2o_tensor_count(const t2o_tensor *t);
/* Bytes when written contiguously, or -1. */
int64_t t2o_tensor_bytes(const t2o_tensor *t);
/* Whether the bytes can be used as they lie. */
bool t2o_tensor_contiguous(const t2o_tensor *t);
/* Copies n elements from element number `first` (row-major) to out, contiguously. Conversion to a narrower float
 * rounds to the nearest, and a finite number that is too large becomes the largest. */
void t2o_tensor_read(const t2o_tensor *t, int64_t first, int64_t n, void *out);
/* Hands all elements to take(to, bytes, n), contiguously: in one piece where they lie so, else block by block. */
void t2o_tensor_blocks(const t2o_tensor *t, void (*take)(void *to, const void *bytes, size_t n), void *to);
/* Adds dtype and sizes as text. */
void t2o_tensor_add_type(const t2o_tensor *t, t2o_string *to);
/* Adds text that is equal for tensors that are the same elements of the same memory, read the same way. */
void t2o_tensor_add_place(const t2o_tensor *t, t2o_string *to);
/* The same numbers as another dtype, converted as they are read. */
const t2o_tensor *t2o_tensor_converted(t2o_arena *arena, const t2o_tensor *t, t2o_dtype dtype);

typedef enum t2o_value_kind {
    T2O_VALUE_TENSOR,
    T2O_VALUE_SYMINT,
    T2O_VALUE_SYMFLOAT,
    T2O_VALUE_SYMBOOL,
    T2O_VALUE_OBJECT, /* torch: custom object or token; ONNX: a sequence, optional or map */
} t2o_value_kind;

/* How a value takes part in the program's signature (export's InputSpec and OutputSpec kinds). */
typedef enum t2o_spec_kind {
    T2O_SPEC_NONE,
    T2O_SPEC_USER_INPUT,
    T2O_SPEC_PARAMETER,
    T2O_SPEC_BUFFER,
    T2O_SPEC_CONSTANT_TENSOR,
    T2O_SPEC_CUSTOM_OBJ,
    T2O_SPEC_TOKEN,
    T2O_SPEC_USER_OUTPUT,
    T2O_SPEC_LOSS_OUTPUT,
    T2O_SPEC_BUFFER_MUTATION,
    T2O_SPEC_PARAMETER_MUTATION,
    T2O_SPEC_USER_INPUT_MUTATION,
    T2O_SPEC_GRADIENT_TO_PARAMETER,
    T2O_SPEC_GRADIENT_TO_USER_INPUT,
} t2o_spec_kind;

const char *t2o_spec_name(t2o_spec_kind kind); /* "USER_INPUT" */
bool t2o_spec_is_mutation(t2o_spec_kind kind); /* an output that is the new value of state or of an input */

struct t2o_value {
    const char *name; /* unique in its graph once named; NULL = named at the end ("val_3") */
    uint32_t id;      /* its place in graph->values */
    t2o_value_kind kind;
    t2o_dtype dtype;
    int32_t rank;               /* -1 = unknown (only between steps) */
    const t2o_expr **dims;      /* rank entries; an entry is NULL where nothing is known of it */
    const t2o_expr *expr;       /* SYMINT: what it stands for, or NULL */
    const t2o_expr **content;   /* what an integer tensor of rank 0 or 1 holds, where known (n_content entries) */
    uint32_t n_content;
    t2o_node *producer;         /* NULL for inputs and constants */
    uint32_t output_index;
    bool omitted;               /* ONNX: an output that the file leaves out, and nobody reads */
    const char *container;      /* ONNX: the type of an object, "seq(tensor(float32))"; its dtype is the inmost */
    const t2o_tensor *data;     /* constants and initialisers */
    const t2o_tensor *initial;  /* ONNX: what an input that is state holds when it is not given */
    bool constant;              /* an initialiser of the ONNX graph, or a weight or constant input of the torch graph */
    t2o_spec_kind spec;         /* of a graph input */
    const char *target;         /* parameter, buffer or constant: the state_dict name */
    bool persistent;
    const char *wrapped;        /* torch: the class of the object that a weight is, where it is no plain tensor */
    bool complex;               /* ONNX: its last dimension holds the real and imaginary parts of complex numbers */
    uint32_t batch;             /* ONNX: the levels of vmap (bits) whose dimensions stand in front, in their order */
    bool contiguous;            /* torch: in memory it lies row by row, from the start of its storage */
    bool scattered;             /* torch: it certainly does not lie row by row, wherever it starts */
    const char *device;         /* torch: where it lay, "cpu" or "cuda:0"; NULL = not known */
    const char *original_name;  /* the name in the program of a value that is shown under another one */
    t2o_graph *graph;
    t2o_value *twin;            /* during translation: the value of the other dialect */
    uint32_t mark;              /* scratch for the running pass; passes leave 0 */
};

typedef enum t2o_arg_kind {
    T2O_ARG_NONE,
    T2O_ARG_VALUE,    /* index: into node->inputs (a tensor, symbolic number, object or token) */
    T2O_ARG_INT,      /* i */
    T2O_ARG_FLOAT,    /* f */
    T2O_ARG_BOOL,     /* b */
    T2O_ARG_STRING,   /* text; n bytes */
    T2O_ARG_COMPLEX,  /* f, imag */
    T2O_ARG_DTYPE,    /* dtype */
    T2O_ARG_DEVICE,   /* text: "cpu", "cuda:0" */
    T2O_ARG_LAYOUT,   /* text: "strided" */
    T2O_ARG_MEMORY_FORMAT, /* text: "contiguous" */
    T2O_ARG_EXPR,     /* expr: a symbolic int given directly */
    T2O_ARG_LIST,     /* items, n: of any kind, also mixed and nested */
    T2O_ARG_TENSOR,   /* tensor: ONNX attributes of tensor type */
    T2O_ARG_GRAPH,    /* graph: a body, text: its name */
    T2O_ARG_OPERATOR, /* text: the op's name, "mylib::bump_" */
    T2O_ARG_MAP,      /* items, n with keys */
    T2O_ARG_UNKNOWN,  /* text: the raw JSON of a tag that is not known */
    T2O_ARG_TYPE,     /* text: an ONNX type, as in t2o_value.container */
} t2o_arg_kind;

typedef struct t2o_arg {
    t2o_arg_kind kind;
    union {
        uint32_t index;
        int64_t i;
        double f;
        bool b;
        t2o_dtype dtype;
        const t2o_expr *expr;
        const t2o_tensor *tensor;
        t2o_graph *graph;
        struct t2o_arg *items;
    };
    double imag;
    const char *text;
    const char **keys;
    uint32_t n;
} t2o_arg;

typedef struct t2o_attr {
    const char *name; /* "" for a positional argument without a name (higher-order ops) */
    t2o_arg arg;
    bool keyword;     /* torch: it was passed by keyword */
} t2o_attr;

typedef struct t2o_prop {
    const char *key, *value;
} t2o_prop;

typedef T2O_VEC(t2o_prop) t2o_props;

/* What the file says of a node beside its call: all may be NULL. Not interned. */
typedef struct t2o_meta {
    const char *stack_trace;
    const char *nn_module_stack;
    const char *torch_fn;
    const char *target;  /* "aten.conv2d.default" */
    const char *fx_node; /* the FX node's name */
    t2o_props props;     /* ONNX: metadata_props as they stand */
    const char *doc;     /* ONNX: the doc string */
} t2o_meta;

/* Where PyTorch chooses dtypes itself. */
typedef struct t2o_autocast {
    const char *device; /* "cpu", "cuda" */
    t2o_dtype dtype;    /* T2O_NO_DTYPE = the device's own choice */
} t2o_autocast;

struct t2o_node {
    const char *op;
    const char *name;
    t2o_value **inputs;
    uint32_t n_inputs;
    t2o_attr *attrs;
    uint32_t n_attrs;
    t2o_value **outputs;    /* flat */
    uint32_t n_outputs;
    t2o_arg *returns;       /* torch: one a schema result; T2O_ARG_VALUE indexes outputs; ONNX: NULL */
    uint32_t n_returns;
    t2o_graph *graph;
    t2o_node *prev, *next;
    const t2o_meta *meta;
    const t2o_node *origin; /* what it was made from: of the other kind, or the file's node that was rewritten */
    const char *rule;       /* ONNX: "rules/aten/conv.lua:12" */
    int opset;              /* ONNX: the opset whose signature it is in */
    bool inplace;           /* torch: was an in-place call; its result has the dtype of self */
    const t2o_autocast *autocast; /* torch: the region that it is in; NULL = none that is on */
    uint32_t mark;
};

/* An output of a graph. A torch program may return numbers and None too. */
typedef struct t2o_output_spec {
    t2o_value *value;   /* NULL where the output is a literal */
    t2o_arg literal;    /* NONE, INT, FLOAT, BOOL, STRING */
    t2o_spec_kind kind;
    const char *target; /* the buffer, parameter or input that is updated */
    const char *name;
} t2o_output_spec;

struct t2o_graph {
    t2o_session *s;
    t2o_exprs *exprs;
    const char *name;
    t2o_graph *parent; /* of a body: the graph whose node holds it */
    T2O_VEC(t2o_value *) inputs;
    T2O_VEC(t2o_output_spec) outputs;
    T2O_VEC(t2o_value *) constants; /* ONNX: initialisers in order of first use; torch: weights are inputs */
    T2O_VEC(t2o_graph *)
    functions; /* ONNX, of a model: its own operators; a function's name is its op, "domain::Name" */
    T2O_VEC(t2o_value *) values;    /* all of them */
    t2o_node *first, *last;
    uint32_t n_nodes;
    uint32_t next_number;           /* for made-up names */
    const struct t2o_program *program;
};

/* A weight as state_dict lists it: tied ones are several names of the same bytes. */
typedef struct t2o_weight {
    const char *name;
    const t2o_tensor *data;
    bool parameter;
} t2o_weight;

typedef T2O_VEC(t2o_weight) t2o_weight_list;

/* What is known of a program beside its graph. */
typedef struct t2o_program {
    const char *path, *model;    /* the archive, the model's name in it */
    t2o_digest contents;         /* of the archive's directory: names, places, sizes and checksums */
    const char *torch_version;
    int schema_major, schema_minor;
    int64_t aten_opset;
    const char *verifier;        /* "TRAINING", "ATEN", ... */
    t2o_graph *graph;
    T2O_VEC(const char *) range_symbols; /* the symbols of range_constraints, in order */
    T2O_VEC(const char *) models;        /* the names of all models in the archive */
    const struct t2o_onnx_source *onnx;  /* NULL where it was read from an archive of PyTorch */
    t2o_weight_list state;               /* state_dict, in its order; those too that the graph does not use */
    const char *doubt;                   /* why what is recorded of some values may be wrong, or NULL */
    const char *in_spec, *out_spec;      /* how inputs and outputs nest, PyTorch's JSON text; NULL = not known */
} t2o_program;

t2o_graph *t2o_graph_new(t2o_session *s, t2o_exprs *exprs, const char *name);

/* A new value; dims may be NULL with rank -1. The dims array is copied. */
t2o_value *t2o_value_new(t2o_graph *g, t2o_value_kind kind, const char *name, t2o_dtype dtype, int32_t rank,
                         const t2o_expr *const *dims);
/* A constant of the graph; data is kept, not copied. Its dims and content follow from it. */
t2o_value *t2o_constant_new(t2o_graph *g, const char *name, const t2o_tensor *data);
void t2o_value_set_dims(t2o_value *v, int32_t rank, const t2o_expr *const *dims);

/* A new node at the end of the graph, or before `before`. Arrays are copied; outputs get their producer set. */
t2o_node *t2o_node_new(t2o_graph *g, t2o_node *before, const char *op, t2o_value *const *inputs, uint32_t n_inputs,
                       const t2o_attr *attrs, uint32_t n_attrs, t2o_value *const *outputs, uint32_t n_outputs);
/* The same call once more, in n's graph: it reads what n reads, and has outputs of its own. */
t2o_node *t2o_node_again(const t2o_node *n, t2o_node *before);
void t2o_node_remove(t2o_node *n);
/* Into another graph or another place, with its outputs: at the end, or before `before`. */
void t2o_node_move(t2o_node *n, t2o_graph *to, t2o_node *before);

/* mark = 0 on all values, those of bodies too. */
void t2o_graph_clear_marks(t2o_graph *g);
/* twin = NULL on all values, those of bodies too. */
void t2o_graph_forget_twins(t2o_graph *g);
/* Puts the twins of values where these are read, in bodies too, and forgets them. */
void t2o_graph_take_twins(t2o_graph *g);

/* The attribute of this name, or NULL. */
const t2o_arg *t2o_node_attr(const t2o_node *n, const char *name);
bool t2o_op_is(const t2o_node *n, const char *op);

/* The text form of tests, dumps and reports: stable, one node a line. See print.c for the grammar. */
void t2o_graph_print(const t2o_graph *g, FILE *out);
/* "f32[s77, 3]"; in the arena. */
const char *t2o_value_type_text(t2o_graph *g, const t2o_value *v);

#endif
