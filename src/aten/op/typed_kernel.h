#pragma once
// An operator of one of the commonest C++ signatures, called without boxing its arguments. Does what
// OperatorKernel does for calls whose plan is known and simple; boxes every other and hands it over.

#include <ATen/core/boxing/impl/boxing.h>
#include <torch/library.h>

#include <array>
#include <memory>

#include "aten/fallback/typed_job.h"
#include "aten/kernel/host_number.h"
#include "aten/kernel/plug_form.h"
#include "aten/op/operator_kernel.h"
#include "aten/tensor/copy_on_write.h"
#include "memory/address_index.h"
#include "runtime/capture.h"

namespace torchplug::aten {

template <class Signature>
class TypedKernel;

template <class Return, class... Args>
class TypedKernel<Return(Args...)> {
 public:
  explicit TypedKernel(std::unique_ptr<OperatorKernel> general)
      : general_(std::move(general)), target_(find_target(general_->facts())) {
    const OperatorFacts& facts = general_->facts();
    has_rules_ = facts.is_structured || facts.is_pointwise;
    numbers_ = facts.numbers;
  }

  Return run(Args... args) {
    PlanKey key(numbers_);
    (key.add(args), ...);
    const DeviceIndex device = key.device();
    if (C10_UNLIKELY(device < 0)) return run_boxed(key, {}, args...);
    const Stream stream = Stream::current(device);
    if (general_->bound() != nullptr) return run_with_kernel(key, stream, args...);
    // In place, kernels look at what shares memory with what they write.
    if (!general_->borrows_always(device) || general_->may_decompose() || (kInPlace && key.has_sharing()))
      return run_boxed(key, {}, args...);
    if constexpr (kInPlace) own_memory(first(args...));
    const HostPlan* plan = general_->host().peek(key);
    if (C10_LIKELY(plan != nullptr && is_simple(*plan))) {
      return run_borrowed(key, plan->id, make_output(*plan, stream), stream, args...);
    }
    if (plan == nullptr && has_rules_) {
      at::Tensor output = output_by_kind(key, stream, args...);
      if (output.defined()) return run_borrowed(key, /*look=*/0, std::move(output), stream, args...);
    }
    return run_boxed(key, {.host_plan = plan}, args...);
  }

 private:
  static constexpr bool kInPlace = std::is_reference_v<Return>;
  static constexpr bool kHasList = (std::is_same_v<Args, const at::ITensorListRef&> || ...);
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

  static at::Tensor make_output(const HostPlan& plan, const Stream& stream) {
    if constexpr (kInPlace) return {};
    return empty_on(stream, plan.outputs[0].shape);
  }

  // What all operands, and so the output of a pointwise operator, look like; null if they differ.
  const c10::TensorImpl* common_operand(const std::remove_reference_t<Args>&... args) const {
    if (!general_->facts().is_pointwise) return nullptr;
    Operands operands;
    (operands.add(args), ...);
    return operands.common();
  }

  PlanKey kind_of(const std::remove_reference_t<Args>&... args) const {
    PlanKey kind(numbers_, KeyOf::kKind);
    (kind.add(args), ...);
    return kind;
  }

  // The output of a call without a plan, as far as it can be told without running it; undefined if not. In
  // place it is the argument.
  C10_NOINLINE at::Tensor output_by_kind(const PlanKey& key, const Stream& stream, Args... args) {
    const CallKind* kind = general_->host().peek_kind(kind_of(args...));
    if (kind == nullptr) return {};
    const c10::TensorImpl* operand = common_operand(args...);
    const at::ScalarType dtype = kind->dtype_like_operands.load(std::memory_order_relaxed);
    at::Tensor output;
    if (C10_LIKELY(operand != nullptr && dtype != at::ScalarType::Undefined)) {
      if constexpr (kInPlace) {
        output = first(args...);
      } else {
        output = empty_like_on(stream, *operand, dtype);
      }
    } else if (kind->has_shape) {
      const ShapingScope scope;
      output = target_.kernel.redispatch(kShapeKey, args...);
      const bool is_alike =
          operand != nullptr && operand->sizes() == output.sizes() && operand->strides() == output.strides();
      if (is_alike) kind->dtype_like_operands = output.scalar_type();
    }
    if (output.defined()) general_->host().note_unplanned(key, output);
    return output;
  }

  // By the plugin's kernel.
  Return run_with_kernel(const PlanKey& key, const Stream& stream, Args... args) {
    if constexpr (kHasList)
      return run_boxed(key, {}, args...);
    else
      return run_without_boxing(key, stream, args...);
  }

