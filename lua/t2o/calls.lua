-- lua/t2o/calls.lua: rules called by the name of an operator that an archive gives as an argument.

local core = require("t2o.core")
local rules = require("t2o.rules")
local translate = require("t2o.translate")

local M = {}

function M.fail(text) core.fail("E0604", text) end

local function candidates(op)
  local list = rules.candidates(op)
  if not list then
    core.fail("E0301", string.format("unsupported operator: no rule for %s (t2o rules stub %s > my.lua)", op, op))
  end
  return list
end

--- The schema of an operator's rule.
function M.schema(op)
  for _, c in ipairs(candidates(op)) do
    local schema = rules.schema_of(c)
    if schema then return schema end
  end
  core.fail("E0601", string.format("no rule for %s gives its schema", op))
end

--- Its results; `given` holds the arguments by their names in the schema, and may hold others.
function M.by_name(op, given)
  local names, raw = {}, {}
  for _, p in ipairs(M.schema(op).params) do
    if given[p.name] ~= nil then
      names[#names + 1] = p.name
      raw[p.name] = given[p.name]
    end
  end
  return translate.call(op, raw, names)
end

M.as_real = translate.as_real

--- The same for arguments in the order of the schema, n of them.
function M.by_position(op, args)
  local given = {}
  for i, p in ipairs(M.schema(op).params) do given[p.name] = args[i] end
  return M.by_name(op, given)
end

return M
