// Graphs as text: what is written reads back, and what is no graph is refused with line and column.

#include "graph/text.h"

#include "graph/title.h"
#include "graph_samples.h"

namespace torchplug::graph::tests {
namespace {

ConstantSource constants_of(const Graph& graph) {
  return [&graph](const Digest& digest, uint64_t) -> std::shared_ptr<const Constant> {
    for (const Value& value : graph.values()) {
      if (value.constant && value.constant->digest() == digest) return value.constant;
    }
    return nullptr;
  };
}

TEST(GraphText, a_graph_reads_like_the_model_it_was_made_of) {
  Graph graph;
  graph.add_symbol({2, 1024, 64, "batch"});
  graph.add_input(f32({extent_of(0), 4}), "x");
  graph.add_input(f32({4}), "layers.0.weight", true);
  graph.add_input({PLUG_BF16, {3, 4}, {{1, 3}}}, "t");
  const int32_t c = graph.add_constant(PLUG_F32, {2}, constant_of<float>({0, 1}));
  const int32_t add = graph.add_operator(kAdd, 3);
  graph.add_node(add, {Argument::ref(0), Argument::ref(1), Argument::integer(1)}, {f32({extent_of(0), 4})},
                 "model.py:31 layers.0");
  graph.set_name(4, "y");
  graph.add_node(
      graph.add_operator("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)"),
      {Argument::ref(c), Argument::integer(-1), Argument::boolean(false)}, {f32({}), std::nullopt});
  graph.set_outputs({{4, 0}, {5, -1}});
  graph.set_flags(PLUG_CALL_DETERMINISTIC);
  EXPECT_EQ(to_text(graph),
            R"(flags deterministic
symbol s0 in 2..1024, hint 64, "batch"
operator 3 aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
operator - aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)
graph(%x: f32[s0, 4], %1: f32[4] weight "layers.0.weight", %t: bf16[3, 4; 1, 3]) {
  %3: f32[2] = constant base64 "AAAAAAAAgD8="
  %y: f32[s0, 4] = aten::add.Tensor(%x, %1, alpha=1)  # model.py:31 layers.0
  %5: f32[], _ = aten::max.dim(%3, -1, False)
  return %y updates %x, %5
}
)");
}

TEST(GraphTitle, names_the_operators_and_where_they_were_written) {
  const auto relu = [](Graph& graph, const std::string& name, const std::string& source) {
    graph.add_node(graph.add_operator("aten::" + name + "(Tensor self) -> Tensor", 0), {Argument::ref(0)},
                   {f32({2})}, source);
  };
  Graph graph;
  graph.add_input(f32({2}), "x");
  EXPECT_EQ(title_of(graph), "engine()");
  EXPECT_EQ(source_of(graph), "");
  relu(graph, "relu", "");
  relu(graph, "exp.out", "model.py:3 layers.0");
  relu(graph, "relu", "");
  EXPECT_EQ(title_of(graph), "engine(relu, exp)");
  EXPECT_EQ(source_of(graph), "model.py:3 layers.0");
  for (const char* name : {"sin", "cos", "tan", "tanh"}) relu(graph, name, "model.py:9");
  EXPECT_EQ(title_of(graph), "engine(relu, exp, sin, cos and 2 more)");
  EXPECT_EQ(source_of(graph), "model.py:3 layers.0 to model.py:9");
}

TEST(GraphText, every_graph_reads_back_to_the_same_bytes_and_the_same_text) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    const Graph graph = RandomRecipe(seed).make().build();
    const std::string text = to_text(graph);
    Graph again;
    ASSERT_NO_THROW(again = from_text(text, constants_of(graph))) << text;
    EXPECT_EQ(canonical_bytes(again), canonical_bytes(graph)) << "seed " << seed << "\n" << text;
    EXPECT_EQ(to_text(again), text) << "seed " << seed;
    ASSERT_EQ(again.symbols().size(), graph.symbols().size());
    for (size_t i = 0; i < graph.symbols().size(); ++i) {
      EXPECT_EQ(again.symbols()[i].hint, graph.symbols()[i].hint);
      EXPECT_EQ(again.symbols()[i].text, graph.symbols()[i].text);
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i)
      EXPECT_EQ(again.nodes()[i].source, graph.nodes()[i].source);
  }
}

