/* expr.c: the normal form of integer expressions, their order, their text.
 *
 * A sum is kept as terms (coefficient times a product of atoms) in the order of their factors' names, the constant
 * last; products are multiplied out, so that two polynomials are equal exactly when they are the same pointer.
 */
#include "graph/expr.h"

#include "graph/scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_DEPTH 200
#define MAX_TERMS 256
#define LEAST INT64_MIN /* minus infinity in bounds */
#define MOST INT64_MAX

typedef struct range {
    int64_t min, max;
} range;

#define SMALL_INTS 1024 /* sizes that come again and again */

struct t2o_exprs {
    t2o_session *s;
    t2o_map table, ranges, fresh;
    uint32_t next_id, next_fresh;
    const t2o_expr *ints[SMALL_INTS]; /* of table; NULL until it is asked for */
};

typedef struct term {
    int64_t coefficient;
    const t2o_expr *product; /* NULL = the constant term */
} term;

typedef T2O_VEC(term) terms;
typedef T2O_VEC(const t2o_expr *) expr_list;

t2o_exprs *t2o_exprs_new(t2o_session *s)
{
    t2o_exprs *e = T2O_NEW(s->arena, t2o_exprs);
    e->s = s;
    return e;
}

static const t2o_expr *unique(t2o_exprs *e, t2o_expr_kind kind, int64_t value, const char *name,
                              const t2o_expr *const *args, uint32_t n)
{
    t2o_arena *a = e->s->arena;
    T2O_VEC(char) key = { 0 };
    char head[64];
    snprintf(head, sizeof head, "%d %lld ", (int)kind, (long long)value);
    for (const char *p = head; *p; p++)
        t2o_push(a, &key, *p);
    for (const char *p = name ? name : ""; *p; p++)
        t2o_push(a, &key, *p);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(head, sizeof head, ",%u", args[i]->id);
        for (const char *p = head; *p; p++)
            t2o_push(a, &key, *p);
    }
    t2o_push(a, &key, '\0');
    t2o_expr *known = t2o_map_get(&e->table, key.at);
    if (known)
        return known;
    t2o_expr *x = T2O_NEW(a, t2o_expr);
    *x = (t2o_expr){ .kind = kind, .id = e->next_id++, .value = value, .name = name, .n_args = n };
    if (n) {
        x->args = T2O_NEW_N(a, const t2o_expr *, n);
        memcpy(x->args, args, n * sizeof *args);
    }
    t2o_map_set(a, &e->table, key.at, x);
    return x;
}

const t2o_expr *t2o_expr_int(t2o_exprs *e, int64_t value)
{
    bool small = value >= 0 && value < SMALL_INTS;
    if (small && e->ints[value])
        return e->ints[value];
    const t2o_expr *x = unique(e, T2O_EXPR_INT, value, NULL, NULL, 0);
    if (small)
        e->ints[value] = x;
    return x;
}

const t2o_expr *t2o_expr_symbol(t2o_exprs *e, const char *name)
{
    return unique(e, T2O_EXPR_SYMBOL, 0, t2o_intern(e->s, name), NULL, 0);
}

const t2o_expr *t2o_expr_fresh(t2o_exprs *e)
{
    const t2o_expr *x;
    uint32_t first;
    do {
        first = e->next_id;
        x = t2o_expr_symbol(e, t2o_printf(e->s->arena, "unk__%u", e->next_fresh++));
    } while (x->id < first); /* the file has a symbol of this name */
    t2o_map_set(e->s->arena, &e->fresh, x->name, (void *)x);
    return x;
}

bool t2o_expr_is_fresh(const t2o_exprs *e, const t2o_expr *x)
{
    bool found = x->kind == T2O_EXPR_SYMBOL && t2o_map_get(&e->fresh, x->name);
    for (uint32_t i = 0; !found && i < x->n_args; i++)
        found = t2o_expr_is_fresh(e, x->args[i]);
    return found;
}

/* ---- sums and products ---- */

static bool is_scaled(const t2o_expr *x)
{
    return x->kind == T2O_EXPR_MUL && x->args[0]->kind == T2O_EXPR_INT;
}

