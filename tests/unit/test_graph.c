/* test_graph.c: element types, tensors, building graphs, their text, the places of nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/meta.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

typedef struct fixture {
    t2o_session *s;
    t2o_graph *g;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f.s = t2o_session_new();
    f.g = t2o_graph_new(f.s, t2o_exprs_new(f.s), "main_graph");
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    t2o_session_free(((fixture *)*state)->s);
    return 0;
}

/* ---- element types ---- */

static void dtypes_have_names_and_sizes(void **state)
{
    (void)state;
    static const struct { t2o_dtype d; const char *name, *brief; size_t size; } rows[] = {
        { T2O_FLOAT32, "float32", "f32", 4 },   { T2O_BFLOAT16, "bfloat16", "bf16", 2 },
        { T2O_INT64, "int64", "i64", 8 },       { T2O_BOOL, "bool", "bool", 1 },
        { T2O_COMPLEX64, "complex64", "c64", 8 }, { T2O_COMPLEX128, "complex128", "c128", 16 },
        { T2O_INT4, "int4", "i4", 0 },          { T2O_FLOAT8_E5M2, "float8_e5m2", "f8e5m2", 1 },
        { T2O_NO_DTYPE, "none", "none", 0 },    { T2O_COMPLEX32, "complex32", "c32", 4 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(t2o_dtype_name(rows[i].d), rows[i].name);
        assert_string_equal(t2o_dtype_short(rows[i].d), rows[i].brief);
        assert_int_equal(t2o_dtype_size(rows[i].d), rows[i].size);
    }
    for (int d = 1; d < T2O_N_DTYPES; d++) { /* 27 and 28 are ONNX's alone */
        bool known = strcmp(t2o_dtype_name((t2o_dtype)d), "none") != 0;
        assert_int_equal(known, d != 27 && d != 28);
        assert_int_equal(known ? t2o_dtype_named(t2o_dtype_name((t2o_dtype)d)) : (t2o_dtype)d, d);
        assert_true(t2o_dtype_is_float((t2o_dtype)d) + t2o_dtype_is_int((t2o_dtype)d) +
                        t2o_dtype_is_complex((t2o_dtype)d) <= 1);
    }
    assert_int_equal(t2o_dtype_named("torch.float32"), T2O_NO_DTYPE);
    assert_int_equal(t2o_dtype_named(""), T2O_NO_DTYPE);
    assert_int_equal(t2o_dtype_size((t2o_dtype)1000), 0);
    assert_string_equal(t2o_dtype_name((t2o_dtype)1000), "none");
    assert_false(t2o_dtype_is_int(T2O_BOOL));
    assert_true(t2o_dtype_is_float(T2O_FLOAT8_E8M0FNU));
}

/* What numpy.float16 and ml_dtypes.bfloat16 make of these numbers. */
static const struct { double value; uint16_t half, bfloat; } rounding_rows[] = {
    { 0.0, 0x0000, 0x0000 },
    { -0.0, 0x8000, 0x8000 },
    { 1.0, 0x3c00, 0x3f80 },
    { -2.5, 0xc100, 0xc020 },
    { 0.1, 0x2e66, 0x3dcd },
    { 65504.0, 0x7bff, 0x4780 },
    { 65519.99, 0x7bff, 0x4780 },
    { 65520.0, 0x7c00, 0x4780 }, /* half way to what would be 2^16: infinity */
    { -65520.0, 0xfc00, 0xc780 },
    { 1e6, 0x7c00, 0x4974 },
    { 1 + 0x1p-11, 0x3c00, 0x3f80 },               /* ties go to the even neighbour, down */
    { 1 + 3 * 0x1p-11, 0x3c02, 0x3f80 },           /* and up */
    { 1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3f80 },     /* more than half by less than a float can tell */
    { 1 + 3 * 0x1p-11 - 0x1p-40, 0x3c01, 0x3f80 }, /* less than half, likewise */
    { -(1 + 0x1p-11 + 0x1p-40), 0xbc01, 0xbf80 },
    { 1 + 0x1p-8, 0x3c04, 0x3f80 },                /* a tie in bfloat16 */
    { 1 + 3 * 0x1p-8, 0x3c0c, 0x3f82 },
    { 1 - 0x1p-12, 0x3c00, 0x3f80 },               /* a tie that carries into the exponent */
    { 0x1p-14, 0x0400, 0x3880 },                   /* the smallest normal half */
    { 0x1p-14 - 0x1p-25, 0x0400, 0x3880 },         /* a tie between the largest subnormal and it */
    { 0x1p-14 - 0x1p-24, 0x03ff, 0x3880 },
    { 0x1p-24, 0x0001, 0x3380 },
    { 0x1p-25, 0x0000, 0x3300 },                   /* a tie with zero */
    { 0x1p-25 + 0x1p-60, 0x0001, 0x3300 },
    { -0x1p-25, 0x8000, 0xb300 },
    { 3 * 0x1p-25, 0x0002, 0x33c0 },
    { 5 * 0x1p-25, 0x0002, 0x3420 },
    { 1e-10, 0x0000, 0x2edc },
    { 1e-300, 0x0000, 0x0000 },
    { -1e-300, 0x8000, 0x8000 },
    { 1e300, 0x7c00, 0x7f80 },
    { -1e300, 0xfc00, 0xff80 },
    { 3.3895e38, 0x7c00, 0x7f7f },
    { 3.3961775292304601e38, 0x7c00, 0x7f80 },     /* half way beyond the largest bfloat16 */
    { INFINITY, 0x7c00, 0x7f80 },
    { -INFINITY, 0xfc00, 0xff80 },
};

static uint16_t bits_of(t2o_dtype d, double value)
{
    uint16_t out = 0;
    assert_true(t2o_element_from_double(d, value, &out));
    return out;
}

static void floats_of_16_bits_are_rounded_to_even(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rounding_rows); i++) {
        uint16_t half = bits_of(T2O_FLOAT16, rounding_rows[i].value);
        uint16_t bfloat = bits_of(T2O_BFLOAT16, rounding_rows[i].value);
        if (half != rounding_rows[i].half || bfloat != rounding_rows[i].bfloat)
            fail_msg("%a: %#x and %#x", rounding_rows[i].value, half, bfloat);
    }
    uint16_t nan = bits_of(T2O_FLOAT16, NAN);
    assert_true((nan & 0x7c00) == 0x7c00 && (nan & 0x3ff));
    nan = bits_of(T2O_BFLOAT16, NAN);
    assert_true((nan & 0x7f80) == 0x7f80 && (nan & 0x7f));
}

