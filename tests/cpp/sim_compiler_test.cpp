// The sim plugin's compiler as the host uses it: engines that run, are saved and loaded, update arguments and
// draw random numbers; what compile() says where it cannot.

#include <atomic>
#include <filesystem>
#include <fstream>

#include "graph_reference.h"

namespace sim_test {
namespace {

// sigmoid(x + 1) of as many elements, the graph of tests that need any.
struct SmallGraph {
  Graph g;
  explicit SmallGraph(std::int64_t count, const GraphPlugin& plugin = GraphPlugin::shared(), double added = 1)
      : g(plugin) {
    const int x = g.input(PLUG_F32, {count});
    const int sum = g.node("aten::add.Scalar", {ref(x), real_arg(added), integer_arg(1)}, PLUG_F32, {count});
    g.output(g.node("aten::sigmoid", {ref(sum)}, PLUG_F32, {count}));
  }
  static void expect(const Content& got, const Content& x, double added = 1) {
    ASSERT_EQ(got.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(got[i], 1 / (1 + std::exp(-(x[i] + added))), 1e-6);
  }
};

TEST(SimCompiler, ListsEachSchemaOnceAndWholeModelsHaveMore) {
  const GraphPlugin some({{"sim.compiler", "on"}, {"sim.memory", "1MiB"}});
  std::map<std::string, int> seen;
  for (std::uint32_t i = 0; i < some.compiler().schema_count; ++i) ++seen[some.compiler().schemas[i]];
  for (const auto& [schema, times] : seen) EXPECT_EQ(times, 1) << schema;
  EXPECT_THROW(some.find("aten::mm"), std::runtime_error);
  EXPECT_NO_THROW(GraphPlugin::shared().find("aten::mm"));
  EXPECT_NE(some.compiler().flags & PLUG_COMPILER_SYMBOLS, 0u);
  const GraphPlugin fixed({{"sim.compiler", "static"}, {"sim.memory", "1MiB"}});
  EXPECT_EQ(fixed.compiler().flags & PLUG_COMPILER_SYMBOLS, 0u);
  const GraphPlugin off({{"sim.compiler", "off"}, {"sim.memory", "1MiB"}});
  EXPECT_EQ(off.host().module->compiler, nullptr);
}

TEST(SimCompiler, SettingsThatAreNoneAreRefusedInOneSentence) {
  EXPECT_THROW(GraphPlugin(Settings{{"sim.compiler", "maybe"}}), std::runtime_error);
  EXPECT_EQ(last_error, "TORCHPLUG_SIM_COMPILER is \"maybe\": give off, on, whole or static.");
  EXPECT_THROW(GraphPlugin(Settings{{"sim.compile_seconds", "-1"}}), std::runtime_error);
  EXPECT_EQ(last_error, "TORCHPLUG_SIM_COMPILE_SECONDS is \"-1\": give a number from 0 to 86400.");
}

TEST(SimCompiler, ReadsAndWritesTensorsOfAnyStrides) {
  Graph g;
  const int x = g.input(PLUG_F32, {3, 4}, {1, 3}), y = g.input(PLUG_F32, {3, 4}, {8, 2}),
            z = g.input(PLUG_F32, {3, 4}, {0, 1});
  const int a = g.node("aten::add.Tensor", {ref(x), ref(y), integer_arg(1)}, PLUG_F32, {3, 4});
  g.output(g.node("aten::mul.Tensor", {ref(a), ref(z)}, PLUG_F32, {3, 4}), -1, {1, 5});
  Compiled engine(g);
  const Content p = as_floats(random_content(12, 1)), q = as_floats(random_content(12, 2));
  Content r = as_floats(random_content(12, 3));
  for (std::size_t i = 4; i < 12; ++i) r[i] = r[i % 4];  // rows are the same memory
  const Content got = engine.run({p, q, r}).at(0);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(got[i], (p[i] + q[i]) * r[i], 1e-5);
}

TEST(SimCompiler, ViewsAreOnlyOtherPlaces) {
  Graph g;
  const int x = g.input(PLUG_F32, {4, 6});
  const int view = g.node("aten::view", {ref(x), ints_arg({2, 2, 6})}, PLUG_F32, {2, 2, 6});
  const int turned = g.node("aten::permute", {ref(view), ints_arg({2, 0, 1})}, PLUG_F32, {6, 2, 2});
  const int part = g.node("aten::slice.Tensor",
                          {ref(turned), integer_arg(0), integer_arg(1), integer_arg(6), integer_arg(2)},
                          PLUG_F32, {3, 2, 2});
  const int one = g.node("aten::select.int", {ref(part), integer_arg(2), integer_arg(-1)}, PLUG_F32, {3, 2});
  g.output(g.node("aten::neg", {ref(one)}, PLUG_F32, {3, 2}));
  const Content in = as_floats(random_content(24, 5));
  Compiled engine(g);
  const Content got = engine.run({in}).at(0);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) EXPECT_EQ(got[i * 2 + j], -in[(j * 2 + 1) * 6 + 1 + 2 * i]);
  }
  EXPECT_EQ(engine.text().find("nest_1"), std::string::npos) << "one nest of loops is enough";
}

TEST(SimCompiler, ANormWithAllThatFollowsIsOneNest) {
  constexpr std::int64_t kRows = 9, kWidth = 50;
  Graph g;
  const int x = g.input(PLUG_F32, {kRows, kWidth}), w = g.input(PLUG_F32, {kWidth}),
            b = g.input(PLUG_F32, {kWidth});
  const auto norm =
      g.nodes("aten::native_layer_norm", {ref(x), ints_arg({kWidth}), ref(w), ref(b), real_arg(1e-5)},
              {{PLUG_F32, {kRows, kWidth}}, {0, {}}, {PLUG_F32, {kRows, 1}}});
  const int gelu = g.node("aten::gelu", {ref(norm[0]), text_arg("none")}, PLUG_F32, {kRows, kWidth});
  const int soft =
      g.node("aten::_softmax", {ref(gelu), integer_arg(-1), bool_arg(false)}, PLUG_F32, {kRows, kWidth});
  g.output(g.node("aten::add.Tensor", {ref(soft), ref(x), integer_arg(1)}, PLUG_F32, {kRows, kWidth}));
  g.output(norm[2]);
  Compiled engine(g);
  const Array in{{kRows, kWidth}, as_floats(random_content(kRows * kWidth, 1))};
  const Array scale{{kWidth}, as_floats(random_content(kWidth, 2))},
      shift{{kWidth}, as_floats(random_content(kWidth, 3))};
  const std::vector<Content> got = engine.run({in.data, scale.data, shift.data});
  const Array mean = mapped(sum_of(in, 1, true), [](double s) { return s / kWidth; });
  const Array apart = combined(in, mean, [](double v, double m) { return v - m; });
  const Array squares = mapped(apart, [](double v) { return v * v; });
  const Array rstd =
      mapped(sum_of(squares, 1, true), [](double s) { return 1 / std::sqrt(s / kWidth + 1e-5); });
  const auto times = [](double p, double q) { return p * q; };
  const auto plus = [](double p, double q) { return p + q; };
  const Array normed = combined(combined(combined(apart, rstd, times), scale, times), shift, plus);
  const Array gelus = mapped(normed, [](double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); });
  const Array wanted = combined(softmax_of(gelus, 1), in, plus);
  for (std::size_t i = 0; i < wanted.data.size(); ++i) ASSERT_NEAR(got[0][i], wanted.data[i], 2e-5);
  for (std::size_t i = 0; i < kRows; ++i) ASSERT_NEAR(got[1][i], rstd.data[i], 1e-4);
  EXPECT_EQ(engine.text().find("nest_1"), std::string::npos) << engine.text();
}