static term term_of(t2o_exprs *e, const t2o_expr *x)
{
    if (x->kind == T2O_EXPR_INT)
        return (term){ x->value, NULL };
    if (!is_scaled(x))
        return (term){ 1, x };
    if (x->n_args == 2)
        return (term){ x->args[0]->value, x->args[1] };
    return (term){ x->args[0]->value, unique(e, T2O_EXPR_MUL, 0, NULL, x->args + 1, x->n_args - 1) };
}

static bool add_term(t2o_exprs *e, terms *list, term t)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].product == t.product)
            return !__builtin_add_overflow(list->at[i].coefficient, t.coefficient, &list->at[i].coefficient);
    t2o_push(e->s->arena, list, t);
    return list->n <= MAX_TERMS;
}

static bool add_terms_of(t2o_exprs *e, terms *list, const t2o_expr *x, int64_t scale)
{
    uint32_t n = x->kind == T2O_EXPR_ADD ? x->n_args : 1;
    for (uint32_t i = 0; i < n; i++) {
        term t = term_of(e, x->kind == T2O_EXPR_ADD ? x->args[i] : x);
        if (__builtin_mul_overflow(t.coefficient, scale, &t.coefficient) || !add_term(e, list, t))
            return false;
    }
    return true;
}

static int in_order(const t2o_expr *a, const t2o_expr *b, int depth);

/* Symbols by name before functions by name and arguments, before sums, before numbers. */
static int order_atoms(const t2o_expr *a, const t2o_expr *b, int depth)
{
    static const int rank[] = { [T2O_EXPR_SYMBOL] = 0, [T2O_EXPR_CALL] = 1, [T2O_EXPR_MUL] = 2, [T2O_EXPR_ADD] = 3,
                                [T2O_EXPR_INT] = 4 };
    if (a == b || depth > MAX_DEPTH)
        return 0;
    if (a->kind != b->kind)
        return rank[a->kind] - rank[b->kind];
    if (a->kind == T2O_EXPR_INT)
        return a->value < b->value ? -1 : 1;
    int by_name = a->name && b->name ? strcmp(a->name, b->name) : 0;
    for (uint32_t i = 0; !by_name && i < a->n_args && i < b->n_args; i++)
        by_name = in_order(a->args[i], b->args[i], depth + 1);
    return by_name ? by_name : a->n_args < b->n_args ? -1 : a->n_args > b->n_args;
}

/* The order of terms in a sum: factor by factor, so that it does not depend on what was built first. */
static int in_order(const t2o_expr *a, const t2o_expr *b, int depth)
{
    bool product_a = a->kind == T2O_EXPR_MUL, product_b = b->kind == T2O_EXPR_MUL;
    uint32_t na = product_a ? a->n_args : 1, nb = product_b ? b->n_args : 1;
    for (uint32_t i = 0; i < na && i < nb; i++) {
        int c = order_atoms(product_a ? a->args[i] : a, product_b ? b->args[i] : b, depth + 1);
        if (c)
            return c;
    }
    return na > nb ? -1 : na < nb;
}

static int by_product(const void *a, const void *b)
{
    const t2o_expr *x = ((const term *)a)->product, *y = ((const term *)b)->product;
    if (!x || !y)
        return !x - !y;
    return in_order(x, y, 0);
}

static const t2o_expr *scaled(t2o_exprs *e, term t)
{
    if (!t.product)
        return t2o_expr_int(e, t.coefficient);
    if (t.coefficient == 1)
        return t.product;
    uint32_t n = t.product->kind == T2O_EXPR_MUL ? t.product->n_args : 1;
    const t2o_expr **args = T2O_NEW_N(e->s->arena, const t2o_expr *, n + 1);
    args[0] = t2o_expr_int(e, t.coefficient);
    if (t.product->kind == T2O_EXPR_MUL)
        memcpy(args + 1, t.product->args, n * sizeof *args);
    else
        args[1] = t.product;
    return unique(e, T2O_EXPR_MUL, 0, NULL, args, n + 1);
}

