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
// limit allows, reservations included.
constexpr std::uint64_t kAddressesPerByte = 64;

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

void* Arena::reserve(std::uint64_t bytes) {
  if (bytes == 0 || bytes % kMapUnit != 0) {
    fail(PLUG_INVALID, bytes, " bytes cannot be reserved: ", owner_, " maps memory in units of ", kMapUnit,
         ".");
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t size = bytes + page_size();
  const auto offset = bytes <= extent_ ? free_.take(size) : std::nullopt;
  if (!offset) fail(PLUG_NO_MEMORY, owner_, " has no free address range of ", bytes, " bytes");
  void* const base = guarded_.address() + round_up(*offset, page_size());
  reserved_.emplace(base, Reservation{*offset, size, std::vector<bool>(bytes / kMapUnit)});
  open(base, 0, bytes, false);
  return base;
}

void Arena::unreserve(void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = reserved_.find(base);
  if (found == reserved_.end()) fail(PLUG_INVALID, base, " is not a reservation of ", owner_, ".");
  const auto& [offset, size, mapped] = found->second;
  if (std::find(mapped.begin(), mapped.end(), true) != mapped.end()) {
    fail(PLUG_INVALID, "The reservation at ", base, " of ", owner_, " is still mapped.");
  }
  open(base, 0, mapped.size() * kMapUnit, true);
  free_.give_back(offset, size);
  reserved_.erase(found);
}

void Arena::map(void* base, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto& mapped = reserved_range(base, offset, bytes, false).mapped;
  if (bytes > limit_ - used_) {
    fail(PLUG_NO_MEMORY, owner_, " cannot map ", bytes, " bytes: ", limit_ - used_, " of ", limit_,
         " bytes are free");
  }
  open(base, offset, bytes, true);
  used_ += bytes;
  for (std::uint64_t at = offset; at < offset + bytes; at += kMapUnit) mapped[at / kMapUnit] = true;
}

void Arena::unmap(void* base, std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto& mapped = reserved_range(base, offset, bytes, true).mapped;
  open(base, offset, bytes, false);
  file_.discard(offset_of(base) + offset, bytes);
  used_ -= bytes;
  for (std::uint64_t at = offset; at < offset + bytes; at += kMapUnit) mapped[at / kMapUnit] = false;
}

Arena::Reservation& Arena::reserved_range(const void* base, std::uint64_t offset, std::uint64_t bytes,
                                          bool mapped) {
  const auto found = reserved_.find(base);
  if (found == reserved_.end()) fail(PLUG_INVALID, base, " is not a reservation of ", owner_, ".");
  auto& units = found->second.mapped;
  const std::uint64_t size = units.size() * kMapUnit;
  if (offset % kMapUnit != 0 || bytes % kMapUnit != 0 || bytes == 0 || offset > size ||
      bytes > size - offset) {
    fail(PLUG_INVALID, bytes, " bytes at offset ", offset, " are not units of the reservation at ", base,
         ".");
  }
  for (std::uint64_t at = offset; at < offset + bytes; at += kMapUnit) {
    if (units[at / kMapUnit] != mapped) {
      fail(PLUG_INVALID, "The memory at offset ", at, " of ", base, " is ",
           mapped ? "not mapped." : "mapped already.");
    }
  }
  return found->second;
}

void Arena::open(const void* base, std::uint64_t offset, std::uint64_t bytes, bool usable) const {
  open_.protect(offset_of(base) + offset, bytes, usable ? PROT_READ | PROT_WRITE : PROT_NONE);
}

std::byte* Arena::view(const void* base) const {
  const std::lock_guard lock(mutex_);
  if (!reserved_.contains(base)) allocated_size(base);
  return open_.address() + offset_of(base);
}

Arena::Place Arena::place_of(const void* base) const {
  const std::lock_guard lock(mutex_);
  const auto found = reserved_.find(base);
  const std::uint64_t size =
      found != reserved_.end() ? found->second.mapped.size() * kMapUnit : allocated_size(base);
  return {offset_of(base), size};
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
