/* file.c: mmap for input; buffered write, fsync-free rename for output. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)
#define PAGE 4096
#define BLOCK ((size_t)256 << 10)
#define KERNEL_COPY ((size_t)256 << 10) /* bytes from which a copy by the kernel pays */

struct t2o_output {
    t2o_session *s;
    const char *path, *temporary;
    int fd, error;
    uint64_t size;
    size_t used;
    uint8_t *buffer;
    const t2o_file *source;
};

t2o_file *t2o_file_map(t2o_session *s, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st)) {
        t2o_fail(s, "E0501", "cannot open '%s': %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    const char *kind = S_ISDIR(st.st_mode) ? "is a directory" : !S_ISREG(st.st_mode) ? "is not a regular file" : NULL;
    if (kind) {
        close(fd);
        t2o_fail(s, "E0501", "'%s' %s", path, kind);
        t2o_hint(s, "give the .pt2 file itself");
        return NULL;
    }
    t2o_file *f = T2O_NEW(s->arena, t2o_file);
    f->path = path;
    f->size = (size_t)st.st_size;
    f->fd = fd;
    f->bytes = (const uint8_t *)"";
    if (f->size) {
        void *map = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            t2o_fail(s, "E0501", "cannot map '%s': %s", path, strerror(errno));
            close(fd);
            return NULL;
        }
        f->bytes = map;
    }
    return f;
}

void t2o_file_unmap(t2o_file *file)
{
    if (!file)
        return;
    if (file->size)
        munmap((void *)file->bytes, file->size);
    t2o_file_close(file);
}

bool t2o_file_holds(const t2o_file *file, const uint8_t *bytes, size_t n)
{
    uintptr_t at = (uintptr_t)bytes - (uintptr_t)file->bytes; /* large where it lies before */
    return n <= file->size && at <= file->size - n;
}

void t2o_file_close(t2o_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

bool t2o_file_digest(t2o_session *s, const t2o_file *file, t2o_digest *h)
{
    uint8_t *block = t2o_alloc(s->arena, BUFFER);
    int fd = file->fd >= 0 ? file->fd : open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return t2o_fail(s, "E0501", "cannot read '%s': %s", file->path, strerror(errno));
    ssize_t n = 1;
    for (off_t at = 0; n > 0 && at < (off_t)file->size; at += n > 0 ? n : 0)
        if ((n = pread(fd, block, BUFFER, at)) > 0)
            t2o_digest_bytes(h, block, (size_t)n);
    if (n <= 0)
        t2o_fail(s, "E0501", "cannot read '%s': %s", file->path, n ? strerror(errno) : "it was cut short");
    if (fd != file->fd)
        close(fd);
    return n > 0;
}

char *t2o_file_text(t2o_session *s, const char *path, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < ((off_t)64 << 20)) {
        text = t2o_alloc(s->arena, (size_t)st.st_size + 1);
        ssize_t n = read(fd, text, (size_t)st.st_size);
        if (n < 0)
            text = NULL;
        else if (size)
            *size = (size_t)n;
    }
    close(fd);
    return text;
}

const char *t2o_path_below(t2o_session *s, const char *other, const char *path)
{
    const char *slash = strrchr(other, '/');
    char *folder = realpath(slash ? t2o_strndup(s->arena, other, (size_t)(slash - other + 1)) : ".", NULL);
    char *file = realpath(path, NULL);
    size_t n = folder ? strlen(folder) : 0;
    n -= n && folder[n - 1] == '/';
    bool below = folder && file && !strncmp(file, folder, n) && file[n] == '/';
    const char *seen = below ? t2o_strdup(s->arena, file + n + 1) : NULL;
    free(folder);
    free(file);
    return seen;
}

/* ---- outputs ---- */

#define MOST_UNFINISHED 8

/* Temporary files, for the handler below. */
static const char *volatile unfinished[MOST_UNFINISHED];

static void replace_unfinished(const char *from, const char *to)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i] == from) {
            unfinished[i] = to;
            return;
        }
}

static void remove_unfinished(int number)
{
    for (int i = 0; i < MOST_UNFINISHED; i++)
        if (unfinished[i])
            unlink(unfinished[i]);
    signal(number, SIG_DFL);
    raise(number);
}

void t2o_output_mind_signals(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = remove_unfinished }, before;
    for (int i = 0; i < 3; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static const char *temporary_name(t2o_session *s, const char *path, long process)
{
    return t2o_printf(s->arena, "%s.%ld.part", path, process);
}

void t2o_output_sweep(t2o_session *s, const char *path, long process)
{
    const char *dot = strrchr(path, '.');
    unlink(temporary_name(s, path, process));
    unlink(temporary_name(s, t2o_printf(s->arena, "%s.data", path), process));
    if (dot)
        unlink(temporary_name(s, t2o_printf(s->arena, "%.*s.safetensors", (int)(dot - path), path), process));
}

t2o_output *t2o_output_open(t2o_session *s, const char *path)
{
    t2o_output *out = T2O_NEW(s->arena, t2o_output);
    struct stat st;
    out->s = s;
    out->path = path;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        t2o_fail(s, "E0101", "cannot write '%s': it is a directory", path);
        return NULL;
    }
    out->temporary = temporary_name(s, path, getpid());
    replace_unfinished(NULL, out->temporary); /* before it is there: a signal may come at any moment */
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) {
        replace_unfinished(out->temporary, NULL);
        t2o_fail(s, "E0101", "cannot write '%s': %s", path, strerror(errno));
        return NULL;
    }
    out->buffer = T2O_NEW_N(s->arena, uint8_t, BUFFER);
    return out;
}

