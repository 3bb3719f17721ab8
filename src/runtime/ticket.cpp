#include "runtime/ticket.h"

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

#include "file_descriptor.h"
#include "immortal.h"

namespace torchplug {
namespace {

constexpr size_t kTickets = size_t{1} << 16;

struct Page {
  std::atomic<uint64_t> name;  // random: a later process may have the same number
  std::atomic<uint32_t> on_their_way[kTickets];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free,
              "processes share no locks");

std::string system_words() { return std::generic_category().message(errno); }

// The lock is the process's: it is gone when the process ends, and when it closes the register.
struct flock lock_on(const Ticket& ticket, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(ticket.number);
  lock.l_len = 1;
  return lock;
}

// A register, this process's or another's, mapped.
class MappedRegister {
 public:
  explicit MappedRegister(FileDescriptor file) : file_(std::move(file)) {
    void* address = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
    TORCH_CHECK(address != MAP_FAILED, "The register of shared memory cannot be mapped: ", system_words(),
                ".");
    page_ = static_cast<Page*>(address);
  }
  ~MappedRegister() { ::munmap(page_, sizeof(Page)); }
  MappedRegister(const MappedRegister&) = delete;
  MappedRegister& operator=(const MappedRegister&) = delete;

  int fd() const noexcept { return file_.number(); }
  std::atomic<uint64_t>& name() const noexcept { return page_->name; }
  std::atomic<uint32_t>& on_their_way(const Ticket& ticket) const {
    TORCH_CHECK(ticket.number < kTickets, "There is no ticket ", ticket.number, ".");
    return page_->on_their_way[ticket.number];
  }

 private:
  FileDescriptor file_;
  Page* page_;
};

// The issuer's.
class Office {
 public:
  Office() : register_(make_file()) {
    std::random_device random;
    register_.name() = uint64_t{random()} << 32 | random();
  }

  Ticket issue() {
    std::lock_guard lock(numbers_lock_);
    TORCH_CHECK(!free_.empty() || next_ < kTickets, "More than ", kTickets,
                " storages are shared with other processes at once.");
    uint64_t number = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      number = free_.back();
      free_.pop_back();
    }
    return {::getpid(), register_.fd(), register_.name(), number};
  }

  void retire(const Ticket& ticket) {
    std::lock_guard lock(numbers_lock_);
    free_.push_back(ticket.number);
  }

  // Who receives a copy locks first and counts then, so that it is always seen in one place or the other.
  bool is_outstanding(const Ticket& ticket) const {
    if (register_.on_their_way(ticket) != 0) return true;
    struct flock lock = lock_on(ticket, F_WRLCK);
    TORCH_CHECK(::fcntl(register_.fd(), F_GETLK, &lock) == 0,
                "The register of shared memory cannot be read: ", system_words(), ".");
    return lock.l_type != F_UNLCK;
  }

  const MappedRegister& shelf() const noexcept { return register_; }

 private:
  static FileDescriptor make_file() {
    FileDescriptor file(::memfd_create("torchplug tickets", MFD_CLOEXEC));
    TORCH_CHECK(file.is_open() && ::ftruncate(file.number(), sizeof(Page)) == 0,
                "No memory can be shared with other processes: ", system_words(), ".");
    return file;
  }

  MappedRegister register_;
  std::mutex numbers_lock_;
  uint64_t next_ = 0;
  std::vector<uint64_t> free_;
};

Office& office() {
  static Office& instance = *immortal<Office>();
  return instance;
}

}  // namespace

class HeldTicket::Register : public MappedRegister {
 public:
  using MappedRegister::MappedRegister;
};

namespace {

using Registers = std::map<uint64_t, std::weak_ptr<HeldTicket::Register>>;

// Guards the registers of others, their opening and their closing: closing one undoes the locks taken through
// any other descriptor of the same file.
std::mutex& registers_lock() {
  static std::mutex& lock = *immortal<std::mutex>();
  return lock;
}

Registers& registers() {
  static Registers& all = *immortal<Registers>();
  return all;
}

// Null if the process is gone.
std::shared_ptr<HeldTicket::Register> open_register(const Ticket& ticket) {
  if (auto open = registers()[ticket.register_name].lock()) return open;
  const std::string path =
      "/proc/" + std::to_string(ticket.process) + "/fd/" + std::to_string(ticket.register_fd);
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  TORCH_CHECK(file.is_open() || errno == ENOENT || errno == ESRCH, "Memory that process ", ticket.process,
              " has shared cannot be reached through ", path, ": ", system_words(), ".");
  std::shared_ptr<HeldTicket::Register> opened;
  if (file.is_open() && ::lseek(file.number(), 0, SEEK_END) == static_cast<off_t>(sizeof(Page))) {
    opened = std::make_shared<HeldTicket::Register>(std::move(file));
    if (opened->name() != ticket.register_name) opened = nullptr;
  }
  if (opened == nullptr) {
    registers().erase(ticket.register_name);
  } else {
    registers()[ticket.register_name] = opened;
  }
  return opened;
}

}  // namespace

bool Ticket::is_of_this_process() const noexcept { return process == ::getpid(); }

Ticket issue_ticket() { return office().issue(); }

void send_copy(const Ticket& ticket) { ++office().shelf().on_their_way(ticket); }

void take_back_copy(const Ticket& ticket) { --office().shelf().on_their_way(ticket); }

bool is_outstanding(const Ticket& ticket) { return office().is_outstanding(ticket); }

void retire(const Ticket& ticket) { office().retire(ticket); }

HeldTicket::HeldTicket(const Ticket& ticket) : ticket_(ticket) {
  std::lock_guard lock(registers_lock());
  register_ = open_register(ticket);
  if (register_ == nullptr) return;
  struct flock held = lock_on(ticket_, F_RDLCK);
  TORCH_CHECK(::fcntl(register_->fd(), F_SETLK, &held) == 0, "Memory that process ", ticket.process,
              " has shared cannot be held: ", system_words(), ".");
  receive_copy();
}

HeldTicket::~HeldTicket() {
  if (register_ == nullptr) return;
  std::lock_guard lock(registers_lock());
  struct flock released = lock_on(ticket_, F_UNLCK);
  ::fcntl(register_->fd(), F_SETLK, &released);
  register_ = nullptr;
  if (registers()[ticket_.register_name].expired()) registers().erase(ticket_.register_name);
}

void HeldTicket::receive_copy() const {
  if (register_ != nullptr) --register_->on_their_way(ticket_);
}

void HeldTicket::send_copy() const {
  if (register_ != nullptr) ++register_->on_their_way(ticket_);
}

}  // namespace torchplug
