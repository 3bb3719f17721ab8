// The xcpu plugin: operators of transformers on the CPU, for ordinary CPU tensors and for a device of its
// own. The kernels are those of xcpu.h; this folder is what they are to PyTorch: schemas, shapes, gradients,
// checks.

#include "device.h"
#include "operators.h"
#include "torchplug/plug.hpp"

plug_status torchplug_plugin_v0(const plug_host* host, const plug_module** module) {
  static constexpr plug_module kModule = {
      .size = sizeof(plug_module),
      .abi_minor = PLUG_ABI_MINOR,
      .name = "xcpu",
      .version = "0.1",
      .flags = PLUG_FORKS,  // it keeps no threads and no locks
      .runtime = &xcpu::plugin::kRuntime,
      .kernels = &xcpu::plugin::kKernels,
  };
  plug::host = host;
  *module = &kModule;
  return PLUG_OK;
}
