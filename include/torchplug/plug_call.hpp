// plug_call.hpp - a call as a kernel sees it: failures, tensors, numbers, results,
// scratch memory, threads. A part of plug.hpp.
#ifndef TORCHPLUG_PLUG_CALL_HPP
#define TORCHPLUG_PLUG_CALL_HPP

#include <atomic>
#include <complex>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "torchplug/plug_schema.hpp"
#include "torchplug/plug_util.h"

#if defined(__cpp_consteval)
#define PLUG_CONSTEVAL consteval
#else
#define PLUG_CONSTEVAL constexpr
#endif
#if defined(_WIN32)
#define PLUG_OF_THIS_LIBRARY
#else
#define PLUG_OF_THIS_LIBRARY __attribute__((visibility("hidden")))
#endif

namespace plug {

// Each plugin of a process has its own, and so what uses it.
PLUG_OF_THIS_LIBRARY inline const plug_host *host = nullptr;

// -------------------------------- failures ---------------------------------

// Thrown inside a kernel, it is what the kernel returns. Without a message the one that
// the host has stays.
class Failure : public std::runtime_error {
 public:
  Failure(plug_status status, const std::string &message)
      : std::runtime_error(message), status_(status) {}
  plug_status status() const { return status_; }

 private:
  plug_status status_;
};

// The call goes another way, and the ledger says why. Before anything is written.
[[noreturn]] inline void decline(const std::string &why) {
  throw Failure(PLUG_UNSUPPORTED, why);
}

// For functions of the host and of plug_util.h.
inline void check(plug_status status) {
  if (status != PLUG_OK) throw Failure(status, "");
}

PLUG_OF_THIS_LIBRARY inline plug_status fail(plug_status status,
                                             const char *message) noexcept {
  if (message[0] != 0) host->set_error(host, message);
  return status;
}

// What body returns, a plug_status or nothing; of an exception the status it means.
template <class Body>
plug_status guarded(Body &&body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return PLUG_OK;
    } else {
      return body();
    }
  } catch (const Failure &failure) {
    return plug::fail(failure.status(), failure.what());
  } catch (const std::bad_alloc &) {
    return plug::fail(PLUG_NO_MEMORY, "the plugin ran out of host memory");
  } catch (const std::exception &error) {
    return plug::fail(PLUG_INTERNAL, error.what());
  } catch (...) {
    return plug::fail(PLUG_INTERNAL, "the kernel threw what is no std::exception");
  }
}

// -------------------------------- elements ---------------------------------

struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(plug_f16_of_float(value)) {}
  operator float() const { return plug_float_of_f16(bits); }
};

struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) : bits(plug_bf16_of_float(value)) {}
  operator float() const { return plug_float_of_bf16(bits); }
};

// The dtype of elements of type T; 0: of none.
template <class T>
constexpr plug_dtype dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return PLUG_BOOL;
  if constexpr (std::is_same_v<T, Half>) return PLUG_F16;
  if constexpr (std::is_same_v<T, BFloat16>) return PLUG_BF16;
  if constexpr (std::is_same_v<T, std::complex<float>>) return PLUG_C64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return PLUG_C128;
  if constexpr (std::is_floating_point_v<T>) return PLUG_DTYPE(2, 8 * sizeof(T));
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return PLUG_DTYPE(std::is_unsigned_v<T> ? 1 : 0, 8 * sizeof(T));
  return 0;
}

template <class T>
struct Type {
  using type = T;
};

// What body(Type<T>()) returns for that T of the types whose dtype it is.
template <class T, class... Others, class Body>
auto visit(plug_dtype dtype, Body &&body) {
  if (dtype == dtype_of<T>()) return body(Type<T>());
  if constexpr (sizeof...(Others) > 0) {
    return visit<Others...>(dtype, body);
  } else {
    decline("the kernel has no code for this dtype");
  }
}

template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T *data, std::int64_t size) : data_(data), size_(size) {}
  constexpr T *data() const { return data_; }
  constexpr std::int64_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T *begin() const { return data_; }
  constexpr T *end() const { return data_ + size_; }
  constexpr T &operator[](std::int64_t i) const { return data_[i]; }

 private:
  T *data_ = nullptr;
  std::int64_t size_ = 0;
};

using Ints = Span<const std::int64_t>;
using Doubles = Span<const double>;
using Bools = Span<const std::uint8_t>;

// --------------------------------- values ----------------------------------

class Tensor {
 public:
  explicit Tensor(const plug_tensor &raw) : raw_(&raw) {}

