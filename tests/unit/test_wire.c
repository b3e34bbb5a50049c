/* test_wire.c: fields, numbers and slices of protobuf's wire format, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/wire.h"

#include <string.h>

#define WIRE(text) t2o_wire_of((const uint8_t *)(text), sizeof(text) - 1)

static void fields_come_in_order(void **state)
{
    (void)state;
    t2o_wire w = WIRE("\x08\x96\x01"             /* 1: 150 */
                      "\x12\x03" "abc"           /* 2: "abc" */
                      "\x1d\x00\x00\x80\x3f"     /* 3: 1.0f */
                      "\x21\x00\x00\x00\x00\x00\x00\x00\x40" /* 4: 2.0 */
                      "\xa2\x06\x00");           /* 100: "" */
    t2o_field f;
    assert_true(t2o_wire_next(&w, &f));
    assert_true(f.number == 1 && f.type == T2O_WIRE_VARINT && f.value == 150 && f.slice.n == 0);
    assert_true(t2o_wire_next(&w, &f));
    assert_true(f.number == 2 && f.type == T2O_WIRE_BYTES && f.slice.n == 3);
    assert_memory_equal(f.slice.bytes, "abc", 3);
    assert_true(t2o_wire_next(&w, &f));
    assert_true(f.type == T2O_WIRE_FIXED32 && t2o_wire_float(f.value) == 1.0f);
    assert_true(t2o_wire_next(&w, &f));
    assert_true(f.type == T2O_WIRE_FIXED64 && f.value == 0x4000000000000000 /* 2.0 */);
    assert_true(t2o_wire_next(&w, &f));
    assert_true(f.number == 100 && f.type == T2O_WIRE_BYTES && f.slice.n == 0);
    assert_false(t2o_wire_next(&w, &f));
    assert_false(w.bad);
}

static void slices_are_not_copies(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x4a, 4, 1, 2, 3, 4 };
    t2o_wire w = t2o_wire_of(bytes, sizeof bytes);
    t2o_field f;
    assert_true(t2o_wire_next(&w, &f));
    assert_ptr_equal(f.slice.bytes, bytes + 2);
}

static void negative_numbers_take_ten_bytes(void **state)
{
    (void)state;
    t2o_wire w = WIRE("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    t2o_field f;
    assert_true(t2o_wire_next(&w, &f));
    assert_true((int64_t)f.value == -1);
}

static void nothing_is_read_behind_the_end(void **state)
{
    (void)state;
    static const struct { const char *bytes; size_t n; } damaged[] = {
        { "\x08", 1 },                                          /* no value */
        { "\x08\x80", 2 },                                      /* a number that goes on */
        { "\x12\x05" "abc", 5 },                                /* more bytes than there are */
        { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* 2^64-1 bytes */
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 }, /* more than 64 bits */
        { "\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12 },
        { "\x1d\x00\x00", 3 },                                  /* half a float */
        { "\x0b\x08\x01\x0c", 4 },                              /* a group */
        { "\x00\x01", 2 },                                      /* field 0 */
        { "\x0f\x01", 2 },                                      /* a wire type that there is not */
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        t2o_wire w = t2o_wire_of((const uint8_t *)damaged[i].bytes, damaged[i].n);
        t2o_field f;
        assert_false(t2o_wire_next(&w, &f));
        assert_true(w.bad);
        assert_false(t2o_wire_next(&w, &f));
    }
}

static uint64_t sum(const t2o_field *f, t2o_wire_type item, bool *bad)
{
    t2o_numbers numbers = t2o_wire_numbers(f, item);
    uint64_t total = 0;
    for (uint64_t x; t2o_wire_number(&numbers, &x);)
        total = total * 10 + x;
    *bad = numbers.wire.bad;
    return total;
}

static void numbers_are_packed_or_not(void **state)
{
    (void)state;
    bool bad;
    t2o_wire w = WIRE("\x0a\x03\x01\x02\x03" "\x08\x07" "\x0a\x00" "\x0a\x02\x01\x80" "\x0d\x01\x00\x00\x00");
    t2o_field f;
    t2o_wire_next(&w, &f);
    assert_true(sum(&f, T2O_WIRE_VARINT, &bad) == 123 && !bad);
    t2o_wire_next(&w, &f);
    assert_true(sum(&f, T2O_WIRE_VARINT, &bad) == 7 && !bad);
    t2o_wire_next(&w, &f);
    assert_true(sum(&f, T2O_WIRE_VARINT, &bad) == 0 && !bad);
    t2o_wire_next(&w, &f);
    assert_true(sum(&f, T2O_WIRE_VARINT, &bad) == 1 && bad); /* the second goes on */
    t2o_wire_next(&w, &f);
    assert_true(sum(&f, T2O_WIRE_VARINT, &bad) == 0 && bad); /* of another type */
    assert_true(sum(&f, T2O_WIRE_FIXED32, &bad) == 1 && !bad);
}

static void an_empty_message_has_no_fields(void **state)
{
    (void)state;
    t2o_wire w = t2o_wire_of(NULL, 0);
    t2o_field f;
    assert_false(t2o_wire_next(&w, &f));
    assert_false(w.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_in_order),
        cmocka_unit_test(slices_are_not_copies),
        cmocka_unit_test(negative_numbers_take_ten_bytes),
        cmocka_unit_test(nothing_is_read_behind_the_end),
        cmocka_unit_test(numbers_are_packed_or_not),
        cmocka_unit_test(an_empty_message_has_no_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
