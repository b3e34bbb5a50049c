/* test_onnx.c: operator schemas, the check of nodes and graphs, dtypes of outputs, and the bytes
 * of a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/metadata.h"
#include "onnx/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- A graph to build in ---- */

typedef struct fixture {
    t2o_session *s;
    t2o_graph *g;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->s = t2o_session_new();
    f->g = t2o_graph_new(f->s, t2o_exprs_new(f->s), "main_graph");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    t2o_session_free(f->s);
    free(f);
    return 0;
}

/* A tensor of rank 1 with the symbolic dimension n. */
static t2o_value *value(t2o_graph *g, const char *name, t2o_dtype dtype)
{
    const t2o_expr *dims[] = { t2o_expr_symbol(g->exprs, "n") };
    return t2o_value_new(g, T2O_VALUE_TENSOR, name, dtype, 1, dims);
}

static t2o_value *input(t2o_graph *g, const char *name, t2o_dtype dtype)
{
    t2o_value *v = value(g, name, dtype);
    t2o_push(g->s->arena, &g->inputs, v);
    return v;
}

static void output(t2o_graph *g, t2o_value *v)
{
    t2o_output_spec o = { .value = v, .kind = T2O_SPEC_USER_OUTPUT };
    t2o_push(g->s->arena, &g->outputs, o);
}

static t2o_attr int_attr(const char *name, int64_t i)
{
    return (t2o_attr){ .name = name, .arg = { .kind = T2O_ARG_INT, .i = i } };
}

/* A node with up to three inputs of these dtypes (T2O_NO_DTYPE = left out) and one output of
 * unknown dtype. */
static t2o_node *node(t2o_graph *g, const char *op, const t2o_dtype *dtypes, uint32_t n,
                      const t2o_attr *attr)
{
    t2o_value *inputs[3] = { 0 }, *out = value(g, NULL, T2O_NO_DTYPE);
    for (uint32_t i = 0; i < n; i++)
        inputs[i] = dtypes[i] ? value(g, NULL, dtypes[i]) : NULL;
    return t2o_node_new(g, NULL, op, inputs, n, attr, attr ? 1 : 0, &out, 1);
}

/* ---- Schemas ---- */

static void schemas_are_found_by_opset(void **state)
{
    (void)state;
    assert_int_equal(t2o_schema_find("Conv", 10)->since, 1);
    assert_int_equal(t2o_schema_find("Conv", 11)->since, 11);
    assert_int_equal(t2o_schema_find("Conv", 13)->since, 11);
    assert_int_equal(t2o_schema_first("Gelu")->since, 20);
    assert_null(t2o_schema_find("Gelu", 19));
    assert_null(t2o_schema_find("NoSuchOperator", 20));
    assert_null(t2o_schema_first("NoSuchOperator"));
    assert_true(t2o_schema_find("Upsample", 13)->deprecated);
    assert_non_null(t2o_schema_find("Relu", t2o_newest_opset()));
}

static void axes_became_an_input(void **state)
{
    (void)state;
    const t2o_schema *old = t2o_schema_find("ReduceMean", 13),
                     *new = t2o_schema_find("ReduceMean", 18);
    assert_true(t2o_schema_attr(old, "axes") >= 0);
    assert_int_equal(old->max_inputs, 1);
    assert_int_equal(t2o_schema_attr(new, "axes"), -1);
    assert_int_equal(new->max_inputs, 2);
    assert_int_equal(new->inputs[1].option, T2O_OPTIONAL);
    assert_null(new->inputs[1].type_var);
    assert_true(new->inputs[1].types == T2O_TYPE_BIT(T2O_INT64));
}