static const t2o_expr *sum_of(t2o_exprs *e, terms *list)
{
    qsort(list->at, list->n, sizeof *list->at, by_product);
    expr_list args = { 0 };
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].coefficient)
            t2o_push(e->s->arena, &args, scaled(e, list->at[i]));
    if (args.n == 0)
        return t2o_expr_int(e, 0);
    return args.n == 1 ? args.at[0] : unique(e, T2O_EXPR_ADD, 0, NULL, args.at, (uint32_t)args.n);
}

static const t2o_expr *combine(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b, int64_t scale)
{
    if (!a || !b)
        return NULL;
    int64_t sum;
    if (a->kind == T2O_EXPR_INT && b->kind == T2O_EXPR_INT && !__builtin_mul_overflow(b->value, scale, &sum) &&
        !__builtin_add_overflow(a->value, sum, &sum))
        return t2o_expr_int(e, sum);
    terms list = { 0 };
    t2o_push(e->s->arena, &list, ((term){ 0, NULL }));
    if (!add_terms_of(e, &list, a, 1) || !add_terms_of(e, &list, b, scale))
        return NULL;
    return sum_of(e, &list);
}

const t2o_expr *t2o_expr_add(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    return combine(e, a, b, 1);
}

const t2o_expr *t2o_expr_sub(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    return combine(e, a, b, -1);
}

static int by_order(const void *a, const void *b)
{
    return order_atoms(*(const t2o_expr *const *)a, *(const t2o_expr *const *)b, 0);
}

static void push_factors(t2o_exprs *e, expr_list *out, const t2o_expr *product)
{
    if (!product)
        return;
    if (product->kind != T2O_EXPR_MUL) {
        t2o_push(e->s->arena, out, product);
        return;
    }
    for (uint32_t i = 0; i < product->n_args; i++)
        t2o_push(e->s->arena, out, product->args[i]);
}

static bool multiply_terms(t2o_exprs *e, term a, term b, term *out)
{
    expr_list factors = { 0 };
    push_factors(e, &factors, a.product);
    push_factors(e, &factors, b.product);
    if (factors.n > MAX_TERMS || __builtin_mul_overflow(a.coefficient, b.coefficient, &out->coefficient))
        return false;
    if (factors.n > 1)
        qsort(factors.at, factors.n, sizeof *factors.at, by_order);
    out->product = factors.n == 0   ? NULL
                   : factors.n == 1 ? factors.at[0]
                                    : unique(e, T2O_EXPR_MUL, 0, NULL, factors.at, (uint32_t)factors.n);
    return true;
}

const t2o_expr *t2o_expr_mul(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    if (!a || !b)
        return NULL;
    int64_t product;
    if (a->kind == T2O_EXPR_INT && b->kind == T2O_EXPR_INT)
        return __builtin_mul_overflow(a->value, b->value, &product) ? NULL : t2o_expr_int(e, product);
    terms left = { 0 }, right = { 0 }, list = { 0 };
    if (!add_terms_of(e, &left, a, 1) || !add_terms_of(e, &right, b, 1))
        return NULL;
    for (size_t i = 0; i < left.n; i++)
        for (size_t j = 0; j < right.n; j++) {
            term t;
            if (!multiply_terms(e, left.at[i], right.at[j], &t) || !add_term(e, &list, t))
                return NULL;
        }
    return sum_of(e, &list);
}

/* ---- functions ---- */

