#pragma once
// What the shared object of TorchScript groups gives to libtorchplug, which loads it when somebody enables
// groups and not before: libtorchplug is linked to nothing of it. A table that lives until the process ends;
// any thread may call its functions.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace torchplug::torchscript {

// How operators are taken apart that PyTorch's C++ has whole: by the table that torch.compile's backend has,
// where there is Python; else there is none.
struct Decompositions {
  std::set<std::string> names;  // "aten::native_batch_norm"
  // Does the same as the operator of that name, by others; on the thread of the call.
  std::function<std::vector<c10::IValue>(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments)>
      run;
};

struct Settings {
  bool offload = false;              // groups of modules on the CPU are sent to the device
  size_t engines = 8;                // that a group keeps, for as many kinds of calls
  int64_t min_nodes = 1;             // a group of fewer operators stays as it is
  std::vector<std::string> options;  // for the plugin: name, value, ...
  bool gives_up = false;             // where a compile has failed, operators run one by one
  std::shared_ptr<const Decompositions> decompositions = nullptr;
  // Called again and again, on the thread that waits for a compiler; throws to give up.
  std::function<void()> interruption = [] {};
};

// What has become of one group.
struct GroupFacts {
  std::string operators;  // for people: "mul, add, softmax"
  size_t programs = 0;    // kinds of calls that are kept
  uint64_t calls = 0;
  uint64_t interpreted = 0;  // of these: operator by operator, by PyTorch's interpreter
  uint64_t engine_runs = 0;
  uint64_t compiled = 0;
  uint64_t loaded = 0;           // engines from disk
  std::vector<std::string> why;  // it was interpreted, or an engine was declined; each once
};

struct Entry {
  void (*enable)(const Settings& settings);
  void (*disable)();
  bool (*is_enabled)();
  // Of groups that are still there.
  std::vector<GroupFacts> (*report)();
  // So that modules can be lowered to the device, and such modules loaded.
  void (*register_backend)();
};

}  // namespace torchplug::torchscript

// The one symbol that libtorchplug looks for.
extern "C" __attribute__((visibility("default"))) const torchplug::torchscript::Entry*
torchplug_torchscript_entry();
