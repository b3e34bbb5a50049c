/* test_pass.c: the passes, as rows of program text before and after.
 *
 *     in x; y = clone x; r = add_ y x; out r
 *
 * A statement is `results = op operands`; ops are aten's. A star is before an operand that is given by keyword.
 * Weights are inputs that begin with w. A body stands in brackets behind the op: `y = if [in a; b = relu a; out b] x`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pass/pass.h"

#include <stdio.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- programs from text ---- */

typedef struct fixture {
    t2o_session *s;
    t2o_exprs *exprs;
} fixture;

static int setup(void **state)
{
    static fixture f;
    f.s = t2o_session_new();
    f.exprs = t2o_exprs_new(f.s);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    t2o_session_free(((fixture *)*state)->s);
    return 0;
}

typedef struct reader {
    fixture *f;
    const char *p;
    const char *prefix; /* of ops without a namespace */
} reader;

static const char *word(reader *in)
{
    in->p += strspn(in->p, " ");
    size_t n = strcspn(in->p, " ;[]");
    const char *text = t2o_intern_n(in->f->s, in->p, n);
    in->p += n;
    in->p += strspn(in->p, " ");
    return text;
}

static t2o_value *new_value(t2o_graph *g, const char *name)
{
    const t2o_expr *n = t2o_expr_symbol(g->exprs, "n");
    return t2o_value_new(g, T2O_VALUE_TENSOR, name, T2O_FLOAT32, 1, &n);
}

/* The latest value of this name in the graph or in those around it. */
static t2o_value *known(t2o_graph *g, const char *name)
{
    for (; g; g = g->parent)
        for (size_t i = g->values.n; i-- > 0;)
            if (g->values.at[i]->name == name)
                return g->values.at[i];
    fail_msg("no value %s", name);
    return NULL;
}

static t2o_graph *read_graph(reader *in, t2o_graph *parent);

static void read_statement(reader *in, t2o_graph *g)
{
    t2o_arena *a = g->s->arena;
    T2O_VEC(t2o_value *) outputs = { 0 }, inputs = { 0 };
    T2O_VEC(t2o_attr) attrs = { 0 };
    while (*in->p != '=' && *in->p != ';' && *in->p)
        t2o_push(a, &outputs, new_value(g, word(in)));
    assert_int_equal(*in->p, '=');
    in->p++;
    const char *op = word(in);
    op = strstr(op, "::") ? op : t2o_printf(a, "%s%s", in->prefix, op);
    while (*in->p && *in->p != ';' && *in->p != ']') {
        t2o_attr attr = { .name = "" };
        if (*in->p == '[') {
            in->p++;
            attr.arg = (t2o_arg){ .kind = T2O_ARG_GRAPH, .graph = read_graph(in, g) };
            assert_int_equal(*in->p++, ']');
            in->p += strspn(in->p, " ");
        } else {
            const char *name = word(in);
            if (!strcmp(name, "True") || !strcmp(name, "False"))
                attr.arg = (t2o_arg){ .kind = T2O_ARG_BOOL, .b = name[0] == 'T' };
            else {
                attr.name = inputs.n ? "other" : "self";
                attr.keyword = name[0] == '*';
                name = t2o_intern(in->f->s, name + attr.keyword);
                attr.arg = (t2o_arg){ .kind = T2O_ARG_VALUE, .index = (uint32_t)inputs.n };
                t2o_push(a, &inputs, known(g, name));
            }
        }
        t2o_push(a, &attrs, attr);
    }
    t2o_node_new(g, NULL, op, inputs.at, (uint32_t)inputs.n, attrs.at, (uint32_t)attrs.n, outputs.at,
                 (uint32_t)outputs.n);
}

static t2o_graph *read_graph(reader *in, t2o_graph *parent)
{
    t2o_graph *g = t2o_graph_new(in->f->s, in->f->exprs, "body");
    g->parent = parent;
    for (;;) {
        const char *start = in->p, *first = word(in);
        if (!strcmp(first, "in"))
            while (*in->p && *in->p != ';' && *in->p != ']') {
                t2o_value *v = new_value(g, word(in));
                v->target = v->name[0] == 'w' ? v->name : NULL;
                t2o_push(g->s->arena, &g->inputs, v);
            }
        else if (!strcmp(first, "out"))
            while (*in->p && *in->p != ';' && *in->p != ']')
                t2o_push(g->s->arena, &g->outputs, ((t2o_output_spec){ .value = known(g, word(in)) }));
        else {
            in->p = start;
            read_statement(in, g);
        }
        if (*in->p != ';')
            return g;
        in->p += 1 + strspn(in->p + 1, " ");
    }
}

static t2o_graph *program(fixture *f, const char *text, const char *prefix)
{
    reader in = { f, text, prefix };
    t2o_graph *g = read_graph(&in, NULL);
    assert_int_equal(*in.p, '\0');
    return g;
}

/* ---- text from programs ---- */

