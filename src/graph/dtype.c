/* dtype.c: names, sizes and element conversion. */
#include "graph/dtype.h"

#include <string.h>

static const struct {
    const char *name, *brief;
    size_t size;
} types[T2O_N_DTYPES] = {
    [T2O_NO_DTYPE] = { "none", "none", 0 },
    [T2O_FLOAT32] = { "float32", "f32", 4 },
    [T2O_UINT8] = { "uint8", "u8", 1 },
    [T2O_INT8] = { "int8", "i8", 1 },
    [T2O_UINT16] = { "uint16", "u16", 2 },
    [T2O_INT16] = { "int16", "i16", 2 },
    [T2O_INT32] = { "int32", "i32", 4 },
    [T2O_INT64] = { "int64", "i64", 8 },
    [T2O_STRING] = { "string", "str", 0 },
    [T2O_BOOL] = { "bool", "bool", 1 },
    [T2O_FLOAT16] = { "float16", "f16", 2 },
    [T2O_FLOAT64] = { "float64", "f64", 8 },
    [T2O_UINT32] = { "uint32", "u32", 4 },
    [T2O_UINT64] = { "uint64", "u64", 8 },
    [T2O_COMPLEX64] = { "complex64", "c64", 8 },
    [T2O_COMPLEX128] = { "complex128", "c128", 16 },
    [T2O_BFLOAT16] = { "bfloat16", "bf16", 2 },
    [T2O_FLOAT8_E4M3FN] = { "float8_e4m3fn", "f8e4m3fn", 1 },
    [T2O_FLOAT8_E4M3FNUZ] = { "float8_e4m3fnuz", "f8e4m3fnuz", 1 },
    [T2O_FLOAT8_E5M2] = { "float8_e5m2", "f8e5m2", 1 },
    [T2O_FLOAT8_E5M2FNUZ] = { "float8_e5m2fnuz", "f8e5m2fnuz", 1 },
    [T2O_UINT4] = { "uint4", "u4", 0 },
    [T2O_INT4] = { "int4", "i4", 0 },
    [T2O_FLOAT4_E2M1] = { "float4_e2m1fn", "f4e2m1", 0 },
    [T2O_FLOAT8_E8M0FNU] = { "float8_e8m0fnu", "f8e8m0", 1 },
    [T2O_UINT2] = { "uint2", "u2", 0 },
    [T2O_INT2] = { "int2", "i2", 0 },
    [T2O_COMPLEX32] = { "complex32", "c32", 4 },
};

const char *t2o_dtype_name(t2o_dtype d)
{
    return d < T2O_N_DTYPES && types[d].name ? types[d].name : "none";
}

const char *t2o_dtype_short(t2o_dtype d)
{
    return d < T2O_N_DTYPES && types[d].brief ? types[d].brief : "none";
}

t2o_dtype t2o_dtype_named(const char *name)
{
    for (int i = 1; i < T2O_N_DTYPES; i++)
        if (types[i].name && !strcmp(types[i].name, name))
            return (t2o_dtype)i;
    return T2O_NO_DTYPE;
}

static const char *const safetensors[T2O_N_DTYPES] = {
    [T2O_BOOL] = "BOOL",    [T2O_UINT8] = "U8",   [T2O_INT8] = "I8",       [T2O_UINT16] = "U16",
    [T2O_INT16] = "I16",    [T2O_UINT32] = "U32", [T2O_INT32] = "I32",     [T2O_UINT64] = "U64",
    [T2O_INT64] = "I64",    [T2O_FLOAT16] = "F16", [T2O_BFLOAT16] = "BF16", [T2O_FLOAT32] = "F32",
    [T2O_FLOAT64] = "F64",  [T2O_COMPLEX64] = "C64", [T2O_FLOAT8_E4M3FN] = "F8_E4M3", [T2O_FLOAT8_E5M2] = "F8_E5M2",
};

const char *t2o_dtype_safetensors(t2o_dtype d)
{
    return d < T2O_N_DTYPES ? safetensors[d] : NULL;
}

