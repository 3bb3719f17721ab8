// Two calls share a plan exactly if nothing differs that can decide what their outputs look like.

#include "aten/plan/plan_key.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DefaultDtype.h>

#include <cmath>
#include <thread>

#include "aten/plan/plan_cache.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

using Stack = std::vector<c10::IValue>;

bool same_key(const Stack& a, const Stack& b, Numbers numbers = Numbers::kClass) {
  const PlanKey first(a, numbers);
  const PlanKey second(b, numbers);
  EXPECT_EQ(first == second, first.hash() == second.hash()) << "a hash of these that says nothing";
  return first == second;
}

at::Tensor tensor(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  return at::empty(sizes, at::dtype(dtype));
}

TEST(PlanKey, is_the_same_for_other_tensors_of_the_same_look) {
  EXPECT_TRUE(same_key({tensor({2, 3}), 1, 2.5, true, "text", c10::IValue()},
                       {tensor({2, 3}), 1, 2.5, true, "text", c10::IValue()}));
}

TEST(PlanKey, counts_sizes_and_their_number) {
  EXPECT_FALSE(same_key({tensor({2, 3})}, {tensor({2, 4})}));
  EXPECT_FALSE(same_key({tensor({2, 3})}, {tensor({3, 2})}));
  EXPECT_FALSE(same_key({tensor({2, 3})}, {tensor({2, 3, 1})}));
  EXPECT_FALSE(same_key({tensor({})}, {tensor({1})}));
}

TEST(PlanKey, counts_strides) {
  EXPECT_FALSE(same_key({tensor({4, 4})}, {tensor({4, 4}).t()}));
  EXPECT_FALSE(same_key({tensor({4, 4})}, {tensor({4, 8}).narrow(1, 0, 4)}));
  EXPECT_FALSE(same_key({tensor({4})}, {tensor({1}).expand({4})}));
}

TEST(PlanKey, counts_the_memory_format) {
  const at::Tensor image = tensor({2, 3, 4, 5});
  EXPECT_FALSE(same_key({image}, {image.contiguous(at::MemoryFormat::ChannelsLast)}));
}

TEST(PlanKey, does_not_count_where_in_its_storage_a_tensor_lies) {
  EXPECT_TRUE(same_key({tensor({8}).narrow(0, 0, 4)}, {tensor({8}).narrow(0, 4, 4)}));
}

TEST(PlanKey, counts_dtypes) { EXPECT_FALSE(same_key({tensor({2})}, {tensor({2}, at::kDouble)})); }

TEST(PlanKey, counts_lazy_conjugation_and_negation) {
  const at::Tensor z = tensor({2}, at::kComplexFloat);
  EXPECT_FALSE(same_key({z}, {z.conj()}));
  const at::Tensor x = tensor({2});
  EXPECT_FALSE(same_key({x}, {x._neg_view()}));
}

TEST(PlanKey, counts_whether_a_number_was_wrapped_as_a_tensor) {
  const at::Tensor plain = tensor({}, at::kDouble);
  const at::Tensor wrapped = tensor({}, at::kDouble);
  wrapped.unsafeGetTensorImpl()->set_wrapped_number(true);
  EXPECT_FALSE(same_key({plain}, {wrapped}));
}

TEST(PlanKey, counts_the_device_and_its_index) {
  on_sim([] {
    const at::Tensor x = numbers({4});
    EXPECT_FALSE(same_key({x}, {on_device(x, 0)}));
    EXPECT_FALSE(same_key({on_device(x, 0)}, {on_device(x, 1)}));
    EXPECT_FALSE(same_key({device(0)}, {device(1)}));
    EXPECT_FALSE(same_key({c10::Device(c10::kCPU)}, {device(0)}));
    EXPECT_TRUE(same_key({on_device(x, 1)}, {on_device(x, 1)}));
  });
}

TEST(PlanKey, counts_which_optional_arguments_are_there) {
  EXPECT_FALSE(same_key({tensor({2}), c10::IValue()}, {tensor({2}), tensor({2})}));
  EXPECT_FALSE(same_key({c10::IValue()}, {at::Tensor()}));
  EXPECT_FALSE(same_key({c10::IValue(), tensor({2})}, {tensor({2}), c10::IValue()}));
  EXPECT_FALSE(same_key({c10::IValue()}, {at::detail::getDefaultCPUGenerator()}));
}

TEST(PlanKey, counts_integers_and_booleans_and_tells_them_apart) {
  EXPECT_FALSE(same_key({1}, {2}));
  EXPECT_FALSE(same_key({0}, {-1}));
  EXPECT_FALSE(same_key({true}, {false}));
  EXPECT_FALSE(same_key({1}, {true}));
}

