// Copies of the sim plugin: in stream order, and done with pageable memory when they return.

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "sim_plugin.h"

namespace sim_test {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<unsigned char>(random()); });
  return bytes;
}

class SimCopy : public testing::Test {
 protected:
  plug_status copy(const plug_mem& dst, const plug_mem& src, std::uint64_t bytes) {
    return plugin_->copy(0, stream_, &dst, &src, bytes);
  }
  void sync() { ASSERT_EQ(plugin_->stream_sync(0, stream_), PLUG_OK); }

  const Plugin& plugin_ = Plugin::shared();
  const plug_stream stream_ = plugin_.stream(0);

  ~SimCopy() override { plugin_->stream_destroy(0, stream_); }
};

// Around the size up to which a private copy is taken.
class SimCopyOfEachSize : public SimCopy, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, SimCopyOfEachSize, testing::Values(1u, 4096u, 65536u, 65537u, 8u << 20));

TEST_P(SimCopyOfEachSize, bytes_go_to_the_device_and_come_back) {
  const Bytes sent = random_bytes(GetParam(), 1);
  Bytes received(sent.size());
  const Memory memory(plugin_, 0, sent.size());
  ASSERT_EQ(copy(memory.at(), on_host(sent.data()), sent.size()), PLUG_OK);
  ASSERT_EQ(copy(on_host(received.data()), memory.at(), sent.size()), PLUG_OK);
  EXPECT_EQ(received, sent);
}

TEST_P(SimCopyOfEachSize, a_pageable_source_may_be_overwritten_when_copy_returns) {
  const Bytes sent = random_bytes(GetParam(), 2);
  Bytes source = sent;
  const Memory memory(plugin_, 0, sent.size());
  const plug_mem to = memory.at();
  Gate gate(plugin_, 0, stream_);
  gate.wait_until_entered();
  ASSERT_EQ(plugin_->mem_fill(0, stream_, &to, 0x55, sent.size()), PLUG_OK);
  // On a thread of its own, since a copy too big for a private one waits for the gate.
  std::thread copier([&] {
    EXPECT_EQ(copy(to, on_host(source.data()), source.size()), PLUG_OK);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(0xee));
  });
  if (sent.size() <= 65536) copier.join();  // returns while the stream is held
  gate.open();
  if (copier.joinable()) copier.join();
  sync();
  EXPECT_EQ(std::memcmp(memory.view(), sent.data(), sent.size()), 0);
}

TEST_P(SimCopyOfEachSize, a_pageable_destination_has_been_written_when_copy_returns) {
  const Memory memory(plugin_, 0, GetParam());
  const plug_mem device = memory.at();
  Bytes received(GetParam());
  Gate gate(plugin_, 0, stream_);
  ASSERT_EQ(plugin_->mem_fill(0, stream_, &device, 0x7c, received.size()), PLUG_OK);
  std::thread copier([&] {
    EXPECT_EQ(copy(on_host(received.data()), device, received.size()), PLUG_OK);
    EXPECT_EQ(std::count(received.begin(), received.end(), 0x7c),
              static_cast<std::ptrdiff_t>(received.size()));
  });
  gate.open();
  copier.join();
}

TEST_P(SimCopyOfEachSize, pinned_memory_is_copied_in_stream_order_without_waiting) {
  void* pinned = nullptr;
  ASSERT_EQ(plugin_->host_alloc(GetParam(), &pinned), PLUG_OK);
  std::memset(pinned, 1, GetParam());
  const Memory memory(plugin_, 0, GetParam());
  const plug_mem device = memory.at();
  {
    Gate gate(plugin_, 0, stream_);
    ASSERT_EQ(copy(device, on_host(pinned, PLUG_MEM_PINNED), GetParam()), PLUG_OK);
    ASSERT_EQ(plugin_->mem_fill(0, stream_, &device, 2, 1), PLUG_OK);
    ASSERT_EQ(copy(on_host(pinned, PLUG_MEM_PINNED), device, GetParam()), PLUG_OK);
    EXPECT_EQ(plugin_->stream_query(0, stream_), PLUG_NOT_READY);
  }
  sync();
  Bytes expected(GetParam(), 1);
  expected[0] = 2;
  EXPECT_EQ(std::memcmp(pinned, expected.data(), expected.size()), 0);
  EXPECT_EQ(plugin_->host_free(pinned), PLUG_OK);
}