static void schemas_hold_defaults_and_types(void **state)
{
    (void)state;
    const t2o_schema *gemm = t2o_schema_find("Gemm", 13), *concat = t2o_schema_find("Concat", 13);
    const t2o_attr_schema *alpha = &gemm->attrs[t2o_schema_attr(gemm, "alpha")];
    assert_int_equal(alpha->type, T2O_ATTR_FLOAT);
    assert_string_equal(alpha->default_text, "1");
    assert_true(concat->attrs[t2o_schema_attr(concat, "axis")].required);
    assert_int_equal(concat->max_inputs, 65535);
    assert_ptr_equal(t2o_schema_input(concat, 7), concat->inputs);
    assert_null(t2o_schema_input(gemm, 3));
    assert_true(t2o_schema_find("SequenceAt", 11)->inputs[0].types == T2O_TYPE_SEQUENCE);
}

static void near_names_are_suggested(void **state)
{
    (void)state;
    assert_string_equal(t2o_schema_suggest("Cnov"), "Conv");
    assert_string_equal(t2o_schema_suggest("softmax"), "Softmax");
    assert_null(t2o_schema_suggest("entirely_else"));
    assert_string_equal(t2o_schema_suggest_attr(t2o_schema_find("Conv", 13), "stride"), "strides");
}

static void operators_are_listed_once(void **state)
{
    (void)state;
    size_t n = 0;
    for (const char *last = "", *op; (op = t2o_schema_op_at(n)); last = op, n++)
        assert_true(strcmp(last, op) < 0);
    assert_true(n > 200);
}

static void ir_versions_follow_the_releases(void **state)
{
    (void)state;
    assert_int_equal(t2o_ir_version_for(9), 4);
    assert_int_equal(t2o_ir_version_for(13), 7);
    assert_int_equal(t2o_ir_version_for(18), 8);
    assert_int_equal(t2o_ir_version_for(21), 10);
    assert_int_equal(t2o_ir_version_for(999), t2o_ir_version_for(t2o_newest_opset()));
}

/* ---- Nodes ---- */

typedef struct misfit {
    const char *op;
    int opset;
    t2o_dtype inputs[3];
    uint32_t n_inputs;
    t2o_attr attr;
    const char *why; /* NULL = it fits */
    bool dtype_unsupported;
} misfit;

#define F32 T2O_FLOAT32
#define I64 T2O_INT64
#define TEXT_ATTR(n, t) { .name = n, .arg = { .kind = T2O_ARG_STRING, .text = t } }
#define INT_ATTR(n, v) { .name = n, .arg = { .kind = T2O_ARG_INT, .i = v } }
#define FLOAT_ATTR(n, v) { .name = n, .arg = { .kind = T2O_ARG_FLOAT, .f = v } }

