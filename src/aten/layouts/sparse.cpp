#include "aten/layouts/sparse.h"

#include <ATen/native/DispatchStub.h>
#include <ATen/native/SparseTensorUtils.h>
#include <ATen/ops/_to_copy_native.h>

#include <numeric>
#include <vector>

#include "aten/fallback/whole_copy.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;

// Operators that make, read or mark a shell and leave its parts where they are; and those that look at the
// parts another way, whose results share memory with them.
constexpr std::string_view kSparseOnShell[] = {
    "aten::_coalesced_",
    "aten::_dimI",
    "aten::_dimV",
    "aten::_indices",
    "aten::_nnz",
    "aten::_sparse_broadcast_to",
    "aten::_sparse_coo_tensor_with_dims",
    "aten::_sparse_coo_tensor_with_dims_and_tensors",
    "aten::_values",
    "aten::ccol_indices",
    "aten::col_indices",
    "aten::crow_indices",
    "aten::dense_dim",
    "aten::empty.memory_format",
    "aten::indices",
    "aten::is_coalesced",
    "aten::permute",
    "aten::row_indices",
    "aten::select.int",
    "aten::sparse_dim",
    "aten::sparse_resize_",
    "aten::sparse_resize_and_clear_",
    "aten::unsqueeze",
    "aten::values",
    "aten::view_as_complex",
    "aten::view_as_real",
};

// A number for each place: that of its element in a dense tensor.
at::Tensor flatten_indices(const at::Tensor& indices, at::IntArrayRef sizes) {
  std::vector<int64_t> dimensions(sizes.size());
  std::iota(dimensions.begin(), dimensions.end(), 0);
  return at::sparse::flatten_indices_by_dims(indices, sizes, dimensions);
}

// PyTorch's own checks what it makes, with check_sparse_tensor_invariants; what is only moved may be as it
// is.
at::Tensor move_unchecked(const at::Tensor& self, std::optional<at::ScalarType> dtype,
                          std::optional<at::Layout> layout, std::optional<at::Device> device,
                          std::optional<bool> pin_memory, bool non_blocking,
                          std::optional<at::MemoryFormat> memory_format) {
  const c10::Device to = device.value_or(self.device());
  const bool is_between =
      (self.is_cpu() && to.type() == kDeviceType) || (to.is_cpu() && self.device().type() == kDeviceType);
  const bool is_same = dtype.value_or(self.scalar_type()) == self.scalar_type() &&
                       layout.value_or(self.layout()) == self.layout() && !pin_memory.value_or(false) &&
                       memory_format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve;
  if (is_between && is_same) return move_densely(self, to);
  return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format);
}

}  // namespace

void register_sparse_operators() {
  register_whole_copies(DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU, kSparseOnShell);
  register_whole_copies(DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU, kSparseOnShell);
  for (const DispatchKey key : {DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU,
                                DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU}) {
    operator_library("aten", key).impl("_to_copy", TORCH_FN(move_unchecked));
  }
}

}  // namespace torchplug::aten

namespace at::native {
// PyTorch's library has it, its headers do not.
DECLARE_DISPATCH(at::Tensor (*)(const at::Tensor&, at::IntArrayRef), flatten_indices_stub)
REGISTER_PRIVATEUSE1_DISPATCH(flatten_indices_stub, &torchplug::aten::flatten_indices)
}  // namespace at::native
