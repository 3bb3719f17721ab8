#include "strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "error.h"

namespace torchplug::sim {
namespace {

// The side of a square of elements: small enough to stay in the cache, large enough that a visit to
// a far row is worth the look-up of its page.
constexpr std::int64_t kTile = 64;

// From here on several threads are faster than one.
constexpr std::int64_t kTeamBytes = 1 << 20;

constexpr std::uint32_t kLazyBits = PLUG_TENSOR_CONJ | PLUG_TENSOR_NEG;

// Whether the bytes of one tensor's elements are those of the other's.
bool has_same_bytes(const plug_tensor& dst, const plug_tensor& src) {
  return dst.dtype == src.dtype && ((dst.flags ^ src.flags) & kLazyBits) == 0;
}

}  // namespace

bool can_convert(const plug_tensor& dst, const plug_tensor& src) {
  return has_same_bytes(dst, src) || find_conversion(dst.dtype, src.dtype) != nullptr;
}

Extent extent_of(const plug_tensor& tensor) {
  const auto element = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(tensor.dtype));
  // Far from the ends of int64, so that later sums of two of them cannot overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  std::int64_t first = 0;
  std::int64_t last = 0;
  for (std::int32_t d = 0; d < tensor.ndim; ++d) {
    if (tensor.sizes[d] == 0) return {0, 0};
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(tensor.sizes[d] - 1, tensor.strides[d], &reach) ||
        __builtin_mul_overflow(reach, element, &reach) || reach > kMost || reach < -kMost) {
      fail(PLUG_INVALID, "Stride ", tensor.strides[d], " of a dimension of ", tensor.sizes[d],
           " elements exceeds the address space.");
    }
    std::int64_t& end = reach < 0 ? first : last;
    end = std::clamp(end + reach, -kMost, kMost);
  }
  return {first, static_cast<std::uint64_t>(last - first + element)};
}

StridedCopy::StridedCopy(const plug_tensor& dst, std::byte* to, const plug_tensor& src, const std::byte* from)
    : to_(to),
      from_(from),
      element_bytes_(PLUG_DTYPE_BYTES(dst.dtype)),
      from_element_bytes_(PLUG_DTYPE_BYTES(src.dtype)) {
  if (!has_same_bytes(dst, src)) choose_conversion(dst, src);
  const auto element = static_cast<std::int64_t>(element_bytes_);
  const auto from_element = static_cast<std::int64_t>(from_element_bytes_);
  dimensions_.reserve(static_cast<std::size_t>(dst.ndim) + 2);
  for (std::int32_t d = 0; d < dst.ndim; ++d) {
    if (dst.sizes[d] == 1) continue;
    Dimension dimension{dst.sizes[d], dst.strides[d] * element, src.strides[d] * from_element};
    if (dimension.to < 0) {  // walk it from its other end
      to_ += (dimension.size - 1) * dimension.to;
      from_ += (dimension.size - 1) * dimension.from;
      dimension.to = -dimension.to;
      dimension.from = -dimension.from;
    }
    dimensions_.push_back(dimension);
  }
  join_dimensions();
  choose_rows();
}

void StridedCopy::choose_conversion(const plug_tensor& dst, const plug_tensor& src) {
  convert_ = find_conversion(dst.dtype, src.dtype);
  from_flags_ = src.flags & kLazyBits;
  to_flags_ = dst.flags & kLazyBits;
  if ((from_flags_ | to_flags_) == 0) return;
  from_bits_ = find_lazy_bits(src.dtype);
  to_bits_ = find_lazy_bits(dst.dtype);
}

void StridedCopy::operator()() const noexcept {
  const bool has_team = PLUG_HAS(&host(), team) && host().team != nullptr;
  if (!has_team || !is_large()) return walk(0, to_, from_);
  const auto part = [](void* copy, std::int32_t index, std::int32_t count) {
    static_cast<const StridedCopy*>(copy)->run_part(index, count);
  };
  host().team(&host(), part, const_cast<StridedCopy*>(this));
}

