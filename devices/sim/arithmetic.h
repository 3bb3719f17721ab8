#pragma once
// Functions of elements, as PyTorch computes them: integers wrap around, NaN stays NaN.

#include <cmath>
#include <type_traits>

#include "vectors.h"

namespace torchplug::sim {

// In which integers can overflow without harm.
template <class T, bool = std::is_integral_v<T>>
struct Wrapping {
  using type = std::make_unsigned_t<std::common_type_t<T, int>>;
};
template <class T>
struct Wrapping<T, false> {
  using type = T;
};
template <class T>
inline SIM_INLINE auto wrapping(T value) {
  return static_cast<typename Wrapping<T>::type>(value);
}

struct Add {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    return static_cast<T>(wrapping(a) + wrapping(b));
  }
};

struct Sub {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    return static_cast<T>(wrapping(a) - wrapping(b));
  }
};

struct Mul {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    return static_cast<T>(wrapping(a) * wrapping(b));
  }
};

struct Div {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    return a / b;
  }
};

// a + alpha b. Of floats rounded once, as PyTorch does for elements that lie in a row.
template <class T>
struct AddScaled {
  T alpha;
  SIM_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fma(b, alpha, a);
    } else {
      return static_cast<T>(wrapping(a) + wrapping(alpha) * wrapping(b));
    }
  }
};

template <class T>
SIM_INLINE inline bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return __builtin_isnan(x);
  return false;
}

struct Maximum {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    const T most = a < b ? b : a;  // a, if one is NaN
    return is_nan(b) ? b : most;
  }
};

struct Minimum {
  template <class T>
  SIM_INLINE T operator()(T a, T b) const {
    const T least = b < a ? b : a;
    return is_nan(b) ? b : least;
  }
};

// The comparison is false for NaN and for -0, which both pass through.
struct Relu {
  template <class T>
  SIM_INLINE T operator()(T x) const {
    return x < T{0} ? T{0} : x;
  }
};

struct Neg {
  template <class T>
  SIM_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(0 - wrapping(x));
    }
  }
};

struct Where {
  template <class T>
  SIM_INLINE T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

}  // namespace torchplug::sim
