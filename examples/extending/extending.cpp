// A PyTorch extension that gives the device operators by every means that PyTorch has.
// PyTorch calls the device's dispatch key PrivateUse1. Nothing here is torchplug's own
// but what it includes at the end, and nothing of it is declared anywhere: loading the
// library registers it all.

#include <ATen/autocast_mode.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/abs_native.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>

#include "torchplug/torchplug.hpp"

namespace extending {

// What stands here for a vendor's kernels: each number of `from` through `function` into
// `to`, in stream order, on the host's view of the memory.
void map(const at::Tensor &from, const at::Tensor &to, float (*function)(float)) {
  TORCH_CHECK(from.scalar_type() == at::kFloat, "This kernel takes float32, not ",
              from.scalar_type(), ".");
  const at::Tensor input = from.contiguous();
  const at::Tensor output = to.is_contiguous() ? to : at::empty_like(input);
  const auto *in = static_cast<const float *>(torchplug::host_view_of(input));
  auto *out = static_cast<float *>(torchplug::host_view_of(output));
  torchplug::enqueue(torchplug::current_stream(from.device().index()),
                     [=, count = input.numel()] {
                       for (int64_t i = 0; i < count; ++i) out[i] = function(in[i]);
                     });
  if (!output.is_same(to)) to.copy_(output);
}

// ------------------------------------------------- an operator of PyTorch's

// The out form of a structured operator serves them all: torch.erf(x), x.erf_(),
// torch.erf(x, out=y).
at::Tensor &erf_out(const at::Tensor &self, at::Tensor &out) {
  at::native::resize_output(out, self.sizes());
  map(self, out, [](float x) { return std::erf(x); });
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("erf.out", &erf_out); }

// ------------------------- PyTorch's code around a kernel of the device: DispatchStub

// at::native::abs_out checks, resizes and iterates; what computes is looked up by device.
void abs_kernel(at::TensorIteratorBase &iterator) {
  map(at::Tensor(iterator.tensor(1)), at::Tensor(iterator.tensor(0)),
      [](float x) { return std::fabs(x); });
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("abs.out", TORCH_FN(at::native::abs_out));
}

// ------------------------------------------------- one operator to the CPU

void run_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("bincount", torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}

// --------------------------------- a say in everything that has no kernel

bool run_linear_algebra(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  if (op.operator_name().name.rfind("aten::linalg_", 0) != 0) return false;
  at::native::cpu_fallback(op, stack);
  return true;
}

const bool has_fallback = (torchplug::set_fallback(&run_linear_algebra), true);

// ---------------------------------------------------- a new operator

TORCH_LIBRARY(extending, m) { m.def("cube(Tensor x) -> Tensor"); }

at::Tensor cube(const at::Tensor &x) {
  at::Tensor result = at::empty_like(x, at::MemoryFormat::Contiguous);
  map(x, result, [](float number) { return number * number * number; });
  return result;
}

TORCH_LIBRARY_IMPL(extending, PrivateUse1, m) { m.impl("cube", &cube); }

// Its results without their contents: for torch.compile, torch.export and meta tensors.
at::Tensor cube_shape(const at::Tensor &x) {
  return at::empty_like(x, at::MemoryFormat::Contiguous);
}

TORCH_LIBRARY_IMPL(extending, Meta, m) { m.impl("cube", &cube_shape); }

at::Tensor call_cube(const at::Tensor &x) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("extending::cube", "");
  return op.typed<at::Tensor(const at::Tensor &)>().call(x);
}

// Its gradient.
struct Cube : torch::autograd::Function<Cube> {
  static at::Tensor forward(torch::autograd::AutogradContext *context,
                            const at::Tensor &x) {
    context->save_for_backward({x});
    const at::AutoDispatchBelowADInplaceOrView below;
    return call_cube(x);
  }
  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext *context,
      torch::autograd::variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    return {gradients[0] * 3 * x * x};
  }
};

at::Tensor differentiable_cube(const at::Tensor &x) { return Cube::apply(x); }

