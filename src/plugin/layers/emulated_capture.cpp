#include "plugin/layers/emulated_capture.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/immortal.h"
#include "plugin/layer.h"

namespace torchplug::plugin {
namespace emulated {

using R = plug_runtime;

// What commands are carried out with.
struct Below {
  const Runtime runtime;
  const plug_host& host;
  const ReplayWatcher watch;

  plug_status fail(const std::string& sentence) const {
    host.set_error(&host, sentence.c_str());
    return PLUG_INVALID;
  }
};

struct Place {
  int32_t device;
  plug_stream stream;
  bool operator==(const Place&) const = default;
};

// One thing on the list. `place` is the stream it was given to, or what stands for that in a replay.
class Command {
 public:
  virtual ~Command() = default;
  virtual plug_status run(const Below& below, const Place& place) = 0;
};

// Host memory that is not pinned was good at the capture only: its bytes are kept. A plugin without
// host_alloc is never told that memory is pinned.
class Copy final : public Command {
 public:
  Copy(const Below& below, const plug_mem& dst, const plug_mem& src, uint64_t bytes)
      : dst_(dst), src_(src), bytes_(bytes) {
    if (src.device == PLUG_HOST && (src.flags & PLUG_MEM_PINNED) == 0) {
      kept_.resize(bytes);
      std::memcpy(kept_.data(), static_cast<const char*>(src.base) + src.offset, bytes);
      src_ = {kept_.data(), 0, PLUG_HOST, 0};
    }
    for (plug_mem* memory : {&dst_, &src_}) {
      if (memory->device == PLUG_HOST && !below.runtime.has<&R::host_alloc>()) {
        memory->flags &= ~PLUG_MEM_PINNED;
      }
    }
  }
  plug_status run(const Below& below, const Place& place) override {
    const ReplayedWork work{.kind = ReplayedWork::Kind::kCopy,
                            .device = place.device,
                            .stream = place.stream,
                            .bytes = bytes_,
                            .to = &dst_,
                            .from = &src_};
    return below.watch(
        work, [&] { return below.runtime.call<&R::copy>(place.device, place.stream, &dst_, &src_, bytes_); });
  }

 private:
  plug_mem dst_;
  plug_mem src_;
  uint64_t bytes_;
  std::vector<char> kept_;
};

class Fill final : public Command {
 public:
  Fill(const plug_mem& dst, uint8_t byte, uint64_t bytes) : dst_(dst), byte_(byte), bytes_(bytes) {}
  plug_status run(const Below& below, const Place& place) override {
    const ReplayedWork work{.kind = ReplayedWork::Kind::kFill,
                            .device = place.device,
                            .stream = place.stream,
                            .bytes = bytes_,
                            .to = &dst_};
    return below.watch(work, [&] {
      return below.runtime.call<&R::mem_fill>(place.device, place.stream, &dst_, byte_, bytes_);
    });
  }

 private:
  plug_mem dst_;
  uint8_t byte_;
  uint64_t bytes_;
};

class StridedCopy final : public Command {
 public:
  StridedCopy(const plug_tensor& dst, const plug_tensor& src) : dst_(dst), src_(src) {
    const auto keep = [](plug_tensor& tensor, std::vector<int64_t>& numbers) {
      numbers.assign(tensor.sizes, tensor.sizes + tensor.ndim);
      numbers.insert(numbers.end(), tensor.strides, tensor.strides + tensor.ndim);
      tensor.sizes = numbers.data();
      tensor.strides = numbers.data() + tensor.ndim;
    };
    keep(dst_, dst_numbers_);
    keep(src_, src_numbers_);
  }
  plug_status run(const Below& below, const Place& place) override {
    const ReplayedWork work{.kind = ReplayedWork::Kind::kCopy,
                            .device = place.device,
                            .stream = place.stream,
                            .to = &dst_.mem,
                            .from = &src_.mem};
    const plug_status status = below.watch(
        work, [&] { return below.runtime.call<&R::copy_strided>(place.device, place.stream, &dst_, &src_); });
    return status == PLUG_UNSUPPORTED
               ? below.fail("copy_strided declined in a replay what it accepted during the capture")
               : status;
  }

 private:
  plug_tensor dst_;
  plug_tensor src_;
  std::vector<int64_t> dst_numbers_;
  std::vector<int64_t> src_numbers_;
};

class HostFunction final : public Command {
 public:
  // `in_order`: by host_func; else by the thread that replays.
  HostFunction(void (*fn)(void*, plug_status), void (*release)(void*), void* arg, bool in_order)
      : fn_(fn), release_(release), arg_(arg), in_order_(in_order) {}
  ~HostFunction() override { release_(arg_); }
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  plug_status run(const Below& below, const Place& place) override {
    const ReplayedWork work{.kind = ReplayedWork::Kind::kHostFunction,
                            .device = place.device,
                            .stream = place.stream,
                            .host_argument = arg_};
    return below.watch(work, [&] { return give(below.runtime, place); });
  }

