/* session.h: one run of the tool: its arena, its interned text, its diagnostics.
 *
 * Everything allocated for a run belongs to the session and goes with it. Failure is a return value (false
 * or NULL); whoever detects it puts the error, with its place, into the session first:
 *
 *     if (!ok)
 *         return t2o_fail(s, "E0504", "'%s' is cut short", path);
 *
 * Callers may add context with t2o_note and t2o_hint, which attach to the last error. Nothing below cli/
 * prints. The two digits after E are the exit code of the process that ends on that error.
 */
#ifndef T2O_BASE_SESSION_H
#define T2O_BASE_SESSION_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum t2o_severity { T2O_NOTE, T2O_WARNING, T2O_ERROR } t2o_severity;

typedef struct t2o_diag {
    t2o_severity severity;
    const char *code;            /* "E0301"; NULL for notes and warnings */
    const char *text;
    T2O_VEC(const char *) notes; /* places and details, one line each; the first is printed behind "-->" */
    const char *hint;            /* what to do next, or NULL */
} t2o_diag;

typedef struct t2o_session {
    t2o_arena *arena;
    t2o_map names; /* interned text */
    T2O_VEC(t2o_diag *) diags;
} t2o_session;

t2o_session *t2o_session_new(void);
void t2o_session_free(t2o_session *s);

/* The one copy of this text: equal texts are equal pointers. */
const char *t2o_intern(t2o_session *s, const char *text);
const char *t2o_intern_n(t2o_session *s, const char *text, size_t n);

/* The wanted name, or that with "_1", "_2" ... behind it: one that `taken` does not hold yet, and then does. The values
 * in that map are this function's. */
const char *t2o_unique_name(t2o_session *s, t2o_map *taken, const char *wanted);

/* Add an error; always returns false. */
bool t2o_fail(t2o_session *s, const char *code, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool t2o_vfail(t2o_session *s, const char *code, const char *format, va_list args);
void t2o_warn(t2o_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Add a line to the last diagnostic; set its hint. Without a diagnostic they do nothing. */
void t2o_note(t2o_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void t2o_hint(t2o_session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit code of the first error, 0 when there is none. */
int t2o_exit_code(const t2o_session *s);
bool t2o_failed(const t2o_session *s);

/* Drop the diagnostics from number n on (of an attempt whose failure is not the run's). */
void t2o_forget_diags(t2o_session *s, size_t n);

/* What `t2o explain CODE` prints, or NULL for an unknown code; t2o_code_at walks all codes. */
const char *t2o_explain(const char *code, const char **title);
const char *t2o_code_at(size_t index);

#endif
