// Grouping: no circles, few groups, reasons; and groups as graphs of their own.

#include "graph/groups.h"

#include <map>
#include <set>

#include "graph/extract.h"
#include "graph_samples.h"

namespace torchplug::graph::tests {
namespace {

// A graph with a node for each list of those it needs.
Graph dag_of(const std::vector<std::vector<int32_t>>& needs) {
  Graph graph;
  const int32_t input = graph.add_input(f32({2}), "x");
  std::vector<int32_t> result;
  const int32_t op = graph.add_operator("test::f(Tensor[] xs) -> Tensor", 0);
  for (const std::vector<int32_t>& list : needs) {
    std::vector<int64_t> refs = {input};
    for (const int32_t node : list) refs.push_back(result[static_cast<size_t>(node)]);
    const int32_t node = graph.add_node(op, {Argument::refs(refs)}, {f32({2})});
    result.push_back(graph.nodes()[static_cast<size_t>(node)].results[0]);
  }
  if (!result.empty()) graph.set_outputs({{result.back(), -1}});
  return graph;
}

std::vector<std::vector<int32_t>> random_dag(std::mt19937& random, size_t nodes) {
  std::vector<std::vector<int32_t>> needs(nodes);
  for (size_t node = 1; node < nodes; ++node) {
    for (uint32_t i = 0; i < random() % 3; ++i) needs[node].push_back(static_cast<int32_t>(random() % node));
  }
  return needs;
}

std::vector<Candidate> candidates_of(const std::vector<bool>& may) {
  std::vector<Candidate> candidates;
  for (const bool one : may) candidates.push_back({one, false, one ? "" : "not listed"});
  return candidates;
}

// Whether merging nodes of one unit leaves a graph without circles: by brute force, unit after unit.
bool has_circle(const std::vector<std::vector<int32_t>>& needs, const std::vector<int32_t>& unit_of) {
  std::map<int32_t, std::set<int32_t>> edges;
  std::set<int32_t> left(unit_of.begin(), unit_of.end());
  for (size_t node = 0; node < needs.size(); ++node) {
    for (const int32_t before : needs[node]) {
      const int32_t from = unit_of[static_cast<size_t>(before)];
      if (from != unit_of[node]) edges[unit_of[node]].insert(from);
    }
  }
  while (!left.empty()) {
    const auto ready = std::find_if(left.begin(), left.end(), [&](int32_t unit) {
      return std::none_of(edges[unit].begin(), edges[unit].end(),
                          [&](int32_t need) { return left.contains(need); });
    });
    if (ready == left.end()) return true;
    left.erase(ready);
  }
  return false;
}

// Nodes outside are units of their own.
std::vector<int32_t> units_of(const std::vector<int32_t>& group_of) {
  std::vector<int32_t> units = group_of;
  for (size_t node = 0; node < units.size(); ++node) {
    if (units[node] < 0) units[node] = 1000000 + static_cast<int32_t>(node);
  }
  return units;
}

void expect_sound(const std::vector<std::vector<int32_t>>& needs, const Groups& groups) {
  EXPECT_FALSE(has_circle(needs, units_of(groups.group_of)));
  std::set<int32_t> done;
  for (const Groups::Step& step : groups.steps) {
    const std::vector<int32_t> nodes =
        step.group >= 0 ? groups.groups[static_cast<size_t>(step.group)] : std::vector<int32_t>{step.node};
    EXPECT_FALSE(nodes.empty());
    for (const int32_t node : nodes) {
      EXPECT_EQ(groups.group_of[static_cast<size_t>(node)], step.group);
      EXPECT_EQ(groups.why[static_cast<size_t>(node)].empty(), step.group >= 0)
          << "a reason for each outside";
      EXPECT_TRUE(done.insert(node).second) << "once each";
      for (const int32_t before : needs[static_cast<size_t>(node)]) EXPECT_TRUE(done.contains(before));
    }
    EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
  }
  EXPECT_EQ(done.size(), needs.size());
}

TEST(GraphGroups, no_group_makes_a_circle_in_a_thousand_random_graphs) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const auto needs = random_dag(random, random() % 40);
    std::vector<Candidate> candidates(needs.size());
    for (Candidate& candidate : candidates) {
      candidate = {random() % 4 != 0, random() % 3 == 0, "not listed"};
      if (candidate.may_compile) candidate.why.clear();
    }
    const Groups groups = group_nodes(dag_of(needs), candidates, random() % 4);
    expect_sound(needs, groups);
    for (const auto& group : groups.groups) {
      EXPECT_TRUE(std::any_of(group.begin(), group.end(), [&](int32_t node) {
        return !candidates[static_cast<size_t>(node)].is_view;
      })) << "a group of views alone";
    }
  }
}

