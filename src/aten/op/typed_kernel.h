#pragma once
// An operator of one of the commonest C++ signatures, called without boxing its arguments. Does what
// OperatorKernel does for calls whose plan is known and simple; boxes every other and hands it over.

#include <ATen/core/boxing/impl/boxing.h>
#include <torch/library.h>

#include <array>
#include <memory>

#include "aten/fallback/typed_job.h"
#include "aten/kernel/kernel_arguments.h"
#include "aten/op/operator_kernel.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "base/dtype.h"
#include "memory/block_pool.h"
#include "runtime/capture.h"

namespace torchplug::aten {

template <class Signature>
class TypedKernel;

template <class Return, class... Args>
class TypedKernel<Return(Args...)> {
 public:
  explicit TypedKernel(std::unique_ptr<OperatorKernel> general)
      : general_(std::move(general)), target_(find_target(general_->facts())) {}

  Return run(Args... args) {
    PlanKey key(/*with_scalars=*/false);
    (key.add(args), ...);
    const DeviceIndex device = key.device();
    if (C10_LIKELY(device >= 0)) {
      const Stream stream = Stream::current(device);
      if constexpr (!kInPlace) {
        if (general_->bound() != nullptr) {
          const BoundPlan* plan =
              (is_describable(args) && ...) ? general_->bound()->peek_direct(key) : nullptr;
          return plan != nullptr ? run_bound(*plan, key, stream, args...)
                                 : run_boxed(key, Reason::kNone, args...);
        }
      }
      // In place, kernels look at what shares memory with what they write.
      if (general_->bound() == nullptr && general_->borrows_always(device) &&
          !(kInPlace && key.has_sharing())) {
        if constexpr (kInPlace) own_memory(first(args...));
        const HostPlan* plan = general_->host().peek(key);
        if (C10_LIKELY(plan != nullptr && is_simple(*plan))) {
          return run_borrowed(*plan, key, stream, args...);
        }
      }
    }
    return run_boxed(key, Reason::kNone, args...);
  }

 private:
  static constexpr bool kInPlace = std::is_reference_v<Return>;
  using Target = HostTarget<Return, Args...>;
  using Job = TypedJob<Return, Args...>;

  static Target find_target(const OperatorFacts& facts) {
    Target target{facts.name, facts.handle.template typed<Return(Args...)>(), std::nullopt};
    if constexpr (!kInPlace) {
      if (facts.out_form)
        target.out_form = facts.out_form->template typed<at::Tensor&(Args..., at::Tensor&)>();
    }
    return target;
  }

  // One new tensor; or, in place, the first argument again.
  static bool is_simple(const HostPlan& plan) {
    const HostPlan::Output& output = plan.outputs[0];
    return kInPlace ? output.argument == 0 && !output.is_shaped : output.is_new();
  }

  Return run_bound(const BoundPlan& plan, const PlanKey& key, const Stream& stream, Args... args) {
    const LedgerTimer timer;
    std::array<plug_tensor, sizeof...(Args)> tensors;
    std::array<plug_value, sizeof...(Args)> values;
    size_t place = 0;
    ((values[place] = describe_value(args, tensors[place]), ++place), ...);
    at::Tensor result = general_->bound()->run_direct(plan, stream, values);
    if (C10_UNLIKELY(!result.defined())) return run_boxed(key, Reason::kDeclined, args...);
    general_->count(Way::kKernel, Reason::kNone, timer);
    return result;
  }

  Return run_borrowed(const HostPlan& plan, const PlanKey& key, const Stream& stream, Args... args) {
    const LedgerTimer timer;
    const bool later = plugin_has<&plug_runtime::host_func>(stream.device()) || is_capturing(stream);
    at::Tensor output;
    if constexpr (!kInPlace) {
      output = empty_on(stream, plan.outputs[0].shape);
      // The first of them may be this one.
      if (C10_UNLIKELY(has_hidden_blocks())) return run_boxed(key, Reason::kNone, args...);
    }
    auto job = Job::take(target_, jobs_);
    job->keep(plan.id, later, args...);
    if constexpr (!kInPlace) job->set_output(output);
    if (later) {
      stream.enqueue(HostJobPtr(job.release()));
    } else {
      stream.run_here(*job);
    }
    general_->count(Way::kBorrow, Reason::kNoKernel, timer);
    if constexpr (kInPlace) {
      return first(args...);
    } else {
      return output;
    }
  }

  // `refusal`: why the plugin's kernel does not take the call, if it has been asked.
  Return run_boxed(const PlanKey& key, Reason refusal, Args... args) {
    torch::jit::Stack stack = c10::impl::boxArgs<Args...>(args...);
    general_->run(stack, key, refusal);
    if constexpr (kInPlace) {
      return first(args...);
    } else {
      return std::move(stack.back()).toTensor();
    }
  }

  template <class First, class... Rest>
  static First& first(First& argument, const Rest&...) {
    return argument;
  }

  // A complex number needs room of its own, a large one a tag of its own; the rest fits where it is.
  static bool is_describable(const at::Scalar& number) {
    return !number.isComplex() && number.type() != at::ScalarType::UInt64;
  }
  // Nor does a list of tensors.
  static bool is_describable(const at::ITensorListRef&) { return false; }
  static plug_value describe_value(const at::ITensorListRef&, plug_tensor& /*room*/) { return plug_value{}; }
  template <class T>
  static bool is_describable(const T&) {
    return true;
  }

  static plug_value describe_value(const at::Tensor& tensor, plug_tensor& room) {
    if (!tensor.defined()) return plug_value{};
    room = describe(tensor);
    plug_value value = tagged(PLUG_VALUE_TENSOR);
    value.as.tensors = &room;
    return value;
  }
  static plug_value describe_value(const at::Scalar& number, plug_tensor& /*room*/) {
    if (number.isFloatingPoint()) return tagged_float(number.toDouble());
    if (number.isBoolean()) return tagged_integer(PLUG_VALUE_BOOL, number.toBool() ? 1 : 0);
    return tagged_integer(PLUG_VALUE_INT, number.toLong());
  }
  static plug_value describe_value(int64_t number, plug_tensor& /*room*/) {
    return tagged_integer(PLUG_VALUE_INT, number);
  }
  static plug_value describe_value(bool value, plug_tensor& /*room*/) {
    return tagged_integer(PLUG_VALUE_BOOL, value ? 1 : 0);
  }
  static plug_value describe_value(at::ScalarType type, plug_tensor& /*room*/) {
    plug_value value = tagged(PLUG_VALUE_DTYPE);
    value.as.u = to_plug_dtype(type).value_or(0);
    return value;
  }
  static plug_value describe_value(at::IntArrayRef numbers, plug_tensor& /*room*/) {
    plug_value value{};
    value.tag = PLUG_VALUE_INTS;
    value.count = static_cast<uint32_t>(numbers.size());
    value.as.ints = numbers.data();
    return value;
  }
  static plug_value describe_value(at::OptionalIntArrayRef numbers, plug_tensor& room) {
    return numbers.has_value() ? describe_value(*numbers, room) : plug_value{};
  }
  template <class T>
  static plug_value describe_value(const std::optional<T>& value, plug_tensor& room) {
    return value.has_value() ? describe_value(*value, room) : plug_value{};
  }

  std::unique_ptr<OperatorKernel> general_;
  Target target_;
  typename Job::Pool jobs_;
};

}  // namespace torchplug::aten
