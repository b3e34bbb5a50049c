"""Writes rules/target/ort_cpu_kernels.lua from the installed ONNX Runtime: which CPU kernels exist, by opset and type.

    python gen_kernels.py > ../rules/target/ort_cpu_kernels.lua
"""
import collections
import re

import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as ort

NAMES = {"float": "float32", "double": "float64"}


def dtypes(types):
    found = {re.fullmatch(r"tensor\((\w+)\)", t) for t in types}
    return ",".join(sorted(NAMES.get(m[1], m[1]) for m in found if m))


def kernels():
    """op -> {(first, last): set of 'T=float32,int64 T1=bool'}"""
    ops = collections.defaultdict(lambda: collections.defaultdict(set))
    for k in ort.get_all_opkernel_def():
        if k.provider != "CPUExecutionProvider" or k.domain not in ("", "ai.onnx"):
            continue
        constraints = {name: dtypes(ts) for name, ts in k.type_constraints.items()}
        if all(constraints.values()):
            ops[k.op_name][k.version_range].add(tuple(sorted(constraints.items())))
    return ops


def merge(rows):
    """Rows that differ in one constraint only become one."""
    if all(len(r) == 1 for r in rows) and rows:
        names = {r[0][0] for r in rows}
        if len(names) == 1:
            every = sorted({d for r in rows for d in r[0][1].split(",")})
            return [f"{names.pop()}={','.join(every)}"]
    return sorted(" ".join(f"{n}={d}" for n, d in r) for r in rows)


print(f"-- rules/target/ort_cpu_kernels.lua: the CPU kernels of ONNX Runtime {onnxruntime.__version__}, by proto/gen_kernels.py.")
print('-- "first-last constraints | constraints": opsets, then the dtypes of each type variable; one kernel behind each |.')
print()
print('require("t2o.target").registry:kernels("ort_cpu", {')
for op, versions in sorted(kernels().items()):
    print(f"  {op} = {{")
    for (first, last), rows in sorted(versions.items()):
        end = "" if last >= 2**31 - 1 else last
        text = " | ".join(merge(rows))
        print(f'    "{first}-{end} {text}",')
    print("  },")
print("})")
