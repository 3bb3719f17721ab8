#include "base/operator_library.h"

#include <map>

#include "base/immortal.h"

namespace torchplug::base {
namespace {

// What PyTorch says of a kernel's origin, and what ours are told from others by.
constexpr const char* kOrigin = "registered by torchplug";

}  // namespace

torch::Library OperatorLibrary::make() const {
  return {torch::Library::IMPL, space_, key_, __FILE__, static_cast<uint32_t>(__LINE__)};
}

void OperatorLibrary::add(const char* name, torch::CppFunction function) {
  torch::Library library = make();
  const c10::OperatorName full = library._resolve(name);
  const auto op = c10::Dispatcher::singleton().findOp(full);
  if (op && op->hasKernelForDispatchKey(key_)) return;
  library.impl(name, std::move(function).debug(kOrigin));
  const std::lock_guard guard(lock_);
  kernels_.insert_or_assign(full, std::move(library));
}

bool OperatorLibrary::fallback(torch::CppFunction function, const std::string& instead) {
  if (c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(key_)) return false;
  torch::Library library = make();
  library.fallback(std::move(function).debug(std::string(kOrigin) + " (" + instead + ")"));
  const std::lock_guard guard(lock_);
  kernels_.insert_or_assign({"_", ""}, std::move(library));
  return true;
}

bool OperatorLibrary::serves(const c10::OperatorHandle& op) const {
  return op.hasKernelForDispatchKey(key_) && op.getComputedKernelForDispatchKey(key_).debug() == kOrigin;
}

void OperatorLibrary::withdraw(const c10::OperatorHandle& op) {
  if (!serves(op)) return;
  const std::lock_guard guard(lock_);
  withdrawn_.push_back(op.getComputedKernelForDispatchKey(key_));
  kernels_.erase(op.operator_name());
}

OperatorLibrary& operator_library(const char* space, c10::DispatchKey key) {
  static std::mutex lock;
  static auto& libraries = *immortal<std::map<std::pair<std::string, c10::DispatchKey>, OperatorLibrary>>();
  const std::lock_guard guard(lock);
  return libraries.try_emplace({space, key}, std::string(space), key).first->second;
}

void register_without_tensors(const c10::OperatorName& name, c10::KernelFunction kernel) {
  static std::mutex lock;
  static auto& kept = *immortal<std::vector<c10::RegistrationHandleRAII>>();
  const std::lock_guard guard(lock);
  kept.push_back(c10::Dispatcher::singleton().registerImpl(
      name, c10::DispatchKey::Undefined, std::move(kernel), std::nullopt, nullptr, kOrigin));
}

}  // namespace torchplug::base
