/* functions.c: groups the nodes of a module into an ONNX function (--functions GLOB), equal bodies once.
 *
 * A group is one call of a module whose class or path a glob names; of modules within modules the outermost counts. It
 * becomes a function where no node outside lies between two of its own. Weights are inputs of the function, small
 * constants that rules made stand in its body, so that layers with other weights have equal bodies.
 */
#include "graph/meta.h"
#include "pass/key.h"
#include "pass/pass.h"

#include <fnmatch.h>

#define INLINE_BYTES 1024 /* of a constant that stands in the body */
#define MIXED UINT32_MAX /* readers of more than one group */
#define CALL_OPSET 1     /* of a domain of the model's own */

typedef struct group {
    const char *path, *type;
    T2O_VEC(t2o_node *) nodes;
} group;

typedef struct grouping {
    t2o_session *s;
    t2o_graph *g;
    const char *const *globs;
    size_t n_globs;
    T2O_VEC(group *) groups; /* number - 1 = place; node->mark is the number */
    t2o_map by_call;         /* key of a call -> number */
    bool reordered;          /* nodes have changed places: lists of nodes may be out of order */
    t2o_value **inner;       /* by value->id: what stands for an outside value in the function that is built */
    bool *wanted;            /* by value->id: read outside the group that makes it */
    t2o_map bodies, names;   /* text -> t2o_graph; names of functions */
} grouping;

/* ---- which node belongs where ---- */

static const char *last_part(const char *type)
{
    const char *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

/* "layer" for "encoder.layer.0": what a module without a known class is called. */
static const char *class_of_path(t2o_session *s, const char *path)
{
    const char *end = path + strlen(path), *start = end;
    while (start > path && start[-1] != '.')
        start--;
    while (start > path && strspn(start, "0123456789") == (size_t)(end - start)) {
        end = start - 1;
        for (start = end; start > path && start[-1] != '.';)
            start--;
    }
    return t2o_strndup(s->arena, start, (size_t)(end - start));
}

static bool is_asked(const grouping *f, const char *path, const char *type)
{
    for (size_t i = 0; i < f->n_globs; i++)
        if (!fnmatch(f->globs[i], last_part(type), 0) || !fnmatch(f->globs[i], type, 0) ||
            (*path && !fnmatch(f->globs[i], path, 0)))
            return true;
    return false;
}

/* NULL for what the archive has no place for: what rules and passes made. */
static const char *module_stack(const t2o_node *n)
{
    const t2o_meta *meta = t2o_meta_of(n);
    return meta ? meta->nn_module_stack : NULL;
}

static uint32_t group_of(grouping *f, const t2o_node *n)
{
    t2o_module m;
    for (const char *p = module_stack(n); (p = t2o_meta_next_module(f->s, p, &m));) {
        if (!is_asked(f, m.path, m.type))
            continue;
        uintptr_t number = (uintptr_t)t2o_map_get(&f->by_call, m.key);
        if (!number) {
            group *new_group = T2O_NEW(f->s->arena, group);
            *new_group = (group){ .path = m.path, .type = *m.type ? m.type : class_of_path(f->s, m.path) };
            t2o_push(f->s->arena, &f->groups, new_group);
            number = f->groups.n;
            t2o_map_set(f->s->arena, &f->by_call, m.key, (void *)number);
        }
        return (uint32_t)number;
    }
    return 0;
}

/* What stands for a value in the top graph: the result of a call, where its node went into a function. */
static t2o_value *in_top(t2o_value *v)
{
    return v->twin ? v->twin : v;
}

/* Calls fn for every place where a node reads a value of the top graph, in its bodies too. */
static void each_operand(const t2o_graph *top, t2o_node *n, void (*fn)(void *, t2o_value **), void *ctx)
{
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] && in_top(n->inputs[i])->graph == top)
            fn(ctx, &n->inputs[i]);
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        if (n->attrs[i].arg.kind != T2O_ARG_GRAPH)
            continue;
        t2o_graph *body = n->attrs[i].arg.graph;
        for (t2o_node *inner = body->first; inner; inner = inner->next)
            each_operand(top, inner, fn, ctx);
        for (size_t k = 0; k < body->outputs.n; k++)
            if (in_top(body->outputs.at[k].value)->graph == top)
                fn(ctx, &body->outputs.at[k].value);
    }
}

static void note_reader(void *number, t2o_value **v)
{
    uint32_t reader = *(uint32_t *)number ? *(uint32_t *)number : MIXED;
    (*v)->mark = (*v)->mark == 0 || (*v)->mark == reader ? reader : MIXED;
}

