// plug_schema.hpp - reads the schema of an operator while the compiler compiles: a part
// of plug.hpp. What it knows of a type is its Kind: "SymInt[2]?" is an optional list of
// integers.
#ifndef TORCHPLUG_PLUG_SCHEMA_HPP
#define TORCHPLUG_PLUG_SCHEMA_HPP

#include <cstddef>
#include <string_view>

namespace plug {

enum class Base {
  kUnknown,
  kTensor,
  kInt,  // SymInt too
  kFloat,
  kBool,
  kScalar,
  kStr,
  kScalarType,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator
};

struct Kind {
  Base base = Base::kUnknown;
  bool is_list = false;
  bool has_optional_items = false;
  bool is_optional = false;
  bool is_written = false;  // Tensor(a!)
};

constexpr bool operator==(const Kind &a, const Kind &b) {
  return a.base == b.base && a.is_list == b.is_list &&
         a.has_optional_items == b.has_optional_items && a.is_optional == b.is_optional &&
         a.is_written == b.is_written;
}

// The arguments and results of a schema, in its order.
struct Schema {
  static constexpr int kMost = 64;
  Kind arguments[kMost]{};
  Kind results[kMost]{};
  int argument_count = 0;
  int result_count = 0;
  bool is_read = false;
};

namespace schema_reader {

constexpr Base base_of(std::string_view name) {
  if (name == "Tensor") return Base::kTensor;
  if (name == "int" || name == "SymInt" || name == "DeviceIndex") return Base::kInt;
  if (name == "float") return Base::kFloat;
  if (name == "bool") return Base::kBool;
  if (name == "Scalar") return Base::kScalar;
  if (name == "str") return Base::kStr;
  if (name == "ScalarType") return Base::kScalarType;
  if (name == "Layout") return Base::kLayout;
  if (name == "MemoryFormat") return Base::kMemoryFormat;
  if (name == "Device") return Base::kDevice;
  if (name == "Generator") return Base::kGenerator;
  return Base::kUnknown;
}

constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Where `wanted` first stands. std::string_view::find compares addresses with null, which
// is no constant for an inline variable where a sanitizer keeps such comparisons.
constexpr std::size_t find_text(std::string_view text, std::string_view wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, wanted.size()) == wanted) return i;
  }
  return std::string_view::npos;
}

// Where the first of `wanted` stands that is in no brackets and in no quotes.
constexpr std::size_t find_outside(std::string_view text, std::string_view wanted) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
      continue;
    }
    if (depth == 0 && wanted.find(c) != std::string_view::npos) return i;
    if (c == '"' || c == '\'') quote = c;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

// "Tensor(a!)[]?": the name, then alias, brackets and question marks as they come.
constexpr Kind read_type(std::string_view text) {
  Kind kind;
  const std::size_t name_end = text.find_first_of("([?");
  kind.base = base_of(text.substr(0, name_end));
  for (std::size_t i = name_end; i < text.size(); ++i) {
    if (text[i] == '!') kind.is_written = true;
    if (text[i] == '?') kind.is_optional = true;
    if (text[i] == '[') {
      kind.is_list = true;
      kind.has_optional_items = kind.is_optional;
      kind.is_optional = false;
    }
  }
  return kind;
}

// "int dim=0": what stands before the name.
constexpr Kind read_item(std::string_view item) {
  return read_type(item.substr(0, find_outside(item, " ")));
}

constexpr bool read_items(std::string_view text, Kind *kinds, int &count) {
  text = trimmed(text);
  while (!text.empty()) {
    const std::size_t comma = find_outside(text, ",");
    const std::string_view item = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view()
                                           : trimmed(text.substr(comma + 1));
    if (item == "*") continue;
    if (item.empty() || count == Schema::kMost) return false;
    kinds[count++] = read_item(item);
  }
  return true;
}

// The text between the brackets that it begins with; all of it where it begins with none.
constexpr std::string_view unwrapped(std::string_view text) {
  if (text.empty() || text.front() != '(') return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace schema_reader

constexpr Schema read_schema(std::string_view text) {
  using namespace schema_reader;
  Schema schema;
  const std::size_t open = find_text(text, "(");
  if (find_text(text, "::") == std::string_view::npos || open == std::string_view::npos)
    return schema;
  const std::string_view after = text.substr(open + 1);
  const std::size_t close = find_outside(after, ")");
  if (close == std::string_view::npos) return schema;
  const std::string_view rest = trimmed(after.substr(close + 1));
  if (rest.substr(0, 2) != "->") return schema;
  const std::string_view results = trimmed(rest.substr(2));
  schema.is_read =
      read_items(after.substr(0, close), schema.arguments, schema.argument_count) &&
      read_items(unwrapped(results), schema.results, schema.result_count);
  return schema;
}

}  // namespace plug

#endif  // TORCHPLUG_PLUG_SCHEMA_HPP
