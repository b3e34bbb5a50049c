/* load.c: where Lua files come from: the built-in folder or the copy in the binary, and the layers above.
 *
 * Built-in files are those beside a binary that runs from its source tree (build/t2o), those in <prefix>/share/t2o of
 * an installed one, else the copy inside. The working directory is never searched.
 *
 * Built-in rule files run when an operator that they speak of is first asked for: an index of the words that stand in
 * quotes says which. A name that a file puts together at run time is not in it; so before an operator counts as
 * missing, all files have been run. Files of later layers run at once.
 */
#include "base/file.h"
#include "script/embedded.h"
#include "script/internal.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct rule_file {
    const char *name; /* relative to its layer: "aten/conv.lua" */
    const char *path; /* as shown in errors */
    const char *text; /* NULL = it could not be read */
    size_t n;
    bool done;        /* it has run, or is replaced by a later layer's */
} rule_file;

typedef T2O_VEC(rule_file) rule_files;

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The folder that holds lua/ and rules/, or NULL for the copy in the binary. */
static const char *find_root(t2o_session *s)
{
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    static const char *const places[] = { "..", "../share/t2o" };
    for (int i = 0; i < 2; i++) {
        char *root = realpath(t2o_printf(s->arena, "%s/%s", exe, places[i]), NULL);
        char *kept = root ? t2o_strdup(s->arena, root) : NULL;
        free(root);
        if (kept && is_folder(t2o_printf(s->arena, "%s/rules/aten", kept)) &&
            is_folder(t2o_printf(s->arena, "%s/lua/t2o", kept)))
            return kept;
    }
    return NULL;
}

void find_builtin(t2o_script *k)
{
    k->root = find_root(k->s);
}

/* The copy of a shipped file by its path from the root ("lua/t2o/util.lua"), or NULL. */
static const t2o_embedded_file *embedded_file(const char *path)
{
    const t2o_embedded_file *f = t2o_embedded;
    while (f->path && strcmp(f->path, path))
        f++;
    return f->path ? f : NULL;
}

/* The text of a built-in file by its path from the root, or NULL. */
static const char *builtin_text(t2o_script *k, const char *path, size_t *n)
{
    t2o_session *s = k->s;
    if (k->root)
        return t2o_file_text(s, t2o_printf(s->arena, "%s/%s", k->root, path), n);
    const t2o_embedded_file *f = embedded_file(path);
    if (f)
        *n = (size_t)(f->end - f->text);
    return f ? f->text : NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rule_file *)a)->name, ((const rule_file *)b)->name);
}

static bool is_lua(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".lua");
}

/* All .lua files under a folder; shown is what stands before their names in errors. */
static void walk(t2o_session *s, rule_files *out, const char *folder, const char *shown, const char *prefix, int depth)
{
    DIR *dir = depth < 8 ? opendir(folder) : NULL;
    if (!dir)
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        const char *path = t2o_printf(s->arena, "%s/%s", folder, e->d_name);
        const char *name = t2o_printf(s->arena, "%s%s", prefix, e->d_name);
        if (is_folder(path))
            walk(s, out, path, shown, t2o_printf(s->arena, "%s/", name), depth + 1);
        else if (is_lua(e->d_name)) {
            rule_file f = { .name = name, .path = t2o_printf(s->arena, "%s%s", shown, name) };
            f.text = t2o_file_text(s, path, &f.n);
            t2o_push(s->arena, out, f);
        }
    }
    closedir(dir);
    if (!*prefix && out->n)
        qsort(out->at, out->n, sizeof *out->at, by_name);
}

static void builtin_rules(t2o_session *s, const char *root, rule_files *out)
{
    if (root) {
        walk(s, out, t2o_printf(s->arena, "%s/rules", root), "rules/", "", 0);
        return;
    }
    for (const t2o_embedded_file *f = t2o_embedded; f->path; f++)
        if (!strncmp(f->path, "rules/", 6))
            t2o_push(s->arena, out, ((rule_file){ f->path + 6, f->path, f->text, (size_t)(f->end - f->text), false }));
}

const char *t2o_script_builtin(t2o_session *s, const char *path, const char **file)
{
    const char *root = find_root(s);
    *file = root ? t2o_printf(s->arena, "%s/%s", root, path) : NULL;
    if (*file && access(*file, R_OK))
        *file = NULL;
    const t2o_embedded_file *f = embedded_file(path);
    return f ? f->text : NULL;
}

