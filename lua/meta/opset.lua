---@meta t2o.opset

-- Expressing newer ONNX in older opsets (rules/opset), and what its rules share.

--- The node that is rewritten: inputs and attributes also by their names in the rule's text, with its defaults.
---@class t2o.OpsetNode
---@field op string "Clip"
---@field inputs { n: integer, [integer]: t2o.Value? }
---@field outputs { n: integer, [integer]: t2o.Value }
---@field attrs table<string, any>
---@field [string] any

---@class t2o.OpsetOptions
---@field below integer the opset from which on the signature exists

local opset = {}

---@class t2o.OpsetRegistry
local OpsetRegistry = {}

opset.registry = OpsetRegistry

--- The header of a rule about an ONNX operator, taken apart.
---@param text string "Clip(input, min?, max?) {axis=0}"
---@return string op
---@return string[] inputs
---@return table<string, any> defaults of the attributes that have one
function opset.parse(text) end

--- The operator exists below the bound in another form: g builds in the signatures of the opset below it. The function
--- returns the new outputs; nil keeps the node as it is.
---
--- A rule that declines is reported as E0303, with the opset that is needed.
---@param text string "Clip(input, min?, max?) {axis=0}": operator, names of inputs, attributes with their defaults
---@param options t2o.OpsetOptions
---@param fn fun(g: t2o.Builder, n: t2o.OpsetNode): t2o.Value ...
function OpsetRegistry:lower(text, options, fn) end

--- The operator does not exist below the bound: others take its place, in their newest signatures.
---@param text string
---@param options t2o.OpsetOptions
---@param fn fun(g: t2o.Builder, n: t2o.OpsetNode): t2o.Value ...
function OpsetRegistry:express(text, options, fn) end

--- For models that are read: a node in the signature before `below` is said in that of `below`, with which g builds.
--- The function returns the new outputs; nil where the node means the same in the newer signature.
---
--- A rule that declines is reported as E0303.
---@param text string "ReduceMean(data) {axes, keepdims=1}"
---@param options t2o.OpsetOptions
---@param fn fun(g: t2o.Builder, n: t2o.OpsetNode): t2o.Value ...
function OpsetRegistry:raise(text, options, fn) end

--- An operator by its name, in the signature in force.
---@param op string
---@param inputs table their number in n where some are nil
---@param attrs table<string, any>
---@param outputs integer their number
---@return t2o.Value[]
function opset.build(op, inputs, attrs, outputs) end

--- The same operator with other inputs or attributes, in the signature in force.
---@param n t2o.OpsetNode
---@param inputs? t2o.Value[] its own where nil
---@param attrs? table<string, any> its own where nil
---@return t2o.Value ...
function opset.again(n, inputs, attrs) end

--- A copy of the attributes with changes; false removes one.
---@param n t2o.OpsetNode
---@param changes? table<string, any>
---@return table<string, any>
function opset.attrs(n, changes) end

--- fn(...) with g in the newest signatures.
---@param fn function
---@param ... any
---@return any ...
function opset.at_newest(fn, ...) end

--- The integers that a value of rank 0 or 1 holds; nil where they are not known before the run.
---@param v t2o.Value
---@return integer[]?
function opset.integers(v) end

--- The same for what must be known.
---
--- Declines: where it is not.
---@param v t2o.Value
---@param what string "its axes", for the message
---@return integer[]
function opset.known_integers(v, what) end

--- What a value of rank 0 or 1 holds, as integers and dims; nil where it is not known.
---@param v t2o.Value
---@return t2o.Size[]?
function opset.sizes(v) end

--- The rank of a value.
---
--- Declines: where it is not known.
---@param v t2o.Value
---@return integer
function opset.rank(v) end

--- The same operator with the inputs of one dtype converted, and its first output converted back.
---@param g t2o.Builder
---@param n t2o.OpsetNode
---@param dtype t2o.Dtype
---@param from? t2o.Dtype the dtype of the first input by default
---@return t2o.Value ...
function opset.computed_in(g, n, dtype, from) end

--- fn(x), a 16-bit float computed in 32 bits and brought back.
---@param x t2o.Value
---@param fn fun(x: t2o.Value): t2o.Value
---@return t2o.Value
function opset.widened(x, fn) end

return opset
