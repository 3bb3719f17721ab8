#include "compile/engine.h"

#include "plugin/layers/serialize.h"
#include "runtime/failure.h"

namespace torchplug::compile {
namespace {

// `layers` go with the handle: runs that a stream has not executed yet may go through them.
std::shared_ptr<KernelState> owner_of(const Module& module, DeviceIndex device, plug_engine handle,
                                      std::vector<std::shared_ptr<void>> layers) {
  const auto destroy = [&module, device, handle, layers = std::move(layers)] {
    take_plugin_error();
    if (module.compiler_calls.engine_destroy(plugin_index(device), handle) == PLUG_OK) return;
    log_message(2, ("plugin '" + module.name + "': engine_destroy failed: " + take_plugin_error()).c_str());
  };
  return std::make_shared<KernelState>(module, destroy, device);
}

}  // namespace

Engine::Engine(const Module& module, const plug_compiler& table, DeviceIndex device, plug_engine handle,
               size_t inputs, const char* name)
    : module_(module),
      table_(table),
      device_(device),
      handle_(handle),
      run_kernel_(kernel_of(table_.run, "run")),
      pack_kernel_(kernel_of(table_.engine_pack, "engine_pack")),
      run_target_{module, run_kernel_, name, "engine", {}, /*may_decline=*/true},
      pack_target_{module, pack_kernel_, name, "engine_pack", {}, /*may_decline=*/true},
      packed_(std::vector<bool>()) {
  alike_.state = owner_of(module, device, handle, std::move(layers_));
  packed_ = find_packed(inputs);
  is_ordered_ = packed_.any() || (table_.flags & PLUG_COMPILER_EXCLUSIVE) != 0;
}

plug_kernel Engine::kernel_of(plug_kernel_fn function, const char* name) {
  plug_kernel kernel{};
  if (function == nullptr) return kernel;
  kernel.schema = "engine";
  kernel.fn = function;
  kernel.user = handle_;
  kernel.accepts = PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED | PLUG_ACCEPTS_ALIAS;
  if ((table_.flags & PLUG_COMPILER_STRIDED) != 0) kernel.accepts |= PLUG_ACCEPTS_STRIDED;
  for (const auto& wrap : module_.engine_layers) layers_.push_back(wrap(kernel, {handle_, name}));
  return kernel;
}

PackedWeights Engine::find_packed(size_t inputs) const {
  std::vector<bool> is_packed(inputs, false);
  if (table_.engine_pack == nullptr) return PackedWeights(std::move(is_packed));
  if (const plug_engine_info known = info(); known.packed != nullptr) {
    for (size_t i = 0; i < inputs; ++i) is_packed[i] = known.packed[i] != 0;
  }
  return PackedWeights(std::move(is_packed));
}

std::optional<std::string> Engine::run(c10::ArrayRef<at::Tensor> inputs,
                                       std::span<const plug_value> arguments, std::span<plug_value> results,
                                       uint64_t flags, const Stream& stream) {
  if (C10_LIKELY(!is_ordered_)) return enqueue(arguments, results, flags, stream);
  const std::lock_guard lock(order_lock_);
  if (last_ && *last_ != stream) done_->block(stream);
  try {
    std::optional<std::string> declined = pack(inputs, arguments, flags, stream);
    if (!declined) declined = enqueue(arguments, results, flags, stream);
    note_end(stream);
    return declined;
  } catch (...) {
    note_end(stream);  // a part of it may have been enqueued
    throw;
  }
}

// A capture of torchplug's own calls it at the replay, when it could only fail.
std::optional<std::string> Engine::enqueue(std::span<const plug_value> arguments,
                                           std::span<plug_value> results, uint64_t flags,
                                           const Stream& stream) {
  if (any_capture() && emulates_capture(device_) && alike_.was_declined && is_capturing(stream))
    return "it has declined such a call before, and a capture cannot ask it again";
  KernelCall call(run_target_, alike_, stream, results);
  return call.run(arguments, flags) == PLUG_OK ? std::nullopt : std::optional(why_declined(call));
}

std::string Engine::why_declined(KernelCall& call) {
  alike_.was_declined = true;
  const std::string why = call.take_reason();
  return why.empty() ? "the engine declined the call" : why;
}

void Engine::note_end(const Stream& stream) {
  if (done_ == nullptr) done_ = std::make_unique<Event>(device_, /*with_timing=*/false);
  done_->record(stream);
  last_ = stream;
}

std::optional<std::string> Engine::pack(c10::ArrayRef<at::Tensor> inputs,
                                        std::span<const plug_value> arguments, uint64_t flags,
                                        const Stream& stream) {
  const std::vector<bool> changed = packed_.take_changed(inputs);
  if (std::find(changed.begin(), changed.end(), true) == changed.end()) return std::nullopt;
  plug_tensor absent{};
  absent.ndim = -1;
  std::vector<plug_value> given(arguments.begin(),
                                arguments.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  for (size_t i = 0; i < given.size(); ++i)
    if (!changed[i]) given[i].as.tensors = &absent;
  try {
    KernelCall call(pack_target_, alike_, stream, {});
    if (call.run(given, flags) == PLUG_OK) return std::nullopt;
    packed_.forget();
    return why_declined(call);
  } catch (...) {
    packed_.forget();
    throw;
  }
}

plug_engine_info Engine::info() const {
  plug_engine_info info{};
  info.size = sizeof info;
  if (module_.compiler_calls.engine_info == nullptr) return info;
  const auto lock = lock_calls(module_);
  take_plugin_error();
  check(module_.compiler_calls.engine_info(plugin_index(device_), handle_, &info), "engine_info", device_);
  return info;
}

std::string Engine::text() const {
  const plug_engine_info known = info();
  return known.text == nullptr ? "" : known.text;
}

uint64_t Engine::device_bytes() const { return info().device_bytes; }

}  // namespace torchplug::compile
