-- rules/onnx/resize.lua: resampling: torch's own where it computes the same, else a function that the file brings.

local core = require("t2o.core")
local types = require("t2o.types")
local util = require("t2o.util")
local onnx = require("t2o.back").registry

local function single(x) return (string.unpack("<f", string.pack("<f", x))) end

-- The axes that a node speaks of, counted from 0.
local function axes_of(n)
  if not n.axes then
    local out = {}
    for i = 1, n.X.rank do out[i] = i - 1 end
    return out
  end
  return util.dims(n.axes, n.X.rank, true), true
end

-- By axis { dim, have, want, scale }, where a constant or the model's shapes tell; else nil.
local function known_axes(t, n)
  local sorted = true
  for i, d in ipairs(n.axes or {}) do
    sorted = sorted and d >= 0 and (i == 1 or n.axes[i - 1] < d)
  end
  if not sorted then return nil end
  local scales = n.scales and t.numbers(n.scales)
  local want = n.sizes and t.knows_sizes(n.sizes) and t.sizes(n.sizes)
  if not scales and not want then return nil end
  local out = {}
  for i, d in ipairs(axes_of(n)) do
    local have, axis = n.X:size(d), { dim = d }
    if want then
      axis.want, axis.same = want[i], util.equal(want[i], have)
      axis.exact = true
    else
      axis.scale, axis.same = t.rounded(scales[i]), scales[i] == 1
      local product = math.type(have) == "integer" and single(have * single(scales[i]))
      axis.exact = scales[i] % 1 == 0 or product and product % 1 == 0
      axis.one = product and math.floor(product) == 1
    end
    out[i] = axis
  end
  return out
end

-- ---- what torch computes ----

local HALF = { half_pixel = true, pytorch_half_pixel = true, half_pixel_symmetric = true }

-- Whether the factors of all axes are whole and make them larger.
local function grows_evenly(axes)
  for _, axis in ipairs(axes) do
    local s = axis.scale
    if not s and not axis.same then return false end
    if s and (s % 1 ~= 0 or s < 1) then return false end
  end
  return true
end

local function all_exact(axes)
  for _, axis in ipairs(axes) do
    if not axis.exact then return false end
  end
  return true
end

local function nearest_kind(n, axes)
  local at, rounds = n.coordinate_transformation_mode, n.nearest_mode
  local half = HALF[at] and (at ~= "half_pixel_symmetric" or all_exact(axes))
  if at == "asymmetric" and rounds == "floor" then return "nearest" end
  if half and rounds:find("^round") and grows_evenly(axes) then return "nearest" end
  if half and rounds == "round_prefer_ceil" then return "exact" end
end

-- PyTorch's exporters say from which module a node is; to them the last element is at the last corner. To ONNX the
-- length is what it was before it was rounded.
local function is_from_pytorch(n) return n.node ~= nil and #core.modules(n.node) > 0 end

-- Whether positions are those of align_corners: true or false, nil where they are neither's.
local function corners(n, axes)
  local at = n.coordinate_transformation_mode
  if at == "align_corners" then return (all_exact(axes) or is_from_pytorch(n)) and true or nil end
  if at == "half_pixel" or at == "pytorch_half_pixel" then return false end
  if at == "half_pixel_symmetric" and all_exact(axes) then return false end
end

local LINEAR = { "upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec" }

-- The operator and whether corners are aligned, or nil.
local function operator(n, axes)
  local spatial, float = n.X.rank - 2, types.is_float(n.X.dtype)
  if n.mode == "nearest" then
    local kind = (float or n.X.dtype == "uint8") and nearest_kind(n, axes)
    if not kind then return nil end
    return (kind == "exact" and "_upsample_nearest_exact" or "upsample_nearest") .. spatial .. "d.vec"
  end
  local aligned = corners(n, axes)
  if not float or aligned == nil then return nil end
  local shrinks = n.antialias ~= 0
  if n.mode == "linear" then
    if not shrinks and n.exclude_outside == 0 then return LINEAR[spatial], aligned end
    if shrinks and n.exclude_outside ~= 0 and spatial == 2 then return "_upsample_bilinear2d_aa.vec", aligned end
  elseif n.mode == "cubic" and spatial == 2 and not shrinks and n.exclude_outside == 0 and n.cubic_coeff_a == -0.75 then
    return "upsample_bicubic2d.vec", aligned
  end
end

-- The call of torch's, or nil.
local function plain(t, n, axes)
  if n.X.rank < 3 or n.X.rank > 5 or n.keep_aspect_ratio_policy ~= "stretch" then return nil end
  if n.coordinate_transformation_mode == "tf_crop_and_resize" then return nil end
  local sizes, scales, changes = {}, {}, false
  for i = 2, n.X.rank - 1 do sizes[i - 1], scales[i - 1] = n.X:size(i), 1.0 end
  for _, axis in ipairs(axes) do
    changes = changes or not axis.same
    if axis.dim < 2 then
      if not axis.same then return nil end
    elseif axis.want then
      sizes[axis.dim - 1] = axis.want
    else
      scales[axis.dim - 1] = axis.scale
    end
  end
  if not changes then return n.X end
  local op, aligned = operator(n, axes)
  if not op then return nil end
  local size, scale = nil, scales
  if n.sizes then size, scale = sizes, nil end
  if op:find("nearest") then return t.aten[op](n.X, size, scale) end
  return t.aten[op](n.X, size, aligned, scale)
end

onnx:rule("Resize(X, roi?, scales?, sizes?) {antialias=0, coordinate_transformation_mode='half_pixel', "
  .. "cubic_coeff_a=-0.75, exclude_outside=0, extrapolation_value=0.0, keep_aspect_ratio_policy='stretch', "
  .. "mode='nearest', nearest_mode='round_prefer_floor'}", function(t, n)
  if not core.field(n.X, "known_rank") then t.decline("an input of unknown rank") end
  local axes = known_axes(t, n)
  local y = axes and plain(t, n, axes)
  if y then return y end
  if n.mode ~= "nearest" and not types.is_float(n.X.dtype) then t.decline("interpolation of integers") end
  local crops = n.coordinate_transformation_mode == "tf_crop_and_resize"
  local numbers = {}
  for i, d in ipairs(n.axes or axes_of(n)) do numbers[i] = util.dim(d, n.X.rank) end
  return t.helper.resize(n.X, numbers, n.mode, n.coordinate_transformation_mode, n.scales, n.sizes,
                         crops and n.roi or nil, n.nearest_mode, n.cubic_coeff_a, n.antialias ~= 0,
                         n.exclude_outside ~= 0,
                         n.keep_aspect_ratio_policy, n.extrapolation_value)
end)
