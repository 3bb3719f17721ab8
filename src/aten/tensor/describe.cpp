#include "aten/tensor/describe.h"

namespace torchplug::aten {

plug_mem memory_of(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = *impl.unsafe_storage().unsafeGetStorageImpl();
  if (storage.data() == nullptr) return {nullptr, 0, plugin_index(impl.device().index()), 0};
  return memory_of(impl, storage);
}

}  // namespace torchplug::aten
