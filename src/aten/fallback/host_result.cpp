#include "aten/fallback/host_result.h"

#include <ATen/ops/conj_physical.h>
#include <c10/util/Exception.h>

#include <cstring>

namespace torchplug::aten {
namespace {

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.strides() == b.strides() && a.is_non_overlapping_and_dense();
}

}  // namespace

void copy_result(const at::Tensor& result, const at::Tensor& output, const std::string& name) {
  TORCH_CHECK(result.scalar_type() == output.scalar_type() && result.sizes() == output.sizes(), name,
              " gave a result of shape ", result.sizes(), " where ", output.sizes(),
              " was planned: its shape depends on data. Please report this to torchplug.");
  if (same_layout(result, output)) {
    std::memcpy(output.mutable_data_ptr(), result.const_data_ptr(), result.nbytes());
  } else {
    output.copy_(result);
  }
}

void settle_output(const at::Tensor& output, const void* place, const std::string& name) {
  TORCH_CHECK(output.storage().data() == place, name, " resized an output to ", output.sizes(),
              " against its plan. Please report this to torchplug.");
  if (C10_UNLIKELY(output.is_conj())) {
    output._set_conj(false);
    at::conj_physical_(const_cast<at::Tensor&>(output));
  }
  if (C10_UNLIKELY(output.is_neg())) {
    output._set_neg(false);
    output.neg_();
  }
}

}  // namespace torchplug::aten
