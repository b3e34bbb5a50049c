/* rules.c: t2o rules list|which|stub|dump, and t2o explain. */
#include "base/file.h"
#include "cli/cli.h"
#include "pt2/pt2.h"

#include <errno.h>
#include <strings.h>
#include <sys/stat.h>

static t2o_script *open_script(t2o_session *s, const options *o)
{
    t2o_script_options script_options = {
        .rules = o->rules.at, .n_rules = o->rules.n, .no_user_rules = o->no_user_rules, .target = o->target,
        .state = o->state, .opset = o->opset ? o->opset : DEFAULT_OPSET,
    };
    return t2o_script_new(s, t2o_exprs_new(s), &script_options);
}

/* Runs a function of lua/t2o/commands.lua and prints its text. */
static void print_command(t2o_session *s, const options *o, const char *name, const char *const *args, size_t n)
{
    t2o_script *k = open_script(s, o);
    const char *text = k ? t2o_script_command(k, name, args, n) : NULL;
    if (text)
        fputs(text, stdout);
    t2o_script_free(k);
}

typedef struct dump {
    t2o_session *s;
    const char *folder;
    unsigned files;
} dump;

bool make_folders(t2o_session *s, char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(path, 0777) && errno != EEXIST)
            return t2o_fail(s, "E0101", "cannot make the folder '%s': %s", path, strerror(errno));
        *p = '/';
    }
    return true;
}

static void dump_file(void *ctx, const char *name, const char *text, size_t n)
{
    dump *d = ctx;
    if (t2o_failed(d->s))
        return;
    char *path = t2o_printf(d->s->arena, "%s/%s", d->folder, name);
    if (!make_folders(d->s, path))
        return;
    t2o_output *out = t2o_output_open(d->s, path);
    if (!out)
        return;
    t2o_output_write(out, text, n);
    d->files += t2o_output_commit(out);
}

/* How the program in an archive calls the op, as a schema: "foo(Tensor x, float beta) -> Tensor"; "" where it does
 * not. */
static const char *call_schema(t2o_session *s, const char *path, const char *op, const char *model)
{
    static const char *const types[] = {
        [T2O_ARG_INT] = "int",   [T2O_ARG_FLOAT] = "float",        [T2O_ARG_BOOL] = "bool",
        [T2O_ARG_STRING] = "str", [T2O_ARG_DTYPE] = "ScalarType",  [T2O_ARG_DEVICE] = "Device",
        [T2O_ARG_LAYOUT] = "Layout", [T2O_ARG_MEMORY_FORMAT] = "MemoryFormat", [T2O_ARG_COMPLEX] = "Scalar",
        [T2O_ARG_EXPR] = "SymInt",
    };
    t2o_file *file = t2o_file_map(s, path);
    t2o_program *p = file ? t2o_pt2_read(s, t2o_exprs_new(s), file, model) : NULL;
    const char *schema = "";
    for (const t2o_node *n = p ? p->graph->first : NULL; n; n = n->next) {
        if (strcmp(n->op, op))
            continue;
        schema = t2o_printf(s->arena, "%s(", strstr(op, "::") + 2);
        for (uint32_t i = 0; i < n->n_attrs; i++) {
            const t2o_arg *a = &n->attrs[i].arg;
            const t2o_arg *item = a->kind == T2O_ARG_LIST && a->n ? &a->items[0] : a;
            const char *type = item->kind == T2O_ARG_VALUE
                                   ? n->inputs[item->index]->kind == T2O_VALUE_SYMINT ? "SymInt" : "Tensor"
                               : item->kind == T2O_ARG_NONE ? "Tensor?"
                               : item->kind < sizeof types / sizeof *types && types[item->kind] ? types[item->kind]
                                                                                                : "Tensor";
            schema = t2o_printf(s->arena, "%s%s%s%s %s", schema, i ? ", " : "", type,
                                a->kind == T2O_ARG_LIST ? "[]" : "", n->attrs[i].name);
        }
        schema = t2o_printf(s->arena, "%s) -> ", schema);
        if (n->n_returns != 1)
            schema = t2o_printf(s->arena, "%s(", schema);
        for (uint32_t i = 0; i < n->n_returns; i++)
            schema = t2o_printf(s->arena, "%s%sTensor%s", schema, i ? ", " : "",
                                n->returns[i].kind == T2O_ARG_LIST ? "[]" : "");
        if (n->n_returns != 1)
            schema = t2o_printf(s->arena, "%s)", schema);
        break;
    }
    t2o_file_unmap(file);
    return schema;
}