static void write_all(t2o_output *out, const uint8_t *bytes, size_t n)
{
    while (n && !out->error) {
        ssize_t done = write(out->fd, bytes, n > ((size_t)8 << 20) ? (size_t)8 << 20 : n);
        if (done < 0 && errno != EINTR)
            out->error = errno;
        else if (done > 0)
            bytes += done, n -= (size_t)done;
    }
}

void t2o_output_copies_from(t2o_output *out, const t2o_file *file)
{
    out->source = file;
}

/* Through a buffer that a processor's cache holds, so that whole pages are written: where two files differ in how they
 * lie on pages, the kernel's own copy takes each page in two pieces, which is slower. */
static size_t copy_through(t2o_output *out, off_t at, uint64_t to, size_t n)
{
    static uint8_t block[BLOCK];
    size_t done = 0;
    while (done < n && !out->error) {
        size_t step = BLOCK - (to + done) % BLOCK;
        ssize_t some = pread(out->source->fd, block, step < n - done ? step : n - done, at + (off_t)done);
        if (some <= 0)
            break;
        write_all(out, block, (size_t)some);
        done += (size_t)some;
    }
    return done;
}

/* Copies as much as it can without the map, whose pages would stay with the process; returns how much that was. Not
 * every file system copies in the kernel, nor between two. */
static size_t copy_from_source(t2o_output *out, const uint8_t *bytes, size_t n)
{
    const t2o_file *from = out->source;
    size_t done = 0;
    if (!from || out->error || n < KERNEL_COPY || !t2o_file_holds(from, bytes, n))
        return 0;
    off_t at = bytes - from->bytes;
    uint64_t to = out->size - n;
    if ((to ^ (uint64_t)at) % PAGE)
        return copy_through(out, at, to, n);
    while (done < n) {
        ssize_t some = copy_file_range(from->fd, &at, out->fd, NULL, n - done, 0);
        if (some <= 0)
            break;
        done += (size_t)some;
    }
    return done;
}

static void flush(t2o_output *out)
{
    write_all(out, out->buffer, out->used);
    out->used = 0;
}

void t2o_output_write(t2o_output *out, const void *bytes, size_t n)
{
    out->size += n;
    if (n >= BUFFER - out->used)
        flush(out);
    if (n >= BUFFER) {
        size_t done = copy_from_source(out, bytes, n);
        write_all(out, (const uint8_t *)bytes + done, n - done);
        return;
    }
    memcpy(out->buffer + out->used, bytes, n);
    out->used += n;
}

void t2o_output_patch(t2o_output *out, uint64_t offset, const void *bytes, size_t n)
{
    flush(out);
    for (const uint8_t *p = bytes; n && !out->error;) {
        ssize_t done = pwrite(out->fd, p, n, (off_t)offset);
        if (done < 0 && errno != EINTR)
            out->error = errno;
        else if (done > 0)
            p += done, offset += (uint64_t)done, n -= (size_t)done;
    }
}

uint64_t t2o_output_size(const t2o_output *out)
{
    return out->size;
}

static void drop(t2o_output *out)
{
    unlink(out->temporary);
    replace_unfinished(out->temporary, NULL);
}

void t2o_output_discard(t2o_output *out)
{
    if (!out)
        return;
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
    drop(out);
}

bool t2o_output_finish(t2o_output *out)
{
    if (out->fd < 0)
        return !out->error;
    flush(out);
    if (close(out->fd) && !out->error)
        out->error = errno;
    out->fd = -1;
    if (!out->error)
        return true;
    drop(out);
    return t2o_fail(out->s, "E0101", "cannot write '%s': %s", out->path, strerror(out->error));
}

bool t2o_output_commit(t2o_output *out)
{
    if (!t2o_output_finish(out))
        return false;
    if (!rename(out->temporary, out->path)) {
        replace_unfinished(out->temporary, NULL);
        return true;
    }
    out->error = errno;
    drop(out);
    return t2o_fail(out->s, "E0101", "cannot write '%s': %s", out->path, strerror(out->error));
}

bool t2o_output_commit_pair(t2o_output *weights, t2o_output *model)
{
    if (!t2o_output_finish(weights) || !t2o_output_finish(model)) {
        t2o_output_discard(weights);
        t2o_output_discard(model);
        return false;
    }
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int old = open(weights->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* freeing a large file takes time: later */
    if (old >= 0)
        unlink(model->path);
    bool ok = t2o_output_commit(weights);
    if (ok)
        ok = t2o_output_commit(model);
    else
        t2o_output_discard(model);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (old >= 0)
        close(old);
    return ok;
}
