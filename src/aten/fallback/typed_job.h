#pragma once
// OperatorJob for one C++ signature: the arguments are kept, and handed to the CPU's kernel, unboxed.

#include <ATen/Parallel.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/clone.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "aten/fallback/host_result.h"
#include "aten/fallback/job_pool.h"
#include "aten/host/host_alias.h"
#include "aten/host/host_scope.h"
#include "aten/tensor/arguments.h"
#include "runtime/stream.h"

namespace torchplug::aten {

// How a job keeps an argument of type T. `later`: what it borrows from may have changed by then. `again`: it
// looks like the one that was kept before. let_go() is false where it will have to be looked at anew.
template <class T>
struct Kept {
  std::decay_t<T> value{};

  void keep(const std::decay_t<T>& given, bool /*later*/, bool /*again*/) { value = given; }
  const std::decay_t<T>& use() const { return value; }
  static bool let_go() { return true; }
};

template <>
struct Kept<const at::Tensor&> {
  HostAlias alias;
  at::Tensor host;
  bool is_alias = false;

  void keep(const at::Tensor& given, bool later, bool again) {
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
  const at::Tensor& use() const { return is_alias ? alias.tensor() : host; }
  bool let_go() {
    if (C10_LIKELY(is_alias)) return alias.let_go();
    host.reset();
    return true;
  }
};

template <>
struct Kept<at::Tensor&> {
  HostAlias alias;

  // Its looks are its own to change: never taken for granted.
  void keep(const at::Tensor& given, bool /*later*/, bool /*again*/) { alias.point_at(given); }
  at::Tensor& use() { return alias.tensor(); }
  bool let_go() { return alias.let_go(); }
};

template <>
struct Kept<at::IntArrayRef> {
  c10::SmallVector<int64_t, 6> numbers;

  void keep(at::IntArrayRef given, bool /*later*/, bool /*again*/) {
    numbers.assign(given.begin(), given.end());
  }
  at::IntArrayRef use() const { return numbers; }
  static bool let_go() { return true; }
};

template <>
struct Kept<at::OptionalIntArrayRef> {
  Kept<at::IntArrayRef> kept;
  bool is_there = false;

  void keep(at::OptionalIntArrayRef given, bool later, bool again) {
    is_there = given.has_value();
    if (is_there) kept.keep(*given, later, again);
  }
  at::OptionalIntArrayRef use() const {
    return is_there ? at::OptionalIntArrayRef(kept.use()) : at::OptionalIntArrayRef();
  }
  static bool let_go() { return true; }
};

template <>
struct Kept<const at::ITensorListRef&> {
  std::vector<Kept<const at::Tensor&>> kept;
  std::vector<at::Tensor> tensors;

  void keep(const at::ITensorListRef& given, bool later, bool again) {
    const bool as_many = again && kept.size() == given.size();
    kept.resize(given.size());
    size_t place = 0;
    for (const at::Tensor& tensor : given) {
      kept[place].keep(tensor, later, as_many);
      tensors.push_back(kept[place++].use());
    }
  }
  at::ITensorListRef use() const { return tensors; }
  bool let_go() {
    tensors.clear();
    bool stayed = true;
    for (auto& one : kept) stayed = one.let_go() && stayed;
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

  // `look`: the same number means arguments and output of the same looks.
  void keep(uint64_t look, bool later, const std::remove_reference_t<Args>&... args) {
    again_ = std::exchange(look_, 0) == look;
    next_look_ = look;
    std::apply([&](auto&... kept) { (kept.keep(args, later, again_), ...); }, arguments_);
    thread_count_ = later ? at::get_num_threads() : 0;
  }
  void set_output(const at::Tensor& output) {
    if (again_) {
      output_.move_to(output);
    } else {
      output_.point_at(output);
    }
  }

  void run() override {
    if (thread_count_ != 0 && at::get_num_threads() != thread_count_) at::set_num_threads(thread_count_);
    const HostScope scope;
    std::apply([&](auto&... kept) { call(kept.use()...); }, arguments_);
    look_ = next_look_;
  }

  const char* name() const override { return target_->name.c_str(); }

  void release() noexcept override {
    bool stayed = output_.let_go();
    std::apply([&](auto&... kept) { ((stayed = kept.let_go() && stayed), ...); }, arguments_);
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
  std::tuple<Kept<Args>...> arguments_;
  HostAlias output_;
  uint64_t look_ = 0;       // of what is kept; 0 while that is not certain
  uint64_t next_look_ = 0;  // what it is once the call has succeeded
  bool again_ = false;
  int thread_count_ = 0;
};

}  // namespace torchplug::aten