/* Every bit pattern gives a number that gives the bit pattern back, and numbers between two go to the nearer. */
static void floats_of_16_bits_survive_a_round_trip(void **state)
{
    (void)state;
    static const t2o_dtype dtypes[] = { T2O_FLOAT16, T2O_BFLOAT16 };
    for (size_t k = 0; k < COUNT(dtypes); k++)
        for (uint32_t bits = 0; bits < 65536; bits++) {
            uint16_t half = (uint16_t)bits, next = (uint16_t)(bits + 1);
            double value, beyond;
            assert_true(t2o_element_to_double(dtypes[k], &half, &value));
            if (isnan(value))
                continue;
            assert_int_equal(bits_of(dtypes[k], value), half);
            assert_true(t2o_element_to_double(dtypes[k], &next, &beyond));
            if (!isfinite(value) || !isfinite(beyond) || (bits & 0x7fff) == 0x7fff)
                continue;
            assert_int_equal(bits_of(dtypes[k], value + (beyond - value) * 0.25), half);
            assert_int_equal(bits_of(dtypes[k], value + (beyond - value) * 0.75), next);
            assert_int_equal(bits_of(dtypes[k], value + (beyond - value) * 0.5), half & 1 ? next : half);
        }
}

static void integers_are_converted_or_refused(void **state)
{
    (void)state;
    static const struct { t2o_dtype d; int64_t value, back; } rows[] = {
        { T2O_INT64, INT64_MIN, INT64_MIN }, { T2O_INT64, INT64_MAX, INT64_MAX },
        { T2O_INT32, -5, -5 }, { T2O_UINT32, 4294967295, 4294967295 }, { T2O_INT16, -32768, -32768 },
        { T2O_UINT16, 65535, 65535 }, { T2O_INT8, -128, -128 }, { T2O_UINT8, 255, 255 },
        { T2O_BOOL, 7, 1 }, { T2O_BOOL, 0, 0 },
    };
    uint8_t bytes[16];
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t back = 99;
        memset(bytes, 0xaa, sizeof bytes);
        assert_true(t2o_element_from_int(rows[i].d, rows[i].value, bytes));
        assert_int_equal(bytes[t2o_dtype_size(rows[i].d)], 0xaa);
        assert_true(t2o_element_to_int(rows[i].d, bytes, &back));
        assert_true(back == rows[i].back);
    }
    int64_t integer;
    double real;
    assert_true(t2o_element_from_int(T2O_UINT64, -1, bytes));
    assert_true(t2o_element_to_double(T2O_UINT64, bytes, &real));
    assert_true(real == 18446744073709551615.0);
    assert_false(t2o_element_to_int(T2O_FLOAT32, bytes, &integer));
    assert_false(t2o_element_to_double(T2O_FLOAT8_E5M2, bytes, &real));
    assert_false(t2o_element_to_double(T2O_COMPLEX64, bytes, &real));
    assert_false(t2o_element_from_int(T2O_FLOAT8_E5M2, 1, bytes));
    assert_false(t2o_element_from_double(T2O_FLOAT8_E4M3FN, 1, bytes));
    assert_false(t2o_element_from_double(T2O_STRING, 1, bytes));
}

