// Kernels of the sim plugin: PyTorch's results bit for bit, in stream order.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "sim_plugin.h"

namespace sim_test {
namespace {

template <class T>
constexpr plug_dtype kDtype = sizeof(T) == 4 ? PLUG_F32 : PLUG_F64;

plug_value integer(std::int64_t value) {
  plug_value made{PLUG_VALUE_INT, 0, {}};
  made.as.i = value;
  return made;
}

plug_value real(double value) {
  plug_value made{PLUG_VALUE_FLOAT, 0, {}};
  made.as.f = value;
  return made;
}

// A call of one kernel with contiguous vectors in device memory, as the host would make it.
template <class T>
class Call {
 public:
  Call(const std::string& schema_start, std::vector<std::vector<T>> inputs,
       std::vector<plug_value> scalars = {})
      : count_(static_cast<std::int64_t>(inputs[0].size())) {
    const plug_kernels& kernels = *plugin_.module().kernels;
    for (std::uint32_t i = 0; i < kernels.count; ++i) {
      if (std::string(kernels.list[i].schema).starts_with(schema_start)) {
        kernel_ = &kernels.list[i];
      }
    }
    tensors_.reserve(inputs.size() + 1);
    for (const auto& input : inputs) {
      args_.push_back(tensor());
      std::copy(input.begin(), input.end(), reinterpret_cast<T*>(memory_.back()->view()));
    }
    args_.insert(args_.end(), scalars.begin(), scalars.end());
    result_ = tensor();
  }

  plug_status enqueue(plug_stream stream = nullptr) {
    plug_call call{};
    call.size = sizeof call;
    call.device = 0;
    call.stream = stream;
    call.args = args_.data();
    call.arg_count = static_cast<std::uint32_t>(args_.size());
    call.results = &result_;
    call.result_count = 1;
    call.compute = kDtype<T>;
    return kernel_->fn(&call);
  }

  std::vector<T> run() {
    EXPECT_EQ(enqueue(), PLUG_OK) << last_error;
    EXPECT_EQ(plugin_->device_sync(0), PLUG_OK);
    return result();
  }

  std::vector<T> result() const {
    const auto* values = reinterpret_cast<const T*>(memory_.at(result_memory_)->view());
    return {values, values + count_};
  }

  void alias_result_with_input(std::size_t input) {
    result_ = args_[input];
    result_memory_ = input;
  }

  plug_tensor& tensor(std::size_t index) { return tensors_[index]; }
  void forget_arguments() {
    for (plug_tensor& tensor : tensors_) std::memset(&tensor, 0xff, sizeof tensor);
    count_before_ = std::exchange(count_, -1);
  }
  void remember_count() { count_ = count_before_; }

 private:
  plug_value tensor() {
    static constexpr std::int64_t kStride[] = {1};
    memory_.push_back(std::make_unique<Memory>(plugin_, 0, static_cast<std::uint64_t>(count_) * sizeof(T)));
    tensors_.push_back({memory_.back()->at(), kDtype<T>, 1, &count_, kStride, 0, 0, nullptr});
    result_memory_ = memory_.size() - 1;
    plug_value value{PLUG_VALUE_TENSOR, 1, {}};
    value.as.tensors = &tensors_.back();
    return value;
  }

