#include "aten/tensor/device_tensor.h"

#include <ATen/EmptyTensor.h>

#include "memory/device_allocator.h"

namespace torchplug::aten {
namespace {

constexpr c10::DispatchKeySet kDeviceKeys{c10::DispatchKey::PrivateUse1};

}  // namespace

void ShapedTensorImpl::look_like(const c10::TensorImpl& other) {
  // Any tensor's, through the name that this class may use.
  const c10::impl::SizesAndStrides& plain = other.*(&ShapedTensorImpl::sizes_and_strides_);
  if (C10_UNLIKELY(plain.sizes_data() != other.sizes().data())) {
    // Of a class that keeps them elsewhere.
    set_sizes_and_strides(other.sizes(), other.strides());
    return;
  }
  sizes_and_strides_ = plain;
  numel_ = other.numel();
  is_contiguous_ = other.is_contiguous();
  is_channels_last_ = other.is_strides_like_channels_last();
  is_channels_last_contiguous_ = other.is_contiguous(c10::MemoryFormat::ChannelsLast);
  is_channels_last_3d_ = other.is_strides_like_channels_last_3d();
  is_channels_last_3d_contiguous_ = other.is_contiguous(c10::MemoryFormat::ChannelsLast3d);
  is_non_overlapping_and_dense_ = other.is_non_overlapping_and_dense();
}

DeviceTensorImpl::DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides)
    : ShapedTensorImpl(kDeviceKeys, c10::scalarTypeToTypeMeta(dtype), c10::Device(kDeviceType, 0)) {
  set_sizes_and_strides(sizes, strides);
}

DeviceTensorImpl::DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype)
    : ShapedTensorImpl(std::move(storage), kDeviceKeys, prototype.data_type_) {
  sizes_and_strides_ = prototype.sizes_and_strides_;
  numel_ = prototype.numel_;
  is_contiguous_ = prototype.is_contiguous_;
  is_channels_last_ = prototype.is_channels_last_;
  is_channels_last_contiguous_ = prototype.is_channels_last_contiguous_;
  is_channels_last_3d_ = prototype.is_channels_last_3d_;
  is_channels_last_3d_contiguous_ = prototype.is_channels_last_3d_contiguous_;
  is_non_overlapping_and_dense_ = prototype.is_non_overlapping_and_dense_;
}

DeviceTensorImpl::DeviceTensorImpl(c10::Storage&& storage, c10::ScalarType dtype,
                                   const c10::TensorImpl& other)
    : ShapedTensorImpl(std::move(storage), kDeviceKeys, c10::scalarTypeToTypeMeta(dtype)) {
  look_like(other);
}

at::Tensor empty_on(const Stream& stream, at::IntArrayRef sizes, at::IntArrayRef strides,
                    at::ScalarType dtype) {
  const size_t bytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(dtype));
  at::Tensor tensor = at::detail::make_tensor_base<c10::TensorImpl>(
      DeviceAllocator::allocate_storage(stream, bytes), kDeviceKeys, c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return tensor;
}

at::Tensor empty_on(const Stream& stream, const DeviceTensorImpl& prototype, size_t bytes) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>(
      c10::make_intrusive<DeviceTensorImpl>(DeviceAllocator::allocate_storage(stream, bytes), prototype)));
}

at::Tensor empty_like_on(const Stream& stream, const c10::TensorImpl& dense, at::ScalarType dtype) {
  const size_t bytes = static_cast<size_t>(dense.numel()) * c10::elementSize(dtype);
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>(
      c10::make_intrusive<DeviceTensorImpl>(DeviceAllocator::allocate_storage(stream, bytes), dtype, dense)));
}

}  // namespace torchplug::aten
