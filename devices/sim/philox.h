#pragma once
// Philox4x32-10, the generator whose numbers are a function of their place: any thread can draw any of them.

#include <cstdint>

#include "vectors.h"

namespace torchplug::sim {

// Where the numbers of a call begin.
struct Draws {
  std::uint64_t seed;
  std::uint64_t offset;  // in numbers, a multiple of 4
};

// 64 numbers: the four of each of 16 blocks, the first of all, then the second of all.
inline constexpr int kPhiloxBlocks = 16;
struct PhiloxNumbers {
  alignas(64) std::uint32_t words[4][kPhiloxBlocks];
};

// Group `index` of the call's numbers.
inline SIM_INLINE void draw(const Draws& draws, std::uint64_t index, PhiloxNumbers& numbers) {
  auto& [a, b, c, d] = numbers.words;
  const std::uint64_t first = draws.offset / 4 + index * kPhiloxBlocks;
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    a[i] = static_cast<std::uint32_t>(block);
    b[i] = static_cast<std::uint32_t>(block >> 32);
    c[i] = 0;
    d[i] = 0;
  }
  auto key = static_cast<std::uint32_t>(draws.seed);
  auto other_key = static_cast<std::uint32_t>(draws.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kPhiloxBlocks; ++i) {
      const std::uint64_t left = std::uint64_t{0xD2511F53} * a[i];
      const std::uint64_t right = std::uint64_t{0xCD9E8D57} * c[i];
      const std::uint32_t next_a = static_cast<std::uint32_t>(right >> 32) ^ b[i] ^ key;
      const std::uint32_t next_c = static_cast<std::uint32_t>(left >> 32) ^ d[i] ^ other_key;
      b[i] = static_cast<std::uint32_t>(right);
      d[i] = static_cast<std::uint32_t>(left);
      a[i] = next_a;
      c[i] = next_c;
    }
    key += 0x9E3779B9;
    other_key += 0xBB67AE85;
  }
}

}  // namespace torchplug::sim
