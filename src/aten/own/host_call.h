#pragma once
// One call of a plugin's kernel on CPU tensors, and the host's answers while the kernel runs: there is no
// device and no stream, and all is done when the kernel returns. Lives on the caller's stack.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "aten/kernel/result_kind.h"
#include "plugin/module.h"

namespace torchplug::aten {

class HostCall final : public CallServices {
 public:
  // `name` and `schema`: the operator's; both live until the process ends. `results`: one per return; the
  // kernel fills or shapes those that hold no tensor.
  HostCall(const Module& module, const plug_kernel& kernel, const char* name, const char* schema,
           std::span<const ResultKind> kinds, std::span<const plug_value> arguments,
           std::span<plug_value> results);
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;

  // Where the kernel's random numbers come from, if not from the default generator.
  void set_generator(at::Generator generator) { generator_ = std::move(generator); }

  // Gives the call to the kernel's `prepare`, which returns its state. Throws if it declines.
  void* prepare();
  // Gives it to the kernel. Throws what it answers but PLUG_OK, and what it has reported.
  void run(void* state);

  // What the kernel shaped for a result; nothing if it did not.
  std::vector<at::Tensor> shaped_result(size_t index) const {
    return index < shaped_.size() ? shaped_[index].tensors : std::vector<at::Tensor>();
  }

  plug_status scratch(uint64_t bytes, plug_mem* mem) override;
  plug_status output(uint32_t index, plug_dtype dtype, int32_t ndim, const int64_t* sizes,
                     const int64_t* strides) override;
  plug_status rng(uint64_t draws, plug_rng* rng) override;

 private:
  struct Shaped {
    std::vector<at::Tensor> tensors;
    std::vector<plug_tensor> described;
  };

  plug_status refuse(plug_status status, const char* why) const;
  void show_result(uint32_t index);
  void check(plug_status status) const;

  const Module& module_;
  const plug_kernel& kernel_;
  std::span<const ResultKind> kinds_;  // of the results
  bool is_preparing_ = false;
  plug_call call_{};
  std::span<plug_value> results_;
  at::Generator generator_;
  std::vector<Shaped> shaped_;  // by result, once the kernel has shaped one
  std::vector<c10::DataPtr> scratch_;
};

}  // namespace torchplug::aten
