-- rules/target/ort_cpu_kernels.lua: the CPU kernels of ONNX Runtime 1.32.0, by proto/gen_kernels.py.
-- "first-last constraints | constraints": opsets, then the dtypes of each type variable; one kernel behind each |.

require("t2o.target").registry:kernels("ort_cpu", {
  Abs = {
    "6-12 T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "13- T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Acos = {
    "7-21 T=float32",
    "22- T=float32",
  },
  Acosh = {
    "9-21 T=float32",
    "22- T=float32",
  },
  Add = {
    "7-12 T=float32,float64,int32,int64,uint32,uint64",
    "13-13 T=float32,float64,int32,int64,uint32,uint64",
    "14- T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Affine = {
    "1- T=float32",
  },
  AffineGrid = {
    "20- T1=float32 T2=int64 | T1=float64 T2=int64",
  },
  And = {
    "7- T=bool T1=bool",
  },
  ArgMax = {
    "1-10 T=float32,float64,int32,int64,int8,uint8",
    "11-12 T=float32,float64,int32,int64,int8,uint8",
    "13- T=float32,float64,int32,int64,int8,uint8",
  },
  ArgMin = {
    "1-10 T=float32,float64,int32,int64,int8,uint8",
    "11-12 T=float32,float64,int32,int64,int8,uint8",
    "13- T=float32,float64,int32,int64,int8,uint8",
  },
  Asin = {
    "7-21 T=float32",
    "22- T=float32",
  },
  Asinh = {
    "9-21 T=float32",
    "22- T=float32",
  },
  Atan = {
    "7-21 T=float32",
    "22- T=float32",
  },
  Atanh = {
    "9-21 T=float32",
    "22- T=float32",
  },
  Attention = {
    "23-23 T1=float16 T2=float16 U=bool,float16 | T1=float32 T2=float32 U=bool,float32",
    "24- T1=float16 T2=float16 U=bool,float16 | T1=float32 T2=float32 U=bool,float32",
  },
  AveragePool = {
    "7-9 T=float32",
    "10-10 T=float32",
    "11-18 T=float32",
    "19-21 T=float32",
    "22- T=float32",
  },
  BatchNormalization = {
    "7-8 T=float32,float64",
    "9-13 T=float32,float64",
    "14-14 T=float32 U=float32 | T=float64 U=float64",
    "15- T=float32 T1=float32 T2=float32 | T=float64 T1=float64 T2=float64",
  },
  BitCast = {
    "26- T1=bfloat16,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8 T2=bfloat16,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BitShift = {
    "11-27 T=uint16,uint32,uint64,uint8",
    "28- T=int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BitwiseAnd = {
    "18- T=int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BitwiseNot = {
    "18- T=int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BitwiseOr = {
    "18- T=int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BitwiseXor = {
    "18- T=int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  BlackmanWindow = {
    "17- T1=int32,int64 T2=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Cast = {
    "6-12 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "13-18 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "19-20 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "21-22 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "23-23 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "24-24 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "25-27 T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
    "28- T1=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,float8e8m0,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
  },
  Ceil = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Celu = {
    "12-27 T=float32",
    "28- T=bfloat16,float16,float32,float64",
  },
  Clip = {
    "6-10 T=float32",
    "11-11 T=float32",
    "12-12 T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "13- T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
  },
  Col2Im = {
    "18- T=float32",
  },
  Compress = {
    "9-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=bool",
    "11-27 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=bool",
    "28- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=bool",
  },
  Concat = {
    "4-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  ConstantOfShape = {
    "9-19 T1=int64 T2=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "20-20 T1=int64 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "21-22 T1=int64 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "23-23 T1=int64 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "24-24 T1=int64 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "25- T1=int64 T2=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Conv = {
    "1-10 T=float32",
    "11-21 T=float32",
    "22- T=float32",
  },
  ConvInteger = {
    "10- T1=int8,uint8 T2=int8,uint8 T3=int32",
  },
  ConvTranspose = {
    "1-10 T=float32",
    "11-21 T=float32",
    "22- T=float32",
  },
  Cos = {
    "7-21 T=float32,float64",
    "22- T=float32,float64",
  },
  Cosh = {
    "9-21 T=float32",
    "22- T=float32",
  },
  Crop = {
    "1- T=float32",
  },
  CumProd = {
    "26- T=float32 T2=int32,int64 | T=float64 T2=int32,int64 | T=int32 T2=int32,int64 | T=int64 T2=int32,int64 | T=uint32 T2=int32,int64 | T=uint64 T2=int32,int64",
  },
  CumSum = {
    "11-13 T=float32 T2=int32,int64 | T=float64 T2=int32,int64 | T=int32 T2=int32,int64 | T=int64 T2=int32,int64",
    "14- T=float32 T2=int32,int64 | T=float64 T2=int32,int64 | T=int32 T2=int32,int64 | T=int64 T2=int32,int64",
  },
  DFT = {
    "17-19 T1=float32,float64 T2=int32,int64",
    "20- T1=float32,float64 T2=int32,int64",
  },
  DeformConv = {
    "19-21 T=float32,float64",
    "22- T=float32,float64",
  },
  DepthToSpace = {
    "1-10 T=float32,float64",
    "11-12 T=float32,float64,int8,uint8",
    "13-27 T=float32,float64,int8,uint8",
    "28- T=float32,float64,int8,uint8",
  },
  DequantizeLinear = {
    "10-12 T=int32,int8,uint8",
    "13-18 T=int32,int8,uint8",
    "19-20 T1=float8e4m3fn T2=float16,float32 | T1=float8e4m3fnuz T2=float16,float32 | T1=float8e5m2 T2=float16,float32 | T1=float8e5m2fnuz T2=float16,float32 | T1=int32 T2=float16,float32 | T1=int8 T2=float16,float32 | T1=uint8 T2=float16,float32",
    "21-22 T1=float8e4m3fn T2=float16,float32 | T1=float8e4m3fnuz T2=float16,float32 | T1=float8e5m2 T2=float16,float32 | T1=float8e5m2fnuz T2=float16,float32 | T1=int16 T2=float16,float32 | T1=int32 T2=float16,float32 | T1=int4 T2=float16,float32 | T1=int8 T2=float16,float32 | T1=uint16 T2=float16,float32 | T1=uint4 T2=float16,float32 | T1=uint8 T2=float16,float32",
    "23-23 T1=float8e4m3fn T2=float16,float32 T3=float16,float32 | T1=float8e4m3fnuz T2=float16,float32 T3=float16,float32 | T1=float8e5m2 T2=float16,float32 T3=float16,float32 | T1=float8e5m2fnuz T2=float16,float32 T3=float16,float32 | T1=int16 T2=float16,float32 T3=float16,float32 | T1=int32 T2=float16,float32 T3=float16,float32 | T1=int4 T2=float16,float32 T3=float16,float32 | T1=int8 T2=float16,float32 T3=float16,float32 | T1=uint16 T2=float16,float32 T3=float16,float32 | T1=uint4 T2=float16,float32 T3=float16,float32 | T1=uint8 T2=float16,float32 T3=float16,float32",
    "24-24 T1=float8e4m3fn T2=float16,float32 T3=float16,float32 | T1=float8e4m3fnuz T2=float16,float32 T3=float16,float32 | T1=float8e5m2 T2=float16,float32 T3=float16,float32 | T1=float8e5m2fnuz T2=float16,float32 T3=float16,float32 | T1=int16 T2=float16,float32 T3=float16,float32 | T1=int32 T2=float16,float32 T3=float16,float32 | T1=int4 T2=float16,float32 T3=float16,float32 | T1=int8 T2=float16,float32 T3=float16,float32 | T1=uint16 T2=float16,float32 T3=float16,float32 | T1=uint4 T2=float16,float32 T3=float16,float32 | T1=uint8 T2=float16,float32 T3=float16,float32",
    "25- T1=float8e4m3fn T2=float16,float32 T3=float16,float32 | T1=float8e4m3fnuz T2=float16,float32 T3=float16,float32 | T1=float8e5m2 T2=float16,float32 T3=float16,float32 | T1=float8e5m2fnuz T2=float16,float32 T3=float16,float32 | T1=int16 T2=float16,float32 T3=float16,float32 | T1=int2 T2=float16,float32 T3=float16,float32 | T1=int32 T2=float16,float32 T3=float16,float32 | T1=int4 T2=float16,float32 T3=float16,float32 | T1=int8 T2=float16,float32 T3=float16,float32 | T1=uint16 T2=float16,float32 T3=float16,float32 | T1=uint2 T2=float16,float32 T3=float16,float32 | T1=uint4 T2=float16,float32 T3=float16,float32 | T1=uint8 T2=float16,float32 T3=float16,float32",
  },
  Det = {
    "11-21 T=float32",
    "22- T=float32",
  },
  Div = {
    "7-12 T=float32,float64,int32,int64,uint32,uint64",
    "13-13 T=float32,float64,int32,int64,uint32,uint64",
    "14- T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Dropout = {
    "7-9 T=float16,float32,float64",
    "10-11 T=float16,float32,float64 T1=bool",
    "12-12 T=float32 T1=float32 T2=bool | T=float32 T1=float64 T2=bool | T=float64 T1=float32 T2=bool | T=float64 T1=float64 T2=bool",
    "13-21 T=float32 T1=float32 T2=bool | T=float32 T1=float64 T2=bool | T=float64 T1=float32 T2=bool | T=float64 T1=float64 T2=bool",
    "22- T=float32 T1=float32 T2=bool | T=float32 T1=float64 T2=bool | T=float64 T1=float32 T2=bool | T=float64 T1=float64 T2=bool",
  },
  DynamicQuantizeLinear = {
    "11- T2=uint8",
  },
  DynamicSlice = {
    "1- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  Einsum = {
    "12-27 T=float32,float64,int32,int64",
    "28- T=bfloat16,float32,float64,int32,int64",
  },
  Elu = {
    "6-21 T=float32",
    "22- T=float32",
  },
  Equal = {
    "7-10 T=bool T1=bool | T=float32 T1=bool | T=float64 T1=bool | T=int32 T1=bool | T=int64 T1=bool",
    "11-12 T=bool T1=bool | T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "13-18 T=bool T1=bool | T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "19- T=bool T1=bool | T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=string T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
  },
  Erf = {
    "9-12 T=float32",
    "13- T=float32",
  },
  Exp = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Expand = {
    "8-12 T=bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13- T=bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  EyeLike = {
    "9-21 T1=float32,float64,int32,int64,uint64 T2=float32,float64,int32,int64,uint64",
    "22- T1=float32,float64,int32,int64,uint64 T2=float32,float64,int32,int64,uint64",
  },
  Flatten = {
    "1-8 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "9-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Floor = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  GRU = {
    "7-13 T=float32,float64 T1=int32",
    "14-21 T=float32,float64 T1=int32",
    "22- T=float32,float64 T1=int32",
  },
  Gather = {
    "1-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "13- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  GatherElements = {
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "13- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  GatherND = {
    "11-11 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 indices=int64",
    "12-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 indices=int64",
    "13- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 indices=int64",
  },
  Gelu = {
    "20- T=float32",
  },
  Gemm = {
    "7-8 T=float32,float64",
    "9-10 T=float32,float64",
    "11-12 T=float32,float64",
    "13- T=float32,float64",
  },
  GlobalAveragePool = {
    "1-21 T=float32",
    "22- T=float32",
  },
  GlobalLpPool = {
    "2- T=float32",
  },
  GlobalMaxPool = {
    "1-21 T=float32",
    "22- T=float32",
  },
  Greater = {
    "7-8 T=float32 T1=bool | T=float64 T1=bool",
    "9-12 T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "13- T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
  },
  GreaterOrEqual = {
    "12-15 T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "16- T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
  },
  GridSample = {
    "16-19 T1=float32 T2=float32",
    "20-21 T1=float32 T2=float32 | T1=float64 T2=float64",
    "22- T1=float32 T2=float32 | T1=float64 T2=float64",
  },
  HammingWindow = {
    "17- T1=int32,int64 T2=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  HannWindow = {
    "17- T1=int32,int64 T2=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  HardSigmoid = {
    "6-21 T=float32",
    "22- T=float32",
  },
  Hardmax = {
    "1-10 T=float32",
    "11-12 T=float32",
    "13- T=float32",
  },
  Identity = {
    "1-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-13 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "14-15 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "16-18 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "19-20 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  If = {
    "1-10 B=bool V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 B=bool V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-15 B=bool V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "16-18 B=bool V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "19-20 B=bool V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 B=bool V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 B=bool V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 B=bool V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- B=bool V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  ImageScaler = {
    "1- T=float32",
  },
  InstanceNormalization = {
    "6-21 T=float32",
    "22- T=float32",
  },
  IsInf = {
    "10-19 T1=float32,float64 T2=bool",
    "20- T1=bfloat16,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz T2=bool",
  },
  IsNaN = {
    "9-12 T1=float16 T2=bool | T1=float32 T2=bool | T1=float64 T2=bool",
    "13-19 T1=float16 T2=bool | T1=float32 T2=bool | T1=float64 T2=bool",
    "20- T1=bfloat16 T2=bool | T1=float16 T2=bool | T1=float32 T2=bool | T1=float64 T2=bool | T1=float8e4m3fn T2=bool | T1=float8e4m3fnuz T2=bool | T1=float8e5m2 T2=bool | T1=float8e5m2fnuz T2=bool",
  },
  LRN = {
    "1-12 T=float32",
    "13- T=float32",
  },
  LSTM = {
    "7-13 T=float32,float64 T1=int32",
    "14-21 T=float32,float64 T1=int32",
    "22- T=float32,float64 T1=int32",
  },
  LayerNormalization = {
    "1-16 T=bfloat16 U=float32 V=bfloat16 | T=float16 U=float32 V=float16 | T=float32 U=float32 V=float32 | T=float64 U=float32 V=float64",
    "17- T=bfloat16 U=float32 | T=float16 U=float32 | T=float32 U=float32 | T=float64 U=float32",
  },
  LeakyRelu = {
    "6-15 T=float32",
    "16- T=float32",
  },
  Less = {
    "7-8 T=float32 T1=bool | T=float64 T1=bool",
    "9-12 T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "13- T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
  },
  LessOrEqual = {
    "12-15 T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
    "16- T=float32 T1=bool | T=float64 T1=bool | T=int16 T1=bool | T=int32 T1=bool | T=int64 T1=bool | T=int8 T1=bool | T=uint16 T1=bool | T=uint32 T1=bool | T=uint64 T1=bool | T=uint8 T1=bool",
  },
  Log = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  LogSoftmax = {
    "1-10 T=float32,float64",
    "11-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Loop = {
    "1-10 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-15 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "16-18 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "19-20 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 B=bool I=int64 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- B=bool I=int64 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  LpNormalization = {
    "1-21 T=float32,float64",
    "22- T=float32,float64",
  },
  LpPool = {
    "2-10 T=float32",
    "11-17 T=float32",
    "18-21 T=float32",
    "22- T=float32",
  },
  MatMul = {
    "1-8 T=float32,float64",
    "9-12 T=float32,float64,int32,int64,uint32,uint64",
    "13- T=float32,float64,int32,int64,uint32,uint64",
  },
  MatMulInteger = {
    "10- T1=int8 T2=int8,uint8 T3=int32 | T1=uint8 T2=int8,uint8 T3=int32",
  },
  Max = {
    "6-7 T=float32",
    "8-11 T=float32,float64",
    "12-12 T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "13- T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
  },
  MaxPool = {
    "1-7 T=float32",
    "8-11 I=int64 T=float32,float64",
    "12-21 I=int64 T=float32,float64,int8,uint8",
    "22- I=int64 T=float32,float64,int8,uint8",
  },
  MaxRoiPool = {
    "1- T=float32",
  },
  MaxUnpool = {
    "9-10 T1=float32 T2=int64",
    "11-21 T1=float32 T2=int64",
    "22- T1=float32 T2=int64",
  },
  Mean = {
    "6-7 T=float32",
    "8-12 T=float32",
    "13- T=float32",
  },
  MeanVarianceNormalization = {
    "1-8 T=float32",
    "9-12 T=float32",
    "13- T=float32",
  },
  MelWeightMatrix = {
    "17- T1=int32,int64 T2=float32 T3=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  MemcpyFromHost = {
    "1- T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  MemcpyToHost = {
    "1- T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Min = {
    "6-7 T=float32",
    "8-11 T=float32,float64",
    "12-12 T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "13- T=float16,float32,float64,int32,int64,int8,uint32,uint64,uint8",
  },
  Mod = {
    "10-12 T=float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "13-27 T=float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "28- T=float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Mul = {
    "7-12 T=float32,float64,int32,int64,uint32,uint64",
    "13-13 T=float32,float64,int32,int64,uint32,uint64",
    "14- T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Multinomial = {
    "7- T1=float32 T2=int32,int64",
  },
  Neg = {
    "6-12 T=float32,float64,int16,int32,int64,int8",
    "13- T=float32,float64,int16,int32,int64,int8",
  },
  NonMaxSuppression = {
    "10-10 ",
    "11- ",
  },
  NonZero = {
    "9-12 T=bool,float32,int32,int64,uint8",
    "13- T=bool,float32,int32,int64,uint8",
  },
  Not = {
    "1- T=bool",
  },
  OneHot = {
    "9-10 T1=float32 T2=float32 T3=float32 | T1=float32 T2=int64 T3=int64 | T1=float32 T2=int64 T3=string | T1=int32 T2=float32 T3=float32 | T1=int32 T2=int32 T3=float32 | T1=int64 T2=float32 T3=float32 | T1=int64 T2=float32 T3=int32 | T1=int64 T2=int32 T3=float32 | T1=int64 T2=int64 T3=float32 | T1=int64 T2=int64 T3=int64 | T1=int64 T2=int64 T3=string",
    "11-27 T1=float32 T2=float32 T3=float32 | T1=float32 T2=int64 T3=int64 | T1=float32 T2=int64 T3=string | T1=int32 T2=float32 T3=float32 | T1=int32 T2=int32 T3=float32 | T1=int64 T2=float32 T3=float32 | T1=int64 T2=float32 T3=int32 | T1=int64 T2=int32 T3=float32 | T1=int64 T2=int64 T3=float32 | T1=int64 T2=int64 T3=int64 | T1=int64 T2=int64 T3=string",
    "28- T1=float32 T2=float32 T3=float32 | T1=float32 T2=int64 T3=int64 | T1=float32 T2=int64 T3=string | T1=int32 T2=float32 T3=float32 | T1=int32 T2=int32 T3=bfloat16 | T1=int32 T2=int32 T3=float32 | T1=int64 T2=float32 T3=float32 | T1=int64 T2=float32 T3=int32 | T1=int64 T2=int32 T3=float32 | T1=int64 T2=int64 T3=bfloat16 | T1=int64 T2=int64 T3=float32 | T1=int64 T2=int64 T3=int64 | T1=int64 T2=int64 T3=string",
  },
  OptionalGetElement = {
    "18- O=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  OptionalHasElement = {
    "18- B=bool O=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Or = {
    "7- T=bool T1=bool",
  },
  PRelu = {
    "7-8 T=float32",
    "9-15 T=float32",
    "16- T=float32",
  },
  Pad = {
    "2-10 T=float32,float64",
    "11-12 T=float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "13-17 T=bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "18-18 T=bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "19-20 T=bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "21-22 T=bfloat16,bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "23-23 T=bfloat16,bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "24-24 T=bfloat16,bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
    "25- T=bfloat16,bool,float32,float64,int32,int64,int8,uint32,uint64,uint8",
  },
  ParametricSoftplus = {
    "1- T=float32",
  },
  Pow = {
    "7-11 T=float32,float64",
    "12-12 T=float32,float64,int32,int64 T1=float32,float64,int32,int64",
    "13-14 T=float32,float64,int32,int64 T1=float32,float64,int32,int64",
    "15- T=float32,float64,int32,int64 T1=float32,float64,int32,int64",
  },
  QLinearConv = {
    "10- T1=int8 T2=int8 T3=int8 T4=int32 | T1=uint8 T2=int8,uint8 T3=uint8 T4=int32",
  },
  QLinearMatMul = {
    "10-20 T1=int8 T2=int8 T3=int8 | T1=uint8 T2=int8,uint8 T3=uint8",
    "21- T1=int8 T2=int8 T3=int8 TS=float32 | T1=uint8 T2=int8,uint8 T3=uint8 TS=float32",
  },
  QuantizeLinear = {
    "10-12 T1=float32 T2=int8 | T1=float32 T2=uint8",
    "13-18 T1=float32 T2=int8 | T1=float32 T2=uint8",
    "19-20 T1=float16,float32 T2=float8e4m3fn | T1=float16,float32 T2=float8e4m3fnuz | T1=float16,float32 T2=float8e5m2 | T1=float16,float32 T2=float8e5m2fnuz | T1=float16,float32 T2=int8 | T1=float16,float32 T2=uint8",
    "21-22 T1=float16,float32 T2=float8e4m3fn | T1=float16,float32 T2=float8e4m3fnuz | T1=float16,float32 T2=float8e5m2 | T1=float16,float32 T2=float8e5m2fnuz | T1=float16,float32 T2=int16 | T1=float16,float32 T2=int4 | T1=float16,float32 T2=int8 | T1=float16,float32 T2=uint16 | T1=float16,float32 T2=uint4 | T1=float16,float32 T2=uint8",
    "23-23 T1=float16,float32 T2=float16,float32 T3=float8e4m3fn | T1=float16,float32 T2=float16,float32 T3=float8e4m3fnuz | T1=float16,float32 T2=float16,float32 T3=float8e5m2 | T1=float16,float32 T2=float16,float32 T3=float8e5m2fnuz | T1=float16,float32 T2=float16,float32 T3=int16 | T1=float16,float32 T2=float16,float32 T3=int4 | T1=float16,float32 T2=float16,float32 T3=int8 | T1=float16,float32 T2=float16,float32 T3=uint16 | T1=float16,float32 T2=float16,float32 T3=uint4 | T1=float16,float32 T2=float16,float32 T3=uint8",
    "24-24 T1=float16,float32 T2=float16,float32 T3=float8e4m3fn | T1=float16,float32 T2=float16,float32 T3=float8e4m3fnuz | T1=float16,float32 T2=float16,float32 T3=float8e5m2 | T1=float16,float32 T2=float16,float32 T3=float8e5m2fnuz | T1=float16,float32 T2=float16,float32 T3=int16 | T1=float16,float32 T2=float16,float32 T3=int4 | T1=float16,float32 T2=float16,float32 T3=int8 | T1=float16,float32 T2=float16,float32 T3=uint16 | T1=float16,float32 T2=float16,float32 T3=uint4 | T1=float16,float32 T2=float16,float32 T3=uint8",
    "25- T1=float16,float32 T2=float16,float32 T3=float8e4m3fn | T1=float16,float32 T2=float16,float32 T3=float8e4m3fnuz | T1=float16,float32 T2=float16,float32 T3=float8e5m2 | T1=float16,float32 T2=float16,float32 T3=float8e5m2fnuz | T1=float16,float32 T2=float16,float32 T3=int16 | T1=float16,float32 T2=float16,float32 T3=int2 | T1=float16,float32 T2=float16,float32 T3=int4 | T1=float16,float32 T2=float16,float32 T3=int8 | T1=float16,float32 T2=float16,float32 T3=uint16 | T1=float16,float32 T2=float16,float32 T3=uint2 | T1=float16,float32 T2=float16,float32 T3=uint4 | T1=float16,float32 T2=float16,float32 T3=uint8",
  },
  RMSNormalization = {
    "23- T=float16 V=float16 | T=float32 V=float32 | T=float64 V=float64",
  },
  RNN = {
    "7-13 T=float32 T1=int32",
    "14-21 T=float32 T1=int32",
    "22- T=float32 T1=int32",
  },
  RandomNormal = {
    "1- T=float32,float64",
  },
  RandomNormalLike = {
    "1- T1=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T2=float32,float64",
  },
  RandomUniform = {
    "1- T=float32,float64",
  },
  RandomUniformLike = {
    "1- T1=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T2=float32,float64",
  },
  Range = {
    "11-26 T=float32,float64,int16,int32,int64",
    "27- T=float32,float64,int16,int32,int64",
  },
  Reciprocal = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  ReduceL1 = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceL2 = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceLogSum = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceLogSumExp = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceMax = {
    "1-10 T=float32,float64,int32,int64",
    "11-11 T=float32,float64,int32,int64",
    "12-12 T=float32,float64,int32,int64,int8,uint8",
    "13-17 T=float32,float64,int32,int64,int8,uint8",
    "18-19 T=float32,float64,int32,int64,int8,uint8",
    "20- T=bool,float32,float64,int32,int64,int8,uint8",
  },
  ReduceMean = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceMin = {
    "1-10 T=float32,float64,int32,int64",
    "11-11 T=float32,float64,int32,int64",
    "12-12 T=float32,float64,int32,int64,int8,uint8",
    "13-17 T=float32,float64,int32,int64,int8,uint8",
    "18-19 T=float32,float64,int32,int64,int8,uint8",
    "20- T=bool,float32,float64,int32,int64,int8,uint8",
  },
  ReduceProd = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  ReduceSum = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13- T=float32,float64,int32,int64",
  },
  ReduceSumSquare = {
    "1-10 T=float32,float64,int32,int64",
    "11-12 T=float32,float64,int32,int64",
    "13-17 T=float32,float64,int32,int64",
    "18- T=float32,float64,int32,int64",
  },
  RegexFullMatch = {
    "20- T1=string T2=bool",
  },
  Relu = {
    "6-12 T=float32,float64",
    "13-13 T=float32,float64",
    "14- T=float32,float64,int32,int8",
  },
  Reshape = {
    "1-4 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "5-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "13-13 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "14-18 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "19-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "21-22 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "23-23 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "24-24 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
    "25- T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 shape=int64",
  },
  Resize = {
    "10-10 T=float32,int32,int8,uint8",
    "11-12 T1=float32,int32,int8,uint8",
    "13-17 T1=float32,int32,int8,uint8",
    "18-18 T1=float32,int32,int8,uint8",
    "19- T1=float32,int32,int8,uint8",
  },
  ReverseSequence = {
    "10-27 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "28- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  RoiAlign = {
    "10-15 T1=float32 T2=int64 | T1=float64 T2=int64",
    "16- T1=float32 T2=int64 | T1=float64 T2=int64",
  },
  RotaryEmbedding = {
    "23- M=int64 T=float16 | M=int64 T=float32",
  },
  Round = {
    "11-21 T=float16,float32,float64",
    "22- T=float16,float32,float64",
  },
  STFT = {
    "17- T1=float32,float64 T2=int32,int64",
  },
  Scale = {
    "1- T=float32",
  },
  ScaledTanh = {
    "1- T=float32",
  },
  Scan = {
    "8-8 I=int64 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "9-10 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-15 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "16-18 V=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "19-20 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- V=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Scatter = {
    "9-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  ScatterElements = {
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "13-15 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "16-17 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "18- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  ScatterND = {
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-15 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "16-17 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "18- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Selu = {
    "6-21 T=float32",
    "22- T=float32",
  },
  Shape = {
    "1-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "13-14 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "15-18 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "19-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "21-22 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "23-23 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "24-24 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "25- T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
  },
  Shrink = {
    "9- T=bfloat16,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Sigmoid = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Sign = {
    "9-12 T=bfloat16,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
    "13- T=bfloat16,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  SimplifiedLayerNormalization = {
    "1- T=bfloat16 U=float32 V=bfloat16 | T=float16 U=float32 V=float16 | T=float32 U=float32 V=float32 | T=float64 U=float32 V=float64",
  },
  Sin = {
    "7-21 T=float32,float64",
    "22- T=float32,float64",
  },
  Sinh = {
    "9-21 T=float32",
    "22- T=float32",
  },
  Size = {
    "1-12 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "13-18 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "19-20 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "21-22 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "23-23 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "24-24 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "25- T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
  },
  Slice = {
    "1-9 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "10-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
    "13- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 Tind=int32,int64",
  },
  Softmax = {
    "1-10 T=float32,float64",
    "11-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Softplus = {
    "1-21 T=float32",
    "22- T=float32",
  },
  Softsign = {
    "1-21 T=float32",
    "22- T=float32",
  },
  SpaceToDepth = {
    "1-12 T=float32,float64,int8,uint8",
    "13-27 T=float32,float64,int8,uint8",
    "28- T=float32,float64,int8,uint8",
  },
  Split = {
    "2-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-17 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "18- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Sqrt = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Squeeze = {
    "1-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  StringConcat = {
    "20- T=string",
  },
  StringNormalizer = {
    "10- X=string",
  },
  StringSplit = {
    "20- T1=string T2=string T3=int64",
  },
  Sub = {
    "7-12 T=float32,float64,int32,int64,uint32,uint64",
    "13-13 T=float32,float64,int32,int64,uint32,uint64",
    "14- T=float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  Sum = {
    "6-7 T=float32,float64",
    "8-12 T=float32,float64",
    "13- T=float32,float64",
  },
  Tan = {
    "7-21 T=float32",
    "22- T=float32",
  },
  Tanh = {
    "6-12 T=float32,float64",
    "13- T=float32,float64",
  },
  TensorScatter = {
    "24- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,uint16,uint32,uint64,uint8",
  },
  TfIdfVectorizer = {
    "9- T=int32,int64,string T1=float32",
  },
  ThresholdedRelu = {
    "1-9 T=float32",
    "10-21 T=float32",
    "22- T=float32",
  },
  Tile = {
    "6-12 T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
    "13- T=bool,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8 T1=int64",
  },
  TopK = {
    "1-9 I=int64 T=float32 | I=int64 T=float64",
    "10-10 I=int64 T=float32 | I=int64 T=float64",
    "11-23 I=int64 T=float32 | I=int64 T=float64 | I=int64 T=int16 | I=int64 T=int32 | I=int64 T=int64 | I=int64 T=int8 | I=int64 T=uint8",
    "24- I=int64 T=float32 | I=int64 T=float64 | I=int64 T=int16 | I=int64 T=int32 | I=int64 T=int64 | I=int64 T=int8 | I=int64 T=uint8",
  },
  Transpose = {
    "1-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int4,int64,int8,string,uint16,uint32,uint4,uint64,uint8",
    "23-23 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int4,int64,int8,string,uint16,uint32,uint4,uint64,uint8",
    "24-24 T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int32,int4,int64,int8,string,uint16,uint32,uint4,uint64,uint8",
    "25- T=bfloat16,bool,float16,float32,float64,float8e4m3fn,float8e4m3fnuz,float8e5m2,float8e5m2fnuz,int16,int2,int32,int4,int64,int8,string,uint16,uint2,uint32,uint4,uint64,uint8",
  },
  Trilu = {
    "14- T=bool,float32,float64,int32,int64",
  },
  Unique = {
    "11-27 T=float32,float64,int64,int8,string",
    "28- T=bfloat16,float32,float64,int64,int8,string",
  },
  Unsqueeze = {
    "1-10 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "11-12 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "13-20 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "21-22 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "23-23 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "24-24 T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
    "25- T=bfloat16,bool,float16,float32,float64,int16,int32,int64,int8,string,uint16,uint32,uint64,uint8",
  },
  Upsample = {
    "7-8 T=float32,int32,int8,uint8",
    "9-9 T=float32,int32,int8,uint8",
  },
  Where = {
    "9-15 T=float32,float64,int32,int64,int8,string,uint32,uint8",
    "16- T=float32,float64,int32,int64,int8,string,uint32,uint8",
  },
  Xor = {
    "7- T=bool T1=bool",
  },
})
