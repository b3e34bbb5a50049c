/* options.c: reads the command line by a table; options may stand before or after the command. */
#include "cli/cli.h"

#include "onnx/schema.h"

#include <errno.h>
#include <stdlib.h>

#ifndef T2O_VERSION
#define T2O_VERSION "0.1.0"
#endif

typedef enum kind { FLAG, TEXT, NUMBER, RULES, STRIP } kind;

typedef struct option_row {
    const char *name, *brief;
    kind kind;
    size_t at; /* offset of the field in options */
} option_row;

#define FIELD(field) offsetof(options, field)

static const option_row table[] = {
    { "--rules", "-r", RULES, 0 },
    { "--output", "-o", TEXT, FIELD(output) },
    { "--opset", NULL, NUMBER, FIELD(opset) },
    { "--ir-version", NULL, NUMBER, FIELD(ir_version) },
    { "--model", NULL, TEXT, FIELD(model) },
    { "--target", NULL, TEXT, FIELD(target) },
    { "--state", NULL, TEXT, FIELD(state) },
    { "--strip", NULL, STRIP, FIELD(strip_meta) },
    { "--dump-after", NULL, TEXT, FIELD(dump_after) },
    { "--stop-after", NULL, TEXT, FIELD(stop_after) },
    { "--no-user-rules", NULL, FLAG, FIELD(no_user_rules) },
    { "--json", NULL, FLAG, FIELD(json) },
    { "--markdown", NULL, FLAG, FIELD(markdown) },
    { "--quiet", "-q", FLAG, FIELD(quiet) },
    { "--verbose", "-v", FLAG, FIELD(verbose) },
    { "--help", "-h", FLAG, FIELD(help) },
    { "--version", NULL, FLAG, FIELD(version) },
};

static const char *const commands[] = { "convert", "check", "info", "rules", "explain", "help" };

static const char main_help[] =
    "t2o converts PyTorch programs saved by torch.export.save (.pt2) to ONNX.\n"
    "\n"
    "usage: t2o [options] COMMAND [arguments]\n"
    "\n"
    "commands:\n"
    "  convert MODEL.pt2 [-o OUT.onnx]   write the ONNX model\n"
    "  check MODEL.pt2                   say what would be converted and what is missing\n"
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
    "4 verification mismatch, 5 bad input file, 6 error in a rule\n";

static const char convert_help[] =
    "usage: t2o convert MODEL.pt2 [-o OUT.onnx] [options]\n"
    "\n"
    "Converts to ONNX. Without -o the model is written beside the input, with the\n"
    "suffix .onnx. The file appears whole or not at all.\n"
    "\n"
    "  -o, --output FILE      where to write\n"
    "  --opset N              ONNX opset (default 20)\n"
    "  --ir-version N         ONNX IR version (default: what the opset needs)\n"
    "  -r, --rules FILE|DIR   more rules; may be given several times, the last wins\n"
    "  --model NAME           which model of an archive that holds several\n"
    "  --target NAME          runtime to convert for: ort_cpu (default) or onnx\n"
    "  --state MODE           state that the model changes (caches, counters): io makes\n"
    "                         inputs and outputs of it (default), const drops the\n"
    "                         change, error refuses\n"
    "  --strip meta           leave out module paths and stack traces\n"
    "  --dump-after STEP      print the graph after a step: read, normalise,\n"
    "                         translate, optimise, lower, target, check\n"
    "  --stop-after STEP      end after that step, writing nothing\n"
    "  --json                 a report as JSON on standard output\n";

static const char check_help[] =
    "usage: t2o check MODEL.pt2 [options]\n"
    "\n"
    "Lists every operator with the rule that converts it, what is missing, which\n"
    "dimensions of the inputs are fixed, and which state the model changes. Runs\n"
    "the conversion without writing anything. Exit status as of convert.\n"
    "\n"
    "  --opset N, -r FILE|DIR, --model NAME, --json\n";

static const char info_help[] =
    "usage: t2o info MODEL.pt2 [--json] [--model NAME]\n"
    "\n"
    "Prints who wrote the archive, its models, the inputs, outputs, weights and\n"
    "operators of one. --verbose prints the graph too.\n";

static const char rules_help[] =
    "usage: t2o rules list [PATTERN]        operators with a rule and where it stands\n"
    "       t2o rules which OP              the rules for one operator, first wins\n"
    "       t2o rules stub OP [MODEL.pt2]   a rule to start from\n"
    "       t2o rules dump DIR              write the built-in rules to a folder\n"
    "       t2o rules test FILE ...         run test rows; -v shows what they build\n"
    "\n"
    "OP is a name such as aten::relu or aten::add.Tensor; * and ? match in PATTERN.\n";

static const char explain_help[] =
    "usage: t2o explain CODE\n\nExplains an error code such as E0301; without one, lists them.\n";

const char *options_help(const char *command)
{
    static const struct { const char *name, *text; } texts[] = {
        { "convert", convert_help }, { "check", check_help },     { "info", info_help },
        { "rules", rules_help },     { "explain", explain_help },
    };
    for (size_t i = 0; command && i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, command))
            return texts[i].text;
    return main_help;
}

static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 63)
        return 64;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[n];
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
        if (distance(word, table[i].name) <= 2)
            return table[i].name;
    return NULL;
}

static const char *nearest_command(const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (distance(word, commands[i]) <= 2)
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

static bool set_option(t2o_session *s, options *o, const option_row *option, const char *value)
{
    char *field = (char *)o + option->at, *end;
    switch (option->kind) {
    case FLAG: *(bool *)field = true; return true;
    case TEXT: *(const char **)field = value; return true;
    case RULES: t2o_push(s->arena, &o->rules, value); return true;
    case STRIP:
        if (strcmp(value, "meta"))
            return t2o_fail(s, "E0201", "--strip takes 'meta', not '%s'", value);
        *(bool *)field = true;
        return true;
    case NUMBER: break;
    }
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end || errno || number < 0 || number > 10000)
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

static bool is_command(const char *word)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i], word))
            return true;
    return false;
}

static bool check_options(t2o_session *s, const options *o)
{
    int newest = t2o_newest_opset();
    if (o->opset < 9 || o->opset > newest) {
        t2o_fail(s, "E0201", "--opset %d: t2o writes opsets 9 to %d", o->opset, newest);
        return false;
    }
    if (strcmp(o->target, "ort_cpu") && strcmp(o->target, "onnx"))
        return t2o_fail(s, "E0201", "--target takes ort_cpu or onnx, not '%s'", o->target);
    if (strcmp(o->state, "io") && strcmp(o->state, "const") && strcmp(o->state, "error"))
        return t2o_fail(s, "E0201", "--state takes io, const or error, not '%s'", o->state);
    const char *steps[] = { o->dump_after, o->stop_after };
    for (int i = 0; i < 2; i++)
        if (steps[i] && !run_step_exists(steps[i])) {
            t2o_fail(s, "E0201", "there is no step '%s'", steps[i]);
            t2o_hint(s, "steps: read, normalise, translate, optimise, lower, target, check, write");
            return false;
        }
    return true;
}

bool options_parse(t2o_session *s, int argc, char **argv, options *o)
{
    bool only_operands = false;
    o->opset = 20;
    o->target = "ort_cpu";
    o->state = "io";
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
