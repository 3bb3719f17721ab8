// The text that says how gradients are computed: what it means, and what is said where it is wrong.

#include "aten/own/gradient_text.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <random>

#include "harness.h"

namespace torchplug::tests {
namespace {

const c10::FunctionSchema& schema() {
  static const auto parsed = torch::jit::parseSchema(
      "acme::op(Tensor x, Tensor? w, Tensor[] xs, float by, int n) -> (Tensor, Tensor, int)");
  return parsed;
}

GradientValues values() {
  const at::Tensor x = at::arange(4, at::kFloat);
  GradientValues given;
  given.arguments = {x, at::full({4}, 2.0), c10::List<at::Tensor>({x, x}), 0.5, 3};
  given.results = {at::full({4}, 7.0), at::full({4}, 8.0), 9};
  given.gradients = {at::full({4}, 10.0), at::full({4}, 100.0), c10::IValue()};
  given.wanted = {true, false, true, false, false};
  return given;
}

at::Tensor gradient(const std::string& text) {
  const GradientText parsed(text, schema());
  return parsed.compute(parsed.entries().front(), values()).front().toTensor();
}

std::vector<float> elements_of(const at::Tensor& tensor) {
  const auto* first = tensor.const_data_ptr<float>();
  return {first, first + tensor.numel()};
}

std::string gradient_refusal(const std::string& text) {
  const std::string said = error_of([&] { GradientText(text, schema()); });
  expect_one_sentence(said);
  return said;
}

using Floats = std::vector<float>;

TEST(GradientText, calls_operators_with_what_it_names) {
  EXPECT_EQ(elements_of(gradient("x: grad")), Floats(4, 10));
  EXPECT_EQ(elements_of(gradient("x: grads.1")), Floats(4, 100));
  EXPECT_EQ(elements_of(gradient("x: aten::mul.Tensor(grad, x)")), (Floats{0, 10, 20, 30}));
  EXPECT_EQ(elements_of(gradient("x: aten::mul.Scalar(result.1, by)")), Floats(4, 4));
  EXPECT_EQ(elements_of(gradient("x: aten::add.Tensor(grad, aten::mul.Tensor(result, w), alpha=-2)")),
            Floats(4, -18));
  EXPECT_EQ(elements_of(gradient("x: aten::sum.dim_IntList(grad, [0], True)")), Floats{40});
  EXPECT_EQ(elements_of(gradient("x: aten::cat([grad, x], dim=0)")).size(), 8);
  EXPECT_EQ(elements_of(gradient("x: aten::max.dim(x, 0).0")), Floats{3});
  EXPECT_EQ(elements_of(gradient("x: aten::div.Tensor_mode(grad, w, rounding_mode='floor')")), Floats(4, 5));
  EXPECT_EQ(elements_of(gradient("x: aten::leaky_relu(aten::neg(grad), 1e-1)")), Floats(4, -1));
}

TEST(GradientText, an_entry_gives_several_gradients_in_their_order) {
  const GradientText text("x, w: aten::max.dim(x, 0); xs: xs", schema());
  ASSERT_EQ(text.entries().size(), 2);
  const auto found = text.compute(text.entries()[0], values());
  EXPECT_EQ(found[0].toTensor().item<float>(), 3);
  EXPECT_EQ(found[1].toTensor().item<int64_t>(), 3);
  EXPECT_TRUE(text.names(2));
  EXPECT_FALSE(text.names(3));
}

TEST(GradientText, an_entry_may_ask_which_of_its_gradients_are_wanted) {
  const std::string number = "aten::sum.dim_IntList(x, [0], True)";
  const GradientText text("xs, w, x: aten::native_layer_norm_backward(grad, x, [4], " + number + ", " +
                              number + ", w, w, wanted)",
                          schema());
  alone([&] {  // it starts threads, without which processes that are forked later would wait for them
    const auto found = text.compute(text.entries().front(), values());
    EXPECT_TRUE(found[0].toTensor().defined());
    EXPECT_FALSE(found[1].toTensor().defined());
    EXPECT_TRUE(found[2].toTensor().defined());
  });
}

TEST(GradientText, knows_what_it_uses) {
  const GradientText text("x: aten::mul.Tensor(grads.1, w)", schema());
  EXPECT_EQ(text.used_arguments(), (std::vector<bool>{false, true, false, false, false}));
  EXPECT_EQ(text.used_gradients(), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(text.used_results(), (std::vector<bool>{false, false, false}));
}

TEST(GradientText, an_argument_has_its_name_before_the_words_of_the_grammar) {
  const auto own = torch::jit::parseSchema("acme::op_backward(Tensor grad, Tensor x) -> Tensor");
  const GradientText text("grad: aten::mul.Tensor(grads.0, grad)", own);
  EXPECT_EQ(text.used_arguments(), (std::vector<bool>{true, false}));
  EXPECT_EQ(text.used_gradients(), (std::vector<bool>{true}));
}

TEST(GradientText, an_error_in_the_text_names_the_operator_and_the_place) {
  expect_says(gradient_refusal("y: grad"), {"acme::op", "y: grad", "no argument 'y'"});
  expect_says(gradient_refusal("by: grad"), {"'by' is not a tensor"});
  expect_says(gradient_refusal("x grad"), {"'grad'", "expected ':'"});
  expect_says(gradient_refusal("x: grad; x: grad"), {"'x' is there already"});
  expect_says(gradient_refusal("x: grads.3"), {"3 results"});
  expect_says(gradient_refusal("x: grads.2"), {"result 2 is not a tensor"});
  expect_says(gradient_refusal("x: aten::mul(grad, z)"), {"'z)'", "no argument 'z'"});
  expect_says(gradient_refusal("x: aten::mul(grad"), {"at its end", "expected ',' or ')'"});
  expect_says(gradient_refusal("x: aten::mul(a=grad, x)"), {"by name"});
  expect_says(gradient_refusal("x, w: grad"), {"a result for each"});
  expect_says(gradient_refusal("x: 1.2.3"), {"'1.2.3' is not a number"});
  expect_says(gradient_refusal("x: aten::leaky_relu(grad, 1 2)"), {"'2)'", "expected ',' or ')'"});
  expect_says(gradient_refusal("x: aten::sum.dim_IntList(grad, [0 1])"), {"'1])'", "expected ',' or ']'"});
  expect_says(gradient_refusal("x: 'abc"), {"expected '"});
  expect_says(gradient_refusal("x: " + std::string(200, '[')), {"nested too deeply"});
  expect_says(gradient_refusal(""), {"at its end", "the name of an argument"});
}

TEST(GradientText, what_fails_in_backward_names_the_operator) {
  expect_says(error_of([] { gradient("x: acme::none(grad)"); }),
              {"acme::op", "acme::none", "no such operator"});
  expect_says(error_of([] { gradient("x: aten::mul(grad, x)"); }), {"aten::mul", "overload"});
  expect_says(error_of([] { gradient("x: aten::max.dim(x, 0)"); }), {"acme::op", "which has 2"});
  expect_says(error_of([] { gradient("x: aten::max.dim(x, 0).2"); }), {"takes result 2"});
}

TEST(GradientText, no_text_does_harm) {
  const std::vector<std::string> words = {"x",
                                          "w",
                                          "xs",
                                          "by",
                                          "n",
                                          "grad",
                                          "grads.1",
                                          "result",
                                          ":",
                                          ";",
                                          ",",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "=",
                                          ".",
                                          "0",
                                          "-1",
                                          "1e5",
                                          "'",
                                          "\"",
                                          "aten::mul.Tensor(",
                                          "aten::neg(",
                                          "::",
                                          "None",
                                          "True",
                                          " ",
                                          "\xff",
                                          "x: ",
                                          "alpha="};
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 == 0 ? "x: " : "";
    for (size_t length = random() % 12; length > 0; --length) text += words[random() % words.size()];
    try {
      const GradientText parsed(text, schema());
      EXPECT_FALSE(parsed.entries().empty());
    } catch (const c10::Error& error) {
      expect_one_sentence(error.what_without_backtrace());
    }
  }
}

}  // namespace
}  // namespace torchplug::tests
