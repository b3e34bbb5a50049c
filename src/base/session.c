/* session.c: interned text and diagnostics. */
#include "base/session.h"

#include <stdlib.h>

t2o_session *t2o_session_new(void)
{
    t2o_arena *arena = t2o_arena_new();
    t2o_session *s = T2O_NEW(arena, t2o_session);
    s->arena = arena;
    return s;
}

void t2o_session_free(t2o_session *s)
{
    if (s)
        t2o_arena_free(s->arena);
}

const char *t2o_intern_n(t2o_session *s, const char *text, size_t n)
{
    const char *known = t2o_map_getn(&s->names, text, n);
    if (known)
        return known;
    char *copy = t2o_strndup(s->arena, text, n);
    t2o_map_set(s->arena, &s->names, copy, copy);
    return copy;
}

const char *t2o_intern(t2o_session *s, const char *text)
{
    return t2o_intern_n(s, text, strlen(text));
}

static t2o_diag *add_diag(t2o_session *s, t2o_severity severity, const char *code, const char *text)
{
    t2o_diag *d = T2O_NEW(s->arena, t2o_diag);
    d->severity = severity;
    d->code = code;
    d->text = text;
    t2o_push(s->arena, &s->diags, d);
    return d;
}

bool t2o_vfail(t2o_session *s, const char *code, const char *format, va_list args)
{
    add_diag(s, T2O_ERROR, code, t2o_vprintf(s->arena, format, args));
    return false;
}

const char *t2o_unique_name(t2o_session *s, t2o_map *taken, const char *wanted)
{
    const char *name = t2o_intern(s, wanted), *base = name;
    uintptr_t next = (uintptr_t)t2o_map_get(taken, base); /* the number to try first */
    while (t2o_map_get(taken, name))
        name = t2o_intern(s, t2o_printf(s->arena, "%s_%ju", base, (uintmax_t)next++));
    if (next)
        t2o_map_set(s->arena, taken, base, (void *)next);
    t2o_map_set(s->arena, taken, name, (void *)1);
    return name;
}

bool t2o_fail(t2o_session *s, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t2o_vfail(s, code, format, args);
    va_end(args);
    return false;
}

void t2o_warn(t2o_session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_diag(s, T2O_WARNING, NULL, t2o_vprintf(s->arena, format, args));
    va_end(args);
}

static t2o_diag *last_diag(t2o_session *s)
{
    return s->diags.n ? s->diags.at[s->diags.n - 1] : NULL;
}

void t2o_note(t2o_session *s, const char *format, ...)
{
    t2o_diag *d = last_diag(s);
    if (!d)
        return;
    va_list args;
    va_start(args, format);
    t2o_push(s->arena, &d->notes, (const char *)t2o_vprintf(s->arena, format, args));
    va_end(args);
}

void t2o_hint(t2o_session *s, const char *format, ...)
{
    t2o_diag *d = last_diag(s);
    if (!d)
        return;
    va_list args;
    va_start(args, format);
    d->hint = t2o_vprintf(s->arena, format, args);
    va_end(args);
}

bool t2o_failed(const t2o_session *s)
{
    return t2o_exit_code(s) != 0;
}

int t2o_exit_code(const t2o_session *s)
{
    for (size_t i = 0; i < s->diags.n; i++) {
        const t2o_diag *d = s->diags.at[i];
        if (d->severity == T2O_ERROR)
            return (d->code[1] - '0') * 10 + (d->code[2] - '0');
    }
    return 0;
}

void t2o_forget_diags(t2o_session *s, size_t n)
{
    if (s->diags.n > n)
        s->diags.n = n;
}
