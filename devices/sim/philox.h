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

// Group `index` of the call's numbers. Numbers lie in words of 64 bits, of which the upper half is not
// heeded: the products need it, and so vectors of them are the product of two vectors.
inline SIM_INLINE void draw(const Draws& draws, std::uint64_t index, PhiloxNumbers& numbers) {
  using Words = std::uint64_t __attribute__((vector_size(8 * kPhiloxBlocks)));
  constexpr std::uint64_t kLower = 0xFFFFFFFF;
  const std::uint64_t first = draws.offset / 4 + index * kPhiloxBlocks;
  Words a, b, c{}, d{};
  for (int i = 0; i < kPhiloxBlocks; ++i) a[i] = first + static_cast<std::uint64_t>(i);
  b = a >> 32;
  std::uint64_t key = draws.seed & kLower, other_key = draws.seed >> 32;
  for (int round = 0; round < 10; ++round) {
    const Words left = (a & kLower) * std::uint64_t{0xD2511F53};
    const Words right = (c & kLower) * std::uint64_t{0xCD9E8D57};
    a = (right >> 32) ^ b ^ key;
    c = (left >> 32) ^ d ^ other_key;
    b = right;
    d = left;
    key += 0x9E3779B9;
    other_key += 0xBB67AE85;
  }
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    numbers.words[0][i] = static_cast<std::uint32_t>(a[i]);
    numbers.words[1][i] = static_cast<std::uint32_t>(b[i]);
    numbers.words[2][i] = static_cast<std::uint32_t>(c[i]);
    numbers.words[3][i] = static_cast<std::uint32_t>(d[i]);
  }
}

}  // namespace torchplug::sim
