#include "engine_file.h"

#include <cstring>
#include <string_view>

#include "toolchain.h"

namespace torchplug::sim::compiler {
namespace {

constexpr std::string_view kMagic = "torchplug sim engine 1\n";

// Any changed byte changes it.
std::uint64_t digest(const char* data, std::uint64_t bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ bytes;
  for (std::uint64_t i = 0; i < bytes; ++i) {
    hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001B3U;
    hash ^= hash >> 29;
  }
  return hash;
}

void put_number(std::vector<char>& to, std::uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  to.insert(to.end(), bytes, bytes + sizeof number);
}

void put_bytes(std::vector<char>& to, const char* data, std::size_t bytes) {
  put_number(to, bytes);
  to.insert(to.end(), data, data + bytes);
}

class Reader {
 public:
  Reader(const char* data, std::uint64_t bytes) : data_(data), left_(bytes) {}

  bool number(std::uint64_t& value) {
    if (left_ < sizeof value) return false;
    std::memcpy(&value, data_, sizeof value);
    skip(sizeof value);
    return true;
  }
  template <class Bytes>
  bool bytes(Bytes& to) {
    std::uint64_t count = 0;
    if (!number(count) || count > left_) return false;
    to.assign(data_, data_ + count);
    skip(count);
    return true;
  }

 private:
  void skip(std::uint64_t count) {
    data_ += count;
    left_ -= count;
  }
  const char* data_;
  std::uint64_t left_;
};

}  // namespace

std::vector<char> pack(const EngineParts& parts) {
  std::vector<char> body;
  const std::string& identity = build_identity();
  put_bytes(body, identity.data(), identity.size());
  put_bytes(body, parts.library.data(), parts.library.size());
  put_bytes(body, parts.constants.data(), parts.constants.size());
  put_bytes(body, parts.source.data(), parts.source.size());
  put_number(body, parts.checks.size());
  for (const std::string& check : parts.checks) put_bytes(body, check.data(), check.size());
  std::vector<char> all;
  all.reserve(kMagic.size() + sizeof(std::uint64_t) + body.size());
  all.assign(kMagic.begin(), kMagic.end());
  put_number(all, digest(body.data(), body.size()));
  all.insert(all.end(), body.begin(), body.end());
  return all;
}

std::optional<EngineParts> unpack(const char* data, std::uint64_t bytes) {
  const std::uint64_t head = kMagic.size() + sizeof(std::uint64_t);
  if (bytes < head || std::string_view(data, kMagic.size()) != kMagic) return std::nullopt;
  std::uint64_t expected = 0;
  std::memcpy(&expected, data + kMagic.size(), sizeof expected);
  if (digest(data + head, bytes - head) != expected) return std::nullopt;
  Reader reader(data + head, bytes - head);
  EngineParts parts;
  std::string identity;
  std::uint64_t checks = 0;
  const bool is_whole = reader.bytes(identity) && identity == build_identity() &&
                        reader.bytes(parts.library) && reader.bytes(parts.constants) &&
                        reader.bytes(parts.source) && reader.number(checks);
  if (!is_whole) return std::nullopt;
  for (std::uint64_t i = 0; i < checks; ++i) {
    parts.checks.emplace_back();
    if (!reader.bytes(parts.checks.back())) return std::nullopt;
  }
  return parts;
}

}  // namespace torchplug::sim::compiler
