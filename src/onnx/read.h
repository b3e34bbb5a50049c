/* read.h: what the files that read ONNX share. Nothing here is for others: they include onnx.h. */
#ifndef T2O_ONNX_READ_H
#define T2O_ONNX_READ_H

#include "onnx/onnx.h"
#include "onnx/wire.h"

typedef T2O_VEC(t2o_slice) t2o_slices;

typedef struct t2o_reader {
    t2o_session *s;
    t2o_exprs *exprs;
    const t2o_file *file;
    t2o_onnx_source *source;
    t2o_map functions; /* "domain::name:overload" -> function */
    t2o_map dims;      /* dim_param -> its symbol */
    t2o_map external;  /* location -> t2o_file */
    uint32_t n_calls, n_nodes;
    t2o_map ranges; /* of a dim_param, by its name: two numbers */
} t2o_reader;

#define T2O_MAX_DEPTH 32 /* of bodies in bodies, and of calls in functions */

typedef T2O_VEC(const char *) names;

/* A FunctionProto. */
typedef struct function {
    const char *name;
    names inputs, outputs;
    t2o_slices nodes;
    t2o_map opsets;   /* domain -> version */
    t2o_map defaults; /* attribute -> its AttributeProto, a t2o_slice */
    bool running;     /* a call of it is being read: it must not call itself */
} function;

/* A call of a function whose nodes are being read. */
typedef struct call {
    const function *fn;
    const t2o_attr *attrs;
    uint32_t n_attrs;
    const char *prefix; /* of names made inside */
    t2o_map renamed;    /* name of an output in the function -> its name outside */
    t2o_map absent;     /* inputs that the call leaves out */
    const t2o_meta *meta;
    const char *node;   /* for messages */
} call;

typedef struct scope {
    const struct scope *outer; /* whose names are seen */
    const struct scope *caller; /* of a function's body: where it is called */
    t2o_graph *g;
    const call *call;
    t2o_map values; /* name -> t2o_value */
    t2o_map types;  /* name -> TypeProto, a t2o_slice */
    int depth;
} scope;

/* A NodeProto whose names are read; attributes are not. */
typedef struct raw_node {
    names inputs, outputs, used; /* used: by bodies in its attributes */
    const char *op, *domain, *name, *overload, *doc;
    t2o_slices attrs;
    t2o_props props;
    uint32_t state; /* while nodes are put in order */
} raw_node;

typedef T2O_VEC(raw_node *) raw_nodes;

/* What an AttributeProto says but for its value. */
typedef struct attr_head {
    const char *name, *reference;
    t2o_attr_type type;
} attr_head;

/* A type that the file states. */
typedef struct t2o_stated_type {
    t2o_value_kind kind;    /* TENSOR or OBJECT */
    t2o_dtype dtype;        /* of an object: the innermost one */
    int32_t rank;           /* -1 = not said */
    const t2o_expr **dims;
    const char *container;  /* of an object */
} t2o_stated_type;

/* Adds E0508 where the bytes that were walked are malformed; else true. `what` is said to be damaged. */
bool t2o_read_whole(t2o_reader *r, const t2o_wire *w, const char *what);
/* The text of a field, interned; NULL after E0508 (a zero byte in it). */
const char *t2o_read_text(t2o_reader *r, const t2o_field *f);
/* A StringStringEntryProto. */
bool t2o_read_entry(t2o_reader *r, t2o_slice bytes, t2o_prop *entry);

/* ---- read.c ---- */

/* A GraphProto as the body of a node in the scope `outer` (NULL = the main graph). */
t2o_graph *t2o_read_graph(t2o_reader *r, t2o_slice bytes, const scope *outer, const char *what, int depth);

/* ---- read_node.c ---- */

/* Text that is no name: what follows a zero byte is left out. */
const char *t2o_plain_text(t2o_reader *r, const t2o_field *f);
bool t2o_set_text(t2o_reader *r, const t2o_field *f, const char **to);
bool t2o_read_name(t2o_reader *r, const t2o_field *f, names *to);
bool t2o_read_prop(t2o_reader *r, t2o_slice bytes, t2o_props *props);
/* The value under a key, or NULL. */
const char *t2o_prop_of(const t2o_props *props, const char *key);
/* "node 'stem.conv' (Conv)" */
const char *t2o_node_text(t2o_reader *r, const raw_node *n);
const t2o_meta *t2o_read_meta(t2o_reader *r, const raw_node *n, const call *c);
bool t2o_read_attr_head(t2o_reader *r, t2o_slice bytes, attr_head *head);
/* The attributes of a node, those that refer to a call's replaced; bodies are read. */
bool t2o_read_attrs(t2o_reader *r, const raw_node *n, const scope *in, t2o_attr **attrs, uint32_t *n_attrs);
/* NodeProtos, each behind what it needs: in the order of the file where that is so. */
bool t2o_read_raw_nodes(t2o_reader *r, const t2o_slices *slices, raw_nodes *out);

/* ---- read_type.c ---- */

/* A TypeProto. False after E0508 or E0509. */
bool t2o_read_type(t2o_reader *r, t2o_slice bytes, const char *what, t2o_stated_type *out);
/* "seq(tensor(float32))" of a stated type; "tensor(float32)" where it is no container. */
const char *t2o_type_text(t2o_reader *r, const t2o_stated_type *type);
/* The element type of this number; false after E0509. */
bool t2o_read_dtype(t2o_reader *r, uint64_t number, const char *what, t2o_dtype *out);

/* ---- read_tensor.c ---- */

/* A TensorProto; its name where name is given. NULL after E0507, E0508 or E0509. */
const t2o_tensor *t2o_read_tensor(t2o_reader *r, t2o_slice bytes, const char *what, const char **name);
/* A SparseTensorProto, made dense; the name is that of its values. */
const t2o_tensor *t2o_read_sparse(t2o_reader *r, t2o_slice bytes, const char *what, const char **name);
/* A tensor of the numbers or texts of an attribute, float32, int64 or strings: rank 0 where it is no list. */
const t2o_tensor *t2o_tensor_of_arg(t2o_reader *r, const t2o_arg *arg, t2o_dtype dtype);

#endif