TEST(GraphText, content_of_a_large_constant_is_given_beside_the_text) {
  Graph graph;
  graph.add_constant(PLUG_F32, {1000}, constant_of(std::vector<float>(1000, 1)), "table");
  const std::string text = to_text(graph);
  EXPECT_EQ(canonical_bytes(from_text(text, constants_of(graph))), canonical_bytes(graph));
  expect_refused([&] { from_text(text); }, {"line 2, column ", "%table", "4000 bytes were not given"});
  const auto other = constant_of(std::vector<float>(1000, 2));
  expect_refused([&] { from_text(text, [&](const Digest&, uint64_t) { return other; }); },
                 {"were not given"});
}

TEST(GraphText, spaces_line_ends_and_comments_of_an_editor_do_not_matter) {
  const std::string plain =
      "operator 0 aten::relu(Tensor self) -> Tensor\n"
      "graph(%x: f32[2]) {\n  %1: f32[2] = aten::relu(%x)  # a.py:1\n  return %1\n}\n";
  const std::string edited =
      "# written by hand\r\n operator  0   aten::relu(Tensor self) -> Tensor \r\n\r\n"
      "graph( %x :f32[ 2 ] ){ # the graph\r\n%1:f32[2;1]=aten::relu(self=%x)# a.py:1\r\n"
      "return\n%1}";
  EXPECT_EQ(canonical_bytes(from_text(plain)), canonical_bytes(from_text(edited)));
  EXPECT_EQ(from_text(edited).nodes()[0].source, "a.py:1");
}

std::string with_body(const std::string& body) {
  return "symbol s0 in 0..9, hint 1\noperator 0 aten::relu(Tensor self) -> Tensor\n"
         "operator 1 t::f(Tensor a, int b, *, int c=1) -> ()\noperator - t::n() -> ()\ngraph(%x: f32[2]) "
         "{\n" +
         body + "\nreturn %x\n}\n";
}

TEST(GraphText, what_is_no_graph_is_refused_with_line_and_column) {
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> bodies = {
      {"%1: f32[2] = aten::relu(%y)", {"line 6, column 25", "%y is not declared"}},
      {"%1: f32[2] = aten::tanh(%x)", {"line 6, column 14", "aten::tanh is not declared"}},
      {"%1: f33[2] = aten::relu(%x)", {"line 6, column 5", "'f33' is no dtype"}},
      {"%1: f32[2] = aten::relu()", {"line 6, column 1", "'self'", "missing"}},
      {"%1: f32[2] = aten::relu(%x, %x)",
       {"line 6, column 29", "expected ')' behind the arguments of aten::relu (self), but found '%x'"}},
      {"%1: f32[2] = aten::relu(self=%x, 3)", {"(self), but found '3'"}},
      {"t::n(1)", {"line 6, column 6", "t::n (none), but found '1'"}},
      {"t::f(%x, 1, d=2)", {"line 6, column 13: t::f has no argument 'd'; it has a, b, c"}},
      {"t::f@99999999999(%x, 1)", {"99999999999 is not from 0 to 2147483647"}},
      {"%1: f32[2] = aten::relu(%x, self=%x)", {"'self' is there twice"}},
      {"%x: f32[2] = aten::relu(%x)", {"line 6, column 1", "%x is there twice"}},
      {"%1: f32[2], %1: f32[2] = aten::relu(%x)", {"2 results"}},
      {"%1: f32[2] weight = aten::relu(%x)", {"no weight"}},
      {"%1: f32[s1] = aten::relu(%x)", {"column 9", "s1 is not declared"}},
      {"%1: f32[-2] = aten::relu(%x)", {"-2", "negative"}},
      {"%1: f32[2; 1, 1] = aten::relu(%x)", {"1 sizes and 2 strides"}},
      {"%1: f32[2] aten::relu(%x)", {"expected '='", "found 'aten'"}},
      {"t::f(%x, 1, c=99999999999999999999)", {"does not fit into 64 bits"}},
      {"t::f(%x, 1, c=1e999)", {"does not fit"}},
      {"t::f(%x, 1, c=12x)", {"'12x' is no number"}},
      {"t::f(%x, 1, c=nan(0x1))", {"NaN"}},
      {"t::f(%x, 1, c=\"abc)", {"column 15", "does not end on its line"}},
      {"t::f(%x, 1, c=\"\\q\")", {"backslash"}},
      {"t::f(%x, 1, c=[])", {"empty list"}},
      {"t::f(%x, 1, c=[1, 2.0])", {"several kinds"}},
      {"t::f(%x, 1, c=[f32])", {"list[...]"}},
      {"t::f(%x, 1, c=word)", {"'word' is no argument"}},
      {"t::f(%x, 1, c=s7)", {"s7 is not declared"}},
      {"t::f(%x 1)", {"expected ','"}},
      {"%1: f32[2] = constant base64 \"AAA\"", {"no base64"}},
      {"%1: f32[2] = constant base64 \"AAAA\"", {"3 bytes of content", "ask for 8"}},
      {"%1: f32[2] = constant sha256 \"00\" of 8 bytes", {"64 hexadecimal"}},
      {"%1: f32[2] = constant raw", {"'base64' or 'sha256'"}},
      {"Gerät(%x)", {"line 6, column 1", "Ger"}},
      {"\"ä\"  ]", {"line 6, column 1"}},
  };
  for (const auto& [body, parts] : bodies) {
    SCOPED_TRACE(body);
    expect_refused([&, text = with_body(body)] { from_text(text); }, parts);
  }
  const std::vector<std::pair<std::string, std::vector<std::string_view>>> texts = {
      {"", {"line 1, column 1", "the text ends"}},
      {"graph", {"expected '('"}},
      {"graph() {", {"the text ends"}},
      {"graph() { return } more", {"line 1, column 20", "end of the text", "'more'"}},
      {"graph() { return %1 }", {"%1 is not declared"}},
      {"symbol s1 in 0..1, hint 0\ngraph() { return }", {"'s0'", "in order"}},
      {"symbol s0 in 5..1, hint 0\ngraph() { return }", {"line 1, column 8", "from 5 to 1"}},
      {"operator 0 relu\ngraph() { return }", {"line 1, column 10", "no schema"}},
      {"operator x a::b() -> ()\ngraph() { return }", {"place in the compiler's list"}},
      {"operator 0 a::b() -> ()\noperator 0 a::b() -> ()\ngraph() { return }", {"declared twice"}},
      {"operator 99999999999 a::b() -> ()\ngraph() { return }",
       {"line 1, column 10: a place in the compiler's list, or '-': 99999999999 is not from 0 to "
        "2147483647"}},
      {"operator 0 a::b() -> ()\noperator 0 a::c() -> ()\ngraph() { return }",
       {"line 2, column 10: place 0 of the compiler's list is that of a::b"}},
      {"graph(%x: f32[2], %y: f32[3]) { return %x updates %y }", {"updates input 1"}},
  };
  for (const auto& [text, parts] : texts) {
    SCOPED_TRACE(text);
    expect_refused([&, &text = text] { from_text(text); }, parts);
  }
}

