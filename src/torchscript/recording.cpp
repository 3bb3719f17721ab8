#include "torchscript/recording.h"

#include <ATen/record_function.h>
#include <c10/util/ScopeExit.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace torchplug::torchscript {
namespace {

thread_local Recording* current = nullptr;

struct Place final : at::ObserverContext {
  explicit Place(int32_t at) : number(at) {}
  int32_t number;
};

// PyTorch shows all of a stack, of which the operator has the end.
template <class Values>
auto last(const Values& values, size_t count) {
  const size_t all = values.size();
  return c10::ArrayRef<c10::IValue>(values.data() + (all - std::min(all, count)), std::min(all, count));
}

}  // namespace

// What PyTorch calls around each operator.
struct Listener {
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (current == nullptr) return nullptr;
    const auto name = function.operator_name();
    const auto op = name ? c10::Dispatcher::singleton().findSchema(*name) : std::nullopt;
    if (!op) return nullptr;
    const auto inputs = last(function.inputs(), op->schema().arguments().size());
    const auto number = static_cast<int32_t>(current->calls_.size());
    current->calls_.push_back({*op, std::vector<c10::IValue>(inputs.begin(), inputs.end()), {}, {}});
    if (current->open_.empty()) {
      current->roots_.push_back(number);
    } else {
      current->calls_[static_cast<size_t>(current->open_.back())].parts.push_back(number);
    }
    current->open_.push_back(number);
    return std::make_unique<Place>(number);
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (current == nullptr || context == nullptr) return;
    RecordedCall& call = current->calls_[static_cast<size_t>(static_cast<Place*>(context)->number)];
    call.results = last(function.outputs(), call.op.schema().returns().size()).vec();
    if (!current->open_.empty()) current->open_.pop_back();
  }
};

Recording::Recording(const std::function<void()>& work) {
  const at::RecordFunctionGuard observed(/*is_enabled=*/true);
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(Listener::begin, Listener::end)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  Recording* const before = std::exchange(current, this);
  const auto end = c10::make_scope_exit([&] {
    current = before;
    at::removeCallback(handle);
  });
  work();
}

void Recording::replace(const at::Tensor& known, const at::Tensor& other) {
  const auto replace_in = [&](std::vector<c10::IValue>& values) {
    for (c10::IValue& value : values) {
      if (value.isTensor()) {
        if (value.toTensor().is_same(known)) value = other;
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> items = value.toTensorList().copy();
        for (size_t i = 0; i < items.size(); ++i)
          if (items.get(i).is_same(known)) items.set(i, other);
        value = std::move(items);
      }
    }
  };
  for (RecordedCall& call : calls_) {
    replace_in(call.arguments);
    replace_in(call.results);
  }
}

}  // namespace torchplug::torchscript
