/* json.c: the only file that knows cJSON.
 *
 * cJSON keeps numbers as doubles and refuses NaN and Infinity. So the text is scanned once before,
 * and what cJSON would lose is rewritten as a string that starts with a byte which valid UTF-8
 * cannot contain: TAG, then a letter ('i' integer, 'f' float), then the number's own text. Where
 * there is no such number, the text is parsed where it lies.
 */
#include "pt2/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG '\xff'
#define EXACT_DIGITS 15 /* a double holds every integer of so many */
#define CJSON_DIGITS 60 /* cJSON cuts longer numbers */
#define TAG_GROWTH 4    /* two quotes, TAG and letter */

/* ---- the scan ---- */

typedef struct scan {
    const uint8_t *at, *end;
    const uint8_t *copied; /* the text before it is in out */
    char *out;             /* NULL in the first pass, which only counts */
    size_t n_tags;
    const char *fault;
} scan;

static void tag(scan *in, const uint8_t *token, size_t n, char letter)
{
    in->n_tags++;
    if (!in->out)
        return;
    size_t before = (size_t)(token - in->copied);
    memcpy(in->out, in->copied, before);
    in->out += before;
    *in->out++ = '"';
    *in->out++ = TAG;
    *in->out++ = letter;
    memcpy(in->out, token, n);
    in->out += n;
    *in->out++ = '"';
    in->copied = token + n;
}

/* The length of a UTF-8 sequence, 0 when it is malformed. Surrogates and overlong forms count as
 * malformed. */
