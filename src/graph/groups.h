#pragma once
// Which nodes of a graph become engines together. Groups are convex and do not depend on each other in a
// circle: each can run as one, at one time. All values; any thread.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "graph/graph.h"

namespace torchplug::graph {

// What is known of a node before grouping.
struct Candidate {
  bool may_compile = false;
  bool is_view = false;  // it computes nothing: alone, or with others of its kind, it is not worth an engine
  std::string why;       // it may not be compiled
};

struct Groups {
  // A group, or a node outside of all.
  struct Step {
    int32_t group = -1;
    int32_t node = -1;
  };
  std::vector<std::vector<int32_t>> groups;  // their nodes, in the graph's order; in the order of `steps`
  std::vector<int32_t> group_of;             // of each node; -1: outside
  std::vector<std::string> why;              // of each node outside, why it is
  std::vector<Step> steps;                   // an order to run in, as near to the graph's as can be
};

// What a compiler's `partition` says.
class Partition {
 public:
  explicit Partition(const Graph& graph);

  // For plug_compiler.partition: `partition` is a Partition. What is wrong is kept until check().
  static void take(void* partition, uint32_t node, int32_t group, const char* why) noexcept;
  // Throws a GraphError if what was taken is none.
  void check() const;

  int32_t group_of(int32_t node) const { return group_of_[static_cast<size_t>(node)]; }
  const std::string& why(int32_t node) const { return why_[static_cast<size_t>(node)]; }

 private:
  std::string add(uint32_t node, int32_t group, const char* why);

  const Graph& graph_;
  std::vector<int32_t> group_of_;
  std::vector<std::string> why_;
  std::vector<bool> is_taken_;
  std::string wrong_;  // the first that was
};

// The fewest groups there can be of all candidates that may be compiled. Those with fewer than `min_nodes`
// nodes that compute something are dissolved, where their nodes do not fit into another.
Groups group_nodes(const Graph& graph, std::span<const Candidate> candidates, int64_t min_nodes = 1);

// The compiler's groups, as they are where they can be. One that a path leaves and enters again, or that
// depends on another that depends on it, is split.
Groups group_nodes(const Graph& graph, const Partition& partition, std::span<const Candidate> candidates,
                   int64_t min_nodes = 1);

}  // namespace torchplug::graph
