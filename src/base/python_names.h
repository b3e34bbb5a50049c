/* python_names.h: names that Python and PyTorch have taken */
#ifndef T2O_BASE_PYTHON_NAMES_H
#define T2O_BASE_PYTHON_NAMES_H

#include <stdbool.h>

bool t2o_is_python_keyword(const char *name);

/* What every torch.nn.Module has already ("to", "type", "forward", "__init__"): no weight or layer can be called so. */
bool t2o_is_module_attribute(const char *name);

#endif
