-- lua/t2o/pyscope.lua: modules of nodes where the graph does not say them: guessed from the names of the weights.
--
-- A layer's node is in the module that holds the layer. What has no weights is where its neighbours are: between two
-- nodes of one module in it, else in what holds both. Two exceptions: what only works on what a module made and was
-- given belongs to that module, up to what several others read (the sum and the activation at the end of a residual
-- block); and what works on one value and is read in the next module only belongs to that one (what stands before the
-- weight of a norm).

local core = require("t2o.core")

local M = {}

local function parent(path) return path:match("^(.*)%.[^%.]+$") or "" end

local function common(a, b)
  while a ~= "" and not (b == a or b:sub(1, #a + 1) == a .. ".") do a = parent(a) end
  return a
end

-- The module that the weights of a node speak for, or nil.
local function weighted_scope(model, n)
  if n.layer then return parent(n.layer.path) end
  local scope
  local ins = n.node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    local w = core.is_value(v) and model.weights[model.resolve(v)]
    if w and not w.constant then
      local owner = parent(w.names[1])
      scope = scope and common(scope, owner) or owner
    end
  end
  return scope
end

-- Operators that stand between the blocks of a network rather than in one.
local ENDS = { flatten = true, select = true, cat = true, slice = true }

local function is_of_block(node)
  local name = node.op:match("::([^%.]+)")
  return not (ENDS[name] or name:find("pool"))
end

-- What the visit of a module that is going on was given and has made.
local function new_visit(scope) return { scope = scope, known = {} } end

local function note(model, visit, n, with_operands)
  local outs = n.node.outputs
  for i = 1, outs.n do visit.known[model.resolve(outs[i])] = true end
  if not with_operands then return end
  local ins = n.node.inputs
  for i = 1, ins.n do
    if core.is_value(ins[i]) then visit.known[model.resolve(ins[i])] = true end
  end
end

local function works_on(model, visit, n)
  if not is_of_block(n.node) then return false end
  local ins = n.node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    if core.is_value(v) then
      v = model.resolve(v)
      if not visit.known[v] and not model.weights[v] and not model.is_size(v) then return false end
    end
  end
  return true
end

-- By a node's number: the module of the next node that is known to be in one.
local function next_scopes(nodes)
  local out, scope = {}, ""
  for i = #nodes, 1, -1 do
    out[i] = scope
    scope = nodes[i].scope or scope
  end
  return out
end

-- value -> the nodes that read it
local function readers_of(model, nodes)
  local out = {}
  for _, n in ipairs(nodes) do
    local ins = n.node.inputs
    for i = 1, ins.n do
      local v = ins[i]
      if core.is_value(v) then
        v = model.resolve(v)
        out[v] = out[v] or {}
        table.insert(out[v], n)
      end
    end
  end
  return out
end

local function readers(model, by_value, n)
  local out = {}
  local outs = n.node.outputs
  for i = 1, outs.n do
    for _, reader in ipairs(by_value[model.resolve(outs[i])] or {}) do out[#out + 1] = reader end
  end
  return out
end

local function is_inside(path, outer) return outer == "" or path == outer or path:sub(1, #outer + 1) == outer .. "." end

-- The ends of blocks; what is left is marked as between the modules around it.
local function spread(model, nodes, by_value)
  local visits = {} -- of the module that the last node was in and of those around it
  local last, ended, next_scope = "", false, next_scopes(nodes)
  for i, n in ipairs(nodes) do
    if n.scope then
      ended = false
    else
      local here = common(last, next_scope[i])
      local scope = ended and here or last
      while scope ~= here and not (visits[scope] and works_on(model, visits[scope], n)) do scope = parent(scope) end
      n.scope = scope
      n.between = scope == here
      ended = ended or #readers(model, by_value, n) > 1
    end
    for path in pairs(visits) do
      if not is_inside(n.scope, path) then visits[path] = nil end
    end
    local path = n.scope
    while path ~= "" do
      visits[path] = visits[path] or new_visit(path)
      note(model, visits[path], n, true)
      path = parent(path)
    end
    last = n.scope
  end
end

-- Adds a node before others to { count = number, [value] = true }: what they read and do not make.
local function add_external(model, external, n)
  local outs = n.node.outputs
  for i = 1, outs.n do
    local v = model.resolve(outs[i])
    if external[v] then external[v], external.count = nil, external.count - 1 end
  end
  local ins = n.node.inputs
  for i = 1, ins.n do
    local v = core.is_value(ins[i]) and model.resolve(ins[i])
    if v and not external[v] and not model.weights[v] and not model.is_size(v) then
      external[v], external.count = true, external.count + 1
    end
  end
end

-- The scope of all that reads a node's results, if it is one that goes on behind the node; nil where it is not.
local function scope_of_readers(model, by_value, n, set, scope)
  for _, reader in ipairs(readers(model, by_value, n)) do
    if not set[reader] then
      if reader.between or not is_inside(reader.scope, n.scope) then return nil end
      scope = common(scope, reader.scope)
    end
  end
  return scope ~= n.scope and is_inside(scope, n.scope) and scope or nil
end

-- The beginning of the module of node number q: the longest row of nodes before it that works on one value.
local function begin_at(model, nodes, q, by_value)
  local set, scope, scopes, best, external = {}, nodes[q].scope, {}, nil, { count = 0 }
  local i = q - 1
  while i >= 1 and nodes[i].between and is_of_block(nodes[i].node) do
    scope = scope_of_readers(model, by_value, nodes[i], set, scope)
    if not scope then break end
    set[nodes[i]], scopes[i] = true, scope
    add_external(model, external, nodes[i])
    if external.count <= 1 then best = i end
    i = i - 1
  end
  for j = best or q, q - 1 do nodes[j].scope = scopes[j] end
end

local function begin(model, nodes, by_value)
  for q = 2, #nodes do
    if not nodes[q].between and nodes[q - 1].between then begin_at(model, nodes, q, by_value) end
  end
end

local function modules_of(path)
  local out, at = {}, 1
  while at do
    local stop = path:find(".", at, true)
    local whole = stop and path:sub(1, stop - 1) or path
    if whole ~= "" then out[#out + 1] = { key = whole, path = whole, type = "" } end
    at = stop and stop + 1
  end
  return out
end

--- Gives every node of the list its modules; layers have been found.
function M.guess(model, nodes)
  for _, n in ipairs(nodes) do n.scope = weighted_scope(model, n) end
  local by_value = readers_of(model, nodes)
  spread(model, nodes, by_value)
  begin(model, nodes, by_value)
  for _, n in ipairs(nodes) do n.modules = modules_of(n.scope) end
end

return M
