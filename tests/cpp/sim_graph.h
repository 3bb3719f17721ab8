#pragma once
// Graphs written by hand, and the sim plugin's compiler to compile and run them: tensors go in and come out
// as float64, whatever their dtype. The host has scratch memory, random numbers and a team of three threads.

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>

#include "sim_plugin.h"
#include "torchplug/plug_element.h"

namespace sim_test {

struct GraphHost : FakeHost {
  const plug_module* module = nullptr;
  std::uint64_t seed = 1, drawn = 0;
  std::mutex mutex;
  std::vector<void*> scratch_memory;
  std::vector<std::string> reports;

  static GraphHost& of(const plug_host* host) {
    return *const_cast<GraphHost*>(static_cast<const GraphHost*>(host));
  }

  explicit GraphHost(Settings given) : FakeHost(std::move(given)) {
    scratch = [](const plug_host* host, const plug_call* call, std::uint64_t bytes, plug_mem* mem) {
      GraphHost& self = of(host);
      void* base = nullptr;
      const plug_status status = self.module->runtime->mem_alloc(call->device, bytes, &base);
      const std::lock_guard lock(self.mutex);
      self.scratch_memory.push_back(base);
      *mem = {base, 0, call->device, 0};
      return status;
    };
    rng = [](const plug_host* host, const plug_call*, std::uint64_t draws, plug_rng* made) -> plug_status {
      GraphHost& self = of(host);
      const std::lock_guard lock(self.mutex);
      made->seed = self.seed;
      made->offset = self.drawn;
      made->location = {};
      self.drawn += (draws + 3) / 4 * 4;
      return PLUG_OK;
    };
    report = [](const plug_host* host, std::int32_t, plug_stream, std::uint64_t, plug_status,
                const char* message) {
      GraphHost& self = of(host);
      const std::lock_guard lock(self.mutex);
      self.reports.emplace_back(message);
    };
    team = [](const plug_host*, void (*fn)(void*, std::int32_t, std::int32_t), void* arg) {
      constexpr std::int32_t kThreads = 3;
      std::vector<std::thread> threads;
      for (std::int32_t i = 1; i < kThreads; ++i) threads.emplace_back([=] { fn(arg, i, kThreads); });
      fn(arg, 0, kThreads);
      for (std::thread& thread : threads) thread.join();
    };
  }
};

class GraphPlugin {
 public:
  explicit GraphPlugin(Settings settings)
      : host_(std::make_unique<GraphHost>(std::move(settings)).release()) {
    if (load_copy()(host_, &host_->module) != PLUG_OK) throw std::runtime_error(last_error);
    if (runtime().device_open(0) != PLUG_OK) throw std::runtime_error(last_error);
  }

  static GraphPlugin& shared() {
    static GraphPlugin& plugin =
        *std::make_unique<GraphPlugin>(
             Settings{{"sim.memory", "256MiB"}, {"sim.devices", "1"}, {"sim.compiler", "whole"}})
             .release();
    return plugin;
  }

  GraphHost& host() const { return *host_; }
  const plug_runtime& runtime() const { return *host_->module->runtime; }
  const plug_compiler& compiler() const { return *host_->module->compiler; }

  std::int32_t find(const std::string& start) const {
    for (std::uint32_t i = 0; i < compiler().schema_count; ++i) {
      if (std::string(compiler().schemas[i]).starts_with(start + "(")) return static_cast<std::int32_t>(i);
    }
    throw std::runtime_error("the compiler has no " + start);
  }

