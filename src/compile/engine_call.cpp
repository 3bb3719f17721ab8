#include "compile/engine_call.h"

#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/device_tensor.h"
#include "base/dtype.h"
#include "graph/specialize.h"

namespace torchplug::compile {
namespace {

bool are_equal(const std::vector<int64_t>& extents, at::IntArrayRef actual,
               std::span<const int64_t> numbers) {
  if (extents.size() != actual.size()) return false;
  for (size_t i = 0; i < extents.size(); ++i)
    if (value_of(extents[i], numbers) != actual[i]) return false;
  return true;
}

// Graphs have no types that PyTorch has not.
at::ScalarType scalar_type_of(const TensorType& type) {
  return to_scalar_type(type.dtype).value_or(at::ScalarType::Undefined);
}

// Whether the strides tell the same elements apart.
bool have_same_strides(const at::Tensor& tensor, const std::vector<int64_t>& extents,
                       std::span<const int64_t> numbers) {
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto d = static_cast<int64_t>(i);
    if (tensor.size(d) != 1 && tensor.stride(d) != value_of(extents[i], numbers)) return false;
  }
  return true;
}

// Whether the ranges in which their elements lie have bytes in common.
bool may_overlap(const at::Tensor& a, const at::Tensor& b) {
  if (!a.storage().is_alias_of(b.storage()) || a.numel() == 0 || b.numel() == 0) return false;
  const auto range_of = [](const at::Tensor& tensor) {
    int64_t last = tensor.storage_offset();
    for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
    const auto bytes = static_cast<int64_t>(tensor.itemsize());
    return std::pair(tensor.storage_offset() * bytes, (last + 1) * bytes);
  };
  const auto [begin_a, end_a] = range_of(a);
  const auto [begin_b, end_b] = range_of(b);
  return begin_a < end_b && begin_b < end_a;
}

at::Tensor copy_with_strides(const at::Tensor& tensor, at::IntArrayRef strides) {
  at::Tensor copy = at::empty_strided(tensor.sizes(), strides, tensor.options());
  copy.copy_(tensor);
  return copy;
}

plug_value value_of_tensor(const plug_tensor* tensor) {
  plug_value value{};
  value.tag = PLUG_VALUE_TENSOR;
  value.count = 1;
  value.as.tensors = tensor;
  return value;
}

plug_value value_of_number(int64_t number) {
  plug_value value{};
  value.tag = PLUG_VALUE_INT;
  value.as.i = number;
  return value;
}

}  // namespace

CallForm::CallForm(const Compiler& compiler, const Graph& graph, Strides strides)
    : compiler_(compiler), graph_(graph), strides_(std::move(strides)) {
  for (const Output& output : graph_.outputs())
    if (output.updates >= 0) updated_.push_back(static_cast<size_t>(output.updates));
  number_count_ = graph_.symbols().size();
  for (const auto& wanted : strides_)
    for (const int64_t stride : wanted.value_or(std::vector<int64_t>()))
      if (stride < 0) number_count_ = std::max(number_count_, static_cast<size_t>(-stride));
}

void CallForm::check(Tensors inputs, Numbers numbers) const {
  const auto count = static_cast<size_t>(graph_.input_count());
  TORCH_CHECK(inputs.size() == count && numbers.size() == number_count_, "An engine of ", count,
              " inputs and ", number_count_, " numbers was given ", inputs.size(), " and ", numbers.size(),
              ".");
  for (size_t i = 0; i < graph_.symbols().size(); ++i) {
    const Symbol& symbol = graph_.symbols()[i];
    TORCH_CHECK(numbers[i] >= symbol.min && numbers[i] <= symbol.max, "An engine was given ", numbers[i],
                " for '", symbol.text, "', which it takes from ", symbol.min, " to ", symbol.max, ".");
  }
  for (size_t i = 0; i < count; ++i) check_input(i, inputs[i], numbers);
}

void CallForm::check_input(size_t place, const at::Tensor& given, Numbers numbers) const {
  const Value& value = graph_.values()[place];
  const bool fits = given.defined() && given.device().type() == kDeviceType &&
                    given.device().index() == compiler_.device() &&
                    to_plug_dtype(given.scalar_type()) == value.type.dtype &&
                    are_equal(value.type.sizes, given.sizes(), numbers);
  if (C10_LIKELY(fits)) return;
  TORCH_CHECK(false, "Input ", place, value.name.empty() ? "" : " ('" + value.name + "')",
              " of an engine is to be ", c10::toString(scalar_type_of(value.type)), " of sizes ",
              at::IntArrayRef(values_of(value.type.sizes, numbers)), " on device ",
              static_cast<int>(compiler_.device()), ", and was given ",
              given.defined() ? c10::toString(given.scalar_type()) : "nothing", " of sizes ",
              given.defined() ? given.sizes() : at::IntArrayRef(), " on ",
              given.defined() ? given.device().str() : "no device", ".");
}