bool StridedCopy::is_large() const noexcept {
  auto bytes = static_cast<std::int64_t>(std::max(element_bytes_, from_element_bytes_));
  for (const Dimension& dimension : dimensions_) bytes *= dimension.size;
  return bytes >= kTeamBytes;
}

void StridedCopy::run_part(std::int32_t index, std::int32_t count) const noexcept {
  StridedCopy part = *this;
  Dimension& longest =
      *std::max_element(part.dimensions_.begin(), part.dimensions_.end(),
                        [](const Dimension& a, const Dimension& b) { return a.size < b.size; });
  // Whole tiles, so that no two threads write one cache line.
  const std::int64_t tiles = (longest.size + kTile - 1) / kTile;
  const std::int64_t begin = std::min(tiles * index / count * kTile, longest.size);
  const std::int64_t end = std::min(tiles * (index + 1) / count * kTile, longest.size);
  part.to_ += begin * longest.to;
  part.from_ += begin * longest.from;
  longest.size = end - begin;
  part.walk(0, part.to_, part.from_);
}

void StridedCopy::join_dimensions() {
  std::sort(dimensions_.begin(), dimensions_.end(), [](const Dimension& a, const Dimension& b) {
    return std::tie(a.to, a.from) > std::tie(b.to, b.from);
  });
  std::size_t kept = 0;
  for (std::size_t d = 1; d < dimensions_.size(); ++d) {
    Dimension& outer = dimensions_[kept];
    const Dimension inner = dimensions_[d];
    if (outer.to == inner.size * inner.to && outer.from == inner.size * inner.from) {
      outer = {outer.size * inner.size, inner.to, inner.from};
    } else {
      dimensions_[++kept] = inner;
    }
  }
  if (!dimensions_.empty()) dimensions_.resize(kept + 1);
  const auto element = static_cast<std::int64_t>(element_bytes_);
  const auto from_element = static_cast<std::int64_t>(from_element_bytes_);
  if (dimensions_.empty()) dimensions_.push_back({1, element, from_element});
  if (dimensions_.size() == 1) dimensions_.insert(dimensions_.begin(), Dimension{1, 0, 0});
}

// The innermost dimension is where the destination is dense. Beside it goes the one where the
// source is, so that copy_plane() finds both.
void StridedCopy::choose_rows() {
  const auto rows = dimensions_.end() - 2;
  const auto densest = std::min_element(
      dimensions_.begin(), dimensions_.end() - 1,
      [](const Dimension& a, const Dimension& b) { return std::abs(a.from) < std::abs(b.from); });
  std::iter_swap(densest, rows);
}

void StridedCopy::walk(std::size_t depth, std::byte* to, const std::byte* from) const noexcept {
  if (depth + 2 == dimensions_.size()) return copy_plane(to, from);
  const Dimension& dimension = dimensions_[depth];
  for (std::int64_t i = 0; i < dimension.size; ++i) {
    walk(depth + 1, to + i * dimension.to, from + i * dimension.from);
  }
}

void StridedCopy::copy_plane(std::byte* to, const std::byte* from) const noexcept {
  if (convert_ != nullptr) return convert_plane(to, from);
  switch (element_bytes_) {
    case 1: return copy_plane_of<1>(to, from);
    case 2: return copy_plane_of<2>(to, from);
    case 4: return copy_plane_of<4>(to, from);
    case 8: return copy_plane_of<8>(to, from);
    case 16: return copy_plane_of<16>(to, from);
    default: return copy_plane_of<0>(to, from);
  }
}

