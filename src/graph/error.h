#pragma once
// What is wrong with a graph, in one sentence that a user can read.

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/namespaces.h"

namespace torchplug::graph {

class GraphError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The parts one after another; numbers in decimal.
template <class... Parts>
std::string say(const Parts&... parts) {
  std::string text;
  const auto add = [&text](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += std::string_view(part);
    }
  };
  (add(parts), ...);
  return text;
}

}  // namespace torchplug::graph
