#include "aten/fallback/whole_copy.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "aten/fallback/on_shell.h"
#include "aten/plan/by_operator.h"
#include "aten/plan/fallback_policy.h"
#include "aten/plan/ledger.h"
#include "aten/plan/operator_facts.h"
#include "aten/tensor/arguments.h"
#include "aten/tensor/transfer.h"
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

enum class Strides : uint8_t {
  kDense,
  kKept  // whatever they are: the CPU's sparse kernels take one way or another by them
};

at::Tensor move_part(const at::Tensor& tensor, c10::Device device, Strides strides) {
  const bool is_moved_so = strides == Strides::kDense || tensor.is_non_overlapping_and_dense() ||
                           tensor.numel() == 0 || tensor.is_conj() || tensor.is_neg();
  if (is_moved_so) return tensor.to(device);
  const ByteSpan span = span_of(tensor);
  const auto items = static_cast<int64_t>(span.bytes() / tensor.itemsize());
  return tensor.as_strided({items}, {1}).to(device).as_strided(tensor.sizes(), tensor.strides(), 0);
}

// What is moved is not checked again: check_sparse_tensor_invariants is for those who make such tensors.
at::Tensor move_coo(const at::Tensor& tensor, c10::Device device, Strides strides) {
  at::Tensor moved = at::_sparse_coo_tensor_with_dims_and_tensors(
      tensor.sparse_dim(), tensor.dense_dim(), tensor.sizes(), move_part(tensor._indices(), device, strides),
      move_part(tensor._values(), device, strides), tensor.options().device(device));
  return moved._coalesced_(tensor.is_coalesced());
}

at::Tensor move_compressed(const at::Tensor& tensor, c10::Device device, Strides strides) {
  const auto key = device.is_cpu() ? DispatchKey::SparseCsrCPU : DispatchKey::SparseCsrPrivateUse1;
  at::Tensor moved = at::detail::make_tensor<at::SparseCsrTensorImpl>(c10::DispatchKeySet(key), device,
                                                                      tensor.layout(), tensor.dtype());
  const auto [compressed, plain] = compressed_indices(tensor);
  compressed_shell(moved).set_member_tensors(move_part(compressed, device, strides),
                                             move_part(plain, device, strides),
                                             move_part(tensor.values(), device, strides), tensor.sizes());
  return moved;
}

at::Tensor move(const at::Tensor& tensor, c10::Device device, Strides strides) {
  if (!tensor.defined()) return tensor;
  if (tensor.is_nested()) return move_nested(tensor, device);
  if (tensor.is_sparse()) return move_coo(tensor, device, strides);
  if (at::sparse_csr::is_sparse_compressed(tensor)) return move_compressed(tensor, device, strides);
  return tensor.to(device);
}

// The plain tensors that it is made of.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (tensor.is_nested()) return {nested_shell(tensor).get_unsafe_storage_as_tensor()};
  if (tensor.is_sparse()) return {tensor._indices(), tensor._values()};
  if (at::sparse_csr::is_sparse_compressed(tensor)) {
    const auto [compressed, plain] = compressed_indices(tensor);
    return {compressed, plain, tensor.values()};
  }
  return {tensor};
}

uint64_t bytes_of(const at::Tensor& tensor) {
  uint64_t bytes = 0;
  for (const at::Tensor& part : parts_of(tensor)) bytes += part.nbytes();
  return bytes;
}

// Gives a part of the original what the CPU made of its copy: where the CPU changed it in place, so that who
// shares its memory sees it.
at::Tensor written_back(const at::Tensor& original, const at::Tensor& before, const at::Tensor& host) {
  const bool is_in_place = host.is_alias_of(before) && host.sizes() == original.sizes() &&
                           host.storage_offset() == before.storage_offset();
  return is_in_place ? original.copy_(host) : host.to(original.device());
}

