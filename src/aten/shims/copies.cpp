// Copies between tensors of the host, of one device and of two, whatever their dtypes and strides; and single
// numbers read off a device.

#include <ATen/Dispatch_v2.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>

#include <array>
#include <cstring>

#include "aten/op/operator_kernel.h"
#include "aten/shims/shims.h"
#include "aten/tensor/arguments.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/storage.h"
#include "aten/tensor/transfer.h"
#include "base/dtype.h"
#include "base/immortal.h"
#include "memory/host_allocator.h"
#include "runtime/capture.h"
#include "runtime/event.h"
#include "runtime/memory_copy.h"
#include "runtime/submit.h"

namespace torchplug::aten {
namespace {

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

// Whether copying the bytes one tensor spans gives the other.
bool is_plain(const at::Tensor& to, const at::Tensor& from) {
  return same_bits(to, from) && to.sizes() == from.sizes() && to.strides() == from.strides() &&
         to.is_non_overlapping_and_dense();
}

c10::StorageImpl& storage_of(const at::Tensor& tensor) {
  return aten::storage_of(*tensor.unsafeGetTensorImpl());
}

Stream current_stream_of(const at::Tensor& tensor) { return Stream::current(tensor.device().index()); }

void copy_by_plugin(const at::Tensor& to, const at::Tensor& from, const Stream& stream) {
  copy_memory(memory_of(to), memory_of(from), to.nbytes(), stream);
}

// Same device, same dtype, any strides. False if the plugin leaves it to the CPU.
bool copy_strided_by_plugin(const at::Tensor& to, const at::Tensor& from) {
  const bool possible = plugin_has<&plug_runtime::copy_strided>(to.device().index()) && same_bits(to, from) &&
                        to_plug_dtype(to.scalar_type()) &&
                        at::has_internal_overlap(to) != at::MemOverlap::Yes && !to.is_alias_of(from);
  if (!possible) return false;
  const plug_tensor destination = describe(to);
  const plug_tensor source = describe(from);
  const Stream stream = current_stream_of(to);
  ensure_open(stream.device());
  const Work copy{.kind = Work::Kind::kCopy,
                  .stream = stream,
                  .function = "copy_strided",
                  .may_decline = true,
                  .bytes = to.nbytes(),
                  .to = &destination.mem,
                  .from = &source.mem};
  return submit(copy, [&](uint64_t /*number*/) {
           return ask_plugin<&plug_runtime::copy_strided>(stream.device(), stream.handle(), &destination,
                                                          &source);
         }) == PLUG_OK;
}

// The CPU's copy_ on borrowed or staged memory: converts, broadcasts, resolves whatever there is.
void copy_on_host(const at::Tensor& to, const at::Tensor& from) {
  static auto& kernel =
      *immortal<OperatorKernel>(c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", ""));
  torch::jit::Stack stack{to, from, false};
  kernel.run(stack);
}

void copy_within_device(const at::Tensor& to, const at::Tensor& from) {
  at::assert_no_internal_overlap(to);
  at::assert_no_partial_overlap(to, from);
  if (is_plain(to, from)) {
    copy_by_plugin(to, from, current_stream_of(to));
  } else if (!copy_strided_by_plugin(to, from)) {
    copy_on_host(to, from);
  }
}

at::Tensor empty_with_strides_of(const at::Tensor& like, at::TensorOptions options) {
  return at::empty_strided(like.sizes(), like.strides(), options);
}

// In a capture: single numbers are read at once; pinned memory is read or written at each replay and held by
// the capture; of other host memory nobody could say what a replay finds there.
void hold_in_capture(const at::Tensor& host, const Stream& stream, bool non_blocking, bool is_source) {
  if (!any_capture()) return;
  const auto capture = capture_of(stream);
  if (capture == nullptr || (is_source && host.dim() == 0)) return;
  if (non_blocking && is_pinned(host.const_data_ptr())) {
    capture->hold(host.storage());
    return;
  }
  capture->refuse(std::string("A copy ") + (is_source ? "from" : "to") +
                  " the host cannot be captured in a graph unless the host memory is pinned and the copy is "
                  "non_blocking. " +
                  (is_source ? "Copy before the replay, into a tensor that the graph reads."
                             : "Copy after the replay, from a tensor that the graph wrote."));
}

// Whether PyTorch's CPU allocator allocated the memory. Any other may be pinned by somebody, whom the
// plugin's driver knows and torchplug does not: then a driver's copy from it may not have finished when it
// returns.
bool is_ordinary_host_memory(const at::Tensor& host) {
  return host.storage().data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter();
}

void copy_from_host(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const Stream stream = current_stream_of(to);
  hold_in_capture(from, stream, non_blocking, /*is_source=*/true);
  if (is_plain(to, from)) {
    const bool is_read_later =
        write_storage(from.const_data_ptr(), storage_of(to), span_of(to).begin, from.nbytes(), stream);
    const bool waits = !non_blocking && (is_read_later || !is_ordinary_host_memory(from));
    if (waits && !is_capturing(stream)) stream.synchronize();
    return;
  }
  if (to.is_non_overlapping_and_dense() && !to.is_conj() && !to.is_neg()) {
    at::Tensor converted = empty_with_strides_of(to, to.options().device(at::kCPU));
    converted.copy_(from);
    copy_from_host(to, converted, non_blocking);
    return;
  }
  // Any strides: what the host has goes over dense, and the device spreads it.
  at::Tensor dense = at::empty(from.sizes(), from.options().device(to.device()));
  copy_from_host(dense, from.contiguous().resolve_conj().resolve_neg(), non_blocking);
  copy_within_device(to, dense);
}

void copy_to_host(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  hold_in_capture(to, current_stream_of(from), non_blocking, /*is_source=*/false);
  if (is_plain(to, from)) {
    const Stream stream = current_stream_of(from);
    const bool is_written_later =
        read_storage(to.mutable_data_ptr(), storage_of(from), span_of(from).begin, from.nbytes(), stream);
    if (!non_blocking || !is_written_later) stream.synchronize();
    return;
  }
  at::Tensor dense = from;
  if (!from.is_non_overlapping_and_dense()) {
    dense = at::empty(from.sizes(), from.options());
    if (from.is_conj()) dense._set_conj(true);
    if (from.is_neg()) dense._set_neg(true);
    copy_within_device(dense, from);
  }
  at::Tensor landed = empty_with_strides_of(dense, dense.options().device(at::kCPU));
  if (dense.is_conj()) landed._set_conj(true);
  if (dense.is_neg()) landed._set_neg(true);
  copy_to_host(landed, dense, /*non_blocking=*/false);
  to.copy_(landed);
}

// On the source's stream, after the destination's work so far and before its work to come.
void copy_between_plain(const at::Tensor& to, const at::Tensor& from) {
  const Stream source = current_stream_of(from);
  const Stream destination = current_stream_of(to);
  Event ready(destination.device(), /*with_timing=*/false);
  ready.record(destination);
  ready.block(source);
  copy_by_plugin(to, from, source);
  Event done(source.device(), /*with_timing=*/false);
  done.record(source);
  done.block(destination);
}

void copy_between_devices(const at::Tensor& to, const at::Tensor& from) {
  if (!can_access_peer(from.device().index(), to.device().index())) {
    at::Tensor landed = at::empty(from.sizes(), from.options().device(at::kCPU));
    copy_to_host(landed, from.resolve_conj().resolve_neg(), /*non_blocking=*/false);
    copy_from_host(to, landed, /*non_blocking=*/false);
    return;
  }
  if (is_plain(to, from)) {
    copy_between_plain(to, from);
    return;
  }
  at::Tensor dense = at::empty(from.sizes(), from.options());
  dense.copy_(from);
  at::Tensor arrived = at::empty(from.sizes(), from.options().device(to.device()));
  copy_between_plain(arrived, dense);
  copy_within_device(to, arrived);
}

// To or from a device of another kind, say CUDA, which its own kernels reach from the host.
void copy_by_way_of_host(at::Tensor& to, const at::Tensor& from) {
  if (is_on_device(to)) {
    copy_from_host(to, from.to(at::kCPU), /*non_blocking=*/false);
    return;
  }
  at::Tensor landed = at::empty(from.sizes(), from.options().device(at::kCPU));
  copy_to_host(landed, from.resolve_conj().resolve_neg(), /*non_blocking=*/false);
  to.copy_(landed);
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) return self;
  if (source._is_zerotensor()) return self.zero_();
  const at::Tensor from = source.sizes() == self.sizes() ? source : source.expand(self.sizes());
  if (self.numel() == 0) return self;
  if (is_on_device(self)) own_memory(self);
  if (is_on_device(from)) storage_of(from);  // or it is refused
  const bool is_foreign = !self.is_cpu() && !from.is_cpu() && self.device().type() != from.device().type();
  if (is_foreign) {
    copy_by_way_of_host(self, from);
  } else if (!is_on_device(self)) {
    copy_to_host(self, from, non_blocking);
  } else if (!is_on_device(from)) {
    copy_from_host(self, from, non_blocking);
  } else if (self.device() == from.device()) {
    copy_within_device(self, from);
  } else {
    copy_between_devices(self, from);
  }
  return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& destination, bool non_blocking) {
  at::Tensor to = destination;
  return copy_(to, self, non_blocking);
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& destination) {
  at::Tensor to = destination;
  to.resize_(self.sizes());
  return copy_(to, self, /*non_blocking=*/false);
}

at::Scalar local_scalar(const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  alignas(16) std::array<std::byte, 16> value{};
  const Stream stream = current_stream_of(self);
  refuse_in_capture(stream, "Reading a number of the device (item(), a condition on a tensor)",
                    "Read it after the replay.");
  read_memory(value.data(), memory_of(self), self.itemsize(), stream);
  stream.synchronize();
  return AT_DISPATCH_V2(self.scalar_type(), "_local_scalar_dense", AT_WRAP([&] {
                          scalar_t number;
                          std::memcpy(&number, value.data(), sizeof number);
                          return at::Scalar(number);
                        }),
                        AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), at::kComplexHalf, at::kHalf, at::kBool,
                        at::kBFloat16, AT_EXPAND(AT_FLOAT8_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
}

}  // namespace

void add_copies(OperatorLibrary& library) {
  library.impl("copy_", TORCH_FN(copy_));
  library.impl("_copy_from", TORCH_FN(copy_from));
  library.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  library.impl("_local_scalar_dense", TORCH_FN(local_scalar));
}

}  // namespace torchplug::aten
