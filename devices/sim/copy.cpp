#include "copy.h"

#include <cstring>
#include <memory>
#include <utility>

#include "capture.h"
#include "location.h"
#include "profiler.h"
#include "strided_copy.h"
#include "tensor.h"

namespace torchplug::sim {
namespace {

// Up to this size, a private copy is cheaper than waiting for the stream.
constexpr std::uint64_t kPrivateCopyBytes = 64 << 10;

// In stream order; before this returns, if the memory it uses is only good until then.
template <class Work>
void run_in_order(Stream& stream, const Activity& activity, bool before_return, Work&& work) {
  if (before_return) {
    if (const auto capture = stream.capture()) capture->refuse("using host memory that is not pinned");
    stream.synchronize();
    run_here(stream, activity, work);
  } else {
    enqueue(stream, activity, std::forward<Work>(work));
  }
}

Activity copy_of(const plug_mem& dst, const plug_mem& src, std::uint64_t bytes) {
  return {.kind = PLUG_RECORD_COPY, .source = src.device, .target = dst.device, .bytes = bytes};
}

void enqueue_private_copy(Stream& stream, const Activity& activity, std::byte* to, const std::byte* from,
                          std::uint64_t bytes) {
  auto kept = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::memcpy(kept.get(), from, bytes);
  enqueue(stream, activity,
          [to, kept = std::move(kept), bytes]() noexcept { std::memcpy(to, kept.get(), bytes); });
}

}  // namespace

void copy(Stream& stream, const plug_mem& dst, const plug_mem& src, std::uint64_t bytes) {
  const Location to = locate(dst, bytes);
  const Location from = locate(src, bytes);
  if (bytes == 0) return;
  // A capture keeps what the memory held.
  const bool is_better_private = bytes <= kPrivateCopyBytes && !stream.is_idle();
  if (from.pageable && !to.pageable && (is_better_private || stream.captures())) {
    return enqueue_private_copy(stream, copy_of(dst, src, bytes), to.address, from.address, bytes);
  }
  run_in_order(stream, copy_of(dst, src, bytes), from.pageable || to.pageable,
               [to = to.address, from = from.address, bytes]() noexcept { std::memmove(to, from, bytes); });
}

void fill(Stream& stream, const plug_mem& dst, std::uint8_t byte, std::uint64_t bytes) {
  const Location to = locate(dst, bytes);
  if (bytes == 0) return;
  run_in_order(stream, {.kind = PLUG_RECORD_FILL, .target = dst.device, .bytes = bytes}, to.pageable,
               [to = to.address, byte, bytes]() noexcept { std::memset(to, byte, bytes); });
}

plug_status copy_strided(Stream& stream, const plug_tensor& dst, const plug_tensor& src) {
  constexpr std::uint32_t kKnownFlags = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG | PLUG_TENSOR_WRITTEN;
  const bool known = ((dst.flags | src.flags) & ~kKnownFlags) == 0;
  if (dst.layout != 0 || src.layout != 0 || !known || !can_convert(dst, src)) return PLUG_UNSUPPORTED;

  const Extent to_extent = extent_of(dst);
  const Extent from_extent = extent_of(src);
  if (to_extent.bytes == 0) return PLUG_OK;
  const Location to = locate(dst.mem, to_extent.bytes, to_extent.first);
  const Location from = locate(src.mem, from_extent.bytes, from_extent.first);
  auto work = std::make_unique<const StridedCopy>(dst, to.address - to_extent.first, src,
                                                  from.address - from_extent.first);
  const std::uint64_t bytes = element_count(dst) * PLUG_DTYPE_BYTES(dst.dtype);
  run_in_order(stream, copy_of(dst.mem, src.mem, bytes), to.pageable || from.pageable,
               [work = std::move(work)]() noexcept { (*work)(); });
  return PLUG_OK;
}

}  // namespace torchplug::sim