// All ways to put nodes into groups: the fewest groups of all candidates without a circle.
size_t fewest_groups(const std::vector<std::vector<int32_t>>& needs, const std::vector<bool>& may,
                     std::vector<int32_t>& group_of, size_t node, size_t used) {
  if (node == needs.size()) return has_circle(needs, units_of(group_of)) ? 100 : used;
  if (!may[node]) {
    group_of[node] = -1;
    return fewest_groups(needs, may, group_of, node + 1, used);
  }
  size_t fewest = 100;
  for (size_t group = 0; group <= used; ++group) {
    group_of[node] = static_cast<int32_t>(group);
    fewest = std::min(fewest, fewest_groups(needs, may, group_of, node + 1, std::max(used, group + 1)));
  }
  return fewest;
}

TEST(GraphGroups, there_are_no_fewer_groups_than_ours) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    const auto needs = random_dag(random, 1 + random() % 8);
    std::vector<bool> may;
    for (size_t i = 0; i < needs.size(); ++i) may.push_back(random() % 3 != 0);
    std::vector<int32_t> group_of(needs.size());
    EXPECT_EQ(group_nodes(dag_of(needs), candidates_of(may)).groups.size(),
              fewest_groups(needs, may, group_of, 0, 0))
        << "seed " << seed;
  }
}

TEST(GraphGroups, a_group_too_small_is_dissolved_with_a_reason_unless_its_nodes_fit_elsewhere) {
  // 0 -> 2 (not listed) -> 3 -> 4 -> 5; 1 needs nothing and is needed by 4 alone.
  const std::vector<std::vector<int32_t>> needs = {{}, {}, {0}, {2}, {1, 3}, {4}};
  const Groups groups = group_nodes(dag_of(needs), candidates_of({true, true, false, true, true, true}), 3);
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0], (std::vector<int32_t>{1, 3, 4, 5})) << "node 1 goes where it is needed";
  EXPECT_NE(groups.why[0].find("1 node, fewer than min_nodes (3)"), std::string::npos) << groups.why[0];
  EXPECT_EQ(groups.why[2], "not listed");
  expect_sound(needs, groups);
}

TEST(GraphGroups, views_alone_make_no_group_and_views_beside_others_belong_to_theirs) {
  std::vector<Candidate> candidates(3, {true, true, ""});
  const std::vector<std::vector<int32_t>> needs = {{}, {0}, {1}};
  const Groups alone = group_nodes(dag_of(needs), candidates);
  EXPECT_TRUE(alone.groups.empty());
  EXPECT_NE(alone.why[1].find("views only"), std::string::npos);
  candidates[1].is_view = false;
  EXPECT_EQ(group_nodes(dag_of(needs), candidates).groups.at(0).size(), 3u);
}

TEST(GraphGroups, ten_thousand_nodes_are_grouped_in_linear_time) {
  std::vector<std::vector<int32_t>> needs(10000);
  std::mt19937 random(7);
  for (size_t node = 1; node < needs.size(); ++node) {
    needs[node].push_back(static_cast<int32_t>(node - 1));
    needs[node].push_back(static_cast<int32_t>(random() % node));
  }
  std::vector<bool> may(needs.size());
  for (size_t node = 0; node < may.size(); ++node) may[node] = node % 5 != 0;
  const Graph graph = dag_of(needs);
  const Groups groups = group_nodes(graph, candidates_of(may));
  EXPECT_EQ(groups.groups.size(), 2000u);
  const Extractor extractor(graph);
  size_t nodes = 0;
  for (const auto& group : groups.groups) nodes += extractor.extract(group).graph.nodes().size();
  EXPECT_EQ(nodes, 8000u) << "all are needed by the last";
}