  const Plugin& plugin_ = Plugin::shared();
  const plug_kernel* kernel_ = nullptr;
  std::int64_t count_;
  std::int64_t count_before_ = 0;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::vector<plug_tensor> tensors_;
  std::vector<plug_value> args_;
  plug_value result_{};
  std::size_t result_memory_ = 0;
};

template <class T>
auto bits(const std::vector<T>& values) {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::vector<Word> words;
  for (const T value : values) words.push_back(std::bit_cast<Word>(value));
  return words;
}

template <class T>
class SimKernel : public testing::Test {
 protected:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T kInf = std::numeric_limits<T>::infinity();
  static constexpr T kTiny = std::numeric_limits<T>::denorm_min();
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(SimKernel, Floats);

TYPED_TEST(SimKernel, relu_keeps_nan_and_minus_zero) {
  using T = TypeParam;
  const std::vector<T> x = {1,           -1,         T(0),        T(-0.0),     this->kNan,
                            -this->kNan, this->kInf, -this->kInf, this->kTiny, -this->kTiny};
  const std::vector<T> relu = {1, 0, T(0), T(-0.0), this->kNan, -this->kNan, this->kInf, 0, this->kTiny, 0};
  EXPECT_EQ(bits(Call<T>("aten::relu(", {x}).run()), bits(relu));
}

TYPED_TEST(SimKernel, add_without_alpha_is_a_sum) {
  using T = TypeParam;
  const std::vector<T> sum =
      Call<T>("aten::add.Tensor(", {{1, T(0.1), this->kInf}, {2, T(0.2), -1}}, {integer(1)}).run();
  EXPECT_EQ(bits(sum), bits(std::vector<T>{3, T(0.1) + T(0.2), this->kInf}));
}

TYPED_TEST(SimKernel, add_with_alpha_rounds_once) {
  using T = TypeParam;
  // 1 - (1 + e)(1 - e) is e squared, of which a product rounded first leaves nothing.
  const T e = std::numeric_limits<T>::epsilon();
  const std::vector<T> sum = Call<T>("aten::add.Tensor(", {{-1, 5}, {1 + e, 3}}, {real(1 - double(e))}).run();
  EXPECT_EQ(sum[0], -e * e);
  EXPECT_EQ(sum[1], std::fma(T(3), T(1 - double(e)), T(5)));
  const std::vector<T> difference = Call<T>("aten::add.Tensor(", {{5, 7}, {3, 4}}, {integer(-2)}).run();
  EXPECT_EQ(difference, (std::vector<T>{-1, -1}));
}

TYPED_TEST(SimKernel, mul_is_a_product) {
  using T = TypeParam;
  const std::vector<T> product = Call<T>("aten::mul.Tensor(", {{2, T(0.1), 0}, {3, T(0.3), -1}}).run();
  EXPECT_EQ(bits(product), bits(std::vector<T>{6, T(0.1) * T(0.3), T(-0.0)}));
}

TYPED_TEST(SimKernel, a_result_may_be_an_input) {
  using T = TypeParam;
  Call<T> call("aten::add.Tensor(", {{1, 2, 3}, {10, 20, 30}}, {integer(2)});
  call.alias_result_with_input(1);
  EXPECT_EQ(call.run(), (std::vector<T>{21, 42, 63}));
}

TYPED_TEST(SimKernel, a_single_element_is_expanded) {
  using T = TypeParam;
  Call<T> right("aten::mul.Tensor(", {{2, 3, 5}, {7, 0, 0}});
  right.tensor(1).ndim = 0;
  EXPECT_EQ(right.run(), (std::vector<T>{14, 21, 35}));
  Call<T> left("aten::add.Tensor(", {{1, 0, 0}, {10, 20, 30}}, {integer(1)});
  left.tensor(0).ndim = 0;
  EXPECT_EQ(left.run(), (std::vector<T>{11, 21, 31}));
}

TYPED_TEST(SimKernel, rows_and_columns_are_expanded_and_strides_are_followed) {
  using T = TypeParam;
  static constexpr std::int64_t kMatrix[] = {2, 3};
  static constexpr std::int64_t kDense[] = {3, 1};
  static constexpr std::int64_t kTransposed[] = {1, 2};
  static constexpr std::int64_t kColumn[] = {2, 1};
  const auto shape = [](plug_tensor& tensor, const std::int64_t* sizes, const std::int64_t* strides) {
    tensor.ndim = 2;
    tensor.sizes = sizes;
    tensor.strides = strides;
  };
  Call<T> call("aten::add.Tensor(", {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}}, {integer(1)});
  shape(call.tensor(0), kMatrix, kTransposed);
  shape(call.tensor(2), kMatrix, kDense);
  static constexpr std::int64_t kThree = 3;
  call.tensor(1).sizes = &kThree;  // a row
  EXPECT_EQ(call.run(), (std::vector<T>{11, 23, 35, 12, 24, 36}));
  shape(call.tensor(1), kColumn, kDense);  // the first and the fourth
  EXPECT_EQ(call.run(), (std::vector<T>{11, 13, 15, 42, 44, 46}));
  shape(call.tensor(2), kMatrix, kTransposed);
  EXPECT_EQ(call.run(), (std::vector<T>{11, 42, 13, 44, 15, 46}));
}

TYPED_TEST(SimKernel, a_number_of_the_host_is_read_when_the_call_is_made) {
  using T = TypeParam;
  const Plugin& plugin = Plugin::shared();
  const plug_stream stream = plugin.stream(0);
  Call<T> call("aten::mul.Tensor(", {{2, 3}, {0, 0}});
  double number = 2.5;
  call.tensor(1) = {{&number, 0, PLUG_HOST, 0}, PLUG_F64, 0, nullptr, nullptr, 0, 0, nullptr};
  {
    Gate gate(plugin, 0, stream);
    ASSERT_EQ(call.enqueue(stream), PLUG_OK);
    number = 100;
  }
  ASSERT_EQ(plugin->stream_sync(0, stream), PLUG_OK);
  EXPECT_EQ(call.result(), (std::vector<T>{5, 7.5}));
  plugin->stream_destroy(0, stream);
  const std::int64_t whole = -3;
  call.tensor(1) = {
      {const_cast<std::int64_t*>(&whole), 0, PLUG_HOST, 0}, PLUG_I64, 0, nullptr, nullptr, 0, 0, nullptr};
  EXPECT_EQ(call.run(), (std::vector<T>{-6, -9}));
}

TYPED_TEST(SimKernel, a_large_call_needs_no_team) {
  using T = TypeParam;
  const std::vector<T> many(100000, -1);
  EXPECT_EQ(Call<T>("aten::relu(", {many}).run(), std::vector<T>(many.size(), 0));
  EXPECT_EQ(Call<T>("aten::mul.Tensor(", {many, many}).run(), std::vector<T>(many.size(), 1));
}

TYPED_TEST(SimKernel, no_elements_are_no_work) {
  EXPECT_TRUE(Call<TypeParam>("aten::relu(", {{}}).run().empty());
}

TYPED_TEST(SimKernel, a_kernel_runs_in_stream_order_without_its_arguments) {
  using T = TypeParam;
  const Plugin& plugin = Plugin::shared();
  const plug_stream stream = plugin.stream(0);
  Call<T> call("aten::mul.Tensor(", {{2, 3}, {5, 7}});
  {
    Gate gate(plugin, 0, stream);
    ASSERT_EQ(call.enqueue(stream), PLUG_OK);
    call.forget_arguments();
    EXPECT_EQ(plugin->stream_query(0, stream), PLUG_NOT_READY);
  }
  ASSERT_EQ(plugin->stream_sync(0, stream), PLUG_OK);
  call.remember_count();
  EXPECT_EQ(call.result(), (std::vector<T>{10, 21}));
  plugin->stream_destroy(0, stream);
}

TYPED_TEST(SimKernel, what_the_kernel_does_not_know_is_unsupported) {
  using T = TypeParam;
  Call<T> call("aten::add.Tensor(", {{1, 2}, {3, 4}}, {integer(1)});
  for (const std::size_t tensor : {0, 1, 2}) {
    plug_tensor& changed = call.tensor(tensor);
    const plug_tensor good = changed;
    changed.dtype = PLUG_QI8;
    EXPECT_EQ(call.enqueue(), PLUG_UNSUPPORTED);
    EXPECT_NE(last_error.find("dtype"), std::string::npos) << last_error;
    changed = good;
    changed.layout = 1;
    EXPECT_EQ(call.enqueue(), PLUG_UNSUPPORTED);
    changed = good;
    changed.flags = PLUG_TENSOR_NEG;
    EXPECT_EQ(call.enqueue(), PLUG_UNSUPPORTED);
    changed = good;
    EXPECT_EQ(call.enqueue(), PLUG_OK);
  }
  // With a factor, PyTorch rounds differently where elements do not lie in a row.
  Call<T> scaled("aten::add.Tensor(", {{1, 2}, {3, 0}}, {integer(2)});
  scaled.tensor(1).ndim = 0;
  EXPECT_EQ(scaled.enqueue(), PLUG_UNSUPPORTED);
  const plug_value boolean{PLUG_VALUE_BOOL, 0, {1}};
  EXPECT_EQ((Call<T>("aten::add.Tensor(", {{1}, {2}}, {boolean}).enqueue()), PLUG_UNSUPPORTED);
}

TEST(SimKernels, the_plugin_can_hide_its_kernels) {
  EXPECT_NE(Plugin(Settings{{"sim.kernels", "on"}}).module().kernels, nullptr);
  EXPECT_EQ(Plugin(Settings{{"sim.kernels", "off"}}).module().kernels, nullptr);
  EXPECT_THROW(Plugin(Settings{{"sim.kernels", "some"}}), std::runtime_error);
  EXPECT_NE(last_error.find("TORCHPLUG_SIM_KERNELS"), std::string::npos) << last_error;
}

TEST(SimKernels, a_kernel_for_any_operator_is_there_when_asked_for) {
  EXPECT_EQ(Plugin(Settings{}).module().kernels->any, nullptr);
  EXPECT_NE(Plugin(Settings{{"sim.any", "on"}}).module().kernels->any, nullptr);
  EXPECT_THROW(Plugin(Settings{{"sim.any", "1"}}), std::runtime_error);
  EXPECT_NE(last_error.find("TORCHPLUG_SIM_ANY"), std::string::npos) << last_error;
}

TEST(SimKernels, a_scalar_too_big_for_the_type_is_left_to_pytorch) {
  EXPECT_EQ(Call<float>("aten::add.Tensor(", {{1}, {2}}, {real(1e300)}).enqueue(), PLUG_UNSUPPORTED);
  EXPECT_EQ(Call<double>("aten::add.Tensor(", {{1}, {2}}, {real(1e300)}).run()[0], 2e300);
  const float infinite = Call<float>("aten::add.Tensor(", {{1}, {2}}, {real(HUGE_VAL)}).run()[0];
  EXPECT_EQ(infinite, std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace sim_test
