// What a kernel is given: inputs as it said it accepts them, no copy where none is needed, and every
// argument in plug.h's terms.

#include <ATen/Context.h>
#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/index.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>

#include <limits>

#include "kernels_device.h"

namespace torchplug::tests {
namespace {

using Sizes = std::vector<int64_t>;
using Tensors = std::vector<at::Tensor>;

at::Tensor complex_numbers(at::IntArrayRef sizes) {
  return at::complex(numbers(sizes), numbers(sizes).mul(2).add(1));
}

TEST(KernelInputs, are_contiguous_unless_the_kernel_accepts_strides) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {numbers({4, 6}).slice(1, 0, 6, 2)});
    EXPECT_EQ(sizes_of(seen_argument("relu(", 0)), (Sizes{4, 3}));
    EXPECT_EQ(strides_of(seen_argument("relu(", 0)), (Sizes{3, 1}));
    same_as_cpu([](Tensors t) { return t[0].sum(0); }, {numbers({4, 6}).t()});
    EXPECT_EQ(strides_of(seen_argument("sum.dim_IntList(", 0)), (Sizes{4, 1}));
    same_as_cpu([](Tensors t) { return t[0].mul(t[0]); }, {numbers({4, 6}).slice(1, 0, 6, 2)});
    EXPECT_EQ(strides_of(seen_argument("mul.Tensor(", 0)), (Sizes{6, 2})) << "mul accepts strides";
  });
}

TEST(KernelInputs, that_are_contiguous_are_passed_where_they_lie) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4, 6}));
    x.relu();
    EXPECT_TRUE(lies_at(seen_argument("relu(", 0), x));
    x.narrow(0, 2, 2).relu();
    EXPECT_TRUE(lies_at(seen_argument("relu(", 0), x.narrow(0, 2, 2)));
  });
}

TEST(KernelInputs, of_a_pointwise_kernel_in_another_order_of_dimensions_are_passed_without_a_copy) {
  on_kernels([] {
    const at::Tensor image = numbers({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor there = on_device(image);
    ASSERT_EQ(there.strides(), image.strides());
    const at::Tensor result = there.relu();
    expect_same(result, image.relu());
    EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(lies_at(seen_argument("relu(", 0), there));
    EXPECT_TRUE(lies_at(seen_result("relu("), result));
    EXPECT_EQ(strides_of(seen_argument("relu(", 0)), (Sizes{60, 15, 3, 1})) << "contiguous, to the kernel";
    EXPECT_EQ(sizes_of(seen_argument("relu(", 0)), (Sizes{2, 4, 5, 3}));
    same_as_cpu([](Tensors t) { return t[0].relu(); }, {numbers({4, 6}).t()});
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {image, numbers({2, 3, 4, 5})});
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {numbers({3, 1, 1}), image});
  });
}

TEST(KernelInputs, that_are_dense_are_passed_where_they_lie_to_a_kernel_that_accepts_it) {
  on_kernels([] {
    const at::Tensor a = on_device(numbers({3, 2})).t();
    const at::Tensor b = on_device(numbers({3, 4}));
    expect_same(a.mm(b), numbers({3, 2}).t().mm(numbers({3, 4})));
    EXPECT_TRUE(lies_at(seen_argument("mm(", 0), a));
    EXPECT_EQ(strides_of(seen_argument("mm(", 0)), (Sizes{1, 2}));
    same_as_cpu([](Tensors t) { return t[0].mm(t[1]); },
                {numbers({3, 6}).slice(1, 0, 6, 2), numbers({3, 4})});
    EXPECT_EQ(strides_of(seen_argument("mm(", 0)), (Sizes{3, 1})) << "with gaps it is copied";
  });
}

