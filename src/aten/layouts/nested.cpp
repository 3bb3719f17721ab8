#include "aten/layouts/nested.h"

#include <ATen/ops/_nested_view_from_buffer_native.h>

#include "aten/fallback/whole_copy.h"

namespace torchplug::aten {
namespace {

using c10::DispatchKey;

// Operators that look at the parts or copy the buffer as it is, on whatever device.
constexpr std::string_view kOnShell[] = {
    "aten::_nested_tensor_size",
    "aten::_nested_tensor_storage_offsets",
    "aten::_nested_tensor_strides",
    "aten::_to_copy",
    "aten::alias",
    "aten::chunk",
    "aten::clone",
    "aten::copy_",
    "aten::detach",
    "aten::empty_like",
    "aten::is_same_size",
    "aten::narrow",
    "aten::select.int",
    "aten::split_with_sizes",
    "aten::squeeze",
    "aten::squeeze.dim",
    "aten::squeeze.dims",
    "aten::transpose.int",
    "aten::unbind.int",
    "aten::unsqueeze",
    "aten::values",
    "aten::view",
};

}  // namespace

void add_nested_views(OperatorLibrary& library) {
  library.impl("_nested_view_from_buffer", TORCH_FN(at::native::_nested_view_from_buffer));
}

void register_nested_operators() {
  register_whole_copies(DispatchKey::NestedTensorPrivateUse1, DispatchKey::NestedTensorCPU, kOnShell);
}

}  // namespace torchplug::aten
