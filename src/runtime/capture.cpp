#include "runtime/capture.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "base/immortal.h"

namespace torchplug::runtime {
namespace {

struct ActiveCaptures {
  std::mutex lock;
  std::vector<std::shared_ptr<Capture>> captures;
};

ActiveCaptures& all_captures() {
  static auto& instance = *immortal<ActiveCaptures>();
  return instance;
}

std::vector<std::shared_ptr<Capture>> active_captures() {
  std::lock_guard lock(all_captures().lock);
  return all_captures().captures;
}

}  // namespace

constinit std::atomic<int> detail::active_captures{0};

std::shared_ptr<Capture> detail::find_capture(const Stream& stream) {
  for (const auto& capture : runtime::active_captures()) {
    if (capture->has(stream)) return capture;
  }
  return nullptr;
}

bool is_capturing(DeviceIndex device) {
  if (!any_capture()) return false;
  const auto captures = active_captures();
  return std::any_of(captures.begin(), captures.end(),
                     [device](const auto& capture) { return capture->origin().device() == device; });
}

Capture::Capture(const Stream& origin, CaptureMode mode, std::vector<CapturedRandom> randoms,
                 bool takes_notes)
    : origin_(origin),
      mode_(mode),
      takes_notes_(takes_notes),
      streams_{origin},
      randoms_(std::move(randoms)) {}

void Capture::begin() {
  std::lock_guard lock(all_captures().lock);
  all_captures().captures.push_back(shared_from_this());
  is_active_ = true;
  ++detail::active_captures;
}

void Capture::end() noexcept {
  is_active_ = false;
  std::lock_guard lock(all_captures().lock);
  const auto removed =
      std::erase_if(all_captures().captures, [this](const auto& capture) { return capture.get() == this; });
  detail::active_captures -= static_cast<int>(removed);
}

bool Capture::has(const Stream& stream) const {
  std::lock_guard lock(state_lock_);
  return std::find(streams_.begin(), streams_.end(), stream) != streams_.end();
}

void Capture::join(const Stream& stream) {
  if (has(stream)) return;
  if (stream.device() != origin_.device()) {
    refuse(
        "A stream of another device cannot join the capture of a graph. Capture one graph on each device.");
  }
  std::lock_guard lock(state_lock_);
  streams_.push_back(stream);
}

bool Capture::forbids_wait_for(DeviceIndex device) const {
  if (device != origin_.device()) return false;
  return mode_ == CaptureMode::kGlobal ||
         (mode_ == CaptureMode::kThread && thread_ == std::this_thread::get_id());
}

void Capture::refuse(const std::string& sentence) {
  {
    std::lock_guard lock(state_lock_);
    if (spoilt_.empty()) spoilt_ = sentence;
  }
  TORCH_CHECK(false, sentence);
}

std::string Capture::spoilt() const {
  std::lock_guard lock(state_lock_);
  return spoilt_;
}

CapturedRandom& Capture::random_of(const std::shared_ptr<PhiloxState>& generator) {
  for (CapturedRandom& random : randoms_) {
    if (random.generator == generator) return random;
  }
  TORCH_CHECK(
      false,
      "A random operator in the capture of a graph uses a generator that is not registered with the graph. "
      "Call register_generator_state(generator) of the graph before the capture.");
}

CapturedDraw Capture::draw(const std::shared_ptr<PhiloxState>& generator, uint64_t count) {
  CapturedRandom& random = random_of(generator);
  CapturedDraw draw{generator->place().seed, random.drawn, nullptr, {}};
  random.drawn += rounded_draws(count);
  random.needed = std::max(random.needed, random.drawn);
  return draw;
}

namespace {

// What a replay writes the generator's place into; made when it is first wanted.
std::shared_ptr<const Draw> place_in(std::shared_ptr<Draw>& written, const PhiloxState& generator) {
  if (written == nullptr) written = std::make_shared<Draw>(generator.place());
  return written;
}

}  // namespace

CapturedDraw Capture::draw_for_host(const std::shared_ptr<PhiloxState>& generator, uint64_t count) {
  std::lock_guard lock(state_lock_);
  CapturedDraw drawn = draw(generator, count);
  drawn.for_host = place_in(random_of(generator).for_host, *generator);
  return drawn;
}

CapturedDraw Capture::draw_for_kernel(const std::shared_ptr<PhiloxState>& generator, uint64_t count) {
  std::lock_guard lock(state_lock_);
  CapturedRandom& random = random_of(generator);
  random.kernels_draw = true;
  CapturedDraw drawn = draw(generator, count);
  drawn.for_kernels = random.location;
  return drawn;
}

CapturedDraw Capture::draw_for_recorded_kernel(const std::shared_ptr<PhiloxState>& generator,
                                               uint64_t count) {
  std::lock_guard lock(state_lock_);
  CapturedDraw drawn = draw(generator, count);
  drawn.at_replay = place_in(random_of(generator).at_replay, *generator);
  return drawn;
}

uint64_t Capture::drawn(const std::shared_ptr<PhiloxState>& generator) {
  std::lock_guard lock(state_lock_);
  return random_of(generator).drawn;
}

void Capture::set_drawn(const std::shared_ptr<PhiloxState>& generator, uint64_t drawn) {
  std::lock_guard lock(state_lock_);
  random_of(generator).drawn = drawn;
}

void Capture::hold(c10::Storage storage) {
  std::lock_guard lock(state_lock_);
  held_.push_back(std::move(storage));
}

void Capture::hold(std::shared_ptr<const void> object) {
  std::lock_guard lock(state_lock_);
  held_objects_.push_back(std::move(object));
}

void Capture::note(const std::string& what) {
  if (!takes_notes_) return;
  std::lock_guard lock(state_lock_);
  notes_.push_back(what);
}

void detail::refuse_if_capturing(const Stream& stream, const char* what, const char* remedy) {
  if (const auto capture = capture_of(stream)) {
    capture->refuse(std::string(what) +
                    " is not allowed while its stream is capturing a graph, since nothing runs before the "
                    "graph is replayed. " +
                    remedy);
  }
}

void refuse_unplanned(const Stream& stream, const std::string& operator_name) {
  if (const auto capture = capture_of(stream)) {
    capture->refuse(operator_name +
                    " cannot be captured in a graph yet, since its first call with such arguments runs "
                    "immediately. Run the "
                    "step once before capturing it, so that every operator has a plan.");
  }
}

void refuse_host_work(const Stream& stream, const std::string& operator_name, bool is_staged) {
  const auto capture = capture_of(stream);
  if (capture == nullptr || emulates_capture(stream.device())) return;
  const char* missing = nullptr;
  if (is_staged && !plugin_has<&plug_runtime::host_alloc>(stream.device())) missing = "host_alloc";
  if (!plugin_has<&plug_runtime::host_func>(stream.device())) missing = "host_func";
  if (missing == nullptr) return;
  capture->refuse(operator_name +
                  " cannot be captured in a graph, since the CPU does it, and the device, which "
                  "captures by itself, has no " +
                  missing +
                  " for that. Run it outside of the capture; with a kernel of the plugin's it could stay.");
}

void refuse_wait_for_device(DeviceIndex device) {
  if (!any_capture()) return;
  for (const auto& capture : active_captures()) {
    if (!capture->forbids_wait_for(device)) continue;
    capture->refuse(
        "A device cannot be synchronised while a graph is being captured on it. Wait before the capture or "
        "after "
        "a replay; capture_error_mode=\"thread_local\" or \"relaxed\" lets other threads wait.");
  }
}

}  // namespace torchplug::runtime
