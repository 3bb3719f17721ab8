#include "aten/plan/operator_facts.h"

#include <ATen/core/enum_tag.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/immortal.h"

namespace torchplug::aten {
namespace {

struct UnmarkedWrite {
  std::string_view name;
  std::array<size_t, 2> arguments;
};

// Operators that write arguments their schema does not mark: running statistics.
constexpr UnmarkedWrite kUnmarkedWrites[] = {
    {"aten::native_batch_norm", {3, 4}},
    {"aten::native_batch_norm.out", {3, 4}},
    {"aten::batch_norm_update_stats", {1, 2}},
    {"aten::batch_norm_update_stats.out", {1, 2}},
};

// Operators that write all of `self` and read nothing of it. So do all that are given an output and have a
// shape function, but for those below; the others leave some as they were (linalg_lstsq, a convolution's
// gradients that nobody asked for).
constexpr std::string_view kOverwritesSelf[] = {
    "aten::bernoulli_.Tensor", "aten::bernoulli_.float", "aten::cauchy_",      "aten::copy_",
    "aten::exponential_",      "aten::fill_.Scalar",     "aten::fill_.Tensor", "aten::geometric_",
    "aten::log_normal_",       "aten::normal_",          "aten::random_",      "aten::random_.from",
    "aten::random_.to",        "aten::uniform_",         "aten::zero_",
};
// What they save for backward is left as it was where there is nothing to save.
constexpr std::string_view kLeavesOutputs[] = {"aten::native_batch_norm.out"};

// PyTorch lets these take index tensors, or tensors of sizes, from the host whatever the device of the rest.
constexpr std::string_view kHostIndices[] = {
    "aten::_nested_from_padded",
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl",
    "aten::_index_put_impl_",
    "aten::_unsafe_index",
    "aten::_unsafe_index_put",
    "aten::_unsafe_masked_index",
    "aten::_unsafe_masked_index_put_accumulate",
};

// Their out forms use the output as a buffer of another shape on the way, and warn about it.
constexpr std::string_view kOutIsResized[] = {"aten::mse_loss", "aten::smooth_l1_loss"};

// Whose numbers change from call to call, and are refused only where the dtype cannot hold them.
constexpr std::string_view kTakesAnyNumber[] = {
    "add",   "sub",  "rsub",   "mul",       "div",       "eq",          "ne",         "lt",    "le",
    "gt",    "ge",   "clamp",  "clamp_min", "clamp_max", "addcmul",     "addcdiv",    "lerp",  "addmm",
    "addmv", "addr", "addbmm", "baddbmm",   "fill",      "masked_fill", "index_fill", "where", "threshold",
};

// Structured operators whose kernels look at sizes of which their shape functions say nothing: how many
// random samples there are.
constexpr std::string_view kChecksLate[] = {"aten::fractional_max_pool2d", "aten::fractional_max_pool3d"};

// Whose CPU kernels look, when they run, whether deterministic mode is on: to compute another way,
constexpr std::string_view kHasDeterministicWay[] = {
    "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index_put",
    "aten::index_copy", "aten::index_copy_",      "aten::topk",
};
// or to refuse or warn.
constexpr std::string_view kRefusesDeterminism[] = {"aten::put_", "aten::max_unpool2d", "aten::max_unpool3d"};

template <size_t N>
bool is_among(const std::string_view (&names)[N], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// aten::fill_, aten::_foreach_fill_: fill.
std::string plain_name(std::string_view name) {
  for (std::string_view prefix : {"aten::", "_foreach_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name.ends_with('_')) name.remove_suffix(1);
  return std::string(name);
}

bool contains_tensor(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), contains_tensor);
}

std::optional<c10::OperatorHandle> find_cpu_out_form(const c10::OperatorHandle& functional) {
  for (const c10::OperatorHandle& form : find_out_forms(functional)) {
    if (form.hasKernelForDispatchKey(c10::DispatchKey::CPU)) return form;
  }
  return std::nullopt;
}

bool has_data_tag(const c10::OperatorHandle& op) {
  return op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output);
}

// The names of operators whose outputs have a shape that data decide. Not every overload says it of itself:
// index does, index.Tensor_out does not.
const std::unordered_set<std::string>& shaped_by_data() {
  static const auto& names = *immortal<const std::unordered_set<std::string>>([] {
    auto& dispatcher = c10::Dispatcher::singleton();
    std::unordered_set<std::string> found;
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findSchema(name);
      if (op && has_data_tag(*op)) found.insert(name.name);
    }
    return found;
  }());
  return names;
}

bool is_scalar(const c10::TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>()) return is_scalar(optional->getElementType());
  return type->kind() == c10::TypeKind::NumberType || type->kind() == c10::TypeKind::FloatType;
}

// Whether an argument of the type decides neither a shape nor a dtype.
bool decides_no_shape(const c10::TypePtr& type) {
  if (const auto* optional = type->castRaw<c10::OptionalType>())
    return decides_no_shape(optional->getElementType());
  return is_scalar(type) || type->kind() == c10::TypeKind::TensorType ||
         type->kind() == c10::TypeKind::BoolType || type->kind() == c10::TypeKind::StringType;
}

bool is_mutable(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

}  // namespace

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

std::optional<c10::OperatorHandle> find_operator(const std::string& full_name) {
  const size_t dot = full_name.find('.');
  const std::string overload = dot == std::string::npos ? "" : full_name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({full_name.substr(0, dot), overload});
}

