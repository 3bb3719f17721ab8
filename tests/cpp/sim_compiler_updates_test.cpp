// Parts of an argument written where it lies, however the graph says it: one after the other, parts of parts,
// in any order of its dims; and copies where its old content is still read.

#include "sim_graph.h"

namespace sim_test {
namespace {

Arg index_arg(std::int64_t i) { return integer_arg(i); }

// cache[row, at] = values, as PyTorch makes a graph of it.
int write_row(Graph& g, int cache, std::int64_t row, std::int64_t at, int values) {
  const int part = g.node("aten::select.int", {ref(cache), integer_arg(0), index_arg(row)}, PLUG_F32, {8, 3});
  const int written =
      g.node("aten::slice_scatter",
             {ref(part), ref(values), integer_arg(0), index_arg(at), index_arg(at + 1), integer_arg(1)},
             PLUG_F32, {8, 3});
  return g.node("aten::select_scatter", {ref(cache), ref(written), integer_arg(0), index_arg(row)}, PLUG_F32,
                {2, 8, 3});
}

Content written(Content cache, std::size_t row, std::size_t at, const Content& values) {
  for (std::size_t c = 0; c < 3; ++c) cache[row * 24 + at * 3 + c] = values[c];
  return cache;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(SimCompilerUpdates, PartsOfPartsAreWrittenOneAfterTheOther) {
  Graph g;
  const int cache = g.input(PLUG_F32, {2, 8, 3}), first = g.input(PLUG_F32, {1, 3}),
            second = g.input(PLUG_F32, {1, 3}), where = g.input(PLUG_I64, {1});
  const int once = write_row(g, cache, 1, 4, first);
  const int twice = write_row(g, once, 0, 2, second);
  const int part = g.node("aten::select.int", {ref(twice), integer_arg(0), index_arg(1)}, PLUG_F32, {8, 3});
  const int put =
      g.node("aten::index_copy", {ref(part), integer_arg(0), ref(where), ref(second)}, PLUG_F32, {8, 3});
  g.output(g.node("aten::select_scatter", {ref(twice), ref(put), integer_arg(0), index_arg(1)}, PLUG_F32,
                  {2, 8, 3}),
           cache);
  Compiled engine(g);
  ASSERT_EQ(engine.status, PLUG_OK) << engine.error;
  const Content old = as_floats(random_content(48, 3)), a = {1, 2, 3}, b = {4, 5, 6};
  const Content expected = written(written(written(old, 1, 4, a), 0, 2, b), 1, 6, b);
  EXPECT_EQ(engine.run({old, a, b, {6}}).at(0), expected);
  EXPECT_FALSE(has(engine.text(), "a->in[0]")) << "the old cache is read";
  EXPECT_TRUE(has(engine.text(), "engine_scratch(const int64_t* s) { (void)s; return 0L; }"))
      << "a copy is made";
}

TEST(SimCompilerUpdates, LaterWritesWinWhereTheyMeet) {
  Graph g;
  const int cache = g.input(PLUG_F32, {2, 8, 3}), first = g.input(PLUG_F32, {1, 3}),
            second = g.input(PLUG_F32, {1, 3});
  const int once = write_row(g, cache, 1, 4, first);
  const int between = g.node("aten::neg", {ref(once)}, PLUG_F32, {2, 8, 3});
  g.output(write_row(g, once, 1, 4, second), cache);
  g.output(between);
  const Content old = as_floats(random_content(48, 5)), a = {1, 2, 3}, b = {4, 5, 6};
  const std::vector<Content> got = Compiled(g).run({old, a, b});
  EXPECT_EQ(got[0], written(old, 1, 4, b));
  Content middle = written(old, 1, 4, a);
  for (double& x : middle) x = -x;
  EXPECT_EQ(got[1], middle) << "what was there in between";
}

TEST(SimCompilerUpdates, TheOrderOfDimsDoesNotMatter) {
  Graph g;
  const int cache = g.input(PLUG_F32, {2, 8, 3}, {3, 6, 1}), step = g.input(PLUG_F32, {2, 1, 3}),
            where = g.input(PLUG_I64, {1});
  g.output(
      g.node("aten::index_copy", {ref(cache), integer_arg(1), ref(where), ref(step)}, PLUG_F32, {2, 8, 3}),
      cache);
  Compiled engine(g);
  const Content old = as_floats(random_content(48, 3)), now = {1, 2, 3, 4, 5, 6};
  const Content got = engine.run({old, now, {5}}).at(0);
  for (std::size_t i = 0; i < 48; ++i) {
    const std::size_t batch = i / 24, row = i / 3 % 8, column = i % 3;
    EXPECT_EQ(got[i], row == 5 ? now[batch * 3 + column] : old[i]);
  }
  EXPECT_FALSE(has(engine.text(), "a->in[0]")) << "the old cache is read";
}

TEST(SimCompilerUpdates, AnUpdateMadeOfAnothersNewContentSeesIt) {
  Graph g;
  const int a = g.input(PLUG_F32, {2, 8, 3}), b = g.input(PLUG_F32, {2, 8, 3}),
            first = g.input(PLUG_F32, {1, 3}), second = g.input(PLUG_F32, {1, 3});
  const int once = write_row(g, a, 0, 1, first);
  g.output(write_row(g, once, 1, 1, second), a);
  g.output(g.node("aten::add.Tensor", {ref(once), ref(b), integer_arg(1)}, PLUG_F32, {2, 8, 3}), b);
  const Content x = as_floats(random_content(48, 1)), y(48, 1), p = {1, 2, 3}, q = {4, 5, 6};
  const std::vector<Content> got = Compiled(g).run({x, y, p, q});
  EXPECT_EQ(got[0], written(written(x, 0, 1, p), 1, 1, q));
  const Content middle = written(x, 0, 1, p);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_NEAR(got[1][i], middle[i] + 1, 1e-6);
}

}  // namespace
}  // namespace sim_test
