/* script.h: the only door to Lua.
 *
 * A script holds one sandboxed Lua state with the rule layers loaded; it rewrites graphs by running rules. It belongs
 * to its caller (t2o_script_free); what it builds belongs to the session's arena. Errors in rule files, in rules and in
 * what they build are in the session as E03xx and E06xx with file and line.
 *
 *     t2o_script *k = t2o_script_new(s, exprs, &options);
 *     t2o_graph *onnx = k ? t2o_script_translate(k, program) : NULL;
 *     if (onnx && t2o_script_lower(k, onnx, 18)) ...
 */
#ifndef T2O_SCRIPT_SCRIPT_H
#define T2O_SCRIPT_SCRIPT_H

#include "base/digest.h"
#include "graph/graph.h"

typedef struct t2o_script_options {
    const char *const *rules; /* files and folders of -r, in order */
    size_t n_rules;
    bool no_user_rules;       /* built-in rules and -r only */
    const char *target;       /* "onnx" or "ort_cpu" */
    const char *state;        /* what becomes of changed state: "io", "const" or "error" */
    int opset;                /* what rules read as g.opset */
    const char *precision;    /* "float16" or "bfloat16": what float32 becomes; NULL = it stays */
    const char *const *keep;  /* globs of modules and operators that stay in float32 */
    size_t n_keep;
    bool convert_io;          /* the program's inputs and outputs change too */
    bool keep_unknown;        /* an operator without a rule becomes a node of its own domain */
    bool python;              /* a torch program is made for its Python source, which may bring functions along */
    bool comments;            /* that source says which nodes its lines stand for */
} t2o_script_options;

typedef struct t2o_script t2o_script;

/* What tells the rules apart that these options load: the text of all of them, in order. False after E0601. */
bool t2o_script_digest_rules(t2o_session *s, const t2o_script_options *options, t2o_digest *out);
/* The same of a script. */
t2o_digest t2o_script_digest(const t2o_script *script);

/* NULL after E0601 or E0606. */
t2o_script *t2o_script_new(t2o_session *s, t2o_exprs *exprs, const t2o_script_options *options);
void t2o_script_free(t2o_script *script);

/* A torch program as an ONNX graph of the newest opset. Nodes that fail are all reported before it returns NULL. */
t2o_graph *t2o_script_translate(t2o_script *script, const t2o_program *program);

/* A graph that was read from ONNX: its nodes come into the signatures of the newest opset, by rules/opset, and all
 * values get dtypes and, where they can be known, shapes. False after E0301, E0303, E0508 or E06xx. */
bool t2o_script_raise(t2o_script *script, t2o_graph *graph);

/* Rewrites nodes whose signature is newer than opset, by rules/opset. False after E0303 or E06xx. */
bool t2o_script_lower(t2o_script *script, t2o_graph *graph, int opset);

/* A model that is ONNX, in the newest signatures, as a torch program: its nodes by rules/onnx, weights that it reads as
 * parameters and buffers. NULL after E0301 (all operators without a rule), E0302 or E06xx. */
t2o_program *t2o_script_back(t2o_script *script, const t2o_program *onnx);

/* Gives the values between the calls of such a program the dtypes and shapes that the rules towards ONNX know; others
 * stay without. */
void t2o_script_learn(t2o_script *script, t2o_program *program);

/* Computes in 16 bits what the options ask for, with casts where that begins and ends; the graph is in the signatures
 * of opset already. False after E06xx. */
bool t2o_script_precision(t2o_script *script, t2o_graph *graph, int opset);

/* Steps round what the target has no kernel for, by rules/target; the graph is in the signatures of opset already.
 * False after E06xx. Nothing for the target "onnx". */
bool t2o_script_target(t2o_script *script, t2o_graph *graph, int opset);

/* Whether a torch node makes a view, an alias of its input (rules/aten/views.lua): 0 no, 1 a view, 2 the same tensor,
 * 3 a view or a copy. */
int t2o_script_view_kind(t2o_script *script, const t2o_node *n);

/* For a torch node that writes into arguments: what its outputs are and what its operands hold afterwards, NULL where
 * that needs no new value; built before the node. False after an error. */
bool t2o_script_effects(t2o_script *script, t2o_node *n, t2o_value **results, t2o_value **written);

/* For a torch node whose last operands, one a result, may be written (aten::add.out): the operator that gives these
 * results ("aten::add.Tensor"), and whether it has an argument dtype that is not given. NULL for others, or after
 * E0301.
 */
const char *t2o_script_without_out(t2o_script *script, const t2o_node *n, bool *takes_dtype);

/* The base of a view with what output number `output` of it shows replaced, built in the torch graph before a node;
 * NULL where the view has no inverse, or after E06xx. */
t2o_value *t2o_script_rebuild(t2o_script *script, const t2o_node *view, uint32_t output, t2o_value *base,
                              t2o_value *changed, t2o_node *before);

/* A torch program as Python source, and the weights that it loads. */
typedef struct t2o_python_module {
    const char *text;
    size_t n;
    t2o_weight_list weights; /* by their names in the file, each tensor once */
} t2o_python_module;

/* Python source of a module (lua/t2o/python.lua). False after E03xx or E06xx. */
bool t2o_script_python(t2o_script *script, const t2o_program *program, t2o_python_module *out);

/* Whether any rule is registered for the op, and where ("rules/aten/conv.lua:12"; NULL without one). */
const char *t2o_script_rule_place(t2o_script *script, const char *op);

/* Text of one of the functions in lua/t2o/commands.lua (list, which, stub ...), given string arguments; NULL after an
 * error (E02xx, E06xx). */
const char *t2o_script_command(t2o_script *script, const char *name, const char *const *args, size_t n);

/* How many nodes quantise in a torch graph and in what became of it (lua/t2o/quant.lua): a JSON object and a line of
 * text; false where there are none. */
bool t2o_script_counts(t2o_script *script, const t2o_graph *torch, const t2o_graph *onnx, const char **json,
                       const char **text);

/* Runs the rows of a file in tests/rules. Returns a report (what failed; with `show`, all rows and what they build) and
 * counts what failed; NULL after an error. */
const char *t2o_script_test(t2o_script *script, const char *path, bool show, unsigned *failed);

/* Built-in files: calls fn for each file of the copy inside the binary or of the folder it runs from. */
void t2o_script_each_builtin(t2o_session *s, void (*fn)(void *ctx, const char *path, const char *text, size_t n),
                             void *ctx);
/* The text of a built-in file inside the binary, by its path from the root; *file is where it lies as a file, or
 * NULL. */
const char *t2o_script_builtin(t2o_session *s, const char *path, const char **file);

#endif
