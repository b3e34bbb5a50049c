/* zip.c: minizip over an output that appears whole or not at all. */
#include "pt2/zip.h"

#include <minizip/zip.h>

#define ALIGNMENT 64
#define LOCAL_HEADER 30
#define LARGE ((uint64_t)0xf0000000) /* from here on sizes take 64 bits */
#define PIECE ((size_t)1 << 30)      /* minizip counts pieces in 32 bits */

struct t2o_zip {
    t2o_session *s;
    t2o_output *out;
    zipFile zip;
    uint64_t at; /* where minizip writes next: behind the end, or in a header that it completes */
    bool failed;
};

/* ---- the output as minizip's file ---- */

static voidpf open_output(voidpf z, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return z;
}

static uLong read_nothing(voidpf z, voidpf stream, void *buffer, uLong n)
{
    (void)z;
    (void)stream;
    (void)buffer;
    (void)n;
    return 0;
}

static uLong write_output(voidpf opaque, voidpf stream, const void *bytes, uLong n)
{
    (void)stream;
    t2o_zip *z = opaque;
    if (z->at == t2o_output_size(z->out))
        t2o_output_write(z->out, bytes, n);
    else
        t2o_output_patch(z->out, z->at, bytes, n);
    z->at += n;
    return n;
}

static ZPOS64_T tell_output(voidpf z, voidpf stream)
{
    (void)stream;
    return ((t2o_zip *)z)->at;
}

static long seek_output(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    (void)stream;
    t2o_zip *z = opaque;
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? z->at
                    : origin == ZLIB_FILEFUNC_SEEK_END ? t2o_output_size(z->out)
                                                       : 0;
    z->at = from + offset;
    return 0;
}

static int no_error(voidpf z, voidpf stream)
{
    (void)z;
    (void)stream;
    return 0;
}

t2o_zip *t2o_zip_new(t2o_session *s, t2o_output *out)
{
    t2o_zip *z = T2O_NEW(s->arena, t2o_zip);
    *z = (t2o_zip){ .s = s, .out = out };
    zlib_filefunc64_def functions = { open_output, read_nothing, write_output, tell_output, seek_output, no_error,
                                      no_error, z };
    z->zip = zipOpen2_64("", APPEND_STATUS_CREATE, NULL, &functions);
    z->failed = !z->zip;
    return z;
}

/* ---- records ---- */

void t2o_zip_begin(t2o_zip *z, const char *name, uint64_t n)
{
    static const zip_fileinfo info;
    uint8_t extra[4 + ALIGNMENT] = { 'F', 'B' };
    bool large = n >= LARGE;
    /* minizip puts 20 bytes of its own behind the padding of a large record */
    uint64_t data = t2o_output_size(z->out) + LOCAL_HEADER + strlen(name) + 4 + (large ? 20 : 0);
    uint8_t padding = (uint8_t)((ALIGNMENT - data % ALIGNMENT) % ALIGNMENT);
    extra[2] = padding;
    memset(extra + 4, 'Z', padding);
    z->failed |= zipOpenNewFileInZip64(z->zip, name, &info, extra, 4u + padding, NULL, 0, NULL, 0, 0, large) != ZIP_OK;
}

void t2o_zip_write(t2o_zip *z, const void *bytes, size_t n)
{
    for (const uint8_t *p = bytes; n && !z->failed;) {
        size_t piece = n < PIECE ? n : PIECE;
        z->failed |= zipWriteInFileInZip(z->zip, p, (unsigned)piece) != ZIP_OK;
        p += piece;
        n -= piece;
    }
}

void t2o_zip_end(t2o_zip *z)
{
    z->failed |= zipCloseFileInZip(z->zip) != ZIP_OK;
}

void t2o_zip_record(t2o_zip *z, const char *name, const void *bytes, size_t n)
{
    t2o_zip_begin(z, name, n);
    t2o_zip_write(z, bytes, n);
    t2o_zip_end(z);
}

bool t2o_zip_close(t2o_zip *z)
{
    if (z->zip)
        z->failed |= zipClose(z->zip, NULL) != ZIP_OK;
    z->zip = NULL;
    return !z->failed || t2o_fail(z->s, "E0101", "the archive cannot be written");
}