static const char *graph_text(const t2o_graph *g, const char *prefix);

static const char *node_text(const t2o_node *n, const char *prefix)
{
    t2o_arena *a = n->graph->s->arena;
    const char *text = "";
    for (uint32_t i = 0; i < n->n_outputs; i++)
        text = t2o_printf(a, "%s%s ", text, n->outputs[i] ? n->outputs[i]->name : "-");
    bool brief = !strncmp(n->op, prefix, strlen(prefix));
    text = t2o_printf(a, "%s= %s", text, brief ? n->op + strlen(prefix) : n->op);
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (n->attrs[i].arg.kind == T2O_ARG_GRAPH) {
            assert_ptr_equal(n->attrs[i].arg.graph->parent, n->graph);
            text = t2o_printf(a, "%s [%s]", text, graph_text(n->attrs[i].arg.graph, prefix));
        }
    for (uint32_t i = 0; i < n->n_inputs; i++)
        text = t2o_printf(a, "%s %s", text, n->inputs[i] ? n->inputs[i]->name : "-");
    return text;
}

static const char *graph_text(const t2o_graph *g, const char *prefix)
{
    t2o_arena *a = g->s->arena;
    const char *text = "in";
    for (size_t i = 0; i < g->inputs.n; i++)
        text = t2o_printf(a, "%s %s", text, g->inputs.at[i]->name);
    for (const t2o_node *n = g->first; n; n = n->next) {
        assert_ptr_equal(n->graph, g);
        for (uint32_t i = 0; i < n->n_outputs; i++)
            assert_ptr_equal(n->outputs[i]->producer, n);
        text = t2o_printf(a, "%s; %s", text, node_text(n, prefix));
    }
    text = t2o_printf(a, "%s; out", text);
    for (size_t i = 0; i < g->outputs.n; i++)
        text = t2o_printf(a, "%s %s", text, g->outputs.at[i].value->name);
    for (size_t i = 0; i < g->values.n; i++) { /* as passes leave it */
        assert_null(g->values.at[i]->twin);
        assert_int_equal(g->values.at[i]->mark, 0);
        assert_int_equal(g->values.at[i]->id, i);
    }
    return text;
}

/* ---- regions ---- */

#define NO_GRAD "higher_order::wrap_with_set_grad_enabled"
#define AUTOCAST "higher_order::wrap_with_autocast"

static const struct { const char *before, *after; } inline_rows[] = {
    { "in x; y = relu x; out y", "in x; y = relu x; out y" },
    { "in x; y = " NO_GRAD " False [in a; b = relu a; out b] x; z = abs y; out z",
      "in x; b = relu x; z = abs b; out z" },
    /* in the middle, several operands and results, one of which passes through */
    { "in x; k = neg x; p q = " NO_GRAD " False [in a b; c = add a b; out c b] k x; z = mul p q; out z p q",
      "in x; k = neg x; c = add k x; z = mul c x; out z c x" },
    /* two in turn, the second takes what the first gives */
    { "in x; y = " NO_GRAD " False [in a; b = relu a; out b] x; z = " NO_GRAD " True [in a; c = abs a; out c] y; out z",
      "in x; b = relu x; c = abs b; out c" },
    /* one in another */
    { "in x; y = " NO_GRAD " False [in a; b = relu a; c = " NO_GRAD " True [in d; e = abs d; out e] b; f = neg c; "
      "out f] x; out y",
      "in x; b = relu x; e = abs b; f = neg e; out f" },
    /* an empty body */
    { "in x; y = " NO_GRAD " False [in a; out a] x; z = relu y; out y z", "in x; z = relu x; out x z" },
    /* a body without results is kept for what it asserts */
    { "in x; = " NO_GRAD " False [in a; = check a; out] x; out x", "in x; = check x; out x" },
    /* the branches of a condition stay, what they hold is put in place */
    { "in x; y = if [in a; b = " NO_GRAD " False [in c; d = relu c; out d] a; out b] x; out y",
      "in x; y = if [in a; d = relu a; out d] x; out y" },
    /* and a condition within a region moves with it */
    { "in x; y = " NO_GRAD " False [in a; b = if [in c; d = relu c; out d] a; out b] x; out y",
      "in x; b = if [in c; d = relu c; out d] x; out b" },
    { "in x; y = " AUTOCAST " False False False False [in a; b = relu a; out b] x; out y",
      "in x; b = relu x; out b" },
};

static void regions_are_put_in_place(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(inline_rows); i++) {
        t2o_graph *g = program(f, inline_rows[i].before, "aten::");
        assert_true(t2o_pass_inline(g));
        assert_string_equal(graph_text(g, "aten::"), inline_rows[i].after);
    }
}

