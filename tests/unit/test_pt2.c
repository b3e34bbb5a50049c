/* test_pt2.c: the reader of .pt2 archives against archives that PyTorch wrote. T2O_TEST_DATA names
 * the data's folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pt2/archive.h"
#include "pt2/body.h"
#include "pt2/json.h"
#include "pt2/pickle.h"
#include "pt2/pt2.h"
#include "pt2/sniff.h"
#include "pt2/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- helpers ---- */

typedef struct opened {
    t2o_session *s;
    t2o_exprs *exprs;
    t2o_file *file;
    t2o_program *p;
} opened;

static const char *data_path(t2o_session *s, const char *name)
{
    const char *folder = getenv("T2O_TEST_DATA");
    return t2o_printf(s->arena, "%s/pt2/%s.pt2", folder ? folder : "tests/data", name);
}

static opened open_model(const char *name, const char *model)
{
    opened o = { .s = t2o_session_new() };
    o.exprs = t2o_exprs_new(o.s);
    o.file = t2o_file_map(o.s, data_path(o.s, name));
    assert_non_null(o.file);
    o.p = t2o_pt2_read(o.s, o.exprs, o.file, model);
    assert_int_equal(o.p == NULL, t2o_failed(o.s));
    return o;
}

static void close_model(opened *o)
{
    t2o_file_unmap(o->file);
    t2o_session_free(o->s);
}

static t2o_value *value_named(const t2o_graph *g, const char *name)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (!strcmp(g->values.at[i]->name, name))
            return g->values.at[i];
    fail_msg("no value %s", name);
    return NULL;
}

static t2o_node *node_named(const t2o_graph *g, const char *name)
{
    for (t2o_node *n = g->first; n; n = n->next)
        if (!strcmp(n->name, name))
            return n;
    fail_msg("no node %s", name);
    return NULL;
}

static const char *arg_text(t2o_arena *a, const t2o_arg *arg, t2o_value *const *values);

static const char *items_text(t2o_arena *a, const t2o_arg *arg, t2o_value *const *values)
{
    const char *text = "";
    for (uint32_t i = 0; i < arg->n; i++)
        text = t2o_printf(
            a, "%s%s%s%s%s", text, i ? ", " : "", arg->kind == T2O_ARG_MAP ? arg->keys[i] : "",
            arg->kind == T2O_ARG_MAP ? ": " : "", arg_text(a, &arg->items[i], values));
    return text;
}

/* An argument as text that tells all kinds apart. */
static const char *arg_text(t2o_arena *a, const t2o_arg *arg, t2o_value *const *values)
{
    switch (arg->kind) {
    case T2O_ARG_NONE: return "None";
    case T2O_ARG_VALUE: return values[arg->index]->name;
    case T2O_ARG_INT: return t2o_printf(a, "%" PRId64, arg->i);
    case T2O_ARG_FLOAT: return t2o_printf(a, "%.17gf", arg->f);
    case T2O_ARG_BOOL: return arg->b ? "True" : "False";
    case T2O_ARG_STRING: return t2o_printf(a, "'%s'", arg->text);
    case T2O_ARG_COMPLEX: return t2o_printf(a, "%g+%gj", arg->f, arg->imag);
    case T2O_ARG_DTYPE: return t2o_printf(a, "torch.%s", t2o_dtype_name(arg->dtype));
    case T2O_ARG_DEVICE: return t2o_printf(a, "device(%s)", arg->text);
    case T2O_ARG_LAYOUT: return t2o_printf(a, "layout(%s)", arg->text);
    case T2O_ARG_MEMORY_FORMAT: return t2o_printf(a, "format(%s)", arg->text);
    case T2O_ARG_LIST: return t2o_printf(a, "[%s]", items_text(a, arg, values));
    case T2O_ARG_MAP: return t2o_printf(a, "{%s}", items_text(a, arg, values));
    case T2O_ARG_GRAPH: return t2o_printf(a, "@%s", arg->text);
    case T2O_ARG_OPERATOR: return t2o_printf(a, "op(%s)", arg->text);
    default: return "?";
    }
}

/* "aten::full(size=[2], *device=device(cpu)) -> full"; a star marks what was passed by keyword. */
static const char *node_text(t2o_arena *a, const t2o_node *n)
{
    const char *text = t2o_printf(a, "%s(", n->op);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        text = t2o_printf(a, "%s%s%s%s%s%s", text, i ? ", " : "", n->attrs[i].keyword ? "*" : "",
                          n->attrs[i].name, *n->attrs[i].name ? "=" : "",
                          arg_text(a, &n->attrs[i].arg, n->inputs));
    text = t2o_printf(a, "%s)", text);
    for (uint32_t i = 0; i < n->n_returns; i++)
        text = t2o_printf(a, "%s%s%s", text, i ? ", " : " -> ",
                          arg_text(a, &n->returns[i], n->outputs));
    return text;
}

