-- rules/python/helpers_ml.lua: functions that modules bring along for ai.onnx.ml.

local python = require("t2o.pyrules").registry

python:helper("find_entries(Any x, Any[] keys, Any[] values, Any default) -> Any", [=[
def find_entries(x, keys, values, default):
    """What each element of x stands for, as a flat list; a key that comes twice is the latter one."""
    if isinstance(x, torch.Tensor):
        keys = torch.tensor(keys, dtype=x.dtype).tolist()
    table = {"nan" if key != key else key: value for key, value in zip(keys, values)}
    return [table.get("nan" if key != key else key, default) for key in x.ravel().tolist()]]=])

python:helper("look_up(Any x, Any[] keys, Any[] values, Any default, *, ScalarType dtype) -> Tensor", [=[
def look_up(x, keys, values, default, dtype):
    """What each element of x stands for."""
    found = find_entries(x, keys, values, default)
    return torch.tensor(found, dtype=dtype).reshape(x.shape)]=])

python:helper("look_up_texts(Any x, Any[] keys, Any[] values, Any default) -> Any", [=[
def look_up_texts(x, keys, values, default):
    """The string that each element of x stands for."""
    found = find_entries(x, keys, values, default)
    return np.array(found, dtype=object).reshape(tuple(x.shape))]=])
