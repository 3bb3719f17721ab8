#pragma once
// The weights of a package on its device: tensors over storages that are loaded once, however many share
// them.

#include <ATen/core/Tensor.h>

#include <vector>

#include "package/contents.h"
#include "package/file.h"

namespace torchplug::package {

std::vector<at::Tensor> load_weights(const PackageFile& file, const std::vector<Weight>& weights,
                                     c10::Device device);

}  // namespace torchplug::package
