/* test_expr.c: the normal form of size expressions, their order and text, and the reader of sympy's form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/expr.h"

#include <stdio.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef struct fixture {
    t2o_session *s;
    t2o_exprs *e;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f.s = t2o_session_new();
    f.e = t2o_exprs_new(f.s);
    for (const char *name = "abcs"; *name; name++) /* in this order in all texts */
        t2o_expr_symbol(f.e, (char[]){ *name, '\0' });
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    t2o_session_free(((fixture *)*state)->s);
    return 0;
}

static const t2o_expr *parse(fixture *f, const char *text)
{
    const char *why = NULL;
    const t2o_expr *x = t2o_expr_parse(f->e, text, &why);
    if (!x)
        fail_msg("%s: %s", text, why);
    assert_null(why);
    return x;
}

/* The rows write sympy's form in a short way: one small letter is a symbol. */
static const char *long_form(fixture *f, const char *brief)
{
    const char *out = "";
    for (const char *p = brief; *p;) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
        bool symbol = n == 1 && *p >= 'a';
        n = n ? n : 1;
        out = t2o_printf(f->s->arena, symbol ? "%sSymbol('%.*s', integer=True)" : "%s%.*s", out, (int)n, p);
        p += n;
    }
    return out;
}

static const t2o_expr *brief(fixture *f, const char *text)
{
    return parse(f, long_form(f, text));
}

/* ---- normal form ---- */

static const struct { const char *source, *text; } text_rows[] = {
    { "5", "5" },
    { "-5", "-5" },
    { "s", "s" },
    { "Add(s, 1)", "s + 1" },
    { "Add(1, s)", "s + 1" },
    { "Add(s, -1)", "s - 1" },
    { "Add(s, s)", "2*s" },
    { "Add(s, Mul(-1, s))", "0" },
    { "Add(b, a, 3, Mul(2, a), -3)", "3*a + b" },
    { "Mul(2, s)", "2*s" },
    { "Mul(b, a)", "a*b" },
    { "Mul(a, b, a)", "a*a*b" },
    { "Mul(0, a)", "0" },
    { "Mul(1, a)", "a" },
    { "Mul(Add(a, 1), Add(a, -1))", "a*a - 1" },
    { "Mul(Add(a, b), Add(a, b))", "a*a + 2*a*b + b*b" },
    { "Pow(a, 2)", "a*a" },
    { "Pow(a, 0)", "1" },
    { "PowByNatural(2, 10)", "1024" },
    { "Pow(2, a)", "Pow(2, a)" },
    { "Pow(a, -1)", "Pow(a, -1)" },
    /* -1 as a factor */
    { "Mul(-1, a)", "-a" },
    { "Mul(-1, a, b)", "-a*b" },
    { "Mul(-2, a)", "-2*a" },
    { "Add(5, Mul(-1, a))", "-a + 5" },
    { "Add(a, Mul(-1, b))", "a - b" },
    { "Mul(-1, FloorDiv(a, 4))", "-(a//4)" },
    { "Mul(-1, FloorDiv(Mul(-1, s), 4))", "-((-s)//4)" },
    { "Add(a, Mul(-1, FloorDiv(a, 4)))", "a - (a//4)" },
    { "Mul(-3, FloorDiv(a, 4))", "-3*(a//4)" },
    { "Mul(-1, Add(a, b))", "-a - b" },
    /* division */
    { "FloorDiv(s, 4)", "s//4" },
    { "FloorDiv(s, 1)", "s" },
    { "FloorDiv(7, 2)", "3" },
    { "FloorDiv(-7, 2)", "-4" },
    { "FloorDiv(7, -2)", "-4" },
    { "FloorDiv(-7, -2)", "3" },
    { "FloorDiv(0, 3)", "0" },
    { "FloorDiv(Mul(4, s), 2)", "2*s" },
    { "FloorDiv(Mul(4, s), 3)", "(4*s)//3" },
    { "FloorDiv(Add(Mul(4, s), 8), 4)", "s + 2" },
    { "FloorDiv(Add(s, -1), 4)", "(s - 1)//4" },
    { "FloorDiv(Mul(a, b), a)", "b" },
    { "FloorDiv(Mul(a, b, b), Mul(a, b))", "b" },
    { "FloorDiv(Add(Mul(a, b), a), a)", "b + 1" },
    { "FloorDiv(Add(Mul(a, b), 1), a)", "(a*b + 1)//a" },
    { "FloorDiv(a, a)", "1" },
    { "FloorDiv(FloorDiv(a, 2), 3)", "(a//2)//3" },
    { "FloorDiv(a, FloorDiv(b, 2))", "a//(b//2)" },
    { "FloorDiv(a, -2)", "a//(-2)" },
    { "Mul(2, FloorDiv(a, 2))", "2*(a//2)" },
    { "Add(FloorDiv(a, 2), 1)", "(a//2) + 1" },
    { "CleanDiv(Mul(6, a), 3)", "2*a" },
    /* remainders */
    { "Mod(7, 3)", "1" },
    { "Mod(-7, 3)", "2" },
    { "Mod(7, -3)", "-2" },
    { "Mod(s, 1)", "0" },
    { "Mod(Mul(6, s), 3)", "0" },
    { "Mod(s, s)", "0" },
    { "Mod(Mul(a, b), b)", "0" },
    { "PythonMod(s, 3)", "Mod(s, 3)" },
    { "Mod(Add(s, 1), 3)", "Mod(s + 1, 3)" },
    /* rounding */
    { "CeilToInt(IntTrueDiv(s, 4))", "-((-s)//4)" },
    { "CeilToInt(IntTrueDiv(7, 4))", "2" },
    { "CeilToInt(IntTrueDiv(8, 4))", "2" },
    { "CeilToInt(IntTrueDiv(Mul(8, s), 4))", "2*s" },
    { "FloorToInt(IntTrueDiv(s, 4))", "s//4" },
    { "TruncToInt(IntTrueDiv(7, 4))", "1" },
    { "TruncToInt(IntTrueDiv(-7, 4))", "TruncToInt(IntTrueDiv(-7, 4))" },
    { "CeilDiv(s, 4)", "-((-s)//4)" },
    { "Identity(s)", "s" },
    /* extremes: decided where the ranges decide, sizes being 0 or more */
    { "Max(3, 5)", "5" },
    { "Min(3, 5)", "3" },
    { "Max(s, Add(s, 1))", "s + 1" },
    { "Min(s, Add(s, 1))", "s" },
    { "Max(s, -1)", "s" },
    { "Max(a, b, a)", "Max(a, Max(a, b))" },
    /* what is not known stays as it is */
    { "Where(s, 1, 2)", "Where(s, 1, 2)" },
    { "ToFloat(s)", "ToFloat(s)" },
};

