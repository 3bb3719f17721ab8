#pragma once
// SHA-256 (FIPS 180-4), by which constants, graphs and engines on disk are told apart.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace torchplug::graph {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  void add(const void* data, size_t bytes);
  // Of all that was added. Nothing is added after it.
  Digest finish();

 private:
  static constexpr size_t kBlock = 64;
  void take_block(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, kBlock> rest_{};
  uint64_t count_ = 0;  // bytes added
};

Digest digest_of(const void* data, size_t bytes);
inline Digest digest_of(std::string_view text) { return digest_of(text.data(), text.size()); }

std::string to_hex(std::span<const uint8_t> bytes);

}  // namespace torchplug::graph