static const misfit misfits[] = {
    { "Conv", 13, { F32 }, 1, { 0 }, "Conv takes 2 to 3 inputs, got 1", false },
    { "Relu", 13, { F32, F32 }, 2, { 0 }, "Relu takes 1 input, got 2", false },
    { "Concat", 13, { 0 }, 0, INT_ATTR("axis", 0), "Concat takes at least 1 input, got 0", false },
    { "Conv", 13, { 0, F32 }, 2, { 0 }, "input 1 'X' of Conv is missing", false },
    { "Conv", 13, { F32, F32, 0 }, 3, { 0 }, NULL, false },
    { "Clip", 13, { F32, 0, F32 }, 3, { 0 }, NULL, false },
    { "Conv", 13, { F32, F32 }, 2, INT_ATTR("stride", 1),
      "Conv has no attribute 'stride' (did you mean 'strides'?)", false },
    { "Relu", 13, { F32 }, 1, INT_ATTR("wholly_other", 1),
      "Relu has no attribute 'wholly_other'", false },
    { "Conv", 13, { F32, F32 }, 2, INT_ATTR("strides", 1),
      "attribute 'strides' of Conv is a list of integers, got 1", false },
    { "Softmax", 13, { F32 }, 1, FLOAT_ATTR("axis", 1.5),
      "attribute 'axis' of Softmax is an integer, got 1.5", false },
    { "Elu", 6, { F32 }, 1, INT_ATTR("alpha", 2), NULL, false },
    { "Elu", 6, { F32 }, 1, TEXT_ATTR("alpha", "x"),
      "attribute 'alpha' of Elu is a number, got 'x'", false },
    { "Concat", 13, { F32 }, 1, { 0 }, "Concat needs its attribute 'axis'", false },
    { "Add", 14, { F32, I64 }, 2, { 0 },
      "input 2 'B' of Add is int64, but 'A' is float32 (both are T)", false },
    { "Concat", 13, { F32, F32, I64 }, 3, INT_ATTR("axis", 0),
      "input 3 'inputs' of Concat is int64, but 'inputs' is float32 (both are T)", false },
    { "Not", 1, { F32 }, 1, { 0 }, "Not takes bool, got float32", true },
    { "Relu", 13, { I64 }, 1, { 0 },
      "Relu takes float32, float16, float64 or bfloat16, got int64", true },
    { "Relu", 14, { I64 }, 1, { 0 }, NULL, false },
    { "Add", 14, { T2O_BOOL, T2O_BOOL }, 2, { 0 }, "input 1 'A' of Add does not take bool", true },
    { "Unsqueeze", 13, { F32, T2O_INT32 }, 2, { 0 },
      "input 2 'axes' of Unsqueeze takes int64, got int32", true },
    { "SequenceAt", 11, { F32, I64 }, 2, { 0 },
      "input 1 'input_sequence' of SequenceAt takes a sequence, got float32", true },
    { "Cast", 13, { F32 }, 1, INT_ATTR("to", T2O_COMPLEX64),
      "output 1 'output' of Cast cannot be complex64", true },
};

static void nodes_are_checked(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        const misfit *m = &misfits[i];
        const char *why = NULL;
        bool unsupported = false;
        t2o_node *n = node(f->g, t2o_printf(f->s->arena, "onnx::%s", m->op), m->inputs, m->n_inputs,
                           m->attr.name ? &m->attr : NULL);
        bool ok = t2o_onnx_check_node(t2o_schema_find(m->op, m->opset), n, &why, &unsupported);
        if (m->why)
            assert_string_equal(why ? why : "it fits", m->why);
        assert_int_equal(ok, m->why == NULL);
        assert_int_equal(unsupported, m->dtype_unsupported);
    }
}

static void numbers_of_the_torch_graph_do_not_fit(void **state)
{
    fixture *f = *state;
    t2o_value *number = t2o_value_new(f->g, T2O_VALUE_SYMINT, "s", T2O_NO_DTYPE, 0, NULL);
    const char *why;
    bool unsupported;
    t2o_value *out = value(f->g, NULL, T2O_NO_DTYPE);
    t2o_node *n = t2o_node_new(f->g, NULL, "onnx::Neg", &number, 1, NULL, 0, &out, 1);
    assert_false(t2o_onnx_check_node(t2o_schema_find("Neg", 13), n, &why, &unsupported));
    assert_string_equal(why, "Neg takes a tensor, got a number of the torch graph");
    assert_false(unsupported);
}

typedef struct typed {
    const char *op;
    t2o_dtype inputs[3];
    uint32_t n_inputs;
    t2o_attr attr;
    t2o_dtype want;
} typed;