t2o_dtype t2o_dtype_of_safetensors(const char *name)
{
    for (int d = 0; d < T2O_N_DTYPES; d++)
        if (safetensors[d] && !strcmp(safetensors[d], name))
            return (t2o_dtype)d;
    return T2O_NO_DTYPE;
}

size_t t2o_dtype_size(t2o_dtype d)
{
    return d < T2O_N_DTYPES ? types[d].size : 0;
}

unsigned t2o_dtype_bits(t2o_dtype d)
{
    switch (d) {
    case T2O_UINT4: case T2O_INT4: case T2O_FLOAT4_E2M1: return 4;
    case T2O_UINT2: case T2O_INT2: return 2;
    default: return 8 * (unsigned)t2o_dtype_size(d);
    }
}

bool t2o_dtype_is_float(t2o_dtype d)
{
    switch (d) {
    case T2O_FLOAT32: case T2O_FLOAT64: case T2O_FLOAT16: case T2O_BFLOAT16:
    case T2O_FLOAT8_E4M3FN: case T2O_FLOAT8_E4M3FNUZ: case T2O_FLOAT8_E5M2: case T2O_FLOAT8_E5M2FNUZ:
    case T2O_FLOAT8_E8M0FNU: case T2O_FLOAT4_E2M1:
        return true;
    default:
        return false;
    }
}

bool t2o_dtype_is_int(t2o_dtype d)
{
    switch (d) {
    case T2O_UINT8: case T2O_INT8: case T2O_UINT16: case T2O_INT16: case T2O_UINT32: case T2O_INT32:
    case T2O_UINT64: case T2O_INT64: case T2O_UINT4: case T2O_INT4: case T2O_UINT2: case T2O_INT2:
        return true;
    default:
        return false;
    }
}

bool t2o_dtype_is_complex(t2o_dtype d)
{
    return d == T2O_COMPLEX32 || d == T2O_COMPLEX64 || d == T2O_COMPLEX128;
}

t2o_dtype t2o_dtype_real_of(t2o_dtype d)
{
    switch (d) {
    case T2O_COMPLEX32: return T2O_FLOAT16;
    case T2O_COMPLEX64: return T2O_FLOAT32;
    case T2O_COMPLEX128: return T2O_FLOAT64;
    default: return d;
    }
}

/* Round a double to binary16, ties to even, overflow to infinity. */
static uint16_t to_half(double value)
{
    float f = (float)value;
    if ((double)f != value) { /* round to odd first, so that the second rounding cannot double-round */
        uint32_t bits;
        memcpy(&bits, &f, 4);
        double back = f;
        if ((back > value) == (value > 0) && (bits & 0x7fffffff))
            bits--;
        bits |= 1;
        memcpy(&f, &bits, 4);
    }
    uint32_t x;
    memcpy(&x, &f, 4);
    uint16_t sign = (uint16_t)(x >> 16 & 0x8000);
    uint32_t mag = x & 0x7fffffff;
    if (mag > 0x7f800000)
        return sign | 0x7e00;
    if (mag >= 0x47800000)
        return sign | 0x7c00;
    if (mag < 0x38800000) { /* subnormal: units of 2^-24 */
        int shift = 126 - (int)(mag >> 23);
        if (shift > 24)
            return sign;
        uint32_t m = (mag & 0x7fffff) | 0x800000;
        uint32_t half = m >> shift, rest = m & ((1u << shift) - 1), mid = 1u << (shift - 1);
        return (uint16_t)(sign | (half + (rest > mid || (rest == mid && (half & 1)))));
    }
    uint32_t half = (mag - 0x38000000) >> 13, rest = mag & 0x1fff;
    return (uint16_t)(sign | (half + (rest > 0x1000 || (rest == 0x1000 && (half & 1)))));
}

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double mantissa = h & 0x3ff, value;
    if (exponent == 31)
        value = mantissa != 0 ? __builtin_nan("") : __builtin_inf();
    else if (exponent == 0)
        value = mantissa * 0x1p-24;
    else
        value = (mantissa + 1024) * __builtin_ldexp(1.0, exponent - 25);
    return h & 0x8000 ? -value : value;
}

