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

#include "base/session.h"

typedef struct t2o_file {
    const char *path;
    const uint8_t *bytes;
    size_t size;
} t2o_file;

/* NULL after E0501: no such file, a directory, not readable. An empty file has bytes of size 0. */
t2o_file *t2o_file_map(t2o_session *s, const char *path);
void t2o_file_unmap(t2o_file *file);

/* A whole small file as text with a NUL behind it, in the arena; NULL where it cannot be read (no diagnostic). */
char *t2o_file_text(t2o_session *s, const char *path, size_t *size);

typedef struct t2o_output t2o_output;

/* NULL after E0101. */
t2o_output *t2o_output_open(t2o_session *s, const char *path);
void t2o_output_write(t2o_output *out, const void *bytes, size_t n);
uint64_t t2o_output_size(const t2o_output *out);
/* Both end the output; commit returns false after E0101 and then leaves no file. */
bool t2o_output_commit(t2o_output *out);
void t2o_output_discard(t2o_output *out);

#endif
