#pragma once
// Everything that depends on the PyTorch version. 2.13 is the reference; 2.11 and 2.12 are served too.

#include <torch/version.h>

#define TORCHPLUG_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
