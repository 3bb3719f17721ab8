#include "aten/kernel/call_flags.h"

#include <ATen/Context.h>

#include "torchplug/plug.h"

namespace torchplug::aten {
namespace {

using Precision = at::Float32Precision;

bool is_fast(Precision precision) { return precision == Precision::TF32 || precision == Precision::BF16; }

// at::Context's table of precisions, which is private: an explicit instantiation may name it all the same.
const auto& precisions_of(const at::Context& context);
template <auto Table>
struct ContextAccess {
  friend const auto& precisions_of(const at::Context& context) { return context.*Table; }
};
template struct ContextAccess<&at::Context::fp32_precision>;

// What float32Precision says of the CPU library's matmul, read where at::Context keeps it: the entries are
// made with it, and only ever assigned. To ask float32Precision costs 140 instructions more, of a call's
// 2,000.
class MatmulPrecision {
 public:
  explicit MatmulPrecision(const at::Context& context)
      : matmul_(precisions_of(context).at({at::Float32Backend::MKLDNN, at::Float32Op::MATMUL})),
        library_(precisions_of(context).at({at::Float32Backend::MKLDNN, at::Float32Op::ALL})),
        all_(precisions_of(context).at({at::Float32Backend::GENERIC, at::Float32Op::ALL})) {}

  Precision get() const {
    if (matmul_ != Precision::NONE) return matmul_;
    return library_ != Precision::NONE ? library_ : all_;
  }

 private:
  const Precision& matmul_;  // NONE: as the next says
  const Precision& library_;
  const Precision& all_;
};

// Whether the user lets products of float32 lose precision, for all devices: by set_float32_matmul_precision
// or by torch.backends.fp32_precision. What was said for matmul decides, and of that PyTorch keeps no account
// of its own for this device; the CPU library's is the same unless it was set by name.
bool is_fast_float32_allowed() {
  static const MatmulPrecision matmul(at::globalContext());
  if (C10_LIKELY(!is_fast(matmul.get()))) return false;
  const at::Context& context = at::globalContext();
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