static int64_t floordiv64(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/* x divided by a constant that divides every coefficient, or NULL. */
static const t2o_expr *divide_exactly(t2o_exprs *e, const t2o_expr *x, int64_t by)
{
    terms list = { 0 };
    if (!add_terms_of(e, &list, x, 1))
        return NULL;
    for (size_t i = 0; i < list.n; i++) {
        if (list.at[i].coefficient % by)
            return NULL;
        list.at[i].coefficient /= by;
    }
    return sum_of(e, &list);
}

/* x divided by a product or symbol that is a factor of every term, or NULL. */
static const t2o_expr *cancel(t2o_exprs *e, const t2o_expr *x, const t2o_expr *by)
{
    terms list = { 0 };
    if (by->kind == T2O_EXPR_ADD || by->kind == T2O_EXPR_INT || is_scaled(by) || !add_terms_of(e, &list, x, 1))
        return NULL;
    for (size_t i = 0; i < list.n; i++) {
        expr_list have = { 0 }, want = { 0 }, left = { 0 };
        push_factors(e, &have, list.at[i].product);
        push_factors(e, &want, by);
        size_t w = 0;
        for (size_t h = 0; h < have.n; h++)
            if (w < want.n && have.at[h] == want.at[w])
                w++;
            else
                t2o_push(e->s->arena, &left, have.at[h]);
        if (w < want.n && list.at[i].coefficient)
            return NULL;
        list.at[i].product = left.n == 0   ? NULL
                             : left.n == 1 ? left.at[0]
                                           : unique(e, T2O_EXPR_MUL, 0, NULL, left.at, (uint32_t)left.n);
    }
    return sum_of(e, &list);
}

static const t2o_expr *call2(t2o_exprs *e, const char *name, const t2o_expr *a, const t2o_expr *b)
{
    const t2o_expr *args[] = { a, b };
    return unique(e, T2O_EXPR_CALL, 0, t2o_intern(e->s, name), args, 2);
}

const t2o_expr *t2o_expr_floordiv(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    if (!a || !b || (b->kind == T2O_EXPR_INT && b->value == 0))
        return NULL;
    const t2o_expr *exact = NULL;
    if (a->kind == T2O_EXPR_INT && b->kind == T2O_EXPR_INT)
        return a->value == INT64_MIN && b->value == -1 ? NULL : t2o_expr_int(e, floordiv64(a->value, b->value));
    if (b->kind == T2O_EXPR_INT && b->value > 0)
        exact = divide_exactly(e, a, b->value);
    else if (b->kind != T2O_EXPR_INT)
        exact = a == b ? t2o_expr_int(e, 1) : cancel(e, a, b);
    return exact ? exact : call2(e, "FloorDiv", a, b);
}

const t2o_expr *t2o_expr_mod(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    if (!a || !b || (b->kind == T2O_EXPR_INT && b->value == 0))
        return NULL;
    if (a->kind == T2O_EXPR_INT && b->kind == T2O_EXPR_INT)
        return b->value == -1 ? t2o_expr_int(e, 0)
                              : t2o_expr_int(e, a->value - floordiv64(a->value, b->value) * b->value);
    bool exact = b->kind == T2O_EXPR_INT ? b->value > 0 && divide_exactly(e, a, b->value) : a == b || cancel(e, a, b);
    return exact ? t2o_expr_int(e, 0) : call2(e, "Mod", a, b);
}

static const t2o_expr *extreme(t2o_exprs *e, const char *name, const t2o_expr *a, const t2o_expr *b)
{
    int order = t2o_expr_compare(e, a, b);
    if (order != 2)
        return (order >= 0) == (name[1] == 'a') ? a : b;
    return in_order(a, b, 0) <= 0 ? call2(e, name, a, b) : call2(e, name, b, a);
}

static const t2o_expr *power(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    if (b->kind != T2O_EXPR_INT || b->value < 0 || b->value > 16)
        return call2(e, "Pow", a, b);
    const t2o_expr *x = t2o_expr_int(e, 1);
    for (int64_t i = 0; i < b->value; i++)
        x = t2o_expr_mul(e, x, a);
    return x;
}

static bool one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

static const t2o_expr *fold(t2o_exprs *e, const t2o_expr **args, uint32_t n,
                            const t2o_expr *(*two)(t2o_exprs *, const t2o_expr *, const t2o_expr *))
{
    const t2o_expr *x = args[0];
    for (uint32_t i = 1; i < n; i++)
        x = two(e, x, args[i]);
    return x;
}

/* ceil(a/b), trunc(a/b) of sizes: the archive writes them as a function of IntTrueDiv. */
static const t2o_expr *rounded_division(t2o_exprs *e, const char *name, const t2o_expr *x)
{
    if (x->kind != T2O_EXPR_CALL || strcmp(x->name, "IntTrueDiv") || x->n_args != 2)
        return NULL;
    const t2o_expr *zero = t2o_expr_int(e, 0);
    if (!strcmp(name, "FloorToInt") || (!strcmp(name, "TruncToInt") && t2o_expr_compare(e, x->args[0], zero) < 2 &&
                                        t2o_expr_compare(e, x->args[0], zero) >= 0))
        return t2o_expr_floordiv(e, x->args[0], x->args[1]);
    if (!strcmp(name, "CeilToInt"))
        return t2o_expr_sub(e, zero, t2o_expr_floordiv(e, t2o_expr_sub(e, zero, x->args[0]), x->args[1]));
    return NULL;
}

const t2o_expr *t2o_expr_call(t2o_exprs *e, const char *name, const t2o_expr **args, uint32_t n)
{
    static const char *const divisions[] = { "FloorDiv", "CleanDiv", NULL };
    static const char *const remainders[] = { "Mod", "PythonMod", NULL };
    static const char *const powers[] = { "Pow", "PowByNatural", NULL };
    for (uint32_t i = 0; i < n; i++)
        if (!args[i])
            return NULL;
    if (n >= 1 && !strcmp(name, "Add"))
        return fold(e, args, n, t2o_expr_add);
    if (n >= 1 && !strcmp(name, "Mul"))
        return fold(e, args, n, t2o_expr_mul);
    if (n >= 1 && (!strcmp(name, "Max") || !strcmp(name, "Min"))) {
        const t2o_expr *x = args[0];
        for (uint32_t i = 1; i < n; i++)
            x = extreme(e, name, x, args[i]);
        return x;
    }
    if (n == 2 && one_of(name, divisions))
        return t2o_expr_floordiv(e, args[0], args[1]);
    if (n == 2 && one_of(name, remainders))
        return t2o_expr_mod(e, args[0], args[1]);
    if (n == 2 && one_of(name, powers))
        return power(e, args[0], args[1]);
    if (n == 2 && !strcmp(name, "CeilDiv"))
        return t2o_expr_sub(e, t2o_expr_int(e, 0),
                            t2o_expr_floordiv(e, t2o_expr_sub(e, t2o_expr_int(e, 0), args[0]), args[1]));
    if (n == 1 && !strcmp(name, "Identity"))
        return args[0];
    const t2o_expr *rounded = n == 1 ? rounded_division(e, name, args[0]) : NULL;
    return rounded ? rounded : unique(e, T2O_EXPR_CALL, 0, t2o_intern(e->s, name), args, n);
}

/* ---- order ---- */

void t2o_expr_set_range(t2o_exprs *e, const char *symbol, int64_t min, int64_t max)
{
    range *r = T2O_NEW(e->s->arena, range);
    *r = (range){ min, max };
    t2o_map_set(e->s->arena, &e->ranges, t2o_intern(e->s, symbol), r);
}

bool t2o_expr_range(const t2o_exprs *e, const char *symbol, int64_t *min, int64_t *max)
{
    const range *r = t2o_map_get(&e->ranges, symbol);
    *min = r ? r->min : 0;
    *max = r ? r->max : MOST;
    return r != NULL;
}

static bool unbounded(int64_t x)
{
    return x == LEAST || x == MOST;
}

static int64_t bound_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (unbounded(a))
        return a;
    if (unbounded(b) || __builtin_add_overflow(a, b, &sum))
        return b < 0 ? LEAST : MOST;
    return sum;
}