TEST(KernelInputs, are_expanded_to_the_result_unless_the_kernel_broadcasts) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {numbers({3, 1}), numbers({4})});
    EXPECT_EQ(sizes_of(seen_argument("add.Tensor(", 0)), (Sizes{3, 4}));
    EXPECT_EQ(strides_of(seen_argument("add.Tensor(", 0)), (Sizes{4, 1}));
    EXPECT_EQ(sizes_of(seen_argument("add.Tensor(", 1)), (Sizes{3, 4}));
    same_as_cpu([](Tensors t) { return t[0].mul(t[1]); }, {numbers({3, 1}), numbers({4})});
    EXPECT_EQ(sizes_of(seen_argument("mul.Tensor(", 0)), (Sizes{3, 1}));
    EXPECT_EQ(sizes_of(seen_argument("mul.Tensor(", 1)), (Sizes{4}));
    same_as_cpu([](Tensors t) { return t[0].add_(t[1]); }, {numbers({3, 4}), numbers({1, 4})});
    EXPECT_EQ(seen("add.Tensor(").count, 2u);
  });
}

TEST(KernelInputs, have_the_dtype_computed_in_unless_the_kernel_accepts_mixed_ones) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {numbers({4}, at::kInt), numbers({4})});
    EXPECT_EQ(seen_argument("add.Tensor(", 0).dtype, PLUG_F32);
    EXPECT_EQ(seen_argument("add.Tensor(", 1).dtype, PLUG_F32);
    same_as_cpu([](Tensors t) { return t[0].mul(t[1]); }, {numbers({4}, at::kInt), numbers({4})});
    EXPECT_EQ(seen_argument("mul.Tensor(", 0).dtype, PLUG_I32);
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).dtype, PLUG_F32);
    EXPECT_EQ(seen_result("mul.Tensor(").dtype, PLUG_F32);
    same_as_cpu([](Tensors t) { return t[0].add_(t[1]); }, {numbers({4}, at::kDouble), numbers({4})});
    same_as_cpu([](Tensors t) { return t[0].add(t[1]); }, {numbers({4}, at::kBool), numbers({4}, at::kLong)});
    EXPECT_EQ(seen("add.Tensor(").count, 3u);
  });
}

TEST(KernelInputs, that_are_numbers_are_tensors_of_the_device_unless_the_kernel_takes_the_hosts) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].add(2.5); }, {numbers({4})});
    EXPECT_EQ(seen_argument("add.Tensor(", 1).device, 0);
    EXPECT_EQ(seen_argument("add.Tensor(", 1).dtype, PLUG_F32);
    same_as_cpu([](Tensors t) { return t[0].mul(2.5); }, {numbers({4})});
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).device, PLUG_HOST);
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).ndim, 0);
    const at::Tensor three = at::full({}, 3.0);
    expect_same(on_device(numbers({4})).mul(three), numbers({4}).mul(three));
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).device, PLUG_HOST);
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).dtype, PLUG_F32);
  });
}

int64_t copies() { return exported<int64_t()>(plugin_path("kernels"), "kernels_copies")(); }

TEST(KernelInputs, that_are_numbers_on_the_host_are_converted_there) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    const at::Tensor wide = on_device(numbers({4}, at::kDouble));
    for (int i = 0; i < 3; ++i) {
      const int64_t before = copies();
      const at::Tensor halves = x.div(2.5);
      const at::Tensor counts = x.div(4);
      const at::Tensor wider = wide.div(at::full({}, 3, at::dtype(at::kInt)));
      EXPECT_EQ(copies(), before) << "nothing is uploaded";
      expect_same(halves, numbers({4}).div(2.5));
      expect_same(counts, numbers({4}).div(4));
      expect_same(wider, numbers({4}, at::kDouble).div(3));
    }
    EXPECT_EQ(seen("div.Tensor(").count, 9u);
    EXPECT_EQ(seen_argument("div.Tensor(", 1).device, PLUG_HOST);
    EXPECT_EQ(seen_argument("div.Tensor(", 1).ndim, 0);
    EXPECT_EQ(seen_argument("div.Tensor(", 1).dtype, PLUG_F64);
    x.div(2.5);
    EXPECT_EQ(seen_argument("div.Tensor(", 1).dtype, PLUG_F32);
    const at::Tensor whole = on_device(numbers({4}, at::kLong));
    same_as_cpu([](Tensors t) { return t[0].div(2); }, {numbers({4}, at::kLong)});
    EXPECT_EQ(seen_argument("div.Tensor(", 0).dtype, PLUG_F32) << "an integer's quotient is a fraction";
    EXPECT_EQ(seen_argument("div.Tensor(", 1).dtype, PLUG_F32);
    at::Tensor y = x.clone();
    y.div_(2.5);
    expect_same(y, numbers({4}).div(2.5));
    const at::Tensor image = numbers({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
    expect_same(on_device(image).div(2), image.div(2));
    EXPECT_EQ(seen_argument("div.Tensor(", 1).ndim, 0);
  });
}