 private:
  plug_status give(const Runtime& runtime, const Place& place) {
    if (in_order_) {
      return runtime.call<&R::host_func>(place.device, place.stream, fn_, [](void*) {}, arg_);
    }
    if (runtime.has<&R::stream_sync>()) {
      const plug_status status = runtime.call<&R::stream_sync>(place.device, place.stream);
      if (status != PLUG_OK) return status;
    }
    fn_(arg_, PLUG_OK);
    return PLUG_OK;
  }

  void (*fn_)(void*, plug_status);
  void (*release_)(void*);
  void* arg_;
  bool in_order_;
};

// An event of the list's own: the caller's may be recorded anew or destroyed.
class Mark final : public Command {
 public:
  Mark(const Below& below, int32_t device, plug_event event)
      : below_(below), device_(device), event_(event) {}
  ~Mark() override { below_.runtime.call<&R::event_destroy>(device_, event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  plug_status run(const Below& below, const Place& place) override {
    return below.runtime.call<&R::event_record>(device_, event_, place.stream);
  }
  plug_status make_wait(const Place& place) const {
    return below_.runtime.call<&R::event_wait>(device_, event_, place.device, place.stream);
  }

 private:
  const Below& below_;
  int32_t device_;
  plug_event event_;
};

class Wait final : public Command {
 public:
  explicit Wait(const Mark& mark) : mark_(mark) {}
  plug_status run(const Below& below, const Place& place) override {
    const ReplayedWork work{
        .kind = ReplayedWork::Kind::kWait, .device = place.device, .stream = place.stream};
    return below.watch(work, [&] { return mark_.make_wait(place); });
  }

 private:
  const Mark& mark_;  // earlier on the same list
};

class Upper final : public Command {
 public:
  explicit Upper(std::unique_ptr<RecordedCommand> command) : command_(std::move(command)) {}
  plug_status run(const Below& /*below*/, const Place& place) override { return command_->run(place.stream); }

 private:
  std::unique_ptr<RecordedCommand> command_;
};

// The list. The first stream is the one that began it; others came by waiting for its events.
class Recording {
 public:
  Recording(const Below& below, const Place& origin, int32_t mode) : below_(below), mode_(mode) {
    streams_.push_back({origin});
  }

  size_t stream_of(const Place& place) {
    const auto same = [&](const TakingPart& one) { return one.place == place; };
    const auto found = std::find_if(streams_.begin(), streams_.end(), same);
    if (found != streams_.end()) return static_cast<size_t>(found - streams_.begin());
    streams_.push_back({place});
    return streams_.size() - 1;
  }
  const Place& origin() const { return streams_.front().place; }
  bool has(const Place& place) const {
    return std::any_of(streams_.begin(), streams_.end(), [&](const auto& one) { return one.place == place; });
  }

  // `is_work`: another stream has to wait for it, as it need not for a wait or a mark.
  void add(const Place& place, std::unique_ptr<Command> command, bool is_work) {
    const size_t stream = stream_of(place);
    commands_.push_back({stream, std::move(command)});
    ++streams_[stream].given;
    if (is_work) streams_[stream].work = streams_[stream].given;
  }

  // By stream: how many of its commands are known to have been carried out.
  using Clock = std::vector<size_t>;
  Clock now(const Place& place) {
    const size_t stream = stream_of(place);
    Clock clock = streams_[stream].known;
    clock.resize(streams_.size());
    clock[stream] = streams_[stream].given;
    return clock;
  }
  void learn(const Place& place, const Clock& clock) {
    Clock& known = streams_[stream_of(place)].known;
    known.resize(std::max(known.size(), clock.size()));
    for (size_t i = 0; i < clock.size(); ++i) known[i] = std::max(known[i], clock[i]);
  }
  // Empty if it can be replayed.
  std::string why_unusable() {
    if (!spoilt_.empty()) return "the capture was invalidated: " + spoilt_;
    if (has_joined_all()) return "";
    return "the capture ended before its stream had waited for the work of one that had joined it; "
           "record an event there and wait for it";
  }

  plug_status refuse(const std::string& what) {
    const std::string sentence = what + " is not allowed while a stream is capturing";
    if (spoilt_.empty()) spoilt_ = sentence;
    return below_.fail(sentence);
  }
  bool forbids_wait_for(int32_t device) const {
    const bool concerned = std::any_of(streams_.begin(), streams_.end(),
                                       [&](const auto& one) { return one.place.device == device; });
    return concerned && (mode_ == PLUG_CAPTURE_GLOBAL ||
                         (mode_ == PLUG_CAPTURE_THREAD && thread_ == std::this_thread::get_id()));
  }

  plug_status replay(plug_stream stream) {
    std::lock_guard guard(replay_lock_);
    const Place here{origin().device, stream};
    for (const Entry& entry : commands_) {
      const Place& place = entry.stream == 0 ? here : streams_[entry.stream].place;
      if (const plug_status status = entry.command->run(below_, place); status != PLUG_OK) return status;
    }
    return PLUG_OK;
  }

 private:
  bool has_joined_all() {
    const Clock known = now(origin());
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (known[i] < streams_[i].work) return false;
    }
    return true;
  }

  struct TakingPart {
    Place place;
    size_t given = 0;  // commands
    size_t work = 0;   // of them, up to the last that is work
    Clock known{};
  };
  struct Entry {
    size_t stream;
    std::unique_ptr<Command> command;
  };

  const Below& below_;
  const int32_t mode_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<TakingPart> streams_;
  std::vector<Entry> commands_;
  std::string spoilt_;
  std::mutex replay_lock_;
};

// An event that was recorded in a capture.
struct Recorded {
  Recording* recording;
  const Mark* mark;
  Recording::Clock clock;
};

bool is_pageable(const plug_mem& memory) {
  return memory.device == PLUG_HOST && (memory.flags & PLUG_MEM_PINNED) == 0;
}

plug_capture handle_of(std::unique_ptr<Recording> recording) {
  return reinterpret_cast<plug_capture>(recording.release());
}
Recording* recording_at(plug_capture capture) { return reinterpret_cast<Recording*>(capture); }

}  // namespace emulated

using namespace emulated;

class EmulatedCapture {
 public:
  explicit EmulatedCapture(const Module& module, ReplayWatcher watch)
      : below_{module.runtime, module.host, watch} {}