void t2o_script_each_builtin(t2o_session *s, void (*fn)(void *, const char *, const char *, size_t), void *ctx)
{
    rule_files files = { 0 };
    builtin_rules(s, find_root(s), &files);
    for (size_t i = 0; i < files.n; i++)
        fn(ctx, files.at[i].name, files.at[i].text, files.at[i].n);
}

/* Leaves the chunk on the stack, out of the bytecode in the binary, where that was made of this text. */
static bool load_code(lua_State *L, const char *text, size_t n, const char *path)
{
    const t2o_embedded_file *f = embedded_file(path);
    if (!f || !f->code || (size_t)(f->end - f->text) != n || memcmp(f->text, text, n) != 0)
        return false;
    if (luaL_loadbufferx(L, f->code, (size_t)(f->code_end - f->code), path, "b") == LUA_OK)
        return true;
    lua_pop(L, 1); /* of another release of Lua */
    return false;
}

/* Leaves the loaded chunk on the stack; on failure raises E0601. */
static void load_chunk(lua_State *L, const char *text, size_t n, const char *path)
{
    if (load_code(L, text, n, path))
        return;
    const char *chunk = lua_pushfstring(L, "@%s", path);
    if (luaL_loadbufferx(L, text, n, chunk, "t") != LUA_OK)
        raise_coded(L, "E0601", "%s", lua_tostring(L, -1));
    lua_remove(L, -2);
}

/* require("t2o.util"): the library's own modules, each loaded once. */
int l_require(lua_State *L)
{
    const char *name = luaL_checkstring(L, 1);
    t2o_session *s = script_of(L)->s;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "t2o.loaded");
    if (lua_getfield(L, -1, name) != LUA_TNIL)
        return 1;
    lua_pop(L, 1);
    if (!strcmp(name, "t2o.core"))
        return lua_getfield(L, LUA_REGISTRYINDEX, "t2o.core"), 1;
    size_t n;
    const char *path = t2o_printf(s->arena, "lua/t2o/%s.lua", strncmp(name, "t2o.", 4) ? "" : name + 4);
    const char *text = strpbrk(name, "/\\") ? NULL : builtin_text(script_of(L), path, &n);
    if (!text)
        return luaL_error(L, "there is no module '%s'", name);
    load_chunk(L, text, n, path);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, name);
    return 1;
}

/* Runs a rule file in an environment of its own; raises what it raises. */
static void run_rules(lua_State *L, const rule_file *f)
{
    t2o_script *k = script_of(L);
    bool before = k->loading;
    if (!f->text)
        raise_coded(L, "E0601", "cannot read rule file '%s'", f->path);
    k->loading = true;
    load_chunk(L, f->text, f->n, f->path);
    lua_getglobal(L, "require");
    lua_pushstring(L, "t2o.rules");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "environment");
    lua_call(L, 0, 1);
    lua_setupvalue(L, -3, 1);
    lua_pop(L, 1);
    lua_call(L, 0, 0);
    k->loading = before;
}

/* run_rules as a Lua function of the file's address */
static int l_run_rules(lua_State *L)
{
    run_rules(L, lua_touserdata(L, 1));
    return 0;
}

/* Calls a function of lua/t2o/rules.lua; its arguments are on the stack. */
static bool call_rules(t2o_script *k, const char *function, int n_args)
{
    lua_State *L = k->L;
    lua_getglobal(L, "require");
    lua_pushstring(L, "t2o.rules");
    if (!script_call(k, 1, 1))
        return lua_pop(L, n_args), false;
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
    lua_insert(L, -1 - n_args);
    return script_call(k, n_args, 0);
}

static bool start_layer(t2o_script *k, const char *name)
{
    lua_pushstring(k->L, name);
    return call_rules(k, "start_layer", 1);
}

static bool run_file(t2o_script *k, rule_file *f)
{
    lua_pushcfunction(k->L, l_run_rules);
    lua_pushlightuserdata(k->L, f);
    bool ok = script_call(k, 1, 0);
    k->loading = false;
    return ok;
}

