/* A plugin for a later major version of the ABI: it has only that one's entry point. */
#include "torchplug/plug.h"

PLUG_EXPORT plug_status torchplug_plugin_v1(const void *host, const void **module);

plug_status torchplug_plugin_v1(const void *host, const void **module) {
  (void)host, (void)module;
  return PLUG_INTERNAL;
}
