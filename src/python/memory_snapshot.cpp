// Snapshots and the history of the allocators, in the format that PyTorch's memory visualiser reads.

#include "memory/memory_snapshot.h"

#include <c10/core/AllocatorConfig.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <map>

#include "memory/allocator_settings.h"
#include "memory/device_allocator.h"
#include "python/bindings.h"

namespace py = pybind11;

namespace torchplug::python {
namespace {

// A thread of a stream's has no Python frames, and may be what whoever holds the GIL is waiting for.
bool is_pythons_thread() { return Py_IsInitialized() != 0 && PyGILState_GetThisThreadState() != nullptr; }

Context gather() { return torch::CapturedTraceback::gather(is_pythons_thread(), true, false); }
Context gather_with_cpp() { return torch::CapturedTraceback::gather(is_pythons_thread(), true, true); }

// Dictionaries whose stack frames are filled in together, since many of them are the same.
class Frames {
 public:
  void fill_later(const py::dict& entry, const Context& context) {
    entry["frames"] = py::list();
    if (context == nullptr) return;
    entries_.push_back(entry);
    contexts_.push_back(torch::getCapturedTracebackFromContext(context));
  }

  void fill() {
    std::map<torch::CapturedTraceback*, size_t> places;
    std::vector<torch::CapturedTraceback*> once;
    for (torch::CapturedTraceback* context : contexts_) {
      if (places.emplace(context, once.size()).second) once.push_back(context);
    }
    const torch::SymbolizedTracebacks symbols = torch::symbolize(once);
    std::vector<py::dict> frames;
    for (const auto& frame : symbols.all_frames) {
      py::dict described;
      described["name"] = frame.funcname;
      described["filename"] = frame.filename;
      described["line"] = frame.lineno;
      frames.push_back(std::move(described));
    }
    for (size_t i = 0; i < entries_.size(); ++i) {
      py::list stack;
      for (uint64_t frame : symbols.tracebacks.at(places.at(contexts_[i]))) stack.append(frames.at(frame));
      entries_[i]["frames"] = stack;
    }
  }

 private:
  std::vector<py::dict> entries_;
  std::vector<torch::CapturedTraceback*> contexts_;
};

py::dict describe(const BlockInfo& block, Frames& frames) {
  py::dict entry;
  entry["address"] = block.address;
  entry["size"] = block.bytes;
  entry["requested_size"] = block.requested;
  entry["state"] = block.state;
  frames.fill_later(entry, block.context);
  return entry;
}

py::dict describe(const SegmentInfo& segment, Frames& frames) {
  py::dict entry;
  entry["device"] = int{segment.device};
  entry["address"] = segment.address;
  entry["total_size"] = segment.total_bytes;
  entry["allocated_size"] = segment.allocated_bytes;
  entry["active_size"] = segment.active_bytes;
  entry["requested_size"] = segment.requested_bytes;
  entry["stream"] = segment.stream;
  entry["segment_type"] = segment.is_small ? "small" : "large";
  entry["segment_pool_id"] = segment.pool;
  entry["is_expandable"] = segment.is_expandable;
  frames.fill_later(entry, segment.context);
  py::list blocks;
  for (const BlockInfo& block : segment.blocks) blocks.append(describe(block, frames));
  entry["blocks"] = blocks;
  return entry;
}

py::dict describe(const TraceEntry& trace, Frames& frames) {
  py::dict entry;
  const bool is_oom = std::string_view(trace.action) == "oom";
  entry["action"] = trace.action;
  entry[is_oom ? "device_free" : "addr"] = trace.address;
  entry["size"] = trace.bytes;
  entry["stream"] = trace.stream;
  entry["time_us"] = trace.microseconds;
  entry["compile_context"] = "N/A";
  entry["user_metadata"] = trace.user_metadata;
  entry["pool_id"] = trace.pool;
  frames.fill_later(entry, trace.context);
  return entry;
}

py::dict describe(const Annotation& annotation) {
  py::dict entry;
  entry["device"] = int{annotation.device};
  entry["time_us"] = annotation.microseconds;
  entry["name"] = annotation.name;
  entry["stage"] = annotation.stage;
  return entry;
}

py::dict describe_settings() {
  const AllocatorSettings settings = allocator_settings();
  py::dict entry;
  entry["PYTORCH_ALLOC_CONF"] = c10::CachingAllocator::getAllocatorSettings();
  entry["max_split_size"] = settings.max_split > INT64_MAX ? INT64_MAX : settings.max_split;
  entry["garbage_collection_threshold"] = settings.gc_threshold;
  entry["expandable_segments"] = settings.expandable;
  return entry;
}

py::dict memory_snapshot(std::optional<c10::MempoolId_t> pool, bool with_traces) {
  MemorySnapshot snapshot;
  {
    py::gil_scoped_release no_gil;
    snapshot = DeviceAllocator::instance().snapshot(pool, with_traces);
  }
  Frames frames;
  py::list segments;
  for (const SegmentInfo& segment : snapshot.segments) segments.append(describe(segment, frames));
  py::list traces;
  for (const auto& of_device : snapshot.traces) {
    py::list entries;
    for (const TraceEntry& trace : of_device) entries.append(describe(trace, frames));
    traces.append(entries);
  }
  py::list annotations;
  for (const Annotation& annotation : snapshot.annotations) annotations.append(describe(annotation));
  frames.fill();
  py::dict result;
  result["segments"] = segments;
  result["device_traces"] = traces;
  result["external_annotations"] = annotations;
  result["allocator_settings"] = describe_settings();
  return result;
}

ContextLevel level_of(const std::optional<std::string>& name) {
  static const std::map<std::string, ContextLevel> levels = {
      {"state", ContextLevel::kState}, {"alloc", ContextLevel::kAllocations}, {"all", ContextLevel::kAll}};
  return name ? levels.at(*name) : ContextLevel::kNever;
}

// The names are checked in Python.
void record_memory_history(const std::optional<std::string>& enabled,
                           const std::optional<std::string>& context, const std::string& stacks,
                           size_t most_entries, bool clear, const std::vector<std::string>& skipped_actions) {
  HistoryOptions options;
  options.enabled = enabled.has_value();
  options.level = level_of(context);
  options.gather = stacks == "all" ? gather_with_cpp : gather;
  options.most_entries = enabled == "all" ? most_entries : 1;
  options.clear = clear;
  options.skipped_actions = skipped_actions;
  py::gil_scoped_release no_gil;
  DeviceAllocator::instance().record_history(options);
}

}  // namespace

void bind_memory_snapshot(py::module_& module) {
  module.def("memory_snapshot", &memory_snapshot);
  module.def("record_memory_history", &record_memory_history);
  module.def("set_memory_metadata", &MemoryHistory::set_user_metadata);
  module.def("memory_metadata", &MemoryHistory::user_metadata);
}

}  // namespace torchplug::python
