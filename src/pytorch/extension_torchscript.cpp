// What include/torchplug/torchplug.hpp gives to those who run TorchScript.

#include "pytorch/torchscript_library.h"
#include "torchplug/torchplug.hpp"

namespace torchplug::torchscript {

void enable(const Options& options) {
  Settings settings;
  settings.offload = options.offload;
  settings.engines = options.engines;
  settings.min_nodes = options.min_nodes;
  pytorch::torchscript_library().enable(settings);
}

void disable() {
  if (const Entry* library = pytorch::loaded_torchscript_library()) library->disable();
}

bool is_enabled() {
  const Entry* library = pytorch::loaded_torchscript_library();
  return library != nullptr && library->is_enabled();
}

void register_backend() { pytorch::torchscript_library().register_backend(); }

}  // namespace torchplug::torchscript
