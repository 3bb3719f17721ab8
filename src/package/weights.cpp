#include "package/weights.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>

#include "base/dtype.h"

namespace torchplug::package {
namespace {

at::Tensor empty_bytes(uint64_t bytes, c10::Device device) {
  return at::empty({static_cast<int64_t>(bytes)}, at::dtype(at::kByte).device(device));
}

at::Tensor load_storage(const PackageFile& file, const Section& section, c10::Device device) {
  at::Tensor on_host = empty_bytes(section.bytes, c10::kCPU);
  file.read(section, on_host.data_ptr());
  if (device.is_cpu()) return on_host;
  return empty_bytes(section.bytes, device).copy_(on_host);
}

// Whether all elements lie within so many bytes.
bool fits(const Weight& weight, uint64_t itemsize, uint64_t bytes) {
  uint64_t last = static_cast<uint64_t>(weight.offset);
  for (size_t d = 0; d < weight.sizes.size(); ++d) {
    if (weight.sizes[d] == 0) return true;
    uint64_t reach = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(weight.sizes[d] - 1),
                               static_cast<uint64_t>(weight.strides[d]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return false;
  }
  uint64_t end = 0;
  return !__builtin_add_overflow(last, uint64_t{1}, &end) && !__builtin_mul_overflow(end, itemsize, &end) &&
         end <= bytes;
}

at::Tensor weight_in(const at::Tensor& storage, const Weight& weight) {
  const auto dtype = to_scalar_type(weight.dtype);
  if (!dtype || !fits(weight, c10::elementSize(*dtype), storage.nbytes()))
    refuse("The package has a weight '", weight.name, "' that is not in its storage. Make it anew.");
  at::Tensor tensor = at::empty({0}, storage.options().dtype(*dtype));
  return tensor.set_(storage.storage(), weight.offset, weight.sizes, weight.strides);
}

bool are_same(const Weight& a, const Weight& b) {
  return a.storage == b.storage && a.dtype == b.dtype && a.offset == b.offset && a.sizes == b.sizes &&
         a.strides == b.strides && a.is_on_host == b.is_on_host;
}

}  // namespace

std::vector<at::Tensor> load_weights(const PackageFile& file, const std::vector<Weight>& weights,
                                     c10::Device device) {
  std::vector<at::Tensor> storages(file.storages().size());
  std::vector<at::Tensor> loaded;
  loaded.reserve(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const Weight& weight = weights[i];
    const auto same = std::find_if(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&weight](const Weight& other) { return are_same(weight, other); });
    if (same != weights.begin() + static_cast<std::ptrdiff_t>(i)) {
      loaded.push_back(loaded[static_cast<size_t>(same - weights.begin())]);
      continue;
    }
    const auto place = static_cast<size_t>(weight.storage);
    const c10::Device where = weight.is_on_host ? c10::Device(c10::kCPU) : device;
    at::Tensor& storage = storages[place];
    if (!storage.defined()) storage = load_storage(file, file.storages()[place], where);
    if (storage.device() != where)
      refuse("The package has a weight '", weight.name,
             "' that is on the device and on the host. Make it anew.");
    loaded.push_back(weight_in(storage, weight));
  }
  return loaded;
}

}  // namespace torchplug::package
