#pragma once
// Work that may wait for compilers, done without the GIL: Ctrl-C ends it, and a terminal shows how long it
// takes.

#include <torch/csrc/utils/pybind.h>

#include <optional>

#include "base/namespaces.h"
#include "compile/compilation.h"

namespace torchplug::python {

// What is shown meanwhile: torchplug/compile/_progress.py. None: nothing.
void set_compile_display(pybind11::object shown);

class Wait {
 public:
  // Throws what a signal has raised.
  void tick();
  void end();

 private:
  void stay_if_ending();

  std::optional<compile::Waiter> waiter_;  // most calls wait for nothing
  bool is_shown_ = false;
};

// work(interruption), without the GIL.
template <class Work>
auto while_waiting(const Work& work) {
  const pybind11::gil_scoped_release no_gil;
  Wait wait;
  try {
    auto result = work([&wait] { wait.tick(); });
    wait.end();
    return result;
  } catch (...) {
    wait.end();
    throw;
  }
}

}  // namespace torchplug::python
