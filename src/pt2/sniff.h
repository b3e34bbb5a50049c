/* sniff.h: names what a file is that was given by mistake.
 *
 * Both return a phrase that follows "it looks like", or NULL where nothing speaks against a
 * torch.export archive. The guess is made for the message only: nothing depends on it.
 */
#ifndef T2O_PT2_SNIFF_H
#define T2O_PT2_SNIFF_H

#include "pt2/archive.h"

/* From the first bytes of a file; NULL for a zip. */
const char *t2o_sniff_bytes(const uint8_t *bytes, size_t size);

/* From the names in a zip. */
const char *t2o_sniff_zip(const t2o_archive *a);

#endif
