#include "distributed/exchange.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "aten/host/host_scope.h"
#include "base/exception_text.h"
#include "base/torch_compat.h"

namespace torchplug::distributed {
namespace {

constexpr const char* kAborted = "the process group was aborted";

bool is_message(const c10d::Work& work) { return c10d::isP2POp(work.retrieveOpType()); }

}  // namespace

struct Exchange::Progress {
  mutable std::mutex lock;
  std::condition_variable changed;
  Works works;  // those that have started
  size_t ended = 0;
  bool is_started = false;
  bool is_joined = false;
  bool is_aborted = false;
  std::exception_ptr failure;
};

// One step as a job of a stream. The process group keeps the exchange until the stream has passed.
class Exchange::Step final : public HostJob {
 public:
  Step(Exchange& exchange, void (Exchange::*step)()) : exchange_(exchange), step_(step) {}
  void run() override { (exchange_.*step_)(); }
  const char* name() const override { return "a collective"; }

 private:
  Exchange& exchange_;
  void (Exchange::*step_)();
};

Exchange::Exchange(DeviceIndex device, std::string name)
    : device_(device),
      name_(std::move(name)),
      started_(device, /*with_timing=*/false),
      over_(device, /*with_timing=*/false),
      progress_(std::make_shared<Progress>()) {}

void Exchange::set_steps(std::function<Works()> begin, std::function<void()> end) {
  begin_ = std::move(begin);
  end_ = std::move(end);
}

void Exchange::start_on(const Stream& lane) {
  Event ready(device_, /*with_timing=*/false);
  ready.record(Stream::current(device_));
  ready.block(lane);
  tensors_.bring_in(lane);
  lane.enqueue(HostJobPtr(std::make_unique<Step>(*this, &Exchange::start).release()));
  started_.record(lane);
}

void Exchange::start_now() {
  const Stream stream = Stream::current(device_);
  tensors_.bring_in(stream);
  stream.synchronize();
  start();
}

void Exchange::finish_on(const Stream& stream) {
  std::lock_guard lock(finish_lock_);
  if (is_finishing()) {
    make_wait(stream);
    return;
  }
  started_.block(stream);
  stream.enqueue(HostJobPtr(std::make_unique<Step>(*this, &Exchange::join).release()));
  tensors_.bring_back(stream);
  over_.record(stream);
  is_finishing_.store(true, std::memory_order_release);
}

void Exchange::finish_now() {
  std::lock_guard lock(finish_lock_);
  if (const auto failed = failure(); failed && is_joined()) std::rethrow_exception(failed);
  if (is_finishing()) return;
  join();
  const Stream stream = Stream::current(device_);
  tensors_.bring_back(stream);
  over_.record(stream);
  is_finishing_.store(true, std::memory_order_release);
}

// What fails here is thrown where the operation is waited for.
void Exchange::start() noexcept {
  try {
    {
      std::lock_guard lock(progress_->lock);
      TORCH_CHECK(!progress_->is_aborted, kAborted);
    }
    const HostScope scope;
    Works works = [this] {
      const auto guard = compat::lock_flight_recorder();
      return begin_();
    }();
    std::lock_guard lock(progress_->lock);
    progress_->works = std::move(works);
    progress_->is_started = true;
  } catch (...) {
    keep_failure(std::current_exception());
  }
}

void Exchange::join() {
  try {
    if (const auto failed = failure()) std::rethrow_exception(failed);
    // Nobody but abort() looks at them from here on, and it changes nothing.
    for (const auto& work : progress_->works) wait_for(*work);
    const HostScope scope;
    if (end_) end_();
  } catch (...) {
    const std::string text = name_ + " failed: " + text_of(std::current_exception());
    const c10::SourceLocation here{__func__, __FILE__, uint32_t(__LINE__)};
    keep_failure(std::make_exception_ptr(c10::DistBackendError(here, text)));
  }
  std::unique_lock lock(progress_->lock);
  progress_->is_joined = true;
  begin_ = nullptr;
  end_ = nullptr;
  if (progress_->failure != nullptr) std::rethrow_exception(progress_->failure);
}

// A message is waited for by whoever wants it. All else ends on the process group's own threads, which
// tell: so that a wait can be given up.
void Exchange::wait_for(c10d::Work& work) {
  if (is_message(work)) {
    TORCH_CHECK(work.wait(), kAborted);
    return;
  }
  const auto future = work.getFuture();
  const size_t before = [&] {
    std::lock_guard lock(progress_->lock);
    return progress_->ended;
  }();
  future->addCallback(
      [progress = progress_](c10::ivalue::Future&) {
        std::lock_guard lock(progress->lock);
        ++progress->ended;
        progress->changed.notify_all();
      },
      /*uses_future=*/false);
  std::unique_lock lock(progress_->lock);
  progress_->changed.wait(lock, [&] { return progress_->ended > before || progress_->is_aborted; });
  TORCH_CHECK(progress_->ended > before, kAborted);
  if (future->hasError()) std::rethrow_exception(future->exception_ptr());
}

void Exchange::keep_failure(std::exception_ptr failure) {
  std::lock_guard lock(progress_->lock);
  progress_->failure = std::move(failure);
}

bool Exchange::is_joined() const {
  std::lock_guard lock(progress_->lock);
  return progress_->is_joined;
}

bool Exchange::is_over() const {
  if (is_finishing()) return over_.is_ready();
  std::lock_guard lock(progress_->lock);
  if (progress_->is_joined) return true;
  const auto is_complete = [](const auto& work) { return work->isCompleted(); };
  return progress_->is_started && std::all_of(progress_->works.begin(), progress_->works.end(), is_complete);
}

std::exception_ptr Exchange::failure() const {
  std::lock_guard lock(progress_->lock);
  return progress_->failure;
}

int Exchange::source_rank() const {
  std::lock_guard lock(progress_->lock);
  TORCH_CHECK(!progress_->works.empty(), name_, " has no source rank: it did not start.");
  return progress_->works.front()->sourceRank();
}

void Exchange::abort() {
  std::lock_guard lock(progress_->lock);
  if (progress_->is_joined) return;
  progress_->is_aborted = true;
  for (const auto& work : progress_->works) {
    if (is_message(*work)) work->abort();
  }
  progress_->changed.notify_all();
}

}  // namespace torchplug::distributed
