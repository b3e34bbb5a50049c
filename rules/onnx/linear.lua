-- rules/onnx/linear.lua: products of matrices.

local core = require("t2o.core")
local backmath = require("t2o.backmath")
local forms = require("t2o.backforms")
local linear = require("t2o.backlinear")
local types = require("t2o.types")
local onnx = require("t2o.back").registry

-- fn of the tensors, in a dtype that PyTorch computes in.
local function in_wide(dtype, fn, ...)
  if backmath.computing(dtype) == dtype then return fn(...) end
  local args = table.pack(...)
  for i = 1, args.n do args[i] = args[i] and backmath.wide(args[i]) end
  return backmath.narrow(fn(table.unpack(args, 1, args.n)), dtype)
end

onnx:rule("MatMul(A, B)", function(t, n)
  return linear.product(t, n) or forms.attention(t, n)
    or in_wide(n.outputs[1].dtype, t.aten.matmul, n.A, n.B)
end)

-- A bias of one number a column, as layers have it.
local function is_bias(c, columns)
  return not c or core.field(c, "known_rank") and c.rank == 1 and core.compare(c:size(0), columns) == 0
end

local function gemm(t, n, a, b, c)
  if n.transA ~= 0 then a = t.aten.t(a) end
  local columns = core.field(n.B, "known_rank") and n.B:size(n.transB ~= 0 and 0 or 1)
  if n.alpha == 1 and n.beta == 1 and n.transB ~= 0 and columns and is_bias(c, columns) then
    return t.aten.linear(a, b, c)
  end
  local source = n.node and n.node.inputs[2]
  local layered = c and linear.is_weight(b, 2) and linear.is_weight(c, 1) and is_bias(c, columns)
  if n.alpha == 1 and n.beta == 1 and n.transB == 0 and layered
     and source and core.readers(source) == 1 then
    local weight, bias = linear.weights(n, b, source, c, n.node.inputs[3])
    if weight then return t.aten.linear(a, weight, bias) end
  end
  if n.transB ~= 0 then b = t.aten.t(b) end
  local whole = not types.is_float(n.outputs[1].dtype)
  local function number(x)
    if whole then return math.tointeger(x) or t.decline("fractions of integers") end
    return x
  end
  if c and n.alpha == 1 and n.beta == 1 and columns and is_bias(c, columns) then return t.aten.addmm(c, a, b) end
  local y = t.aten.mm(a, b)
  if n.alpha ~= 1 then y = t.aten["mul.Tensor"](y, number(n.alpha)) end
  if not c then return y end
  return t.aten["add.Tensor"](y, c, { alpha = n.beta ~= 1 and number(n.beta) or nil })
end

onnx:rule("Gemm(A, B, C?) {alpha=1.0, beta=1.0, transA=0, transB=0}", function(t, n)
  return in_wide(n.outputs[1].dtype, function(a, b, c) return gemm(t, n, a, b, c) end, n.A, n.B, n.C)
end)

onnx:rule("Einsum()", function(t, n)
  local tensors = { table.unpack(n.inputs, 1, n.inputs.n) }
  return t.aten.einsum((n.equation:gsub("%s", "")), tensors)
end)

onnx:rule("Det(X)", function(t, n) return t.aten.linalg_det(n.X) end)
