/* zip.h: writes the zip container of an archive: stored records whose data begin on multiples of 64 bytes.
 *
 *     t2o_zip *z = t2o_zip_new(s, out);
 *     t2o_zip_begin(z, "mlp/models/model.json", n); t2o_zip_write(z, bytes, n); t2o_zip_end(z);
 *     t2o_zip_close(z)
 *
 * Errors of the disk are kept in the output until its commit; those of the container are too, as E0101 of
 * t2o_zip_close.
 */
#ifndef T2O_PT2_ZIP_H
#define T2O_PT2_ZIP_H

#include "base/file.h"

typedef struct t2o_zip t2o_zip;

t2o_zip *t2o_zip_new(t2o_session *s, t2o_output *out);
/* n: how many bytes follow. */
void t2o_zip_begin(t2o_zip *z, const char *name, uint64_t n);
void t2o_zip_write(t2o_zip *z, const void *bytes, size_t n);
void t2o_zip_end(t2o_zip *z);
/* A whole record. */
void t2o_zip_record(t2o_zip *z, const char *name, const void *bytes, size_t n);
bool t2o_zip_close(t2o_zip *z);

#endif