TEST(KernelInputs, new_shapes_with_a_number_need_no_upload) {
  on_kernels([] {
    std::vector<at::Tensor> given;
    for (int64_t i = 1; i < 12; ++i) given.push_back(on_device(numbers({i, 2})));
    const int64_t before = copies();
    for (const at::Tensor& x : given) x.div(2.5);
    EXPECT_EQ(copies(), before);
    EXPECT_EQ(seen_argument("div.Tensor(", 1).dtype, PLUG_F32);
    expect_same(given[5].div(2.5), numbers({6, 2}).div(2.5));
  });
}

TEST(KernelInputs, a_number_that_has_a_dtype_the_device_lacks_is_converted_for_a_kernel_of_mixed_dtypes) {
  ::setenv("TORCHPLUG_KERNELS_FLOAT_ONLY", "1", 1);
  on_kernels([] {
    expect_same(on_device(numbers({4})).mul(2.5), numbers({4}).mul(2.5));
    EXPECT_EQ(seen("mul.Tensor(").count, 1u);
    EXPECT_EQ(seen_argument("mul.Tensor(", 1).dtype, PLUG_F32);
  });
  ::unsetenv("TORCHPLUG_KERNELS_FLOAT_ONLY");
}

TEST(KernelInputs, calls_of_pointwise_kernels_say_in_which_dtype_to_compute) {
  on_kernels([] {
    const at::Tensor whole = on_device(numbers({4}, at::kInt));
    for (int i = 0; i < 2; ++i) {
      expect_same(whole.eq(2.5), numbers({4}, at::kInt).eq(2.5));
      EXPECT_EQ(seen("eq.Scalar(").compute, PLUG_F32);
      EXPECT_EQ(seen_argument("eq.Scalar(", 0).dtype, PLUG_F32);
      EXPECT_EQ(seen_result("eq.Scalar(").dtype, PLUG_BOOL);
    }
    expect_same(whole.eq(1), numbers({4}, at::kInt).eq(1));
    EXPECT_EQ(seen("eq.Scalar(").compute, PLUG_I32);
    EXPECT_EQ(seen_argument("eq.Scalar(", 0).dtype, PLUG_I32);
    whole.mul(on_device(numbers({4}, at::kDouble)));
    EXPECT_EQ(seen("mul.Tensor(").compute, PLUG_F64);
    whole.add(whole, 2);
    EXPECT_EQ(seen("add.Tensor(").compute, PLUG_I32) << "alpha is no operand";
    const at::Tensor matrix = on_device(numbers({2, 2}));
    matrix.mm(matrix);
    EXPECT_EQ(seen("mm(").compute, 0u);
  });
}

TEST(KernelInputs, calls_have_the_schema_of_the_operator_as_it_was_called) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({4}));
    x.relu();
    EXPECT_STREQ(seen("relu(").schema, "aten::relu(Tensor self) -> Tensor");
    x.relu_();
    EXPECT_STREQ(seen("relu(").schema, "aten::relu_(Tensor(a!) self) -> Tensor(a!)");
  });
}