static int64_t bound_mul(int64_t a, int64_t b)
{
    int64_t product;
    if (a == 0 || b == 0)
        return 0;
    if (unbounded(a) || unbounded(b) || __builtin_mul_overflow(a, b, &product))
        return (a < 0) == (b < 0) ? MOST : LEAST;
    return product;
}

static range range_mul(range a, range b)
{
    int64_t p[] = { bound_mul(a.min, b.min), bound_mul(a.min, b.max), bound_mul(a.max, b.min),
                    bound_mul(a.max, b.max) };
    range r = { p[0], p[0] };
    for (int i = 1; i < 4; i++) {
        r.min = p[i] < r.min ? p[i] : r.min;
        r.max = p[i] > r.max ? p[i] : r.max;
    }
    return r;
}

static range range_of(const t2o_exprs *e, const t2o_expr *x, int depth);

static range range_of_call(const t2o_exprs *e, const t2o_expr *x, int depth)
{
    if (x->n_args != 2)
        return (range){ LEAST, MOST };
    range a = range_of(e, x->args[0], depth + 1), b = range_of(e, x->args[1], depth + 1);
    if (!strcmp(x->name, "FloorDiv") && b.min == b.max && b.min > 0)
        return (range){ unbounded(a.min) ? a.min : floordiv64(a.min, b.min),
                        unbounded(a.max) ? a.max : floordiv64(a.max, b.max) };
    if (!strcmp(x->name, "FloorDiv") && a.min >= 0 && b.min > 0)
        return (range){ 0, a.max };
    if (!strcmp(x->name, "Mod") && b.min > 0)
        return (range){ 0, unbounded(b.max) ? MOST : b.max - 1 };
    if (!strcmp(x->name, "Max"))
        return (range){ a.min > b.min ? a.min : b.min, a.max > b.max ? a.max : b.max };
    if (!strcmp(x->name, "Min"))
        return (range){ a.min < b.min ? a.min : b.min, a.max < b.max ? a.max : b.max };
    return (range){ LEAST, MOST };
}

