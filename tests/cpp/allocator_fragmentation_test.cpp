// How much memory is taken from the device for what is in use, beside a model of the policy that PyTorch
// documents for its CUDA allocator (notes/cuda.rst and the comment in c10/cuda/CUDACachingAllocator.cpp):
// requests are rounded to 512 bytes; up to 1 MiB they are cut from segments of 2 MiB, up to 10 MiB from
// segments of 20 MiB, above that they have segments of their own in steps of 2 MiB; the best fit wins; what
// remains is split off if it is large enough; freed neighbours are joined at once. Prints what both took.

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "caching_allocator.h"

namespace torchplug::tests {
namespace {

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

class DocumentedPolicy {
 public:
  using Handle = uint64_t;  // the address

  Handle allocate(size_t bytes) {
    const size_t size = round_up(bytes, 512);
    const bool is_small = size <= kMiB;
    auto& free = free_[is_small];
    auto fit = free.lower_bound({size, 0});
    if (fit == free.end()) fit = free.insert({grow(size, is_small), next_ - last_segment_}).first;
    const auto [found, address] = *fit;
    free.erase(fit);
    const size_t rest = found - size;
    const bool splits = is_small ? rest >= 512 : rest > kMiB;
    blocks_[address] = {splits ? size : found, is_small, false, blocks_[address].begins_segment};
    if (splits) {
      blocks_[address + size] = {rest, is_small, true, false};
      free.insert({rest, address + size});
    }
    return address;
  }

  void release(Handle address) {
    auto block = blocks_.find(address);
    auto& free = free_[block->second.is_small];
    if (const auto next = std::next(block);
        next != blocks_.end() && next->second.is_free && !next->second.begins_segment) {
      free.erase({next->second.bytes, next->first});
      block->second.bytes += next->second.bytes;
      blocks_.erase(next);
    }
    if (!block->second.begins_segment && std::prev(block)->second.is_free) {
      const auto before = std::prev(block);
      free.erase({before->second.bytes, before->first});
      before->second.bytes += block->second.bytes;
      blocks_.erase(block);
      block = before;
    }
    block->second.is_free = true;
    free.insert({block->second.bytes, block->first});
  }

  size_t reserved() const { return reserved_; }

 private:
  struct Part {
    size_t bytes = 0;
    bool is_small = false;
    bool is_free = false;
    bool begins_segment = false;
  };

  size_t grow(size_t size, bool is_small) {
    last_segment_ = is_small ? 2 * kMiB : (size < 10 * kMiB ? 20 * kMiB : round_up(size, 2 * kMiB));
    blocks_[next_] = {last_segment_, is_small, true, true};
    next_ += last_segment_;
    reserved_ += last_segment_;
    return last_segment_;
  }

  std::map<uint64_t, Part> blocks_;
  std::array<std::set<std::pair<size_t, uint64_t>>, 2> free_;
  uint64_t next_ = 0;
  size_t last_segment_ = 0;
  size_t reserved_ = 0;
};

// A trace: what is allocated, as bytes, and what is freed, as the number of the allocation.
struct Step {
  bool allocates;
  size_t value;
};
using Trace = std::vector<Step>;

class TraceMaker {
 public:
  explicit TraceMaker(unsigned seed) : random_(seed) {}

  size_t allocate(size_t bytes) {
    trace_.push_back({true, bytes});
    return count_++;
  }
  void release(size_t which) { trace_.push_back({false, which}); }
  // Between the two, evenly in powers of two.
  size_t bytes_between(size_t least, size_t most) {
    const double power = std::uniform_real_distribution(std::log2(least), std::log2(most))(random_);
    return static_cast<size_t>(std::exp2(power));
  }
  std::mt19937& random() { return random_; }
  Trace take() { return std::move(trace_); }