static const typed types[] = {
    { "Add", { T2O_FLOAT16, T2O_FLOAT16 }, 2, { 0 }, T2O_FLOAT16 },
    { "Shape", { F32 }, 1, { 0 }, I64 },
    { "Less", { F32, F32 }, 2, { 0 }, T2O_BOOL },
    { "Where", { T2O_BOOL, I64, I64 }, 3, { 0 }, I64 },
    { "Cast", { F32 }, 1, INT_ATTR("to", T2O_BFLOAT16), T2O_BFLOAT16 },
    { "Cast", { F32 }, 1, { "to", { .kind = T2O_ARG_DTYPE, .dtype = T2O_BOOL }, false }, T2O_BOOL },
    { "CastLike", { F32, T2O_INT8 }, 2, { 0 }, T2O_INT8 },
    { "ConstantOfShape", { I64 }, 1, { 0 }, F32 },
    { "Constant", { 0 }, 0, INT_ATTR("value_int", 1), I64 },
    { "Constant", { 0 }, 0, FLOAT_ATTR("value_float", 1), F32 },
    { "RandomNormal", { 0 }, 0, { 0 }, F32 },
    { "RandomNormal", { 0 }, 0, INT_ATTR("dtype", T2O_FLOAT64), T2O_FLOAT64 },
    { "RandomNormalLike", { T2O_FLOAT16 }, 1, { 0 }, T2O_FLOAT16 },
    { "Bernoulli", { F32 }, 1, INT_ATTR("dtype", T2O_BOOL), T2O_BOOL },
    { "EyeLike", { I64 }, 1, { 0 }, I64 },
    { "EyeLike", { I64 }, 1, INT_ATTR("dtype", F32), F32 },
    { "Multinomial", { F32 }, 1, { 0 }, T2O_INT32 },
    { "HannWindow", { I64 }, 1, { 0 }, F32 },
    { "HannWindow", { I64 }, 1, INT_ATTR("output_datatype", T2O_FLOAT64), T2O_FLOAT64 },
    { "QuantizeLinear", { F32, F32 }, 2, { 0 }, T2O_UINT8 },
    { "QuantizeLinear", { F32, F32, T2O_INT8 }, 3, { 0 }, T2O_INT8 },
    { "QuantizeLinear", { F32, F32 }, 2, INT_ATTR("output_dtype", T2O_INT16), T2O_INT16 },
    { "DequantizeLinear", { T2O_INT8, T2O_FLOAT16 }, 2, { 0 }, T2O_FLOAT16 },
    { "DequantizeLinear", { T2O_INT8, T2O_FLOAT16 }, 2, INT_ATTR("output_dtype", F32), F32 },
    { "BitCast", { F32 }, 1, INT_ATTR("to", T2O_INT32), T2O_INT32 },
    { "SequenceAt", { 0, I64 }, 2, { 0 }, T2O_NO_DTYPE },
};

static void outputs_have_dtypes(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const typed *t = &types[i];
        const t2o_schema *schema = t2o_schema_find(t->op, t2o_newest_opset());
        t2o_node *n = node(f->g, t->op, t->inputs, t->n_inputs, t->attr.name ? &t->attr : NULL);
        assert_string_equal(t2o_dtype_name(t2o_onnx_output_dtype(schema, n, 0)),
                            t2o_dtype_name(t->want));
    }
}

/* ---- Graphs ---- */

static const char *last_error(const fixture *f)
{
    return f->s->diags.n ? f->s->diags.at[f->s->diags.n - 1]->text : "no error";
}

static t2o_value *add_node(t2o_graph *g, const char *op, t2o_value *x, t2o_value *y,
                           const char *name)
{
    t2o_value *inputs[] = { x, y }, *out = value(g, name, x->dtype);
    t2o_node_new(g, NULL, op, inputs, y ? 2 : 1, NULL, 0, &out, 1);
    return out;
}

static void a_right_graph_passes(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", F32);
    output(f->g, add_node(f->g, "onnx::Add", x, x, "sum"));
    assert_true(t2o_onnx_check(f->g, 13));
    assert_true(t2o_onnx_check(f->g, 13)); /* the marks are as they were */
}

