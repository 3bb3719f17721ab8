#include "aten_rows.h"

namespace xcpu::plugin {

xcpu_dtype known_dtype(const plug::Tensor& tensor) {
  switch (tensor.dtype()) {
    case PLUG_F32: return XCPU_F32;
    case PLUG_BF16: return XCPU_BF16;
    case PLUG_F16: return XCPU_F16;
    default: plug::decline("the kernels are for float32, bfloat16 and float16");
  }
}

xcpu_rows contiguous_rows(const plug::Tensor& tensor, std::int64_t columns) {
  return {plug_address(&tensor.raw().mem), known_dtype(tensor), columns};
}

}  // namespace xcpu::plugin
