#include "aten/own/own_library.h"

#include <ATen/core/enum_tag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "aten/kernel/binding.h"
#include "aten/kernel/served_operators.h"
#include "aten/op/typed_signatures.h"
#include "aten/own/autograd_kernel.h"
#include "aten/own/cpu_kernel.h"
#include "aten/own/gradient_check.h"
#include "aten/own/meta_kernel.h"
#include "aten/own/own_operator.h"
#include "base/immortal.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;
using Operators = std::vector<std::unique_ptr<const OwnOperator>>;

// Namespaces whose operators PyTorch keeps elsewhere than in its dispatcher.
constexpr std::array<std::string_view, 6> kReserved = {"aten",  "prim",     "prims",
                                                       "torch", "inductor", "higher_order"};

std::mutex libraries_lock;
std::map<const Module*, Operators>& libraries() {
  static auto& instance = *immortal<std::map<const Module*, Operators>>();
  return instance;
}

void refuse_taken_namespace(const Module& module) {
  const auto operators = c10::Dispatcher::singleton().getAllOpNames();
  const bool is_taken = std::find(kReserved.begin(), kReserved.end(), module.name) != kReserved.end() ||
                        std::any_of(operators.begin(), operators.end(), [&](const c10::OperatorName& name) {
                          return name.getNamespace() == module.name;
                        });
  TORCH_CHECK(!is_taken, "Plugin '", module.name, "' (", module.path,
              ") cannot define operators: the namespace '", module.name,
              "' has operators of another library. Give the plugin another name.");
}

Operators read_operators(const Module& module) {
  Operators operators;
  std::set<std::string> names;
  for (const plug_kernel& kernel : module.kernels) {
    if (!is_own_kernel(module, kernel)) continue;
    operators.push_back(std::make_unique<const OwnOperator>(module, kernel));
    TORCH_CHECK(names.insert(operators.back()->name).second, "Plugin '", module.name, "' defines ",
                operators.back()->name, " twice. Give one of them another name, or an overload name: ",
                operators.back()->schema.name(), ".other.");
  }
  return operators;
}

// The operators that a gradient calls are the plugin's own, which are about to be defined, or there.
void check_gradients(const Operators& operators) {
  const auto find = [&](const c10::OperatorName& name) -> const c10::FunctionSchema* {
    const auto own = std::ranges::find_if(
        operators, [&](const auto& other) { return other->schema.operator_name() == name; });
    if (own != operators.end()) return &(*own)->schema;
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    return handle ? &handle->schema() : nullptr;
  };
  for (const auto& own : operators) {
    const auto& gradient = own->gradient;
    if (gradient) check_gradient_calls(*gradient, own->schema, find);
  }
}

// Its name within the namespace, "scale.Scalar".
std::string short_name(const OwnOperator& own) { return own.name.substr(own.name.find("::") + 2); }

template <class Kernel>
void implement(const OwnOperator& own, DispatchKey key) {
  operator_library(own.module.name.c_str(), key)
      .impl(short_name(own).c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(own)));
}

// Where PyTorch looks for a backend, for an operator whose tensors may all be absent: an empty list, None.
// Such a call is the host's.
template <class Kernel>
class BackendSelection final : public c10::OperatorKernel {
 public:
  explicit BackendSelection(const OwnOperator& own) : kernel_(own) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const c10::DispatchKeySet rest =
        keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, DispatchKey::BackendSelect);
    if (rest.highestPriorityTypeId() == DispatchKey::Undefined) return kernel_(handle, keys, stack);
    handle.redispatchBoxed(rest, stack);
  }

 private:
  Kernel kernel_;
};

void define(const OwnOperator& own) {
  static auto& fragments = *immortal<std::map<std::string, torch::Library>>();
  torch::Library& library = fragments
                                .try_emplace(own.module.name, torch::Library::FRAGMENT, own.module.name,
                                             std::nullopt, __FILE__, static_cast<uint32_t>(__LINE__))
                                .first->second;
  const std::vector<at::Tag> tags(own.has_shapes() ? 1 : 0, at::Tag::pt2_compliant_tag);
  try {
    library.def(torch::schema(own.kernel.schema), tags);
  } catch (const c10::Error& error) {
    TORCH_CHECK(false, "Plugin '", own.module.name, "': PyTorch does not define \"", own.kernel.schema,
                "\": ", error.what_without_backtrace());
  }
  if (own.has_shapes()) implement<MetaKernel>(own, DispatchKey::Meta);
  if (own.accepts(PLUG_ACCEPTS_HOST)) {
    // Without a tensor among its arguments there is nothing to choose a backend by.
    implement<CpuKernel>(own, own.takes_tensors ? DispatchKey::CPU : DispatchKey::CompositeExplicitAutograd);
    if (own.may_lack_tensors()) implement<BackendSelection<CpuKernel>>(own, DispatchKey::BackendSelect);
  } else {
    implement<DeviceOnlyKernel>(own, DispatchKey::CPU);
    if (own.may_lack_tensors())
      implement<BackendSelection<DeviceOnlyKernel>>(own, DispatchKey::BackendSelect);
  }
  if (own.accepts(PLUG_ACCEPTS_LAZY_BITS)) {
    // PyTorch carries the bits out before the kernel unless it is told not to.
    for (DispatchKey key : {DispatchKey::Conjugate, DispatchKey::Negative}) {
      operator_library(own.module.name.c_str(), key)
          .impl(short_name(own).c_str(), torch::CppFunction::makeFallthrough());
    }
  }
  if (own.writes_any) implement<VersionKernel>(own, DispatchKey::ADInplaceOrView);
  if (own.gradient) {
    implement<AutogradKernel>(own, DispatchKey::Autograd);
  } else if (own.takes_tensors) {
    // Under keys of their own, so that the one for all is free for a formula of somebody else's.
    implement<AutogradKernel>(own, DispatchKey::AutogradCPU);
    implement<AutogradKernel>(own, DispatchKey::AutogradPrivateUse1);
  }
}

