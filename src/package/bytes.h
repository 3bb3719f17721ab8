#pragma once
// Values as bytes, and back. A struct says once which fields it has, in a static function
// fields(archive, self) that calls archive(self.a, self.b, ...); the writer and the reader go through the
// same. A reader refuses bytes that no writer has written; it never reads past their end, and allocates no
// more than they can fill.

#include <bit>
#include <concepts>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "graph/argument.h"
#include "package/refuse.h"

namespace torchplug::package {

static_assert(std::endian::native == std::endian::little,
              "packages are written as little-endian machines do");

template <class T, class Archive>
concept HasFields = requires(Archive& archive, T& self) { std::remove_const_t<T>::fields(archive, self); };

template <class T>
concept IsPlain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class ByteWriter {
 public:
  template <class... Parts>
  void operator()(const Parts&... parts) {
    (put(parts), ...);
  }

  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
    requires IsPlain<T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
    requires HasFields<const T, ByteWriter>
  void put(const T& value) {
    T::fields(*this, value);
  }
  void put(const std::string& text) {
    put(uint64_t{text.size()});
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& items) {
    put(uint64_t{items.size()});
    for (const T& item : items) put(item);
  }
  template <class T, size_t size>
  void put(const std::array<T, size>& items) {
    for (const T& item : items) put(item);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  void put(const graph::Argument& argument) {
    put(argument.tag());
    put(static_cast<uint8_t>(argument.payload().index()));
    std::visit([this](const auto& payload) { put(payload); }, argument.payload());
  }
  void put(const std::monostate& /*nothing*/) {}

  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class... Parts>
  void operator()(Parts&... parts) {
    (get(parts), ...);
  }

  // Nothing may be left.
  void end() const {
    if (!rest_.empty()) refuse_bytes();
  }

 private:
  static constexpr int kDeepest = 8;  // lists in lists

  [[noreturn]] static void refuse_bytes() {
    refuse("The package has content that no torchplug has written. Make it anew with `torchplug package`.");
  }

  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size()) refuse_bytes();
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  // Each item has at least one byte.
  uint64_t get_count() {
    uint64_t count = 0;
    get(count);
    if (count > rest_.size()) refuse_bytes();
    return count;
  }

  template <class T>
    requires IsPlain<T>
  void get(T& value) {
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
  }
  void get(bool& value) {
    uint8_t byte = 0;
    get(byte);
    if (byte > 1) refuse_bytes();
    value = byte == 1;
  }
  template <class T>
    requires HasFields<T, ByteReader>
  void get(T& value) {
    T::fields(*this, value);
  }
  void get(std::string& text) { text = take(get_count()); }
  template <class T>
  void get(std::vector<T>& items) {
    const uint64_t count = get_count();
    items.clear();
    for (uint64_t i = 0; i < count; ++i) get(items.emplace_back());
  }
  template <class T, size_t size>
  void get(std::array<T, size>& items) {
    for (T& item : items) get(item);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    value.reset();
    if (is_there) get(value.emplace());
  }
  void get(graph::Argument& argument) {
    if (++depth_ > kDeepest) refuse_bytes();
    int32_t tag = 0;
    uint8_t index = 0;
    get(tag);
    get(index);
    graph::Argument::Payload payload;
    get_payload(payload, index);
    auto made = graph::Argument::from(tag, std::move(payload));
    if (!made) refuse_bytes();
    argument = *std::move(made);
    --depth_;
  }
  template <size_t i = 0>
  void get_payload(graph::Argument::Payload& payload, size_t index) {
    if constexpr (i < std::variant_size_v<graph::Argument::Payload>) {
      if (index != i) return get_payload<i + 1>(payload, index);
      if constexpr (i > 0) get(payload.emplace<i>());
    } else {
      refuse_bytes();
    }
  }

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace torchplug::package
