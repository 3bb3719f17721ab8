#include "runtime/gate.h"

#include <c10/util/Exception.h>

#include <condition_variable>
#include <mutex>
#include <utility>

namespace torchplug::runtime {

struct Gate::State {
  std::mutex lock;
  std::condition_variable changed;
  bool is_open = false;
  bool is_reached = false;
};

class Gate::Job final : public HostJob {
 public:
  Job(std::shared_ptr<State> state, std::chrono::duration<double> limit)
      : state_(std::move(state)), limit_(limit) {}

  void run() override {
    std::unique_lock lock(state_->lock);
    state_->is_reached = true;
    state_->changed.notify_all();
    const bool opened = state_->changed.wait_for(lock, limit_, [this] { return state_->is_open; });
    state_->is_open = true;
    state_->changed.notify_all();
    TORCH_CHECK(opened, "A gate blocked a stream for ", limit_.count(), " seconds and was not opened.");
  }
  const char* name() const override { return "a gate"; }

 private:
  std::shared_ptr<State> state_;
  std::chrono::duration<double> limit_;
};

Gate::Gate(const Stream& stream, std::chrono::duration<double> limit) : state_(std::make_shared<State>()) {
  TORCH_CHECK(plugin_has<&plug_runtime::host_func>(stream.device()), "A stream of device '",
              device_type_name(), "' cannot be held: its plugin has no host_func.");
  stream.enqueue(HostJobPtr(std::make_unique<Job>(state_, limit).release()));
}

void Gate::open() noexcept {
  const std::lock_guard lock(state_->lock);
  state_->is_open = true;
  state_->changed.notify_all();
}

bool Gate::wait_until_reached() const {
  std::unique_lock lock(state_->lock);
  state_->changed.wait(lock, [this] { return state_->is_reached || state_->is_open; });
  return !state_->is_open;
}

}  // namespace torchplug::runtime
