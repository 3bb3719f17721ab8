#include "aten/kernel/call_flags.h"

#include <ATen/Context.h>

#include "torchplug/plug.h"

namespace torchplug::aten {
namespace {

// Whether the user lets products of float32 lose precision, for all devices: by set_float32_matmul_precision
// or by torch.backends.fp32_precision. What was said for matmul decides, and of that PyTorch keeps no account
// of its own for this device; the CPU library's is the same unless it was set by name.
bool is_fast_float32_allowed() {
  static const at::Context& context = at::globalContext();
  using Precision = at::Float32Precision;
  const auto is_fast = [](Precision p) { return p == Precision::TF32 || p == Precision::BF16; };
  if (C10_LIKELY(!is_fast(context.float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL))))
    return false;
  if (is_fast(context.float32Precision(at::Float32Backend::GENERIC, at::Float32Op::ALL))) return true;
  try {
    return context.float32MatmulPrecision() != at::Float32MatmulPrecision::HIGHEST;
  } catch (const c10::Error&) {
    return false;  // set by name: PyTorch does not answer for all devices then
  }
}

}  // namespace

uint64_t call_flags(bool multiplies) {
  const bool is_deterministic = at::globalContext().deterministicAlgorithms();
  // How precise a product is does not concern operators that multiply nothing by nothing else.
  return (is_deterministic ? uint64_t{PLUG_CALL_DETERMINISTIC} : 0) | (multiplies ? precision_flags() : 0);
}

uint64_t precision_flags() { return is_fast_float32_allowed() ? uint64_t{PLUG_CALL_FAST_F32} : 0; }

}  // namespace torchplug::aten
