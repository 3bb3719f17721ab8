#include "compiler/compiler.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compiler/emit.h"
#include "compiler/engine.h"
#include "compiler/engine_file.h"
#include "compiler/lowering.h"
#include "compiler/toolchain.h"
#include "error.h"

struct plug_engine_s {
  std::shared_ptr<const torchplug::sim::compiler::Engine> engine;
};

namespace torchplug::sim::compiler {
namespace {

using Clock = std::chrono::steady_clock;

bool takes_whole_models = false;
double least_seconds = 0;

// Whether the host wants the engine no more.
bool is_unwanted(const plug_compile& wish, double done) {
  return wish.progress != nullptr && wish.progress(&wish, done) != 0;
}

// A compiler of minutes, for tests of what waits for one.
void take_time(const plug_compile& wish, Clock::time_point begin) {
  for (;;) {
    const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (passed >= least_seconds) return;
    if (is_unwanted(wish, passed / least_seconds)) fail(PLUG_TIMEOUT, "The compile was stopped.");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

plug_engine handle_of(EngineParts parts) {
  auto engine = std::make_shared<const Engine>(std::move(parts));
  return std::make_unique<plug_engine_s>(plug_engine_s{std::move(engine)}).release();
}

// This compiler has none: whoever names one has misspelt it, or means another device.
void refuse_options(const plug_compile& wish) {
  if (wish.options == nullptr || wish.options[0] == nullptr) return;
  fail(PLUG_INVALID, "Option 'plugin' names '", wish.options[0],
       "', but sim's compiler has no options. Leave it out.");
}

plug_status compile(const plug_compile* wish, plug_engine* engine) {
  return guarded([&] {
    refuse_options(*wish);
    const Clock::time_point begin = Clock::now();
    if (is_unwanted(*wish, 0)) fail(PLUG_TIMEOUT, "The compile was stopped.");
    Program program;
    lower(*wish->graph, takes_whole_models, program);
    const Schedule scheduled = schedule(program);
    EngineParts parts;
    parts.source = emit(program, scheduled);
    parts.constants = program.constants;
    parts.checks = program.checks;
    parts.library = build_library(parts.source, [&](double done) { return is_unwanted(*wish, done); });
    take_time(*wish, begin);
    if (is_unwanted(*wish, 1)) fail(PLUG_TIMEOUT, "The compile was stopped.");
    *engine = handle_of(std::move(parts));
  });
}

plug_status run(const plug_call* call) {
  return guarded([&] {
    const auto* const handle = static_cast<const plug_engine_s*>(call->user);
    Engine::run(handle->engine, plug::Call(*call));
  });
}

plug_status engine_destroy(std::int32_t /*device*/, plug_engine engine) {
  return guarded([&] { const std::unique_ptr<plug_engine_s> owned(engine); });
}

plug_status engine_info(std::int32_t /*device*/, plug_engine engine, plug_engine_info* info) {
  return guarded([&] {
    plug_engine_info filled{};
    filled.size = info->size;
    filled.device_bytes = engine->engine->parts().constants.size();
    filled.text = engine->engine->parts().source.c_str();
    std::memcpy(info, &filled, std::min<std::size_t>(info->size, sizeof filled));
  });
}

plug_status engine_identity(std::int32_t /*device*/, const char** text) {
  return guarded([&] { *text = build_identity().c_str(); });
}

plug_status engine_save(std::int32_t /*device*/, plug_engine engine,
                        void (*write)(void* context, const void* data, std::uint64_t n), void* context) {
  return guarded([&] {
    const std::vector<char> bytes = pack(engine->engine->parts());
    write(context, bytes.data(), bytes.size());
  });
}

plug_status engine_load(std::int32_t /*device*/, const void* data, std::uint64_t bytes, plug_engine* engine) {
  return guarded([&] {
    auto parts = unpack(static_cast<const char*>(data), bytes);
    if (!parts) fail(PLUG_UNSUPPORTED, "The saved engine is damaged, or of another compiler or processor.");
    *engine = handle_of(std::move(*parts));
  });
}

// Never destroyed: the host reads it to the end of the process.
std::vector<const char*>& schemas() {
  static std::vector<const char*>& instance = *std::make_unique<std::vector<const char*>>().release();
  return instance;
}

}  // namespace

plug_compiler make_compiler(const Options& options) {
  takes_whole_models = options.compiler == CompilerMode::kWhole;
  least_seconds = options.compile_seconds;
  schemas().clear();
  for (const Operator* known : operators(takes_whole_models)) schemas().push_back(known->schema);
  const bool takes_symbols = options.compiler != CompilerMode::kStatic;
  return {
      .size = sizeof(plug_compiler),
      .schema_count = static_cast<std::uint32_t>(schemas().size()),
      .schemas = schemas().data(),
      .flags = std::uint64_t{PLUG_COMPILER_STRIDED} | PLUG_COMPILER_UPDATES |
               (takes_symbols ? PLUG_COMPILER_SYMBOLS : 0),
      .compile = compile,
      .run = run,
      .engine_destroy = engine_destroy,
      .engine_info = engine_info,
      .identity = engine_identity,
      .engine_save = engine_save,
      .engine_load = engine_load,
  };
}

}  // namespace torchplug::sim::compiler
