/* A plugin without a device: operators of its own for CPU tensors. */
#define NAME "acme"
#include "own_operators.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, NAME);
  add_kernels(own_operators, sizeof own_operators / sizeof *own_operators);
  module.runtime = NULL;
  *out = &module;
  return PLUG_OK;
}
