/* report.c: diagnostics for people and for programs. */
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

static bool colours(void)
{
    const char *no = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(no && *no);
}

/* Control characters of a hostile file do not reach the terminal. */
static void print_clean(FILE *out, const char *text, int indent)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '\n')
            fprintf(out, "\n%*s", indent, "");
        else
            fputc(*p < ' ' || *p == 127 ? '?' : *p, out);
    }
}

static void report_one(const t2o_diag *d, bool colour)
{
    static const char *const words[] = { "note", "warning", "error" };
    static const char *const shades[] = { "\033[1;36m", "\033[1;33m", "\033[1;31m" };
    fprintf(stderr, "%s%s", colour ? shades[d->severity] : "", words[d->severity]);
    if (d->code)
        fprintf(stderr, "[%s]", d->code);
    fprintf(stderr, "%s: ", colour ? "\033[0m" : "");
    print_clean(stderr, d->text, 2);
    fputc('\n', stderr);
    for (size_t i = 0; i < d->notes.n; i++) {
        fputs(i ? "      " : "  --> ", stderr);
        print_clean(stderr, d->notes.at[i], 8);
        fputc('\n', stderr);
    }
    if (d->hint) {
        fputs("  hint: ", stderr);
        print_clean(stderr, d->hint, 8);
        fputc('\n', stderr);
    }
}

void report_diags(const t2o_session *s, const options *o, size_t from)
{
    bool colour = colours();
    for (size_t i = from; i < s->diags.n; i++)
        if (s->diags.at[i]->severity == T2O_ERROR || !o->quiet)
            report_one(s->diags.at[i], colour);
}

/* The bytes of a valid UTF-8 sequence at p, 0 where there is none. */
static int utf8_length(const unsigned char *p)
{
    int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void json_string(FILE *out, const char *text)
{
    if (!text) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int n = utf8_length(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p == '\n')
            fputs("\\n", out);
        else if (*p < ' ')
            fprintf(out, "\\u%04x", *p);
        else if (n)
            fwrite(p, 1, (size_t)n, out);
        else
            fputs("\\ufffd", out);
        p += n ? n : 1;
    }
    fputc('"', out);
}

void json_diags(FILE *out, const t2o_session *s)
{
    static const char *const words[] = { "note", "warning", "error" };
    fputc('[', out);
    for (size_t i = 0; i < s->diags.n; i++) {
        const t2o_diag *d = s->diags.at[i];
        fprintf(out, "%s{\"severity\": \"%s\", \"code\": ", i ? ", " : "", words[d->severity]);
        json_string(out, d->code);
        fputs(", \"message\": ", out);
        json_string(out, d->text);
        fputs(", \"notes\": [", out);
        for (size_t j = 0; j < d->notes.n; j++) {
            fputs(j ? ", " : "", out);
            json_string(out, d->notes.at[j]);
        }
        fputs("], \"hint\": ", out);
        json_string(out, d->hint);
        fputc('}', out);
    }
    fputc(']', out);
}

const char *human_bytes(t2o_session *s, uint64_t bytes)
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
    double x = (double)bytes;
    int unit = 0;
    for (; x >= 1000 && unit < 4; unit++)
        x /= 1000;
    return t2o_printf(s->arena, unit ? "%.1f %s" : "%.0f %s", x, units[unit]);
}