 private:
  std::mt19937 random_;
  Trace trace_;
  size_t count_ = 0;
};

Trace random_trace(size_t least, size_t most, size_t live) {
  TraceMaker maker(3);
  std::vector<size_t> held;
  for (int i = 0; i < 30000; ++i) {
    if (held.empty() || (held.size() < live && maker.random()() % 2 == 0)) {
      held.push_back(maker.allocate(maker.bytes_between(least, most)));
    } else {
      std::swap(held[maker.random()() % held.size()], held.back());
      maker.release(held.back());
      held.pop_back();
    }
  }
  return maker.take();
}

// Forward keeps an activation of every layer, backward frees them in the opposite order; each step of either
// has scratch memory, and the length of the input differs from batch to batch.
Trace training_trace(bool lengths_differ) {
  TraceMaker maker(4);
  for (int parameter = 0; parameter < 200; ++parameter) maker.allocate(maker.bytes_between(2000, 4 * kMiB));
  for (int batch = 0; batch < 60; ++batch) {
    const size_t length = lengths_differ ? 100 + maker.random()() % 400 : 300;
    std::vector<size_t> kept;
    for (size_t layer = 0; layer < 50; ++layer) {
      const size_t scratch = maker.allocate(length * 4096 * (1 + layer % 3));
      kept.push_back(maker.allocate(length * (500 + 900 * (layer % 7))));
      kept.push_back(maker.allocate(1000 + layer));
      maker.release(scratch);
    }
    while (!kept.empty()) {
      const size_t gradient = maker.allocate(length * (500 + 900 * (kept.size() / 2 % 7)));
      maker.release(kept.back());
      kept.pop_back();
      maker.release(gradient);
    }
  }
  return maker.take();
}

// Sequences that grow: each step allocates a little more and frees what it replaces.
Trace growing_trace() {
  TraceMaker maker(5);
  std::vector<std::pair<size_t, size_t>> caches;  // number and bytes
  for (int i = 0; i < 24; ++i) caches.emplace_back(maker.allocate(4096), 4096);
  for (int step = 0; step < 600; ++step) {
    for (auto& [which, bytes] : caches) {
      bytes += 4096;
      const size_t longer = maker.allocate(bytes);
      maker.release(std::exchange(which, longer));
    }
  }
  return maker.take();
}

template <class Allocate, class Release>
void play(const Trace& trace, const Allocate& allocate, const Release& release) {
  size_t count = 0;
  for (const Step& step : trace) {
    if (step.allocates) {
      allocate(count++, step.value);
    } else {
      release(step.value);
    }
  }
}

void compare(const char* name, const Trace& trace, const char* settings = "") {
  alone([&] {
    ::setenv("TORCHPLUG_SIM_MEMORY", "16GiB", 1);
    ::setenv("TORCHPLUG_ALLOC_CONF", settings, 1);
    activate(SIM_LIBRARY);
    DocumentedPolicy model;
    std::map<size_t, DocumentedPolicy::Handle> of_model;
    play(
        trace, [&](size_t which, size_t bytes) { of_model[which] = model.allocate(bytes); },
        [&](size_t which) { model.release(of_model.at(which)); });

    const Stream stream = Stream::default_of(0);
    std::map<size_t, c10::DataPtr> ours;
    play(
        trace,
        [&](size_t which, size_t bytes) {
          ours[which] = DeviceAllocator::instance().allocate_on(stream, bytes);
        },
        [&](size_t which) { ours.erase(which); });
    const auto stats = DeviceAllocator::instance().getDeviceStats(0);
    const auto reserved = static_cast<double>(stats.reserved_bytes[0].peak);
    const auto needed = static_cast<double>(stats.requested_bytes[0].peak);
    const auto by_model = static_cast<double>(model.reserved());
    std::printf("%-44s needed %7.1f MiB   ours %7.1f (%.2fx)   documented %7.1f (%.2fx)\n", name,
                needed / kMiB, reserved / kMiB, reserved / needed, by_model / kMiB, by_model / needed);
    EXPECT_LE(reserved, 1.1 * by_model) << name;
  });
}

TEST(AllocatorFragmentation, random_small_blocks) {
  compare("random, 100 B to 1 MiB", random_trace(100, kMiB, 3000));
}
TEST(AllocatorFragmentation, random_large_blocks) {
  compare("random, 1 to 100 MiB", random_trace(kMiB, 100 * kMiB, 100));
}
TEST(AllocatorFragmentation, random_blocks_of_all_sizes) {
  compare("random, 100 B to 50 MiB", random_trace(100, 50 * kMiB, 400));
}
TEST(AllocatorFragmentation, training_with_batches_of_one_length) {
  compare("training, one length", training_trace(false));
}
TEST(AllocatorFragmentation, training_with_batches_of_many_lengths) {
  compare("training, many lengths", training_trace(true));
}
TEST(AllocatorFragmentation, sequences_that_grow) { compare("sequences that grow", growing_trace()); }
TEST(AllocatorFragmentation, segments_that_grow_in_place_take_no_more) {
  compare("training, many lengths, expandable", training_trace(true), "expandable_segments:True");
}

}  // namespace
}  // namespace torchplug::tests
