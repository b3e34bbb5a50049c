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

#include "graph/graph.h"

typedef struct t2o_script_options {
    const char *const *rules; /* files and folders of -r, in order */
    size_t n_rules;
    bool no_user_rules;       /* built-in rules and -r only */
    const char *target;       /* "onnx" or "ort_cpu" */
    const char *state;        /* what becomes of changed state: "io", "const" or "error" */
    int opset;                /* what rules read as g.opset */
} t2o_script_options;

typedef struct t2o_script t2o_script;

/* NULL after E0601 or E0606. */
t2o_script *t2o_script_new(t2o_session *s, t2o_exprs *exprs, const t2o_script_options *options);
void t2o_script_free(t2o_script *script);

/* A torch program as an ONNX graph of the newest opset. Nodes that fail are all reported before it returns NULL. */
t2o_graph *t2o_script_translate(t2o_script *script, const t2o_program *program);

/* Rewrites nodes whose signature is newer than opset, by rules/opset. False after E0303 or E06xx. */
bool t2o_script_lower(t2o_script *script, t2o_graph *graph, int opset);

/* Steps round what the target has no kernel for, by rules/target; the graph is in the signatures of opset already.
 * False after E06xx. Nothing for the target "onnx". */
bool t2o_script_target(t2o_script *script, t2o_graph *graph, int opset);

/* Whether a torch node makes a view, an alias of its input (rules/aten/views.lua): 0 no, 1 a view, 2 the same tensor,
 * 3 a view or a copy. */
int t2o_script_view_kind(t2o_script *script, const t2o_node *n);

/* The base of a view with what output number `output` of it shows replaced, built in the torch graph before a node;
 * NULL where the view has no inverse, or after E06xx. */
t2o_value *t2o_script_rebuild(t2o_script *script, const t2o_node *view, uint32_t output, t2o_value *base,
                              t2o_value *changed, t2o_node *before);

/* Whether any rule is registered for the op, and where ("rules/aten/conv.lua:12"; NULL without one). */
const char *t2o_script_rule_place(t2o_script *script, const char *op);

/* Text of one of the functions in lua/t2o/commands.lua (list, which, stub ...), given string arguments; NULL after an
 * error (E02xx, E06xx). */
const char *t2o_script_command(t2o_script *script, const char *name, const char *const *args, size_t n);

/* Runs the rows of a file in tests/rules. Returns a report (what failed; with `show`, all rows and what they build) and
 * counts what failed; NULL after an error. */
const char *t2o_script_test(t2o_script *script, const char *path, bool show, unsigned *failed);

/* Built-in files: calls fn for each file of the copy inside the binary or of the folder it runs from. */
void t2o_script_each_builtin(t2o_session *s, void (*fn)(void *ctx, const char *path, const char *text, size_t n),
                             void *ctx);

#endif
