#include "error.h"

#include <utility>

namespace xcpu {

const char* refuse(std::string sentence) {
  thread_local std::string kept;
  kept = std::move(sentence);
  return kept.c_str();
}

}  // namespace xcpu
