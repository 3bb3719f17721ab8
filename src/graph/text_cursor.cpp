#include "graph/text_cursor.h"

#include <algorithm>
#include <charconv>

#include "graph/error.h"

namespace torchplug::graph {
namespace {

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

// Columns count characters.
void TextCursor::refuse_at(size_t place, std::string_view what) const {
  size_t line = 1;
  size_t column = 1;
  for (size_t i = 0; i < place && i < text_.size(); ++i) {
    if (text_[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  throw GraphError(say("line ", line, ", column ", column, ": ", what));
}

void TextCursor::refuse_next(std::string_view expected) const {
  if (at_ == text_.size()) refuse(say("expected ", expected, ", but the text ends"));
  const size_t end = std::min(text_.find_first_of(" \t\r\n,()[]{}:;=", at_ + 1), text_.size());
  std::string found(text_.substr(at_, std::min<size_t>(end - at_, 40)));
  for (char& c : found) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  refuse(say("expected ", expected, ", but found '", found, "'"));
}

void TextCursor::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

void TextCursor::skip_space() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

bool TextCursor::is_at_end() {
  skip_space();
  return at_ == text_.size();
}

char TextCursor::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextCursor::take(std::string_view what) {
  skip_space();
  if (!text_.substr(at_).starts_with(what)) return false;
  at_ += what.size();
  return true;
}

void TextCursor::need(std::string_view what) {
  if (!take(what)) refuse_next(say("'", what, "'"));
}

std::string_view TextCursor::take_word(std::string_view also) {
  skip_space();
  const size_t begin = at_;
  while (at_ < text_.size() &&
         (is_word_character(text_[at_]) || also.find(text_[at_]) != std::string_view::npos))
    ++at_;
  return text_.substr(begin, at_ - begin);
}

bool TextCursor::take_keyword(std::string_view word) {
  skip_space();
  const size_t begin = at_;
  if (take_word() == word) return true;
  at_ = begin;
  return false;
}

std::string_view TextCursor::take_line() {
  skip_blanks();
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  at_ = end;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

std::string TextCursor::take_comment() {
  skip_blanks();
  if (at_ == text_.size() || text_[at_] != '#') return "";
  ++at_;
  if (at_ < text_.size() && text_[at_] == ' ') ++at_;
  std::string comment;
  while (at_ < text_.size() && text_[at_] != '\n') take_character(comment);
  if (!comment.empty() && comment.back() == '\r') comment.pop_back();
  return comment;
}

std::string TextCursor::take_string() {
  need("\"");
  const size_t begin = at_ - 1;
  std::string text;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') take_character(text);
  if (at_ == text_.size() || text_[at_] != '"')
    refuse_at(begin, "this text in quotes does not end on its line");
  ++at_;
  return text;
}

std::string_view TextCursor::take_number() {
  skip_space();
  const size_t begin = at_;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    const bool is_exponent_sign = c == '+' && at_ > begin && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    const bool is_range = c == '.' && text_.substr(at_).starts_with("..");
    if (is_range || (!is_word_character(c) && c != '.' && c != '-' && !is_exponent_sign)) break;
  }
  return text_.substr(begin, at_ - begin);
}

void TextCursor::take_character(std::string& to) {
  if (text_[at_] != '\\') {
    to += text_[at_++];
    return;
  }
  const std::string_view rest = text_.substr(at_ + 1);
  const char escape = rest.empty() ? '\0' : rest.front();
  unsigned code = 0;
  if (escape == '\\' || escape == '"') {
    to += escape;
  } else if (escape == 'n') {
    to += '\n';
  } else if (escape == 'x' && rest.size() >= 3 &&
             std::from_chars(rest.data() + 1, rest.data() + 3, code, 16).ptr == rest.data() + 3) {
    to += static_cast<char>(code);
    at_ += 2;
  } else {
    refuse("a backslash stands before one of \\, \", n and x with two digits");
  }
  at_ += 2;
}

std::optional<std::vector<uint8_t>> read_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::vector<uint8_t> bytes;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = i + padding >= text.size() ? 0 : kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(group >> shift));
  }
  for (; padding > 0; --padding) bytes.pop_back();
  return bytes;
}

std::optional<Digest> read_digest(std::string_view text) {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (size_t i = 0; i < digest.size(); ++i) {
    const char* at = text.data() + 2 * i;
    if (std::from_chars(at, at + 2, digest[i], 16).ptr != at + 2) return std::nullopt;
  }
  return digest;
}

}  // namespace torchplug::graph