static void rules_stub(t2o_session *s, const options *o)
{
    const char *args[2] = { o->operands.at[1], "" };
    if (!strstr(args[0], "::")) {
        t2o_fail(s, "E0201", "'%s' is no operator's name", args[0]);
        t2o_hint(s, "give it with its namespace: mylib::foo or aten::add.Tensor");
        return;
    }
    if (o->operands.n > 2)
        args[1] = call_schema(s, o->operands.at[2], args[0], o->model);
    if (!t2o_failed(s))
        print_command(s, o, "stub", args, 2);
}

static void rules_dump(t2o_session *s, const options *o)
{
    dump d = { s, o->operands.at[1], 0 };
    t2o_script_each_builtin(s, dump_file, &d);
    if (!t2o_failed(s) && !o->quiet)
        fprintf(stderr, "%s: %u files; edit them and convert with -r %s\n", d.folder, d.files, d.folder);
}

/* Each file's report; the last line adds them up. A failing row makes the exit code 1. */
static void rules_test(t2o_session *s, const options *o)
{
    unsigned failed = 0;
    for (size_t i = 1; i < o->operands.n; i++) {
        t2o_script *k = open_script(s, o);
        unsigned here = 0;
        const char *report = k ? t2o_script_test(k, o->operands.at[i], o->verbose, &here) : NULL;
        if (report)
            fputs(report, stdout);
        failed += here;
        t2o_script_free(k);
    }
    if (failed)
        t2o_fail(s, "E0103", "%u test rows of rules failed", failed);
}

int command_rules(t2o_session *s, const options *o)
{
    const char *verb = o->operands.n ? o->operands.at[0] : "";
    size_t n = o->operands.n;
    if (!strcmp(verb, "list") && n <= 2) {
        const char *args[] = { n > 1 ? o->operands.at[1] : "*", o->json ? "json" : o->markdown ? "markdown" : "text" };
        print_command(s, o, "list", args, 2);
    } else if (!strcmp(verb, "which") && n == 2) {
        const char *args[] = { o->operands.at[1], o->json ? "json" : "text" };
        print_command(s, o, "which", args, 2);
    } else if (!strcmp(verb, "stub") && (n == 2 || n == 3))
        rules_stub(s, o);
    else if (!strcmp(verb, "dump") && n == 2)
        rules_dump(s, o);
    else if (!strcmp(verb, "test") && n >= 2)
        rules_test(s, o);
    else {
        t2o_fail(s, "E0201", "rules takes list, which OP, stub OP, dump DIR or test FILE");
        t2o_hint(s, "t2o rules --help");
    }
    return t2o_exit_code(s);
}

int command_explain(t2o_session *s, const options *o)
{
    const char *title;
    if (o->operands.n == 0) {
        for (size_t i = 0; t2o_code_at(i); i++) {
            t2o_explain(t2o_code_at(i), &title);
            printf("%s  %s\n", t2o_code_at(i), title);
        }
        return 0;
    }
    const char *text = t2o_explain(o->operands.at[0], &title);
    if (!text) {
        t2o_fail(s, "E0201", "there is no error code '%s'", o->operands.at[0]);
        t2o_hint(s, "t2o explain lists the codes");
        return t2o_exit_code(s);
    }
    for (size_t i = 0; t2o_code_at(i); i++)
        if (!strcasecmp(t2o_code_at(i), o->operands.at[0]))
            printf("%s: %s\n\n%s\n", t2o_code_at(i), title, text);
    return 0;
}
