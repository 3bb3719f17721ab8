// The text that says what the results of an operator look like: what it means, with numbers and with symbols,
// and what is said where it is wrong.

#include "aten/own/shape_text.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <random>

#include "harness.h"

namespace torchplug::tests {
namespace {

using Sizes = std::vector<int64_t>;

constexpr const char* kArguments =
    "(Tensor x, Tensor w, Tensor? mask, Tensor[] xs, int n, int[] sizes, ScalarType? dtype, float by, "
    "bool yes, bool[] flags)";

c10::FunctionSchema schema_of(const std::string& results) {
  return torch::jit::parseSchema(std::string("acme::op") + kArguments + " -> " + results);
}

// x: [2, 3, 4] float32; w: [5, 4] bfloat16; two xs; n is 6; sizes are 7 and 8; of two flags the second is
// set.
std::vector<c10::IValue> arguments(c10::IValue dtype = {}) {
  const at::Tensor x = at::empty({2, 3, 4});
  const at::Tensor w = at::empty({5, 4}, at::kBFloat16);
  return {x,
          w,
          c10::IValue(),
          c10::List<at::Tensor>({x, w}),
          6,
          c10::List<int64_t>({7, 8}),
          std::move(dtype),
          1.5,
          true,
          c10::List<bool>({false, true})};
}

std::vector<ShapedResult<int64_t>> evaluate(const std::string& text, const std::string& results = "Tensor",
                                            c10::IValue dtype = {}) {
  return ShapeText(text, schema_of(results)).evaluate<int64_t>(arguments(std::move(dtype)));
}

Sizes sizes(const std::string& text) { return evaluate(text).front().tensors.front().sizes; }
at::ScalarType dtype(const std::string& text, c10::IValue given = {}) {
  return evaluate(text, "Tensor", std::move(given)).front().tensors.front().dtype;
}
std::string shape_refusal(const std::string& text, const std::string& results = "Tensor") {
  const std::string said = error_of([&] { evaluate(text, results); });
  expect_one_sentence(said);
  return said;
}

TEST(ShapeText, an_argument_is_its_sizes_and_its_dtype) {
  EXPECT_EQ(sizes("x"), (Sizes{2, 3, 4}));
  EXPECT_EQ(dtype("w"), at::kBFloat16);
}

TEST(ShapeText, dimensions_are_numbers_sizes_slices_and_lists) {
  EXPECT_EQ(sizes("[] x"), Sizes{});
  EXPECT_EQ(sizes("[x[:-1], w.0] x"), (Sizes{2, 3, 5}));
  EXPECT_EQ(sizes("[x.-1, x.0, 9, n] x"), (Sizes{4, 2, 9, 6}));
  EXPECT_EQ(sizes("[x[1:3], x[:], x[5:], x[2:1], x[-2:]] x"), (Sizes{3, 4, 2, 3, 4, 3, 4}));
  EXPECT_EQ(sizes("[sizes, len(xs), len(sizes)] x"), (Sizes{7, 8, 2, 2}));
}

TEST(ShapeText, expressions_are_pythons) {
  EXPECT_EQ(sizes("[1 + 2 * 3] x"), Sizes{7});
  EXPECT_EQ(sizes("[(1 + 2) * 3] x"), Sizes{9});
  EXPECT_EQ(sizes("[10 - 3 - 2] x"), Sizes{5});
  EXPECT_EQ(sizes("[7 // 2, 7 % 2, 2 * n // 5] x"), (Sizes{3, 1, 2}));
  EXPECT_EQ(sizes("[-(-7 // 2), -7 % 4, 7 // -1 + 8] x"), (Sizes{4, 1, 1}));
  EXPECT_EQ(sizes("[min(x.0, n), max(x.0, n + 1)] x"), (Sizes{2, 7}));
}

TEST(ShapeText, a_dtype_is_a_tensors_or_named_or_the_first_that_is_given) {
  EXPECT_EQ(dtype("[1] w"), at::kBFloat16);
  EXPECT_EQ(dtype("[1] int64"), at::kLong);
  EXPECT_EQ(dtype("[1] bool"), at::kBool);
  EXPECT_EQ(dtype("[1] dtype|w"), at::kBFloat16);
  EXPECT_EQ(dtype("[1] dtype | mask | float16"), at::kHalf);
  EXPECT_EQ(dtype("[1] dtype|w", static_cast<int64_t>(at::kDouble)), at::kDouble);
}

TEST(ShapeText, results_are_separated_and_only_new_tensors_count) {
  const auto two = evaluate(" x ; [n] w ", "(Tensor, int, Tensor)");
  ASSERT_EQ(two.size(), 2);
  EXPECT_EQ(two[1].tensors.front().sizes, Sizes{6});
  const auto schema = torch::jit::parseSchema("acme::op_(Tensor(a!) x, Tensor y) -> (Tensor(a!), Tensor)");
  const std::vector<c10::IValue> given{at::empty({2}), at::empty({3})};
  EXPECT_EQ(ShapeText("y", schema).evaluate<int64_t>(given).front().tensors.front().sizes, Sizes{3});
}

TEST(ShapeText, lists_are_like_each_or_counted) {
  const auto each = evaluate("each xs", "Tensor[]");
  EXPECT_TRUE(each.front().is_list);
  EXPECT_EQ(each.front().tensors.at(1).sizes, (Sizes{5, 4}));
  EXPECT_EQ(evaluate("n * [x.0] x", "Tensor[]").front().tensors.size(), 6);
  EXPECT_EQ(evaluate("(n - 4) * x", "Tensor[]").front().tensors.size(), 2);
  EXPECT_EQ(evaluate("0 * x", "Tensor[]").front().tensors.size(), 0);
}

TEST(ShapeText, a_tensor_may_have_a_condition) {
  const auto found = evaluate("x if flags.0; w if flags.1; [n] x if yes", "(Tensor a, Tensor b, Tensor c)");
  EXPECT_TRUE(found[0].is_absent());
  EXPECT_EQ(found[1].tensors.front().sizes, (Sizes{5, 4}));
  EXPECT_EQ(found[2].tensors.front().sizes, Sizes{6});
  EXPECT_FALSE(evaluate("0 * x", "Tensor[]").front().is_absent());
  expect_says(shape_refusal("x if n"), {"'n' is neither a bool nor a list of them"});
  expect_says(shape_refusal("x if flags"), {"expected '.'"});
  expect_says(shape_refusal("x if flags.-1"), {"the number of an item"});
  expect_says(shape_refusal("x if maybe"), {"no argument 'maybe'"});
  expect_says(shape_refusal("x if flags.2"), {"'flags' has 2 items", "item 2"});
}

TEST(ShapeText, an_error_in_the_text_names_the_operator_and_the_place) {
  expect_says(shape_refusal("[x.0, y.1] x"), {"acme::op", "[x.0, y.1] x", "'y.1] x'", "no argument 'y'"});
  expect_says(shape_refusal("[x.0 x"), {"acme::op", "'x'", "expected ',' or ']'"});
  expect_says(shape_refusal("[x.0] foo"), {"no dtype 'foo'"});
  expect_says(shape_refusal("[x.0]"), {"at its end", "expected a dtype"});
  expect_says(shape_refusal("[by] x"), {"'by' is neither a tensor nor an integer"});
  expect_says(shape_refusal("[n[:]] x"), {"only sizes of a tensor"});
  expect_says(shape_refusal("n"), {"'n' is not a tensor"});
  expect_says(shape_refusal("x; x"), {"'; x'", "1 shape"});
  expect_says(shape_refusal("x", "(Tensor, Tensor)"), {"at its end", "expected ';'"});
  expect_says(shape_refusal("each x", "Tensor[]"), {"'x' is not a list"});
  expect_says(shape_refusal("[99999999999999999999] x"), {"too large"});
  expect_says(shape_refusal("[" + std::string(200, '(')), {"nested too deeply"});
}

TEST(ShapeText, what_fails_in_a_call_names_operator_and_argument) {
  expect_says(shape_refusal("[x.3] x"), {"acme::op", "'x' has 3 dimensions", "dimension 3"});
  expect_says(shape_refusal("[x.-4] x"), {"'x' has 3 dimensions"});
  expect_says(shape_refusal("mask"), {"'mask', which is None"});
  expect_says(shape_refusal("[1] dtype"), {"'dtype', which is None"});
  expect_says(shape_refusal("[n - 7] x"), {"size -1"});
  expect_says(shape_refusal("[n // (n - 6)] x"), {"divide 6 by 0"});
  expect_says(shape_refusal("[9223372036854775807 + n] x"), {"too large"});
  expect_says(shape_refusal("(n - 7) * x", "Tensor[]"), {"-1 tensors"});
}

TEST(ShapeText, symbols_and_numbers_agree) {
  for (const char* text : {"x", "[x[:-1], w.0] x", "[-(-x.1 // 2), x.0 % 2 + n, min(x.0, 1), sizes] w"}) {
    const ShapeText shapes(text, schema_of("Tensor"));
    const auto numbers = shapes.evaluate<int64_t>(arguments()).front().tensors.front();
    const auto symbols = shapes.evaluate<c10::SymInt>(arguments()).front().tensors.front();
    ASSERT_EQ(symbols.sizes.size(), numbers.sizes.size());
    for (size_t d = 0; d < numbers.sizes.size(); ++d) EXPECT_EQ(symbols.sizes[d], numbers.sizes[d]) << text;
    EXPECT_EQ(symbols.dtype, numbers.dtype);
  }
}

// Whatever the text: a shape, or a sentence.
TEST(ShapeText, no_text_does_harm) {
  const std::vector<std::string> words = {
      "x",    "w",     "xs",      "n", "sizes",      "dtype", "[",    "]",    "(",   ")", ",",    ";",
      ":",    "|",     ".",       "0", "-1",         "+",     "-",    "*",    "//",  "%", "min(", "max(",
      "len(", "each ", "float32", " ", "9999999999", "\xff",  "\x01", "mask", "x.0", "x["};
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t length = random() % 12; length > 0; --length) text += words[random() % words.size()];
    const std::string results = round % 3 == 0 ? "Tensor[]" : "Tensor";
    try {
      const auto shaped = ShapeText(text, schema_of(results)).evaluate<int64_t>(arguments());
      for (const auto& tensor : shaped.front().tensors)
        for (int64_t size : tensor.sizes) EXPECT_GE(size, 0) << text;
    } catch (const c10::Error& error) {
      expect_one_sentence(error.what_without_backtrace());
    }
  }
}

}  // namespace
}  // namespace torchplug::tests