static void a_newer_type_names_its_opset(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", I64);
    output(f->g, add_node(f->g, "onnx::Relu", x, NULL, "y"));
    f->g->first->rule = "rules/aten/activation.lua:9";
    t2o_node torch = { .op = "aten::relu", .name = "relu", .graph = f->g };
    t2o_meta meta = {
        .stack_trace = "File \"/home/me/model.py\", line 118, in forward\n    return torch.relu(x)"
    };
    torch.meta = &meta;
    f->g->first->origin = &torch;
    assert_false(t2o_onnx_check(f->g, 13));
    const t2o_diag *d = f->s->diags.at[0];
    assert_string_equal(d->code, "E0303");
    assert_string_equal(
        d->text,
        "node 'y' (Relu): Relu takes float32, float16, float64 or bfloat16, got int64 at opset 13; "
        "opset 14 allows it");
    assert_string_equal(d->hint, "convert with --opset 14");
    assert_string_equal(d->notes.at[0], "rules/aten/activation.lua:9");
    assert_string_equal(d->notes.at[1], "model.py:118 in forward: return torch.relu(x)");
}

static void a_newer_operator_names_its_opset(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", F32), *y = add_node(f->g, "onnx::Gelu", x, NULL, "y");
    output(f->g, add_node(f->g, "onnx::Gelu", y, NULL, "z"));
    assert_false(t2o_onnx_check(f->g, 17));
    assert_int_equal(f->s->diags.n, 1);
    assert_string_equal(f->s->diags.at[0]->code, "E0303");
    assert_string_equal(last_error(f),
                        "node 'y' (Gelu): Gelu needs opset 20, the model is for opset 17");
    assert_string_equal(f->s->diags.at[0]->notes.at[0], "the same holds for 1 more");
}

static void an_unknown_operator_is_an_error(void **state)
{
    fixture *f = *state;
    output(f->g, add_node(f->g, "onnx::Rleu", input(f->g, "x", F32), NULL, "y"));
    assert_false(t2o_onnx_check(f->g, 17));
    assert_string_equal(f->s->diags.at[0]->code, "E0102");
    assert_string_equal(last_error(f),
                        "node 'y' (Rleu): ONNX has no operator 'Rleu' (did you mean 'Relu'?)");
}

static void use_before_definition_is_an_error(void **state)
{
    fixture *f = *state;
    t2o_value *late = value(f->g, "late", F32);
    output(f->g, add_node(f->g, "onnx::Relu", late, NULL, "y"));
    t2o_value *x = input(f->g, "x", F32);
    t2o_node_new(f->g, NULL, "onnx::Relu", &x, 1, NULL, 0, &late, 1);
    assert_false(t2o_onnx_check(f->g, 17));
    assert_string_equal(last_error(f),
                        "node 'y' (Relu): its input 1, 'late', is not defined before it");
}

static void names_are_unique(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", F32);
    output(f->g, add_node(f->g, "onnx::Relu", x, NULL, "x"));
    assert_false(t2o_onnx_check(f->g, 17));
    assert_string_equal(last_error(f), "node 'x' (Relu): two values have the name 'x'");
}

static void a_wrong_output_dtype_is_an_error(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", F32), *y = add_node(f->g, "onnx::Relu", x, NULL, "y");
    y->dtype = T2O_FLOAT16;
    output(f->g, y);
    assert_false(t2o_onnx_check(f->g, 17));
    assert_string_equal(
        last_error(f),
        "node 'y' (Relu): output 1 'Y' of Relu is float32, but the graph says float16, "
        "at opset 17");
}

/* A body that returns x (of the graph around it) through this operator. */
static t2o_attr branch(t2o_graph *outer, const char *attr, const char *op, t2o_value *x,
                       const char *name)
{
    t2o_graph *body = t2o_graph_new(outer->s, outer->exprs, attr);
    body->parent = outer;
    output(body, add_node(body, op, x, NULL, name));
    return (t2o_attr){ .name = attr,
                       .arg = { .kind = T2O_ARG_GRAPH, .graph = body, .text = attr } };
}

