#include "toolchain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string_view>

#include "error.h"
#include "library_id.h"
#include "torchplug/plug.hpp"

extern char** environ;

namespace torchplug::sim::compiler {
namespace {

// No option that changes what NaN, infinity or a signed zero become.
constexpr const char* kOptions[] = {"-x",
                                    "c++",
                                    "-std=gnu++17",
                                    "-O3",
                                    "-fPIC",
                                    "-shared",
                                    "-march=native",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-ffp-contract=off",
                                    "-fopenmp-simd",
                                    "-fwrapv",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fvisibility=default",
                                    "-w"};

struct Closed {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closed>;

bool is_program(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0;
}

// As a shell would find it; empty if it is not there.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* const variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!path.empty()) {
    const std::string candidate = std::string(path.substr(0, path.find(':'))) + "/" + name;
    if (is_program(candidate)) return candidate;
    const auto next = path.find(':');
    path.remove_prefix(next == std::string_view::npos ? path.size() : next + 1);
  }
  return "";
}

// The words of CXX: "ccache g++" are two.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> made;
  while (!text.empty()) {
    const auto end = text.find(' ');
    if (end != 0) made.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return made;
}

// Nothing can be compiled: the user is told once, and operators run one by one.
[[noreturn]] void lack_compiler(const std::string& why) {
  static std::once_flag told;
  std::call_once(told, [&] {
    constexpr std::int32_t kWarning = 2;
    plug::host->log(plug::host, kWarning, (why + " Until then operators run one by one.").c_str());
  });
  fail(PLUG_UNSUPPORTED, why);
}

std::vector<std::string> find_compiler() {
  const char* const chosen = std::getenv("CXX");
  std::vector<std::string> command = words(chosen != nullptr ? chosen : "");
  if (!command.empty()) {
    command[0] = find_program(command[0]);
    if (!command[0].empty()) return command;
    lack_compiler(std::string("The C++ compiler that CXX names, ") + chosen +
                  ", is not there: install it, or set CXX to another.");
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    const std::string found = find_program(name);
    if (!found.empty()) return {found};
  }
  lack_compiler("No C++ compiler (c++, g++ or clang++) is in PATH, and CXX names none: install one.");
}

// A child process and the group of all that it starts.
class Child {
 public:
  Child(const std::vector<std::string>& command, const std::string& output, const std::string& temporary) {
    std::vector<char*> args;
    args.reserve(command.size() + 1);
    for (const std::string& word : command) args.push_back(const_cast<char*>(word.c_str()));
    args.push_back(nullptr);
    const std::string place = "TMPDIR=" + temporary, locale = "LC_ALL=C";
    std::vector<char*> variables = {const_cast<char*>(place.c_str()), const_cast<char*>(locale.c_str())};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      if (std::strncmp(*entry, "TMPDIR=", 7) != 0 && std::strncmp(*entry, "LC_ALL=", 7) != 0)
        variables.push_back(*entry);
    }
    variables.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawn(&pid_, args[0], &actions, &attributes, args.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
      lack_compiler("The C++ compiler " + command[0] + " could not be started: " + std::strerror(error) +
                    ". Set CXX to another.");
  }
  ~Child() {
    if (ended_) return;
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether it has ended within some milliseconds.
  bool wait(int milliseconds) {
    for (int waited = 0; !ended_; waited += 2) {
      const pid_t got = waitpid(pid_, &status_, WNOHANG);
      ended_ = got == pid_ || (got < 0 && errno != EINTR);
      if (ended_ || waited >= milliseconds) break;
      poll(nullptr, 0, 2);
    }
    return ended_;
  }
  bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  // That ended it, or 0.
  int signal() const { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }

 private:
  pid_t pid_ = 0;
  int status_ = -1;
  bool ended_ = false;
};

// The first line of what was printed that speaks of an error, or else the first of all.
std::string first_line(const std::string& path) {
  constexpr std::size_t kMost = 300;
  const std::vector<char> bytes = read_file(path);
  std::string_view text(bytes.data(), bytes.size());
  const auto at = text.find("error");
  const auto before = at == std::string_view::npos ? at : text.rfind('\n', at);
  if (before != std::string_view::npos) text.remove_prefix(before + 1);
  return std::string(text.substr(0, std::min(text.find('\n'), kMost)));
}

// Says why there is no library.
[[noreturn]] void blame(const std::string& compiler, const Child& child, const std::string& messages) {
  const std::string line = first_line(messages);
  if (child.signal() != 0) {
    fail(PLUG_INTERNAL, "The C++ compiler ", compiler, " crashed with signal ", child.signal(),
         line.empty() ? "." : ": " + line);
  }
  if (line.empty())
    lack_compiler("The C++ compiler " + compiler + " fails and does not say why: set CXX to another.");
  fail(PLUG_INTERNAL, "The C++ compiler ", compiler, " refuses the source: ", line);
}

std::string ask_version(const std::vector<std::string>& compiler) {
  const PrivateDirectory directory;
  std::vector<std::string> command = compiler;
  command.emplace_back("--version");
  Child child(command, directory.file("version"), directory.path());
  while (!child.wait(1000)) continue;
  const std::vector<char> bytes = read_file(directory.file("version"));
  const std::string text(bytes.begin(), bytes.end());
  return text.substr(0, text.find('\n'));
}

// The processor's model and what it can do.
std::string processor() {
  const File file(std::fopen("/proc/cpuinfo", "re"));
  std::string made;
  char line[8192];
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
    const std::string_view text(line);
    const bool tells = text.starts_with("model name") || text.starts_with("flags") ||
                       text.starts_with("Features") || text.starts_with("CPU part");
    if (tells) made += text;
    if (text == "\n") break;
  }
  return made;
}

}  // namespace

