---@meta t2o.util

-- What rules share.

local util = {}

--- A dimension counted from 0. A value of rank 0 has one dimension for this purpose.
---
--- Declines: a dimension that does not exist.
---@param d integer negative from the end
---@param rank integer
---@return integer
function util.dim(d, rank) end

--- Dimensions counted from 0, in order; nil and the empty list mean all of them.
---
--- Declines: a dimension that does not exist.
---@param list integer[]?
---@param rank integer
---@param empty_is_none? boolean the empty list means none
---@return integer[]
function util.dims(list, rank, empty_is_none) end

--- Whether a size is an integer.
---@param d t2o.Size
---@return boolean
function util.is_static(d) end

--- Whether all sizes are integers.
---@param list t2o.Shape
---@return boolean
function util.all_static(list) end

--- Whether all values are constants; nil counts as one.
---@param ... t2o.Value?
---@return boolean
function util.all_constant(...) end

--- "[1, s77, 3]", for messages.
---@param list any[]
---@return string
function util.show(list) end

--- The product of sizes; 1 of none.
---@param list t2o.Shape
---@param first? integer
---@param last? integer
---@return t2o.Size
function util.product(list, first, last) end

--- The larger of two sizes.
---@param a t2o.Size
---@param b t2o.Size
---@return t2o.Size
function util.max(a, b) end

--- The smaller of two sizes.
---@param a t2o.Size
---@param b t2o.Size
---@return t2o.Size
function util.min(a, b) end

--- -1, 0 or 1 as a < b, a == b or a > b is certain; nil where it is not known before the run.
---@param a t2o.Size
---@param b t2o.Size
---@return integer?
function util.compare(a, b) end

--- Whether two sizes are certain to be equal.
---@param a t2o.Size
---@param b t2o.Size
---@return boolean
function util.equal(a, b) end

--- Whether two shapes are certain to be equal.
---@param a t2o.Shape
---@param b t2o.Shape
---@return boolean
function util.same_shape(a, b) end

---@generic T
---@param list T[]
---@return T[]
function util.copy(list) end

--- { first, first + 1, ..., last }
---@param first integer
---@param last integer
---@return integer[]
function util.range(first, last) end

--- A list of n times the same.
---@generic T
---@param value T
---@param n integer
---@return T[]
function util.fill(value, n) end

---@param list any[]
---@param x any
---@return boolean
function util.contains(list, x) end

--- The permutation that brings a dimension to the end, and the one that brings it back.
---@param rank integer
---@param last integer counted from 0
---@return integer[] perm
---@return integer[] inverse
function util.to_last(rank, last) end

--- Both operands in their common dtype, as PyTorch promotes them.
---@param x t2o.Value|t2o.Number|t2o.Dim
---@param y t2o.Value|t2o.Number|t2o.Dim
---@param dtype? t2o.Dtype instead of the common one
---@return t2o.Value x
---@return t2o.Value y
---@return t2o.Dtype
function util.promote(x, y, dtype) end

--- The kernel, which is the stride too, of an adaptive pool whose windows are all alike; nil where they are not.
---@param have t2o.Shape
---@param want t2o.Shape
---@return integer[]?
function util.exact_windows(have, want) end

--- A vector of one element per channel in the shape that broadcasts over [N, C, ...].
---@param g t2o.Builder
---@param v t2o.Value of rank 1
---@param rank integer
---@return t2o.Value
function util.per_channel(g, v, rank) end

--- 0 .. n - 1.
---@param g t2o.Builder
---@param n t2o.Size
---@return t2o.Value # int64[n]
function util.arange(g, n) end

--- Where the elements of windows stand along an axis.
---@param g t2o.Builder
---@param count t2o.Size
---@param kernel integer
---@param stride integer
---@param dilation integer
---@return t2o.Value # int64[count, kernel]
function util.window_positions(g, count, kernel, stride, dilation) end

--- Where of two values of one dtype, also for dtypes that runtimes lack it for.
---@param g t2o.Builder
---@param condition t2o.Value bool
---@param x t2o.Value
---@param y t2o.Value of the dtype of x
---@return t2o.Value
function util.where(g, condition, x, y) end

--- A polynomial in x.
---@param g t2o.Builder
---@param x t2o.Value of floats
---@param c number[] coefficients, from the lowest power on
---@return t2o.Value
function util.polynomial(g, x, c) end

--- A Chebyshev series.
---@param g t2o.Builder
---@param y t2o.Value of floats in [-1, 1]
---@param c number[] coefficients, from the lowest on
---@return t2o.Value
function util.chebyshev(g, y, c) end

--- fn(g, x) computed in float32 where x is narrower than that or of integers; the result has the dtype of x where that
--- is of floats.
---@param x t2o.Value
---@param fn fun(g: t2o.Builder, x: t2o.Value): t2o.Value
---@param g t2o.Builder
---@return t2o.Value
function util.in_single(x, fn, g) end

--- types.is_float
---@param dtype t2o.Dtype
---@return boolean
function util.is_float(dtype) end

--- types.is_int
---@param dtype t2o.Dtype
---@return boolean
function util.is_int(dtype) end

--- Whether it is float16 or bfloat16.
---@param dtype t2o.Dtype
---@return boolean
function util.is_half(dtype) end

--- A float of 32 bits as the shortest decimal that gives the same one; anything else as it is.
---@param x number
---@return number
function util.shortest(x) end

--- types.result_type
---@param ... t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Dtype
function util.result_type(...) end

return util
