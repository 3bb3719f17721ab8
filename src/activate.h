#pragma once
// The way in: makes a plugin the PyTorch device of this process. C++ programs call it; the Python
// package does nothing else.

#include <string>

namespace torchplug {

// Loads the plugin at `path`, registers its device with PyTorch under its own name, and returns the
// name. Loading the same plugin again does nothing. Throws c10::Error with one sentence.
std::string activate(const std::string& path);

}  // namespace torchplug
