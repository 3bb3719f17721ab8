#include "aten/layouts/sparse.h"

#include "aten/fallback/whole_copy.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;

// Operators that make, read or mark a shell and leave its parts where they are.
constexpr std::string_view kSparseOnShell[] = {
    "aten::_coalesced_",
    "aten::_dimI",
    "aten::_dimV",
    "aten::_indices",
    "aten::_nnz",
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
    "aten::row_indices",
    "aten::sparse_dim",
    "aten::sparse_resize_",
    "aten::sparse_resize_and_clear_",
    "aten::values",
};

}  // namespace

void register_sparse_operators() {
  register_whole_copies(DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU, kSparseOnShell);
  register_whole_copies(DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU, kSparseOnShell);
}

}  // namespace torchplug::aten
