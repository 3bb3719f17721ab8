#pragma once
// What the validate layer asks of tensors, and of kernels, which are given them.

#include "plugin/layers/validate_state.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

// All its elements lie in memory that lives.
void check_tensor(State& state, const char* function, const plug_tensor& tensor);

// What copy_strided is promised of its tensors, beyond what every tensor has.
void check_copy_strided(int32_t device, const plug_tensor& dst, const plug_tensor& src);

// What messages call a kernel: `any` has no schema.
inline const char* title_of(const plug_kernel& kernel, const plug_call& call) {
  return kernel.schema == nullptr ? call.name : kernel.schema;
}

// The same for a kernel's `prepare`.
plug_status check_prepare(State& state, const plug_kernel& kernel, const plug_call& call, void** kept);

// Calls the kernel, having checked what it is given; then checks its answer. `engine`: which one it runs or
// packs, if it is an engine's.
plug_status check_kernel(State& state, const plug_kernel& kernel, const plug_call& call,
                         const EngineKernel& engine = {});

}  // namespace torchplug::plugin::validation
