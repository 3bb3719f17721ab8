#include "compile/engine.h"

#include "plugin/layers/serialize.h"
#include "runtime/failure.h"

namespace torchplug::compile {

Engine::Engine(const Module& module, const plug_compiler& compiler, DeviceIndex device, plug_engine handle,
               size_t inputs)
    : module_(module),
      compiler_(compiler),
      device_(device),
      handle_(handle),
      run_kernel_(kernel_of(compiler.run)),
      pack_kernel_(kernel_of(compiler.engine_pack)),
      run_target_{module, run_kernel_, "engine", "engine", {}, /*may_decline=*/true},
      pack_target_{module, pack_kernel_, "engine_pack", "engine_pack", {}, /*may_decline=*/false},
      packed_(find_packed(inputs)) {
  is_ordered_ = packed_.any() || (compiler.flags & PLUG_COMPILER_EXCLUSIVE) != 0;
  alike_.state = std::make_shared<KernelState>(
      module, [&compiler, device, handle] { compiler.engine_destroy(plugin_index(device), handle); }, device);
}

plug_kernel Engine::kernel_of(plug_kernel_fn function) const {
  plug_kernel kernel{};
  if (function == nullptr) return kernel;
  kernel.schema = "engine";
  kernel.fn = function;
  kernel.user = handle_;
  kernel.accepts = PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED | PLUG_ACCEPTS_ALIAS;
  if ((compiler_.flags & PLUG_COMPILER_STRIDED) != 0) kernel.accepts |= PLUG_ACCEPTS_STRIDED;
  for (const auto& wrap : module_.kernel_layers) wrap(kernel);
  return kernel;
}

PackedWeights Engine::find_packed(size_t inputs) const {
  std::vector<bool> is_packed(inputs, false);
  if (compiler_.engine_pack == nullptr) return PackedWeights(std::move(is_packed));
  if (const plug_engine_info known = info(); known.packed != nullptr) {
    for (size_t i = 0; i < inputs; ++i) is_packed[i] = known.packed[i] != 0;
  }
  return PackedWeights(std::move(is_packed));
}

plug_status Engine::run(c10::ArrayRef<at::Tensor> inputs, std::span<const plug_value> arguments,
                        std::span<plug_value> results, uint64_t flags, const Stream& stream) {
  KernelCall call(run_target_, alike_, stream, results);
  if (C10_LIKELY(!is_ordered_)) return call.run(arguments, flags);
  const std::lock_guard lock(order_lock_);
  if (last_ && *last_ != stream) done_->block(stream);
  pack(inputs, arguments, flags, stream);
  const plug_status status = call.run(arguments, flags);
  if (done_ == nullptr) done_ = std::make_unique<Event>(device_, /*with_timing=*/false);
  done_->record(stream);
  last_ = stream;
  return status;
}

void Engine::pack(c10::ArrayRef<at::Tensor> inputs, std::span<const plug_value> arguments, uint64_t flags,
                  const Stream& stream) {
  const std::vector<bool> changed = packed_.take_changed(inputs);
  if (std::find(changed.begin(), changed.end(), true) == changed.end()) return;
  plug_tensor absent{};
  absent.ndim = -1;
  std::vector<plug_value> given(arguments.begin(),
                                arguments.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  for (size_t i = 0; i < given.size(); ++i)
    if (!changed[i]) given[i].as.tensors = &absent;
  try {
    KernelCall call(pack_target_, alike_, stream, {});
    check(call.run(given, flags), "engine_pack", device_);
  } catch (...) {
    packed_.forget();
    throw;
  }
}

plug_engine_info Engine::info() const {
  plug_engine_info info{};
  info.size = sizeof info;
  if (compiler_.engine_info == nullptr) return info;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(compiler_.engine_info(plugin_index(device_), handle_, &info), "engine_info", device_);
  return info;
}

std::string Engine::text() const {
  const plug_engine_info known = info();
  return known.text == nullptr ? "" : known.text;
}

uint64_t Engine::device_bytes() const { return info().device_bytes; }

}  // namespace torchplug::compile
