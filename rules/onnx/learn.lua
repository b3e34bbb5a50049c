-- rules/onnx/learn.lua: operators of ai.onnx.ml that are a table or a comparison.

local onnx = require("t2o.back").registry

onnx:rule("ai.onnx.ml::ArrayFeatureExtractor(X, Y)", function(t, n)
  local x = n.X.rank > 1 and n.X or t.aten.unsqueeze(n.X, 0)
  return t.aten.index_select(x, n.X.rank > 1 and -1 or 1, t.aten.reshape(n.Y, { -1 }))
end)

onnx:rule("ai.onnx.ml::Binarizer(X) {threshold=0.0}", function(t, n)
  return t.aten["to.dtype"](t.aten["gt.Scalar"](n.X, n.threshold), n.X.dtype)
end)

local function list_of(attrs, what)
  local list = attrs[what .. "_int64s"] or attrs[what .. "_floats"] or attrs[what .. "_strings"]
  local tensor = attrs[what .. "_tensor"]
  list = list or tensor and tensor:tolist()
  local out = { n = list and #list or 0 }
  for i, x in ipairs(list or {}) do out[i] = x end
  return out
end

local function default_of(a)
  if a.default_tensor then return a.default_tensor:item() end
  if a.values_strings then return a.default_string or "_Unused" end
  if a.values_floats then return a.default_float or -0.0 end
  return a.default_int64 or -1
end

onnx:rule("ai.onnx.ml::LabelEncoder(X)", function(t, n)
  local a, dtype = n.attrs, n.outputs[1].dtype
  local keys, values = list_of(a, "keys"), list_of(a, "values")
  if dtype == "string" then return t.helper.look_up_texts(n.X, keys, values, default_of(a)) end
  return t.helper.look_up(n.X, keys, values, default_of(a), { dtype = dtype })
end)
