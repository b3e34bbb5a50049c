/* state.c: the Lua state: its limits, its errors, the start of the library. */
#include "script/internal.h"

#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define MEMORY_LIMIT ((size_t)256 << 20) /* of Lua, beside what it may take for each byte of the graphs */
#define MEMORY_A_BYTE 3
#define TICKS_A_MEGABYTE 20
#define TICK 1000000       /* instructions between two looks at the clock */
#define TICKS_A_RULE 400   /* of them a rule may take: a few seconds */
#define DECLINE "t2o.decline"

/* Small pieces come from the arena and go into a list of their size, to be used again. */
static void *take_piece(t2o_script *k, size_t size)
{
    if (size > SMALL)
        return malloc(size);
    void **list = &k->free_pieces[(size - 1) / PIECE], *p = *list;
    if (p)
        memcpy(list, p, sizeof *list);
    else {
        size = (size + PIECE - 1) / PIECE * PIECE;
        k->pieces += size;
        p = t2o_alloc(k->s->arena, size);
    }
    return p;
}

static void give_piece(t2o_script *k, void *p, size_t size)
{
    if (!size || size > SMALL) {
        free(p);
        return;
    }
    void **list = &k->free_pieces[(size - 1) / PIECE];
    memcpy(p, list, sizeof *list);
    *list = p;
}

static void *resize(t2o_script *k, void *p, size_t old, size_t size)
{
    if (old > SMALL && size > SMALL)
        return realloc(p, size);
    if (old && old <= SMALL && (old - 1) / PIECE == (size - 1) / PIECE)
        return p;
    void *grown = take_piece(k, size);
    if (grown && old) {
        memcpy(grown, p, old < size ? old : size);
        give_piece(k, p, old);
    }
    return grown;
}

/* Lua's allocations are counted; past the limit they fail, which Lua reports as "not enough memory". */
static void *allocate(void *ctx, void *p, size_t old, size_t size)
{
    t2o_script *k = ctx;
    old = p ? old : 0;
    if (!size) {
        k->memory -= old;
        give_piece(k, p, old);
        return NULL;
    }
    if (size > old && k->memory + (size - old) > MEMORY_LIMIT + MEMORY_A_BYTE * k->size_of_rest)
        return NULL;
    void *grown = resize(k, p, old, size);
    if (grown)
        k->memory += size - old;
    return grown;
}

t2o_script *script_of(lua_State *L)
{
    return *(t2o_script **)lua_getextraspace(L);
}

/* ---- errors ---- */

static bool is_rule_source(const char *source)
{
    return source[0] == '@' && strncmp(source, "@lua/t2o/", 9) != 0;
}

const char *push_rule_place(lua_State *L)
{
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && is_rule_source(ar.source))
            return lua_pushfstring(L, "%s:%d", ar.source + 1, ar.currentline);
    }
    return lua_pushstring(L, script_of(L)->rule); /* nil for NULL */
}

/* core.where() -> "file.lua:line" of the rule file that called, or nil */
static int l_where(lua_State *L)
{
    push_rule_place(L);
    return 1;
}

static int l_guarded(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* core.guard(fn): the same function, but `return fn(x)` in a rule keeps the rule's frame, and with it the line that an
 * error names: Lua drops the caller of a tail call only where a Lua function is called. */
static int l_guard(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lua_pushcclosure(L, l_guarded, 1);
    return 1;
}

int raise_decline(lua_State *L)
{
    lua_createtable(L, 0, 2);
    lua_insert(L, -2);
    lua_setfield(L, -2, "reason");
    push_rule_place(L);
    lua_setfield(L, -2, "place");
    luaL_setmetatable(L, DECLINE);
    return lua_error(L);
}

/* core.decline(reason) */
static int l_decline(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    return raise_decline(L);
}

/* core.is_decline(x) */
static int l_is_decline(lua_State *L)
{
    bool decline = lua_istable(L, 1) && lua_getmetatable(L, 1) && luaL_getmetatable(L, DECLINE) == LUA_TTABLE &&
                   lua_rawequal(L, -1, -2);
    lua_pushboolean(L, decline);
    return 1;
}

int raise_coded(lua_State *L, const char *code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, t2o_vprintf(script_of(L)->s->arena, format, args));
    va_end(args);
    lua_setfield(L, -2, "message");
    lua_pushstring(L, code);
    lua_setfield(L, -2, "code");
    push_rule_place(L);
    lua_setfield(L, -2, "place");
    return lua_error(L);
}

