/* sniff.c: signatures of the files that people take for a .pt2. */
#include "pt2/sniff.h"

#define TEXT_SAMPLE 512

typedef struct signature {
    size_t at, n;
    const char *bytes, *phrase;
} signature;

static const signature signatures[] = {
    { 0, 4, "PK\5\6", "an empty zip" },
    { 0, 14, "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19",
      "weights of torch.save in its format before PyTorch 1.6 (a pickle, without a graph)" },
    { 0, 2, "\x80\2", "a Python pickle" },
    { 0, 2, "\x80\3", "a Python pickle" },
    { 0, 2, "\x80\4", "a Python pickle" },
    { 0, 2, "\x80\5", "a Python pickle" },
    { 0, 4, "\x7f" "ELF", "a compiled program or library (AOTInductor's model.so?)" },
    { 0, 4, "GGUF", "a GGUF file (weights, without a graph)" },
    { 0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras?)" },
    { 4, 4, "TFL3", "a TensorFlow Lite model" },
    { 4, 4, "ET12", "an ExecuTorch program (.pte)" },
    { 0, 2, "\x1f\x8b", "a gzip file: unpack it first" },
    { 257, 5, "ustar", "a tar file: unpack it first" },
    { 0, 6, "\x93NUMPY", "a NumPy array" },
};

static uint64_t little64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static bool is_safetensors(const uint8_t *b, size_t n)
{
    return n > 9 && b[8] == '{' && little64(b) >= 2 && little64(b) <= n - 8;
}

/* ModelProto starts with ir_version (field 1, a small number); a length-delimited field of
 * ModelProto follows. */
static bool is_onnx(const uint8_t *b, size_t n)
{
    return n > 3 && b[0] == 0x08 && b[1] > 0 && b[1] < 64 &&
           memchr("\x12\x1a\x22\x28\x32\x3a\x42\x72", b[2], 8);
}

static bool is_text(const uint8_t *b, size_t n)
{
    size_t sample = n < TEXT_SAMPLE ? n : TEXT_SAMPLE;
    for (size_t i = 0; i < sample; i++)
        if (b[i] < ' ' && !memchr("\t\n\r\f", b[i], 4))
            return false;
    return true;
}

const char *t2o_sniff_bytes(const uint8_t *b, size_t n)
{
    if (n == 0)
        return "an empty file";
    if (n >= 4 && !memcmp(b, "PK\3\4", 4))
        return NULL;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++) {
        const signature *s = &signatures[i];
        if (n >= s->at + s->n && !memcmp(b + s->at, s->bytes, s->n))
            return s->phrase;
    }
    if (is_safetensors(b, n))
        return "a safetensors file (weights, without a graph)";
    if (is_onnx(b, n))
        return "an ONNX model";
    if (is_text(b, n))
        return b[0] == '{' || b[0] == '[' ? "a JSON text" : "a text file";
    return "a file of an unknown kind (it is no zip)";
}

/* Whether a record of this name stands at the root, or below a folder of this name. */
static bool has(const t2o_archive *a, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < a->records.n; i++) {
        const char *have = t2o_archive_relative(a, a->records.entries[i].value);
        if (have && (name[n - 1] == '/' ? !strncmp(have, name, n) : !strcmp(have, name)))
            return true;
    }
    return false;
}

static bool all_end_in(const t2o_archive *a, const char *suffix)
{
    size_t n = strlen(suffix);
    for (size_t i = 0; i < a->records.n; i++) {
        const char *name = a->records.entries[i].key;
        if (strlen(name) < n || strcmp(name + strlen(name) - n, suffix))
            return false;
    }
    return a->records.n > 0;
}

static bool is_pt2(const t2o_archive *a)
{
    t2o_record *r = t2o_archive_find(a, "", "archive_format");
    return r && r->bytes && r->size >= 3 && !memcmp(r->bytes, "pt2", 3);
}

const char *t2o_sniff_zip(const t2o_archive *a)
{
    if (is_pt2(a) || has(a, "serialized_exported_program.json") || has(a, "models/"))
        return NULL;
    if (a->records.n == 0)
        return "an empty zip";
    if (has(a, "code/") && (has(a, "constants.pkl") || has(a, "data.pkl")))
        return "a TorchScript archive (torch.jit.save)";
    if (has(a, "data.pkl"))
        return "a file of torch.save (a state_dict or another object, without a graph)";
    if (all_end_in(a, ".npy"))
        return "a NumPy .npz file";
    return "a zip of another kind (it has no record archive_format)";
}
