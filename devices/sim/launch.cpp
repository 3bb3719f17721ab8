#include "launch.h"

#include "location.h"
#include "strided_copy.h"

namespace torchplug::sim {

plug_tensor usable(const plug_tensor& tensor) {
  const Extent extent = extent_of(tensor);
  plug_tensor made = tensor;
  made.mem = {};
  made.mem.device = PLUG_HOST;
  if (extent.bytes != 0)
    made.mem.base = locate(tensor.mem, extent.bytes, extent.first).address - extent.first;
  return made;
}

bool is_plain(const plug_tensor& tensor) {
  constexpr std::uint32_t kKnownFlags = PLUG_TENSOR_WRITTEN;
  return tensor.ndim >= 0 && tensor.layout == 0 && (tensor.flags & ~kKnownFlags) == 0;
}

}  // namespace torchplug::sim