static range range_of(const t2o_exprs *e, const t2o_expr *x, int depth)
{
    range r = { LEAST, MOST };
    if (depth > MAX_DEPTH)
        return r;
    switch (x->kind) {
    case T2O_EXPR_INT: return (range){ x->value, x->value };
    case T2O_EXPR_SYMBOL: t2o_expr_range(e, x->name, &r.min, &r.max); return r;
    case T2O_EXPR_ADD: r = (range){ 0, 0 }; break;
    case T2O_EXPR_MUL: r = (range){ 1, 1 }; break;
    case T2O_EXPR_CALL: return range_of_call(e, x, depth);
    }
    for (uint32_t i = 0; i < x->n_args; i++) {
        range b = range_of(e, x->args[i], depth + 1);
        r = x->kind == T2O_EXPR_MUL ? range_mul(r, b) : (range){ bound_add(r.min, b.min), bound_add(r.max, b.max) };
    }
    return r;
}

int t2o_expr_compare(t2o_exprs *e, const t2o_expr *a, const t2o_expr *b)
{
    if (a == b)
        return 0;
    const t2o_expr *difference = t2o_expr_sub(e, a, b);
    if (!difference)
        return 2;
    range r = range_of(e, difference, 0);
    return r.min > 0 ? 1 : r.max < 0 ? -1 : r.min == 0 && r.max == 0 ? 0 : 2;
}

/* ---- text ---- */

typedef T2O_VEC(char) text;

static void put(t2o_exprs *e, text *out, const char *s)
{
    for (; *s; s++)
        t2o_push(e->s->arena, out, *s);
}

/* Where an expression stands, the loosest binding first. */
enum place { ALONE, IN_SUM, IN_PRODUCT, IN_DIVISION };

static void put_expr(t2o_exprs *e, text *out, const t2o_expr *x, enum place place, int depth);

static bool is_floordiv(const t2o_expr *x)
{
    return x->kind == T2O_EXPR_CALL && !strcmp(x->name, "FloorDiv") && x->n_args == 2;
}

static void put_sum(t2o_exprs *e, text *out, const t2o_expr *x, int depth)
{
    for (uint32_t i = 0; i < x->n_args; i++) {
        term t = term_of(e, x->args[i]);
        bool minus = i && t.coefficient < 0 && t.coefficient != INT64_MIN;
        if (i)
            put(e, out, minus ? " - " : " + ");
        if (minus)
            t.coefficient = -t.coefficient;
        put_expr(e, out, scaled(e, t), IN_SUM, depth + 1);
    }
}

/* "2*a*b"; "-a" and "-(a//4)" where the factor is -1. */
static void put_product(t2o_exprs *e, text *out, const t2o_expr *x, int depth)
{
    bool negated = x->args[0]->kind == T2O_EXPR_INT && x->args[0]->value == -1;
    if (negated)
        put(e, out, "-");
    for (uint32_t i = negated; i < x->n_args; i++) {
        if (i > negated)
            put(e, out, "*");
        put_expr(e, out, x->args[i], IN_PRODUCT, depth + 1);
    }
}

