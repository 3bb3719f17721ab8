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
#include <atomic>
#include <cstring>
#include <optional>

#include "aten/op/operator_kernel.h"
#include "aten/shims/shims.h"
#include "aten/tensor/arguments.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "aten/tensor/storage.h"
#include "aten/tensor/transfer.h"
#include "base/dtype.h"
#include "base/immortal.h"
#include "memory/held_storage.h"
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

// What copy_strided has to convert, and whether it is known to. Where torchplug records a capture itself,
// the plugin is not asked before the replay, when it is too late to do it another way.
class Conversion {
 public:
  Conversion(const at::Tensor& to, const at::Tensor& from)
      : needed_(!same_bits(to, from)),
        known_(accepted()[static_cast<size_t>(to.scalar_type())]),
        bit_(uint64_t{1} << static_cast<unsigned>(from.scalar_type())) {}

  bool may_be_recorded(const Stream& stream) const {
    const bool is_asked = !needed_ || !emulates_capture(stream.device()) || !is_capturing(stream);
    return is_asked || (known_.load(std::memory_order_relaxed) & bit_) != 0;
  }
  void note_accepted() {
    if (needed_ && (known_.load(std::memory_order_relaxed) & bit_) == 0) known_ |= bit_;
  }

 private:
  using Sources = std::atomic<uint64_t>;  // a bit for each scalar type
  static_assert(static_cast<size_t>(at::ScalarType::NumOptions) <= 64);
  static std::array<Sources, 64>& accepted() {
    static auto& by_destination = *immortal<std::array<Sources, 64>>();
    return by_destination;
  }

  bool needed_;
  Sources& known_;
  uint64_t bit_;
};

void copy_by_plugin(const at::Tensor& to, const at::Tensor& from, const Stream& stream) {
  copy_memory(memory_of(to), memory_of(from), to.nbytes(), stream);
}

// Of two storages of foreign memory neither need know of the other.
bool may_overlap(const at::Tensor& to, const at::Tensor& from) {
  const auto addresses = [](const at::Tensor& tensor) {
    const auto start = reinterpret_cast<uint64_t>(tensor.storage().data());
    const ByteSpan span = span_of(tensor);
    return ByteSpan{start + span.begin, start + span.end};
  };
  return addresses(to).overlaps(addresses(from));
}

bool may_convert(const at::Tensor& to, const at::Tensor& from) {
  return same_bits(to, from) || (!to.is_quantized() && !from.is_quantized());
}

// Same device, any strides and dtypes. False if the plugin leaves it to the CPU.
bool copy_strided_by_plugin(const at::Tensor& to, const at::Tensor& from) {
  const bool possible = plugin_has<&plug_runtime::copy_strided>(to.device().index()) &&
                        may_convert(to, from) && to_plug_dtype(to.scalar_type()) &&
                        to_plug_dtype(from.scalar_type()) &&
                        at::has_internal_overlap(to) != at::MemOverlap::Yes && !may_overlap(to, from);
  if (!possible) return false;
  const Stream stream = current_stream_of(to);
  Conversion conversion(to, from);
  if (any_capture() && !conversion.may_be_recorded(stream)) return false;
  const plug_tensor destination = describe(to);
  const plug_tensor source = describe(from);
  ensure_open(stream.device());
  const Work copy{.kind = Work::Kind::kCopy,
                  .stream = stream,
                  .function = "copy_strided",
                  .may_decline = true,
                  .bytes = to.nbytes(),
                  .to = &destination.mem,
                  .from = &source.mem};
  const plug_status status = submit(copy, [&](uint64_t /*number*/) {
    return ask_plugin<&plug_runtime::copy_strided>(stream.device(), stream.handle(), &destination, &source);
  });
  if (status != PLUG_OK) return false;
  conversion.note_accepted();
  return true;
}

// In PyTorch's words, which its own copy_ says.
void warn_of_discarding(const at::Tensor& to, const at::Tensor& from) {
  if (from.is_complex() && !to.is_complex() && to.scalar_type() != at::kBool) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
}

