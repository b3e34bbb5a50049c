/* archive.h: the zip container of a .pt2 file, and of the torch.save zips nested in it.
 *
 * An archive is an index over bytes that the caller keeps mapped: a stored record is a slice of
 * them, a deflated one is inflated into the session's arena when it is first asked for. Nothing has
 * to be closed. Names are keys, never paths. Every offset and size is checked against the bytes; of
 * several records of one name the first counts.
 *
 *     t2o_archive *a = t2o_archive_open(s, path, bytes, size, false);
 *     if (!a) ...                               after E0502 (no zip) or E0503 (damaged)
 *     t2o_record *r = t2o_archive_find(a, "models/", "model.json");
 *     if (!r) ...                               there is none: no error
 *     if (!t2o_archive_read(a, r)) ...          E0503
 *     r->bytes, r->size
 */
#ifndef T2O_PT2_ARCHIVE_H
#define T2O_PT2_ARCHIVE_H

#include "base/session.h"

typedef struct t2o_record {
    const char *name;     /* whole, with the root folder */
    const uint8_t *bytes; /* NULL until a deflated record has been read */
    size_t size;
    bool in_file;         /* bytes is a slice of the archive's bytes */
    const char *fault;    /* why it cannot be read, or NULL */
    uint64_t packed;      /* bytes in the zip */
    uint32_t crc;         /* of the bytes, as the zip's directory has it */
    uint64_t place[2];    /* its place in the zip's directory, as minizip counts it */
} t2o_record;

typedef struct t2o_archive {
    t2o_session *s;
    const char *path;
    const uint8_t *bytes;
    size_t size;
    size_t may_inflate; /* bytes of compressed records that may still be inflated */
    const char *root; /* "mlp/", or "" where records have no folder in common */
    t2o_map records;  /* name -> t2o_record, in the order of the directory */
} t2o_archive;

/* Compressed records are read up to what the file's size can account for; in a nested archive,
 * where torch.save writes none, they are refused: a few bytes could unfold to any size. */
t2o_archive *t2o_archive_open(t2o_session *s, const char *path, const uint8_t *bytes, size_t size,
                              bool nested);

/* The record `folder` + `name` below the root. */
t2o_record *t2o_archive_find(const t2o_archive *a, const char *folder, const char *name);

/* Makes bytes available. False after E0503. */
bool t2o_archive_read(t2o_archive *a, t2o_record *record);

/* The name below the root, or NULL for a record that is not below it. */
const char *t2o_archive_relative(const t2o_archive *a, const t2o_record *record);

/* E0506 when the archive says that its numbers are not little-endian. */
bool t2o_archive_check_byteorder(t2o_archive *a);

#endif
