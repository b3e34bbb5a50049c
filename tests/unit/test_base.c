/* test_base.c: arena, vectors, map, interned text, diagnostics, exit codes, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "base/file.h"
#include "base/session.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* ---- arena ---- */

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 7, 16, 100, 4096, 70000, 1, 5 << 20, 3 };
    t2o_arena *a = t2o_arena_new();
    uint8_t *at[COUNT(sizes)];
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            at[i] = t2o_alloc(a, sizes[i]);
            assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(at[i][k], 0);
            memset(at[i], (int)i + 1, sizes[i]);
        }
        for (size_t i = 0; i < COUNT(sizes); i++)
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(at[i][k], i + 1);
    }
    assert_true(t2o_arena_used(a) >= 3 * ((5 << 20) + 70000));
    t2o_arena_free(a);
    t2o_arena_free(NULL);
}

static void text_is_copied_and_formatted(void **state)
{
    (void)state;
    t2o_arena *a = t2o_arena_new();
    char source[] = "conv1.weight";
    char *copy = t2o_strdup(a, source);
    source[0] = 'X';
    assert_string_equal(copy, "conv1.weight");
    assert_string_equal(t2o_strndup(a, "abcdef", 3), "abc");
    assert_string_equal(t2o_strndup(a, "", 0), "");
    assert_string_equal(t2o_printf(a, "%s.%d", "x", -3), "x.-3");
    assert_string_equal(t2o_printf(a, "%s", ""), "");
    for (int n = 126; n <= 130; n++) { /* about the size of the buffer that the first try goes into */
        char *text = t2o_printf(a, "%*s|", n, "x");
        assert_int_equal(strlen(text), n + 1);
        assert_string_equal(text + n - 1, "x|");
    }
    t2o_arena_free(a);
}

