#include "aten/kernel/binding.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <mutex>

#include "aten/plan/operator_facts.h"
#include "base/immortal.h"

namespace torchplug::aten {
namespace {

using c10::Argument;
using c10::FunctionSchema;
using c10::OperatorHandle;
using c10::OperatorName;

struct UnusedKernels {
  std::mutex lock;
  std::vector<UnusedKernel> kernels;
};

UnusedKernels& unused() {
  static auto& instance = *immortal<UnusedKernels>();
  return instance;
}

enum class Fit { kNo, kExact, kWidened };

Fit fit(const c10::TypePtr& kernel, const c10::TypePtr& torch) {
  if (*kernel == *torch) return Fit::kExact;
  const auto* optional = torch->castRaw<c10::OptionalType>();
  return optional != nullptr && *kernel == *optional->getElementType() ? Fit::kWidened : Fit::kNo;
}

c10::TypeKind kind_of(const c10::TypePtr& type) { return without_optional(type)->kind(); }

// `with_outputs`: also among those that an out form is given to write into.
std::optional<size_t> find_argument(const FunctionSchema& schema, const std::string& name,
                                    bool with_outputs) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const Argument& argument = schema.arguments()[i];
    if (argument.name() == name && (with_outputs || !argument.is_out())) return i;
  }
  return std::nullopt;
}

// Fills in the arguments; says in words why it cannot.
std::string fit_arguments(const FunctionSchema& kernel, const FunctionSchema& torch, Binding& binding) {
  std::vector<bool> used(torch.arguments().size(), false);
  const bool names_itself = binding.operator_handle == binding.functional_handle;
  for (const Argument& argument : kernel.arguments()) {
    const auto place = find_argument(torch, argument.name(), names_itself);
    if (!place) return "PyTorch's has no argument '" + argument.name() + "'";
    Fit fitted = fit(argument.real_type(), torch.arguments()[*place].real_type());
    if (fitted == Fit::kNo) fitted = fit(argument.type(), torch.arguments()[*place].type());
    if (fitted == Fit::kNo) return "argument '" + argument.name() + "' has another type";
    used[*place] = true;
    binding.argument_of.push_back(*place);
    binding.types.push_back(kind_of(argument.real_type()));
    binding.needs_value.push_back(fitted == Fit::kWidened);
    const size_t index = binding.argument_of.size() - 1;
    binding.is_output.push_back(torch.arguments()[*place].is_out());
    // What an in-place or out form writes is its result.
    const bool is_marked = binding.form == Form::kFunctional && argument.alias_info() != nullptr &&
                           argument.alias_info()->isWrite();
    binding.writes.push_back(is_marked || (index < 64 && (binding.kernel->writes >> index & 1) != 0));
  }
  for (size_t i = 0; i < used.size(); ++i) {
    const Argument& argument = torch.arguments()[i];
    if (used[i] || argument.is_out()) continue;
    if (!argument.default_value()) return "it lacks argument '" + argument.name() + "'";
    binding.unknown_arguments.push_back(i);
  }
  return "";
}

std::vector<size_t> written_arguments(const FunctionSchema& schema, Form form) {
  std::vector<size_t> written;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const Argument& argument = schema.arguments()[i];
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    if (form != Form::kFunctional && is_written) written.push_back(i);
  }
  return written;
}

std::string fit_form(const FunctionSchema& kernel, Binding& binding) {
  const FunctionSchema& torch = binding.operator_handle.schema();
  std::string problem = fit_arguments(kernel, torch, binding);
  if (!problem.empty()) return problem;
  binding.out_arguments = written_arguments(torch, binding.form);
  if (binding.form != Form::kFunctional && binding.out_arguments.size() != kernel.returns().size()) {
    return "it writes a different number of tensors";
  }
  if (kernel.returns().size() != torch.returns().size()) return "the number of results differs";
  for (size_t i = 0; i < kernel.returns().size(); ++i) {
    if (result_kinds(kernel)[i] != binding.results[i])
      return "result " + std::to_string(i) + " has another type";
    if (binding.results[i] == ResultKind::kOther)
      return "plug.h has no form for result " + std::to_string(i) + ", a " + torch.returns()[i].type()->str();
  }
  return "";
}

