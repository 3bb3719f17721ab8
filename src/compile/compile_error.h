#pragma once
// A compile that has failed, told apart from a failed run: whoever prefers slow operators to none can go on.

#include <stdexcept>

#include "base/namespaces.h"

namespace torchplug::compile {

// The plugin's words, and where the user wrote what was compiled.
class CompileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// It was stopped, since somebody did not want the engine any more.
class CompileStopped final : public CompileError {
 public:
  using CompileError::CompileError;
};

}  // namespace torchplug::compile