bool is_out_form_of(const c10::FunctionSchema& functional, const c10::FunctionSchema& out) {
  const size_t count = functional.arguments().size();
  if (out.arguments().size() != count + functional.returns().size()) return false;
  for (size_t i = 0; i < out.arguments().size(); ++i) {
    const c10::Argument& argument = out.arguments()[i];
    if (i >= count) {
      if (!argument.is_out()) return false;
    } else if (argument.name() != functional.arguments()[i].name() ||
               *argument.real_type() != *functional.arguments()[i].real_type()) {
      return false;
    }
  }
  return out.arguments().size() > count;
}

std::vector<c10::OperatorHandle> overloads_of(const std::string& name) {
  using Names = std::unordered_map<std::string, std::vector<c10::OperatorName>>;
  auto& dispatcher = c10::Dispatcher::singleton();
  static const auto& known = *immortal<const Names>([&] {
    Names found;
    for (const c10::OperatorName& one : dispatcher.getAllOpNames()) found[one.name].push_back(one);
    return found;
  }());
  std::vector<c10::OperatorHandle> overloads;
  const auto found = known.find(name);
  if (found == known.end()) return overloads;
  // Looked up anew: a library may have been destroyed meanwhile.
  for (const c10::OperatorName& one : found->second) {
    if (const auto handle = dispatcher.findSchema(one)) overloads.push_back(*handle);
  }
  return overloads;
}

std::vector<c10::OperatorHandle> find_out_forms(const c10::OperatorHandle& functional) {
  std::vector<c10::OperatorHandle> forms = overloads_of(functional.operator_name().name);
  std::erase_if(forms, [&](const c10::OperatorHandle& overload) {
    return !is_out_form_of(functional.schema(), overload.schema());
  });
  return forms;
}

bool is_foreach_operator(const c10::OperatorHandle& handle) {
  return handle.operator_name().name.starts_with("aten::_foreach_") &&
         handle.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

OperatorFacts::OperatorFacts(const c10::OperatorHandle& op)
    : handle(op),
      name(full_name(op.operator_name())),
      argument_count(op.schema().arguments().size()),
      return_count(op.schema().returns().size()) {
  const c10::FunctionSchema& schema = op.schema();
  bool has_tensor_input = false;
  for (const c10::Argument& argument : schema.arguments()) {
    writes.push_back(is_mutable(argument));
    overwrites.push_back(argument.is_out() && op.hasKernelForDispatchKey(c10::DispatchKey::Meta) &&
                         !is_among(kLeavesOutputs, name));
    is_number.push_back(is_scalar(argument.type()));
    if (argument.is_out()) is_out_form = true;
    if (!argument.is_out() && contains_tensor(argument.type())) has_tensor_input = true;
  }
  for (const UnmarkedWrite& unmarked : kUnmarkedWrites) {
    if (unmarked.name != name) continue;
    for (size_t argument : unmarked.arguments) writes[argument] = true;
  }
  if (is_among(kOverwritesSelf, name)) overwrites[0] = true;
  writes_any = std::find(writes.begin(), writes.end(), true) != writes.end();
  for (const c10::Argument& result : schema.returns()) {
    if (result.type()->kind() != c10::TypeKind::TensorType) returns_tensors = false;
    if (result.type()->kind() == c10::TypeKind::ClassType) makes_object = true;
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite() && !writes_any) is_view = true;
  }
  is_aten = op.operator_name().getNamespace() == "aten";
  // Other operators of aten that nobody tells autograd of, batch norm for its statistics, mean it so.
  is_foreach = is_foreach_operator(op);
  bumps_versions = writes_any && (!is_aten || is_foreach) &&
                   !op.hasKernelForDispatchKey(c10::DispatchKey::ADInplaceOrView);
  is_random = op.hasTag(at::Tag::nondeterministic_seeded);
  const auto has_plain_type = [](const c10::Argument& argument) {
    return decides_no_shape(argument.real_type());
  };
  is_pointwise = op.hasTag(at::Tag::pointwise) &&
                 std::all_of(schema.arguments().begin(), schema.arguments().end(), has_plain_type);
  if (is_among(kTakesAnyNumber, plain_name(op.operator_name().name))) numbers = Numbers::kRange;
  // No tensor to take a shape from: arange and its like.
  if (!has_tensor_input) numbers = Numbers::kValue;
  shape_needs_data = has_data_tag(op) || (is_out_form && shaped_by_data().contains(op.operator_name().name));
  has_deterministic_way = is_among(kHasDeterministicWay, op.operator_name().name);
  refuses_determinism = is_among(kRefusesDeterminism, op.operator_name().name);
  checks_late = is_among(kChecksLate, op.operator_name().name);
  takes_host_indices = is_among(kHostIndices, op.operator_name().name);
  const bool has_shape_function =
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
  if (!writes_any && !is_view && return_count > 0 && returns_tensors) {
    out_form = find_cpu_out_form(op);
    is_structured = out_form && has_shape_function && !op.hasTag(at::Tag::view_copy);
    if (!is_structured || is_among(kOutIsResized, op.operator_name().name)) out_form.reset();
  }
  is_in_place = !is_out_form && return_count == 1 && returns_tensors && writes[0] &&
                std::count(writes.begin(), writes.end(), true) == 1;
  // In place, others than the pointwise ones may copy what they have computed beside their argument into it.
  if (is_in_place && is_pointwise) is_structured = has_shape_function;
}

}  // namespace torchplug::aten
