/* batch.c: t2o convert A.pt2 B.pt2 FOLDER -d OUT: a process for each model.
 *
 * The parent finds the models, forks and reports; it never reads one. What a child prints goes into a file in memory
 * and comes out when all before it are done: in the order of the inputs, whatever --jobs is. A child that crashes is
 * one model that failed.
 */
#include "base/file.h"
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEEPEST 64
#define WIDTH 79        /* of the line of progress */
#define UP_TO_DATE 64   /* a child's exit status: nothing to do */

typedef struct job {
    const char *input, *output;
    pid_t pid;          /* 0 = not started, or done */
    int out, err;       /* what it prints */
    const char *text[2];
    size_t n[2];
    int status;         /* as waitpid has it */
    bool done;
} job;

typedef struct batch {
    t2o_session *s;
    const options *o;
    T2O_VEC(job) jobs;
    size_t started, finished, shown, failed, skipped;
    bool progress;      /* on a terminal */
} batch;

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool batch_wanted(const options *o)
{
    return !o->attach && (o->operands.n > 1 || o->folder ||
                          (o->operands.n == 1 && !o->output && is_folder(o->operands.at[0])));
}

/* ---- which models ---- */

static const char *suffix_of(const batch *b)
{
    return b->o->to ? b->o->to : "onnx";
}

static bool has_suffix(const char *name, const char *suffix)
{
    const char *dot = strrchr(name, '.');
    return dot && dot != name && !strcmp(dot + 1, suffix);
}

/* `relative` is the place that the output gets in the folder of -d. */
static void add_job(batch *b, const char *input, const char *relative)
{
    const options *o = b->o;
    const char *place = o->folder ? t2o_printf(b->s->arena, "%s/%s", o->folder, relative) : input;
    t2o_push(b->s->arena, &b->jobs, ((job){ .input = input, .output = default_output(b->s, o, place) }));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool read_folder(t2o_session *s, const char *path, texts *names)
{
    DIR *dir = opendir(path);
    if (!dir)
        return t2o_fail(s, "E0501", "cannot read the folder '%s': %s", path, strerror(errno));
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            t2o_push(s->arena, names, (const char *)t2o_strdup(s->arena, e->d_name));
    closedir(dir);
    if (names->n)
        qsort(names->at, names->n, sizeof *names->at, by_text);
    return true;
}

/* Links to folders are not followed, and the folder of the outputs is none of inputs. */
static bool is_searched(const batch *b, const char *path, const struct stat *st)
{
    struct stat own, to;
    return S_ISDIR(st->st_mode) && !lstat(path, &own) && !S_ISLNK(own.st_mode) &&
           !(b->o->folder && !stat(b->o->folder, &to) && to.st_dev == st->st_dev && to.st_ino == st->st_ino);
}

/* Models in a folder and below it, but for those that are what is to be written. */
static bool add_folder(batch *b, const char *folder, const char *below, int depth)
{
    t2o_arena *a = b->s->arena;
    texts names = { 0 };
    if (!read_folder(b->s, folder, &names))
        return false;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.at[i], *path = t2o_printf(a, "%s/%s", folder, name);
        const char *relative = t2o_printf(a, "%s%s", below, name);
        struct stat st;
        if (stat(path, &st))
            continue;
        if (S_ISREG(st.st_mode) && !has_suffix(name, suffix_of(b)) &&
            (has_suffix(name, "pt2") || has_suffix(name, "onnx")))
            add_job(b, path, relative);
        else if (depth < DEEPEST && is_searched(b, path, &st) &&
                 !add_folder(b, path, t2o_printf(a, "%s/", relative), depth + 1))
            return false;
    }
    return true;
}

static bool add_operand(batch *b, const char *path)
{
    size_t before = b->jobs.n, n = strlen(path);
    const char *slash = strrchr(path, '/');
    if (!is_folder(path)) {
        add_job(b, path, slash ? slash + 1 : path);
        return true;
    }
    while (n > 1 && path[n - 1] == '/')
        n--;
    if (!add_folder(b, t2o_strndup(b->s->arena, path, n), "", 0))
        return false;
    if (b->jobs.n > before)
        return true;
    t2o_fail(b->s, "E0501", "there is no model in the folder '%s'", path);
    t2o_hint(b->s, "a folder is searched for .pt2 and .onnx, but not for what is to be written (.%s)", suffix_of(b));
    return false;
}

