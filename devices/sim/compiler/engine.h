#pragma once
// A compiled graph: the library, what it was made of, and how it runs on a stream. Owned by the host's
// plug_engine; runs keep what they need alive. Any thread may call anything.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchplug/plug.hpp"

namespace torchplug::sim::compiler {

// All that an engine is: what is saved, and loaded again.
struct EngineParts {
  std::vector<char> library;
  std::vector<char> constants;
  std::vector<std::string> checks;
  std::string source;
};

class Engine {
 public:
  explicit Engine(EngineParts parts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const EngineParts& parts() const { return parts_; }
  // Puts one run on the call's stream.
  static void run(const std::shared_ptr<const Engine>& engine, const plug::Call& call);

  struct Functions {
    void (*step)(std::int32_t step, const void* args, char* rows, std::int64_t begin, std::int64_t end);
    std::int64_t (*rows)(std::int32_t step, const std::int64_t* symbols);
    std::int64_t (*grain)(std::int32_t step, const std::int64_t* symbols);
    std::int64_t (*row_bytes)(std::int32_t step, const std::int64_t* symbols);
    std::int64_t (*draws)(std::int32_t stage, const std::int64_t* symbols);
    std::int64_t (*scratch)(const std::int64_t* symbols);
    const std::int32_t* shape;  // inputs, outputs, symbols, random stages, steps
  };
  const Functions& functions() const { return functions_; }

 private:
  EngineParts parts_;
  void* library_ = nullptr;
  Functions functions_{};
};

}  // namespace torchplug::sim::compiler