static void put_call(t2o_exprs *e, text *out, const t2o_expr *x, int depth)
{
    if (is_floordiv(x)) {
        put_expr(e, out, x->args[0], IN_DIVISION, depth + 1);
        put(e, out, "//");
        put_expr(e, out, x->args[1], IN_DIVISION, depth + 1);
        return;
    }
    put(e, out, x->name);
    for (uint32_t i = 0; i < x->n_args; i++) {
        put(e, out, i ? ", " : "(");
        put_expr(e, out, x->args[i], ALONE, depth + 1);
    }
    if (x->n_args)
        put(e, out, ")");
}

static bool needs_brackets(const t2o_expr *x, enum place place)
{
    switch (x->kind) {
    case T2O_EXPR_ADD: return place > IN_SUM;
    case T2O_EXPR_MUL: return place == IN_DIVISION;
    case T2O_EXPR_INT: return place == IN_DIVISION && x->value < 0;
    case T2O_EXPR_CALL: return place > ALONE && is_floordiv(x);
    case T2O_EXPR_SYMBOL: break;
    }
    return false;
}

static void put_expr(t2o_exprs *e, text *out, const t2o_expr *x, enum place place, int depth)
{
    if (depth > MAX_DEPTH) {
        put(e, out, "...");
        return;
    }
    bool brackets = needs_brackets(x, place);
    char number[32];
    if (brackets)
        put(e, out, "(");
    switch (x->kind) {
    case T2O_EXPR_INT:
        snprintf(number, sizeof number, "%lld", (long long)x->value);
        put(e, out, number);
        break;
    case T2O_EXPR_SYMBOL: put(e, out, x->name); break;
    case T2O_EXPR_ADD: put_sum(e, out, x, depth); break;
    case T2O_EXPR_MUL: put_product(e, out, x, depth); break;
    case T2O_EXPR_CALL: put_call(e, out, x, depth); break;
    }
    if (brackets)
        put(e, out, ")");
}

const char *t2o_expr_text(t2o_exprs *e, const t2o_expr *x)
{
    text out = { 0 };
    put_expr(e, &out, x, 0, 0);
    t2o_push(e->s->arena, &out, '\0');
    return out.at;
}

static const t2o_expr *replace_in_call(t2o_exprs *e, const t2o_expr *x, const t2o_map *by)
{
    expr_list args = { 0 };
    for (uint32_t i = 0; i < x->n_args; i++) {
        const t2o_expr *arg = t2o_expr_replace(e, x->args[i], by);
        if (!arg)
            return NULL;
        t2o_push(e->s->arena, &args, arg);
    }
    return t2o_expr_call(e, x->name, args.at, (uint32_t)args.n);
}

const t2o_expr *t2o_expr_replace(t2o_exprs *e, const t2o_expr *x, const t2o_map *by)
{
    const t2o_expr *out = NULL;
    if (!x || x->kind == T2O_EXPR_INT)
        return x;
    if (x->kind == T2O_EXPR_SYMBOL) {
        out = t2o_map_get(by, x->name);
        return out ? out : x;
    }
    if (x->kind == T2O_EXPR_CALL)
        return x->n_args ? replace_in_call(e, x, by) : x;
    for (uint32_t i = 0; i < x->n_args; i++) {
        const t2o_expr *arg = t2o_expr_replace(e, x->args[i], by);
        out = i == 0 ? arg : x->kind == T2O_EXPR_ADD ? t2o_expr_add(e, out, arg) : t2o_expr_mul(e, out, arg);
    }
    return out;
}

void t2o_expr_each_symbol(const t2o_expr *x, void (*fn)(void *, const char *), void *ctx)
{
    if (x->kind == T2O_EXPR_SYMBOL)
        fn(ctx, x->name);
    for (uint32_t i = 0; i < x->n_args; i++)
        t2o_expr_each_symbol(x->args[i], fn, ctx);
}

/* ---- sympy's srepr ---- */

