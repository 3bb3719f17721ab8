// Two calls share a plan exactly if nothing differs that can decide what their outputs look like.

#include "aten/plan/plan_key.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DefaultDtype.h>

#include "aten/plan/plan_cache.h"
#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

using Stack = std::vector<c10::IValue>;

bool same_key(const Stack& a, const Stack& b, bool with_scalars = false) {
  const PlanKey first(a, with_scalars);
  const PlanKey second(b, with_scalars);
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
  EXPECT_TRUE(same_key({1.0}, {2.0}));
  EXPECT_TRUE(same_key({c10::complex<double>(1, 0)}, {c10::complex<double>(2, 0)}));
}

TEST(PlanKey, counts_the_value_of_a_number_where_shapes_depend_on_it) {
  EXPECT_FALSE(same_key({1.0}, {2.0}, /*with_scalars=*/true));
  EXPECT_FALSE(same_key({0.0}, {-0.0}, /*with_scalars=*/true));
  EXPECT_TRUE(same_key({2.0}, {2.0}, /*with_scalars=*/true));
}

TEST(PlanKey, counts_the_value_of_a_complex_number_where_shapes_depend_on_it) {
  EXPECT_FALSE(same_key({c10::complex<double>(1, 0)}, {c10::complex<double>(2, 0)}, /*with_scalars=*/true));
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
  const PlanKey before(call, false);
  c10::set_default_dtype(caffe2::TypeMeta::Make<double>());
  const PlanKey after(call, false);
  c10::set_default_dtype(caffe2::TypeMeta::Make<float>());
  EXPECT_FALSE(before == after);
  EXPECT_TRUE(before == PlanKey(call, false));
}

TEST(PlanKey, counts_deterministic_mode) {
  const Stack call{tensor({2})};
  const PlanKey before(call, false);
  at::globalContext().setDeterministicAlgorithms(true, false);
  const PlanKey during(call, false);
  at::globalContext().setDeterministicAlgorithms(false, false);
  EXPECT_FALSE(before == during);
}

TEST(PlanKey, has_a_part_for_the_kind_of_call_whatever_the_sizes) {
  const auto kind = [](const Stack& call) { return kind_of_call(call); };
  EXPECT_EQ(kind({tensor({2, 3}), 1}), kind({tensor({4, 5}), 2}));
  EXPECT_NE(kind({tensor({2, 3})}), kind({tensor({2, 3, 4})}));
  EXPECT_NE(kind({tensor({2})}), kind({tensor({2}, at::kDouble)}));
  EXPECT_NE(kind({tensor({2}), true}), kind({tensor({2}), false}));
}

// ----------------------------------------------------------------------------------- the cache

PlanKey key_of(int64_t number) { return PlanKey(Stack{number}, false); }

TEST(PlanCache, finds_what_was_put_in_and_nothing_else) {
  PlanCache<int> cache;
  cache.insert(key_of(1), std::make_shared<int>(10));
  cache.insert(key_of(2), std::make_shared<int>(20));
  EXPECT_EQ(*cache.find(key_of(1)), 10);
  EXPECT_EQ(*cache.find(key_of(2)), 20);
  EXPECT_EQ(cache.find(key_of(3)), nullptr);
  cache.insert(key_of(1), std::make_shared<int>(11));
  EXPECT_EQ(*cache.find(key_of(1)), 11);
}

TEST(PlanCache, is_bounded_and_a_plan_in_use_outlives_its_place) {
  PlanCache<int> cache;
  const auto first = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = first;
  cache.insert(key_of(0), first);
  const std::shared_ptr<const int> used = cache.find(key_of(0));
  int64_t next = 1;
  while (cache.find(key_of(0)) != nullptr && next < 100000)
    cache.insert(key_of(next++), std::make_shared<int>(0));
  EXPECT_EQ(cache.find(key_of(0)), nullptr) << "it holds everything for ever";
  EXPECT_EQ(*used, 7);
  EXPECT_NE(cache.find(key_of(next - 1)), nullptr);
}

}  // namespace
}  // namespace torchplug::tests
