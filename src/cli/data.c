/* data.c: t2o info --check-data: in which files a model's weights lie, and that each lies in a place of its own. That
 * locations exist and hold what they must is checked by the readers already. */
#include "base/file.h"
#include "cli/cli.h"
#include "onnx/onnx.h"

#include <stdlib.h>

typedef struct span {
    const char *name;
    uint64_t first, end;
} span;

typedef struct place {
    const t2o_file *file;
    T2O_VEC(span) spans;
    uint64_t bytes; /* of all tensors together */
} place;

typedef struct places {
    t2o_session *s;
    place *at;
    size_t n;
    size_t copied;  /* small or packed ones: what is read is no slice of a file */
    uint64_t bytes; /* of these */
    size_t missing;
} places;

/* From the first element to behind the last. */
static uint64_t reach_of(const t2o_tensor *t)
{
    uint64_t last = 0;
    if (t2o_tensor_contiguous(t))
        return (uint64_t)t2o_tensor_bytes(t);
    for (uint32_t i = 0; i < t->rank; i++)
        last += (uint64_t)(t->dims[i] - 1) * (uint64_t)t->strides[i];
    return (last + 1) * t2o_dtype_size(t->dtype);
}

static void add_tensor(places *p, const t2o_tensor *t, const char *name)
{
    int64_t bytes = t2o_onnx_tensor_size(t);
    if (bytes <= 0)
        return;
    if (!t->data) {
        p->missing++;
        return;
    }
    uint64_t reach = t->in_file ? reach_of(t) : 0;
    for (size_t i = 0; reach && i < p->n; i++) {
        place *in = &p->at[i];
        if (!t2o_file_holds(in->file, t->data, reach))
            continue;
        uint64_t first = (uint64_t)(t->data - in->file->bytes);
        t2o_push(p->s->arena, &in->spans, ((span){ name ? name : "?", first, first + reach }));
        in->bytes += (uint64_t)bytes;
        return;
    }
    p->copied++;
    p->bytes += (uint64_t)bytes;
}

static void add_graph(places *p, const t2o_graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++) {
        const t2o_value *v = g->inputs.at[i];
        if (v->data || v->initial)
            add_tensor(p, v->data ? v->data : v->initial, v->target ? v->target : v->name);
    }
    for (size_t i = 0; i < g->constants.n; i++)
        add_tensor(p, g->constants.at[i]->data, g->constants.at[i]->name);
    for (const t2o_node *n = g->first; n; n = n->next)
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                add_graph(p, n->attrs[i].arg.graph);
}

static places find_places(t2o_session *s, const t2o_program *program, const t2o_file *file)
{
    size_t others = program->onnx ? program->onnx->files.n : 0;
    places p = { .s = s, .at = T2O_NEW_N(s->arena, place, others + 1), .n = others + 1 };
    p.at[0].file = file;
    for (size_t i = 0; i < others; i++)
        p.at[i + 1].file = program->onnx->files.at[i];
    add_graph(&p, program->graph);
    return p;
}

static int by_first(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : (x->end > y->end) - (x->end < y->end);
}

/* Two weights may be one, but not share a part: that is an offset or a length gone wrong. */
static void check_spans(t2o_session *s, const place *in)
{
    for (size_t i = 1; i < in->spans.n; i++) {
        const span *a = &in->spans.at[i - 1], *b = &in->spans.at[i];
        if (b->first < a->end && (b->first != a->first || b->end != a->end))
            t2o_fail(s, "E0507", "%s: '%s' (bytes %llu to %llu) and '%s' (bytes %llu to %llu) overlap",
                     in->file->path, a->name, (unsigned long long)a->first, (unsigned long long)a->end, b->name,
                     (unsigned long long)b->first, (unsigned long long)b->end);
    }
}

static void print_place(t2o_session *s, const place *in, bool json, const char *comma)
{
    uint64_t first = in->spans.at[0].first, end = 0;
    for (size_t i = 0; i < in->spans.n; i++)
        end = in->spans.at[i].end > end ? in->spans.at[i].end : end;
    if (!json) {
        printf("data   %s: %zu tensors, %s, in bytes %llu to %llu of %zu\n", in->file->path, in->spans.n,
               human_bytes(s, in->bytes), (unsigned long long)first, (unsigned long long)end, in->file->size);
        return;
    }
    printf("%s{\"file\": ", comma);
    json_string(stdout, in->file->path);
    printf(", \"tensors\": %zu, \"bytes\": %llu, \"first\": %llu, \"end\": %llu, \"size\": %zu}", in->spans.n,
           (unsigned long long)in->bytes, (unsigned long long)first, (unsigned long long)end, in->file->size);
}

void show_data(t2o_session *s, const t2o_program *program, const t2o_file *file, bool json)
{
    places p = find_places(s, program, file);
    const char *comma = "";
    if (json)
        printf(", \"data\": [");
    for (size_t i = 0; i < p.n; i++) {
        if (!p.at[i].spans.n)
            continue;
        qsort(p.at[i].spans.at, p.at[i].spans.n, sizeof(span), by_first);
        print_place(s, &p.at[i], json, comma);
        comma = ", ";
    }
    if (json)
        printf("], \"data_copied\": {\"tensors\": %zu, \"bytes\": %llu}", p.copied, (unsigned long long)p.bytes);
    else if (p.copied)
        printf("data   %zu small or packed tensors, %s\n", p.copied, human_bytes(s, p.bytes));
    if (p.missing)
        t2o_fail(s, "E0507", "%s: %zu weights have no data", file->path, p.missing);
    for (size_t i = 0; program->onnx && i < p.n; i++) /* in an archive, tensors may be views of one memory */
        check_spans(s, &p.at[i]);
}