PrivateDirectory::PrivateDirectory() {
  const char* const place = std::getenv("TMPDIR");
  path_ = std::string(place != nullptr && place[0] == '/' ? place : "/tmp") + "/torchplug-sim-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    fail(PLUG_UNSUPPORTED, "No directory for the compiler could be made at ", path_, ": ",
         std::strerror(errno), ".");
  }
}

PrivateDirectory::~PrivateDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<char> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  std::vector<char> bytes;
  char block[65536];
  while (file) {
    const std::size_t got = std::fread(block, 1, sizeof block, file.get());
    if (got == 0) break;
    bytes.insert(bytes.end(), block, block + got);
  }
  return bytes;
}

void write_file(const std::string& path, const void* data, std::size_t bytes) {
  File file(std::fopen(path.c_str(), "wbe"));
  const bool is_written = file && std::fwrite(data, 1, bytes, file.get()) == bytes;
  if (!is_written || std::fclose(file.release()) != 0) {
    fail(PLUG_UNSUPPORTED, "The file ", path, " could not be written: ", std::strerror(errno), ".");
  }
}

const std::string& build_identity() {
  static const std::string& made = *[] {
    auto text = std::make_unique<std::string>("sim " + library_id() + "\n");
    try {
      const std::vector<std::string> compiler = find_compiler();
      for (const std::string& word : compiler) *text += word + " ";
      *text += ask_version(compiler) + "\n";
    } catch (const Failure&) {
      *text += "no compiler\n";
    }
    for (const char* option : kOptions) *text += std::string(option) + " ";
    *text += "\n" + processor();
    return text.release();
  }();
  return made;
}

std::vector<char> build_library(const std::string& source, const Progress& progress) {
  std::vector<std::string> command = find_compiler();
  const PrivateDirectory directory;
  write_file(directory.file("engine.cpp"), source.data(), source.size());
  command.insert(command.end(), std::begin(kOptions), std::end(kOptions));
  command.insert(command.end(), {"-o", directory.file("engine.so"), directory.file("engine.cpp"), "-lm"});
  Child child(command, directory.file("messages"), directory.path());
  while (!child.wait(20)) {
    if (progress(0.5)) fail(PLUG_TIMEOUT, "The compile was stopped.");
  }
  std::vector<char> library;
  if (child.succeeded()) library = read_file(directory.file("engine.so"));
  if (library.empty()) blame(command[0], child, directory.file("messages"));
  return library;
}

}  // namespace torchplug::sim::compiler
