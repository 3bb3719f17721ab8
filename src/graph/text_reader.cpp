#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/error.h"
#include "graph/text.h"
#include "graph/text_cursor.h"

namespace torchplug::graph {
namespace {

constexpr int kDeepestText = 32;  // lists in lists

template <class Number>
constexpr std::string_view kOutOfRange =
    sizeof(Number) == 4 ? " is not from 0 to 2147483647" : " does not fit into 64 bits";

std::string names_of(const std::vector<Parameter>& parameters) {
  std::string names;
  for (const Parameter& parameter : parameters) names += (names.empty() ? "" : ", ") + parameter.name;
  return names.empty() ? "none" : names;
}

class GraphReader {
 public:
  GraphReader(std::string_view text, const ConstantSource& constants)
      : cursor_(text), constants_(constants) {}

  Graph read() {
    read_head();
    cursor_.need("graph");
    read_inputs();
    cursor_.need("{");
    while (!cursor_.take_keyword("return")) read_statement();
    read_outputs();
    cursor_.need("}");
    if (!cursor_.is_at_end()) cursor_.refuse_next("the end of the text");
    return std::move(graph_);
  }

 private:
  // What the graph refuses is refused at `place`.
  template <class Build>
  auto build_at(size_t place, const Build& build) {
    try {
      return build();
    } catch (const GraphError& error) {
      cursor_.refuse_at(place, error.what());
    }
  }

  template <class Number>
  Number read_whole(std::string_view what) {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    const std::string_view digits = cursor_.take_number();
    Number number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc::result_out_of_range)
      cursor_.refuse_at(place, say(what, ": ", digits, kOutOfRange<Number>));
    if (digits.empty()) cursor_.refuse_next(what);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      cursor_.refuse_at(place, say("expected ", what, ", but found '", digits, "'"));
    }
    return number;
  }

  // ---- head ----

  void read_head() {
    while (true) {
      if (cursor_.take_keyword("symbol")) {
        read_symbol();
      } else if (cursor_.take_keyword("operator")) {
        read_operator_line();
      } else if (cursor_.take_keyword("flags")) {
        read_flags();
      } else {
        return;
      }
    }
  }

  void read_flags() {
    uint64_t flags = 0;
    while (true) {
      if (cursor_.take_keyword("deterministic")) {
        flags |= PLUG_CALL_DETERMINISTIC;
      } else if (cursor_.take_keyword("fast_f32")) {
        flags |= PLUG_CALL_FAST_F32;
      } else if (cursor_.take_keyword("captured")) {
        flags |= PLUG_CALL_CAPTURED;
      } else {
        return graph_.set_flags(flags);
      }
    }
  }

