#pragma once
// Work of a device that is captured once and replayed: what torch.<device>.Graph and torch.accelerator.Graph
// stand on. Memory that is allocated in the capture comes from a pool of the graph's own, or one that it
// shares with other graphs, and stays reserved for as long as the graph lives; memory from elsewhere must be
// kept by whoever replays. Any thread may replay; replays run one after the other.

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/capture.h"
#include "runtime/event.h"

namespace torchplug::capture {

class Graph {
 public:
  // `keep_graph`: instantiate() is the user's to call.
  explicit Graph(bool keep_graph) : keep_graph_(keep_graph) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Lets the capture draw from a generator beside the device's own.
  void register_generator(const at::Generator& generator);

  // On the current device and stream. {0, 0}: a pool of its own.
  void capture_begin(c10::MempoolId_t pool, CaptureMode mode);
  // Throws if something was done that cannot be captured; the capture has ended then too.
  void capture_end();
  // A plugin's captures are ready to be replayed: this only checks that there is one.
  void instantiate();
  // On the current stream of the device it was captured on.
  void replay();
  // Waits for the replays, and gives back what the graph holds.
  void reset();

  c10::MempoolId_t pool() const;
  // From the next capture on, what is captured is noted for debug_dump.
  void enable_debug_mode() { takes_notes_ = true; }
  // Writes what was captured, one piece of work a line.
  void debug_dump(const std::string& path) const;

 private:
  void move_generators_on(const Stream& stream) const;
  void end_allocation();
  void discard_capture() noexcept;

  const bool keep_graph_;
  bool takes_notes_ = false;
  std::vector<std::shared_ptr<PhiloxState>> generators_;

  std::shared_ptr<Capture> capture_;  // from capture_begin to reset
  c10::MempoolId_t pool_{0, 0};
  plug_capture handle_ = nullptr;  // from capture_end to reset

  std::mutex replay_lock_;  // guards what follows
  std::unique_ptr<Event> last_replay_;
  std::optional<Stream> last_stream_;
};

// A pool for several graphs.
c10::MempoolId_t graph_pool_handle();

// Whether the calling thread's stream of the current device captures. Loads no plugin.
bool is_current_stream_capturing();

}  // namespace torchplug::capture
