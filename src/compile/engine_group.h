#pragma once
// A group of a user's nodes that runs as one: the graph of it, the engines that were made of it for the
// shapes that came, and a call. Shared by whoever calls it and the threads that compile for it; any thread
// may call.

#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/compilation.h"
#include "compile/compiler.h"
#include "compile/engine_call.h"
#include "graph/engine_cache.h"
#include "graph/engine_shelf.h"
#include "graph/engine_store.h"
#include "graph/graph.h"
#include "runtime/capture.h"
#include "runtime/stream.h"

namespace torchplug::compile {

struct GroupSettings {
  std::vector<std::string> options;  // for the plugin: name, value, ...
  size_t engines = EngineCache<Engine>::kDefaultCapacity;
  bool in_background = false;                          // calls do without an engine until it is there
  bool gives_up = false;                               // what failed to compile once is not tried again
  std::string directory;                               // of engines on disk; empty: none are kept
  std::shared_ptr<const EngineShelf> shelf = nullptr;  // of engines that came with the graph
};

using Reasons = std::vector<std::string>;  // each once

// What has become of a group.
struct GroupReport {
  size_t engines = 0;
  uint64_t compiled = 0;
  uint64_t loaded = 0;  // from disk
  double seconds = 0;   // that compiling and loading took
  uint64_t runs = 0;
  uint64_t runs_without = 0;  // for which there was no engine
  Reasons declined;
  Reasons disk;  // what was wrong there
};

class EngineGroup : public std::enable_shared_from_this<EngineGroup> {
 public:
  using Tensors = c10::ArrayRef<at::Tensor>;
  using Numbers = std::span<const int64_t>;
  // Called again and again while an engine is waited for; throws to give up.
  using Interruption = std::function<void()>;

  // `strides`: of each output, as the caller wants them; of an output that is the new content of an input,
  // nothing.
  EngineGroup(const Compiler& compiler, Graph graph, GroupSettings settings,
              std::vector<std::optional<std::vector<int64_t>>> strides);

  // The outputs; nothing if there is no engine for such a call: its nodes are to be run one by one.
  // `numbers`: of each symbol, and what the strides name besides. Throws for inputs that are not as the graph
  // has them, a CompileError, and what the plugin says of a run that failed.
  std::optional<std::vector<at::Tensor>> run(Tensors inputs, Numbers numbers,
                                             const Interruption& interruption);
  // Makes the engine for such calls, if there is none, and waits for it. Whether there is one then.
  bool prepare(Numbers numbers, const Interruption& interruption);

  // What became of such calls, for an EngineShelf, after prepare(). For a compiler that saves engines.
  struct Saved {
    Digest key;
    EngineShelf::Kept kept;
  };
  Saved save(Numbers numbers, const Interruption& interruption);

  const Graph& graph() const { return graph_; }
  GroupReport report() const;
  // What the engines were compiled to, for people.
  std::vector<std::string> texts() const;

 private:
  using EnginePtr = std::shared_ptr<Engine>;

  EngineKey key_of(Numbers numbers) const;
  EnginePtr find_engine(Numbers numbers, const Interruption& interruption, bool waits);
  EnginePtr start_or_wait(const EngineKey& key, Numbers numbers, const Interruption& interruption,
                          bool waits);
  EnginePtr engine_of_capture(const std::shared_ptr<Capture>& capture, Numbers numbers);
  void note_failure(EngineCache<Engine>::Ticket& ticket, const std::exception_ptr& error);
  std::exception_ptr take_failure();
  void throw_failure();
  void note(Reasons GroupReport::*which, const std::string& why);
  EnginePtr make_engine(const std::vector<int64_t>& numbers, Compilation& compilation);
  struct Made {
    EnginePtr engine;
    bool is_loaded;  // from disk
  };
  Graph graph_for(Numbers numbers) const;
  Made load_or_compile(const Graph& graph, Compilation& compilation);
  EnginePtr load_kept(const EngineShelf::Kept& kept);
  EnginePtr load_stored(EngineStore& store, std::string_view key);
  EnginePtr load_engine(std::string_view bytes, std::string& why);
  EnginePtr compile_engine(const Graph& graph, Compilation& compilation);
  void save_engine(EngineStore& store, std::string_view key, const Engine& engine);
  std::string find_disk_key(const Graph& graph);
  std::string disk_key(const Graph& graph) const;
  EnginePtr engine_for(Numbers numbers, const Stream& stream, const Interruption& interruption);
  void count(uint64_t GroupReport::*which);

  const Compiler& compiler_;
  const Graph graph_;
  const GroupSettings settings_;
  const CallForm form_;
  const char* const name_;  // of its engines, for people
  EngineCache<Engine> engines_;
  std::optional<EngineStore> store_;
  mutable std::mutex report_lock_;  // guards
  GroupReport report_;
  std::vector<std::weak_ptr<Engine>> made_;
  std::exception_ptr failure_;  // of a compile that nobody waited for

  // Engines whose runs must not overlap are made for each capture anew: its replays come when they come.
  struct Captured {
    std::weak_ptr<Capture> capture;
    EngineKey key;
    std::weak_ptr<Engine> engine;
  };
  std::mutex captured_lock_;  // guards
  std::vector<Captured> captured_;
};

}  // namespace torchplug::compile