static void expressions_have_one_form(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(text_rows); i++) {
        const t2o_expr *x = brief(f, text_rows[i].source);
        const char *text = t2o_expr_text(f->e, x);
        if (strcmp(text, text_rows[i].text))
            fail_msg("%s gives %s, not %s", text_rows[i].source, text, text_rows[i].text);
        assert_ptr_equal(brief(f, text_rows[i].source), x);
    }
}

static const struct { const char *left, *right; } equal_rows[] = {
    { "Add(a, b)", "Add(b, a)" },
    { "Add(Add(a, b), c)", "Add(a, Add(b, c))" },
    { "Mul(a, Add(b, c))", "Add(Mul(c, a), Mul(b, a))" },
    { "Mul(Mul(a, b), c)", "Mul(c, b, a)" },
    { "Add(Mul(3, a), Mul(-2, a))", "a" },
    { "Pow(Add(a, 1), 2)", "Add(Pow(a, 2), Mul(2, a), 1)" },
    { "Max(a, b)", "Max(b, a)" },
    { "Min(a, b)", "Min(b, a)" },
    { "FloorDiv(Add(a, b), 2)", "FloorDiv(Add(b, a), 2)" },
    { "FloorDiv(Mul(2, a, b), Mul(a, b))", "2" },
};

static const struct { const char *left, *right; } unequal_rows[] = {
    { "a", "b" },
    { "Mul(2, a)", "Pow(a, 2)" },
    { "FloorDiv(a, 2)", "FloorDiv(a, 3)" },
    { "FloorDiv(a, b)", "FloorDiv(b, a)" },
    { "Mul(2, FloorDiv(a, 2))", "a" },
    { "Max(a, b)", "Min(a, b)" },
    { "Mod(a, 2)", "FloorDiv(a, 2)" },
    { "FloorDiv(Mul(a, a, b), Mul(a, b, b))", "a" },
};

