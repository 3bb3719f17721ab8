// How segments are cut into blocks and put together again, and the settings that say so.

#include <c10/core/AllocatorConfig.h>

#include "caching_allocator.h"
#include "memory/memory_snapshot.h"
#include "shadow_device.h"

namespace torchplug::tests {
namespace {

constexpr size_t kKiB = size_t{1} << 10;

const char* address(const c10::DataPtr& data) { return static_cast<const char*>(data.get()); }

void with_settings(const char* settings, const std::function<void()>& body) {
  alone([&] {
    ::setenv("TORCHPLUG_SIM_MEMORY", "1GiB", 1);
    ::setenv("TORCHPLUG_ALLOC_CONF", settings, 1);
    activate(SIM_LIBRARY);
    body();
  });
}

TEST(Splitting, small_blocks_share_a_segment_of_two_mebibytes) {
  on_sim([] {
    const c10::DataPtr a = allocate(1000);
    const c10::DataPtr b = allocate(kMiB);
    EXPECT_EQ(address(b) - address(a), 1024);
    EXPECT_EQ(reserved(), int64_t{2 * kMiB});
    const c10::DataPtr c = allocate(kMiB);
    EXPECT_EQ(reserved(), int64_t{4 * kMiB});
  });
}

TEST(Splitting, larger_blocks_share_segments_of_twenty_and_the_largest_have_their_own) {
  on_sim([] {
    const c10::DataPtr a = allocate(kMiB + 1);
    const c10::DataPtr b = allocate(9 * kMiB);
    EXPECT_EQ(address(b) - address(a), int64_t{kMiB + 512});
    EXPECT_EQ(reserved(), int64_t{20 * kMiB});
    const c10::DataPtr c = allocate(11 * kMiB);
    EXPECT_EQ(reserved(), int64_t{32 * kMiB}) << "in steps of two";
  });
}

TEST(Splitting, a_block_knows_its_place_in_the_segment) {
  on_sim([] {
    const c10::DataPtr a = allocate(512);
    const c10::DataPtr b = allocate(512);
    const plug_mem in_a = allocator().locate(a).memory();
    const plug_mem in_b = allocator().locate(b).memory();
    EXPECT_EQ(in_a.base, in_b.base);
    EXPECT_EQ(in_b.offset - in_a.offset, 512u);
    EXPECT_EQ(allocator().locate(b).host_address() - allocator().locate(a).host_address(), 512);
    const Placement by_address = allocator().locate(address(b) + 3);
    EXPECT_EQ(by_address.memory().base, in_b.base);
    EXPECT_EQ(by_address.memory().offset, in_b.offset + 3);
    EXPECT_EQ(by_address.host_address(), allocator().locate(b).host_address() + 3);
  });
}

TEST(Splitting, an_address_is_of_the_segment_from_its_first_byte_to_its_last) {
  on_sim([] {
    const c10::DataPtr a = allocate(512);
    EXPECT_EQ(allocator().locate(address(a)).memory().offset, 0u);
    EXPECT_EQ(allocator().locate(address(a) + 2 * kMiB - 1).memory().offset, 2 * kMiB - 1);
    for (const char* outside : {address(a) - 1, address(a) + 2 * kMiB}) {
      expect_says(error_of([&] { allocator().locate(outside); }), {"does not belong to device 'sim'"});
    }
  });
}

TEST(Splitting, freed_neighbours_are_joined_before_more_memory_is_asked_for) {
  on_sim([] {
    std::vector<c10::DataPtr> all;
    for (int i = 0; i < 4096; ++i) all.push_back(allocate(512));
    EXPECT_EQ(reserved(), int64_t{2 * kMiB});
    all.clear();
    const c10::DataPtr half = allocate(kMiB);
    const c10::DataPtr other_half = allocate(kMiB);
    EXPECT_EQ(reserved(), int64_t{2 * kMiB});
    EXPECT_EQ(stats().num_device_alloc, 1);
  });
}

TEST(Splitting, the_best_fit_is_taken) {
  on_sim([] {
    std::vector<c10::DataPtr> kept;
    std::vector<c10::DataPtr> freed;
    for (size_t size : {7 * kMiB, 3 * kMiB, 5 * kMiB}) {
      freed.push_back(allocate(size));
      kept.push_back(allocate(kMiB + 1));
    }
    const char* three = address(freed[1]);
    freed.clear();
    EXPECT_EQ(address(allocate(2 * kMiB + 1)), three);
  });
}

TEST(Splitting, what_is_left_of_a_large_block_stays_with_it_if_it_is_small) {
  on_sim([] {
    const c10::DataPtr most = allocate(19 * kMiB + 512 * kKiB);
    EXPECT_EQ(stats().allocated_bytes[0].current, int64_t{20 * kMiB}) << "less than 1 MiB is not split off";
    EXPECT_EQ(stats().requested_bytes[0].current, int64_t{19 * kMiB + 512 * kKiB});
  });
}

TEST(Splitting, the_largest_blocks_are_not_split_beyond_max_split_size) {
  with_settings("max_split_size_mb:40", [] {
    allocate(64 * kMiB);
    const c10::DataPtr small = allocate(30 * kMiB);
    EXPECT_EQ(reserved(), int64_t{94 * kMiB}) << "the free 64 MiB are not touched";
    const c10::DataPtr large = allocate(50 * kMiB);
    EXPECT_EQ(reserved(), int64_t{94 * kMiB}) << "but are used whole for what is nearly as large";
    EXPECT_EQ(stats().allocated_bytes[0].current, int64_t{94 * kMiB});
    EXPECT_EQ(stats().oversize_allocations.current, 1);
    EXPECT_EQ(stats().oversize_segments.current, 1);
    EXPECT_EQ(stats().max_split_size, int64_t{40 * kMiB});
  });
}

TEST(Splitting, requests_are_rounded_to_parts_of_powers_of_two_if_asked) {
  with_settings("roundup_power2_divisions:4", [] {
    const c10::DataPtr data = allocate(1200 * kKiB);
    EXPECT_EQ(stats().allocated_bytes[0].current, int64_t{1280 * kKiB});
    const c10::DataPtr small = allocate(9000);
    EXPECT_EQ(stats().allocated_bytes[1].current, 10240);
  });
}

TEST(Splitting, settings_can_change_on_the_way) {
  with_settings("", [] {
    const c10::DataPtr data = allocate(9000);
    EXPECT_EQ(stats().allocated_bytes[1].current, 9216);
    c10::CachingAllocator::setAllocatorSettings("roundup_power2_divisions:4");
    allocate(kMiB);  // not from a cache: there it is noticed
    const c10::DataPtr rounded = allocate(9000);
    EXPECT_EQ(stats().allocated_bytes[1].current, 9216 + 10240);
  });
}

TEST(Splitting, a_setting_that_does_not_exist_is_named_in_one_sentence) {
  for (const char* wrong : {"max_splt_size_mb:40", "max_split_size_mb", "max_split_size_mb:a",
                            "garbage_collection_threshold:7"}) {
    with_settings(wrong, [&] {
      const std::string text = error_of<c10::ValueError>([] { allocate(512); });
      expect_one_sentence(text);
      expect_says(text, {wrong == std::string("max_splt_size_mb:40") ? "'max_splt_size_mb'" : wrong});
    });
  }
}

TEST(Splitting, memory_never_grows_when_one_thread_allocates_and_another_frees) {
  on_sim([] {
    const std::array<Stream, 2> streams = {new_stream(), new_stream()};
    for (int round = 0; round < 200; ++round) {
      std::vector<c10::DataPtr> held;
      for (size_t i = 0; i < 50; ++i)
        held.push_back(allocator().allocate_on(streams[i % 2], 512 * (1 + i % 9)));
      std::jthread([moved = std::move(held)]() mutable { moved.clear(); }).join();
    }
    EXPECT_EQ(reserved(), int64_t{4 * kMiB}) << "a small segment for each stream";
    EXPECT_EQ(stats().num_device_alloc, 2);
  });
}

TEST(Splitting, blocks_are_as_aligned_as_the_plugins_memory) {
  alone([] {
    ::setenv("TORCHPLUG_LIMITED_ALIGNMENT", "4096", 1);
    activate(plugin_path("limited"));
    const c10::DataPtr a = allocate(1);
    const c10::DataPtr b = allocate(1);
    EXPECT_EQ(allocator().locate(b).memory().offset - allocator().locate(a).memory().offset, 4096u);
  });
}

// ---- segments that grow in place ----

TEST(ExpandableSegments, a_block_that_needs_more_gets_it_behind_what_is_free) {
  with_settings("expandable_segments:True", [] {
    c10::DataPtr a = allocate(30 * kMiB);
    const char* begin = address(a);
    a.clear();
    const c10::DataPtr longer = allocate(50 * kMiB);
    EXPECT_EQ(address(longer), begin) << "in place, though it did not fit";
    EXPECT_EQ(reserved(), int64_t{50 * kMiB});
    EXPECT_EQ(stats().segment[0].current, 0);
    EXPECT_EQ(stats().num_device_alloc, 2);
  });
}

TEST(ExpandableSegments, memory_of_the_device_is_taken_only_where_it_is_mapped) {
  with_settings("expandable_segments:True", [] {
    const size_t all = allocator().getMemoryInfo(0).first;
    const c10::DataPtr data = allocate(30 * kMiB);
    EXPECT_EQ(allocator().getMemoryInfo(0).first, all - 30 * kMiB);
    const Placement placement = allocator().locate(data);
    std::memset(placement.host_address(), 7, 30 * kMiB);
    EXPECT_EQ(allocator().locate(address(data) + 5).host_address(), placement.host_address() + 5);
  });
}

TEST(ExpandableSegments, what_is_free_goes_back_from_the_middle_and_comes_again) {
  with_settings("expandable_segments:True", [] {
    const size_t all = allocator().getMemoryInfo(0).first;
    c10::DataPtr first = allocate(20 * kMiB);
    c10::DataPtr middle = allocate(40 * kMiB);
    c10::DataPtr last = allocate(20 * kMiB);
    const char* place = address(middle);
    middle.clear();
    allocator().emptyCache();
    EXPECT_EQ(allocator().getMemoryInfo(0).first, all - 40 * kMiB);
    EXPECT_EQ(reserved(), int64_t{40 * kMiB});
    middle = allocate(40 * kMiB);
    EXPECT_EQ(address(middle), place);
    std::memset(allocator().locate(middle).host_address(), 1, 40 * kMiB);
    first.clear();
    middle.clear();
    last.clear();
    allocator().emptyCache();
    EXPECT_EQ(reserved(), 0);
    EXPECT_EQ(allocator().getMemoryInfo(0).first, all);
    EXPECT_TRUE(allocator().snapshot().segments.empty());
  });
}

// Holes at the begin and in the middle, of different sizes: each comes back where it was.
TEST(ExpandableSegments, what_could_not_be_returned_stays_usable) {
  on_shadow([] {
    ::setenv("TORCHPLUG_ALLOC_CONF", "expandable_segments:True", 1);
    std::vector<c10::DataPtr> all;
    for (size_t size : {4, 2, 6, 2, 8, 2}) all.push_back(allocate(size * kMiB));
    std::vector<const char*> holes;
    for (size_t i : {size_t{0}, size_t{2}, size_t{4}}) {
      holes.push_back(address(all[i]));
      all[i].clear();
    }
    const auto before = stats();
    break_next("device_sync", PLUG_TIMEOUT, "the cable was loose");
    expect_says(error_of([] { allocator().emptyCache(); }), {"the cable was loose"});
    EXPECT_EQ(reserved(), before.reserved_bytes[0].current);
    EXPECT_EQ(stats().inactive_split_bytes[0].current, before.inactive_split_bytes[0].current);
    size_t size = 4;
    for (const char* hole : holes) {
      all.push_back(allocate(size * kMiB));
      EXPECT_EQ(address(all.back()), hole);
      size += 2;
    }
    EXPECT_EQ(reserved(), before.reserved_bytes[0].current);
    all.clear();
    allocator().emptyCache();
    EXPECT_EQ(reserved(), 0);
  });
}

TEST(ExpandableSegments, a_full_device_gives_up_what_is_free_before_it_fails) {
  with_settings("expandable_segments:True", [] {
    const Stream other = new_stream();
    allocator().allocate_on(other, 700 * kMiB);
    const c10::DataPtr data = allocate(900 * kMiB);
    EXPECT_EQ(stats().num_alloc_retries, 1);
    const std::string text = error_of<c10::OutOfMemoryError>([] { allocate(200 * kMiB); });
    expect_says(text, {"Tried to allocate 200.0 MiB", "900.0 MiB allocated"});
    EXPECT_NE(address(allocate(100 * kMiB)), nullptr);
  });
}

TEST(ExpandableSegments, a_plugin_that_cannot_grow_in_place_is_asked_for_pieces) {
  alone([] {
    ::setenv("TORCHPLUG_ALLOC_CONF", "expandable_segments:True", 1);
    activate(HELLO_LIBRARY);
    const c10::DataPtr data = allocate(kMiB);
    EXPECT_EQ(stats().segment[0].current, 1);
    EXPECT_FALSE(allocator().snapshot().segments.at(0).is_expandable);
  });
}

}  // namespace
}  // namespace torchplug::tests
