#include "graph/engine_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "graph/error.h"

namespace torchplug::graph {
namespace {

using base::FileDescriptor;

constexpr std::string_view kSuffix = ".engine";
constexpr std::string_view kUnfinished = ".unfinished-";
constexpr time_t kAbandoned = 3600;  // seconds after which an unfinished file belongs to nobody any more

// In front of the bytes of each file.
struct StoreHeader {
  std::array<char, 16> format;
  Digest key;
  Digest content;
  uint64_t bytes;
};
constexpr std::array<char, 16> kStoreFormat = {'t', 'o', 'r', 'c', 'h', 'p', 'l', 'u',
                                               'g', ' ', 'e', 'n', 'g', '.', '1', '\n'};

// What went wrong inside of this file; it never leaves it.
struct StoreProblem {
  std::string what;
};

[[noreturn]] void give_up(std::string what) { throw StoreProblem{std::move(what)}; }

[[noreturn]] void give_up_on(std::string_view what, const std::string& path) {
  give_up(say(what, " ", path, ": ", std::generic_category().message(errno)));
}

std::string file_name(const Digest& name) { return to_hex(name) + std::string(kSuffix); }

// Engines are code: whoever can put files there can have this process run them.
void check_owner(const struct stat& facts, const std::string& path) {
  if (facts.st_uid != ::geteuid()) {
    give_up(say(path, " belongs to another user (", facts.st_uid,
                "), whose engines are not run; choose another"));
  }
  if ((facts.st_mode & S_IWOTH) != 0) {
    give_up(say("everybody may write to ", path, ", so that its engines are not run; make it mode 700"));
  }
}

// An open directory; none if there is none and it is not to be made.
FileDescriptor open_directory(const std::string& path, bool makes) {
  if (path.empty()) give_up("no directory was given for engines on disk");
  if (makes) {
    std::error_code ignored;  // opening says what is wrong
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    ::mkdir(path.c_str(), S_IRWXU);
  }
  FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) {
    if (errno == ENOENT && !makes) return directory;
    give_up_on("cannot open", path);
  }
  struct stat facts {};
  if (::fstat(directory.number(), &facts) != 0) give_up_on("cannot examine", path);
  check_owner(facts, path);
  return directory;
}

// ---- reading ----

void read_all(int file, void* to, uint64_t bytes, const std::string& path) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = ::read(file, at, std::min<uint64_t>(bytes, 1U << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) give_up_on("cannot read", path);
    if (done == 0) give_up(say(path, " is damaged: it ends too early"));
    at += done;
    bytes -= static_cast<uint64_t>(done);
  }
}

uint64_t examine(int file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file, &facts) != 0) give_up_on("cannot examine", path);
  if (!S_ISREG(facts.st_mode)) give_up(say(path, " is no file"));
  check_owner(facts, path);
  return static_cast<uint64_t>(facts.st_size);
}

std::string read_engine(int file, const Digest& name, const std::string& path) {
  const uint64_t size = examine(file, path);
  StoreHeader header{};
  if (size < sizeof header) give_up(say(path, " is damaged: it ends too early"));
  read_all(file, &header, sizeof header, path);
  if (header.format != kStoreFormat) give_up(say(path, " is no engine of this version of torchplug"));
  if (header.key != name) give_up(say(path, " is the engine of another key"));
  if (header.bytes != size - sizeof header) give_up(say(path, " is damaged: its length is not what it says"));
  std::string bytes(header.bytes, '\0');
  read_all(file, bytes.data(), bytes.size(), path);
  if (digest_of(bytes) != header.content)
    give_up(say(path, " is damaged: its content is not what was written"));
  return bytes;
}

// ---- writing ----

void write_all(int file, const void* from, uint64_t bytes, const std::string& path) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = ::write(file, at, std::min<uint64_t>(bytes, 1U << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) give_up_on("cannot write", path);
    at += done;
    bytes -= static_cast<uint64_t>(done);
  }
}

// A name that no other thread or process has; a process that had the same number and died may have left a
// file.
std::string unfinished_name() {
  static std::atomic<uint64_t> next = 0;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return say(kUnfinished, ::getpid(), "-", next++, "-", now.tv_sec, now.tv_nsec);
}

// A file that goes away unless it is given its name.
class UnfinishedFile {
 public:
  UnfinishedFile(int directory, const std::string& path)
      : directory_(directory),
        name_(unfinished_name()),
        file_(
            ::openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    if (!file_.is_open()) give_up_on("cannot write to", path);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (!is_finished_) ::unlinkat(directory_, name_.c_str(), 0);
  }

