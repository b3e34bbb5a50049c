/* expr.h: integer expressions over symbols: what a dimension is.
 *
 * An expression is a constant, a symbol, or a function of expressions. Building simplifies to a normal form
 * (a sum of products with integer coefficients; functions with constant arguments are computed) and equal
 * expressions are one pointer, so `a == b` tells known equality. An expression lives as long as its session.
 *
 *     const t2o_expr *n = t2o_expr_symbol(e, "s77");
 *     t2o_expr_add(e, n, t2o_expr_int(e, 1))                 prints as "s77 + 1"
 *
 * Integer overflow and division by a constant zero give NULL; so does any NULL operand.
 */
#ifndef T2O_GRAPH_EXPR_H
#define T2O_GRAPH_EXPR_H

#include "base/session.h"

typedef enum t2o_expr_kind {
    T2O_EXPR_INT,    /* value */
    T2O_EXPR_SYMBOL, /* name */
    T2O_EXPR_ADD,    /* args: two or more, the constant last */
    T2O_EXPR_MUL,    /* args: two or more, the constant first */
    T2O_EXPR_CALL,   /* name and args: FloorDiv, Mod, Max, Min, Pow, and whatever else the archive says */
} t2o_expr_kind;

typedef struct t2o_expr {
    t2o_expr_kind kind;
    uint32_t id; /* order of creation */
    int64_t value;
    const char *name;
    const struct t2o_expr **args;
    uint32_t n_args;
} t2o_expr;

typedef struct t2o_exprs t2o_exprs; /* the table that makes equal expressions one */

t2o_exprs *t2o_exprs_new(t2o_session *s);

const t2o_expr *t2o_expr_int(t2o_exprs *e, int64_t value);
const t2o_expr *t2o_expr_symbol(t2o_exprs *e, const char *name);
/* A symbol that nobody has yet ("unk__0"): a size of which nothing is known. */
const t2o_expr *t2o_expr_fresh(t2o_exprs *e);
/* Whether x is a symbol that t2o_expr_fresh made, or contains one. */
bool t2o_expr_is_fresh(const t2o_exprs *e, const t2o_expr *x);
const t2o_expr *t2o_expr_add(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
const t2o_expr *t2o_expr_sub(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
const t2o_expr *t2o_expr_mul(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
/* Rounds towards minus infinity, as Python's // and %. */
const t2o_expr *t2o_expr_floordiv(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
const t2o_expr *t2o_expr_mod(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
/* Any function, by its name in the archive (sympy's); the ones above are recognised and simplified. */
const t2o_expr *t2o_expr_call(t2o_exprs *e, const char *name, const t2o_expr **args, uint32_t n);

static inline bool t2o_expr_is_int(const t2o_expr *x) { return x && x->kind == T2O_EXPR_INT; }

/* -1, 0, 1 when a < b, a == b, a > b is certain; 2 when it is not known. Symbols are sizes: at least their
 * lower bound (t2o_expr_set_range, 0 when not said). */
int t2o_expr_compare(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b);
void t2o_expr_set_range(t2o_exprs *e, const char *symbol, int64_t min, int64_t max);
bool t2o_expr_range(const t2o_exprs *e, const char *symbol, int64_t *min, int64_t *max);

/* "s77 + 1", "2*s77", "s77//4", "Max(1, s77)": the form of PyTorch's exporter in dim_param. In the arena. */
const char *t2o_expr_text(t2o_exprs *e, const t2o_expr *x);

/* Calls fn for every symbol's name in x, once for each place it stands. */
void t2o_expr_each_symbol(const t2o_expr *x, void (*fn)(void *ctx, const char *name), void *ctx);

/* x with symbols replaced by what `by` (name -> t2o_expr) holds for them; NULL on overflow. */
const t2o_expr *t2o_expr_replace(t2o_exprs *e, const t2o_expr *x, const t2o_map *by);

/* Parse sympy's srepr form ("Add(Symbol('s77', integer=True), Integer(1))") or a plain number. Returns NULL
 * and sets *why (a phrase) when the text is malformed or nests too deep. Functions that are not known stay calls;
 * Float and Rational numbers stay calls too, with their text as a symbol argument. */
const t2o_expr *t2o_expr_parse(t2o_exprs *e, const char *text, const char **why);
/* The same of sympy's printed form, "2*s0 + s1//3" (infix.c); functions get the names that they have in srepr. */
const t2o_expr *t2o_expr_parse_infix(t2o_session *s, t2o_exprs *e, const char *text, const char **why);

#endif