static uint16_t to_bfloat(double value)
{
    float f = (float)value;
    uint32_t x;
    memcpy(&x, &f, 4);
    if ((x & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(x >> 16 | 0x40);
    return (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

bool t2o_element_from_double(t2o_dtype d, double value, void *out)
{
    float f = (float)value;
    uint16_t h;
    switch (d) {
    case T2O_FLOAT64: memcpy(out, &value, 8); return true;
    case T2O_FLOAT32: memcpy(out, &f, 4); return true;
    case T2O_FLOAT16: h = to_half(value); memcpy(out, &h, 2); return true;
    case T2O_BFLOAT16: h = to_bfloat(value); memcpy(out, &h, 2); return true;
    case T2O_BOOL: *(uint8_t *)out = value != 0; return true;
    case T2O_COMPLEX64: memset(out, 0, 8); memcpy(out, &f, 4); return true;
    case T2O_COMPLEX128: memset(out, 0, 16); memcpy(out, &value, 8); return true;
    default:
        if (!t2o_dtype_is_int(d) || !(value > -9.3e18 && value < 9.2e18))
            return false;
        return t2o_element_from_int(d, (int64_t)value, out);
    }
}

bool t2o_element_from_int(t2o_dtype d, int64_t value, void *out)
{
    switch (d) {
    case T2O_INT64: case T2O_UINT64: memcpy(out, &value, 8); return true;
    case T2O_INT32: case T2O_UINT32: memcpy(out, &(int32_t){ (int32_t)value }, 4); return true;
    case T2O_INT16: case T2O_UINT16: memcpy(out, &(int16_t){ (int16_t)value }, 2); return true;
    case T2O_INT8: case T2O_UINT8: *(int8_t *)out = (int8_t)value; return true;
    case T2O_BOOL: *(uint8_t *)out = value != 0; return true;
    case T2O_FLOAT32: case T2O_FLOAT64: case T2O_FLOAT16: case T2O_BFLOAT16:
    case T2O_COMPLEX64: case T2O_COMPLEX128:
        return t2o_element_from_double(d, (double)value, out);
    case T2O_FLOAT8_E4M3FN: case T2O_FLOAT8_E5M2: case T2O_FLOAT8_E4M3FNUZ: case T2O_FLOAT8_E5M2FNUZ:
        *(uint8_t *)out = 0;
        return value == 0;
    default: return false;
    }
}

bool t2o_element_to_int(t2o_dtype d, const void *in, int64_t *value)
{
    union { int64_t i64; int32_t i32; uint32_t u32; int16_t i16; uint16_t u16; int8_t i8; uint8_t u8; } v;
    memcpy(&v, in, t2o_dtype_size(d) <= 8 ? t2o_dtype_size(d) : 8);
    switch (d) {
    case T2O_INT64: case T2O_UINT64: *value = v.i64; return true;
    case T2O_INT32: *value = v.i32; return true;
    case T2O_UINT32: *value = v.u32; return true;
    case T2O_INT16: *value = v.i16; return true;
    case T2O_UINT16: *value = v.u16; return true;
    case T2O_INT8: *value = v.i8; return true;
    case T2O_UINT8: *value = v.u8; return true;
    case T2O_BOOL: *value = v.u8 != 0; return true;
    default: return false;
    }
}

bool t2o_element_to_double(t2o_dtype d, const void *in, double *value)
{
    float f;
    uint16_t h;
    uint32_t x;
    int64_t i;
    switch (d) {
    case T2O_FLOAT64: memcpy(value, in, 8); return true;
    case T2O_FLOAT32: memcpy(&f, in, 4); *value = f; return true;
    case T2O_FLOAT16: memcpy(&h, in, 2); *value = from_half(h); return true;
    case T2O_BFLOAT16: memcpy(&h, in, 2); x = (uint32_t)h << 16; memcpy(&f, &x, 4); *value = f; return true;
    default:
        if (!t2o_element_to_int(d, in, &i))
            return false;
        *value = d == T2O_UINT64 ? (double)(uint64_t)i : (double)i;
        return true;
    }
}
