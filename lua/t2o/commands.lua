-- lua/t2o/commands.lua: the texts of `t2o rules ...`.

local core = require("t2o.core")
local rules = require("t2o.rules")

local M = {}

local function quote(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return string.format("\\u%04x", c:byte()) end) .. '"'
end

-- A shell pattern as a Lua pattern over the whole name.
local function matcher(pattern)
  local lua = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  return "^" .. lua .. "$"
end

local function rows_of(pattern)
  local rows, match = {}, matcher(pattern)
  for _, op in ipairs(rules.ops()) do
    if op:find(match) or op:find("::" .. match:sub(2)) then
      for i, c in ipairs(rules.candidates(op)) do
        if i == 1 then rows[#rows + 1] = { op = op, place = c.place, schema = c.schema_text or "" } end
      end
    end
  end
  return rows
end

local lists = {}

function lists.text(rows)
  local out = {}
  for _, r in ipairs(rows) do out[#out + 1] = string.format("%-44s %s\n", r.op, r.place) end
  return table.concat(out)
end

function lists.json(rows)
  local out = {}
  for _, r in ipairs(rows) do
    out[#out + 1] = string.format('{"op": %s, "rule": %s, "schema": %s}', quote(r.op), quote(r.place), quote(r.schema))
  end
  return "[" .. table.concat(out, ",\n ") .. "]\n"
end

function lists.markdown(rows)
  local out = { "| operator | rule |\n|---|---|\n" }
  for _, r in ipairs(rows) do
    out[#out + 1] = string.format("| `%s` | `%s` |\n", r.op, (r.place:gsub(":%d+$", "")))
  end
  return table.concat(out)
end

function M.list(pattern, form) return lists[form](rows_of(pattern)) end

function M.which(op, form)
  local list = rules.candidates(op) or rules.candidates("aten::" .. op)
  local out = {}
  for i, c in ipairs(list or {}) do
    local layer = rules.layer_name(c.layer)
    if form == "json" then
      out[i] = string.format('{"op": %s, "rule": %s, "kind": %s, "layer": %s, "conditional": %s}', quote(c.op),
                             quote(c.place), quote(c.kind), quote(layer), tostring(c.when ~= nil))
    else
      out[i] = string.format("%s %s  %s%s\n", i == 1 and "first" or "then ", c.place, c.kind,
                             c.when and ", when its condition holds" or "")
    end
  end
  if #out == 0 then core.fail("E0301", "no rule for " .. op) end
  if form == "json" then return "[" .. table.concat(out, ",\n ") .. "]\n" end
  return table.concat(out)
end

--- A rule file to start from. call is a schema as read off an archive, or "".
function M.stub(op, call)
  local ns, name = op:match("^(.-)::(.+)$")
  local schema = call ~= "" and call or name .. "(Tensor self) -> Tensor"
  local tensors = {}
  for parameter in schema:gmatch("Tensor%?? ([%w_]+)") do tensors[#tensors + 1] = "a." .. parameter end
  local known = rules.candidates(op)
  local lines = {
    string.format("-- How %s becomes ONNX. Use it with: t2o convert MODEL.pt2 -r FILE.lua", op),
    string.format('local %s = require("t2o.rules").namespace("%s")', ns, ns),
    "",
    known and string.format("-- This comes before the rule at %s.", known[1].place)
      or "-- The schema is PyTorch's own: print(torch.ops." .. ns .. "." .. name .. ") shows it.",
    string.format('%s:rule("%s", function(g, a, n)', ns, schema),
    "  -- a: the arguments by name; g: ONNX operators, for example g.Add(x, y).",
    string.format("  return g.custom(\"com.example\", \"%s\", { %s })", (name:gsub("%W", "_")),
                  table.concat(tensors, ", ")),
    "end)",
  }
  return table.concat(lines, "\n") .. "\n"
end

return M
