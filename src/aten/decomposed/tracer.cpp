#include "aten/decomposed/tracer.h"

#include <atomic>

#include "aten/kernel/served_operators.h"
#include "aten/plan/operator_facts.h"

namespace torchplug::aten {
namespace {

std::atomic<Tracer> the_tracer{nullptr};
std::atomic<bool> is_wanted{false};

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
    if (!tensor.defined() || takes_dtype(*kernel, device.index(), tensor.scalar_type())) continue;
    return std::string("whose kernel does not take ") + c10::toString(tensor.scalar_type());
  }
  return "";
}

}  // namespace torchplug::aten
