-- rules/onnx/ml.lua: ai.onnx.ml, the operators of classical machine learning.

local core = require("t2o.core")
local onnx = require("t2o.back").registry

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
  local x = t.to(n.X, "float32")
  local order = ({ L1 = 1, L2 = 2 })[n.norm]
  local size = order and t.aten.linalg_vector_norm(x, order, { -1 }, true) or t.aten.amax(x, { -1 }, true)
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
  local ins = n.inputs
  for i = 1, ins.n do
    local x = t.to(ins[i], "float32")
    parts[i] = ins[i].rank == 1 and t.aten.unsqueeze(x, 0) or x
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

-- ---- trees ----

local function listed(v) return core.is_value(v) and core.elements(v, math.maxinteger) or v end

local MODES = { BRANCH_LEQ = 0, BRANCH_LT = 1, BRANCH_GTE = 2, BRANCH_GT = 3, BRANCH_EQ = 4, BRANCH_NEQ = 5 }

-- What reaches the leaves, summed: tree has lists by node (numbers of nodes from 0, those of leaves behind them) and a
-- row of weights for each leaf.
local function reached(t, x, tree)
  local dtype = x.dtype
  local function whole(list) return t.constant(#list > 0 and list or { 0 }, "int64") end
  local missing = tree.missing or {}
  for i = 1, math.max(#tree.modes, 1) do missing[i] = missing[i] or 0 end
  local splits = t.constant(#tree.splits > 0 and tree.splits or { 0.0 }, dtype)
  local members = tree.members and t.constant(tree.members, dtype)
  return t.helper.tree_ensemble(x, whole(tree.roots), #tree.modes, whole(tree.modes), whole(tree.features), splits,
                                whole(tree.when_false), whole(tree.when_true), t.constant(missing, "int64"),
                                t.constant(tree.weights, dtype), members and whole(tree.member_nodes), members)
end

local function rows_of_zeros(count, width)
  local out = {}
  for i = 1, count do
    out[i] = {}
    for j = 1, width do out[i][j] = 0.0 end
  end
  return out
end

-- Sets stand one behind the other, in the order of the nodes that ask for them, with NaN between.
local function members_of(tree, values)
  local node, nodes = 1, {}
  for i, mode in ipairs(tree.modes) do
    if mode == 6 then nodes[#nodes + 1] = i - 1 end
  end
  if #nodes == 0 then return end
  tree.members, tree.member_nodes = {}, {}
  for _, x in ipairs(values) do
    if x ~= x then
      node = node + 1
    else
      table.insert(tree.members, x)
      table.insert(tree.member_nodes, nodes[node])
    end
  end
end

onnx:rule("ai.onnx.ml::TreeEnsemble(X) {aggregate_function=1, n_targets=1, post_transform=0}", function(t, n)
  if n.aggregate_function > 1 then t.decline("the smallest or largest of the trees' values") end
  local tree = {
    roots = n.tree_roots, modes = listed(n.nodes_modes), features = n.nodes_featureids, splits = listed(n.nodes_splits),
    missing = n.attrs.nodes_missing_value_tracks_true, when_true = {}, when_false = {},
  }
  local count, leaves = #tree.modes, listed(n.leaf_weights)
  for i = 1, count do
    tree.when_true[i] = n.nodes_truenodeids[i] + (n.nodes_trueleafs[i] ~= 0 and count or 0)
    tree.when_false[i] = n.nodes_falsenodeids[i] + (n.nodes_falseleafs[i] ~= 0 and count or 0)
  end
  tree.weights = rows_of_zeros(#leaves, n.n_targets)
  for i, x in ipairs(leaves) do tree.weights[i][n.leaf_targetids[i] + 1] = x end
  if n.attrs.membership_values then members_of(tree, listed(n.attrs.membership_values)) end
  local y = reached(t, n.X, tree)
  if n.aggregate_function == 0 then y = t.aten["div.Tensor"](y, #tree.roots) end
  local names = { [0] = "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" }
  return transformed(t, names[n.post_transform], y)
end)

-- Nodes and leaves in one list, by the numbers of their tree and in it; weights of leaves by the same two numbers.
local function older_tree(t, n, kind, width)
  local attrs, at, inner, leaves = n.attrs, {}, {}, {}
  local tree = { roots = {}, modes = {}, features = {}, splits = {}, missing = {}, when_true = {}, when_false = {} }
  local function key(tree_id, node_id) return tree_id .. ":" .. node_id end
  for i, mode in ipairs(attrs.nodes_modes) do
    local list = mode == "LEAF" and leaves or inner
    list[#list + 1] = i
    at[key(attrs.nodes_treeids[i], attrs.nodes_nodeids[i])] = { mode == "LEAF", #list - 1 }
  end
  local function place(tree_id, node_id)
    local found = at[key(tree_id, node_id)] or t.decline("a tree without node " .. key(tree_id, node_id))
    return found[2] + (found[1] and #inner or 0)
  end
  local values = listed(attrs.nodes_values or attrs.nodes_values_as_tensor)
  local missing = attrs.nodes_missing_value_tracks_true
  for k, i in ipairs(inner) do
    local id = attrs.nodes_treeids[i]
    tree.modes[k] = MODES[attrs.nodes_modes[i]] or t.decline("mode " .. attrs.nodes_modes[i])
    tree.features[k], tree.splits[k] = attrs.nodes_featureids[i], values[i]
    tree.missing[k] = missing and missing[i] or 0
    tree.when_true[k] = place(id, attrs.nodes_truenodeids[i])
    tree.when_false[k] = place(id, attrs.nodes_falsenodeids[i])
  end
  local seen = {}
  for i, id in ipairs(attrs.nodes_treeids) do
    if not seen[id] then tree.roots[#tree.roots + 1] = place(id, attrs.nodes_nodeids[i]) end
    seen[id] = true
  end
  tree.weights = rows_of_zeros(#leaves, width)
  local weights = listed(attrs[kind .. "_weights"] or attrs[kind .. "_weights_as_tensor"])
  for i, x in ipairs(weights) do
    local row = tree.weights[place(attrs[kind .. "_treeids"][i], attrs[kind .. "_nodeids"][i]) - #inner + 1]
    local target = attrs[kind .. "_ids"][i] + 1
    row[target] = row[target] + x
  end
  return tree
end

local function with_base(t, n, y, dtype)
  local base = listed(n.attrs.base_values or n.attrs.base_values_as_tensor)
  return base and #base > 0 and t.aten["add.Tensor"](y, t.constant(base, dtype)) or y
end

onnx:rule("ai.onnx.ml::TreeEnsembleRegressor(X) {aggregate_function='SUM', n_targets=1, post_transform='NONE'}",
  function(t, n)
    if n.aggregate_function ~= "SUM" and n.aggregate_function ~= "AVERAGE" then
      t.decline("the smallest or largest of the trees' values")
    end
    if n.X.dtype ~= "float32" then t.decline("inputs of other dtypes than float32") end
    local tree = older_tree(t, n, "target", n.n_targets)
    local y = reached(t, n.X, tree)
    if n.aggregate_function == "AVERAGE" then y = t.aten["div.Tensor"](y, #tree.roots) end
    return transformed(t, n.post_transform, with_base(t, n, y, "float32"))
  end)

onnx:rule("ai.onnx.ml::TreeEnsembleClassifier(X) {post_transform='NONE'}", function(t, n)
  local labels = n.attrs.classlabels_int64s or t.decline("labels that are strings")
  if n.X.dtype ~= "float32" then t.decline("inputs of other dtypes than float32") end
  -- runtimes make two classes of one score in ways of their own
  if #labels < 3 then t.decline("trees for fewer than three classes") end
  local y = with_base(t, n, reached(t, n.X, older_tree(t, n, "class", #labels)), "float32")
  local best = t.aten.argmax(y, -1)
  return t.aten.index_select(t.constant(labels, "int64"), 0, best), transformed(t, n.post_transform, y)
end)
