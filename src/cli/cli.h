/* cli.h: the command line: options, the list of steps, reports. Only cli/ prints. */
#ifndef T2O_CLI_CLI_H
#define T2O_CLI_CLI_H

#include "base/session.h"
#include "graph/graph.h"
#include "script/script.h"

#include <stdio.h>

#define DEFAULT_OPSET 20

typedef T2O_VEC(const char *) texts;

typedef struct options {
    const char *command;
    texts operands, rules, dim, set, require_dynamic, input_names, output_names, rename, keep, functions, inputs;
    const char *output, *model, *target, *state, *unknown, *weights, *weights_from, *dump_after, *stop_after;
    const char *rtol, *atol;   /* of verify.c */
    const char *folder, *to; /* of batch.c: -d, --to */
    int opset, ir_version, align, jobs, seed; /* seed < 0: none was given */
    bool float16, bfloat16, convert_io, attach, skip_existing, verify;
    bool check_data, comments, no_user_rules, json, quiet, verbose, strip_meta, help, version, markdown;
} options;

/* False after E0201. */
bool options_parse(t2o_session *s, int argc, char **argv, options *o);
/* Adds the options that shape what is written. */
void options_digest(const options *o, t2o_digest *h);
/* The help of a command ("" = of the tool). */
const char *options_help(const char *command);

/* One command each: the exit code. */
int command_convert(t2o_session *s, const options *o);
int command_check(t2o_session *s, const options *o);
int command_info(t2o_session *s, const options *o);
int command_rules(t2o_session *s, const options *o);
int command_explain(t2o_session *s, const options *o);
int command_verify(t2o_session *s, const options *o);
int command_record(t2o_session *s, const options *o);
int command_attach(t2o_session *s, const options *o);

/* ---- pipeline.c ---- */

typedef struct run {
    t2o_session *s;
    const options *o;
    const char *input, *output;
    struct t2o_file *file;
    struct t2o_file *weights_file; /* of --weights-from */
    t2o_exprs *exprs;
    t2o_script *script;
    t2o_program *source;  /* what was read */
    t2o_program *program; /* the same, or the torch program that was made of an ONNX one */
    t2o_graph *onnx;
    t2o_python_module python;
    uint64_t bytes_written;
    int opset;       /* to write */
    bool check_only; /* ends before the step that writes */
    bool skipped;    /* the output is there already */
    const char *stamp; /* stamp.c */
} run;

/* Runs the steps read, normalise and translate (of an ONNX model: raise), optimise, lower, precision, target, check,
 * write in order; false after an error. The caller ends it with run_end in any case. */
bool run_steps(run *r);
void run_end(run *r);
bool run_step_exists(const char *name);
/* Reads a .pt2 or an ONNX model, by what it is; NULL after an error. t2o_onnx_close ends the use of the latter. */
t2o_program *read_program(t2o_session *s, t2o_exprs *exprs, const struct t2o_file *file, const char *model);

/* ---- convert.c ---- */

/* One model; *skipped tells that the output was up to date. The exit code. */
int convert_file(t2o_session *s, const options *o, const char *input, const char *output, bool *skipped);
/* The line that --json prints; `verified` is the result of --verify, or NULL. */
void convert_report(const run *r, bool ok, const char *verified);
/* The name of the output without -o: beside the input, with the suffix of --to. */
const char *default_output(t2o_session *s, const options *o, const char *input);

extern const char *const weights_modes[]; /* by t2o_weights; NULL at the end */

/* ---- python.c: the steps that end in Python source ---- */

bool output_is_python(const char *path);
bool output_is_archive(const char *path);
/* "OUT.safetensors" for the path of what it stands beside. */
const char *safetensors_beside(t2o_session *s, const char *path);
bool step_python(run *r);
bool step_write_python(run *r);

/* ---- weights.c ---- */

/* The program's weights from another file, by their names. False after E0507 (another dtype or shape, none fits) or
 * what reading it says. */
bool take_weights(run *r, const char *path);

/* ---- batch.c ---- */

/* Whether the operands are several models, or folders of them. */
bool batch_wanted(const options *o);
/* Converts each in a process of its own. */
int batch_convert(t2o_session *s, const options *o);

/* ---- stamp.c: what an output was made of ---- */

/* Of a run whose input has been read: a digest of the input, the rules, the options and the version, which outputs
 * hold. False after an error. */
bool stamp_run(run *r);
/* Whether the output is there, whole, and has the run's stamp. */
bool stamp_is_current(run *r);

/* ---- verify.c ---- */

/* Runs what was read and what was written on the same inputs. Gives what was found as JSON, or NULL; a mismatch is
 * E0401. */
const char *verify_conversion(run *r);

/* ---- rules.c ---- */

/* The folders that a path names, up to its last slash; the path is whole again afterwards. False after E0101. */
bool make_folders(t2o_session *s, char *path);

/* ---- data.c ---- */

/* Prints in which files the weights lie; E0507 where they overlap or are missing. */
void show_data(t2o_session *s, const t2o_program *program, const struct t2o_file *file, bool json);

/* ---- report.c ---- */

/* Prints the diagnostics from number `from` on to stderr; colour on a terminal without NO_COLOR. */
void report_diags(const t2o_session *s, const options *o, size_t from);
void json_string(FILE *out, const char *text); /* quoted and escaped; null for NULL */
/* The diagnostics as a JSON list. */
void json_diags(FILE *out, const t2o_session *s);
/* "46.8 MB"; in the arena. */
const char *human_bytes(t2o_session *s, uint64_t bytes);

#endif
