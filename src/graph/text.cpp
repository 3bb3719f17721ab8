#include "graph/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

constexpr uint64_t kMostInline = 256;  // bytes of a constant

constexpr std::pair<plug_dtype, std::string_view> kDtypeNames[] = {
    {PLUG_I8, "i8"},
    {PLUG_I16, "i16"},
    {PLUG_I32, "i32"},
    {PLUG_I64, "i64"},
    {PLUG_U8, "u8"},
    {PLUG_U16, "u16"},
    {PLUG_U32, "u32"},
    {PLUG_U64, "u64"},
    {PLUG_F16, "f16"},
    {PLUG_F32, "f32"},
    {PLUG_F64, "f64"},
    {PLUG_BF16, "bf16"},
    {PLUG_C32, "c32"},
    {PLUG_C64, "c64"},
    {PLUG_C128, "c128"},
    {PLUG_BOOL, "bool"},
    {PLUG_F8_E4M3FN, "f8_e4m3fn"},
    {PLUG_F8_E4M3FNUZ, "f8_e4m3fnuz"},
    {PLUG_F8_E5M2, "f8_e5m2"},
    {PLUG_F8_E5M2FNUZ, "f8_e5m2fnuz"},
    {PLUG_F8_E8M0FNU, "f8_e8m0fnu"},
    {PLUG_F4_E2M1FN_X2, "f4_e2m1fn_x2"},
    {PLUG_QI8, "qi8"},
    {PLUG_QI32, "qi32"},
    {PLUG_QU8, "qu8"},
};

std::string hex_text(uint64_t number) {
  std::array<char, 16> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return say("0x", std::string_view(digits.data(), end));
}

std::string float_text(double number) {
  const auto bits = std::bit_cast<uint64_t>(number);
  constexpr uint64_t kPlainNan = 0x7ff8000000000000;
  if (std::isnan(number)) return bits == kPlainNan ? "nan" : say("nan(", hex_text(bits), ")");
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 32> digits{};
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // 2.0 is not 2
  return text;
}

// What may stand in quotes, or on a line behind '#'.
std::string escaped(std::string_view text, bool is_quoted) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || (is_quoted && c == '"')) {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += say("\\x", to_hex({&byte, 1}));
    } else {
      result += c;
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) { return say("\"", escaped(text, true), "\""); }

std::string base64_text(const uint8_t* data, uint64_t bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (uint64_t i = 0; i < bytes; i += 3) {
    uint32_t group = 0;
    for (uint64_t n = 0; n < 3; ++n) group = group << 8 | (i + n < bytes ? data[i + n] : 0);
    for (uint64_t n = 0; n < 4; ++n) {
      text += i + n <= bytes ? kDigits[group >> (18 - 6 * n) & 63] : '=';
    }
  }
  return text;
}

bool is_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

class GraphWriter {
 public:
  explicit GraphWriter(const Graph& graph) : graph_(graph) {
    for (const Operator& op : graph.operators()) ++operators_named_[op.name];
    choose_labels();
  }

  std::string write() {
    write_head();
    std::string separator;
    text_ += "graph(";
    for (int32_t input = 0; input < graph_.input_count(); ++input) {
      text_ += separator + typed(input);
      separator = ", ";
    }
    text_ += ") {\n";
    for (size_t value = 0; value < graph_.values().size(); ++value) {
      if (graph_.values()[value].is_constant()) write_constant(static_cast<int32_t>(value));
    }
    for (const Node& node : graph_.nodes()) write_node(node);
    write_outputs();
    return std::move(text_) + "}\n";
  }

 private:
  const Value& value_of(int32_t number) const { return graph_.values()[static_cast<size_t>(number)]; }

  void choose_labels() {
    std::unordered_map<std::string, int32_t> taken;
    for (size_t i = 0; i < graph_.values().size(); ++i) {
      const std::string& name = graph_.values()[i].name;
      const bool is_its_own = is_word(name) && taken.emplace(name, 0).second;
      labels_.push_back(is_its_own ? "%" + name : say("%", i));
    }
  }

