#include "aten/kernel/binding.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>

namespace torchplug::aten {
namespace {

using c10::Argument;
using c10::FunctionSchema;
using c10::OperatorHandle;
using c10::OperatorName;

enum class Fit { kNo, kExact, kWidened };

Fit fit(const c10::TypePtr& kernel, const c10::TypePtr& torch) {
  if (*kernel == *torch) return Fit::kExact;
  const auto* optional = torch->castRaw<c10::OptionalType>();
  return optional != nullptr && *kernel == *optional->getElementType() ? Fit::kWidened : Fit::kNo;
}

c10::TypeKind kind_of(const c10::TypePtr& type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  return optional != nullptr ? optional->getElementType()->kind() : type->kind();
}

std::optional<size_t> find_argument(const FunctionSchema& schema, const std::string& name) {
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == name && !schema.arguments()[i].is_out()) return i;
  }
  return std::nullopt;
}

// Fills in the arguments; says in words why it cannot.
std::string fit_arguments(const FunctionSchema& kernel, const FunctionSchema& torch, Binding& binding) {
  std::vector<bool> used(torch.arguments().size(), false);
  for (const Argument& argument : kernel.arguments()) {
    const auto place = find_argument(torch, argument.name());
    if (!place) return "PyTorch's has no argument '" + argument.name() + "'";
    Fit fitted = fit(argument.real_type(), torch.arguments()[*place].real_type());
    if (fitted == Fit::kNo) fitted = fit(argument.type(), torch.arguments()[*place].type());
    if (fitted == Fit::kNo) return "argument '" + argument.name() + "' has another type";
    used[*place] = true;
    binding.argument_of.push_back(*place);
    binding.types.push_back(kind_of(argument.real_type()));
    binding.needs_value.push_back(fitted == Fit::kWidened);
    const size_t index = binding.argument_of.size() - 1;
    const bool is_marked = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
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
    return "it writes another number of tensors";
  }
  const auto is_list = [](const Argument& result) {
    return result.type()->kind() == c10::TypeKind::ListType;
  };
  if (std::any_of(kernel.returns().begin(), kernel.returns().end(), is_list)) return "it returns a list";
  return kernel.returns().size() == torch.returns().size() ? "" : "the number of results differs";
}

void log_unfit(const plug_kernel& kernel, const std::string& plugin, const std::string& why) {
  TORCH_WARN("The kernel of '", plugin, "' for ", kernel.schema, " is not used: ", why,
             ". The operator runs on the CPU.");
}

// The other forms of a functional operator: name_ with the same overload, and any overload whose
// arguments are the same with results to write into behind them.
std::vector<std::pair<OperatorHandle, Form>> find_other_forms(const OperatorHandle& functional) {
  auto& dispatcher = c10::Dispatcher::singleton();
  static const auto names = dispatcher.getAllOpNames();
  const OperatorName& base = functional.operator_name();
  std::vector<std::pair<OperatorHandle, Form>> forms;
  if (auto in_place = dispatcher.findSchema({base.name + "_", base.overload_name})) {
    forms.emplace_back(*in_place, Form::kInPlace);
  }
  for (const OperatorName& name : names) {
    if (name.name != base.name || name == base) continue;
    const auto handle = dispatcher.findSchema(name);
    if (!handle) continue;
    const auto& arguments = handle->schema().arguments();
    const auto outs =
        std::count_if(arguments.begin(), arguments.end(), [](const Argument& a) { return a.is_out(); });
    const size_t inputs = functional.schema().arguments().size();
    if (outs == 0 || arguments.size() != inputs + static_cast<size_t>(outs)) continue;
    const bool same =
        std::equal(functional.schema().arguments().begin(), functional.schema().arguments().end(),
                   arguments.begin(), [](const Argument& a, const Argument& b) {
                     return a.name() == b.name() && *a.real_type() == *b.real_type();
                   });
    if (same) forms.emplace_back(*handle, Form::kOut);
  }
  return forms;
}

}  // namespace

std::vector<Binding> bind_kernel(const plug_kernel& kernel, const std::string& plugin) {
  std::optional<FunctionSchema> parsed;
  try {
    parsed = torch::jit::parseSchema(kernel.schema);
  } catch (const std::exception&) {
    log_unfit(kernel, plugin, "its schema cannot be read");
    return {};
  }
  const auto functional = c10::Dispatcher::singleton().findSchema(parsed->operator_name());
  if (!functional) {
    log_unfit(kernel, plugin, "this PyTorch has no such operator");
    return {};
  }
  if (functional->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    log_unfit(kernel, plugin,
              "PyTorch composes this operator of others, which is how it has a gradient; bind those");
    return {};
  }
  std::vector<std::pair<OperatorHandle, Form>> forms = find_other_forms(*functional);
  forms.insert(forms.begin(), {*functional, Form::kFunctional});
  std::vector<Binding> bindings;
  for (const auto& [handle, form] : forms) {
    Binding binding{&kernel, handle, *functional, form, {}, {}, {}, {}, {}, {}};
    const std::string problem = fit_form(*parsed, binding);
    if (problem.empty()) {
      bindings.push_back(std::move(binding));
    } else if (form == Form::kFunctional) {
      log_unfit(kernel, plugin, problem);
      return {};
    }
  }
  return bindings;
}

}  // namespace torchplug::aten