  int number() const { return file_.number(); }

  // Its content has to be on the disk before its name is: after a loss of power there must be no empty
  // engine.
  void finish(const std::string& name, const std::string& path) {
    if (::fsync(file_.number()) != 0) give_up_on("cannot write", path);
    if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) give_up_on("cannot name", path);
    is_finished_ = true;
  }

 private:
  int directory_;
  std::string name_;
  FileDescriptor file_;
  bool is_finished_ = false;
};

// ---- what has to go ----

struct StoredFile {
  timespec used;
  std::string name;
  uint64_t bytes;

  bool operator<(const StoredFile& other) const {
    return std::tie(used.tv_sec, used.tv_nsec, name) <
           std::tie(other.used.tv_sec, other.used.tv_nsec, other.name);
  }
};

// The engines; files that nobody finishes any more are removed.
std::vector<StoredFile> list_engines(int directory) {
  std::vector<StoredFile> files;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return files;
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> open(::fdopendir(copy), close);
  if (!open) {
    ::close(copy);
    return files;
  }
  const time_t now = ::time(nullptr);
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    struct stat facts {};
    if (::fstatat(directory, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (name.starts_with(kUnfinished) && facts.st_mtime < now - kAbandoned)
      ::unlinkat(directory, entry->d_name, 0);
    if (name.ends_with(kSuffix))
      files.push_back({facts.st_mtim, entry->d_name, static_cast<uint64_t>(facts.st_size)});
  }
  return files;
}

// Removes the least recently used until `limit` holds. A process that has one open goes on reading it.
void make_room(int directory, uint64_t limit, const std::string& newest) {
  std::vector<StoredFile> files = list_engines(directory);
  uint64_t total = 0;
  for (const StoredFile& file : files) total += file.bytes;
  std::sort(files.begin(), files.end());
  for (const StoredFile& file : files) {
    if (total <= limit) return;
    if (file.name == newest) continue;
    ::unlinkat(directory, file.name.c_str(), 0);
    total -= file.bytes;
  }
}

// The reason why `work` gave up; "" if it did not. No lack of memory and nothing else leaves the store.
template <class Work>
std::string reason_of(const Work& work) {
  try {
    work();
    return "";
  } catch (const StoreProblem& problem) {
    return problem.what;
  } catch (const std::exception& error) {
    return say("engines on disk: ", error.what());
  }
}

}  // namespace

EngineStore::EngineStore(std::string directory, uint64_t limit)
    : directory_(std::move(directory)), limit_(limit) {}

EngineStore::Loaded EngineStore::load(std::string_view key) const {
  Loaded loaded;
  loaded.why = reason_of([&] {
    const Digest name = digest_of(key);
    const FileDescriptor directory = open_directory(directory_, false);
    if (!directory.is_open()) return;
    const std::string path = directory_ + "/" + file_name(name);
    const FileDescriptor file(::openat(directory.number(), file_name(name).c_str(),
                                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open()) {
      if (errno == ENOENT) return;
      give_up_on("cannot open", path);
    }
    loaded.bytes = read_engine(file.number(), name, path);
    ::futimens(file.number(), nullptr);  // it is in use: others go first
  });
  if (!loaded.why.empty()) loaded.bytes.reset();
  return loaded;
}

std::string EngineStore::save(std::string_view key, std::string_view bytes) const {
  return reason_of([&] {
    const Digest name = digest_of(key);
    const StoreHeader header{kStoreFormat, name, digest_of(bytes), bytes.size()};
    if (bytes.size() > limit_ || sizeof header > limit_ - bytes.size()) {
      give_up(say("an engine of ", bytes.size(), " bytes is more than ", directory_, " may hold, which is ",
                  limit_));
    }
    const FileDescriptor directory = open_directory(directory_, true);
    const std::string path = directory_ + "/" + file_name(name);
    UnfinishedFile file(directory.number(), directory_);
    write_all(file.number(), &header, sizeof header, path);
    write_all(file.number(), bytes.data(), bytes.size(), path);
    file.finish(file_name(name), path);
    make_room(directory.number(), limit_, file_name(name));
  });
}

void EngineStore::remove(std::string_view key) const {
  reason_of([&] {
    const FileDescriptor directory = open_directory(directory_, false);
    if (directory.is_open()) ::unlinkat(directory.number(), file_name(digest_of(key)).c_str(), 0);
  });
}

}  // namespace torchplug::graph
