#pragma once
// Notes on a tensor of the device, by PyTorch's BackendMeta: what an extension or its user wants to be known
// of it, such as the name of a private format. They belong to the tensor, not to its storage, and are never
// changed once set, so tensors share them. Not for two threads at once, as the rest of a tensor.

#include <ATen/core/TensorBase.h>

#include <map>
#include <string>

#include "base/namespaces.h"

namespace torchplug::aten {

using BackendNotes = std::map<std::string, std::string>;

BackendNotes backend_notes(const at::TensorBase& tensor);
void set_backend_notes(const at::TensorBase& tensor, BackendNotes notes);

// Makes torch.save, torch.load and TorchScript keep them.
void register_backend_notes();

}  // namespace torchplug::aten
