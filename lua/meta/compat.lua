---@meta _

-- The two names of the Python tool torch-to-onnx, global in rule files.

--- What builds ONNX in a handler.
---@class t2o.Tape
local Tape = {}

--- A constant of a number or a list; values are given back as they are.
---@param x t2o.Value|t2o.Number|t2o.Size[]|t2o.Number[]
---@param dtype? t2o.Dtype
---@return t2o.Value
function Tape:constant(x, dtype) end

--- The same under its other name.
---@param x t2o.Value|t2o.Number|t2o.Size[]|t2o.Number[]
---@param dtype? t2o.Dtype
---@return t2o.Value
function Tape:initializer(x, dtype) end

--- Builds a node: an operator of ONNX, `domain::Name`, or else one of the domain pkg.torch.ops.
---@param op string
---@param inputs t2o.Value[]
---@param attrs? table<string, any>
---@return t2o.Value ...
function Tape:op(op, inputs, attrs) end

---@class t2o.HandlerNode
---@field args any[] the arguments in order
---@field kwargs table<string, any> the same by name
---@field name string
---@field target string
---@field op string

---@alias t2o.ValueMap table<any, t2o.Value>

---@alias t2o.Handler fun(node: t2o.HandlerNode, map: t2o.ValueMap, tape: t2o.Tape, opset: integer): t2o.Value[], table?

--- The tensors of a call, in order, into one ONNX operator.
---
--- Declines: a call with an argument that is no tensor.
---@param name string "aten::erf", "torch.ops.aten.erf.default", or "erf" for aten
---@param onnx string
function register_mapping(name, onnx) end

--- A handler returns the inputs and the attributes of the operator `onnx`.
---
--- Fails: a handler that returns no list of inputs.
---@param names string|string[] a bare name means the operator of any namespace
---@param onnx string an operator of ONNX, "domain::Name", or else one of the domain pkg.torch.ops
---@param handler t2o.Handler
function register_op(names, onnx, handler) end