static void doubles_become_integers_within_range(void **state)
{
    (void)state;
    int64_t back;
    uint8_t bytes[8];
    static const double out_of_range[] = { NAN, INFINITY, -INFINITY, 1e19, -1e19 };
    for (size_t i = 0; i < COUNT(out_of_range); i++)
        assert_false(t2o_element_from_double(T2O_INT64, out_of_range[i], bytes));
    static const struct { double value; int64_t want; } rows[] = {
        { 2.9, 2 }, { -2.9, -2 }, { 0, 0 }, { 9007199254740992.0, 9007199254740992 },
        { -9223372036854775808.0, INT64_MIN },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_true(t2o_element_from_double(T2O_INT64, rows[i].value, bytes));
        assert_true(t2o_element_to_int(T2O_INT64, bytes, &back));
        assert_true(back == rows[i].want);
    }
    assert_true(t2o_element_from_double(T2O_BOOL, 0.5, bytes) && bytes[0] == 1);
    assert_true(t2o_element_from_double(T2O_BOOL, 0.0, bytes) && bytes[0] == 0);
}

static void complex_elements_have_an_imaginary_part_of_zero(void **state)
{
    (void)state;
    float single[2] = { 9, 9 };
    double twice[2] = { 9, 9 };
    assert_true(t2o_element_from_double(T2O_COMPLEX64, 1.5, single));
    assert_true(single[0] == 1.5f && single[1] == 0);
    assert_true(t2o_element_from_int(T2O_COMPLEX128, -3, twice));
    assert_true(twice[0] == -3 && twice[1] == 0);
}

/* ---- tensors ---- */

