#include <ATen/core/Tensor.h>

#include "aten/op/operator_kernel.h"
#include "aten/shims/shims.h"
#include "aten/tensor/copy_on_write.h"
#include "aten/tensor/describe.h"
#include "base/immortal.h"
#include "runtime/memory_copy.h"

namespace torchplug::aten {
namespace {

void zero_on_host(const at::Tensor& self) {
  static auto& kernel =
      *immortal<OperatorKernel>(c10::Dispatcher::singleton().findSchemaOrThrow("aten::zero_", ""));
  torch::jit::Stack stack{self};
  kernel.run(stack);
}

// No bit is set in the zero of any type; PyTorch writes zero bytes on the CPU, too.
at::Tensor& zero_(at::Tensor& self) {
  if (!self.is_non_overlapping_and_dense()) {
    zero_on_host(self);
    return self;
  }
  own_memory(self);
  const Stream stream = Stream::current(self.device().index());
  fill_memory(memory_of(self), 0, self.nbytes(), stream);
  return self;
}

}  // namespace

void add_fills(OperatorLibrary& library) { add_unless_served(library, "zero_", TORCH_FN(zero_)); }

}  // namespace torchplug::aten
