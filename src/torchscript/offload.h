#pragma once
// Tensors of the CPU on the device, for groups of modules that live on the CPU. Weights are kept there, told
// apart by storage and version: one that was written or replaced is sent anew. Any thread.

#include <ATen/core/ivalue.h>

#include <vector>

#include "runtime/device.h"

namespace torchplug::torchscript {

// Whether all tensors are on the CPU, and there are some.
bool are_on_host(c10::ArrayRef<c10::IValue> inputs);

// The inputs with their tensors on the device. `weights`: which inputs are kept.
struct SentInputs {
  std::vector<c10::IValue> values;
  uint64_t bytes = 0;  // that had to be sent
};
SentInputs sent(c10::ArrayRef<c10::IValue> inputs, const std::vector<bool>& weights, DeviceIndex device);

// In the ledger, as "offload": one call, and what moved there and back for it.
void count_moved(uint64_t bytes);

// Lets go of all weights; those that calls use stay until these are done.
void forget_weights();

}  // namespace torchplug::torchscript