// ---- a compiler's partition ----

Groups group_as(const Graph& graph, const std::vector<int32_t>& group_of, int64_t min_nodes = 1) {
  Partition partition(graph);
  for (size_t node = 0; node < group_of.size(); ++node) {
    Partition::take(&partition, static_cast<uint32_t>(node), group_of[node],
                    group_of[node] < 0 ? "too odd" : nullptr);
  }
  return group_nodes(graph, partition, std::vector<Candidate>(group_of.size(), {true, false, ""}), min_nodes);
}

TEST(CompilersPartition, groups_that_can_be_are_kept_and_the_others_split_in_a_thousand_random_graphs) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const auto needs = random_dag(random, 1 + random() % 30);
    std::vector<int32_t> wanted;
    const uint32_t kinds = 1 + random() % 5;
    for (size_t i = 0; i < needs.size(); ++i)
      wanted.push_back(static_cast<int32_t>(random() % (kinds + 1)) - 1);
    const Groups groups = group_as(dag_of(needs), wanted);
    expect_sound(needs, groups);
    std::map<int32_t, std::set<int32_t>> parts;  // of each wanted group
    for (size_t node = 0; node < wanted.size(); ++node) {
      EXPECT_EQ(wanted[node] < 0, groups.group_of[node] < 0);
      if (wanted[node] >= 0) parts[wanted[node]].insert(groups.group_of[node]);
    }
    std::set<int32_t> all;
    size_t total = 0;
    for (const auto& [group, numbers] : parts) {
      all.insert(numbers.begin(), numbers.end());
      total += numbers.size();
    }
    EXPECT_EQ(all.size(), total) << "nodes of two groups are never merged";
    const bool has_to_split = has_circle(needs, units_of(wanted));
    EXPECT_EQ(total > parts.size(), has_to_split) << "seed " << seed;
  }
}

