/* scan.h: what the two readers of size expressions (srepr in expr.c, printed ones in infix.c) share. */
#ifndef T2O_GRAPH_SCAN_H
#define T2O_GRAPH_SCAN_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct t2o_scan {
    const char *p;   /* what is left */
    const char *why; /* the first fault, a phrase */
} t2o_scan;

static inline void t2o_scan_blanks(t2o_scan *in)
{
    while (isspace((unsigned char)*in->p))
        in->p++;
}

static inline bool t2o_scan_take(t2o_scan *in, char c)
{
    t2o_scan_blanks(in);
    if (*in->p != c)
        return false;
    in->p++;
    return true;
}

/* NULL, as what a reader returns. */
static inline void *t2o_scan_fault(t2o_scan *in, const char *why)
{
    if (!in->why)
        in->why = why;
    return NULL;
}

#endif