TEST(KernelInputs, a_kernel_may_have_dtypes_of_its_own) {
  on_kernels([] {
    expect_close(on_device(numbers({4}, at::kDouble)).exp(), numbers({4}, at::kDouble).exp());
    EXPECT_EQ(seen("exp(").count, 1u);
    expect_close(on_device(numbers({4})).exp(), numbers({4}).exp());
    EXPECT_EQ(seen("exp(").count, 1u);
    EXPECT_EQ(ledger_count("aten::exp", Way::kStage, Reason::kKernelInputDtype), 1u);
  });
  ::setenv("TORCHPLUG_KERNELS_FLOAT_ONLY", "1", 1);
  on_kernels([] {
    expect_close(on_device(numbers({4}, at::kDouble)).exp(), numbers({4}, at::kDouble).exp());
    EXPECT_EQ(seen("exp(").count, 1u) << "whatever the device's are";
  });
  ::unsetenv("TORCHPLUG_KERNELS_FLOAT_ONLY");
}

TEST(KernelInputs, on_the_host_that_are_no_numbers_are_refused) {
  on_kernels([] {
    const std::string text = error_of([] { on_device(numbers({4})).mul(numbers({4})); });
    expect_says(text, {"same device", "kernels:0", "cpu", "aten::mul.Tensor"});
    EXPECT_EQ(seen("mul.Tensor(").count, 0u);
  });
}

// PyTorch itself resolves both bits for most operators, but leaves conjugation to matrix products.
TEST(KernelInputs, that_are_lazily_conjugated_or_negated_are_resolved_unless_the_kernel_does_it) {
  on_kernels([] {
    const at::Tensor z = complex_numbers({4});
    const at::Tensor there = on_device(z);
    expect_close(there.conj().dot(there), z.conj().dot(z));
    EXPECT_EQ(seen("dot(").count, 1u);
    EXPECT_EQ(seen_argument("dot(", 0).flags, 0u);
    const at::Tensor matrix = there.view({2, 2});
    expect_close(matrix.conj().mm(matrix), z.view({2, 2}).conj().mm(z.view({2, 2})));
    EXPECT_EQ(seen_argument("mm(", 0).flags, uint32_t{PLUG_TENSOR_CONJ});
    EXPECT_TRUE(lies_at(seen_argument("mm(", 0), there));
    EXPECT_EQ(seen_argument("mm(", 1).flags, 0u);
    expect_close(there.conj().add(there), z.conj().add(z));
    const at::Tensor imaginary = at::imag(there.conj());
    ASSERT_TRUE(imaginary.is_neg());
    expect_close(imaginary.relu(), at::imag(z.conj()).relu());
    EXPECT_EQ(seen_argument("relu(", 0).flags, 0u);
  });
}

TEST(KernelInputs, a_conjugated_output_receives_the_value_meant) {
  on_kernels([] {
    const at::Tensor z = complex_numbers({4});
    const auto run = [&](const c10::Device& where) {
      at::Tensor target = z.to(where).clone();
      at::Tensor lazy = target.conj();
      lazy.add_(z.to(where));
      return target;
    };
    expect_close(run(device()), run(at::kCPU));
  });
}

TEST(KernelInputs, results_are_marked_as_written_and_other_tensors_are_not) {
  on_kernels([] {
    at::Tensor x = on_device(numbers({4}));
    x.mul(x);
    EXPECT_EQ(seen_argument("mul.Tensor(", 0).flags, 0u);
    EXPECT_EQ(seen_result("mul.Tensor(").flags, uint32_t{PLUG_TENSOR_WRITTEN});
  });
}

TEST(KernelInputs, calls_are_numbered_and_say_whether_the_user_wants_determinism) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    x.relu();
    const uint64_t first = seen("relu(").sequence;
    EXPECT_EQ(seen("relu(").flags & PLUG_CALL_DETERMINISTIC, 0u);
    at::globalContext().setDeterministicAlgorithms(true, false);
    x.relu();
    EXPECT_GT(seen("relu(").sequence, first);
    EXPECT_EQ(seen("relu(").flags & PLUG_CALL_DETERMINISTIC, uint64_t{PLUG_CALL_DETERMINISTIC});
  });
}

