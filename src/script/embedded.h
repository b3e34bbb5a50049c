/* embedded.h: the copy of lua/ and rules/ inside the binary, made by tools/embed.sh and tools/precompile.c. Ends with a
 * NULL path. */
#ifndef T2O_SCRIPT_EMBEDDED_H
#define T2O_SCRIPT_EMBEDDED_H

typedef struct t2o_embedded_file {
    const char *path, *text, *end;
    const char *code, *code_end; /* its bytecode; NULL for what is no Lua */
} t2o_embedded_file;

extern const t2o_embedded_file t2o_embedded[];

#endif
