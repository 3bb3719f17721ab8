#include "compile/engine.h"

#include "plugin/layers/serialize.h"
#include "runtime/failure.h"

namespace torchplug::compile {

Engine::Engine(const Module& module, const plug_compiler& compiler, DeviceIndex device, plug_engine handle)
    : module_(module),
      compiler_(compiler),
      device_(device),
      handle_(handle),
      target_{module, kernel_, "engine", "engine", {}, /*may_decline=*/true} {
  kernel_.schema = "engine";
  kernel_.fn = compiler.run;
  kernel_.user = handle;
  kernel_.accepts = PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED | PLUG_ACCEPTS_ALIAS;
  if ((compiler.flags & PLUG_COMPILER_STRIDED) != 0) kernel_.accepts |= PLUG_ACCEPTS_STRIDED;
  for (const auto& wrap : module.kernel_layers) wrap(kernel_);
  alike_.state = std::make_shared<KernelState>(
      module, [&compiler, device, handle] { compiler.engine_destroy(plugin_index(device), handle); }, device);
}

plug_status Engine::run(std::span<const plug_value> arguments, std::span<plug_value> results, uint64_t flags,
                        const Stream& stream) const {
  KernelCall call(target_, alike_, stream, results);
  return call.run(arguments, flags);
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
