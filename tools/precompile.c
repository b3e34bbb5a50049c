/* precompile.c: Lua source as bytecode, with its line numbers: precompile FOLDER FILE ... writes FOLDER/FILE for each.
 * Parsing is most of what a small conversion takes; see load_chunk in src/script/load.c. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

static int put(lua_State *L, const void *bytes, size_t n, void *to)
{
    (void)L;
    return fwrite(bytes, 1, n, to) != n;
}

static int fail(const char *what)
{
    fprintf(stderr, "precompile: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    for (int i = 2; L && i < argc; i++) {
        /* the source starts with "@": errors name the path */
        if (luaL_loadfilex(L, argv[i], "t") != LUA_OK)
            return fail(lua_tostring(L, -1));
        FILE *out = fopen(lua_pushfstring(L, "%s/%s", argv[1], argv[i]), "wb");
        if (!out)
            return fail(lua_tostring(L, -1));
        lua_pop(L, 1);
        if (lua_dump(L, put, out, 0) || fclose(out))
            return fail(argv[i]);
        lua_settop(L, 0);
    }
    if (!L)
        return fail("out of memory");
    lua_close(L);
    return 0;
}