/* Runs a file of test rows: its result is given to lua/t2o/testing.lua, whose text comes back. */
const char *t2o_script_test(t2o_script *k, const char *path, bool show, unsigned *failed)
{
    lua_State *L = k->L;
    size_t n;
    const char *text = t2o_file_text(k->s, path, &n);
    if (!text) {
        t2o_fail(k->s, "E0501", "cannot read '%s'", path);
        return NULL;
    }
    lua_getglobal(L, "require");
    lua_pushstring(L, "t2o.testing");
    if (!script_call(k, 1, 1))
        return NULL;
    lua_getfield(L, -1, "run");
    lua_remove(L, -2);
    lua_pushstring(L, path);
    lua_pushlstring(L, text, n);
    lua_pushboolean(L, show);
    if (!script_call(k, 3, 2))
        return NULL;
    *failed = (unsigned)lua_tointeger(L, -1);
    const char *report = t2o_strdup(k->s->arena, lua_tostring(L, -2));
    lua_pop(L, 2);
    return report;
}

/* core.run_file(path, text, environment) -> what the chunk returns */
int l_run_file(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    load_chunk(L, text, n, luaL_checkstring(L, 1));
    lua_pushvalue(L, 3);
    lua_setupvalue(L, -2, 1);
    lua_call(L, 0, 1);
    return 1;
}

/* A file of a later layer that has the same name replaces the earlier one. */
static const rule_file *replaced_by(const rule_files *layers, size_t n, size_t layer, const char *name)
{
    for (size_t i = layer + 1; i < n; i++)
        for (size_t j = 0; j < layers[i].n; j++)
            if (!strcmp(layers[i].at[j].name, name))
                return &layers[i].at[j];
    return NULL;
}

static bool add_user_path(t2o_session *s, const char *path, rule_files *out)
{
    if (is_folder(path)) {
        walk(s, out, path, t2o_printf(s->arena, "%s/", path), "", 0);
        return true;
    }
    rule_file f = { .name = path, .path = path };
    f.text = t2o_file_text(s, path, &f.n);
    if (!f.text) {
        t2o_fail(s, "E0601", "cannot read rule file '%s'", path);
        t2o_hint(s, "-r takes a Lua file or a folder of them");
        return false;
    }
    t2o_push(s->arena, out, f);
    return true;
}

static const char *config_rules(t2o_session *s)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config)
        return t2o_printf(s->arena, "%s/t2o/rules", config);
    return home && *home ? t2o_printf(s->arena, "%s/.config/t2o/rules", home) : NULL;
}

/* ---- built-in files on demand ---- */

struct rule_index {
    rule_files files;
    t2o_map words; /* word -> word_files */
};

typedef T2O_VEC(rule_file *) word_files;

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* Notes every word that follows a quote. */
static void index_file(t2o_script *k, rule_file *f)
{
    t2o_arena *a = k->s->arena;
    const char *end = f->text + f->n;
    for (const char *p = f->text; (p = memchr(p, '"', (size_t)(end - p)));) {
        const char *start = ++p;
        while (p < end && is_word(*p))
            p++;
        if (p == start)
            continue;
        const char *word = t2o_intern_n(k->s, start, (size_t)(p - start));
        word_files *list = t2o_map_get(&k->index->words, word);
        if (!list) {
            list = t2o_alloc(a, sizeof *list);
            t2o_map_set(a, &k->index->words, word, list);
        }
        if (!list->n || list->at[list->n - 1] != f)
            t2o_push(a, list, f);
    }
}

/* The part of a file's name up to "/" is its folder; the folders of torch operators go together. */
static bool in_group(const rule_file *f, const char *group)
{
    size_t n = strcspn(f->name, "/");
    static const char *const others[] = { "infer", "onnx", "opset", "python", "raise", "target" };
    if (strcmp(group, "ops"))
        return strlen(group) == n && !strncmp(f->name, group, n);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && !strncmp(f->name, others[i], n))
            return false;
    return true;
}

static void run_builtin(lua_State *L, rule_file *f)
{
    if (f->done)
        return;
    f->done = true;
    lua_getglobal(L, "require");
    lua_pushstring(L, "t2o.rules");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "set_layer");
    lua_pushinteger(L, 1);
    lua_call(L, 1, 1); /* the layer before */
    run_rules(L, f);
    lua_getfield(L, -2, "set_layer");
    lua_insert(L, -2);
    lua_call(L, 1, 0);
    lua_pop(L, 1);
}

