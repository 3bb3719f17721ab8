#include "graph/groups.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

size_t index_of(int32_t number) { return static_cast<size_t>(number); }

// Which nodes a node needs, and which need it.
struct Dependencies {
  explicit Dependencies(const Graph& graph) : before(graph.nodes().size()), after(graph.nodes().size()) {
    for (size_t node = 0; node < before.size(); ++node) {
      std::vector<int32_t>& needed = before[node];
      for (const Argument& argument : graph.nodes()[node].args) {
        argument.for_each_ref([&](int32_t value) {
          const int32_t producer = graph.values()[index_of(value)].producer;
          if (producer >= 0) needed.push_back(producer);
        });
      }
      std::sort(needed.begin(), needed.end());
      needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
      for (const int32_t producer : needed) after[index_of(producer)].push_back(static_cast<int32_t>(node));
    }
  }
  size_t size() const { return before.size(); }

  std::vector<std::vector<int32_t>> before;
  std::vector<std::vector<int32_t>> after;
};

// ---- strongly connected components ----

// Of the graph whose nodes are merged as `unit_of` says: for each unit the number of its component (Tarjan,
// with a stack of its own: graphs are as deep as they are long).
class Components {
 public:
  Components(const Dependencies& dependencies, const std::vector<int32_t>& unit_of, size_t units)
      : after_(units), index_(units, -1), low_(units, -1), component_(units, -1) {
    for (size_t node = 0; node < dependencies.size(); ++node) {
      for (const int32_t next : dependencies.after[node]) {
        if (unit_of[index_of(next)] != unit_of[node])
          after_[index_of(unit_of[node])].push_back(unit_of[index_of(next)]);
      }
    }
    for (size_t unit = 0; unit < units; ++unit) {
      if (index_[unit] < 0) visit(static_cast<int32_t>(unit));
    }
  }

  int32_t of(int32_t unit) const { return component_[index_of(unit)]; }
  // How many units each has.
  const std::vector<int32_t>& sizes() const { return sizes_; }

 private:
  struct Frame {
    int32_t unit;
    size_t next;
  };

  void enter(int32_t unit) {
    index_[index_of(unit)] = low_[index_of(unit)] = next_index_++;
    open_.push_back(unit);
    frames_.push_back({unit, 0});
  }

  void visit(int32_t root) {
    enter(root);
    while (!frames_.empty()) {
      const int32_t unit = frames_.back().unit;
      if (frames_.back().next < after_[index_of(unit)].size()) {
        const int32_t next = after_[index_of(unit)][frames_.back().next++];
        if (index_[index_of(next)] < 0) {
          enter(next);
        } else if (component_[index_of(next)] < 0) {
          low_[index_of(unit)] = std::min(low_[index_of(unit)], index_[index_of(next)]);
        }
        continue;
      }
      frames_.pop_back();
      if (!frames_.empty())
        low_[index_of(frames_.back().unit)] =
            std::min(low_[index_of(frames_.back().unit)], low_[index_of(unit)]);
      if (low_[index_of(unit)] == index_[index_of(unit)]) close(unit);
    }
  }

  void close(int32_t root) {
    const auto component = static_cast<int32_t>(sizes_.size());
    sizes_.push_back(0);
    int32_t unit = -1;
    do {
      unit = open_.back();
      open_.pop_back();
      component_[index_of(unit)] = component;
      ++sizes_.back();
    } while (unit != root);
  }

  std::vector<std::vector<int32_t>> after_;
  std::vector<int32_t> index_;
  std::vector<int32_t> low_;
  std::vector<int32_t> component_;
  std::vector<int32_t> sizes_;
  std::vector<int32_t> open_;
  std::vector<Frame> frames_;
  int32_t next_index_ = 0;
};

// ---- levels ----

