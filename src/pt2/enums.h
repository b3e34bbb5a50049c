/* enums.h: the numbers that export's schema gives to element types, layouts and memory formats. */
#ifndef T2O_PT2_ENUMS_H
#define T2O_PT2_ENUMS_H

#include "graph/dtype.h"

#include <stdint.h>

/* Schema 8's ScalarType. False for a number that is not one; 0 ("unknown") is T2O_NO_DTYPE. */
bool t2o_dtype_of_schema(int64_t number, t2o_dtype *out);

/* PyTorch's names without "torch." and "_format"; NULL for a number that is none. */
const char *t2o_layout_of_schema(int64_t number);
const char *t2o_memory_format_of_schema(int64_t number);

/* The way back; 0 for what has no number. */
int64_t t2o_schema_of_dtype(t2o_dtype dtype);
int64_t t2o_schema_of_memory_format(const char *name);

#endif