static const struct { const char *before, *code, *says; } inline_refused[] = {
    { "in x; y = " AUTOCAST " True False True False [in a; out a] x; out y", "E0504", "no device" },
    { "in x; y = " NO_GRAD " False x; out y", "E0504", "no body" },
    { "in x; y = " NO_GRAD "; out y", "E0504", "no body" },
    { "in x; y = " NO_GRAD " False [in a b; out a] x; out y", "E0504", "does not fit" },
    { "in x; y = " NO_GRAD " False [in a; out a a] x; out y", "E0504", "does not fit" },
    { "in x; y = if [in a; b = " NO_GRAD " False a; out b] x; out y", "E0504", "no body" },
};

static void regions_that_do_not_fit_are_refused(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(inline_refused); i++) {
        t2o_graph *g = program(f, inline_refused[i].before, "aten::");
        for (t2o_node *n = g->first; n; n = n->next)
            n->name = "region";
        assert_false(t2o_pass_inline(g));
        const t2o_diag *d = f->s->diags.at[f->s->diags.n - 1];
        assert_string_equal(d->code, inline_refused[i].code);
        assert_non_null(strstr(d->text, inline_refused[i].says));
    }
}

/* ---- in-place ops ---- */

/* window: a view with an inverse that needs the base; turn: one that needs the changed view only; fixed: without an
 * inverse; maybe: a view or a copy; same, same_: the tensor itself; turn_: in place, but a view. */
static int view_kind(void *ctx, const t2o_node *n)
{
    (void)ctx;
    static const struct { const char *op; int kind; } kinds[] = {
        { "aten::window", 1 }, { "aten::turn", 1 }, { "aten::turn_", 1 }, { "aten::fixed", 1 },
        { "aten::pair", 1 },   { "aten::same", 2 }, { "aten::same_", 2 }, { "aten::maybe", 3 },
        { "aten::train", 4 },
    };
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (!strcmp(kinds[i].op, n->op))
            return kinds[i].kind;
    return 0;
}

static t2o_value *rebuild(void *ctx, const t2o_node *view, uint32_t output, t2o_value *base, t2o_value *changed,
                          t2o_node *before)
{
    t2o_graph *g = ctx;
    if (t2o_op_is(view, "aten::fixed"))
        return NULL;
    bool turn = !strncmp(view->op, "aten::turn", 10);
    t2o_value *inputs[] = { turn ? changed : base, changed };
    t2o_value *out = new_value(g, t2o_printf(g->s->arena, "%s'", base->name));
    const char *op = turn ? "aten::turn_back" : t2o_printf(g->s->arena, "aten::put%u", output);
    t2o_node_new(g, before, op, inputs, turn ? 1 : 2, NULL, 0, &out, 1);
    return out;
}

static const char *without_out(void *ctx, const t2o_node *n, bool *takes_dtype)
{
    (void)ctx;
    *takes_dtype = false;
    return t2o_op_is(n, "aten::add.out") ? "aten::add" : t2o_op_is(n, "aten::both.out") ? "aten::both" : NULL;
}

/* train: gives `trained x`, and the second operand holds `step s` afterwards */
static bool effects(void *ctx, t2o_node *n, t2o_value **results, t2o_value **written)
{
    t2o_graph *g = ctx;
    results[0] = new_value(g, t2o_printf(g->s->arena, "%s'", n->outputs[0]->name));
    written[1] = new_value(g, t2o_printf(g->s->arena, "%s'", n->inputs[1]->name));
    t2o_node_new(g, n, "aten::trained", n->inputs, 1, NULL, 0, results, 1);
    t2o_node_new(g, n, "aten::step", n->inputs + 1, 1, NULL, 0, written + 1, 1);
    return true;
}

static bool functional(t2o_graph *g)
{
    t2o_view_oracle views = { view_kind, without_out, rebuild, effects, g };
    return t2o_pass_functional(g, &views);
}

