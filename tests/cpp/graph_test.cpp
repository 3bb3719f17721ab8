// The neutral graph: what it refuses, its canonical bytes, and the view that a compiler has of it.

#include "graph/graph.h"

#include <cstring>
#include <set>

#include "graph/plug_view.h"
#include "graph_samples.h"

namespace torchplug::graph::tests {
namespace {

TEST(Sha256, digests_are_those_of_the_standard) {
  EXPECT_EQ(to_hex(digest_of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(digest_of(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, parts_of_any_length_give_the_digest_of_the_whole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (size_t part = 1; part < 140; ++part) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part)
      hash.add(text.data() + at, std::min(part, text.size() - at));
    EXPECT_EQ(hash.finish(), digest_of(text)) << "in parts of " << part;
  }
}

TEST(OperatorSchema, arguments_and_results_of_a_schema_are_found) {
  const Operator op = read_operator(
      "aten::f.x(Tensor(a!) self, int[2] size=[1, 1], str s='a, b)', *, bool? keep=None) -> (Tensor(a!), "
      "Tensor(b)[] y)",
      3);
  EXPECT_EQ(op.name, "aten::f.x");
  ASSERT_EQ(op.parameters.size(), 4u);
  EXPECT_EQ(op.parameters[1].name, "size");
  EXPECT_EQ(op.parameters[2].name, "s");
  EXPECT_FALSE(op.parameters[2].is_keyword_only);
  EXPECT_TRUE(op.parameters[3].is_keyword_only);
  EXPECT_EQ(op.result_count, 2u);
  EXPECT_EQ(read_operator("a::b() -> ()", -1).result_count, 0u);
  EXPECT_EQ(read_operator("a::b() -> Tensor(a)[]", -1).result_count, 1u);
}

TEST(OperatorSchema, a_text_that_is_none_is_refused) {
  for (const char* text : {"", "relu", "aten::relu", "aten::relu(Tensor self", "aten::relu(Tensor self)",
                           "aten::relu(Tensor self) ->", "relu(Tensor self) -> Tensor", "a::b(=1) -> Tensor",
                           "a::b(Tensor self) -> (Tensor", "a::b(Tensor)\n -> Tensor", "a b::c() -> ()"}) {
    expect_refused([&] { read_operator(text, 0); }, {"no schema"});
  }
}

TEST(GraphBuilding, what_no_graph_can_be_is_refused_in_a_sentence) {
  Graph graph;
  expect_refused([&] { graph.add_symbol({5, 4, 5, ""}); }, {"symbol 0", "from 5 to 4"});
  expect_refused([&] { graph.add_symbol({2, 4, 1, ""}); }, {"hint 1"});
  expect_refused([&] { graph.add_input(f32({extent_of(0)})); }, {"input 0", "symbol 0", "has 0"});
  expect_refused([&] { graph.add_input({PLUG_F32, {2}, {{1, 1}}}); }, {"1 sizes and 2 strides"});
  expect_refused([&] { graph.add_input({PLUG_F32, {2}, std::nullopt}); }, {"no strides"});
  expect_refused([&] { graph.add_input({0, {}, std::vector<int64_t>()}); }, {"no dtype"});
  graph.add_input(f32({2, 3}), "x");
  expect_refused([&] { graph.add_constant(PLUG_F32, {4}, constant_of<float>({1, 2})); }, {"8 bytes", "16"});
  expect_refused([&] { graph.add_constant(PLUG_F32, {4}, nullptr); }, {"no content"});
  expect_refused([&] { graph.add_constant(PLUG_F64, {1L << 40, 1L << 40}, constant_of<float>({})); },
                 {"too large"});
  graph.add_constant(PLUG_F32, {2}, constant_of<float>({1, 2}));
  expect_refused([&] { graph.add_input(f32({2})); }, {"inputs are added first"});

  const int32_t add = graph.add_operator(kAdd, 0);
  const std::vector<std::optional<TensorType>> one = {f32({2, 3})};
  expect_refused([&] { graph.add_node(7, {}, {}); }, {"operator 7"});
  expect_refused([&] { graph.add_node(add, {Argument::ref(0)}, one); },
                 {"1 arguments and 1 results", "3 and 1"});
  expect_refused(
      [&] { graph.add_node(add, {Argument::ref(0), Argument::ref(9), Argument::integer(1)}, one); },
      {"'other'", "aten::add.Tensor", "value 9"});
  expect_refused([&] { graph.add_node(add, {Argument::ref(0), Argument::refs({-2}), {}}, one); },
                 {"value -2"});
  expect_refused([&] { graph.add_node(add, {Argument::ref(0), Argument::symbol(0), {}}, one); },
                 {"symbol 0"});
  expect_refused([&] { graph.add_node(add, {Argument::bools({2}), {}, {}}, one); },
                 {"neither true nor false"});
  Argument deep;
  for (int i = 0; i < 100; ++i) deep = Argument::list({deep});
  expect_refused([&] { graph.add_node(add, {deep, {}, {}}, one); }, {"too deep"});
  EXPECT_EQ(graph.nodes().size(), 0u) << "what was refused is not there";

  expect_refused([&] { graph.set_outputs({{5, -1}}); }, {"output 0", "value 5"});
  expect_refused([&] { graph.set_outputs({{1, 0}}); }, {"updates input 0", "dtype, sizes or strides"});
  expect_refused([&] { graph.set_outputs({{0, 1}}); }, {"updates input 1"});
  expect_refused([&] { graph.set_outputs({{0, 0}, {0, 0}}); }, {"two outputs update input 0"});
  expect_refused([&] { graph.set_flags(uint64_t{1} << 40); }, {"bits"});
}

TEST(GraphBuilding, a_copy_is_a_graph_of_its_own_that_shares_constants) {
  Graph graph;
  graph.add_input(f32({2}));
  graph.add_constant(PLUG_F32, {2}, constant_of<float>({1, 2}));
  Graph copy = graph;
  copy.set_outputs({{0, -1}});
  EXPECT_TRUE(graph.outputs().empty());
  EXPECT_EQ(copy.values()[1].constant.get(), graph.values()[1].constant.get());
}

// ---- canonical bytes ----

Graph relu_of(const Argument& alpha) {
  Graph graph;
  graph.add_input(f32({2}));
  const int32_t node =
      graph.add_node(graph.add_operator(kAdd, 0), {Argument::ref(0), Argument::ref(0), alpha}, {f32({2})});
  graph.set_outputs({{graph.nodes()[static_cast<size_t>(node)].results[0], -1}});
  return graph;
}

TEST(CanonicalBytes, numbers_that_are_equal_in_arithmetic_alone_differ) {
  const double quiet = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Argument> numbers = {
      Argument::integer(2),
      Argument::number(2.0),
      Argument::unsigned_integer(2),
      Argument::boolean(true),
      Argument::integer(1),
      Argument::number(0.0),
      Argument::number(-0.0),
      Argument::number(quiet),
      Argument::number(std::bit_cast<double>(std::bit_cast<uint64_t>(quiet) + 1)),
      Argument::complex(2, 0),
      Argument::floats({2, 0}),
      Argument::ints({2}),
      Argument::list({Argument::integer(2)}),
      Argument::list({Argument::list({Argument::integer(2)})}),
      Argument::ints({}),
      Argument::floats({}),
      Argument::bools({}),
      Argument::list({}),
      Argument::refs({}),
      Argument::refs({-1}),
      Argument::refs({0}),
      Argument::ref(0),
      Argument::text("2"),
      Argument::text(""),
      Argument::dtype(PLUG_F32),
      Argument::layout(2),
      Argument::format(2),
      Argument::device(2),
      Argument::generator(),
      Argument(),
  };
  std::set<std::vector<uint8_t>> seen;
  for (const Argument& number : numbers) seen.insert(canonical_bytes(relu_of(number)));
  EXPECT_EQ(seen.size(), numbers.size());
}

TEST(CanonicalBytes, another_number_anywhere_is_another_graph) {
  int mutated = 0;
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    RandomRecipe random(seed);
    const Recipe recipe = random.make();
    const std::vector<uint8_t> bytes = canonical_bytes(recipe.build());
    EXPECT_EQ(bytes, canonical_bytes(recipe.build()));
    Recipe other = recipe;
    if (!random.mutate(other)) continue;
    std::vector<uint8_t> other_bytes;
    try {
      other_bytes = canonical_bytes(other.build());
    } catch (const GraphError&) {
      continue;  // an output and what it updates have to match
    }
    EXPECT_NE(bytes, other_bytes) << "seed " << seed;
    ++mutated;
  }
  EXPECT_GT(mutated, 1000);
}

TEST(CanonicalBytes, names_sources_and_hints_are_not_in_them) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Recipe recipe = RandomRecipe(seed).make();
    Recipe other = recipe;
    for (Symbol& symbol : other.symbols) {
      symbol.hint = symbol.max;
      symbol.text += "'";
    }
    for (auto& input : other.inputs) input.name += "'";
    for (auto& node : other.nodes) node.source += "'";
    Graph graph = other.build();
    for (size_t value = 0; value < graph.values().size(); ++value) {
      graph.set_name(static_cast<int32_t>(value), "v" + std::to_string(value));
    }
    EXPECT_EQ(canonical_bytes(recipe.build()), canonical_bytes(graph)) << "seed " << seed;
  }
}

TEST(CanonicalBytes, how_values_and_operators_are_numbered_is_not_in_them) {
  const auto build = [](bool is_swapped) {
    Graph graph;
    graph.add_input(f32({2}));
    int32_t add = 0;
    int32_t relu = 0;
    int32_t one = 0;
    int32_t two = 0;
    if (is_swapped) {
      relu = graph.add_operator(kRelu, 1);
      add = graph.add_operator(kAdd, 0);
      two = graph.add_constant(PLUG_F32, {2}, constant_of<float>({3, 4}));
      one = graph.add_constant(PLUG_F32, {2}, constant_of<float>({1, 2}));
    } else {
      add = graph.add_operator(kAdd, 0);
      one = graph.add_constant(PLUG_F32, {2}, constant_of<float>({1, 2}));
    }
    const auto sum = [&](int32_t a, int32_t b) {
      const int32_t node =
          graph.add_node(add, {Argument::ref(a), Argument::ref(b), Argument::integer(1)}, {f32({2})});
      return graph.nodes()[static_cast<size_t>(node)].results[0];
    };
    const int32_t first = sum(0, one);
    if (!is_swapped) two = graph.add_constant(PLUG_F32, {2}, constant_of<float>({3, 4}));
    const int32_t second = sum(first, two);
    if (!is_swapped) relu = graph.add_operator(kRelu, 1);
    const int32_t last = graph.add_node(relu, {Argument::ref(second)}, {f32({2})});
    graph.set_outputs({{graph.nodes()[static_cast<size_t>(last)].results[0], -1}});
    return graph;
  };
  EXPECT_EQ(canonical_bytes(build(false)), canonical_bytes(build(true)));
}

TEST(CanonicalBytes, which_of_two_equal_constants_is_used_is_not_in_them_but_their_content_is) {
  const auto build = [](float content, bool uses_first) {
    Graph graph;
    graph.add_input(f32({1}));
    const int32_t one = graph.add_constant(PLUG_F32, {1}, constant_of<float>({content}));
    const int32_t two = graph.add_constant(PLUG_F32, {1}, constant_of<float>({1}));
    graph.add_node(graph.add_operator(kRelu, 0), {Argument::ref(uses_first ? one : two)}, {f32({1})});
    return canonical_bytes(graph);
  };
  EXPECT_EQ(build(1, true), build(1, false));
  EXPECT_NE(build(2, true), build(2, false));
}

TEST(CanonicalBytes, strides_of_inputs_and_outputs_are_in_them_and_those_of_other_values_are_not) {
  const auto build = [](int64_t of_input, int64_t of_value, int64_t of_output) {
    const auto strided = [](int64_t stride) { return TensorType{PLUG_F32, {2}, {{stride}}}; };
    Graph graph;
    graph.add_input(strided(of_input));
    const int32_t relu = graph.add_operator(kRelu, 0);
    graph.add_node(relu, {Argument::ref(0)}, {strided(of_value)});
    graph.add_node(relu, {Argument::ref(1)}, {strided(of_output)});
    graph.set_outputs({{2, -1}});
    return canonical_bytes(graph);
  };
  EXPECT_NE(build(1, 1, 1), build(2, 1, 1));
  EXPECT_EQ(build(1, 1, 1), build(1, 2, 1));
  EXPECT_NE(build(1, 1, 1), build(1, 1, 2));
}

TEST(CanonicalBytes, the_order_of_symbols_is_in_them_since_runs_are_given_them_in_order) {
  const auto build = [](int32_t symbol) {
    Graph graph;
    graph.add_symbol({2, 9, 3, ""});
    graph.add_symbol({2, 9, 3, ""});
    graph.add_input(f32({extent_of(symbol)}));
    return canonical_bytes(graph);
  };
  EXPECT_NE(build(0), build(1));
}

// ---- the view ----

void expect_equal(const plug_value& view, const Argument& argument) {
  ASSERT_EQ(view.tag, argument.tag());
  switch (view.tag) {
    case PLUG_VALUE_STR:
      EXPECT_EQ(std::string(view.as.str, view.count), argument.as<std::string>());
      EXPECT_EQ(view.as.str[view.count], '\0');
      break;
    case PLUG_VALUE_FLOAT: EXPECT_EQ(std::memcmp(&view.as.f, &argument.as<double>(), 8), 0); break;
    case PLUG_VALUE_UINT:
    case PLUG_VALUE_DTYPE: EXPECT_EQ(view.as.u, argument.as<uint64_t>()); break;
    case PLUG_VALUE_COMPLEX:
    case PLUG_VALUE_FLOATS: {
      const auto& items = argument.as<std::vector<double>>();
      ASSERT_EQ(view.count, items.size());
      EXPECT_TRUE(items.empty() || std::memcmp(view.as.floats, items.data(), 8 * items.size()) == 0);
      break;
    }
    case PLUG_VALUE_INTS:
    case PLUG_VALUE_REFS: {
      const auto& items = argument.as<std::vector<int64_t>>();
      EXPECT_EQ(std::vector<int64_t>(view.as.ints, view.as.ints + view.count), items);
      break;
    }
    case PLUG_VALUE_BOOLS:
      EXPECT_EQ(std::vector<uint8_t>(view.as.bools, view.as.bools + view.count),
                argument.as<std::vector<uint8_t>>());
      break;
    case PLUG_VALUE_LIST: {
      const auto& items = argument.as<std::vector<Argument>>();
      ASSERT_EQ(view.count, items.size());
      for (size_t i = 0; i < items.size(); ++i) expect_equal(view.as.values[i], items[i]);
      break;
    }
    case PLUG_NONE:
    case PLUG_VALUE_GENERATOR: break;
    default: EXPECT_EQ(view.as.i, argument.as<int64_t>()); break;
  }
}

TEST(PlugView, a_compiler_sees_what_the_graph_holds) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomRecipe(seed).make().build();
    const PlugView view(graph);
    const plug_graph& seen = *view.get();
    ASSERT_EQ(seen.node_count, graph.nodes().size());
    ASSERT_EQ(seen.value_count, graph.values().size());
    ASSERT_EQ(seen.output_count, graph.outputs().size());
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      const plug_node& node = *seen.nodes[i];
      EXPECT_EQ(node.op, graph.operator_of(graph.nodes()[i]).place);
      EXPECT_EQ(node.schema, graph.operator_of(graph.nodes()[i]).schema);
      ASSERT_EQ(node.arg_count, graph.nodes()[i].args.size());
      for (uint32_t a = 0; a < node.arg_count; ++a) expect_equal(node.args[a], graph.nodes()[i].args[a]);
      EXPECT_EQ(std::vector<int32_t>(node.results, node.results + node.result_count),
                graph.nodes()[i].results);
    }
    for (uint32_t i = 0; i < seen.output_count; ++i) {
      EXPECT_EQ(seen.updates[i], graph.outputs()[i].updates);
      EXPECT_NE(seen.values[seen.outputs[i]]->strides, nullptr);
    }
    EXPECT_EQ(std::vector<uint8_t>(static_cast<const uint8_t*>(seen.bytes),
                                   static_cast<const uint8_t*>(seen.bytes) + seen.byte_count),
              canonical_bytes(graph));
  }
}

