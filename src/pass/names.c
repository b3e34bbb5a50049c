/* names.c: one table of names for values and one for nodes, so that collisions cannot arise. */
#include "pass/pass.h"

typedef struct naming {
    t2o_session *s;
    const t2o_name_requests *requests;
    t2o_map values, nodes;
    uint32_t next_value;
} naming;

/* ---- "glob=text" ---- */

#define MAX_STARS 8

typedef struct match {
    const char *at[MAX_STARS]; /* what each '*' matched */
    size_t n[MAX_STARS];
} match;

/* Whether name is of the form of the glob, which ends at `end`. */
static bool matches(const char *glob, const char *end, const char *name, match *m, int star)
{
    for (; glob < end && *glob != '*'; glob++, name++)
        if (!*name || (*glob != '?' && *glob != *name))
            return false;
    if (glob == end)
        return !*name;
    if (star == MAX_STARS)
        return false;
    for (size_t n = 0, length = strlen(name); n <= length; n++) {
        m->at[star] = name;
        m->n[star] = n;
        if (matches(glob + 1, end, name + n, m, star + 1))
            return true;
    }
    return false;
}

/* The text with each '*' replaced by what the glob's matched; one more than the glob has stays. */
static const char *filled(naming *names, const char *text, const match *m)
{
    const char *out = "";
    int star = 0;
    while (*text) {
        size_t n = strcspn(text, "*");
        out = t2o_printf(names->s->arena, "%s%.*s", out, (int)n, text);
        text += n;
        if (*text && star < MAX_STARS && m->at[star])
            out = t2o_printf(names->s->arena, "%s%.*s", out, (int)m->n[star], m->at[star]);
        star += *text != 0;
        text += *text != 0;
    }
    return out;
}

/* The name that the first request whose glob matches gives. */
static const char *renamed(naming *names, const char *name)
{
    for (size_t i = 0; i < names->requests->n_rename; i++) {
        const char *request = names->requests->rename[i], *equals = strrchr(request, '=');
        match m = { { 0 }, { 0 } };
        if (matches(request, equals, name, &m, 0))
            return filled(names, equals + 1, &m);
    }
    return name;
}

/* ---- names of inputs and outputs ---- */

/* Gives `to` the wanted names in their order. */
static bool give(naming *names, const char *option, const char *const *wanted, size_t n, const char ***to, size_t n_to)
{
    if (n > n_to)
        return t2o_fail(names->s, "E0201", "%s: %zu names for %zu", option, n, n_to);
    for (size_t i = 0; i < n; i++) {
        if (t2o_map_get(&names->values, wanted[i]))
            return t2o_fail(names->s, "E0201", "%s: the name '%s' is taken", option, wanted[i]);
        *to[i] = t2o_intern(names->s, wanted[i]);
        t2o_map_set(names->s->arena, &names->values, wanted[i], (void *)wanted[i]);
    }
    return true;
}

static bool give_all(naming *names, t2o_graph *g)
{
    const t2o_name_requests *r = names->requests;
    const char ***inputs = T2O_NEW_N(names->s->arena, const char **, g->inputs.n);
    const char ***outputs = T2O_NEW_N(names->s->arena, const char **, g->outputs.n);
    size_t n_inputs = 0, n_outputs = 0;
    for (size_t i = 0; i < g->inputs.n; i++)
        if (!g->inputs.at[i]->initial)
            inputs[n_inputs++] = &g->inputs.at[i]->name;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!t2o_spec_is_mutation(g->outputs.at[i].kind))
            outputs[n_outputs++] = &g->outputs.at[i].name;
    for (size_t i = 0; i < r->n_rename; i++)
        if (!strchr(r->rename[i], '='))
            return t2o_fail(names->s, "E0201", "--rename %s: a pattern and a name are due, as in 'layer*=block*'",
                            r->rename[i]);
    if (!give(names, "--input-names", r->inputs, r->n_inputs, inputs, n_inputs))
        return false;
    for (size_t i = 0; i < g->inputs.n; i++) /* no output may take the name of an input */
        t2o_map_set(names->s->arena, &names->values, g->inputs.at[i]->name, (void *)g->inputs.at[i]->name);
    if (!give(names, "--output-names", r->outputs, r->n_outputs, outputs, n_outputs))
        return false;
    names->values = (t2o_map){ 0 };
    return true;
}

/* ---- all ---- */

static void take(naming *names, t2o_value *v, const char *wanted)
{
    v->name = t2o_unique_name(names->s, &names->values, renamed(names, wanted));
    v->mark = 1;
}

static void name_rest(naming *names, t2o_value *v)
{
    if (!v || v->mark || v->omitted)
        return;
    if (v->original_name)
        take(names, v, v->original_name);
    else
        take(names, v, t2o_printf(names->s->arena, "val_%u", names->next_value++));
}

static void name_results(naming *names, t2o_graph *g)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        name_rest(names, g->inputs.at[i]);
    for (size_t i = 0; i < g->constants.n; i++)
        name_rest(names, g->constants.at[i]);
    for (t2o_node *n = g->first; n; n = n->next) {
        for (uint32_t i = 0; i < n->n_outputs; i++)
            name_rest(names, n->outputs[i]);
        for (uint32_t i = 0; i < n->n_attrs; i++)
            if (n->attrs[i].arg.kind == T2O_ARG_GRAPH)
                name_results(names, n->attrs[i].arg.graph);
        const char *first = n->n_outputs && n->outputs[0] ? n->outputs[0]->name : n->op;
        bool named = n->name; /* a node of a file, or the call of a function, which has the path of its module */
        const char *name = named ? n->name : t2o_printf(names->s->arena, "node_%s", first);
        n->name = t2o_unique_name(names->s, &names->nodes, name);
    }
}

bool t2o_pass_names(t2o_graph *g, const t2o_name_requests *requests)
{
    naming names = { .s = g->s, .requests = requests };
    if (!give_all(&names, g))
        return false;
    for (size_t i = 0; i < g->inputs.n; i++)
        take(&names, g->inputs.at[i], g->inputs.at[i]->name);
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!g->outputs.at[i].value->mark) /* of a file: it may be an input */
            take(&names, g->outputs.at[i].value, g->outputs.at[i].name ? g->outputs.at[i].name : "output");
    for (size_t i = 0; i < g->constants.n; i++)
        if (!g->constants.at[i]->mark && g->constants.at[i]->target)
            take(&names, g->constants.at[i], g->constants.at[i]->target);
    name_results(&names, g);
    t2o_graph_clear_marks(g);
    for (size_t i = 0; i < g->functions.n; i++) {
        naming inside = { .s = g->s, .requests = requests };
        name_results(&inside, g->functions.at[i]);
        t2o_graph_clear_marks(g->functions.at[i]);
    }
    return true;
}