  Return run_without_boxing(const PlanKey& key, const Stream& stream, Args... args) {
    BoundKernel& bound = *general_->bound();
    if (!bound.takes_all()) return run_boxed(key, {}, args...);
    const BoundPlan* plan = bound.peek(key);
    if constexpr (kInPlace) {
      if (plan == nullptr || !plan->is_direct_in_place) return run_boxed(key, {.bound_plan = plan}, args...);
      own_memory(first(args...));
      return run_direct(first(args...), *plan, key, stream, args...);
    } else {
      if (C10_LIKELY(plan != nullptr && plan->is_direct))
        return run_direct(empty_on(stream, plan->outputs[0]), *plan, key, stream, args...);
      if (plan != nullptr) return run_boxed(key, {.bound_plan = plan}, args...);
      return run_unplanned(key, stream, args...);
    }
  }

  C10_NOINLINE Return run_unplanned(const PlanKey& key, const Stream& stream, Args... args) {
    BoundKernel& bound = *general_->bound();
    const c10::TensorImpl* operand = common_operand(args...);
    if (operand == nullptr) return run_boxed(key, {}, args...);
    const BoundKind* kind = bound.peek_kind(kind_of(args...));
    if (kind == nullptr) return run_boxed(key, {}, args...);
    at::Tensor output = empty_like_on(stream, *operand, kind->dtype);
    bound.note_unplanned(key, output, *kind);
    return run_direct(std::move(output), *kind, key, stream, args...);
  }

  Return run_direct(at::Tensor output, const AlikeCalls& alike, const PlanKey& key, const Stream& stream,
                    Args... args) {
    const LedgerTimer timer;
    std::array<ValueRoom, sizeof...(Args)> rooms;
    std::array<NumberRoom, sizeof...(Args)> numbers;
    std::array<plug_value, sizeof...(Args)> arguments;
    size_t place = 0;
    ((arguments[place] = plug_form(args, rooms[place]), ++place), ...);
    if (C10_UNLIKELY(alike.number_dtype != 0)) {
      for (size_t i = 0; i < sizeof...(Args); ++i) {
        if (arguments[i].tag == PLUG_VALUE_TENSOR)
          convert_number(rooms[i].tensor, alike.number_dtype, numbers[i]);
      }
    }
    plug_tensor described;
    plug_value result = plug_form(output, described);
    described.flags |= PLUG_TENSOR_WRITTEN;
    const Reason reason = general_->bound()->run_direct(arguments, {&result, 1}, alike, stream);
    if (C10_UNLIKELY(reason != Reason::kNone)) return run_boxed(key, {.refusal = reason}, args...);
    general_->count(general_->bound()->way(), Reason::kNone, timer);
    return returned(output, args...);
  }

  // `look`: the same number means arguments and output of the same looks; 0: nothing is known.
  Return run_borrowed(const PlanKey& key, uint64_t look, at::Tensor output, const Stream& stream,
                      Args... args) {
    // The memory of the output may be the first that is out of the host's view.
    if (C10_UNLIKELY(!kInPlace && any_block_lacks_host_view())) return run_boxed(key, {}, args...);
    const LedgerTimer timer;
    const bool later = plugin_has<&plug_runtime::host_func>(stream.device()) || is_capturing(stream);
    auto job = Job::take(target_, jobs_);
    job->store(look, later, args...);
    if constexpr (!kInPlace) job->set_output(output);
    if (later) {
      stream.enqueue(HostJobPtr(job.release()));
    } else {
      stream.run_here(*job);
    }
    general_->count(Way::kBorrow, Reason::kNoKernel, timer);
    return returned(output, args...);
  }

  C10_NOINLINE Return run_boxed(const PlanKey& key, const KnownCall& known, Args... args) {
    torch::jit::Stack stack = c10::impl::boxArgs<Args...>(args...);
    general_->run(stack, key, known);
    if constexpr (kInPlace) {
      return first(args...);
    } else {
      return std::move(stack.back()).toTensor();
    }
  }

  static Return returned(at::Tensor& output, Args... args) {
    if constexpr (kInPlace) {
      return first(args...);
    } else {
      return std::move(output);
    }
  }

  template <class First, class... Rest>
  static First& first(First& argument, const Rest&...) {
    return argument;
  }

  std::unique_ptr<OperatorKernel> general_;
  Target target_;
  Numbers numbers_;
  bool has_rules_;  // what is known of a kind of call tells what outputs look like
  typename Job::Pool jobs_;
};

}  // namespace torchplug::aten