/* What has no place in the program (shapes, casts, writes made pure) goes with its readers where they are of one
 * group. */
static void adopt(grouping *f)
{
    for (size_t i = 0; i < f->g->outputs.n; i++)
        f->g->outputs.at[i].value->mark = MIXED;
    for (t2o_node *n = f->g->last; n; n = n->prev) {
        uint32_t readers = 0;
        for (uint32_t i = 0; i < n->n_outputs; i++)
            if (n->outputs[i] && n->outputs[i]->mark)
                readers = !readers || readers == n->outputs[i]->mark ? n->outputs[i]->mark : MIXED;
        if (!n->mark && !module_stack(n) && readers && readers != MIXED)
            n->mark = readers;
        each_operand(f->g, n, note_reader, &n->mark);
    }
    t2o_graph_clear_marks(f->g);
}

typedef struct reader {
    grouping *f;
    uint32_t number;
} reader;

static void note_wanted(void *ctx, t2o_value **v)
{
    const reader *r = ctx;
    if ((*v)->producer && (*v)->producer->mark != r->number)
        r->f->wanted[(*v)->id] = true;
}

static void assign(grouping *f)
{
    for (t2o_node *n = f->g->first; n; n = n->next)
        n->mark = group_of(f, n);
    adopt(f);
    for (t2o_node *n = f->g->first; n; n = n->next) {
        reader r = { f, n->mark };
        each_operand(f->g, n, note_wanted, &r);
        if (n->mark)
            t2o_push(f->s->arena, &f->groups.at[n->mark - 1]->nodes, n);
    }
    for (size_t i = 0; i < f->g->outputs.n; i++)
        f->wanted[f->g->outputs.at[i].value->id] = true;
}

/* ---- a group in one piece ---- */

typedef T2O_VEC(t2o_node *) node_list;

/* Marks of values while a group is looked at: its own results, and what others make of them. */
enum { OWN = 1, DERIVED = 2 };

static void note_marks(void *found, t2o_value **v)
{
    *(uint32_t *)found |= in_top(*v)->mark;
}

static uint32_t marks_read(const grouping *f, t2o_node *n)
{
    uint32_t found = 0;
    each_operand(f->g, n, note_marks, &found);
    return found;
}

static void mark_results(t2o_node *n, uint32_t mark)
{
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i])
            n->outputs[i]->mark = mark;
}

/* Collects the nodes between those of the group that need its results. False where the group needs one of them. */
static bool find_followers(grouping *f, const group *p, uint32_t number, node_list *followers)
{
    bool ok = true;
    t2o_node *end = p->nodes.at[p->nodes.n - 1]->next;
    for (t2o_node *n = p->nodes.at[0]; ok && n != end; n = n->next) {
        uint32_t reads = marks_read(f, n);
        if (n->mark == number) {
            ok = !(reads & DERIVED);
            mark_results(n, OWN);
        } else if (reads) {
            t2o_push(f->s->arena, followers, n);
            mark_results(n, DERIVED);
        }
    }
    for (t2o_node *n = p->nodes.at[0]; n != end; n = n->next)
        mark_results(n, 0);
    return ok;
}

/* ---- the body ---- */

typedef struct build {
    grouping *f;
    const group *p;
    uint32_t number;
    t2o_graph *body;
    T2O_VEC(t2o_value *) inputs; /* of the call: outside values */
    T2O_VEC(uint32_t) touched;
} build;

static bool stands_inside(const t2o_value *v)
{
    return v->constant && !v->target && v->data && !v->data->in_file && t2o_tensor_contiguous(v->data) &&
           t2o_tensor_bytes(v->data) >= 0 && t2o_tensor_bytes(v->data) <= INLINE_BYTES;
}

static t2o_value *copy_of(t2o_graph *g, const t2o_value *v)
{
    t2o_value *copy = t2o_value_new(g, v->kind, NULL, v->dtype, v->rank, v->dims);
    copy->original_name = v->original_name;
    copy->content = v->content;
    copy->n_content = v->n_content;
    return copy;
}

static t2o_value *constant_inside(t2o_graph *body, const t2o_value *v)
{
    t2o_value *out = copy_of(body, v);
    t2o_attr value = { t2o_intern(body->s, "value"), { .kind = T2O_ARG_TENSOR, .tensor = v->data }, false };
    t2o_node *n = t2o_node_new(body, body->first, "onnx::Constant", NULL, 0, &value, 1, &out, 1);
    n->opset = 1;
    return out;
}