/* core.fail(code, message) */
static int l_fail(lua_State *L)
{
    return raise_coded(L, luaL_checkstring(L, 1), "%s", luaL_checkstring(L, 2));
}

/* A message without the "file:line: " that Lua puts before it, when that is the place already. */
static const char *without_place(const char *message, const char *place)
{
    size_t n = place ? strlen(place) : 0;
    return n && !strncmp(message, place, n) && !strncmp(message + n, ": ", 2) ? message + n + 2 : message;
}

int l_on_error(lua_State *L)
{
    if (lua_istable(L, 1))
        return lua_settop(L, 1), 1; /* coded already, or a decline */
    const char *message = luaL_tolstring(L, 1, NULL);
    const char *place = push_rule_place(L);
    lua_createtable(L, 0, 4);
    lua_pushstring(L, without_place(message, place));
    lua_setfield(L, -2, "message");
    bool limit = strstr(message, "not enough memory") || script_of(L)->ticks < 0;
    lua_pushstring(L, limit ? "E0605" : script_of(L)->loading ? "E0601" : "E0602");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, place);
    lua_setfield(L, -2, "place");
    luaL_traceback(L, L, NULL, 1);
    lua_setfield(L, -2, "trace");
    return 1;
}

static const char *text_field(lua_State *L, t2o_session *s, const char *name)
{
    lua_getfield(L, -1, name);
    const char *text = lua_type(L, -1) == LUA_TSTRING ? t2o_strdup(s->arena, lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return text;
}

void script_report(t2o_script *k)
{
    lua_State *L = k->L;
    if (!lua_istable(L, -1)) { /* an error in the message handler, or memory */
        const char *text = lua_tostring(L, -1);
        t2o_fail(k->s, "E0605", "%s: it took more than its share of memory (%s)", k->rule ? k->rule : "a rule",
                 text ? text : "no message");
        lua_pop(L, 1);
        return;
    }
    const char *code = text_field(L, k->s, "code"), *message = text_field(L, k->s, "message");
    const char *place = text_field(L, k->s, "place"), *reason = text_field(L, k->s, "reason");
    const char *hint = text_field(L, k->s, "hint");
    code = code ? code : reason ? "E0302" : "E0602";
    message = message ? message : reason ? reason : "an error without a message";
    if (place && strncmp(message, place, strlen(place)))
        t2o_fail(k->s, code, "%s: %s", place, message);
    else
        t2o_fail(k->s, code, "%s", message);
    if (hint)
        t2o_hint(k->s, "%s", hint);
    lua_pop(L, 1);
}

static void on_tick(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    t2o_script *k = script_of(L);
    if (--k->ticks < 0)
        raise_coded(L, "E0605", "it ran for too long (over %d million instructions)", TICK / 1000000 * TICKS_A_RULE);
}

/* A hook makes every instruction slower, so it is set when half a second of processor time has gone by without a new
 * call: by a timer, as lua_sethook allows at any moment. */
static lua_State *volatile watched;

static void on_timer(int number)
{
    (void)number;
    lua_State *L = watched;
    if (L)
        lua_sethook(L, on_tick, LUA_MASKCOUNT, TICK);
}

static void start_timer(void)
{
    struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
    struct itimerval half = { { 0, 500000 }, { 0, 500000 } };
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_VIRTUAL, &half, NULL);
}