TEST(PlugView, strides_are_of_inputs_and_outputs_and_data_of_constants) {
  Graph graph;
  graph.add_input(f32({2}), "x", true);
  const int32_t constant = graph.add_constant(PLUG_F32, {2}, constant_of<float>({1, 2}), "c");
  const int32_t relu = graph.add_operator(kRelu, 4);
  graph.add_node(relu, {Argument::ref(constant)}, {f32({2})}, "model.py:1");
  graph.add_node(relu, {Argument::ref(2)}, {f32({2})});
  graph.set_outputs({{3, 0}});
  graph.set_flags(PLUG_CALL_DETERMINISTIC);
  const PlugView view(graph);
  const plug_graph& seen = *view.get();
  EXPECT_EQ(seen.flags, uint64_t{PLUG_CALL_DETERMINISTIC});
  EXPECT_EQ(seen.values[0]->flags, uint32_t{PLUG_GRAPH_WEIGHT});
  EXPECT_EQ(seen.values[0]->strides[0], 1);
  EXPECT_STREQ(seen.values[0]->name, "x");
  EXPECT_EQ(seen.values[1]->flags, uint32_t{PLUG_GRAPH_CONSTANT});
  EXPECT_EQ(seen.values[1]->strides, nullptr);
  ASSERT_NE(seen.values[1]->data, nullptr);
  EXPECT_EQ(static_cast<const float*>(seen.values[1]->data->mem.base)[1], 2.0F);
  EXPECT_EQ(seen.values[1]->data->mem.device, PLUG_HOST);
  EXPECT_EQ(seen.values[2]->strides, nullptr);
  EXPECT_EQ(seen.values[3]->strides[0], 1);
  EXPECT_EQ(seen.nodes[0]->op, 4);
  EXPECT_STREQ(seen.nodes[0]->source, "model.py:1");
  EXPECT_EQ(seen.nodes[1]->source, nullptr);
  EXPECT_EQ(seen.updates[0], 0);
}

}  // namespace
}  // namespace torchplug::graph::tests