/* ---- nodes ---- */

static const struct {
    const char *file, *node, *text;
} node_rows[] = {
    { "mlp", "gelu", "aten::gelu(self=linear_1, *approximate='tanh') -> gelu" },
    { "arg_zoo", "clamp", "aten::clamp(self=x, min=None, max=inff) -> clamp" },
    { "arg_zoo", "clamp_1", "aten::clamp(self=x, min=-inff) -> clamp_1" },
    { "arg_zoo", "full",
      "aten::full(size=[2], fill_value=nanf, *device=device(cpu), *pin_memory=False) -> full" },
    { "arg_zoo", "full_1",
      "aten::full(size=[1], fill_value=9223372036854775807, *dtype=torch.int64, "
      "*device=device(cpu), *pin_memory=False) -> full_1" },
    { "arg_zoo", "full_2",
      "aten::full(size=[1], fill_value=-9007199254740993, *dtype=torch.int64, "
      "*device=device(cpu), *pin_memory=False) -> full_2" },
    { "arg_zoo", "zeros",
      "aten::zeros(size=[2], *dtype=torch.bfloat16, *layout=layout(strided), "
      "*device=device(cpu), *pin_memory=False) -> zeros" },
    { "arg_zoo", "empty_like",
      "aten::empty_like(self=x, *pin_memory=False, *memory_format=format(preserve)) -> "
      "empty_like" },
    { "arg_zoo", "index", "aten::index.Tensor(self=x, indices=[None, detach_]) -> index" },
    { "arg_zoo", "mul_1", "aten::mul.Tensor(self=x, other=2+3j) -> mul_1" },
    { "arg_zoo", "sum_1", "aten::sum.dim_IntList(self=x, dim=[]) -> sum_1" },
    { "arg_zoo", "add", "aten::add.Tensor(self=x, other=b, *alpha=2) -> add" },
    { "infnan", "full_1",
      "aten::full(size=[1], fill_value=4611686018427387905, *device=device(cpu), "
      "*pin_memory=False) -> full_1" },
    { "infnan", "mul", "aten::mul.Tensor(self=x, other=1.0000000000000001e+300f) -> mul" },
    { "dynamic", "zeros",
      "aten::zeros(size=[sym_max, add_1], *dtype=torch.float32, *device=device(cpu), "
      "*pin_memory=False) -> zeros" },
    { "dynamic", "sym_max", "torch::sym_max(a=sym_size_int_3, b=4) -> sym_max" },
    { "dynamic", "mul", "_operator::mul(a=sym_size_int_3, b=sym_size_int_4) -> mul" },
    { "dynamic", "reshape", "aten::reshape(self=x, shape=[-1, 1, sym_size_int_4]) -> reshape" },
    { "multi_output", "topk", "aten::topk(self=x, k=2) -> getitem_5, getitem_6" },
    { "multi_output", "unbind",
      "aten::unbind.int(self=x) -> [getitem_9, getitem_10, getitem_11, getitem_12]" },
    { "cond", "cond_1",
      "higher_order::cond(gt_1, @true_graph_1, @false_graph_1, [x]) -> getitem_1, getitem_2" },
    { "tokens", "with_effects",
      "higher_order::with_effects(token, op(aten::_print), 'moo') -> getitem, None" },
    { "t214_nested_lists", "nest",
      "mylib::nest(x=[[x, x], [x]], y=[[1, 2], [3]], z=[[1.5f], [2.5f, 3.5f]], s=[], "
      "f=[], i=[sym_size_int_1, 2], b=[]) -> nest" },
};

static void test_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(node_rows); i++) {
        opened o = open_model(node_rows[i].file, NULL);
        assert_non_null(o.p);
        const t2o_node *n = node_named(o.p->graph, node_rows[i].node);
        assert_string_equal(node_text(o.s->arena, n), node_rows[i].text);
        close_model(&o);
    }
}

