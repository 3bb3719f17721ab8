#pragma once
// The system's C++ compiler: CXX, else c++, g++ or clang++. Any thread may call anything.

#include <functional>
#include <string>
#include <vector>

namespace torchplug::sim::compiler {

// What a library built here depends on: the code that writes its source, compiler, processor, options.
const std::string& build_identity();

// Gives whether to stop.
using Progress = std::function<bool(double done)>;

// The bytes of a shared library. Fails with PLUG_UNSUPPORTED where there is no compiler that works, which is
// logged once, PLUG_TIMEOUT where `progress` says stop, PLUG_INTERNAL with the first line of the compiler's
// words where it refuses the source or crashes.
std::vector<char> build_library(const std::string& source, const Progress& progress);

// A directory of this process alone, removed with what is in it.
class PrivateDirectory {
 public:
  PrivateDirectory();
  ~PrivateDirectory();
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  std::string file(const char* name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<char> read_file(const std::string& path);
void write_file(const std::string& path, const void* data, std::size_t bytes);

}  // namespace torchplug::sim::compiler
