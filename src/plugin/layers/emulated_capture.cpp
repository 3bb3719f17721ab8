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

namespace torchplug::plugin {
namespace {

// There is one device plugin in a process, so one table below this layer.
plug_runtime inner;
const plug_host* capture_host;

plug_status fail(const std::string& sentence) {
  capture_host->set_error(capture_host, sentence.c_str());
  return PLUG_INVALID;
}

struct Place {
  int32_t device;
  plug_stream stream;
  bool operator==(const Place&) const = default;
};

// One thing on the list. `place` is the stream it was given to, or what stands for that in a replay.
class Command {
 public:
  virtual ~Command() = default;
  virtual plug_status run(const Place& place) = 0;
};

// Host memory that is not pinned was good at the capture only: its bytes are kept. A plugin without
// host_alloc is never told that memory is pinned.
class Copy final : public Command {
 public:
  Copy(const plug_mem& dst, const plug_mem& src, uint64_t bytes) : dst_(dst), src_(src), bytes_(bytes) {
    if (src.device == PLUG_HOST && (src.flags & PLUG_MEM_PINNED) == 0) {
      kept_.resize(bytes);
      std::memcpy(kept_.data(), static_cast<const char*>(src.base) + src.offset, bytes);
      src_ = {kept_.data(), 0, PLUG_HOST, 0};
    }
    for (plug_mem* memory : {&dst_, &src_}) {
      if (memory->device == PLUG_HOST && inner.host_alloc == nullptr) memory->flags &= ~PLUG_MEM_PINNED;
    }
  }
  plug_status run(const Place& place) override {
    return inner.copy(place.device, place.stream, &dst_, &src_, bytes_);
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
  plug_status run(const Place& place) override {
    return inner.mem_fill(place.device, place.stream, &dst_, byte_, bytes_);
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
  plug_status run(const Place& place) override {
    const plug_status status = inner.copy_strided(place.device, place.stream, &dst_, &src_);
    return status == PLUG_UNSUPPORTED ? fail("copy_strided declined in a replay what it took before")
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
  HostFunction(void (*fn)(void*, plug_status), void (*release)(void*), void* arg)
      : fn_(fn), release_(release), arg_(arg) {}
  ~HostFunction() override { release_(arg_); }
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  plug_status run(const Place& place) override {
    if (inner.host_func != nullptr)
      return inner.host_func(place.device, place.stream, fn_, [](void*) {}, arg_);
    if (inner.stream_sync != nullptr) {
      if (const plug_status status = inner.stream_sync(place.device, place.stream); status != PLUG_OK)
        return status;
    }
    fn_(arg_, PLUG_OK);
    return PLUG_OK;
  }

 private:
  void (*fn_)(void*, plug_status);
  void (*release_)(void*);
  void* arg_;
};

// An event of the list's own: the caller's may be recorded anew or destroyed.
class Mark final : public Command {
 public:
  Mark(int32_t device, plug_event event) : device_(device), event_(event) {}
  ~Mark() override { inner.event_destroy(device_, event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  plug_status run(const Place& place) override { return inner.event_record(device_, event_, place.stream); }
  plug_status make_wait(const Place& place) const {
    return inner.event_wait(device_, event_, place.device, place.stream);
  }

 private:
  int32_t device_;
  plug_event event_;
};

class Wait final : public Command {
 public:
  explicit Wait(const Mark& mark) : mark_(mark) {}
  plug_status run(const Place& place) override { return mark_.make_wait(place); }

 private:
  const Mark& mark_;  // earlier on the same list
};

class Upper final : public Command {
 public:
  explicit Upper(std::unique_ptr<RecordedCommand> command) : command_(std::move(command)) {}
  plug_status run(const Place& /*place*/) override { return command_->run(); }

 private:
  std::unique_ptr<RecordedCommand> command_;
};

// The list. The first stream is the one that began it; others came by waiting for its events.
class Recording {
 public:
  Recording(const Place& origin, int32_t mode) : mode_(mode) { streams_.push_back({origin}); }

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
  bool has_joined_all() {
    const Clock known = now(origin());
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (known[i] < streams_[i].work) return false;
    }
    return true;
  }

  plug_status refuse(const std::string& what) {
    const std::string sentence = what + " is not possible while a stream captures";
    if (spoilt_.empty()) spoilt_ = sentence;
    return fail(sentence);
  }
  const std::string& spoilt() const { return spoilt_; }
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
      if (const plug_status status = entry.command->run(place); status != PLUG_OK) return status;
    }
    return PLUG_OK;
  }

 private:
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

// What is being captured. Guarded by `lock`.
struct State {
  std::atomic<int> capturing{0};  // for those that need not look
  std::mutex lock;
  std::vector<std::unique_ptr<Recording>> recordings;
  std::unordered_map<plug_event, Recorded> events;

  Recording* find(const Place& place) {
    const auto has = [&](const auto& recording) { return recording->has(place); };
    const auto found = std::find_if(recordings.begin(), recordings.end(), has);
    return found == recordings.end() ? nullptr : found->get();
  }
};

State& state() {
  static auto& instance = *immortal<State>();
  return instance;
}

bool nobody_captures() { return state().capturing.load(std::memory_order_relaxed) == 0; }

// Puts what make() gives on the list of the stream if it captures. Nothing if it does not.
template <class Make>
std::optional<plug_status> record(const Place& place, Make make) {
  if (nobody_captures()) return std::nullopt;
  std::lock_guard guard(state().lock);
  Recording* recording = state().find(place);
  if (recording == nullptr) return std::nullopt;
  std::unique_ptr<Command> command = make();
  if (command == nullptr) return recording->refuse("using host memory that is not pinned");
  recording->add(place, std::move(command), /*is_work=*/true);
  return PLUG_OK;
}

// The answer for a call that must not concern a stream or an event that captures; nothing if it does not.
template <class Find>
std::optional<plug_status> refuse(const char* what, Find find) {
  if (nobody_captures()) return std::nullopt;
  std::lock_guard guard(state().lock);
  Recording* recording = find();
  return recording == nullptr ? std::nullopt : std::optional(recording->refuse(what));
}

bool is_pageable(const plug_mem& memory) {
  return memory.device == PLUG_HOST && (memory.flags & PLUG_MEM_PINNED) == 0;
}

plug_status copy(int32_t device, plug_stream stream, const plug_mem* dst, const plug_mem* src,
                 uint64_t bytes) {
  const auto recorded = record({device, stream}, [&] {
    return is_pageable(*dst) ? nullptr : std::make_unique<Copy>(*dst, *src, bytes);
  });
  return recorded ? *recorded : inner.copy(device, stream, dst, src, bytes);
}

plug_status mem_fill(int32_t device, plug_stream stream, const plug_mem* dst, uint8_t byte, uint64_t bytes) {
  const auto recorded = record({device, stream}, [&] { return std::make_unique<Fill>(*dst, byte, bytes); });
  return recorded ? *recorded : inner.mem_fill(device, stream, dst, byte, bytes);
}

plug_status copy_strided(int32_t device, plug_stream stream, const plug_tensor* dst, const plug_tensor* src) {
  const auto recorded = record({device, stream}, [&] { return std::make_unique<StridedCopy>(*dst, *src); });
  return recorded ? *recorded : inner.copy_strided(device, stream, dst, src);
}

plug_status host_func(int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                      void (*release)(void*), void* arg) {
  const auto recorded =
      record({device, stream}, [&] { return std::make_unique<HostFunction>(fn, release, arg); });
  return recorded ? *recorded : inner.host_func(device, stream, fn, release, arg);
}

plug_status event_record(int32_t device, plug_event event, plug_stream stream) {
  if (!nobody_captures()) {
    std::lock_guard guard(state().lock);
    state().events.erase(event);
    const Place place{device, stream};
    if (Recording* recording = state().find(place)) {
      plug_event own = nullptr;
      if (const plug_status status = inner.event_create(device, 0, &own); status != PLUG_OK) return status;
      auto mark = std::make_unique<Mark>(device, own);
      const Mark* made = mark.get();
      recording->add(place, std::move(mark), /*is_work=*/false);
      state().events.emplace(event, Recorded{recording, made, recording->now(place)});
      return PLUG_OK;
    }
  }
  return inner.event_record(device, event, stream);
}

plug_status event_wait(int32_t event_device, plug_event event, int32_t device, plug_stream stream) {
  if (!nobody_captures()) {
    std::lock_guard guard(state().lock);
    const Place place{device, stream};
    Recording* waiting = state().find(place);
    const auto found = state().events.find(event);
    if (found == state().events.end()) {
      if (waiting != nullptr) {
        return waiting->refuse("waiting for an event that was recorded outside of the capture");
      }
    } else {
      const Recorded& recorded = found->second;
      if (waiting != nullptr && waiting != recorded.recording) {
        return waiting->refuse("waiting for an event of another capture");
      }
      recorded.recording->add(place, std::make_unique<Wait>(*recorded.mark), /*is_work=*/false);
      recorded.recording->learn(place, recorded.clock);
      return PLUG_OK;
    }
  }
  return inner.event_wait(event_device, event, device, stream);
}

Recording* recording_of(plug_event event) {
  const auto found = state().events.find(event);
  return found == state().events.end() ? nullptr : found->second.recording;
}

plug_status event_query(int32_t device, plug_event event) {
  const auto refused = refuse("asking for an event that it recorded", [&] { return recording_of(event); });
  return refused ? *refused : inner.event_query(device, event);
}

plug_status event_sync(int32_t device, plug_event event) {
  const auto refused = refuse("waiting for an event that it recorded", [&] { return recording_of(event); });
  return refused ? *refused : inner.event_sync(device, event);
}

plug_status event_destroy(int32_t device, plug_event event) {
  if (!nobody_captures()) {
    std::lock_guard guard(state().lock);
    state().events.erase(event);
  }
  return inner.event_destroy(device, event);
}

plug_status stream_query(int32_t device, plug_stream stream) {
  const auto refused =
      refuse("asking whether its stream is done", [&] { return state().find({device, stream}); });
  return refused ? *refused : inner.stream_query(device, stream);
}

plug_status stream_sync(int32_t device, plug_stream stream) {
  const auto refused = refuse("waiting for its stream", [&] { return state().find({device, stream}); });
  return refused ? *refused : inner.stream_sync(device, stream);
}

plug_status stream_destroy(int32_t device, plug_stream stream) {
  const auto refused = refuse("destroying its stream", [&] { return state().find({device, stream}); });
  return refused ? *refused : inner.stream_destroy(device, stream);
}

plug_status device_sync(int32_t device) {
  const auto refused = refuse("waiting for the device", [&]() -> Recording* {
    for (const auto& recording : state().recordings) {
      if (recording->forbids_wait_for(device)) return recording.get();
    }
    return nullptr;
  });
  return refused ? *refused : inner.device_sync(device);
}

plug_status capture_begin(int32_t device, plug_stream stream, int32_t mode) {
  if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) return PLUG_UNSUPPORTED;
  std::lock_guard guard(state().lock);
  if (state().find({device, stream}) != nullptr) return fail("the stream captures already");
  state().recordings.push_back(std::make_unique<Recording>(Place{device, stream}, mode));
  ++state().capturing;
  return PLUG_OK;
}

plug_capture handle_of(std::unique_ptr<Recording> recording) {
  return reinterpret_cast<plug_capture>(recording.release());
}
Recording* recording_at(plug_capture capture) { return reinterpret_cast<Recording*>(capture); }

plug_status capture_end(int32_t device, plug_stream stream, plug_capture* capture) {
  std::unique_ptr<Recording> ended;
  {
    std::lock_guard guard(state().lock);
    auto& recordings = state().recordings;
    const auto began = [&](const auto& recording) { return recording->origin() == Place{device, stream}; };
    const auto found = std::find_if(recordings.begin(), recordings.end(), began);
    if (found == recordings.end()) return fail("no capture began on the stream");
    ended = std::move(*found);
    recordings.erase(found);
    std::erase_if(state().events, [&](const auto& event) { return event.second.recording == ended.get(); });
    --state().capturing;
  }
  if (!ended->spoilt().empty()) return fail("the capture was spoilt: " + ended->spoilt());
  if (!ended->has_joined_all()) {
    return fail(
        "the capture ended before its stream had waited for the work of one that had joined it; "
        "record an event there and wait for it");
  }
  *capture = handle_of(std::move(ended));
  return PLUG_OK;
}

plug_status capture_replay(int32_t device, plug_capture capture, plug_stream stream) {
  const auto refused = refuse("replaying a capture", [&] { return state().find({device, stream}); });
  return refused ? *refused : recording_at(capture)->replay(stream);
}

plug_status capture_destroy(int32_t /*device*/, plug_capture capture) {
  const std::unique_ptr<Recording> owned(recording_at(capture));
  return PLUG_OK;
}

}  // namespace

void record_captures(Module& module) {
  plug_runtime& table = module.runtime;
  if (table.capture_begin != nullptr) return;
  inner = table;
  capture_host = &module.host;
  table.copy = copy;
  if (table.mem_fill != nullptr) table.mem_fill = mem_fill;
  if (table.copy_strided != nullptr) table.copy_strided = copy_strided;
  if (table.host_func != nullptr) table.host_func = host_func;
  table.device_sync = device_sync;
  if (module.has_streams()) {
    table.event_record = event_record;
    table.event_wait = event_wait;
    table.event_query = event_query;
    table.event_sync = event_sync;
    table.event_destroy = event_destroy;
    table.stream_query = stream_query;
    table.stream_sync = stream_sync;
    table.stream_destroy = stream_destroy;
  }
  table.capture_begin = capture_begin;
  table.capture_end = capture_end;
  table.capture_replay = capture_replay;
  table.capture_destroy = capture_destroy;
  module.records_captures = true;
}

plug_status record_command(int32_t device, plug_stream stream, std::unique_ptr<RecordedCommand> command) {
  const auto recorded = record({device, stream}, [&] { return std::make_unique<Upper>(std::move(command)); });
  return recorded ? *recorded : fail("the stream does not capture");
}

plug_status record_host_func(int32_t device, plug_stream stream, void (*fn)(void*, plug_status),
                             void (*release)(void*), void* arg) {
  const auto recorded =
      record({device, stream}, [&] { return std::make_unique<HostFunction>(fn, release, arg); });
  return recorded ? *recorded : fail("the stream does not capture");
}

}  // namespace torchplug::plugin