static void counts_are_checked(void **state)
{
    (void)state;
    static const struct { uint32_t rank; int64_t dims[4]; int64_t count, bytes; } rows[] = {
        { 0, { 0 }, 1, 4 },
        { 2, { 3, 4 }, 12, 48 },
        { 3, { 3, 0, 4 }, 0, 0 },
        { 3, { INT64_MAX, INT64_MAX, 0 }, 0, 0 },
        { 1, { INT64_MAX }, INT64_MAX, -1 },
        { 1, { INT64_MAX / 4 }, INT64_MAX / 4, (INT64_MAX / 4) * 4 },
        { 2, { INT64_MAX, 2 }, -1, -1 },
        { 2, { 4294967296, 4294967296 }, -1, -1 },
        { 2, { -1, 4 }, -1, -1 },
        { 2, { -1, -1 }, -1, -1 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_tensor t = { .dtype = T2O_FLOAT32, .rank = rows[i].rank, .dims = rows[i].dims };
        assert_true(t2o_tensor_count(&t) == rows[i].count);
        assert_true(t2o_tensor_bytes(&t) == rows[i].bytes);
    }
    t2o_tensor sub_byte = { .dtype = T2O_INT4, .rank = 1, .dims = (int64_t[]){ 7 } };
    assert_true(t2o_tensor_count(&sub_byte) == 7 && t2o_tensor_bytes(&sub_byte) == 4);
}

/* Strided views of the bytes 0, 1, 2 ... in elements of every size. */
static const struct {
    uint32_t rank;
    int64_t dims[5], strides[5], offset;
    bool contiguous;
} strided_rows[] = {
    { 0, { 0 }, { 0 }, 5, true },
    { 1, { 6 }, { 1 }, 0, true },
    { 2, { 3, 4 }, { 4, 1 }, 2, true },
    { 2, { 4, 3 }, { 1, 4 }, 0, false },               /* a transposed matrix */
    { 2, { 3, 4 }, { 8, 1 }, 1, false },               /* rows with gaps */
    { 2, { 3, 4 }, { 8, 2 }, 0, false },               /* every other element */
    { 2, { 3, 4 }, { 0, 1 }, 3, false },               /* one row three times */
    { 2, { 3, 4 }, { 1, 0 }, 0, false },               /* expanded in the last dimension */
    { 2, { 3, 4 }, { 0, 0 }, 7, false },               /* one element */
    { 3, { 2, 3, 4 }, { 12, 1, 3 }, 0, false },        /* batches of transposed matrices */
    { 3, { 2, 3, 4 }, { 1, 2, 6 }, 0, false },         /* all reversed */
    { 3, { 2, 3, 4 }, { 24, 4, 1 }, 0, false },        /* two blocks */
    { 4, { 2, 3, 2, 2 }, { 12, 1, 6, 3 }, 0, false },  /* channels last */
    { 4, { 1, 3, 1, 4 }, { 999, 4, 777, 1 }, 0, true },/* strides of single elements mean nothing */
    { 4, { 1, 3, 1, 4 }, { 999, 1, 777, 3 }, 0, false },
    { 5, { 2, 1, 2, 1, 2 }, { 1, 9, 2, 9, 4 }, 0, false },
    { 2, { 0, 4 }, { 1, 7 }, 0, true },
    { 2, { 3, 3 }, { 1, 1 }, 0, false },               /* windows that overlap */
};

static void element_at(const t2o_tensor *t, int64_t index, uint8_t *out)
{
    int64_t at = 0, size = (int64_t)t2o_dtype_size(t->dtype);
    for (uint32_t d = t->rank; d-- > 0; index /= t->dims[d])
        at += index % t->dims[d] * t->strides[d];
    memcpy(out, t->data + at * size, (size_t)size);
}

static void strided_views_are_read_in_order(void **state)
{
    (void)state;
    static const t2o_dtype dtypes[] = { T2O_UINT8, T2O_FLOAT16, T2O_FLOAT32, T2O_INT64, T2O_COMPLEX128 };
    uint8_t bytes[40 * 16], got[32 * 16], want[32 * 16];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t k = 0; k < COUNT(dtypes); k++)
        for (size_t i = 0; i < COUNT(strided_rows); i++) {
            int64_t size = (int64_t)t2o_dtype_size(dtypes[k]);
            t2o_tensor t = { .dtype = dtypes[k], .rank = strided_rows[i].rank, .dims = strided_rows[i].dims,
                             .strides = strided_rows[i].strides, .data = bytes + strided_rows[i].offset * size };
            int64_t n = t2o_tensor_count(&t);
            assert_true(n <= 32);
            assert_int_equal(t2o_tensor_contiguous(&t), strided_rows[i].contiguous);
            for (int64_t e = 0; e < n; e++)
                element_at(&t, e, want + e * size);
            for (int64_t first = 0; first <= n; first++)
                for (int64_t count = 0; first + count <= n; count++) {
                    memset(got, 0xee, sizeof got);
                    t2o_tensor_read(&t, first, count, got);
                    if (memcmp(got, want + first * size, (size_t)(count * size)) || got[count * size] != 0xee)
                        fail_msg("row %d, size %d: %d elements from %d", (int)i, (int)size, (int)count, (int)first);
                }
        }
}

static void tensors_without_strides_are_contiguous(void **state)
{
    (void)state;
    static const float data[] = { 1, 2, 3, 4 };
    t2o_tensor t = { .dtype = T2O_FLOAT32, .rank = 2, .dims = (int64_t[]){ 2, 2 }, .data = (const uint8_t *)data };
    float out[2];
    assert_true(t2o_tensor_contiguous(&t));
    t2o_tensor_read(&t, 1, 2, out);
    assert_true(out[0] == 2 && out[1] == 3);
}

