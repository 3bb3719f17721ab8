#include "aten/op/typed_signatures.h"

#include <string>
#include <type_traits>
#include <unordered_map>

#include "aten/op/typed_kernel.h"

namespace torchplug::aten {
namespace {

using T = const at::Tensor&;
using M = at::Tensor&;  // written in place
using S = const at::Scalar&;
using Tensors = const at::ITensorListRef&;
using Ints = at::IntArrayRef;
using Dims = at::OptionalIntArrayRef;
using Dtype = at::ScalarType;
using MaybeDtype = std::optional<at::ScalarType>;

// A schema's types and a C++ signature's, both as a letter or two an argument.
template <class Arg>
constexpr const char* code_of() {
  if constexpr (std::is_same_v<Arg, T>) return "T";
  if constexpr (std::is_same_v<Arg, M>) return "M";
  if constexpr (std::is_same_v<Arg, Tensors>) return "T*";
  if constexpr (std::is_same_v<Arg, S>) return "S";
  if constexpr (std::is_same_v<Arg, int64_t>) return "i";
  if constexpr (std::is_same_v<Arg, bool>) return "b";
  if constexpr (std::is_same_v<Arg, Dtype>) return "d";
  if constexpr (std::is_same_v<Arg, MaybeDtype>) return "d?";
  if constexpr (std::is_same_v<Arg, Ints>) return "i*";
  if constexpr (std::is_same_v<Arg, Dims>) return "i*?";
}

std::string code_of_type(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return "T";
    case c10::TypeKind::NumberType: return "S";
    case c10::TypeKind::IntType: return "i";
    case c10::TypeKind::BoolType: return "b";
    case c10::TypeKind::ScalarTypeType: return "d";
    case c10::TypeKind::OptionalType: return code_of_type(*type.containedType(0)) + "?";
    case c10::TypeKind::ListType: return code_of_type(*type.containedType(0)) + "*";
    default: return "#";
  }
}

std::string code_of_schema(const c10::FunctionSchema& schema) {
  std::string code;
  for (const c10::Argument& argument : schema.arguments()) {
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    code += is_written ? "M" : code_of_type(*argument.real_type());
  }
  return code;
}

using Maker = torch::CppFunction (*)(std::unique_ptr<OperatorKernel>);

template <class Return, class... Args>
struct Signature {
  static std::string code() { return (std::string() + ... + code_of<Args>()); }

  static torch::CppFunction make(std::unique_ptr<OperatorKernel> kernel) {
    auto typed = std::make_shared<TypedKernel<Return(Args...)>>(std::move(kernel));
    return torch::CppFunction([typed](Args... args) -> Return { return typed->run(args...); });
  }
};

template <class... Signatures>
std::unordered_map<std::string, Maker> table_of() {
  return {{Signatures::code(), &Signatures::make}...};
}

template <class... Args>
using New = Signature<at::Tensor, Args...>;
template <class... Args>
using InPlace = Signature<at::Tensor&, M, Args...>;

const std::unordered_map<std::string, Maker>& makers() {
  static const auto table =
      table_of<New<T>, New<T, T>, New<T, T, T>, New<T, S>, New<T, S, S>, New<T, T, S>, New<T, T, S, S>,
               New<T, T, T, S>, New<T, T, T, S, S>, New<T, int64_t>, New<T, bool>, New<T, int64_t, bool>,
               New<T, T, int64_t>, New<T, T, bool>, New<T, T, T, int64_t>, New<T, int64_t, T>,
               New<T, int64_t, T, T>, New<T, T, int64_t, Dtype>, New<T, Ints>, New<T, Dims>,
               New<T, MaybeDtype>, New<T, int64_t, MaybeDtype>, New<T, Dims, bool, MaybeDtype>,
               New<T, Ints, bool>, New<T, Dims, bool>, New<Tensors, int64_t>,  //
               InPlace<>, InPlace<T>, InPlace<S>, InPlace<T, T>, InPlace<T, S>, InPlace<S, S>,
               InPlace<T, T, S>, InPlace<T, T, S, S>>();
  return table;
}

}  // namespace

std::optional<torch::CppFunction> make_typed(std::unique_ptr<OperatorKernel>& kernel) {
  const OperatorFacts& facts = kernel->facts();
  const c10::FunctionSchema& schema = facts.handle.schema();
  const bool gives_a_tensor = schema.returns().size() == 1 && facts.returns_tensors;
  if (!gives_a_tensor || facts.is_view || facts.is_out_form || facts.is_random) return std::nullopt;
  // In place, a kernel's output needs what only the boxed way looks at.
  if (facts.writes_any && kernel->bound() != nullptr) return std::nullopt;
  const std::string code = code_of_schema(schema);
  const auto found = makers().find(code);
  if (found == makers().end()) return std::nullopt;
  // Only structured operators take a list of tensors as ITensorListRef.
  if (code.find("T*") != std::string::npos && !facts.is_structured) return std::nullopt;
  return found->second(std::move(kernel));
}

}  // namespace torchplug::aten
