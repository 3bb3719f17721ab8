#pragma once
// What one validate layer knows, for all its parts: what lies below it, the memory and the order of work it
// has seen, and what is asked of every call and of every answer. Any thread may use it.

#include <atomic>
#include <mutex>
#include <set>

#include "plugin/layers/validate_engines.h"
#include "plugin/layers/validate_kernel_states.h"
#include "plugin/layers/validate_memory.h"
#include "plugin/layers/validate_order.h"
#include "plugin/runtime.h"

namespace torchplug::plugin::validation {

class State {
 public:
  State(const Runtime& runtime, const plug_host& given) : below(runtime), host(given), memory(below, order) {}

  const Runtime below;
  const plug_host& host;
  Order order;
  Memory memory;
  KernelStates kernel_states{order};
  Engines engines{order};

  // From now on every call is one too many.
  void end() { is_over_ = true; }

  // Neither after the end, nor on a stream's own thread.
  void check_moment(const char* function) const;
  // A device that there is; one that is open.
  void check_index(const char* function, int32_t device);
  void check_device(const char* function, int32_t device);
  void note_open(int32_t device);

  // A status that there is, and words for an error. Gives the status back.
  plug_status check_status(const char* function, plug_status status, bool is_query) const;

 private:
  std::atomic<bool> is_over_{false};
  std::mutex devices_lock_;  // guards what follows
  int32_t device_count_ = -1;
  std::set<int32_t> open_;
};

}  // namespace torchplug::plugin::validation