EngineCall::EngineCall(const CallForm& form, Tensors given, Numbers numbers, const Stream& stream)
    : form_(form), graph_(form.graph_), given_(given), numbers_(numbers), stream_(stream) {
  take_inputs();
  const size_t outputs = graph_.outputs().size();
  outputs_.reserve(outputs);
  for (size_t i = 0; i < outputs; ++i) outputs_.push_back(make_output(i));
  described_.resize(inputs_.size() + outputs);
  describe_inputs();
  describe_outputs();
}

// With the strides that the graph has, and no lazy bit.
at::Tensor EngineCall::conformed(size_t place) const {
  const at::Tensor& input = given_[place];
  const std::vector<int64_t>& strides = strides_of(graph_.values()[place].type);
  const bool has_bits = input.is_conj() || input.is_neg();
  if (C10_LIKELY(!has_bits && have_same_strides(input, strides, numbers_))) return input;
  return copy_with_strides(input, values_of(strides, numbers_));
}

// What a run writes has memory of its own, so that the others keep their old content.
void EngineCall::take_inputs() {
  inputs_.reserve(given_.size());
  for (size_t i = 0; i < given_.size(); ++i) inputs_.push_back(conformed(i));
  for (const size_t place : form_.updated_) {
    at::Tensor& written = inputs_[place];
    own_memory(written);
    const auto is_met = [&written](const at::Tensor& other) {
      return &other != &written && may_overlap(written, other);
    };
    if (C10_UNLIKELY(std::ranges::any_of(inputs_, is_met)))
      written = copy_with_strides(written, written.strides());
  }
}

at::Tensor EngineCall::make_output(size_t place) const {
  const Output& output = graph_.outputs()[place];
  if (output.updates >= 0) return inputs_[static_cast<size_t>(output.updates)];
  const TensorType& type = graph_.values()[static_cast<size_t>(output.value)].type;
  return empty_on(stream_, values_of(type.sizes, numbers_), values_of(strides_of(type), numbers_),
                  scalar_type_of(type));
}

void EngineCall::describe_inputs() {
  const bool takes_numbers = form_.compiler_.has(PLUG_COMPILER_SYMBOLS);
  const Numbers symbols = numbers_.first(graph_.symbols().size());
  arguments_.reserve(inputs_.size() + (takes_numbers ? symbols.size() : 0));
  for (size_t i = 0; i < inputs_.size(); ++i) {
    described_[i] = describe(inputs_[i]);
    arguments_.push_back(value_of_tensor(&described_[i]));
  }
  for (const size_t place : form_.updated_) described_[place].flags |= PLUG_TENSOR_WRITTEN;
  if (!takes_numbers) return;
  for (const int64_t number : symbols) arguments_.push_back(value_of_number(number));
}

void EngineCall::describe_outputs() {
  results_.reserve(outputs_.size());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    plug_tensor& tensor = described_[inputs_.size() + i];
    tensor = describe(outputs_[i]);
    tensor.flags |= PLUG_TENSOR_WRITTEN;
    results_.push_back(value_of_tensor(&tensor));
  }
}

std::optional<std::string> EngineCall::run(Engine& engine) {
  return engine.run(inputs_, arguments_, results_, graph_.flags(), stream_);
}

std::vector<at::Tensor> EngineCall::take_outputs() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int32_t updates = graph_.outputs()[i].updates;
    const auto& strides = form_.strides_[i];
    if (updates >= 0) {
      outputs_[i] = update(given_[static_cast<size_t>(updates)], outputs_[i]);
    } else if (strides && !have_same_strides(outputs_[i], *strides, numbers_)) {
      outputs_[i] = copy_with_strides(outputs_[i], values_of(*strides, numbers_));
    }
  }
  return std::move(outputs_);
}

at::Tensor EngineCall::update(const at::Tensor& target, const at::Tensor& content) const {
  if (!content.is_same(target)) {
    target.copy_(content);
  } else if (!target.is_inference()) {
    target.unsafeGetTensorImpl()->bump_version();  // as whoever packs it as a weight has to know
  }
  return target;
}

}  // namespace torchplug::compile
