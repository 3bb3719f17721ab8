#include "package/signature.h"

#include <ATen/ops/empty_strided.h>

#include <utility>

#include "aten/tensor/strides.h"
#include "base/dtype.h"

namespace torchplug::package {
namespace {

constexpr int64_t kUnlimited = int64_t{1} << 62;  // as torchplug/compile/_numbers.py has it

// "float32"
std::string name_of(c10::ScalarType dtype) { return std::string(c10::getDtypeNames(dtype).first); }

std::string kind_of(const c10::IValue& given) {
  if (given.isNone()) return "None";
  if (given.isInt()) return "an integer";
  if (!given.isTensor()) return "a " + given.tagKind();
  return given.toTensor().defined() ? "a tensor" : "an undefined tensor";
}

// "Dimension 0 of input 'x'", or the input itself.
std::string place_of(const Input& input, size_t dimension) {
  return input.is_tensor ? graph::say("Dimension ", dimension, " of input '", input.name, "'")
                         : graph::say("Input '", input.name, "'");
}

int64_t size_of(const c10::IValue& given, size_t dimension) {
  return given.isTensor() ? given.toTensor().size(static_cast<int64_t>(dimension)) : given.toInt();
}

std::string list_of_names(const std::vector<Input>& inputs) {
  std::string names;
  for (const Input& input : inputs) names += graph::say(names.empty() ? "'" : ", '", input.name, "'");
  return names.empty() ? "" : graph::say(" (", names, ")");
}

}  // namespace

std::vector<Number> Signature::check(const std::vector<c10::IValue>& inputs) const {
  const std::vector<Input>& wanted = contents_.inputs;
  if (inputs.size() != wanted.size())
    refuse("The package takes ", wanted.size(), wanted.size() == 1 ? " input" : " inputs",
           list_of_names(wanted), ", and was given ", inputs.size(), ".");
  for (size_t i = 0; i < wanted.size(); ++i) check_kind(wanted[i], inputs[i]);
  std::vector<Number> symbols = find_symbols(inputs);
  for (size_t i = 0; i < wanted.size(); ++i) check_sizes(wanted[i], inputs[i], symbols);
  for (const Condition& condition : contents_.conditions) {
    if (to_double(condition.holds.value(symbols)) == 0)
      refuse("The package is for inputs of which ", condition.text, " holds, and was given others",
             values_in(condition.holds, symbols), ".");
  }
  return symbols;
}

void Signature::check_kind(const Input& input, const c10::IValue& given) const {
  const bool fits = input.is_tensor ? given.isTensor() && given.toTensor().defined() : given.isInt();
  if (!fits)
    refuse("Input '", input.name, "' is to be ", input.is_tensor ? "a tensor" : "an integer",
           ", and was given ", kind_of(given), ".");
  if (!input.is_tensor) return;
  const at::Tensor& tensor = given.toTensor();
  if (tensor.device() != device_)
    refuse("Input '", input.name, "' is to be on ", device_.str(),
           ", where the package was loaded, and was given on ", tensor.device().str(), ".");
  if (tensor.layout() != c10::kStrided)
    refuse("Input '", input.name, "' is to be a dense tensor, and was given as a sparse or nested one.");
  const auto dtype = to_scalar_type(input.dtype);
  if (tensor.scalar_type() != dtype)
    refuse("Input '", input.name, "' is to be ",
           dtype ? name_of(*dtype) : std::string("of a dtype that this PyTorch lacks"), ", and was given as ",
           name_of(tensor.scalar_type()), ".");
  const auto dimensions = static_cast<size_t>(tensor.dim());
  if (dimensions != input.sizes.size())
    refuse("Input '", input.name, "' is to have ", input.sizes.size(),
           input.sizes.size() == 1 ? " dimension" : " dimensions", ", and was given with ", dimensions, ".");
}

std::vector<Number> Signature::find_symbols(const std::vector<c10::IValue>& inputs) const {
  std::vector<Number> symbols;
  symbols.reserve(contents_.symbols.size());
  for (const Symbol& symbol : contents_.symbols) {
    const Input& input = contents_.inputs[static_cast<size_t>(symbol.input)];
    const auto dimension = static_cast<size_t>(input.is_tensor ? symbol.dimension : 0);
    const int64_t size = size_of(inputs[static_cast<size_t>(symbol.input)], dimension);
    int64_t scaled = 0;
    const bool is_one = !__builtin_sub_overflow(size, symbol.shift, &scaled) && scaled % symbol.scale == 0;
    const int64_t value = is_one ? scaled / symbol.scale : symbol.min;
    if (!is_one)
      refuse(place_of(input, dimension), " is to be ", input.sizes[dimension].text, " for some ", symbol.name,
             ", and was given as ", size, ".");
    if (value < symbol.min || value > symbol.max) {
      const bool is_itself = symbol.scale == 1 && symbol.shift == 0;
      refuse(place_of(input, dimension),
             is_itself ? " may be"
                       : graph::say(" is ", input.sizes[dimension].text, ", where ", symbol.name, " may be"),
             symbol.max >= kUnlimited ? graph::say(" ", symbol.min, " or more")
                                      : graph::say(" from ", symbol.min, " to ", symbol.max),
             ", and was given as ", size, ".");
    }
    symbols.emplace_back(value);
  }
  return symbols;
}

void Signature::check_sizes(const Input& input, const c10::IValue& given,
                            const std::vector<Number>& symbols) const {
  for (size_t i = 0; i < input.sizes.size(); ++i) {
    const Size& wanted = input.sizes[i];
    const int64_t size = size_of(given, i);
    const int64_t expected = wanted.value.integer_value(symbols);
    if (size == expected) continue;
    const std::string number = std::to_string(expected);
    refuse(place_of(input, i), " is to be ", number,
           wanted.text == number ? "" : graph::say(" (", wanted.text, values_in(wanted.value, symbols), ")"),
           ", and was given as ", size, ".");
  }
}

// ", where s0 = 3 (dimension 0 of 'x')"
std::string Signature::values_in(const Expression& expression, const std::vector<Number>& symbols) const {
  std::string text;
  for (size_t i = 0; i < contents_.symbols.size(); ++i) {
    if (!expression.uses(static_cast<int64_t>(i))) continue;
    const Symbol& symbol = contents_.symbols[i];
    const Input& input = contents_.inputs[static_cast<size_t>(symbol.input)];
    text +=
        graph::say(text.empty() ? ", where " : " and ", symbol.name, " = ", to_integer(symbols[i]), " by ");
    text += input.is_tensor ? graph::say("dimension ", symbol.dimension, " of '", input.name, "'")
                            : graph::say("'", input.name, "'");
  }
  return text;
}

std::vector<c10::IValue> Signature::conformed(const std::vector<c10::IValue>& inputs,
                                              const std::vector<Number>& symbols) const {
  std::vector<c10::IValue> conformed = inputs;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = contents_.inputs[i];
    if (!input.is_tensor) continue;
    const at::Tensor& given = inputs[i].toTensor();
    strides.clear();
    for (const Expression& stride : input.strides) strides.push_back(stride.integer_value(symbols));
    const bool has_bits = given.is_conj() || given.is_neg();
    if (!has_bits && (same_strides(given.sizes(), given.strides(), strides) || given.numel() == 0)) continue;
    conformed[i] = at::empty_strided(given.sizes(), strides, given.options()).copy_(given);
  }
  return conformed;
}

}  // namespace torchplug::package
