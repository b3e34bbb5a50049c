/* json.h: the JSON texts of an archive, read with exact integers and errors that say where.
 *
 * A document and all its strings live in the session's arena. Integers keep all 64 bits; the bare
 * tokens NaN, Infinity and -Infinity of Python's json are accepted, and so are they as strings
 * where a float is asked for. A member that is null counts as absent.
 *
 * Accessors return false (or NULL) after E0504, whose note is the place ("models/model.json:
 * graph.nodes[3].target"). They take NULL for "an error has been reported already" and then return
 * false, so calls may be nested:
 *
 *     t2o_json_doc *d = t2o_json_parse(s, "models/model.json", bytes, n);
 *     int64_t major;
 *     if (!t2o_json_int(d, t2o_json_get(d, d->root, "major"), &major)) return false;
 *     for (const t2o_json *v = t2o_json_first(list); v; v = t2o_json_next(v)) ...
 *
 * Finding a member walks the object: meant for the small ones. Large maps are iterated.
 */
#ifndef T2O_PT2_JSON_H
#define T2O_PT2_JSON_H

#include "base/session.h"

typedef struct cJSON t2o_json;

typedef struct t2o_json_doc {
    t2o_session *s;
    const char *label;
    const t2o_json *root;
} t2o_json_doc;

/* The text needs no NUL and is not kept. NULL after E0504. */
t2o_json_doc *t2o_json_parse(t2o_session *s, const char *label, const uint8_t *text, size_t n);

/* Members or items, in order. The key is NULL in an array. */
const t2o_json *t2o_json_first(const t2o_json *v);
const t2o_json *t2o_json_next(const t2o_json *v);
const char *t2o_json_key(const t2o_json *v);
uint32_t t2o_json_count(const t2o_json *v);

/* A member; find: NULL where it is absent or null; get: that is an error. */
const t2o_json *t2o_json_find(const t2o_json *object, const char *key);
const t2o_json *t2o_json_get(t2o_json_doc *d, const t2o_json *object, const char *key);

/* The value itself where it has the type, else NULL after an error. */
const t2o_json *t2o_json_array(t2o_json_doc *d, const t2o_json *v);
const t2o_json *t2o_json_object(t2o_json_doc *d, const t2o_json *v);
/* The one member of an object that stands for a tagged union; its key is the tag. */
const t2o_json *t2o_json_union(t2o_json_doc *d, const t2o_json *v);

bool t2o_json_int(t2o_json_doc *d, const t2o_json *v, int64_t *out);
/* Integers that do not fit, and infinities, become INT64_MIN or INT64_MAX. */
bool t2o_json_int_clamped(t2o_json_doc *d, const t2o_json *v, int64_t *out);
bool t2o_json_double(t2o_json_doc *d, const t2o_json *v, double *out);
bool t2o_json_bool(t2o_json_doc *d, const t2o_json *v, bool *out);
bool t2o_json_text(t2o_json_doc *d, const t2o_json *v, const char **out);

bool t2o_json_is_number(const t2o_json *v);
/* NULL where it is no string: not an error. */
const char *t2o_json_maybe_text(const t2o_json *v);

/* The value as JSON text again, in the arena. */
const char *t2o_json_raw(t2o_json_doc *d, const t2o_json *v);

/* E0504 with the place of v as its note; always returns false. */
bool t2o_json_fail(t2o_json_doc *d, const t2o_json *v, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
