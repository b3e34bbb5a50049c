---@meta t2o.rules

-- Registering rules: require("t2o.rules").namespace("aten").

local rules = {}

--- The namespace of operators `name`: what stands before `::`.
---
--- Fails: a name that is not made of letters, digits and underscores.
---@param name string "aten", "torchvision", "mylib"
---@return t2o.Namespace
function rules.namespace(name) end

--- A rule converts one call. It returns one value for each result of the schema; a Tensor[] result is one list.
--- What it returns must have the dtype and the shape that the archive records.
---
--- `a` holds the arguments by the schema's names, with a `_` behind a name that is a word of Lua (`a.end_`): values,
--- numbers, text, dtypes as text, lists, and nil for None or for a default of None. Lists are indexed from 1 and have
--- their length in `n`; `SymInt[2] stride=1` arrives as `{ 1, 1 }`.
---@alias t2o.Rule fun(g: t2o.Builder, a: table<string, any>, n: t2o.Node): any ...

---@class t2o.RuleOptions
---@field when? fun(a: table<string, any>, n: t2o.Node): boolean the rule is asked only where this holds
---@field complex? boolean|"both" it is for calls with complex tensors; `"both"`: for these too

---@class t2o.Namespace
---@field name string
local Namespace = {}

--- A rule for the operator of a PyTorch schema. Rules of later layers are asked first; in one layer those with a
--- condition come before the one without.
---
--- A complex tensor is a value of its real dtype whose last dimension, of 2, holds the real and the imaginary part;
--- `v.is_complex` tells it, and `v.rank` counts that dimension. A call with a complex tensor goes to rules with the
--- option `complex` only. Such a rule beside one for real numbers may give the operator's name for the schema. Its
--- result is such a value where the archive records a complex one.
---
--- Fails: a schema that cannot be read (E0601); a second rule without condition for the operator in the same layer
--- (E0606).
---@param schema string "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"
---@param options t2o.RuleOptions|t2o.Rule
---@param fn? t2o.Rule
function Namespace:rule(schema, options, fn) end

--- Plain renames: the tensors of the call, in the order of the schema, become the inputs of one ONNX operator. Where
--- the result is of floats, integers and bools are converted first.
---
--- Fails: a schema with an argument that is no tensor (E0603, when it is used).
---@param entries table<string, string> schema -> ONNX operator
function Namespace:map(entries) end

--- Puts a function around the rules below: `base(g, a)` runs what would have come next and returns its results.
---@param name string the operator, with its overload: "gelu", "add.Tensor"
---@param fn fun(base: t2o.Rule, g: t2o.Builder, a: table<string, any>, n: t2o.Node): any ...
function Namespace:wrap(name, fn) end

--- Says that the result shares memory with the first tensor, so that writes through it reach that tensor.
---
--- `rebuild` gives the base back with the window replaced by what the view shows now; `t.aten["name"](...)` builds
--- torch calls. Without it a write through the view is refused where the base is read later (E0304).
---@param name string
---@param rebuild? fun(t: table, base: t2o.Value, changed: t2o.Value, a: table, output: integer): t2o.Value
function Namespace:view(name, rebuild) end

--- Says that the result may share memory with the first tensor or be a copy of it, which only the run tells:
--- reshape, to, contiguous. With `rebuild` it is a view, this being its inverse, where the tensor lies row by row.
---@param names string[]
---@param rebuild? fun(t: table, base: t2o.Value, changed: t2o.Value, a: table): t2o.Value
---@param decide? fun(a: table, n: t2o.Node): "same"|"copy"|nil which of them it is, where that is certain
function Namespace:maybe_view(names, rebuild, decide) end

--- Says that the result is the first tensor itself: detach, alias.
---@param names string[]
function Namespace:alias(names) end

--- Says that calls for whose arguments `when` holds write into arguments too, which no schema tells: batch_norm in
--- training. `fn` makes torch calls with `t`, `t.call(op, likes, ...)` giving values like those in a list, and returns
--- the list of results (a hole is what the node itself gives) and what each written argument holds afterwards.
---
--- A rule for an operator of one's own says the same with its schema, `Tensor(a!) x`, and returns the new values behind
--- its results.
---@param names string[]
---@param when fun(a: table<string, any>): boolean
---@param fn fun(t: table, a: table<string, any>, n: t2o.Node): t2o.Value[], table<string, t2o.Value>
function Namespace:writes(names, when, fn) end

--- Operators without results that are left out: assertions and hints.
---@param names string[]
function Namespace:drop(names) end

return rules
