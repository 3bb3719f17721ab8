// Plain C++ for every processor. Loops of eight, which compilers turn into what they have. Included by
// vector.h.

namespace xcpu::XCPU_ISA {

constexpr int kRegisters = 16;
constexpr int kLanes = 8;

struct Floats {
  float lane[kLanes];
};
struct Words {
  std::uint32_t lane[kLanes];
};
using Integers = Words;
using Mask = int;  // how many of the first lanes

// Each lane of the result is function(lane).
template <class Result, class Function>
XCPU_INLINE Result each(Function function) {
  Result result;
  for (int i = 0; i < kLanes; ++i) result.lane[i] = function(i);
  return result;
}
XCPU_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
XCPU_INLINE std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }

XCPU_INLINE Mask first_lanes(std::int64_t count) {
  if (count >= kLanes) return kLanes;
  return count <= 0 ? 0 : static_cast<int>(count);
}

// Lanes beyond the mask are zero, and their memory is not touched.
XCPU_INLINE Floats load(const float* from, Mask mask) {
  return each<Floats>([=](int i) { return i < mask ? from[i] : 0.0F; });
}
XCPU_INLINE Words load_words(const void* from, Mask mask) {
  Words words{};
  __builtin_memcpy(&words, from, static_cast<std::size_t>(mask) * 4);
  return words;
}
XCPU_INLINE void store(float* to, Floats values, Mask mask) {
  for (int i = 0; i < mask; ++i) to[i] = values.lane[i];
}
XCPU_INLINE void store_words(void* to, Words words, Mask mask) {
  __builtin_memcpy(to, &words, static_cast<std::size_t>(mask) * 4);
}

XCPU_INLINE std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FC0;  // NaN
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}
XCPU_INLINE float from_f16(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
  const std::uint32_t exponent = (half >> 10) & 31U;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 31) return float_of(sign | 0x7F800000U | fraction << 13);
  if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -small : small;
}
XCPU_INLINE std::uint16_t to_f16(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00);   // NaN
  if (size >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00);  // rounds to infinity
  if (size < 0x38800000U) {
    // Below 2^-14 a step is 2^-24, which is that of the floats from 0.5 on: the addition rounds.
    return static_cast<std::uint16_t>(sign | (bits_of(float_of(size) + 0.5F) - bits_of(0.5F)));
  }
  return static_cast<std::uint16_t>(sign | (((size + 0xFFFU + (size >> 13 & 1U)) >> 13) - (112U << 10)));
}

XCPU_INLINE Floats load_bf16(const std::uint16_t* from, Mask mask) {
  return each<Floats>([=](int i) { return i < mask ? float_of(std::uint32_t{from[i]} << 16) : 0.0F; });
}
XCPU_INLINE Floats load_f16(const std::uint16_t* from, Mask mask) {
  return each<Floats>([=](int i) { return i < mask ? from_f16(from[i]) : 0.0F; });
}
XCPU_INLINE void store_bf16(std::uint16_t* to, Floats values, Mask mask) {
  for (int i = 0; i < mask; ++i) to[i] = to_bf16(values.lane[i]);
}
XCPU_INLINE void store_f16(std::uint16_t* to, Floats values, Mask mask) {
  for (int i = 0; i < mask; ++i) to[i] = to_f16(values.lane[i]);
}

XCPU_INLINE Floats fill(float value) {
  return each<Floats>([=](int) { return value; });
}
XCPU_INLINE Words fill_word(std::uint32_t word) {
  return each<Words>([=](int) { return word; });
}
XCPU_INLINE Floats as_floats(Words words) { return __builtin_bit_cast(Floats, words); }
XCPU_INLINE Words as_words(Floats values) { return __builtin_bit_cast(Words, values); }
XCPU_INLINE Integers as_integers(Words words) { return words; }
XCPU_INLINE Words as_words(Integers integers) { return integers; }
XCPU_INLINE Floats to_floats(Integers a) {
  return each<Floats>([&](int i) { return static_cast<float>(static_cast<std::int32_t>(a.lane[i])); });
}
// To the nearest, ties to even, of sizes up to 2^22.
XCPU_INLINE float nearest(float value) {
  constexpr float kWithoutFractions = 0x1.8p23F;
  return (value + kWithoutFractions) - kWithoutFractions;
}
XCPU_INLINE Floats round_to_nearest(Floats a) {
  return each<Floats>([&](int i) { return nearest(a.lane[i]); });
}
XCPU_INLINE Words to_integers(Floats a) {
  return each<Words>([&](int i) {
    const float rounded = nearest(a.lane[i]);  // a conversion of what is no integer is undefined
    return rounded == rounded ? static_cast<std::uint32_t>(static_cast<std::int32_t>(rounded)) : 0U;
  });
}

