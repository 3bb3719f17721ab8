#include "base/utf8.h"

namespace torchplug::base {
namespace {

// How many bytes the character has that begins here; 0 if none does. A text ends in a 0, which continues no
// character.
size_t length_of_character(const unsigned char* at) {
  const unsigned char lead = at[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  size_t length = 2;
  if (lead >= 0xE0) length = lead < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, halves of pairs, beyond the last character.
  const bool is_wrong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xED && at[1] >= 0xA0) ||
                        (lead == 0xF0 && at[1] < 0x90) || (lead == 0xF4 && at[1] >= 0x90);
  return is_wrong ? 0 : length;
}

}  // namespace

std::string as_utf8(const char* text) {
  std::string result;
  if (text == nullptr) return result;
  while (*text != '\0') {
    const size_t length = length_of_character(reinterpret_cast<const unsigned char*>(text));
    if (length == 0) {
      result += '?';
      ++text;
    } else {
      result.append(text, length);
      text += length;
    }
  }
  return result;
}

}  // namespace torchplug::base