  const plug_tensor &raw() const { return *raw_; }
  plug_dtype dtype() const { return raw_->dtype; }
  std::int32_t ndim() const { return raw_->ndim; }
  Ints sizes() const { return {raw_->sizes, raw_->ndim}; }
  Ints strides() const { return {raw_->strides, raw_->ndim}; }
  std::int64_t size(std::int64_t dim) const { return raw_->sizes[wrap(dim)]; }
  std::int64_t stride(std::int64_t dim) const { return raw_->strides[wrap(dim)]; }
  std::int64_t numel() const { return plug_numel(raw_); }
  bool is_contiguous() const { return plug_is_contiguous(raw_) != 0; }
  bool is_dense() const { return plug_is_dense(raw_) != 0; }
  bool is_on_host() const { return raw_->mem.device == PLUG_HOST; }

  // A dim that counts from the end, counted from the beginning.
  std::int64_t wrap(std::int64_t dim) const {
    if (plug_wrap_dim(&dim, raw_->ndim) == 0)
      throw Failure(PLUG_INVALID, "there is no such dim");
    return dim;
  }

  // Of element [0, 0, ...].
  template <class T>
  const T *data() const {
    return address<const T>();
  }

  // All elements of a contiguous tensor.
  template <class T>
  Span<const T> span() const {
    return {contiguous<const T>(), numel()};
  }

 protected:
  template <class T>
  T *address() const {
    if (dtype_of<std::remove_const_t<T>>() != raw_->dtype)
      throw Failure(PLUG_INTERNAL,
                    "the kernel reads a tensor as another dtype than it has");
    return static_cast<T *>(plug_address(&raw_->mem));
  }

  template <class T>
  T *contiguous() const {
    if (!is_contiguous())
      throw Failure(PLUG_INTERNAL,
                    "the kernel takes a tensor for contiguous that is not");
    return address<T>();
  }

 private:
  const plug_tensor *raw_;
};

// One that the kernel writes: a result, or an argument that its schema marks so.
class Out : public Tensor {
 public:
  using Tensor::Tensor;

  template <class T>
  T *data() const {
    return address<T>();
  }

  template <class T>
  Span<T> span() const {
    return {contiguous<T>(), numel()};
  }
};

// A list; what is read from it is made of the item.
template <class Item, class Raw>
class List {
 public:
  class Iterator {
   public:
    explicit Iterator(const Raw *at) : at_(at) {}
    Item operator*() const { return make(*at_); }
    Iterator &operator++() { return ++at_, *this; }
    bool operator!=(const Iterator &other) const { return at_ != other.at_; }

   private:
    const Raw *at_;
  };

  List(const Raw *items, std::int64_t size) : items_(items), size_(size) {}
  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Item operator[](std::int64_t i) const { return make(items_[i]); }
  Iterator begin() const { return Iterator(items_); }
  Iterator end() const { return Iterator(items_ + size_); }

 private:
  static Item make(const Raw &raw) {
    if constexpr (std::is_same_v<Item, std::optional<Tensor>>) {
      return plug_is_present(&raw) ? Item(Tensor(raw)) : Item();
    } else {
      return Item(raw);
    }
  }

  const Raw *items_;
  std::int64_t size_;
};

using Tensors = List<Tensor, plug_tensor>;
using OptionalTensors = List<std::optional<Tensor>, plug_tensor>;
using Outs = List<Out, plug_tensor>;

// A number of any type, which may be the only element of a tensor in host memory.
class Scalar {
 public:
  explicit Scalar(const plug_value &raw) : raw_(&raw) {}
  const plug_value &raw() const { return *raw_; }
  bool is_complex() const { return raw_->tag == PLUG_VALUE_COMPLEX; }

  // A call whose number is complex, and T is not, is declined.
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      int value = 0;
      check(plug_get_bool(raw_, &value));
      return value != 0;
    } else if constexpr (std::is_integral_v<T>) {
      std::int64_t value = 0;
      check(plug_get_int(raw_, &value));
      return static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                         std::is_same_v<T, std::complex<double>>) {
      double value[2] = {0, 0};
      check(plug_get_complex(raw_, value));
      return T(static_cast<typename T::value_type>(value[0]),
               static_cast<typename T::value_type>(value[1]));
    } else {
      double value = 0;
      check(plug_get_double(raw_, &value));
      return static_cast<T>(value);
    }
  }

 private:
  const plug_value *raw_;
};

using Scalars = List<Scalar, plug_value>;

struct Dtype {
  plug_dtype value;
};
struct Layout {
  std::int64_t value;  // 0: strided
};
struct MemoryFormat {
  std::int64_t value;  // 0 contiguous, 1 preserve, 2 channels_last, 3 channels_last_3d
};
struct Device {
  std::int32_t index;  // or PLUG_HOST
};
struct Generator {};  // Call::rng draws from it

// ---------------------------------- teams ----------------------------------

