#include "aten/fallback/whole_copy.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/plan/fallback_policy.h"
#include "aten/plan/ledger.h"
#include "aten/plan/operator_facts.h"
#include "aten/tensor/arguments.h"
#include "base/immortal.h"
#include "base/operator_library.h"

namespace torchplug::aten {
namespace {

using at::native::NestedTensorImpl;
using c10::DispatchKey;

at::SparseTensorImpl& coo_shell(const at::Tensor& tensor) {
  return *static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl& compressed_shell(const at::Tensor& tensor) {
  return *static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

const NestedTensorImpl& nested_shell(const at::Tensor& tensor) {
  return *static_cast<const NestedTensorImpl*>(tensor.unsafeGetTensorImpl());
}

std::pair<at::Tensor, at::Tensor> compressed_indices(const at::Tensor& tensor) {
  return at::sparse_csr::getCompressedPlainIndices(tensor);
}

at::Tensor move_nested(const at::Tensor& tensor, c10::Device device) {
  const NestedTensorImpl& shell = nested_shell(tensor);
  // The numbers that say where the parts lie are on the host for every device.
  return at::detail::make_tensor<NestedTensorImpl>(shell.get_unsafe_storage_as_tensor().to(device),
                                                   shell.get_nested_sizes(), shell.get_nested_strides(),
                                                   shell.get_storage_offsets());
}

at::Tensor move(const at::Tensor& tensor, c10::Device device) {
  if (!tensor.defined()) return tensor;
  if (tensor.is_nested()) return move_nested(tensor, device);
  if (tensor.is_sparse()) {
    at::Tensor moved = at::_sparse_coo_tensor_unsafe(tensor._indices().to(device),
                                                     tensor._values().to(device), tensor.sizes());
    return moved._coalesced_(tensor.is_coalesced());
  }
  if (at::sparse_csr::is_sparse_compressed(tensor)) {
    const auto [compressed, plain] = compressed_indices(tensor);
    return at::_sparse_compressed_tensor_unsafe(compressed.to(device), plain.to(device),
                                                tensor.values().to(device), tensor.sizes(),
                                                tensor.options().device(device));
  }
  return tensor.to(device);
}

uint64_t bytes_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return 0;
  if (tensor.is_nested()) return nested_shell(tensor).get_unsafe_storage_as_tensor().nbytes();
  if (tensor.is_sparse()) return tensor._indices().nbytes() + tensor._values().nbytes();
  if (at::sparse_csr::is_sparse_compressed(tensor)) {
    const auto [compressed, plain] = compressed_indices(tensor);
    return compressed.nbytes() + plain.nbytes() + tensor.values().nbytes();
  }
  return tensor.nbytes();
}

// Gives the original what the CPU made of its copy.
void write_back(const at::Tensor& original, const at::Tensor& host) {
  const c10::Device device = original.device();
  if (original.is_nested()) {
    nested_shell(original).get_unsafe_storage_as_tensor().copy_(
        nested_shell(host).get_unsafe_storage_as_tensor());
  } else if (original.is_sparse()) {
    at::SparseTensorImpl& shell = coo_shell(original);
    shell.raw_resize_(host.sparse_dim(), host.dense_dim(), host.sizes());
    shell.set_indices_and_values_unsafe(host._indices().to(device), host._values().to(device));
    shell.set_coalesced(host.is_coalesced());
  } else if (at::sparse_csr::is_sparse_compressed(original)) {
    const auto [compressed, plain] = compressed_indices(host);
    compressed_shell(original).set_member_tensors(compressed.to(device), plain.to(device),
                                                  host.values().to(device), host.sizes());
  } else {
    if (original.sizes() != host.sizes()) original.resize_(host.sizes());
    original.copy_(host);
  }
}

// An operator that runs on copies: what is known of it, and its account.
struct CopyingOperator {
  explicit CopyingOperator(const c10::OperatorHandle& handle) : facts(handle), account(facts.name) {}

  OperatorFacts facts;
  LedgerAccount account;
  FallbackNotice notice;
};

CopyingOperator& operator_of(const c10::OperatorHandle& handle) {
  static std::mutex operators_lock;
  static auto& known = *immortal<std::unordered_map<c10::OperatorName, std::unique_ptr<CopyingOperator>>>();
  std::lock_guard lock(operators_lock);
  auto& found = known[handle.operator_name()];
  if (found == nullptr) found = std::make_unique<CopyingOperator>(handle);
  return *found;
}

// The copies of one call.
class Copies {
 public:
  at::Tensor of(const at::Tensor& tensor, bool written) {
    for (Copy& copy : copies_) {
      if (!copy.original.is_same(tensor)) continue;
      copy.written = copy.written || written;
      return copy.host;
    }
    device_ = tensor.device().index();
    bytes_ += bytes_of(tensor);
    copies_.push_back({tensor, move(tensor, c10::kCPU), written});
    // Some kernels keep more for backward where a gradient is wanted.
    return copies_.back().host.set_requires_grad(tensor.requires_grad());
  }

  void write_back_all() {
    for (const Copy& copy : copies_) {
      if (!copy.written) continue;
      write_back(copy.original, copy.host);
      bytes_ += bytes_of(copy.host);
    }
  }

  at::Tensor result(const at::Tensor& host) {
    for (const Copy& copy : copies_) {
      if (copy.host.is_same(host)) return copy.original;
    }
    bytes_ += bytes_of(host);
    return move(host, c10::Device(kDeviceType, device_ < 0 ? current_device() : device_));
  }

  uint64_t bytes_moved() const { return bytes_; }

 private:
  struct Copy {
    at::Tensor original;
    at::Tensor host;
    bool written;
  };

  std::vector<Copy> copies_;
  DeviceIndex device_ = -1;
  uint64_t bytes_ = 0;
};

void run_on_copies(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  CopyingOperator& op = operator_of(handle);
  op.notice.give(op.facts.name, Way::kStage, Reason::kNoKernel);
  const LedgerTimer timer;
  const size_t first = stack->size() - op.facts.argument_count;
  Copies copies;
  for (size_t i = 0; i < op.facts.argument_count; ++i) {
    c10::IValue& value = (*stack)[first + i];
    replace_tensors(value, [&](const at::Tensor& tensor) {
      return is_on_device(tensor) ? copies.of(tensor, op.facts.writes[i]) : tensor;
    });
    if (value.isDevice() && value.toDevice().type() == kDeviceType) value = c10::Device(c10::kCPU);
  }
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    handle.callBoxed(stack);
  }
  copies.write_back_all();
  for (size_t i = first; i < stack->size(); ++i) {
    replace_tensors((*stack)[i], [&](const at::Tensor& tensor) { return copies.result(tensor); });
  }
  op.account.count(Way::kStage, Reason::kNoKernel, copies.bytes_moved(), timer.nanoseconds());
}

// PyTorch's code for the CPU's tensors, on the device's as they are.
class OnShell final : public c10::OperatorKernel {
 public:
  explicit OnShell(DispatchKey cpu_key) : keys_(cpu_key) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::OptionalDeviceGuard guard(
        device_of_call(torch::jit::last(*stack, handle.schema().arguments().size())));
    handle.redispatchBoxed(keys_, stack);
  }

 private:
  c10::DispatchKeySet keys_;
};

}  // namespace

bool is_plain(const at::Tensor& tensor) { return tensor.layout() == at::kStrided && !tensor.is_nested(); }

at::Tensor move_to_device(const at::Tensor& host, DeviceIndex device) {
  return move(host, c10::Device(kDeviceType, device));
}

void register_whole_copies(DispatchKey key, DispatchKey cpu_key, std::span<const std::string_view> on_shell) {
  // What PyTorch composes for plain tensors would take the place of an operator that is not registered here.
  torch::Library& library = operator_library("aten", key);
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNamesForDispatchKey(cpu_key)) {
    if (name.getNamespace() != "aten") continue;
    const std::string full = full_name(name);
    const bool is_on_shell = std::ranges::find(on_shell, full) != on_shell.end();
    library.impl(full.substr(full.find("::") + 2).c_str(),
                 is_on_shell ? torch::CppFunction::makeFromBoxedFunctor(std::make_unique<OnShell>(cpu_key))
                             : torch::CppFunction::makeFromBoxedFunction<&run_on_copies>());
  }
  // For mixtures with plain tensors.
  operator_library("_", key).fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_copies>());
}

}  // namespace torchplug::aten