/* ---- building ---- */

static t2o_value *tensor(fixture *f, const char *name, t2o_dtype dtype, const char *dims)
{
    const t2o_expr *list[8];
    int32_t rank = 0;
    for (const char *p = dims; *p; p++)
        list[rank++] = *p == '?' ? NULL
                       : *p >= 'a' ? t2o_expr_symbol(f->g->exprs, (char[]){ *p, '\0' })
                                   : t2o_expr_int(f->g->exprs, *p - '0');
    return t2o_value_new(f->g, T2O_VALUE_TENSOR, name, dtype, rank, list);
}

static t2o_value *input(fixture *f, const char *name, t2o_dtype dtype, const char *dims)
{
    t2o_value *v = tensor(f, name, dtype, dims);
    t2o_push(f->s->arena, &f->g->inputs, v);
    return v;
}

static void output(t2o_graph *g, t2o_value *v)
{
    t2o_push(g->s->arena, &g->outputs, ((t2o_output_spec){ .value = v, .kind = T2O_SPEC_USER_OUTPUT }));
}

static t2o_value *relu(fixture *f, t2o_node *before, t2o_value *x, const char *name)
{
    t2o_value *y = tensor(f, name, T2O_FLOAT32, "n");
    t2o_node_new(f->g, before, "onnx::Relu", &x, 1, NULL, 0, &y, 1);
    return y;
}

static const char *order(const t2o_graph *g)
{
    const char *text = "";
    const t2o_node *before = NULL;
    for (const t2o_node *n = g->first; n; before = n, n = n->next) {
        assert_ptr_equal(n->prev, before);
        text = t2o_printf(g->s->arena, "%s%s", text, n->outputs[0]->name);
    }
    assert_ptr_equal(g->last, before);
    assert_int_equal(g->n_nodes, strlen(text));
    return text;
}

static void nodes_are_linked_and_unlinked(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f, "x", T2O_FLOAT32, "n");
    t2o_value *b = relu(f, NULL, x, "b"), *d = relu(f, NULL, x, "d");
    t2o_value *a = relu(f, b->producer, x, "a"), *c = relu(f, d->producer, x, "c");
    assert_string_equal(order(f->g), "abcd");
    assert_int_equal(f->g->values.n, 5);
    assert_ptr_equal(f->g->values.at[c->id], c);
    t2o_node_remove(b->producer);
    assert_string_equal(order(f->g), "acd");
    t2o_node_remove(a->producer);
    t2o_node_remove(d->producer);
    assert_string_equal(order(f->g), "c");
    t2o_node_remove(c->producer);
    assert_string_equal(order(f->g), "");
}

static void nodes_copy_their_arrays(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f, "x", T2O_FLOAT32, "n"), *y = tensor(f, "y", T2O_FLOAT32, "n");
    t2o_value *inputs[] = { x, NULL, x }, *outputs[] = { NULL, y };
    t2o_attr attrs[] = { { .name = "axis", .arg = { .kind = T2O_ARG_INT, .i = 3 } } };
    t2o_node *n = t2o_node_new(f->g, NULL, "onnx::Op", inputs, 3, attrs, 1, outputs, 2);
    inputs[0] = y, attrs[0].arg.i = 9, outputs[1] = NULL;
    assert_ptr_equal(n->inputs[0], x);
    assert_int_equal(t2o_node_attr(n, "axis")->i, 3);
    assert_null(t2o_node_attr(n, "axes"));
    assert_ptr_equal(y->producer, n);
    assert_int_equal(y->output_index, 1);
    assert_true(t2o_op_is(n, "onnx::Op"));
    assert_ptr_equal(n->op, t2o_intern(f->s, "onnx::Op"));
}

