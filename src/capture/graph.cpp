#include "capture/graph.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "memory/device_allocator.h"
#include "runtime/generator.h"
#include "runtime/memory_copy.h"
#include "runtime/submit.h"

namespace torchplug::capture {
namespace {

std::shared_ptr<PhiloxState> state_of(const at::Generator& generator) {
  return at::check_generator<PhiloxGenerator>(generator)->shared_state();
}

// Says, in the order of the stream, where the numbers of a replay begin.
class SetDraw final : public HostJob {
 public:
  SetDraw(std::shared_ptr<Draw> target, const Draw& value) : target_(std::move(target)), value_(value) {}
  void run() override { *target_ = value_; }
  const char* name() const override { return "seeding a replay"; }

 private:
  std::shared_ptr<Draw> target_;
  Draw value_;
};

std::vector<CapturedRandom> randoms_of(const std::vector<std::shared_ptr<PhiloxState>>& generators,
                                       const Stream& stream) {
  std::vector<CapturedRandom> randoms;
  for (const auto& generator : generators) {
    CapturedRandom& random = randoms.emplace_back();
    random.generator = generator;
    if (!module_of(stream.device()).may_draw()) continue;
    random.for_kernels = DeviceAllocator::instance().allocate_on(stream, sizeof(Draw));
    random.location = DeviceAllocator::instance().locate(random.for_kernels).memory();
  }
  return randoms;
}

void check_may_begin(const Stream& stream) {
  TORCH_CHECK(!is_capturing(stream),
              "The current stream is already capturing a graph. End that capture first.");
  TORCH_CHECK(stream.id() != 0 || !has_streams(stream.device()),
              "A graph is captured on a stream of its own, not on the default stream. Use torch.",
              device_type_name(), ".graph(), or make a torch.", device_type_name(),
              ".Stream() current before capture_begin().");
}

}  // namespace

Graph::~Graph() {
  try {
    reset();
  } catch (...) {
    // A destructor cannot throw; what the plugin said of the device, the next wait says again.
    return;
  }
}

void Graph::register_generator(const at::Generator& generator) {
  TORCH_CHECK(capture_ == nullptr, "Register a generator with a graph before its capture, not after.");
  std::shared_ptr<PhiloxState> state = state_of(generator);
  if (std::find(generators_.begin(), generators_.end(), state) == generators_.end()) {
    generators_.push_back(std::move(state));
  }
}

void Graph::capture_begin(c10::MempoolId_t pool, CaptureMode mode) {
  TORCH_CHECK(capture_ == nullptr,
              "This graph has been captured already. Call reset() first, or capture another one.");
  const Stream stream = Stream::current(current_device());
  ensure_open(stream.device());
  check_may_begin(stream);
  register_generator(default_generator(stream.device()));
  auto capture = std::make_shared<Capture>(stream, mode, randoms_of(generators_, stream), takes_notes_);
  const bool shares_pool = pool.first != 0 || pool.second != 0;
  pool_ = shares_pool ? pool : DeviceAllocator::new_pool_id(/*by_user=*/false);

  DeviceAllocator& allocator = DeviceAllocator::instance();
  allocator.begin_allocate_to_pool(stream.device(), pool_,
                                   [capture](const Stream& asking) { return capture->has(asking); });
  capture_ = capture;
  capture->begin();
  try {
    call_plugin<&plug_runtime::capture_begin>(stream.device(), stream.handle(), static_cast<int32_t>(mode));
  } catch (...) {
    capture->end();
    end_allocation();
    throw;
  }
}

void Graph::end_allocation() {
  DeviceAllocator& allocator = DeviceAllocator::instance();
  // Goes last: it frees memory, which cannot be done where the allocator lets go of it.
  const std::shared_ptr<Capture> ended = std::exchange(capture_, nullptr);
  const DeviceIndex device = ended->origin().device();
  allocator.end_allocate_to_pool(device, pool_);
  allocator.release_pool(device, pool_);
}

void Graph::capture_end() {
  TORCH_CHECK(capture_ != nullptr && capture_->is_active(),
              "capture_end() needs a capture_begin() before it.");
  const Stream stream = capture_->origin();
  TORCH_CHECK(Stream::current(stream.device()) == stream, "A capture ends on the stream it began on.");
  plug_capture handle = nullptr;
  take_plugin_error();
  const plug_status status =
      ask_plugin<&plug_runtime::capture_end>(stream.device(), stream.handle(), &handle);
  capture_->end();
  const std::string spoilt = capture_->spoilt();
  if (status == PLUG_OK && handle != nullptr && spoilt.empty()) {
    handle_ = handle;
    DeviceAllocator::instance().end_allocate_to_pool(stream.device(), pool_);
    return;
  }
  if (status == PLUG_OK && handle != nullptr) {
    ask_plugin<&plug_runtime::capture_destroy>(stream.device(), handle);
  }
  const std::string said = status == PLUG_OK ? "capture_end returned no graph" : take_plugin_error();
  end_allocation();
  TORCH_CHECK(spoilt.empty(), "The capture of the graph failed: ", spoilt);
  TORCH_CHECK(false, "The capture of the graph failed: ", said.empty() ? status_name(status) : said,
              said.ends_with('.') ? "" : ".");
}

void Graph::instantiate() {
  TORCH_CHECK(handle_ != nullptr, "instantiate() needs a captured graph: call capture_end() first.");
  TORCH_CHECK(keep_graph_, "instantiate() may be called only on a graph made with keep_graph=True.");
}

void Graph::replay() {
  TORCH_CHECK(handle_ != nullptr, "replay() needs a captured graph, and this one has none.");
  const DeviceIndex device = capture_->origin().device();
  const Stream stream = Stream::current(device);
  refuse_in_capture(stream, "Replaying a graph", "Replay it outside of the capture.");
  std::lock_guard lock(replay_lock_);
  if (last_replay_ == nullptr) last_replay_ = std::make_unique<Event>(device, /*with_timing=*/false);
  if (last_stream_ && *last_stream_ != stream) last_replay_->block(stream);
  move_generators_on(stream);
  give_replay(stream);
  last_replay_->record(stream);
  last_stream_ = stream;
}

void Graph::give_replay(const Stream& stream) const {
  const auto give = [&](uint64_t /*number*/) {
    return ask_plugin<&plug_runtime::capture_replay>(stream.device(), handle_, stream.handle());
  };
  // One that torchplug carries out itself is seen piece by piece.
  if (emulates_capture(stream.device())) {
    const GateUse gate(stream.device());
    check(give(0), "capture_replay", stream.device());
    stream.synchronize_if_blocking();
    return;
  }
  submit(
      {.kind = Work::Kind::kReplay, .stream = stream, .function = "capture_replay", .name = "graph replay"},
      give);
}

void Graph::move_generators_on(const Stream& stream) const {
  for (const CapturedRandom& random : capture_->randoms()) {
    if (random.needed == 0) continue;
    const Draw begin = random.generator->take(random.needed);
    if (random.at_replay != nullptr) *random.at_replay = begin;
    if (random.for_host != nullptr) {
      // Without host_func, jobs run on this thread.
      if (!plugin_has<&plug_runtime::host_func>(stream.device())) {
        *random.for_host = begin;
      } else {
        stream.enqueue(HostJobPtr(std::make_unique<SetDraw>(random.for_host, begin).release()));
      }
    }
    if (random.kernels_draw) {
      const plug_mem from{const_cast<Draw*>(&begin), 0, PLUG_HOST, 0};
      copy_memory(random.location, from, sizeof begin, stream);
    }
  }
}

void Graph::reset() {
  if (capture_ != nullptr && capture_->is_active()) discard_capture();
  if (handle_ == nullptr) return;
  const DeviceIndex device = capture_->origin().device();
  plug_capture handle = std::exchange(handle_, nullptr);
  if (last_stream_) last_replay_->wait_quietly();
  last_replay_ = nullptr;
  last_stream_.reset();
  if (!is_open(device)) return;  // the process ends, or is a child of fork: the plugin takes no calls
  const plug_status status = ask_plugin<&plug_runtime::capture_destroy>(device, handle);
  capture_ = nullptr;
  generators_.clear();
  DeviceAllocator::instance().release_pool(device, pool_);
  check(status, "capture_destroy", device);
}

// A graph that goes while it captures leaves its stream usable.
void Graph::discard_capture() noexcept {
  try {
    const Stream stream = capture_->origin();
    plug_capture handle = nullptr;
    const plug_status status =
        ask_plugin<&plug_runtime::capture_end>(stream.device(), stream.handle(), &handle);
    capture_->end();
    if (status == PLUG_OK) ask_plugin<&plug_runtime::capture_destroy>(stream.device(), handle);
    end_allocation();
  } catch (...) {
    capture_ = nullptr;
  }
}

c10::MempoolId_t Graph::pool() const {
  TORCH_CHECK(handle_ != nullptr, "pool() needs a captured graph, and this one has none.");
  return pool_;
}

void Graph::debug_dump(const std::string& path) const {
  TORCH_CHECK(handle_ != nullptr, "debug_dump() needs a captured graph, and this one has none.");
  TORCH_CHECK(takes_notes_,
              "debug_dump() needs a graph captured in debug mode: call enable_debug_mode() before the ",
              "capture.");
  std::ofstream file(path);
  for (const std::string& note : capture_->notes()) file << note << '\n';
  TORCH_CHECK(file.good(), "The graph cannot be written to '", path, "'.");
}

c10::MempoolId_t graph_pool_handle() { return DeviceAllocator::new_pool_id(/*by_user=*/true); }

bool is_current_stream_capturing() {
  return any_capture() && is_capturing(Stream::current(current_device()));
}

}  // namespace torchplug::capture