/* "layer1.0.conv1.weight" as seen from layer1.0 */
static const char *inside_path(const char *path, const char *target)
{
    size_t n = strlen(path);
    return n && !strncmp(target, path, n) && target[n] == '.' ? target + n + 1 : target;
}

/* Puts what stands for an outside value in the body in its place. */
static void take_operand(void *ctx, t2o_value **slot)
{
    build *b = ctx;
    t2o_value *v = in_top(*slot), **inner = &b->f->inner[v->id];
    if (v->producer && v->producer->mark == b->number)
        return; /* its own */
    if (!*inner) {
        t2o_push(b->body->s->arena, &b->touched, v->id);
        if (stands_inside(v))
            *inner = constant_inside(b->body, v);
        else {
            *inner = copy_of(b->body, v);
            if (v->target)
                (*inner)->original_name = inside_path(b->p->path, v->target);
            t2o_push(b->body->s->arena, &b->inputs, v);
        }
    }
    *slot = *inner;
}

/* Activations first, then weights, each in the order of their use. */
static void order_inputs(build *b)
{
    T2O_VEC(t2o_value *) in_order = { 0 };
    for (int constants = 0; constants < 2; constants++)
        for (size_t i = 0; i < b->inputs.n; i++) {
            t2o_value *v = b->inputs.at[i];
            if (v->constant != constants)
                continue;
            t2o_push(b->body->s->arena, &in_order, v);
            t2o_push(b->body->s->arena, &b->body->inputs, b->f->inner[v->id]);
        }
    b->inputs.at = in_order.at;
}

static t2o_node *build_body(build *b)
{
    grouping *f = b->f;
    const group *p = b->p;
    T2O_VEC(t2o_value *) results = { 0 };
    t2o_node *next = p->nodes.at[p->nodes.n - 1]->next;
    b->body = t2o_graph_new(f->s, f->g->exprs, last_part(p->type));
    for (size_t i = 0; i < p->nodes.n; i++)
        each_operand(f->g, p->nodes.at[i], take_operand, b);
    order_inputs(b);
    for (size_t i = 0; i < b->touched.n; i++)
        f->inner[b->touched.at[i]] = NULL;
    for (size_t i = 0; i < p->nodes.n; i++) {
        t2o_node *n = p->nodes.at[i];
        for (uint32_t k = 0; k < n->n_outputs; k++)
            if (n->outputs[k] && f->wanted[n->outputs[k]->id]) {
                n->outputs[k]->twin = copy_of(f->g, n->outputs[k]);
                t2o_push(f->s->arena, &results, n->outputs[k]->twin);
                t2o_output_spec out = { .value = n->outputs[k], .kind = T2O_SPEC_USER_OUTPUT };
                t2o_push(f->s->arena, &b->body->outputs, out);
            }
        t2o_node_move(n, b->body, NULL);
    }
    t2o_node *call = t2o_node_new(f->g, next, "function", b->inputs.at, (uint32_t)b->inputs.n, NULL, 0, results.at,
                                  (uint32_t)results.n);
    call->name = *p->path ? p->path : last_part(p->type);
    call->opset = CALL_OPSET;
    return call;
}

/* ---- equal bodies ---- */

typedef struct body_text {
    t2o_string text;
    uint32_t next; /* values go by numbers */
} body_text;

static void put_tensor(body_text *t, const t2o_tensor *data)
{
    int64_t bytes = t2o_tensor_bytes(data);
    bool small = bytes >= 0 && bytes <= INLINE_BYTES;
    if (!data->data || !t2o_dtype_bits(data->dtype) || !small || !t2o_tensor_contiguous(data)) {
        t2o_tensor_add_place(data, &t->text);
        return;
    }
    t2o_tensor_add_type(data, &t->text);
    for (int64_t i = 0; i < bytes; i++)
        t2o_key_add_int(&t->text, ' ', data->data[i]);
}

static void put_values(body_text *t, t2o_value *const *values, uint32_t n, bool defines)
{
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] && defines)
            values[i]->mark = ++t->next;
        t2o_key_add_int(&t->text, ' ', values[i] ? values[i]->mark : 0);
    }
}

static void put_graph(body_text *t, const t2o_graph *g);

static void put_attr(body_text *t, const t2o_attr *attr)
{
    t2o_key_add_int(&t->text, ' ', (int64_t)strlen(attr->name));
    t2o_string_add(&t->text, attr->name);
    t2o_key_add_int(&t->text, '=', attr->arg.kind);
    if (attr->arg.kind == T2O_ARG_TENSOR)
        put_tensor(t, attr->arg.tensor);
    else if (attr->arg.kind == T2O_ARG_GRAPH)
        put_graph(t, attr->arg.graph);
    else if (!t2o_key_add_arg(&t->text, &attr->arg))
        t2o_string_add_address(&t->text, attr); /* equal to no other */
}

