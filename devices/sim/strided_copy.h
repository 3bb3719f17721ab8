#pragma once
// A copy between two tensors of one shape and element size and any strides, reduced to as few
// dimensions as describe it. Made by the thread that enqueues it, run by the stream's worker.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "torchplug/plug.h"

namespace torchplug::sim {

// The bytes that a tensor spans, relative to its element [0, 0, ...]; none if it has no element.
struct Extent {
  std::int64_t first;  // zero or less
  std::uint64_t bytes;
};
Extent extent_of(const plug_tensor& tensor);

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

  void join_dimensions();
  void choose_rows();
  void walk(std::size_t depth, std::byte* to, const std::byte* from) const noexcept;
  void copy_plane(std::byte* to, const std::byte* from) const noexcept;
  template <std::int64_t kBytes>  // of an element; 0: any
  void copy_plane_of(std::byte* to, const std::byte* from) const noexcept;
  template <std::int64_t kBytes>
  void transpose(std::byte* to, const std::byte* from) const noexcept;

  std::byte* to_;
  const std::byte* from_;
  std::size_t element_bytes_;
  std::vector<Dimension> dimensions_;  // outermost first, at least two
};

}  // namespace torchplug::sim
