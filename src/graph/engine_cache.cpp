#include "graph/engine_cache.h"

#include <cstring>

namespace torchplug::graph {

EngineKey& EngineKey::clear() {
  words_.clear();
  hash_ = 0;
  return *this;
}

EngineKey& EngineKey::add(int64_t number) {
  words_.push_back(number);
  hash_ = (std::rotl(hash_, 23) ^ static_cast<uint64_t>(number)) * 0x9E3779B97F4A7C15;
  return *this;
}

EngineKey& EngineKey::add(std::span<const int64_t> numbers) {
  add(static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) add(number);
  return *this;
}

EngineKey& EngineKey::add(std::string_view text) {
  add(static_cast<int64_t>(text.size()));
  for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    add(word);
  }
  return *this;
}

EngineKey& EngineKey::add(const Digest& digest) {
  for (size_t at = 0; at < digest.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, digest.data() + at, sizeof word);
    add(word);
  }
  return *this;
}

std::string_view EngineKey::bytes() const {
  return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(int64_t)};
}

}  // namespace torchplug::graph