// Both ways a kernel is called: as it is, and with its inputs prepared.
bool may_be_fast(const at::Tensor& x) {
  x.mm(x);
  const uint64_t direct = seen("mm(").flags;
  at::Tensor into = at::empty_like(x);
  at::mm_out(into, x, x.t());
  EXPECT_EQ(seen("mm(").flags, direct);
  x.relu();
  EXPECT_EQ(seen("relu(").flags & PLUG_CALL_FAST_F32, 0u) << "relu multiplies nothing";
  return (direct & PLUG_CALL_FAST_F32) != 0;
}

TEST(KernelInputs, calls_say_whether_products_may_lose_precision) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({3, 3}));
    EXPECT_FALSE(may_be_fast(x));
    for (const char* precision : {"high", "medium"}) {
      at::globalContext().setFloat32MatmulPrecision(precision);
      EXPECT_TRUE(may_be_fast(x)) << precision;
    }
    at::globalContext().setFloat32MatmulPrecision("highest");
    EXPECT_FALSE(may_be_fast(x));
  });
}

TEST(KernelInputs, the_precision_of_all_devices_reaches_kernels_and_that_of_another_does_not) {
  using at::Float32Backend, at::Float32Op, at::Float32Precision;
  on_kernels([] {
    const at::Tensor x = on_device(numbers({3, 3}));
    at::Context& context = at::globalContext();
    // PyTorch answers float32MatmulPrecision() in none of these: it was not set that way.
    context.setFloat32Precision(Float32Backend::GENERIC, Float32Op::ALL, Float32Precision::TF32);
    EXPECT_TRUE(may_be_fast(x));
    context.setFloat32Precision(Float32Backend::GENERIC, Float32Op::ALL, Float32Precision::IEEE);
    EXPECT_FALSE(may_be_fast(x));
    context.setFloat32Precision(Float32Backend::CUDA, Float32Op::MATMUL, Float32Precision::TF32);
    EXPECT_ANY_THROW(context.float32MatmulPrecision());
    EXPECT_FALSE(may_be_fast(x));
    context.setFloat32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL, Float32Precision::BF16);
    EXPECT_ANY_THROW(context.float32MatmulPrecision());
    EXPECT_FALSE(may_be_fast(x));
    context.setFloat32MatmulPrecision("high");
    EXPECT_TRUE(may_be_fast(x));
  });
}

// ------------------------------------------------------------------------ other kinds of argument

TEST(KernelArguments, lists_of_numbers_and_options) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return t[0].sum(at::IntArrayRef({0, 2}), true); }, {numbers({2, 3, 4})});
    const seen_calls& sum = seen("sum.dim_IntList(");
    EXPECT_EQ(sum.arg_count, 4u);
    EXPECT_EQ(sum.args[1].tag, PLUG_VALUE_INTS);
    EXPECT_EQ(sum.args[1].count, 2u);
    EXPECT_EQ(sum.args[1].ints[1], 2);
    EXPECT_EQ(sum.args[2].tag, PLUG_VALUE_BOOL);
    EXPECT_EQ(sum.args[2].i, 1);
    EXPECT_EQ(sum.args[3].tag, PLUG_NONE);
    same_as_cpu([](Tensors t) { return t[0].sum(at::OptionalIntArrayRef(), false); }, {numbers({2, 3, 4})});
    EXPECT_EQ(sum.args[1].tag, PLUG_NONE);
    EXPECT_EQ(sum.count, 2u);
  });
}

TEST(KernelArguments, lists_of_tensors) {
  on_kernels([] {
    same_as_cpu([](Tensors t) { return at::cat(t); }, {numbers({2, 3}), numbers({1, 3}), numbers({4, 3})});
    const seen_value& list = seen("cat(").args[0];
    EXPECT_EQ(list.tag, PLUG_VALUE_TENSORS);
    EXPECT_EQ(list.count, 3u);
    EXPECT_EQ(sizes_of(list.tensors[2]), (Sizes{4, 3}));
    same_as_cpu([](Tensors t) { return at::cat(t, 1); }, {numbers({2, 3}), numbers({2, 1})});
    same_as_cpu([](Tensors t) { return at::cat(t); }, {numbers({2, 3}), numbers({3, 2}).t()});
    EXPECT_EQ(seen("cat(").count, 3u);
  });
}

