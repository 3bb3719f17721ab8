#include "aten/tensor/describe.h"

#include "aten/tensor/plain_tensor.h"
#include "aten/tensor/storage.h"

namespace torchplug::aten {
namespace {

// Of a device tensor without memory, or of a number on the host.
plug_mem unusual_memory_of(const c10::TensorImpl& tensor) {
  if (tensor.device_type() == kDeviceType) return {nullptr, 0, plugin_index(tensor.device().index()), 0};
  return {const_cast<void*>(tensor.data()), 0, PLUG_HOST, 0};
}

// From the beginning of the storage.
uint64_t plain_byte_offset(const c10::TensorImpl& tensor) {
  const int64_t elements = PlainTensor::storage_offset(tensor);
  return C10_LIKELY(elements == 0)
             ? 0
             : static_cast<uint64_t>(elements) * c10::elementSize(c10::typeMetaToScalarType(tensor.dtype()));
}

// All but where it lies.
void describe_looks(const c10::TensorImpl& tensor, size_t dimensions, const int64_t* sizes,
                    const int64_t* strides, plug_tensor& described) {
  described.dtype = to_plug_dtype(c10::typeMetaToScalarType(tensor.dtype())).value_or(0);
  described.ndim = static_cast<int32_t>(dimensions);
  described.sizes = sizes;
  described.strides = strides;
  const c10::DispatchKeySet keys = tensor.key_set();
  described.flags = (keys.has(c10::DispatchKey::Conjugate) ? uint32_t{PLUG_TENSOR_CONJ} : 0) |
                    (keys.has(c10::DispatchKey::Negative) ? uint32_t{PLUG_TENSOR_NEG} : 0);
  described.layout = 0;
  described.extra = nullptr;
}

C10_NOINLINE void describe_unusual(const c10::TensorImpl& tensor, plug_tensor& described) {
  const c10::StorageImpl& storage = *tensor.unsafe_storage().unsafeGetStorageImpl();
  const bool has_memory = tensor.device_type() == kDeviceType && storage.data() != nullptr;
  described.mem = has_memory ? memory_of(tensor, storage) : unusual_memory_of(tensor);
  const c10::IntArrayRef sizes = tensor.sizes();
  describe_looks(tensor, sizes.size(), sizes.data(), tensor.strides().data(), described);
}

}  // namespace

plug_mem memory_of(const at::TensorBase& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::StorageImpl& storage = storage_of(impl);
  return storage.data() == nullptr ? unusual_memory_of(impl) : memory_of(impl, storage);
}

// A tensor of the usual class on a block of the allocator's is described without a call: 54 instructions,
// where it took 87 with a call for each unusual case in the midst.
void describe(const c10::TensorImpl& tensor, plug_tensor& described) {
  // Without checks: data that nobody may look at is not on a block.
  const c10::DataPtr& data = tensor.unsafe_storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
  const auto* block = data.get_deleter() == &memory::detail::free_block
                          ? static_cast<const Block*>(data.get_context())
                          : nullptr;
  if (C10_UNLIKELY(block == nullptr || !PlainTensor::is(tensor))) {
    describe_unusual(tensor, described);
    return;
  }
  const auto past = static_cast<uint64_t>(static_cast<const char*>(data.get()) - block->address);
  described.mem = Placement{block, past + plain_byte_offset(tensor)}.memory();
  const c10::impl::SizesAndStrides& shape = PlainTensor::shape(tensor);
  describe_looks(tensor, shape.size(), shape.sizes_data(), shape.strides_data(), described);
}

}  // namespace torchplug::aten
