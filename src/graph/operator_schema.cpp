#include "graph/operator_schema.h"

#include <algorithm>
#include <string_view>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Where `wanted` first stands outside of brackets and quotes, or closes the bracket that the text begins
// with; npos if nowhere.
size_t find_outside(std::string_view text, char wanted) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && c == wanted) return i;
    if (c == '(' || c == '[') ++depth;
    if (c == '\'' || c == '"') quote = c;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> items;
  while (!trimmed(text).empty()) {
    const size_t comma = find_outside(text, ',');
    items.push_back(trimmed(text.substr(0, comma)));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return items;
}

// "Tensor(a!) self=None" gives "self".
std::string_view parameter_name(std::string_view item) {
  const std::string_view declared = trimmed(item.substr(0, find_outside(item, '=')));
  size_t begin = declared.size();
  while (begin > 0 && is_name_character(declared[begin - 1])) --begin;
  return begin == 0 ? std::string_view() : declared.substr(begin);
}

[[noreturn]] void refuse_schema(std::string_view schema, std::string_view why) {
  throw GraphError(say("'", schema, "' is no schema of an operator: ", why));
}

void read_parameters(Operator& op, std::string_view list) {
  bool is_keyword_only = false;
  for (const std::string_view item : split_list(list)) {
    if (item == "*") {
      is_keyword_only = true;
      continue;
    }
    const std::string_view name = parameter_name(item);
    if (name.empty()) refuse_schema(op.schema, say("its argument '", item, "' has no name"));
    op.parameters.push_back({std::string(name), is_keyword_only});
  }
}

size_t count_results(std::string_view schema, std::string_view results) {
  if (results.empty()) refuse_schema(schema, "it has no results; none are written '-> ()'");
  if (results.front() != '(') return 1;
  if (results.back() != ')') refuse_schema(schema, "its results do not end");
  return split_list(results.substr(1, results.size() - 2)).size();
}

}  // namespace

Operator read_operator(std::string schema, int32_t place) {
  if (place < -1) throw GraphError(say("place ", place, " is in no list of schemas"));
  if (schema.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) {
    refuse_schema("", "it is more than one line");
  }
  Operator op{.schema = std::move(schema), .place = place, .name = {}, .parameters = {}};
  const std::string_view text = op.schema;
  const size_t open = text.find('(');
  if (open == std::string_view::npos) refuse_schema(text, "it has no list of arguments");
  op.name = text.substr(0, open);
  const auto is_fitting = [](char c) { return is_name_character(c) || c == '.' || c == ':'; };
  if (op.name.find("::") == std::string::npos || !std::all_of(op.name.begin(), op.name.end(), is_fitting)) {
    refuse_schema(text, "its name is not of the form namespace::name");
  }
  const std::string_view list = text.substr(open);
  const size_t close = find_outside(list, ')');
  if (close == std::string_view::npos) refuse_schema(text, "its list of arguments does not end");
  read_parameters(op, list.substr(1, close - 1));
  const std::string_view arrow = trimmed(list.substr(close + 1));
  if (!arrow.starts_with("->")) refuse_schema(text, "it has no '->' behind its arguments");
  op.result_count = count_results(text, trimmed(arrow.substr(2)));
  return op;
}

}  // namespace torchplug::graph
