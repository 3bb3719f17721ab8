// The device's random numbers: a seed and an offset that every draw moves on.

#include "runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>

#include <mutex>
#include <set>

#include "sim_device.h"
#include "tensors.h"

namespace torchplug::tests {
namespace {

PhiloxGenerator& philox(const at::Generator& generator) {
  return *at::check_generator<PhiloxGenerator>(generator);
}

at::Tensor rand_there(const at::Generator& generator) {
  return at::rand({16}, generator, at::device(device()).dtype(at::kFloat)).cpu();
}

at::Tensor state_of(const at::Generator& generator) { return at::Tensor(generator.get_state()); }

TEST(Generator, a_seed_gives_the_same_numbers_every_time) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_current_seed(5);
    const at::Tensor first = rand_there(generator);
    const at::Tensor second = rand_there(generator);
    EXPECT_FALSE(first.equal(second));
    generator.set_current_seed(5);
    EXPECT_TRUE(rand_there(generator).equal(first));
    EXPECT_TRUE(rand_there(generator).equal(second));
    generator.set_current_seed(6);
    EXPECT_FALSE(rand_there(generator).equal(first));
  });
}

TEST(Generator, its_state_brings_back_the_numbers_that_follow) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_current_seed(uint64_t{1} << 63 | 17);
    philox(generator).draw(10);
    const at::Tensor state = state_of(generator);
    const at::Tensor next = rand_there(generator);
    at::Generator other = new_generator(0);
    other.set_state(state);
    EXPECT_EQ(other.current_seed(), uint64_t{1} << 63 | 17);
    EXPECT_EQ(other.get_offset(), 12u);
    EXPECT_TRUE(rand_there(other).equal(next));
    EXPECT_TRUE(state_of(other).equal(state_of(generator)));
  });
}

TEST(Generator, draws_begin_at_multiples_of_four_and_do_not_overlap) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_current_seed(1);
    uint64_t expected = 0;
    for (uint64_t count : {1, 4, 5, 0, 1000, 3}) {
      EXPECT_EQ(philox(generator).draw(count).offset, expected);
      expected += (count + 3) / 4 * 4;
      EXPECT_EQ(generator.get_offset(), expected);
    }
  });
}

TEST(Generator, an_offset_that_is_no_multiple_of_four_is_refused) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_offset(8);
    expect_says(error_of([&] { generator.set_offset(6); }), {"multiple of 4", "6"});
    EXPECT_EQ(generator.get_offset(), 8u);
  });
}

TEST(Generator, a_state_that_is_refused_leaves_it_as_it_was) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_current_seed(9);
    const at::Tensor before = state_of(generator);
    at::Tensor crooked = before.clone();
    crooked[0] = 77;  // of the seed
    crooked[8] = 3;   // of the offset
    expect_says(error_of([&] { generator.set_state(crooked); }), {"multiple of 4"});
    EXPECT_TRUE(state_of(generator).equal(before));
    const at::Tensor short_state = before.narrow(0, 0, 8).clone();
    expect_says(error_of([&] { generator.set_state(short_state); }), {"sim", "16 bytes", "8"});
    EXPECT_TRUE(state_of(generator).equal(before));
  });
}

TEST(Generator, a_clone_goes_its_own_way_from_where_it_was_made) {
  on_sim([] {
    at::Generator generator = new_generator(0);
    generator.set_current_seed(3);
    philox(generator).draw(4);
    at::Generator clone = generator.clone();
    const at::Tensor drawn = rand_there(generator);
    EXPECT_EQ(clone.get_offset(), 4u);
    EXPECT_TRUE(rand_there(clone).equal(drawn));
  });
}

TEST(Generator, each_device_has_a_default_one_of_its_own) {
  on_sim([] {
    at::Generator first = default_generator(0);
    at::Generator second = default_generator(1);
    EXPECT_EQ(first.device(), device(0));
    EXPECT_EQ(second.device(), device(1));
    second.set_current_seed(4);
    first.set_current_seed(4);
    philox(first).draw(4);
    EXPECT_EQ(second.get_offset(), 0u);
    EXPECT_EQ(default_generator(-1), first) << "of the current device";
    expect_says(error_of([] { default_generator(2); }), {"sim:2"});
  });
}

TEST(Generator, random_operators_move_the_devices_generator_and_never_the_cpus) {
  on_sim([] {
    const at::Generator host = at::detail::getDefaultCPUGenerator();
    at::Generator generator = default_generator(0);
    generator.set_current_seed(0);
    const at::Tensor host_state = state_of(host);
    at::randn({100}, at::device(device()));
    const uint64_t after_one = generator.get_offset();
    EXPECT_GT(after_one, 0u);
    at::Tensor x = on_device(numbers({10}));
    x.uniform_();
    EXPECT_GT(generator.get_offset(), after_one);
    EXPECT_TRUE(state_of(host).equal(host_state));
  });
}

TEST(Generator, an_operator_given_a_generator_leaves_the_default_one_alone) {
  on_sim([] {
    at::Generator own = new_generator(0);
    own.set_current_seed(1);
    const at::Tensor before = state_of(default_generator(0));
    rand_there(own);
    EXPECT_TRUE(state_of(default_generator(0)).equal(before));
    EXPECT_GT(own.get_offset(), 0u);
  });
}

TEST(Generator, threads_draw_numbers_that_no_other_thread_gets) {
  on_sim([] {
    constexpr int kThreads = 4;
    constexpr int kDraws = 1000;
    at::Generator generator = new_generator(0);
    generator.set_current_seed(1);
    std::mutex offsets_lock;
    std::set<uint64_t> offsets;
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&] {
          for (int i = 0; i < kDraws; ++i) {
            const uint64_t offset = philox(generator).draw(4).offset;
            const std::lock_guard lock(offsets_lock);
            offsets.insert(offset);
          }
        });
      }
    }
    EXPECT_EQ(offsets.size(), size_t{kThreads} * kDraws);
    EXPECT_EQ(generator.get_offset(), uint64_t{4} * kThreads * kDraws);
  });
}

}  // namespace
}  // namespace torchplug::tests
