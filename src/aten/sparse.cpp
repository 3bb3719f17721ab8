#include "aten/sparse.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_sparse_compressed_tensor_unsafe.h>
#include <ATen/ops/_sparse_coo_tensor_unsafe.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aten/arguments.h"
#include "aten/operator_facts.h"
#include "immortal.h"

namespace torchplug {
namespace {

using c10::DispatchKey;

// Operators that make, read or mark a shell and leave its parts where they are.
constexpr std::string_view kOnShell[] = {
    "aten::_coalesced_",
    "aten::_dimI",
    "aten::_dimV",
    "aten::_indices",
    "aten::_nnz",
    "aten::_sparse_coo_tensor_with_dims",
    "aten::_sparse_coo_tensor_with_dims_and_tensors",
    "aten::_values",
    "aten::ccol_indices",
    "aten::col_indices",
    "aten::crow_indices",
    "aten::dense_dim",
    "aten::empty.memory_format",
    "aten::indices",
    "aten::is_coalesced",
    "aten::row_indices",
    "aten::sparse_dim",
    "aten::sparse_resize_",
    "aten::sparse_resize_and_clear_",
    "aten::values",
};

at::SparseTensorImpl& coo_shell(const at::Tensor& tensor) {
  return *static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl& compressed_shell(const at::Tensor& tensor) {
  return *static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

std::pair<at::Tensor, at::Tensor> compressed_indices(const at::Tensor& tensor) {
  return at::sparse_csr::getCompressedPlainIndices(tensor);
}

at::Tensor move(const at::Tensor& tensor, c10::Device device) {
  if (!tensor.defined()) return tensor;
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

// Gives the original what the CPU made of its copy.
void write_back(const at::Tensor& original, const at::Tensor& host) {
  const c10::Device device = original.device();
  if (original.is_sparse()) {
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

const OperatorFacts& facts_of(const c10::OperatorHandle& handle) {
  static std::mutex facts_lock;
  static auto& known = *immortal<std::unordered_map<c10::OperatorName, OperatorFacts>>();
  std::lock_guard lock(facts_lock);
  return known.try_emplace(handle.operator_name(), handle).first->second;
}

void run_on_copies(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  const OperatorFacts& facts = facts_of(handle);
  const size_t first = stack->size() - facts.argument_count;
  DeviceIndex device = -1;
  struct Moved {
    at::Tensor original;
    at::Tensor host;
    bool written;
  };
  std::vector<Moved> moved;
  for (size_t i = 0; i < facts.argument_count; ++i) {
    c10::IValue& value = (*stack)[first + i];
    replace_tensors(value, [&](const at::Tensor& tensor) {
      if (!is_on_device(tensor)) return tensor;
      device = tensor.device().index();
      for (Moved& known : moved) {
        if (!known.original.is_same(tensor)) continue;
        known.written = known.written || facts.writes[i];
        return known.host;
      }
      moved.push_back({tensor, move(tensor, c10::kCPU), facts.writes[i]});
      // Some kernels keep more for backward where a gradient is wanted.
      return moved.back().host.set_requires_grad(tensor.requires_grad());
    });
    if (value.isDevice() && value.toDevice().type() == kDeviceType) value = c10::Device(c10::kCPU);
  }
  if (device < 0) device = current_device();
  {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    handle.callBoxed(stack);
  }
  for (const Moved& known : moved) {
    if (known.written) write_back(known.original, known.host);
  }
  for (size_t i = first; i < stack->size(); ++i) {
    replace_tensors((*stack)[i], [&](const at::Tensor& tensor) {
      for (const Moved& known : moved) {
        if (known.host.is_same(tensor)) return known.original;
      }
      return move(tensor, c10::Device(kDeviceType, device));
    });
  }
}

template <DispatchKey kCpuKey>
void run_sparse(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  const std::string full = full_name(handle.operator_name());
  if (std::find(std::begin(kOnShell), std::end(kOnShell), full) != std::end(kOnShell)) {
    handle.redispatchBoxed(c10::DispatchKeySet(kCpuKey), stack);
  } else {
    run_on_copies(handle, stack);
  }
}

// An operator with a kernel for sparse CPU tensors gets one here too: what PyTorch composes for other
// layouts would take its place otherwise. The fallback is for mixtures of dense and sparse.
template <DispatchKey kKey, DispatchKey kCpuKey>
void add_kernels() {
  static auto& library =
      *immortal<torch::Library>(torch::Library::IMPL, "aten", kKey, __FILE__, uint32_t(__LINE__));
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNamesForDispatchKey(kCpuKey)) {
    if (name.getNamespace() != "aten") continue;
    const std::string full = full_name(name);
    library.impl(full.substr(full.find("::") + 2).c_str(),
                 torch::CppFunction::makeFromBoxedFunction<&run_sparse<kCpuKey>>());
  }
  static auto& rest =
      *immortal<torch::Library>(torch::Library::IMPL, "_", kKey, __FILE__, uint32_t(__LINE__));
  rest.fallback(torch::CppFunction::makeFromBoxedFunction<&run_sparse<kCpuKey>>());
}

}  // namespace

at::Tensor move_to_device(const at::Tensor& host, DeviceIndex device) {
  return move(host, c10::Device(kDeviceType, device));
}

void register_sparse_operators() {
  add_kernels<DispatchKey::SparsePrivateUse1, DispatchKey::SparseCPU>();
  add_kernels<DispatchKey::SparseCsrPrivateUse1, DispatchKey::SparseCsrCPU>();
}

}  // namespace torchplug