 private:
  GraphHost* host_;  // the plugin keeps it to the end of the process
};

// An argument of a node.
struct Arg {
  plug_value value{};
  std::vector<std::int64_t> ints;
  std::string text;
  std::vector<plug_value> values;
};

inline Arg none() { return {}; }
inline Arg tagged(std::int32_t tag, std::int64_t i) {
  Arg made;
  made.value.tag = tag;
  made.value.as.i = i;
  return made;
}
inline Arg ref(std::int64_t value) { return tagged(PLUG_VALUE_REF, value); }
inline Arg integer_arg(std::int64_t i) { return tagged(PLUG_VALUE_INT, i); }
inline Arg bool_arg(bool b) { return tagged(PLUG_VALUE_BOOL, b ? 1 : 0); }
inline Arg symbol_arg(std::int64_t s) { return tagged(PLUG_VALUE_SYMBOL, s); }
inline Arg dtype_arg(plug_dtype dtype) { return tagged(PLUG_VALUE_DTYPE, dtype); }
inline Arg real_arg(double f) {
  Arg made;
  made.value.tag = PLUG_VALUE_FLOAT;
  made.value.as.f = f;
  return made;
}
inline Arg text_arg(std::string text) {
  Arg made;
  made.value.tag = PLUG_VALUE_STR;
  made.text = std::move(text);
  return made;
}
inline Arg ints_arg(std::vector<std::int64_t> ints) {
  Arg made;
  made.value.tag = PLUG_VALUE_INTS;
  made.ints = std::move(ints);
  return made;
}
inline Arg refs_arg(std::vector<std::int64_t> refs) {
  Arg made = ints_arg(std::move(refs));
  made.value.tag = PLUG_VALUE_REFS;
  return made;
}

inline void store_element(void* to, plug_dtype dtype, double number) {
  if (plug_is_integral(dtype)) {
    plug_store_int(to, dtype, static_cast<std::int64_t>(number));
  } else {
    const double both[2] = {number, 0};
    plug_store_complex(to, dtype, both);
  }
}
inline double load_element(const void* from, plug_dtype dtype) {
  double both[2] = {0, 0};
  plug_load_complex(from, dtype, both);
  return both[0];
}

using Dims = std::vector<std::int64_t>;

inline Dims dense_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(sizes[d], 1);
  return strides;
}

// Sizes and strides: n < 0 is symbol -1 - n.
class Graph {
 public:
  explicit Graph(const GraphPlugin& plugin = GraphPlugin::shared()) : plugin_(plugin) {}

  std::int64_t symbol(std::int64_t min, std::int64_t max) {
    symbols_.push_back({sizeof(plug_symbol), 0, min, max, max, "s"});
    return -static_cast<std::int64_t>(symbols_.size());
  }
  int input(plug_dtype dtype, Dims sizes, Dims strides = {}) {
    const int made = value(dtype, std::move(sizes), std::move(strides));
    inputs_.push_back(made);
    return made;
  }
  int constant(plug_dtype dtype, Dims sizes, const std::vector<double>& content) {
    const int made = value(dtype, std::move(sizes), {});
    Value& held = values_[static_cast<std::size_t>(made)];
    held.bytes.resize(content.size() * PLUG_DTYPE_BYTES(dtype));
    for (std::size_t i = 0; i < content.size(); ++i)
      store_element(held.bytes.data() + i * PLUG_DTYPE_BYTES(dtype), dtype, content[i]);
    held.is_constant = true;
    return made;
  }
  int node(const std::string& schema, std::vector<Arg> args, plug_dtype dtype, Dims sizes) {
    return nodes(schema, std::move(args), {{dtype, std::move(sizes)}})[0];
  }
  // One value for each result; an ndim of -1 is none.
  std::vector<int> nodes(const std::string& schema, std::vector<Arg> args,
                         std::vector<std::pair<plug_dtype, Dims>> results) {
    Node made;
    made.op = plugin_.find(schema);
    made.args = std::move(args);
    for (auto& [dtype, sizes] : results)
      made.results.push_back(dtype == 0 ? -1 : value(dtype, std::move(sizes), {}));
    nodes_.push_back(std::move(made));
    return {nodes_.back().results.begin(), nodes_.back().results.end()};
  }
  void output(int value, int updated = -1, Dims strides = {}) {
    outputs_.push_back(value);
    updates_.push_back(updated);
    Value& held = values_[static_cast<std::size_t>(value)];
    if (!strides.empty())
      held.strides = std::move(strides);
    else if (updated >= 0)
      held.strides = values_[static_cast<std::size_t>(updated)].strides;
  }

