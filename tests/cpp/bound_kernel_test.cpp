// Operators carried out by a plugin's kernel: every form of them, and everything they may answer.

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/add.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include "kernels_device.h"
#include "memory/device_allocator.h"
#include "runtime/generator.h"

namespace torchplug::tests {
namespace {

using Tensors = std::vector<at::Tensor>;

uint64_t by_kernel(const std::string& op) { return ledger_count(op, Way::kKernel, Reason::kNone); }
uint64_t by_cpu(const std::string& op, Reason reason) { return ledger_count(op, Way::kStage, reason); }

// ------------------------------------------------------------------------------------------- forms

TEST(BoundKernel, one_kernel_serves_the_functional_in_place_and_out_forms) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {numbers({4, 5})});
    same_as_cpu([](Tensors t) { return t[0].relu_(); }, {numbers({4, 5})});
    same_as_cpu([](Tensors t) { return at::relu_out(t[1], t[0]); }, {numbers({4, 5}), numbers({4, 5})});
    EXPECT_EQ(seen("relu(").count, 3u);
    EXPECT_EQ(by_kernel("aten::relu") + by_kernel("aten::relu_") + by_kernel("aten::relu.out"), 3u);
  });
}

TEST(BoundKernel, an_in_place_call_gives_back_the_tensor_it_was_given) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({4}));
    EXPECT_TRUE(x.relu_().is_same(x));
    at::Tensor out = on_device(numbers({4}));
    EXPECT_TRUE(at::relu_out(out, x).is_same(out));
    EXPECT_EQ(seen("relu(").count, 2u);
  });
}

TEST(BoundKernel, an_output_of_the_wrong_size_is_resized) {
  on_kernels([] {
    at::Tensor out = at::empty({0}, at::device(device()));
    at::relu_out(out, on_device(numbers({3, 4})));
    expect_same(out, numbers({3, 4}).relu());
    at::Tensor other = on_device(numbers({7}));
    at::relu_out(other, on_device(numbers({3, 4})));
    expect_same(other, numbers({3, 4}).relu());
    EXPECT_EQ(seen("relu(").count, 2u);
  });
}

TEST(BoundKernel, an_output_of_another_dtype_is_converted_to_where_the_cpu_converts) {
  on_kernels([] {
    const Operation add = [](Tensors t) { return at::add_out(t[2], t[0], t[1]); };
    same_as_cpu(add, {numbers({4}), numbers({4}), numbers({4}, at::kDouble)});
    same_as_cpu(add, {numbers({4}, at::kInt), numbers({4}, at::kLong), numbers({4}, at::kInt)});
    refused_as_by_cpu(add, {numbers({4}), numbers({4}), numbers({4}, at::kInt)});
    EXPECT_EQ(seen("add.Tensor(").count, 2u);
  });
}

TEST(BoundKernel, an_output_of_another_dtype_is_refused_where_the_cpu_refuses_it) {
  on_kernels([] {
    refused_as_by_cpu([](Tensors t) { return at::mm_out(t[2], t[0], t[1]); },
                      {numbers({2, 3}), numbers({3, 2}), numbers({2, 2}, at::kDouble)});
    refused_as_by_cpu([](Tensors t) { return at::nonzero_out(t[1], t[0]); }, {numbers({4}), numbers({4, 1})});
    refused_as_by_cpu([](Tensors t) { return at::argmax_out(t[1], t[0], 0); }, {numbers({4}), numbers({1})});
  });
}

TEST(BoundKernel, an_output_with_strides_of_its_own_is_written_through_them) {
  on_kernels([] {
    const Operation relu = [](Tensors t) { return at::relu_out(t[1], t[0]); };
    same_as_cpu(relu, {numbers({3, 4}), numbers({4, 3}).t()});
    same_as_cpu(relu, {numbers({3, 4}), numbers({3, 8}).slice(1, 0, 8, 2)});
    const Operation mul = [](Tensors t) { return at::mul_out(t[2], t[0], t[1]); };
    same_as_cpu(mul, {numbers({3, 4}), numbers({3, 4}), numbers({3, 8}).slice(1, 0, 8, 2)});
    EXPECT_EQ(seen("relu(").count, 2u);
    EXPECT_EQ(seen("mul.Tensor(").count, 1u);
  });
}

