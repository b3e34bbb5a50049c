/* file.c: mmap for input; buffered write, fsync-free rename for output. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)

struct t2o_output {
    t2o_session *s;
    const char *path, *temporary;
    int fd, error;
    uint64_t size;
    size_t used;
    uint8_t *buffer;
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
    close(fd);
    return f;
}

void t2o_file_unmap(t2o_file *file)
{
    if (file && file->size)
        munmap((void *)file->bytes, file->size);
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
    out->temporary = t2o_printf(s->arena, "%s.%ld.part", path, (long)getpid());
    out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out->fd < 0) {
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
        write_all(out, bytes, n);
        return;
    }
    memcpy(out->buffer + out->used, bytes, n);
    out->used += n;
}

uint64_t t2o_output_size(const t2o_output *out)
{
    return out->size;
}

void t2o_output_discard(t2o_output *out)
{
    if (!out || out->fd < 0)
        return;
    close(out->fd);
    out->fd = -1;
    unlink(out->temporary);
}

bool t2o_output_commit(t2o_output *out)
{
    flush(out);
    if (!out->error && close(out->fd))
        out->error = errno;
    else if (out->error)
        close(out->fd);
    out->fd = -1;
    if (!out->error && rename(out->temporary, out->path))
        out->error = errno;
    if (!out->error)
        return true;
    unlink(out->temporary);
    return t2o_fail(out->s, "E0101", "cannot write '%s': %s", out->path, strerror(out->error));
}