template <std::int64_t kBytes>
void StridedCopy::copy_plane_of(std::byte* to, const std::byte* from) const noexcept {
  // A constant where it can be, so that copying an element is one load and one store.
  const std::int64_t element = kBytes != 0 ? kBytes : static_cast<std::int64_t>(element_bytes_);
  const Dimension& rows = dimensions_[dimensions_.size() - 2];
  const Dimension& columns = dimensions_.back();
  if (columns.to == element && columns.from == element) {
    for (std::int64_t r = 0; r < rows.size; ++r) {
      std::memcpy(to + r * rows.to, from + r * rows.from, static_cast<std::size_t>(columns.size * element));
    }
    return;
  }
  if constexpr (kBytes != 0) {
    if (columns.to == element && rows.from == element) return transpose<kBytes>(to, from);
  }
  for (std::int64_t r = 0; r < rows.size; ++r) {
    for (std::int64_t c = 0; c < columns.size; ++c) {
      std::memcpy(to + r * rows.to + c * columns.to, from + r * rows.from + c * columns.from,
                  static_cast<std::size_t>(element));
    }
  }
}

// Tile by tile, each turned in a buffer of its own: rows far apart in memory share few cache sets,
// so both sides are best read and written a whole row of a tile at a time.
template <std::int64_t kBytes>
void StridedCopy::transpose(std::byte* to, const std::byte* from) const noexcept {
  const Dimension& rows = dimensions_[dimensions_.size() - 2];
  const Dimension& columns = dimensions_.back();
  alignas(64) std::byte tile[kTile * kTile * kBytes];
  for (std::int64_t top = 0; top < rows.size; top += kTile) {
    const std::int64_t height = std::min(kTile, rows.size - top);
    for (std::int64_t left = 0; left < columns.size; left += kTile) {
      const std::int64_t width = std::min(kTile, columns.size - left);
      const std::byte* const corner = from + top * kBytes + left * columns.from;
      for (std::int64_t c = 0; c < width; ++c) {
        for (std::int64_t r = 0; r < height; ++r) {
          std::memcpy(tile + (r * kTile + c) * kBytes, corner + c * columns.from + r * kBytes, kBytes);
        }
      }
      for (std::int64_t r = 0; r < height; ++r) {
        std::memcpy(to + (top + r) * rows.to + left * kBytes, tile + r * kTile * kBytes,
                    static_cast<std::size_t>(width * kBytes));
      }
    }
  }
}

// Tile by tile where the source's rows are not dense, so that a line of it is fetched once.
void StridedCopy::convert_plane(std::byte* to, const std::byte* from) const noexcept {
  const Dimension& rows = dimensions_[dimensions_.size() - 2];
  const Dimension& columns = dimensions_.back();
  const bool is_dense = columns.from == static_cast<std::int64_t>(from_element_bytes_);
  const std::int64_t width = is_dense ? columns.size : kTile;
  for (std::int64_t left = 0; left < columns.size; left += width) {
    const std::int64_t count = std::min(width, columns.size - left);
    for (std::int64_t r = 0; r < rows.size; ++r) {
      convert_row(to + r * rows.to + left * columns.to, from + r * rows.from + left * columns.from, count);
    }
  }
}

// With bits: gathered, the source's applied, converted, the destination's applied, spread.
void StridedCopy::convert_row(std::byte* to, const std::byte* from, std::int64_t count) const noexcept {
  const Dimension& columns = dimensions_.back();
  if (from_bits_ == nullptr) return convert_(to, columns.to, from, columns.from, count);
  constexpr std::size_t kMostBytes = 16;  // of an element
  alignas(kMostBytes) std::byte given[kTile * kMostBytes];
  alignas(kMostBytes) std::byte made[kTile * kMostBytes];
  const auto element = static_cast<std::int64_t>(element_bytes_);
  const auto from_element = static_cast<std::int64_t>(from_element_bytes_);
  for (std::int64_t done = 0; done < count; done += kTile) {
    const std::int64_t now = std::min(kTile, count - done);
    for (std::int64_t i = 0; i < now; ++i) {
      std::memcpy(given + i * from_element, from + (done + i) * columns.from, from_element_bytes_);
    }
    from_bits_(given, now, from_flags_);
    convert_(made, element, given, from_element, now);
    to_bits_(made, now, to_flags_);
    for (std::int64_t i = 0; i < now; ++i) {
      std::memcpy(to + (done + i) * columns.to, made + i * element, element_bytes_);
    }
  }
}

}  // namespace torchplug::sim
