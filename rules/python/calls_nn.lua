-- rules/python/calls_nn.lua: pools with indices, resampling and losses as functions of torch.nn.functional.

local python = require("t2o.pyrules").registry

for rank = 1, 3 do
  local name = "max_pool" .. rank .. "d"
  python:form {
    [name .. "_with_indices"] = "F." .. name
      .. "({self}, {kernel_size}{, stride}{, padding=}{, dilation=}{, ceil_mode=}"
      .. ", return_indices=True)",
  }
end

local MODES = { [0] = "bilinear", "nearest", "bicubic" }
local BORDERS = { [0] = "zeros", "border", "reflection" }

python:rule({ "grid_sampler", "grid_sampler_2d", "grid_sampler_3d" }, function(_, a)
  local mode = a.interpolation_mode ~= 0 and ', mode="' .. MODES[a.interpolation_mode] .. '"' or ""
  local border = a.padding_mode ~= 0 and ', padding_mode="' .. BORDERS[a.padding_mode] .. '"' or ""
  return "F.grid_sample({input}, {grid}" .. mode .. border .. ", align_corners={align_corners})"
end)

python:form { affine_grid_generator = "F.affine_grid({theta}, {size}, align_corners={align_corners})" }

local KINDS = {
  nearest = "nearest", linear = "linear", bilinear = "bilinear", trilinear = "trilinear", bicubic = "bicubic",
  nearest_exact = "nearest-exact",
}

local function resampling(name, kind)
  local antialias = name:find("_aa$") and ", antialias=True" or ""
  local corners = not name:find("nearest")
  python:rule(name .. ".vec", function(py, a)
    local size = a.output_size and "size={output_size}" or "scale_factor={scale_factors}"
    local scales = a.scale_factors
    if not a.output_size and py.int(scales) == scales[1] then size = "scale_factor={scale_factors#1}" end
    local mode = kind ~= "nearest" and ', mode="' .. KINDS[kind] .. '"' or ""
    local align = corners and a.align_corners and ", align_corners=True" or ""
    return "F.interpolate({input}, " .. size .. mode .. align .. antialias .. ")"
  end)
end

for rank, linear in ipairs { "linear", "bilinear", "trilinear" } do
  resampling("upsample_nearest" .. rank .. "d", "nearest")
  resampling("_upsample_nearest_exact" .. rank .. "d", "nearest_exact")
  resampling("upsample_" .. linear .. rank .. "d", linear)
end
resampling("upsample_bicubic2d", "bicubic")
resampling("_upsample_bilinear2d_aa", "bilinear")
resampling("_upsample_bicubic2d_aa", "bicubic")

local REDUCTIONS = { [0] = "none", "mean", "sum" }
for name, call in pairs { nll_loss_nd = "nll_loss", cross_entropy_loss = "cross_entropy" } do
  python:rule(name, function(_, a)
    local reduction = a.reduction ~= 1 and ', reduction="' .. REDUCTIONS[a.reduction] .. '"' or ""
    local smoothing = name == "cross_entropy_loss" and "{, label_smoothing=}" or ""
    return "F." .. call .. "({self}, {target}{, weight=}{, ignore_index=}" .. reduction .. smoothing .. ")"
  end)
end

python:form {
  ["hann_window.periodic"] = "torch.hann_window({window_length}, periodic={periodic}{, dtype=}{, device})",
  ["blackman_window.periodic"] = "torch.blackman_window({window_length}, periodic={periodic}{, dtype=}{, device})",
  ["hamming_window.periodic_alpha_beta"] =
    "torch.hamming_window({window_length}, {periodic}, {alpha}, {beta}{, dtype=}{, device})",
}
