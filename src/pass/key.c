/* key.c: text of attributes. */
#include "pass/key.h"

void t2o_key_add_int(t2o_string *key, char before, int64_t number)
{
    t2o_string_add_n(key, &before, 1);
    t2o_string_add_int(key, number);
}

bool t2o_key_add_arg(t2o_string *key, const t2o_arg *arg)
{
    bool ok = true;
    switch (arg->kind) {
    case T2O_ARG_VALUE: t2o_key_add_int(key, '#', arg->index); break;
    case T2O_ARG_INT: t2o_key_add_int(key, ' ', arg->i); break;
    case T2O_ARG_BOOL: t2o_key_add_int(key, '?', arg->b); break;
    case T2O_ARG_DTYPE: t2o_key_add_int(key, ':', (int)arg->dtype); break;
    case T2O_ARG_FLOAT: t2o_string_addf(key, "%a", arg->f); break;
    case T2O_ARG_STRING: t2o_string_add_json(key, arg->text, arg->n); break; /* which may hold a NUL, and a key not */
    case T2O_ARG_LIST:
        t2o_key_add_int(key, '[', arg->n);
        for (uint32_t i = 0; ok && i < arg->n; i++) {
            t2o_string_add_n(key, ",", 1);
            ok = t2o_key_add_arg(key, &arg->items[i]);
        }
        break;
    default: return false;
    }
    return ok;
}
