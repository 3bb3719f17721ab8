#pragma once
// One call of a plugin's kernel, and the host's answers while the kernel runs. Lives on the caller's stack;
// makes nothing that the kernel does not ask for.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aten/kernel/kernel_state.h"
#include "aten/kernel/result_kind.h"
#include "plugin/module.h"
#include "runtime/capture.h"
#include "runtime/stream.h"

namespace torchplug::aten {

// A kernel, and the operator it is called for.
struct KernelTarget {
  const Module& module;
  const plug_kernel& kernel;
  // Of the operator as it is called; both live until the process ends.
  const char* name;
  const char* schema;
  std::span<const ResultKind> results;  // by return; none: the kernel shapes no result
  bool may_decline = true;              // else PLUG_UNSUPPORTED is an error: there is no other way

  // What messages call the kernel: `any` has no schema.
  const char* title() const { return kernel.schema == nullptr ? name : kernel.schema; }
};

// What calls of a kernel that look alike have in common.
struct AlikeCalls {
  // Whether the kernel has answered PLUG_UNSUPPORTED to one: a capture that it could only decline at the
  // replay does not ask it again.
  mutable std::atomic<bool> was_declined{false};
  // How many random numbers the latest one drew: what a capture of one sets aside for it.
  mutable std::atomic<uint64_t> draws{0};
  uint64_t flags = 0;                        // PLUG_CALL_* that the key tells apart
  plug_dtype compute = 0;                    // plug_call::compute
  plug_dtype number_dtype = 0;               // what single numbers on the host are converted to; 0: nothing
  std::shared_ptr<const KernelState> state;  // null: the kernel keeps none
};

class KernelCall final : public CallServices {
 public:
  // `results`: one per return of the kernel's schema; it fills the numbers, and shapes what is PLUG_NONE.
  KernelCall(const KernelTarget& target, const AlikeCalls& alike, const Stream& stream,
             std::span<plug_value> results)
      : target_(target), alike_(alike), stream_(stream), results_(results) {}
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  // Where the kernel's random numbers come from, if not from the device's own generator.
  void set_generator(at::Generator generator) { generator_ = std::move(generator); }
  // Those that were set aside for it, how many there are; beyond these it draws as others do.
  void set_draw(const CapturedDraw& draw, uint64_t count) {
    set_aside_ = &draw;
    set_aside_count_ = count;
  }
  // `flags`: PLUG_CALL_*.
  plug_status run(std::span<const plug_value> arguments, uint64_t flags);
  // Why run() was answered PLUG_UNSUPPORTED, in the plugin's words; empty if it said nothing.
  std::string take_reason() const { return take_plugin_error_of(sequence_); }
  // Asks the kernel to prepare for calls like this one, which is not made. It may shape results for all of
  // them: what they look like is then shaped_results().
  plug_status prepare(std::span<const plug_value> arguments, uint64_t flags, void** state);

  // The tensors that the kernel shaped for a result, of which a list may have several; without memory if
  // that was in prepare().
  std::span<const at::Tensor> shaped_results(size_t index) const {
    return index < shaped_.size() ? std::span<const at::Tensor>(shaped_[index].tensors)
                                  : std::span<const at::Tensor>();
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

  plug_call make_call(std::span<const plug_value> arguments, uint64_t flags);
  // Notes the call in the capture of its stream; whether it is recorded there instead of being made.
  bool is_recorded(plug_call& call);
  const at::Generator& generator() const;
  void add_tensor(uint32_t index, at::ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides);
  void add_numbers(uint32_t index, at::ScalarType type, int64_t count);
  plug_status fail(plug_status status, const char* sentence) const;

  const KernelTarget& target_;
  const AlikeCalls& alike_;
  Stream stream_;
  std::span<plug_value> results_;
  bool is_preparing_ = false;
  uint64_t sequence_ = 0;
  uint64_t drawn_ = 0;
  at::Generator generator_;
  const CapturedDraw* set_aside_ = nullptr;
  uint64_t set_aside_count_ = 0;
  std::vector<Shaped> shaped_;  // by result, once the kernel has shaped one
  std::vector<c10::DataPtr> scratch_;
};

}  // namespace torchplug::aten
