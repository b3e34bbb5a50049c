-- rules/onnx/control.lua: If, Loop and Scan.

local core = require("t2o.core")
local onnx = require("t2o.back").registry
local util = require("t2o.util")

local function new_values(t, list)
  local out = {}
  for i = 1, list.n or #list do
    local container = list[i] and core.field(list[i], "container")
    out[i] = t.new(container and "object" or "none")
  end
  return out
end

-- ---- If ----

-- Both bodies take what either of them reads.
local function share_captures(yes, no, of_yes, of_no)
  local all, place = {}, {}
  for _, list in ipairs { of_yes, of_no } do
    for _, v in ipairs(list) do
      if not place[v] then
        all[#all + 1] = v
        place[v] = #all
      end
    end
  end
  for _, pair in ipairs { { yes, of_yes }, { no, of_no } } do
    local body, own = pair[1], pair[2]
    local has, missing, order = {}, {}, {}
    for i, v in ipairs(own) do has[v] = i end
    for i, v in ipairs(all) do
      if not has[v] then
        missing[#missing + 1] = v
        has[v] = #own + #missing
      end
      order[i] = has[v]
    end
    core.extend_body(body, missing)
    core.reorder_body(body, order)
  end
  return all
end

onnx:rule("If(cond) {then_branch, else_branch}", function(t, n)
  local yes, of_yes = core.back_body(n.then_branch)
  local no, of_no = core.back_body(n.else_branch)
  local operands = share_captures(yes, no, of_yes, of_no)
  local outs = new_values(t, n.outputs)
  local cond = n.cond
  if not t.python and not (core.field(cond, "known_rank") and cond.rank == 0) then
    cond = t.aten.reshape(cond, {})
  end
  core.torch_call("higher_order::cond", {
    { "pred", cond }, { "true_graph", yes }, { "false_graph", no }, { "operands", operands },
  }, outs)
  return table.unpack(outs)
end)

-- ---- Loop ----

local ENDLESS = 1 << 31

-- Whether the body says itself that it goes on: always, or as before.
local function always_goes_on(t, parts)
  local out = parts.outputs[1].tensor
  return t.number(out) == true or out == parts.inputs[2]
end

local function reads(parts, v)
  for _, node in ipairs(parts.nodes) do
    local ins = node.inputs
    for i = 1, ins.n do
      if ins[i] == v then return true end
    end
  end
  for i = 2, #parts.outputs do
    if parts.outputs[i].tensor == v then return true end
  end
  return false
end

onnx:rule("Loop(M?, cond?) {body}", { when = function() return core.writes_python() end }, function(t, n)
  local body, captures = core.back_body(n.body)
  local parts = core.parts(body)
  local carried = {}
  for i = 3, n.inputs.n do carried[#carried + 1] = n.inputs[i] end
  local begins = n.cond == nil or t.number(n.cond) == true
  local checks = not (begins and always_goes_on(t, parts))
  if not checks and reads(parts, parts.inputs[2]) then checks = true end
  local count = n.M and (t.item(n.M))
  if math.type(count) and count >= ENDLESS then count = nil end
  local outs = new_values(t, n.outputs)
  local dims, dtypes = {}, {}
  for i = #carried + 1, #outs do
    local v = n.outputs[i]
    local shape = v and core.field(v, "known_rank") and v.shape
    dtypes[i - #carried] = v and v.dtype or "none"
    dims[i - #carried] = shape and util.all_static { table.unpack(shape, 2) } and { table.unpack(shape, 2) } or false
  end
  local some = math.type(count) and count > 0 and not checks
  core.torch_call("helper::loop", {
    { "count", count }, { "cond", checks and (n.cond or true) or nil }, { "body_graph", body },
    { "carried", carried }, { "additional", captures }, { "runs", some or false },
    { "dtypes", dtypes }, { "shapes", dims },
  }, outs)
  return table.unpack(outs)
end)

-- In an archive: what is stacked grows by a row in each round.

local function known_shape(v)
  local shape = v and core.field(v, "known_rank") and v.shape
  return shape and { table.unpack(shape, 2) }
end

-- The sizes that can be read from values.
local function sizes_in(values)
  local out = {}
  for i = 1, values.n or #values do
    local shape = values[i] and core.field(values[i], "known_rank") and values[i].shape or {}
    for _, d in ipairs(shape) do out[tostring(d)] = true end
  end
  return out
end

-- Rows that there are before the first round.
local function no_rows(t, n, first, captures)
  local out, told, told_outside = {}, sizes_in(n.inputs), sizes_in(captures)
  for i = first, n.outputs.n do
    local row = known_shape(n.outputs[i]) or t.decline("what is stacked in a loop has an unknown rank")
    for k, d in ipairs(row) do
      local known = math.type(d) or told[tostring(d)] or told_outside[tostring(d)]
      if not known then t.decline("size " .. k .. " of what is stacked in a loop is known at run time only") end
    end
    out[#out + 1] = t.aten.zeros({ 0, table.unpack(row) }, { dtype = n.outputs[i].dtype })
  end
  return out
end

-- The inputs of a body whose own are followed by others, in the order: its first ones, the others, what it captures.
local function make_room(body, own, others)
  local total = #core.parts(body).inputs
  core.extend_body(body, others)
  local order = {}
  for i = 1, own do order[i] = i end
  for i = 1, #others do order[#order + 1] = total + i end
  for i = own + 1, total do order[#order + 1] = i end
  core.reorder_body(body, order)
end

local function append(...)
  local out = {}
  for _, list in ipairs { ... } do table.move(list, 1, #list, #out + 1, out) end
  return out
end

onnx:rule("Loop(M?, cond?) {body}", { when = function() return not core.writes_python() end }, function(t, n)
  local body, captures = core.back_body(n.body)
  local parts = core.parts(body)
  local initial = {}
  for i = 3, n.inputs.n do initial[#initial + 1] = n.inputs[i] end
  local rows = no_rows(t, n, #initial + 1, captures)
  local cond = n.cond or t.aten.full({}, true, { dtype = "bool" })
  local carried = append({ t.aten.zeros({}, { dtype = "int64" }), t.aten.reshape(cond, {}) }, initial, rows)
  local limit = n.M and t.aten.reshape(n.M, {})
  captures = append(captures, { limit })
  make_room(body, 2 + #initial, rows)
  if limit then core.extend_body(body, { limit }) end
  core.finish_body(body, function()
    local inputs, out = core.parts(body).inputs, {}
    for i, o in ipairs(parts.outputs) do
      out[i + 1] = o.tensor
      if i > 1 + #initial then
        local row = t.aten.unsqueeze(o.tensor, 0)
        out[i + 1] = t.aten.cat({ inputs[i + 1], row })
      end
    end
    out[1] = t.aten["add.Scalar"](inputs[1], 1)
    out[2] = t.aten.reshape(out[2], {})
    return out
  end)
  local test, seen = core.new_body("goes_on", append(carried, captures))
  core.finish_body(test, function()
    if not limit then return { t.aten.alias(seen[2]) } end
    return { t.aten.logical_and(t.aten["lt.Tensor"](seen[1], seen[#seen]), seen[2]) }
  end)
  local outs = {}
  for i = 1, #carried do outs[i] = t.new() end
  core.torch_call("higher_order::while_loop", {
    { "cond_graph", test }, { "body_graph", body }, { "carried", carried }, { "additional", captures },
  }, outs)
  return table.unpack(outs, 3)
end)

-- ---- Scan ----

local function attr_of(list, i, default) return list and list[i] or default end

onnx:rule("Scan() {body, num_scan_inputs}", function(t, n)
  local a = n.attrs
  local body, captures = core.back_body(n.body)
  local states = n.inputs.n - n.num_scan_inputs
  local init, xs = {}, {}
  for i = 1, states do init[i] = n.inputs[i] end
  for i = 1, n.num_scan_inputs do
    local x, axis = n.inputs[states + i], attr_of(a.scan_input_axes, i, 0)
    if axis ~= 0 then x = t.aten["movedim.int"](x, axis, 0) end
    if attr_of(a.scan_input_directions, i, 0) ~= 0 then x = t.aten.flip(x, { 0 }) end
    xs[i] = x
  end
  local outs = new_values(t, n.outputs)
  core.torch_call("higher_order::scan", {
    { "combine_graph", body }, { "init", init }, { "xs", xs }, { "additional", captures },
  }, outs)
  for i = states + 1, #outs do
    local k, y = i - states, outs[i]
    if attr_of(a.scan_output_directions, k, 0) ~= 0 then y = t.aten.flip(y, { 0 }) end
    local axis = attr_of(a.scan_output_axes, k, 0)
    if axis ~= 0 then y = t.aten["movedim.int"](y, 0, axis) end
    outs[i] = y
  end
  return table.unpack(outs)
end)
