#include "aten/tensor/device_tensor.h"

#include "runtime/device.h"

namespace torchplug::aten {
namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

}  // namespace

void ShapedTensorImpl::look_like(const c10::TensorImpl& other) {
  // Any tensor's, through the name that this class may use.
  sizes_and_strides_ = other.*(&ShapedTensorImpl::sizes_and_strides_);
  numel_ = other.numel();
  is_contiguous_ = other.is_contiguous();
  is_channels_last_ = other.is_strides_like_channels_last();
  is_channels_last_contiguous_ = other.is_contiguous(c10::MemoryFormat::ChannelsLast);
  is_channels_last_3d_ = other.is_strides_like_channels_last_3d();
  is_channels_last_3d_contiguous_ = other.is_contiguous(c10::MemoryFormat::ChannelsLast3d);
  is_non_overlapping_and_dense_ = other.is_non_overlapping_and_dense();
}

DeviceTensorImpl::DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides)
    : ShapedTensorImpl(kKeys, c10::scalarTypeToTypeMeta(dtype), c10::Device(kDeviceType, 0)) {
  set_sizes_and_strides(sizes, strides);
}

DeviceTensorImpl::DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype)
    : ShapedTensorImpl(std::move(storage), kKeys, prototype.data_type_) {
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
    : ShapedTensorImpl(std::move(storage), kKeys, c10::scalarTypeToTypeMeta(dtype)) {
  look_like(other);
}

}  // namespace torchplug::aten
