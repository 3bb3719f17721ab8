#pragma once
// Reads a text of a plugin's, symbol by symbol: how the results of an operator are shaped, or its gradient.
// What it cannot read it refuses in one sentence that quotes the text from the place on. Lives as long as a
// parse.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace torchplug::aten {

class TextReader {
 public:
  // `what`: "The shapes of acme::scale".
  TextReader(std::string what, std::string_view text) : what_(std::move(what)), text_(text) {}

  // Each passes over white space first.
  bool is_at_end();
  // Whether the symbol is next; passes over it.
  bool accept(std::string_view symbol);
  bool is_next(std::string_view symbol);
  void expect(std::string_view symbol);
  // [A-Za-z_][A-Za-z0-9_]*, or "" if none is next.
  std::string accept_name();
  std::string expect_name(const char* meaning);
  // Digits, with a '-' before them.
  std::optional<int64_t> accept_integer();
  bool is_digit_next();
  // A place to go back to.
  size_t place() const { return place_; }
  void go_back(size_t place) { place_ = place; }
  char peek();
  // One character, whatever it is; at the end 0.
  char peek_here() const { return place_ < text_.size() ? text_[place_] : '\0'; }
  char take();

  [[noreturn]] void fail(const std::string& why);

  // One within the other, as parentheses are; held while what is inside is read.
  class Depth {
   public:
    explicit Depth(TextReader& reader);
    ~Depth() { --reader_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    TextReader& reader_;
  };

 private:
  void skip_space();

  std::string what_;
  std::string_view text_;
  size_t place_ = 0;
  int depth_ = 0;
};

}  // namespace torchplug::aten
