-- rules/onnx/ml.lua: ai.onnx.ml, the operators of classical machine learning.

local core = require("t2o.core")
local onnx = require("t2o.back").registry

-- These operators take integers too and give 32-bit floats.
local function floats(t, v) return v.dtype == "float64" and v or t.to(v, "float32") end

onnx:rule("ai.onnx.ml::Binarizer(X) {threshold=0.0}", function(t, n)
  return t.aten["to.dtype"](t.aten["gt.Scalar"](n.X, n.threshold), n.X.dtype)
end)

onnx:rule("ai.onnx.ml::ArrayFeatureExtractor(X, Y)", function(t, n)
  local picked = t.aten.index_select(n.X, -1, t.aten["flatten.using_ints"](n.Y))
  return n.X.rank == 1 and t.aten.unsqueeze(picked, 0) or picked
end)

-- One number, or one for each feature.
local function feature_values(t, list)
  if not list or #list == 0 then return nil end
  return #list == 1 and list[1] or t.constant(list, "float32")
end

onnx:rule("ai.onnx.ml::Scaler(X)", function(t, n)
  local x, offset, scale = t.to(n.X, "float32"), feature_values(t, n.attrs.offset), feature_values(t, n.attrs.scale)
  if offset then x = t.aten["sub.Tensor"](x, offset) end
  return scale and t.aten["mul.Tensor"](x, scale) or x
end)

-- Where a row has no length it stays.
onnx:rule("ai.onnx.ml::Normalizer(X) {norm='MAX'}", function(t, n)
  local x, size = t.to(n.X, "float32"), nil
  if n.norm == "MAX" then
    size = t.aten.amax(x, { -1 }, true)
  else
    size = t.aten.linalg_vector_norm(x, n.norm == "L1" and 1 or 2, { -1 }, true)
  end
  size = t.aten["masked_fill.Scalar"](size, t.aten["eq.Scalar"](size, 0), 1)
  return t.aten["div.Tensor"](x, size)
end)

local transforms = {}
function transforms.NONE(_, x) return x end
function transforms.SOFTMAX(t, x) return t.aten["softmax.int"](x, -1) end
function transforms.LOGISTIC(t, x) return t.aten.sigmoid(x) end
-- Zeros stay zeros and have no share.
function transforms.SOFTMAX_ZERO(t, x)
  local zero = t.aten["eq.Scalar"](x, 0)
  local shares = t.aten["softmax.int"](t.aten["masked_fill.Scalar"](x, zero, -math.huge), -1)
  return t.aten["masked_fill.Scalar"](shares, zero, 0)
end
function transforms.PROBIT(t, x)
  local part = t.aten["sub.Tensor"](t.aten["mul.Tensor"](x, 2), 1)
  return t.aten["mul.Tensor"](t.aten.erfinv(part), math.sqrt(2))
end

local function transformed(t, name, x)
  return (transforms[name] or t.decline("post_transform '" .. tostring(name) .. "'"))(t, x)
end

-- Coefficients lie one row a target.
local function linear(t, n, targets)
  local rows, width = {}, #n.coefficients // targets
  for i = 1, targets do rows[i] = table.move(n.coefficients, (i - 1) * width + 1, i * width, 1, {}) end
  local bias = n.attrs.intercepts and #n.attrs.intercepts > 0 and t.constant(n.attrs.intercepts, "float32") or nil
  return t.aten.linear(t.to(n.X, "float32"), t.constant(rows, "float32"), bias)
end

onnx:rule("ai.onnx.ml::LinearRegressor(X) {post_transform='NONE', targets=1}", function(t, n)
  return transformed(t, n.post_transform, linear(t, n, n.targets))
end)

onnx:rule("ai.onnx.ml::LinearClassifier(X) {multi_class=0, post_transform='NONE'}", function(t, n)
  local labels = n.attrs.classlabels_ints or t.decline("labels that are strings")
  if #labels < 2 then t.decline("a classifier of fewer than two classes") end
  local intercepts = n.attrs.intercepts and #n.attrs.intercepts
  local one_row = intercepts == 1 or not intercepts and n.X:size(-1) == #n.coefficients
  if one_row then t.decline("a classifier of two classes by one row of coefficients") end
  local scores = linear(t, n, #labels)
  local best = t.aten.argmax(scores, -1)
  return t.aten.index_select(t.constant(labels, "int64"), 0, best), transformed(t, n.post_transform, scores)
end)

onnx:rule("ai.onnx.ml::Imputer(X) {replaced_value_float=0.0, replaced_value_int64=0}", function(t, n)
  local whole = n.attrs.imputed_value_int64s
  local values, old = whole or n.attrs.imputed_value_floats, whole and n.replaced_value_int64 or n.replaced_value_float
  if not values then t.decline("nothing to put in place") end
  local where = old ~= old and t.aten.isnan(n.X) or t.aten["eq.Scalar"](n.X, old)
  if #values == 1 then return t.aten["masked_fill.Scalar"](n.X, where, values[1]) end
  return t.aten["where.self"](where, t.constant(values, n.X.dtype), n.X)
end)

onnx:rule("ai.onnx.ml::FeatureVectorizer(X)", function(t, n)
  local parts = {}
  for i = 1, n.inputs.n do
    local x = t.to(n.inputs[i], "float32")
    parts[i] = n.inputs[i].rank == 1 and t.aten.unsqueeze(x, 0) or x
  end
  return t.aten.cat(parts, 1)
end)

onnx:rule("ai.onnx.ml::OneHotEncoder(X) {zeros=1}", function(t, n)
  local categories = n.attrs.cats_int64s or t.decline("categories that are strings")
  if n.zeros == 0 then t.decline("an error for what is in no category") end
  local x = t.aten.unsqueeze(t.to(n.X, "int64"), -1)
  return t.aten["to.dtype"](t.aten["eq.Tensor"](x, t.constant(categories, "int64")), "float32")
end)

-- ---- tables ----

local KINDS = { "strings", "int64s", "floats", "tensor" }

local function entries(n, name)
  for _, kind in ipairs(KINDS) do
    local given = n.attrs[name .. "_" .. kind]
    if given then return kind == "tensor" and given:tolist() or given, kind end
  end
end

onnx:rule("ai.onnx.ml::LabelEncoder(X) {default_float=-0.0, default_int64=-1, default_string='_Unused'}", function(t, n)
  local keys, values, dtype = entries(n, "keys"), entries(n, "values"), n.outputs[1].dtype
  if not keys or not values then t.decline("a table without keys or values") end
  local default = n.attrs.default_tensor and n.attrs.default_tensor:tolist()[1]
  if default == nil then
    default = dtype == "string" and n.default_string or dtype:find("int") and n.default_int64 or n.default_float
  end
  if dtype == "string" then return t.helper.look_up_texts(n.X, keys, values, default) end
  return t.helper.look_up(n.X, keys, values, default, { dtype = dtype })
end)