static void constants_know_their_dims_and_small_contents(void **state)
{
    fixture *f = *state;
    static const int32_t numbers[] = { 1, -2, 3 };
    t2o_tensor t = { .dtype = T2O_INT32, .rank = 1, .dims = (int64_t[]){ 3 }, .data = (const uint8_t *)numbers };
    t2o_value *v = t2o_constant_new(f->g, "c", &t);
    assert_true(v->constant && v->rank == 1 && v->n_content == 3);
    assert_int_equal(v->dims[0]->value, 3);
    assert_true(v->content[1]->value == -2 && v->content[2]->value == 3);
    static const float reals[] = { 1 };
    t2o_tensor real = { .dtype = T2O_FLOAT32, .rank = 0, .data = (const uint8_t *)reals };
    assert_null(t2o_constant_new(f->g, NULL, &real)->content);
    t2o_tensor absent = { .dtype = T2O_INT64, .rank = 1, .dims = (int64_t[]){ 3 } };
    assert_null(t2o_constant_new(f->g, NULL, &absent)->content);
    assert_int_equal(f->g->constants.n, 3);
}

/* ---- text ---- */

static const char *print(const t2o_graph *g)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    t2o_graph_print(g, out);
    fclose(out);
    char *kept = t2o_strndup(g->s->arena, text, n);
    free(text);
    return kept;
}

static void types_are_shown_briefly(void **state)
{
    fixture *f = *state;
    t2o_exprs *e = f->g->exprs;
    t2o_value *unknown = t2o_value_new(f->g, T2O_VALUE_TENSOR, "u", T2O_FLOAT16, -1, NULL);
    t2o_value *number = t2o_value_new(f->g, T2O_VALUE_SYMINT, "i", T2O_NO_DTYPE, -1, NULL);
    assert_string_equal(t2o_value_type_text(f->g, tensor(f, "x", T2O_FLOAT32, "n3?")), "f32[n, 3, ?]");
    assert_string_equal(t2o_value_type_text(f->g, tensor(f, "y", T2O_BOOL, "")), "bool[]");
    assert_string_equal(t2o_value_type_text(f->g, unknown), "f16[...]");
    assert_string_equal(t2o_value_type_text(f->g, number), "symint");
    number->expr = t2o_expr_add(e, t2o_expr_symbol(e, "n"), t2o_expr_int(e, 1));
    assert_string_equal(t2o_value_type_text(f->g, number), "symint n + 1");
}

static void onnx_graphs_have_a_text(void **state)
{
    fixture *f = *state;
    static const float weights[] = { 0.5, -1, 1.5, 2 };
    static const int64_t axes[] = { -1 };
    t2o_tensor w = { .dtype = T2O_FLOAT32, .rank = 2, .dims = (int64_t[]){ 2, 2 }, .strides = (int64_t[]){ 1, 2 },
                     .data = (const uint8_t *)weights };
    t2o_tensor big = { .dtype = T2O_FLOAT32, .rank = 1, .dims = (int64_t[]){ 9 }, .data = (const uint8_t *)"" };
    t2o_tensor axis = { .dtype = T2O_INT64, .rank = 1, .dims = (int64_t[]){ 1 }, .data = (const uint8_t *)axes };
    t2o_value *x = input(f, "x", T2O_FLOAT32, "n2");
    t2o_value *inputs[] = { x, t2o_constant_new(f->g, "w", &w), NULL, t2o_constant_new(f->g, NULL, &axis) };
    t2o_constant_new(f->g, "big", &big);
    t2o_arg ints[] = { { .kind = T2O_ARG_INT, .i = 1 }, { .kind = T2O_ARG_INT, .i = -2 } };
    t2o_attr attrs[] = {
        { .name = "alpha", .arg = { .kind = T2O_ARG_FLOAT, .f = 0.5 } },
        { .name = "mode", .arg = { .kind = T2O_ARG_STRING, .text = "linear", .n = 6 } },
        { .name = "pads", .arg = { .kind = T2O_ARG_LIST, .items = ints, .n = 2 } },
        { .name = "value", .arg = { .kind = T2O_ARG_TENSOR, .tensor = &axis } },
    };
    t2o_value *outputs[] = { tensor(f, "y", T2O_FLOAT32, "n2"), tensor(f, NULL, T2O_INT64, "") };
    t2o_node_new(f->g, NULL, "onnx::Foo", inputs, 4, attrs, 4, outputs, 2);
    output(f->g, outputs[0]);
    output(f->g, x);
    assert_string_equal(print(f->g),
                        "graph main_graph(x: f32[n, 2]) -> (y, x)\n"
                        "  const w: f32[2, 2] {0.5, 1.5, -1, 2}\n"
                        "  const %2: i64[1] {-1}\n"
                        "  const big: f32[9]\n"
                        "  y: f32[n, 2], %5: i64[] = onnx::Foo(x, w, -, %2, alpha=0.5, mode='linear', pads=[1, -2], "
                        "value=i64 {-1})\n");
}