static const struct { const char *before, *after; } functional_rows[] = {
    { "in x; y = relu x; out y", "in x; y = relu x; out y" },
    /* arguments that are written beside */
    { "in x; s = clone x; y = train x s; z = train y s; out z s",
      "in x; s = clone x; y' = trained x; s' = step s; z' = trained y'; s'' = step s'; "
      "out z' s''" },
    /* names */
    { "in x; y = clone x; r = add_.Tensor y x; out r", "in x; y = clone x; r = add.Tensor y x; out r" },
    { "in x; y = clone x; r = __iand__.Tensor y x; out r", "in x; y = clone x; r = __and__.Tensor y x; out r" },
    { "in x; y = clone x; r = _foo_ y; s = mylib::bump_ r; out s",
      "in x; y = clone x; r = _foo_ y; s = mylib::bump_ r; out s" },
    /* the written tensor is read as what was written */
    { "in x; y = clone x; r = relu_ y; z = abs y; out z", "in x; y = clone x; r = relu y; z = abs r; out z" },
    { "in x; y = clone x; r = relu_ y; s = neg_ y; out y r s",
      "in x; y = clone x; r = relu y; s = neg r; out s s s" },
    { "in x; y = clone x; r = add_ y y; out r", "in x; y = clone x; r = add y y; out r" },
    /* what was read before the write keeps the old */
    { "in x; y = clone x; z = abs y; r = relu_ y; out z y", "in x; y = clone x; z = abs y; r = relu y; out z r" },
    /* another name of the same tensor */
    { "in x; y = clone x; d = same y; r = relu_ d; out y d",
      "in x; y = clone x; d = same y; r = relu y; out r r" },
    { "in x; y = clone x; d = same_ y; r = relu_ y; z = abs d; out z",
      "in x; y = clone x; d = same_ y; r = relu y; z = abs r; out z" },
    /* a view whose base is not read again */
    { "in x; y = clone x; v = window y; r = relu_ v; out v", "in x; y = clone x; v = window y; r = relu v; out r" },
    { "in x; y = clone x; v = fixed y; r = relu_ v; out r", "in x; y = clone x; v = fixed y; r = relu v; out r" },
    /* a view that is read again only before the write */
    { "in x; y = clone x; v = fixed y; z = abs v; r = relu_ y; out z y",
      "in x; y = clone x; v = fixed y; z = abs v; r = relu y; out z r" },
    /* a write through a view rebuilds its base */
    { "in x; y = clone x; v = window y; r = relu_ v; out y",
      "in x; y = clone x; v = window y; r = relu v; y' = put0 y r; out y'" },
    { "in x; y = clone x; v = window y; u = turn v; r = relu_ u; z = abs y; out z",
      "in x; y = clone x; v = window y; u = turn v; r = relu u; v' = turn_back r; y' = put0 y v'; z = abs y'; out z" },
    { "in x; y = clone x; p q = pair y; r = relu_ q; out y",
      "in x; y = clone x; p q = pair y; r = relu q; y' = put1 y r; out y'" },
    /* a write to the base shows in views that are read later */
    { "in x; y = clone x; v = window y; r = relu_ y; out v",
      "in x; y = clone x; v = window y; r = relu y; v = window r; out v" },
    { "in x; y = clone x; v = fixed y; r = relu_ y; z = abs v; out z",
      "in x; y = clone x; v = fixed y; r = relu y; v = fixed r; z = abs v; out z" },
    /* and a write through one view shows in another */
    { "in x; y = clone x; v = window y; u = turn y; r = relu_ v; out u",
      "in x; y = clone x; v = window y; u = turn y; r = relu v; y' = put0 y r; u = turn y'; out u" },
    { "in x; y = clone x; v = window y; r = relu_ v; s = neg_ v; out y",
      "in x; y = clone x; v = window y; r = relu v; y' = put0 y r; s = neg r; y'' = put0 y' s; out y''" },
    { "in x; y = clone x; v = window y; r = relu_ v; s = neg_ y; out v",
      "in x; y = clone x; v = window y; r = relu v; y' = put0 y r; s = neg y'; v = window s; out v" },
    /* in place, but only another form of the same memory */
    { "in x; y = clone x; v = turn_ y; r = relu_ v; out y",
      "in x; y = clone x; v = turn y; r = relu v; y' = turn_back r; out y'" },
    { "in x; y = clone x; u = window y; v = turn_ y; r = relu_ v; out u",
      "in x; y = clone x; u = window y; v = turn y; r = relu v; y' = turn_back r; u = window y'; out u" },
    /* what may be a copy, and is not read again */
    { "in x; y = clone x; v = maybe y; r = relu_ v; out r", "in x; y = clone x; v = maybe y; r = relu v; out r" },
    { "in x; y = clone x; v = maybe y; z = abs v; r = relu_ y; out z r",
      "in x; y = clone x; v = maybe y; z = abs v; r = relu y; out z r" },
    /* operands that are written; the pure op is left */
    { "in x; y = clone x; r = add.out x x *y; out r y", "in x; y = clone x; r = add x x; out r r" },
    { "in x w; r = add.out x w *w; out r", "in x w; r = add x w; out r r" },
    { "in x w; v = window w; r = add.out x x *v; out x", "in x w; v = window w; r = add x x; w' = put0 w r; out x w'" },
    { "in x; y = clone x; p q = pair y; r s = both.out x *p *q; out y",
      "in x; y = clone x; p q = pair y; r s = both x; y' = put0 y r; y'' = put1 y' s; out y''" },
    { "in x; y = clone x; p q = pair y; r s = both.out x *p *q; z = abs p; out z s",
      "in x; y = clone x; p q = pair y; r s = both x; y' = put0 y r; y'' = put1 y' s; p q = pair y''; z = abs p; "
      "out z q" },
    { "in x; y = clone x; r = mul.other x *y; out r y", "in x; y = clone x; r = mul.other x y; out r y" },
    /* inputs and state: what they hold in the end is an output behind the program's own */
    { "in x; r = relu_ x; out r", "in x; r = relu x; out r r" },
    { "in x; r = relu_ x; out x", "in x; r = relu x; out r r" },
    { "in w x; r = add_ w x; out r", "in w x; r = add w x; out r r" },
    { "in x; v = same x; r = relu_ v; out r", "in x; v = same x; r = relu x; out r r" },
    { "in x; v = window x; r = relu_ v; out r",
      "in x; v = window x; r = relu v; x' = put0 x r; out r x'" },
    /* bodies */
    { "in x; y = if [in a; b = clone a; r = relu_ b; out b] x; out y",
      "in x; y = if [in a; b = clone a; r = relu b; out r] x; out y" },
};