static void test_op_names(void **state)
{
    (void)state;
    static const struct {
        const char *target, *op;
    } rows[] = {
        { "torch.ops.aten.add.Tensor", "aten::add.Tensor" },
        { "torch.ops.aten.relu.default", "aten::relu" },
        { "torch.ops.higher_order.cond", "higher_order::cond" },
        { "_operator.mul", "_operator::mul" },
        { "torch.sym_float", "torch::sym_float" },
        { "math.trunc", "math::trunc" },
        { "torch._functorch.predispatch._vmap_increment_nesting",
          "predispatch::_vmap_increment_nesting" },
        { "#dialect:op", "dialect::op" },
    };
    t2o_session *s = t2o_session_new();
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(t2o_op_of_target(s, rows[i].target), rows[i].op);
    t2o_session_free(s);
}

/* ---- values, shapes, signature ---- */

static void test_shapes(void **state)
{
    (void)state;
    static const struct { const char *file, *value, *type; } rows[] = {
        { "dynamic", "x", "f32[s77, s27]" },
        { "dynamic", "cat", "f32[s17 + s27*s77]" },
        { "dynamic", "expand", "f32[s77, 2, s27]" },
        { "dynamic", "add_1", "symint s27 + 1" },
        { "arg_zoo", "to", "f16[3, 4]" },
        { "arg_zoo", "sum_1", "f32[]" },
        { "multi_output", "getitem_6", "i64[4, 2]" },
        { "cond", "gt_1", "symbool" },
        { "tokens", "token", "object" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        opened o = open_model(rows[i].file, NULL);
        t2o_value *v = value_named(o.p->graph, rows[i].value);
        assert_string_equal(t2o_value_type_text(o.p->graph, v), rows[i].type);
        close_model(&o);
    }
}

static void test_program(void **state)
{
    (void)state;
    opened o = open_model("dynamic", NULL);
    int64_t min, max;
    assert_string_equal(o.p->model, "model");
    assert_string_equal(o.p->torch_version, "2.13.0+cpu");
    assert_string_equal(o.p->verifier, "TRAINING");
    assert_int_equal(o.p->schema_major, 8);
    assert_int_equal(o.p->schema_minor, 20);
    assert_int_equal(o.p->aten_opset, 10);
    assert_int_equal(o.p->range_symbols.n, 3);
    assert_string_equal(o.p->range_symbols.at[1], "s27");
    assert_true(t2o_expr_range(o.exprs, "s77", &min, &max));
    assert_true(min == 2 && max == 32);
    assert_true(t2o_expr_range(o.exprs, "s17", &min, &max));
    assert_true(min == 2 && max == INT64_MAX);
    close_model(&o);
}

static void test_metadata(void **state)
{
    (void)state;
    opened o = open_model("mlp", NULL);
    const t2o_meta *m = node_named(o.p->graph, "linear")->meta;
    assert_string_equal(m->nn_module_stack,
                        "L__self__,,model.MLP;L__self__fc1,fc1,torch.nn.modules.linear.Linear");
    assert_string_equal(m->torch_fn, "linear_1;builtin_function_or_method.linear");
    assert_string_equal(m->target, "aten.linear.default");
    assert_string_equal(m->fx_node, "linear");
    assert_non_null(strstr(m->stack_trace, "line 21, in forward"));
    close_model(&o);
}

static void test_signature(void **state)
{
    (void)state;
    opened o = open_model("unicode", NULL);
    const t2o_value *w = value_named(o.p->graph, "p_gr__e_weight"),
                    *x = value_named(o.p->graph, "x");
    assert_int_equal(w->spec, T2O_SPEC_PARAMETER);
    assert_string_equal(w->target, "gr\xc3\xb6\xc3\x9f" "e.weight");
    assert_true(w->constant && w->persistent && w->data && w->data->in_file);
    assert_int_equal(x->spec, T2O_SPEC_USER_INPUT);
    assert_false(x->constant);
    assert_int_equal(o.p->graph->outputs.n, 1);
    assert_int_equal(o.p->graph->outputs.at[0].kind, T2O_SPEC_USER_OUTPUT);
    assert_string_equal(o.p->graph->outputs.at[0].name, "linear_1");
    close_model(&o);

    /* A literal among the inputs is no input of the graph. */
    o = open_model("infnan", NULL);
    assert_int_equal(o.p->graph->inputs.n, 1);
    close_model(&o);

    o = open_model("arg_zoo", NULL);
    const t2o_value *c = value_named(o.p->graph, "c_lifted_tensor_0");
    assert_int_equal(c->spec, T2O_SPEC_CONSTANT_TENSOR);
    assert_string_equal(c->target, "lifted_tensor_0");
    assert_non_null(c->data->data);
    close_model(&o);
}

static void test_bodies(void **state)
{
    (void)state;
    opened o = open_model("cond", NULL);
    const t2o_node *cond = node_named(o.p->graph, "cond");
    const t2o_graph *body = cond->attrs[1].arg.graph;
    assert_string_equal(body->name, "true_graph_0");
    assert_ptr_equal(body->parent, o.p->graph);
    assert_int_equal(body->inputs.n, 4);
    assert_ptr_not_equal(value_named(body, "x"), value_named(o.p->graph, "x"));
    assert_int_equal(body->outputs.n, 1);
    assert_string_equal(body->outputs.at[0].value->name, "add");
    close_model(&o);
}

static void test_models(void **state)
{
    (void)state;
    opened o = open_model("multi_model", NULL);
    assert_null(o.p);
    assert_string_equal(o.s->diags.at[0]->code, "E0505");
    assert_non_null(strstr(o.s->diags.at[0]->text, "'encoder', 'decoder'"));
    close_model(&o);
    o = open_model("multi_model", "decoder");
    assert_string_equal(o.p->model, "decoder");
    assert_int_equal(o.p->models.n, 2);
    assert_string_equal(o.p->models.at[0], "encoder");
    close_model(&o);
    o = open_model("mlp", "nothing");
    assert_string_equal(o.s->diags.at[0]->code, "E0505");
    close_model(&o);
}

/* ---- weights ---- */

static const struct {
    const char *value;
    bool contiguous;
    int n;
    double elements[8];
} weight_rows[] = {
    { "b_view_mid", true, 8, { 4, 5, 6, 7, 8, 9, 10, 11 } },
    { "b_view_t", false, 8, { 0, 6, 12, 18, 1, 7, 13, 19 } },
    { "b_solo_slice", true, 5, { 2, 3, 4, 5, 6 } },
    { "b_solo_strided", false, 4, { 1, 4, 7, 10 } },
    { "b_noncontig", false, 6, { 0, 3, 1, 4, 2, 5 } },
    { "b_chlast", false, 8, { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { "b_expanded", false, 8, { 7, 7, 7, 7, 7, 7, 7, 7 } },
    { "b_f16", true, 2, { 1, -2 } },
    { "b_b_bf16", true, 2, { 1, -2 } },
    { "b_t_uint64", true, 3, { 0, 1, 1 } },
    { "b_scalar", true, 1, { 3.5 } },
    { "b_empty", true, 0, { 0 } },
};

static double element(const t2o_tensor *t, int64_t i)
{
    uint64_t bytes[2] = { 0 };
    int64_t integer;
    double number = 0;
    t2o_tensor_read(t, i, 1, bytes);
    if (t2o_element_to_int(t->dtype, bytes, &integer))
        return (double)integer;
    assert_true(t2o_element_to_double(t->dtype, bytes, &number));
    return number;
}

static void check_weight_row(size_t i, const t2o_tensor *t)
{
    assert_non_null(t->data);
    assert_int_equal(t2o_tensor_contiguous(t), weight_rows[i].contiguous);
    assert_int_equal(t->strides == NULL, weight_rows[i].contiguous);
    assert_true(t2o_tensor_count(t) >= weight_rows[i].n);
    for (int j = 0; j < weight_rows[i].n; j++)
        assert_true(element(t, j) == weight_rows[i].elements[j]);
}

static const t2o_weight *weight_named(const t2o_program *p, const char *name)
{
    for (size_t i = 0; i < p->state.n; i++)
        if (!strcmp(p->state.at[i].name, name))
            return &p->state.at[i];
    fail_msg("no weight '%s'", name);
    return NULL;
}

/* The same model in the layouts since 2.9 and before: raw records, and one pickle. */
static void test_weights(void **state)
{
    (void)state;
    opened old = open_model("t26_weights", NULL);
    opened o = open_model("weights", NULL);
    for (size_t i = 0; i < COUNT(weight_rows); i++) {
        check_weight_row(i, value_named(o.p->graph, weight_rows[i].value)->data);
        check_weight_row(i, weight_named(old.p, weight_rows[i].value + strlen("b_"))->data);
    }
    const t2o_weight *w = weight_named(old.p, "frozen");
    assert_true(w->parameter && w->data->in_file && w->data->data > old.file->bytes &&
                w->data->data + w->data->available <= old.file->bytes + old.file->size);
    assert_false(weight_named(old.p, "scalar")->parameter);
    close_model(&old);
    assert_int_equal(value_named(o.p->graph, "b_t_float8_e8m0fnu")->dtype, T2O_FLOAT8_E8M0FNU);
    close_model(&o);
}

static void test_weight_bytes_are_in_the_map(void **state)
{
    (void)state;
    opened o = open_model("mlp", NULL);
    const t2o_tensor *t = value_named(o.p->graph, "p_fc1_bias")->data;
    assert_true(t->in_file && t->data > o.file->bytes &&
                t->data + t->available <= o.file->bytes + o.file->size);
    assert_int_equal((t->data - o.file->bytes) % 64, 0);
    assert_memory_equal(t->data, "\x1a\xef\xa5\xbe\xc0\xb0\x6b\xbe", 8);
    opened d = open_model("mlp_deflated", NULL);
    const t2o_tensor *same = value_named(d.p->graph, "p_fc1_bias")->data;
    assert_false(same->in_file);
    assert_int_equal(same->available, t->available);
    assert_memory_equal(same->data, t->data, t->available);
    close_model(&d);
    close_model(&o);
}

static void test_tied_weights_share_bytes(void **state)
{
    (void)state;
    /* PyTorch 2.6 gives all inputs the name of one */
    static const char *const rows[][2] = {
        { "tied", "emb.weight" }, { "t28_tied", "emb.weight" }, { "t26_tied", "same.weight" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        opened o = open_model(rows[i][0], NULL);
        const t2o_value *a = value_named(o.p->graph, "p_emb_weight"),
                        *b = value_named(o.p->graph, "p_same_weight");
        assert_ptr_equal(a->data->data, b->data->data);
        assert_string_equal(a->target, rows[i][1]);
        assert_string_equal(b->target, "same.weight");
        close_model(&o);
    }
}

static void test_fake_weights_have_no_data(void **state)
{
    (void)state;
    opened o = open_model("meta_weights", NULL);
    const t2o_graph *g = o.p->graph;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->constant) {
            assert_non_null(g->inputs.at[i]->data);
            assert_null(g->inputs.at[i]->data->data);
            assert_int_equal(g->inputs.at[i]->data->rank, g->inputs.at[i]->rank);
        }
    close_model(&o);
}

/* ---- what cannot be read ---- */

static void test_refused_archives(void **state)
{
    (void)state;
    static const struct { const char *file, *code, *says; } rows[] = {
        { "aoti", "E0502", "compiled by AOTInductor" },
        { "failed_save_no_model", "E0502", "no exported program" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        opened o = open_model(rows[i].file, NULL);
        assert_null(o.p);
        assert_string_equal(o.s->diags.at[0]->code, rows[i].code);
        assert_non_null(strstr(o.s->diags.at[0]->text, rows[i].says));
        close_model(&o);
    }
}

/* An object is read as what it is; that it cannot be converted is said when it is used. */
static void test_subclass_weights(void **state)
{
    (void)state;
    static const char *const files[] = { "subclass_weight", "t28_subclass_weight" };
    for (size_t i = 0; i < COUNT(files); i++) {
        opened o = open_model(files[i], NULL);
        const t2o_value *v = value_named(o.p->graph, "p_w");
        assert_string_equal(v->wrapped, "torch.testing._internal.two_tensor.TwoTensor");
        assert_null(v->data->data);
        close_model(&o);
    }
}

static void test_wrong_files(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t n; const char *looks; } rows[] = {
        { "", 0, "an empty file" },
        { "hello\n", 6, "a text file" },
        { "{\"a\": 1}", 8, "a JSON text" },
        { "PK\5\6                    ", 22, "an empty zip" },
        { "\x80\2}q\0.", 6, "a Python pickle" },
        { "\2\0\0\0\0\0\0\0{}", 10, "a safetensors file" },
        { "\x08\x0a\x12\x07pytorch", 11, "an ONNX model" },
        { "\x7f" "ELF\2\1\1", 7, "a compiled program" },
        { "\1\2\3\4", 4, "a file of an unknown kind" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_session *s = t2o_session_new();
        t2o_file f = { .path = "given", .bytes = (const uint8_t *)rows[i].bytes, .size = rows[i].n };
        assert_null(t2o_pt2_read(s, t2o_exprs_new(s), &f, NULL));
        assert_string_equal(s->diags.at[0]->code, "E0502");
        assert_non_null(strstr(s->diags.at[0]->text, rows[i].looks));
        t2o_session_free(s);
    }
}

/* Wherever a file is cut, there is an error and nothing is read behind the cut (the sanitizers
 * watch the copy). */
static void test_truncation(void **state)
{
    (void)state;
    opened o = open_model("mlp", NULL);
    for (size_t n = 1; n < o.file->size; n += 61) {
        t2o_session *s = t2o_session_new();
        uint8_t *copy = malloc(n);
        memcpy(copy, o.file->bytes, n);
        t2o_file f = { .path = "cut", .bytes = copy, .size = n };
        assert_null(t2o_pt2_read(s, t2o_exprs_new(s), &f, NULL));
        assert_true(t2o_failed(s));
        t2o_session_free(s);
        free(copy);
    }
    close_model(&o);
}

/* Text inside the archive can be changed without breaking the zip: stored records carry no check
 * that is read. */
static const struct {
    const char *from, *to, *code, *says;
} forged_rows[] = {
    { "{\"as_tensor\": {\"name\": \"relu\"}}", "{\"as_tensor\": {\"name\": \"rely\"}}", "E0504",
      "not defined" },
    { "\"name\": \"linear_1\"}}]", "\"name\": \"relu\"    }}]", "E0504", "defined twice" },
    { "\"major\": 8", "\"major\": 9", "E0506", "schema version 9.20 (PyTorch 2.13.0+cpu), which is newer than" },
    { "\"major\": 8", "\"major\": 5", "E0506", "schema version 5.20 (PyTorch 2.13.0+cpu), which is older than" },
    { "\"outputs\": [{", "\"outpost\": [{", "E0504", "'outputs' is missing" },
    { "\"parameter_name\": \"fc1.weight\"", "\"parameter_name\": \"fc2.weight\"", "E0504",
      "its data are not" },
    { "\"path_name\": \"weight_0\"", "\"path_name\": \"weight_9\"", "E0507",
      "no record 'weight_9'" },
    { "\"strides\": [{\"as_int\": 4}", "\"strides\": [{\"as_int\": 9}", "E0507", "needs" },
    { "\"parameter\": {\"arg\"", "\"parametre\": {\"arg\"", "E0504", "unknown kind of entry" },
    { "\"dtype\": 7", "\"dtype\": 6", "E0504", "its data are not" },
    { "\"graph_module\"", "\"graph_modulo\"", "E0504", "'graph_module' is missing" },
};

static void replace(uint8_t *bytes, size_t size, const char *from, const char *to, bool all)
{
    size_t n = strlen(from);
    assert_int_equal(n, strlen(to));
    uint8_t *at = memmem(bytes, size, from, n);
    assert_non_null(at);
    for (; at; at = all ? memmem(at, size - (size_t)(at - bytes), from, n) : NULL)
        memcpy(at, to, n);
}

static void test_forged_programs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(forged_rows); i++) {
        opened o = open_model("mlp", NULL);
        t2o_session *s = t2o_session_new();
        uint8_t *copy = malloc(o.file->size);
        memcpy(copy, o.file->bytes, o.file->size);
        replace(copy, o.file->size, forged_rows[i].from, forged_rows[i].to, false);
        t2o_file f = { .path = "forged", .bytes = copy, .size = o.file->size };
        assert_null(t2o_pt2_read(s, t2o_exprs_new(s), &f, NULL));
        assert_string_equal(s->diags.at[0]->code, forged_rows[i].code);
        assert_non_null(strstr(s->diags.at[0]->text, forged_rows[i].says));
        t2o_session_free(s);
        free(copy);
        close_model(&o);
    }
}

typedef struct forged {
    t2o_session *s;
    uint8_t *copy;
    t2o_program *p;
} forged;

static forged forge(const char *name, const char *from, const char *to, bool all)
{
    opened o = open_model(name, NULL);
    forged f = { t2o_session_new(), malloc(o.file->size), NULL };
    t2o_file *file = T2O_NEW(f.s->arena, t2o_file);
    memcpy(f.copy, o.file->bytes, o.file->size);
    replace(f.copy, o.file->size, from, to, all);
    *file = (t2o_file){ .path = "forged", .bytes = f.copy, .size = o.file->size };
    close_model(&o);
    f.p = t2o_pt2_read(f.s, t2o_exprs_new(f.s), file, NULL);
    return f;
}

static void close_forged(forged *f)
{
    t2o_session_free(f->s);
    free(f->copy);
}

static void test_unknown_tag_is_kept(void **state)
{
    (void)state;
    forged f = forge("mlp", "{\"as_string\": \"tanh\"}", "{\"as_strong\": \"tanh\"}", false);
    assert_non_null(f.p);
    const t2o_arg *arg = t2o_node_attr(node_named(f.p->graph, "gelu"), "approximate");
    assert_int_equal(arg->kind, T2O_ARG_UNKNOWN);
    assert_string_equal(arg->text, "{\"as_strong\":\"tanh\"}");
    close_forged(&f);
}

static void test_newer_minor_schema_is_read(void **state)
{
    (void)state;
    forged f = forge("mlp", "\"minor\": 20", "\"minor\": 99", false);
    assert_non_null(f.p);
    assert_int_equal(f.s->diags.n, 1);
    assert_int_equal(f.s->diags.at[0]->severity, T2O_WARNING);
    assert_non_null(strstr(f.s->diags.at[0]->text, "schema version 8.99"));
    close_forged(&f);
}

/* In the archive's own record, and in those of the pickles inside. */
static void test_byte_order_is_named(void **state)
{
    (void)state;
    static const char *const files[] = { "mlp", "t28_tied", "t26_tied" };
    for (size_t i = 0; i < COUNT(files); i++) {
        forged f = forge(files[i], "little", "bigbig", true);
        assert_null(f.p);
        assert_string_equal(f.s->diags.at[0]->code, "E0506");
        assert_non_null(strstr(f.s->diags.at[0]->text, "byte order 'big"));
        close_forged(&f);
    }
}

/* ---- JSON ---- */

static void test_json_numbers(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": 9223372036854775807, \"b\": -9223372036854775808, \"c\": NaN, \"d\": -Infinity, "
        "\"e\": \"Infinity\", \"f\": 99999999999999999999, \"g\": 0.30000000000000004, "
        "\"h\": \"NaN \\\" -Infinity 99999999999999999999\", \"i\": null, \"j\": [1, 1e-45]}";
    t2o_session *s = t2o_session_new();
    t2o_json_doc *d = t2o_json_parse(s, "text", (const uint8_t *)text, strlen(text));
    int64_t i;
    double f;
    const char *t;
    assert_true(t2o_json_int(d, t2o_json_get(d, d->root, "a"), &i) && i == INT64_MAX);
    assert_true(t2o_json_int(d, t2o_json_get(d, d->root, "b"), &i) && i == INT64_MIN);
    assert_true(t2o_json_double(d, t2o_json_get(d, d->root, "c"), &f) && isnan(f));
    assert_true(t2o_json_double(d, t2o_json_get(d, d->root, "d"), &f) && f == (double)-INFINITY);
    assert_true(t2o_json_double(d, t2o_json_get(d, d->root, "e"), &f) && f == (double)INFINITY);
    assert_true(t2o_json_int_clamped(d, t2o_json_get(d, d->root, "f"), &i) && i == INT64_MAX);
    assert_true(t2o_json_int_clamped(d, t2o_json_get(d, d->root, "d"), &i) && i == INT64_MIN);
    assert_true(t2o_json_double(d, t2o_json_get(d, d->root, "f"), &f) && f == 1e20);
    assert_true(t2o_json_double(d, t2o_json_get(d, d->root, "g"), &f) && f == 0.1 + 0.2);
    assert_true(t2o_json_text(d, t2o_json_get(d, d->root, "h"), &t));
    assert_string_equal(t, "NaN \" -Infinity 99999999999999999999");
    assert_null(t2o_json_find(d->root, "i"));
    assert_string_equal(t2o_json_raw(d, t2o_json_find(d->root, "a")), "9223372036854775807");
    assert_false(t2o_failed(s));
    assert_false(t2o_json_int(d, t2o_json_get(d, d->root, "f"), &i));
    assert_string_equal(s->diags.at[0]->notes.at[0], "text: f");
    assert_false(t2o_json_bool(d, t2o_json_first(t2o_json_find(d->root, "j")), &(bool){ false }));
    assert_string_equal(s->diags.at[1]->notes.at[0], "text: j[0]");
    t2o_session_free(s);
}

static void test_json_malformed(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "", "{", "[1,]", "{\"a\": }", "{\"a\": 1} x", "\"abc", "\"\\u0000\"", "\"\xff\"",
        "\"\xc0\x80\"", "[1 2]", "nul", "\"\xed\xa0\x80\"", "-", "[Infinit]", "\"\\",
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_session *s = t2o_session_new();
        assert_null(t2o_json_parse(s, "text", (const uint8_t *)rows[i], strlen(rows[i])));
        assert_string_equal(s->diags.at[0]->code, "E0504");
        t2o_session_free(s);
    }
    t2o_session *s = t2o_session_new();
    char *deep = t2o_alloc(s->arena, 100000);
    memset(deep, '[', 100000);
    assert_null(t2o_json_parse(s, "deep", (const uint8_t *)deep, 100000));
    t2o_session_free(s);
}

/* ---- views ---- */

static void test_view_bounds(void **state)
{
    (void)state;
    static const struct { t2o_view view; size_t size; const char *code; } rows[] = {
        { { T2O_FLOAT32, 1, { 4 }, { 1 }, 0 }, 16, NULL },
        { { T2O_FLOAT32, 1, { 4 }, { 1 }, 1 }, 16, "E0507" },
        { { T2O_FLOAT32, 1, { 4 }, { 1 }, -1 }, 16, "E0504" },
        { { T2O_FLOAT32, 1, { 4 }, { -1 }, 3 }, 16, "E0504" },
        { { T2O_FLOAT32, 2, { INT64_MAX, 2 }, { 0, 0 }, 0 }, 16, "E0504" },
        { { T2O_FLOAT32, 1, { 2 }, { INT64_MAX }, 1 }, 16, "E0507" },
        { { T2O_FLOAT32, 1, { 1 }, { 1 }, INT64_MAX }, 16, "E0507" },
        { { T2O_FLOAT32, 2, { 0, INT64_MAX }, { 1, 1 }, INT64_MAX }, 0, NULL },
        { { T2O_NO_DTYPE, 0, { 0 }, { 0 }, 0 }, 16, "E0504" },
    };
    static const uint8_t bytes[16];
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_session *s = t2o_session_new();
        t2o_storage storage = { bytes, rows[i].size, false };
        const t2o_tensor *t = t2o_storage_view(s, "it", &storage, &rows[i].view);
        assert_int_equal(t == NULL, rows[i].code != NULL);
        if (rows[i].code)
            assert_string_equal(s->diags.at[0]->code, rows[i].code);
        t2o_session_free(s);
    }
}

