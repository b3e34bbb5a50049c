---@meta _

-- The builder `g`, beside ONNX's operators (lua/meta/onnx.lua).

--- Attributes of any operator: `outputs` asks for a number of outputs.
---@class t2o.Attrs
---@field outputs? integer

--- Builds ONNX. Every operator of the newest opset is a function: inputs by position (nil leaves an optional one out),
--- attributes by name in a last table, `{ outputs = n }` where the number of outputs varies. Several outputs are
--- several returns, a varying number comes as a list. What is newer than the opset asked for is expressed in that
--- afterwards.
---
--- Bodies are functions: `g.If(c, { then_branch = function(g) return x end, else_branch = function(g) return y end })`;
--- values from outside may be used inside.
---
--- `g.aten["softmax.int"](x, dim)` runs another rule; arguments by position, or by name in a last table.
---
--- Fails: an operator, an attribute, a dtype or a number of inputs that ONNX does not have is an error (E0603) at the
--- rule's line.
---@class t2o.Builder
---@field opset integer the opset that the model is written in
---@field target string the runtime that it is for: "ort_cpu" or "onnx"
---@field aten table<string, function>
---@field [string] any
local g = {}

--- An operator of another domain. Its outputs have the dtypes and shapes that the archive records for the call.
---@param domain string
---@param name string
---@param inputs t2o.Value[]
---@param attrs? table<string, any>
---@return t2o.Value ... one for each output of the call
function g.custom(domain, name, inputs, attrs) end

--- A constant of a number or of a nested list of numbers.
---
--- Fails: rows that differ in length; a number that the dtype cannot hold.
---@param value t2o.Number|table
---@param dtype? t2o.Dtype by default int64 for integers, float32 for floats, bool for booleans
---@return t2o.Value
function g.const(value, dtype) end

--- A tensor filled with a number. With a dim in the shape it is computed when the model runs.
---@param shape t2o.Shape
---@param value t2o.Number
---@param dtype? t2o.Dtype
---@return t2o.Value
function g.full(shape, value, dtype) end

--- A tensor of zeros.
---@param shape t2o.Shape
---@param dtype? t2o.Dtype float32 by default
---@return t2o.Value
function g.zeros(shape, dtype) end

--- A tensor of ones.
---@param shape t2o.Shape
---@param dtype? t2o.Dtype float32 by default
---@return t2o.Value
function g.ones(shape, dtype) end

--- A number, a dim or a value as a value of rank 0 in the dtype of `like`. A value keeps its rank. Floats lose their
--- fraction where the dtype is of integers.
---@param x t2o.Number|t2o.Dim|t2o.Value
---@param like? t2o.Value|t2o.Dtype
---@return t2o.Value
function g.scalar(x, like) end

--- A list of integers and dims as int64 of rank 1: starts, ends, axes, sizes. A constant where all are integers.
---
--- Declines: a dim that no input of the model tells.
---@param list t2o.Size[]
---@return t2o.Value
function g.ints(list) end

--- The same for an operator that takes a shape, such as Expand.
---@param dims t2o.Shape
---@return t2o.Value
function g.shape(dims) end

--- `x` in another shape, by a Reshape in its smallest form: sizes of x's own are copied, one may be inferred; nothing
--- where the shape is x's already.
---@param x t2o.Value
---@param dims t2o.Shape none of them -1
---@return t2o.Value
function g.reshape(x, dims) end

--- The operands and attributes of the node that makes `x`, where that is one of `op`: for rules that put two nodes of
--- a kind into one, as a Transpose of a Transpose.
---@param x t2o.Value
---@param op string "Transpose"
---@return { n: integer, [integer]: t2o.Value }? # nil where another operator or none makes it
---@return table<string, any>?
function g.made_by(x, op) end

--- `x` broadcast to a shape.
---@param x t2o.Value
---@param dims t2o.Shape
---@return t2o.Value
function g.expand(x, dims) end

--- Gives the next rule for the operator its turn; the reasons of all are reported where none takes it. Never returns.
---@param text string a format, where more arguments follow
---@param ... any
function g.decline(text, ...) end

--- A body with inputs, for Loop and Scan: an attribute's value.
---@param name string
---@param inputs { [1]: t2o.Dtype, [2]: t2o.Shape }[]
---@param fn fun(...: t2o.Value): t2o.Value ...
---@return any
function g.body(name, inputs, fn) end
