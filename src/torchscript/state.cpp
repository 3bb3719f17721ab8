#include "torchscript/state.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/passes/pass_manager.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "base/immortal.h"
#include "compile/compiler.h"
#include "torchscript/compilation_group.h"
#include "torchscript/functional.h"
#include "torchscript/grouping.h"
#include "torchscript/lowering.h"
#include "torchscript/offload.h"

namespace torchplug::torchscript {
namespace {

struct State {
  std::mutex lock;  // guards
  std::shared_ptr<const Settings> settings;
};

State& state() {
  static auto& instance = *immortal<State>();
  return instance;
}

// PyTorch's list of passes is under no lock: the pass stays in it, and does nothing while groups are
// disabled.
void pass(std::shared_ptr<torch::jit::Graph>& graph) {
  const auto settings = current_settings();
  if (settings == nullptr) return;
  const compile::Compiler* compiler = compile::Compiler::of(current_device());
  if (compiler == nullptr || (!settings->offload && is_elsewhere(graph->block()))) return;
  make_groups(graph, Operators(*compiler, settings->offload, settings->decompositions.get()),
              settings->min_nodes);
}

}  // namespace

// A group has no effects but its results.
void tell_pytorch() {
  static std::once_flag once;
  std::call_once(once, [] {
    const torch::jit::RegisterOperators registered(
        {torch::jit::Operator(
             group_symbol(),
             [](const torch::jit::Node* node) { return torch::jit::Operation(make_operation(node)); },
             c10::AliasAnalysisKind::PURE_FUNCTION),
         make_keeps_type()});
    torch::jit::registerPrePass(pass);
    register_backend();
  });
}

void enable(const Settings& settings) {
  const DeviceIndex device = current_device();
  TORCH_CHECK(compile::Compiler::of(device) != nullptr, "Plugin '", module_of(device).name,
              "' has no compiler (plug_module.compiler), so that there is nothing to run groups with. Run "
              "scripted modules as they are.");
  {
    const std::lock_guard hold(state().lock);
    TORCH_CHECK(state().settings == nullptr, "TorchScript groups are enabled already. Call disable() first.");
    state().settings = std::make_shared<const Settings>(settings);
  }
  tell_pytorch();
}

void disable() {
  {
    const std::lock_guard hold(state().lock);
    state().settings = nullptr;
  }
  forget_weights();
}

std::shared_ptr<const Settings> current_settings() {
  const std::lock_guard hold(state().lock);
  return state().settings;
}

}  // namespace torchplug::torchscript

const torchplug::torchscript::Entry* torchplug_torchscript_entry() {
  using namespace torchplug::torchscript;
  static const Entry entry{enable, disable, [] { return current_settings() != nullptr; }, facts_of_groups,
                           tell_pytorch};
  return &entry;
}
