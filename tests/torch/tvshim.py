"""Import this before torchvision: declares its C++ ops if its build does not match this torch."""
import sys

import torch

SCHEMAS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt
    pooled_width, int sampling_ratio, bool aligned) -> Tensor
_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt
    pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width, int
    sampling_ratio, bool aligned) -> Tensor
roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt
    pooled_width) -> (Tensor, Tensor)
_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt
    pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height,
    SymInt width) -> Tensor
ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt
    pooled_width, int sampling_ratio) -> (Tensor, Tensor)
_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale,
    SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt
    channels, SymInt height, SymInt width) -> Tensor
ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt
    pooled_width) -> (Tensor, Tensor)
_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale,
    SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt
    height, SymInt width) -> Tensor
deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt
    stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w,
    SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor
_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask,
    Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt
    dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) ->
    (Tensor, Tensor, Tensor, Tensor, Tensor)
"""

try:
    import torchvision  # noqa: F401
except RuntimeError:  # operator torchvision::nms does not exist
    for _name in [m for m in sys.modules if m.split(".")[0] == "torchvision"]:
        del sys.modules[_name]
    _library = torch.library.Library("torchvision", "DEF")
    for _schema in SCHEMAS.strip().replace("\n    ", " ").splitlines():
        _library.define(_schema)
