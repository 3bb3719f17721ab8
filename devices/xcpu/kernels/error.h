#pragma once
// The sentence with which a function refuses. It is the calling thread's until that thread's next.

#include <string>

namespace xcpu {

const char* refuse(std::string sentence);

}  // namespace xcpu