TEST(GraphText, two_operators_of_one_name_are_told_apart) {
  const std::string head = "operator 0 a::b(int x) -> ()\noperator - a::b(int x) -> ()\n";
  const Graph graph = from_text(head + "graph() { a::b@0(1) a::b@1(1) return }");
  EXPECT_EQ(graph.operator_of(graph.nodes()[0]).place, 0);
  EXPECT_EQ(graph.operator_of(graph.nodes()[1]).place, -1);
  expect_refused([&] { from_text(head + "graph() { a::b(1) return }"); },
                 {"line 3, column 11", "declared 2 times"});
  expect_refused([&] { from_text(head + "graph() { a::b@7(1) return }"); }, {"is not operator 7"});
}

TEST(GraphText, a_damaged_text_is_read_or_refused_and_never_more) {
  std::mt19937 random(1);
  int refused = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomRecipe(seed).make().build();
    const std::string text = to_text(graph);
    for (int i = 0; i < 10; ++i) {
      std::string damaged = text;
      const size_t place = random() % damaged.size();
      switch (random() % 4) {
        case 0: damaged.resize(place); break;
        case 1: damaged.erase(place, 1 + random() % 3); break;
        case 2: damaged[place] = static_cast<char>(random()); break;
        default: damaged.insert(place, text.substr(random() % text.size(), random() % 20)); break;
      }
      refused += !refusal_of([&] { from_text(damaged, constants_of(graph)); }).empty();
    }
  }
  EXPECT_GT(refused, 500);
  expect_refused(
      [] {
        from_text(with_body("t::f(" + [] {
          std::string deep;
          for (int i = 0; i < 100000; ++i) deep += "list[";
          return deep;
        }()));
      },
      {"too deep"});
}

}  // namespace
}  // namespace torchplug::graph::tests