TEST_P(SimCopyOfEachSize, bytes_go_from_device_to_device) {
  const Bytes sent = random_bytes(GetParam(), 3);
  const Memory here(plugin_, 0, sent.size());
  const Memory there(plugin_, 1, sent.size());
  std::memcpy(here.view(), sent.data(), sent.size());
  ASSERT_EQ(copy(there.at(), here.at(), sent.size()), PLUG_OK);
  sync();
  EXPECT_EQ(std::memcmp(there.view(), sent.data(), sent.size()), 0);
}

TEST_F(SimCopy, ranges_may_overlap_either_way) {
  constexpr std::size_t kBytes = 100000;
  const Bytes bytes = random_bytes(kBytes, 4);
  const Memory memory(plugin_, 0, kBytes);
  std::memcpy(memory.view(), bytes.data(), kBytes);
  Bytes expected = bytes;
  ASSERT_EQ(copy(memory.at(100), memory.at(0), kBytes - 100), PLUG_OK);
  std::memmove(expected.data() + 100, expected.data(), kBytes - 100);
  ASSERT_EQ(copy(memory.at(0), memory.at(33), kBytes - 33), PLUG_OK);
  std::memmove(expected.data(), expected.data() + 33, kBytes - 33);
  sync();
  EXPECT_EQ(std::memcmp(memory.view(), expected.data(), kBytes), 0);
}

TEST_F(SimCopy, host_memory_is_copied_to_host_memory) {
  const Bytes sent = random_bytes(5000, 5);
  Bytes received(sent.size());
  ASSERT_EQ(copy(on_host(received.data()), on_host(sent.data()), sent.size()), PLUG_OK);
  EXPECT_EQ(received, sent);
}

TEST_F(SimCopy, bytes_outside_the_devices_memory_are_refused) {
  const Memory memory(plugin_, 0, 512);
  Bytes bytes(512);
  const plug_mem host = on_host(bytes.data());
  const auto refused = [&](plug_mem mem, std::uint64_t count) {
    return copy(mem, host, count) == PLUG_INVALID && copy(host, mem, count) == PLUG_INVALID;
  };
  EXPECT_TRUE(refused(memory.at(64 * Plugin::kMemory), 512));
  EXPECT_TRUE(refused(memory.at(~std::uint64_t{0}), 512));
  EXPECT_TRUE(refused(memory.at(), ~std::uint64_t{0}));
  EXPECT_TRUE(refused({bytes.data(), 0, 0, 0}, 1)) << "a host address said to be the device's";
  EXPECT_TRUE(refused({memory.base(), 0, 1, 0}, 1)) << "the memory of another device";
  EXPECT_EQ(copy({memory.base(), 0, 0, 1u << 31}, host, 1), PLUG_UNSUPPORTED);
}

TEST_F(SimCopy, fill_sets_every_byte_in_stream_order) {
  const Memory memory(plugin_, 0, 3000);
  std::memset(memory.view(), 9, 3000);
  const plug_mem inside = memory.at(1000);
  ASSERT_EQ(plugin_->mem_fill(0, stream_, &inside, 4, 1000), PLUG_OK);
  ASSERT_EQ(plugin_->mem_fill(0, stream_, &inside, 5, 500), PLUG_OK);
  sync();
  Bytes expected(3000, 9);
  std::fill_n(expected.begin() + 1000, 500, static_cast<unsigned char>(5));
  std::fill_n(expected.begin() + 1500, 500, static_cast<unsigned char>(4));
  EXPECT_EQ(std::memcmp(memory.view(), expected.data(), expected.size()), 0);
}

// ------------------------------- strided -------------------------------

// A tensor somewhere inside a buffer: strides, and the bytes before and after its first element.
struct Strided {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t before = 0;
  std::int64_t after = 0;  // the last element's end is at most this many bytes past the first
  plug_dtype dtype = 0;

  std::int64_t element() const { return static_cast<std::int64_t>(PLUG_DTYPE_BYTES(dtype)); }
  std::size_t buffer_bytes() const { return static_cast<std::size_t>(before + after); }

