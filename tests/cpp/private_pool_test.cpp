// Memory pools of a capture's or a user's own: what goes there, what stays there, and for how long.

#include "caching_allocator.h"

namespace torchplug::tests {
namespace {

// Allocations on one stream go to a new pool while this lives.
class Redirected {
 public:
  explicit Redirected(const Stream& stream, c10::MempoolId_t id = DeviceAllocator::new_pool_id(false))
      : id_(id) {
    allocator().begin_allocate_to_pool(0, id_, [stream](const Stream& asking) { return asking == stream; });
  }
  ~Redirected() { end(); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

  c10::MempoolId_t end() {
    if (!std::exchange(ended_, true)) allocator().end_allocate_to_pool(0, id_);
    return id_;
  }

 private:
  c10::MempoolId_t id_;
  bool ended_ = false;
};

TEST(PrivatePool, ids_never_repeat_and_say_who_made_them) {
  const auto by_capture = DeviceAllocator::new_pool_id(false);
  const auto by_user = DeviceAllocator::new_pool_id(true);
  EXPECT_NE(by_capture.first, 0u);
  EXPECT_EQ(by_capture.second, 0u);
  EXPECT_EQ(by_user.first, 0u);
  EXPECT_NE(by_user.second, 0u);
  EXPECT_NE(DeviceAllocator::new_pool_id(false), by_capture);
  EXPECT_NE(DeviceAllocator::new_pool_id(true), by_user);
}

TEST(PrivatePool, its_blocks_are_not_given_to_others_and_others_blocks_not_to_it) {
  on_sim([] {
    const Stream stream = new_stream();
    const void* outside = touch(stream, kBytes);
    Redirected redirected(stream);
    const void* inside = touch(stream, kBytes);
    EXPECT_NE(inside, outside);
    EXPECT_EQ(touch(stream, kBytes), inside);
    redirected.end();
    EXPECT_EQ(touch(stream, kBytes), outside);
  });
}

TEST(PrivatePool, takes_only_the_streams_it_was_asked_to_take) {
  on_sim([] {
    const Stream stream = new_stream();
    const Stream other = new_stream();
    const void* outside = touch(other, kBytes);
    const Redirected redirected(stream);
    EXPECT_EQ(touch(other, kBytes), outside);
  });
}

TEST(PrivatePool, a_pool_can_be_entered_again_and_finds_its_blocks) {
  on_sim([] {
    const Stream stream = new_stream();
    Redirected first(stream);
    const void* inside = touch(stream, kBytes);
    const Redirected again(stream, first.end());
    EXPECT_EQ(touch(stream, kBytes), inside);
  });
}

TEST(PrivatePool, the_innermost_pool_takes_the_stream) {
  on_sim([] {
    const Stream stream = new_stream();
    const Redirected outer(stream);
    const void* in_outer = touch(stream, kBytes);
    Redirected inner(stream);
    EXPECT_NE(touch(stream, kBytes), in_outer);
    inner.end();
    EXPECT_EQ(touch(stream, kBytes), in_outer);
  });
}

TEST(PrivatePool, its_free_blocks_stay_while_it_has_users_and_leave_with_the_last) {
  on_sim([] {
    const Stream stream = new_stream();
    Redirected first(stream);
    touch(stream, 4 * kMiB);
    const auto id = first.end();
    Redirected(stream, id).end();
    const int64_t held = reserved();
    EXPECT_GE(held, int64_t{4 * kMiB});
    allocator().emptyCache();
    EXPECT_EQ(reserved(), held);
    allocator().release_pool(0, id);
    allocator().emptyCache();
    EXPECT_EQ(reserved(), held);
    allocator().release_pool(0, id);
    EXPECT_EQ(reserved(), 0);
    expect_one_sentence(error_of([&] { allocator().release_pool(0, id); }));
  });
}

template <class Stats>
int64_t reserved_by(const Stats& stats, c10::MempoolId_t id) {
  if constexpr (requires { stats.reserved_bytes_by_private_pools; }) {
    return stats.reserved_bytes_by_private_pools.at(id)[0].current;
  }
  return int64_t{20 * kMiB};  // an older PyTorch does not ask
}

TEST(PrivatePool, the_statistics_say_what_each_pool_holds) {
  on_sim([] {
    const Stream stream = new_stream();
    touch(stream, kBytes);
    Redirected redirected(stream);
    touch(stream, 4 * kMiB);
    const auto id = redirected.end();
    EXPECT_EQ(reserved_by(allocator().getDeviceStats(0), id), int64_t{20 * kMiB});
    EXPECT_EQ(reserved(), int64_t{22 * kMiB});
  });
}

TEST(PrivatePool, a_block_that_outlives_its_pool_leaves_when_the_cache_is_emptied) {
  on_sim([] {
    const Stream stream = new_stream();
    Redirected redirected(stream);
    c10::DataPtr held = allocator().allocate_on(stream, 4 * kMiB);
    allocator().release_pool(0, redirected.end());
    EXPECT_GE(reserved(), int64_t{4 * kMiB});
    const void* address = held.get();
    held.clear();
    EXPECT_NE(touch(stream, 4 * kMiB), address);
    allocator().emptyCache();
    EXPECT_EQ(reserved(), 0);
  });
}

TEST(PrivatePool, an_end_without_a_beginning_is_refused) {
  on_sim([] {
    touch(new_stream(), kBytes);
    expect_one_sentence(
        error_of([] { allocator().end_allocate_to_pool(0, DeviceAllocator::new_pool_id(true)); }));
  });
}

}  // namespace
}  // namespace torchplug::tests
