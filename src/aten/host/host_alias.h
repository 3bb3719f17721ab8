#pragma once
// A CPU tensor that lies on the memory of a device tensor, through the plugin's host view.
// Made once and pointed at one tensor after the other, since making a tensor costs more than what a
// small operator computes. It owns no memory. Belongs to one call at a time.

#include <ATen/core/Tensor.h>

#include "base/namespaces.h"

namespace torchplug::aten {

// Whether the host can reach the memory of a device tensor: a plugin may give a view of some allocations
// only.
bool is_in_host_view(const at::Tensor& tensor);

class HostAlias {
 public:
  HostAlias();

  // Looks like `original`, which is in the host's view, from here on, and lies on its memory.
  void point_at(const at::Tensor& original);
  // Lies on the memory of `original`, which has the dtype, sizes and strides of the last one shown.
  void move_to(const at::Tensor& original);
  // Looks like `original`, whose storage is that of the tensor `sibling` shows, and shares the sibling's.
  void point_at(const at::Tensor& original, const HostAlias& sibling);

  const at::Tensor& tensor() const { return tensor_; }
  at::Tensor& tensor() { return tensor_; }
  // Becomes another tensor if somebody else holds it or its storage, as an operator that keeps one would.
  // Whether it stayed the one it was.
  bool let_go();

 private:
  void take_place(const c10::TensorImpl& shown);
  void take_shape(const at::Tensor& original);

  at::Tensor tensor_;
  // The tensor that was made: a kernel might have put another into its place.
  const c10::TensorImpl* made_;
};

}  // namespace torchplug::aten
