/* options.c: reads the command line by a table; options may stand before or after the command. */
#include "cli/cli.h"

#include "onnx/schema.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_NUMBER (1 << 20)

typedef enum kind { FLAG, TEXT, NUMBER, LIST, NAMES, STRIP } kind;

typedef struct option_row {
    const char *name, *brief;
    kind kind;
    size_t at; /* offset of the field in options */
} option_row;

#define FIELD(field) offsetof(options, field)

static const option_row table[] = {
    { "--rules", "-r", LIST, FIELD(rules) },
    { "--output", "-o", TEXT, FIELD(output) },
    { "--directory", "-d", TEXT, FIELD(folder) },
    { "--to", NULL, TEXT, FIELD(to) },
    { "--jobs", "-j", NUMBER, FIELD(jobs) },
    { "--skip-existing", NULL, FLAG, FIELD(skip_existing) },
    { "--opset", NULL, NUMBER, FIELD(opset) },
    { "--ir-version", NULL, NUMBER, FIELD(ir_version) },
    { "--model", NULL, TEXT, FIELD(model) },
    { "--target", NULL, TEXT, FIELD(target) },
    { "--state", NULL, TEXT, FIELD(state) },
    { "--dim", NULL, LIST, FIELD(dim) },
    { "--set", NULL, LIST, FIELD(set) },
    { "--require-dynamic", NULL, LIST, FIELD(require_dynamic) },
    { "--input-names", NULL, NAMES, FIELD(input_names) },
    { "--output-names", NULL, NAMES, FIELD(output_names) },
    { "--rename", NULL, LIST, FIELD(rename) },
    { "--float16", NULL, FLAG, FIELD(float16) },
    { "--bfloat16", NULL, FLAG, FIELD(bfloat16) },
    { "--functions", NULL, LIST, FIELD(functions) },
    { "--keep", NULL, LIST, FIELD(keep) },
    { "--convert-io", NULL, FLAG, FIELD(convert_io) },
    { "--weights", NULL, TEXT, FIELD(weights) },
    { "--weights-from", NULL, TEXT, FIELD(weights_from) },
    { "--align", NULL, NUMBER, FIELD(align) },
    { "--unknown", NULL, TEXT, FIELD(unknown) },
    { "--strip", NULL, STRIP, FIELD(strip_meta) },
    { "--dump-after", NULL, TEXT, FIELD(dump_after) },
    { "--stop-after", NULL, TEXT, FIELD(stop_after) },
    { "--no-user-rules", NULL, FLAG, FIELD(no_user_rules) },
    { "--verify", NULL, FLAG, FIELD(verify) },
    { "--inputs", NULL, LIST, FIELD(inputs) },
    { "--seed", NULL, NUMBER, FIELD(seed) },
    { "--rtol", NULL, TEXT, FIELD(rtol) },
    { "--atol", NULL, TEXT, FIELD(atol) },
    { "--json", NULL, FLAG, FIELD(json) },
    { "--markdown", NULL, FLAG, FIELD(markdown) },
    { "--quiet", "-q", FLAG, FIELD(quiet) },
    { "--verbose", "-v", FLAG, FIELD(verbose) },
    { "--check-data", NULL, FLAG, FIELD(check_data) },
    { "--comments", NULL, FLAG, FIELD(comments) },
    { "--help", "-h", FLAG, FIELD(help) },
    { "--version", NULL, FLAG, FIELD(version) },
};

static const char *const commands[] = { "convert", "attach", "check", "verify", "record", "info", "rules", "explain",
                                       "help" };

