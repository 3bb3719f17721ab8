/* veiled.c - the plugin at REAL without one of its functions: -DVEILED=host_view. The name of its device is
** "veiled". */
#include <dlfcn.h>

#include "torchplug/plug.h"

static plug_runtime runtime;
static plug_module module;

plug_status torchplug_plugin_v0(const plug_host* host, const plug_module** out) {
  plug_status (*entry)(const plug_host*, const plug_module**);
  const plug_module* real;
  plug_status status;
  void* library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  if (!library) return PLUG_INTERNAL;
  *(void**)&entry = dlsym(library, "torchplug_plugin_v0");
  if (!entry) return PLUG_INTERNAL;
  status = entry(host, &real);
  if (status != PLUG_OK) return status;
  runtime = *real->runtime;
  runtime.VEILED = NULL;
  module = *real;
  module.name = "veiled";
  module.runtime = &runtime;
  *out = &module;
  return PLUG_OK;
}
