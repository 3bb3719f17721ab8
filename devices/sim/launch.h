#pragma once
// What kernels share: tensors as addresses that a worker can use, work on the stream of a call, and parts of
// it on PyTorch's threads.

#include <cstdint>
#include <memory>
#include <utility>

#include "device.h"
#include "error.h"
#include "profiler.h"
#include "torchplug/plug.hpp"

namespace torchplug::sim {

// PyTorch gives a thread no less than this many elements; here too a second thread pays from there on.
inline constexpr std::int64_t kGrain = 32768;

// The same tensor with the address that this process can use, for plug_util.h: its place has been checked.
plug_tensor usable(const plug_tensor& tensor);

// Whether a kernel can read or write it: strided, without a conjugate or negative bit.
bool is_plain(const plug_tensor& tensor);

// In the order of the call's stream, under `name`, a literal; at once for tensors of the host.
template <class Work>
void launch(const plug::Call& call, const char* name, Work&& work) {
  if (call.device() == PLUG_HOST) return work();
  enqueue(open_device(call.device()).stream(call.stream()), {.kind = PLUG_RECORD_KERNEL, .name = name},
          std::forward<Work>(work));
}

// The same for work that is too large to lie in a queue.
template <class Work>
void launch_kept(const plug::Call& call, const char* name, std::unique_ptr<Work> work) {
  launch(call, name, [work = std::move(work)]() noexcept { (*work)(); });
}

// body(begin, end) for parts of [0, n), on one thread where there is no team.
template <class Body>
void share(std::int64_t n, std::int64_t grain, const Body& body) noexcept {
  if (n <= 0) return;
  const bool has_team = PLUG_HAS(plug::host, team) && plug::host->team != nullptr;
  if (n <= grain || !has_team) return body(std::int64_t{0}, n);
  plug::team(plug::host, n, grain, body);
}

}  // namespace torchplug::sim
