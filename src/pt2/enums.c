/* enums.c: tables. */
#include "pt2/enums.h"

#include <string.h>

#define COUNT(table) (int64_t)(sizeof(table) / sizeof *(table))

bool t2o_dtype_of_schema(int64_t number, t2o_dtype *out)
{
    static const t2o_dtype types[] = {
        [1] = T2O_UINT8,     [2] = T2O_INT8,          [3] = T2O_INT16,       [4] = T2O_INT32,
        [5] = T2O_INT64,     [6] = T2O_FLOAT16,       [7] = T2O_FLOAT32,     [8] = T2O_FLOAT64,
        [9] = T2O_COMPLEX32, [10] = T2O_COMPLEX64,    [11] = T2O_COMPLEX128, [12] = T2O_BOOL,
        [13] = T2O_BFLOAT16, [28] = T2O_UINT16,       [29] = T2O_FLOAT8_E4M3FN,
        [30] = T2O_FLOAT8_E5M2, [31] = T2O_FLOAT8_E4M3FNUZ, [32] = T2O_FLOAT8_E5M2FNUZ,
        [33] = T2O_FLOAT8_E8M0FNU, [34] = T2O_UINT32, [35] = T2O_UINT64,
    };
    if (number < 0 || number >= COUNT(types) || (number && types[number] == T2O_NO_DTYPE))
        return false;
    *out = types[number];
    return true;
}

const char *t2o_layout_of_schema(int64_t number)
{
    static const char *const names[] = {
        "unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
        "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided",
    };
    return number >= 0 && number < COUNT(names) ? names[number] : NULL;
}

const char *t2o_memory_format_of_schema(int64_t number)
{
    static const char *const names[] = {
        "unknown", "contiguous", "channels_last", "channels_last_3d", "preserve",
    };
    return number >= 0 && number < COUNT(names) ? names[number] : NULL;
}

int64_t t2o_schema_of_dtype(t2o_dtype dtype)
{
    t2o_dtype found;
    for (int64_t i = 1; i < 64; i++)
        if (t2o_dtype_of_schema(i, &found) && found == dtype)
            return i;
    return 0;
}

int64_t t2o_schema_of_memory_format(const char *name)
{
    for (int64_t i = 0; t2o_memory_format_of_schema(i); i++)
        if (!strcmp(name, t2o_memory_format_of_schema(i)))
            return i;
    return 0;
}