static void put_graph(body_text *t, const t2o_graph *g)
{
    put_values(t, g->inputs.at, (uint32_t)g->inputs.n, true);
    for (size_t i = 0; i < g->constants.n; i++) {
        put_values(t, &g->constants.at[i], 1, true);
        put_tensor(t, g->constants.at[i]->data);
    }
    for (const t2o_node *n = g->first; n; n = n->next) {
        t2o_string_add(&t->text, "\n");
        t2o_string_add(&t->text, n->op);
        put_values(t, n->inputs, n->n_inputs, false);
        for (uint32_t i = 0; i < n->n_attrs; i++)
            put_attr(t, &n->attrs[i]);
        t2o_string_add(&t->text, " ->");
        put_values(t, n->outputs, n->n_outputs, true);
    }
    t2o_string_add(&t->text, "\n=>");
    for (size_t i = 0; i < g->outputs.n; i++)
        put_values(t, &g->outputs.at[i].value, 1, false);
}

/* Gives the call the name of an equal body, or of this one as a new function. */
static void name_body(grouping *f, const group *p, t2o_node *call, t2o_graph *body)
{
    body_text t = { .next = 0 };
    t2o_string_start(&t.text, f->s->arena);
    put_graph(&t, body);
    t2o_graph_clear_marks(body);
    const char *key = t2o_string_end(&t.text);
    t2o_graph *same = t2o_map_get(&f->bodies, key);
    if (!same) {
        const char *name = last_part(p->type);
        size_t n = (size_t)(name - p->type);
        const char *domain = n > 1 ? t2o_strndup(f->s->arena, p->type, n - 1) : "modules";
        body->name = t2o_unique_name(f->s, &f->names, t2o_printf(f->s->arena, "%s::%s", domain, name));
        t2o_map_set(f->s->arena, &f->bodies, key, body);
        t2o_push(f->s->arena, &f->g->functions, body);
        same = body;
    }
    call->op = same->name;
}

/* ---- the whole ---- */

static void read_result(void *ctx, t2o_value **v)
{
    (void)ctx;
    *v = in_top(*v);
}

static void list_nodes(grouping *f, group *p, uint32_t number)
{
    p->nodes.n = 0;
    for (t2o_node *n = f->g->first; n; n = n->next)
        if (n->mark == number)
            t2o_push(f->s->arena, &p->nodes, n);
}

static void make_function(grouping *f, group *p, uint32_t number)
{
    node_list followers = { 0 };
    if (!p->nodes.n)
        return;
    if (f->reordered)
        list_nodes(f, p, number);
    if (!find_followers(f, p, number, &followers)) {
        t2o_warn(f->s, "module %s (%s) is no function: nodes outside it lie between its own", p->path, p->type);
        return;
    }
    build b = { .f = f, .p = p, .number = number };
    t2o_node *call = build_body(&b), *next = call->next;
    for (size_t i = 0; i < followers.n; i++)
        t2o_node_move(followers.at[i], f->g, next);
    f->reordered |= followers.n > 0;
    name_body(f, p, call, b.body);
}

void t2o_pass_functions(t2o_graph *g, const char *const *globs, size_t n_globs)
{
    if (!n_globs)
        return;
    grouping f = { .s = g->s, .g = g, .globs = globs, .n_globs = n_globs };
    size_t n_values = g->values.n;
    f.wanted = T2O_NEW_N(g->s->arena, bool, n_values);
    f.inner = T2O_NEW_N(g->s->arena, t2o_value *, 2 * n_values); /* calls add a value for each result at most */
    assign(&f);
    if (!f.groups.n)
        t2o_warn(g->s, "--functions: no module has such a class or path");
    for (size_t i = 0; i < f.groups.n; i++)
        make_function(&f, f.groups.at[i], (uint32_t)i + 1);
    for (t2o_node *n = g->first; n; n = n->next) {
        n->mark = 0;
        each_operand(g, n, read_result, NULL);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        g->outputs.at[i].value = in_top(g->outputs.at[i].value);
    for (size_t i = 0; i < g->functions.n; i++)
        for (t2o_node *n = g->functions.at[i]->first; n; n = n->next)
            for (uint32_t k = 0; k < n->n_outputs; k++)
                if (n->outputs[k])
                    n->outputs[k]->twin = NULL;
    t2o_pass_dead_code(g); /* constants that stand in bodies now */
}
