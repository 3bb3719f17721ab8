#include "plugin/layers/trace_file.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/immortal.h"
#include "plugin/host.h"

namespace torchplug::plugin::tracing {
namespace {

// Guards all files, and is free in a process that has just been forked off.
std::mutex& files_lock() {
  static std::mutex& lock = []() -> std::mutex& {
    static auto* made = immortal<std::mutex>();
    ::pthread_atfork([] { made->lock(); }, [] { made->unlock(); }, [] { made->unlock(); });
    return *made;
  }();
  return lock;
}

// " thread=2" for all threads but the first that traces.
std::string thread_text() {
  static std::atomic<int> threads{0};
  thread_local const int number = ++threads;
  return number == 1 ? "" : " thread=" + std::to_string(number);
}

}  // namespace

TraceFile::TraceFile(std::string path, std::string header)
    : path_(std::move(path)), header_(std::move(header)) {
  std::lock_guard lock(files_lock());
  open();
  TORCH_CHECK(file_.is_open(), "The trace '", path_, "' cannot be written: ", std::strerror(errno),
              ". Set TORCHPLUG_TRACE to the path of a file that can.");
  // A plugin that is never called leaves the path to one that is: it is opened anew by the first call.
  file_ = FileDescriptor();
  owner_ = 0;
}

void TraceFile::open() {
  file_ = FileDescriptor();
  owner_ = ::getpid();
  open_line_ = 0;
  for (int n = 1; !file_.is_open(); ++n) {
    const std::string name = n == 1 ? path_ : path_ + "." + std::to_string(n);
    FileDescriptor candidate(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0644));
    if (!candidate.is_open()) return;
    if (::flock(candidate.number(), LOCK_EX | LOCK_NB) != 0) continue;
    if (::ftruncate(candidate.number(), 0) != 0) return;
    file_ = std::move(candidate);
  }
  write(header_ + " pid=" + std::to_string(owner_) + "\n");
}

void TraceFile::write(const std::string& text) {
  size_t written = 0;
  while (file_.is_open() && written < text.size()) {
    const ssize_t count = ::write(file_.number(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const std::string why = "the trace '" + path_ + "' ends here: " + std::strerror(errno);
      log_message(2, why.c_str());
      file_ = FileDescriptor();
      return;
    }
    written += static_cast<size_t>(count);
  }
}

uint64_t TraceFile::begin_line(const std::string& text) {
  if (owner_ != ::getpid()) open();
  const uint64_t number = ++lines_;
  std::string line = open_line_ == 0 ? "" : "\n";
  line.append(std::to_string(number)).append(" ").append(text).append(thread_text());
  write(line);
  open_line_ = number;
  return number;
}

uint64_t TraceFile::begin(const std::string& call) {
  std::lock_guard lock(files_lock());
  return begin_line(call);
}

void TraceFile::end(uint64_t number, const std::string& answer) {
  std::lock_guard lock(files_lock());
  std::string line;
  if (open_line_ != number) line.append(open_line_ == 0 ? "" : "\n").append(std::to_string(number));
  write(line.append(" = ").append(answer).append("\n"));
  open_line_ = 0;
}

void TraceFile::note(const std::string& event) {
  std::lock_guard lock(files_lock());
  begin_line(event);
  write("\n");
  open_line_ = 0;
}

}  // namespace torchplug::plugin::tracing
