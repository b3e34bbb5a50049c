-- Rule files get their globals from the sandbox in lua/t2o/rules.lua.
std = "lua54"
max_line_length = false -- tools/check_source.py looks at that
self = false
ignore = {
  "212/_.*", -- unused on purpose
  "431",     -- an upvalue's name again: x in a helper within a rule
}
exclude_files = { "build" }
local rule_globals = { "register_mapping", "register_op" }
files["examples"] = { read_globals = rule_globals }
files["docs"] = { read_globals = rule_globals }
-- a rule has the parameters g, a, n whether it reads them or not; a pattern's functions have g, m; an inference n
local signature = { "212/g", "212/a", "212/n", "212/m", "212/t", "212/base" }
files["rules"] = { ignore = signature }
files["tests/rules"] = { ignore = signature }
-- stubs: declarations without bodies
files["lua/meta"] = { ignore = { "2..", "111", "112", "113", "121", "122", "131", "631" } }
