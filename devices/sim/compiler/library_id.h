#pragma once
// Which build of sim this is: engines of another one are made by other code.

#include <string>

namespace torchplug::sim::compiler {

// The linker's digest of this library, in hexadecimal; empty if the linker made none. Any thread may call it.
std::string library_id();

}  // namespace torchplug::sim::compiler
