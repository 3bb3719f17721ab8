#pragma once
// The forms of linear: how words of a packed weight and words of prepared inputs become sums.
//
// A step is one word of 32 bits of every column. A form takes it apart into kParts vectors, each of which
// meets one word of every row; the words of a row's step lie together, in the order of the parts.

#include "vector.h"

namespace xcpu::XCPU_ISA {

struct FloatSums {
  using Sum = Floats;
  static constexpr bool kIsQuantised = false;
  static XCPU_INLINE Sum load_sum(const float* from) { return load(from, first_lanes(kLanes)); }
  static XCPU_INLINE void store_sum(float* to, Sum sum) { store(to, sum, first_lanes(kLanes)); }
  static XCPU_INLINE Sum zero() { return fill(0.0F); }
  static XCPU_INLINE Sum plus(Sum a, Sum b) { return add(a, b); }
};

struct IntegerSums {
  using Sum = Integers;
  static constexpr bool kIsQuantised = true;
  static XCPU_INLINE Sum load_sum(const float* from) {
    return as_integers(load_words(from, first_lanes(kLanes)));
  }
  static XCPU_INLINE void store_sum(float* to, Sum sum) {
    store_words(to, as_words(sum), first_lanes(kLanes));
  }
  static XCPU_INLINE Sum zero() { return as_integers(fill_word(0)); }
  static XCPU_INLINE Sum plus(Sum a, Sum b) { return add_integers(a, b); }
};

struct F32Form : FloatSums {
  static constexpr int kValues = 1;  // inputs of a step
  static constexpr int kParts = 1;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return words;
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return multiply_add(as_floats(input), as_floats(weight), sum);
  }
};

#if defined(XCPU_HAS_BF16)
struct Bf16Form : FloatSums {
  static constexpr int kValues = 2;
  static constexpr int kParts = 1;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return words;
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return add_pairs(sum, input, weight);
  }
};

// Of an int4 word the halves hold inputs 0, 4, 1, 5 and 2, 6, 3, 7, four bits each: each part is a pair of
// bf16.
struct Int4Bf16Form : FloatSums {
  static constexpr int kValues = 8;
  static constexpr int kParts = 4;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    static constexpr std::uint16_t kMinus8To7[16] = {0xC100, 0xC0E0, 0xC0C0, 0xC0A0, 0xC080, 0xC040,
                                                     0xC000, 0xBF80, 0x0000, 0x3F80, 0x4000, 0x4040,
                                                     0x4080, 0x40A0, 0x40C0, 0x40E0};
    return look_up(load_table(kMinus8To7), shift_right<4 * kPart>(words));
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return add_pairs(sum, input, weight);
  }
};
#else
// Without an instruction for bf16 each part is one fp32.
struct Bf16Form : FloatSums {
  static constexpr int kValues = 2;
  static constexpr int kParts = 2;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return kPart == 0 ? shift_left<16>(words) : and_words(words, fill_word(0xFFFF0000U));
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return multiply_add(as_floats(input), as_floats(weight), sum);
  }
};

struct Int4Bf16Form : FloatSums {
  static constexpr int kValues = 8;
  static constexpr int kParts = 8;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    const Words from0To15 = and_words(shift_right<4 * kPart>(words), fill_word(15));
    return as_words(subtract(to_floats(as_integers(from0To15)), fill(8.0F)));
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return multiply_add(as_floats(input), as_floats(weight), sum);
  }
};
#endif

// Where bytes of one factor are unsigned, inputs have 128 added, and the packed weight says what that adds to
// a sum.
struct Int8Form : IntegerSums {
  static constexpr int kValues = 4;
  static constexpr int kParts = 1;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return words;
  }
#if defined(XCPU_HAS_BF16)
  static constexpr std::uint32_t kAddedToInputs = 0x80808080U;
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return add_quads(sum, input, weight);
  }
#else
  static constexpr std::uint32_t kAddedToInputs = 0;
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return add_signed_quads(sum, input, weight);
  }
#endif
};

// Weights from 0 to 15, that is, with 8 added: sums begin with what takes that away.
struct Int4Form : IntegerSums {
  static constexpr int kValues = 8;
  static constexpr int kParts = 2;
  template <int kPart>
  static XCPU_INLINE Words part(Words words) {
    return and_words(shift_right<4 * kPart>(words), fill_word(0x0F0F0F0FU));
  }
  static XCPU_INLINE Sum multiply(Sum sum, Words input, Words weight) {
    return add_quads(sum, weight, input);
  }
};

}  // namespace xcpu::XCPU_ISA
