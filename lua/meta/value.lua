---@meta _

-- What rules work with: values, dims, nodes, and the types of their fields.

---@alias t2o.Dtype
---| "float32" | "float64" | "float16" | "bfloat16" | "bool"
---| "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
---| "complex64" | "complex128" | "float8_e4m3fn" | "float8_e5m2" | "float8_e4m3fnuz" | "float8_e5m2fnuz"

--- A size: an integer where it is known, else a dim.
---@alias t2o.Size integer|t2o.Dim

--- Sizes of a tensor, from its first dimension on.
---@alias t2o.Shape t2o.Size[]

--- What PyTorch calls a Scalar.
---@alias t2o.Number number|boolean

--- A size that is known only when the model runs: a symbol such as `s77`, or an expression of symbols.
---
--- Dims and integers add, subtract, multiply, divide (`//`) and leave remainders (`%`); what comes out as a number is
--- an integer. Equal expressions are the same object, so `==` tells known equality. `<` and its kin decline the rule
--- where the answer depends on the run; `util.compare` gives nil instead. `tostring` is the expression.
---
--- Fails: an overflow or a division by zero is an error at the rule's line.
---@class t2o.Dim
---@field kind "symbol"|"add"|"mul"|"call"
---@field name string? of a symbol, or of a function: FloorDiv, Mod, Max, Min, ...
---@field args t2o.Size[] what is added, multiplied or given to the function
---@operator add(t2o.Size): t2o.Size
---@operator sub(t2o.Size): t2o.Size
---@operator mul(t2o.Size): t2o.Size
---@operator idiv(t2o.Size): t2o.Size
---@operator mod(t2o.Size): t2o.Size
---@operator unm: t2o.Size
local Dim = {}

--- A tensor in the graph that is built. The same value is the same object.
---
--- `+ - * / // % ^` and unary `-` build nodes, with PyTorch's type promotion and with broadcasting; the other operand
--- may be a number or a dim. `/` gives floats, `//` rounds towards minus infinity, `%` takes the sign of the divisor;
--- `+` and `*` of two bools are Or and And. Adding 0 to floats or multiplying them by 1 builds nothing.
---
--- Fails: a field that does not exist is an error at the rule's line, as is the shape of a value whose rank is unknown.
---@class t2o.Value
---@field dtype t2o.Dtype
---@field rank integer number of dimensions
---@field shape t2o.Shape a new list at each reading
---@field name string?
---@field device string? of the tensors of a torch call: where they lay, as the archive records it ("cpu", "cuda:0")
---@field is_complex boolean its last dimension holds the parts of complex numbers
---@field is_constant boolean its elements are known: a weight or a constant
---@field kind "tensor"|"symint"|"symfloat"|"symbool"|"object"
---@operator add(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator sub(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator mul(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator div(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator idiv(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator mod(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator pow(t2o.Value|t2o.Number|t2o.Dim): t2o.Value
---@operator unm: t2o.Value
local Value = {}

--- The size of a dimension, counted from 0, or from the end where `d` is negative.
---
--- Fails: a dimension that the value does not have.
---@param d integer
---@return t2o.Size
function Value:size(d) end

--- The elements of a constant as a flat list, row by row.
---
--- Fails: a value that is no constant, or one of more than 4096 elements.
---@return t2o.Number[]
function Value:tolist() end

--- The only element of a constant.
---
--- Fails: a value that is no constant, or one of none or several elements.
---@return t2o.Number
function Value:item() end

--- The value in another dtype; itself where it has that dtype. Small constants are converted on the spot.
---
--- Declines: to and from complex dtypes.
---@param dtype t2o.Dtype
---@return t2o.Value
function Value:to(dtype) end

--- Element by element `self < other`, both in their common dtype.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:lt(other) end

--- Element by element `self <= other`.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:le(other) end

--- Element by element `self > other`.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:gt(other) end

--- Element by element `self >= other`.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:ge(other) end

--- Element by element `self == other`. Lua's own `==` tells whether two values are the same one.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:eq(other) end

--- Element by element `self ~= other`.
---@param other t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Value # bool, of the broadcast shape
function Value:ne(other) end

--- The call that is converted: a rule's third argument.
---@class t2o.Node
---@field op string the operator with its namespace, without `.default`: "aten::add.Tensor"
---@field target string as the archive writes it: "torch.ops.aten.add.Tensor"
---@field name string
---@field contiguous table<integer, boolean> whether an input lies row by row in memory, from its start; nil: not known
---@field autocast? table of a torch node in an autocast region that is on: { device, dtype }
---@field inplace boolean of a torch node: it was an in-place call
---@field origin? t2o.Node of an ONNX node: the torch node that it came from
---@field module string? path and class of the module that made the call: "fc (torch.nn.modules.linear.Linear)"
---@field stack string? the user's line: "model.py:118 in forward: y = self.conv(x)"
---@field inputs { n: integer, [integer]: t2o.Value } the tensors of the call, in order
---@field returns (integer|table)[] one entry a result of the schema: its place in outputs, or a list of such
---@field outputs { n: integer, [integer]: t2o.Value } its results as the archive records them: dtype, rank and shape
---@field kwargs table<string, any> the arguments that the call gives, by name
---@field opset integer of an ONNX node: the opset whose signature it is in
local Node = {}