TEST(KernelArguments, lists_of_tensors_of_which_some_are_absent) {
  on_kernels([] {
    const at::Tensor x = numbers({3, 4});
    const at::Tensor rows = at::full({2}, 1, at::dtype(at::kLong));
    const at::Tensor there = on_device(x);
    const at::Tensor result = at::index(there, {{}, on_device(rows)});
    expect_same(result, at::index(x, {{}, rows}));
    const seen_value& list = seen("index.Tensor(").args[1];
    EXPECT_EQ(list.tag, PLUG_VALUE_TENSORS);
    EXPECT_EQ(list.count, 2u);
    EXPECT_EQ(list.tensors[0].ndim, -1);
    EXPECT_EQ(list.tensors[1].dtype, PLUG_I64);
  });
}

TEST(KernelArguments, text) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    expect_close(at::gelu(x, "tanh"), at::gelu(numbers({4}), "tanh"));
    EXPECT_EQ(seen("gelu(").args[1].tag, PLUG_VALUE_STR);
    EXPECT_EQ(seen("gelu(").args[1].count, 4u);
    EXPECT_STREQ(seen("gelu(").args[1].text, "tanh");
  });
}

TEST(KernelArguments, dtypes_layouts_devices_and_memory_formats) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({1, 2, 3, 4}));
    const auto options = at::device(device()).dtype(at::kInt).layout(at::kStrided);
    const at::Tensor result = at::full_like(x, 7, options, at::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(result.cpu().eq(7).all().item<bool>());
    EXPECT_EQ(result.scalar_type(), at::kInt);
    const seen_value* args = seen("full_like(").args;
    EXPECT_EQ(args[2].tag, PLUG_VALUE_DTYPE);
    EXPECT_EQ(args[2].u, uint64_t{PLUG_I32});
    EXPECT_EQ(args[3].tag, PLUG_VALUE_LAYOUT);
    EXPECT_EQ(args[3].i, 0);
    EXPECT_EQ(args[4].tag, PLUG_VALUE_DEVICE);
    EXPECT_EQ(args[4].i, 0);
    EXPECT_EQ(args[6].tag, PLUG_VALUE_FORMAT);
    EXPECT_EQ(args[6].i, 2);
  });
}

TEST(KernelArguments, numbers_of_every_kind) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4}));
    const auto kind_of = [&](const at::Scalar& value) {
      at::full_like(x, value);
      return seen("full_like(").args[1];
    };
    EXPECT_EQ(kind_of(5).tag, PLUG_VALUE_INT);
    EXPECT_EQ(kind_of(5).i, 5);
    EXPECT_EQ(kind_of(2.5).tag, PLUG_VALUE_FLOAT);
    EXPECT_EQ(kind_of(2.5).f, 2.5);
    EXPECT_EQ(kind_of(true).tag, PLUG_VALUE_BOOL);
    at::full_like(on_device(complex_numbers({2})), c10::complex<double>(1, -2));
    EXPECT_EQ(seen("full_like(").args[1].tag, PLUG_VALUE_COMPLEX);
    EXPECT_EQ(seen("full_like(").args[1].floats[1], -2);
  });
}

TEST(KernelArguments, a_number_beyond_the_signed_ones_is_unsigned) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({2}));
    at::full_like(x, at::Scalar(std::numeric_limits<uint64_t>::max()));
    EXPECT_EQ(seen("full_like(").args[1].tag, PLUG_VALUE_UINT);
    EXPECT_EQ(seen("full_like(").args[1].u, std::numeric_limits<uint64_t>::max());
  });
}

}  // namespace
}  // namespace torchplug::tests