  const plug_graph& finish() {
    raw_values_.clear();
    raw_nodes_.clear();
    for (Value& v : values_) finish_value(v);
    for (Node& n : nodes_) finish_node(n);
    for (const Value& v : values_) raw_values_.push_back(&v.raw);
    for (const Node& n : nodes_) raw_nodes_.push_back(&n.raw);
    raw_symbols_.clear();
    for (const plug_symbol& s : symbols_) raw_symbols_.push_back(&s);
    graph_ = {};
    graph_.size = sizeof graph_;
    graph_.symbol_count = static_cast<std::uint32_t>(symbols_.size());
    graph_.value_count = static_cast<std::uint32_t>(values_.size());
    graph_.node_count = static_cast<std::uint32_t>(nodes_.size());
    graph_.input_count = static_cast<std::uint32_t>(inputs_.size());
    graph_.output_count = static_cast<std::uint32_t>(outputs_.size());
    graph_.symbols = raw_symbols_.data();
    graph_.values = raw_values_.data();
    graph_.nodes = raw_nodes_.data();
    graph_.inputs = inputs_.data();
    graph_.outputs = outputs_.data();
    graph_.updates = updates_.data();
    return graph_;
  }

  struct Value {
    plug_dtype dtype;
    Dims sizes, strides;
    std::vector<unsigned char> bytes;
    bool is_constant = false;
    plug_graph_value raw{};
    plug_tensor data{};
  };
  const Value& described(int value) const { return values_[static_cast<std::size_t>(value)]; }
  const std::vector<std::int32_t>& inputs() const { return inputs_; }
  const std::vector<std::int32_t>& outputs() const { return outputs_; }
  const std::vector<std::int32_t>& updates() const { return updates_; }
  std::size_t symbol_count() const { return symbols_.size(); }

 private:
  struct Node {
    std::int32_t op = 0;
    std::vector<Arg> args;
    std::vector<std::int32_t> results;
    std::vector<plug_value> raw_args;
    plug_node raw{};
  };

  int value(plug_dtype dtype, Dims sizes, Dims strides) {
    Value made{dtype, std::move(sizes), std::move(strides), {}};
    values_.push_back(std::move(made));
    return static_cast<int>(values_.size()) - 1;
  }

  void finish_value(Value& v) const {
    v.raw = {};
    v.raw.size = sizeof v.raw;
    v.raw.dtype = v.dtype;
    v.raw.ndim = static_cast<std::int32_t>(v.sizes.size());
    v.raw.sizes = v.sizes.data();
    v.raw.strides = v.strides.empty() ? nullptr : v.strides.data();
    if (!v.is_constant) return;
    v.raw.flags = PLUG_GRAPH_CONSTANT;
    v.strides = dense_strides(v.sizes);
    v.data.mem = on_host(v.bytes.data());
    v.data.dtype = v.dtype;
    v.data.ndim = v.raw.ndim;
    v.data.sizes = v.sizes.data();
    v.data.strides = v.strides.data();
    v.raw.data = &v.data;
  }

  void finish_node(Node& n) const {
    n.raw_args.clear();
    for (Arg& arg : n.args) {
      if (arg.value.tag == PLUG_VALUE_INTS || arg.value.tag == PLUG_VALUE_REFS) {
        arg.value.as.ints = arg.ints.data();
        arg.value.count = static_cast<std::uint32_t>(arg.ints.size());
      }
      if (arg.value.tag == PLUG_VALUE_STR) {
        arg.value.as.str = arg.text.c_str();
        arg.value.count = static_cast<std::uint32_t>(arg.text.size());
      }
      n.raw_args.push_back(arg.value);
    }
    n.raw = {};
    n.raw.size = sizeof n.raw;
    n.raw.op = n.op;
    n.raw.schema = plugin_.compiler().schemas[n.op];
    n.raw.args = n.raw_args.data();
    n.raw.results = n.results.data();
    n.raw.arg_count = static_cast<std::uint32_t>(n.raw_args.size());
    n.raw.result_count = static_cast<std::uint32_t>(n.results.size());
  }

