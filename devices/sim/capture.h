#pragma once
// What streams were given between the begin and the end of a capture, to be run again and again. The stream
// that began it is the origin; others take part from when they wait for an event recorded in it, and must
// have been waited for, by events, when it ends. Shared by its plug_capture handle and the replays that
// still have to run. Any thread may call anything.

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lane.h"
#include "stream.h"

namespace torchplug::sim {

class Capture : public std::enable_shared_from_this<Capture> {
 public:
  // A moment in a capture, for events.
  struct Mark {
    std::weak_ptr<Capture> capture;
    Clock moment;
  };

  // `mode`: PLUG_CAPTURE_*.
  static void begin(Stream& origin, std::int32_t device, std::int32_t mode);
  // Fails if there was none, or if something was done in it that cannot be captured. It has ended then too.
  static std::shared_ptr<Capture> end(Stream& origin);

  Mark mark(Stream& stream);
  // The stream, of device `device`, takes part if it does not yet, and waits for the mark.
  static void join(Stream& stream, std::int32_t device, const Mark& mark);
  bool has_ended() const;
  // Spoils the capture, and says so: `what` cannot be done while it lasts.
  [[noreturn]] void refuse(const std::string& what);
  // Whether its mode forbids the calling thread to wait for the device.
  bool forbids_wait_for(std::int32_t device) const;

  // Runs all of it in the order of `stream`. Makes nothing new. Replays run one after the other.
  void replay(Stream& stream);

  Capture(std::int32_t device, std::int32_t mode);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

 private:
  Lane& add_lane(Stream& stream, std::int32_t device);
  Lane* lane_of(const Stream& stream) noexcept;
  void release_streams();
  void check();
  void start_runners();

  const std::int32_t mode_;
  const std::thread::id thread_ = std::this_thread::get_id();

  mutable std::mutex mutex_;  // guards what follows while it captures
  std::vector<std::int32_t> devices_;
  std::deque<Lane> lanes_;  // the origin's first
  std::string spoilt_;      // why, if it is
  bool ended_ = false;

  std::mutex replays_mutex_;  // makes replays one after the other
  std::uint64_t replays_ = 0;
  std::vector<std::shared_ptr<Stream>> runners_;  // of the lanes but the origin's
};

// Fails, and spoils the captures concerned, where one forbids to wait for the device.
void refuse_wait_for_device(std::int32_t device);

}  // namespace torchplug::sim
