#include "distributed/host_tensors.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>

#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/transfer.h"
#include "memory/device_allocator.h"
#include "memory/host_allocator.h"

namespace torchplug::distributed {
namespace {

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
}

bool reads(Use use) { return use != Use::kWrite; }
bool writes(Use use) { return use != Use::kRead; }

at::Tensor make_dense(const at::Tensor& tensor, Use use) {
  if (is_plain(tensor)) {
    if (writes(use)) own_memory(tensor);
    return tensor;
  }
  at::Tensor dense = at::empty(tensor.sizes(), tensor.options().memory_format(at::MemoryFormat::Contiguous));
  if (reads(use)) dense.copy_(tensor);
  return dense;
}

// Null if the host cannot see the memory.
void* view_of(const at::Tensor& tensor) {
  const Placement placement = DeviceAllocator::instance().locate(*tensor.storage().unsafeGetStorageImpl());
  if (placement.block->view == nullptr) return nullptr;
  return placement.host_address() + span_of(tensor).begin;
}

at::ScalarType number_type(at::ScalarType type) {
  if (type == at::kBool) return at::kByte;
  return at::isComplexType(type) ? c10::toRealValueType(type) : type;
}

}  // namespace

at::Tensor HostTensors::numbers(const at::Tensor& tensor, Use use) {
  return add(tensor, use, number_type(tensor.scalar_type()));
}

at::Tensor HostTensors::bytes(const at::Tensor& tensor, Use use) { return add(tensor, use, at::kByte); }

at::Tensor HostTensors::add(const at::Tensor& tensor, Use use, at::ScalarType dtype) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  // The process group's own threads write to it, and they are not in inference mode.
  const c10::InferenceMode normal(false);
  const at::TensorOptions options = at::device(at::kCPU).dtype(dtype);
  if (tensor.numel() == 0) return at::empty({0}, options);
  Entry entry{tensor, make_dense(tensor, use), {}, use};
  void* address = view_of(entry.dense);
  if (address == nullptr) {
    entry.pinned = host_allocator().allocate(entry.dense.nbytes());
    address = entry.pinned.get();
  }
  const auto count = static_cast<int64_t>(entry.dense.nbytes() / c10::elementSize(dtype));
  entries_.push_back(std::move(entry));
  return at::from_blob(address, {count}, options);
}

bool HostTensors::can_follow_stream(DeviceIndex device) const {
  if (!has_streams(device) || !plugin_has<&plug_runtime::host_func>(device)) return false;
  const auto is_view = [](const Entry& entry) { return entry.pinned.get() == nullptr; };
  return plugin_has<&plug_runtime::host_alloc>(device) ||
         std::all_of(entries_.begin(), entries_.end(), is_view);
}

void HostTensors::bring_in(const Stream& stream) {
  for (const Entry& entry : entries_) {
    DeviceAllocator::instance().recordStream(entry.dense.storage().data_ptr(), stream.unwrap());
    if (entry.pinned.get() == nullptr || !reads(entry.use)) continue;
    read_storage(entry.pinned.get(), *entry.dense.storage().unsafeGetStorageImpl(),
                 span_of(entry.dense).begin, entry.dense.nbytes(), stream);
  }
}

void HostTensors::bring_back(const Stream& stream) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::StreamGuard on_stream(stream.unwrap());
  for (Entry& entry : entries_) {
    const c10::DataPtr& written = entry.original.storage().data_ptr();
    DeviceAllocator::instance().recordStream(written, stream.unwrap());
    if (writes(entry.use)) {
      if (entry.pinned.get() != nullptr) {
        write_storage(entry.pinned.get(), *entry.dense.storage().unsafeGetStorageImpl(),
                      span_of(entry.dense).begin, entry.dense.nbytes(), stream);
      }
      if (!entry.dense.is_same(entry.original)) entry.original.copy_(entry.dense);
    }
    entry.original.reset();
    entry.dense.reset();
  }
}

}  // namespace torchplug::distributed