static void torch_graphs_and_bodies_have_a_text(void **state)
{
    fixture *f = *state;
    t2o_exprs *e = f->g->exprs;
    t2o_value *x = input(f, "x", T2O_FLOAT32, "n"), *y = tensor(f, "y", T2O_FLOAT32, "n");
    t2o_graph *body = t2o_graph_new(f->s, e, "true_graph");
    t2o_value *inner = t2o_value_new(body, T2O_VALUE_TENSOR, "arg0", T2O_FLOAT32, -1, NULL);
    t2o_push(f->s->arena, &body->inputs, inner);
    t2o_value *r = t2o_value_new(body, T2O_VALUE_TENSOR, "r", T2O_FLOAT32, -1, NULL);
    t2o_attr self = { .name = "self", .arg = { .kind = T2O_ARG_VALUE, .index = 0 } };
    t2o_node_new(body, NULL, "aten::relu", &inner, 1, &self, 1, &r, 1);
    output(body, r);
    t2o_arg items[] = { { .kind = T2O_ARG_VALUE, .index = 0 }, { .kind = T2O_ARG_NONE },
                        { .kind = T2O_ARG_EXPR, .expr = t2o_expr_symbol(e, "n") } };
    t2o_arg mapped[] = { { .kind = T2O_ARG_BOOL, .b = true } };
    t2o_attr attrs[] = {
        { .name = "", .arg = { .kind = T2O_ARG_GRAPH, .graph = body, .text = "true_graph" } },
        { .name = "", .arg = { .kind = T2O_ARG_LIST, .items = items, .n = 3 } },
        { .name = "dtype", .arg = { .kind = T2O_ARG_DTYPE, .dtype = T2O_BFLOAT16 } },
        { .name = "device", .arg = { .kind = T2O_ARG_DEVICE, .text = "cpu" } },
        { .name = "c", .arg = { .kind = T2O_ARG_COMPLEX, .f = 1, .imag = -2 } },
        { .name = "m", .arg = { .kind = T2O_ARG_MAP, .items = mapped, .keys = (const char *[]){ "k" }, .n = 1 } },
        { .name = "odd", .arg = { .kind = T2O_ARG_UNKNOWN } },
    };
    t2o_node_new(f->g, NULL, "higher_order::cond", &x, 1, attrs, 7, &y, 1);
    t2o_node_new(f->g, NULL, "aten::_assert", NULL, 0, NULL, 0, NULL, 0);
    t2o_push(f->s->arena, &f->g->outputs,
             ((t2o_output_spec){ .value = y, .kind = T2O_SPEC_BUFFER_MUTATION, .target = "count" }));
    t2o_push(f->s->arena, &f->g->outputs, ((t2o_output_spec){ .literal = { .kind = T2O_ARG_INT, .i = 4 } }));
    assert_string_equal(print(f->g),
                        "graph main_graph(x: f32[n]) -> (y -> count, 4)\n"
                        "  y: f32[n] = higher_order::cond(@true_graph, [x, None, n], dtype=bfloat16, device=cpu, "
                        "c=(1+-2j), m=[k: True], odd=?)\n"
                        "      graph true_graph(arg0: f32[...]) -> (r)\n"
                        "        r: f32[...] = aten::relu(self=arg0)\n"
                        "  aten::_assert()\n");
}

/* ---- places of nodes ---- */