  void measure() {
    before = 0;
    after = element();
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t reach = std::max<std::int64_t>(sizes[d] - 1, 0) * strides[d] * element();
      (reach < 0 ? before : after) += std::abs(reach);
    }
  }

  plug_tensor in(const plug_mem& buffer) const {
    plug_mem first = buffer;
    first.offset += static_cast<std::uint64_t>(before);
    return {first, dtype,  static_cast<std::int32_t>(sizes.size()), sizes.data(), strides.data(), 0,
            0,     nullptr};
  }
};

// No two elements in one place: each dimension strides over all inside it, with a gap at times.
Strided random_distinct(std::vector<std::int64_t> sizes, plug_dtype dtype, std::mt19937& random) {
  Strided made{std::move(sizes), {}, 0, 0, dtype};
  std::vector<std::size_t> order(made.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  made.strides.resize(order.size());
  std::int64_t span = random() % 4 == 0 ? 2 : 1;
  for (const std::size_t d : order) {
    made.strides[d] = random() % 3 == 0 ? -span : span;
    span *= std::max<std::int64_t>(made.sizes[d], 1);
    if (random() % 3 == 0) span += random() % 3;
  }
  made.measure();
  return made;
}

Strided random_any(std::vector<std::int64_t> sizes, plug_dtype dtype, std::mt19937& random) {
  if (random() % 2 == 0) return random_distinct(std::move(sizes), dtype, random);
  Strided made{std::move(sizes), {}, 0, 0, dtype};
  for (std::size_t d = 0; d < made.sizes.size(); ++d) {
    made.strides.push_back(static_cast<std::int64_t>(random() % 15) - 7);
  }
  made.measure();
  return made;
}

void naive_copy(const Strided& dst, unsigned char* to, const Strided& src, const unsigned char* from,
                std::size_t depth = 0) {
  if (depth == dst.sizes.size()) {
    std::memcpy(to, from, static_cast<std::size_t>(dst.element()));
    return;
  }
  for (std::int64_t i = 0; i < dst.sizes[depth]; ++i) {
    naive_copy(dst, to + i * dst.strides[depth] * dst.element(), src,
               from + i * src.strides[depth] * src.element(), depth + 1);
  }
}

class SimStridedCopy : public SimCopy {
 protected:
  // The whole destination buffer is compared, so that a byte written beside an element shows.
  void expect_like_naive(const Strided& dst, const Strided& src, unsigned seed) {
    const Bytes source = random_bytes(src.buffer_bytes(), seed);
    Bytes expected(dst.buffer_bytes(), 0xcd);
    naive_copy(dst, expected.data() + dst.before, src, source.data() + src.before);

    const Memory to(plugin_, 0, expected.size());
    const Memory from(plugin_, 1, source.size());
    std::memset(to.view(), 0xcd, expected.size());
    std::memcpy(from.view(), source.data(), source.size());
    const plug_tensor dst_tensor = dst.in(to.at());
    const plug_tensor src_tensor = src.in(from.at());
    ASSERT_EQ(plugin_->copy_strided(0, stream_, &dst_tensor, &src_tensor), PLUG_OK);
    sync();
    ASSERT_EQ(std::memcmp(to.view(), expected.data(), expected.size()), 0);

    Bytes received(expected.size(), 0xcd);
    const plug_tensor host_tensor = dst.in(on_host(received.data()));
    ASSERT_EQ(plugin_->copy_strided(0, stream_, &host_tensor, &src_tensor), PLUG_OK);
    ASSERT_EQ(received, expected) << "pageable memory has been written when it returns";
  }
};

TEST_F(SimStridedCopy, random_strides_agree_with_a_naive_copy) {
  const std::vector<plug_dtype> dtypes = {PLUG_U8,   PLUG_F16,          PLUG_F32,         PLUG_F64,
                                          PLUG_C128, PLUG_DTYPE(1, 24), PLUG_F4_E2M1FN_X2};
  std::mt19937 random(11);
  for (unsigned round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> sizes(random() % 7);
    for (std::int64_t& size : sizes) size = random() % 20 == 0 ? 0 : 1 + random() % 5;
    const plug_dtype dtype = dtypes[random() % dtypes.size()];
    const Strided dst = random_distinct(sizes, dtype, random);
    const Strided src = random_any(sizes, dtype, random);
    ASSERT_NO_FATAL_FAILURE(expect_like_naive(dst, src, round)) << "round " << round;
  }
}

TEST_F(SimStridedCopy, a_large_transposition_agrees_with_a_naive_copy) {
  for (const plug_dtype dtype : {PLUG_U8, PLUG_F32, PLUG_C128, PLUG_DTYPE(1, 24)}) {
    Strided dst{{3, 100, 71}, {7100, 71, 1}, 0, 0, dtype};
    Strided src{{3, 100, 71}, {7100, 1, 100}, 0, 0, dtype};
    dst.measure();
    src.measure();
    ASSERT_NO_FATAL_FAILURE(expect_like_naive(dst, src, 12));
  }
}

TEST_F(SimStridedCopy, it_runs_in_stream_order_with_its_own_sizes_and_strides) {
  const Memory to(plugin_, 0, 64);
  const Memory from(plugin_, 0, 64);
  std::iota(from.view(), from.view() + 64, static_cast<unsigned char>(0));
  std::vector<std::int64_t> sizes = {4, 4, 4};
  std::vector<std::int64_t> forward = {16, 4, 1};
  std::vector<std::int64_t> backward = {1, 4, 16};
  const plug_tensor dst{to.at(), PLUG_U8, 3, sizes.data(), forward.data(), 0, 0, nullptr};
  const plug_tensor src{from.at(), PLUG_U8, 3, sizes.data(), backward.data(), 0, 0, nullptr};
  {
    Gate gate(plugin_, 0, stream_);
    ASSERT_EQ(plugin_->copy_strided(0, stream_, &dst, &src), PLUG_OK);
    EXPECT_EQ(plugin_->stream_query(0, stream_), PLUG_NOT_READY);
    for (auto* array : {&sizes, &forward, &backward}) std::fill(array->begin(), array->end(), 99);
  }
  sync();
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(to.view()[i], i / 16 + i / 4 % 4 * 4 + i % 4 * 16);
  }
}

