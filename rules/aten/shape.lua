-- rules/aten/shape.lua: ops that give a tensor other sizes, move its elements, join tensors or cut them.

local aten = require("t2o.rules").namespace("aten")
local infer = require("t2o.infer")
local types = require("t2o.types")
local util = require("t2o.util")

local LAST = math.maxinteger -- a bound of a slice that means "to the end"

local function family(schemas, fn)
  for _, schema in ipairs(schemas) do aten:rule(schema, fn) end
end

local function itself(_, a) return a.self end

-- x with a dimension added to a 0-d tensor, which most ops take for one of one element.
local function at_least_1d(g, x)
  return x.rank == 0 and g.reshape(x, { 1 }) or x
end

local function map(list, fn)
  local out = { n = list.n or #list }
  for i = 1, out.n do out[i] = fn(list[i]) end
  return out
end

local function unsqueeze(g, x, dim)
  local inner = g.made_by(x, "Unsqueeze")
  if not inner or not inner[2].is_constant then return g.Unsqueeze(x, g.ints { dim }) end
  local dims = map(inner[2]:tolist(), function(d)
    d = util.dim(d, x.rank)
    return d < dim and d or d + 1
  end)
  dims.n, dims[dims.n + 1] = dims.n + 1, dim
  table.sort(dims)
  return g.Unsqueeze(inner[1], g.ints(dims))
end

-- ---- the same elements under other sizes ----

-- size with its -1 worked out from the elements that have to fit, given as a list of sizes.
local function resolve(have, size)
  local open
  for i, d in ipairs(size) do
    if d == -1 then open = i end
  end
  if not open then return size end
  local out, top, bottom = util.copy(size), util.copy(have), 1
  table.remove(out, open)
  for _, d in ipairs(out) do
    local found
    for i, h in ipairs(top) do
      if h == d and h ~= 0 then found = i end
    end
    if found then table.remove(top, found) else bottom = bottom * d end
  end
  table.insert(out, open, bottom == 0 and 0 or util.product(top) // bottom)
  return out
end

local function view(g, a)
  local size = a.size or a.shape
  return g.reshape(a.self, resolve(a.self.shape, size))
end

family({
  "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
  "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
  "view_copy(Tensor self, SymInt[] size) -> Tensor",
  "_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
}, view)
aten:rule("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", view)
aten:rule("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", view)
family({
  "view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
  "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
}, function(g, a)
  return g.reshape(a.self, a.other.shape)
end)

family({
  "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
  "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
}, function(g, a)
  local from, to = a.self.dtype, a.dtype
  if from == to then return a.self end
  local same_width = types.bits(from) == types.bits(to) and from ~= "bool" and to ~= "bool"
  -- between integers a cast keeps the bits
  if same_width and util.is_int(from) and util.is_int(to) then return a.self:to(to) end
  if same_width and g.opset >= 26 then return g.BitCast(a.self, { to = to }) end
  return g.decline("the bits of a %s read as %s", from, to)
end)

local function flatten(g, x, first, last)
  if x.rank == 0 then return g.reshape(x, { 1 }) end
  if first == last then return x end
  if first == 1 and last == x.rank - 1 then return g.Flatten(x, { axis = 1 }) end
  local dims = { table.unpack(x.shape, 1, first) }
  dims[first + 1] = util.product(x.shape, first + 1, last + 1)
  for i = last + 2, x.rank do dims[#dims + 1] = x.shape[i] end
  return g.reshape(x, dims)
end

aten:rule("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", function(g, a)
  local rank = a.self.rank
  return flatten(g, a.self, util.dim(a.start_dim, rank), util.dim(a.end_dim, rank))
end)

aten:rule("ravel(Tensor(a) self) -> Tensor(a)", function(g, a) return flatten(g, a.self, 0, a.self.rank - 1) end)

aten:rule("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", function(g, a)
  local x, dim = a.self, util.dim(a.dim, a.self.rank)
  local dims = { table.unpack(x.shape, 1, dim) }
  for _, d in ipairs(resolve({ x:size(dim) }, a.sizes)) do dims[#dims + 1] = d end
  for i = dim + 2, x.rank do dims[#dims + 1] = x.shape[i] end
  return g.reshape(x, dims)
end)

-- x without those of the dims (counted from 0) whose size is 1. A size that is not known to be 1 stays: the export
-- has guarded that it is another.
local function squeeze(g, x, dims)
  local axes = {}
  for _, d in ipairs(dims) do
    if x.rank > 0 and util.equal(x:size(d), 1) then axes[#axes + 1] = d end
  end
  if #axes == 0 then return x end
  return g.Squeeze(x, g.ints(axes))
end

family({
  "squeeze(Tensor(a) self) -> Tensor(a)",
  "squeeze_copy(Tensor self) -> Tensor",
}, function(g, a)
  return squeeze(g, a.self, util.range(0, a.self.rank - 1))
end)
family({
  "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
  "squeeze_copy.dim(Tensor self, int dim) -> Tensor",
}, function(g, a)
  return squeeze(g, a.self, { util.dim(a.dim, a.self.rank) })
end)
family({
  "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
  "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
}, function(g, a)
  return squeeze(g, a.self, util.dims(a.dim, a.self.rank, true))
end)
family({
  "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
  "unsqueeze_copy(Tensor self, int dim) -> Tensor",
}, function(g, a)
  return unsqueeze(g, a.self, util.dim(a.dim, a.self.rank + 1))
end)

local function atleast(g, x, rank)
  if x.rank >= rank then return x end
  if x.rank == 0 then return g.reshape(x, util.fill(1, rank)) end
  if x.rank == 1 then x = unsqueeze(g, x, 0) end
  return rank == 3 and unsqueeze(g, x, 2) or x
end

for rank = 1, 3 do
  aten:rule("atleast_" .. rank .. "d(Tensor self) -> Tensor", function(g, a) return atleast(g, a.self, rank) end)
  aten:rule("atleast_" .. rank .. "d.Sequence(Tensor[] tensors) -> Tensor[]", function(g, a)
    return map(a.tensors, function(x) return atleast(g, x, rank) end)
  end)
end

-- ---- the same tensor ----

aten:rule("clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", itself)
aten:rule("contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", itself)
family({
  "alias(Tensor(a) self) -> Tensor(a)",
  "alias_copy(Tensor self) -> Tensor",
  "detach(Tensor(a) self) -> Tensor(a)",
  "detach_(Tensor(a!) self) -> Tensor(a!)",
  "detach_copy(Tensor self) -> Tensor",
  "lift(Tensor self) -> Tensor",
  "lift_fresh(Tensor(a) self) -> Tensor(a)",
  "lift_fresh_copy(Tensor self) -> Tensor",
}, itself)
aten:rule("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)", itself)

-- ---- orders of dimensions ----

local function permute(g, x, perm)
  local inner, made = g.made_by(x, "Transpose")
  if inner then
    x, perm = inner[1], map(perm, function(p) return made.perm[p + 1] end)
  end
  for i, p in ipairs(perm) do
    if p ~= i - 1 then return g.Transpose(x, { perm = perm }) end
  end
  return x
end

local function swap(g, x, i, j)
  if x.rank == 0 then return x end
  local perm = util.range(0, x.rank - 1)
  i, j = util.dim(i, x.rank) + 1, util.dim(j, x.rank) + 1
  perm[i], perm[j] = perm[j], perm[i]
  return permute(g, x, perm)
end

family({
  "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
  "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
  "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
}, function(g, a) return swap(g, a.self, a.dim0, a.dim1) end)
aten:rule("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", function(g, a)
  return swap(g, a.self, a.axis0, a.axis1)
end)

family({
  "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
  "permute_copy(Tensor self, int[] dims) -> Tensor",
}, function(g, a)
  return permute(g, a.self, map(a.dims, function(d) return util.dim(d, a.self.rank) end))
end)

-- The conjugate ones too: these numbers are real.
family({
  "t(Tensor(a) self) -> Tensor(a)",
  "t_copy(Tensor self) -> Tensor",
  "mT(Tensor(a) self) -> Tensor(a)",
  "mH(Tensor(a) self) -> Tensor(a)",
  "matrix_H(Tensor(a) self) -> Tensor(a)",
  "adjoint(Tensor(a) self) -> Tensor(a)",
}, function(g, a)
  return a.self.rank < 2 and a.self or swap(g, a.self, -2, -1)
end)
aten:rule("numpy_T(Tensor(a) self) -> Tensor(a)", function(g, a)
  local perm = {}
  for i = 1, a.self.rank do perm[i] = a.self.rank - i end
  return permute(g, a.self, perm)
end)

local function movedim(g, a)
  local x = a.self
  local from = type(a.source) == "table" and a.source or { a.source }
  local to = type(a.destination) == "table" and a.destination or { a.destination }
  local perm, moved = {}, {}
  for i, d in ipairs(from) do
    local source = util.dim(d, x.rank)
    perm[util.dim(to[i], x.rank) + 1], moved[source] = source, true
  end
  local place = 1
  for d = 0, x.rank - 1 do
    if not moved[d] then
      while perm[place] do place = place + 1 end
      perm[place] = d
    end
  end
  return permute(g, x, perm)
end

family({
  "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
  "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
}, movedim)
family({
  "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
  "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
}, movedim)

-- ---- the same elements several times ----

-- x broadcast to size, of which a -1 keeps what x has. Sizes that stay are written as 1.
local function expand(g, x, size)
  local ones, stays = {}, #size == x.rank
  for i, d in ipairs(size) do
    local own = x.shape[i - #size + x.rank]
    local same = own and (d == -1 or d == own)
    ones[i] = same and 1 or d
    stays = stays and same
  end
  return stays and x or g.expand(x, ones)
end

family({
  "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
  "expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
}, function(g, a) return expand(g, a.self, a.size) end)
aten:rule("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", function(g, a)
  return expand(g, a.self, a.other.shape)
end)
aten:rule("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", function(g, a)
  return expand(g, a.self, a.size)
end)
aten:rule("broadcast_tensors(Tensor[] tensors) -> Tensor[]", function(g, a)
  local shape = {}
  for _, x in ipairs(a.tensors) do shape = infer.broadcast(shape, x.shape) end
  return map(a.tensors, function(x) return expand(g, x, shape) end)
end)
aten:rule("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", function(g, a)
  return expand(g, a.src:to(a.self.dtype), a.self.shape)
end)

local function repeated(g, x, times)
  times = util.copy(times)
  while #times < x.rank do table.insert(times, 1, 1) end
  local dims = util.copy(x.shape)
  while #dims < #times do table.insert(dims, 1, 1) end
  x = g.reshape(x, dims)
  for _, t in ipairs(times) do
    if t ~= 1 then return g.Tile(x, g.ints(times)) end
  end
  return x
end

aten:rule("repeat(Tensor self, SymInt[] repeats) -> Tensor", function(g, a) return repeated(g, a.self, a.repeats) end)
aten:rule("tile(Tensor self, SymInt[] dims) -> Tensor", function(g, a) return repeated(g, a.self, a.dims) end)

-- The tensor and dimension that repeat_interleave works on: all elements in a row where no dim is given.
local function interleaved(g, a)
  if not a.dim then return flatten(g, a.self, 0, a.self.rank - 1), 0 end
  return at_least_1d(g, a.self), util.dim(a.dim, a.self.rank)
end

aten:rule("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, "
          .. "SymInt? output_size=None) -> Tensor",
  function(g, a)
    local x, dim = interleaved(g, a)
    local dims, times = x.shape, util.fill(1, x.rank + 1)
    dims[dim + 1] = dims[dim + 1] * a.repeats
    times[dim + 2] = a.repeats
    return g.reshape(g.expand(unsqueeze(g, x, dim + 1), times), dims)
  end)

-- Index i as often as repeats[i] says: position p belongs to the first i whose running total exceeds p.
local function repeat_indices(g, repeats)
  if repeats.is_constant then
    local out = {}
    for i, times in ipairs(repeats:tolist()) do
      for _ = 1, times do out[#out + 1] = i - 1 end
    end
    return #out > 0 and g.const(out, "int64") or g.zeros({ 0 }, "int64")
  end
  repeats = repeats:to("int64")
  local ends = g.CumSum(repeats, g.scalar(0, "int64"))
  local total = g.ReduceSum(repeats, g.ints { 0 }, { keepdims = 0 })
  local places = g.Range(g.scalar(0, "int64"), total, g.scalar(1, "int64"))
  local passed = g.LessOrEqual(unsqueeze(g, ends, 0), unsqueeze(g, places, 1))
  return g.ReduceSum(passed:to("int64"), g.ints { 1 }, { keepdims = 0 })
end

aten:rule("repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", function(g, a)
  return repeat_indices(g, a.repeats):to(a.repeats.dtype)
end)
aten:rule("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, "
          .. "SymInt? output_size=None) -> Tensor",
  function(g, a)
    local x, dim = interleaved(g, a)
    local repeats = at_least_1d(g, a.repeats)
    if repeats:size(0) ~= x:size(dim) then repeats = g.expand(repeats, { x:size(dim) }) end
    return g.Gather(x, repeat_indices(g, repeats), { axis = dim })
  end)

-- ---- cutting out ----

local function slice(g, x, dim, start, stop, step)
  if start == 0 and (step or 1) == 1 then
    if stop == LAST or util.is_static(x:size(dim)) and util.is_static(stop) and stop >= x:size(dim) then return x end
  end
  return g.Slice(x, g.ints { start }, g.ints { stop }, g.ints { dim }, g.ints { step or 1 })
end

family({
  "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
    .. "SymInt step=1) -> Tensor(a)",
  "slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, "
    .. "SymInt step=1) -> Tensor",
}, function(g, a)
    return slice(g, a.self, util.dim(a.dim, a.self.rank), a.start or 0, a.end_ or LAST, a.step)
  end)

local function is_negative(d) return util.compare(d, 0) == -1 end

family({
  "narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
  "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
}, function(g, a)
    local dim = util.dim(a.dim, a.self.rank)
    local start = is_negative(a.start) and a.self:size(dim) + a.start or a.start
    return slice(g, a.self, dim, start, start + a.length)
  end)

aten:rule("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", function(g, a)
  local dim = util.dim(a.dim, a.self.rank)
  local given = g.reshape(a.start:to("int64"), { 1 })
  local start = g.Where(given:lt(0), given + g.ints { a.self:size(dim) }, given)
  return g.Slice(a.self, start, start + g.ints { a.length }, g.ints { dim })
end)

local function select(g, x, dim, index)
  return g.Gather(x, g.scalar(index, "int64"), { axis = dim })
end

family({
  "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
  "select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
}, function(g, a)
  return select(g, a.self, util.dim(a.dim, a.self.rank), a.index)
end)

local function split(g, x, dim, sizes)
  if #sizes == 1 then return { x } end
  return g.Split(x, g.ints(sizes), { axis = dim, outputs = #sizes })
end

-- Pieces of one size, the last with what is left. How many there are of a symbolic size only the archive knows.
local function equal_pieces(g, x, dim, size, n)
  local have = x:size(dim)
  local count = util.all_static { have, size } and (size == 0 and 1 or math.max(1, -(-have // size))) or n.outputs.n
  local sizes = util.fill(size, count)
  sizes[count] = have - size * (count - 1)
  return split(g, x, dim, sizes)
end

family({
  "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
  "split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
  "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
}, function(g, a, n) return equal_pieces(g, a.self, util.dim(a.dim, a.self.rank), a.split_size, n) end)

family({
  "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
  "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
}, function(g, a, n)
  local dim = util.dim(a.dim, a.self.rank)
  local have = a.self:size(dim)
  if have == 0 then return split(g, a.self, dim, util.fill(0, a.chunks)) end
  -- the operator divides as chunk does, but always into as many pieces as it is told
  if not util.is_static(have) and n.outputs.n == a.chunks and a.chunks > 1 then
    return g.Split(a.self, nil, { axis = dim, num_outputs = a.chunks, outputs = a.chunks })
  end
  return equal_pieces(g, a.self, dim, (have + (a.chunks - 1)) // a.chunks, n)
end)

family({
  "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
  "split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
  "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
}, function(g, a) return split(g, a.self, util.dim(a.dim, a.self.rank), a.split_sizes) end)
aten:rule("split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", function(g, a)
  return split(g, a.self, util.dim(a.dim, a.self.rank), a.split_size)
end)

-- The first of `count` pieces are one longer where the size is no multiple.
local function sections(g, x, dim, count)
  local sizes = {}
  for i = 1, count do sizes[i] = (x:size(dim) + (count - i)) // count end
  return split(g, x, dim, sizes)
end

local function cut_at(g, x, dim, indices)
  local out, start = {}, 0
  for i = 1, #indices + 1 do
    local stop = indices[i] or LAST
    out[i] = slice(g, x, dim, start, stop)
    start = stop
  end
  return out
end

local function cut_at_values(g, x, dim, indices)
  local out, start = {}, g.ints { 0 }
  for i = 1, indices:size(0) + 1 do
    local stop = i <= indices:size(0) and slice(g, indices, 0, i - 1, i) or g.ints { LAST }
    out[i] = g.Slice(x, start, stop, g.ints { dim })
    start = stop
  end
  return out
end

aten:rule("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", function(g, a)
  if not util.is_static(a.sections) then return g.decline("a symbolic number of pieces") end
  return sections(g, a.self, util.dim(a.dim, a.self.rank), a.sections)
end)
aten:rule("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", function(g, a)
  return cut_at(g, a.self, util.dim(a.dim, a.self.rank), a.indices)
end)
aten:rule("tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, "
          .. "int dim=0) -> Tensor(a)[]",
  function(g, a)
    local given, dim = a.tensor_indices_or_sections, util.dim(a.dim, a.self.rank)
    if given.is_constant and given.rank == 0 then return sections(g, a.self, dim, given:item()) end
    if given.is_constant then return cut_at(g, a.self, dim, given:tolist()) end
    if given.rank == 0 or not util.is_static(given:size(0)) then
      return g.decline("a number of pieces that is only known at run time")
    end
    return cut_at_values(g, a.self, dim, given)
  end)

-- hsplit cuts columns: the second dimension, of a vector its only one.
local function split_dim(letter, x)
  if letter == "h" then return x.rank == 1 and 0 or 1 end
  return letter == "v" and 0 or 2
end

for _, letter in ipairs { "h", "v", "d" } do
  aten:rule(letter .. "split.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", function(g, a)
    return sections(g, a.self, split_dim(letter, a.self), a.sections)
  end)
  aten:rule(letter .. "split.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", function(g, a)
    return cut_at(g, a.self, split_dim(letter, a.self), a.indices)
  end)
end

family({
  "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
  "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
}, function(g, a)
  local dim, out = util.dim(a.dim, a.self.rank), {}
  local count = a.self:size(dim)
  if not util.is_static(count) then return g.decline("as many results as the size %s says", tostring(count)) end
  for i = 1, count do out[i] = select(g, a.self, dim, i - 1) end
  return out
end)

-- ---- joining ----

-- A vector of no elements joins with anything and adds nothing.
local function concat(g, tensors, dim)
  local dtype, parts = util.result_type(table.unpack(tensors)), {}
  for _, x in ipairs(tensors) do
    if not (x.rank == 1 and x:size(0) == 0) then parts[#parts + 1] = x:to(dtype) end
  end
  if #parts == 0 then return tensors[1]:to(dtype) end
  if #parts == 1 then return parts[1] end
  parts[#parts + 1] = { axis = util.dim(dim, parts[1].rank) }
  return g.Concat(table.unpack(parts))
end

family({
  "cat(Tensor[] tensors, int dim=0) -> Tensor",
  "concat(Tensor[] tensors, int dim=0) -> Tensor",
  "concatenate(Tensor[] tensors, int dim=0) -> Tensor",
}, function(g, a)
  return concat(g, a.tensors, a.dim)
end)
aten:rule("stack(Tensor[] tensors, int dim=0) -> Tensor", function(g, a)
  local dim = util.dim(a.dim, a.tensors[1].rank + 1)
  return concat(g, map(a.tensors, function(x) return unsqueeze(g, x, dim) end), dim)
end)
aten:rule("_stack(Tensor[] tensors, int dim=0) -> Tensor", function(g, a) return g.aten.stack(a.tensors, a.dim) end)

-- Tensors that differ in their first size, filled up to the longest.
aten:rule("pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
          .. "str padding_side=\"right\") "
          .. "-> Tensor", function(g, a)
  local longest, rows = 0, {}
  for _, x in ipairs(a.sequences) do longest = util.max(longest, x:size(0)) end
  for i, x in ipairs(a.sequences) do
    local before, after = 0, longest - x:size(0)
    if a.padding_side == "left" then before, after = after, before end
    rows[i] = g.Pad(x, g.ints { before, after }, g.scalar(a.padding_value, x.dtype), g.ints { 0 })
  end
  return g.aten.stack(rows, a.batch_first and 0 or 1)
end)

aten:rule("hstack(Tensor[] tensors) -> Tensor", function(g, a)
  local list = map(a.tensors, function(x) return atleast(g, x, 1) end)
  return concat(g, list, list[1].rank == 1 and 0 or 1)
end)
family({
  "vstack(Tensor[] tensors) -> Tensor",
  "row_stack(Tensor[] tensors) -> Tensor",
}, function(g, a)
  return concat(g, map(a.tensors, function(x) return atleast(g, x, 2) end), 0)
end)
aten:rule("dstack(Tensor[] tensors) -> Tensor", function(g, a)
  return concat(g, map(a.tensors, function(x) return atleast(g, x, 3) end), 2)
end)
aten:rule("column_stack(Tensor[] tensors) -> Tensor", function(g, a)
  return concat(g, map(a.tensors, function(x)
    return x.rank > 1 and x or unsqueeze(g, at_least_1d(g, x), 1)
  end), 1)
end)

-- Each tensor is cut into num_chunks pieces along dim, filled up with zeros, and laid out as a row of each piece.
aten:rule("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", function(g, a)
  local dim, rows = util.dim(a.dim, a.tensors[1].rank), {}
  for i, x in ipairs(a.tensors) do
    local have, dims = x:size(dim), { table.unpack(x.shape, 1, dim) }
    local size = (have + (a.num_chunks - 1)) // a.num_chunks
    local missing = size * a.num_chunks - have
    if missing ~= 0 then
      local more = x.shape
      more[dim + 1] = missing
      x = g.Concat(x, g.full(more, 0, x.dtype), { axis = dim })
    end
    dims[dim + 1], dims[dim + 2] = a.num_chunks, size * util.product(x.shape, dim + 2)
    rows[i] = g.reshape(x, dims)
  end
  return concat(g, rows, dim + 1)
end)

-- ---- turning round ----

local function flip(g, x, dims)
  if x.rank == 0 or #dims == 0 then return x end
  local m = #dims
  return g.Slice(x, g.ints(util.fill(-1, m)), g.ints(util.fill(math.mininteger, m)), g.ints(dims),
                 g.ints(util.fill(-1, m)))
end

aten:rule("flip(Tensor self, int[] dims) -> Tensor", function(g, a)
  return flip(g, a.self, util.dims(a.dims, a.self.rank, true))
end)
aten:rule("fliplr(Tensor self) -> Tensor", function(g, a) return flip(g, a.self, { 1 }) end)
aten:rule("flipud(Tensor self) -> Tensor", function(g, a) return flip(g, a.self, { 0 }) end)

aten:rule("rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", function(g, a)
  local i, j = util.dim(a.dims[1], a.self.rank), util.dim(a.dims[2], a.self.rank)
  local quarter = a.k % 4
  if quarter == 0 then return a.self end
  if quarter == 2 then return flip(g, a.self, { i, j }) end
  return swap(g, flip(g, a.self, { quarter == 1 and j or i }), i, j)
end)

local function roll(g, x, dim, shift)
  local size = x:size(dim)
  if size == 0 then return x end
  local start = -shift % util.max(size, 1) -- an empty tensor must not divide by 0 at run time
  if start == 0 then return x end
  return g.Concat(slice(g, x, dim, start, LAST), slice(g, x, dim, 0, start), { axis = dim })
end

aten:rule("roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", function(g, a)
  local x = a.self
  if x.rank == 0 then return x end
  if #a.dims == 0 then return g.reshape(roll(g, flatten(g, x, 0, x.rank - 1), 0, a.shifts[1]), x.shape) end
  for i, d in ipairs(a.dims) do x = roll(g, x, util.dim(d, x.rank), a.shifts[i]) end
  return x
end)

-- ---- windows and strides ----

-- 0, step, 2*step ... : count of them.
local function steps(g, count, step)
  if util.all_static { count, step } and count <= 4096 then
    local list = {}
    for i = 1, count do list[i] = (i - 1) * step end
    return count == 0 and g.zeros({ 0 }, "int64") or g.const(list, "int64")
  end
  return g.Range(g.scalar(0, "int64"), g.scalar(count * step, "int64"), g.scalar(step, "int64"))
end

family({
  "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
  "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
}, function(g, a)
    local x, dim = a.self, util.dim(a.dimension, a.self.rank)
    if x.rank == 0 then return slice(g, g.reshape(x, { 1 }), 0, 0, a.size) end
    local starts = steps(g, (x:size(dim) - a.size) // a.step + 1, a.step)
    local windows = g.Gather(x, unsqueeze(g, starts, 1) + steps(g, a.size, 1), { axis = dim })
    return permute(g, windows, (util.to_last(x.rank + 1, dim + 1)))
  end)

-- Whether a view shows all of x in its order, as a reshape does; the stride of a dim of size 1 says nothing.
local function is_reshape(a)
  local next_stride = 1
  for i = #a.size, 1, -1 do
    if not util.equal(a.size[i], 1) then
      if not util.equal(a.stride[i], next_stride) then return false end
      next_stride = next_stride * a.size[i]
    end
  end
  return util.equal(next_stride, util.product(a.self.shape)) and util.equal(a.storage_offset or 0, 0)
end

local function symbolic_places(g, a)
  local places, last = g.scalar(a.storage_offset or 0, "int64"), a.storage_offset or 0
  for i, size in ipairs(a.size) do
    places = g.Add(unsqueeze(g, places, i - 1), steps(g, size, a.stride[i]))
    last = last + (size - 1) * a.stride[i]
  end
  local order = util.compare(last, util.product(a.self.shape))
  if order ~= -1 then g.decline("a view that may reach beyond the elements of its base") end
  return g.reshape(places, { util.product(a.size) })
end

-- Where in the storage of x the elements of a strided view lie. That is known of a tensor which fills its storage in
-- order from the beginning.
local function strided_places(g, a, n)
  local x, list = a.self, { a.storage_offset or 0 }
  if not (n.contiguous and n.contiguous[1]) then return g.decline("strides over a storage that is not known") end
  if not (util.all_static(x.shape) and util.all_static(a.size) and util.all_static(a.stride)) then
    return symbolic_places(g, a)
  end
  for i, size in ipairs(a.size) do
    local longer = {}
    for _, start in ipairs(list) do
      for k = 0, size - 1 do longer[#longer + 1] = start + k * a.stride[i] end
    end
    list = longer
  end
  local count = util.product(x.shape)
  for _, place in ipairs(list) do
    if place >= count then return g.decline("a view beyond the elements of its base") end
  end
  return #list > 0 and g.const(list, "int64") or g.ints {}
end

family({
  "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
  "as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
}, function(g, a, n)
  if n.contiguous and n.contiguous[1] and is_reshape(a) then return g.reshape(a.self, a.size) end
  local places = strided_places(g, a, n)
  return g.reshape(g.Gather(g.reshape(a.self, { util.product(a.self.shape) }), places), a.size)
end)

aten:rule("as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
          .. "SymInt? storage_offset=None) -> Tensor",
  function(g, a, n)
    local places, row = strided_places(g, a, n), g.reshape(a.self, { util.product(a.self.shape) })
    local src = g.reshape(a.src:to(a.self.dtype), { util.product(a.src.shape) })
    return g.reshape(g.ScatterElements(row, places, src, { axis = 0 }), a.self.shape)
  end)

-- ---- diagonals and triangles ----

-- x with two dims moved to the end and both merged into one; where its diagonal begins there, how long it is and how
-- far apart its elements are. `back` undoes the moving.
local function along_diagonal(g, x, offset, dim1, dim2)
  dim1, dim2 = util.dim(dim1, x.rank), util.dim(dim2, x.rank)
  local perm, back = {}, {}
  for d = 0, x.rank - 1 do
    if d ~= dim1 and d ~= dim2 then perm[#perm + 1] = d end
  end
  perm[#perm + 1], perm[#perm + 2] = dim1, dim2
  for i, p in ipairs(perm) do back[p + 1] = i - 1 end
  local rows, columns = x:size(dim1), x:size(dim2)
  local moved = permute(g, x, perm)
  local dims = { table.unpack(moved.shape, 1, x.rank - 2) }
  dims[#dims + 1] = rows * columns
  local length = offset >= 0 and util.min(rows, columns - offset) or util.min(rows + offset, columns)
  return g.reshape(moved, dims), {
    start = offset >= 0 and offset or -offset * columns, length = util.max(length, 0), step = columns + 1,
    shape = moved.shape, back = back,
  }
end

local function diagonal(g, x, offset, dim1, dim2)
  local row, d = along_diagonal(g, x, offset, dim1, dim2)
  return slice(g, row, row.rank - 1, d.start, d.start + d.length * d.step, d.step)
end

family({
  "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
  "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
}, function(g, a) return diagonal(g, a.self, a.offset, a.dim1, a.dim2) end)
aten:rule("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", function(g, a)
  return diagonal(g, a.A, a.offset, a.dim1, a.dim2)
end)

aten:rule("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", function(g, a)
  local row, d = along_diagonal(g, a.self, a.offset, a.dim1, a.dim2)
  local places = steps(g, d.length, d.step) + d.start
  local out = g.ScatterElements(row, g.expand(places, a.src.shape), a.src:to(row.dtype), { axis = row.rank - 1 })
  return permute(g, g.reshape(out, d.shape), d.back)
end)

-- Whether column j is offset further than row i.
local function diagonal_mask(g, rows, columns, offset)
  return g.Equal(steps(g, columns, 1), unsqueeze(g, steps(g, rows, 1) + offset, 1))
end

local function zeros_beside(g, x, size)
  local dims = x.shape
  dims[x.rank] = size
  return g.full(dims, 0, x.dtype)
end

-- Vectors along the last dimension as diagonals of matrices, whose rows and columns become dims dim1 and dim2.
local function diag_embed(g, x, offset, dim1, dim2)
  local rank, away = x.rank + 1, math.abs(offset)
  local size, perm, rest = x:size(-1) + away, {}, 0
  if offset > 0 then x = g.Concat(zeros_beside(g, x, away), x, { axis = -1 }) end
  if offset < 0 then x = g.Concat(x, zeros_beside(g, x, away), { axis = -1 }) end
  local mask, row = diagonal_mask(g, size, size, offset), unsqueeze(g, x, rank - 2)
  local y = util.where(g, mask, row, g.scalar(0, x.dtype))
  perm[util.dim(dim1, rank) + 1], perm[util.dim(dim2, rank) + 1] = rank - 2, rank - 1
  for i = 1, rank do
    if not perm[i] then perm[i], rest = rest, rest + 1 end
  end
  return permute(g, y, perm)
end

aten:rule("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", function(g, a)
  return diag_embed(g, a.self, a.offset, a.dim1, a.dim2)
end)
aten:rule("diag(Tensor self, int diagonal=0) -> Tensor", function(g, a)
  if a.self.rank == 1 then return diag_embed(g, a.self, a.diagonal, 0, 1) end
  return diagonal(g, a.self, a.diagonal, 0, 1)
end)
aten:rule("diagflat(Tensor self, int offset=0) -> Tensor", function(g, a)
  return diag_embed(g, flatten(g, a.self, 0, a.self.rank - 1), a.offset, 0, 1)
end)

-- Integers of few bits take a detour: the operator is seldom there for them.
local function triangle(upper)
  return function(g, a)
    local x = a.self
    local narrow = util.is_int(x.dtype) and x.dtype ~= "int64" and x.dtype ~= "int32"
    local y = g.Trilu(narrow and x:to("int64") or x, g.scalar(a.diagonal, "int64"), { upper = upper })
    return y:to(x.dtype)
  end
end

aten:rule("tril(Tensor self, SymInt diagonal=0) -> Tensor", triangle(0))
aten:rule("triu(Tensor self, SymInt diagonal=0) -> Tensor", triangle(1))

local function triangle_indices(inside)
  return function(g, a)
    local rows, columns = {}, {}
    for i = 0, a.row - 1 do
      for j = 0, a.col - 1 do
        if inside(j - i, a.offset) then rows[#rows + 1], columns[#columns + 1] = i, j end
      end
    end
    local dtype = type(a.dtype) == "string" and a.dtype or "int64"
    return #rows == 0 and g.zeros({ 2, 0 }, dtype) or g.const({ rows, columns }, dtype)
  end
end

for name, inside in pairs {
  tril_indices = function(distance, offset) return distance <= offset end,
  triu_indices = function(distance, offset) return distance >= offset end,
} do
  aten:rule(name .. "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, "
            .. "Device? device=None, bool? pin_memory=None) -> Tensor", triangle_indices(inside))
end

aten:rule("block_diag(Tensor[] tensors) -> Tensor", function(g, a)
  local dtype, blocks, width, rows, before = util.result_type(table.unpack(a.tensors)), {}, 0, {}, 0
  for i, x in ipairs(a.tensors) do
    blocks[i] = atleast(g, x, 2):to(dtype)
    width = width + blocks[i]:size(1)
  end
  for i, x in ipairs(blocks) do
    local after = width - before - x:size(1)
    rows[i] = concat(g, { zeros_beside(g, x, before), x, zeros_beside(g, x, after) }, 1)
    before = before + x:size(1)
  end
  return concat(g, rows, 0)
end)

-- ---- products of sets ----

-- order: for each tensor the dimension (from 1) along which it varies.
local function grid(g, tensors, order)
  local shape = {}
  for i, x in ipairs(tensors) do shape[order[i]] = x.rank == 0 and 1 or x:size(0) end
  local out = {}
  for i, x in ipairs(tensors) do
    local dims = util.fill(1, #tensors)
    dims[order[i]] = shape[order[i]]
    out[i] = expand(g, g.reshape(x, dims), shape)
  end
  return out
end

aten:rule("meshgrid(Tensor[] tensors) -> Tensor[]", function(g, a)
  return grid(g, a.tensors, util.range(1, #a.tensors))
end)
aten:rule("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", function(g, a)
  local order = util.range(1, #a.tensors)
  if a.indexing == "xy" and #order > 1 then order[1], order[2] = 2, 1 end
  return grid(g, a.tensors, order)
end)

aten:rule("cartesian_prod(Tensor[] tensors) -> Tensor", function(g, a)
  if #a.tensors == 1 then return a.tensors[1] end
  local columns = {}
  for i, x in ipairs(grid(g, a.tensors, util.range(1, #a.tensors))) do
    columns[i] = g.reshape(x, { util.product(x.shape), 1 })
  end
  return concat(g, columns, 1)
end)

-- Rows of r indices below n in rising order, equal ones only where `again`.
local function choices(n, r, again)
  local out = {}
  local function extend(row, first)
    if #row == r then out[#out + 1] = row return end
    for i = first, n - 1 do
      local longer = util.copy(row)
      longer[#longer + 1] = i
      extend(longer, again and i or i + 1)
    end
  end
  extend({}, 0)
  return out
end

aten:rule("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", function(g, a)
  local n = a.self:size(0)
  if not util.is_static(n) then return g.decline("combinations of %s elements", tostring(n)) end
  if a.r == 0 then return g.zeros({ 0 }, a.self.dtype) end
  local rows = choices(n, a.r, a.with_replacement)
  if #rows == 0 then return g.zeros({ 0, a.r }, a.self.dtype) end
  return g.Gather(a.self, g.const(rows, "int64"))
end)

-- ---- numbers ----

-- The one element as a number, which counts less in promotion than a tensor does. Integers are int64 from here on, as
-- Python's are.
family({
  "item(Tensor self) -> Scalar",
  "_local_scalar_dense(Tensor self) -> Scalar",
}, function(g, a)
  local x = g.reshape(a.self, {})
  local narrow = x.dtype == "float16" or x.dtype == "bfloat16"
  local y = x:to(narrow and "float32" or util.is_int(x.dtype) and "int64" or x.dtype)
  if y == a.self then y = g.Identity(y) end
  types.mark_wrapped(y)
  return y
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "atleast_1d" "atleast_1d.Sequence" "atleast_2d" "atleast_2d.Sequence" "atleast_3d"
-- "atleast_3d.Sequence" "dsplit.array" "dsplit.int" "hsplit.array" "hsplit.int" "tril_indices"
-- "triu_indices" "vsplit.array" "vsplit.int"