bool is_out_form(const FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(),
                     [](const Argument& argument) { return argument.is_out(); });
}

bool writes_a_return(const FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const Argument& result) {
    return result.alias_info() != nullptr && result.alias_info()->isWrite();
  });
}

// The argument that is returned as the result.
size_t argument_returned(const FunctionSchema& schema, const Argument& result) {
  if (result.alias_info() == nullptr) return kNoArgument;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->beforeSets() == result.alias_info()->beforeSets()) return i;
  }
  return kNoArgument;
}

bool gives_view(const FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const Argument& result) {
    return result.alias_info() != nullptr && !result.alias_info()->isWrite();
  });
}

bool is_plain_type(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::GeneratorType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::SymIntType: return true;
    case c10::TypeKind::OptionalType:
    case c10::TypeKind::ListType: return is_plain_type(*type.containedType(0));
    default: return false;
  }
}

}  // namespace

std::optional<OperatorHandle> find_functional(const OperatorHandle& written) {
  const OperatorName& name = written.operator_name();
  if (!is_out_form(written.schema())) {
    return c10::Dispatcher::singleton().findSchema(
        {name.name.substr(0, name.name.size() - 1), name.overload_name});
  }
  for (const OperatorHandle& overload : overloads_of(name.name)) {
    for (const OperatorHandle& form : find_out_forms(overload)) {
      if (form == written) return overload;
    }
  }
  return std::nullopt;
}

namespace {

// Why a kernel cannot be bound to an operator, whatever its arguments; nothing if it can.
std::string find_obstacle(const OperatorHandle& named) {
  if (gives_view(named.schema()))
    return "its result is a view of an argument, which torchplug makes for every device";
  // With a gradient of its own it is differentiable without what it is composed of.
  if (named.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
      !named.hasKernelForDispatchKey(c10::DispatchKey::Autograd)) {
    return "PyTorch implements this operator by others, through which it is differentiable; bind those";
  }
  if (!writes_a_return(named.schema())) return "";
  if (const auto functional = find_functional(named)) {
    return "it writes its result into an argument; bind the functional operator, " +
           full_name(functional->operator_name()) + ", which serves this form too";
  }
  return "";
}

// The forms that a kernel for the operator serves. One that writes its result and has no functional form is
// its own.
std::vector<std::pair<OperatorHandle, Form>> find_forms(const OperatorHandle& named) {
  if (writes_a_return(named.schema()))
    return {{named, is_out_form(named.schema()) ? Form::kOut : Form::kInPlace}};
  std::vector<std::pair<OperatorHandle, Form>> forms{{named, Form::kFunctional}};
  const OperatorName& name = named.operator_name();
  if (const auto in_place = c10::Dispatcher::singleton().findSchema({name.name + "_", name.overload_name}))
    forms.emplace_back(*in_place, Form::kInPlace);
  for (const OperatorHandle& out : find_out_forms(named)) forms.emplace_back(out, Form::kOut);
  return forms;
}

}  // namespace

Binding::Binding(const plug_kernel& given, OperatorHandle called, OperatorHandle functional, Form of)
    : kernel(&given),
      operator_handle(std::move(called)),
      functional_handle(std::move(functional)),
      form(of),
      accepts(given.accepts),
      results(result_kinds(functional_handle.schema())) {}

void report_unused_kernel(const plug_kernel& kernel, const std::string& plugin, const std::string& why) {
  {
    std::lock_guard lock(unused().lock);
    unused().kernels.push_back({kernel.schema, why});
  }
  TORCH_WARN("The kernel of '", plugin, "' for ", kernel.schema, " is not used: ", why, ".");
}