static void bodies_see_outer_values(void **state)
{
    fixture *f = *state;
    t2o_value *c = input(f->g, "c", T2O_BOOL), *x = input(f->g, "x", F32),
              *out = value(f->g, "out", F32);
    t2o_attr branches[] = { branch(f->g, "then_branch", "onnx::Relu", x, "a"),
                            branch(f->g, "else_branch", "onnx::Neg", x, "b") };
    t2o_node *n = t2o_node_new(f->g, NULL, "onnx::If", &c, 1, branches, 2, &out, 1);
    output(f->g, out);
    assert_true(t2o_onnx_check(f->g, 17));
    assert_int_equal(t2o_onnx_output_dtype(t2o_schema_find("If", 17), n, 0), F32);
    branches[0].arg.graph->first->op = "onnx::Rleu";
    assert_false(t2o_onnx_check(f->g, 17));
}

/* ---- The writer ---- */

/* The bytes of a written model, NUL-terminated, or NULL after an error. */
static const char *written(fixture *f, const t2o_onnx_options *options, size_t *size)
{
    char path[] = "/tmp/t2o_test_onnx_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    t2o_output *out = t2o_output_open(f->s, path);
    assert_non_null(out);
    t2o_output *data = NULL;
    bool ok = t2o_onnx_write(f->g, options, out, &data);
    assert_null(data);
    if (ok)
        assert_true(t2o_output_commit(out));
    else
        t2o_output_discard(out);
    char *text = ok ? t2o_file_text(f->s, path, size) : NULL;
    unlink(path);
    return text;
}

static bool has(const char *bytes, size_t n, const void *part, size_t part_n)
{
    return memmem(bytes, n, part, part_n) != NULL;
}

static t2o_tensor *matrix(fixture *f, const int64_t *strides)
{
    static const int64_t dims[] = { 2, 3 };
    static const uint8_t data[] = { 1, 2, 3, 4, 5, 6 };
    t2o_tensor *t = T2O_NEW(f->s->arena, t2o_tensor);
    *t = (t2o_tensor){ .dtype = T2O_UINT8, .rank = 2, .dims = dims, .strides = strides,
                       .data = data, .available = sizeof data };
    return t;
}

/* From the graph field to the end, written out by hand from the format's definition. */
static void a_small_model_has_these_bytes(void **state)
{
    fixture *f = *state;
    t2o_onnx_options options = { .opset = 13, .strip_meta = true };
    t2o_value *x = input(f->g, "x", F32);
    output(f->g, add_node(f->g, "onnx::Neg", x, NULL, "y"));
    static const char start[] = "\x08\x07\x12\x03t2o\x1a"; /* IR version 7, producer */
    static const char rest[] =
        "\x3a\x45" /* graph, 69 bytes */
        "\x0a\x13\x0a\x01x\x12\x01y\x1a\x06node_y\x22\x03Neg"
        "\x12\x0amain_graph"
        "\x5a\x10\x0a\x01x\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x03\x12\x01n" /* float32[n] */
        "\x62\x10\x0a\x01y\x12\x0b\x0a\x09\x08\x01\x12\x05\x0a\x03\x12\x01n"
        "\x42\x04\x0a\x00\x10\x0d"; /* opset 13 of the domain "" */
    size_t n, n_rest = sizeof rest - 1;
    const char *bytes = written(f, &options, &n);
    assert_true(n > n_rest + sizeof start);
    assert_memory_equal(bytes, start, sizeof start - 1);
    assert_memory_equal(bytes + n - n_rest, rest, n_rest);
}

static void strided_weights_are_written_in_order(void **state)
{
    fixture *f = *state;
    static const int64_t transposed[] = { 1, 2 };
    t2o_onnx_options options = { .opset = 13 };
    t2o_value *a = t2o_constant_new(f->g, "a", matrix(f, NULL)),
              *b = t2o_constant_new(f->g, "b", matrix(f, transposed));
    output(f->g, add_node(f->g, "onnx::Equal", a, b, "y"));
    size_t n;
    const char *bytes = written(f, &options, &n);
    assert_true(has(bytes, n, "\x42\x01" "a\x4a\x06\1\2\3\4\5\6", 11));
    assert_true(has(bytes, n, "\x42\x01" "b\x4a\x06\1\3\5\2\4\6", 11));
}

