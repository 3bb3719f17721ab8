#include "aten/tensor/quantizer.h"

#include <ATen/quantized/QTensorImpl.h>
#include <c10/util/Exception.h>

#include "aten/tensor/arguments.h"
#include "aten/tensor/transfer.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;

// Several elements in a byte.
bool is_packed(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kQUInt4x2 || tensor.scalar_type() == at::kQUInt2x4;
}

}  // namespace

at::Tensor integers_of(const at::Tensor& tensor) {
  const auto key = is_on_device(tensor) ? DispatchKey::PrivateUse1 : DispatchKey::CPU;
  at::Tensor integers = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(tensor.storage()), c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(c10::toUnderlying(tensor.scalar_type())));
  c10::TensorImpl& view = *integers.unsafeGetTensorImpl();
  if (is_packed(tensor)) {
    TORCH_CHECK(tensor.is_contiguous() && tensor.storage_offset() == 0, "A tensor of dtype ",
                tensor.scalar_type(), " can only be copied whole and contiguous. Call contiguous() first.");
    view.set_sizes_contiguous({static_cast<int64_t>(tensor.storage().nbytes())});
  } else {
    view.set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }
  return integers;
}

at::QuantizerPtr quantizer_of(const at::Tensor& tensor) { return at::get_qtensorimpl(tensor)->quantizer(); }

void set_quantizer(const at::Tensor& tensor, at::QuantizerPtr quantizer) {
  at::get_qtensorimpl(tensor)->set_quantizer_(std::move(quantizer));
}

at::QuantizerPtr move_quantizer(const at::QuantizerPtr& quantizer, c10::Device device) {
  // Any other is a few numbers, or, of a tensor made empty, nothing yet.
  const auto* channels = dynamic_cast<const at::PerChannelAffineQuantizer*>(quantizer.get());
  if (channels == nullptr) return quantizer;
  const auto copy = [&](const at::Tensor& numbers) {
    return numbers.to(device, numbers.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
  };
  return at::make_per_channel_affine_quantizer(copy(channels->scales()), copy(channels->zero_points()),
                                               channels->axis(), channels->scalar_type());
}

at::Tensor make_quantized(c10::Storage storage, caffe2::TypeMeta dtype, at::QuantizerPtr quantizer) {
  const auto key =
      storage.device_type() == kDeviceType ? DispatchKey::QuantizedPrivateUse1 : DispatchKey::QuantizedCPU;
  return at::detail::make_tensor<at::QTensorImpl>(std::move(storage), c10::DispatchKeySet(key), dtype,
                                                  std::move(quantizer));
}

at::Tensor copy_quantized_to_device(const at::Tensor& host, const Stream& stream) {
  const at::Tensor integers = copy_to_device(integers_of(host), stream);
  at::Tensor copy =
      make_quantized(integers.storage(), host.dtype(), move_quantizer(quantizer_of(host), integers.device()));
  copy.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides());
  return copy;
}

}  // namespace torchplug::aten
