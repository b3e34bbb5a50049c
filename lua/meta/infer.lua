---@meta t2o.infer

-- Shapes of ONNX operators' outputs (rules/infer), and what its rules share.

--- The node that is inferred.
---@class t2o.InferNode
---@field op string "Conv"
---@field inputs { n: integer, [integer]: t2o.Value? }
---@field attrs table<string, any>
---@field outputs integer how many

local infer = {}

---@class t2o.InferRegistry
local InferRegistry = {}

infer.registry = InferRegistry

--- The shapes of an operator's outputs: fn returns one for each, nil where it is not known.
---@param names string|string[]
---@param fn fun(n: t2o.InferNode): t2o.Shape? ...
function InferRegistry:rule(names, fn) end

--- What an integer output of rank 0 or 1 holds, so that shape computations are known before the run.
---@param names string|string[]
---@param fn fun(n: t2o.InferNode): t2o.Size[]?
function InferRegistry:content(names, fn) end

--- What the outputs are where schemas do not say it: of sequences and what is taken out of them.
---@param names string|string[]
---@param fn fun(n: t2o.InferNode): string? ... "seq(tensor(float32))", or a dtype; nil where it is not known
function InferRegistry:type(names, fn) end

--- What comes into a body where the file does not state it: a list with { the value whose dtype it has, its shape }
--- for each input of the body.
---@param names string|string[]
---@param fn fun(n: t2o.InferNode, attribute: string): table[]
function InferRegistry:body(names, fn) end

--- A body of If, Loop or Scan whose outputs are then known to the rules for these.
---@param name string
---@param fn fun(): t2o.Value[]
---@return any
function infer.body(name, fn) end

--- The outputs of the body in an attribute.
---@param n t2o.InferNode
---@param name string
---@return t2o.Value[]?
function infer.body_outputs(n, name) end

--- The common shape of two; sizes that are not known to be 1 are taken to agree.
---@param a t2o.Shape
---@param b t2o.Shape
---@return t2o.Shape
function infer.broadcast(a, b) end

--- The shape of input i, counted from 1; nil where it is left out or not known.
---@param n t2o.InferNode
---@param i integer
---@return t2o.Shape?
function infer.shape(n, i) end

--- What an integer input holds; nil where it is left out or not known.
---@param n t2o.InferNode
---@param i integer
---@return t2o.Size[]?
function infer.content(n, i) end

--- The elements of a small constant input, floats too; nil where they are not known.
---@param n t2o.InferNode
---@param i integer
---@return (t2o.Number|t2o.Dim)[]?
function infer.numbers(n, i) end

--- An attribute; a boolean comes as 0 or 1.
---@param n t2o.InferNode
---@param name string
---@param default any
---@return any
function infer.attr(n, name, default) end

--- Start and end of the dimensions that a Shape reads, from 0.
---@param n t2o.InferNode
---@param rank integer
---@return integer first
---@return integer last
function infer.bounds(n, rank) end

--- The length of an input of rank 1, where it is an integer.
---@param n t2o.InferNode
---@param i integer
---@return integer?
function infer.length(n, i) end

--- An axis as an index from 1.
---@param axis integer negative from the end
---@param rank integer
---@return integer
function infer.axis(axis, rank) end

--- Axes of an attribute or of input i.
---@param n t2o.InferNode
---@param i integer
---@param rank integer
---@return table<integer, true>|false|nil set indices from 1; false where none are given, nil where they are not known
---@return integer? count
function infer.axes(n, i, rank) end

--- A shape of sizes of which nothing is known.
---@param rank integer
---@return t2o.Shape
function infer.fresh(rank) end

--- The product of sizes.
---@param list t2o.Shape
---@param first? integer
---@param last? integer
---@return t2o.Size
function infer.product(list, first, last) end

--- The larger of two sizes.
---@param a t2o.Size
---@param b t2o.Size
---@return t2o.Size
function infer.max(a, b) end

--- The smaller of two sizes.
---@param a t2o.Size
---@param b t2o.Size
---@return t2o.Size
function infer.min(a, b) end

--- a / b, rounded up.
---@param a t2o.Size
---@param b t2o.Size
---@return t2o.Size
function infer.ceil_div(a, b) end

--- fn(a, b), or nil where that is out of range.
---@param fn fun(a: any, b: any): any
---@param a any
---@param b any
---@return any
function infer.try(fn, a, b) end

--- Whether a size is certain to be at least 0.
---@param a t2o.Size
---@return boolean
function infer.not_negative(a) end

return infer
