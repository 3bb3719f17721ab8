#pragma once
// A place in a text that is being read, and the words that stand there. Spaces, line ends and comments
// between words do not count. What is not as it should be is refused with line and column.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "graph/digest.h"

namespace torchplug::graph {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  size_t place() const { return at_; }

  [[noreturn]] void refuse(std::string_view what) const { refuse_at(at_, what); }
  [[noreturn]] void refuse_at(size_t place, std::string_view what) const;
  // "expected ..., but found ..."
  [[noreturn]] void refuse_next(std::string_view expected) const;

  void skip_space();
  bool is_at_end();
  char peek();  // '\0' at the end

  bool take(std::string_view what);
  void need(std::string_view what);
  // Letters, digits and '_', and what else is allowed; "" if none stand here.
  std::string_view take_word(std::string_view also = "");
  // The word, if it is this one.
  bool take_keyword(std::string_view word);
  // To the end of the line.
  std::string_view take_line();
  // What stands behind '#' on this line.
  std::string take_comment();
  std::string take_string();
  // A number, or "inf" or "nan", with its sign.
  std::string_view take_number();

 private:
  void skip_blanks();  // on this line
  void take_character(std::string& to);

  std::string_view text_;
  size_t at_ = 0;
};

// None for what is no such text.
std::optional<std::vector<uint8_t>> read_base64(std::string_view text);
std::optional<Digest> read_digest(std::string_view text);

}  // namespace torchplug::graph
