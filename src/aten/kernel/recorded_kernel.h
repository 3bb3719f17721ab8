#pragma once
// A call of a plugin's kernel on the list of a capture that torchplug records itself: made at every replay,
// on the thread that replays, with scratch memory and random numbers of that replay. These are set aside
// where such calls were made before, so that a replay draws in the order of the eager step.

#include <ATen/core/Generator.h>

#include "aten/kernel/kernel_call.h"
#include "plugin/call_copy.h"
#include "plugin/layers/emulated_capture.h"
#include "runtime/stream.h"

namespace torchplug::aten {

class RecordedKernel final : public RecordedCommand {
 public:
  // `state`: what the kernel keeps for such calls, which lives as long as the graph. `generator`: undefined
  // for the device's own.
  RecordedKernel(const KernelTarget& target, std::shared_ptr<const KernelState> state, const Stream& stream,
                 const plug_call& call, at::Generator generator);

  void set_draw(CapturedDraw draw, uint64_t count);
  plug_status run(plug_stream handle) override;

 private:
  KernelTarget target_;
  AlikeCalls alike_;
  Stream stream_;
  CallCopy call_;
  at::Generator generator_;
  CapturedDraw draw_{};
  uint64_t draws_ = 0;
};

}  // namespace torchplug::aten
