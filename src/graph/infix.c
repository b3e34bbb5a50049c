/* infix.c: size expressions as sympy prints them ("2*s0 + s1//3", "Eq(Mod(s0, 4), 0)"), which is how they stood in
 * archives up to PyTorch 2.5. Operators are climbed by precedence. */
#include "graph/expr.h"

#include "graph/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_DEPTH 200
#define PREFIX 6 /* binds tighter than what stands between operands, but for powers */
#define POWER 7

typedef struct parser {
    t2o_exprs *e;
    t2o_session *s;
    t2o_scan scan;
    int depth;
} parser;

/* The longer ones first: "<" begins "<=". */
static const struct operation {
    const char *sign;
    int level;
    const char *function; /* the name of it in today's form */
} operations[] = {
    { "**", POWER, "Pow" },
    { "//", 5, "FloorDiv" },
    { "<=", 3, "LessThan" },
    { ">=", 3, "GreaterThan" },
    { "==", 3, "Equality" },
    { "!=", 3, "Unequality" },
    { "<", 3, "StrictLessThan" },
    { ">", 3, "StrictGreaterThan" },
    { "|", 1, "Or" },
    { "&", 2, "And" },
    { "+", 4, "Add" },
    { "-", 4, "Sub" },
    { "*", 5, "Mul" },
    { "/", 5, "IntTrueDiv" },
    { "%", 5, "Mod" },
};

/* What is printed under a shorter name than the one that it has. */
static const struct {
    const char *printed, *name;
} functions[] = {
    { "Eq", "Equality" },
    { "Ne", "Unequality" },
};

/* Names that are no symbols; today's form has the same ones, with small letters in true and false. */
static const struct {
    const char *printed, *name;
} constants[] = {
    { "True", "true" }, { "False", "false" }, { "oo", "oo" }, { "int_oo", "int_oo" },
    { "nan", "nan" },   { "zoo", "zoo" },     { "pi", "pi" }, { "E", "E" },
};

static const t2o_expr *parse(parser *in, int level);

static const t2o_expr *known(parser *in, const t2o_expr *x)
{
    return x ? x : t2o_scan_fault(&in->scan, "a number out of range");
}

static const t2o_expr *number(parser *in)
{
    const char *start = in->scan.p;
    char *end;
    errno = 0;
    long long value = strtoll(start, &end, 10);
    if (*end != '.' && *end != 'e') {
        in->scan.p = end;
        return errno ? t2o_scan_fault(&in->scan, "a number that is not a 64-bit integer") : t2o_expr_int(in->e, value);
    }
    strtod(start, &end);
    const t2o_expr *text = t2o_expr_symbol(in->e, t2o_intern_n(in->s, start, (size_t)(end - start)));
    in->scan.p = end;
    return t2o_expr_call(in->e, "Float", &text, 1);
}

/* What stands in brackets, as the arguments of a function of this name. */
static const t2o_expr *call(parser *in, const char *name)
{
    T2O_VEC(const t2o_expr *) args = { 0 };
    if (!t2o_scan_take(&in->scan, ')')) {
        do {
            const t2o_expr *x = parse(in, 0);
            if (!x)
                return NULL;
            t2o_push(in->s->arena, &args, x);
        } while (t2o_scan_take(&in->scan, ','));
        if (!t2o_scan_take(&in->scan, ')'))
            return t2o_scan_fault(&in->scan, "a ')' is missing");
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].printed, name))
            name = functions[i].name;
    return known(in, t2o_expr_call(in->e, name, args.at, (uint32_t)args.n));
}

/* A bracket, or the pair (value, condition) of a Piecewise. */
static const t2o_expr *bracket(parser *in)
{
    const t2o_expr *pair[2];
    pair[0] = parse(in, 0);
    if (!pair[0] || t2o_scan_take(&in->scan, ')'))
        return pair[0];
    if (!t2o_scan_take(&in->scan, ','))
        return t2o_scan_fault(&in->scan, "a ')' is missing");
    pair[1] = parse(in, 0);
    if (!pair[1] || !t2o_scan_take(&in->scan, ')'))
        return t2o_scan_fault(&in->scan, "a ')' is missing");
    return known(in, t2o_expr_call(in->e, "ExprCondPair", pair, 2));
}

static const t2o_expr *name(parser *in)
{
    const char *start = in->scan.p;
    while (isalnum((unsigned char)*in->scan.p) || *in->scan.p == '_' || *in->scan.p == '.')
        in->scan.p++;
    const char *text = t2o_intern_n(in->s, start, (size_t)(in->scan.p - start));
    if (t2o_scan_take(&in->scan, '('))
        return call(in, text);
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (!strcmp(constants[i].printed, text))
            return t2o_expr_call(in->e, constants[i].name, NULL, 0);
    return t2o_expr_symbol(in->e, text);
}

static const t2o_expr *operand(parser *in)
{
    t2o_scan_blanks(&in->scan);
    const t2o_expr *x;
    if (t2o_scan_take(&in->scan, '-')) {
        x = parse(in, PREFIX);
        return x ? known(in, t2o_expr_sub(in->e, t2o_expr_int(in->e, 0), x)) : NULL;
    }
    if (t2o_scan_take(&in->scan, '~')) {
        x = parse(in, PREFIX);
        return x ? known(in, t2o_expr_call(in->e, "Not", &x, 1)) : NULL;
    }
    if (t2o_scan_take(&in->scan, '('))
        return bracket(in);
    if (isdigit((unsigned char)*in->scan.p))
        return number(in);
    if (isalpha((unsigned char)*in->scan.p) || *in->scan.p == '_')
        return name(in);
    return t2o_scan_fault(&in->scan, "a character that does not belong there");
}

static const struct operation *next_operation(parser *in)
{
    t2o_scan_blanks(&in->scan);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strncmp(in->scan.p, operations[i].sign, strlen(operations[i].sign)))
            return &operations[i];
    return NULL;
}

static const t2o_expr *apply(parser *in, const char *function, const t2o_expr *a, const t2o_expr *b)
{
    const t2o_expr *args[] = { a, b };
    if (!b)
        return NULL;
    return known(in, !strcmp(function, "Sub") ? t2o_expr_sub(in->e, a, b) : t2o_expr_call(in->e, function, args, 2));
}

/* Operands joined by what binds at least as tight as `level`; a power takes what is right of it first. */
static const t2o_expr *parse(parser *in, int level)
{
    if (++in->depth > MAX_DEPTH)
        return t2o_scan_fault(&in->scan, "an expression that nests too deep");
    const t2o_expr *x = operand(in);
    const struct operation *o;
    int calls = 0; /* each holds the one before; sums and products are flat */
    while (x && (o = next_operation(in)) && o->level >= level) {
        in->scan.p += strlen(o->sign);
        x = apply(in, o->function, x, parse(in, o->level + (o->level < POWER)));
        if (x && x->kind == T2O_EXPR_CALL && ++calls > MAX_DEPTH)
            return t2o_scan_fault(&in->scan, "an expression that nests too deep");
    }
    in->depth--;
    return x;
}

const t2o_expr *t2o_expr_parse_infix(t2o_session *s, t2o_exprs *e, const char *source, const char **why)
{
    parser in = { .e = e, .s = s, .scan = { .p = source } };
    const t2o_expr *x = parse(&in, 0);
    t2o_scan_blanks(&in.scan);
    if (x && *in.scan.p)
        x = t2o_scan_fault(&in.scan, "text after the end");
    *why = in.scan.why;
    return x;
}