TEST(BoundKernel, an_output_with_gaps_is_written_directly_by_a_kernel_that_accepts_strides) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({3, 4}));
    at::Tensor out = on_device(numbers({3, 8})).slice(1, 0, 8, 2);
    at::mul_out(out, x, x);
    EXPECT_TRUE(lies_at(seen_result("mul.Tensor("), out));
    EXPECT_EQ(strides_of(seen_result("mul.Tensor(")), (std::vector<int64_t>{8, 2}));
  });
}

TEST(BoundKernel, a_malformed_in_place_call_is_refused_as_by_the_cpu) {
  on_kernels([] {
    refused_as_by_cpu([](Tensors t) { return t[0].add_(t[1]); }, {numbers({4}), numbers({3, 4})});
    refused_as_by_cpu([](Tensors t) { return t[0].add_(t[1]); }, {numbers({4}, at::kInt), numbers({4})});
    refused_as_by_cpu([](Tensors t) { return t[0].add(t[1]); }, {numbers({4}), numbers({3})});
    refused_as_by_cpu([](Tensors t) { return t[0].mm(t[1]); }, {numbers({4, 2}), numbers({3, 2})});
  });
}

// ----------------------------------------------------------------------------------------- aliases

TEST(BoundKernel, a_kernel_that_does_not_accept_aliases_gets_an_output_apart_from_its_input) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    x.relu_();
    EXPECT_TRUE(lies_at(seen_argument("relu(", 0), x));
    EXPECT_FALSE(lies_at(seen_result("relu("), x));
    expect_same(x, numbers({6}).relu());
  });
}

TEST(BoundKernel, a_kernel_that_accepts_aliases_writes_its_input) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({6}));
    x.mul_(on_device(numbers({6})));
    EXPECT_TRUE(lies_at(seen_argument("mul.Tensor(", 0), x));
    EXPECT_TRUE(lies_at(seen_result("mul.Tensor("), x));
    expect_same(x, numbers({6}).mul(numbers({6})));
  });
}

TEST(BoundKernel, an_output_that_overlaps_an_input_in_part_is_refused_as_by_the_cpu) {
  on_kernels([] {
    const Operation shifted = [](Tensors t) {
      at::Tensor out = t[0].narrow(0, 1, 4);
      return at::mul_out(out, t[0].narrow(0, 0, 4), t[0].narrow(0, 0, 4));
    };
    refused_as_by_cpu(shifted, {numbers({8})});
    const Operation expanded = [](Tensors t) {
      return t[0].narrow(0, 0, 1).expand({4}).mul_(t[0].narrow(0, 4, 4));
    };
    refused_as_by_cpu(expanded, {numbers({8})});
  });
}

TEST(BoundKernel, two_parts_of_one_tensor_may_be_input_and_output) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].narrow(0, 0, 4).mul_(t[0].narrow(0, 4, 4)); }, {numbers({8})});
    same_as_cpu([](Tensors t) { return t[0].narrow(0, 0, 4).add_(t[0].narrow(0, 4, 4)); }, {numbers({8})});
    EXPECT_EQ(seen("mul.Tensor(").count, 1u);
    EXPECT_EQ(seen("add.Tensor(").count, 1u);
  });
}

// --------------------------------------------------------------------------------------- answers

TEST(BoundKernel, a_declined_call_goes_to_the_cpu_and_the_ledger_says_why) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].neg(); }, {numbers({4})});
    same_as_cpu([](Tensors t) { return t[0].neg(); }, {numbers({5})});
    same_as_cpu([](Tensors t) { return t[0].neg_(); }, {numbers({5})});
    EXPECT_EQ(seen("neg(").count, 3u) << "it was asked";
    EXPECT_EQ(by_kernel("aten::neg"), 1u);
    EXPECT_EQ(by_cpu("aten::neg", Reason::kDeclined), 1u);
    EXPECT_EQ(by_cpu("aten::neg_", Reason::kDeclined), 1u);
  });
}