static const char main_help[] =
    "t2o converts PyTorch programs saved by torch.export.save (.pt2) to ONNX.\n"
    "\n"
    "usage: t2o [options] COMMAND [arguments]\n"
    "\n"
    "commands:\n"
    "  convert MODEL.pt2 [-o OUT.onnx]   write the ONNX model\n"
    "  attach MODEL.onnx WEIGHTS         put weights into a model that has none\n"
    "  check MODEL.pt2                   say what would be converted, what is missing\n"
    "  verify A B                        run two models on the same inputs, compare\n"
    "  record MODEL -o FILE.npz          run one and keep its inputs and outputs\n"
    "  info MODEL.pt2                    inputs, outputs, weights and versions\n"
    "  rules list|which|stub|dump|test   look into the conversion rules\n"
    "  explain CODE                      explain an error code\n"
    "\n"
    "options, before or after the command:\n"
    "  -r, --rules FILE|DIR   more rules, which come before the built-in ones\n"
    "  --opset N              ONNX opset to write (default 20)\n"
    "  --model NAME           which model of an archive that holds several\n"
    "  --no-user-rules        no rules from T2O_RULES or the configuration folder\n"
    "  --json                 the result as JSON on standard output\n"
    "  -q, --quiet            errors only\n"
    "  -h, --help             this text, or that of a command\n"
    "  --version              the version\n"
    "\n"
    "exit status: 0 done, 1 conversion failed, 2 usage, 3 unsupported operator,\n"
    "4 verification mismatch, 5 bad input file, 6 error in a rule, 7 some of several\n"
    "models failed\n";

static const char convert_help[] =
    "usage: t2o convert MODEL.pt2 [-o OUT.onnx] [options]\n"
    "\n"
    "Converts to ONNX, or with -o OUT.py to the source of a PyTorch module, whose\n"
    "weights stand beside it in OUT.safetensors. Without -o the model is written\n"
    "beside the input, with the suffix .onnx. Files appear whole or not at all.\n"
    "\n"
    "  -o, --output FILE      where to write\n"
    "  --opset N              ONNX opset (default 20)\n"
    "  --ir-version N         ONNX IR version (default: what the opset needs)\n"
    "  -r, --rules FILE|DIR   more rules; may be given several times, the last wins\n"
    "  --model NAME           which model of an archive that holds several\n"
    "  --target NAME          runtime to convert for: ort_cpu (default) or onnx\n"
    "  --state MODE           state that the model changes (caches ...): io makes\n"
    "                         inputs and outputs of it (default), const drops the\n"
    "                         change, error refuses\n"
    "  --dim PLACE=NAME       name a dimension: s77=batch, or by its place x:0=batch\n"
    "  --set PLACE=SIZE       fix a dimension: batch=1 or x:0=1\n"
    "  --require-dynamic x:0  an error where that dimension is fixed in the archive\n"
    "  --input-names A,B      names of the inputs, in their order\n"
    "  --output-names A,B     names of the outputs, in their order\n"
    "  --rename GLOB=NAME     rename whatever matches; '*' in NAME is what the '*' of\n"
    "                         GLOB matched: 'backbone.*=net.*'\n"
    "  --float16, --bfloat16  compute in 16 bits what was float32\n"
    "  --keep GLOB            a module (path or class) or an operator that stays in\n"
    "                         float32; may be given several times\n"
    "  --convert-io           inputs and outputs in 16 bits too\n"
    "  --functions GLOB       modules (class or path) that become ONNX functions\n"
    "  --unknown keep         an operator without a rule becomes a node of its own\n"
    "                         domain, for a runtime that has a kernel for it\n"
    "  --weights MODE         where weights go: embed (in the model, default),\n"
    "                         external (OUT.onnx.data), external-safetensors\n"
    "                         (OUT.safetensors), link (they stay in the archive,\n"
    "                         which must lie beside the model), none (they are\n"
    "                         inputs)\n"
    "  --weights-from FILE    take weights from a .safetensors or .pt2 file, by name\n"
    "  --align N              of large external weights, in bytes (default 65536)\n"
    "  --verify               run both models and compare (see t2o verify --help)\n"
    "  --strip meta           leave out module paths and stack traces\n"
    "  --comments             in Python source, the names of the nodes that a line\n"
    "                         stands for\n"
    "  --dump-after STEP      print the graph after a step: read, normalise,\n"
    "                         translate, optimise, lower, precision, target, check\n"
    "  --stop-after STEP      end after that step, writing nothing\n"
    "  --skip-existing        nothing where the output is there already, made of the\n"
    "                         same input, rules and options by the same version\n"
    "  --json                 a report as JSON on standard output\n"
    "\n"
    "several models: t2o convert A.pt2 B.pt2 FOLDER [-d OUT] [options]\n"
    "  Each is converted by a process of its own, folders with all models below them.\n"
    "  One that fails does not stop the others; the exit status is then 7.\n"
    "  -d, --directory OUT    the folder to write to (default: beside each input)\n"
    "  --to onnx|py|pt2       what to write (default onnx)\n"
    "  -j, --jobs N           so many at once (default: as many as processors)\n";

