#pragma once
// An argument of a node: a plug_value that owns what it points to. A value like any other.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::graph {

class Argument {
 public:
  using Payload = std::variant<std::monostate, int64_t, uint64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<uint8_t>, std::vector<Argument>>;

  Argument() = default;  // PLUG_NONE
  static Argument boolean(bool value) { return {PLUG_VALUE_BOOL, int64_t{value}}; }
  static Argument integer(int64_t value) { return {PLUG_VALUE_INT, value}; }
  static Argument unsigned_integer(uint64_t value) { return {PLUG_VALUE_UINT, value}; }
  static Argument number(double value) { return {PLUG_VALUE_FLOAT, value}; }
  static Argument complex(double real, double imaginary) {
    return {PLUG_VALUE_COMPLEX, std::vector<double>{real, imaginary}};
  }
  static Argument text(std::string value) { return {PLUG_VALUE_STR, std::move(value)}; }
  static Argument dtype(plug_dtype value) { return {PLUG_VALUE_DTYPE, uint64_t{value}}; }
  static Argument layout(int64_t value) { return {PLUG_VALUE_LAYOUT, value}; }
  static Argument format(int64_t value) { return {PLUG_VALUE_FORMAT, value}; }
  static Argument device(int64_t index) { return {PLUG_VALUE_DEVICE, index}; }
  static Argument generator() { return {PLUG_VALUE_GENERATOR, std::monostate()}; }
  static Argument ints(std::vector<int64_t> values) { return {PLUG_VALUE_INTS, std::move(values)}; }
  static Argument floats(std::vector<double> values) { return {PLUG_VALUE_FLOATS, std::move(values)}; }
  static Argument bools(std::vector<uint8_t> values) { return {PLUG_VALUE_BOOLS, std::move(values)}; }
  static Argument list(std::vector<Argument> items) { return {PLUG_VALUE_LIST, std::move(items)}; }
  static Argument ref(int32_t value) { return {PLUG_VALUE_REF, int64_t{value}}; }
  // -1: an absent tensor.
  static Argument refs(std::vector<int64_t> values) { return {PLUG_VALUE_REFS, std::move(values)}; }
  static Argument symbol(int32_t symbol) { return {PLUG_VALUE_SYMBOL, int64_t{symbol}}; }

  // As it was taken apart; nothing if no argument of that tag has such a payload.
  static std::optional<Argument> from(int32_t tag, Payload payload);

  int32_t tag() const { return tag_; }
  const Payload& payload() const { return payload_; }
  // What the tag says it holds, as plug_value does: as<int64_t>() of a PLUG_VALUE_INT.
  template <class T>
  const T& as() const {
    return std::get<T>(payload_);
  }

  // Calls `visit` with the number of each value it names, in order; absent tensors left out.
  void for_each_ref(const std::function<void(int32_t)>& visit) const;
  void for_each_symbol(const std::function<void(int32_t)>& visit) const;

  // The same with other numbers for values and symbols.
  Argument renumbered(const std::function<int32_t(int32_t)>& value,
                      const std::function<int32_t(int32_t)>& symbol) const;

  // How many lists stand around its innermost items.
  int depth() const;

 private:
  Argument(int32_t tag, Payload payload) : tag_(tag), payload_(std::move(payload)) {}

  int32_t tag_ = PLUG_NONE;
  Payload payload_;
};

}  // namespace torchplug::graph