typedef struct parser {
    t2o_exprs *e;
    t2o_scan scan;
    int depth;
} parser;

static const t2o_expr *parse_expr(parser *in);

static const char *parse_name(parser *in)
{
    t2o_scan_blanks(&in->scan);
    const char *start = in->scan.p;
    while (isalnum((unsigned char)*in->scan.p) || *in->scan.p == '_' || *in->scan.p == '.')
        in->scan.p++;
    return t2o_intern_n(in->e->s, start, (size_t)(in->scan.p - start));
}

static const t2o_expr *parse_quoted(parser *in)
{
    const char *start = ++in->scan.p;
    while (*in->scan.p && *in->scan.p != '\'')
        in->scan.p += in->scan.p[0] == '\\' && in->scan.p[1] ? 2 : 1;
    if (!*in->scan.p)
        return t2o_scan_fault(&in->scan, "a string without an end");
    const char *name = t2o_intern_n(in->e->s, start, (size_t)(in->scan.p++ - start));
    return t2o_expr_symbol(in->e, name);
}

static const t2o_expr *parse_number(parser *in)
{
    char *end;
    errno = 0;
    long long value = strtoll(in->scan.p, &end, 10);
    if (end == in->scan.p || errno || *end == '.' || *end == 'e')
        return t2o_scan_fault(&in->scan, "a number that is not a 64-bit integer");
    in->scan.p = end;
    return t2o_expr_int(in->e, value);
}

/* The arguments behind "("; keyword arguments (assumptions on a symbol) say nothing that is needed here. */
static bool parse_args(parser *in, expr_list *args)
{
    if (t2o_scan_take(&in->scan, ')'))
        return true;
    do {
        t2o_scan_blanks(&in->scan);
        const char *start = in->scan.p;
        const char *name = isalpha((unsigned char)*start) ? parse_name(in) : "";
        if (*name && t2o_scan_take(&in->scan, '=')) {
            if (!parse_expr(in))
                return false;
            continue;
        }
        in->scan.p = start;
        const t2o_expr *x = parse_expr(in);
        if (!x)
            return false;
        t2o_push(in->e->s->arena, args, x);
    } while (t2o_scan_take(&in->scan, ','));
    return t2o_scan_take(&in->scan, ')') || t2o_scan_fault(&in->scan, "a ')' is missing");
}

static const t2o_expr *parse_call(parser *in, const char *name)
{
    expr_list args = { 0 };
    if (!parse_args(in, &args))
        return NULL;
    bool leaf = !strcmp(name, "Symbol") || !strcmp(name, "Integer");
    if (leaf && args.n == 1)
        return args.at[0];
    if (leaf)
        return t2o_scan_fault(&in->scan, "a symbol or an integer takes one argument");
    const t2o_expr *x = t2o_expr_call(in->e, name, args.at, (uint32_t)args.n);
    return x ? x : t2o_scan_fault(&in->scan, "a number out of range");
}

static const t2o_expr *parse_expr(parser *in)
{
    if (++in->depth > MAX_DEPTH)
        return t2o_scan_fault(&in->scan, "an expression that nests too deep");
    t2o_scan_blanks(&in->scan);
    const t2o_expr *x;
    if (*in->scan.p == '\'')
        x = parse_quoted(in);
    else if (*in->scan.p == '-' || isdigit((unsigned char)*in->scan.p))
        x = parse_number(in);
    else {
        const char *name = parse_name(in);
        if (!*name)
            x = t2o_scan_fault(&in->scan, "a character that does not belong there");
        else if (t2o_scan_take(&in->scan, '('))
            x = parse_call(in, name);
        else
            x = unique(in->e, T2O_EXPR_CALL, 0, name, NULL, 0);
    }
    in->depth--;
    return x;
}

const t2o_expr *t2o_expr_parse(t2o_exprs *e, const char *source, const char **why)
{
    parser in = { .e = e, .scan = { .p = source } };
    const t2o_expr *x = parse_expr(&in);
    t2o_scan_blanks(&in.scan);
    if (x && *in.scan.p)
        x = t2o_scan_fault(&in.scan, "text after the end");
    *why = in.scan.why;
    return x;
}