TEST(CompilersPartition, a_group_that_a_path_leaves_is_split_there_alone) {
  const Graph graph = dag_of({{}, {0}, {1}, {2}, {3}});
  const Groups groups = group_as(graph, {7, 7, -1, 7, 7});
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.groups[0], (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(groups.groups[1], (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(groups.why[2], "too odd");
}

TEST(CompilersPartition, a_group_is_split_for_its_own_circle_alone) {
  // Group 0 is split at node 1, group 1 at node 5; that node 4 comes late because of group 0 splits nothing.
  const Groups groups = group_as(dag_of({{}, {0}, {1}, {}, {2}, {3, 4}, {5}}), {0, -1, 0, 1, 1, -1, 1});
  ASSERT_EQ(groups.groups.size(), 4u);
  EXPECT_EQ(groups.groups[static_cast<size_t>(groups.group_of[4])], (std::vector<int32_t>{3, 4}));
}

TEST(CompilersPartition, two_groups_that_need_each_other_are_split_though_each_is_convex) {
  // a0 -> b1, b2 -> a3
  const std::vector<std::vector<int32_t>> needs = {{}, {0}, {}, {2}};
  const Groups groups = group_as(dag_of(needs), {0, 1, 1, 0});
  expect_sound(needs, groups);
  EXPECT_GT(groups.groups.size(), 2u);
}

TEST(CompilersPartition, one_that_is_none_is_refused_in_a_sentence) {
  Graph graph = dag_of({{}, {0}});
  const auto refuses = [&](const std::vector<std::pair<uint32_t, int32_t>>& taken,
                           const std::vector<std::string_view>& parts) {
    Partition partition(graph);
    for (const auto& [node, group] : taken) Partition::take(&partition, node, group, nullptr);
    expect_refused([&] { group_nodes(graph, partition, std::vector<Candidate>(graph.nodes().size())); },
                   parts);
  };
  refuses({{0, 0}, {2, 0}}, {"names node 2", "has 2"});
  refuses({{0, 0}, {4000000000U, 0}}, {"names node 4000000000"});
  refuses({{0, 0}, {1, 0}, {0, 0}}, {"node 0 (test::f)", "twice"});
  refuses({{0, -2}}, {"group -2"});
  refuses({}, {"names none of 2 nodes"});
  graph.add_node(graph.add_operator(kRelu, -1), {Argument::ref(0)}, {f32({2})});
  refuses({{2, 0}}, {"node 2 (aten::relu)", "list of schemas does not have it"});
}

TEST(CompilersPartition, nodes_that_the_user_keeps_out_or_the_compiler_does_not_name_stay_outside) {
  const Graph graph = dag_of({{}, {0}, {1}});
  Partition partition(graph);
  Partition::take(&partition, 0, 0, nullptr);
  Partition::take(&partition, 1, 0, nullptr);
  std::vector<Candidate> candidates(3, {true, false, ""});
  candidates[1] = {false, false, "kept eager"};
  const Groups groups = group_nodes(graph, partition, candidates);
  EXPECT_EQ(groups.group_of, (std::vector<int32_t>{0, -1, -1}));
  EXPECT_EQ(groups.why[1], "kept eager");
  EXPECT_NE(groups.why[2].find("does not name it"), std::string::npos);
}

// ---- groups as graphs ----

struct Chain {  // x -> add(x, w) -> [add(.., c)] -> ...
  Graph graph;
  int32_t add = 0;

  int32_t sum(int32_t a, int32_t b, TensorType type) {
    const int32_t node =
        graph.add_node(add, {Argument::ref(a), Argument::ref(b), Argument::integer(1)}, {std::move(type)});
    return graph.nodes()[static_cast<size_t>(node)].results[0];
  }
};

TEST(GraphExtract, layers_that_are_alike_have_equal_bytes_wherever_they_stand) {
  Chain chain;
  for (int i = 0; i < 3; ++i) chain.graph.add_symbol({2, 100, 5 + i, "s"});
  const TensorType narrow = f32({extent_of(2), 4});
  chain.graph.add_input(narrow, "x");
  chain.graph.add_input(f32({4}), "w0", true);
  chain.graph.add_input(f32({4}), "w1", true);
  chain.add = chain.graph.add_operator(kAdd, 0);
  std::vector<float> content = {1, 2, 3, 4};
  int32_t x = 0;
  for (int32_t layer = 0; layer < 2; ++layer) {
    const int32_t constant = chain.graph.add_constant(PLUG_F32, {4}, constant_of(content), "c");
    x = chain.sum(x, 1 + layer, narrow);
    x = chain.sum(x, constant, narrow);
  }
  chain.graph.set_outputs({{x, -1}});
  const Extractor extractor(chain.graph);
  const std::vector<int32_t> first_nodes = {0, 1};
  const std::vector<int32_t> second_nodes = {2, 3};
  const Extracted first = extractor.extract(first_nodes);
  const Extracted second = extractor.extract(second_nodes);
  EXPECT_EQ(canonical_bytes(first.graph), canonical_bytes(second.graph));
  EXPECT_EQ(first.symbols, (std::vector<int32_t>{2})) << "what is used alone";
  EXPECT_EQ(first.inputs, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(second.inputs.at(1), 2);
  EXPECT_EQ(second.outputs, (std::vector<int32_t>{x}));
  EXPECT_EQ(second.graph.values()[1].name, "w1");
  EXPECT_EQ(second.graph.values()[1].flags, uint32_t{PLUG_GRAPH_WEIGHT});
}

TEST(GraphExtract, what_no_output_needs_is_left_out) {
  Graph graph;
  graph.add_input(f32({2}), "x");
  graph.add_input(f32({2}), "y");
  const int32_t relu = graph.add_operator(kRelu, 0);
  graph.add_node(relu, {Argument::ref(1)}, {f32({2})});  // value 2, for the next node alone
  graph.add_node(relu, {Argument::ref(2)}, {f32({2})});  // value 3, for nobody
  graph.add_node(relu, {Argument::ref(0)}, {f32({2})});
  graph.set_outputs({{4, -1}});
  const std::vector<int32_t> nodes = {0, 1, 2};
  const Extracted part = Extractor(graph).extract(nodes);
  EXPECT_EQ(part.nodes, (std::vector<int32_t>{2}));
  EXPECT_EQ(part.inputs, (std::vector<int32_t>{0}));
}

TEST(GraphExtract, the_whole_as_one_group_taken_again_is_the_same) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomRecipe(seed).make().build();
    const auto take_all = [](const Graph& of) {
      std::vector<int32_t> nodes;
      for (size_t i = 0; i < of.nodes().size(); ++i) nodes.push_back(static_cast<int32_t>(i));
      return Extractor(of).extract(nodes);
    };
    const Extracted all = take_all(graph);
    EXPECT_EQ(all.graph.flags(), graph.flags());
    EXPECT_EQ(canonical_bytes(all.graph), canonical_bytes(take_all(all.graph).graph)) << "seed " << seed;
  }
}

// x is updated by x + y; `also` is a further use.
Extracted with_update(const std::function<void(Chain&)>& also, std::vector<int32_t> nodes,
                      std::vector<Output> outputs) {
  Chain chain;
  chain.graph.add_input(f32({2}), "x");
  chain.graph.add_input(f32({2}), "y");
  chain.add = chain.graph.add_operator(kAdd, 0);
  chain.sum(0, 1, f32({2}));  // value 2
  also(chain);
  chain.graph.set_outputs(std::move(outputs));
  return Extractor(chain.graph).extract(nodes);
}

TEST(GraphExtract, an_update_is_carried_if_nobody_outside_needs_what_it_overwrites) {
  const auto nothing = [](Chain&) {};
  EXPECT_EQ(with_update(nothing, {0}, {{2, 0}}).graph.outputs()[0].updates, 0);
  const auto second = [](Chain& chain) { chain.sum(0, 1, f32({2})); };
  EXPECT_EQ(with_update(second, {0}, {{2, 0}}).graph.outputs()[0].updates, -1)
      << "node 1 reads the old content";
  EXPECT_EQ(with_update(second, {0, 1}, {{2, 0}}).graph.outputs()[0].updates, 0);
  const auto reader = [](Chain& chain) { chain.sum(2, 1, f32({2})); };
  EXPECT_EQ(with_update(reader, {0}, {{2, 0}, {3, -1}}).graph.outputs()[0].updates, 0)
      << "who reads the new content outside finds it in the input";
  EXPECT_EQ(with_update(reader, {0, 1}, {{2, 0}, {3, -1}}).graph.outputs()[0].updates, 0);
  EXPECT_EQ(with_update(nothing, {0}, {{2, 0}, {2, -1}}).graph.outputs()[0].updates, -1)
      << "it is returned too";
  EXPECT_EQ(with_update(nothing, {0}, {{2, 0}, {0, -1}}).graph.outputs()[0].updates, -1)
      << "so is the old content";
}

TEST(GraphExtract, an_input_that_is_overwritten_without_being_read_is_an_input) {
  Chain chain;
  chain.graph.add_input(f32({2}), "state");
  chain.graph.add_input(f32({2}), "y");
  chain.add = chain.graph.add_operator(kAdd, 0);
  chain.sum(1, 1, f32({2}));
  chain.graph.set_outputs({{2, 0}});
  const std::vector<int32_t> nodes = {0};
  const Extracted part = Extractor(chain.graph).extract(nodes);
  EXPECT_EQ(part.inputs, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(part.graph.outputs()[0].updates, 1);
}

}  // namespace
}  // namespace torchplug::graph::tests
