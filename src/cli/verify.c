/* verify.c: t2o verify, t2o record and convert --verify: a Python script (python/verify.py) runs the models.
 *
 * The binary holds no Python. It starts python3, or what T2O_PYTHON names, without a shell. The script prints its table
 * itself; what it has to report comes back through a pipe, as records of fields:
 *
 *     E0401 US text US hint RS      an error
 *     warning US text RS
 *     result US JSON RS             what --json prints
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_END '\x1e'
#define FIELD_END '\x1f'

typedef T2O_VEC(const char *) arguments;

static void add(t2o_session *s, arguments *args, const char *option, const char *value)
{
    if (!value)
        return;
    t2o_push(s->arena, args, option);
    t2o_push(s->arena, args, value);
}

static void add_options(t2o_session *s, arguments *args, const options *o)
{
    for (size_t i = 0; i < o->inputs.n; i++)
        add(s, args, "--inputs", o->inputs.at[i]);
    add(s, args, "--seed", o->seed < 0 ? NULL : t2o_printf(s->arena, "%d", o->seed));
    add(s, args, "--rtol", o->rtol);
    add(s, args, "--atol", o->atol);
    add(s, args, "--precision", o->float16 ? "float16" : o->bfloat16 ? "bfloat16" : NULL);
    add(s, args, "--model", o->model);
    if (o->json)
        t2o_push(s->arena, args, "--json");
    if (o->quiet)
        t2o_push(s->arena, args, "--quiet");
}

static const char *python(void)
{
    const char *named = getenv("T2O_PYTHON");
    return named && *named ? named : "python3";
}

/* In the child: becomes the script, or says why not. */
static void become(char **argv, int report)
{
    execvp(argv[0], argv);
    dprintf(report, "E0105%c%s cannot be run: %s%cinstall Python 3.9 or newer, with numpy, or name it in T2O_PYTHON%c",
            FIELD_END, argv[0], strerror(errno), FIELD_END, RECORD_END);
    _exit(1);
}

static const char *read_all(t2o_session *s, int fd)
{
    t2o_string text;
    char block[4096];
    t2o_string_start(&text, s->arena);
    for (ssize_t n; (n = read(fd, block, sizeof block)) != 0;) {
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0)
            t2o_string_add_n(&text, block, (size_t)n);
    }
    return t2o_string_end(&text);
}

/* Cuts a field off the front of a record. */
static const char *field(char **rest)
{
    char *start = *rest, *end = strchr(start, FIELD_END);
    *rest = end ? end + 1 : start + strlen(start);
    if (end)
        *end = '\0';
    return start;
}

static void take_record(t2o_session *s, char *record, const char **result)
{
    const char *kind = field(&record), *text = field(&record);
    if (!strcmp(kind, "result"))
        *result = text;
    else if (!strcmp(kind, "warning"))
        t2o_warn(s, "%s", text);
    else {
        t2o_fail(s, t2o_intern(s, kind), "%s", text);
        if (*record)
            t2o_hint(s, "%s", record);
    }
}

static void take_report(t2o_session *s, const char *report, const char **result)
{
    for (const char *end; (end = strchr(report, RECORD_END)); report = end + 1)
        take_record(s, t2o_strndup(s->arena, report, (size_t)(end - report)), result);
}

/* What ended without a word of its own. */
static void check_status(t2o_session *s, int status)
{
    if (t2o_failed(s) || (WIFEXITED(status) && !WEXITSTATUS(status)))
        return;
    if (WIFSIGNALED(status))
        t2o_fail(s, "E0106", "%s was ended by signal %d", python(), WTERMSIG(status));
    else
        t2o_fail(s, "E0106", "%s ended with status %d", python(), WEXITSTATUS(status));
}

/* Runs the script with these arguments; *result is the JSON that it gave, or NULL. Errors are in the session. */
static void run_script(t2o_session *s, const arguments *args, const char **result)
{
    int ends[2], status = 0;
    const char *file, *text = t2o_script_builtin(s, "python/verify.py", &file);
    arguments argv = { 0 };
    if (pipe(ends)) {
        t2o_fail(s, "E0106", "no pipe to %s: %s", python(), strerror(errno));
        return;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    t2o_push(s->arena, &argv, python());
    if (!file)
        t2o_push(s->arena, &argv, "-c");
    t2o_push(s->arena, &argv, file ? file : text);
    t2o_push(s->arena, &argv, t2o_printf(s->arena, "%d", ends[1]));
    for (size_t i = 0; i < args->n; i++)
        t2o_push(s->arena, &argv, args->at[i]);
    t2o_push(s->arena, &argv, NULL);
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        become((char **)argv.at, ends[1]);
    close(ends[1]);
    if (child < 0)
        t2o_fail(s, "E0106", "%s cannot be started: %s", python(), strerror(errno));
    take_report(s, read_all(s, ends[0]), result);
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    check_status(s, status);
}

static bool check_operands(t2o_session *s, const options *o, size_t least, size_t most, const char *usage)
{
    if (o->operands.n >= least && o->operands.n <= most)
        return true;
    t2o_fail(s, "E0201", "%s takes %s", o->command, most > 1 ? "two models" : "one model");
    t2o_hint(s, "%s", usage);
    return false;
}

static int run_command(t2o_session *s, const options *o, const char *output)
{
    arguments args = { 0 };
    const char *result = NULL;
    t2o_push(s->arena, &args, o->command);
    add_options(s, &args, o);
    add(s, &args, "--output", output);
    for (size_t i = 0; i < o->set.n; i++)
        add(s, &args, "--set", o->set.at[i]);
    t2o_push(s->arena, &args, "--");
    for (size_t i = 0; i < o->operands.n; i++)
        t2o_push(s->arena, &args, o->operands.at[i]);
    run_script(s, &args, &result);
    if (o->json) {
        printf("{\"ok\": %s, \"exit_code\": %d, \"%s\": %s, \"diagnostics\": ", t2o_failed(s) ? "false" : "true",
               t2o_exit_code(s), o->command, result ? result : "null");
        json_diags(stdout, s);
        printf("}\n");
    }
    return t2o_exit_code(s);
}

int command_verify(t2o_session *s, const options *o)
{
    if (!check_operands(s, o, o->inputs.n ? 1 : 2, 2, "t2o verify model.pt2 model.onnx"))
        return t2o_exit_code(s);
    return run_command(s, o, NULL);
}

int command_record(t2o_session *s, const options *o)
{
    if (!check_operands(s, o, 1, 1, "t2o record model.pt2 -o model.npz"))
        return t2o_exit_code(s);
    if (!o->output) {
        t2o_fail(s, "E0201", "record needs the file to write");
        t2o_hint(s, "t2o record %s -o FILE.npz", o->operands.at[0]);
        return t2o_exit_code(s);
    }
    return run_command(s, o, o->output);
}

const char *verify_conversion(run *r)
{
    t2o_session *s = r->s;
    arguments args = { 0 };
    const char *result = NULL;
    t2o_push(s->arena, &args, "verify");
    add_options(s, &args, r->o);
    t2o_push(s->arena, &args, "--");
    t2o_push(s->arena, &args, r->input);
    t2o_push(s->arena, &args, r->output);
    run_script(s, &args, &result);
    return result;
}
