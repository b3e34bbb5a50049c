/* wire.h: reads protobuf's wire format where it lies.
 *
 * A message is a run of fields; a field is a number, a wire type and a value. Nothing is copied: bytes and nested
 * messages come as slices of what is read, so that the weights of a model stay in the mapped file. (protobuf-c, which
 * writes models, copies every bytes field when it reads one.) The bytes are hostile: each length is checked against
 * what remains, and whoever follows nested messages limits how deep.
 *
 *     t2o_wire w = t2o_wire_of(bytes, n);
 *     for (t2o_field f; t2o_wire_next(&w, &f);)
 *         if (f.number == 1) ...
 *     if (w.bad) ...                                        cut short, or no protobuf at all
 */
#ifndef T2O_ONNX_WIRE_H
#define T2O_ONNX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum t2o_wire_type {
    T2O_WIRE_VARINT = 0,
    T2O_WIRE_FIXED64 = 1,
    T2O_WIRE_BYTES = 2,
    T2O_WIRE_FIXED32 = 5,
} t2o_wire_type;

typedef struct t2o_slice {
    const uint8_t *bytes;
    size_t n;
} t2o_slice;

typedef struct t2o_wire {
    const uint8_t *at, *end;
    bool bad; /* the bytes are malformed; there is no next field */
} t2o_wire;

typedef struct t2o_field {
    uint32_t number;
    t2o_wire_type type;
    uint64_t value;  /* of a number, as its bits; 0 for bytes */
    t2o_slice slice; /* of bytes, text and nested messages; empty for numbers */
} t2o_field;

t2o_wire t2o_wire_of(const uint8_t *bytes, size_t n);

/* The next field; false at the end and where the bytes are malformed. */
bool t2o_wire_next(t2o_wire *w, t2o_field *f);

/* The numbers of one field of a repeated one: a single one, or a packed run of items of this type. */
typedef struct t2o_numbers {
    t2o_wire wire;
    t2o_wire_type item;
    uint64_t single;
    bool has_single;
} t2o_numbers;

t2o_numbers t2o_wire_numbers(const t2o_field *f, t2o_wire_type item);
/* False at the end, and where the run is malformed (numbers->wire.bad). */
bool t2o_wire_number(t2o_numbers *numbers, uint64_t *value);

/* The bits of a number as a float. */
float t2o_wire_float(uint64_t bits);

#endif
