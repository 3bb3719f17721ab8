#pragma once
// One operation of the host's process group, done for the tensors of a device.
// Its steps: what it reads comes within the host's reach, the operation starts, the operation ends, what it
// wrote goes back. On a device whose streams run host functions all steps are enqueued and nobody waits;
// elsewhere the thread that takes a step does it. What fails is kept, and thrown at the next synchronisation
// of the device, or by finish_now().
// Shared by its Work and, until it is over, by its ProcessGroup; the jobs on the stream borrow it. Any
// thread.

#include <torch/csrc/distributed/c10d/Work.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/host_tensors.h"
#include "runtime/event.h"

namespace torchplug::distributed {

class Exchange {
 public:
  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

  // `name` is for errors: "all_reduce 12 on rank 0 of 2".
  Exchange(DeviceIndex device, std::string name);

  // Named before begin() runs.
  HostTensors& tensors() { return tensors_; }
  // `begin` makes calls of the host's group and returns what they returned; `end` runs when they are done.
  // Both run on any thread and touch CPU tensors only.
  void set_steps(std::function<Works()> begin, std::function<void()> end);

  bool can_run_in_order() const { return tensors_.can_follow_stream(); }

  // The first half: behind all work so far of the caller's stream and of `lane`; or at once.
  void start_on(const Stream& lane);
  void start_now();
  // The second half, once; another call only makes the stream wait for it.
  void finish_on(const Stream& stream);
  // Waits, and throws what failed.
  void finish_now();

  // Of an exchange whose second half has been enqueued.
  void make_wait(const Stream& stream) const { over_.block(stream); }
  void synchronize() const { over_.synchronize(); }

  // Whether the second half has been enqueued or done.
  bool is_finishing() const { return is_finishing_.load(std::memory_order_acquire); }
  // Whether nothing of it is still to come, not even what nobody waits for.
  bool is_over() const;
  std::exception_ptr failure() const;
  // Of a message from any rank, when it is over.
  int source_rank() const;
  // Ends the wait for the other ranks with an error.
  void abort();

  DeviceIndex device() const { return device_; }
  const std::string& name() const { return name_; }

 private:
  struct Progress;
  class Step;

  void start() noexcept;
  void join();
  void wait_for(c10d::Work& work);
  bool is_joined() const;
  void keep_failure(std::exception_ptr failure);

  const DeviceIndex device_;
  const std::string name_;
  HostTensors tensors_;
  std::function<Works()> begin_;
  std::function<void()> end_;
  Event started_;
  Event over_;
  std::mutex finish_lock_;  // held while the second half is enqueued or done
  std::atomic<bool> is_finishing_{false};
  std::shared_ptr<Progress> progress_;  // the process group's threads may outlive the exchange
};

}  // namespace torchplug::distributed
