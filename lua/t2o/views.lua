-- lua/t2o/views.lua: how the base of a view is rebuilt when what the view shows has changed.
--
-- The inverse of a view is said where the view is declared: aten:view(name, function(t, base, changed, a, output)
-- ... end). `t` makes torch calls: t.aten["transpose.int"](changed, a.dim0, a.dim1). Its result has the dtype and shape
-- of the base.

local core = require("t2o.core")
local rules = require("t2o.rules")
local schemas = require("t2o.schema")

local M = {}

local function same(x) return x end

local function schema_of(op)
  for _, c in ipairs(rules.candidates(op) or {}) do
    if c.schema_text then return rules.schema_of(c) end
  end
  core.fail("E0301", "no rule for " .. op .. ", by which a written view would be rebuilt")
end

-- t, whose calls make values like `base`.
local function torch_builder(base)
  return setmetatable({}, {
    __index = function(_, ns)
      return setmetatable({}, {
        __index = function(_, name)
          local op = ns .. "::" .. name
          return function(...)
            local schema, args = schema_of(op), {}
            local a = schemas.bind_call(schema, table.pack(...), same)
            for _, p in ipairs(schema.params) do
              if a[p.key] ~= nil then args[#args + 1] = { p.name, a[p.key] } end
            end
            local out = core.torch_value(base.dtype, base.name or "rebuilt", false)
            core.set_shape(out, base.shape)
            core.torch_call(op, args, { out })
            return out
          end
        end,
      })
    end,
  })
end

--- The rebuilt base, or nil where the view declares no inverse.
function M.rebuild(node, output, base, changed)
  local fn = rules.inverse_of(node.op)
  if not fn then return nil end
  local a, why = schemas.bind(schema_of(node.op), core.arguments(node), core.argument_names(node), same)
  if not a then error(why, 0) end
  return fn(torch_builder(base), base, changed, a, output)
end

return M