static void the_same_graph_gives_the_same_bytes(void **state)
{
    fixture *f = *state;
    t2o_onnx_options options = { .opset = 18 };
    t2o_value *x = input(f->g, "x", F32), *y = add_node(f->g, "zebra::Foo", x, NULL, "y");
    output(f->g, add_node(f->g, "com.acme::Bar", y, NULL, "z"));
    size_t n, m;
    const char *first = written(f, &options, &n), *second = written(f, &options, &m);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    const char *acme = memmem(first, n, "\n\x08" "com.acme\x10\x01", 12);
    const char *zebra = memmem(first, n, "\n\x05zebra\x10\x01", 9);
    assert_non_null(acme);
    assert_non_null(zebra);
    assert_true(acme < zebra);
}

static void an_oversized_model_is_refused(void **state)
{
    fixture *f = *state;
    static const int64_t dims[] = { (int64_t)3 << 30 };
    static const uint8_t byte;
    t2o_tensor *t = T2O_NEW(f->s->arena, t2o_tensor);
    *t = (t2o_tensor){ .dtype = T2O_UINT8, .rank = 1, .dims = dims, .data = &byte };
    output(f->g, add_node(f->g, "onnx::Identity", t2o_constant_new(f->g, "w", t), NULL, "y"));
    t2o_onnx_options options = { .opset = 18 };
    size_t n;
    assert_null(written(f, &options, &n));
    assert_string_equal(f->s->diags.at[0]->code, "E0102");
    assert_string_equal(last_error(f), "the model takes more than 2 GiB (2^31-1 bytes), the most that one ONNX file "
                                       "holds");
}

static void an_attribute_without_a_form_is_refused(void **state)
{
    fixture *f = *state;
    t2o_value *x = input(f->g, "x", F32), *y = value(f->g, "y", F32);
    t2o_attr attr = { .name = "z", .arg = { .kind = T2O_ARG_COMPLEX, .f = 1, .imag = 2 } };
    t2o_node_new(f->g, NULL, "acme::Foo", &x, 1, &attr, 1, &y, 1);
    output(f->g, y);
    t2o_onnx_options options = { .opset = 18 };
    size_t n;
    assert_null(written(f, &options, &n));
    assert_string_equal(last_error(f), "attribute 'z' of acme::Foo has no form in ONNX");
}

/* ---- Metadata ---- */

static const char *prop(const t2o_props *props, const char *key)
{
    for (size_t i = 0; i < props->n; i++)
        if (!strcmp(props->at[i].key, key))
            return props->at[i].value;
    return "absent";
}