TEST(BoundKernel, a_sentence_that_an_earlier_call_left_is_no_reason_for_a_later_one) {
  on_kernels([] {
    const plug_host& host = load_module(plugin_path("kernels")).host;
    host.set_error(&host, "an old sentence");
    same_as_cpu([](Tensors t) { return t[0].neg(); }, {numbers({5})});
    host.set_error(&host, "an old sentence");
    std::thread([] { same_as_cpu([](Tensors t) { return t[0].neg(); }, {numbers({5})}); }).join();
    EXPECT_EQ(by_cpu("aten::neg", Reason::kDeclined), 2u);
    for (const LedgerEntry& entry : ledger_entries())
      EXPECT_EQ(entry.why.find("an old sentence"), std::string::npos) << entry.op;
  });
}

TEST(BoundKernel, a_dtype_the_device_does_not_have_goes_to_the_cpu_and_the_ledger_says_why) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {numbers({4}, at::kHalf)});
    EXPECT_EQ(seen("relu(").count, 0u);
    EXPECT_EQ(by_cpu("aten::relu", Reason::kInputDtype), 1u);
  });
}

TEST(BoundKernel, a_number_beside_a_float_tensor_does_not_cost_a_float_device_its_kernel) {
  alone([] {
    ::setenv("TORCHPLUG_KERNELS_FLOAT_ONLY", "1", 1);
    activate(plugin_path("kernels"));
    same_as_cpu([](Tensors t) { return t[0].add(2.5); }, {numbers({4})});
    EXPECT_EQ(seen("add.Tensor(").count, 1u);
    EXPECT_EQ(seen_argument("add.Tensor(", 1).dtype, PLUG_F32);
  });
}

TEST(BoundKernel, an_argument_the_kernel_does_not_know_is_the_cpus_unless_it_has_its_default) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].sub(t[1]); }, {numbers({4}), numbers({4}).mul(3)});
    EXPECT_EQ(by_kernel("aten::sub.Tensor"), 1u);
    EXPECT_EQ(seen("sub.Tensor(").arg_count, 2u);
    same_as_cpu([](Tensors t) { return t[0].sub(t[1], 2); }, {numbers({4}), numbers({4}).mul(3)});
    EXPECT_EQ(by_cpu("aten::sub.Tensor", Reason::kArguments), 1u);
    same_as_cpu([](Tensors t) { return t[0].sub_(t[1]); }, {numbers({4}), numbers({4}).mul(3)});
    EXPECT_EQ(by_kernel("aten::sub_.Tensor"), 1u);
    EXPECT_EQ(seen("sub.Tensor(").count, 2u);
  });
}

TEST(BoundKernel, none_is_the_cpus_where_the_kernel_needs_a_value) {
  on_kernels([] {
    const at::Tensor x = numbers({3, 4}).mul(-1);
    same_as_cpu([](Tensors t) { return t[0].argmax(1); }, {x});
    same_as_cpu([](Tensors t) { return t[0].argmax(0, true); }, {x});
    EXPECT_EQ(by_kernel("aten::argmax"), 2u);
    same_as_cpu([](Tensors t) { return t[0].argmax(); }, {x});
    EXPECT_EQ(by_cpu("aten::argmax", Reason::kArguments), 1u);
    EXPECT_EQ(seen("argmax(").count, 2u);
  });
}

TEST(BoundKernel, a_failure_names_the_operator_and_quotes_the_plugin_and_the_next_call_works) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({4}));
    const std::string text = error_of([&] { x.sinh_(); });
    expect_says(text, {"kernels:0", "aten::sinh", "internal error", "the sine unit is on fire"});
    expect_one_sentence(text);
    expect_same(x, numbers({4}));
    expect_same(x.relu(), numbers({4}).relu());
  });
}

TEST(BoundKernel, kernels_that_fit_no_operator_cost_the_plugin_nothing_but_themselves) {
  alone([] {
    ::setenv("TORCHPLUG_KERNELS_UNFIT", "1", 1);
    EXPECT_EQ(activate(plugin_path("kernels")), "kernels");
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {numbers({4})});
    same_as_cpu([](Tensors t) { return t[0].tanh(); }, {numbers({4})});
    EXPECT_EQ(by_kernel("aten::relu"), 1u);
    EXPECT_EQ(by_cpu("aten::tanh", Reason::kNoKernel), 1u);
  });
}

