/* meta.c: reading stack traces and module stacks. */
#include "graph/meta.h"

#include <stdio.h>
#include <stdlib.h>

#define SHOWN_SOURCE 100 /* columns of a source line */

/* Frames inside PyTorch itself: a user looks for the line of their own model. */
static bool is_library(const char *path, size_t n)
{
    static const char *const parts[] = { "/torch/nn/", "-packages/torch/" };
    if (n && path[0] == '<')
        return true; /* code that was made at run time: "<eval_with_key>.3" */
    for (int i = 0; i < 2; i++)
        if (memmem(path, n, parts[i], strlen(parts[i])))
            return true;
    return false;
}

/* The innermost frame of the user's own code, else the innermost: a line  File "path", line N, in function. */
static const char *last_frame(const char *trace)
{
    const char *found = NULL, *own = NULL;
    for (const char *p = trace; (p = strstr(p, "File \"")); p++) {
        found = p;
        if (!is_library(p + 6, strcspn(p + 6, "\"\n")))
            own = p;
    }
    return own ? own : found;
}

static const char *base_name(t2o_session *s, const char *path, size_t n)
{
    size_t start = n;
    while (start && path[start - 1] != '/' && path[start - 1] != '\\')
        start--;
    return t2o_strndup(s->arena, path + start, n - start);
}

/* The source line under a frame, without blanks around it; "" when there is none. */
static const char *source_under(t2o_session *s, const char *frame)
{
    const char *p = strchr(frame, '\n');
    if (!p)
        return "";
    p += strspn(p, " \t\n");
    size_t n = strcspn(p, "\n");
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\r'))
        n--;
    if (n > SHOWN_SOURCE)
        return t2o_printf(s->arena, "%.*s...", SHOWN_SOURCE - 3, p);
    return strncmp(p, "File \"", 6) ? t2o_strndup(s->arena, p, n) : "";
}

const t2o_meta *t2o_meta_of(const t2o_node *n)
{
    return n->meta ? n->meta : n->origin ? n->origin->meta : NULL;
}

const char *t2o_meta_user_line(t2o_session *s, const t2o_meta *meta)
{
    const char *frame = meta && meta->stack_trace ? last_frame(meta->stack_trace) : NULL;
    if (!frame)
        return NULL;
    const char *path = frame + 6, *end = strchr(path, '"');
    if (!end)
        return NULL;
    const char *line = strstr(end, "line ");
    if (!line)
        return NULL;
    long number = strtol(line + 5, NULL, 10);
    const char *function = strstr(line, ", in ");
    size_t n = function ? strcspn(function + 5, "\n") : 0;
    const char *source = source_under(s, frame);
    return t2o_printf(s->arena, "%s:%ld%s%s%s%s", base_name(s, path, (size_t)(end - path)), number, n ? " in " : "",
                      n ? t2o_strndup(s->arena, function + 5, n) : "", *source ? ": " : "", source);
}

static size_t part_length(const char *p, bool last)
{
    int depth = 0;
    size_t n = 0;
    for (; p[n] && !(p[n] == ';' && depth <= 0) && !(p[n] == ',' && depth <= 0 && !last); n++)
        depth += (p[n] == '(' || p[n] == '[') - (p[n] == ')' || p[n] == ']');
    return n;
}

const char *t2o_meta_next_module(t2o_session *s, const char *rest, t2o_module *out)
{
    while (rest && *rest) {
        const char *part[3];
        size_t length[3];
        int n = 0;
        for (; n < 3; n++) {
            part[n] = rest;
            length[n] = part_length(rest, n == 2);
            rest += length[n];
            if (n < 2 && *rest != ',')
                break;
            rest += n < 2;
        }
        rest += *rest == ';';
        if (n < 3)
            continue;
        out->key = t2o_strndup(s->arena, part[0], length[0]);
        out->path = t2o_strndup(s->arena, part[1], length[1]);
        out->type = t2o_strndup(s->arena, part[2], length[2]);
        return rest;
    }
    return NULL;
}

const char *t2o_meta_module(t2o_session *s, const t2o_meta *meta)
{
    t2o_module m = { 0 };
    for (const char *p = meta ? meta->nn_module_stack : NULL; p;)
        p = t2o_meta_next_module(s, p, &m);
    if (!m.type || !*m.type)
        return m.path && *m.path ? m.path : NULL;
    return *m.path ? t2o_printf(s->arena, "%s (%s)", m.path, m.type) : m.type;
}

const char *t2o_node_summary(const t2o_node *n)
{
    t2o_session *s = n->graph->s;
    const char *text = t2o_printf(s->arena, "%s", n->name ? n->name : n->op);
    if (n->n_outputs && n->outputs[0])
        text = t2o_printf(s->arena, "%s: %s", text, t2o_value_type_text(n->graph, n->outputs[0]));
    for (uint32_t i = 0; i < n->n_inputs && i < 8; i++)
        if (n->inputs[i])
            text = t2o_printf(s->arena, "%s%s%s %s", text, i ? ", " : " <- ",
                              n->inputs[i]->name ? n->inputs[i]->name : "?",
                              t2o_value_type_text(n->graph, n->inputs[i]));
    return n->n_inputs > 8 ? t2o_printf(s->arena, "%s, ...", text) : text;
}

void t2o_note_node(const t2o_node *n)
{
    t2o_session *s = n->graph->s;
    const char *line = t2o_meta_user_line(s, n->meta), *module = t2o_meta_module(s, n->meta);
    if (line)
        t2o_note(s, "%s", line);
    if (module)
        t2o_note(s, "module %s", module);
    t2o_note(s, "node %s", t2o_node_summary(n));
}