static size_t utf8_length(const uint8_t *p, const uint8_t *end)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    if (*p < 0xc2 || *p >= 0xf8 || (size_t)(end - p) < n)
        return 0;
    uint32_t c = *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    return c < smallest[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static bool scan_fault(scan *in, const char *fault)
{
    in->fault = fault;
    return false;
}

static bool skip_escape(scan *in)
{
    if (in->end - in->at >= 6 && !memcmp(in->at, "\\u0000", 6))
        return scan_fault(in, "a text that contains a NUL character");
    if (in->end - in->at < 2)
        return scan_fault(in, "a text without an end");
    in->at += 2;
    return true;
}

/* The first byte that needs a look: a quote, a backslash, NUL or one beyond ASCII. Eight at a time: the lowest top bit
 * that is set tells it (a little-endian machine; archives are little-endian too). */
static const uint8_t *skip_plain(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
    for (; end - p >= 8; p += 8) {
        uint64_t x;
        memcpy(&x, p, 8);
        uint64_t quote = x ^ ones * '"', escape = x ^ ones * '\\';
        uint64_t hit = ((x - ones) | (quote - ones) | (escape - ones) | x) & tops;
        if (hit)
            return p + __builtin_ctzll(hit) / 8;
    }
    while (p < end && *p != '"' && *p != '\\' && *p && *p < 0x80)
        p++;
    return p;
}

static bool skip_string(scan *in)
{
    for (in->at++; (in->at = skip_plain(in->at, in->end)) < in->end && *in->at != '"';) {
        if (*in->at == '\\') {
            if (!skip_escape(in))
                return false;
        } else if (*in->at >= 0x80) {
            size_t n = utf8_length(in->at, in->end);
            if (n == 0)
                return scan_fault(in, "a text that is not UTF-8");
            in->at += n;
        } else if (*in->at++ == 0)
            return scan_fault(in, "a NUL byte");
    }
    if (in->at == in->end)
        return scan_fault(in, "a text without an end");
    in->at++;
    return true;
}

static bool skip_word(scan *in, const char *word, size_t n)
{
    if ((size_t)(in->end - in->at) < n || memcmp(in->at, word, n))
        return false;
    tag(in, in->at, n, 'f');
    in->at += n;
    return true;
}

static void skip_number(scan *in)
{
    const uint8_t *start = in->at++;
    bool integer = true;
    for (; in->at < in->end; in->at++) {
        uint8_t c = *in->at;
        if (c >= '0' && c <= '9')
            continue;
        if (c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-')
            break;
        integer = false;
    }
    size_t n = (size_t)(in->at - start);
    if (n - (*start == '-') > (integer ? EXACT_DIGITS : CJSON_DIGITS))
        tag(in, start, n, integer ? 'i' : 'f');
}

/* What stands between texts and numbers, but for the words that have to be looked at. */
static const bool is_plain[256] = {
    ['{'] = true, ['}'] = true, ['['] = true, [']'] = true, [':'] = true, [','] = true, [' '] = true,
    ['\n'] = true, ['\r'] = true, ['\t'] = true,
};

static bool scan_text(scan *in)
{
    while (in->at < in->end) {
        uint8_t c = *in->at;
        if (is_plain[c])
            in->at++;
        else if (c == '"') {
            if (!skip_string(in))
                return false;
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            if (c != '-' || !skip_word(in, "-Infinity", 9))
                skip_number(in);
        } else if (c >= 0x80 || c == 0)
            return scan_fault(in, "a character that does not belong there");
        else if ((c != 'N' || !skip_word(in, "NaN", 3)) && (c != 'I' || !skip_word(in, "Infinity", 8)))
            in->at++;
    }
    return true;
}

/* Text and length of what cJSON is to parse: the input itself, or a copy with tags. */
static bool prepare(t2o_session *s, const char *label, const uint8_t **text, size_t *n)
{
    scan in = { .at = *text, .end = *text + *n, .copied = *text };
    if (!scan_text(&in)) {
        t2o_fail(s, "E0504", "%s in the JSON text", in.fault);
        t2o_note(s, "%s: byte %zu", label, (size_t)(in.at - *text));
        return false;
    }
    if (in.n_tags == 0)
        return true;
    char *copy = t2o_alloc(s->arena, *n + in.n_tags * TAG_GROWTH + 1);
    in = (scan){ .at = *text, .end = *text + *n, .copied = *text, .out = copy };
    scan_text(&in);
    size_t rest = (size_t)(in.end - in.copied);
    memcpy(in.out, in.copied, rest);
    *n = (size_t)(in.out + rest - copy);
    *text = (const uint8_t *)copy;
    return true;
}

/* ---- cJSON on the arena ---- */

static _Thread_local t2o_arena *hook_arena;

static void *hook_malloc(size_t n)
{
    return t2o_alloc(hook_arena, n);
}

static void hook_free(void *p)
{
    (void)p;
}

static void hooks_on(t2o_arena *arena)
{
    hook_arena = arena;
    cJSON_InitHooks(&(cJSON_Hooks){ hook_malloc, hook_free });
}

static void hooks_off(void)
{
    cJSON_InitHooks(NULL);
    hook_arena = NULL;
}

static bool only_blanks(const uint8_t *p, const uint8_t *end)
{
    while (p < end && memchr(" \t\r\n", *p, 4))
        p++;
    return p == end;
}

t2o_json_doc *t2o_json_parse(t2o_session *s, const char *label, const uint8_t *text, size_t n)
{
    if (!prepare(s, label, &text, &n))
        return NULL;
    const char *stop = NULL;
    hooks_on(s->arena);
    const cJSON *root = cJSON_ParseWithLengthOpts((const char *)text, n, &stop, 0);
    hooks_off();
    if (!root || !only_blanks((const uint8_t *)stop, text + n)) {
        size_t at = stop ? (size_t)((const uint8_t *)stop - text) : 0;
        t2o_fail(s, "E0504", "the JSON text is malformed or nests too deep");
        t2o_note(s, "%s: near byte %zu of %zu", label, at, n);
        return NULL;
    }
    t2o_json_doc *d = T2O_NEW(s->arena, t2o_json_doc);
    *d = (t2o_json_doc){ s, label, root };
    return d;
}

/* ---- places ---- */

/* The path from `at` to `target`, or NULL. Values do not know their parents; only errors ask. */
static const char *path_to(t2o_arena *arena, const cJSON *at, const cJSON *target)
{
    if (at == target)
        return "";
    size_t i = 0;
    for (const cJSON *c = at->child; c; c = c->next, i++) {
        const char *rest = path_to(arena, c, target);
        if (rest && c->string)
            return t2o_printf(arena, ".%.80s%s", c->string, rest);
        if (rest)
            return t2o_printf(arena, "[%zu]%s", i, rest);
    }
    return NULL;
}

bool t2o_json_fail(t2o_json_doc *d, const t2o_json *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t2o_vfail(d->s, "E0504", format, args);
    va_end(args);
    const char *path = v ? path_to(d->s->arena, d->root, v) : NULL;
    if (path && *path)
        t2o_note(d->s, "%s: %s", d->label, path + (*path == '.'));
    else
        t2o_note(d->s, "%s", d->label);
    return false;
}

static char tag_of(const cJSON *v)
{
    return cJSON_IsString(v) && v->valuestring[0] == TAG ? v->valuestring[1] : 0;
}

static const char *type_name(const cJSON *v)
{
    if (cJSON_IsNumber(v) || tag_of(v))
        return "a number";
    if (cJSON_IsString(v))
        return "a string";
    if (cJSON_IsArray(v))
        return "an array";
    if (cJSON_IsObject(v))
        return "an object";
    return cJSON_IsNull(v) ? "null" : "a boolean";
}

static bool expected(t2o_json_doc *d, const cJSON *v, const char *what)
{
    return v && t2o_json_fail(d, v, "%s expected, but there is %s", what, type_name(v));
}

/* ---- members and items ---- */

const t2o_json *t2o_json_first(const t2o_json *v)
{
    return v ? v->child : NULL;
}

const t2o_json *t2o_json_next(const t2o_json *v)
{
    return v->next;
}

const char *t2o_json_key(const t2o_json *v)
{
    return v->string;
}

uint32_t t2o_json_count(const t2o_json *v)
{
    uint32_t n = 0;
    for (const cJSON *c = t2o_json_first(v); c; c = c->next)
        n++;
    return n;
}

const t2o_json *t2o_json_find(const t2o_json *object, const char *key)
{
    for (const cJSON *c = t2o_json_first(object); c; c = c->next)
        if (c->string && !strcmp(c->string, key))
            return cJSON_IsNull(c) ? NULL : c;
    return NULL;
}

const t2o_json *t2o_json_get(t2o_json_doc *d, const t2o_json *object, const char *key)
{
    if (!t2o_json_object(d, object))
        return NULL;
    const t2o_json *v = t2o_json_find(object, key);
    if (!v)
        t2o_json_fail(d, object, "'%s' is missing", key);
    return v;
}

const t2o_json *t2o_json_array(t2o_json_doc *d, const t2o_json *v)
{
    if (cJSON_IsArray(v))
        return v;
    expected(d, v, "an array");
    return NULL;
}

const t2o_json *t2o_json_object(t2o_json_doc *d, const t2o_json *v)
{
    if (cJSON_IsObject(v))
        return v;
    expected(d, v, "an object");
    return NULL;
}

const t2o_json *t2o_json_union(t2o_json_doc *d, const t2o_json *v)
{
    if (!t2o_json_object(d, v))
        return NULL;
    if (v->child && !v->child->next && v->child->string)
        return v->child;
    t2o_json_fail(d, v, "one of several kinds is expected, but there are %u", t2o_json_count(v));
    return NULL;
}

/* ---- scalars ---- */

static int64_t clamp(double x)
{
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* The integer's text may be any number of digits: 1 = it does not fit and *out is the nearest. */
static int read_digits(const char *text, int64_t *out)
{
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == ERANGE;
}

static bool whole_number(const cJSON *v, int64_t *out)
{
    double x = v->valuedouble;
    if (!cJSON_IsNumber(v) || x != trunc(x) || x < -0x1p63 || x >= 0x1p63)
        return false;
    *out = (int64_t)x;
    return true;
}

bool t2o_json_int(t2o_json_doc *d, const t2o_json *v, int64_t *out)
{
    if (!v)
        return false;
    if (tag_of(v) == 'i')
        return !read_digits(v->valuestring + 2, out) ||
               t2o_json_fail(d, v, "an integer beyond 64 bits");
    return whole_number(v, out) || expected(d, v, "an integer");
}

static bool float_text(const char *text, double *out)
{
    if (!strcmp(text, "NaN"))
        *out = (double)NAN;
    else if (!strcmp(text, "Infinity"))
        *out = (double)INFINITY;
    else if (!strcmp(text, "-Infinity"))
        *out = (double)-INFINITY;
    else
        return false;
    return true;
}

bool t2o_json_double(t2o_json_doc *d, const t2o_json *v, double *out)
{
    if (!v)
        return false;
    if (cJSON_IsNumber(v))
        *out = v->valuedouble;
    else if (!cJSON_IsString(v) || (!tag_of(v) && !float_text(v->valuestring, out)))
        return expected(d, v, "a number");
    else if (tag_of(v) && !float_text(v->valuestring + 2, out))
        *out = strtod(v->valuestring + 2, NULL);
    return true;
}

bool t2o_json_int_clamped(t2o_json_doc *d, const t2o_json *v, int64_t *out)
{
    double x;
    if (v && tag_of(v) == 'i') {
        read_digits(v->valuestring + 2, out);
        return true;
    }
    if (!t2o_json_double(d, v, &x))
        return false;
    if (isnan(x))
        return expected(d, v, "an integer");
    *out = clamp(x);
    return true;
}

bool t2o_json_bool(t2o_json_doc *d, const t2o_json *v, bool *out)
{
    if (!cJSON_IsBool(v))
        return expected(d, v, "true or false");
    *out = cJSON_IsTrue(v);
    return true;
}

const char *t2o_json_maybe_text(const t2o_json *v)
{
    return v && cJSON_IsString(v) && !tag_of(v) ? v->valuestring : NULL;
}

bool t2o_json_text(t2o_json_doc *d, const t2o_json *v, const char **out)
{
    *out = t2o_json_maybe_text(v);
    return *out || expected(d, v, "a string");
}

bool t2o_json_is_number(const t2o_json *v)
{
    return v && (cJSON_IsNumber(v) || tag_of(v));
}

/* ---- back to text ---- */

/* Tagged numbers are printed as strings: take quotes, TAG and letter away. */
static void untag(char *text)
{
    char *to = text;
    bool inside = false;
    for (const char *from = text; *from;) {
        if (from[0] == '"' && from[1] == TAG) {
            from += 3;
            inside = true;
        } else if (inside && *from == '"') {
            from++;
            inside = false;
        } else
            *to++ = *from++;
    }
    *to = 0;
}

const char *t2o_json_raw(t2o_json_doc *d, const t2o_json *v)
{
    hooks_on(d->s->arena);
    char *text = cJSON_PrintUnformatted(v);
    hooks_off();
    if (!text)
        return "";
    untag(text);
    return text;
}
