#include <ATen/ops/_conj_native.h>
#include <ATen/ops/_neg_view_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>

#include "aten/shims/shims.h"
#include "aten/tensor/storage.h"

namespace torchplug::aten {
namespace {

// PyTorch's function, of a tensor that has a storage: PyTorch itself does not look.
template <auto Function>
struct ViewOf;
template <class... Args, at::Tensor (*Function)(const at::Tensor&, Args...)>
struct ViewOf<Function> {
  static at::Tensor call(const at::Tensor& self, Args... args) {
    aten::storage_of(*self.unsafeGetTensorImpl());
    return Function(self, args...);
  }
};

template <auto Function>
void add_view(OperatorLibrary& library, const char* name) {
  library.impl(name, TORCH_FN(ViewOf<Function>::call));
}

}  // namespace

// PyTorch's own code for these looks at sizes and strides only, whatever the device.
void add_views(OperatorLibrary& library) {
  add_view<at::native::as_strided_tensorimpl>(library, "as_strided");
  add_view<at::native::view>(library, "view");
  add_view<at::native::_reshape_alias>(library, "_reshape_alias");
  add_view<at::native::unfold>(library, "unfold");
  add_view<at::native::view_as_real>(library, "view_as_real");
  add_view<at::native::view_as_complex>(library, "view_as_complex");
  add_view<at::native::view_dtype>(library, "view.dtype");
  add_view<at::native::alias>(library, "alias");
  add_view<at::native::_conj>(library, "_conj");
  add_view<at::native::_neg_view>(library, "_neg_view");
}

}  // namespace torchplug::aten