static void vectors_keep_their_elements_as_they_grow(void **state)
{
    (void)state;
    t2o_arena *a = t2o_arena_new();
    T2O_VEC(int) v = { 0 };
    for (int i = 0; i < 10000; i++)
        t2o_push(a, &v, i * i);
    assert_int_equal(v.n, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(v.at[i], i * i);
    t2o_arena_free(a);
}

/* ---- map ---- */

static void map_finds_what_was_set(void **state)
{
    (void)state;
    t2o_arena *a = t2o_arena_new();
    t2o_map m = { 0 };
    assert_null(t2o_map_get(&m, "anything"));
    for (uintptr_t i = 0; i < 5000; i++)
        assert_null(t2o_map_set(a, &m, t2o_printf(a, "key%u", (unsigned)i), (void *)(i + 1)));
    assert_int_equal(m.n, 5000);
    for (uintptr_t i = 0; i < 5000; i++) {
        assert_ptr_equal(t2o_map_get(&m, t2o_printf(a, "key%u", (unsigned)i)), (void *)(i + 1));
        assert_string_equal(m.entries[i].key, t2o_printf(a, "key%u", (unsigned)i)); /* order of insertion */
    }
    assert_null(t2o_map_get(&m, "key5000"));
    t2o_arena_free(a);
}

static void map_replaces_and_tells_prefixes_apart(void **state)
{
    (void)state;
    t2o_arena *a = t2o_arena_new();
    t2o_map m = { 0 };
    int one, two;
    assert_null(t2o_map_set(a, &m, "weight", &one));
    assert_ptr_equal(t2o_map_set(a, &m, "weight", &two), &one);
    assert_ptr_equal(t2o_map_get(&m, "weight"), &two);
    assert_int_equal(m.n, 1);
    assert_null(t2o_map_get(&m, "weigh"));
    assert_null(t2o_map_get(&m, "weights"));
    assert_ptr_equal(t2o_map_getn(&m, "weights", 6), &two);
    assert_null(t2o_map_getn(&m, "weight", 5));
    t2o_map_set(a, &m, "", &one);
    assert_ptr_equal(t2o_map_get(&m, ""), &one);
    assert_ptr_equal(t2o_map_set(a, &m, "weight", NULL), &two);
    assert_null(t2o_map_get(&m, "weight"));
    t2o_arena_free(a);
}

static void equal_texts_are_one_pointer(void **state)
{
    (void)state;
    t2o_session *s = t2o_session_new();
    char text[] = "aten::add.Tensor";
    const char *interned = t2o_intern(s, text);
    assert_ptr_not_equal(interned, text);
    assert_ptr_equal(t2o_intern(s, "aten::add.Tensor"), interned);
    assert_ptr_equal(t2o_intern_n(s, "aten::add.Tensor_", 16), interned);
    assert_ptr_not_equal(t2o_intern(s, "aten::add"), interned);
    for (int i = 0; i < 2000; i++)
        t2o_intern(s, t2o_printf(s->arena, "%d", i));
    assert_ptr_equal(t2o_intern(s, text), interned);
    t2o_session_free(s);
    t2o_session_free(NULL);
}

/* ---- diagnostics ---- */

static void failure_is_false_and_keeps_its_text(void **state)
{
    (void)state;
    t2o_session *s = t2o_session_new();
    t2o_note(s, "without a diagnostic this is lost");
    t2o_hint(s, "and this");
    assert_int_equal(s->diags.n, 0);
    assert_false(t2o_failed(s));
    assert_false(t2o_fail(s, "E0504", "'%s' is cut short", "model.json"));
    t2o_note(s, "in record %d", 3);
    t2o_note(s, "of %s", "archive");
    t2o_hint(s, "copy the file again");
    assert_int_equal(s->diags.n, 1);
    const t2o_diag *d = s->diags.at[0];
    assert_int_equal(d->severity, T2O_ERROR);
    assert_string_equal(d->code, "E0504");
    assert_string_equal(d->text, "'model.json' is cut short");
    assert_int_equal(d->notes.n, 2);
    assert_string_equal(d->notes.at[0], "in record 3");
    assert_string_equal(d->notes.at[1], "of archive");
    assert_string_equal(d->hint, "copy the file again");
    assert_true(t2o_failed(s));
    t2o_session_free(s);
}

static void warnings_are_no_failure(void **state)
{
    (void)state;
    t2o_session *s = t2o_session_new();
    t2o_warn(s, "weights of %d MB", 12);
    assert_int_equal(s->diags.at[0]->severity, T2O_WARNING);
    assert_null(s->diags.at[0]->code);
    assert_false(t2o_failed(s));
    assert_int_equal(t2o_exit_code(s), 0);
    t2o_fail(s, "E0301", "later");
    assert_int_equal(t2o_exit_code(s), 3);
    t2o_forget_diags(s, 1);
    assert_int_equal(s->diags.n, 1);
    assert_int_equal(t2o_exit_code(s), 0);
    t2o_forget_diags(s, 9);
    assert_int_equal(s->diags.n, 1);
    t2o_session_free(s);
}

static void first_error_decides_the_exit_code(void **state)
{
    (void)state;
    static const struct { const char *first, *second; int exit; } rows[] = {
        { "E0101", "E0601", 1 }, { "E0201", "E0101", 2 }, { "E0304", "E0504", 3 },
        { "E0504", "E0304", 5 }, { "E0605", "E0201", 6 }, { "E1201", "E0101", 12 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        t2o_session *s = t2o_session_new();
        t2o_warn(s, "before");
        t2o_fail(s, rows[i].first, "one");
        t2o_fail(s, rows[i].second, "two");
        assert_int_equal(t2o_exit_code(s), rows[i].exit);
        t2o_session_free(s);
    }
}

static void every_code_is_explained(void **state)
{
    (void)state;
    size_t n = 0;
    for (const char *code; (code = t2o_code_at(n)); n++) {
        const char *title = NULL, *text = t2o_explain(code, &title);
        assert_int_equal(strlen(code), 5);
        assert_int_equal(code[0], 'E');
        assert_non_null(text);
        assert_true(strlen(text) > 20 && strlen(title) > 5);
        for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            assert_true(strcspn(line, "\n") <= 110);
        if (n)
            assert_true(strcmp(t2o_code_at(n - 1), code) < 0);
    }
    assert_true(n > 15);
    const char *title;
    assert_non_null(t2o_explain("e0301", &title));
    assert_null(t2o_explain("E9999", &title));
    assert_null(t2o_code_at(100000));
}

/* ---- files ---- */

typedef struct folder {
    t2o_session *s;
    char path[64];
} folder;

static int make_folder(void **state)
{
    static folder f;
    f.s = t2o_session_new();
    strcpy(f.path, "/tmp/t2o-test-XXXXXX");
    *state = &f;
    return mkdtemp(f.path) ? 0 : -1;
}

static int remove_folder(void **state)
{
    folder *f = *state;
    DIR *dir = opendir(f->path);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            remove(t2o_printf(f->s->arena, "%s/%s", f->path, e->d_name));
    if (dir)
        closedir(dir);
    rmdir(f->path);
    t2o_session_free(f->s);
    return 0;
}

static const char *in(const folder *f, const char *name)
{
    return t2o_printf(f->s->arena, "%s/%s", f->path, name);
}

/* The names in the folder, sorted enough for one or two of them. */
static const char *listing(const folder *f)
{
    const char *text = "";
    DIR *dir = opendir(f->path);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            text = t2o_printf(f->s->arena, "%s%s ", text, e->d_name);
    closedir(dir);
    return text;
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void files_are_mapped(void **state)
{
    folder *f = *state;
    write_text(in(f, "some"), "hello");
    write_text(in(f, "empty"), "");
    t2o_file *some = t2o_file_map(f->s, in(f, "some")), *empty = t2o_file_map(f->s, in(f, "empty"));
    assert_int_equal(some->size, 5);
    assert_memory_equal(some->bytes, "hello", 5);
    assert_int_equal(empty->size, 0);
    assert_non_null(empty->bytes);
    t2o_file_unmap(some);
    t2o_file_unmap(empty);
    t2o_file_unmap(NULL);
    size_t n = 0;
    assert_string_equal(t2o_file_text(f->s, in(f, "some"), &n), "hello");
    assert_int_equal(n, 5);
    assert_string_equal(t2o_file_text(f->s, in(f, "empty"), NULL), "");
    assert_null(t2o_file_text(f->s, in(f, "absent"), &n));
    assert_null(t2o_file_text(f->s, f->path, &n));
    assert_false(t2o_failed(f->s));
}

static void unreadable_inputs_are_named(void **state)
{
    folder *f = *state;
    mkfifo(in(f, "fifo"), 0600);
    int keep = open(in(f, "fifo"), 2); /* so that opening it to read does not wait */
    const struct { const char *path, *says; } rows[] = {
        { in(f, "absent"), "No such file" },
        { f->path, "is a directory" },
        { in(f, "fifo"), "is not a regular file" },
        { in(f, "absent/below"), "No such file" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_null(t2o_file_map(f->s, rows[i].path));
        const t2o_diag *d = f->s->diags.at[i];
        assert_string_equal(d->code, "E0501");
        assert_non_null(strstr(d->text, rows[i].path));
        assert_non_null(strstr(d->text, rows[i].says));
    }
    close(keep);
}

static void commit_replaces_the_whole_file(void **state)
{
    folder *f = *state;
    const char *path = in(f, "model.onnx");
    write_text(path, "an older and longer text");
    t2o_output *out = t2o_output_open(f->s, path);
    t2o_output_write(out, "new", 3);
    size_t n;
    assert_string_equal(t2o_file_text(f->s, path, &n), "an older and longer text"); /* until the commit */
    assert_true(t2o_output_commit(out));
    assert_string_equal(t2o_file_text(f->s, path, &n), "new");
    assert_string_equal(listing(f), "model.onnx ");
}

static void writes_of_every_size_arrive_in_order(void **state)
{
    folder *f = *state;
    static const size_t sizes[] = { 1, 65535, 1, 65536, 65537, 3, 200000, 0, 64000, 1536, 1 };
    t2o_output *out = t2o_output_open(f->s, in(f, "big"));
    uint64_t total = 0;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        uint8_t *block = t2o_alloc(f->s->arena, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            block[k] = (uint8_t)((total + k) * 31 >> 3);
        t2o_output_write(out, block, sizes[i]);
        total += sizes[i];
        assert_int_equal(t2o_output_size(out), total);
    }
    assert_true(t2o_output_commit(out));
    t2o_file *got = t2o_file_map(f->s, in(f, "big"));
    assert_int_equal(got->size, total);
    for (size_t k = 0; k < total; k++)
        assert_int_equal(got->bytes[k], (uint8_t)(k * 31 >> 3));
    t2o_file_unmap(got);
}

static void discard_leaves_nothing(void **state)
{
    folder *f = *state;
    t2o_output *out = t2o_output_open(f->s, in(f, "model.onnx"));
    t2o_output_write(out, "half", 4);
    assert_string_not_equal(listing(f), "");
    t2o_output_discard(out);
    assert_string_equal(listing(f), "");
    t2o_output_discard(out); /* twice does no harm */
    t2o_output_discard(NULL);
    assert_false(t2o_failed(f->s));
}

static void unwritable_places_are_refused(void **state)
{
    folder *f = *state;
    write_text(in(f, "file"), "x");
    const char *const paths[] = { in(f, "absent/model.onnx"), in(f, "file/model.onnx"), f->path,
                                  "/proc/no-such-place/model.onnx" };
    for (size_t i = 0; i < COUNT(paths); i++) {
        assert_null(t2o_output_open(f->s, paths[i]));
        assert_string_equal(f->s->diags.at[i]->code, "E0101");
        assert_non_null(strstr(f->s->diags.at[i]->text, paths[i]));
    }
    assert_string_equal(listing(f), "file ");
}

static void folder_without_permission_is_refused(void **state)
{
    folder *f = *state;
    bool root = geteuid() == 0; /* who may write everywhere */
    chmod(f->path, 0500);
    if (root && seteuid(65534))
        skip();
    t2o_output *out = t2o_output_open(f->s, in(f, "model.onnx"));
    if (root)
        assert_int_equal(seteuid(0), 0);
    chmod(f->path, 0700);
    assert_null(out);
    assert_string_equal(f->s->diags.at[0]->code, "E0101");
}

static void full_disk_fails_at_the_commit(void **state)
{
    folder *f = *state;
    if (symlink("/dev/full", in(f, t2o_printf(f->s->arena, "model.onnx.%ld.part", (long)getpid()))))
        skip();
    t2o_output *out = t2o_output_open(f->s, in(f, "model.onnx"));
    assert_non_null(out);
    t2o_output_write(out, "bytes", 5);
    assert_false(t2o_output_commit(out));
    assert_string_equal(f->s->diags.at[0]->code, "E0101");
    assert_non_null(strstr(f->s->diags.at[0]->text, "No space left"));
    assert_string_equal(listing(f), "");
}

static void text_grows_and_is_quoted(void **state)
{
    (void)state;
    t2o_session *s = t2o_session_new();
    t2o_string t;
    t2o_string_start(&t, s->arena);
    for (int i = 0; i < 400; i++)
        t2o_string_addf(&t, "%d,%s;", i, "12345678"); /* past what a short text has room for */
    t2o_string_add_json(&t, "a\"\\\n\0z", 6);
    t2o_string_add_int(&t, INT64_MIN);
    const char *text = t2o_string_end(&t);
    assert_non_null(strstr(text, "0,12345678;1,12345678;2,"));
    assert_non_null(strstr(text, ";399,12345678;\"a\\\"\\\\\\u000a\\u0000z\"-9223372036854775808"));
    t2o_session_free(s);
}

static void commit_onto_a_folder_leaves_nothing(void **state)
{
    folder *f = *state;
    t2o_output *out = t2o_output_open(f->s, in(f, "late"));
    mkdir(in(f, "late"), 0700);
    t2o_output_write(out, "bytes", 5);
    assert_false(t2o_output_commit(out));
    assert_string_equal(f->s->diags.at[0]->code, "E0101");
    assert_string_equal(listing(f), "late ");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(text_is_copied_and_formatted),
        cmocka_unit_test(text_grows_and_is_quoted),
        cmocka_unit_test(vectors_keep_their_elements_as_they_grow),
        cmocka_unit_test(map_finds_what_was_set),
        cmocka_unit_test(map_replaces_and_tells_prefixes_apart),
        cmocka_unit_test(equal_texts_are_one_pointer),
        cmocka_unit_test(failure_is_false_and_keeps_its_text),
        cmocka_unit_test(warnings_are_no_failure),
        cmocka_unit_test(first_error_decides_the_exit_code),
        cmocka_unit_test(every_code_is_explained),
        IN_FOLDER(files_are_mapped),
        IN_FOLDER(unreadable_inputs_are_named),
        IN_FOLDER(commit_replaces_the_whole_file),
        IN_FOLDER(writes_of_every_size_arrive_in_order),
        IN_FOLDER(discard_leaves_nothing),
        IN_FOLDER(unwritable_places_are_refused),
        IN_FOLDER(folder_without_permission_is_refused),
        IN_FOLDER(full_disk_fails_at_the_commit),
        IN_FOLDER(commit_onto_a_folder_leaves_nothing),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
