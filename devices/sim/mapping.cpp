#include "mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "error.h"

namespace torchplug::sim {
namespace {

std::string system_words(int error) { return std::generic_category().message(error); }

int duplicate_of(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) fail(PLUG_INTERNAL, "File descriptor ", fd, " cannot be shared: ", system_words(errno), ".");
  return copy;
}

}  // namespace

MemoryFile::MemoryFile(const std::string& name, std::uint64_t size)
    : fd_(memfd_create(name.c_str(), MFD_CLOEXEC)) {
  if (fd_ < 0) fail(PLUG_INTERNAL, "memfd_create failed: ", system_words(errno), ".");
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) {
    const int error = errno;
    close(fd_);
    fail(PLUG_NO_MEMORY, "A memory file of ", size, " bytes cannot be created: ", system_words(error), ".");
  }
}

MemoryFile::MemoryFile(int fd) : fd_(duplicate_of(fd)) {}

int MemoryFile::duplicate() const { return duplicate_of(fd_); }

std::uint64_t MemoryFile::size() const {
  struct stat file {};
  if (fstat(fd_, &file) != 0) fail(PLUG_INTERNAL, "fstat failed: ", system_words(errno), ".");
  return static_cast<std::uint64_t>(file.st_size);
}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

void MemoryFile::discard(std::uint64_t offset, std::uint64_t size) const noexcept {
  const std::uint64_t page = page_size();
  const std::uint64_t begin = (offset + page - 1) / page * page;
  const std::uint64_t end = (offset + size) / page * page;
  if (begin >= end) return;
  // Where the system refuses, the pages merely stay.
  (void)fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin));
}

Mapping::Mapping(const MemoryFile& file, std::uint64_t size, int protection, std::uint64_t offset)
    : size_(size) {
  void* address =
      mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, file.fd(), static_cast<off_t>(offset));
  if (address == MAP_FAILED) {
    fail(PLUG_NO_MEMORY, "An address range of ", size, " bytes cannot be mapped: ", system_words(errno), ".");
  }
  address_ = static_cast<std::byte*>(address);
  // Advice only: a core file need not hold device memory, and large pages make first use cheaper.
  (void)madvise(address, size, MADV_DONTDUMP);
  (void)madvise(address, size, MADV_HUGEPAGE);
}

Mapping::~Mapping() {
  if (address_ != nullptr) munmap(address_, size_);
}

void Mapping::protect(std::uint64_t offset, std::uint64_t size, int protection) const {
  if (mprotect(address_ + offset, size, protection) != 0) {
    fail(PLUG_INTERNAL, "mprotect failed: ", system_words(errno), ".");
  }
}

std::uint64_t page_size() noexcept {
  static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace torchplug::sim
