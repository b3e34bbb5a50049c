-- lua/t2o/python.lua: a torch program as Python source: modules, classes, the file.
--
-- The flat graph is cut into calls of modules (pytree), each becomes a forward method (pyforward), modules that do the
-- same become one class whose constructor takes what differs (pyclass).

local core = require("t2o.core")
local rules = require("t2o.rules")
local text = require("t2o.pytext")
local tree = require("t2o.pytree")
local forward = require("t2o.pyforward")
local pyrules = require("t2o.pyrules")
local pyclass = require("t2o.pyclass")
local pyfile = require("t2o.pyfile")

local pyshared = require("t2o.pyshared")
local pywhole = require("t2o.pywhole")
local pyscope = require("t2o.pyscope")
local pyflow = require("t2o.pyflow")
local util = require("t2o.util")

local M = {}

local INLINE = 1 -- elements of a constant that is written out

-- ---- modules ----

local function new_module(path) return { path = path, children = {}, order = {}, tensors = {}, tensor = {} } end

local function split_path(path) return path:match("^(.*)%.([^%.]+)$") or "", path:match("([^%.]*)$") end

local function module_at(model, path)
  local m = model.modules[path]
  if m then return m end
  local outer, name = split_path(path)
  m = new_module(path)
  model.modules[path] = m
  if path ~= "" then
    local parent = module_at(model, outer)
    parent.children[name] = m
    parent.order[#parent.order + 1] = name
    m.name, m.parent = name, parent
  end
  return m
end

local function add_tensor(model, name, tensor)
  local outer, leaf = split_path(name)
  local m = module_at(model, outer)
  if m.tensor[leaf] then return m.tensor[leaf] end
  tensor.leaf, tensor.name = leaf, name
  m.tensor[leaf] = tensor
  m.tensors[#m.tensors + 1] = tensor
  return tensor
end

-- ---- weights ----

local WEIGHTS = { PARAMETER = true, BUFFER = true, CONSTANT_TENSOR = true }

local function static_shape(v)
  local out = {}
  for i, d in ipairs(core.field(v, "shape")) do out[i] = d end
  return out
end

-- state_dict: of an archive as it lists it, else the parameters and buffers among the inputs.
local function read_state(model, program, inputs)
  local by_memory = {}
  model.weights, model.weight_list, model.tied = {}, {}, {}
  for i, entry in ipairs(program.state) do
    local first = entry.memory and by_memory[entry.memory]
    add_tensor(model, entry.name, { parameter = entry.parameter, shape = entry.shape, dtype = entry.dtype,
      persistent = true })
    if first then
      first.names[#first.names + 1] = entry.name
      model.tied[#model.tied + 1] = { entry.name, first.names[1] }
    else
      first = { names = { entry.name } }
      if entry.memory then by_memory[entry.memory] = first end
      if entry.filled then model.weight_list[#model.weight_list + 1] = { entry.name, i } end
    end
    model.by_name[entry.name] = first
  end
  for _, v in ipairs(inputs) do
    local s = core.signature(v)
    if WEIGHTS[s.spec] and core.field(v, "kind") == "tensor" then
      local known = s.spec ~= "CONSTANT_TENSOR" and model.by_name[s.target]
      local w = { value = v, names = known and known.names or { s.target }, spec = s.spec, target = s.target,
        shape = static_shape(v), dtype = core.field(v, "dtype"), constant = s.spec == "CONSTANT_TENSOR" }
      model.weights[v] = w
      if known then
        known.value = known.value or v
      elseif not w.constant then
        add_tensor(model, s.target, { parameter = s.spec == "PARAMETER", shape = w.shape, dtype = w.dtype,
          persistent = s.persistent })
        model.weight_list[#model.weight_list + 1] = { s.target, v }
      end
    end
  end
end

local function count(shape)
  local n = 1
  for _, d in ipairs(shape) do n = n * d end
  return n
end

local function mark_inline(model)
  for v, w in pairs(model.weights) do
    local readable = w.dtype:find("^float%d+$") or w.dtype:find("^u?int%d+$") or w.dtype == "bool"
      or w.dtype == "bfloat16"
    w.inline = w.constant and #w.shape <= 1 and count(w.shape) <= INLINE and count(w.shape) > 0 and readable
      and core.field(v, "is_constant")
    w.inline = w.inline or w.dtype == "string" -- which no file of weights holds
  end
end

-- ---- nodes ----

local function is_symbolic(node)
  local outs = node.outputs
  if outs.n == 0 then return false end
  for i = 1, outs.n do
    local v = outs[i]
    if core.field(v, "kind") ~= "symint" or core.signature(v).expr == nil then return false end
  end
  if node.op:find("::sym_") then return true end
  local ins = node.inputs
  for i = 1, ins.n do
    if core.is_value(ins[i]) and core.field(ins[i], "kind") == "tensor" then return false end
  end
  return true
end

-- Nodes without those that only speak of sizes, check something or give back what they are given.
local function filter_nodes(model, nodes)
  local out = {}
  for _, node in ipairs(nodes) do
    local outs = node.outputs
    if is_symbolic(node) then
      for i = 1, outs.n do model.sizes[outs[i]] = true end
    elseif not (outs.n == 0 and rules.is_dropped(node.op)) then
      local source = outs.n == 1 and pyrules.same(node, model)
      if source then
        model.alias[outs[1]] = source
      else
        pyflow.bind(model, node)
        out[#out + 1] = node
      end
    end
  end
  return out
end

-- The nodes of the model from now on, numbered.
local function set_nodes(model, nodes)
  model.nodes = nodes
  for order, n in ipairs(nodes) do
    n.order = order
    local outs = n.node.outputs
    for i = 1, outs.n do model.order_of[outs[i]] = order end
  end
end

local function collect(model, parts)
  local alias = {}
  model.alias, model.bodies, model.body_use, model.stands_for = alias, {}, {}, {}
  function model.filter(nodes) return filter_nodes(model, nodes) end
  function model.resolve(v)
    while alias[v] do v = alias[v] end
    return v
  end
  model.sizes = {}
  function model.is_size(v) return model.sizes[v] end
  for _, v in ipairs(parts.inputs) do
    if core.field(v, "kind") == "symint" and core.signature(v).expr ~= nil then model.sizes[v] = true end
  end
  model.order_of, model.kept = {}, {}
  local nodes = filter_nodes(model, parts.nodes)
  for i, node in ipairs(nodes) do nodes[i] = { node = node } end
  set_nodes(model, nodes)
end

local function operands_of(n)
  if n.layer then return n.layer.inputs end
  return n.node.inputs
end

local function each_symbol(dim, fn)
  if not core.is_dim(dim) then return end
  if dim.kind == "symbol" then return fn(dim.name) end
  for _, x in ipairs(dim.args) do each_symbol(x, fn) end
end

-- The symbols of sizes among an item of a call.
local function symbols_of(model, item, fn)
  local x = item.value
  if item.kind == "list" then
    for _, part in ipairs(x) do symbols_of(model, part, fn) end
  elseif core.is_dim(x) then
    each_symbol(x, fn)
  elseif core.is_value(x) and model.is_size(x) then
    each_symbol(core.signature(x).expr, fn)
  end
end

-- A result that nobody reads is kept where a size that is needed can be read off nothing before. Returns whether that
-- is so of any node that would have gone.
local function keep_shapes(model, inputs)
  local shown, first, found = {}, {}, false
  local function each_size(v, fn)
    if core.field(v, "kind") ~= "tensor" or not core.field(v, "known_rank") then return end
    for _, dim in ipairs(core.field(v, "shape")) do each_symbol(dim, fn) end
  end
  for _, v in ipairs(inputs) do
    local function show(name) shown[name] = true end
    each_size(v, show)
    each_symbol(core.signature(v).expr, show)
  end
  for _, n in ipairs(model.nodes) do
    local outs = n.node.outputs
    for i = 1, outs.n do
      local v = outs[i]
      each_size(v, function(name)
        found = found or not shown[name]
        first[name] = first[name] or v
      end)
    end
  end
  if not found then return false end
  local again = false
  local function need(name)
    local v = first[name]
    if shown[name] or not v then return end
    again = again or not model.nodes[model.order_of[v]].live
    model.last_use[v], shown[name] = model.last_use[v] or model.order_of[v], true
    model.kept[v] = true
  end
  for _, n in ipairs(model.nodes) do
    for _, item in ipairs(n.live and core.call(n.node) or {}) do symbols_of(model, item, need) end
    for i = 1, n.live and n.node.outputs.n or 0 do
      local v = n.node.outputs[i]
      if model.last_use[v] then each_size(v, function(name) shown[name] = true end) end
    end
  end
  return again
end

-- Which values are read, and the number of the last node that reads each.
local function find_uses(model, parts)
  model.last_use = {}
  local last = model.last_use
  model.result_index = {}
  for i, o in ipairs(parts.outputs) do
    if o.tensor and not o.spec:find("MUTATION") then
      last[model.resolve(o.tensor)] = math.huge
      model.result_index[model.resolve(o.tensor)] = i
    end
  end
  for _, w in ipairs(model.writes) do
    local v = model.resolve(w.value)
    last[v] = last[v] or model.order_of[v] or 0
  end
  for v in pairs(model.body_use) do
    v = model.resolve(v)
    if not model.order_of[v] and not model.weights[v] then last[v] = math.huge end
  end
  for v in pairs(model.kept) do last[v] = last[v] or model.order_of[v] end
  for order = #model.nodes, 1, -1 do
    local n = model.nodes[order]
    local outs, live = n.node.outputs, n.node.outputs.n == 0
    for i = 1, outs.n do live = live or last[model.resolve(outs[i])] ~= nil end
    n.live = live
    local operands = live and operands_of(n) or {}
    for i = 1, operands.n or #operands do
      if core.is_value(operands[i]) then
        local v = model.resolve(operands[i])
        if not last[v] or last[v] < order then last[v] = order end
      end
    end
  end
  if keep_shapes(model, parts.inputs) then find_uses(model, parts) end
end

-- Nodes that nobody needs are taken out before calls are formed.
local function drop_dead(model)
  local kept = {}
  for _, n in ipairs(model.nodes) do
    if n.live then kept[#kept + 1] = n end
  end
  set_nodes(model, kept)
end

-- ---- layers ----

local function nn_class(call)
  return call.type:match("^torch%.nn%.modules%.[%w_]+%.([%w_]+)$")
end

-- The module that owns all weights of a layer under their roles, as near to the call as there is.
local function owner_of(model, weights, chain)
  local role, v = next(weights)
  local w = model.weights[model.resolve(v)]
  if not w or w.constant then return nil end
  local best
  for _, name in ipairs(w.names) do
    local owner, leaf = split_path(name)
    local fits = leaf == role
    for other, value in pairs(weights) do
      local known = model.weights[model.resolve(value)]
      local has = false
      for _, alias in ipairs(known and known.names or {}) do
        has = has or alias == (owner == "" and other or owner .. "." .. other)
      end
      fits = fits and has
    end
    if fits and tree.under(owner, chain[#chain].path) then return owner end
    if fits then best = best or owner end
  end
  return best
end

-- Whether the call does nothing but this node; values that the layer makes itself do not count.
local function is_alone(model, call, n, spec)
  local absorbed = {}
  for _, v in ipairs(spec.absorbs or {}) do absorbed[v] = true end
  for order = call.first, call.last do
    local other = model.nodes[order]
    if other ~= n and not (other.node.outputs.n == 1 and absorbed[other.node.outputs[1]]) then return false end
  end
  return true
end

-- A layer's weights in a fixed order: { role, weight }; nil where one is none of the model's.
local function weights_of(model, spec)
  local out = {}
  for role, v in pairs(spec.weights) do
    local w = model.weights[model.resolve(v)]
    if not w or w.constant then return nil end
    out[#out + 1] = { role = role, weight = w }
  end
  table.sort(out, function(x, y) return x.role < y.role end)
  return out
end

-- The module that a call says it is (a class of its own may be of the kind; of a call without a class it is all that
-- the call does), or that one of the layer's weights is named for.
local function named_owner(model, n, weights, spec, leaf)
  local m = model.modules[leaf.path]
  local kind = spec.class:match("[^%.]+$"):match("^%a+")
  if spec.class == "nn." .. (nn_class(leaf) or "") then return leaf.path end
  if not m or #m.tensors == 0 and #m.order == 0 then
    if leaf.type:match("[^%.]*$"):find(kind, 1, true) then return leaf.path end
    if leaf.type == "" and is_alone(model, leaf, n, spec) then return leaf.path end
  end
  for _, item in ipairs(weights) do
    for _, name in ipairs(item.weight.names) do
      local owner, last = split_path(name)
      if last == item.role and owner ~= "" and tree.under(owner, leaf.path) then return owner end
    end
  end
end

-- Exporters write equal weights once, by the name of one of their modules. The others get theirs here, tied to it.
local function adopt(model, n, spec, leaf)
  local weights = weights_of(model, spec)
  local path = weights and leaf.path ~= "" and named_owner(model, n, weights, spec, leaf)
  if not path then return nil end
  local known = model.modules[path]
  for _, item in ipairs(weights) do
    item.name = path .. "." .. item.role
    item.has = known and known.tensor[item.role]
    if item.has and not util.contains(item.weight.names, item.name) then return nil end
  end
  for _, item in ipairs(weights) do
    if not item.has then
      local names = item.weight.names
      local outer, last = split_path(names[1])
      local first = model.modules[outer].tensor[last]
      local buffer = item.role:find("^running_") ~= nil
      add_tensor(model, item.name, { parameter = first.parameter and not buffer, shape = first.shape,
        dtype = first.dtype, persistent = true })
      names[#names + 1] = item.name
      if buffer then -- which training changes: a tensor of its own
        model.weight_list[#model.weight_list + 1] = { item.name, item.weight.value }
      else
        model.tied[#model.tied + 1] = { item.name, names[1] }
      end
    end
  end
  return path
end

local function only_has(m, weights, optional)
  if #m.order > 0 then return false end
  for _, tensor in ipairs(m.tensors) do
    if not weights[tensor.leaf] and tensor.leaf ~= optional then return false end
  end
  return true
end

local function layer_text(spec)
  local parts = {}
  for _, arg in ipairs(spec.args or {}) do
    parts[#parts + 1] = { sub = pyrules.literal(arg[2], arg[1]), prec = text.TERNARY }
  end
  for _, arg in ipairs(spec.kwargs or {}) do
    local value, default = arg[2], arg[3]
    if value ~= nil and value ~= default then
      parts[#parts + 1] = { sub = text.atom(arg[1] .. "=", { sub = pyrules.literal(value, arg[1]) }) }
    end
  end
  local e = text.join(parts, ", ")
  table.insert(e, 1, spec.class .. "(")
  e[#e + 1] = ")"
  return e
end

local function plain_text(e) return text.render(e, { name = tostring }) end

local function weight_dtype(model, weights)
  local _, v = next(weights)
  return v and model.weights[model.resolve(v)].dtype
end

local function find_layer(model, n)
  local leaf = n.chain[#n.chain]
  local kind = nn_class(leaf)
  local spec = pyrules.layer(n.node, kind, model.resolve)
  if not spec then return end
  local said = kind and spec.class == "nn." .. kind -- what else the call does was put round it: it is the caller's
  local path
  if spec.weights and next(spec.weights) then
    path = owner_of(model, spec.weights, n.chain)
    if not path or not tree.under(path, leaf.path) then path = adopt(model, n, spec, leaf) or path end
    if not path or not only_has(model.modules[path], spec.weights, spec.optional) then return end
    local dtype = weight_dtype(model, spec.weights)
    if dtype ~= "float32" then spec.kwargs[#spec.kwargs + 1] = { "dtype", "torch." .. dtype } end
  else
    if not said then return end
    path = leaf.path
  end
  local own = leaf.path == path
  if path == "" or (own and not said and not is_alone(model, leaf, n, spec)) then return end
  if not own and tree.under(leaf.path, path) then return end
  local m = module_at(model, path)
  local e = layer_text(spec)
  if m.layer and plain_text(m.layer) ~= plain_text(e) then return end
  m.layer, m.kind = e, "layer"
  n.layer = spec
  spec.path = path
  if own then leaf.bad = true end
end

-- A call that contains a layer from elsewhere is part of its caller.
local function check_layer(n)
  local function check(path_of)
    for i = #n.chain, 2, -1 do
      if not path_of(n.chain[i].path) then n.chain[i].bad = true end
    end
  end
  if n.layer then check(function(path) return tree.under(n.layer.path, path) end) end
end

-- Whether a function can reach a weight through its own module; else it is an input.
local function is_inside(fn, w)
  if w.constant then return true end
  for _, name in ipairs(w.names) do
    if tree.under(name, fn.call.path) then return true end
  end
  return false
end

-- ---- access ----

local function is_number(name) return name:find("^%d+$") ~= nil end

local function all_numbers(m)
  for _, name in ipairs(m.order) do
    if not is_number(name) then return false end
  end
  return #m.order > 0
end

local function highest(m)
  local n = -1
  for _, name in ipairs(m.order) do n = math.max(n, tonumber(name)) end
  return n
end

local function kind_of(m)
  if m.kind then return m.kind end
  if m.fn or m.path == "" then
    m.kind = "class"
  elseif #m.tensors > 0 or not all_numbers(m) then
    m.kind = "holder"
  elseif highest(m) + 1 == #m.order or ((m.type or "") ~= "" and highest(m) < 4 * #m.order) then
    m.kind = "list"
  else
    m.kind = "dict"
  end
  return m.kind
end

M.kind_of = kind_of

local function step(m, name)
  local kind = kind_of(m)
  if kind == "list" or (kind == "sequential" and is_number(name)) then return "[" .. name .. "]" end
  if kind == "dict" then return '["' .. name .. '"]' end
  if text.is_identifier(name) then return "." .. name end
  return nil
end

-- "self.layers[0].conv" for the path of a module inside of another one.
local function access(model, from, path)
  local out = "self"
  local m = model.modules[from]
  local rest = from == "" and path or path:sub(#from + 2)
  for name in rest:gmatch("[^%.]+") do
    local next_step
    if m.path ~= from then
      next_step = step(m, name)
    elseif text.is_identifier(name) then
      next_step = "." .. name
    end
    out = next_step and out .. next_step or string.format('getattr(%s, "%s")', out, name)
    m = m.children[name]
  end
  return out
end

-- A constant is a buffer of each module that uses it.
local function constant_leaf(fn, w)
  w.leaves = w.leaves or {}
  local m = fn.module
  if w.leaves[m] then return w.leaves[m] end
  local i, leaf = 1, "constant"
  while m.tensor[leaf] or m.children[leaf] do
    i = i + 1
    leaf = "constant_" .. i
  end
  w.leaves[m] = leaf
  local name = m.path == "" and leaf or m.path .. "." .. leaf
  add_tensor(fn.model, name, { shape = w.shape, dtype = w.dtype, persistent = false })
  fn.model.weight_list[#fn.model.weight_list + 1] = { name, w.value }
  fn.constants = fn.constants or {}
  fn.constants[leaf] = w
  return leaf
end

local function weight_access(fn, w)
  local model, from = fn.model, fn.call.path
  if w.constant then return "self." .. constant_leaf(fn, w) end
  for _, name in ipairs(w.names) do
    if tree.under(name, from) then
      local outer, leaf = split_path(name)
      local prefix = outer == from and "self" or access(model, from, outer)
      return text.is_identifier(leaf) and prefix .. "." .. leaf or string.format('getattr(%s, "%s")', prefix, leaf)
    end
  end
  core.decline("the weight " .. w.names[1] .. " is used outside of its module")
end

-- ---- methods ----

-- Items one behind the other, each a module of its own directly in this one.
local function chain_of(model, call)
  local m = model.modules[call.path]
  local used, last_index = {}, -1
  local value
  if #m.tensors > 0 then return nil end
  for _, item in ipairs(call.items) do
    local path = item.call and item.path or (item.layer and item.layer.path)
    local outer, name = split_path(path or "")
    if not path or outer ~= call.path or used[name] or (item.node and item.node.autocast) then return nil end
    used[name] = true
    if is_number(name) then
      if tonumber(name) <= last_index then return nil end
      last_index = tonumber(name)
    end
    local ins = item.call and item.fn.inputs or item.layer.inputs
    if #ins ~= 1 or (item.call and (#item.fn.sizes > 0 or #item.fn.outputs ~= 1)) then return nil end
    if value and model.resolve(ins[1]) ~= value then return nil end
    value = item.call and item.fn.outputs[1] or model.resolve(item.node.outputs[1])
    if not item.call and item.node.outputs.n ~= 1 then return nil end
  end
  for _, name in ipairs(m.order) do
    if not used[name] then return nil end
  end
  return value
end

local function is_sequential(model, call, fn)
  local m = model.modules[call.path]
  if #m.order == 0 or #fn.outputs ~= 1 or #fn.inputs ~= 1 then return false end
  local wanted = call.type:find("Sequential$") or all_numbers(m)
  return wanted and chain_of(model, call) == fn.outputs[1]
end

-- Something so short that its caller may as well say it: an activation of the user's own class.
local function is_trivial(m, fn)
  if #m.order > 0 or #m.tensors > 0 or #fn.sizes > 0 then return false end
  if #fn.statements > 0 or not fn.result or #fn.outputs ~= 1 then return false end
  return fn.call.parent == nil or not (fn.call.parent.type or ""):find("Sequential$")
end

local function function_text(fn)
  local lines = {}
  local how = { name = forward.numbering() }
  for _, v in ipairs(fn.inputs) do lines[#lines + 1] = how.name(v) end
  for _, v in ipairs(fn.sizes) do lines[#lines + 1] = how.name(v) end
  forward.lines(fn, how, function(line, depth) lines[#lines + 1] = depth .. line end)
  return table.concat(lines, "\n")
end

local function without(list, key, gone)
  local kept = {}
  for _, item in ipairs(list) do
    if not gone[item[key]] then kept[#kept + 1] = item end
  end
  return kept
end

-- Takes back what a method that will not stand has left outside of itself.
local function undo(model, fn)
  for _, w in ipairs(model.writes) do
    if w.done == fn then w.done = nil end
  end
  if not fn.constants then return end
  local m, names = fn.module, {}
  for leaf, w in pairs(fn.constants) do
    names[m.tensor[leaf].name] = true
    m.tensor[leaf], w.leaves[m] = nil, nil
  end
  m.tensors = without(m.tensors, "leaf", fn.constants)
  model.weight_list = without(model.weight_list, 1, names)
end

-- A call of a module of torch.nn that is more than one operator.
local function as_whole(model, call)
  local m = model.modules[call.path]
  if nn_class(call) ~= "MultiheadAttention" or not call.fn then return nil end
  local item, e = pywhole.attention(model, call)
  if not item or (m.layer and plain_text(m.layer) ~= plain_text(e)) then return nil end
  if m.kind and m.kind ~= "layer" and m.kind ~= "class" then return nil end
  m.layer, m.kind = e, "layer"
  return item
end

local function build_call(model, call)
  local items = {}
  for _, item in ipairs(call.items) do
    if item.call then
      build_call(model, item)
      local whole = as_whole(model, item)
      if whole then
        undo(model, item.fn)
        item = whole
      elseif item.bad then
        for _, x in ipairs(item.items) do items[#items + 1] = x end
        goto next
      end
    end
    items[#items + 1] = item
    ::next::
  end
  call.items = items
  if call.path == "" then return end
  local m = module_at(model, call.path)
  m.type = m.type or call.type
  local fn = forward.build(model, call)
  call.fn = fn
  local same = function_text(fn)
  if m.fn then
    call.bad = m.same ~= same
  elseif m.kind and m.kind ~= "sequential" then
    call.bad = true
  elseif is_sequential(model, call, fn) then
    m.kind, m.fn, m.same = "sequential", fn, same
  elseif all_numbers(m) or is_trivial(m, fn) or #fn.outputs == 0 then
    call.bad = true
  else
    m.fn, m.same = fn, same
  end
  if call.bad then undo(model, fn) end
end

-- Children stand as in state_dict; those without state behind the one that is called before them. In a Sequential the
-- calls alone give the order.
local function place_children(m)
  local called, seen = {}, {}
  for _, item in ipairs(m.fn and m.fn.call.items or {}) do
    local outer, name = split_path(item.call and item.path or (item.layer and item.layer.path) or "")
    if outer == m.path and m.children[name] and not seen[name] then
      seen[name] = true
      called[#called + 1] = name
    end
  end
  if m.kind == "sequential" then
    m.order = called
    return
  end
  local order, placed = {}, {}
  local function has_state(c)
    if #c.tensors > 0 then return true end
    for _, name in ipairs(c.order) do
      if has_state(c.children[name]) then return true end
    end
    return false
  end
  for _, name in ipairs(m.order) do
    if has_state(m.children[name]) or not seen[name] then
      order[#order + 1] = name
      placed[name] = true
    end
  end
  for i, name in ipairs(called) do
    if not placed[name] then
      local at = 1
      for j, other in ipairs(order) do
        if i > 1 and other == called[i - 1] then at = j + 1 end
      end
      table.insert(order, at, name)
      placed[name] = true
    end
  end
  m.order = order
end

-- ---- the model's own method ----

local function user_inputs(model, parts)
  local out = {}
  for _, v in ipairs(parts.inputs) do
    local given = core.field(v, "kind") ~= "object" or core.field(v, "container") -- a list, or None
    if not model.weights[v] and given then out[#out + 1] = v end
  end
  return out
end

local function output_leaf(ctx, o)
  if o.tensor then return { sub = ctx.value(o.tensor), prec = text.TERNARY } end
  if o.kind == "none" then return "None" end
  if o.kind == "string" then return text.quote(o.value) end
  if o.kind == "bool" then return o.value and "True" or "False" end
  return text.number(o.value)
end

local function result_of(program, parts)
  local leaves = {}
  for _, o in ipairs(parts.outputs) do
    if o.spec == "USER_OUTPUT" or o.spec == "LOSS_OUTPUT" then leaves[#leaves + 1] = o end
  end
  if #leaves == 0 then return nil end
  return function(ctx)
    local items = {}
    for i, o in ipairs(leaves) do items[i] = output_leaf(ctx, o) end
    return pyfile.structure(program.out_spec, items)
  end
end

local function find_writes(model, parts)
  local by_target = {}
  for _, v in ipairs(parts.inputs) do
    local s = core.signature(v)
    by_target[s.target or core.field(v, "name")] = v
  end
  model.writes = {}
  for _, o in ipairs(parts.outputs) do
    if o.spec:find("MUTATION") and o.tensor then
      local v = by_target[o.target]
      model.writes[#model.writes + 1] = { value = o.tensor, target = o.target, weight = model.weights[v],
        input = not model.weights[v] and v or nil }
    end
  end
end

-- Whether the model is its numbered modules one behind the other: then it is an nn.Sequential itself.
local function is_chain(model, root, inputs, parts, program)
  local m = model.modules[""]
  if #m.order == 0 or not all_numbers(m) or #inputs ~= 1 or #parts.outputs ~= 1 then return false end
  local spec, output = pyfile.spec(program.out_spec), parts.outputs[1].tensor
  if (spec and spec.type) or core.field(inputs[1], "name") ~= "input" or highest(m) > 2 * #m.order then return false end
  return output ~= nil and chain_of(model, root) == model.resolve(output)
end

-- Whether modules are said; by names of nodes alone only where these fit those of the weights: a graph that was traced
-- before it was exported has its nodes far above the modules that the weights are of.
local function modules_are_known(model)
  if not tree.read_places(model.nodes) then return false end
  local fits = 0
  for _, n in ipairs(model.nodes) do
    local last = n.modules and n.modules[#n.modules]
    if last and last.type ~= "" then return true end
    local ins = n.node.inputs
    for i = 1, ins.n do
      local v = ins[i]
      local w = core.is_value(v) and model.weights[model.resolve(v)]
      local owner = w and not w.constant and split_path(w.names[1]) or ""
      local path = last and last.path or ""
      if owner ~= "" and tree.under(owner, path) then fits = fits + (owner == path and 1 or -1) end
    end
  end
  if fits >= 0 then return true end
  for _, n in ipairs(model.nodes) do n.modules = nil end
  return false
end

--- Python source of a program, and the weights it loads.
function M.write(program)
  pyrules.start()
  local parts = core.parts(program.graph)
  local model = { modules = {}, by_name = {}, program = program, comments = program.comments }
  module_at(model, "").type = "Model"
  read_state(model, program, parts.inputs)
  mark_inline(model)
  collect(model, parts)
  find_writes(model, parts)
  find_uses(model, parts)
  drop_dead(model)
  if not modules_are_known(model) then
    local all = { path = "", type = "Model", first = 1, last = #model.nodes }
    for _, n in ipairs(model.nodes) do
      n.chain = { all }
      find_layer(model, n)
    end
    pyscope.guess(model, model.nodes)
  end
  local spread = pyshared.spread(model)
  if spread then set_nodes(model, spread) end
  local root = tree.build(model.nodes)
  for _, n in ipairs(model.nodes) do
    if not n.layer then find_layer(model, n) end
  end
  for _, n in ipairs(model.nodes) do
    for _, body in ipairs(pyflow.bodies_of(model, n.node)) do
      for _, item in ipairs(body.items) do
        item.chain = n.chain
        find_layer(model, item)
      end
    end
  end
  find_uses(model, parts)
  for _, n in ipairs(model.nodes) do check_layer(n) end
  tree.set_depth(root, model.nodes)
  tree.dissolve(root, function(call) return call.bad or call.split end)
  model.module_access = function(fn, path) return access(model, fn.call.path, path) end
  model.kind_of = kind_of
  model.weight_access, model.is_inside = weight_access, is_inside
  model.hint = function(v)
    local order = model.order_of[v]
    local n = order and model.nodes[order]
    local names
    for i = n and #n.chain or 0, 1, -1 do
      names = names or tree.hints(n, n.chain[i])
    end
    if model.weights[v] then return (model.weights[v].target:match("([^%.]+)$")) end
    return names and names[1] or (core.is_value(v) and not n and core.field(v, "name")) or "y"
  end
  build_call(model, root)
  local inputs = user_inputs(model, parts)
  root.type = "Model"
  local fn = forward.build(model, root, { inputs = inputs, result = result_of(program, parts) })
  if #fn.sizes > 0 then
    core.fail("E0302", "the size " .. fn.sizes[1].symbol .. " has no form in Python: nothing in the module shows it")
  end
  fn.input_names = {}
  for i, v in ipairs(inputs) do fn.input_names[i] = core.field(v, "name") end
  model.modules[""].fn = fn
  model.modules[""].is_chain = is_chain(model, root, inputs, parts, program)
  fn.take_apart = function(names)
    local given, used = {}, {}
    for i, v in ipairs(inputs) do
      given[i], used[i] = names[v], model.last_use[model.resolve(v)] ~= nil or model.sizes[v]
    end
    return pyfile.nested_inputs(program.in_spec, given, used)
  end
  for _, m in pairs(model.modules) do place_children(m) end
  model.helpers = pyrules.helpers()
  local classes = pyclass.build(model, kind_of, access)
  return pyfile.write(model, classes), model.weight_list
end

return M
