/* file.h: mapped input files and outputs that appear whole or not at all.
 *
 *     t2o_file *f = t2o_file_map(s, "model.pt2");           f->bytes, f->size; unmapped by t2o_file_unmap
 *     t2o_output *o = t2o_output_open(s, "model.onnx");
 *     t2o_output_write(o, bytes, n);                        errors are kept until the commit
 *     if (!t2o_output_commit(o)) ...                        or t2o_output_discard(o)
 *
 * An output is written to a temporary file in the folder of its name and renamed by the commit.
 */
#ifndef T2O_BASE_FILE_H
#define T2O_BASE_FILE_H

#include "base/digest.h"
#include "base/session.h"

typedef struct t2o_file {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    int fd;
} t2o_file;

/* NULL after E0501: no such file, a directory, not readable. An empty file has bytes of size 0. */
t2o_file *t2o_file_map(t2o_session *s, const char *path);
void t2o_file_unmap(t2o_file *file);
/* Whether n bytes from there on are a piece of the mapped file. */
bool t2o_file_holds(const t2o_file *file, const uint8_t *bytes, size_t n);
/* Gives its descriptor back; the map stays. */
void t2o_file_close(t2o_file *file);

/* Adds the whole contents, read without the map: pages that are not wanted again do not stay with the process. False
 * after E0501. */
bool t2o_file_digest(t2o_session *s, const t2o_file *file, t2o_digest *h);

/* A whole small file as text with a NUL behind it, in the arena; NULL where it cannot be read (no diagnostic). */
char *t2o_file_text(t2o_session *s, const char *path, size_t *size);

/* The path of a file as seen from the folder of another; NULL where it does not lie in or below that. */
const char *t2o_path_below(t2o_session *s, const char *other, const char *path);

typedef struct t2o_output t2o_output;

/* NULL after E0101. */
t2o_output *t2o_output_open(t2o_session *s, const char *path);
void t2o_output_write(t2o_output *out, const void *bytes, size_t n);
/* Writes over bytes that were written before. */
void t2o_output_patch(t2o_output *out, uint64_t offset, const void *bytes, size_t n);
/* From here on large pieces of this mapped file are copied by the kernel, without passing through the process. */
void t2o_output_copies_from(t2o_output *out, const t2o_file *file);
uint64_t t2o_output_size(const t2o_output *out);
/* Everything to the disk, so that only the name is missing. False after E0101; commit does it by itself. */
bool t2o_output_finish(t2o_output *out);
/* Both end the output; commit returns false after E0101 and then leaves no file. */
bool t2o_output_commit(t2o_output *out);
/* Of a model and its weights, which are complete before either gets its name: an old model never stands beside new
 * weights, not even where the process is killed; between the two there is none. Ends both. */
bool t2o_output_commit_pair(t2o_output *weights, t2o_output *model);
void t2o_output_discard(t2o_output *out);
/* From here on SIGINT, SIGTERM and SIGHUP remove what is not finished before they end the process. */
void t2o_output_mind_signals(void);
/* Removes what a process that crashed left of an output and of what it writes beside it. */
void t2o_output_sweep(t2o_session *s, const char *path, long process);

#endif
