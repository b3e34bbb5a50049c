-- rules/python/helpers_ml.lua: functions that modules bring along for ai.onnx.ml.

local python = require("t2o.pyrules").registry

python:helper("find_entries(Any x, Any[] keys, Any[] values, Any default) -> Any", [=[
def find_entries(x, keys, values, default):
    """What each element of x stands for, as a flat list; of equal keys the last counts."""
    def hashable(key):
        return "nan" if isinstance(key, float) and math.isnan(key) else key
    if isinstance(x, torch.Tensor):
        keys = torch.tensor(keys, dtype=x.dtype).tolist()
    table = {hashable(key): value for key, value in zip(keys, values)}
    return [table.get(hashable(key), default) for key in x.ravel().tolist()]]=])

python:helper("look_up(Any x, Any[] keys, Any[] values, Any default, *, ScalarType dtype) -> Tensor", [=[
def look_up(x, keys, values, default, dtype):
    """What each element of x stands for."""
    found = find_entries(x, keys, values, default)
    device = x.device if isinstance(x, torch.Tensor) else None
    return torch.tensor(found, dtype=dtype, device=device).reshape(x.shape)]=])

python:helper("look_up_texts(Any x, Any[] keys, Any[] values, Any default) -> Any", [=[
def look_up_texts(x, keys, values, default):
    """The string that each element of x stands for."""
    found = find_entries(x, keys, values, default)
    return np.array(found, dtype=object).reshape(tuple(x.shape))]=])

python:helper("tree_ensemble(Tensor x, Tensor roots, int count, Tensor modes, Tensor features, Tensor splits, "
  .. "Tensor when_false, Tensor when_true, Tensor missing, Tensor weights, Tensor? member_nodes=None, "
  .. "Tensor? members=None) -> Tensor", [=[
def tree_ensemble(
    x, roots, count, modes, features, splits, when_false, when_true, missing, weights,
    member_nodes=None, members=None,
):
    """The weights of the leaves that each row of x comes to, summed over the trees.

    Nodes ask whether a feature is <=, <, >=, >, ==, != a number or in a set; leaves are numbered behind the nodes.
    """
    at = roots.expand(x.shape[0], -1)
    while (at < count).any():
        node = at.clamp(max=count - 1)
        value, split = x.gather(1, features[node]), splits[node]
        answers = [value <= split, value < split, value >= split, value > split, value == split, value != split]
        if members is not None:
            same = (member_nodes == node[..., None]) & (members == value[..., None])
            answers.append(same.any(-1))
        answer = torch.stack(answers).gather(0, modes[node][None])[0]
        answer = answer | (value.isnan() & missing[node].bool())
        at = torch.where(at < count, torch.where(answer, when_true[node], when_false[node]), at)
    return weights[at - count].sum(1)]=])