  // What is no part of it.
  template <auto Function, class... Args>
  plug_status call(Member<Function> /*function*/, Args... args) {
    return below_.runtime.call<Function>(args...);
  }

  plug_status call(Member<&R::copy> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   const plug_mem* src, uint64_t bytes) {
    const auto recorded = record({device, stream}, [&] {
      return is_pageable(*dst) ? nullptr : std::make_unique<Copy>(below_, *dst, *src, bytes);
    });
    return recorded ? *recorded : below_.runtime.call<&R::copy>(device, stream, dst, src, bytes);
  }

  plug_status call(Member<&R::mem_fill> /*function*/, int32_t device, plug_stream stream, const plug_mem* dst,
                   uint8_t byte, uint64_t bytes) {
    const auto recorded = record({device, stream}, [&] { return std::make_unique<Fill>(*dst, byte, bytes); });
    return recorded ? *recorded : below_.runtime.call<&R::mem_fill>(device, stream, dst, byte, bytes);
  }

  plug_status call(Member<&R::copy_strided> /*function*/, int32_t device, plug_stream stream,
                   const plug_tensor* dst, const plug_tensor* src) {
    const auto recorded = record({device, stream}, [&] { return std::make_unique<StridedCopy>(*dst, *src); });
    return recorded ? *recorded : below_.runtime.call<&R::copy_strided>(device, stream, dst, src);
  }

  plug_status call(Member<&R::host_func> /*function*/, int32_t device, plug_stream stream,
                   void (*fn)(void*, plug_status), void (*release)(void*), void* arg) {
    const auto recorded = record_host_func({device, stream}, fn, release, arg, /*in_order=*/true);
    return recorded ? *recorded : below_.runtime.call<&R::host_func>(device, stream, fn, release, arg);
  }

  plug_status call(Member<&R::event_record> /*function*/, int32_t device, plug_event event,
                   plug_stream stream) {
    if (!nobody_captures()) {
      std::lock_guard guard(lock_);
      events_.erase(event);
      if (Recording* recording = find({device, stream}))
        return record_event(*recording, device, event, stream);
    }
    return below_.runtime.call<&R::event_record>(device, event, stream);
  }

  plug_status call(Member<&R::event_wait> /*function*/, int32_t event_device, plug_event event,
                   int32_t device, plug_stream stream) {
    if (!nobody_captures()) {
      std::lock_guard guard(lock_);
      if (const auto recorded = record_wait(event, {device, stream})) return *recorded;
    }
    return below_.runtime.call<&R::event_wait>(event_device, event, device, stream);
  }