  void read_symbol() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    const std::string name = say("s", graph_.symbols().size());
    if (!cursor_.take_keyword(name)) cursor_.refuse_next(say("'", name, "': symbols are declared in order"));
    Symbol symbol;
    cursor_.need("in");
    symbol.min = read_whole<int64_t>("the least value");
    cursor_.need("..");
    symbol.max = read_whole<int64_t>("the largest value");
    cursor_.need(",");
    cursor_.need("hint");
    symbol.hint = read_whole<int64_t>("the hint");
    if (cursor_.take(",")) symbol.text = cursor_.take_string();
    build_at(place, [&] { return graph_.add_symbol(std::move(symbol)); });
  }

  void read_operator_line() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    const int32_t listed =
        cursor_.take("-") ? -1 : read_whole<int32_t>("a place in the compiler's list, or '-'");
    const std::string schema(cursor_.take_line());
    refuse_taken_place(place, listed, schema);
    const size_t before = graph_.operators().size();
    const int32_t op = build_at(place, [&] { return graph_.add_operator(schema, listed); });
    if (graph_.operators().size() == before) cursor_.refuse_at(place, "this operator is declared twice");
    operators_[graph_.operators()[static_cast<size_t>(op)].name].push_back(op);
  }

  void refuse_taken_place(size_t place, int32_t listed, std::string_view schema) const {
    for (const Operator& other : graph_.operators()) {
      if (listed < 0 || other.place != listed || other.schema == schema) continue;
      cursor_.refuse_at(place, say("place ", listed, " of the compiler's list is that of ", other.name));
    }
  }

  // ---- values ----

  struct Declared {
    std::string label;
    std::string name;
    TensorType type;
    bool is_weight = false;
    bool is_used = true;  // else it is '_'
    size_t place = 0;
  };

  int32_t read_symbol_number(std::string_view word, size_t place) const {
    int32_t number = -1;
    const auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      cursor_.refuse_at(place, say("'", word, "' is no symbol: they are called s0, s1 and so on"));
    }
    if (static_cast<size_t>(number) >= graph_.symbols().size()) {
      cursor_.refuse_at(place, say("symbol ", word, " is not declared"));
    }
    return number;
  }

  int64_t read_extent() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    if (cursor_.peek() == 's') return extent_of(read_symbol_number(cursor_.take_word(), place));
    const auto extent = read_whole<int64_t>("a size, a stride or a symbol");
    if (extent < 0) cursor_.refuse_at(place, say(extent, " is no size and no stride: they are not negative"));
    return extent;
  }

  std::vector<int64_t> read_extents() {
    std::vector<int64_t> extents;
    if (cursor_.peek() == ']' || cursor_.peek() == ';') return extents;
    do {
      extents.push_back(read_extent());
    } while (cursor_.take(","));
    return extents;
  }

  plug_dtype read_dtype() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    const std::string_view word = cursor_.take_word();
    if (word == "dtype") return read_unnamed_dtype();
    const std::optional<plug_dtype> dtype = dtype_named(word);
    if (!dtype) cursor_.refuse_at(place, say("'", word, "' is no dtype; f32, bf16, i64 and bool are some"));
    return *dtype;
  }

  plug_dtype read_unnamed_dtype() {
    cursor_.need("(");
    cursor_.need("0x");
    const size_t place = cursor_.place();
    const std::string_view digits = cursor_.take_word();
    plug_dtype dtype = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), dtype, 16);
    if (error != std::errc() || end != digits.data() + digits.size() || PLUG_DTYPE_BYTES(dtype) == 0) {
      cursor_.refuse_at(place, say("0x", digits, " is no dtype"));
    }
    cursor_.need(")");
    return dtype;
  }

  TensorType read_type() {
    const plug_dtype dtype = read_dtype();
    cursor_.need("[");
    TensorType type = contiguous(dtype, read_extents());
    if (cursor_.take(";")) type.strides = read_extents();
    cursor_.need("]");
    return type;
  }

  // %x: f32[2] weight "name"
  Declared read_declared() {
    Declared declared;
    cursor_.skip_space();
    declared.place = cursor_.place();
    cursor_.need("%");
    declared.label = cursor_.take_word();
    if (declared.label.empty()) cursor_.refuse_next("a name or a number behind '%'");
    if (values_.contains(declared.label))
      cursor_.refuse_at(declared.place, say("%", declared.label, " is there twice"));
    const bool is_number = declared.label.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number) declared.name = declared.label;
    cursor_.need(":");
    declared.type = read_type();
    declared.is_weight = cursor_.take_keyword("weight");
    if (cursor_.peek() == '"') declared.name = cursor_.take_string();
    return declared;
  }

  int32_t read_value() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    cursor_.need("%");
    const std::string label(cursor_.take_word());
    const auto found = values_.find(label);
    if (found == values_.end())
      cursor_.refuse_at(place, say("%", label, " is not declared before it is used"));
    return found->second;
  }

  void read_inputs() {
    cursor_.need("(");
    if (cursor_.take(")")) return;
    do {
      Declared input = read_declared();
      const int32_t value = build_at(input.place, [&] {
        return graph_.add_input(std::move(input.type), std::move(input.name), input.is_weight);
      });
      values_.emplace(std::move(input.label), value);
    } while (cursor_.take(","));
    cursor_.need(")");
  }

  // ---- statements ----

  void read_statement() {
    const size_t place = (cursor_.skip_space(), cursor_.place());
    std::vector<Declared> results;
    if (cursor_.peek() == '%' || is_unused_result()) {
      do {
        results.push_back(cursor_.take_keyword("_") ? Declared{.is_used = false} : read_declared());
      } while (cursor_.take(","));
      cursor_.need("=");
      if (cursor_.take_keyword("constant")) return read_constant(results);
    }
    read_node(place, results);
  }

  // '_' alone: the name of an operator may begin with it.
  bool is_unused_result() {
    TextCursor ahead = cursor_;
    return ahead.take_keyword("_") && (ahead.peek() == ',' || ahead.peek() == '=');
  }

  void refuse_weight(const Declared& declared) const {
    if (declared.is_weight)
      cursor_.refuse_at(declared.place, say("%", declared.label, " is no input, and no weight"));
  }

  void read_constant(std::vector<Declared>& results) {
    if (results.size() != 1 || !results[0].is_used) {
      cursor_.refuse("a constant is one value with a name or a number");
    }
    Declared& declared = results[0];
    refuse_weight(declared);
    std::shared_ptr<const Constant> content = read_content(declared);
    const int32_t value = build_at(declared.place, [&] {
      return graph_.add_constant(declared.type.dtype, std::move(declared.type.sizes), std::move(content),
                                 std::move(declared.name));
    });
    values_.emplace(std::move(declared.label), value);
  }

  std::shared_ptr<const Constant> read_content(const Declared& declared) {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    if (cursor_.take_keyword("base64")) {
      const std::optional<std::vector<uint8_t>> bytes = read_base64(cursor_.take_string());
      if (!bytes) cursor_.refuse_at(place, "this content is no base64");
      return Constant::copy_of(bytes->data(), bytes->size());
    }
    if (!cursor_.take_keyword("sha256")) cursor_.refuse_next("'base64' or 'sha256'");
    const std::optional<Digest> digest = read_digest(cursor_.take_string());
    if (!digest) cursor_.refuse_at(place, "this digest is not of 64 hexadecimal digits");
    cursor_.need("of");
    const auto bytes = read_whole<uint64_t>("a number of bytes");
    cursor_.need("bytes");
    std::shared_ptr<const Constant> content = constants_ ? constants_(*digest, bytes) : nullptr;
    if (!content || content->digest() != *digest || content->bytes() != bytes) {
      cursor_.refuse_at(place, say("the text has only the digest of constant %", declared.label, ", and its ",
                                   bytes, " bytes were not given beside it"));
    }
    return content;
  }

  int32_t read_called() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    const std::string name(cursor_.take_word(".:"));
    if (name.empty()) cursor_.refuse_next("a node or 'return'");
    const auto found = operators_.find(name);
    if (found == operators_.end())
      cursor_.refuse_at(place, say("operator ", name, " is not declared above the graph"));
    if (cursor_.take("@")) {
      const auto number = read_whole<int32_t>("the number of an operator");
      for (const int32_t op : found->second) {
        if (op == number) return op;
      }
      cursor_.refuse_at(place, say(name, " is not operator ", number));
    }
    if (found->second.size() > 1) {
      cursor_.refuse_at(
          place, say(name, " is declared ", found->second.size(), " times: say which by @ and its number"));
    }
    return found->second.front();
  }

  std::vector<Argument> read_args(const Operator& op, size_t place) {
    std::vector<Argument> args(op.parameters.size());
    std::vector<bool> is_given(args.size());
    size_t next = 0;
    cursor_.need("(");
    while (!cursor_.take(")")) {
      if (next > 0) cursor_.need(",");
      const size_t here = (cursor_.skip_space(), cursor_.place());
      const size_t index = read_keyword(op).value_or(next);
      if (index >= args.size())
        cursor_.refuse_next(say("')' behind the arguments of ", op.name, " (", names_of(op.parameters), ")"));
      if (is_given[index])
        cursor_.refuse_at(here, say("argument '", op.parameters[index].name, "' is there twice"));
      args[index] = read_argument(0);
      is_given[index] = true;
      ++next;
    }
    const auto missing = std::find(is_given.begin(), is_given.end(), false);
    if (missing != is_given.end()) {
      const std::string& name = op.parameters[static_cast<size_t>(missing - is_given.begin())].name;
      cursor_.refuse_at(place, say("argument '", name, "' of ", op.name, " is missing"));
    }
    return args;
  }

  // The place of the argument that is named here; none if none is.
  std::optional<size_t> read_keyword(const Operator& op) {
    TextCursor ahead = cursor_;
    const std::string_view word = ahead.take_word();
    if (word.empty() || !ahead.take("=")) return std::nullopt;
    for (size_t i = 0; i < op.parameters.size(); ++i) {
      if (op.parameters[i].name != word) continue;
      cursor_ = ahead;
      return i;
    }
    cursor_.refuse(say(op.name, " has no argument '", word, "'; it has ", names_of(op.parameters)));
  }

  void read_node(size_t place, std::vector<Declared>& results) {
    const int32_t op = read_called();
    std::vector<Argument> args = read_args(graph_.operators()[static_cast<size_t>(op)], place);
    std::string source = cursor_.take_comment();
    std::vector<std::optional<TensorType>> types;
    for (Declared& result : results) {
      refuse_weight(result);
      types.push_back(result.is_used ? std::optional(std::move(result.type)) : std::nullopt);
    }
    const int32_t node = build_at(
        place, [&] { return graph_.add_node(op, std::move(args), std::move(types), std::move(source)); });
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_used) continue;
      const int32_t value = graph_.nodes()[static_cast<size_t>(node)].results[i];
      build_at(place, [&] { graph_.set_name(value, std::move(results[i].name)); });
      if (!values_.emplace(results[i].label, value).second) {
        cursor_.refuse_at(results[i].place, say("%", results[i].label, " is there twice"));
      }
    }
  }

  void read_outputs() {
    const size_t place = cursor_.place();
    std::vector<Output> outputs;
    if (cursor_.peek() == '%') {
      do {
        Output output{read_value(), -1};
        if (cursor_.take_keyword("updates")) output.updates = read_value();
        outputs.push_back(output);
      } while (cursor_.take(","));
    }
    build_at(place, [&] { graph_.set_outputs(std::move(outputs)); });
  }

  // ---- arguments ----

  Argument read_argument(int depth) {
    if (depth > kDeepestText) cursor_.refuse("lists stand in lists too deep");
    const char next = cursor_.peek();
    if (next == '%') return Argument::ref(read_value());
    if (next == '"') return Argument::text(cursor_.take_string());
    if (next == '[') return read_list("", depth);
    if (next == '-' || (next >= '0' && next <= '9')) return read_number();
    const size_t place = cursor_.place();
    TextCursor ahead = cursor_;
    const std::string_view word = ahead.take_word();
    if (word == "inf" || word == "nan") return read_number();
    cursor_ = ahead;
    return read_word(word, place, depth);
  }

  Argument read_word(std::string_view word, size_t place, int depth) {
    if (word.empty()) cursor_.refuse_next("an argument");
    if (word == "None") return {};
    if (word == "True" || word == "False") return Argument::boolean(word == "True");
    if (word == "generator") return Argument::generator();
    if (word == "dtype") return Argument::dtype(read_unnamed_dtype());
    if (word == "layout") return Argument::layout(read_in_brackets({}));
    if (word == "format") {
      return Argument::format(read_in_brackets(
          {{"contiguous", 0}, {"preserve", 1}, {"channels_last", 2}, {"channels_last_3d", 3}}));
    }
    if (word == "device") return Argument::device(read_in_brackets({{"host", PLUG_HOST}}));
    if (word == "complex") return read_complex();
    if (word == "ints" || word == "floats" || word == "bools" || word == "refs" || word == "list") {
      return read_list(word, depth);
    }
    if (const std::optional<plug_dtype> dtype = dtype_named(word)) return Argument::dtype(*dtype);
    if (word.front() == 's') return Argument::symbol(read_symbol_number(word, place));
    cursor_.refuse_at(place, say("'", word, "' is no argument"));
  }

  int64_t read_in_brackets(const std::vector<std::pair<std::string_view, int64_t>>& words) {
    cursor_.need("(");
    for (const auto& [word, number] : words) {
      if (!cursor_.take_keyword(word)) continue;
      cursor_.need(")");
      return number;
    }
    const auto number = read_whole<int64_t>("a number");
    cursor_.need(")");
    return number;
  }

  double read_float() {
    const Argument number = read_number();
    if (number.tag() != PLUG_VALUE_FLOAT) cursor_.refuse("expected a number with a point before this");
    return number.as<double>();
  }

  Argument read_complex() {
    cursor_.need("(");
    const double real = read_float();
    cursor_.need(",");
    const double imaginary = read_float();
    cursor_.need(")");
    return Argument::complex(real, imaginary);
  }

  Argument read_nan() {
    if (!cursor_.take("(")) return Argument::number(std::bit_cast<double>(uint64_t{0x7ff8000000000000}));
    cursor_.need("0x");
    const size_t place = cursor_.place();
    const std::string_view digits = cursor_.take_word();
    uint64_t bits = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        !std::isnan(std::bit_cast<double>(bits))) {
      cursor_.refuse_at(place, say("0x", digits, " is not what a NaN looks like"));
    }
    cursor_.need(")");
    return Argument::number(std::bit_cast<double>(bits));
  }

  // 2, 2u, 2.0, 2e3, inf, -inf, nan
  Argument read_number() {
    cursor_.skip_space();
    const size_t place = cursor_.place();
    std::string_view digits = cursor_.take_number();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (digits == "nan") return read_nan();
    if (digits == "inf" || digits == "-inf")
      return Argument::number(digits == "inf" ? kInfinity : -kInfinity);
    const bool is_float = digits.find_first_of(".eE") != std::string_view::npos;
    if (is_float) return Argument::number(convert<double>(digits, place));
    if (!digits.ends_with('u')) return Argument::integer(convert<int64_t>(digits, place));
    digits.remove_suffix(1);
    return Argument::unsigned_integer(convert<uint64_t>(digits, place));
  }

  template <class Number>
  Number convert(std::string_view digits, size_t place) const {
    Number number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc::result_out_of_range) cursor_.refuse_at(place, say(digits, kOutOfRange<Number>));
    if (error != std::errc() || end != digits.data() + digits.size()) {
      cursor_.refuse_at(place, say("'", digits, "' is no number"));
    }
    return number;
  }

  Argument read_list(std::string_view kind, int depth) {
    cursor_.need("[");
    const size_t place = cursor_.place();
    std::vector<Argument> items;
    while (!cursor_.take("]")) {
      if (!items.empty()) cursor_.need(",");
      items.push_back(read_argument(depth + 1));
    }
    if (kind.empty()) kind = kind_of(items, place);
    if (kind == "list") return Argument::list(std::move(items));
    if (kind == "ints") return Argument::ints(items_of<int64_t>(items, PLUG_VALUE_INT, place));
    if (kind == "floats") return Argument::floats(items_of<double>(items, PLUG_VALUE_FLOAT, place));
    if (kind == "refs") return Argument::refs(items_of<int64_t>(items, PLUG_VALUE_REF, place));
    std::vector<uint8_t> bools;
    for (const int64_t item : items_of<int64_t>(items, PLUG_VALUE_BOOL, place)) bools.push_back(item != 0);
    return Argument::bools(std::move(bools));
  }

  std::string_view kind_of(const std::vector<Argument>& items, size_t place) const {
    if (items.empty())
      cursor_.refuse_at(place, "an empty list says of what it is: ints[], floats[], refs[] or list[]");
    bool names_symbol = false;
    for (const Argument& item : items) names_symbol |= item.tag() == PLUG_VALUE_SYMBOL;
    if (names_symbol) return "list";
    switch (items.front().tag()) {
      case PLUG_VALUE_INT: return "ints";
      case PLUG_VALUE_FLOAT: return "floats";
      case PLUG_VALUE_BOOL: return "bools";
      case PLUG_NONE:
      case PLUG_VALUE_REF: return "refs";
      default:
        cursor_.refuse_at(place, "a list of other things than numbers and values is written list[...]");
    }
  }

  template <class Item>
  std::vector<Item> items_of(const std::vector<Argument>& items, int32_t tag, size_t place) const {
    std::vector<Item> result;
    for (const Argument& item : items) {
      if (tag == PLUG_VALUE_REF && item.tag() == PLUG_NONE) {
        result.push_back(-1);
      } else if (item.tag() != tag) {
        cursor_.refuse_at(place,
                          "the items of this list are of several kinds; such a list is written list[...]");
      } else {
        result.push_back(item.as<Item>());
      }
    }
    return result;
  }

  TextCursor cursor_;
  const ConstantSource& constants_;
  Graph graph_;
  std::unordered_map<std::string, std::vector<int32_t>> operators_;  // by name
  std::unordered_map<std::string, int32_t> values_;                  // by label
};

}  // namespace

Graph from_text(std::string_view text, const ConstantSource& constants) {
  return GraphReader(text, constants).read();
}

}  // namespace torchplug::graph
