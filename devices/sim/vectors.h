#pragma once
// Loops that the compiler turns into the vector instructions of the processor it runs on.

#include <cstdint>

namespace torchplug::sim {

#define SIM_INLINE __attribute__((always_inline))

#if defined(__x86_64__)
template <class Loop>
[[gnu::target("avx2,fma,f16c")]] void run_with_wide_vectors(const Loop& loop) noexcept {
  loop();
}
#endif

// Calls `loop`, whose operator() is SIM_INLINE, compiled for the vectors that the processor has.
template <class Loop>
void run_vectorised(const Loop& loop) noexcept {
#if defined(__x86_64__)
  static const bool has_wide_vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_wide_vectors) return run_with_wide_vectors(loop);
#endif
  loop();
}

// Calls body(i) for every i below count. What one call writes no other reads, so that several may be one
// instruction.
template <class Body>
inline SIM_INLINE void for_each_independently(std::int64_t count, const Body& body) {
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace torchplug::sim
