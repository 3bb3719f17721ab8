#pragma once
// Memory of this process that can be mapped more than once, and one mapping of it.
// Each object owns what it names and gives it back; both are moved, never shared.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace torchplug::sim {

class MemoryFile {
 public:
  MemoryFile(const std::string& name, std::uint64_t size);
  // Another process's: shares the open file that `fd` names, and leaves `fd` alone.
  explicit MemoryFile(int fd);
  MemoryFile(MemoryFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  MemoryFile& operator=(MemoryFile&&) = delete;
  ~MemoryFile();

  int fd() const noexcept { return fd_; }

  // The same file for somebody else to close.
  int duplicate() const;
  std::uint64_t size() const;

  // Gives the pages inside the range back to the system. They read as zero afterwards.
  void discard(std::uint64_t offset, std::uint64_t size) const noexcept;

 private:
  int fd_;
};

class Mapping {
 public:
  // `protection` is a PROT_* of mmap; `offset`, into the file, a multiple of the page size. Pages are
  // committed as they are touched.
  Mapping(const MemoryFile& file, std::uint64_t size, int protection, std::uint64_t offset = 0);
  Mapping(Mapping&& other) noexcept : address_(std::exchange(other.address_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&&) = delete;
  ~Mapping();

  std::byte* address() const noexcept { return address_; }
  // Whole pages.
  void protect(std::uint64_t offset, std::uint64_t size, int protection) const;

 private:
  std::byte* address_ = nullptr;
  std::uint64_t size_;
};

std::uint64_t page_size() noexcept;

}  // namespace torchplug::sim