static void equal_expressions_are_one_pointer(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(equal_rows); i++)
        if (brief(f, equal_rows[i].left) != brief(f, equal_rows[i].right))
            fail_msg("%s is not %s", equal_rows[i].left, equal_rows[i].right);
    for (size_t i = 0; i < COUNT(unequal_rows); i++)
        if (brief(f, unequal_rows[i].left) == brief(f, unequal_rows[i].right))
            fail_msg("%s is %s", unequal_rows[i].left, unequal_rows[i].right);
}

/* The value of an expression with numbers for its symbols; the functions that the tests use. */
static int64_t value_at(const t2o_expr *x, int64_t a, int64_t b)
{
    int64_t l, r, v;
    switch (x->kind) {
    case T2O_EXPR_INT: return x->value;
    case T2O_EXPR_SYMBOL: return x->name[0] == 'a' ? a : b;
    case T2O_EXPR_ADD:
        v = 0;
        for (uint32_t i = 0; i < x->n_args; i++)
            v += value_at(x->args[i], a, b);
        return v;
    case T2O_EXPR_MUL:
        v = 1;
        for (uint32_t i = 0; i < x->n_args; i++)
            v *= value_at(x->args[i], a, b);
        return v;
    case T2O_EXPR_CALL: break;
    }
    assert_int_equal(x->n_args, 2);
    l = value_at(x->args[0], a, b), r = value_at(x->args[1], a, b);
    v = l / r - (l % r && (l < 0) != (r < 0));
    return !strcmp(x->name, "FloorDiv") ? v
           : !strcmp(x->name, "Mod")    ? l - v * r
           : !strcmp(x->name, "Max")    ? (l > r ? l : r)
                                        : (l < r ? l : r);
}

typedef const t2o_expr *(*binary)(t2o_exprs *, const t2o_expr *, const t2o_expr *);

static int64_t apply(int op, int64_t l, int64_t r)
{
    int64_t q = r ? l / r - (l % r && (l < 0) != (r < 0)) : 0;
    int64_t results[] = { l + r, l - r, l * r, q, l - q * r };
    return results[op];
}

/* Random trees: whatever is simplified, the value at some points stays what plain arithmetic gives. */
static void simplifying_keeps_the_value(void **state)
{
    fixture *f = *state;
    static const binary ops[] = { t2o_expr_add, t2o_expr_sub, t2o_expr_mul, t2o_expr_floordiv, t2o_expr_mod };
    static const int64_t points[][2] = { { 1, 1 }, { 2, 3 }, { 7, 4 }, { 12, 5 } };
    uint32_t seed = 12345;
    for (int round = 0; round < 3000; round++) {
        const t2o_expr *x = t2o_expr_symbol(f->e, "a");
        int64_t want[COUNT(points)];
        bool usable = true;
        for (size_t p = 0; p < COUNT(points); p++)
            want[p] = points[p][0];
        for (int step = 0; step < 5 && usable; step++) {
            seed = seed * 1664525 + 1013904223;
            int op = (int)(seed >> 16) % 5, leaf = (int)(seed >> 24) % 8;
            const t2o_expr *y = leaf == 0   ? t2o_expr_symbol(f->e, "a")
                                : leaf <= 2 ? t2o_expr_symbol(f->e, "b")
                                            : t2o_expr_int(f->e, leaf < 6 ? leaf - 1 : 3 - leaf);
            const t2o_expr *z = ops[op](f->e, x, y);
            for (size_t p = 0; p < COUNT(points); p++) {
                int64_t r = value_at(y, points[p][0], points[p][1]);
                usable = usable && !(op > 2 && r == 0) && want[p] < 1 << 20 && want[p] > -(1 << 20);
                want[p] = apply(op, want[p], r);
            }
            if (!usable)
                break;
            assert_non_null(z);
            for (size_t p = 0; p < COUNT(points); p++)
                if (value_at(z, points[p][0], points[p][1]) != want[p])
                    fail_msg("%s at a=%d b=%d is not %d", t2o_expr_text(f->e, z), (int)points[p][0], (int)points[p][1],
                             (int)want[p]);
            x = z;
        }
    }
}