TEST(SimCompiler, HalvesAreComputedInFloat32) {
  for (const plug_dtype dtype : {PLUG_BF16, PLUG_F16}) {
    Graph g;
    const int x = g.input(dtype, {6, 8});
    const int e = g.node("aten::exp", {ref(x)}, dtype, {6, 8});
    g.output(g.node("aten::sum.dim_IntList", {ref(e), ints_arg({1}), bool_arg(false), none()}, dtype, {6}));
    const Content in(48, 0.125);
    const Content got = Compiled(g).run({in}).at(0);
    for (const double sum : got) EXPECT_NEAR(sum, 8 * std::exp(0.125), 8 * std::exp(0.125) / 256);
  }
}

TEST(SimCompiler, WholeNumbersAndBooleansKeepTheirTypes) {
  Graph g;
  const int x = g.input(PLUG_U8, {4}), y = g.input(PLUG_I64, {2, 3}), z = g.input(PLUG_BOOL, {2, 3});
  g.output(g.node("aten::add.Scalar", {ref(x), integer_arg(10), integer_arg(1)}, PLUG_U8, {4}));
  g.output(g.node("aten::sum", {ref(y), none()}, PLUG_I64, {}));
  g.output(g.node("aten::any.dim", {ref(z), integer_arg(0), bool_arg(false)}, PLUG_BOOL, {3}));
  g.output(g.node("aten::logical_not", {ref(z)}, PLUG_BOOL, {2, 3}));
  g.output(g.node("aten::argmax", {ref(y), integer_arg(1), bool_arg(false)}, PLUG_I64, {2}));
  const std::vector<Content> got =
      Compiled(g).run({{250, 1, 245, 255}, {4503599627370496, 1, 2, 5, 9, 9}, {1, 0, 0, 0, 0, 1}});
  EXPECT_EQ(got[0], (Content{4, 11, 255, 9}));
  EXPECT_EQ(got[1], (Content{4503599627370522}));
  EXPECT_EQ(got[2], (Content{1, 0, 1}));
  EXPECT_EQ(got[3], (Content{0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(got[4], (Content{0, 1}));
}

TEST(SimCompiler, ConstantsAreKeptAndSaved) {
  Graph g;
  const int x = g.input(PLUG_F32, {3});
  const int c = g.constant(PLUG_F32, {3}, {1, 2, 3});
  g.output(g.node("aten::mul.Tensor", {ref(x), ref(c)}, PLUG_F32, {3}));
  EXPECT_EQ(Compiled(g).run({{2, 2, 2}}).at(0), (Content{2, 4, 6}));
}

TEST(SimCompiler, WhatTwoLoopsReadIsTheSameForBoth) {
  // The product is kept as bfloat16 for the sums of columns: the index of the most in each row is found in it
  // too, and not in what it was before it was rounded.
  constexpr std::int64_t kRows = 6, kColumns = 40;
  Graph g;
  const Dims sizes = {kRows, kColumns};
  const int x = g.input(PLUG_BF16, sizes), y = g.input(PLUG_BF16, sizes);
  const int product =
      g.node("aten::sigmoid", {ref(g.node("aten::mul.Tensor", {ref(x), ref(y)}, PLUG_BF16, sizes))},
             PLUG_BF16, sizes);
  const int turned = g.node("aten::permute", {ref(product), ints_arg({1, 0})}, PLUG_BF16, {kColumns, kRows});
  const auto found = g.nodes("aten::max.dim", {ref(product), integer_arg(1), bool_arg(false)},
                             {{PLUG_BF16, {kRows}}, {PLUG_I64, {kRows}}});
  g.output(g.node("aten::sum.dim_IntList", {ref(turned), ints_arg({1}), bool_arg(false), none()}, PLUG_BF16,
                  {kColumns}));
  g.output(product);
  g.output(found[0]);
  g.output(found[1]);
  const std::vector<Content> got = Compiled(g).run(
      {as_floats(random_content(kRows * kColumns, 1)), as_floats(random_content(kRows * kColumns, 2))});
  for (std::size_t r = 0; r < kRows; ++r) {
    const auto index = static_cast<std::size_t>(got[3][r]);
    ASSERT_LT(index, static_cast<std::size_t>(kColumns));
    EXPECT_EQ(got[1][r * kColumns + index], got[2][r]);
  }
}

TEST(SimCompiler, OnlyTheResultsThatAreWantedAreMade) {
  Graph g;
  const int x = g.input(PLUG_F32, {2, 4});
  const auto most =
      g.nodes("aten::max.dim", {ref(x), integer_arg(1), bool_arg(false)}, {{0, {}}, {PLUG_I64, {2}}});
  const auto norm = g.nodes(
      "aten::native_group_norm",
      {ref(x), none(), none(), integer_arg(2), integer_arg(4), integer_arg(1), integer_arg(2), real_arg(0)},
      {{0, {}}, {PLUG_F32, {2, 2}}, {0, {}}});
  g.output(most[1]);
  g.output(norm[1]);
  const std::vector<Content> got = Compiled(g).run({{1, 7, 3, 4, 9, 6, 7, 8}});
  EXPECT_EQ(got[0], (Content{1, 0}));
  EXPECT_EQ(got[1], (Content{4, 3.5, 7.5, 7.5}));
}

// ---- Arguments that are written. ----

TEST(SimCompiler, AnArgumentIsUpdatedInPlace) {
  Graph g;
  const int mean = g.input(PLUG_F32, {4}), x = g.input(PLUG_F32, {5, 4});
  const int kept = g.node("aten::mul.Scalar", {ref(mean), real_arg(0.5)}, PLUG_F32, {4});
  const int sum =
      g.node("aten::sum.dim_IntList", {ref(x), ints_arg({0}), bool_arg(false), none()}, PLUG_F32, {4});
  const int moved = g.node("aten::add.Tensor", {ref(kept), ref(sum), integer_arg(1)}, PLUG_F32, {4});
  g.output(moved, mean);
  g.output(g.node("aten::mul.Tensor", {ref(x), ref(mean)}, PLUG_F32, {5, 4}));  // the old content
  const Content in = {1, 2, 3, 4}, ones(20, 1);
  const std::vector<Content> got = Compiled(g).run({in, ones});
  EXPECT_EQ(got[0], (Content{5.5, 6, 6.5, 7}));
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(got[1][i], in[i % 4]);
}

TEST(SimCompiler, TwoArgumentsChangePlaces) {
  Graph g;
  const int a = g.input(PLUG_F32, {3}), b = g.input(PLUG_F32, {3});
  g.output(g.node("aten::clone", {ref(b), none()}, PLUG_F32, {3}), a);
  g.output(g.node("aten::neg", {ref(a)}, PLUG_F32, {3}), b);
  const std::vector<Content> got = Compiled(g).run({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(got[0], (Content{4, 5, 6}));
  EXPECT_EQ(got[1], (Content{-1, -2, -3}));
}

TEST(SimCompiler, AnArgumentTurnedRoundIsNotReadWhileItIsWritten) {
  Graph g;
  const int a = g.input(PLUG_F32, {4});
  g.output(g.node("aten::flip", {ref(a), ints_arg({0})}, PLUG_F32, {4}), a);
  EXPECT_EQ(Compiled(g).run({{1, 2, 3, 4}}).at(0), (Content{4, 3, 2, 1}));
}

TEST(SimCompiler, AStepOfACacheWritesOnlyThatStep) {
  Graph g;
  const int cache = g.input(PLUG_F32, {2, 8, 3}), step = g.input(PLUG_F32, {2, 1, 3}),
            where = g.input(PLUG_I64, {1});
  const int written =
      g.node("aten::index_put", {ref(cache), refs_arg({-1, where}), ref(step), bool_arg(false)}, PLUG_F32,
             {2, 8, 3});
  g.output(written, cache);
  g.output(g.node("aten::sum.dim_IntList", {ref(written), ints_arg({1}), bool_arg(false), none()}, PLUG_F32,
                  {2, 3}));
  Compiled engine(g);
  const Content old = as_floats(random_content(48, 3)), now = {1, 2, 3, 4, 5, 6};
  const std::vector<Content> got = engine.run({old, now, {5}});
  for (std::size_t i = 0; i < 48; ++i) {
    const std::size_t batch = i / 24, row = i / 3 % 8, column = i % 3;
    EXPECT_EQ(got[0][i], row == 5 ? now[batch * 3 + column] : old[i]);
  }
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::size_t r = 0; r < 8; ++r) sum += r == 5 ? now[b * 3 + c] : old[b * 24 + r * 3 + c];
      EXPECT_NEAR(got[1][b * 3 + c], sum, 1e-5);
    }
  }
  EXPECT_EQ(engine.text().find("a->in[0]"), std::string::npos) << "the old cache is not read";
}

// ---- Random numbers. ----

TEST(SimCompiler, RandomNumbersAreThoseOfTheKernelAndComeBackWithTheSeed) {
  GraphPlugin& plugin = GraphPlugin::shared();
  constexpr std::int64_t kCount = 1000;
  Graph g;
  const int x = g.input(PLUG_F32, {kCount});
  g.output(g.node("aten::rand_like", {ref(x), none(), none(), none(), none(), none()}, PLUG_F32, {kCount}));
  Compiled engine(g);
  const Content zeros(kCount, 0);
  plugin.host().seed = 42;
  plugin.host().drawn = 128;
  const Content first = engine.run({zeros}).at(0), second = engine.run({zeros}).at(0);
  EXPECT_NE(first, second);
  plugin.host().drawn = 128;
  EXPECT_EQ(engine.run({zeros}).at(0), first);

  DeviceTensor self(plugin, PLUG_F32, {kCount}, {}), result(plugin, PLUG_F32, {kCount}, {});
  const plug_kernels& kernels = *plugin.host().module->kernels;
  const auto* const kernel =
      std::find_if(kernels.list, kernels.list + kernels.count,
                   [](const plug_kernel& k) { return std::string(k.schema).starts_with("aten::uniform("); });
  ASSERT_NE(kernel, kernels.list + kernels.count);
  const plug_value args[] = {self.value(), real_arg(0).value, real_arg(1).value, none().value};
  plug_value results[] = {result.value()};
  plug_call call{};
  call.size = sizeof call;
  call.args = args;
  call.arg_count = 4;
  call.results = results;
  call.result_count = 1;
  plugin.host().drawn = 128;
  ASSERT_EQ(kernel->fn(&call), PLUG_OK) << last_error;
  plugin.runtime().device_sync(0);
  EXPECT_EQ(result.get(), first);
}

TEST(SimCompiler, DropoutKeepsItsShareAndScalesIt) {
  constexpr std::int64_t kCount = 20000;
  Graph g;
  const int x = g.input(PLUG_F32, {kCount});
  const auto dropped = g.nodes("aten::native_dropout", {ref(x), real_arg(0.25), bool_arg(true)},
                               {{PLUG_F32, {kCount}}, {PLUG_BOOL, {kCount}}});
  g.output(dropped[0]);
  g.output(dropped[1]);
  const Content in(kCount, 3);
  const std::vector<Content> got = Compiled(g).run({in});
  double kept = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(got[0][i], got[1][i] != 0 ? 4 : 0);
    kept += got[1][i];
  }
  EXPECT_NEAR(kept / kCount, 0.75, 0.02);
}

TEST(SimCompiler, EachNodeThatDrawsHasNumbersOfItsOwn) {
  Graph g;
  const int x = g.input(PLUG_F64, {100});
  for (int i = 0; i < 2; ++i)
    g.output(g.node("aten::rand_like", {ref(x), none(), none(), none(), none(), none()}, PLUG_F64, {100}));
  const std::vector<Content> got = Compiled(g).run({Content(100, 0)});
  EXPECT_NE(got[0], got[1]);
  for (const double u : got[0]) EXPECT_TRUE(u >= 0 && u < 1);
}

// ---- Indices. ----

TEST(SimCompiler, AnIndexOutOfRangeIsReportedAndReadsNothing) {
  GraphPlugin& plugin = GraphPlugin::shared();
  Graph g;
  const int table = g.input(PLUG_F32, {4, 2}), index = g.input(PLUG_I64, {3});
  g.output(g.node("aten::embedding",
                  {ref(table), ref(index), integer_arg(-1), bool_arg(false), bool_arg(false)}, PLUG_F32,
                  {3, 2}));
  Compiled engine(g);
  const Content rows = {0, 1, 10, 11, 20, 21, 30, 31};
  EXPECT_EQ(engine.run({rows, {2, 0, 3}}).at(0), (Content{20, 21, 0, 1, 30, 31}));
  EXPECT_TRUE(plugin.host().reports.empty());
  engine.run({rows, {2, 4, 3}});
  ASSERT_EQ(plugin.host().reports.size(), 1u);
  EXPECT_EQ(plugin.host().reports[0], "An index of embedding is out of range.");
  plugin.host().reports.clear();
}

// ---- Engines on disk. ----

std::vector<char> saved(const GraphPlugin& plugin, plug_engine engine) {
  std::vector<char> bytes;
  const auto write = [](void* context, const void* data, std::uint64_t n) {
    auto& to = *static_cast<std::vector<char>*>(context);
    to.insert(to.end(), static_cast<const char*>(data), static_cast<const char*>(data) + n);
  };
  EXPECT_EQ(plugin.compiler().engine_save(0, engine, write, &bytes), PLUG_OK);
  return bytes;
}

TEST(SimCompiler, ASavedEngineComputesTheSame) {
  GraphPlugin& plugin = GraphPlugin::shared();
  SmallGraph small(100);
  Compiled engine(small.g);
  const std::vector<char> bytes = saved(plugin, engine.engine);
  const std::string text = engine.text();
  plug_engine loaded = nullptr;
  ASSERT_EQ(plugin.compiler().engine_load(0, bytes.data(), bytes.size(), &loaded), PLUG_OK) << last_error;
  engine.replace(loaded);
  const Content in = as_floats(random_content(100, 4));
  SmallGraph::expect(engine.run({in}).at(0), in);
  EXPECT_EQ(engine.text(), text);
}

TEST(SimCompiler, DamagedEnginesAreNotLoaded) {
  GraphPlugin& plugin = GraphPlugin::shared();
  SmallGraph small(10);
  Compiled engine(small.g);
  const std::vector<char> whole = saved(plugin, engine.engine);
  const auto load = [&](const std::vector<char>& bytes) {
    plug_engine loaded = nullptr;
    last_error.clear();
    const plug_status status = plugin.compiler().engine_load(0, bytes.data(), bytes.size(), &loaded);
    EXPECT_EQ(loaded, nullptr);
    EXPECT_FALSE(last_error.empty());
    return status;
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{5}, std::size_t{40}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_EQ(load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}), PLUG_UNSUPPORTED);
  }
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 97 + 1) {
    std::vector<char> flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_EQ(load(flipped), PLUG_UNSUPPORTED) << at;
  }
  std::vector<char> longer = whole;
  longer.push_back(0);
  EXPECT_EQ(load(longer), PLUG_UNSUPPORTED);
}

