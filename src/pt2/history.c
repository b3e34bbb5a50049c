/* history.c: the schemas since PyTorch 2.5. */
#include "pt2/history.h"

#define NEWEST_MAJOR 8
#define NEWEST_MINOR 20

/* The majors that are read, and what wrote them. */
static const struct era {
    int major;
    const char *writers;
    bool infix; /* sizes are written as sympy prints them */
} eras[] = {
    { 7, "PyTorch 2.5", true },
    { NEWEST_MAJOR, "PyTorch 2.6 and later", false },
};

static const struct era *era_of(const t2o_program *p)
{
    for (size_t i = 0; i < sizeof eras / sizeof *eras; i++)
        if (eras[i].major == p->schema_major)
            return &eras[i];
    return NULL;
}

bool t2o_history_check(t2o_session *s, const t2o_program *p)
{
    if (p->schema_major == NEWEST_MAJOR && p->schema_minor > NEWEST_MINOR) {
        t2o_warn(s, "'%s' has schema version %d.%d (PyTorch %s), which adds to %d.%d, the newest one known here",
                 p->path, p->schema_major, p->schema_minor, p->torch_version, NEWEST_MAJOR, NEWEST_MINOR);
        return true;
    }
    if (era_of(p))
        return true;
    bool newer = p->schema_major > NEWEST_MAJOR;
    t2o_fail(s, "E0506",
             "'%s' has schema version %d.%d (PyTorch %s), which is %s than those that are read, %d to %d.%d", p->path,
             p->schema_major, p->schema_minor, p->torch_version, newer ? "newer" : "older", eras[0].major,
             NEWEST_MAJOR, NEWEST_MINOR);
    if (newer)
        t2o_hint(s, "another major number is another format: a newer t2o is needed");
    else
        t2o_hint(s, "export the model again with %s or later", eras[0].writers);
    return false;
}

const t2o_expr *t2o_history_expr(t2o_session *s, t2o_exprs *e, const t2o_program *p, const char *text,
                                 const char **why)
{
    const struct era *era = era_of(p);
    return era && era->infix ? t2o_expr_parse_infix(s, e, text, why) : t2o_expr_parse(e, text, why);
}

static bool is_before(const t2o_program *p, int major, int minor)
{
    return p->schema_major < major || (p->schema_major == major && p->schema_minor < minor);
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* Calls whose results stood in one list, up to and without this schema. */
static const struct {
    const char *prefix;
    int major, minor;
} listed_returns[] = {
    { "torch.ops.higher_order.", 8, 7 }, /* PyTorch 2.6 */
};

void t2o_history_returns(const t2o_program *p, const char *target, t2o_arg **returns, uint32_t *n)
{
    if (*n != 1 || (*returns)->kind != T2O_ARG_LIST)
        return;
    for (size_t i = 0; i < sizeof listed_returns / sizeof *listed_returns; i++) {
        if (!is_before(p, listed_returns[i].major, listed_returns[i].minor))
            continue;
        if (begins(target, listed_returns[i].prefix)) {
            *n = (*returns)->n;
            *returns = (*returns)->items;
            return;
        }
    }
}

/* Whether an overload is called after this argument, or after `out`, as those are that write results into arguments. */
static bool says(t2o_session *s, const char *overload, const char *argument)
{
    t2o_arena *arena = s->arena;
    const char *words = t2o_printf(arena, "_%s_", overload);
    return strcasestr(words, "_out") || strstr(words, t2o_printf(arena, "_%s_", argument));
}

/* Up to PyTorch 2.6 nothing says which arguments go by keyword. Those of higher-order operators are the ones that have
 * a name; of others it matters for results that are written into arguments, which come last. */
void t2o_history_keywords(t2o_session *s, const t2o_program *p, const char *target, t2o_attr *attrs, uint32_t n)
{
    bool named_only = begins(target, "torch.ops.higher_order."), keyword = false;
    const char *dot = strrchr(target, '.');
    for (uint32_t i = 0; i < n && is_before(p, 8, 7); i++) {
        keyword = named_only ? *attrs[i].name : keyword || says(s, dot ? dot + 1 : target, attrs[i].name);
        attrs[i].keyword = keyword;
    }
}

/* Results that have the shape of an item of an argument, of which PyTorch up to 2.12 records another rank. */
static const struct {
    const char *target;
    uint32_t result, item;
    const char *argument;
} wrong_records[] = {
    { "torch.ops.aten.lstm.input", 1, 0, "hx" },
    { "torch.ops.aten.lstm.input", 2, 1, "hx" },
};

static bool take_shape(t2o_value *v, const t2o_value *like)
{
    if (v->kind != T2O_VALUE_TENSOR || like->kind != T2O_VALUE_TENSOR || v->rank == like->rank)
        return false;
    t2o_value_set_dims(v, like->rank, like->dims);
    return true;
}

const char *t2o_history_records(const char *target, t2o_node *n)
{
    bool corrected = false;
    for (size_t i = 0; i < sizeof wrong_records / sizeof *wrong_records; i++) {
        uint32_t result = wrong_records[i].result, item = wrong_records[i].item;
        if (strcmp(target, wrong_records[i].target))
            continue;
        const t2o_arg *arg = t2o_node_attr(n, wrong_records[i].argument);
        if (arg && arg->kind == T2O_ARG_LIST && item < arg->n && arg->items[item].kind == T2O_ARG_VALUE &&
            result < n->n_outputs && take_shape(n->outputs[result], n->inputs[arg->items[item].index]))
            corrected = true;
    }
    return corrected ? "PyTorch up to 2.12 records wrong shapes of an LSTM's last states, and of what is computed from "
                       "them: export with a newer one"
                     : NULL;
}