XCPU_INLINE Floats add(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] + b.lane[i]; });
}
XCPU_INLINE Floats subtract(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] - b.lane[i]; });
}
XCPU_INLINE Floats multiply(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] * b.lane[i]; });
}
XCPU_INLINE Floats divide(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] / b.lane[i]; });
}
// a * b + c
XCPU_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
  return each<Floats>([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
}
// Of a NaN and b: b.
XCPU_INLINE Floats larger(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
XCPU_INLINE Floats smaller(Floats a, Floats b) {
  return each<Floats>([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
}
XCPU_INLINE Floats absolute(Floats a) {
  return each<Floats>([&](int i) { return __builtin_fabsf(a.lane[i]); });
}
XCPU_INLINE Floats square_root(Floats a) {
  return each<Floats>([&](int i) { return __builtin_sqrtf(a.lane[i]); });
}
// Where a < b: yes, else no.
XCPU_INLINE Floats select_less(Floats a, Floats b, Floats yes, Floats no) {
  return each<Floats>([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
}
// Lanes 0 and 1 in each other's place, 2 and 3, and so on.
XCPU_INLINE Floats swap_neighbours(Floats a) {
  return each<Floats>([&](int i) { return a.lane[i ^ 1]; });
}
XCPU_INLINE float sum(Floats a) {
  float total = 0;
  for (const float value : a.lane) total += value;
  return total;
}
XCPU_INLINE float largest(Floats a) {
  float found = a.lane[0];
  for (const float value : a.lane) found = value > found ? value : found;
  return found;
}

XCPU_INLINE Integers add_integers(Integers a, Integers b) {
  return each<Integers>([&](int i) { return a.lane[i] + b.lane[i]; });
}
XCPU_INLINE Words add_words(Words a, Words b) {
  return each<Words>([&](int i) { return a.lane[i] + b.lane[i]; });
}
XCPU_INLINE Words and_words(Words a, Words b) {
  return each<Words>([&](int i) { return a.lane[i] & b.lane[i]; });
}
XCPU_INLINE Words xor_words(Words a, Words b) {
  return each<Words>([&](int i) { return a.lane[i] ^ b.lane[i]; });
}
XCPU_INLINE Words or_words(Words a, Words b) {
  return each<Words>([&](int i) { return a.lane[i] | b.lane[i]; });
}
template <int kBits>
XCPU_INLINE Words shift_left(Words a) {
  return each<Words>([&](int i) { return a.lane[i] << kBits; });
}
template <int kBits>
XCPU_INLINE Words shift_right(Words a) {
  return each<Words>([&](int i) { return a.lane[i] >> kBits; });
}
// The low bytes of the lanes, one after the other.
XCPU_INLINE void store_bytes(std::int8_t* to, Words integers) {
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<std::int8_t>(integers.lane[i]);
}

// a * 2^power, of an integer from -252 to 252: in two steps, since 2^power may not be a number of its own.
XCPU_INLINE Floats scale_by_power(Floats a, Floats power) {
  return each<Floats>([&](int i) {
    const float known = power.lane[i] == power.lane[i] ? power.lane[i] : 0.0F;
    const auto whole = static_cast<std::int32_t>(known);
    const std::int32_t half = whole / 2;
    const auto power_of_two = [](std::int32_t n) {
      return float_of(static_cast<std::uint32_t>(n + 127) << 23);
    };
    return a.lane[i] * power_of_two(half) * power_of_two(whole - half);
  });
}

XCPU_INLINE std::int32_t byte_of(std::uint32_t word, int byte) {
  return static_cast<std::int8_t>(word >> (8 * byte));
}
// sum + the products of four signed bytes in each lane.
XCPU_INLINE Integers add_signed_quads(Integers sum, Words a, Words b) {
  return each<Words>([&](int i) {
    std::int32_t products = 0;
    for (int byte = 0; byte < 4; ++byte) products += byte_of(a.lane[i], byte) * byte_of(b.lane[i], byte);
    return sum.lane[i] + static_cast<std::uint32_t>(products);
  });
}
// The same where no byte of u is above 127.
XCPU_INLINE Integers add_quads(Integers sum, Words u, Words s) { return add_signed_quads(sum, u, s); }

}  // namespace xcpu::XCPU_ISA