std::vector<UnusedKernel> unused_kernels() {
  std::lock_guard lock(unused().lock);
  return unused().kernels;
}

bool is_known_operator(const plug_kernel& kernel) {
  try {
    const FunctionSchema parsed = torch::jit::parseSchema(kernel.schema);
    return c10::Dispatcher::singleton().findSchema(parsed.operator_name()).has_value();
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<Binding> bind_kernel(const plug_kernel& kernel, const std::string& plugin) {
  std::optional<FunctionSchema> parsed;
  try {
    parsed = torch::jit::parseSchema(kernel.schema);
  } catch (const std::exception&) {
    report_unused_kernel(kernel, plugin, "its schema cannot be read");
    return {};
  }
  const auto named = c10::Dispatcher::singleton().findSchema(parsed->operator_name());
  if (!named) {
    const bool is_pytorchs = parsed->operator_name().getNamespace() == "aten";
    report_unused_kernel(
        kernel, plugin,
        "this PyTorch has no such operator" +
            (is_pytorchs ? std::string() : "; one of the plugin's own is in the namespace '" + plugin + "'"));
    return {};
  }
  if (const std::string obstacle = find_obstacle(*named); !obstacle.empty()) {
    report_unused_kernel(kernel, plugin, obstacle);
    return {};
  }
  std::vector<Binding> bindings;
  for (const auto& [handle, form] : find_forms(*named)) {
    Binding binding(kernel, handle, *named, form);
    const std::string problem = fit_form(*parsed, binding);
    if (problem.empty()) {
      bindings.push_back(std::move(binding));
    } else if (handle == *named) {
      report_unused_kernel(kernel, plugin, problem);
      return {};
    }
  }
  return bindings;
}

std::optional<Binding> bind_schema(const plug_kernel& kernel, std::string* why) {
  std::optional<FunctionSchema> parsed;
  try {
    parsed = torch::jit::parseSchema(kernel.schema);
  } catch (const std::exception&) {
    *why = "it cannot be read";
    return std::nullopt;
  }
  const auto named = c10::Dispatcher::singleton().findSchema(parsed->operator_name());
  if (!named) {
    *why = "this PyTorch has no such operator";
    return std::nullopt;
  }
  Binding binding(kernel, *named, *named, Form::kFunctional);
  *why = fit_form(*parsed, binding);
  return why->empty() ? std::optional(std::move(binding)) : std::nullopt;
}

bool has_plug_form(const Argument& argument) { return is_plain_type(*argument.real_type()); }

bool has_plug_form(const FunctionSchema& schema) {
  const auto has_form = [](const Argument& argument) { return has_plug_form(argument); };
  const auto results = result_kinds(schema);
  return std::all_of(schema.arguments().begin(), schema.arguments().end(), has_form) &&
         std::find(results.begin(), results.end(), ResultKind::kOther) == results.end();
}

Binding bind_any(const plug_kernel& any, const OperatorFacts& facts) {
  constexpr uint64_t kEverything = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                                   PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR | PLUG_ACCEPTS_LAZY_BITS;
  const FunctionSchema& schema = facts.handle.schema();
  Binding binding(any, facts.handle, facts.handle, Form::kFunctional);
  binding.accepts = kEverything | (any.accepts & PLUG_SHAPES_OUTPUT);
  binding.is_any = true;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    binding.argument_of.push_back(i);
    binding.types.push_back(kind_of(schema.arguments()[i].real_type()));
    binding.needs_value.push_back(false);
    binding.writes.push_back(facts.writes[i]);
    binding.is_output.push_back(false);
  }
  if (!writes_a_return(schema)) return binding;
  binding.form = Form::kAsCalled;
  for (const Argument& result : schema.returns())
    binding.out_arguments.push_back(argument_returned(schema, result));
  return binding;
}

}  // namespace torchplug::aten
