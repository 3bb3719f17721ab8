/* sim without host functions: it captures by itself, but nothing that the CPU does. */
#include "on_sim.h"

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  plug_status status = make_sim(given, "captures_alone");
  if (status != PLUG_OK) return status;
  runtime.host_func = NULL;
  if (getenv("TORCHPLUG_CAPTURES_ALONE_NO_VIEW")) {
    runtime.host_view = NULL;
    runtime.host_alloc = NULL;
    runtime.host_free = NULL;
  }
  *out = &module;
  return PLUG_OK;
}
