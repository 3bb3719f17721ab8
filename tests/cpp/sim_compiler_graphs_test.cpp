// Random graphs through sim's compiler, against a reference in float64: with fixed sizes and with symbols,
// each of which is run for several sizes, 0 and 1 among them.

#include <random>

#include "graph_reference.h"

namespace sim_test {
namespace {

// A graph of values of the shapes [a, b], [b, a], [a, 1], [1, b] and [b], and what each is for given inputs.
class RandomGraph {
 public:
  RandomGraph(std::uint32_t seed, plug_dtype dtype, std::int64_t a, std::int64_t b, int nodes)
      : random_(seed), dtype_(dtype), a_(a), b_(b) {
    input({a_, b_});
    input({a_, b_});
    input({b_});
    input({a_, 1});
    for (int i = 0; i < nodes; ++i) add_node();
    for (int i = 0; i < 3; ++i) output(pick_any());
    output(values_.back());
  }

  Graph graph;

  // What the outputs are, with a_ and b_ as these symbols say.
  std::vector<Array> evaluate(const std::vector<Content>& inputs, const Dims& symbols) const {
    std::vector<Array> all;
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const Value& value = values_[v];
      if (value.compute) {
        all.push_back(value.compute(all));
      } else {
        all.push_back({sizes_of(value, symbols), inputs[v]});
      }
    }
    std::vector<Array> made;
    for (const std::size_t output : outputs_) made.push_back(all[output]);
    return made;
  }

  std::vector<Content> inputs(const Dims& symbols, std::uint64_t seed) const {
    std::vector<Content> made;
    for (std::size_t v = 0; v < kInputs; ++v) {
      std::size_t count = 1;
      for (const std::int64_t size : sizes_of(values_[v], symbols)) count *= static_cast<std::size_t>(size);
      Content content = random_content(count, seed + v);
      for (double& x : content) x = static_cast<float>(x);
      made.push_back(std::move(content));
    }
    return made;
  }

 private:
  static constexpr std::size_t kInputs = 4;
  using All = std::vector<Array>;

  struct Value {
    int number;  // in the graph
    Dims sizes;
    std::function<Array(const All&)> compute;
    std::size_t place;
  };

  static Dims sizes_of(const Value& value, const Dims& symbols) {
    Dims made = value.sizes;
    for (std::int64_t& size : made) size = size < 0 ? symbols[static_cast<std::size_t>(-1 - size)] : size;
    return made;
  }

  void input(Dims sizes) {
    values_.push_back({graph.input(dtype_, sizes, strides_of(sizes)), sizes, nullptr, values_.size()});
  }

  // Of contiguous tensors of these shapes.
  static Dims strides_of(const Dims& sizes) { return sizes.size() == 2 ? Dims{sizes[1], 1} : Dims{1}; }

  void output(const Value& value) {
    for (const std::size_t known : outputs_) {
      if (known == value.place) return;
    }
    if (value.place < kInputs) return;
    graph.output(value.number, -1, strides_of(value.sizes));
    outputs_.push_back(value.place);
  }

  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(random_() % sides); }
  const Value& pick_any() { return values_[roll(static_cast<std::uint32_t>(values_.size()))]; }
  const Value& pick(std::size_t rank) {
    for (;;) {
      const Value& value = pick_any();
      if (value.sizes.size() == rank) return value;
    }
  }

  void add(const std::string& schema, std::vector<Arg> args, Dims sizes,
           std::function<Array(const All&)> compute) {
    const int number = graph.node(schema, std::move(args), dtype_, sizes);
    values_.push_back({number, std::move(sizes), std::move(compute), values_.size()});
  }

  void add_unary(const std::string& schema, const std::function<double(double)>& f) {
    const Value x = pick_any();
    add(schema, {ref(x.number)}, x.sizes, [=](const All& all) { return mapped(all[x.place], f); });
  }