/* ---- sample inputs ---- */

static const t2o_pickle *at(const t2o_pickle *p, size_t i)
{
    assert_true(i < p->n);
    return p->items[i];
}

static void test_samples(void **state)
{
    (void)state;
    opened o = open_model("pickle_zoo", NULL);
    const t2o_pickle *p;
    assert_true(t2o_pt2_samples(o.s, o.file, NULL, &p));
    assert_int_equal(p->kind, T2O_PICKLE_TUPLE);
    assert_int_equal(p->n, 2);
    const t2o_pickle *args = at(p, 0);
    assert_int_equal(args->n, 8);
    assert_int_equal(at(args, 2)->tensor->dtype, T2O_FLOAT8_E5M2);
    assert_int_equal(at(args, 3)->tensor->dtype, T2O_BFLOAT16);
    /* A conjugated tensor: its bytes are not its values. */
    assert_int_equal(at(args, 4)->kind, T2O_PICKLE_OPAQUE);
    const t2o_pickle *list = at(at(args, 6), 3);
    assert_int_equal(list->kind, T2O_PICKLE_LIST);
    assert_true(at(list, 1)->i == -5 && at(list, 3)->i == (int64_t)1 << 40);
    const t2o_pickle *deep = at(at(at(args, 7), 1), 1);
    assert_true(at(deep, 0)->kind == T2O_PICKLE_FLOAT && at(deep, 0)->f == 1.5);
    assert_string_equal(at(deep, 3)->text, "\xc3\xbc");
    assert_int_equal(at(p, 1)->kind, T2O_PICKLE_DICT);
    close_model(&o);

    o = open_model("no_inputs", NULL);
    assert_true(t2o_pt2_samples(o.s, o.file, NULL, &p));
    assert_null(p);
    close_model(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_op_names),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_weight_bytes_are_in_the_map),
        cmocka_unit_test(test_tied_weights_share_bytes),
        cmocka_unit_test(test_fake_weights_have_no_data),
        cmocka_unit_test(test_refused_archives),
        cmocka_unit_test(test_subclass_weights),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_forged_programs),
        cmocka_unit_test(test_unknown_tag_is_kept),
        cmocka_unit_test(test_newer_minor_schema_is_read),
        cmocka_unit_test(test_byte_order_is_named),
        cmocka_unit_test(test_json_numbers),
        cmocka_unit_test(test_json_malformed),
        cmocka_unit_test(test_view_bounds),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests_name("pt2", tests, NULL, NULL);
}