static void what_has_no_value_is_null(void **state)
{
    fixture *f = *state;
    t2o_exprs *e = f->e;
    const t2o_expr *max = t2o_expr_int(e, INT64_MAX), *min = t2o_expr_int(e, INT64_MIN), *s = t2o_expr_symbol(e, "s");
    const t2o_expr *one = t2o_expr_int(e, 1), *minus = t2o_expr_int(e, -1), *zero = t2o_expr_int(e, 0);
    const t2o_expr *const nothing[] = {
        t2o_expr_add(e, max, one),
        t2o_expr_sub(e, min, one),
        t2o_expr_mul(e, max, t2o_expr_int(e, 2)),
        t2o_expr_mul(e, t2o_expr_mul(e, max, s), t2o_expr_int(e, 2)),
        t2o_expr_add(e, t2o_expr_mul(e, max, s), s),
        t2o_expr_sub(e, zero, min),
        t2o_expr_floordiv(e, s, zero),
        t2o_expr_floordiv(e, min, minus),
        t2o_expr_mod(e, s, zero),
        t2o_expr_add(e, NULL, s),
        t2o_expr_mul(e, s, NULL),
        t2o_expr_floordiv(e, NULL, s),
        t2o_expr_mod(e, s, NULL),
        t2o_expr_call(e, "Whatever", (const t2o_expr *[]){ s, NULL }, 2),
        t2o_expr_call(e, "CeilDiv", (const t2o_expr *[]){ min, minus }, 2),
    };
    for (size_t i = 0; i < COUNT(nothing); i++)
        if (nothing[i])
            fail_msg("row %d gives %s", (int)i, t2o_expr_text(e, nothing[i]));
    assert_ptr_equal(t2o_expr_mod(e, min, minus), zero);
    assert_ptr_equal(t2o_expr_add(e, min, max), minus);
}

static void products_of_long_sums_are_given_up(void **state)
{
    fixture *f = *state;
    const t2o_expr *x = t2o_expr_int(f->e, 1);
    for (int i = 0; x && i < 20; i++)
        x = t2o_expr_mul(f->e, x,
                         t2o_expr_add(f->e, t2o_expr_symbol(f->e, t2o_printf(f->s->arena, "x%d", i)),
                                      t2o_expr_int(f->e, 1)));
    assert_null(x); /* 2^20 terms */
    assert_true(t2o_arena_used(f->s->arena) < (size_t)64 << 20);
}

/* ---- order ---- */

static const struct { const char *a, *b; int order; } order_rows[] = {
    { "3", "5", -1 }, { "5", "3", 1 }, { "5", "5", 0 },
    { "s", "s", 0 }, { "s", "Add(s, 1)", -1 }, { "Add(s, 1)", "s", 1 },
    { "s", "0", 2 }, { "Add(s, 1)", "0", 1 }, { "s", "-1", 1 }, { "Mul(-1, s)", "1", -1 },
    { "s", "5", 2 }, { "a", "b", 2 },
    /* r is in 2..10, m in 0..7, k in 4..4 */
    { "r", "1", 1 }, { "r", "2", 2 }, { "r", "10", 2 }, { "r", "11", -1 }, { "r", "m", 2 },
    { "Mul(2, r)", "3", 1 }, { "Mul(2, r)", "21", -1 }, { "Mul(-1, r)", "-1", -1 },
    { "Mul(r, m)", "71", -1 }, { "Mul(r, m)", "-1", 1 }, { "Mul(r, r)", "3", 1 },
    { "FloorDiv(r, 4)", "3", -1 }, { "FloorDiv(r, 4)", "-1", 1 }, { "FloorDiv(r, 4)", "2", 2 },
    { "FloorDiv(m, r)", "8", -1 }, { "FloorDiv(m, r)", "-1", 1 },
    { "Mod(m, 4)", "4", -1 }, { "Mod(m, 4)", "-1", 1 }, { "Mod(m, 4)", "3", 2 },
    { "Max(m, 3)", "2", 1 }, { "Max(m, 3)", "8", -1 }, { "Min(m, 3)", "4", -1 }, { "Min(m, 3)", "-1", 1 },
    { "Add(r, m)", "1", 1 }, { "Add(r, m)", "18", -1 },
    { "Add(r, Mul(-1, m))", "-6", 1 }, { "k", "4", 0 }, { "k", "3", 1 },
    { "Pow(m, r)", "0", 2 }, { "Where(m, r, k)", "0", 2 },
    { "9223372036854775807", "Mul(-1, s)", 1 }, { "Mul(9223372036854775807, r)", "0", 1 },
};