OperatorKernel& copy_kernel() {
  static auto& kernel =
      *immortal<OperatorKernel>(c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", ""));
  return kernel;
}

// By the plugin's kernel for any operator, if it has one that takes such copies.
bool copy_by_any(const at::Tensor& to, const at::Tensor& from) {
  if (module_with_any() == nullptr) return false;
  torch::jit::Stack stack{to, from, false};
  return copy_kernel().run_by_plugin(stack);
}

// The CPU's copy_ on borrowed or staged memory: converts, broadcasts, resolves whatever there is.
void copy_on_host(const at::Tensor& to, const at::Tensor& from) {
  torch::jit::Stack stack{to, from, false};
  copy_kernel().run_without_plugin(stack, Reason::kNoStridedCopy);
}

void copy_within_device(const at::Tensor& to, const at::Tensor& from) {
  at::assert_no_internal_overlap(to);
  at::assert_no_partial_overlap(to, from);
  if (is_plain(to, from)) {
    copy_by_plugin(to, from, current_stream_of(to));
    return;
  }
  if (copy_by_any(to, from)) return;
  if (copy_strided_by_plugin(to, from)) {
    warn_of_discarding(to, from);
  } else {
    copy_on_host(to, from);
  }
}

// Whether a copy between host and device is better converted on the device: fewer bytes go over the bus, and
// they are enough to be worth another piece of work.
bool is_better_converted_there(const at::Tensor& on_device, const at::Tensor& on_host) {
  const bool is_less = on_host.itemsize() < on_device.itemsize();
  return is_less && on_device.nbytes() >= kPinnedFrom && may_convert(on_device, on_host) &&
         plugin_has<&plug_runtime::copy_strided>(on_device.device().index());
}

at::Tensor empty_with_strides_of(const at::Tensor& like, at::TensorOptions options) {
  return at::empty_strided(like.sizes(), like.strides(), options);
}

// Whether a capture reads the source of a copy at once: a single number, unless it lies in pinned memory and
// the copy does not wait for it.
bool is_read_at_once(const at::Tensor& host, bool non_blocking) {
  return host.dim() == 0 && !(non_blocking && is_pinned(host.const_data_ptr()));
}

// In a capture: pinned memory is read or written at each replay and held by the capture; of other host memory
// nobody could say what a replay finds there.
void hold_in_capture(const at::Tensor& host, const Stream& stream, bool non_blocking, bool is_source) {
  if (!any_capture()) return;
  const auto capture = capture_of(stream);
  if (capture == nullptr || (is_source && is_read_at_once(host, non_blocking))) return;
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

// What host_allocator() allocated is not reused before that; what others have pinned they might free.
void hold_until_copied(const at::Tensor& host, const Stream& stream) {
  if (is_pinned_by_others(host.const_data_ptr())) hold_storage(host.storage(), stream);
}

void copy_from_host(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  const Stream stream = current_stream_of(to);
  const bool is_pinned_number =
      is_capturing(stream) && is_read_at_once(from, non_blocking) && is_pinned(from.const_data_ptr());
  if (is_pinned_number) return copy_from_host(to, from.clone(), non_blocking);  // which is pageable
  hold_in_capture(from, stream, non_blocking, /*is_source=*/true);
  if (is_plain(to, from)) {
    const bool is_read_later =
        write_storage(from.const_data_ptr(), storage_of(to), span_of(to).begin, from.nbytes(), stream);
    if (is_capturing(stream)) return;
    const bool waits = !non_blocking && (is_read_later || !is_ordinary_host_memory(from));
    if (waits) {
      stream.synchronize();
    } else if (is_read_later) {
      hold_until_copied(from, stream);
    }
    return;
  }
  const bool is_dense = to.is_non_overlapping_and_dense() && !to.is_conj() && !to.is_neg();
  if (is_dense && !is_better_converted_there(to, from)) {
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
    if (!non_blocking || !is_written_later) {
      stream.synchronize();
    } else if (!is_capturing(stream)) {
      hold_until_copied(to, stream);
    }
    return;
  }
  if (is_better_converted_there(from, to)) {
    at::Tensor converted = at::empty(from.sizes(), from.options().dtype(to.scalar_type()));
    copy_within_device(converted, from);
    copy_to_host(to, converted, non_blocking);
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
  // In the smaller of the two types.
  const at::ScalarType dtype = to.itemsize() < from.itemsize() ? to.scalar_type() : from.scalar_type();
  at::Tensor dense = at::empty(from.sizes(), from.options().dtype(dtype));
  dense.copy_(from);
  at::Tensor arrived = at::empty(from.sizes(), dense.options().device(to.device()));
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

std::optional<at::Scalar> item_by_any(const at::Tensor& self) {
  static auto& kernel = *immortal<OperatorKernel>(
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::_local_scalar_dense", ""));
  torch::jit::Stack stack{self};
  if (!kernel.run_by_plugin(stack)) return std::nullopt;
  return stack[0].toScalar();
}

at::Scalar local_scalar(const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, "a Tensor with ", self.numel(), " elements cannot be converted to Scalar");
  alignas(16) std::array<std::byte, 16> value{};
  const Stream stream = current_stream_of(self);
  refuse_in_capture(stream, "Reading a number of the device (item(), a condition on a tensor)",
                    "Read it after the replay.");
  if (module_with_any() != nullptr) {
    if (auto number = item_by_any(self)) return std::move(*number);
  }
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