TEST(PlanKey, counts_a_dtype_argument) {
  EXPECT_FALSE(same_key({c10::IValue(at::kFloat)}, {c10::IValue(at::kDouble)}));
  EXPECT_FALSE(same_key({c10::IValue(at::kFloat)}, {c10::IValue()}));
}

TEST(PlanKey, counts_the_kind_of_a_number_but_not_its_value) {
  EXPECT_FALSE(same_key({1}, {1.0}));
  EXPECT_FALSE(same_key({1.0}, {c10::complex<double>(1, 0)}));
  EXPECT_TRUE(same_key({1e-3}, {0.25}));
  EXPECT_TRUE(same_key({2.0}, {100.5}));
  EXPECT_TRUE(same_key({c10::complex<double>(3, 0)}, {c10::complex<double>(2, 0)}));
}

TEST(PlanKey, counts_of_a_number_what_operators_refuse_it_for) {
  for (double number : {-1.0, 0.0, 0.5, 2.0, double(NAN), double(INFINITY)})
    EXPECT_FALSE(same_key({1.0}, {number})) << number;
  EXPECT_FALSE(same_key({0.5}, {-0.5}));
  EXPECT_FALSE(same_key({c10::complex<double>(3, 0)}, {c10::complex<double>(3, 2)}));
}

TEST(PlanKey, counts_which_dtypes_can_hold_a_number) {
  EXPECT_FALSE(same_key({127.0}, {128.0}));
  EXPECT_FALSE(same_key({127.0}, {127.5}));
  EXPECT_TRUE(same_key({-2.0}, {-127.0}));
  EXPECT_FALSE(same_key({-128.0}, {-129.0}));
  EXPECT_FALSE(same_key({255.0}, {256.0}));
  EXPECT_FALSE(same_key({32767.0}, {32768.0}));
  EXPECT_FALSE(same_key({65504.0}, {65505.0}));
  EXPECT_FALSE(same_key({2147483647.0}, {2147483648.0}));
  EXPECT_FALSE(same_key({0x1p63}, {0x1p63 - 1024}));
  EXPECT_FALSE(same_key({3.4028234663852886e38}, {3.41e38}));
}

TEST(PlanKey, counts_nothing_else_of_a_number_that_is_refused_for_nothing_else) {
  const auto same = [](at::ScalarType dtype, double a, double b) {
    return same_key({tensor({2}, dtype), a}, {tensor({2}, dtype), b}, Numbers::kRange);
  };
  EXPECT_TRUE(same(at::kFloat, -1.0, 2000.0));
  EXPECT_TRUE(same(at::kLong, 0.0, -1.0));
  EXPECT_FALSE(same(at::kFloat, 3.4028234663852886e38, 3.41e38));
  EXPECT_FALSE(same(at::kInt, 2147483647.0, 2147483648.0));
  EXPECT_TRUE(same(at::kByte, 0.5, 100.0));
  EXPECT_FALSE(same(at::kByte, 255.0, 256.0));
  EXPECT_FALSE(same(at::kChar, -128.0, -129.0));
  EXPECT_FALSE(same(at::kChar, 128.0, -128.0));
  EXPECT_FALSE(same_key({1.0}, {1}, Numbers::kRange));
}

TEST(PlanKey, counts_what_some_dtype_refuses_of_a_number) {
  const auto same = [](at::ScalarType dtype, double a, double b) {
    return same_key({tensor({2}, dtype), a}, {tensor({2}, dtype), b}, Numbers::kRange);
  };
  EXPECT_FALSE(same(at::kInt, 1.0, double(NAN)));
  EXPECT_FALSE(same(at::kByte, 0.5, -0.5));
  EXPECT_FALSE(same(at::kUInt32, 1.0, -1.0));
  EXPECT_FALSE(same_key({1.0}, {double(NAN)}, Numbers::kRange)) << "a factory's dtype may be any";
  EXPECT_FALSE(same_key({1.0}, {-1.0}, Numbers::kRange));
  EXPECT_FALSE(same_key({1.0}, {200.0}, Numbers::kRange));
}

TEST(PlanKey, counts_which_of_two_numbers_is_larger) {
  EXPECT_TRUE(same_key({2.0, 3.0}, {20.0, 30.0}));
  EXPECT_FALSE(same_key({2.0, 3.0}, {3.0, 2.0}));
  EXPECT_FALSE(same_key({2.0, 3.0}, {3.0, 3.0}));
}

