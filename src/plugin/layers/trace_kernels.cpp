#include "plugin/layers/trace_kernels.h"

#include <memory>
#include <string>
#include <string_view>

#include "base/immortal.h"
#include "plugin/layer.h"
#include "plugin/layers/trace_text.h"

namespace torchplug::plugin::tracing {
namespace {

// Writes down what a kernel asks of the host while it runs.
class TracedServices final : public CallServices {
 public:
  TracedServices(Trace& trace, uint64_t call, const plug_call& of)
      : trace_(trace), call_(call), of_(of), below_(*static_cast<CallServices*>(of.host_private)) {}

  plug_status scratch(uint64_t bytes, plug_mem* mem) override {
    const uint64_t line = begin("scratch", " bytes=" + std::to_string(bytes));
    const plug_status status = below_.scratch(bytes, mem);
    return end(line, status, status != PLUG_OK ? "" : " mem=" + text().memory(*mem));
  }

  plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                     const int64_t* strides) override {
    const uint64_t line = begin("output", " index=" + std::to_string(index) + " dtype=" + dtype_text(dtype) +
                                              " sizes=" + integers_text(sizes, ndim) + " strides=" +
                                              (strides == nullptr ? "none" : integers_text(strides, ndim)));
    return end(line, below_.output(index, dtype, ndim, sizes, strides), "");
  }

  plug_status rng(uint64_t draws, plug_rng* rng) override {
    const uint64_t line = begin("rng", " draws=" + std::to_string(draws));
    const plug_status status = below_.rng(draws, rng);
    if (status != PLUG_OK) return end(line, status, "");
    return end(line, status,
               " seed=" + std::to_string(rng->seed) + " offset=" + std::to_string(rng->offset) +
                   " location=" + text().memory(rng->location));
  }

 private:
  uint64_t begin(const char* function, const std::string& what) {
    return trace_.file.begin(function + std::string(" call=") + std::to_string(call_) + what);
  }
  plug_status end(uint64_t line, plug_status status, const std::string& what) {
    trace_.file.end(line, trace_.answer(status) + what);
    return status;
  }
  CallText text() { return {trace_.names, trace_.contents, {of_.device, of_.stream}}; }

  Trace& trace_;
  const uint64_t call_;
  const plug_call& of_;
  CallServices& below_;
};

class TracedKernel;

// What a plugin's `prepare` kept, with what it is called in the trace.
struct TracedState {
  const TracedKernel& kernel;
  void* below;
  std::string name;
};

class TracedKernel {
 public:
  static void wrap(plug_kernel& kernel, Trace& trace) {
    immortal<TracedKernel>(trace, kernel, EngineKernel{})->take_place_of(kernel);
  }
  static std::shared_ptr<void> wrap(plug_kernel& kernel, Trace& trace, const EngineKernel& engine) {
    auto traced = std::make_shared<TracedKernel>(trace, kernel, engine);
    traced->take_place_of(kernel);
    return traced;
  }

  TracedKernel(Trace& trace, const plug_kernel& below, const EngineKernel& engine)
      : trace_(trace), below_(below), engine_(engine) {}

 private:
  void take_place_of(plug_kernel& kernel) const {
    kernel.user = this;
    kernel.fn = [](const plug_call* call) { return of(call).run(*call); };
    if (kernel.prepare != nullptr) {
      kernel.prepare = [](const plug_call* call, void** state) { return of(call).prepare(*call, state); };
      kernel.forget = [](void* state) {
        const std::unique_ptr<TracedState> owned(static_cast<TracedState*>(state));
        if (owned != nullptr) owned->kernel.forget(*owned);
      };
    }
    if (kernel.shape != nullptr) {
      kernel.shape = [](const plug_call* call) { return of(call).shape(*call); };
    }
  }

  static const TracedKernel& of(const plug_call* call) {
    return *static_cast<const TracedKernel*>(call->user);
  }

  plug_status run(const plug_call& call) const {
    CallText text(trace_.names, trace_.contents, {call.device, call.stream});
    const bool is_read = (call.flags & PLUG_CALL_CAPTURED) == 0;
    const uint64_t line = begin(function(), call, text, is_read);
    plug_status status = PLUG_OK;
    with_services(line, call, [&](const plug_call& inside) { status = below_.fn(&inside); });
    std::string answer = trace_.answer(status);
    if (status == PLUG_OK) {
      answer += " results=" + text.values(call.results, call.result_count, is_read);
      const std::string written = is_read ? text.written(call.args, call.arg_count) : "";
      if (!written.empty()) answer += " written=[" + written + "]";
    }
    trace_.file.end(line, answer);
    return status;
  }

  plug_status prepare(const plug_call& call, void** state) const {
    CallText text(trace_.names, trace_.contents, {call.device, call.stream});
    const uint64_t line = begin("prepare", call, text, /*is_read=*/false);
    plug_status status = PLUG_OK;
    void* kept = nullptr;
    with_services(line, call, [&](const plug_call& inside) { status = below_.prepare(&inside, &kept); });
    std::string answer = trace_.answer(status);
    if (status == PLUG_OK) {
      answer += " state=" + keep(kept, state);
      answer += " results=" + text.values(call.results, call.result_count, false);
    }
    trace_.file.end(line, answer);
    return status;
  }

  plug_status shape(const plug_call& call) const {
    CallText text(trace_.names, trace_.contents, {call.device, call.stream});
    const uint64_t line = begin("shape", call, text, /*is_read=*/false);
    plug_status status = PLUG_OK;
    with_services(line, call, [&](const plug_call& inside) { status = below_.shape(&inside); });
    trace_.file.end(line, trace_.answer(status));
    return status;
  }

