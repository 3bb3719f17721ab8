#include "aten/fallback/operator_job.h"

#include <algorithm>

#include "aten/fallback/host_result.h"
#include "aten/fallback/job_pool.h"
#include "aten/host/host_scope.h"
#include "base/immortal.h"

namespace torchplug::aten {
namespace {

constexpr c10::DispatchKeySet kCpu{c10::DispatchKey::CPU};

JobPool<OperatorJob>& pool() {
  static auto& jobs = *immortal<JobPool<OperatorJob>>();
  return jobs;
}

}  // namespace

OperatorJob::Pointer OperatorJob::take(const OperatorFacts& facts) {
  Pointer job(pool().take().release());
  job->facts_ = &facts;
  return job;
}

void OperatorJob::release() noexcept {
  arguments_.clear();
  outputs_.clear();
  for (size_t i = 0; i < originals_.size(); ++i) aliases_[i].let_go();
  originals_.clear();
  generator_ = {};
  is_repeated_ = false;
  threads_.take(/*later=*/false);
  pool().give(std::unique_ptr<OperatorJob>(this));
}

const at::Tensor& OperatorJob::alias(const at::Tensor& original) {
  const c10::StorageImpl* storage = original.storage().unsafeGetStorageImpl();
  size_t sibling = originals_.size();
  for (size_t i = 0; i < originals_.size(); ++i) {
    if (originals_[i] == original.unsafeGetTensorImpl()) return aliases_[i].tensor();
    if (originals_[i]->unsafe_storage().unsafeGetStorageImpl() == storage) sibling = i;
  }
  const size_t place = originals_.size();
  originals_.push_back(original.unsafeGetTensorImpl());
  if (place == aliases_.size()) aliases_.emplace_back();
  HostAlias& alias = aliases_[place];
  if (C10_LIKELY(sibling == place)) {
    alias.point_at(original);
  } else {
    alias.point_at(original, aliases_[sibling]);
  }
  return alias.tensor();
}

void OperatorJob::add_output(const at::Tensor& original) {
  outputs_.push_back(original.defined() ? alias(original) : at::Tensor());
}

bool OperatorJob::has_new_outputs() const {
  return std::all_of(outputs_.begin(), outputs_.end(), [](const at::Tensor& t) { return t.defined(); });
}

// A call consumes its arguments: a job that runs again keeps its own.
void OperatorJob::run() {
  threads_.apply();
  if (C10_LIKELY(!is_repeated_)) {
    run(arguments_);
    return;
  }
  generator_.seed_for_run();
  torch::jit::Stack arguments = arguments_;
  run(arguments);
}

void OperatorJob::run(torch::jit::Stack& arguments) {
  const HostScope scope;
  if (facts_->out_form && has_new_outputs()) {
    run_out_form(*facts_->out_form, arguments);
    return;
  }
  facts_->handle.redispatchBoxed(kCpu, &arguments);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].defined()) copy_result(arguments[i].toTensor(), outputs_[i], facts_->name);
  }
}

void OperatorJob::run_out_form(const c10::OperatorHandle& out_form, torch::jit::Stack& arguments) {
  c10::SmallVector<const void*, 4> places;
  for (const at::Tensor& output : outputs_) {
    places.push_back(output.storage().data());
    arguments.emplace_back(output);
  }
  out_form.redispatchBoxed(kCpu, &arguments);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    settle_output(outputs_[i], places[i], facts_->name);
  }
}

}  // namespace torchplug::aten
