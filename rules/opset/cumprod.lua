-- rules/opset/cumprod.lua: running products where ONNX has no operator for them.

local opset = require("t2o.opset").registry

opset:lower("CumProd(x, axis) {exclusive=0, reverse=0}", { below = 26 }, function(g, n)
  local x, axis = n.x, n.axis:item()
  if axis < 0 then axis = axis + x.rank end
  local shape = x.shape
  table.remove(shape, axis + 1)
  local body = g.body("step", { { x.dtype, shape }, { x.dtype, shape } }, function(product, y)
    local after = g.Mul(product, y)
    return after, g.Identity(n.exclusive == 1 and product or after)
  end)
  local start = g.expand(g.scalar(1, x), shape)
  local out = g.Scan(start, x, {
    body = body, num_scan_inputs = 1, scan_input_axes = { axis }, scan_output_axes = { axis },
    scan_input_directions = { n.reverse }, scan_output_directions = { n.reverse }, outputs = 2,
  })
  return out[2]
end)