static void comparisons_are_certain_or_unknown(void **state)
{
    fixture *f = *state;
    t2o_expr_set_range(f->e, "r", 2, 10);
    t2o_expr_set_range(f->e, "m", 0, 7);
    t2o_expr_set_range(f->e, "k", 4, 4);
    for (size_t i = 0; i < COUNT(order_rows); i++) {
        const t2o_expr *a = brief(f, order_rows[i].a), *b = brief(f, order_rows[i].b);
        int got = t2o_expr_compare(f->e, a, b), back = t2o_expr_compare(f->e, b, a);
        if (got != order_rows[i].order || back != (got == 2 ? 2 : -got))
            fail_msg("%s against %s: %d and %d", order_rows[i].a, order_rows[i].b, got, back);
    }
}

static void ranges_have_defaults(void **state)
{
    fixture *f = *state;
    int64_t min = -1, max = -1;
    assert_false(t2o_expr_range(f->e, "s", &min, &max));
    assert_true(min == 0 && max == INT64_MAX);
    t2o_expr_set_range(f->e, "s", 2, 8);
    assert_true(t2o_expr_range(f->e, "s", &min, &max));
    assert_true(min == 2 && max == 8);
    t2o_expr_set_range(f->e, "s", INT64_MIN, INT64_MAX); /* an unbacked size */
    assert_int_equal(t2o_expr_compare(f->e, brief(f, "Add(s, 1)"), brief(f, "0")), 2);
}

/* ---- symbols ---- */

static void collect(void *ctx, const char *name)
{
    strcat(ctx, name);
}

static void symbols_are_walked(void **state)
{
    fixture *f = *state;
    char names[64] = "";
    t2o_expr_each_symbol(brief(f, "Add(Mul(a, b), FloorDiv(c, Max(a, s)), 3)"), collect, names);
    assert_string_equal(names, "abcas");
    names[0] = '\0';
    t2o_expr_each_symbol(t2o_expr_int(f->e, 3), collect, names);
    assert_string_equal(names, "");
}

/* ---- the reader ---- */

static const struct { const char *source, *text; } parse_rows[] = {
    { "Symbol('s77', integer=True)", "s77" },
    { "Symbol('s77', positive=True, integer=True)", "s77" },
    { "  Add( Symbol('s77') ,Integer(1) )  ", "s77 + 1" },
    { "42", "42" },
    { "-42", "-42" },
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "Integer(-3)", "-3" },
    { "Symbol('batch_size')", "batch_size" },
    { "Symbol('it\\'s')", "it\\'s" },
    { "Symbol('')", "" },
    { "torch.utils._sympy.functions.FloorDiv(Symbol('s0'), Integer(4))",
      "torch.utils._sympy.functions.FloorDiv(s0, 4)" },
    { "Float('0.5', precision=53)", "Float(0.5)" },
    { "Rational(1, 2)", "Rational(1, 2)" },
    { "oo", "oo" },
    { "Foo()", "Foo" },
};

static const struct { const char *source, *why; } refused_rows[] = {
    { "", "does not belong" },
    { "   ", "does not belong" },
    { "(", "does not belong" },
    { "?", "does not belong" },
    { "Add(", "does not belong" },
    { "Add(Symbol('s'),", "does not belong" },
    { "Add(Symbol('s')", "')' is missing" },
    { "Add(Symbol('s') Integer(1))", "')' is missing" },
    { "Symbol('s", "without an end" },
    { "Symbol('s\\", "without an end" },
    { "Symbol('s', integer=", "does not belong" },
    { "Symbol()", "takes one argument" },
    { "Integer(1, 2)", "takes one argument" },
    { "Symbol('s') extra", "after the end" },
    { "1)", "after the end" },
    { "12 34", "after the end" },
    { "-", "64-bit" },
    { "--1", "64-bit" },
    { "1.5", "64-bit" },
    { "1e9", "64-bit" },
    { "9223372036854775808", "64-bit" },
    { "99999999999999999999999999999999999999", "64-bit" },
    { "Add(9223372036854775807, 1)", "out of range" },
    { "Mul(4611686018427387904, 2)", "out of range" },
    { "FloorDiv(Symbol('s'), Integer(0))", "out of range" },
    { "Mod(1, 0)", "out of range" },
    { "Pow(10, 16, 3)(", "after the end" },
    { "\xff\xfe", "does not belong" },
};