// A node's level counts how often a path to it enters a group. Nodes of one group and one level can be one:
// an edge that leaves a group never leads to a lower level, and one that enters a group always to a higher
// one. For a single group no other split has fewer parts, since the parts of the longest such path cannot be
// one.
std::vector<int32_t> find_levels(const Dependencies& dependencies, const std::vector<int32_t>& label,
                                 const std::function<bool(int32_t, int32_t)>& counts) {
  std::vector<int32_t> level(label.size());
  for (size_t node = 0; node < label.size(); ++node) {
    level[node] = label[node] < 0 ? -1 : 0;
    for (const int32_t before : dependencies.before[node]) {
      if (!counts(before, static_cast<int32_t>(node))) continue;
      const bool enters = label[node] >= 0 && label[index_of(before)] != label[node];
      level[node] = std::max(level[node], level[index_of(before)] + (enters ? 1 : 0));
    }
  }
  return level;
}

// ---- the result ----

// The nodes of one label and one level, in the order in which they begin; those of label -1 are in none.
std::vector<std::vector<int32_t>> collect_groups(const std::vector<int32_t>& label,
                                                 const std::vector<int32_t>& level) {
  std::unordered_map<uint64_t, size_t> numbers;
  std::vector<std::vector<int32_t>> groups;
  for (size_t node = 0; node < label.size(); ++node) {
    if (label[node] < 0) continue;
    const uint64_t key = static_cast<uint64_t>(label[node]) << 32 | static_cast<uint32_t>(level[node]);
    const auto [found, is_new] = numbers.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(static_cast<int32_t>(node));
  }
  return groups;
}

int64_t count_computing(const std::vector<int32_t>& group, std::span<const Candidate> candidates) {
  return std::count_if(group.begin(), group.end(),
                       [&](int32_t node) { return !candidates[index_of(node)].is_view; });
}

// "" if the group is worth an engine.
std::string why_dissolved(const std::vector<int32_t>& group, std::span<const Candidate> candidates,
                          int64_t min_nodes) {
  const int64_t computing = count_computing(group, candidates);
  if (computing == 0) return "its group would hold views only, which compute nothing";
  if (computing >= min_nodes) return "";
  return say("its group would have ", computing, computing == 1 ? " node" : " nodes",
             ", fewer than min_nodes (", min_nodes, ")");
}

// Which groups stay; the nodes of the others are told why.
void dissolve_small(Groups& result, std::span<const Candidate> candidates, int64_t min_nodes) {
  std::vector<std::vector<int32_t>> kept;
  for (std::vector<int32_t>& group : result.groups) {
    const std::string why = why_dissolved(group, candidates, min_nodes);
    if (why.empty()) {
      kept.push_back(std::move(group));
    } else {
      for (const int32_t node : group) result.why[index_of(node)] = why;
    }
  }
  result.groups = std::move(kept);
}

// Orders groups and nodes outside by what they need (Kahn); of those that are ready the one that begins first
// in the graph comes first. The groups are numbered in that order.
class Ordering {
 public:
  Ordering(const Dependencies& dependencies, Groups& result)
      : dependencies_(dependencies), result_(result), unit_of_(dependencies.size(), -1) {}

  void run() {
    make_units();
    count_needed();
    for (size_t unit = 0; unit < members_.size(); ++unit) {
      if (missing_[unit] == 0) ready_.emplace(members_[unit].front(), static_cast<int32_t>(unit));
    }
    size_t done = 0;
    std::vector<std::vector<int32_t>> ordered;
    for (; !ready_.empty(); ++done) {
      const int32_t unit = ready_.top().second;
      ready_.pop();
      take(unit, ordered);
    }
    if (done != members_.size()) throw std::logic_error("groups of nodes depend on each other in a circle");
    result_.groups = std::move(ordered);
  }

 private:
  void make_units() {
    members_ = result_.groups;
    for (size_t group = 0; group < members_.size(); ++group) {
      for (const int32_t node : members_[group]) unit_of_[index_of(node)] = static_cast<int32_t>(group);
    }
    for (size_t node = 0; node < unit_of_.size(); ++node) {
      if (unit_of_[node] >= 0) continue;
      unit_of_[node] = static_cast<int32_t>(members_.size());
      members_.push_back({static_cast<int32_t>(node)});
    }
  }

