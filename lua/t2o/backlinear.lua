-- lua/t2o/backlinear.lua: linear layers in ONNX, for rules/onnx: exporters turn the weight and put the bias behind.

local core = require("t2o.core")
local pieces = require("t2o.pieces")
local types = require("t2o.types")

local M = {}

local products = {} -- the result of a MatMul with a weight -> { x, weight, source, layer }: `source` is the weight in
-- ONNX, `layer` what it became where the module's name is known without the bias

local function target(v) return (v.name or ""):gsub("^p_", "") end

-- The module that an exporter says the node is from, where it is such a layer: by its class, or because it turned a
-- weight, which has no name now.
local function module_of(n, source)
  local modules = n.node and core.modules(n.node) or {}
  local path, class = modules[#modules - 1], modules[#modules]
  if not path or path == "" then return nil end
  local turned = class == "" and (source and source.name or ""):find("^onnx::MatMul_")
  return (class:find("Linear$") or turned) and path or nil
end

-- What two names of ONNX begin with, as a path of modules.
local function shared_scope(a, b)
  local scope = ""
  for at in a:gmatch("()[/.]") do
    if a:sub(1, at) ~= b:sub(1, at) then break end
    scope = a:sub(1, at - 1)
  end
  return scope:gsub("^/+", ""):gsub("/", "."):gsub("[^%w_.]", "_")
end

function M.is_weight(v, rank)
  return v ~= nil and v.is_constant and core.field(v, "known_rank") and v.rank == rank and types.is_float(v.dtype)
end

-- A weight, or a part that is cut out of one.
local function is_weight_part(v, rank)
  return M.is_weight(v, rank) or core.field(v, "known_rank") and v.rank == rank and types.is_float(v.dtype)
    and pieces.of(v) ~= nil
end

-- The weight as a layer has it, by the name that goes with its bias; and the bias, which may get a name too. Nil for a
-- weight that has that name as it lies: then it lies so in the original, as in the Conv1D of transformers.
function M.weights(n, weight, source, bias, bias_source)
  local path, own = target(bias):match("^(.*)bias$"), module_of(n, source)
  if path and source.name == path .. "weight" then return nil end
  if path and own and path:sub(1, #own) ~= own then path = own .. "." end -- the bias stands for equal ones elsewhere
  if path and (path == "" or path:find("[._]$")) then
    return core.transposed(weight, path .. "weight", bias), bias
  end
  local before, behind = target(bias):match("^(.*%.)bias(_[%w_]*)$") -- bias_ih_l0 of a recurrent layer in its steps
  if before then return core.transposed(weight, before .. "weight" .. behind, bias), bias end
  if core.readers(bias_source) ~= 1 then return nil end
  local shared = shared_scope(source.name or "", bias_source.name or ""):gsub("^$", "linear")
  path = own or pieces.new_scope(shared)
  local size = bias:size(0)
  bias = core.rearranged(bias, path .. ".bias", { 0, size }, { size })
  return core.transposed(weight, path .. ".weight", bias), bias
end

--- The product of a MatMul as a layer without a bias; nil where its right side is no weight of its own.
function M.product(t, n)
  local turned = core.field(n.B, "known_rank") and n.B.rank == 2 and pieces.unturned(n.B, { 1, 0 })
  if turned and is_weight_part(turned, 2) then return t.aten.linear(n.A, turned) end
  local source = n.node and n.node.inputs[2]
  if not M.is_weight(n.B, 2) or not source or core.readers(source) ~= 1 then return nil end
  local path = module_of(n, source)
  local layer = path and core.transposed(n.B, path .. ".weight", true)
  local y = layer and t.aten.linear(n.A, layer) or t.aten.matmul(n.A, n.B)
  products[y] = { x = n.A, weight = n.B, source = source, layer = layer, path = path }
  return y
end

-- The product as a layer with the bias; nil where it is none.
local function with_bias(t, n, y, bias, bias_source)
  if not is_weight_part(bias, 1) then return nil end
  local product, node = products[y], core.producer(y)
  if product and M.is_weight(bias, 1) and core.compare(product.weight:size(1), bias:size(0)) == 0 then
    local inside = product.layer and target(bias):sub(1, #product.path + 1) == product.path .. "."
    local fits = inside and target(bias) == product.path .. ".bias"
      or product.layer and not inside and module_of(n, product.source) == product.path
    if fits then return t.aten.linear(product.x, product.layer, bias) end
    local weight, own = M.weights(n, product.weight, product.source, bias, bias_source)
    return weight and t.aten.linear(product.x, weight, own)
  end
  local plain = node and node.op == "aten::linear" and node.inputs.n == 2 and node.inputs[2]
  if plain and is_weight_part(plain, 2) and core.compare(plain:size(0), bias:size(0)) == 0 then
    return t.aten.linear(node.inputs[1], plain, bias)
  end
end

--- A sum as a layer with its bias; nil where it is none.
function M.sum(t, n)
  local sources = n.node and n.node.inputs or {}
  return with_bias(t, n, n.A, n.B, sources[2]) or with_bias(t, n, n.B, n.A, sources[1])
end

return M
