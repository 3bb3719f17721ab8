#include "aten/tensor/copy_on_write.h"

#include <ATen/ops/_lazy_clone_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/COW.h>

namespace torchplug::aten {
namespace {

void free_block_at(void* address) { memory::detail::free_block(memory::detail::block_at(address)); }

}  // namespace

// PyTorch shares memory that is its own context. That of the allocator is a block: it has to be looked up
// while the memory is shared.
at::Tensor lazy_clone(const at::Tensor& tensor) {
  c10::StorageImpl& storage = storage_of(*tensor.unsafeGetTensorImpl());
  c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  if (data.get_deleter() == &memory::detail::free_block) {
    void* address = data.get();
    const c10::Device device = data.device();
    data.release_context();
    storage.set_data_ptr_noswap({address, address, &free_block_at, device});
  }
  return at::native::_lazy_clone(tensor);
}

void detail::own_other_memory(const at::TensorBase& tensor) {
  c10::StorageImpl& storage = *tensor.storage().unsafeGetStorageImpl();
  if (c10::impl::cow::is_cow_data_ptr(storage.data_ptr())) {
    const c10::DeviceGuard guard(tensor.device());
    storage.mutable_data();
  }
  c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  if (data.get_deleter() != &free_block_at) return;
  void* address = data.get();
  const c10::Device device = data.device();
  data.release_context();
  storage.set_data_ptr_noswap(
      {address, memory::detail::block_at(address), &memory::detail::free_block, device});
}

}  // namespace torchplug::aten
