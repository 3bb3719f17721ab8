#include "engine.h"

#include <dlfcn.h>

#include <cstddef>
#include <new>
#include <utility>

#include "error.h"
#include "launch.h"
#include "location.h"
#include "toolchain.h"

namespace torchplug::sim::compiler {
namespace {

// As prelude.cpp writes them.
struct GeneratedRng {
  std::uint64_t seed, offset;
};
struct GeneratedArgs {
  char* const* in;
  char* const* out;
  char* scratch;
  const char* constants;
  const std::int64_t* symbols;
  const GeneratedRng* rng;
  std::int32_t* failed;
};

// Memory of one thread for rows between passes; it grows and stays.
char* rows_of_thread(std::size_t bytes) {
  struct Room {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  thread_local Room room;
  constexpr std::size_t kAlignment = 64;
  if (bytes == 0) return nullptr;
  if (room.size < bytes + kAlignment) {
    room.size = bytes + kAlignment;
    room.bytes = std::make_unique_for_overwrite<std::byte[]>(room.size);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(room.bytes.get());
  return reinterpret_cast<char*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

// One run, or each replay of it.
class Run {
 public:
  Run(std::shared_ptr<const Engine> engine, const plug::Call& call) : engine_(std::move(engine)) {
    const plug_call& raw = call.raw();
    const std::int32_t* const shape = engine_->functions().shape;
    const bool fits = raw.arg_count == static_cast<std::uint32_t>(shape[0] + shape[2]) &&
                      raw.result_count == static_cast<std::uint32_t>(shape[1]);
    if (!fits)
      fail(PLUG_INVALID, "The engine takes ", shape[0], " inputs and ", shape[2], " symbols and gives ",
           shape[1], " outputs.");
    for (std::int32_t i = 0; i < shape[0]; ++i) places_.push_back(place_of(raw.args[i]));
    for (std::int32_t i = 0; i < shape[1]; ++i) places_.push_back(place_of(raw.results[i]));
    for (std::int32_t i = 0; i < shape[2]; ++i) symbols_.push_back(raw.args[shape[0] + i].as.i);
    take_scratch(call);
    for (std::int32_t i = 0; i < shape[3]; ++i) draw(call, i);
    device_ = raw.device;
    stream_ = raw.stream;
    sequence_ = raw.sequence;
  }

  void operator()() noexcept {
    const Engine::Functions& functions = engine_->functions();
    std::vector<GeneratedRng> rng = rng_;
    for (std::size_t i = 0; i < rng.size(); ++i) {
      if (moved_[i] != nullptr) rng[i] = {moved_[i][0], rng[i].offset + moved_[i][1]};
    }
    std::int32_t failed = 0;
    const GeneratedArgs args{places_.data(),  places_.data() + functions.shape[0],
                             scratch_,        engine_->parts().constants.data(),
                             symbols_.data(), rng.data(),
                             &failed};
    for (std::int32_t step = 0; step < functions.shape[4]; ++step) {
      const auto bytes = static_cast<std::size_t>(functions.row_bytes(step, symbols_.data()));
      share(functions.rows(step, symbols_.data()), functions.grain(step, symbols_.data()),
            [&](std::int64_t begin, std::int64_t end) {
              functions.step(step, &args, rows_of_thread(bytes), begin, end);
            });
    }
    if (failed != 0) {
      plug::host->report(plug::host, device_, stream_, sequence_, PLUG_INVALID,
                         engine_->parts().checks[static_cast<std::size_t>(failed - 1)].c_str());
    }
  }

 private:
  static char* place_of(const plug_value& value) {
    if (value.tag == PLUG_NONE) return nullptr;
    if (value.tag != PLUG_VALUE_TENSOR) fail(PLUG_INVALID, "An engine takes tensors and symbols.");
    const plug_tensor& tensor = value.as.tensors[0];
    if (!is_plain(tensor)) fail(PLUG_UNSUPPORTED, "An engine takes strided tensors without a lazy bit.");
    return static_cast<char*>(usable(tensor).mem.base);
  }

  void take_scratch(const plug::Call& call) {
    const std::int64_t bytes = engine_->functions().scratch(symbols_.data());
    if (bytes <= 0) return;
    plug_mem mem{};
    plug::check(plug::host->scratch(plug::host, &call.raw(), static_cast<std::uint64_t>(bytes), &mem));
    scratch_ = reinterpret_cast<char*>(locate(mem, static_cast<std::uint64_t>(bytes)).address);
  }

  // The numbers of random.cpp: whole groups of 64.
  void draw(const plug::Call& call, std::int32_t stage) {
    const std::int64_t draws = engine_->functions().draws(stage, symbols_.data());
    rng_.push_back({});
    moved_.push_back(nullptr);
    if (draws == 0) return;
    const plug_rng rng = call.rng(static_cast<std::uint64_t>((draws + 63) / 64 * 64));
    rng_.back() = {rng.seed, rng.offset};
    if (rng.location.base == nullptr) return;
    moved_.back() =
        reinterpret_cast<const std::uint64_t*>(locate(rng.location, 2 * sizeof(std::uint64_t)).address);
  }

  std::shared_ptr<const Engine> engine_;
  std::vector<char*> places_;
  std::vector<std::int64_t> symbols_;
  std::vector<GeneratedRng> rng_;
  std::vector<const std::uint64_t*> moved_;  // of a captured call: the seed, and what to add to the offset
  char* scratch_ = nullptr;
  std::int32_t device_ = 0;
  plug_stream stream_ = nullptr;
  std::uint64_t sequence_ = 0;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) fail(PLUG_UNSUPPORTED, "The engine's library has no ", name, ".");
}

}  // namespace

Engine::Engine(EngineParts parts) : parts_(std::move(parts)) {
  {
    const PrivateDirectory directory;
    const std::string path = directory.file("engine.so");
    write_file(path, parts_.library.data(), parts_.library.size());
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (library_ == nullptr) fail(PLUG_UNSUPPORTED, "The engine's library cannot be loaded: ", dlerror(), ".");
  find(library_, "engine_step", functions_.step);
  find(library_, "engine_rows", functions_.rows);
  find(library_, "engine_grain", functions_.grain);
  find(library_, "engine_row_bytes", functions_.row_bytes);
  find(library_, "engine_draws", functions_.draws);
  find(library_, "engine_scratch", functions_.scratch);
  find(library_, "engine_shape", functions_.shape);
}

Engine::~Engine() {
  if (library_ != nullptr) dlclose(library_);
}

void Engine::run(const std::shared_ptr<const Engine>& engine, const plug::Call& call) {
  launch_kept(call, "sim::engine", std::make_unique<Run>(engine, call));
}

}  // namespace torchplug::sim::compiler
