-- lua/t2o/pyclass.lua: modules that do the same as one class, whose constructor takes what differs.
--
-- A module's text has slots where literals stand. Modules with equal text around the slots are instances of one class;
-- a slot whose literals differ between instances becomes a parameter, slots that always agree share one.

local text = require("t2o.pytext")
local forward = require("t2o.pyforward")

local M = {}

local function is_number(name) return name:find("^%d+$") ~= nil end

-- ---- constructors ----

local constructor

-- A module that nothing is left of: its calls became part of their callers.
local function is_empty(m)
  if #m.tensors > 0 or m.fn or m.layer then return false end
  for _, name in ipairs(m.order) do
    if not is_empty(m.children[name]) then return false end
  end
  return true
end

local function children_in_order(m)
  local out = {}
  for _, name in ipairs(m.order) do
    if not is_empty(m.children[name]) then out[#out + 1] = m.children[name] end
  end
  if m.kind == "sequential" or m.kind == "list" or m.kind == "dict" then
    local numbers = true
    for _, c in ipairs(out) do numbers = numbers and is_number(c.name) end
    if numbers then table.sort(out, function(a, b) return tonumber(a.name) < tonumber(b.name) end) end
    return out, numbers
  end
  return out, false
end

local function with_gaps(build, children)
  local parts, at = {}, 0
  for _, c in ipairs(children) do
    while at < tonumber(c.name) do
      parts[#parts + 1] = "nn.Identity()"
      at = at + 1
    end
    parts[#parts + 1] = { sub = constructor(build, c), prec = text.TERNARY, item = true }
    at = at + 1
  end
  return parts
end

local function named(build, children, open, between)
  local parts = {}
  for _, c in ipairs(children) do
    parts[#parts + 1] = { sub = text.expr(text.TERNARY, open .. text.quote(c.name) .. between,
      { sub = constructor(build, c) }, open ~= "" and ")" or ""), prec = text.TERNARY }
  end
  return parts
end

function constructor(build, m)
  local kind = build.kind_of(m)
  if kind == "layer" then return m.layer end
  if kind == "class" or kind == "holder" then return text.atom({ instance = m }) end
  local children, numbers = children_in_order(m)
  local e
  if kind == "dict" then
    e = text.join(named(build, children, "", ": "), ", ")
    return text.atom("nn.ModuleDict({", { sub = e }, "})")
  end
  if kind == "list" then
    return text.atom("nn.ModuleList([", { sub = text.join(with_gaps(build, children), ", ") }, "])")
  end
  if numbers then return text.atom("nn.Sequential(", { sub = text.join(with_gaps(build, children), ", ") }, ")") end
  e = text.join(named(build, children, "(", ", "), ", ")
  return text.atom("nn.Sequential(OrderedDict([", { sub = e }, "]))")
end

-- ---- tensors ----

local function shape_expr(tensor)
  local sizes = {}
  for i, d in ipairs(tensor.shape) do sizes[i] = tostring(d) end
  if #sizes == 0 then return text.atom("()") end
  if #sizes == 1 then return text.atom({ lit = sizes[1], name = tensor.leaf .. "_size" }) end
  return text.atom({ lit = "(" .. table.concat(sizes, ", ") .. ")", name = tensor.leaf .. "_shape" })
end

local function is_float(dtype) return dtype:find("float") or dtype:find("complex") end

local function tensor_line(tensor)
  local dtype = tensor.dtype ~= "float32" and ", dtype=torch." .. tensor.dtype or ""
  local zeros = { sub = text.atom("torch.zeros(", { sub = shape_expr(tensor) }, dtype .. ")") }
  local own = text.is_identifier(tensor.leaf) and not is_number(tensor.leaf)
  if tensor.parameter then
    local frozen = is_float(tensor.dtype) and "" or ", requires_grad=False"
    if own then return text.atom("self." .. tensor.leaf .. " = nn.Parameter(", zeros, frozen .. ")") end
    return text.atom("self.register_parameter(" .. text.quote(tensor.leaf) .. ", nn.Parameter(", zeros, frozen .. "))")
  end
  local persistent = tensor.persistent and "" or ", persistent=False"
  return text.atom("self.register_buffer(" .. text.quote(tensor.leaf) .. ", ", zeros, persistent .. ")")
end

-- ---- the text of one module ----

-- Statements of the constructor, each an expression.
local function init_lines(build, m)
  local out = {}
  if m.is_chain then
    m.kind = "sequential"
    local children = children_in_order(m)
    m.kind = "class"
    return { text.atom("super().__init__(", { sub = text.join(with_gaps(build, children), ", ") }, ")") }
  end
  for _, tensor in ipairs(m.tensors) do out[#out + 1] = tensor_line(tensor) end
  for _, c in ipairs(children_in_order(m)) do
    local e = constructor(build, c)
    if text.is_identifier(c.name) then
      out[#out + 1] = text.atom("self." .. c.name .. " = ", { sub = e })
    else
      out[#out + 1] = text.atom("self.add_module(" .. text.quote(c.name) .. ", ", { sub = e }, ")")
    end
  end
  for _, tie in ipairs(m.ties or {}) do out[#out + 1] = text.atom(tie) end
  return out
end

-- All of a module's text with what stands in its slots, in order.
local function skeleton_of(m, lines)
  local slots, out = {}, {}
  local names = forward.numbering()
  local how = { name = names }
  function how.literal(part)
    slots[#slots + 1] = part
    return "\1"
  end
  function how.instance(part)
    slots[#slots + 1] = part
    return "\2" .. part.instance.class.id .. "("
  end
  for _, e in ipairs(lines) do out[#out + 1] = text.render(e, how) end
  for _, slot in ipairs(slots) do slot.in_init = true end
  if m.fn then
    out[#out + 1] = "forward"
    for _, v in ipairs(m.fn.inputs) do out[#out + 1] = names(v) end
    for _, v in ipairs(m.fn.sizes) do out[#out + 1] = names(v) end
    forward.lines(m.fn, how, function(line, depth) out[#out + 1] = depth .. line end)
  end
  return table.concat(out, "\n"), slots
end

local function class_name(m)
  local name = m.type and m.type:match("([%w_]+)[^%w_]*$")
  if name and name:find("^[%a_]") then return name end
  local leaf, in_list = m, false
  while leaf.name and is_number(leaf.name) do leaf, in_list = leaf.parent, true end
  name = (leaf.name or ""):gsub("%d+$", "")
  if in_list then name = name:gsub("s$", "") end
  return #name < 3 and in_list and "Block" or text.camel(name)
end

local function add_class(build, m)
  local lines = init_lines(build, m)
  local skeleton, slots = skeleton_of(m, lines)
  local known = m.type and m.type ~= "" -- else its name is a guess, and no reason to keep equal ones apart
  local key = (known and class_name(m) or "") .. "\n" .. skeleton
  local class = build.by_key[key]
  if not class then
    class = { id = #build.classes + 1, base = class_name(m), instances = {}, first = m }
    build.by_key[key] = class
    build.classes[class.id] = class
  end
  m.class, m.lines, m.slots = class, lines, slots
  class.instances[#class.instances + 1] = m
end

-- Inner modules first. Modules without state that nothing calls are left out.
local function visit(build, m)
  for _, name in ipairs(m.order) do visit(build, m.children[name]) end
  if is_empty(m) and m.path ~= "" then return end
  local kind = build.kind_of(m)
  if kind == "class" or kind == "holder" then add_class(build, m) end
end

-- ---- parameters ----

-- The columns of a class: for each slot what its instances have there. An instance of another class has a column for
-- each of that class's parameters.
local function columns_of(class)
  local columns = {}
  for i, slot in ipairs(class.first.slots) do
    if slot.instance then
      for _, p in ipairs(slot.instance.class.params) do
        local column = { slot = i, name = p.name, child = p, values = {} }
        for j, m in ipairs(class.instances) do column.values[j] = m.slots[i].instance.arguments[p] end
        columns[#columns + 1] = column
      end
    else
      local column = { slot = i, name = slot.name, in_init = slot.in_init, values = {} }
      for j, m in ipairs(class.instances) do column.values[j] = m.slots[i].lit end
      columns[#columns + 1] = column
    end
  end
  return columns
end

local function varies(values)
  for _, x in ipairs(values) do
    if x ~= values[1] then return true end
  end
  return false
end

local function find_params(class)
  class.params, class.by_slot = {}, {}
  local by_values, names = {}, {}
  for _, column in ipairs(columns_of(class)) do
    class.by_slot[column.slot] = class.by_slot[column.slot] or {}
    local key = table.concat(column.values, "\n")
    local p = by_values[key]
    if varies(column.values) and not p then
      local base = text.identifier(column.name or "size")
      local name, i = base, 1
      while names[name] or name == "self" do
        i = i + 1
        name = base .. "_" .. i
      end
      names[name] = true
      p = { name = name, values = column.values }
      by_values[key] = p
      class.params[#class.params + 1] = p
      for j, m in ipairs(class.instances) do
        m.arguments = m.arguments or {}
        m.arguments[p] = column.values[j]
      end
    end
    if p and varies(column.values) then
      p.in_forward = p.in_forward or (not column.child and not column.in_init)
      class.by_slot[column.slot][column.child or "lit"] = p
    end
  end
end

-- ---- the text of a class ----

-- How to render the text of a class by its first instance: slots in order, parameters by name.
local function renderer(class, names)
  local at = 0
  local how = { name = names }
  local function next_slot()
    at = at + 1
    return class.by_slot[at] or {}, class.first.slots[at]
  end
  function how.literal(part)
    local params = next_slot()
    local p = params.lit
    if not p then return part.lit end
    return part.in_init and p.name or "self." .. p.name
  end
  function how.instance()
    local params, slot = next_slot()
    local child, args = slot.instance.class, {}
    for _, p in ipairs(child.params) do
      args[#args + 1] = params[p] and params[p].name or slot.instance.arguments[p]
    end
    return child.name .. "(" .. table.concat(args, ", ") .. ")"
  end
  return how
end

-- "nn.ModuleList([A(1), A(1), A(1)])" in the form of a loop.
local function shorten(line)
  local head, inner, tail = line:match("^(.-nn%.ModuleList%()%[(.*)%](%)+)$")
  local star = ""
  if not head then
    head, inner, tail = line:match("^(.-nn%.Sequential%()(.*)(%))$")
    star = "*"
  end
  if not head or inner:find("OrderedDict", 1, true) then return line end
  local items = text.split_commas(inner)
  if #items < 3 then return line end
  for _, item in ipairs(items) do
    if item ~= items[1] then return line end
  end
  if star == "" then
    return string.format("%s%s for _ in range(%d)%s", head, items[1], #items, tail)
  end
  return string.format("%s*(%s for _ in range(%d))%s", head, items[1], #items, tail)
end

local function add_init(class, how, out)
  local names = { "self" }
  for _, p in ipairs(class.params) do names[#names + 1] = p.name end
  if #class.first.lines == 0 and #class.params == 0 then return end
  text.layout("def __init__(" .. table.concat(names, ", ") .. "):", "    ", out)
  if not class.first.is_chain then out[#out + 1] = "        super().__init__()" end
  for _, p in ipairs(class.params) do
    if p.in_forward then out[#out + 1] = "        self." .. p.name .. " = " .. p.name end
  end
  for _, e in ipairs(class.first.lines) do
    text.layout(shorten(text.render(e, how)), "        ", out)
  end
  out[#out + 1] = ""
end

local function add_forward(class, how, names, out)
  local fn = class.first.fn
  if not fn or class.first.is_chain then
    if out[#out] == "" then out[#out] = nil end
    return
  end
  local args = { "self" }
  local params, head
  if fn.take_apart then params, head = fn.take_apart(names) end
  for _, v in ipairs(fn.inputs) do args[#args + 1] = not params and names[v] or nil end
  for _, name in ipairs(params or {}) do args[#args + 1] = name end
  for _, v in ipairs(fn.sizes) do args[#args + 1] = names[v] end
  text.layout("def forward(" .. table.concat(args, ", ") .. "):", "    ", out)
  local before = #out
  for _, line in ipairs(head or {}) do text.layout(line, "        ", out) end
  forward.lines(fn, how, function(line, depth)
    text.layout(line, string.rep("    ", depth + 2), out)
  end)
  if #out == before then out[#out + 1] = "        return None" end
end

local function class_text(class)
  local names = class.first.fn and forward.names(class.first.fn) or {}
  local how = renderer(class, function(v) return names[v] or "?" end)
  how.comments = class.first.fn and class.first.fn.model.comments
  local out = { "class " .. class.name .. (class.first.is_chain and "(nn.Sequential):" or "(nn.Module):") }
  add_init(class, how, out)
  add_forward(class, how, names, out)
  if #out == 1 then out[2] = "    pass" end
  return table.concat(out, "\n")
end

local TAKEN = { torch = true, nn = true, F = true, OrderedDict = true, Path = true, json = true, math = true,
  Model = true }

local function give_names(classes, helpers)
  local taken = {}
  for _, source in ipairs(helpers) do taken[source:match("^def ([%w_]+)")] = true end
  for _, class in ipairs(classes) do
    local base = class.first.path == "" and "Model" or text.identifier(class.base)
    local name, i = base, 1
    while taken[name] or (TAKEN[name] and class.first.path ~= "") do
      i = i + 1
      name = base .. i
    end
    taken[name] = true
    class.name = name
  end
end

--- The text of all classes, inner ones first.
function M.build(model, kind_of, access)
  local build = { classes = {}, by_key = {}, kind_of = kind_of }
  for _, tie in ipairs(model.tied) do M.add_tie(model, tie, kind_of, access) end
  visit(build, model.modules[""])
  give_names(build.classes, model.helpers)
  local out = {}
  for _, class in ipairs(build.classes) do
    find_params(class)
    class.text = class_text(class)
    out[#out + 1] = class.text
  end
  return out
end

-- The innermost module that holds both and has a constructor of its own ties them.
function M.add_tie(model, tie, kind_of, access)
  local function owner(name) return name:match("^(.*)%.[^%.]+$") or "" end
  local function leaf(name) return name:match("([^%.]+)$") end
  local path = owner(tie[1])
  local function inside(name) return path == "" or name:sub(1, #path + 1) == path .. "." end
  while path ~= "" and not (inside(tie[1]) and inside(tie[2])
    and (kind_of(model.modules[path]) == "class" or kind_of(model.modules[path]) == "holder")) do
    path = owner(path)
  end
  local function place(name)
    local o = owner(name)
    return (o == path and "self" or access(model, path, o)) .. "." .. leaf(name)
  end
  local m = model.modules[path]
  m.ties = m.ties or {}
  m.ties[#m.ties + 1] = place(tie[1]) .. " = " .. place(tie[2])
end

return M
