#include "aten/own/text_reader.h"

#include <c10/util/Exception.h>

#include <charconv>

#include "base/utf8.h"

namespace torchplug::aten {
namespace {

constexpr int kDeepest = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

void TextReader::skip_space() {
  while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n' || text_[place_] == '\t'))
    ++place_;
}

bool TextReader::is_at_end() {
  skip_space();
  return place_ == text_.size();
}

char TextReader::peek() { return is_at_end() ? '\0' : text_[place_]; }

char TextReader::take() { return place_ < text_.size() ? text_[place_++] : '\0'; }

bool TextReader::is_digit_next() { return is_digit(peek()); }

bool TextReader::is_next(std::string_view symbol) {
  skip_space();
  return text_.substr(place_).starts_with(symbol);
}

bool TextReader::accept(std::string_view symbol) {
  if (!is_next(symbol)) return false;
  place_ += symbol.size();
  return true;
}

void TextReader::expect(std::string_view symbol) {
  if (!accept(symbol)) fail("expected '" + std::string(symbol) + "'");
}

std::string TextReader::accept_name() {
  skip_space();
  const size_t begin = place_;
  while (place_ < text_.size() && (is_letter(text_[place_]) || (place_ > begin && is_digit(text_[place_]))))
    ++place_;
  return std::string(text_.substr(begin, place_ - begin));
}

std::string TextReader::expect_name(const char* meaning) {
  std::string name = accept_name();
  if (name.empty()) fail(std::string("expected ") + meaning);
  return name;
}

std::optional<int64_t> TextReader::accept_integer() {
  skip_space();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), number);
  if (error == std::errc::result_out_of_range) fail("the number is too large");
  if (error != std::errc()) return std::nullopt;
  place_ = static_cast<size_t>(end - text_.data());
  return number;
}

void TextReader::fail(const std::string& why) {
  const std::string rest = is_at_end() ? "at its end" : "at '" + std::string(text_.substr(place_, 40)) + "'";
  TORCH_CHECK(false, as_utf8(what_.c_str()), ", \"", as_utf8(std::string(text_).c_str()),
              "\", cannot be read ", as_utf8(rest.c_str()), ": ", why, ".");
}

TextReader::Depth::Depth(TextReader& reader) : reader_(reader) {
  if (++reader_.depth_ > kDeepest) {
    --reader_.depth_;
    reader_.fail("it is nested too deeply");
  }
}

}  // namespace torchplug::aten
