-- lua/t2o/pytree.lua: the calls of modules that a flat graph was made from.
--
-- A call is { path, type, key, items, first, last }: the nodes with the numbers from first to last are its own or those
-- of calls in it. What cannot be a method of its module (it was interrupted, or uses weights from elsewhere) is part of
-- its caller.

local core = require("t2o.core")

local M = {}

-- "key,path,type;key,path,type": commas and semicolons in brackets belong to the type.
local function parse_stack(stack)
  local out, depth, start, entry = {}, 0, 1, {}
  for at, c in (stack .. ";"):gmatch("()([%(%[%)%],;])") do
    if c == "(" or c == "[" then depth = depth + 1 end
    if c == ")" or c == "]" then depth = depth - 1 end
    local ends = at > #stack or (c == ";" and depth <= 0)
    if ends or (c == "," and depth <= 0 and #entry < 2) then
      entry[#entry + 1] = stack:sub(start, at - 1)
      start = at + 1
    end
    if ends then
      if #entry == 3 then out[#out + 1] = { key = entry[1], path = entry[2], type = entry[3] } end
      entry = {}
    end
  end
  return out
end

--- Whether path is that of a module inside of another's, or is the same.
function M.under(path, outer)
  return outer == "" or path == outer or path:sub(1, #outer + 1) == outer .. "."
end

local stacks = {}

-- The modules that a node is in, outermost first, without the model itself; nil where nothing is known.
local function modules_of(stack)
  if not stack or stack == "" or stack:find("^_empty") then return nil end
  local known = stacks[stack]
  if known then return known end
  local out = {}
  for _, entry in ipairs(parse_stack(stack)) do
    if entry.path ~= "" then out[#out + 1] = entry end
  end
  stacks[stack] = out
  return out
end

local traces = {}

-- The lines of a stack trace, outermost first: { id, source }.
local function frames_of(trace)
  if not trace then return {} end
  local known = traces[trace]
  if known then return known end
  local out = {}
  for path, line, source in trace:gmatch('File "([^"\n]*)", line (%d+)[^\n]*\n%s*([^\n]*)') do
    out[#out + 1] = { id = path .. ":" .. line, source = source }
  end
  traces[trace] = out
  return out
end

local function open_calls(root, nodes)
  local open, closed = { root }, {}
  for _, n in ipairs(nodes) do
    local want = n.modules or {}
    if not n.modules then
      for i = 2, #open do want[i - 1] = open[i] end
    end
    local depth = 1
    while open[depth + 1] and want[depth] and open[depth + 1].key == want[depth].key do depth = depth + 1 end
    for i = #open, depth + 1, -1 do
      closed[open[i].key] = open[i]
      open[i] = nil
    end
    for i = depth, #want do
      local m = want[i]
      local call = { call = true, key = m.key, path = m.path, type = m.type, items = {}, parent = open[i] }
      local before = closed[m.key]
      if before then before.split, call.split = true, true end
      for j = 2, i do
        if not M.under(m.path, open[j].path) then open[j].split = true end
      end
      table.insert(open[i].items, call)
      open[i + 1] = call
    end
    table.insert(open[#open].items, n)
    n.chain = { table.unpack(open) }
    for _, call in ipairs(open) do
      call.first = call.first or n.order
      call.last = n.order
    end
  end
end

--- The number of frames that all nodes of a call have in common.
local function common_frames(call, nodes)
  local first
  local common
  for order = call.first, call.last do
    local frames = nodes[order].frames
    if #frames > 0 then
      first = first or frames
      common = common or #frames
      for i = 1, common do
        if not frames[i] or frames[i].id ~= first[i].id then
          common = i - 1
          break
        end
      end
    end
  end
  return common or 0
end

--- Puts the items of calls that cannot stand alone in their place.
function M.dissolve(call, is_bad)
  local out = {}
  for _, item in ipairs(call.items) do
    if item.call then
      M.dissolve(item, is_bad)
      if is_bad(item) then
        for _, x in ipairs(item.items) do
          if x.call then x.parent = call end
          out[#out + 1] = x
        end
      else
        out[#out + 1] = item
      end
    else
      out[#out + 1] = item
    end
  end
  call.items = out
end

--- Reads where each node comes from. Returns whether the modules of any are known.
function M.read_places(nodes)
  local known = false
  for _, n in ipairs(nodes) do
    local trace, stack = core.places(n.node)
    n.frames, n.modules = frames_of(trace), modules_of(stack)
    known = known or n.modules ~= nil
  end
  return known
end

--- The tree of calls of a list of { node = node, order = number, modules = list }.
function M.build(nodes)
  local root = { call = true, key = "", path = "", type = "Model", items = {}, first = 1, last = #nodes }
  open_calls(root, nodes)
  return root
end

function M.set_depth(call, nodes)
  call.depth = common_frames(call, nodes) + 1
  for _, item in ipairs(call.items) do
    if item.call then M.set_depth(item, nodes) end
  end
end

local NOT_NAMES = { self = true, _ = true, True = true, None = true }

-- The variables that a source line assigns to.
local function assigned(source)
  local left = source:match("^([%w_, ]+)%s=[^=]") or source:match("^([%w_]+) [%+%-%*/@|&]=")
  if not left then return nil end
  local out = {}
  for name in left:gmatch("[^,%s]+") do
    if not name:find("^[%a_][%w_]*$") or NOT_NAMES[name] or #name > 30 then return nil end
    out[#out + 1] = name
  end
  return #out > 0 and out or nil
end

--- Names that the source gives to what a node makes, in the function of a call.
function M.hints(n, call)
  local frame = n.frames[call.depth or 1]
  if not frame then return nil end
  if frame.names == nil then frame.names = assigned(frame.source) or false end
  return frame.names or nil
end

return M