static void in_place_ops_become_pure(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(functional_rows); i++) {
        t2o_graph *g = program(f, functional_rows[i].before, "aten::");
        if (!functional(g))
            fail_msg("%s: %s", functional_rows[i].before, f->s->diags.at[f->s->diags.n - 1]->text);
        assert_string_equal(graph_text(g, "aten::"), functional_rows[i].after);
    }
}

static const struct { const char *before, *says; } functional_refused[] = {
    { "in x; v = maybe x; r = relu_ v; out r", "'v', which may share memory with 'x'" },
    /* no inverse, and the base is read later */
    { "in x; y = clone x; v = fixed y; r = relu_ v; out y", "'v', which may share memory with 'y'" },
    { "in x; y = clone x; v = fixed y; u = window v; r = relu_ u; z = abs y; out z", "'u'" },
    /* not known whether it shares memory */
    { "in x; y = clone x; v = maybe y; r = relu_ v; out y", "'v', which may share memory with 'y'" },
    { "in x; y = clone x; v = maybe y; r = relu_ y; out v", "'y', which may share memory with 'v'" },
    { "in x; y = clone x; v = maybe y; u = window v; r = relu_ u; out y", "'u'" },
    { "in x; v = maybe x; r = add.out x x *v; out r", "'v', which may share memory with 'x'" },
    { "in x; y = if [in a; r = relu_ a; out r] x; out y", "'a', an operand of the body" },
};

static void writes_to_shared_memory_are_refused(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(functional_refused); i++) {
        t2o_graph *g = program(f, functional_refused[i].before, "aten::");
        if (functional(g))
            fail_msg("%s gives %s", functional_refused[i].before, graph_text(g, "aten::"));
        const t2o_diag *d = f->s->diags.at[f->s->diags.n - 1];
        assert_string_equal(d->code, "E0304");
        if (!strstr(d->text, functional_refused[i].says))
            fail_msg("%s: %s", functional_refused[i].before, d->text);
        assert_non_null(d->hint);
    }
}

static void all_refused_writes_are_reported(void **state)
{
    fixture *f = *state;
    const char *two = "in x; v = maybe x; u = maybe x; r = relu_ v; s = neg_ u; out r s";
    assert_false(functional(program(f, two, "aten::")));
    assert_int_equal(f->s->diags.n, 2);
}

static void in_place_nodes_are_marked(void **state)
{
    fixture *f = *state;
    t2o_graph *g = program(f, "in x; y = clone x; r = add_ y x; v = turn_ r; out v", "aten::");
    assert_true(functional(g));
    assert_false(g->first->inplace);
    assert_true(g->first->next->inplace); /* its result has the dtype of self */
    assert_false(g->last->inplace);
}

/* ---- dead code ---- */

static t2o_value *constant(t2o_graph *g, const char *name, const float *data, int64_t n)
{
    t2o_tensor *t = T2O_NEW(g->s->arena, t2o_tensor);
    int64_t *dims = T2O_NEW(g->s->arena, int64_t);
    dims[0] = n;
    *t = (t2o_tensor){ .dtype = T2O_FLOAT32, .rank = 1, .dims = dims, .data = (const uint8_t *)data,
                       .available = (size_t)n * 4 };
    return t2o_constant_new(g, name, t);
}

static const struct { const char *before, *after; } dead_rows[] = {
    { "in x; y = Relu x; out y", "in x; y = Relu x; out y" },
    { "in x; y = Relu x; z = Abs x; out y", "in x; y = Relu x; out y" },
    { "in x; y = Relu x; z = Abs y; u = Neg z; out y", "in x; y = Relu x; out y" },
    { "in x k; y = Relu x; out y", "in x k; y = Relu x; out y" }, /* inputs stay */
    { "in x; y z = Split x; out z", "in x; y z = Split x; out z" },
    { "in x; = Print x; out x", "in x; = Print x; out x" }, /* what gives nothing is kept for what it does */
    { "in x; a = Neg x; b = Abs x; y = If [in; c = Relu a; d = Sqrt b; out c] x; out y",
      "in x; a = Neg x; y = If [in; c = Relu a; out c] x; out y" },
    { "in x; a = Neg x; y = If [in; out a] x; z = Abs x; out z", "in x; z = Abs x; out z" },
};

static void what_no_output_needs_goes(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(dead_rows); i++) {
        t2o_graph *g = program(f, dead_rows[i].before, "onnx::");
        t2o_pass_dead_code(g);
        assert_string_equal(graph_text(g, "onnx::"), dead_rows[i].after);
    }
}

