#pragma once
// PyTorch's own code for tensors of the CPU that are more than memory with strides, on those of the device as
// they are: what makes, reads or marks the shell and leaves the parts where they are.

#include <c10/core/DispatchKey.h>
#include <torch/library.h>

#include "base/namespaces.h"

namespace torchplug::aten {

// `cpu_key`: under which the CPU's tensors have that code.
torch::CppFunction run_on_shell(c10::DispatchKey cpu_key);

}  // namespace torchplug::aten
