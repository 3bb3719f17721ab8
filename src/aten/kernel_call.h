#pragma once
// One call of a plugin's kernel: the plug_call with its arguments and results in plug.h's terms, and
// the host's answers while the kernel runs. Lives on the caller's stack; allocates nothing for the
// usual operator.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include <deque>
#include <vector>

#include "plugin/module.h"
#include "runtime/stream.h"

namespace torchplug {

class KernelCall final : public CallServices {
 public:
  KernelCall(const Module& module, const plug_kernel& kernel, const Stream& stream);
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // Room for all tensors and numbers that follow; to be called before any of them is added.
  void reserve(c10::ArrayRef<c10::IValue> arguments, size_t result_count);
  // `type`: that of the argument in the schema, without its '?'.
  void add_argument(const c10::IValue& value, c10::TypeKind type, bool written);
  // A tensor to be written, or nothing: the kernel fills it (a number) or shapes it.
  void add_result(const at::Tensor& tensor);

  plug_status run();

  // The tensor of a result, as given or as the kernel shaped it.
  const at::Tensor& result_tensor(size_t index) const { return result_tensors_[index]; }
  const plug_value& result_value(size_t index) const { return results_[index]; }

  plug_status scratch(uint64_t bytes, plug_mem* mem) override;
  plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes) override;
  plug_status rng(uint64_t draws, plug_rng* rng) override;

 private:
  plug_value convert(const c10::IValue& value, bool written);
  plug_value convert_list(const c10::IValue& value, bool written);
  const plug_tensor* add_tensor(const at::Tensor& tensor, bool written);

  const Module& module_;
  const plug_kernel& kernel_;
  Stream stream_;
  at::Generator generator_;
  c10::SmallVector<plug_value, 12> arguments_;
  c10::SmallVector<plug_value, 4> results_;
  c10::SmallVector<at::Tensor, 4> result_tensors_;
  c10::SmallVector<plug_tensor, 8> tensors_;
  c10::SmallVector<int64_t, 32> ints_;
  c10::SmallVector<double, 8> floats_;
  std::vector<std::vector<plug_value>> lists_;
  std::vector<std::vector<uint8_t>> bools_;
  std::vector<c10::DataPtr> scratch_;
};

}  // namespace torchplug