  plug_status call(Member<&R::event_query> /*function*/, int32_t device, plug_event event) {
    const auto refused = refuse("querying an event that it recorded", [&] { return recording_of(event); });
    return refused ? *refused : below_.runtime.call<&R::event_query>(device, event);
  }

  plug_status call(Member<&R::event_sync> /*function*/, int32_t device, plug_event event) {
    const auto refused = refuse("waiting for an event that it recorded", [&] { return recording_of(event); });
    return refused ? *refused : below_.runtime.call<&R::event_sync>(device, event);
  }

  plug_status call(Member<&R::event_destroy> /*function*/, int32_t device, plug_event event) {
    if (!nobody_captures()) {
      std::lock_guard guard(lock_);
      events_.erase(event);
    }
    return below_.runtime.call<&R::event_destroy>(device, event);
  }

  plug_status call(Member<&R::stream_query> /*function*/, int32_t device, plug_stream stream) {
    const auto refused = refuse("querying its stream", [&] { return find({device, stream}); });
    return refused ? *refused : below_.runtime.call<&R::stream_query>(device, stream);
  }

  plug_status call(Member<&R::stream_sync> /*function*/, int32_t device, plug_stream stream) {
    const auto refused = refuse("waiting for its stream", [&] { return find({device, stream}); });
    return refused ? *refused : below_.runtime.call<&R::stream_sync>(device, stream);
  }

  plug_status call(Member<&R::stream_destroy> /*function*/, int32_t device, plug_stream stream) {
    const auto refused = refuse("destroying its stream", [&] { return find({device, stream}); });
    return refused ? *refused : below_.runtime.call<&R::stream_destroy>(device, stream);
  }

  plug_status call(Member<&R::device_sync> /*function*/, int32_t device) {
    const auto refused = refuse("waiting for the device", [&]() -> Recording* {
      for (const auto& recording : recordings_) {
        if (recording->forbids_wait_for(device)) return recording.get();
      }
      return nullptr;
    });
    return refused ? *refused : below_.runtime.call<&R::device_sync>(device);
  }

  plug_status call(Member<&R::capture_begin> /*function*/, int32_t device, plug_stream stream, int32_t mode) {
    if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) return PLUG_UNSUPPORTED;
    std::lock_guard guard(lock_);
    if (find({device, stream}) != nullptr) return below_.fail("the stream is already capturing");
    recordings_.push_back(std::make_unique<Recording>(below_, Place{device, stream}, mode));
    ++capturing_;
    return PLUG_OK;
  }

  plug_status call(Member<&R::capture_end> /*function*/, int32_t device, plug_stream stream,
                   plug_capture* capture) {
    std::unique_ptr<Recording> ended = take({device, stream});
    if (ended == nullptr) return below_.fail("no capture was begun on the stream");
    const std::string wrong = ended->why_unusable();
    if (!wrong.empty()) {
      ended = nullptr;  // destroys its events: calls that must not come after set_error
      return below_.fail(wrong);
    }
    *capture = handle_of(std::move(ended));
    return PLUG_OK;
  }

  plug_status call(Member<&R::capture_replay> /*function*/, int32_t device, plug_capture capture,
                   plug_stream stream) {
    const auto refused = refuse("replaying a capture", [&] { return find({device, stream}); });
    return refused ? *refused : recording_at(capture)->replay(stream);
  }

  plug_status call(Member<&R::capture_destroy> /*function*/, int32_t /*device*/, plug_capture capture) {
    const std::unique_ptr<Recording> owned(recording_at(capture));
    return PLUG_OK;
  }

  // Puts what make() gives on the list of the stream if it captures. Nothing if it does not.
  template <class Make>
  std::optional<plug_status> record(const Place& place, Make make) {
    if (nobody_captures()) return std::nullopt;
    std::lock_guard guard(lock_);
    Recording* recording = find(place);
    if (recording == nullptr) return std::nullopt;
    std::unique_ptr<Command> command = make();
    if (command == nullptr) return recording->refuse("using host memory that is not pinned");
    recording->add(place, std::move(command), /*is_work=*/true);
    return PLUG_OK;
  }

  std::optional<plug_status> record_host_func(const Place& place, void (*fn)(void*, plug_status),
                                              void (*release)(void*), void* arg, bool in_order) {
    return record(place, [&] { return std::make_unique<HostFunction>(fn, release, arg, in_order); });
  }

