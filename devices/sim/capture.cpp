#include "capture.h"

#include <algorithm>
#include <atomic>

#include "error.h"
#include "profiler.h"
#include "torchplug/plug.h"

namespace torchplug::sim {
namespace {

// The captures that have begun and not ended. Never destroyed: workers may outlive the process's destructors.
struct Active {
  std::atomic<int> count{0};  // for those that need not look
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;
};

Active& active() {
  static Active& instance = *std::make_unique<Active>().release();
  return instance;
}

void add_active(std::shared_ptr<Capture> capture) {
  const std::lock_guard lock(active().mutex);
  active().captures.push_back(std::move(capture));
  ++active().count;
}

void remove_active(const Capture* capture) {
  const std::lock_guard lock(active().mutex);
  active().count -= static_cast<int>(
      std::erase_if(active().captures, [&](const auto& other) { return other.get() == capture; }));
}

}  // namespace

Capture::Capture(std::int32_t device, std::int32_t mode) : mode_(mode), devices_{device} {}

void Capture::begin(Stream& origin, std::int32_t device, std::int32_t mode) {
  if (mode < PLUG_CAPTURE_GLOBAL || mode > PLUG_CAPTURE_RELAXED) {
    fail(PLUG_UNSUPPORTED, "Capture mode ", mode, " is not known to sim.");
  }
  if (origin.captures()) fail(PLUG_INVALID, "The stream ", origin.name(), " is already capturing.");
  const auto capture = std::make_shared<Capture>(device, mode);
  Lane& lane = capture->add_lane(origin, device);
  {
    // Its first segment may stay empty: who joins before there is work waits for the replay to begin.
    const std::lock_guard lock(capture->mutex_);
    lane.wait_for({});
  }
  origin.set_lane(&lane);
  add_active(capture);
}

std::shared_ptr<Capture> Capture::end(Stream& origin) {
  const auto capture = origin.capture();
  if (!capture) fail(PLUG_INVALID, "The stream ", origin.name(), " is not capturing.");
  if (&capture->lanes_.front().stream() != &origin) {
    fail(PLUG_INVALID, "A capture ends on the stream it began on, and ", origin.name(), " only joined it.");
  }
  capture->release_streams();
  remove_active(capture.get());
  capture->check();
  capture->start_runners();
  return capture;
}

void Capture::release_streams() {
  std::vector<Stream*> streams;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const Lane& lane : lanes_) streams.push_back(&lane.stream());
  }
  // Not under the lock: a stream takes it while it holds its own.
  for (Stream* stream : streams) stream->set_lane(nullptr);
}

void Capture::check() {
  const std::lock_guard lock(mutex_);
  if (!spoilt_.empty()) fail(PLUG_INVALID, "The capture was invalidated: ", spoilt_);
  const Clock end = lanes_.front().close_segment();
  for (const Lane& lane : lanes_) {
    if (&lane == &lanes_.front() || lane.is_done_at(end)) continue;
    fail(PLUG_INVALID, "The capture ended before its stream had waited for the work on ",
         lane.stream().name(), ", which had joined it; record an event there and wait for it.");
  }
}

// Lanes beside the origin's run on streams of the capture's own, so that a replay depends on the stream it
// is given and on no other. Started here, where it may fail.
void Capture::start_runners() {
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    const Stream& captured = lanes_[i].stream();
    runners_.push_back(
        std::make_shared<Stream>(captured.name(), captured.has_high_priority(), captured.device()));
    runners_.back()->enqueue([]() noexcept {});
  }
}

Capture::~Capture() {
  for (const auto& runner : runners_) runner->close();
}

Lane& Capture::add_lane(Stream& stream, std::int32_t device) {
  if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) devices_.push_back(device);
  return lanes_.emplace_back(*this, mutex_, stream.shared_from_this(), lanes_.size());
}

Lane* Capture::lane_of(const Stream& stream) noexcept {
  const auto found =
      std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& lane) { return &lane.stream() == &stream; });
  return found == lanes_.end() ? nullptr : &*found;
}

Capture::Mark Capture::mark(Stream& stream) {
  const std::lock_guard lock(mutex_);
  return {weak_from_this(), lane_of(stream)->close_segment()};
}

void Capture::join(Stream& stream, std::int32_t device, const Mark& mark) {
  const auto capture = mark.capture.lock();
  if (!capture || capture->has_ended()) {
    fail(PLUG_INVALID, "The event was recorded in a capture that has ended; record it again.");
  }
  if (const auto own = stream.capture(); own && own != capture) {
    own->refuse("waiting for an event of another capture");
  }
  Lane* joined = nullptr;
  {
    const std::lock_guard lock(capture->mutex_);
    Lane* lane = capture->lane_of(stream);
    if (lane == nullptr) joined = lane = &capture->add_lane(stream, device);
    lane->wait_for(mark.moment);
  }
  if (joined != nullptr) stream.set_lane(joined);
}

bool Capture::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void Capture::refuse(const std::string& what) {
  const std::string sentence = what + " is not allowed while a stream is capturing.";
  {
    const std::lock_guard lock(mutex_);
    if (spoilt_.empty()) spoilt_ = sentence;
  }
  fail(PLUG_INVALID, sentence);
}

bool Capture::forbids_wait_for(std::int32_t device) const {
  const std::lock_guard lock(mutex_);
  if (std::find(devices_.begin(), devices_.end(), device) == devices_.end()) return false;
  return mode_ == PLUG_CAPTURE_GLOBAL ||
         (mode_ == PLUG_CAPTURE_THREAD && thread_ == std::this_thread::get_id());
}

void Capture::replay(Stream& stream) {
  if (const auto capture = stream.capture()) capture->refuse("replaying a capture");
  const std::lock_guard lock(replays_mutex_);
  const std::uint64_t replay = replays_;
  const std::uint64_t label = Recording::label();
  stream.enqueue([self = shared_from_this(), replay, label, &stream]() noexcept {
    Lane& origin = self->lanes_.front();
    origin.wait_for_replays(replay);
    origin.run(replay, self->lanes_, stream, label);
  });
  ++replays_;
  auto lane = lanes_.begin();
  for (const std::shared_ptr<Stream>& runner : runners_) {
    runner->enqueue([self = shared_from_this(), lane = &*++lane, replay, label]() noexcept {
      lane->run(replay, self->lanes_, lane->stream(), label);
    });
  }
}

void refuse_wait_for_device(std::int32_t device) {
  if (active().count.load(std::memory_order_relaxed) == 0) return;
  std::vector<std::shared_ptr<Capture>> captures;
  {
    const std::lock_guard lock(active().mutex);
    captures = active().captures;
  }
  for (const auto& capture : captures) {
    if (capture->forbids_wait_for(device)) capture->refuse("waiting for the device");
  }
}

}  // namespace torchplug::sim