static const struct { const char *trace, *line; } trace_rows[] = {
    { "  File \"/home/me/model.py\", line 118, in forward\n    y = self.conv(x)\n",
      "model.py:118 in forward: y = self.conv(x)" },
    { "  File \"/home/me/model.py\", line 7, in forward\n    return self.net(x)\n"
      "  File \"/usr/lib/python3/site-packages/torch/nn/modules/conv.py\", line 460, in forward\n    return F(x)\n",
      "model.py:7 in forward: return self.net(x)" },
    { "  File \"/x/torch/nn/modules/linear.py\", line 1, in forward\n    F()\n", "linear.py:1 in forward: F()" },
    { "File \"C:\\me\\model.py\", line 3, in f", "model.py:3 in f" },
    { "  File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\n    z\r\n", "b.py:2 in g: z" },
    { "  File \"a.py\", line 1", "a.py:1" },
    { "  File \"a.py\"", NULL },
    { "  File \"a.py", NULL },
    { "no frame at all", NULL },
    { "", NULL },
    { NULL, NULL },
};

static void lines_are_read_from_stack_traces(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(trace_rows); i++) {
        t2o_meta meta = { .stack_trace = trace_rows[i].trace };
        const char *line = t2o_meta_user_line(f->s, &meta);
        if (!line || !trace_rows[i].line)
            assert_true(!line && !trace_rows[i].line);
        else
            assert_string_equal(line, trace_rows[i].line);
    }
    assert_null(t2o_meta_user_line(f->s, NULL));
}

static const struct { const char *stack, *module; } module_rows[] = {
    { "L__self__,,m.Net;L__self___c,c,torch.nn.Conv2d", "c (torch.nn.Conv2d)" },
    { "k,layers.0.conv1,torch.nn.modules.conv.Conv2d", "layers.0.conv1 (torch.nn.modules.conv.Conv2d)" },
    { "k,,m.Net", "m.Net" },
    { "k,a,b;broken;k,c,d", "c (d)" },
    { "k,a.slice(None, 2),T", "a.slice(None, 2) (T)" },
    { "k,a,T[int, str]", "a (T[int, str])" },
    { "broken", NULL },
    { ";;;", NULL },
    { "", NULL },
    { "k,a,f(;x", "a (f(;x)" },
    { NULL, NULL },
};

static void modules_are_read_from_module_stacks(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(module_rows); i++) {
        t2o_meta meta = { .nn_module_stack = module_rows[i].stack };
        const char *module = t2o_meta_module(f->s, &meta);
        if (!module || !module_rows[i].module)
            assert_true(!module && !module_rows[i].module);
        else
            assert_string_equal(module, module_rows[i].module);
    }
}

static void errors_name_the_node(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f, "x", T2O_FLOAT32, "n"), *y = tensor(f, "y", T2O_FLOAT32, "n");
    t2o_value *inputs[] = { x, NULL, x };
    t2o_node *n = t2o_node_new(f->g, NULL, "aten::add", inputs, 3, NULL, 0, &y, 1);
    assert_string_equal(t2o_node_summary(n), "aten::add: f32[n] <- x f32[n], x f32[n]");
    n->name = "add_1";
    n->meta = &(t2o_meta){ .stack_trace = "File \"m.py\", line 2, in f\n", .nn_module_stack = "k,a,T" };
    t2o_fail(f->s, "E0302", "no");
    t2o_note_node(n);
    const t2o_diag *d = f->s->diags.at[0];
    assert_int_equal(d->notes.n, 3);
    assert_string_equal(d->notes.at[0], "m.py:2 in f");
    assert_string_equal(d->notes.at[1], "module a (T)");
    assert_string_equal(d->notes.at[2], "node add_1: f32[n] <- x f32[n], x f32[n]");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(dtypes_have_names_and_sizes),
        FRESH(floats_of_16_bits_are_rounded_to_even),
        FRESH(floats_of_16_bits_survive_a_round_trip),
        FRESH(integers_are_converted_or_refused),
        FRESH(doubles_become_integers_within_range),
        FRESH(complex_elements_have_an_imaginary_part_of_zero),
        FRESH(counts_are_checked),
        FRESH(strided_views_are_read_in_order),
        FRESH(tensors_without_strides_are_contiguous),
        FRESH(nodes_are_linked_and_unlinked),
        FRESH(nodes_copy_their_arrays),
        FRESH(constants_know_their_dims_and_small_contents),
        FRESH(types_are_shown_briefly),
        FRESH(onnx_graphs_have_a_text),
        FRESH(torch_graphs_and_bodies_have_a_text),
        FRESH(lines_are_read_from_stack_traces),
        FRESH(modules_are_read_from_module_stacks),
        FRESH(errors_name_the_node),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
