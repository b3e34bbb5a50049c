/* pt2.h: reads a torch.export archive (.pt2) into a torch graph.
 *
 * The file is mapped by the caller and stays mapped as long as the program is used: weights are slices of the map.
 * The input is hostile until checked; every failure puts an error (E03xx, E05xx) with its place into the session.
 *
 *     t2o_file *f = t2o_file_map(s, path);
 *     t2o_program *p = t2o_pt2_read(s, t2o_exprs_new(s), f, NULL);
 *     p->graph ...
 */
#ifndef T2O_PT2_PT2_H
#define T2O_PT2_PT2_H

#include "base/digest.h"
#include "base/file.h"
#include "graph/graph.h"

/* Reads the model of this name; NULL takes the only one, or "model" where there are several (else E0505, which lists
 * them). Returns NULL after an error. A wrong kind of file is recognised and named (E0502). */
t2o_program *t2o_pt2_read(t2o_session *s, t2o_exprs *exprs, const t2o_file *file, const char *model);

/* The names of the models in an archive. False after an error. */
typedef T2O_VEC(const char *) t2o_model_names;
bool t2o_pt2_models(t2o_session *s, const t2o_file *file, t2o_model_names *out);

/* The text of a record extra/NAME (t2o_pt2_write); NULL where there is none, or after an error. */
const char *t2o_pt2_extra(t2o_session *s, const t2o_file *file, const char *name);

/* A value of a pickle: what a restricted reader, which executes nothing, makes of it. */
typedef enum t2o_pickle_kind {
    T2O_PICKLE_NONE, T2O_PICKLE_BOOL, T2O_PICKLE_INT, T2O_PICKLE_FLOAT, T2O_PICKLE_STRING, T2O_PICKLE_BYTES,
    T2O_PICKLE_TUPLE, T2O_PICKLE_LIST, T2O_PICKLE_DICT, /* items; a dict's are key, value, key, value ... */
    T2O_PICKLE_TENSOR,                                  /* tensor; i = 1 for a Parameter */
    T2O_PICKLE_OPAQUE,                                  /* text: the class's or function's name; items: its state */
} t2o_pickle_kind;

typedef struct t2o_pickle {
    t2o_pickle_kind kind;
    int64_t i;
    double f;
    const char *text;
    size_t n; /* bytes of text, or number of items */
    struct t2o_pickle **items;
    const t2o_tensor *tensor;
} t2o_pickle;

/* The sample inputs saved with a program: a tuple (args, kwargs), or NULL where there are none. Returns false after
 * an error. */
bool t2o_pt2_samples(t2o_session *s, const t2o_file *file, const char *model, const t2o_pickle **out);

/* Writes a program as an archive (PyTorch 2.9 to 2.14 read it). Dtypes and sizes of intermediate values need not be
 * known; inputs need their rank, and size arguments must be numbers or values (t2o_pass_sizes). False after E0102:
 * something that archives cannot hold. Does not commit. `source` becomes the record extra/t2o_source. */
bool t2o_pt2_write(const t2o_program *p, const char *source, t2o_output *out);

#endif
