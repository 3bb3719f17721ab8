#include "aten/tensor/describe.h"

#include "aten/tensor/storage.h"

namespace torchplug::aten {

plug_mem memory_of(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = storage_of(impl);
  if (storage.data() == nullptr) return {nullptr, 0, plugin_index(impl.device().index()), 0};
  return memory_of(impl, storage);
}

}  // namespace torchplug::aten
