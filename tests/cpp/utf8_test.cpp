#include "base/utf8.h"

#include "harness.h"

namespace torchplug::tests {
namespace {

TEST(Utf8, text_of_any_language_stays_as_it_is) {
  for (const char* text : {"", "out of memory", "Gerät verloren", "設備丟失", "\xF0\x9F\x94\xA5"}) {
    EXPECT_EQ(as_utf8(text), text);
  }
  EXPECT_EQ(as_utf8(nullptr), "");
}

TEST(Utf8, a_byte_that_is_none_of_it_becomes_a_question_mark) {
  EXPECT_EQ(as_utf8("Ger\xE4t"), "Ger?t") << "Latin-1";
  EXPECT_EQ(as_utf8("\x80|\xFF|\xC0\xAF"), "?|?|??");
  EXPECT_EQ(as_utf8("\xE2\x82"), "??") << "cut off";
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), "???") << "half of a pair";
  EXPECT_EQ(as_utf8("\xE0\x80\x80\xF4\x90\x80\x80"), "???????");
}

}  // namespace
}  // namespace torchplug::tests