TORCH_LIBRARY_IMPL(extending, AutogradPrivateUse1, m) {
  m.impl("cube", &differentiable_cube);
}

// ----------------------------------------------------- mixed precision

// Under autocast it is computed in float32, whatever it is given.
at::Tensor autocast_cube(const at::Tensor &x) {
  const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::AutocastPrivateUse1);
  return call_cube(at::autocast::cached_cast(at::kFloat, x, c10::kPrivateUse1));
}

TORCH_LIBRARY_IMPL(extending, AutocastPrivateUse1, m) { m.impl("cube", &autocast_cube); }

// An operator of PyTorch's: in whatever dtype it comes, where PyTorch's rule is float32.
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  m.impl("exp", torch::CppFunction::makeFallthrough());
}

// ------------------------------------------ a class of tensors of its own

// With a word on it that is lost where an operator makes a new tensor.
class TaggedTensor final : public c10::TensorImpl {
 public:
  TaggedTensor(const at::Tensor &tensor, std::string tag)
      : TensorImpl(c10::Storage(tensor.storage()), tensor.key_set(), tensor.dtype()),
        tag_(std::move(tag)) {
    set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  }
  const std::string &tag() const { return tag_; }

 private:
  std::string tag_;
};

at::Tensor tag(const at::Tensor &tensor, std::string word) {
  return at::detail::make_tensor<TaggedTensor>(tensor, std::move(word));
}

std::string tag_of(const at::Tensor &tensor) {
  const auto *tagged = dynamic_cast<const TaggedTensor *>(tensor.unsafeGetTensorImpl());
  return tagged == nullptr ? "" : tagged->tag();
}

// ----------------------------------------- a class of storages of its own

// With a number, which views share, resize_ keeps and every new storage has another of.
class NumberedStorage final : public c10::StorageImpl {
 public:
  using StorageImpl::StorageImpl;
  int64_t number() const { return number_; }

 private:
  static std::atomic<int64_t> latest_;
  int64_t number_ = ++latest_;
};

std::atomic<int64_t> NumberedStorage::latest_{0};

c10::intrusive_ptr<c10::StorageImpl> make_storage(
    c10::StorageImpl::use_byte_size_t in_bytes, c10::SymInt size, c10::DataPtr data,
    c10::Allocator *allocator, bool resizable) {
  if (data == nullptr)
    return c10::make_intrusive<NumberedStorage>(in_bytes, size, allocator, resizable);
  return c10::make_intrusive<NumberedStorage>(in_bytes, size, std::move(data), allocator,
                                              resizable);
}

const bool has_storages =
    (c10::SetStorageImplCreate(c10::kPrivateUse1, &make_storage), true);

int64_t storage_number(const at::Tensor &tensor) {
  const auto *storage =
      dynamic_cast<const NumberedStorage *>(tensor.storage().unsafeGetStorageImpl());
  return storage == nullptr ? 0 : storage->number();
}

// ------------------------------------------------------------- later

// What is registered once the device has been used takes a torchplug::Overriding; or,
// where the library as a whole is loaded so late, `with torchplug.overriding():` around
// that.
void override_relu() {
  const torchplug::Overriding overriding;
  static auto library = MAKE_TORCH_LIBRARY_IMPL(aten, PrivateUse1);
  library.impl("relu", [](const at::Tensor &self) {
    at::Tensor result = at::empty_like(self, at::MemoryFormat::Contiguous);
    map(self, result, [](float x) { return x > 0 ? x : 0; });
    return result;
  });
}

TORCH_LIBRARY_FRAGMENT(extending, m) {
  m.def("tag(Tensor x, str word) -> Tensor", &tag);
  m.def("tag_of(Tensor x) -> str", &tag_of);
  m.def("storage_number(Tensor x) -> int", &storage_number);
  m.def("override_relu() -> ()", &override_relu);
}

}  // namespace extending

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(abs_stub, &extending::abs_kernel)

}  // namespace at::native
