/* cli.h: the command line: options, the list of steps, reports. Only cli/ prints. */
#ifndef T2O_CLI_CLI_H
#define T2O_CLI_CLI_H

#include "base/session.h"
#include "graph/graph.h"
#include "script/script.h"

#include <stdio.h>

typedef struct options {
    const char *command;
    T2O_VEC(const char *) operands;
    T2O_VEC(const char *) rules;
    const char *output, *model, *target, *state, *dump_after, *stop_after;
    int opset, ir_version;
    bool no_user_rules, json, quiet, verbose, strip_meta, help, version, markdown;
} options;

/* False after E0201. */
bool options_parse(t2o_session *s, int argc, char **argv, options *o);
/* The help of a command ("" = of the tool). */
const char *options_help(const char *command);

/* One command each: the exit code. */
int command_convert(t2o_session *s, const options *o);
int command_check(t2o_session *s, const options *o);
int command_info(t2o_session *s, const options *o);
int command_rules(t2o_session *s, const options *o);
int command_explain(t2o_session *s, const options *o);

/* ---- pipeline.c ---- */

typedef struct run {
    t2o_session *s;
    const options *o;
    const char *input, *output;
    struct t2o_file *file;
    t2o_exprs *exprs;
    t2o_script *script;
    t2o_program *program;
    t2o_graph *onnx;
    uint64_t bytes_written;
    bool check_only; /* ends before the step that writes */
} run;

/* Runs the steps read, normalise, translate, optimise, lower, target, check, write in order; false after an error. The
 * caller ends it with run_end in any case. */
bool run_steps(run *r);
void run_end(run *r);
bool run_step_exists(const char *name);

/* ---- report.c ---- */

/* Prints the diagnostics from number `from` on to stderr; colour on a terminal without NO_COLOR. */
void report_diags(const t2o_session *s, const options *o, size_t from);
void json_string(FILE *out, const char *text); /* quoted and escaped; null for NULL */
/* The diagnostics as a JSON list. */
void json_diags(FILE *out, const t2o_session *s);
/* "46.8 MB"; in the arena. */
const char *human_bytes(t2o_session *s, uint64_t bytes);

#endif