TEST(PlanKey, counts_an_integer_given_for_a_number_like_any_number) {
  const auto same = [](const c10::IValue& a, const c10::IValue& b) {
    return PlanKey(Stack{a}, Numbers::kClass, {true}) == PlanKey(Stack{b}, Numbers::kClass, {true});
  };
  EXPECT_TRUE(same(2, 3));
  EXPECT_FALSE(same(2, -3));
  EXPECT_FALSE(same(2, 2.0));
}

TEST(PlanKey, counts_the_value_of_a_number_where_shapes_depend_on_it) {
  EXPECT_FALSE(same_key({1.0}, {2.0}, Numbers::kValue));
  EXPECT_FALSE(same_key({0.0}, {-0.0}, Numbers::kValue));
  EXPECT_TRUE(same_key({2.0}, {2.0}, Numbers::kValue));
}

TEST(PlanKey, counts_the_value_of_a_complex_number_where_shapes_depend_on_it) {
  EXPECT_FALSE(same_key({c10::complex<double>(1, 0)}, {c10::complex<double>(2, 0)}, Numbers::kValue));
}

TEST(PlanKey, counts_text) {
  EXPECT_FALSE(same_key({"none"}, {"tanh"}));
  EXPECT_FALSE(same_key({"a long text that differs"}, {"a long text that differs late"}));
  EXPECT_FALSE(same_key({"reflect_1"}, {"reflect_2"}));
  EXPECT_FALSE(same_key({""}, {c10::IValue()}));
}

TEST(PlanKey, counts_lists_their_order_and_where_one_ends) {
  using Ints = std::vector<int64_t>;
  EXPECT_FALSE(same_key({Ints{1, 2}}, {Ints{2, 1}}));
  EXPECT_FALSE(same_key({Ints{1, 2}, Ints{}}, {Ints{1}, Ints{2}}));
  EXPECT_FALSE(same_key({Ints{}}, {c10::IValue()}));
  EXPECT_FALSE(same_key({std::vector<bool>{true, false}}, {std::vector<bool>{true, true}}));
  EXPECT_TRUE(same_key({Ints{1, 2}}, {Ints{1, 2}}));
}

TEST(PlanKey, counts_lists_of_tensors_and_which_of_them_are_there) {
  using Optionals = c10::List<std::optional<at::Tensor>>;
  const at::Tensor x = tensor({2});
  EXPECT_FALSE(same_key({std::vector<at::Tensor>{x, x}}, {std::vector<at::Tensor>{x}}));
  EXPECT_FALSE(same_key({std::vector<at::Tensor>{x}}, {std::vector<at::Tensor>{tensor({3})}}));
  EXPECT_FALSE(same_key({Optionals({x, std::nullopt})}, {Optionals({std::nullopt, x})}));
  EXPECT_TRUE(same_key({Optionals({x, std::nullopt})}, {Optionals({tensor({2}), std::nullopt})}));
}

TEST(PlanKey, counts_the_default_dtype) {
  const Stack call{tensor({2}, at::kLong)};
  const PlanKey before(call, Numbers::kClass);
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const PlanKey after(call, Numbers::kClass);
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  EXPECT_FALSE(before == after);
  EXPECT_TRUE(before == PlanKey(call, Numbers::kClass));
}

TEST(PlanKey, counts_deterministic_mode) {
  const Stack call{tensor({2})};
  const PlanKey before(call, Numbers::kClass);
  at::globalContext().setDeterministicAlgorithms(true, false);
  const PlanKey during(call, Numbers::kClass);
  at::globalContext().setDeterministicAlgorithms(false, false);
  EXPECT_FALSE(before == during);
}

// ------------------------------------------------------------------------------------ the kind

bool same_kind(const Stack& a, const Stack& b) {
  return PlanKey(a, Numbers::kClass, {}, KeyOf::kKind) == PlanKey(b, Numbers::kClass, {}, KeyOf::kKind);
}

TEST(CallKind, is_the_same_whatever_the_sizes) {
  EXPECT_TRUE(same_kind({tensor({2, 3}), 2}, {tensor({4, 5}), 3}));
  EXPECT_TRUE(same_kind({tensor({4, 4}).t()}, {tensor({5, 3}).t()}));
  const at::Tensor x = tensor({4});
  EXPECT_TRUE(same_kind({x, x}, {x, tensor({4})}));
}

