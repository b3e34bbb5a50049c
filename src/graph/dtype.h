/* dtype.h: element types. The numbers are those of ONNX's TensorProto.DataType; names are PyTorch's. */
#ifndef T2O_GRAPH_DTYPE_H
#define T2O_GRAPH_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum t2o_dtype {
    T2O_NO_DTYPE = 0,
    T2O_FLOAT32 = 1,
    T2O_UINT8 = 2,
    T2O_INT8 = 3,
    T2O_UINT16 = 4,
    T2O_INT16 = 5,
    T2O_INT32 = 6,
    T2O_INT64 = 7,
    T2O_STRING = 8,
    T2O_BOOL = 9,
    T2O_FLOAT16 = 10,
    T2O_FLOAT64 = 11,
    T2O_UINT32 = 12,
    T2O_UINT64 = 13,
    T2O_COMPLEX64 = 14,
    T2O_COMPLEX128 = 15,
    T2O_BFLOAT16 = 16,
    T2O_FLOAT8_E4M3FN = 17,
    T2O_FLOAT8_E4M3FNUZ = 18,
    T2O_FLOAT8_E5M2 = 19,
    T2O_FLOAT8_E5M2FNUZ = 20,
    T2O_UINT4 = 21,
    T2O_INT4 = 22,
    T2O_FLOAT4_E2M1 = 23,
    T2O_FLOAT8_E8M0FNU = 24,
    T2O_UINT2 = 25,
    T2O_INT2 = 26,
    T2O_COMPLEX32 = 29, /* PyTorch only; ONNX uses 27 and 28 for its 6-bit floats */
    T2O_N_DTYPES
} t2o_dtype;

const char *t2o_dtype_name(t2o_dtype d);      /* "float32"; "none" for T2O_NO_DTYPE */
const char *t2o_dtype_short(t2o_dtype d);     /* "f32", for dumps */
t2o_dtype t2o_dtype_named(const char *name);  /* PyTorch's name, without "torch."; T2O_NO_DTYPE if unknown */
size_t t2o_dtype_size(t2o_dtype d);           /* bytes an element; 0 for strings and sub-byte types */
unsigned t2o_dtype_bits(t2o_dtype d);         /* the same in bits, sub-byte types too; 0 for strings */
/* The names in safetensors files: "F32"; NULL, or T2O_NO_DTYPE, for what the format does not have. */
const char *t2o_dtype_safetensors(t2o_dtype d);
t2o_dtype t2o_dtype_of_safetensors(const char *name);
bool t2o_dtype_is_float(t2o_dtype d);         /* real floating point, fp8 included */
bool t2o_dtype_is_int(t2o_dtype d);           /* signed or unsigned, not bool */
bool t2o_dtype_is_complex(t2o_dtype d);
t2o_dtype t2o_dtype_real_of(t2o_dtype d);     /* of the parts of a complex dtype; d itself where it is none */

/* One element from or to a double (floats and integers; of fp8 only a zero can be made: else returns false). */
bool t2o_element_from_double(t2o_dtype d, double value, void *out);
bool t2o_element_from_int(t2o_dtype d, int64_t value, void *out);
bool t2o_element_to_double(t2o_dtype d, const void *in, double *value);
bool t2o_element_to_int(t2o_dtype d, const void *in, int64_t *value); /* integers and bool only */

#endif