static void sympy_form_is_read(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(parse_rows); i++)
        assert_string_equal(t2o_expr_text(f->e, parse(f, parse_rows[i].source)), parse_rows[i].text);
}

static void malformed_text_is_refused(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(refused_rows); i++) {
        const char *why = NULL;
        const t2o_expr *x = t2o_expr_parse(f->e, refused_rows[i].source, &why);
        if (x || !why || !strstr(why, refused_rows[i].why))
            fail_msg("'%s': %s", refused_rows[i].source, x ? t2o_expr_text(f->e, x) : why ? why : "(no reason)");
    }
}

/* Sympy's printed form, and the constructor form of the same. */
static const struct { const char *printed, *same; } infix_rows[] = {
    { "s0", "Symbol('s0')" },
    { "s0 + s1 - 6", "Add(Symbol('s0'), Symbol('s1'), Integer(-6))" },
    { "4*s0*s1 + 8*s0", "Add(Mul(4, Symbol('s0'), Symbol('s1')), Mul(8, Symbol('s0')))" },
    { "-s0", "Mul(-1, Symbol('s0'))" },
    { "-s0**2", "Mul(-1, Pow(Symbol('s0'), 2))" },
    { "2**3**2", "512" },
    { "10 - 4 - 3", "3" },
    { "(s0//2) + 1", "Add(FloorDiv(Symbol('s0'), 2), 1)" },
    { "s0*(s1 + 2)", "Mul(Symbol('s0'), Add(Symbol('s1'), 2))" },
    { "Mod(s0, 3)", "Mod(Symbol('s0'), 3)" },
    { "Max(1, u6)", "Max(1, Symbol('u6'))" },
    { "Eq(Mod(4*s0, s1), 0)", "Equality(Mod(Mul(4, Symbol('s0')), Symbol('s1')), 0)" },
    { "(s0 > u0) & (u0 <= 5)", "And(StrictGreaterThan(Symbol('s0'), Symbol('u0')), LessThan(Symbol('u0'), 5))" },
    { "Ne(s0, 1) | ~(s0 < 2)", "Or(Unequality(Symbol('s0'), 1), Not(StrictLessThan(Symbol('s0'), 2)))" },
    { "Piecewise((1, s0 >= 2), (0, True))",
      "Piecewise(ExprCondPair(1, GreaterThan(Symbol('s0'), 2)), ExprCondPair(0, true))" },
    { "0.5*ToFloat(s0)", "Mul(Float('0.5', precision=53), ToFloat(Symbol('s0')))" },
    { "s0/4", "IntTrueDiv(Symbol('s0'), 4)" },
    { "-int_oo", "Mul(-1, int_oo)" },
};

static const struct { const char *source, *why; } infix_refused_rows[] = {
    { "", "does not belong" },
    { "s0 +", "does not belong" },
    { "s0 s1", "after the end" },
    { "(s0", "')' is missing" },
    { "(s0, s1", "')' is missing" },
    { "Max(s0", "')' is missing" },
    { "Max(s0,)", "does not belong" },
    { "s0)", "after the end" },
    { "'s0'", "does not belong" },
    { "s0 ** * 2", "does not belong" },
    { "9223372036854775808", "64-bit" },
    { "9223372036854775807 + 1", "out of range" },
    { "s0 // 0", "out of range" },
    { "\xff", "does not belong" },
};

static void printed_form_is_read(void **state)
{
    fixture *f = *state;
    const char *why;
    for (size_t i = 0; i < COUNT(infix_rows); i++) {
        const t2o_expr *x = t2o_expr_parse_infix(f->s, f->e, infix_rows[i].printed, &why);
        if (!x || x != parse(f, infix_rows[i].same))
            fail_msg("'%s': %s", infix_rows[i].printed, x ? t2o_expr_text(f->e, x) : why);
    }
    for (size_t i = 0; i < COUNT(infix_refused_rows); i++) {
        const t2o_expr *x = t2o_expr_parse_infix(f->s, f->e, infix_refused_rows[i].source, &why);
        if (x || !why || !strstr(why, infix_refused_rows[i].why))
            fail_msg("'%s': %s", infix_refused_rows[i].source, x ? t2o_expr_text(f->e, x) : why ? why : "(no reason)");
    }
}