  const std::string& label(int64_t value) const { return labels_[static_cast<size_t>(value)]; }

  static std::string extent_text(int64_t extent) {
    return is_symbolic(extent) ? say("s", symbol_of(extent)) : std::to_string(extent);
  }

  static std::string extents_text(const std::vector<int64_t>& extents) {
    std::string text;
    for (size_t i = 0; i < extents.size(); ++i) text += (i > 0 ? ", " : "") + extent_text(extents[i]);
    return text;
  }

  static std::string type_text(const TensorType& type) {
    std::string text = dtype_text(type.dtype) + "[" + extents_text(type.sizes);
    if (type.strides && type.strides != contiguous_strides(type.sizes))
      text += say("; ", extents_text(*type.strides));
    return text + "]";
  }

  // "%x: f32[3] weight" or "%1: f32[3] weight "layers.0.weight""
  std::string typed(int32_t number) const {
    const Value& value = value_of(number);
    std::string text = label(number) + ": " + type_text(value.type);
    if ((value.flags & PLUG_GRAPH_WEIGHT) != 0) text += " weight";
    if (!value.name.empty() && label(number) != "%" + value.name) text += say(" ", in_quotes(value.name));
    return text;
  }

  void write_head() {
    if (graph_.flags() != 0) {
      text_ += "flags";
      if ((graph_.flags() & PLUG_CALL_DETERMINISTIC) != 0) text_ += " deterministic";
      if ((graph_.flags() & PLUG_CALL_FAST_F32) != 0) text_ += " fast_f32";
      if ((graph_.flags() & PLUG_CALL_CAPTURED) != 0) text_ += " captured";
      text_ += "\n";
    }
    for (size_t i = 0; i < graph_.symbols().size(); ++i) {
      const Symbol& symbol = graph_.symbols()[i];
      text_ += say("symbol s", i, " in ", symbol.min, "..", symbol.max, ", hint ", symbol.hint);
      text_ += symbol.text.empty() ? "\n" : say(", ", in_quotes(symbol.text), "\n");
    }
    for (const Operator& op : graph_.operators()) {
      text_ += say("operator ", op.is_bound() ? std::to_string(op.place) : "-", " ", op.schema, "\n");
    }
  }

  void write_constant(int32_t number) {
    const Constant& constant = *value_of(number).constant;
    text_ += say("  ", typed(number), " = constant ");
    if (constant.bytes() <= kMostInline) {
      const auto* data = static_cast<const uint8_t*>(constant.data());
      text_ += say("base64 \"", base64_text(data, constant.bytes()), "\"\n");
    } else {
      text_ += say("sha256 \"", to_hex(constant.digest()), "\" of ", constant.bytes(), " bytes\n");
    }
  }

