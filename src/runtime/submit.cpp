#include "runtime/submit.h"

#include <string>

namespace torchplug::runtime {
namespace {

Work::Kind kind_of(plugin::ReplayedWork::Kind kind) {
  using Kind = plugin::ReplayedWork::Kind;
  switch (kind) {
    case Kind::kCopy: return Work::Kind::kCopy;
    case Kind::kFill: return Work::Kind::kFill;
    case Kind::kHostFunction: return Work::Kind::kHost;
    case Kind::kWait: return Work::Kind::kWait;
  }
  return Work::Kind::kWait;
}

const char* function_of(Work::Kind kind) {
  switch (kind) {
    case Work::Kind::kCopy: return "copy";
    case Work::Kind::kFill: return "mem_fill";
    case Work::Kind::kHost: return "host_func";
    default: return "event_wait";
  }
}

}  // namespace

constinit std::atomic<WorkListener*> detail::work_listener{nullptr};

void listen_to_work(WorkListener* listener) noexcept { detail::work_listener = listener; }

void detail::note_in_capture(const Work& work) {
  const auto capture = capture_of(work.stream);
  if (capture == nullptr) return;
  std::string note = work.title();
  if (work.bytes != 0) note += " of " + std::to_string(work.bytes) + " bytes";
  capture->note(note);
}

plug_status observe_replayed(const plugin::ReplayedWork& replayed, const std::function<plug_status()>& give) {
  if (C10_LIKELY(detail::work_listener.load(std::memory_order_acquire) == nullptr)) return give();
  const Stream stream = Stream::of_handle(visible_index(replayed.device), replayed.stream);
  Work work{.kind = kind_of(replayed.kind),
            .stream = stream,
            .function = function_of(kind_of(replayed.kind)),
            .bytes = replayed.bytes,
            .to = replayed.to,
            .from = replayed.from};
  if (replayed.host_argument != nullptr) {
    work.name = static_cast<const HostJob*>(replayed.host_argument)->name();
  }
  return observe(work, give);
}

}  // namespace torchplug::runtime