/* The same piece many times, with a middle and as many ends. */
static const char *nest(t2o_arena *a, const char *open, const char *middle, const char *close, size_t n)
{
    size_t lo = strlen(open), lc = strlen(close), lm = strlen(middle);
    char *text = t2o_alloc(a, n * (lo + lc) + lm + 1);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + i * lo, open, lo);
        memcpy(text + n * lo + lm + i * lc, close, lc);
    }
    memcpy(text + n * lo, middle, lm);
    return text;
}

static void deep_printed_forms_are_refused(void **state)
{
    fixture *f = *state;
    static const char *const pieces[] = { "(", "-", "~", "f(", "2**", "f(1, ", "s//t%" };
    for (size_t i = 0; i < COUNT(pieces); i++) {
        const char *why = NULL;
        assert_null(t2o_expr_parse_infix(f->s, f->e, nest(f->s->arena, pieces[i], "s", "", 100000), &why));
        assert_non_null(strstr(why, "too deep"));
    }
}

static void deep_nesting_is_refused(void **state)
{
    fixture *f = *state;
    t2o_arena *a = f->s->arena;
    static const struct { const char *open, *close; } rows[] = {
        { "Add(", ", 1)" }, { "Foo(", ")" }, { "FloorDiv(", ", 3)" }, { "Foo(x=", ")" }, { "Symbol(", ")" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *why = NULL;
        assert_null(t2o_expr_parse(f->e, nest(a, rows[i].open, "Symbol('s')", rows[i].close, 100000), &why));
        assert_non_null(strstr(why, "too deep"));
        why = NULL;
        assert_null(t2o_expr_parse(f->e, nest(a, rows[i].open, "", "", 100000), &why));
        assert_non_null(why);
        why = NULL;
        assert_non_null(t2o_expr_parse(f->e, nest(a, rows[i].open, "Symbol('s')", rows[i].close, 100), &why));
        assert_null(why);
    }
}

static void wide_and_large_expressions_end(void **state)
{
    fixture *f = *state;
    t2o_arena *a = f->s->arena;
    const char *why = NULL, *text = "Add(0";
    for (int i = 0; i < 400; i++)
        text = t2o_printf(a, "%s, Symbol('x%d')", text, i);
    assert_null(t2o_expr_parse(f->e, t2o_printf(a, "%s)", text), &why)); /* more terms than are kept */
    assert_non_null(why);
    /* powers of sums blow up quickly */
    why = NULL;
    const char *power = nest(a, "Pow(Add(Symbol('a'), ", "Symbol('b')", "), 16)", 6);
    assert_null(t2o_expr_parse(f->e, power, &why));
    assert_non_null(why);
    assert_true(t2o_arena_used(a) < (size_t)256 << 20);
}

static void text_of_deep_expressions_is_cut(void **state)
{
    fixture *f = *state;
    const t2o_expr *x = t2o_expr_symbol(f->e, "s");
    for (int i = 0; i < 5000; i++)
        x = t2o_expr_call(f->e, "Foo", &x, 1);
    const char *text = t2o_expr_text(f->e, x);
    assert_non_null(strstr(text, "..."));
    assert_true(strlen(text) < 5000);
    assert_int_equal(t2o_expr_compare(f->e, x, t2o_expr_int(f->e, 0)), 2);
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(expressions_have_one_form),
        FRESH(equal_expressions_are_one_pointer),
        FRESH(simplifying_keeps_the_value),
        FRESH(what_has_no_value_is_null),
        FRESH(products_of_long_sums_are_given_up),
        FRESH(comparisons_are_certain_or_unknown),
        FRESH(ranges_have_defaults),
        FRESH(symbols_are_walked),
        FRESH(sympy_form_is_read),
        FRESH(malformed_text_is_refused),
        FRESH(printed_form_is_read),
        FRESH(deep_printed_forms_are_refused),
        FRESH(deep_nesting_is_refused),
        FRESH(wide_and_large_expressions_end),
        FRESH(text_of_deep_expressions_is_cut),
    };
    return cmocka_run_group_tests_name("expr", tests, NULL, NULL);
}
