/* archive.c: the only file that knows minizip. */
#include "pt2/archive.h"

#include "pt2/sniff.h"

#include <minizip/unzip.h>

#define LONGEST_NAME 65535
#define LARGEST_INFLATED ((uint64_t)8 << 30)
#define LARGEST_RATIO 1032 /* deflate cannot do better */

/* ---- a file in memory, as minizip wants to see it ---- */

typedef struct memory {
    const uint8_t *bytes;
    uint64_t size, at;
} memory;

static voidpf memory_open(voidpf opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong memory_read(voidpf opaque, voidpf stream, void *out, uLong n)
{
    memory *m = opaque;
    (void)stream;
    if (n > m->size - m->at)
        n = m->size - m->at;
    memcpy(out, m->bytes + m->at, n);
    m->at += n;
    return n;
}

static uLong memory_write(voidpf opaque, voidpf stream, const void *bytes, uLong n)
{
    (void)opaque;
    (void)stream;
    (void)bytes;
    (void)n;
    return 0;
}

static ZPOS64_T memory_tell(voidpf opaque, voidpf stream)
{
    (void)stream;
    return ((memory *)opaque)->at;
}

static long memory_seek(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    memory *m = opaque;
    (void)stream;
    uint64_t base = 0, to;
    if (origin != ZLIB_FILEFUNC_SEEK_SET)
        base = origin == ZLIB_FILEFUNC_SEEK_CUR ? m->at : m->size;
    if (__builtin_add_overflow(base, (uint64_t)offset, &to) || to > m->size)
        return -1;
    m->at = to;
    return 0;
}

static int memory_nothing(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

static unzFile open_zip(memory *m)
{
    zlib_filefunc64_def functions = {
        .zopen64_file = memory_open,
        .zread_file = memory_read,
        .zwrite_file = memory_write,
        .ztell64_file = memory_tell,
        .zseek64_file = memory_seek,
        .zclose_file = memory_nothing,
        .zerror_file = memory_nothing,
        .opaque = m,
    };
    return unzOpen2_64("", &functions);
}

/* ---- the index ---- */

/* An entry of the directory and the local header that it points at are read where they lie: minizip 1.1 knows no
 * numbers of 64 bits in the directory, and takes its time to open a file that is only to be found. */
typedef struct entry {
    uint64_t unpacked, packed, at; /* of the local header */
} entry;

static uint64_t number_at(const uint8_t *p, int n)
{
    uint64_t number = 0;
    while (n--)
        number = number << 8 | p[n];
    return number;
}

/* Numbers that do not fit into 32 bits stand in an extra field, in this order. */
static bool read_large(entry *e, const uint8_t *extra, const uint8_t *end)
{
    uint64_t *fields[] = { &e->unpacked, &e->packed, &e->at };
    while (end - extra >= 4 && number_at(extra, 2) != 1 && end - extra - 4 >= (ptrdiff_t)number_at(extra + 2, 2))
        extra += 4 + number_at(extra + 2, 2);
    bool found = end - extra >= 4 && number_at(extra, 2) == 1;
    extra += found ? 4 : 0;
    for (int i = 0; i < 3; i++)
        if (*fields[i] == UINT32_MAX) {
            if (!found || end - extra < 8)
                return false;
            *fields[i] = number_at(extra, 8);
            extra += 8;
        }
    return true;
}

/* False where the directory does not lie there (something stands before the zip), or is malformed. */
static bool read_entry(const t2o_archive *a, const unz_file_info64 *info, uint64_t place, entry *e)
{
    uint64_t fixed = 46, n = info->size_filename, m = info->size_file_extra;
    if (place > a->size || fixed + n + m > a->size - place || number_at(a->bytes + place, 4) != 0x02014b50)
        return false;
    const uint8_t *p = a->bytes + place, *extra = p + fixed + n;
    *e = (entry){ number_at(p + 24, 4), number_at(p + 20, 4), number_at(p + 42, 4) };
    return read_large(e, extra, extra + m);
}

/* The checks are those that minizip makes. */
static bool agrees(const uint8_t *local, const uint8_t *name, const t2o_record *r, const unz_file_info64 *info,
                   const entry *e)
{
    bool later = info->flag & 8; /* sizes and checksum stand behind the data */
    uint64_t crc = number_at(local + 14, 4), packed = number_at(local + 18, 4), unpacked = number_at(local + 22, 4);
    return number_at(local + 8, 2) == info->compression_method && !memcmp(name, r->name, info->size_filename) &&
           (later || (crc == info->crc && (packed == UINT32_MAX || packed == e->packed) &&
                      (unpacked == UINT32_MAX || unpacked == e->unpacked)));
}

static const char *locate_entry(t2o_archive *a, t2o_record *r, const unz_file_info64 *info, const entry *e)
{
    uint64_t fixed = 30;
    r->size = e->unpacked;
    r->packed = e->packed;
    if (e->at > a->size || a->size - e->at < fixed)
        return "reaches beyond the end of the file";
    const uint8_t *p = a->bytes + e->at;
    uint64_t n = number_at(p + 26, 2), start = e->at + fixed + n + number_at(p + 28, 2);
    if (number_at(p, 4) != 0x04034b50 || n != info->size_filename || fixed + n > a->size - e->at ||
        !agrees(p, p + fixed, r, info, e))
        return "has a header that contradicts the directory";
    if (start > a->size || e->packed > a->size - start)
        return "reaches beyond the end of the file";
    if (info->compression_method != 0)
        return e->at > UINT32_MAX ? "is compressed and lies behind 4 GiB" : NULL;
    if (e->packed != e->unpacked)
        return "is stored with two different sizes";
    r->bytes = a->bytes + start;
    r->in_file = true;
    return NULL;
}

/* Where the current file's bytes start is said by its local header alone. */
static const char *locate(t2o_archive *a, unzFile zip, t2o_record *r, const unz_file_info64 *info)
{
    int method = 0;
    entry e;
    if (info->flag & 1)
        return "is encrypted";
    if (info->compression_method != 0 && info->compression_method != Z_DEFLATED)
        return "is compressed by a method other than deflate";
    if (read_entry(a, info, r->place[0], &e))
        return locate_entry(a, r, info, &e);
    if (unzOpenCurrentFile2(zip, &method, NULL, 1) != UNZ_OK)
        return "has a header that contradicts the directory";
    uint64_t start = unzGetCurrentFileZStreamPos64(zip);
    unzCloseCurrentFile(zip);
    if (start > a->size || info->compressed_size > a->size - start)
        return "reaches beyond the end of the file";
    if (info->compression_method != 0)
        return NULL;
    if (info->compressed_size != info->uncompressed_size)
        return "is stored with two different sizes";
    r->bytes = a->bytes + start;
    r->in_file = true;
    return NULL;
}

static void index_current(t2o_archive *a, unzFile zip, const char *name,
                          const unz_file_info64 *info)
{
    /* A name with a NUL inside could pass for another one: nobody can ask for it. */
    if (strlen(name) != info->size_filename || t2o_map_get(&a->records, name))
        return;
    t2o_record *r = T2O_NEW(a->s->arena, t2o_record);
    unz64_file_pos place;
    r->name = t2o_strdup(a->s->arena, name);
    r->size = info->uncompressed_size;
    r->packed = info->compressed_size;
    r->crc = (uint32_t)info->crc;
    unzGetFilePos64(zip, &place);
    r->place[0] = place.pos_in_zip_directory;
    r->place[1] = place.num_of_file;
    r->fault = locate(a, zip, r, info);
    t2o_map_set(a->s->arena, &a->records, r->name, r);
}

static bool index_all(t2o_archive *a, unzFile zip)
{
    char name[LONGEST_NAME + 1];
    unz_global_info64 total;
    if (unzGetGlobalInfo64(zip, &total) != UNZ_OK)
        return false;
    if (total.number_entry == 0)
        return true;
    int status = unzGoToFirstFile(zip);
    for (; status == UNZ_OK; status = unzGoToNextFile(zip)) {
        unz_file_info64 info;
        if (unzGetCurrentFileInfo64(zip, &info, name, sizeof name, NULL, 0, NULL, 0) != UNZ_OK)
            return false;
        index_current(a, zip, name, &info);
    }
    return status == UNZ_END_OF_LIST_OF_FILE;
}

/* The length of "x/" when the name is "x/archive_format", else 0. */
static size_t root_length(const char *name)
{
    const char *slash = strchr(name, '/');
    return slash && !strcmp(slash + 1, "archive_format") ? (size_t)(slash + 1 - name) : 0;
}

/* The folder that holds archive_format, else the first record's: the file may have been renamed or
 * zipped again. */
static const char *root_of(const t2o_archive *a)
{
    if (t2o_map_get(&a->records, "archive_format") ||
        t2o_map_get(&a->records, "serialized_exported_program.json"))
        return "";
    const char *first = a->records.n ? a->records.entries[0].key : "";
    const char *slash = strchr(first, '/');
    size_t n = slash ? (size_t)(slash + 1 - first) : 0;
    for (size_t i = 0; i < a->records.n; i++) {
        const char *name = a->records.entries[i].key;
        if (root_length(name))
            return t2o_strndup(a->s->arena, name, root_length(name));
    }
    return t2o_strndup(a->s->arena, first, n);
}

/* Records may overlap, so the sum is limited and not only each of them. */
static size_t inflation_budget(size_t size)
{
    return size < LARGEST_INFLATED / LARGEST_RATIO ? size * LARGEST_RATIO : LARGEST_INFLATED;
}

t2o_archive *t2o_archive_open(t2o_session *s, const char *path, const uint8_t *bytes, size_t size,
                              bool nested)
{
    t2o_archive *a = T2O_NEW(s->arena, t2o_archive);
    *a = (t2o_archive){ .s = s, .path = path, .bytes = bytes, .size = size, .root = "" };
    a->may_inflate = nested ? 0 : inflation_budget(size);
    const char *other = t2o_sniff_bytes(bytes, size);
    if (other) {
        t2o_fail(s, "E0502", "'%s' is not a torch.export archive: it looks like %s", path, other);
        return NULL;
    }
    memory m = { bytes, size, 0 };
    unzFile zip = open_zip(&m);
    if (!zip) {
        t2o_fail(s, "E0503", "'%s' is cut short: the directory at the end of the zip is missing",
                 path);
        return NULL;
    }
    bool whole = index_all(a, zip);
    unzClose(zip);
    if (!whole) {
        t2o_fail(s, "E0503",
                 "'%s' is damaged: the directory of the zip breaks off after %zu records", path,
                 a->records.n);
        return NULL;
    }
    a->root = root_of(a);
    return a;
}

/* ---- records ---- */

t2o_record *t2o_archive_find(const t2o_archive *a, const char *folder, const char *name)
{
    return t2o_map_get(&a->records, t2o_printf(a->s->arena, "%s%s%s", a->root, folder, name));
}

const char *t2o_archive_relative(const t2o_archive *a, const t2o_record *record)
{
    size_t n = strlen(a->root);
    return strncmp(record->name, a->root, n) ? NULL : record->name + n;
}

static const char *size_fault(const t2o_archive *a, const t2o_record *r)
{
    if (a->may_inflate == 0)
        return "is compressed, which torch.save never does";
    if (r->size / LARGEST_RATIO > r->packed || r->size > a->may_inflate)
        return "inflates to more than the size of the file can account for";
    return NULL;
}

static bool read_all(unzFile zip, uint8_t *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t step = size - done < (1u << 30) ? size - done : 1u << 30;
        int n = unzReadCurrentFile(zip, out + done, (unsigned)step);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static const char *inflate_record(t2o_archive *a, t2o_record *r)
{
    a->may_inflate -= r->size;
    memory m = { a->bytes, a->size, 0 };
    unz64_file_pos place = { r->place[0], r->place[1] };
    unzFile zip = open_zip(&m);
    if (!zip)
        return "cannot be found again";
    uint8_t *out = NULL;
    if (unzGoToFilePos64(zip, &place) == UNZ_OK && unzOpenCurrentFile(zip) == UNZ_OK) {
        out = t2o_alloc(a->s->arena, r->size + 1);
        if (!read_all(zip, out, r->size))
            out = NULL;
        if (unzCloseCurrentFile(zip) != UNZ_OK)
            out = NULL;
    }
    unzClose(zip);
    r->bytes = out;
    return out ? NULL : "does not inflate to the bytes it should";
}

bool t2o_archive_read(t2o_archive *a, t2o_record *r)
{
    if (r->bytes)
        return true;
    if (!r->fault)
        r->fault = size_fault(a, r);
    if (!r->fault)
        r->fault = inflate_record(a, r);
    return !r->fault || t2o_fail(a->s, "E0503", "'%s': record '%s' %s", a->path, r->name, r->fault);
}

bool t2o_archive_check_byteorder(t2o_archive *a)
{
    t2o_record *r = t2o_archive_find(a, "", "byteorder");
    if (!r)
        return true;
    if (!t2o_archive_read(a, r))
        return false;
    if (r->size >= 6 && !memcmp(r->bytes, "little", 6))
        return true;
    return t2o_fail(a->s, "E0506", "'%s' has the byte order '%.*s'; only 'little' is read", a->path,
                    (int)(r->size < 16 ? r->size : 16), (const char *)r->bytes);
}