TEST(BoundKernel, a_number_is_returned_by_value) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    EXPECT_TRUE(x.equal(on_device(numbers({4}))));
    EXPECT_FALSE(x.equal(on_device(numbers({4}).mul(2))));
    EXPECT_FALSE(x.equal(on_device(numbers({2, 2}))));
    EXPECT_EQ(seen("equal(").count, 3u);
  });
}

TEST(BoundKernel, a_kernel_may_shape_its_output) {
  on_kernels([] {
    for (const at::Tensor& x : {numbers({3, 4}), numbers({3, 4}).relu(), at::full({4}, 0.0)}) {
      expect_same(on_device(x).nonzero(), x.nonzero().contiguous());
    }
    at::Tensor out = on_device(numbers({0}, at::kLong));
    at::nonzero_out(out, on_device(numbers({5})));
    EXPECT_TRUE(out.cpu().equal(numbers({5}).nonzero()));
    EXPECT_EQ(seen("nonzero(").count, 4u);
  });
}

TEST(BoundKernel, a_pointwise_call_on_nothing_does_not_bother_the_kernel) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {at::empty({0, 3})});
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {at::empty({0, 3}), numbers({3})});
    EXPECT_EQ(seen("relu(").count, 0u);
    same_as_cpu([](Tensors t) { return t[0].sum(0); }, {at::empty({0, 3})});
    EXPECT_EQ(seen("sum.dim_IntList(").count, 1u) << "sums of nothing are something";
  });
}

TEST(BoundKernel, gradients_flow_through_it) {
  on_kernels([] {
    const auto gradient = [](const c10::Device& where) {
      at::Tensor x = numbers({4, 3}).to(where).requires_grad_();
      x.mul(x).sub(x).relu().sum(1).mul(2).sum().backward();
      return x.grad();
    };
    expect_same(gradient(device()), gradient(at::kCPU));
    EXPECT_GT(seen("mul.Tensor(").count, 2u) << "forward and backward";
  });
}

// -------------------------------------------------------------------------------- what it may ask

TEST(BoundKernel, scratch_memory_is_there_for_a_call_and_then_goes_back) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({3, 5}));
    const auto held = [] { return DeviceAllocator::instance().getDeviceStats(0).allocation[0].current; };
    const int64_t before = held();
    expect_same(x.cumsum(0), numbers({3, 5}).cumsum(0));
    expect_same(x.cumsum(1), numbers({3, 5}).cumsum(1));
    EXPECT_EQ(seen("cumsum(").count, 2u);
    EXPECT_EQ(held(), before);
  });
}

TEST(BoundKernel, no_scratch_memory_may_be_asked_for) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].cumsum(0); }, {at::empty({3, 0})});
    EXPECT_EQ(seen("cumsum(").status, PLUG_OK);
  });
}

TEST(BoundKernel, scratch_memory_that_is_not_there_is_an_out_of_memory_error_of_one_sentence) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    const std::string text = error_of<c10::OutOfMemoryError>([&] { x.cosh(); });
    expect_says(text, {"aten::cosh", "the device has no memory left"});
    expect_one_sentence(text);
    EXPECT_EQ(seen("cosh(").status, PLUG_NO_MEMORY);
    expect_same(x.relu(), numbers({4}).relu());
  });
}

TEST(BoundKernel, a_random_kernel_draws_from_the_devices_generator) {
  on_kernels([] {
    at::Generator generator = default_generator(0);
    generator.set_current_seed(7);
    const at::Tensor first = at::rand({10}, at::device(device()));
    EXPECT_EQ(generator.get_offset(), 12u) << "ten numbers, in fours";
    const at::Tensor second = at::rand({10}, at::device(device()));
    EXPECT_EQ(generator.get_offset(), 24u);
    EXPECT_FALSE(first.cpu().equal(second.cpu()));
    generator.set_current_seed(7);
    EXPECT_TRUE(at::rand({10}, at::device(device())).cpu().equal(first.cpu()));
    EXPECT_EQ(seen("uniform(").count, 3u);
  });
}