  void write_node(const Node& node) {
    text_ += "  ";
    for (size_t i = 0; i < node.results.size(); ++i) {
      text_ += (i > 0 ? ", " : "") + (node.results[i] < 0 ? "_" : typed(node.results[i]));
    }
    if (!node.results.empty()) text_ += " = ";
    const Operator& op = graph_.operator_of(node);
    text_ += op.name;
    if (operators_named_[op.name] > 1) text_ += say("@", node.op);
    text_ += "(";
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0) text_ += ", ";
      if (op.parameters[i].is_keyword_only) text_ += op.parameters[i].name + "=";
      text_ += argument_text(node.args[i]);
    }
    text_ += ")";
    if (!node.source.empty()) text_ += "  # " + escaped(node.source, false);
    text_ += "\n";
  }

  void write_outputs() {
    text_ += "  return";
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Output& output = graph_.outputs()[i];
      text_ += (i > 0 ? ", " : " ") + label(output.value);
      if (output.updates >= 0) text_ += " updates " + label(output.updates);
    }
    text_ += "\n";
  }

  // A list is read without its kind in front if its items tell it.
  template <class Items, class Write>
  static std::string list_text(std::string_view kind, const Items& items, bool shows_kind,
                               const Write& write) {
    std::string text(items.empty() || shows_kind ? kind : "");
    text += "[";
    for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? ", " : "") + write(items[i]);
    return text + "]";
  }

  std::string refs_text(const std::vector<int64_t>& refs) const {
    bool names_any = false;
    for (const int64_t value : refs) names_any |= value >= 0;
    return list_text("refs", refs, !names_any,
                     [this](int64_t value) { return value < 0 ? std::string("None") : label(value); });
  }

  std::string items_text(const std::vector<Argument>& items) const {
    bool names_symbol = false;
    bool is_of_sizes = true;
    for (const Argument& item : items) {
      names_symbol |= item.tag() == PLUG_VALUE_SYMBOL;
      is_of_sizes &= item.tag() == PLUG_VALUE_SYMBOL || item.tag() == PLUG_VALUE_INT;
    }
    return list_text("list", items, !(names_symbol && is_of_sizes),
                     [this](const Argument& item) { return argument_text(item); });
  }

  static std::string format_text(int64_t format) {
    constexpr std::string_view kNames[] = {"contiguous", "preserve", "channels_last", "channels_last_3d"};
    if (format >= 0 && format < 4) return say("format(", kNames[format], ")");
    return say("format(", format, ")");
  }

  std::string argument_text(const Argument& argument) const {
    const auto number = [](auto item) { return std::to_string(item); };
    switch (argument.tag()) {
      case PLUG_VALUE_BOOL: return argument.as<int64_t>() != 0 ? "True" : "False";
      case PLUG_VALUE_INT: return number(argument.as<int64_t>());
      case PLUG_VALUE_UINT: return number(argument.as<uint64_t>()) + "u";
      case PLUG_VALUE_FLOAT: return float_text(argument.as<double>());
      case PLUG_VALUE_COMPLEX: {
        const auto& parts = argument.as<std::vector<double>>();
        return say("complex(", float_text(parts[0]), ", ", float_text(parts[1]), ")");
      }
      case PLUG_VALUE_STR: return in_quotes(argument.as<std::string>());
      case PLUG_VALUE_DTYPE: return dtype_text(static_cast<plug_dtype>(argument.as<uint64_t>()));
      case PLUG_VALUE_LAYOUT: return say("layout(", argument.as<int64_t>(), ")");
      case PLUG_VALUE_FORMAT: return format_text(argument.as<int64_t>());
      case PLUG_VALUE_DEVICE:
        return argument.as<int64_t>() == PLUG_HOST ? "device(host)"
                                                   : say("device(", argument.as<int64_t>(), ")");
      case PLUG_VALUE_GENERATOR: return "generator";
      case PLUG_VALUE_INTS: return list_text("ints", argument.as<std::vector<int64_t>>(), false, number);
      case PLUG_VALUE_FLOATS:
        return list_text("floats", argument.as<std::vector<double>>(), false, float_text);
      case PLUG_VALUE_BOOLS:
        return list_text("bools", argument.as<std::vector<uint8_t>>(), false,
                         [](uint8_t item) { return std::string(item != 0 ? "True" : "False"); });
      case PLUG_VALUE_LIST: return items_text(argument.as<std::vector<Argument>>());
      case PLUG_VALUE_REF: return label(argument.as<int64_t>());
      case PLUG_VALUE_REFS: return refs_text(argument.as<std::vector<int64_t>>());
      case PLUG_VALUE_SYMBOL: return say("s", argument.as<int64_t>());
      default: return "None";
    }
  }

  const Graph& graph_;
  std::unordered_map<std::string, int> operators_named_;
  std::vector<std::string> labels_;
  std::string text_;
};

}  // namespace

std::string to_text(const Graph& graph) { return GraphWriter(graph).write(); }

std::string dtype_text(plug_dtype dtype) {
  for (const auto& [known, name] : kDtypeNames) {
    if (known == dtype) return std::string(name);
  }
  return say("dtype(", hex_text(dtype), ")");
}

std::optional<plug_dtype> dtype_named(std::string_view name) {
  for (const auto& [dtype, known] : kDtypeNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace torchplug::graph