/* core.load(group, word): runs the built-in files of a group ("ops", "infer", "opset", "raise") in which the word
 * stands in quotes; all of the group without a word */
int l_load(lua_State *L)
{
    t2o_script *k = script_of(L);
    const char *group = luaL_checkstring(L, 1), *word = luaL_optstring(L, 2, NULL);
    if (!word) {
        for (size_t i = 0; i < k->index->files.n; i++)
            if (in_group(&k->index->files.at[i], group))
                run_builtin(L, &k->index->files.at[i]);
        return 0;
    }
    const word_files *list = t2o_map_get(&k->index->words, word);
    for (size_t i = 0; list && i < list->n; i++)
        if (in_group(list->at[i], group))
            run_builtin(L, list->at[i]);
    return 0;
}

#define MAX_LAYERS 64

typedef struct rule_layers {
    size_t n;
    const char *names[MAX_LAYERS]; /* the first is the built-in one */
    rule_files files[MAX_LAYERS];
} rule_layers;

static bool add_layer(t2o_session *s, rule_layers *to, const char *path)
{
    if (to->n == MAX_LAYERS)
        return t2o_fail(s, "E0201", "more than %d layers of rules", MAX_LAYERS - 1);
    to->names[to->n] = path;
    return add_user_path(s, path, &to->files[to->n++]);
}

/* Every file of every layer, the built-in first, those of -r last. */
static bool find_layers(t2o_session *s, const t2o_script_options *o, const char *root, rule_layers *to)
{
    *to = (rule_layers){ .n = 1, .names = { "built-in" } };
    builtin_rules(s, root, &to->files[0]);
    const char *config = o->no_user_rules ? NULL : config_rules(s);
    if (config && is_folder(config) && !add_layer(s, to, config))
        return false;
    const char *list = o->no_user_rules ? NULL : getenv("T2O_RULES");
    for (const char *p = list ? list : ""; *p;) {
        size_t length = strcspn(p, ":");
        if (length && !add_layer(s, to, t2o_strndup(s->arena, p, length)))
            return false;
        p += length + (p[length] == ':');
    }
    for (size_t i = 0; i < o->n_rules; i++)
        if (!add_layer(s, to, o->rules[i]))
            return false;
    return true;
}

static t2o_digest digest_layers(const rule_layers *layers)
{
    t2o_digest h = t2o_digest_start();
    for (size_t i = 0; i < layers->n; i++) {
        t2o_digest_number(&h, i);
        for (size_t j = 0; j < layers->files[i].n; j++) {
            const rule_file *f = &layers->files[i].at[j];
            t2o_digest_text(&h, f->name == f->path ? NULL : f->name); /* of a file alone the name does not count */
            t2o_digest_bytes(&h, f->text ? f->text : "", f->n);
        }
    }
    return h;
}

bool t2o_script_digest_rules(t2o_session *s, const t2o_script_options *options, t2o_digest *out)
{
    rule_layers *layers = T2O_NEW(s->arena, rule_layers);
    if (!find_layers(s, options, find_root(s), layers))
        return false;
    *out = digest_layers(layers);
    return true;
}

t2o_digest t2o_script_digest(const t2o_script *script)
{
    return script->digest;
}

bool load_rules(t2o_script *k)
{
    k->index = T2O_NEW(k->s->arena, struct rule_index);
    rule_layers *found = T2O_NEW(k->s->arena, rule_layers);
    if (!find_layers(k->s, &k->options, k->root, found))
        return false;
    k->digest = digest_layers(found);
    const rule_files *layers = found->files;
    size_t n = found->n;
    k->index->files = layers[0];
    for (size_t j = 0; j < layers[0].n; j++) {
        rule_file *f = &layers[0].at[j];
        f->done = replaced_by(layers, n, 0, f->name) != NULL;
        if (!f->done && f->text)
            index_file(k, f);
    }
    for (size_t i = 0; i < n; i++) {
        if (!start_layer(k, found->names[i]))
            return false;
        for (size_t j = 0; i && j < layers[i].n; j++)
            if (!replaced_by(layers, n, i, layers[i].at[j].name) && !run_file(k, &layers[i].at[j]))
                return false;
    }
    return true;
}
