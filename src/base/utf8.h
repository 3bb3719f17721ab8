#pragma once
// What a plugin says in words goes to Python and into files, which take UTF-8 and nothing else.

#include <string>

#include "base/namespaces.h"

namespace torchplug::base {

// The text, with a question mark for each byte that is none of UTF-8; "" for null.
std::string as_utf8(const char* text);

}  // namespace torchplug::base