TEST(SimCompiler, ItsIdentityNamesCompilerAndProcessor) {
  const char* text = nullptr;
  ASSERT_EQ(GraphPlugin::shared().compiler().identity(0, &text), PLUG_OK);
  EXPECT_NE(std::string(text).find("-O3"), std::string::npos);
  EXPECT_GT(std::string(text).size(), 60u);
}

// The linker's digest of the library lies in its file as bytes.
TEST(SimCompiler, ItsIdentityIsThatOfThisBuildOfSim) {
  const char* text = nullptr;
  ASSERT_EQ(GraphPlugin::shared().compiler().identity(0, &text), PLUG_OK);
  const std::string identity = text, id = identity.substr(4, identity.find('\n') - 4);
  ASSERT_EQ(identity.rfind("sim ", 0), 0u);
  ASSERT_GE(id.size(), 16u) << identity;
  std::string bytes;
  for (std::size_t i = 0; i < id.size(); i += 2)
    bytes += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  std::ifstream file(SIM_LIBRARY, std::ios::binary);
  const std::string library(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(library.find(bytes), std::string::npos);
}

// ---- Compiling. ----

// Sets a variable of the environment for a while.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value != nullptr)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Environment() {
    if (before_.empty())
      ::unsetenv(name_);
    else
      ::setenv(name_, before_.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST(SimCompiler, WithoutACompilerItDeclinesInOneSentence) {
  const Environment path("PATH", "/nowhere"), chosen("CXX", nullptr);
  SmallGraph small(4);
  const Compiled engine(small.g);
  EXPECT_EQ(engine.status, PLUG_UNSUPPORTED);
  EXPECT_EQ(engine.error,
            "No C++ compiler (c++, g++ or clang++) is in PATH, and CXX names none: install one.");
}

TEST(SimCompiler, ACompilerThatIsNotThereIsNamed) {
  const Environment chosen("CXX", "/nowhere/g++ -m64");
  SmallGraph small(4);
  const Compiled engine(small.g);
  EXPECT_EQ(engine.status, PLUG_UNSUPPORTED);
  EXPECT_NE(engine.error.find("/nowhere/g++"), std::string::npos) << engine.error;
}

TEST(SimCompiler, ACompilerThatFailsWithoutAWordIsNone) {
  const Environment chosen("CXX", "false");
  SmallGraph small(4);
  const Compiled engine(small.g);
  EXPECT_EQ(engine.status, PLUG_UNSUPPORTED);
  EXPECT_NE(engine.error.find("false fails and does not say why: set CXX to another."), std::string::npos)
      << engine.error;
}

// A program in place of the compiler.
class FakeCompiler {
 public:
  explicit FakeCompiler(const std::string& script) {
    std::ofstream(path_) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    chosen_ = std::make_unique<Environment>("CXX", path_.c_str());
  }
  ~FakeCompiler() { std::filesystem::remove(path_); }
  FakeCompiler(const FakeCompiler&) = delete;
  FakeCompiler& operator=(const FakeCompiler&) = delete;

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("fake-compiler-" + std::to_string(::getpid()));
  std::unique_ptr<Environment> chosen_;
};

TEST(SimCompiler, ACompilerThatRefusesTheSourceIsQuotedInOneLine) {
  const FakeCompiler fake(
      "echo In file a.cpp; echo a.cpp:3: error: no such thing >&2; echo note: so; exit 1");
  SmallGraph small(4);
  const Compiled engine(small.g);
  EXPECT_EQ(engine.status, PLUG_INTERNAL);
  EXPECT_NE(engine.error.find(" refuses the source: a.cpp:3: error: no such thing"), std::string::npos)
      << engine.error;
  EXPECT_EQ(engine.error.find('\n'), std::string::npos) << engine.error;
}

TEST(SimCompiler, ACompilerThatCrashesIsNamedWithTheSignal) {
  const FakeCompiler fake("echo out of luck; kill -SEGV $$");
  SmallGraph small(4);
  const Compiled engine(small.g);
  EXPECT_EQ(engine.status, PLUG_INTERNAL);
  EXPECT_NE(engine.error.find(" crashed with signal 11: out of luck"), std::string::npos) << engine.error;
}

TEST(SimCompiler, LeavesNoFilesBehind) {
  const std::filesystem::path place =
      std::filesystem::temp_directory_path() / ("sim-compiler-" + std::to_string(::getpid()));
  std::filesystem::create_directory(place);
  {
    const Environment temporary("TMPDIR", place.c_str());
    SmallGraph small(4);
    Compiled engine(small.g);
    EXPECT_EQ(engine.status, PLUG_OK) << engine.error;
    EXPECT_TRUE(std::filesystem::is_empty(place));
  }
  std::filesystem::remove_all(place);
}

TEST(SimCompiler, AWishNobodyWantsAnyMoreEndsWithTimeout) {
  GraphPlugin slow({{"sim.compile_seconds", "600"}, {"sim.memory", "1MiB"}});
  SmallGraph small(4, slow);
  plug_compile wish{};
  wish.size = sizeof wish;
  wish.graph = &small.g.finish();
  static std::atomic<int> asked;
  static double most;
  asked = 0;
  most = 0;
  wish.progress = [](const plug_compile*, double done) -> std::int32_t {
    most = std::max(most, done);
    return ++asked > 12 ? 1 : 0;
  };
  plug_engine engine = nullptr;
  EXPECT_EQ(slow.compiler().compile(&wish, &engine), PLUG_TIMEOUT);
  EXPECT_EQ(engine, nullptr);
  EXPECT_GE(most, 0);
  EXPECT_LT(most, 1);
}

TEST(SimCompiler, FourThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &right] {
      SmallGraph small(50 + t, GraphPlugin::shared(), t);
      Compiled engine(small.g);
      if (engine.status == PLUG_OK && engine.text().find(std::to_string(50 + t) + "L") != std::string::npos)
        ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

TEST(SimCompiler, TwoEnginesRunOnTwoStreams) {
  GraphPlugin& plugin = GraphPlugin::shared();
  SmallGraph one(500, plugin, 1), two(500, plugin, -1);
  Compiled first(one.g), second(two.g);
  plug_stream stream = nullptr;
  ASSERT_EQ(plugin.runtime().stream_create(0, 0, &stream), PLUG_OK);
  for (int i = 0; i < 20; ++i) {
    const Content in = as_floats(random_content(500, static_cast<std::uint64_t>(i)));
    SmallGraph::expect(first.run({in}, {}, stream).at(0), in, 1);
    SmallGraph::expect(second.run({in}).at(0), in, -1);
  }
  plugin.runtime().stream_destroy(0, stream);
}

TEST(SimCompiler, WhatIsNotListedOrHasNoCodeIsRefused) {
  Graph g;
  const int x = g.input(PLUG_C64, {2});
  g.output(g.node("aten::neg", {ref(x)}, PLUG_C64, {2}));
  const Compiled engine(g);
  EXPECT_EQ(engine.status, PLUG_UNSUPPORTED);
  EXPECT_NE(engine.error.find("no code for dtype"), std::string::npos) << engine.error;
}

}  // namespace
}  // namespace sim_test