static const char attach_help[] =
    "usage: t2o attach MODEL.onnx WEIGHTS [-o OUT.onnx] [--weights MODE]\n"
    "\n"
    "Gives a model that was written with --weights none its weights, by their names,\n"
    "from a .safetensors or .pt2 file. Without -o the model itself is replaced.\n";

static const char check_help[] =
    "usage: t2o check MODEL.pt2 [options]\n"
    "\n"
    "Lists every operator with the rule that converts it, what is missing, which\n"
    "dimensions of the inputs are fixed, and which state the model changes. Runs\n"
    "the conversion without writing anything. Exit status as of convert.\n"
    "\n"
    "  --opset N, -r FILE|DIR, --model NAME, --json\n";

static const char info_help[] =
    "usage: t2o info MODEL.pt2|MODEL.onnx [--json] [--model NAME] [--check-data]\n"
    "\n"
    "Prints who wrote the model, the models in an archive, the inputs, outputs,\n"
    "weights and operators of one. --verbose prints the graph too. --check-data\n"
    "tells in which files the weights lie, and fails where a location, an offset or\n"
    "a length is wrong.\n";

static const char rules_help[] =
    "usage: t2o rules list [PATTERN]        operators with a rule and where it stands\n"
    "       t2o rules which OP              the rules for one operator, first wins\n"
    "       t2o rules stub OP [MODEL.pt2]   a rule to start from\n"
    "       t2o rules dump DIR              write the built-in rules to a folder\n"
    "       t2o rules test FILE ...         run test rows; -v shows what they build\n"
    "\n"
    "OP is a name such as aten::relu or aten::add.Tensor; * and ? match in PATTERN.\n";

static const char verify_help[] =
    "usage: t2o verify A B [options]\n"
    "       t2o verify MODEL --inputs DIR [options]\n"
    "\n"
    "Runs two models on the same inputs and compares what they compute. A and B are\n"
    ".pt2, .onnx, a model.py that t2o wrote, or an .npz of t2o record; A is what is\n"
    "right. ONNX runs in ONNX Runtime, the others in PyTorch, under python3 or the\n"
    "interpreter that T2O_PYTHON names; outputs that stand beside the inputs take the\n"
    "place of A where it cannot be run. Exit status 4 where they differ.\n"
    "\n"
    "Inputs are those of --inputs, of a recording, the samples in the archive, or\n"
    "random ones: floats of a normal distribution, indices below the number of rows.\n"
    "\n"
    "  --inputs DIR|FILE      input_0.pb ... in DIR or DIR/test_data_set_0 ..., with\n"
    "                         output_0.pb ... as recorded outputs; or files (.npz,\n"
    "                         .npy, .pb, .safetensors); may be given several times\n"
    "  --set PLACE=SIZE       random inputs of that size: batch=3 or x:0=3\n"
    "  --seed N               random inputs of that seed (default 0)\n"
    "  --rtol X, --atol X     what counts as equal: |b - a| <= atol + rtol * max(|a|,\n"
    "                         rms of A's output); default by dtype, integers exactly\n"
    "  --float16, --bfloat16  what is float32 in A may be computed in 16 bits in B\n"
    "  --model NAME           which model of an archive that holds several\n"
    "  --json                 a report as JSON on standard output\n";

static const char record_help[] =
    "usage: t2o record MODEL -o FILE.npz [--inputs DIR|FILE] [--set PLACE=SIZE]\n"
    "       [--seed N]\n"
    "\n"
    "Runs a model once and stores inputs and outputs, to compare others with where\n"
    "its runtime is missing: t2o verify FILE.npz OTHER. Inputs as of verify.\n";

static const char explain_help[] =
    "usage: t2o explain CODE\n\nExplains an error code such as E0301; without one, lists them.\n";