static void constants_without_readers_go(void **state)
{
    fixture *f = *state;
    static const float one[] = { 1 };
    t2o_graph *g = program(f, "in x; y = If [in; out] x; z = Relu x; out z y", "onnx::");
    t2o_graph *body = g->first->attrs[0].arg.graph;
    t2o_value *read = constant(g, "read", one, 1), *inside = constant(g, "inside", one, 1);
    constant(g, "unread", one, 1);
    constant(body, "unread_in_body", one, 1);
    t2o_value *own = constant(body, "own", one, 1), *y = new_value(g, "u");
    t2o_push(f->s->arena, &body->outputs, ((t2o_output_spec){ .value = own }));
    t2o_push(f->s->arena, &body->outputs, ((t2o_output_spec){ .value = inside }));
    t2o_node_new(g, NULL, "onnx::Neg", &read, 1, NULL, 0, &y, 1);
    t2o_push(f->s->arena, &g->outputs, ((t2o_output_spec){ .value = y }));
    t2o_pass_dead_code(g);
    assert_int_equal(g->constants.n, 2);
    assert_ptr_equal(g->constants.at[0], read);
    assert_ptr_equal(g->constants.at[1], inside);
    assert_int_equal(body->constants.n, 1);
    assert_ptr_equal(body->constants.at[0], own);
    graph_text(g, "onnx::"); /* checks the marks */
}

/* ---- shared constants ---- */

static void equal_constants_become_one(void **state)
{
    fixture *f = *state;
    static const float one[] = { 1, 2 }, same[] = { 1, 2 }, other[] = { 1, 3 }, minus_zero[] = { -0.0f, 0 },
                       zero[] = { 0, 0 };
    t2o_graph *g = program(f, "in x; out x", "onnx::");
    t2o_value *a = constant(g, "a", one, 2), *b = constant(g, "b", same, 2);
    t2o_value *inputs[] = { a, b, constant(g, "c", other, 2), constant(g, "d", one, 1), constant(g, "e", minus_zero, 2),
                            constant(g, "f", zero, 2), NULL };
    t2o_value *y = new_value(g, "y");
    t2o_node *n = t2o_node_new(g, NULL, "onnx::Concat", inputs, 7, NULL, 0, &y, 1);
    t2o_push(f->s->arena, &g->outputs, ((t2o_output_spec){ .value = b }));
    t2o_pass_share_constants(g);
    assert_string_equal(node_text(n, "onnx::"), "y = Concat a a c d e f -");
    assert_int_equal(g->constants.n, 5);
    assert_string_equal(graph_text(g, "onnx::"), "in x; y = Concat a a c d e f -; out x a");
}

