/* main.c: t2o [options] COMMAND [arguments] */
#include "base/version.h"
#include "base/file.h"
#include "cli/cli.h"

#include "onnx/schema.h"

static const struct {
    const char *name;
    int (*fn)(t2o_session *, const options *);
} commands[] = {
    { "convert", command_convert }, { "check", command_check },     { "info", command_info },
    { "attach", command_attach },   { "rules", command_rules },     { "explain", command_explain },
    { "verify", command_verify },   { "record", command_record },
};

static int dispatch(t2o_session *s, const options *o)
{
    if (o->version) {
        printf("t2o %s (ONNX opsets 9 to %d)\n", T2O_VERSION, t2o_newest_opset());
        return 0;
    }
    bool help = o->help || (o->command && !strcmp(o->command, "help"));
    if (help) {
        const char *topic = o->command && strcmp(o->command, "help") ? o->command
                            : o->operands.n ? o->operands.at[0] : NULL;
        fputs(options_help(topic), stdout);
        return 0;
    }
    for (size_t i = 0; o->command && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, o->command))
            return commands[i].fn(s, o);
    fputs(options_help(NULL), stderr);
    return 2;
}

int main(int argc, char **argv)
{
    t2o_session *s = t2o_session_new();
    options o = { 0 };
    t2o_output_mind_signals();
    int code = options_parse(s, argc, argv, &o) ? dispatch(s, &o) : t2o_exit_code(s);
    report_diags(s, &o, 0);
    if (fflush(stdout) && !code)
        code = 1;
    t2o_session_free(s);
    return code;
}
