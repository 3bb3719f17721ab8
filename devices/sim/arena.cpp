#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "error.h"

namespace torchplug::sim {
namespace {

// Below this, giving pages back costs more than it saves.
constexpr std::uint64_t kDiscardBytes = 64 << 10;

// With this many times the addresses that memory can fill, best fit finds room for whatever the
// limit allows.
constexpr std::uint64_t kAddressesPerByte = 8;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Arena::Arena(std::string owner, std::uint64_t limit)
    : owner_(std::move(owner)),
      limit_(limit),
      extent_(round_up(limit * kAddressesPerByte, page_size())),
      file_(owner_, extent_),
      guarded_(file_, extent_, PROT_NONE),
      open_(file_, extent_, PROT_READ | PROT_WRITE),
      free_(extent_) {}

void* Arena::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  // Compared before rounding, which could overflow.
  if (bytes <= limit_ - used_) {
    const std::uint64_t size = round_up(std::max<std::uint64_t>(bytes, 1), kAlignment);
    const auto offset = size <= limit_ - used_ ? free_.take(size) : std::nullopt;
    if (offset) {
      void* const base = guarded_.address() + *offset;
      allocated_.emplace(base, size);
      used_ += size;
      return base;
    }
  }
  fail(PLUG_NO_MEMORY, owner_, " cannot allocate ", bytes, " bytes: ", limit_ - used_, " of ", limit_,
       " bytes are free");
}

void Arena::release(void* base) {
  std::uint64_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    size = allocated_size(base);
  }
  // Slow for gigabytes, so without the lock; the range is nobody else's until it is given back.
  if (size >= kDiscardBytes) file_.discard(offset_of(base), size);

  const std::lock_guard lock(mutex_);
  free_.give_back(offset_of(base), size);
  used_ -= size;
  allocated_.erase(base);
}

std::byte* Arena::view(const void* base) const {
  const std::lock_guard lock(mutex_);
  allocated_size(base);
  return open_.address() + offset_of(base);
}

Arena::Place Arena::place_of(const void* base) const {
  const std::lock_guard lock(mutex_);
  return {offset_of(base), allocated_size(base)};
}

std::byte* Arena::resolve(const void* base, std::uint64_t offset, std::uint64_t bytes) const {
  // An address below the range wraps round to a huge offset.
  const std::uint64_t start = offset_of(base);
  if (start > extent_ || offset > extent_ - start || bytes > extent_ - start - offset) {
    fail(PLUG_INVALID, bytes, " bytes at ", base, " + ", offset, " are not in the memory of ", owner_, ".");
  }
  return open_.address() + start + offset;
}

std::uint64_t Arena::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return limit_ - used_;
}

std::uint64_t Arena::allocated_size(const void* base) const {
  const auto found = allocated_.find(base);
  if (found == allocated_.end()) {
    fail(PLUG_INVALID, base, " is not an allocation of ", owner_, ".");
  }
  return found->second;
}

std::uint64_t Arena::offset_of(const void* base) const noexcept {
  return reinterpret_cast<std::uintptr_t>(base) - reinterpret_cast<std::uintptr_t>(guarded_.address());
}

}  // namespace torchplug::sim
