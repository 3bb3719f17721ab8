#pragma once
// A copy between two tensors of one shape and any strides and types, reduced to as few dimensions as
// describe it. Made by the thread that enqueues it, run by the stream's worker, with PyTorch's threads if it
// is large.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "convert.h"
#include "torchplug/plug.h"

namespace torchplug::sim {

// The bytes that a tensor spans, relative to its element [0, 0, ...]; none if it has no element.
struct Extent {
  std::int64_t first;  // zero or less
  std::uint64_t bytes;
};
Extent extent_of(const plug_tensor& tensor);

// Whether a StridedCopy can be made of tensors with these types and flags.
bool can_convert(const plug_tensor& dst, const plug_tensor& src);

class StridedCopy {
 public:
  // `to` and `from` are the usable addresses of the tensors' elements [0, 0, ...]. Both tensors
  // have elements, and their extents have been checked.
  StridedCopy(const plug_tensor& dst, std::byte* to, const plug_tensor& src, const std::byte* from);

  void operator()() const noexcept;

 private:
  struct Dimension {  // strides in bytes; to >= 0
    std::int64_t size;
    std::int64_t to;
    std::int64_t from;
  };

  void choose_conversion(const plug_tensor& dst, const plug_tensor& src);
  void join_dimensions();
  void choose_rows();
  bool is_large() const noexcept;
  // The part of it that one of `count` threads does.
  void run_part(std::int32_t index, std::int32_t count) const noexcept;
  void walk(std::size_t depth, std::byte* to, const std::byte* from) const noexcept;
  void copy_plane(std::byte* to, const std::byte* from) const noexcept;
  template <std::int64_t kBytes>  // of an element; 0: any
  void copy_plane_of(std::byte* to, const std::byte* from) const noexcept;
  template <std::int64_t kBytes>
  void transpose(std::byte* to, const std::byte* from) const noexcept;
  void convert_plane(std::byte* to, const std::byte* from) const noexcept;
  void convert_row(std::byte* to, const std::byte* from, std::int64_t count) const noexcept;

  std::byte* to_;
  const std::byte* from_;
  std::size_t element_bytes_;       // of the destination
  std::size_t from_element_bytes_;  // the same, unless it converts
  // Null where the bytes are copied as they are.
  ConvertRow convert_ = nullptr;
  // Of elements with a conjugate or negative bit; null if neither side has any.
  ApplyBits from_bits_ = nullptr;
  ApplyBits to_bits_ = nullptr;
  std::uint32_t from_flags_ = 0;
  std::uint32_t to_flags_ = 0;
  std::vector<Dimension> dimensions_;  // outermost first, at least two
};

}  // namespace torchplug::sim