  void forget(const TracedState& state) const {
    const uint64_t line = trace_.file.begin("forget state=" + state.name);
    if (below_.forget != nullptr) below_.forget(state.below);
    trace_.file.end(line, "ok");
  }

  // A plugin that keeps nothing is not asked to forget it.
  std::string keep(void* kept, void** state) const {
    *state = nullptr;
    if (kept == nullptr) return "none";
    auto traced = std::make_unique<TracedState>(TracedState{*this, kept, trace_.names.add('p', 0, kept)});
    std::string name = traced->name;
    *state = traced.release();
    return name;
  }

  const char* function() const {
    if (engine_.engine != nullptr) return engine_.function;
    return below_.schema != nullptr ? "kernel" : "any";
  }

  // An engine's kernel has no schema, but an engine.
  std::string subject(const plug_call& call) const {
    if (engine_.engine != nullptr) return " engine=" + trace_.names.find('g', call.device, engine_.engine);
    const char* schema = below_.schema != nullptr ? below_.schema : call.schema;
    const bool is_other = call.schema != nullptr && schema != nullptr && std::string(schema) != call.schema;
    return " schema=" + quoted(schema) + (is_other ? " operator=" + quoted(call.schema) : "");
  }

  uint64_t begin(const char* function, const plug_call& call, CallText& text, bool is_read) const {
    const auto* state = static_cast<const TracedState*>(call.state);
    std::string line = function + subject(call);
    line += " name=" + quoted(call.name) + " device=" + std::to_string(call.device) +
            " stream=" + (call.stream == nullptr ? "s0" : trace_.names.find('s', call.device, call.stream)) +
            " flags=" + hexadecimal_text(call.flags) + " sequence=" + std::to_string(call.sequence) +
            " compute=" + (call.compute == 0 ? "none" : dtype_text(call.compute)) +
            " state=" + (state == nullptr ? "none" : state->name) +
            " args=" + text.values(call.args, call.arg_count, is_read) +
            " results=" + text.values(call.results, call.result_count, false);
    return trace_.file.begin(line);
  }

  // Calls body with the call as the plugin gets it.
  template <class Body>
  void with_services(uint64_t line, const plug_call& call, Body body) const {
    plug_call inside = call;
    inside.user = below_.user;
    if (call.state != nullptr) inside.state = static_cast<const TracedState*>(call.state)->below;
    if (call.host_private == nullptr) return body(inside);
    TracedServices services(trace_, line, call);
    inside.host_private = static_cast<CallServices*>(&services);
    body(inside);
  }

  Trace& trace_;
  const plug_kernel below_;
  const EngineKernel engine_;  // none: an operator's kernel
};

// The functions of a compiler. What they are given and give, but for engines, is too much to write down.
class TracedCompiler {
 public:
  explicit TracedCompiler(Trace& trace) : trace_(trace) {}

  template <class Below, class... Args>
  plug_status call_compiler(const char* name, const Below& below, Args... args) {
    const int32_t device = device_of_call(args...);
    std::string line = name + (" device=" + std::to_string(device));
    (add_in(line, device, args), ...);
    const uint64_t number = trace_.file.begin(line);
    if (std::string_view(name) == "engine_destroy") (forget(device, args), ...);
    const plug_status status = below(args...);
    std::string answer = trace_.answer(status);
    if (status == PLUG_OK) (add_out(answer, device, args), ...);
    trace_.file.end(number, answer);
    return status;
  }

 private:
  template <class T>
  void add_in(std::string& /*line*/, int32_t /*device*/, T /*argument*/) {}
  void add_in(std::string& line, int32_t device, plug_engine engine) {
    line += " engine=" + trace_.names.find('g', device, engine);
  }
  void add_in(std::string& line, int32_t device, const plug_graph* graph) {
    (void)device;
    line += " nodes=" + std::to_string(graph->node_count) + " inputs=" + std::to_string(graph->input_count) +
            " outputs=" + std::to_string(graph->output_count) +
            " symbols=" + std::to_string(graph->symbol_count);
  }
  void add_in(std::string& line, int32_t device, const plug_compile* wish) {
    add_in(line, device, wish->graph);
  }

  template <class T>
  void add_out(std::string& /*answer*/, int32_t /*device*/, T /*argument*/) {}
  void add_out(std::string& answer, int32_t device, plug_engine* engine) {
    answer += " engine=" + (*engine == nullptr ? "none" : trace_.names.add('g', device, *engine));
  }
  void add_out(std::string& answer, int32_t /*device*/, const char** text) {
    answer += " text=" + quoted(*text);
  }

  template <class T>
  void forget(int32_t /*device*/, T /*argument*/) {}
  void forget(int32_t device, plug_engine engine) { trace_.names.remove('g', device, engine); }

  Trace& trace_;
};

}  // namespace

std::string Trace::answer(plug_status status) const {
  std::string text = status_text(status);
  if (status != PLUG_UNSUPPORTED && status < PLUG_INVALID) return text;
  const std::string said = take_plugin_error();
  if (said.empty()) return text;
  host.set_error(&host, said.c_str());
  return text + " said=" + quoted(said.c_str());
}

void trace_kernels(Module& module, Trace& trace) {
  for (plug_kernel& kernel : module.kernels) TracedKernel::wrap(kernel, trace);
  if (module.any) TracedKernel::wrap(*module.any, trace);
  module.engine_layers.emplace_back([&trace](plug_kernel& kernel, const EngineKernel& engine) {
    return TracedKernel::wrap(kernel, trace, engine);
  });
  insert_compiler_layer(module, *immortal<TracedCompiler>(trace));
}

}  // namespace torchplug::plugin::tracing
