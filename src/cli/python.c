/* python.c: the last steps of `t2o convert MODEL -o OUT.py`: source and, beside it, the weights. */
#include "base/file.h"
#include "cli/cli.h"
#include "python/python.h"

bool output_is_python(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".py");
}

const char *safetensors_beside(t2o_session *s, const char *path)
{
    const char *dot = strrchr(path, '.');
    int n = (int)(dot && !strchr(dot, '/') ? dot - path : (ptrdiff_t)strlen(path));
    return t2o_printf(s->arena, "%.*s.safetensors", n, path);
}

bool step_python(run *r)
{
    return t2o_script_python(r->script, r->program, &r->python);
}

bool step_write_python(run *r)
{
    const char *weights = safetensors_beside(r->s, r->output);
    if (!stamp_run(r))
        return false;
    t2o_output *data = t2o_output_open(r->s, weights), *source = data ? t2o_output_open(r->s, r->output) : NULL;
    if (data)
        t2o_output_copies_from(data, r->file);
    if (!source || !t2o_safetensors_write(r->s, &r->python.weights, r->stamp, data)) {
        t2o_output_discard(data);
        t2o_output_discard(source);
        return false;
    }
    t2o_output_write(source, r->python.text, r->python.n);
    r->bytes_written = t2o_output_size(data) + t2o_output_size(source);
    return t2o_output_commit_pair(data, source);
}
