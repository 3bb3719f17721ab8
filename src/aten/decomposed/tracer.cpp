#include "aten/decomposed/tracer.h"

#include <algorithm>
#include <atomic>

#include "aten/kernel/served_operators.h"
#include "aten/plan/operator_facts.h"
#include "base/dtype.h"
#include "runtime/device.h"

namespace torchplug::aten {
namespace {

std::atomic<Tracer> the_tracer{nullptr};
std::atomic<bool> is_wanted{false};

bool holds(const plug_kernel& kernel, DeviceIndex device, at::ScalarType type) {
  const auto dtype = to_plug_dtype(type);
  if (!dtype) return false;
  if (kernel.dtypes == nullptr) return device_info(device).holds(*dtype);
  const auto* end = kernel.dtypes + kernel.dtype_count;
  return std::find(kernel.dtypes, end, *dtype) != end;
}

}  // namespace

void set_tracer(Tracer tracer) { the_tracer = tracer; }
Tracer tracer() { return the_tracer; }
void set_decomposes(bool wanted) { is_wanted = wanted; }
bool decomposes() { return is_wanted; }

std::string why_not_served(const c10::OperatorHandle& op, const std::vector<at::Tensor>& tensors,
                           c10::Device device) {
  const plug_kernel* kernel = kernel_of(full_name(op.operator_name()));
  if (kernel == nullptr) return "which has no kernel";
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || holds(*kernel, device.index(), tensor.scalar_type())) continue;
    return std::string("whose kernel does not take ") + c10::toString(tensor.scalar_type());
  }
  return "";
}

}  // namespace torchplug::aten
