/* python_names.c: names that Python and PyTorch have taken */
#include "base/python_names.h"

#include <stdlib.h>
#include <string.h>

/* Both lists in the order of strcmp. */
static const char *const keywords[] = {
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
};

/* Of PyTorch 2.13, dir(torch.nn.Module()) without names in double underscores. */
static const char *const module_attributes[] = {
    "T_destination", "_apply", "_backward_hooks", "_backward_pre_hooks", "_buffers", "_call_impl",
    "_compiled_call_impl", "_forward_hooks", "_forward_hooks_always_called", "_forward_hooks_with_kwargs",
    "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs", "_get_backward_hooks", "_get_backward_pre_hooks",
    "_get_name", "_is_full_backward_hook", "_load_from_state_dict", "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks", "_maybe_warn_non_full_backward_hook", "_modules", "_named_members",
    "_non_persistent_buffers_set", "_parameters", "_register_load_state_dict_pre_hook",
    "_register_state_dict_hook", "_replicate_for_data_parallel", "_save_to_state_dict", "_slow_forward",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_version", "_wrapped_call_impl", "add_module", "apply",
    "bfloat16", "buffers", "call_super_init", "children", "compile", "cpu", "cuda", "double", "dump_patches",
    "eval", "extra_repr", "float", "forward", "get_buffer", "get_extra_state", "get_parameter", "get_submodule",
    "half", "ipu", "load_state_dict", "modules", "mtia", "named_buffers", "named_children", "named_modules",
    "named_parameters", "parameters", "register_backward_hook", "register_buffer", "register_forward_hook",
    "register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_module",
    "register_parameter", "register_state_dict_post_hook", "register_state_dict_pre_hook", "requires_grad_",
    "set_extra_state", "set_submodule", "share_memory", "state_dict", "to", "to_empty", "train", "training",
    "type", "xpu", "zero_grad",
};

static int by_name(const void *name, const void *at) { return strcmp(name, *(const char *const *)at); }

bool t2o_is_python_keyword(const char *name)
{
    return bsearch(name, keywords, sizeof keywords / sizeof *keywords, sizeof *keywords, by_name) != NULL;
}

bool t2o_is_module_attribute(const char *name)
{
    size_t n = strlen(name);
    if (n > 4 && !strncmp(name, "__", 2) && !strcmp(name + n - 2, "__"))
        return true;
    return bsearch(name, module_attributes, sizeof module_attributes / sizeof *module_attributes,
                   sizeof *module_attributes, by_name) != NULL;
}
