#include "shared_records.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>

#include "error.h"
#include "spin.h"

namespace torchplug::sim {
namespace {

// How long a process may have been dead before who waits for it notices.
constexpr std::timespec kLookAgain{0, 100'000'000};

std::uint32_t* address_of(std::atomic<std::uint32_t>& word) noexcept {
  return reinterpret_cast<std::uint32_t*>(&word);
}

// std::atomic's own wait is for threads of one process.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, address_of(word), FUTEX_WAIT, value, &kLookAgain, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, address_of(word), FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

constexpr unsigned kNumberBits = 32;

// A process that has ended stays a zombie until its parent asks how, and the parent may be who waits here.
bool is_alive(std::uint32_t process) noexcept {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%u/stat", process);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  char state = 'Z';
  if (file == nullptr || std::fscanf(file.get(), "%*u (%*[^)]) %c", &state) != 1) return false;
  return state != 'Z' && state != 'X';
}

}  // namespace

SharedRecords::SharedRecords()
    : file_("sim event", sizeof(Page)), mapping_(file_, sizeof(Page), PROT_READ | PROT_WRITE) {}

SharedRecords::SharedRecords(int fd) : file_(fd), mapping_(file_, sizeof(Page), PROT_READ | PROT_WRITE) {
  if (file_.size() != sizeof(Page)) fail(PLUG_INVALID, "The file given for an event is not an event's.");
}

std::uint64_t SharedRecords::begin() {
  std::uint64_t last = page().latest.load();
  do {
    const std::uint64_t before = last + 1 > kSlots ? last + 1 - kSlots : 0;
    if (!is_reached(before)) {
      fail(PLUG_INTERNAL, "A shared event has ", kSlots, " pending records, the maximum.");
    }
  } while (!page().latest.compare_exchange_weak(last, last + 1));
  slot(last + 1).maker.store((last + 1) << kNumberBits | static_cast<std::uint64_t>(getpid()));
  return last + 1;
}

void SharedRecords::finish(std::uint64_t record) noexcept {
  slot(record).finished.store(record);
  page().changes.fetch_add(1);
  wake_all(page().changes);
}

std::uint64_t SharedRecords::latest() const noexcept { return page().latest.load(); }

bool SharedRecords::is_finished(std::uint64_t record) noexcept {
  if (is_reached(record)) return true;
  // Its process may have reached it before it ended.
  if (!is_lost(record) || is_reached(record)) return is_reached(record);
  host().log(&host(), 2, "sim: a process ended before it reached a shared event; its work is lost.");
  finish(record);
  return true;
}

void SharedRecords::wait(std::uint64_t record) noexcept {
  for (Spinner spinner; !is_reached(record) && spinner.pause();) {
  }
  while (true) {
    const std::uint32_t changes = page().changes.load();
    if (is_finished(record)) return;
    sleep_while(page().changes, changes);
  }
}

bool SharedRecords::is_reached(std::uint64_t record) const noexcept {
  return record == 0 || slot(record).finished.load() >= record;
}

bool SharedRecords::is_lost(std::uint64_t record) const noexcept {
  const std::uint64_t maker = slot(record).maker.load();
  const bool is_known = maker >> kNumberBits == (record << kNumberBits) >> kNumberBits;
  return is_known && !is_alive(static_cast<std::uint32_t>(maker));
}

}  // namespace torchplug::sim
