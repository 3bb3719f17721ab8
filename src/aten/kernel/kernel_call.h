#pragma once
// One call of a plugin's kernel, and the host's answers while the kernel runs. Lives on the caller's stack;
// makes nothing that the kernel does not ask for.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "plugin/module.h"
#include "runtime/stream.h"

namespace torchplug::aten {

class KernelCall final : public CallServices {
 public:
  // `name`: of the operator as it was called; lives until the process ends. `results`: one per return of the
  // kernel's schema; it fills or shapes those that hold no tensor.
  KernelCall(const Module& module, const plug_kernel& kernel, const char* name, const Stream& stream,
             std::span<plug_value> results)
      : module_(module), kernel_(kernel), name_(name), stream_(stream), results_(results) {}
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // Where the kernel's random numbers come from, if not from the device's own generator.
  void set_generator(at::Generator generator) { generator_ = std::move(generator); }
  // PLUG_UNSUPPORTED is an error: there is no other way.
  void forbid_declining() { may_decline_ = false; }
  // `flags`: PLUG_CALL_*.
  plug_status run(std::span<const plug_value> arguments, uint64_t flags);

  // The tensor that the kernel shaped for a result; undefined if it did not.
  at::Tensor shaped_result(size_t index) const {
    return index < shaped_.size() ? shaped_[index].tensor : at::Tensor();
  }

  plug_status scratch(uint64_t bytes, plug_mem* mem) override;
  plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                     const int64_t* strides) override;
  plug_status rng(uint64_t draws, plug_rng* rng) override;

 private:
  // Notes the call in the capture of its stream; whether it is recorded there instead of being made.
  bool is_recorded(const plug_call& call);

  struct Shaped {
    at::Tensor tensor;
    plug_tensor described;
  };

  const Module& module_;
  const plug_kernel& kernel_;
  const char* name_;
  Stream stream_;
  std::span<plug_value> results_;
  at::Generator generator_;
  bool may_decline_ = true;
  std::vector<Shaped> shaped_;  // by result, once the kernel has shaped one
  std::vector<c10::DataPtr> scratch_;
};

}  // namespace torchplug::aten
