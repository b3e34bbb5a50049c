/* storage.h: a tensor as a strided view into the bytes of its storage.
 *
 * All numbers come from a file. They are checked here, once, so that whoever reads the tensor need
 * not.
 */
#ifndef T2O_PT2_STORAGE_H
#define T2O_PT2_STORAGE_H

#include "graph/graph.h"

typedef struct t2o_storage {
    const uint8_t *bytes;
    size_t size;
    bool in_file;
} t2o_storage;

typedef struct t2o_view {
    t2o_dtype dtype;
    uint32_t rank;
    int64_t dims[T2O_MAX_RANK], strides[T2O_MAX_RANK];
    int64_t offset; /* in elements, as the strides */
} t2o_view;

/* NULL after E0504 (impossible numbers) or E0507 (the storage is too short); `what` names the
 * tensor in the message. A storage without bytes under a tensor with elements (exported from fake
 * or meta tensors) gives data NULL. */
const t2o_tensor *t2o_storage_view(t2o_session *s, const char *what, const t2o_storage *storage,
                                   const t2o_view *view);

#endif
