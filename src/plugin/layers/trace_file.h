#pragma once
// The file that the layer trace writes: docs/trace.md has its format. What has been written survives a crash
// of the process: a call stands there before it is made, its answer behind it once there is one. Several
// processes and plugins write several files. Belongs to a TraceLayer; any thread may write.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/namespaces.h"

namespace torchplug::plugin::tracing {

class TraceFile {
 public:
  // Writes `header` into the first of PATH, PATH.2, PATH.3 ... that nobody else writes. Throws c10::Error if
  // there can be no such file.
  TraceFile(std::string path, std::string header);

  // A call that is about to be made; gives its number.
  uint64_t begin(const std::string& call);
  // What came of it: on the line of the call, unless another line has been begun since.
  void end(uint64_t number, const std::string& answer);
  // Something that has no answer.
  void note(const std::string& event);

 private:
  void open();
  void write(const std::string& text);
  uint64_t begin_line(const std::string& text);

  const std::string path_;
  const std::string header_;
  FileDescriptor file_;
  pid_t owner_ = 0;  // a process that was forked off has a file of its own
  uint64_t lines_ = 0;
  uint64_t open_line_ = 0;  // that has not ended; 0: none
};

}  // namespace torchplug::plugin::tracing
