#pragma once
// A capture: the streams that take part in it, what it draws from generators, what it must keep for its
// replays, and what may not be done while it lasts. Made and owned by a Graph. Any thread may work on a
// capturing stream, as autograd's threads do.
//   origin   the stream it begins and ends on
//   others   take part from when they wait for an event that was recorded in it

#include <c10/core/Storage.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/draw.h"
#include "runtime/stream.h"

namespace torchplug::runtime {

// Which calls that wait for the device are refused while the capture lasts: of all threads, of the thread
// that began it, or none. To wait for a stream or an event of the capture is refused always.
enum class CaptureMode : int32_t {
  kGlobal = PLUG_CAPTURE_GLOBAL,
  kThread = PLUG_CAPTURE_THREAD,
  kRelaxed = PLUG_CAPTURE_RELAXED,
};

// What the replays of a capture draw from one generator.
struct CapturedRandom {
  std::shared_ptr<PhiloxState> generator;
  uint64_t drawn = 0;   // at this point of the capture, since its begin
  uint64_t needed = 0;  // by each replay: a checkpointed part is drawn again from where it was before
  std::shared_ptr<Draw> for_host;  // where a replay begins, in stream order, for operators that the CPU runs
  c10::DataPtr for_kernels;        // the same, in memory of the device; null if the plugin has no kernels
  plug_mem location{};             // where that is
  bool kernels_draw = false;
  std::shared_ptr<Draw> at_replay;  // the same when the replay is called, for kernels that are called then
};

// Numbers that an operator in a capture draws: each replay gives it others.
struct CapturedDraw {
  uint64_t seed;                         // at the capture
  uint64_t offset;                       // from where the replay begins
  std::shared_ptr<const Draw> for_host;  // of the three, one is given
  plug_mem for_kernels{};
  std::shared_ptr<const Draw> at_replay{};
};

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  // `randoms`: the generators it may draw from. Their memory is not from the pool of the capture, in which
  // work that is captured earlier may use the same block, and would overwrite it at each replay.
  Capture(const Stream& origin, CaptureMode mode, std::vector<CapturedRandom> randoms, bool takes_notes);

  // From begin() to end() its streams are found by capture_of(). The plugin captures only between the two.
  void begin();
  void end() noexcept;
  bool is_active() const { return is_active_.load(std::memory_order_relaxed); }

  const Stream& origin() const { return origin_; }
  bool has(const Stream& stream) const;
  void join(const Stream& stream);
  bool forbids_wait_for(DeviceIndex device) const;

  // Makes the capture fail, and throws the sentence: what cannot be captured, and what to do.
  [[noreturn]] void refuse(const std::string& sentence);
  // The first such sentence; empty if there is none.
  std::string spoilt() const;

  CapturedDraw draw_for_host(const std::shared_ptr<PhiloxState>& generator, uint64_t count);
  CapturedDraw draw_for_kernel(const std::shared_ptr<PhiloxState>& generator, uint64_t count);
  CapturedDraw draw_for_recorded_kernel(const std::shared_ptr<PhiloxState>& generator, uint64_t count);
  // How far a replay has moved the generator on at this point.
  uint64_t drawn(const std::shared_ptr<PhiloxState>& generator);
  void set_drawn(const std::shared_ptr<PhiloxState>& generator, uint64_t drawn);

  // Host memory that replays copy from or to lives as long as the capture.
  void hold(c10::Storage storage);
  // So does anything else that they use.
  void hold(std::shared_ptr<const void> object);
  // What was captured, for people.
  void note(const std::string& what);

  // After end().
  const std::vector<CapturedRandom>& randoms() const { return randoms_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  // With state_lock_ held.
  CapturedRandom& random_of(const std::shared_ptr<PhiloxState>& generator);
  CapturedDraw draw(const std::shared_ptr<PhiloxState>& generator, uint64_t count);

  const Stream origin_;
  const CaptureMode mode_;
  const bool takes_notes_;
  const std::thread::id thread_ = std::this_thread::get_id();

  std::atomic<bool> is_active_{false};

  mutable std::mutex state_lock_;  // guards what follows
  std::vector<Stream> streams_;
  std::vector<CapturedRandom> randoms_;
  std::vector<c10::Storage> held_;
  std::vector<std::shared_ptr<const void>> held_objects_;
  std::vector<std::string> notes_;
  std::string spoilt_;
};

namespace detail {
extern std::atomic<int> active_captures;
std::shared_ptr<Capture> find_capture(const Stream& stream);
void refuse_if_capturing(const Stream& stream, const char* what, const char* remedy);
}  // namespace detail

// Whether any stream captures: what the hot path asks.
inline bool any_capture() noexcept {
  return C10_UNLIKELY(detail::active_captures.load(std::memory_order_relaxed) != 0);
}

// The capture a stream takes part in, or null.
inline std::shared_ptr<Capture> capture_of(const Stream& stream) {
  return any_capture() ? detail::find_capture(stream) : nullptr;
}
inline bool is_capturing(const Stream& stream) { return any_capture() && capture_of(stream) != nullptr; }
// Whether any stream of the device captures.
bool is_capturing(DeviceIndex device);

// Throws if the stream captures: `what` cannot be done meanwhile; `remedy` says what to do.
inline void refuse_in_capture(const Stream& stream, const char* what, const char* remedy);
// Throws if the stream captures: of the operator it is not known yet what its results look like.
void refuse_unplanned(const Stream& stream, const std::string& operator_name);
// Where the plugin captures by itself, what the CPU is to do needs host functions, and pinned memory if it
// works on copies.
void refuse_host_work(const Stream& stream, const std::string& operator_name, bool is_staged);
// Throws if a capture forbids the calling thread to wait for the device.
void refuse_wait_for_device(DeviceIndex device);

void refuse_in_capture(const Stream& stream, const char* what, const char* remedy) {
  if (any_capture()) detail::refuse_if_capturing(stream, what, remedy);
}

}  // namespace torchplug::runtime