TEST(CallKind, counts_everything_else) {
  EXPECT_FALSE(same_kind({tensor({2, 3})}, {tensor({2, 3, 4})}));
  EXPECT_FALSE(same_kind({tensor({2})}, {tensor({2}, at::kDouble)}));
  EXPECT_FALSE(same_kind({tensor({2}), true}, {tensor({2}), false}));
  EXPECT_FALSE(same_kind({tensor({2}), 1}, {tensor({2}), -1}));
  EXPECT_FALSE(same_kind({tensor({2}), c10::IValue()}, {tensor({2}), tensor({2})}));
}

TEST(CallKind, counts_whether_there_are_elements) {
  EXPECT_FALSE(same_kind({tensor({2, 3})}, {tensor({0, 3})}));
}

TEST(CallKind, counts_how_elements_lie_in_memory) {
  EXPECT_FALSE(same_kind({tensor({4, 4})}, {tensor({4, 4}).t()}));
  EXPECT_FALSE(same_kind({tensor({4, 4}).t()}, {tensor({4, 8}).narrow(1, 0, 4)}));
  const at::Tensor image = tensor({2, 3, 4, 5});
  const at::Tensor last = image.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_FALSE(same_kind({image}, {last}));
  EXPECT_FALSE(same_kind({image.transpose(2, 3)}, {last}));
  EXPECT_FALSE(same_kind({image.narrow(3, 0, 2)}, {last.narrow(3, 0, 2)}));
}

// ----------------------------------------------------------------------------------- the cache

PlanKey key_of(int64_t number) { return PlanKey(Stack{number}, Numbers::kClass); }

int found(const PlanCache<int>& cache, int64_t number) {
  const int* plan = cache.peek(key_of(number));
  return plan == nullptr ? -1 : *plan;
}

// From another thread, which remembers nothing.
bool is_kept(const PlanCache<int>& cache, int64_t number) {
  bool is_there = false;
  std::thread([&] { is_there = cache.peek(key_of(number)) != nullptr; }).join();
  return is_there;
}

// More than it has room for.
void fill(PlanCache<int>& cache) {
  for (int64_t number = 1; number <= 10000; ++number) cache.insert(key_of(number), std::make_shared<int>(0));
}

TEST(PlanCache, finds_what_was_put_in_and_nothing_else) {
  PlanCache<int> cache;
  cache.insert(key_of(1), std::make_shared<int>(10));
  cache.insert(key_of(2), std::make_shared<int>(20));
  EXPECT_EQ(found(cache, 1), 10);
  EXPECT_EQ(found(cache, 2), 20);
  EXPECT_EQ(found(cache, 3), -1);
  cache.insert(key_of(1), std::make_shared<int>(11));
  EXPECT_EQ(found(cache, 1), 11);
}

TEST(PlanCache, is_bounded) {
  PlanCache<int> cache;
  cache.insert(key_of(0), std::make_shared<int>(7));
  fill(cache);
  EXPECT_FALSE(is_kept(cache, 0)) << "it holds everything for ever";
  EXPECT_TRUE(is_kept(cache, 10000));
}

TEST(PlanCache, a_plan_that_a_thread_found_last_outlives_its_place) {
  PlanCache<int> cache;
  auto plan = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = plan;
  cache.insert(key_of(0), std::move(plan));
  const int* peeked = cache.peek(key_of(0));
  fill(cache);
  ASSERT_FALSE(is_kept(cache, 0));
  ASSERT_FALSE(watched.expired()) << "what the thread remembers is gone";
  EXPECT_EQ(cache.peek(key_of(0)), peeked);
  EXPECT_EQ(*peeked, 7);
  EXPECT_EQ(found(cache, 10000), 0);
  EXPECT_TRUE(watched.expired()) << "a thread remembers more than the last";
  EXPECT_EQ(found(cache, 0), -1);
}

TEST(PlanCache, a_plan_in_use_outlives_its_place) {
  PlanCache<int> cache;
  cache.insert(key_of(0), std::make_shared<int>(7));
  const std::shared_ptr<const int> used = cache.own(*cache.peek(key_of(0)));
  fill(cache);
  EXPECT_EQ(found(cache, 10000), 0);
  EXPECT_EQ(found(cache, 0), -1);
  EXPECT_EQ(*used, 7);
}

TEST(UnplannedCalls, are_met_again_if_they_come_again) {
  UnplannedCalls calls;
  EXPECT_FALSE(calls.has_met(key_of(1)));
  EXPECT_TRUE(calls.has_met(key_of(1)));
  for (int64_t number = 2; number < 1000; ++number) EXPECT_FALSE(calls.has_met(key_of(number)));
}

}  // namespace
}  // namespace torchplug::tests
