#pragma once
// Flat CPU tensors that stand for the device tensors of one operation of a process group.
// Where the plugin gives a host view they lie on the device memory itself; elsewhere on pinned memory, and
// the bytes are copied before and after, in stream order. A device tensor that is not contiguous stands
// behind a contiguous one. Belongs to one Exchange; the device tensors are let go when the last copy has
// been enqueued.

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/stream.h"

namespace torchplug::distributed {

enum class Use { kRead, kWrite, kUpdate };

class HostTensors {
 public:
  // The elements; complex ones as two, booleans as bytes, since that is what gloo computes with.
  at::Tensor numbers(const at::Tensor& tensor, Use use);
  at::Tensor bytes(const at::Tensor& tensor, Use use);

  // Whether the copies wait for nothing but their turn on a stream.
  bool can_follow_stream() const;

  // Enqueue the copies from and to the device.
  void bring_in(const Stream& stream);
  void bring_back(const Stream& stream);

 private:
  struct Entry {
    at::Tensor original;
    at::Tensor dense;     // the original, or a contiguous tensor in its place
    c10::DataPtr pinned;  // null: the host sees the device memory
    Use use;
  };

  at::Tensor add(const at::Tensor& tensor, Use use, at::ScalarType dtype);

  std::vector<Entry> entries_;
};

}  // namespace torchplug::distributed
