#include "torchscript/lowering.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/backends/backend.h>
#include <torch/csrc/jit/backends/backend_preprocess.h>
#include <torch/csrc/jit/passes/constant_propagation.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/csrc/jit/passes/lower_tuples.h>

#include <mutex>
#include <string>
#include <utility>

#include "compile/compiler.h"
#include "torchscript/compilation_group.h"
#include "torchscript/grouping.h"
#include "torchscript/state.h"

namespace torchplug::torchscript {
namespace {

using torch::jit::Graph;
using torch::jit::Stack;

// A method of a module, with its groups: made at the first call, since a module that is being loaded has not
// all of its functions yet.
class LoweredMethod : public torch::CustomClassHolder {
 public:
  LoweredMethod(const torch::jit::Module& module, std::string name, const compile::Compiler& compiler)
      : module_(module), name_(std::move(name)), compiler_(compiler) {}

  c10::impl::GenericList run(const c10::impl::GenericList& inputs) {
    std::call_once(
        once_, [this] { code_ = torch::jit::Code(grouped(module_.get_method(name_), compiler_), name_); });
    Stack stack{module_._ivalue()};
    for (const c10::IValue& input : inputs) stack.push_back(input);
    torch::jit::InterpreterState(code_).run(stack);
    c10::impl::GenericList results(c10::AnyType::get());
    for (const c10::IValue& result : stack) {
      if (!result.isTuple()) {
        results.push_back(result);
        continue;
      }
      for (const c10::IValue& item : result.toTupleRef().elements()) results.push_back(item);
    }
    return results;
  }

 private:
  static std::shared_ptr<Graph> grouped(const torch::jit::Method& method, const compile::Compiler& compiler) {
    std::shared_ptr<Graph> graph = method.graph()->copy();
    torch::jit::Inline(*graph);
    torch::jit::LowerSimpleTuples(graph);
    torch::jit::ConstantPropagation(graph);
    make_groups(graph, Operators(compiler, /*offload=*/true, nullptr), /*min_nodes=*/1, GroupUse::kLowered);
    return graph;
  }

  torch::jit::Module module_;
  std::string name_;
  const compile::Compiler& compiler_;
  std::once_flag once_;
  torch::jit::Code code_;
};

class Backend final : public torch::jit::PyTorchBackendInterface {
 public:
  bool is_available() override { return compile::Compiler::of(current_device()) != nullptr; }

  c10::impl::GenericDict compile(c10::IValue processed, c10::impl::GenericDict methods) override {
    const compile::Compiler* compiler = compile::Compiler::of(current_device());
    TORCH_CHECK(compiler != nullptr, "Plugin '", module_of(current_device()).name,
                "' has no compiler (plug_module.compiler), so that no module can be lowered to it.");
    c10::impl::GenericDict handles(c10::StringType::get(), c10::AnyType::get());
    for (const auto& method : methods) {
      auto lowered =
          c10::make_intrusive<LoweredMethod>(processed.toModule(), method.key().toStringRef(), *compiler);
      handles.insert(method.key(), c10::IValue::make_capsule(std::move(lowered)));
    }
    return handles;
  }

  c10::impl::GenericList execute(c10::IValue handle, c10::impl::GenericList inputs) override {
    return c10::static_intrusive_pointer_cast<LoweredMethod>(handle.toCapsule())->run(inputs);
  }
};

}  // namespace

void register_backend() {
  static std::once_flag once;
  std::call_once(once, [] {
    static const torch::jit::backend<Backend> registered(device_type_name());
    static const torch::jit::backend_preprocess_register preprocessed(
        device_type_name(), [](const torch::jit::Module& module, const auto& /*methods*/,
                               const auto& /*debug_handles*/) { return module._ivalue(); });
  });
}

}  // namespace torchplug::torchscript