  void count_needed() {
    missing_.assign(members_.size(), 0);
    for_each_edge([this](int32_t, int32_t to) { ++missing_[index_of(to)]; });
  }

  void for_each_edge(const std::function<void(int32_t, int32_t)>& visit) const {
    for (size_t node = 0; node < unit_of_.size(); ++node) {
      for (const int32_t next : dependencies_.after[node]) {
        if (unit_of_[index_of(next)] != unit_of_[node]) visit(unit_of_[node], unit_of_[index_of(next)]);
      }
    }
  }

  void take(int32_t unit, std::vector<std::vector<int32_t>>& ordered) {
    if (index_of(unit) < result_.groups.size()) {
      result_.steps.push_back({static_cast<int32_t>(ordered.size()), -1});
      for (const int32_t node : members_[index_of(unit)])
        result_.group_of[index_of(node)] = static_cast<int32_t>(ordered.size());
      ordered.push_back(members_[index_of(unit)]);
    } else {
      result_.steps.push_back({-1, members_[index_of(unit)].front()});
    }
    for (const int32_t node : members_[index_of(unit)]) {
      for (const int32_t next : dependencies_.after[index_of(node)]) {
        const int32_t other = unit_of_[index_of(next)];
        if (other != unit && --missing_[index_of(other)] == 0)
          ready_.emplace(members_[index_of(other)].front(), other);
      }
    }
  }

  const Dependencies& dependencies_;
  Groups& result_;
  std::vector<int32_t> unit_of_;
  std::vector<std::vector<int32_t>> members_;
  std::vector<int64_t> missing_;  // edges into each unit from those that are not taken yet
  using Ready = std::pair<int32_t, int32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
};

Groups start_groups(const Graph& graph, std::span<const Candidate> candidates) {
  if (candidates.size() != graph.nodes().size()) {
    throw GraphError(
        say("there are ", candidates.size(), " candidates for ", graph.nodes().size(), " nodes"));
  }
  Groups result;
  result.group_of.assign(candidates.size(), -1);
  result.why.resize(candidates.size());
  return result;
}

void finish_groups(Groups& result, const Dependencies& dependencies, std::span<const Candidate> candidates,
                   int64_t min_nodes) {
  dissolve_small(result, candidates, min_nodes);
  Ordering(dependencies, result).run();
}

// ---- of candidates ----

// Moves the nodes of levels that would be dissolved into the next level that would not, where nothing needs
// them before.
void fill_up(std::vector<int32_t>& level, const Dependencies& dependencies,
             std::span<const Candidate> candidates, int64_t min_nodes) {
  const int32_t last = level.empty() ? -1 : *std::max_element(level.begin(), level.end());
  std::vector<int64_t> computing(index_of(last + 1));
  for (size_t node = 0; node < level.size(); ++node) {
    if (candidates[node].may_compile && !candidates[node].is_view) ++computing[index_of(level[node])];
  }
  std::vector<int32_t> next_large(index_of(last + 1), -1);
  for (int32_t n = last - 1; n >= 0; --n) {
    next_large[index_of(n)] =
        computing[index_of(n + 1)] >= std::max<int64_t>(min_nodes, 1) ? n + 1 : next_large[index_of(n + 1)];
  }
  for (size_t node = level.size(); node-- > 0;) {
    if (!candidates[node].may_compile) continue;
    if (computing[index_of(level[node])] >= std::max<int64_t>(min_nodes, 1)) continue;
    const int32_t target = next_large[index_of(level[node])];
    const auto is_early = [&](int32_t after) { return level[index_of(after)] < target; };
    const std::vector<int32_t>& after = dependencies.after[node];
    if (target >= 0 && std::none_of(after.begin(), after.end(), is_early)) level[node] = target;
  }
}

}  // namespace

Groups group_nodes(const Graph& graph, std::span<const Candidate> candidates, int64_t min_nodes) {
  Groups result = start_groups(graph, candidates);
  const Dependencies dependencies(graph);
  std::vector<int32_t> label(candidates.size());
  for (size_t node = 0; node < label.size(); ++node) {
    label[node] = candidates[node].may_compile ? 0 : -1;
    if (!candidates[node].may_compile) result.why[node] = candidates[node].why;
  }
  std::vector<int32_t> level = find_levels(dependencies, label, [](int32_t, int32_t) { return true; });
  fill_up(level, dependencies, candidates, min_nodes);
  result.groups = collect_groups(label, level);
  finish_groups(result, dependencies, candidates, min_nodes);
  return result;
}

