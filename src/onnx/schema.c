/* schema.c: looking things up in the table of operator schemas. */
#include "onnx/schema.h"

#include <ctype.h>
#include <string.h>

#include "onnx/schema_table.inc"

#define N_SCHEMAS (sizeof table / sizeof *table)

/* The first row that does not sort before (op, since). */
static size_t lower_bound(const char *op, int since)
{
    size_t low = 0, high = N_SCHEMAS;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = strcmp(table[mid].op, op);
        if (order < 0 || (order == 0 && table[mid].since < since))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool row_is(size_t row, const char *op)
{
    return row < N_SCHEMAS && !strcmp(table[row].op, op);
}

const t2o_schema *t2o_schema_find(const char *op, int opset)
{
    size_t next = lower_bound(op, opset + 1);
    return next > 0 && row_is(next - 1, op) ? &table[next - 1] : NULL;
}

const t2o_schema *t2o_schema_first(const char *op)
{
    size_t row = lower_bound(op, 0);
    return row_is(row, op) ? &table[row] : NULL;
}

const t2o_schema *t2o_schema_first_where(const char *op,
                                         bool (*accepts)(const t2o_schema *, void *), void *ctx)
{
    for (size_t row = lower_bound(op, 0); row_is(row, op); row++)
        if (!table[row].deprecated && accepts(&table[row], ctx))
            return &table[row];
    return NULL;
}

int t2o_schema_attr(const t2o_schema *schema, const char *name)
{
    for (int i = 0; i < schema->n_attrs; i++)
        if (!strcmp(schema->attrs[i].name, name))
            return i;
    return -1;
}

const char *t2o_schema_op_at(size_t index)
{
    for (size_t row = 0; row < N_SCHEMAS; row++)
        if ((row == 0 || strcmp(table[row].op, table[row - 1].op)) && index-- == 0)
            return table[row].op;
    return NULL;
}

/* Letters to change, add, leave out or swap with their neighbour; case counts for nothing. Texts
 * that are longer than any name of the standard count as wholly different. */
size_t t2o_edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST)
        return n + m;
    size_t rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            size_t best = last[j - 1] + (x != y);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            bool swapped = i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                           y == tolower((unsigned char)a[i - 2]);
            now[j] = swapped && before[j - 2] + 1 < best ? before[j - 2] + 1 : best;
        }
        size_t *spare = before;
        before = last, last = now, now = spare;
    }
    return last[m];
}

/* A name is near when no more than a third of it, and at most three letters, is wrong. */
static size_t nearest_so_far(const char *name, const char *candidate, size_t best,
                             const char **nearest)
{
    size_t distance = t2o_edit_distance(name, candidate);
    if (distance >= best)
        return best;
    *nearest = candidate;
    return distance;
}

static size_t tolerance(const char *name)
{
    size_t third = (strlen(name) + 2) / 3;
    return (third > 3 ? 3 : third) + 1;
}

const char *t2o_schema_suggest(const char *op)
{
    const char *nearest = NULL;
    size_t best = tolerance(op);
    for (size_t row = 0; row < N_SCHEMAS; row++)
        best = nearest_so_far(op, table[row].op, best, &nearest);
    return nearest;
}

const char *t2o_schema_suggest_attr(const t2o_schema *schema, const char *name)
{
    const char *nearest = NULL;
    size_t best = tolerance(name);
    for (int i = 0; i < schema->n_attrs; i++)
        best = nearest_so_far(name, schema->attrs[i].name, best, &nearest);
    return nearest;
}

const t2o_param *t2o_schema_input(const t2o_schema *schema, uint32_t i)
{
    if (i < schema->n_inputs)
        return &schema->inputs[i];
    const t2o_param *last = schema->n_inputs ? &schema->inputs[schema->n_inputs - 1] : NULL;
    return last && last->option == T2O_VARIADIC ? last : NULL;
}

const t2o_param *t2o_schema_output(const t2o_schema *schema, uint32_t i)
{
    if (i < schema->n_outputs)
        return &schema->outputs[i];
    const t2o_param *last = schema->n_outputs ? &schema->outputs[schema->n_outputs - 1] : NULL;
    return last && last->option == T2O_VARIADIC ? last : NULL;
}

int t2o_newest_opset(void)
{
    return NEWEST_OPSET;
}

int t2o_ir_version_for(int opset)
{
    size_t n = sizeof ir_versions / sizeof *ir_versions;
    for (size_t i = 0; i < n; i++)
        if (ir_versions[i].opset >= opset)
            return ir_versions[i].ir_version;
    return ir_versions[n - 1].ir_version;
}