  plug_status fail_without_capture() const { return below_.fail("the stream is not capturing"); }

 private:
  bool nobody_captures() const { return capturing_.load(std::memory_order_relaxed) == 0; }

  // The answer for a call that must not concern a stream or an event that captures; nothing if it does not.
  template <class Find>
  std::optional<plug_status> refuse(const char* what, Find find_recording) {
    if (nobody_captures()) return std::nullopt;
    std::lock_guard guard(lock_);
    Recording* recording = find_recording();
    return recording == nullptr ? std::nullopt : std::optional(recording->refuse(what));
  }

  // With lock_ held:
  Recording* find(const Place& place) const {
    const auto has = [&](const auto& recording) { return recording->has(place); };
    const auto found = std::find_if(recordings_.begin(), recordings_.end(), has);
    return found == recordings_.end() ? nullptr : found->get();
  }

  Recording* recording_of(plug_event event) const {
    const auto found = events_.find(event);
    return found == events_.end() ? nullptr : found->second.recording;
  }

  plug_status record_event(Recording& recording, int32_t device, plug_event event, plug_stream stream) {
    plug_event own = nullptr;
    const plug_status status = below_.runtime.call<&R::event_create>(device, 0, &own);
    if (status != PLUG_OK) return status;
    auto mark = std::make_unique<Mark>(below_, device, own);
    const Mark* made = mark.get();
    const Place place{device, stream};
    recording.add(place, std::move(mark), /*is_work=*/false);
    events_.emplace(event, Recorded{&recording, made, recording.now(place)});
    return PLUG_OK;
  }

  // Nothing if neither the event nor the stream is part of a capture.
  std::optional<plug_status> record_wait(plug_event event, const Place& place) {
    Recording* waiting = find(place);
    const auto found = events_.find(event);
    if (found == events_.end()) {
      if (waiting == nullptr) return std::nullopt;
      return waiting->refuse("waiting for an event that was recorded outside of the capture");
    }
    const Recorded& recorded = found->second;
    if (waiting != nullptr && waiting != recorded.recording) {
      return waiting->refuse("waiting for an event of another capture");
    }
    recorded.recording->add(place, std::make_unique<Wait>(*recorded.mark), /*is_work=*/false);
    recorded.recording->learn(place, recorded.clock);
    return PLUG_OK;
  }

  // The recording that began on the stream, which has ended then; or nothing.
  std::unique_ptr<Recording> take(const Place& origin) {
    std::lock_guard guard(lock_);
    const auto began = [&](const auto& recording) { return recording->origin() == origin; };
    const auto found = std::find_if(recordings_.begin(), recordings_.end(), began);
    if (found == recordings_.end()) return nullptr;
    std::unique_ptr<Recording> ended = std::move(*found);
    recordings_.erase(found);
    std::erase_if(events_, [&](const auto& event) { return event.second.recording == ended.get(); });
    --capturing_;
    return ended;
  }

  const Below below_;
  std::atomic<int> capturing_{0};  // for those that need not look
  std::mutex lock_;                // guards what is being captured:
  std::vector<std::unique_ptr<Recording>> recordings_;
  std::unordered_map<plug_event, Recorded> events_;
};

void emulate_capture(Module& module, ReplayWatcher watch) {
  const bool has_capture = module.runtime.has<&R::capture_begin>();
  EmulatedCapture& layer = *immortal<EmulatedCapture>(module, watch);
  module.emulated_capture = &layer;
  module.emulating = module.runtime;
  insert_layer(module.emulating, layer);
  module.emulating.replace<&R::capture_begin>(layer);
  module.emulating.replace<&R::capture_end>(layer);
  module.emulating.replace<&R::capture_replay>(layer);
  module.emulating.replace<&R::capture_destroy>(layer);
  if (!has_capture) module.runtime = module.emulating;
}

plug_status record_command(const Module& module, int32_t device, plug_stream stream,
                           std::unique_ptr<RecordedCommand> command) {
  EmulatedCapture& capture = *module.emulated_capture;
  const auto recorded =
      capture.record({device, stream}, [&] { return std::make_unique<Upper>(std::move(command)); });
  return recorded ? *recorded : capture.fail_without_capture();
}

plug_status record_host_func(const Module& module, int32_t device, plug_stream stream,
                             void (*fn)(void*, plug_status), void (*release)(void*), void* arg) {
  EmulatedCapture& capture = *module.emulated_capture;
  const auto recorded = capture.record_host_func({device, stream}, fn, release, arg, /*in_order=*/false);
  return recorded ? *recorded : capture.fail_without_capture();
}

}  // namespace torchplug::plugin
