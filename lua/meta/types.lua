---@meta t2o.types

-- Dtypes: their kinds, PyTorch's promotion, their limits.

local types = {}

--- Whether the value stands for a Python number, which counts less in promotion than a tensor.
---@param v t2o.Value
---@return boolean
function types.is_wrapped(v) end

--- The Python number that a value stands for: nil where it stands for none, false where the number is not known. What
--- is no value is returned as it is.
---@param x t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Number|t2o.Dim|false|nil
function types.number_of(x) end

---@param dtype t2o.Dtype
---@return "bool"|"int"|"float"|"complex"
function types.kind(dtype) end

--- Bits of an element; nil for the 8-bit floats.
---@param dtype t2o.Dtype
---@return integer?
function types.bits(dtype) end

---@param dtype t2o.Dtype
---@return boolean
function types.is_float(dtype) end

--- Signed and unsigned integers; not bool.
---@param dtype t2o.Dtype
---@return boolean
function types.is_int(dtype) end

---@param dtype t2o.Dtype
---@return boolean
function types.is_complex(dtype) end

---@param dtype t2o.Dtype
---@return boolean
function types.is_unsigned(dtype) end

--- The dtype of the parts of a complex one; any other dtype itself.
---@param dtype t2o.Dtype
---@return t2o.Dtype
function types.real_of(dtype) end

--- torch.promote_types.
---
--- Declines: pairs that PyTorch does not promote.
---@param a t2o.Dtype
---@param b t2o.Dtype
---@return t2o.Dtype
function types.promote(a, b) end

--- torch.result_type of values and numbers: tensors with dimensions count before those without, these before numbers.
---@param ... t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Dtype
function types.result_type(...) end

--- The dtype in which an operator computes that makes floats of integers: result_type, or float32.
---@param ... t2o.Value|t2o.Number|t2o.Dim
---@return t2o.Dtype
function types.float_result(...) end

--- Smallest and largest finite number.
---
--- Declines: dtypes whose limits are not known here.
---@param dtype t2o.Dtype
---@return number least
---@return number greatest
function types.limits(dtype) end

return types