static void node_metadata_is_that_of_pytorch(void **state)
{
    fixture *f = *state;
    t2o_graph *torch = t2o_graph_new(f->s, f->g->exprs, "torch");
    t2o_value *ins[] = { input(torch, "a", F32), input(torch, "b", F32) },
              *out = value(torch, "cat", F32);
    t2o_arg items[] = { { .kind = T2O_ARG_VALUE, .index = 0 },
                        { .kind = T2O_ARG_VALUE, .index = 1 } };
    t2o_attr attrs[] = {
        { .name = "tensors", .arg = { .kind = T2O_ARG_LIST, .items = items, .n = 2 } },
        int_attr("dim", 1),
        { .name = "eps", .arg = { .kind = T2O_ARG_FLOAT, .f = 1e-05 }, .keyword = true }
    };
    t2o_meta meta = {
        .nn_module_stack = "L__self__,,app.Model;L__self__layer.0,layer.0,app.It's[a,b]",
        .target = "aten.cat.default", .fx_node = "cat_1",
        .stack_trace = "File \"m.py\", line 3, in f",
    };
    t2o_node *n = t2o_node_new(torch, NULL, "aten::cat", ins, 2, attrs, 3, &out, 1);
    n->meta = &meta;
    output(torch, out);
    t2o_node onnx = { .graph = f->g, .origin = n, .rule = "rules/aten/shape.lua:7" };
    t2o_props props = { 0 };
    t2o_metadata_count_users(torch);
    t2o_metadata_of_node(&props, &onnx);
    t2o_metadata_clear_users(torch);
    assert_int_equal(n->mark, 0);
    assert_string_equal(prop(&props, "namespace"),
                        ": app.Model/layer.0: app.It's[a,b]/cat_1: aten.cat.default");
    assert_string_equal(prop(&props, "pkg.torch.onnx.class_hierarchy"),
                        "['app.Model', \"app.It's[a,b]\", 'aten.cat.default']");
    assert_string_equal(prop(&props, "pkg.torch.onnx.name_scopes"), "['', 'layer.0', 'cat_1']");
    assert_string_equal(prop(&props, "pkg.torch.onnx.fx_node"),
                        "%cat_1 : [num_users=1] = call_function[target=torch.ops.aten.cat.default]"
                        "(args = ([%a, %b], 1), kwargs = {eps: 1e-05})");
    assert_string_equal(prop(&props, "pkg.torch.onnx.stack_trace"), "File \"m.py\", line 3, in f");
    assert_string_equal(prop(&props, "pkg.t2o.rule"), "rules/aten/shape.lua:7");
}

static void graph_metadata_is_that_of_pytorch(void **state)
{
    fixture *f = *state;
    t2o_graph *torch = t2o_graph_new(f->s, f->g->exprs, "torch");
    t2o_program program = { .graph = torch };
    t2o_value *w = input(torch, "b_buf", F32), *x = input(torch, "x", F32);
    w->spec = T2O_SPEC_BUFFER, w->target = "buf", w->persistent = true;
    x->spec = T2O_SPEC_USER_INPUT;
    output(torch, x);
    t2o_push(f->s->arena, &program.range_symbols, t2o_intern(f->s, "s77"));
    t2o_expr_set_range(torch->exprs, "s77", 2, INT64_MAX);
    f->g->program = &program;
    t2o_props props = { 0 };
    t2o_metadata_of_graph(&props, f->g);
    assert_string_equal(
        prop(&props, "pkg.torch.export.ExportedProgram.graph_signature"),
        "\n# inputs\nb_buf: BUFFER target='buf' persistent=True\nx: USER_INPUT\n\n# outputs\n"
        "x: USER_OUTPUT\n");
    assert_string_equal(prop(&props, "pkg.torch.export.ExportedProgram.range_constraints"),
                        "{s77: VR[2, int_oo]}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(schemas_are_found_by_opset),
        TEST(axes_became_an_input),
        TEST(schemas_hold_defaults_and_types),
        TEST(near_names_are_suggested),
        TEST(operators_are_listed_once),
        TEST(ir_versions_follow_the_releases),
        TEST(nodes_are_checked),
        TEST(numbers_of_the_torch_graph_do_not_fit),
        TEST(outputs_have_dtypes),
        TEST(a_right_graph_passes),
        TEST(a_newer_type_names_its_opset),
        TEST(a_newer_operator_names_its_opset),
        TEST(an_unknown_operator_is_an_error),
        TEST(use_before_definition_is_an_error),
        TEST(names_are_unique),
        TEST(a_wrong_output_dtype_is_an_error),
        TEST(bodies_see_outer_values),
        TEST(a_small_model_has_these_bytes),
        TEST(strided_weights_are_written_in_order),
        TEST(the_same_graph_gives_the_same_bytes),
        TEST(an_oversized_model_is_refused),
        TEST(an_attribute_without_a_form_is_refused),
        TEST(node_metadata_is_that_of_pytorch),
        TEST(graph_metadata_is_that_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