OutputShape output_shape(const ShapedTensor<int64_t>& tensor) {
  const auto options = at::device(at::kMeta).dtype(tensor.dtype);
  return OutputShape::of(tensor.strides.empty() ? at::empty(tensor.sizes, options)
                                                : at::empty_strided(tensor.sizes, tensor.strides, options));
}

// What is not told here is an argument, a number, or shaped by the kernel.
CallShape shape_call(const OwnOperator& own, Arguments arguments) {
  check_tensors(own, arguments);
  CallShape shape;
  const auto results = shape_results<int64_t>(own, arguments);
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t before = shape.outputs.size();
    if (const auto& result = results[i]) {
      for (const ShapedTensor<int64_t>& tensor : result->tensors)
        shape.outputs.push_back(output_shape(tensor));
      if (result->is_absent()) shape.outputs.push_back(OutputShape::none());
    } else if (!own.is_new(i) || own.schema.returns()[i].type()->kind() != c10::TypeKind::ListType) {
      shape.outputs.push_back(OutputShape::none());
    }
    shape.counts.push_back(shape.outputs.size() - before);
  }
  return shape;
}

Binding bind_own(const OwnOperator& own) {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(
      own.schema.operator_name().name.c_str(), own.schema.operator_name().overload_name.c_str());
  const auto is_given = [](const std::optional<size_t>& argument) { return argument.has_value(); };
  const bool returns_arguments = std::any_of(own.returned.begin(), own.returned.end(), is_given);
  Binding binding(own.kernel, handle, handle, returns_arguments ? Form::kAsCalled : Form::kFunctional);
  binding.writes = own.writes;
  for (size_t i = 0; i < own.schema.arguments().size(); ++i) {
    const c10::TypePtr& type = own.schema.arguments()[i].real_type();
    binding.argument_of.push_back(i);
    binding.types.push_back(without_optional(type)->kind());
    binding.needs_value.push_back(false);
    binding.is_output.push_back(false);
  }
  if (returns_arguments) {
    for (const std::optional<size_t>& argument : own.returned)
      binding.out_arguments.push_back(argument.value_or(kNoArgument));
  }
  binding.own_shape = [&own](Arguments arguments) { return shape_call(own, arguments); };
  return binding;
}

void add_device_kernel(const OwnOperator& own) {
  if (!own.takes_tensors) return;
  Binding binding = bind_own(own);
  const c10::OperatorHandle handle = binding.operator_handle;
  auto kernel =
      std::make_unique<OperatorKernel>(handle, std::make_unique<BoundKernel>(std::move(binding), own.module));
  if (own.kernel.shape != nullptr) kernel->heed_all_numbers();
  add_served_operator(own.name, own.kernel);
  auto typed = make_typed(kernel);
  operator_library(own.module.name.c_str(), DispatchKey::PrivateUse1)
      .impl(short_name(own).c_str(),
            typed ? std::move(*typed) : torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
}

}  // namespace

void define_own_operators(const Module& module) {
  const std::lock_guard lock(libraries_lock);
  if (libraries().contains(&module)) return;
  Operators operators = read_operators(module);
  check_gradients(operators);
  if (!operators.empty()) refuse_taken_namespace(module);
  const Operators& kept = libraries().emplace(&module, std::move(operators)).first->second;
  for (const auto& own : kept) define(*own);
}

void add_own_device_kernels(const Module& module) {
  const std::lock_guard lock(libraries_lock);
  for (const auto& own : libraries().at(&module)) add_device_kernel(*own);
}

bool may_own_lack_tensors(const std::string& name) {
  const std::lock_guard lock(libraries_lock);
  for (const auto& [module, operators] : libraries()) {
    for (const auto& own : operators) {
      if (own->name == name) return !own->takes_tensors || own->may_lack_tensors();
    }
  }
  return false;
}

std::vector<OwnOperatorEntry> own_operators(const Module& module) {
  const std::lock_guard lock(libraries_lock);
  std::vector<OwnOperatorEntry> entries;
  const auto found = libraries().find(&module);
  if (found == libraries().end()) return entries;
  for (const auto& own : found->second)
    entries.push_back({own->name, own->text, own->accepts(PLUG_ACCEPTS_HOST), own->gradient.has_value()});
  return entries;
}

}  // namespace torchplug::aten