// ---- of a compiler ----

Partition::Partition(const Graph& graph)
    : graph_(graph),
      group_of_(graph.nodes().size(), -1),
      why_(graph.nodes().size(), "the compiler's partition does not name it"),
      is_taken_(graph.nodes().size()) {}

// Through a compiler's own frames no exception can go.
void Partition::take(void* partition, uint32_t node, int32_t group, const char* why) noexcept {
  auto* self = static_cast<Partition*>(partition);
  try {
    std::string wrong = self->add(node, group, why);
    if (self->wrong_.empty()) self->wrong_ = std::move(wrong);
  } catch (const std::exception& error) {
    self->wrong_ = error.what();
  }
}

std::string Partition::add(uint32_t node, int32_t group, const char* why) {
  const auto number = static_cast<int32_t>(node);
  if (node >= group_of_.size()) {
    return say("the compiler's partition names node ", node, ", but the graph has ", group_of_.size());
  }
  if (is_taken_[node]) return say("the compiler's partition names ", graph_.describe_node(number), " twice");
  if (group < -1) {
    return say("the compiler's partition puts ", graph_.describe_node(number), " into group ", group,
               "; -1 is none");
  }
  if (group >= 0 && !graph_.operator_of(graph_.nodes()[node]).is_bound()) {
    return say("the compiler's partition puts ", graph_.describe_node(number), " into group ", group,
               ", but its list of schemas does not have it");
  }
  is_taken_[node] = true;
  group_of_[node] = group;
  why_[node] = why != nullptr && *why != '\0' ? why : "the compiler leaves it out";
  return "";
}

void Partition::check() const {
  if (!wrong_.empty()) throw GraphError(wrong_);
  const bool names_any = std::find(is_taken_.begin(), is_taken_.end(), true) != is_taken_.end();
  if (!names_any && !is_taken_.empty()) {
    throw GraphError(say("the compiler's partition names none of ", is_taken_.size(),
                         " nodes; what it does not compile it puts into group -1"));
  }
}

Groups group_nodes(const Graph& graph, const Partition& partition, std::span<const Candidate> candidates,
                   int64_t min_nodes) {
  partition.check();
  Groups result = start_groups(graph, candidates);
  const Dependencies dependencies(graph);
  std::vector<int32_t> label(candidates.size());
  std::vector<int32_t> unit_of(candidates.size());
  std::unordered_map<int32_t, int32_t> units;
  int32_t unit_count = 0;
  for (size_t i = 0; i < label.size(); ++i) {
    const auto node = static_cast<int32_t>(i);
    label[i] = candidates[i].may_compile ? partition.group_of(node) : -1;
    if (label[i] < 0) result.why[i] = candidates[i].may_compile ? partition.why(node) : candidates[i].why;
    const auto found = label[i] < 0 ? units.end() : units.find(label[i]);
    unit_of[i] = found == units.end() ? unit_count++ : found->second;
    if (label[i] >= 0) units.emplace(label[i], unit_of[i]);
  }

  // What stands in no circle stays as it is.
  const Components components(dependencies, unit_of, index_of(unit_count));
  const auto component_of = [&](int32_t node) { return components.of(unit_of[index_of(node)]); };
  const auto counts = [&](int32_t before, int32_t node) {
    return component_of(before) == component_of(node);
  };
  std::vector<int32_t> level = find_levels(dependencies, label, counts);
  for (size_t i = 0; i < level.size(); ++i) {
    if (components.sizes()[index_of(component_of(static_cast<int32_t>(i)))] == 1) level[i] = 0;
  }
  result.groups = collect_groups(label, level);
  finish_groups(result, dependencies, candidates, min_nodes);
  return result;
}

}  // namespace torchplug::graph
