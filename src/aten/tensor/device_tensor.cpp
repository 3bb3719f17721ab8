#include "aten/tensor/device_tensor.h"

#include "runtime/device.h"

namespace torchplug::aten {
namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

}  // namespace

DeviceTensorImpl::DeviceTensorImpl(c10::ScalarType dtype, c10::IntArrayRef sizes, c10::IntArrayRef strides)
    : TensorImpl(kKeys, c10::scalarTypeToTypeMeta(dtype), c10::Device(kDeviceType, 0)) {
  set_sizes_and_strides(sizes, strides);
}

DeviceTensorImpl::DeviceTensorImpl(c10::Storage&& storage, const DeviceTensorImpl& prototype)
    : TensorImpl(std::move(storage), kKeys, prototype.data_type_) {
  sizes_and_strides_ = prototype.sizes_and_strides_;
  numel_ = prototype.numel_;
  is_contiguous_ = prototype.is_contiguous_;
  is_channels_last_ = prototype.is_channels_last_;
  is_channels_last_contiguous_ = prototype.is_channels_last_contiguous_;
  is_channels_last_3d_ = prototype.is_channels_last_3d_;
  is_channels_last_3d_contiguous_ = prototype.is_channels_last_3d_contiguous_;
  is_non_overlapping_and_dense_ = prototype.is_non_overlapping_and_dense_;
}

}  // namespace torchplug::aten