const char *options_help(const char *command)
{
    static const struct { const char *name, *text; } pages[] = {
        { "convert", convert_help }, { "attach", attach_help }, { "check", check_help },     { "info", info_help },
        { "rules", rules_help },     { "explain", explain_help }, { "verify", verify_help },
        { "record", record_help },
    };
    for (size_t i = 0; command && i < sizeof pages / sizeof *pages; i++)
        if (!strcmp(pages[i].name, command))
            return pages[i].text;
    return main_help;
}

static bool unknown(t2o_session *s, const char *what, const char *word, const char *near)
{
    t2o_fail(s, "E0201", "unknown %s '%s'", what, word);
    if (near)
        t2o_hint(s, "did you mean '%s'?", near);
    else
        t2o_hint(s, "t2o --help lists what there is");
    return false;
}

static const char *nearest_option(const char *word)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (t2o_edit_distance(word, table[i].name) <= 2)
            return table[i].name;
    return NULL;
}

static const char *nearest_command(const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (t2o_edit_distance(word, commands[i]) <= 2)
            return commands[i];
    return NULL;
}

static const option_row *find_option(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if ((!strncmp(table[i].name, word, n) && !table[i].name[n]) ||
            (table[i].brief && !strncmp(table[i].brief, word, n) && !table[i].brief[n]))
            return &table[i];
    return NULL;
}

/* "x,mask" */
static bool split_names(t2o_session *s, const char *option, const char *value, texts *to)
{
    for (const char *p = value;; p++) {
        size_t n = strcspn(p, ",");
        if (!n)
            return t2o_fail(s, "E0201", "%s takes names with commas between them, not '%s'", option, value);
        t2o_push(s->arena, to, t2o_strndup(s->arena, p, n));
        p += n;
        if (!*p)
            return true;
    }
}

static bool set_option(t2o_session *s, options *o, const option_row *option, const char *value)
{
    char *field = (char *)o + option->at, *end;
    switch (option->kind) {
    case FLAG: *(bool *)field = true; return true;
    case TEXT: *(const char **)field = value; return true;
    case LIST: t2o_push(s->arena, (texts *)field, value); return true;
    case NAMES: return split_names(s, option->name, value, (texts *)field);
    case STRIP:
        if (strcmp(value, "meta"))
            return t2o_fail(s, "E0201", "--strip takes 'meta', not '%s'", value);
        *(bool *)field = true;
        return true;
    case NUMBER: break;
    }
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end || errno || number < 0 || number > MAX_NUMBER)
        return t2o_fail(s, "E0201", "%s takes a number, not '%s'", option->name, value);
    *(int *)field = (int)number;
    return true;
}

/* Reads the option at argv[*i]; its value may follow "=" or be the next argument. */
static bool read_option(t2o_session *s, options *o, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *equals = strncmp(word, "--", 2) ? NULL : strchr(word, '=');
    const option_row *option = find_option(word, equals ? (size_t)(equals - word) : strlen(word));
    if (!option)
        return unknown(s, "option", word, nearest_option(word));
    if (option->kind == FLAG && equals)
        return t2o_fail(s, "E0201", "%s takes no value", option->name);
    if (option->kind == FLAG)
        return set_option(s, o, option, NULL);
    if (!equals && *i + 1 >= argc)
        return t2o_fail(s, "E0201", "%s needs a value", option->name);
    return set_option(s, o, option, equals ? equals + 1 : argv[++*i]);
}

/* What is not part of the result, or is told apart by its contents or its default (stamp.c). */
static bool shapes_result(const option_row *option)
{
    static const char *const others[] = {
        "--rules",  "--output", "--directory",    "--to",         "--jobs",       "--skip-existing", "--opset",
        "--weights-from", "--no-user-rules", "--dump-after", "--stop-after", "--verify", "--inputs", "--seed",
        "--rtol",   "--atol",   "--json",         "--markdown",   "--quiet",      "--verbose", "--check-data",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!strcmp(others[i], option->name))
            return false;
    return true;
}

