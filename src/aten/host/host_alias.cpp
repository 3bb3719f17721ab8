#include "aten/host/host_alias.h"

#include <c10/core/InferenceMode.h>

#include "aten/host/host_tensor.h"
#include "aten/tensor/device_tensor.h"
#include "memory/device_allocator.h"

namespace torchplug::aten {
namespace {

at::Tensor make_tensor() {
  // Usable by calls in inference mode and by others.
  const c10::InferenceMode normal(false);
  return at::detail::make_tensor<ShapedTensorImpl>(host_storage({nullptr, c10::kCPU}, 0),
                                                   c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   caffe2::TypeMeta::Make<float>());
}

bool has_shape_of(const c10::TensorImpl& alias, const c10::TensorImpl& shown) {
  const c10::IntArrayRef sizes = shown.sizes();
  const c10::IntArrayRef strides = shown.strides();
  const c10::IntArrayRef alias_sizes = alias.sizes();
  const c10::IntArrayRef alias_strides = alias.strides();
  if (sizes.size() != alias_sizes.size() || alias.storage_offset() != shown.storage_offset()) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] != alias_sizes[d] || strides[d] != alias_strides[d]) return false;
  }
  return true;
}

}  // namespace

bool is_in_host_view(const at::Tensor& tensor) {
  const c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  return storage.data() == nullptr || DeviceAllocator::instance().locate(storage).block->view != nullptr;
}

HostAlias::HostAlias() : tensor_(make_tensor()), made_(tensor_.unsafeGetTensorImpl()) {}

void HostAlias::point_at(const at::Tensor& original) {
  take_place(*original.unsafeGetTensorImpl());
  take_shape(original);
}

void HostAlias::move_to(const at::Tensor& original) {
  const c10::TensorImpl& shown = *original.unsafeGetTensorImpl();
  take_place(shown);
  c10::TensorImpl& alias = *tensor_.unsafeGetTensorImpl();
  if (alias.storage_offset() != shown.storage_offset()) alias.set_storage_offset(shown.storage_offset());
}

void HostAlias::take_place(const c10::TensorImpl& shown) {
  const c10::StorageImpl& memory = *shown.unsafe_storage().unsafeGetStorageImpl();
  void* address = nullptr;
  if (memory.data() != nullptr) {
    const Placement placement = DeviceAllocator::instance().locate(memory);
    TORCH_INTERNAL_ASSERT(placement.block->view != nullptr);
    address = placement.host_address();
  }
  c10::StorageImpl& storage = *tensor_.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  if (storage.data() != address) storage.set_data_ptr_noswap(c10::DataPtr(address, c10::kCPU));
  storage.set_nbytes(memory.nbytes());
}

void HostAlias::point_at(const at::Tensor& original, const HostAlias& sibling) {
  tensor_.unsafeGetTensorImpl()->set_storage_keep_dtype(sibling.tensor_.storage());
  take_shape(original);
}

void HostAlias::take_shape(const at::Tensor& original) {
  c10::TensorImpl& alias = *tensor_.unsafeGetTensorImpl();
  const c10::TensorImpl& shown = *original.unsafeGetTensorImpl();
  if (alias.dtype() != shown.dtype())
    alias.set_storage_and_dtype(c10::Storage(alias.storage()), shown.dtype());
  if (!has_shape_of(alias, shown)) {
    static_cast<ShapedTensorImpl&>(alias).look_like(shown);
    alias.set_storage_offset(shown.storage_offset());
  }
  constexpr c10::DispatchKeySet kLazy({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative});
  if (C10_UNLIKELY((alias.key_set() & kLazy) != (shown.key_set() & kLazy))) {
    tensor_._set_conj(original.is_conj());
    tensor_._set_neg(original.is_neg());
  }
}

bool HostAlias::let_go() {
  const c10::TensorImpl& alias = *tensor_.unsafeGetTensorImpl();
  if (C10_LIKELY(&alias == made_ && tensor_.use_count() == 1 && alias.unsafe_storage().use_count() == 1))
    return true;
  tensor_ = make_tensor();
  made_ = tensor_.unsafeGetTensorImpl();
  return false;
}

}  // namespace torchplug::aten