static void watch(lua_State *L)
{
    watched = L;
    if (L && lua_gethook(L))
        lua_sethook(L, NULL, 0, 0);
}

static bool call_with(t2o_script *k, int n_args, int n_results, int64_t ticks_a_megabyte)
{
    lua_State *L = k->L;
    int base = lua_gettop(L) - n_args;
    k->size_of_rest = t2o_arena_used(k->s->arena) - k->pieces;
    watch(L);
    lua_pushcfunction(L, l_on_error);
    lua_insert(L, base);
    k->ticks = TICKS_A_RULE + (int64_t)(k->size_of_rest >> 20) * ticks_a_megabyte;
    int status = lua_pcall(L, n_args, n_results, base);
    lua_remove(L, base);
    if (status == LUA_OK)
        return true;
    script_report(k);
    return false;
}

bool script_call(t2o_script *k, int n_args, int n_results)
{
    return call_with(k, n_args, n_results, 0);
}

bool script_call_long(t2o_script *k, int n_args, int n_results)
{
    return call_with(k, n_args, n_results, TICKS_A_MEGABYTE);
}

/* ---- start ---- */

/* core.warn(text) */
static int l_warn(lua_State *L)
{
    t2o_warn(script_of(L)->s, "%s", luaL_checkstring(L, 1));
    return 0;
}

static void open_core(lua_State *L)
{
    static const luaL_Reg functions[] = {
        { "where", l_where }, { "decline", l_decline }, { "is_decline", l_is_decline }, { "fail", l_fail },
        { "on_error", l_on_error }, { "warn", l_warn }, { "guard", l_guard }, { NULL, NULL },
    };
    luaL_newmetatable(L, DECLINE);
    lua_pop(L, 1);
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    open_values(L);
    open_nodes(L);
    open_build(L);
    open_calls(L);
    open_back(L);
    open_python(L);
    lua_setfield(L, LUA_REGISTRYINDEX, "t2o.core");
}

/* The libraries that the library in lua/t2o may use; rule files see fewer (load.c). */
static int l_open(lua_State *L)
{
    static const luaL_Reg libs[] = {
        { LUA_GNAME, luaopen_base }, { LUA_TABLIBNAME, luaopen_table }, { LUA_STRLIBNAME, luaopen_string },
        { LUA_MATHLIBNAME, luaopen_math }, { LUA_UTF8LIBNAME, luaopen_utf8 }, { NULL, NULL },
    };
    static const char *const removed[] = { "load", "loadfile", "dofile", "collectgarbage", "print", "warn", NULL };
    for (const luaL_Reg *lib = libs; lib->func; lib++) {
        luaL_requiref(L, lib->name, lib->func, 1);
        lua_pop(L, 1);
    }
    for (const char *const *name = removed; *name; name++) {
        lua_pushnil(L);
        lua_setglobal(L, *name);
    }
    lua_pushcfunction(L, l_require);
    lua_setglobal(L, "require");
    open_core(L);
    return 0;
}

t2o_script *t2o_script_new(t2o_session *s, t2o_exprs *exprs, const t2o_script_options *options)
{
    t2o_script *k = T2O_NEW(s->arena, t2o_script);
    k->s = s;
    k->exprs = exprs;
    k->options = *options;
    find_builtin(k);
    k->L = lua_newstate(allocate, k);
    if (!k->L) {
        t2o_fail(s, "E0605", "no memory for Lua");
        return NULL;
    }
    *(t2o_script **)lua_getextraspace(k->L) = k;
    lua_gc(k->L, LUA_GCINC, 400, 200, 0); /* a run is short: collecting early only costs */
    lua_pushcfunction(k->L, l_open);
    start_timer();
    if (script_call(k, 0, 0) && load_rules(k))
        return k;
    t2o_script_free(k);
    return NULL;
}

void t2o_script_free(t2o_script *script)
{
    watch(NULL);
    if (script && script->L)
        lua_close(script->L);
    if (script)
        script->L = NULL;
}
