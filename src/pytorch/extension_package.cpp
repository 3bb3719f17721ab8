// What include/torchplug/torchplug.hpp gives to those who run packages.

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <utility>

#include "package/package.h"
#include "torchplug/torchplug.hpp"

namespace torchplug {
namespace {

namespace core = pytorch;

// An input that is an integer is given as a tensor of one.
c10::IValue value_of(const package::Input& input, const at::Tensor& given) {
  const bool is_one =
      given.defined() && given.is_cpu() && given.scalar_type() == at::kLong && given.numel() == 1;
  if (input.is_tensor || !is_one) return given;
  return given.item<int64_t>();
}

at::Tensor tensor_of(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isScalar()) {
    const at::ScalarType type = value.isInt() ? at::kLong : value.isBool() ? at::kBool : at::kDouble;
    return at::scalar_tensor(value.toScalar(), at::dtype(type));
  }
  return {};
}

}  // namespace

class Package::State {
 public:
  State(const std::string& path, c10::DeviceIndex device) : package(path, device) {}

  package::Package package;
};

Package::Package(const std::string& path, c10::DeviceIndex device)
    : state_(std::make_shared<State>(path, device < 0 ? core::current_device() : device)) {}

std::vector<at::Tensor> Package::run(const std::vector<at::Tensor>& inputs) const {
  const std::vector<package::Input>& wanted = state_->package.contents().inputs;
  std::vector<c10::IValue> given(inputs.begin(), inputs.end());
  for (size_t i = 0; i < std::min(given.size(), wanted.size()); ++i)
    given[i] = value_of(wanted[i], inputs[i]);
  const std::vector<c10::IValue> results = state_->package.run(given, [] {});
  std::vector<at::Tensor> outputs;
  outputs.reserve(results.size());
  for (const c10::IValue& result : results) outputs.push_back(tensor_of(result));
  return outputs;
}

std::vector<std::string> Package::inputs() const { return names_of(state_->package.contents().inputs); }

std::vector<std::string> Package::outputs() const { return names_of(state_->package.contents().outputs); }

std::map<std::string, at::Tensor> Package::weights() const {
  std::map<std::string, at::Tensor> named;
  const std::vector<package::Weight>& weights = state_->package.contents().weights;
  for (size_t i = 0; i < weights.size(); ++i) named[weights[i].name] = state_->package.weights()[i];
  return named;
}

std::string Package::why_compiled_anew() const { return state_->package.why_anew(); }

}  // namespace torchplug
