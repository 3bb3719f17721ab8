#pragma once
// A graph that a plugin has compiled for one device. It is called as kernels are, by KernelCall, with all
// that stands around kernels. Destroyed when nobody has it any more and the streams have executed its runs.
// Any thread may run it.

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten/kernel/kernel_call.h"
#include "compile/packed_weights.h"
#include "plugin/module.h"
#include "runtime/event.h"

namespace torchplug::compile {

class Engine {
 public:
  // Takes over the handle. `inputs`: how many it has. `name`: what messages and the profiler call it; lives
  // until the process ends.
  Engine(const Module& module, const plug_compiler& table, DeviceIndex device, plug_engine handle,
         size_t inputs, const char* name);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Enqueues it, after the packing of weights that are new or have changed. `arguments`: of the inputs, then
  // numbers. Nothing; or why it declines such a call.
  std::optional<std::string> run(c10::ArrayRef<at::Tensor> inputs, std::span<const plug_value> arguments,
                                 std::span<plug_value> results, uint64_t flags, const Stream& stream);

  // Whether its runs must not overlap: it packs weights, or says so.
  bool is_ordered() const { return is_ordered_; }
  plug_engine handle() const { return handle_; }
  // What it was compiled to, for people.
  std::string text() const;
  uint64_t device_bytes() const;

 private:
  plug_engine_info info() const;
  plug_kernel kernel_of(plug_kernel_fn function, const char* name);
  PackedWeights find_packed(size_t inputs) const;
  std::optional<std::string> enqueue(std::span<const plug_value> arguments, std::span<plug_value> results,
                                     uint64_t flags, const Stream& stream);
  std::optional<std::string> pack(c10::ArrayRef<at::Tensor> inputs, std::span<const plug_value> arguments,
                                  uint64_t flags, const Stream& stream);
  std::string why_declined(aten::KernelCall& call);
  void note_end(const Stream& stream);

  const Module& module_;
  const plug_compiler& table_;
  DeviceIndex device_;
  plug_engine handle_;
  std::vector<std::shared_ptr<void>> layers_;  // around its kernels
  AlikeCalls alike_;                           // before what may throw: it destroys the handle
  plug_kernel run_kernel_;
  plug_kernel pack_kernel_;
  KernelTarget run_target_;
  KernelTarget pack_target_;

  bool is_ordered_ = false;
  std::mutex order_lock_;  // guards what an ordered engine has:
  PackedWeights packed_;
  std::optional<Stream> last_;  // the stream it was given to
  std::unique_ptr<Event> done_;
};

}  // namespace torchplug::compile