TEST(BoundKernel, a_random_kernel_given_a_generator_draws_from_that) {
  on_kernels([] {
    at::Generator own = new_generator(0);
    own.set_current_seed(7);
    const uint64_t before = default_generator(0).get_offset();
    at::Tensor x = on_device(numbers({8}));
    x.uniform_(2, 3, own);
    EXPECT_EQ(own.get_offset(), 8u);
    EXPECT_EQ(default_generator(0).get_offset(), before);
    EXPECT_EQ(seen("uniform(").args[3].tag, PLUG_VALUE_GENERATOR);
    EXPECT_TRUE(x.cpu().ge(2).logical_and(x.cpu().lt(3)).all().item<bool>());
  });
}

// An exception must not pass through the plugin, which may be C and hold locks.
TEST(BoundKernel, a_generator_of_another_device_is_an_answer_to_the_kernel_and_an_error_to_the_caller) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({8}));
    const at::Generator wrong = at::detail::getDefaultCPUGenerator();
    EXPECT_THROW(x.uniform_(0, 1, wrong), c10::Error);
    EXPECT_EQ(exported<uint64_t()>(plugin_path("kernels"), "kernels_rng_answers")(), seen("uniform(").count);
  });
}

// -------------------------------------------------------------------------------- hidden writes

using Norm = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

struct NormCase {
  at::Tensor input, weight, bias, mean, variance;

  NormCase on(const c10::Device& where) const {
    const auto copies = copies_of({input, weight, bias, mean, variance}, where);
    return {copies[0], copies[1], copies[2], copies[3], copies[4]};
  }
  Norm run() const { return at::native_batch_norm(input, weight, bias, mean, variance, true, 0.25, 1e-5); }
};

void expect_norm_as_on_cpu(const NormCase& given) {
  const NormCase here = given.on(at::kCPU);
  const NormCase there = given.on(device());
  const Norm expected = here.run();
  const Norm actual = there.run();
  expect_close(std::get<0>(actual), std::get<0>(expected));
  expect_close(std::get<1>(actual), std::get<1>(expected));
  expect_close(std::get<2>(actual), std::get<2>(expected));
  EXPECT_EQ(std::get<0>(actual).strides(), std::get<0>(expected).strides());
  expect_close(there.mean, here.mean);
  expect_close(there.variance, here.variance);
}

TEST(BoundKernel, what_a_kernel_writes_without_its_schemas_saying_so_reaches_the_caller) {
  on_kernels([] {
    const at::Tensor ones = at::full({3}, 1.0);
    expect_norm_as_on_cpu({numbers({4, 3, 2, 2}), numbers({3}), ones, ones.mul(2), ones.mul(3)});
    EXPECT_EQ(seen("native_batch_norm(").count, 1u);
    EXPECT_EQ(seen_argument("native_batch_norm(", 3).flags, uint32_t{PLUG_TENSOR_WRITTEN});
    EXPECT_EQ(seen_argument("native_batch_norm(", 1).flags, 0u);
  });
}

TEST(BoundKernel, a_result_has_the_strides_the_cpus_has_whatever_the_kernel_wrote) {
  on_kernels([] {
    const at::Tensor ones = at::full({3}, 1.0);
    const at::Tensor image = numbers({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
    expect_norm_as_on_cpu({image, numbers({3}), ones, ones.mul(2), ones.mul(3)});
    EXPECT_EQ(seen("native_batch_norm(").count, 1u);
    EXPECT_EQ(strides_of(seen_argument("native_batch_norm(", 0)), (std::vector<int64_t>{12, 4, 2, 1}));
  });
}

TEST(BoundKernel, what_a_kernel_writes_so_reaches_the_caller_through_strides) {
  on_kernels([] {
    const at::Tensor ones = at::full({3}, 1.0);
    const at::Tensor spread = at::full({6}, 2.0).slice(0, 0, 6, 2);
    expect_norm_as_on_cpu({numbers({4, 3, 2, 2}), numbers({3}), ones, spread, spread.mul(1)});
    EXPECT_EQ(seen("native_batch_norm(").count, 1u);
  });
}

}  // namespace
}  // namespace torchplug::tests