  // Sizes that two values have in common, or none if they do not fit.
  static bool fit(const Dims& a, const Dims& b) {
    for (std::size_t d = 1; d <= std::min(a.size(), b.size()); ++d) {
      const std::int64_t x = a[a.size() - d], y = b[b.size() - d];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }

  void add_binary(const std::string& schema, bool has_alpha, const std::function<double(double, double)>& f) {
    const Value x = pick_any(), y = pick_any();
    if (!fit(x.sizes, y.sizes)) return;
    std::vector<Arg> args = {ref(x.number), ref(y.number)};
    if (has_alpha) args.push_back(integer_arg(1));
    add(schema, args, common_sizes(x.sizes, y.sizes),
        [=](const All& all) { return combined(all[x.place], all[y.place], f); });
  }

  void add_reduction(bool is_sum) {
    const Value x = pick(2);
    const std::size_t dim = roll(2);
    if (!is_sum && x.sizes[dim] < 0) return;  // of no elements it is an error
    const bool keep = roll(2) == 0 || dim == 1;
    Dims sizes = x.sizes;
    sizes[dim] = 1;
    if (!keep) sizes.erase(sizes.begin());
    if (sizes == Dims{1}) return;
    std::vector<Arg> args = {ref(x.number), ints_arg({static_cast<std::int64_t>(dim)}), bool_arg(keep)};
    if (is_sum) args.push_back(none());
    add(is_sum ? "aten::sum.dim_IntList" : "aten::amax", args, sizes, [=](const All& all) {
      return is_sum ? sum_of(all[x.place], dim, keep) : most_of(all[x.place], dim, keep);
    });
  }

  void add_softmax() {
    const Value x = pick(2);
    const std::size_t dim = roll(2);
    add("aten::_softmax", {ref(x.number), integer_arg(static_cast<std::int64_t>(dim)), bool_arg(false)},
        x.sizes, [=](const All& all) { return softmax_of(all[x.place], dim); });
  }

  void add_transpose() {
    const Value x = pick(2);
    add("aten::permute", {ref(x.number), ints_arg({1, 0})}, {x.sizes[1], x.sizes[0]},
        [=](const All& all) { return transposed(all[x.place]); });
  }

  void add_where() {
    const Value x = pick_any();
    const int mask = graph.node("aten::gt.Scalar", {ref(x.number), real_arg(0.25)}, PLUG_BOOL, x.sizes);
    const int half = graph.node("aten::mul.Scalar", {ref(x.number), real_arg(0.5)}, dtype_, x.sizes);
    add("aten::where.self", {ref(mask), ref(half), ref(x.number)}, x.sizes, [=](const All& all) {
      return mapped(all[x.place], [](double v) { return v > 0.25 ? v * 0.5 : v; });
    });
  }

  // Two halves of a concatenation, each of the shape of the first.
  void add_cat() {
    const Value x = pick(2), y = pick(2);
    if (x.sizes != y.sizes || x.sizes[0] < 0) return;
    const std::int64_t rows = x.sizes[0];
    const int both = graph.node("aten::cat", {refs_arg({x.number, y.number}), integer_arg(0)}, dtype_,
                                {2 * rows, x.sizes[1]});
    const std::int64_t from = roll(static_cast<std::uint32_t>(rows) + 1);
    add("aten::slice.Tensor",
        {ref(both), integer_arg(0), integer_arg(from), integer_arg(from + rows), integer_arg(1)}, x.sizes,
        [=](const All& all) {
          const Array whole = joined(all[x.place], all[y.place], 0);
          const std::int64_t width = whole.sizes[1];
          return Array{all[x.place].sizes,
                       {whole.data.begin() + from * width, whole.data.begin() + (from + rows) * width}};
        });
  }

  void add_node() {
    switch (roll(13)) {
      case 0: return add_unary("aten::sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); });
      case 1: return add_unary("aten::tanh", [](double x) { return std::tanh(x); });
      case 2: return add_unary("aten::erf", [](double x) { return std::erf(x); });
      case 3: return add_unary("aten::neg", [](double x) { return -x; });
      case 4: return add_binary("aten::add.Tensor", true, [](double x, double y) { return x + y; });
      case 5: return add_binary("aten::sub.Tensor", true, [](double x, double y) { return x - y; });
      case 6: return add_binary("aten::mul.Tensor", false, [](double x, double y) { return x * y; });
      case 7: return add_binary("aten::maximum", false, [](double x, double y) { return std::max(x, y); });
      case 8: return add_reduction(roll(2) == 0);
      case 9: return add_softmax();
      case 10: return add_transpose();
      case 11: return add_where();
      default: return add_cat();
    }
  }

  std::mt19937 random_;
  const plug_dtype dtype_;
  const std::int64_t a_, b_;
  std::vector<Value> values_;
  std::vector<std::size_t> outputs_;
};

void expect_same(const Content& got, const Array& wanted, double near, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.data.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double w = wanted.data[i];
    if (std::isnan(w) && std::isnan(got[i])) continue;
    if (std::isinf(w) && w == got[i]) continue;
    ASSERT_NEAR(got[i], w, near * std::max(1.0, std::fabs(w))) << what << " at " << i;
  }
}

void check(RandomGraph& made, Compiled& engine, const Dims& symbols, double near, const std::string& what) {
  ASSERT_EQ(engine.status, PLUG_OK) << what << ": " << engine.error;
  const std::vector<Content> inputs = made.inputs(symbols, 7);
  const std::vector<Content> got = engine.run(inputs, symbols);
  const std::vector<Array> wanted = made.evaluate(inputs, symbols);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t o = 0; o < got.size(); ++o)
    expect_same(got[o], wanted[o], near, what + ", output " + std::to_string(o));
}

// How many, for a longer search: SIM_GRAPHS=2000.
std::uint32_t graph_count(std::uint32_t usual) {
  const char* const given = std::getenv("SIM_GRAPHS");
  return given != nullptr ? static_cast<std::uint32_t>(std::atoi(given)) : usual;
}

TEST(SimCompilerGraphs, RandomGraphsOfFixedSizesAreWhatTheReferenceSays) {
  for (std::uint32_t seed = 0; seed < graph_count(12); ++seed) {
    RandomGraph made(seed, PLUG_F64, 5, 7, 14);
    Compiled engine(made.graph);
    check(made, engine, {}, 1e-9, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(SimCompilerGraphs, RandomGraphsWithSymbolsServeEverySize) {
  for (std::uint32_t seed = 1000; seed < 1000 + graph_count(8); ++seed) {
    RandomGraph made(seed, PLUG_F64, -1, -2, 12);
    made.graph.symbol(0, 1000);
    made.graph.symbol(0, 1000);
    Compiled engine(made.graph);
    for (const Dims& symbols : {Dims{5, 7}, Dims{1, 1}, Dims{1, 33}, Dims{64, 1}, Dims{0, 3}, Dims{3, 0},
                                Dims{40, 70}, Dims{3, 600}}) {
      check(made, engine, symbols, 1e-9,
            "seed " + std::to_string(seed) + " sizes " + std::to_string(symbols[0]) + ", " +
                std::to_string(symbols[1]));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SimCompilerGraphs, RandomGraphsOfFloat32StayNearFloat64) {
  for (std::uint32_t seed = 2000; seed < 2000 + graph_count(6); ++seed) {
    RandomGraph made(seed, PLUG_F32, 33, 70, 10);
    Compiled engine(made.graph);
    check(made, engine, {}, 2e-3, "seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace sim_test