// Calls body(begin, end) for parts of [0, n), of `grain` or more, on the threads that the
// host has, and returns when all is done; the first exception is thrown on. body calls no
// function of the host.
template <class Body>
void team(const plug_host *of, std::int64_t n, std::int64_t grain, Body &&body) {
  struct Job {
    std::remove_reference_t<Body> &body;
    std::int64_t n, parts;
    std::atomic<bool> has_failed{false};
    std::exception_ptr error{};

    void run(std::int32_t index, std::int32_t count) noexcept {
      std::int64_t begin = 0, end = 0;
      if (count > parts) count = static_cast<std::int32_t>(parts);
      if (index >= count) return;
      plug_split(n, 1, index, count, &begin, &end);
      try {
        if (begin < end) body(begin, end);
      } catch (...) {
        if (!has_failed.exchange(true)) error = std::current_exception();
      }
    }
  };
  if (n <= 0) return;
  Job job{body, n, grain > 0 ? (n + grain - 1) / grain : n};
  if (job.parts == 1) return body(std::int64_t{0}, n);
  of->team(
      of,
      [](void *arg, std::int32_t index, std::int32_t count) {
        static_cast<Job *>(arg)->run(index, count);
      },
      &job);
  if (job.error) std::rethrow_exception(job.error);
}

// ---------------------------------- calls ----------------------------------

class Call {
 public:
  explicit Call(const plug_call &raw) : raw_(&raw) {}

  const plug_call &raw() const { return *raw_; }
  std::int32_t device() const { return raw_->device; }
  plug_stream stream() const { return raw_->stream; }
  plug_dtype compute() const { return raw_->compute; }
  std::string_view name() const { return raw_->name; }
  bool is_deterministic() const { return (raw_->flags & PLUG_CALL_DETERMINISTIC) != 0; }
  bool is_fast_f32() const { return (raw_->flags & PLUG_CALL_FAST_F32) != 0; }
  bool is_captured() const { return (raw_->flags & PLUG_CALL_CAPTURED) != 0; }

  template <class T>
  const T &user() const {
    return *static_cast<const T *>(raw_->user);
  }
  template <class T>
  T &state() const {
    return *static_cast<T *>(raw_->state);
  }

  PLUG_OF_THIS_LIBRARY plug_rng rng(std::uint64_t draws) const {
    plug_rng rng{};
    rng.size = sizeof rng;
    check(host->rng(host, raw_, draws, &rng));
    return rng;
  }

  template <class Body>
  PLUG_OF_THIS_LIBRARY void team(std::int64_t n, std::int64_t grain, Body &&body) const {
    plug::team(host, n, grain, std::forward<Body>(body));
  }

 private:
  const plug_call *raw_;
};

// Memory of the call's device until the stream has executed the call: the host owns it,
// so there is nothing to give back, on any way out of the kernel.
template <class T>
class Scratch : public Span<T> {
 public:
  Scratch(const Call &call, std::int64_t size) : Scratch(take(call, size), size) {}
  const plug_mem &mem() const { return mem_; }

 private:
  Scratch(const plug_mem &mem, std::int64_t size)
      : Span<T>(static_cast<T *>(plug_address(&mem)), size), mem_(mem) {}

  PLUG_OF_THIS_LIBRARY static plug_mem take(const Call &call, std::int64_t size) {
    plug_mem mem{};
    const auto bytes = static_cast<std::uint64_t>(size) * sizeof(T);
    check(host->scratch(host, &call.raw(), bytes, &mem));
    return mem;
  }

  plug_mem mem_;
};

// A result that the kernel shapes, of a kernel that says PLUG_SHAPES_OUTPUT.
class Unshaped {
 public:
  Unshaped(const Call &call, std::uint32_t index) : call_(&call.raw()), index_(index) {}

  // Contiguous without strides.
  PLUG_OF_THIS_LIBRARY Out shape(plug_dtype dtype, Ints sizes, Ints strides = {}) const {
    check(host->output(host, call_, index_, dtype,
                       static_cast<std::int32_t>(sizes.size()), sizes.data(),
                       strides.data()));
    return Out(call_->results[index_].as.tensors[0]);
  }
  Out shape(plug_dtype dtype, std::initializer_list<std::int64_t> sizes) const {
    return shape(dtype, Ints(sizes.begin(), static_cast<std::int64_t>(sizes.size())));
  }

 private:
  const plug_call *call_;
  std::uint32_t index_;
};

// A result that is a number: bool, std::int64_t or double.
template <class T>
class Returned {
 public:
  explicit Returned(plug_value &raw) : raw_(&raw) {}
  void operator=(T value) const {
    if constexpr (std::is_same_v<T, double>) {
      raw_->tag = PLUG_VALUE_FLOAT;
      raw_->as.f = value;
    } else {
      raw_->tag = std::is_same_v<T, bool> ? PLUG_VALUE_BOOL : PLUG_VALUE_INT;
      raw_->as.i = value;
    }
  }

 private:
  plug_value *raw_;
};

}  // namespace plug

#endif  // TORCHPLUG_PLUG_CALL_HPP
