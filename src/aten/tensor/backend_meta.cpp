#include "aten/tensor/backend_meta.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <charconv>
#include <unordered_map>
#include <utility>

#include "runtime/device.h"

namespace torchplug::aten {
namespace {

struct Meta final : c10::BackendMeta {
  explicit Meta(BackendNotes given) : notes(std::move(given)) {}
  const BackendNotes notes;
};

// PyTorch saves names that are true or false. A note is such a name: the prefix, the length of the key, the
// key and the value.
constexpr std::string_view kPrefix = "torchplug.note:";

using Saved = std::unordered_map<std::string, bool>;

void save(const at::Tensor& tensor, Saved& saved) {
  for (const auto& [key, value] : backend_notes(tensor)) {
    std::string name(kPrefix);
    name.append(std::to_string(key.size())).append(":").append(key).append(value);
    saved[name] = true;
  }
}

// Names of others are left alone: a file may come from another backend.
void load(const at::Tensor& tensor, Saved& saved) {
  BackendNotes notes;
  for (const auto& [name, is_true] : saved) {
    if (!name.starts_with(kPrefix)) continue;
    size_t length = 0;
    const char* end = name.data() + name.size();
    const auto [colon, problem] = std::from_chars(name.data() + kPrefix.size(), end, length);
    TORCH_CHECK(problem == std::errc() && colon != end && *colon == ':' &&
                    length <= static_cast<size_t>(end - colon - 1),
                "'", name, "' is not backend metadata saved by torchplug.");
    notes.emplace(std::string(colon + 1, length), std::string(colon + 1 + length, end));
  }
  if (!notes.empty()) set_backend_notes(tensor, std::move(notes));
}

}  // namespace

BackendNotes backend_notes(const at::TensorBase& tensor) {
  const auto* meta = dynamic_cast<const Meta*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
  return meta == nullptr ? BackendNotes() : meta->notes;
}

void set_backend_notes(const at::TensorBase& tensor, BackendNotes notes) {
  TORCH_CHECK(tensor.device().type() == kDeviceType, "Backend metadata can be set on tensors of device '",
              device_type_name(), "' only, and this one is on '", tensor.device(), "'.");
  c10::intrusive_ptr<c10::BackendMeta> meta;
  if (!notes.empty()) meta = c10::make_intrusive<Meta>(std::move(notes));
  tensor.unsafeGetTensorImpl()->set_backend_meta(std::move(meta));
}

void register_backend_notes() { torch::jit::TensorBackendMetaRegistry(kDeviceType, &save, &load); }

}  // namespace torchplug::aten
