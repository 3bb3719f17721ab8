#pragma once
// OperatorJob for one C++ signature: the arguments are stored, and handed to the CPU's kernel, unboxed.

#include <ATen/core/IListRef.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/clone.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/fallback/caller_threads.h"
#include "aten/fallback/host_result.h"
#include "aten/fallback/job_pool.h"
#include "aten/host/host_alias.h"
#include "aten/host/host_scope.h"
#include "aten/tensor/arguments.h"
#include "runtime/stream.h"

namespace torchplug::aten {

// An argument of type T as a job stores it. `later`: what it borrows from may have changed by the time it is
// used. `again`: it looks like the one that was stored before. release() is false where it will have to be
// looked at anew.
template <class T>
struct StoredArgument {
  std::decay_t<T> value{};

  void store(const std::decay_t<T>& given, bool /*later*/, bool /*again*/) { value = given; }
  const std::decay_t<T>& get() const { return value; }
  static bool release() { return true; }
};

template <>
struct StoredArgument<const at::Tensor&> {
  HostAlias alias;
  at::Tensor host;
  bool is_alias = false;

  void store(const at::Tensor& given, bool later, bool again) {
    if (C10_LIKELY(again && is_alias)) {
      alias.move_to(given);
      return;
    }
    is_alias = is_on_device(given);
    if (is_alias) {
      alias.point_at(given);
    } else {
      const bool may_change = later && given.defined() && !given.unsafeGetTensorImpl()->is_wrapped_number();
      host = may_change ? at::clone(given) : given;
    }
  }
  const at::Tensor& get() const { return is_alias ? alias.tensor() : host; }
  bool release() {
    if (C10_LIKELY(is_alias)) return alias.let_go();
    host.reset();
    return true;
  }
};

template <>
struct StoredArgument<at::Tensor&> {
  HostAlias alias;

  // Its looks are its own to change: never taken for granted.
  void store(const at::Tensor& given, bool /*later*/, bool /*again*/) { alias.point_at(given); }
  at::Tensor& get() { return alias.tensor(); }
  bool release() { return alias.let_go(); }
};

template <>
struct StoredArgument<at::IntArrayRef> {
  c10::SmallVector<int64_t, 6> numbers;

  void store(at::IntArrayRef given, bool /*later*/, bool /*again*/) {
    numbers.assign(given.begin(), given.end());
  }
  at::IntArrayRef get() const { return numbers; }
  static bool release() { return true; }
};

template <>
struct StoredArgument<at::OptionalIntArrayRef> {
  StoredArgument<at::IntArrayRef> stored;
  bool is_there = false;

  void store(at::OptionalIntArrayRef given, bool later, bool again) {
    is_there = given.has_value();
    if (is_there) stored.store(*given, later, again);
  }
  at::OptionalIntArrayRef get() const {
    return is_there ? at::OptionalIntArrayRef(stored.get()) : at::OptionalIntArrayRef();
  }
  static bool release() { return true; }
};

template <>
struct StoredArgument<const at::ITensorListRef&> {
  std::vector<StoredArgument<const at::Tensor&>> stored;
  std::vector<at::Tensor> tensors;

  void store(const at::ITensorListRef& given, bool later, bool again) {
    const bool as_many = again && stored.size() == given.size();
    stored.resize(given.size());
    size_t place = 0;
    for (const at::Tensor& tensor : given) {
      stored[place].store(tensor, later, as_many);
      tensors.push_back(stored[place++].get());
    }
  }
  at::ITensorListRef get() const { return tensors; }
  bool release() {
    tensors.clear();
    bool stayed = true;
    for (auto& one : stored) stayed = one.release() && stayed;
    return stayed;
  }
};

// What a call of one operator ends in: the CPU's kernel, and its out form if it has one to be trusted.
template <class Return, class... Args>
struct HostTarget {
  const std::string& name;
  c10::TypedOperatorHandle<Return(Args...)> kernel;
  std::optional<c10::TypedOperatorHandle<at::Tensor&(Args..., at::Tensor&)>> out_form;
};

template <class Return, class... Args>
class TypedJob final : public HostJob {
 public:
  using Pointer = std::unique_ptr<TypedJob, ReleaseJob>;

  using Pool = JobPool<TypedJob>;

  static Pointer take(const HostTarget<Return, Args...>& target, Pool& pool) {
    Pointer job(pool.take().release());
    job->target_ = &target;
    job->pool_ = &pool;
    return job;
  }

  // `look`: the same number means arguments and output of the same looks; 0: nothing is known.
  void store(uint64_t look, bool later, const std::remove_reference_t<Args>&... args) {
    again_ = std::exchange(look_, 0) == look && look != 0;
    next_look_ = look;
    std::apply([&](auto&... stored) { (stored.store(args, later, again_), ...); }, arguments_);
    threads_.take(later);
  }
  void set_output(const at::Tensor& output) {
    if (again_) {
      output_.move_to(output);
    } else {
      output_.point_at(output);
    }
  }

  void run() override {
    threads_.apply();
    const HostScope scope;
    std::apply([&](auto&... stored) { call(stored.get()...); }, arguments_);
    look_ = next_look_;
  }

  const char* name() const override { return target_->name.c_str(); }

  void release() noexcept override {
    bool stayed = output_.let_go();
    std::apply([&](auto&... stored) { ((stayed = stored.release() && stayed), ...); }, arguments_);
    if (!stayed) look_ = 0;
    pool_->give(std::unique_ptr<TypedJob>(this));
  }

 private:
  static constexpr c10::DispatchKeySet kCpu{c10::DispatchKey::CPU};

  template <class... Used>
  void call(Used&&... used) {
    if constexpr (std::is_reference_v<Return>) {
      target_->kernel.redispatch(kCpu, std::forward<Used>(used)...);
    } else if (target_->out_form) {
      at::Tensor& output = output_.tensor();
      const void* place = output.storage().data();
      target_->out_form->redispatch(kCpu, std::forward<Used>(used)..., output);
      settle_output(output, place, target_->name);
    } else {
      copy_result(target_->kernel.redispatch(kCpu, std::forward<Used>(used)...), output_.tensor(),
                  target_->name);
    }
  }

  const HostTarget<Return, Args...>* target_ = nullptr;
  Pool* pool_ = nullptr;
  std::tuple<StoredArgument<Args>...> arguments_;
  HostAlias output_;
  uint64_t look_ = 0;       // of what is stored; 0 while that is not certain
  uint64_t next_look_ = 0;  // what it is once the call has succeeded
  bool again_ = false;
  CallerThreads threads_;
};

}  // namespace torchplug::aten
