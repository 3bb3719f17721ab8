#pragma once
// The way in: makes a plugin the PyTorch device of this process. C++ programs call it; the Python
// package does nothing else.

#include <string>

#include "base/namespaces.h"

namespace torchplug::pytorch {

// Loads the plugin at `path`, registers its device with PyTorch under its own name, and returns the
// name. Loading the same plugin again does nothing. Throws c10::Error with one sentence; PyTorch is then as
// it was.
std::string activate(const std::string& path);

// Registers a device called `name` with PyTorch; the plugin at `path` is loaded at the first use of the
// device, which fails if the plugin cannot be loaded or calls itself something else. Throws for a name that
// PyTorch has already and for a path where nothing is, before PyTorch is changed.
void activate_later(const std::string& name, const std::string& path);

}  // namespace torchplug::pytorch
