#include "autocast/policy.h"

#include <ATen/autocast_mode.h>

#include "base/operator_library.h"

namespace torchplug::autocast {
namespace {

// PyTorch's lists spell types this way, and each release has others.
using namespace at;  // NOLINT(google-build-using-namespace)

constexpr DispatchKey kAutocastKey = DispatchKey::AutocastPrivateUse1;

// PyTorch's macros add to a library called `m`.
void add_lower_precision(OperatorLibrary& m) {
#define LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(LOWER_PRECISION)
#undef LOWER_PRECISION
}

void add_float32(OperatorLibrary& m) {
#define FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(FLOAT32)
#undef FLOAT32
}

// Float32 by their dtype argument, unless the caller gives one.
void add_float32_by_argument(OperatorLibrary& m) {
#define FLOAT32_BY_ARGUMENT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(FLOAT32_BY_ARGUMENT)
#undef FLOAT32_BY_ARGUMENT
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
}

void add_widest(OperatorLibrary& m){
#define WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_PROMOTE(WIDEST)
#undef WIDEST
}

// The words are PyTorch's, which has them for its own devices only.
Tensor refuse_binary_cross_entropy(const Tensor& /*self*/, const Tensor& /*target*/,
                                   const std::optional<Tensor>& /*weight*/, int64_t /*reduction*/) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
              "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
              "In this case, combine the two layers using "
              "torch.nn.functional.binary_cross_entropy_with_logits\n"
              "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
              "safe to autocast.");
}

}  // namespace

void register_autocast_fallthrough() {
  operator_library("_", kAutocastKey).fallback(torch::CppFunction::makeFallthrough());
}

void register_autocast() {
  OperatorLibrary& library = operator_library("aten", kAutocastKey);
  add_lower_precision(library);
  add_float32(library);
  add_float32_by_argument(library);
  add_widest(library);
  library.impl("binary_cross_entropy", TORCH_FN(refuse_binary_cross_entropy));
}

}  // namespace torchplug::autocast