/* "device:number" of a file, or NULL where there is none. */
static const char *identity(t2o_session *s, const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return NULL;
    return t2o_printf(s->arena, "%llx:%llx", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

static bool same_file(t2o_session *s, const char *a, const char *b)
{
    const char *x = identity(s, a), *y = identity(s, b);
    return !strcmp(a, b) || (x && y && !strcmp(x, y));
}

/* A model that is given twice counts once; two models never get one name, and none is overwritten. */
static bool check_outputs(batch *b)
{
    t2o_arena *a = b->s->arena;
    t2o_map outputs = { 0 }, inputs = { 0 };
    size_t kept = 0;
    for (size_t i = 0; i < b->jobs.n; i++) {
        job *j = &b->jobs.at[i];
        const char *other = t2o_map_get(&outputs, j->output), *id = identity(b->s, j->input);
        if (other && same_file(b->s, other, j->input))
            continue;
        if (other) {
            t2o_fail(b->s, "E0201", "'%s' and '%s' would both be written to '%s'", other, j->input, j->output);
            t2o_hint(b->s, "give the folder above them: what is found in a folder keeps its place below it");
            return false;
        }
        t2o_map_set(a, &outputs, j->output, (void *)j->input);
        if (id)
            t2o_map_set(a, &inputs, id, (void *)j->input);
        b->jobs.at[kept++] = *j;
    }
    b->jobs.n = kept;
    for (size_t i = 0; i < kept; i++) {
        const char *id = identity(b->s, b->jobs.at[i].output), *input = id ? t2o_map_get(&inputs, id) : NULL;
        if (input)
            return t2o_fail(b->s, "E0201", "the output '%s' is the input '%s'", b->jobs.at[i].output, input);
    }
    return true;
}

static bool find_models(batch *b)
{
    const options *o = b->o;
    if (o->output)
        return t2o_fail(b->s, "E0201", "-o names one output; for several models give their folder with -d");
    if (!o->operands.n)
        return t2o_fail(b->s, "E0201", "convert needs .pt2 files, or folders of them");
    for (size_t i = 0; i < o->operands.n; i++)
        if (!add_operand(b, o->operands.at[i]))
            return false;
    return check_outputs(b);
}

/* ---- a child ---- */

static void run_child(const batch *b, const job *j)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(j->out, STDOUT_FILENO);
    dup2(j->err, STDERR_FILENO);
    t2o_session *s = t2o_session_new();
    bool skipped = false;
    int code = convert_file(s, b->o, j->input, j->output, &skipped);
    report_diags(s, b->o, 0);
    if (fflush(stdout) && !code)
        code = 1;
    _exit(skipped ? UP_TO_DATE : code);
}

static bool start(batch *b, job *j)
{
    j->out = memfd_create("out", MFD_CLOEXEC);
    j->err = memfd_create("err", MFD_CLOEXEC);
    fflush(NULL);
    j->pid = j->out < 0 || j->err < 0 ? -1 : fork();
    if (j->pid == 0)
        run_child(b, j);
    if (j->pid > 0)
        return true;
    int error = errno;
    close(j->out);
    close(j->err);
    j->pid = 0;
    return t2o_fail(b->s, "E0107", "cannot start a process: %s", strerror(error));
}

static const char *take_text(t2o_session *s, int fd, size_t *n)
{
    struct stat st = { 0 };
    *n = 0;
    char *text = t2o_alloc(s->arena, fstat(fd, &st) ? 1 : (size_t)st.st_size + 1);
    for (ssize_t some = 1; some > 0 && *n < (size_t)st.st_size; *n += some > 0 ? (size_t)some : 0)
        some = pread(fd, text + *n, (size_t)st.st_size - *n, (off_t)*n);
    close(fd);
    return text;
}

/* Waits for a child; false where there is none. */
static bool finish_one(batch *b)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, 0)) < 0 && errno == EINTR)
        ;
    for (size_t i = b->shown; i < b->started; i++) {
        job *j = &b->jobs.at[i];
        if (pid <= 0 || j->pid != pid)
            continue;
        *j = (job){
            .input = j->input, .output = j->output, .out = j->out, .err = j->err, .status = status, .done = true
        };
        j->text[0] = take_text(b->s, j->out, &j->n[0]);
        j->text[1] = take_text(b->s, j->err, &j->n[1]);
        if (WIFSIGNALED(status))
            t2o_output_sweep(b->s, j->output, pid);
        b->finished++;
    }
    return pid > 0;
}

/* ---- reports ---- */

static void clear_progress(const batch *b)
{
    if (b->progress)
        fprintf(stderr, "\r%*s\r", WIDTH, "");
}

