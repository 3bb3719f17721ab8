#include "aten/tensor/describe.h"

#include "aten/tensor/storage.h"

namespace torchplug::aten {
namespace {

// Of a device tensor without memory, or of a number on the host.
C10_NOINLINE plug_mem unusual_memory_of(const c10::TensorImpl& tensor) {
  if (tensor.device_type() == kDeviceType) return {nullptr, 0, plugin_index(tensor.device().index()), 0};
  return {const_cast<void*>(tensor.data()), 0, PLUG_HOST, 0};
}

}  // namespace

plug_mem memory_of(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = storage_of(impl);
  return storage.data() == nullptr ? unusual_memory_of(impl) : memory_of(impl, storage);
}

void describe(const c10::TensorImpl& tensor, plug_tensor& described) {
  const c10::StorageImpl& storage = *tensor.unsafe_storage().unsafeGetStorageImpl();
  const bool is_usual = tensor.device_type() == kDeviceType && storage.data() != nullptr;
  described.mem = C10_LIKELY(is_usual) ? memory_of(tensor, storage) : unusual_memory_of(tensor);
  described.dtype = to_plug_dtype(c10::typeMetaToScalarType(tensor.dtype())).value_or(0);
  const c10::IntArrayRef sizes = tensor.sizes();
  described.ndim = static_cast<int32_t>(sizes.size());
  described.sizes = sizes.data();
  described.strides = tensor.strides().data();
  const c10::DispatchKeySet keys = tensor.key_set();
  described.flags = (keys.has(c10::DispatchKey::Conjugate) ? uint32_t{PLUG_TENSOR_CONJ} : 0) |
                    (keys.has(c10::DispatchKey::Negative) ? uint32_t{PLUG_TENSOR_NEG} : 0);
  described.layout = 0;
  described.extra = nullptr;
}

}  // namespace torchplug::aten