static void digest_option(const options *o, const option_row *option, t2o_digest *h)
{
    const char *field = (const char *)o + option->at;
    const texts *list = (const texts *)field;
    t2o_digest_text(h, option->name);
    switch (option->kind) {
    case FLAG:
    case STRIP: t2o_digest_number(h, *(const bool *)field); break;
    case NUMBER: t2o_digest_number(h, (uint64_t) * (const int *)field); break;
    case TEXT: t2o_digest_text(h, *(const char *const *)field); break;
    case LIST:
    case NAMES:
        for (size_t i = 0; i < list->n; i++)
            t2o_digest_text(h, list->at[i]);
    }
}

void options_digest(const options *o, t2o_digest *h)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (shapes_result(&table[i]))
            digest_option(o, &table[i], h);
}

static bool is_command(const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i], word))
            return true;
    return false;
}

static bool is_tolerance(t2o_session *s, const char *option, const char *text)
{
    char *end;
    double x = text ? strtod(text, &end) : 0;
    if (!text || (end != text && !*end && x >= 0))
        return true;
    return t2o_fail(s, "E0201", "%s takes a number that is not negative, not '%s'", option, text);
}

static bool check_options(t2o_session *s, const options *o)
{
    int newest = t2o_newest_opset();
    if (o->opset && (o->opset < 9 || o->opset > newest)) {
        t2o_fail(s, "E0201", "--opset %d: t2o writes opsets 9 to %d", o->opset, newest);
        return false;
    }
    if (!is_tolerance(s, "--rtol", o->rtol) || !is_tolerance(s, "--atol", o->atol))
        return false;
    if (strcmp(o->target, "ort_cpu") && strcmp(o->target, "onnx"))
        return t2o_fail(s, "E0201", "--target takes ort_cpu or onnx, not '%s'", o->target);
    if (strcmp(o->state, "io") && strcmp(o->state, "const") && strcmp(o->state, "error"))
        return t2o_fail(s, "E0201", "--state takes io, const or error, not '%s'", o->state);
    size_t mode = 0;
    while (weights_modes[mode] && strcmp(o->weights, weights_modes[mode]))
        mode++;
    if (!weights_modes[mode])
        return t2o_fail(s, "E0201", "--weights takes embed, external, external-safetensors, link or none, not '%s'",
                        o->weights);
    if (o->to && strcmp(o->to, "onnx") && strcmp(o->to, "py") && strcmp(o->to, "pt2"))
        return t2o_fail(s, "E0201", "--to takes onnx, py or pt2, not '%s'", o->to);
    if (o->to && o->output)
        return t2o_fail(s, "E0201", "--to goes without -o, whose suffix says what to write");
    if (o->align & (o->align - 1))
        return t2o_fail(s, "E0201", "--align takes a power of two, not %d", o->align);
    if (strcmp(o->unknown, "error") && strcmp(o->unknown, "keep"))
        return t2o_fail(s, "E0201", "--unknown takes error or keep, not '%s'", o->unknown);
    if (o->float16 && o->bfloat16)
        return t2o_fail(s, "E0201", "--float16 and --bfloat16 exclude each other");
    if ((o->keep.n || o->convert_io) && !o->float16 && !o->bfloat16)
        return t2o_fail(s, "E0201", "--keep and --convert-io go with --float16 or --bfloat16");
    const char *steps[] = { o->dump_after, o->stop_after };
    for (int i = 0; i < 2; i++)
        if (steps[i] && !run_step_exists(steps[i])) {
            t2o_fail(s, "E0201", "there is no step '%s'", steps[i]);
            t2o_hint(s, "steps: read, raise, normalise, translate, optimise, lower, precision, target, check, write");
            return false;
        }
    return true;
}

bool options_parse(t2o_session *s, int argc, char **argv, options *o)
{
    bool only_operands = false;
    o->target = "ort_cpu";
    o->state = "io";
    o->unknown = "error";
    o->weights = "embed";
    o->seed = -1;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && !strcmp(word, "--"))
            only_operands = true;
        else if (!only_operands && word[0] == '-' && word[1]) {
            if (!read_option(s, o, argc, argv, &i))
                return false;
        } else if (!o->command && !is_command(word))
            return unknown(s, "command", word, nearest_command(word));
        else if (!o->command)
            o->command = word;
        else
            t2o_push(s->arena, &o->operands, word);
    }
    return check_options(s, o);
}
