/* wire.c: fields and numbers of protobuf's wire format. */
#include "onnx/wire.h"

#include <string.h>

#define VARINT_BYTES 10 /* of 64 bits, 7 in a byte */

t2o_wire t2o_wire_of(const uint8_t *bytes, size_t n)
{
    return (t2o_wire){ bytes, n ? bytes + n : bytes, false };
}

static bool fail(t2o_wire *w)
{
    w->bad = true;
    w->at = w->end;
    return false;
}

static bool read_varint(t2o_wire *w, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < VARINT_BYTES && w->at < w->end; i++) {
        uint8_t byte = *w->at++;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            return i < VARINT_BYTES - 1 || byte <= 1 || fail(w);
    }
    return fail(w);
}

static bool read_fixed(t2o_wire *w, size_t size, uint64_t *value)
{
    *value = 0;
    if ((size_t)(w->end - w->at) < size)
        return fail(w);
    for (size_t i = size; i-- > 0;)
        *value = *value << 8 | w->at[i];
    w->at += size;
    return true;
}

static bool read_bytes(t2o_wire *w, t2o_slice *slice)
{
    uint64_t n;
    if (!read_varint(w, &n))
        return false;
    if (n > (uint64_t)(w->end - w->at))
        return fail(w);
    *slice = (t2o_slice){ w->at, (size_t)n };
    w->at += n;
    return true;
}

static bool read_number(t2o_wire *w, t2o_wire_type type, uint64_t *value)
{
    switch (type) {
    case T2O_WIRE_VARINT: return read_varint(w, value);
    case T2O_WIRE_FIXED64: return read_fixed(w, 8, value);
    case T2O_WIRE_FIXED32: return read_fixed(w, 4, value);
    default: return fail(w); /* groups were given up before ONNX began */
    }
}

bool t2o_wire_next(t2o_wire *w, t2o_field *f)
{
    uint64_t key;
    if (w->at == w->end || !read_varint(w, &key))
        return false;
    *f = (t2o_field){ .number = (uint32_t)(key >> 3), .type = (t2o_wire_type)(key & 7) };
    if (key >> 3 == 0 || key >> 32)
        return fail(w);
    return f->type == T2O_WIRE_BYTES ? read_bytes(w, &f->slice) : read_number(w, f->type, &f->value);
}

t2o_numbers t2o_wire_numbers(const t2o_field *f, t2o_wire_type item)
{
    t2o_numbers numbers = { .wire = t2o_wire_of(f->slice.bytes, f->slice.n), .item = item };
    if (f->type == T2O_WIRE_BYTES)
        return numbers;
    numbers.has_single = f->type == item;
    numbers.wire.bad = f->type != item;
    numbers.single = f->value;
    return numbers;
}

bool t2o_wire_number(t2o_numbers *numbers, uint64_t *value)
{
    bool single = numbers->has_single;
    numbers->has_single = false;
    *value = numbers->single;
    return single ||
           (numbers->wire.at != numbers->wire.end && read_number(&numbers->wire, numbers->item, value));
}

float t2o_wire_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}