TEST_F(SimStridedCopy, what_it_does_not_know_is_unsupported) {
  const Memory memory(plugin_, 0, 1024);
  const plug_tensor plain{memory.at(), PLUG_C64, 0, nullptr, nullptr, 0, 0, nullptr};
  plug_tensor other = plain;
  other.mem.offset = 512;
  other.dtype = PLUG_F8_E5M2;
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &plain, &other), PLUG_UNSUPPORTED);
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &other, &plain), PLUG_UNSUPPORTED);
  plug_tensor same = other;
  same.mem.offset = 520;
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &same, &other), PLUG_OK) << "bytes are bytes";
  other.dtype = PLUG_C64;
  other.flags = PLUG_TENSOR_WRITTEN;
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &other, &plain), PLUG_OK);
  other.flags = 1u << 31;
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &plain, &other), PLUG_UNSUPPORTED);
  other.flags = 0;
  other.layout = 1;
  EXPECT_EQ(plugin_->copy_strided(0, stream_, &plain, &other), PLUG_UNSUPPORTED);
}

TEST_F(SimStridedCopy, a_tensor_that_reaches_out_of_the_memory_is_refused) {
  const Memory memory(plugin_, 0, 4096);
  const std::int64_t sizes[] = {1 << 20};
  const std::int64_t good[] = {0};
  for (const std::int64_t stride :
       {std::int64_t{1} << 12, -(std::int64_t{1} << 12), std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    const std::int64_t bad[] = {stride};
    const plug_tensor inside{memory.at(), PLUG_F64, 1, sizes, good, 0, 0, nullptr};
    const plug_tensor outside{memory.at(), PLUG_F64, 1, sizes, bad, 0, 0, nullptr};
    EXPECT_EQ(plugin_->copy_strided(0, stream_, &inside, &outside), PLUG_INVALID);
    EXPECT_EQ(plugin_->copy_strided(0, stream_, &outside, &inside), PLUG_INVALID);
  }
}

}  // namespace
}  // namespace sim_test
