/* internal.h: what the files of script/ share. */
#ifndef T2O_SCRIPT_INTERNAL_H
#define T2O_SCRIPT_INTERNAL_H

#include "script/script.h"

#include <lauxlib.h>
#include <lua.h>

#define PIECE 16  /* sizes of small blocks of Lua's memory are multiples of this */
#define SMALL 256

/* Where a symbol's number can be read in the graph being built: it is (n - add) / mul of a number n. */
typedef struct symbol_source {
    t2o_value *value; /* a tensor whose dimension `axis` is n, or a scalar that is n (axis -1) */
    int axis;
    int64_t mul, add;
} symbol_source;

struct t2o_script {
    t2o_session *s;
    t2o_exprs *exprs;
    lua_State *L;
    t2o_script_options options;
    const char *root; /* of lua/ and rules/; NULL = the copy in the binary */
    struct rule_index *index; /* built-in rule files and the words in them */
    t2o_digest digest;        /* of all rules */
    size_t memory;                    /* Lua's */
    size_t pieces;                    /* what of the arena is Lua's */
    size_t size_of_rest;              /* what of the arena is not: the models' graphs */
    void *free_pieces[SMALL / PIECE]; /* of Lua's memory, by their size */
    int64_t ticks; /* hook calls left to the running rule */

    /* the rule that is running */
    t2o_graph *graph;        /* where it builds */
    t2o_graph *torch;        /* where torch calls are made */
    t2o_node *torch_before;
    t2o_node *before;        /* insertion point, NULL = at the end */
    const t2o_node *node;    /* the torch node, or the ONNX node that is lowered */
    const char *rule;        /* its place */
    bool strict;             /* it is a user's: what it builds must be valid */
    bool learning;           /* results tell the dtypes and shapes of torch values that have none */
    bool loading;            /* rule files are being loaded */
    struct back_state *back; /* while an ONNX graph becomes a torch graph */
    int opset;               /* signatures that it builds with */
    t2o_map symbols;         /* name -> symbol_source */

    /* answers of lua/t2o/rules.lua that hold for every call of an op */
    t2o_map places, view_kinds;
};

t2o_script *script_of(lua_State *L);

/* Calls the function under n arguments on the stack, with the limits of a rule. On failure puts E0602, E0605 or what
 * the error object says into the session and returns false with the stack as it was before the function. */
bool script_call(t2o_script *k, int n_args, int n_results);
/* The same for a call that looks at a whole graph: it may take longer for a larger one. */
bool script_call_long(t2o_script *k, int n_args, int n_results);
/* The message handler that it uses, as a Lua C function: turns an error into a table {code, message, place, trace}. */
int l_on_error(lua_State *L);
/* Reports the error object on top of the stack and pops it. */
void script_report(t2o_script *k);

/* "rules/aten/conv.lua:12": the innermost frame that belongs to a rule file, or NULL. On the Lua stack as a string. */
const char *push_rule_place(lua_State *L);
/* Raises a decline, the value on top being its reason. */
int raise_decline(lua_State *L);
/* Raises an error table with this code. */
int raise_coded(lua_State *L, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* value.c */
void push_value(lua_State *L, t2o_value *v);          /* nil for NULL; the same object for the same value */
t2o_value *check_value(lua_State *L, int index);
t2o_value *test_value(lua_State *L, int index);       /* NULL when it is something else */
void push_dim(lua_State *L, const t2o_expr *x);       /* an integer where it is one; nil for NULL */
const t2o_expr *test_dim(lua_State *L, int index);    /* an integer or a dim, or NULL */
void push_shape(lua_State *L, const t2o_value *v);
int open_values(lua_State *L);                         /* adds to the core table on top */

/* node.c */
void push_node(lua_State *L, const t2o_node *n);
void push_torch_body(lua_State *L, t2o_graph *g);
t2o_node *check_node(lua_State *L, int index);
/* The shape of a torch tensor in ONNX, where complex numbers have a last dimension of 2. */
const t2o_expr **form_dims(t2o_script *k, const t2o_value *v, int32_t *rank);
t2o_graph *check_torch_body(lua_State *L, int index);  /* of a higher-order op */
t2o_graph *test_torch_body(lua_State *L, int index);   /* NULL when it is something else */
int open_nodes(lua_State *L);

/* build.c */
int open_build(lua_State *L);

/* translate.c */
bool push_function(t2o_script *k, const char *module, const char *name); /* of a library module */
t2o_value *script_cast(t2o_script *k, t2o_graph *g, t2o_node *before, t2o_value *v, t2o_dtype dtype);
/* Runs module.function(node, opset) for every node, which gives its new outputs or nil. */
bool script_rewrite(t2o_script *k, const char *module, const char *function, t2o_graph *graph, int opset);
bool script_translate_one(t2o_script *k, t2o_node *n); /* a graph of its own with this node's inputs */
int l_inline(lua_State *L);

/* Raises what the diagnostics from number `before` on say, and drops these. */
int raise_failure(lua_State *L, size_t before);

/* back.c */
typedef struct back_state {
    t2o_program *program;       /* the torch program that is made */
    struct back_scope *scope;   /* the graph that is translated */
    T2O_VEC(t2o_value *) weights;
    t2o_map names;              /* of weights, and of the modules in the file's names: what is taken */
    t2o_map named;              /* by these names: of the file, or made here by a name that was asked for */
    bool says_kinds;            /* the model says which weights are parameters and buffers */
    bool from_torch;            /* its weights are called as in state_dict, not by the rules of another framework */
} back_state;
int open_back(lua_State *L);

/* call.c */
int open_calls(lua_State *L);

/* python.c */
int open_python(lua_State *L);

/* load.c */
void find_builtin(t2o_script *k);
bool load_rules(t2o_script *k);
int l_require(lua_State *L);
int l_run_file(lua_State *L);
int l_load(lua_State *L);

#endif