static void dtypes_and_shapes_tell_constants_apart(void **state)
{
    fixture *f = *state;
    static const uint32_t bits[] = { 7, 7, 7, 7 };
    t2o_graph *g = program(f, "in x; out x", "onnx::");
    static const struct { t2o_dtype dtype; uint32_t rank; int64_t dims[2]; } rows[] = {
        { T2O_FLOAT32, 1, { 4 } }, { T2O_INT32, 1, { 4 } }, { T2O_FLOAT32, 2, { 2, 2 } },
        { T2O_FLOAT32, 2, { 1, 4 } }, { T2O_FLOAT32, 2, { 4, 1 } }, { T2O_INT64, 1, { 2 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_tensor *t = T2O_NEW(f->s->arena, t2o_tensor);
        *t = (t2o_tensor){ .dtype = rows[i].dtype, .rank = rows[i].rank, .dims = rows[i].dims,
                           .data = (const uint8_t *)bits };
        t2o_constant_new(g, NULL, t);
    }
    t2o_pass_share_constants(g);
    assert_int_equal(g->constants.n, COUNT(rows));
}

/* Weights: equal when the same storage is seen the same way; their bytes are not read. */
static void weights_are_shared_by_storage(void **state)
{
    fixture *f = *state;
    static const float storage[4] = { 1, 2, 3, 4 }, copy[4] = { 1, 2, 3, 4 };
    static const struct { const float *data; int64_t strides[2]; bool in_file; size_t kept; } rows[] = {
        { storage, { 2, 1 }, true, 1 },
        { storage, { 2, 1 }, true, 1 },
        { copy, { 2, 1 }, true, 2 },    /* equal bytes elsewhere */
        { storage, { 1, 2 }, true, 3 }, /* transposed */
        { storage, { 1, 2 }, false, 3 },/* the same, as of a deflated archive */
        { storage, { 0, 1 }, false, 4 },/* one row twice: fewer bytes than elements */
        { storage, { 0, 1 }, false, 4 },
        { storage + 2, { 0, 1 }, false, 5 },
    };
    t2o_graph *g = program(f, "in x; out x", "onnx::");
    for (size_t i = 0; i < COUNT(rows); i++) {
        static const int64_t two[] = { 2, 2 };
        t2o_tensor *t = T2O_NEW(f->s->arena, t2o_tensor);
        *t = (t2o_tensor){ .dtype = T2O_FLOAT32, .rank = 2, .dims = two, .strides = rows[i].strides,
                           .data = (const uint8_t *)rows[i].data, .in_file = rows[i].in_file };
        t2o_constant_new(g, "w", t);
        t2o_pass_share_constants(g);
        assert_int_equal(g->constants.n, rows[i].kept);
    }
}

static void constants_without_data_stay(void **state)
{
    fixture *f = *state;
    t2o_graph *g = program(f, "in x; out x", "onnx::");
    constant(g, "a", NULL, 2);
    constant(g, "b", NULL, 2);
    t2o_pass_share_constants(g);
    assert_int_equal(g->constants.n, 2);
}

static void readers_in_bodies_see_the_shared_constant(void **state)
{
    fixture *f = *state;
    static const float one[] = { 1 };
    t2o_graph *g = program(f, "in x; y = If [in; out] x; out y", "onnx::");
    t2o_graph *body = g->first->attrs[0].arg.graph;
    t2o_value *a = constant(g, "a", one, 1), *b = constant(g, "b", one, 1), *r = new_value(body, "r");
    t2o_node_new(body, NULL, "onnx::Relu", &b, 1, NULL, 0, &r, 1);
    t2o_push(f->s->arena, &body->outputs, ((t2o_output_spec){ .value = b }));
    t2o_pass_share_constants(g);
    assert_ptr_equal(body->first->inputs[0], a);
    assert_ptr_equal(body->outputs.at[0].value, a);
}

static const struct { const char *before, *after; } share_rows[] = {
    { "in x; y = Relu x; z = Relu x; u = Add y z; out u", "in x; y = Relu x; u = Add y y; out u" },
    /* one leads to the next */
    { "in x; a = Relu x; b = Relu x; c = Neg a; d = Neg b; y = Add c d; out y",
      "in x; a = Relu x; c = Neg a; y = Add c c; out y" },
    { "in x z; a = Relu x; b = Relu z; c = Add x z; d = Add z x; y = Sum a b c d; out y",
      "in x z; a = Relu x; b = Relu z; c = Add x z; d = Add z x; y = Sum a b c d; out y" },
    { "in x; a b = Split x; c d = Split x; y = Add b d; z = Add a c; out y z",
      "in x; a b = Split x; y = Add b b; z = Add a a; out y z" },
    /* an output keeps its node, and may stand for others */
    { "in x; y = Relu x; z = Relu x; out y z", "in x; y = Relu x; z = Relu x; out y z" },
    { "in x; y = Relu x; z = Relu x; u = Neg z; out y u", "in x; y = Relu x; u = Neg y; out y u" },
    /* by chance, and with a body */
    { "in x; y = Random x; z = Random x; u = Add y z; out u", "in x; y = Random x; z = Random x; u = Add y z; out u" },
    { "in x; a = Relu x; b = Relu x; y = If [in; c = Neg b; d = Neg b; e = Add c d; out e] x; "
      "z = If [in; c = Neg b; out c] x; u = Add y z; out u",
      "in x; a = Relu x; y = If [in; c = Neg a; e = Add c c; out e] x; z = If [in; c = Neg a; out c] x; "
      "u = Add y z; out u" },
};

static bool is_not_random(const t2o_node *n)
{
    return !t2o_op_is(n, "onnx::Random");
}

static void equal_calls_become_one(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < COUNT(share_rows); i++) {
        t2o_graph *g = program(f, share_rows[i].before, "onnx::");
        t2o_pass_share_nodes(g, is_not_random);
        assert_string_equal(graph_text(g, "onnx::"), share_rows[i].after);
    }
}

static void attributes_tell_calls_apart(void **state)
{
    fixture *f = *state;
    t2o_arg one = { .kind = T2O_ARG_INT, .i = 1 }, two = { .kind = T2O_ARG_INT, .i = 2 };
    t2o_arg list = { .kind = T2O_ARG_LIST, .items = &one, .n = 1 };
    t2o_arg text = { .kind = T2O_ARG_STRING, .text = "1", .n = 1 }, real = { .kind = T2O_ARG_FLOAT, .f = 1 };
    t2o_arg zero = { .kind = T2O_ARG_STRING, .text = "a\0b", .n = 3 },
            other = { .kind = T2O_ARG_STRING, .text = "a\0c", .n = 3 };
    const t2o_arg args[] = { one, two, list, text, real, zero, other, one };
    t2o_graph *g = program(f, "in x; out x", "onnx::");
    for (size_t i = 0; i < COUNT(args); i++) {
        t2o_attr attr = { "axis", args[i], false };
        t2o_value *out = new_value(g, t2o_printf(f->s->arena, "y%zu", i));
        t2o_node_new(g, NULL, "onnx::Op", g->inputs.at, 1, &attr, 1, &out, 1);
    }
    t2o_pass_share_nodes(g, is_not_random);
    assert_int_equal(g->n_nodes, COUNT(args) - 1);
}

/* ---- names ---- */

static void output_named(t2o_graph *g, t2o_value *v, const char *name)
{
    t2o_push(g->s->arena, &g->outputs, ((t2o_output_spec){ .value = v, .name = name }));
}

static void names_are_given_and_unique(void **state)
{
    fixture *f = *state;
    static const float one[] = { 1 };
    t2o_graph *g = program(f, "in x y; a = Relu x; b = Abs a; c = Neg b; d = Exp c; e = Log d; out", "onnx::");
    t2o_value *v[5];
    for (size_t i = 0; i < 5; i++) {
        v[i] = g->values.at[i + 2];
        v[i]->name = NULL;
    }
    v[0]->original_name = "relu";
    v[1]->original_name = "x";     /* taken by an input */
    v[2]->original_name = NULL;    /* numbered */
    v[3]->original_name = "relu";  /* taken by v[0] */
    output_named(g, v[4], "y");    /* taken by an input */
    t2o_value *w = constant(g, NULL, one, 1), *k = constant(g, NULL, one, 1), *u = constant(g, NULL, one, 1);
    w->target = "fc.weight", w->original_name = "p_fc_weight";
    k->target = "x";               /* taken by an input */
    u->original_name = "relu_1";   /* taken by the second relu, or takes it first: unique in any case */
    assert_true(t2o_pass_names(g, &(t2o_name_requests){ 0 }));
    assert_string_equal(g->inputs.at[0]->name, "x");
    assert_string_equal(g->inputs.at[1]->name, "y");
    assert_string_equal(v[4]->name, "y_1");
    assert_string_equal(w->name, "fc.weight");
    assert_string_equal(k->name, "x_1");
    assert_string_equal(v[0]->name, "relu");
    assert_string_equal(v[1]->name, "x_2");
    assert_string_equal(v[2]->name, "val_0");
    t2o_map seen = { 0 };
    for (size_t i = 0; i < g->values.n; i++)
        assert_null(t2o_map_set(f->s->arena, &seen, g->values.at[i]->name, g));
    assert_string_equal(v[0]->producer->name, "node_relu");
    t2o_map nodes = { 0 };
    for (const t2o_node *n = g->first; n; n = n->next)
        assert_null(t2o_map_set(f->s->arena, &nodes, n->name, g));
    graph_text(g, "onnx::"); /* checks the marks */
}

static void numbers_step_over_names_that_are_taken(void **state)
{
    fixture *f = *state;
    t2o_graph *g = program(f, "in val_0; a = Relu val_0; b = Abs a; out b", "onnx::");
    g->values.at[1]->name = g->values.at[2]->name = NULL;
    assert_true(t2o_pass_names(g, &(t2o_name_requests){ 0 }));
    assert_string_equal(g->values.at[0]->name, "val_0");
    assert_string_equal(g->values.at[2]->name, "output");
    assert_string_not_equal(g->values.at[1]->name, "val_0");
}

static void names_in_bodies_do_not_hide_outer_ones(void **state)
{
    fixture *f = *state;
    t2o_graph *g = program(f, "in x; r = Neg x; y = If [in a; b = Relu r; out b] x; out y", "onnx::");
    t2o_graph *body = g->last->attrs[0].arg.graph;
    t2o_value *inner = body->first->outputs[0];
    g->values.at[1]->original_name = inner->original_name = "same";
    body->inputs.at[0]->original_name = "x";
    assert_true(t2o_pass_names(g, &(t2o_name_requests){ 0 }));
    assert_string_equal(graph_text(g, "onnx::"),
                        "in x; same = Neg x; output = If [in x_1; same_1 = Relu same; out same_1] x; out output");
    assert_string_equal(body->first->name, "node_same_1");
}

#define FRESH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRESH(regions_are_put_in_place),
        FRESH(regions_that_do_not_fit_are_refused),
        FRESH(in_place_ops_become_pure),
        FRESH(writes_to_shared_memory_are_refused),
        FRESH(all_refused_writes_are_reported),
        FRESH(in_place_nodes_are_marked),
        FRESH(what_no_output_needs_goes),
        FRESH(constants_without_readers_go),
        FRESH(equal_constants_become_one),
        FRESH(dtypes_and_shapes_tell_constants_apart),
        FRESH(weights_are_shared_by_storage),
        FRESH(constants_without_data_stay),
        FRESH(readers_in_bodies_see_the_shared_constant),
        FRESH(equal_calls_become_one),
        FRESH(attributes_tell_calls_apart),
        FRESH(names_are_given_and_unique),
        FRESH(numbers_step_over_names_that_are_taken),
        FRESH(names_in_bodies_do_not_hide_outer_ones),
    };
    return cmocka_run_group_tests_name("pass", tests, NULL, NULL);
}
