#include "graph/title.h"

#include <algorithm>
#include <vector>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

constexpr size_t kMostNames = 4;

// "aten::add.Tensor" as "add".
std::string short_name(const std::string& name) {
  const size_t space = name.find("::");
  const size_t begin = space == std::string::npos ? 0 : space + 2;
  return name.substr(begin, name.find('.', begin) - begin);
}

}  // namespace

std::string title_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    std::string name = short_name(graph.operator_of(node).name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  std::string title = "engine(";
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i) title += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNames) title += say(" and ", names.size() - kMostNames, " more");
  return title + ")";
}

std::string source_of(const Graph& graph) {
  std::string first;
  std::string last;
  for (const Node& node : graph.nodes()) {
    if (node.source.empty()) continue;
    if (first.empty()) first = node.source;
    last = node.source;
  }
  return first == last ? first : first + " to " + last;
}

}  // namespace torchplug::graph
