/* codes.c: every error code, its title and its explanation (`t2o explain CODE`). */
#include "base/session.h"

#include <strings.h>

typedef struct code {
    const char *code, *title, *text;
} code;

static const code codes[] = {
    { "E0101", "the output cannot be written",
      "The folder does not exist, may not be written to, or the disk is full. The output is written beside its\n"
      "final name and renamed at the end, so an older file of that name is still whole." },
    { "E0102", "the converted graph does not pass the check",
      "The graph that the rules built is not valid ONNX at the requested opset. A rule's own mistake is reported\n"
      "as E0603 with its line; this code means the fault arose later. Try another --opset, and report the model." },
    { "E0103", "a test row of a rule failed",
      "`t2o rules test FILE` compares what rules build with what the rows of the file say; the differences are\n"
      "printed." },
    { "E0104", "a dimension that must vary is fixed",
      "--require-dynamic asked for a dimension that has one size in the archive, so the exported program holds for\n"
      "that size only. Export again with dynamic_shapes for it, and with an example size of at least 2." },
    { "E0105", "what runs a model is missing",
      "verify and record run models: .onnx in ONNX Runtime, .pt2 and .py in PyTorch, from python3 or the interpreter\n"
      "that T2O_PYTHON names. Install what is missing there. Without PyTorch, a model is compared with outputs that\n"
      "`t2o record` stored where PyTorch is, or with those that stand beside the inputs (output_0.pb ...)." },
    { "E0106", "a model cannot be run",
      "The runtime refused the model or failed on these inputs; what it said is in the message. Inputs of your own\n"
      "(--inputs) help where random ones are out of the model's range." },
    { "E0107", "a process of a batch ended by itself",
      "Several models are converted by a process each. This one was ended by a signal (a crash, or the system ran out\n"
      "of memory) or could not be started; the others go on. A crash is a fault of t2o: please report the model." },
    { "E0201", "wrong use of the command line",
      "`t2o --help` lists the commands, `t2o COMMAND --help` the options of one." },
    { "E0301", "no rule converts an operator",
      "The model uses an operator that no rule file knows. `t2o rules stub NAMESPACE::OP` prints a rule to start\n"
      "from; save it and convert again with `-r FILE`. `t2o check MODEL` lists everything that is missing." },
    { "E0302", "every rule for an operator declined",
      "Rules exist for the operator, but not for these arguments, dtypes or shapes; the reasons are listed. A rule\n"
      "of your own (`-r FILE`) is asked first." },
    { "E0303", "an operator cannot be expressed at this opset",
      "The graph needs an ONNX operator, a type or an attribute that is newer than the requested opset. The error\n"
      "names the first opset that has it; pass it with --opset." },
    { "E0304", "a write into memory that may be shared",
      "An in-place operation changes a tensor that may or may not be a view of another one that is read later:\n"
      "only the run would tell. Exporting with run_decompositions() makes the program functional." },
    { "E0305", "a part of the archive is of a kind that is not converted",
      "For example an input or output that is an object of a Python class, or a token." },
    { "E0306", "the model changes state",
      "A buffer, a parameter or an input is written to, and --state error was asked for. With --state io the\n"
      "state is an input (by default what the archive holds) and its new value an output; --state const drops\n"
      "the change." },
    { "E0401", "two models differ",
      "verify found outputs of another number, shape, dtype or value; the table says which and by how much. What\n"
      "counts as equal is set by --rtol and --atol; --float16 and --bfloat16 are for models in 16 bits." },
    { "E0501", "the input cannot be read",
      "The path does not exist, is a directory, or may not be read." },
    { "E0502", "the input is not an archive of torch.export",
      "t2o reads archives written by torch.export.save. What the file looks like instead is said in the message." },
    { "E0503", "the archive is damaged",
      "The zip structure or a record in it is cut short or contradicts itself. Copy or export the file again." },
    { "E0504", "the program in the archive is malformed",
      "The JSON text that describes the graph does not follow the format of torch.export." },
    { "E0505", "no such model in the archive",
      "An archive may hold several models; `t2o info FILE` lists them, `--model NAME` picks one." },
    { "E0506", "the archive's version is not supported",
      "Archives of PyTorch 2.5 and later are read. This one has an older schema, one with a newer major number, or\n"
      "numbers in big-endian byte order." },
    { "E0507", "a weight has no data",
      "The archive names a weight but holds no or too few bytes for it (exported with fake or meta tensors,\n"
      "or cut short)." },
    { "E0508", "the ONNX model is malformed",
      "The file is cut short, names a value that nothing defines, defines one twice, or contradicts itself. The\n"
      "node is named; onnx.checker says more." },
    { "E0509", "a part of ONNX that is not read",
      "For example a map, a sparse tensor as an input, or a function that calls itself." },
    { "E0510", "the inputs of a run cannot be used",
      "A file given with --inputs is damaged or of a kind that is not read (npy, npz, pb, safetensors), or what it\n"
      "holds does not fit the model's inputs." },
    { "E0601", "a rule file cannot be loaded",
      "The Lua file has a syntax error, or fails while it is loaded." },
    { "E0602", "a rule fails with a Lua error",
      "The rule for an operator raised an error; file and line are given." },
    { "E0603", "a rule builds an invalid node",
      "An operator, attribute, type or number of inputs that ONNX does not have; the rule's line is given." },
    { "E0604", "a rule's result differs from what the archive records",
      "torch.export records the dtype and the shape of every tensor. The rule returned a value of another dtype\n"
      "or shape, so the model would be wrong." },
    { "E0605", "a rule exceeds its limits",
      "Rules run with a limit on instructions and memory, so that an endless loop ends with an error." },
    { "E0606", "two rules for one operator in the same layer",
      "Both lines are given. Put one in a later layer (-r), or remove it." },
    { "E0701", "some of several models could not be converted",
      "The others were. What is wrong with each is reported under its name." },
};

const char *t2o_explain(const char *name, const char **title)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcasecmp(codes[i].code, name)) {
            *title = codes[i].title;
            return codes[i].text;
        }
    return NULL;
}

const char *t2o_code_at(size_t index)
{
    return index < sizeof codes / sizeof *codes ? codes[index].code : NULL;
}
