#pragma once
// A graph that a plugin has compiled for one device. It is called as kernels are, by KernelCall, with all
// that stands around kernels. Destroyed when nobody has it any more and the streams have executed its runs.

#include <span>
#include <string>

#include "aten/kernel/kernel_call.h"
#include "plugin/module.h"

namespace torchplug::compile {

class Engine {
 public:
  Engine(const Module& module, const plug_compiler& compiler, DeviceIndex device, plug_engine handle);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Enqueues it. PLUG_UNSUPPORTED: it declines such a call.
  plug_status run(std::span<const plug_value> arguments, std::span<plug_value> results, uint64_t flags,
                  const Stream& stream) const;

  plug_engine handle() const { return handle_; }
  // What it was compiled to, for people.
  std::string text() const;
  uint64_t device_bytes() const;

 private:
  plug_engine_info info() const;

  const Module& module_;
  const plug_compiler& compiler_;
  DeviceIndex device_;
  plug_engine handle_;
  plug_kernel kernel_{};
  KernelTarget target_;
  AlikeCalls alike_;
};

}  // namespace torchplug::compile