// Gives the original what the CPU made of its copy, which was made of `before`.
void write_back(const at::Tensor& original, const std::vector<at::Tensor>& before, const at::Tensor& host) {
  const std::vector<at::Tensor> to = parts_of(original);
  const std::vector<at::Tensor> from = parts_of(host);
  if (original.is_nested()) {
    to[0].copy_(from[0]);
  } else if (original.is_sparse()) {
    at::SparseTensorImpl& shell = coo_shell(original);
    const at::Tensor indices = written_back(to[0], before[0], from[0]);
    const at::Tensor values = written_back(to[1], before[1], from[1]);
    shell.raw_resize_(host.sparse_dim(), host.dense_dim(), host.sizes());
    shell.set_indices_and_values_unsafe(indices, values);
    shell.set_coalesced(host.is_coalesced());
  } else if (at::sparse_csr::is_sparse_compressed(original)) {
    compressed_shell(original).set_member_tensors(written_back(to[0], before[0], from[0]),
                                                  written_back(to[1], before[1], from[1]),
                                                  written_back(to[2], before[2], from[2]), host.sizes());
  } else {
    if (original.sizes() != host.sizes()) original.resize_(host.sizes());
    original.copy_(host);
  }
}

// An operator that runs on copies: what is known of it, and its account.
struct CopyingOperator {
  explicit CopyingOperator(const c10::OperatorHandle& handle) : facts(handle), account(facts.name) {}
  const c10::OperatorHandle& handle() const { return facts.handle; }

  OperatorFacts facts;
  LedgerAccount account;
  FallbackNotice notice;
};

CopyingOperator& operator_of(const c10::OperatorHandle& handle) {
  static auto& known = *immortal<ByOperator<CopyingOperator>>();
  return known.find(handle, [&] { return std::make_unique<CopyingOperator>(handle); });
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
    at::Tensor host = move(tensor, c10::kCPU, Strides::kKept);
    copies_.push_back({tensor, host, parts_of(host), written});
    // Some kernels keep more for backward where a gradient is wanted.
    return host.set_requires_grad(tensor.requires_grad());
  }

  void write_back_all() {
    for (const Copy& copy : copies_) {
      if (!copy.written) continue;
      write_back(copy.original, copy.parts, copy.host);
      bytes_ += bytes_of(copy.host);
    }
  }

  at::Tensor result(const at::Tensor& host) {
    for (const Copy& copy : copies_) {
      if (copy.host.is_same(host)) return copy.original;
    }
    bytes_ += bytes_of(host);
    return move_to_device(host, device_ < 0 ? current_device() : device_);
  }

  uint64_t bytes_moved() const { return bytes_; }

 private:
  struct Copy {
    at::Tensor original;
    at::Tensor host;
    std::vector<at::Tensor> parts;  // of the host's, as they were
    bool written;
  };

  std::vector<Copy> copies_;
  DeviceIndex device_ = -1;
  uint64_t bytes_ = 0;
};

void run_on_copies(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  CopyingOperator& op = operator_of(handle);
  op.notice.give(op.account, Way::kStage, Reason::kNoKernel);
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

}  // namespace

bool is_plain(const at::Tensor& tensor) { return tensor.layout() == at::kStrided && !tensor.is_nested(); }

at::Tensor move_densely(const at::Tensor& tensor, c10::Device device) {
  if (!device.has_index() && device.type() == kDeviceType) device.set_index(current_device());
  return move(tensor, device, Strides::kDense);
}

at::Tensor move_to_device(const at::Tensor& host, DeviceIndex device) {
  return move(host, c10::Device(kDeviceType, device), Strides::kKept);
}

void register_whole_copies(DispatchKey key, DispatchKey cpu_key, std::span<const std::string_view> on_shell) {
  // What PyTorch composes for plain tensors would take the place of an operator that is not registered here.
  OperatorLibrary& library = operator_library("aten", key);
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNamesForDispatchKey(cpu_key)) {
    if (name.getNamespace() != "aten") continue;
    const std::string full = full_name(name);
    const bool is_on_shell = std::ranges::find(on_shell, full) != on_shell.end();
    library.impl(
        full.substr(full.find("::") + 2).c_str(),
        is_on_shell ? run_on_shell(cpu_key) : torch::CppFunction::makeFromBoxedFunction<&run_on_copies>());
  }
  // For mixtures with plain tensors.
  operator_library("_", key).fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_copies>());
}

}  // namespace torchplug::aten