/* "[ 3/12] 1 failed  vit_b_16.pt2", a long path without its beginning */
static void show_progress(const batch *b)
{
    if (!b->progress || b->finished == b->jobs.n)
        return;
    size_t i = b->shown;
    while (i < b->started && b->jobs.at[i].done)
        i++;
    const char *name = i < b->started ? b->jobs.at[i].input : "";
    int n = fprintf(stderr, "\r[%zu/%zu] ", b->finished, b->jobs.n) - 1;
    if (b->failed)
        n += fprintf(stderr, "%zu failed  ", b->failed);
    size_t length = strlen(name), room = (size_t)(WIDTH - n - 3);
    const char *from = length > room ? name + length - room : name;
    while (from > name && ((unsigned char)*from & 0xc0) == 0x80)
        from++; /* not in the middle of a character */
    n += fprintf(stderr, "%s%s", from > name ? "..." : "", from);
    fprintf(stderr, "%*s", WIDTH - n > 0 ? WIDTH - n : 0, "");
    fflush(stderr);
}

static void report_crash(const batch *b, const job *j)
{
    t2o_session *s = t2o_session_new();
    int number = WIFSIGNALED(j->status) ? WTERMSIG(j->status) : 0;
    if (number)
        t2o_fail(s, "E0107", "the process that converted '%s' was ended by signal %d (%s)", j->input, number,
                 strsignal(number));
    else
        t2o_fail(s, "E0107", "the process that converted '%s' ended without a report (exit status %d)", j->input,
                 WEXITSTATUS(j->status));
    if (number == SIGKILL)
        t2o_hint(s, "the system may have been out of memory: fewer --jobs take less");
    if (b->o->json)
        convert_report(&(run){ .s = s, .o = b->o, .input = j->input, .output = j->output }, false, NULL);
    report_diags(s, b->o, 0);
    t2o_session_free(s);
}

static void show(batch *b, const job *j)
{
    int code = WIFEXITED(j->status) ? WEXITSTATUS(j->status) : -1;
    bool failed = code != 0 && code != UP_TO_DATE;
    b->failed += failed;
    b->skipped += code == UP_TO_DATE;
    if (failed)
        fprintf(stderr, "%s: failed\n", j->input);
    fwrite(j->text[1], 1, j->n[1], stderr);
    if (code < 0 || (failed && b->o->json && !j->n[0]))
        report_crash(b, j);
    else
        fwrite(j->text[0], 1, j->n[0], stdout);
    fflush(stdout);
}

/* What is done, as far as all before it are. */
static void show_done(batch *b)
{
    clear_progress(b);
    for (; b->shown < b->jobs.n && b->jobs.at[b->shown].done; b->shown++)
        show(b, &b->jobs.at[b->shown]);
    show_progress(b);
}

static void show_sum(const batch *b)
{
    size_t converted = b->jobs.n - b->failed - b->skipped;
    if (b->o->quiet)
        return;
    fprintf(stderr, "%zu models: %zu converted", b->jobs.n, converted);
    if (b->skipped)
        fprintf(stderr, ", %zu up to date", b->skipped);
    if (b->failed)
        fprintf(stderr, ", %zu failed", b->failed);
    fputc('\n', stderr);
}

/* ---- all ---- */

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

static bool run_all(batch *b)
{
    size_t at_once = (size_t)(b->o->jobs ? b->o->jobs : processors());
    show_progress(b);
    while (b->finished < b->jobs.n) {
        size_t known = b->s->diags.n;
        while (b->started < b->jobs.n && b->started - b->finished < at_once && start(b, &b->jobs.at[b->started]))
            b->started++;
        if (t2o_failed(b->s) && b->started == b->finished)
            return false;
        t2o_forget_diags(b->s, known); /* it is tried again when a child has ended */
        if (!finish_one(b))
            return t2o_fail(b->s, "E0107", "cannot wait for a process: %s", strerror(errno));
        show_done(b);
    }
    return true;
}

static bool make_output_folder(t2o_session *s, const char *folder)
{
    if (!make_folders(s, t2o_printf(s->arena, "%s/", folder)))
        return false;
    return is_folder(folder) || t2o_fail(s, "E0101", "'%s' is not a folder", folder);
}

int batch_convert(t2o_session *s, const options *o)
{
    batch b = { .s = s, .o = o };
    b.progress = !o->quiet && isatty(STDERR_FILENO);
    if (!find_models(&b) || (o->folder && !make_output_folder(s, o->folder)) || !run_all(&b))
        return t2o_exit_code(s);
    show_sum(&b);
    if (b.failed)
        t2o_fail(s, "E0701", "%zu of %zu models could not be converted", b.failed, b.jobs.n);
    return t2o_exit_code(s);
}
