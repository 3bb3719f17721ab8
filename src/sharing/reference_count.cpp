#include "sharing/reference_count.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/immortal.h"

namespace torchplug::sharing {
namespace {

constexpr size_t kReferences = size_t{1} << 16;

static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free,
              "processes share no locks");

std::string system_words() { return std::generic_category().message(errno); }

// The lock is the process's: it is gone when the process ends, and when it closes the table.
struct flock lock_on(const SharedReference& reference, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(reference.number);
  lock.l_len = 1;
  return lock;
}

}  // namespace

// A table, this process's or another's, mapped.
class CountTable {
 public:
  struct Page {
    std::atomic<uint64_t> name;  // random: a later process may have the same number
    std::atomic<uint32_t> in_flight[kReferences];
  };

  explicit CountTable(FileDescriptor file) : file_(std::move(file)) {
    void* address = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    TORCH_CHECK(address != MAP_FAILED, "The table of shared memory cannot be mapped: ", system_words(), ".");
    page_ = static_cast<Page*>(address);
  }
  ~CountTable() { ::munmap(page_, sizeof(Page)); }
  CountTable(const CountTable&) = delete;
  CountTable& operator=(const CountTable&) = delete;

  int fd() const noexcept { return file_.number(); }
  std::atomic<uint64_t>& name() const noexcept { return page_->name; }
  std::atomic<uint32_t>& in_flight(const SharedReference& reference) const {
    TORCH_CHECK(reference.number < kReferences, "There is no shared storage ", reference.number, ".");
    return page_->in_flight[reference.number];
  }

 private:
  FileDescriptor file_;
  Page* page_;
};

namespace {

// Those that other processes were given.
class SentReferences {
 public:
  SentReferences() : table_(make_file()) {
    std::random_device random;
    table_.name() = uint64_t{random()} << 32 | random();
  }

  SharedReference make() {
    std::lock_guard lock(numbers_lock_);
    TORCH_CHECK(!free_.empty() || next_ < kReferences, "More than ", kReferences,
                " storages are shared with other processes at once.");
    uint64_t number = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      number = free_.back();
      free_.pop_back();
    }
    return {::getpid(), table_.fd(), table_.name(), number};
  }

  void retire(const SharedReference& reference) {
    std::lock_guard lock(numbers_lock_);
    free_.push_back(reference.number);
  }

  // Who receives a copy locks first and counts then, so that it is always seen in one place or the other.
  bool is_outstanding(const SharedReference& reference) const {
    if (table_.in_flight(reference) != 0) return true;
    struct flock lock = lock_on(reference, F_WRLCK);
    TORCH_CHECK(::fcntl(table_.fd(), F_GETLK, &lock) == 0,
                "The table of shared memory cannot be read: ", system_words(), ".");
    return lock.l_type != F_UNLCK;
  }

  const CountTable& table() const noexcept { return table_; }

 private:
  static FileDescriptor make_file() {
    FileDescriptor file(::memfd_create("torchplug reference counts", MFD_CLOEXEC));
    TORCH_CHECK(file.is_open() && ::ftruncate(file.number(), sizeof(CountTable::Page)) == 0,
                "No memory can be shared with other processes: ", system_words(), ".");
    return file;
  }

  CountTable table_;
  std::mutex numbers_lock_;
  uint64_t next_ = 0;
  std::vector<uint64_t> free_;
};

SentReferences& sent_references() {
  static SentReferences& instance = *immortal<SentReferences>();
  return instance;
}

using Tables = std::map<uint64_t, std::weak_ptr<CountTable>>;

// Guards the tables of others, their opening and their closing: closing one undoes the locks taken through
// any other descriptor of the same file.
std::mutex& tables_lock() {
  static std::mutex& lock = *immortal<std::mutex>();
  return lock;
}

Tables& tables() {
  static Tables& all = *immortal<Tables>();
  return all;
}

// Null if the process is gone.
std::shared_ptr<CountTable> open_table(const SharedReference& reference) {
  if (auto open = tables()[reference.table_name].lock()) return open;
  const std::string path =
      "/proc/" + std::to_string(reference.process) + "/fd/" + std::to_string(reference.table_fd);
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  TORCH_CHECK(file.is_open() || errno == ENOENT || errno == ESRCH, "Memory that process ", reference.process,
              " has shared cannot be opened through ", path, ": ", system_words(), ".");
  std::shared_ptr<CountTable> opened;
  if (file.is_open() && ::lseek(file.number(), 0, SEEK_END) == static_cast<off_t>(sizeof(CountTable::Page))) {
    opened = std::make_shared<CountTable>(std::move(file));
    if (opened->name() != reference.table_name) opened = nullptr;
  }
  if (opened == nullptr) {
    tables().erase(reference.table_name);
  } else {
    tables()[reference.table_name] = opened;
  }
  return opened;
}

}  // namespace

bool SharedReference::is_of_this_process() const noexcept { return process == ::getpid(); }

SharedReference new_reference() { return sent_references().make(); }

void send_copy(const SharedReference& reference) { ++sent_references().table().in_flight(reference); }

void take_back_copy(const SharedReference& reference) { --sent_references().table().in_flight(reference); }

bool is_outstanding(const SharedReference& reference) { return sent_references().is_outstanding(reference); }

void retire(const SharedReference& reference) { sent_references().retire(reference); }

HeldReference::HeldReference(const SharedReference& reference) : reference_(reference) {
  std::lock_guard lock(tables_lock());
  table_ = open_table(reference);
  if (table_ == nullptr) return;
  struct flock held = lock_on(reference_, F_RDLCK);
  TORCH_CHECK(::fcntl(table_->fd(), F_SETLK, &held) == 0, "Memory that process ", reference.process,
              " has shared cannot be locked: ", system_words(), ".");
  receive_copy();
}

HeldReference::~HeldReference() {
  if (table_ == nullptr) return;
  std::lock_guard lock(tables_lock());
  struct flock released = lock_on(reference_, F_UNLCK);
  ::fcntl(table_->fd(), F_SETLK, &released);
  table_ = nullptr;
  if (tables()[reference_.table_name].expired()) tables().erase(reference_.table_name);
}

void HeldReference::receive_copy() const {
  if (table_ != nullptr) --table_->in_flight(reference_);
}

void HeldReference::send_copy() const {
  if (table_ != nullptr) ++table_->in_flight(reference_);
}

}  // namespace torchplug::sharing
