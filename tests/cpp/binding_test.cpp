// Fitting a kernel's schema to PyTorch's operators: which forms it serves, and why it serves none.

#include "aten/kernel/binding.h"

#include <algorithm>

#include "aten/plan/operator_facts.h"
#include "harness.h"

namespace torchplug::tests {
namespace {

// Keeps warnings instead of printing them.
class Warnings final : public c10::WarningHandler {
 public:
  Warnings() : before_(c10::WarningUtils::get_warning_handler()) {
    c10::WarningUtils::set_warning_handler(this);
  }
  ~Warnings() override { c10::WarningUtils::set_warning_handler(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;

  void process(const c10::Warning& warning) override { text += warning.msg() + "\n"; }

  std::string text;

 private:
  c10::WarningHandler* before_;
};

std::vector<Binding> bind(const char* schema, uint64_t writes = 0) {
  static plug_kernel kernel;
  kernel = {};
  kernel.schema = schema;
  kernel.writes = writes;
  return bind_kernel(kernel, "acme");
}

std::vector<std::string> names_of(const std::vector<Binding>& bindings) {
  std::vector<std::string> names;
  for (const Binding& binding : bindings) names.push_back(full_name(binding.operator_handle.operator_name()));
  std::sort(names.begin(), names.end());
  return names;
}

const Binding& form(const std::vector<Binding>& bindings, Form wanted) {
  return *std::find_if(bindings.begin(), bindings.end(), [&](const Binding& b) { return b.form == wanted; });
}

// The one warning about a kernel that is not used.
std::string complaint_about(const char* schema) {
  Warnings warnings;
  EXPECT_TRUE(bind(schema).empty());
  EXPECT_EQ(std::count(warnings.text.begin(), warnings.text.end(), '\n'), 1) << warnings.text;
  expect_says(warnings.text, {"acme", schema, "is not used"});
  return warnings.text;
}

TEST(Binding, a_kernel_serves_the_functional_in_place_and_out_forms) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(bind("aten::relu(Tensor self) -> Tensor")),
            (Names{"aten::relu", "aten::relu.out", "aten::relu_"}));
  EXPECT_EQ(names_of(bind("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")),
            (Names{"aten::add.Tensor", "aten::add.out", "aten::add_.Tensor"}));
  EXPECT_EQ(names_of(bind("aten::mm(Tensor self, Tensor mat2) -> Tensor")),
            (Names{"aten::mm", "aten::mm.out"}));
}

TEST(Binding, several_results_have_an_out_form_too) {
  const auto bindings =
      bind("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)");
  const Binding& out = form(bindings, Form::kOut);
  EXPECT_EQ(full_name(out.operator_handle.operator_name()), "aten::sort.values");
  EXPECT_EQ(out.out_arguments, (std::vector<size_t>{3, 4}));
}

TEST(Binding, knows_which_argument_is_which_and_which_is_written) {
  const auto bindings =
      bind("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", 1 << 1);
  const Binding& functional = form(bindings, Form::kFunctional);
  EXPECT_EQ(functional.argument_of, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(functional.writes, (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(functional.out_arguments.empty());
  EXPECT_TRUE(functional.unknown_arguments.empty());
  EXPECT_EQ(form(bindings, Form::kInPlace).out_arguments, (std::vector<size_t>{0}));
  EXPECT_EQ(form(bindings, Form::kOut).out_arguments, (std::vector<size_t>{3}));
}

TEST(Binding, arguments_are_matched_by_name) {
  const auto bindings = bind("aten::add.Tensor(Tensor other, Tensor self) -> Tensor");
  const Binding& functional = form(bindings, Form::kFunctional);
  EXPECT_EQ(functional.argument_of, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(functional.unknown_arguments, (std::vector<size_t>{2}));
}

TEST(Binding, arguments_that_have_defaults_may_be_unknown_to_the_kernel) {
  const auto bindings = bind("aten::gelu(Tensor self) -> Tensor");
  EXPECT_EQ(bindings.size(), 3u);
  for (const Binding& binding : bindings) EXPECT_EQ(binding.unknown_arguments, (std::vector<size_t>{1}));
}

TEST(Binding, a_value_that_became_optional_is_still_needed) {
  const auto bindings = bind("aten::argmax(Tensor self, int dim, bool keepdim=False) -> Tensor");
  EXPECT_EQ(form(bindings, Form::kFunctional).needs_value, (std::vector<bool>{false, true, false}));
}

TEST(Binding, a_symbolic_size_is_a_number) {
  const auto bindings = bind("aten::expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor");
  EXPECT_FALSE(bindings.empty());
  const auto written =
      bind("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor");
  EXPECT_EQ(names_of(bindings), names_of(written));
}

TEST(Binding, a_schema_that_fits_nothing_is_not_used_and_one_warning_says_why) {
  expect_says(complaint_about("aten::an_operator_of_tomorrow(Tensor self) -> Tensor"), {"no such operator"});
  expect_says(complaint_about("relu of a tensor"), {"cannot be read"});
  expect_says(complaint_about("aten::tanh(Tensor self, int precision) -> Tensor"),
              {"no argument 'precision'"});
  expect_says(complaint_about("aten::mm(Tensor self) -> Tensor"), {"lacks argument 'mat2'"});
  expect_says(complaint_about("aten::cumsum(Tensor self, float dim) -> Tensor"), {"'dim' has another type"});
  expect_says(complaint_about("aten::relu(Tensor self) -> (Tensor, Tensor)"), {"number of results differs"});
  expect_says(complaint_about("aten::relu(Tensor self) -> Tensor[]"), {"result 0 has another type"});
  expect_says(
      complaint_about("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)"),
      {"view of an argument"});
  expect_says(complaint_about("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
              {"view of an argument"});
  expect_says(complaint_about("aten::selu(Tensor self) -> Tensor"), {"implements this operator by others"});
}

TEST(Binding, a_form_that_writes_its_result_is_bound_by_the_functional_schema) {
  expect_says(complaint_about("aten::relu_(Tensor(a!) self) -> Tensor(a!)"), {"aten::relu,", "functional"});
  expect_says(
      complaint_about("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"),
      {"aten::add.Tensor,", "functional"});
  expect_says(complaint_about("aten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)"),
              {"aten::mm,", "functional"});
}

TEST(Binding, a_form_that_returns_nothing_or_is_the_only_one_is_bound_itself) {
  using Names = std::vector<std::string>;
  const auto bindings = bind(
      "aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> "
      "Tensor(a!)");
  EXPECT_EQ(names_of(bindings), (Names{"aten::normal_"}));
  EXPECT_EQ(form(bindings, Form::kInPlace).out_arguments, (std::vector<size_t>{0}));
  EXPECT_EQ(form(bindings, Form::kInPlace).writes, (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(
      names_of(bind("aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()")),
      (Names{"aten::_foreach_add_.List"}));
}

TEST(Binding, an_operator_that_pytorch_composes_but_has_a_gradient_for_is_bound) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(bind("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor")),
            (Names{"aten::linear", "aten::linear.out"}));
  EXPECT_EQ(names_of(bind("aten::matmul(Tensor self, Tensor other) -> Tensor")),
            (Names{"aten::matmul", "aten::matmul.out"}));
  for (const char* schema :
       {"aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
        "dilation=1, bool ceil_mode=False) -> Tensor",
        "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
        "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
        "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, "
        "Tensor)",
        "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
        "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool "
        "keepdim) -> Tensor"}) {
    EXPECT_FALSE(bind(schema).empty()) << schema;
  }
}

TEST(Binding, an_operator_with_an_out_form_alone_is_bound_by_it) {
  const auto bindings = bind(
      "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)");
  ASSERT_EQ(bindings.size(), 1u);
  EXPECT_EQ(bindings[0].form, Form::kOut);
  EXPECT_EQ(bindings[0].out_arguments, (std::vector<size_t>{3}));
  EXPECT_EQ(bindings[0].is_output, (std::vector<bool>{false, false, false, true}));
}

TEST(Binding, any_serves_an_operator_in_the_form_it_is_called) {
  const plug_kernel any{};
  const auto of = [&](const char* name) { return bind_any(any, OperatorFacts(*find_operator(name))); };
  EXPECT_EQ(of("aten::add.Tensor").form, Form::kFunctional);
  EXPECT_EQ(of("aten::add_.Tensor").form, Form::kAsCalled);
  EXPECT_EQ(of("aten::add_.Tensor").out_arguments, (std::vector<size_t>{0}));
  EXPECT_EQ(of("aten::sort.values").out_arguments, (std::vector<size_t>{3, 4}));
  EXPECT_EQ(of("aten::_foreach_add_.List").form, Form::kFunctional);
  EXPECT_EQ(of("aten::_foreach_add_.List").writes, (std::vector<bool>{true, false, false}));
  EXPECT_EQ(of("aten::unbind_copy.int").results, (std::vector<ResultKind>{ResultKind::kTensors}));
  EXPECT_FALSE(has_plug_form(find_operator("aten::set_.source_Storage")->schema()));
}

}  // namespace
}  // namespace torchplug::tests
