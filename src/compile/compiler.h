#pragma once
// The compiler of a device's plugin: the operators that it lists, fitted to PyTorch's, and the making of
// engines. One for each device, made when it is first asked for; lives until the process ends; any thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "aten/kernel/binding.h"
#include "compile/engine.h"
#include "graph/graph.h"
#include "graph/groups.h"
#include "runtime/device.h"

namespace torchplug::compile {

using graph::Graph;  // not one that is captured and replayed

// One wish for an engine.
struct Wish {
  const Graph& graph;
  const std::vector<std::string>& options;  // for the plugin: name, value, ...
  // From whatever thread, with how much is done; false: nobody wants the engine any more.
  std::function<bool(double)> progress;
};

// What a compiler declined, and why, in its words.
struct Declined {
  std::string why;
};

class Compiler {
 public:
  // Null if the device's plugin has none.
  static const Compiler* of(DeviceIndex device);

  // What the compiler takes for PyTorch's operator; null: it does not list it.
  const Binding* find(const std::string& name) const;
  // Its place in the compiler's list.
  int32_t place_of(const Binding& binding) const {
    return static_cast<int32_t>(binding.kernel - listed_.data());
  }
  // Those that it lists and that fit none of this PyTorch's, with the reason.
  const std::vector<UnusedKernel>& unused() const { return unused_; }
  std::vector<std::string> names() const;

  bool has(uint64_t flag) const { return (table_.flags & flag) != 0; }
  bool saves() const { return calls_.identity != nullptr; }
  std::string identity() const;
  const Module& module() const { return module_; }
  const plug_compiler& table() const { return table_; }
  DeviceIndex device() const { return device_; }

  // The engine, which messages call `name`; or that it was declined. Throws a CompileError for a failure.
  std::variant<std::shared_ptr<Engine>, Declined> compile(const Wish& wish, const char* name) const;
  // Null: the bytes are of no use to it. `inputs`: how many the engine has.
  std::shared_ptr<Engine> load(std::string_view bytes, size_t inputs, const char* name) const;
  // Nothing if the plugin cannot save it.
  std::optional<std::string> save(const Engine& engine) const;
  // Which nodes it would have together; nothing if it leaves that to the host.
  std::optional<Partition> partition(const Graph& graph) const;

  explicit Compiler(DeviceIndex device);

 private:
  void list_operators();
  std::shared_ptr<Engine> take_engine(const char* function, plug_engine engine, size_t inputs,
                                      const char* name) const;

  const Module& module_;
  const plug_compiler& table_;
  const CompilerCalls& calls_;  // its functions
  DeviceIndex device_;
  std::vector<plug_kernel> listed_;  // with a schema and nothing else
  std::unordered_map<std::string, Binding> operators_;
  std::vector<UnusedKernel> unused_;
};

}  // namespace torchplug::compile