  const GraphPlugin& plugin_;
  std::deque<plug_symbol> symbols_;
  std::deque<Value> values_;
  std::deque<Node> nodes_;
  std::vector<std::int32_t> inputs_, outputs_, updates_;
  std::vector<const plug_symbol*> raw_symbols_;
  std::vector<const plug_graph_value*> raw_values_;
  std::vector<const plug_node*> raw_nodes_;
  plug_graph graph_{};
};

using Content = std::vector<double>;

// A tensor in device memory, with room before and after it that must stay as it is.
class DeviceTensor {
 public:
  DeviceTensor(const GraphPlugin& plugin, plug_dtype dtype, Dims sizes, Dims strides)
      : plugin_(plugin),
        sizes_(std::move(sizes)),
        strides_(strides.empty() ? dense_strides(sizes_) : std::move(strides)) {
    std::int64_t low = 0, high = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t reach = (sizes_[d] - 1) * strides_[d];
      *(reach < 0 ? &low : &high) += reach;
      count_ *= sizes_[d];
    }
    bytes_ = PLUG_DTYPE_BYTES(dtype);
    const std::uint64_t room = static_cast<std::uint64_t>(high - low) * bytes_ + 2 * kGuard;
    if (plugin.runtime().mem_alloc(0, room, &base_) != PLUG_OK) throw std::runtime_error(last_error);
    void* view = nullptr;
    plugin.runtime().host_view(0, base_, &view);
    view_ = static_cast<unsigned char*>(view);
    std::memset(view_, 0x5A, room);
    tensor_.mem = {base_, kGuard + static_cast<std::uint64_t>(-low) * bytes_, 0, 0};
    tensor_.dtype = dtype;
    tensor_.ndim = static_cast<std::int32_t>(sizes_.size());
    tensor_.sizes = sizes_.data();
    tensor_.strides = strides_.data();
    if (count_ == 0) tensor_.mem = {nullptr, 0, 0, 0};
    value_.tag = PLUG_VALUE_TENSOR;
    value_.as.tensors = &tensor_;
    room_ = room;
  }
  ~DeviceTensor() {
    plugin_.runtime().device_sync(0);
    plugin_.runtime().mem_free(0, base_);
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  const plug_value& value() const { return value_; }
  std::int64_t count() const { return count_; }
  void set(const Content& content) {
    for (std::int64_t i = 0; i < count_; ++i)
      store_element(at(i), tensor_.dtype, content.at(static_cast<std::size_t>(i)));
  }
  Content get() const {
    Content made;
    for (std::int64_t i = 0; i < count_; ++i) made.push_back(load_element(at(i), tensor_.dtype));
    return made;
  }
  bool is_guarded() const {
    for (std::uint64_t i = 0; i < kGuard; ++i) {
      if (view_[i] != 0x5A || view_[room_ - 1 - i] != 0x5A) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kGuard = 256;

  unsigned char* at(std::int64_t index) const {
    std::int64_t offset = 0;
    for (std::size_t d = sizes_.size(); d-- > 0;) {
      offset += index % sizes_[d] * strides_[d];
      index /= sizes_[d];
    }
    return view_ + tensor_.mem.offset + offset * static_cast<std::int64_t>(bytes_);
  }

  const GraphPlugin& plugin_;
  Dims sizes_, strides_;
  std::int64_t count_ = 1;
  std::uint64_t bytes_ = 0, room_ = 0;
  void* base_ = nullptr;
  unsigned char* view_ = nullptr;
  plug_tensor tensor_{};
  plug_value value_{};
};

class Compiled {
 public:
  explicit Compiled(Graph& graph, const GraphPlugin& plugin = GraphPlugin::shared())
      : graph_(graph), plugin_(plugin) {
    plug_compile wish{};
    wish.size = sizeof wish;
    wish.graph = &graph.finish();
    status = plugin.compiler().compile(&wish, &engine);
    if (status != PLUG_OK) error = last_error;
  }
  ~Compiled() {
    if (engine != nullptr) plugin_.compiler().engine_destroy(0, engine);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  // What the outputs are for these inputs and symbols. Each input's content in the order of its indices.
  std::vector<Content> run(const std::vector<Content>& inputs, const Dims& symbols = {},
                           plug_stream stream = nullptr) {
    EXPECT_EQ(status, PLUG_OK) << error;
    if (status != PLUG_OK) return {};
    std::deque<DeviceTensor> in, out;
    std::vector<plug_value> args, results;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      add(in, graph_.inputs()[i], symbols);
      in.back().set(inputs[i]);
      args.push_back(in.back().value());
    }
    for (const std::int64_t symbol : symbols) args.push_back(integer_arg(symbol).value);
    for (std::size_t o = 0; o < graph_.outputs().size(); ++o) {
      const int updated = graph_.updates()[o];
      if (updated < 0) add(out, graph_.outputs()[o], symbols);
      results.push_back(updated < 0 ? out.back().value() : in[place_of(updated)].value());
    }
    call(args, results, stream);
    std::vector<Content> contents;
    std::size_t next = 0;
    for (const std::int32_t updated : graph_.updates())
      contents.push_back(updated < 0 ? out[next++].get() : in[place_of(updated)].get());
    for (const DeviceTensor& tensor : out) EXPECT_TRUE(tensor.is_guarded());
    for (const DeviceTensor& tensor : in) EXPECT_TRUE(tensor.is_guarded());
    return contents;
  }

  std::string text() const {
    plug_engine_info info{};
    info.size = sizeof info;
    EXPECT_EQ(plugin_.compiler().engine_info(0, engine, &info), PLUG_OK);
    return info.text;
  }
  void replace(plug_engine other) {
    plugin_.compiler().engine_destroy(0, engine);
    engine = other;
  }

  plug_status status;
  std::string error;
  plug_engine engine = nullptr;

 private:
  static Dims filled(const Dims& sizes, const Dims& symbols) {
    Dims made = sizes;
    for (std::int64_t& size : made) size = size < 0 ? symbols[static_cast<std::size_t>(-1 - size)] : size;
    return made;
  }
  void add(std::deque<DeviceTensor>& to, int value, const Dims& symbols) {
    const Graph::Value& v = graph_.described(value);
    to.emplace_back(plugin_, v.dtype, filled(v.sizes, symbols), filled(v.strides, symbols));
  }
  std::size_t place_of(int input) const {
    const auto& inputs = graph_.inputs();
    return static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), input) - inputs.begin());
  }
  void call(const std::vector<plug_value>& args, std::vector<plug_value>& results, plug_stream stream) {
    plug_call made{};
    made.size = sizeof made;
    made.stream = stream;
    made.user = engine;
    made.args = args.data();
    made.arg_count = static_cast<std::uint32_t>(args.size());
    made.results = results.data();
    made.result_count = static_cast<std::uint32_t>(results.size());
    EXPECT_EQ(plugin_.compiler().run(&made), PLUG_OK) << last_error;
    EXPECT_EQ(plugin_.runtime().device_sync(0), PLUG_OK);
    for (void* memory : plugin_.host().scratch_memory) plugin_.runtime().mem_free(0, memory);
    plugin_.host().scratch_memory.clear();
  }

  Graph& graph_;
  const GraphPlugin& plugin_;
};

// Numbers between -range and range, the same for each seed.
inline Content random_content(std::size_t count, std::uint64_t seed, double range = 2) {
  Content made;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    made.push_back((static_cast<double>(seed >> 11) * 0x1p-52 - 1) * range);
  }
  return made;
}

// As float32 has them.
inline Content as_floats(Content content) {
  for (double& value : content) value = static_cast<float>(value);
  return content;
}

}  // namespace sim_test
