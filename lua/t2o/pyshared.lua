-- lua/t2o/pyshared.lua: what exporters computed once for several blocks of a network.
--
-- Blocks that repeat compute the same of what all of them are given: the rotary positions in another shape, the mask as
-- numbers. An exporter keeps the first and drops the others. Then the first block gives it to the others, and they are
-- blocks of two kinds. Here each block computes it again, as it did in the original.

local core = require("t2o.core")

local M = {}

-- Where the second is in another block of the same kind: how many modules are around both; nil where it is not.
local function parting(a, b)
  if not a or not b then return nil end
  local depth = 0
  while a[depth + 1] and b[depth + 1] and a[depth + 1].key == b[depth + 1].key do depth = depth + 1 end
  local x, y = a[depth + 1], b[depth + 1]
  if not x or not y or x.type ~= y.type then return nil end
  local outer, number = x.path:match("^(.-)%.?(%d+)$")
  local other, second = y.path:match("^(.-)%.?(%d+)$")
  return number and second and outer == other and depth or nil
end

local RANDOM = { "rand", "dropout", "bernoulli", "multinomial", "normal", "poisson" }

-- Whether a call gives the same each time, of what is no module's own.
local function is_plain(model, node)
  for _, word in ipairs(RANDOM) do
    if node.op:find(word) then return false end
  end
  for _, item in ipairs(core.call(node)) do
    if item.kind == "graph" then return false end
  end
  local ins = node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    local weight = core.is_value(v) and model.weights[model.resolve(v)]
    if weight and not weight.constant then return false end
  end
  return true
end

local function maker(model, v)
  if not core.is_value(v) then return nil end
  return model.nodes[model.order_of[model.resolve(v)]]
end

-- Whether n can be computed again at the reader: it is made of what both blocks are given. known: what was found so
-- far, by node and block.
local function can_repeat(model, known, n, reader, depth)
  local key = reader.modules[depth + 1].key
  known[n] = known[n] or {}
  if known[n][key] ~= nil then return known[n][key] end
  local fine = is_plain(model, n.node)
  for i = 1, fine and n.node.inputs.n or 0 do
    local from = maker(model, n.node.inputs[i])
    local apart = from and parting(from.modules, reader.modules)
    fine = fine and (not apart or can_repeat(model, known, from, reader, apart))
  end
  known[n][key] = fine
  return fine
end

-- Whether a value is for its own block too, and not what the block gives to the next.
local function is_read_inside(readers, n, depth)
  for _, reader in ipairs(readers[n] or {}) do
    local m = reader.modules
    if m and m[depth + 1] and m[depth + 1].key == n.modules[depth + 1].key then return true end
  end
  return false
end

-- The place in the reader's block that is like that of n in its own.
local function modules_like(n, reader, depth)
  local out = {}
  for i, m in ipairs(reader.modules) do
    local own = n.modules[i]
    local alike = own and own.type == m.type and own.path:match("[^%.]*$") == m.path:match("[^%.]*$")
    if i > depth + 1 and not alike then break end
    out[i] = m
  end
  return out
end

local function read_by(model)
  local readers = {}
  for _, n in ipairs(model.nodes) do
    local ins = n.node.inputs
    for i = 1, ins.n do
      local from = maker(model, ins[i])
      if from then
        readers[from] = readers[from] or {}
        table.insert(readers[from], n)
      end
    end
  end
  return readers
end

-- Notes that n is to be there again in the block of a reader, which is a node or such a copy itself.
local function want(model, wanted, n, reader, depth)
  local key = reader.modules[depth + 1].key
  wanted[n] = wanted[n] or {}
  local copy = wanted[n][key]
  if not copy then
    copy = { of = n, key = key, depth = depth, frames = n.frames, modules = modules_like(n, reader, depth), live = true,
             readers = {} }
    wanted[n][key] = copy
    table.insert(wanted, copy)
    local ins = n.node.inputs
    for i = 1, ins.n do
      local from = maker(model, ins[i])
      local apart = from and parting(from.modules, reader.modules)
      if apart then want(model, wanted, from, copy, apart) end
    end
  end
  table.insert(copy.readers, reader)
end

-- The nodes of a block in order.
local function block_of(model, blocks, key, depth)
  if not blocks[key] then
    blocks[key] = {}
    for _, n in ipairs(model.nodes) do
      if n.modules and n.modules[depth + 1] and n.modules[depth + 1].key == key then table.insert(blocks[key], n) end
    end
  end
  return blocks[key]
end

-- The node that a copy stands before: the one that follows in its block as the original's in that one's.
local function place(model, wanted, blocks, copy)
  local before = 0
  for _, n in ipairs(block_of(model, blocks, copy.of.modules[copy.depth + 1].key, copy.depth)) do
    if n.order < copy.of.order and not (wanted[n] and wanted[n][copy.key]) then before = before + 1 end
  end
  local at = block_of(model, blocks, copy.key, copy.depth)[before + 1]
  for _, reader in ipairs(copy.readers) do
    local first = reader.before or reader
    if not at or first.order < at.order then at = first end
  end
  return at
end

--- Computes again what a node reads from another block of the same kind. Returns the nodes with the copies, nil where
--- there are none. To be called before calls are formed.
function M.spread(model)
  local readers, known, wanted, blocks, copies = read_by(model), {}, {}, {}, {}
  for _, n in ipairs(model.nodes) do
    local ins = n.node.inputs
    for i = 1, ins.n do
      local from = maker(model, ins[i])
      local depth = from and parting(from.modules, n.modules)
      if depth and is_read_inside(readers, from, depth) and can_repeat(model, known, from, n, depth) then
        want(model, wanted, from, n, depth)
      end
    end
  end
  if #wanted == 0 then return nil end
  table.sort(wanted, function(a, b)
    if a.of ~= b.of then return a.of.order < b.of.order end
    return a.key < b.key
  end)
  for i = #wanted, 1, -1 do wanted[i].before = place(model, wanted, blocks, wanted[i]) end
  for _, copy in ipairs(wanted) do
    copy.node = core.again(copy.of.node, copy.before.node)
    copies[copy.before] = copies[copy.before] or {}
    table.insert(copies[copy.before], copy)
  end
  for _, copy in ipairs(wanted) do
    for _, reader in ipairs(copy.readers) do core.read_from(reader.node, copy.of.node, copy.node) end
  end
  local out = {}
  for _, n in ipairs(model.nodes) do
    for _, copy in ipairs(copies[n] or {}) do out[#out + 1] = copy end
    out[#out + 1] = n
  end
  return out
end

return M
