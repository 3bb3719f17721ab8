// plug_kernel.hpp - a function as a kernel, its parameters those of a schema: a part of
// plug.hpp. A parameter is of the type that the schema's argument has here:
//
//   Tensor        Tensor             bool          bool
//   Tensor(a!)    Out                bool[]        Bools
//   Tensor[]      Tensors            Scalar        Scalar
//   Tensor(a!)[]  Outs               Scalar[]      Scalars
//   Tensor?[]     OptionalTensors    str           std::string_view
//   int, SymInt   std::int64_t       ScalarType    Dtype
//   int[]         Ints               Layout        Layout
//   float         double             MemoryFormat  MemoryFormat
//   float[]       Doubles            Device        Device
//   T?            std::optional<T>   Generator     Generator
//   anything      const plug_value &
//
// and after the arguments those of its results: Out for a Tensor, std::optional<Out> for
// one that may not be wanted, Unshaped for one that the kernel shapes, Outs for a list,
// Returned<T> for a number.
//
// What holds for all calls that look alike can be worked out once, by a function of the
// same parameters that returns it. The kernel has it as its second parameter then:
//
//   Tiling plan(plug::Call &, plug::Tensor x, plug::Tensor w, plug::Out out);
//   void linear(plug::Call &, const Tiling &, plug::Tensor x, plug::Tensor w,
//               plug::Out out);
//   ... plug::kernel<&linear, &plan>("acme::linear(Tensor x, Tensor w) -> Tensor")
//
// Alike are dtypes, sizes, strides, texts, and numbers as far as they decide shapes;
// addresses, elements and the values of floats are not. Several threads have it at once.
#ifndef TORCHPLUG_PLUG_KERNEL_HPP
#define TORCHPLUG_PLUG_KERNEL_HPP

#include <memory>

#include "torchplug/plug_call.hpp"

namespace plug {

// ------------------- what a parameter is, and how it is read ----------------

namespace parameters {

inline const plug_value &value_of(const Call &call, std::uint32_t place) {
  const plug_call &raw = call.raw();
  return place < raw.arg_count ? raw.args[place] : raw.results[place - raw.arg_count];
}

inline const plug_value &tagged(const Call &call, std::uint32_t place, std::int32_t tag) {
  const plug_value &value = value_of(call, place);
  if (value.tag != tag)
    throw Failure(PLUG_INVALID, "argument or result " + std::to_string(place) +
                                    " of the call has the tag " +
                                    std::to_string(value.tag) + " instead of " +
                                    std::to_string(tag));
  return value;
}

constexpr Kind one(Base base) { return {base, false, false, false, false}; }
constexpr Kind list(Base base) { return {base, true, false, false, false}; }

template <class P>
struct Parameter;  // a type that no argument has, if this is what the compiler misses

template <>
struct Parameter<Tensor> {
  static constexpr Kind kKind = one(Base::kTensor);
  static Tensor take(const Call &call, std::uint32_t place) {
    return Tensor(tagged(call, place, PLUG_VALUE_TENSOR).as.tensors[0]);
  }
};

template <>
struct Parameter<Out> {
  static constexpr Kind kKind = {Base::kTensor, false, false, false, true};
  static Out take(const Call &call, std::uint32_t place) {
    return Out(tagged(call, place, PLUG_VALUE_TENSOR).as.tensors[0]);
  }
};

template <class Item, class Raw>
struct Parameter<List<Item, Raw>> {
  using P = List<Item, Raw>;
  static constexpr bool kIsScalars = std::is_same_v<P, Scalars>;
  static constexpr Kind kKind = {kIsScalars ? Base::kScalar : Base::kTensor, true,
                                 std::is_same_v<P, OptionalTensors>, false,
                                 std::is_same_v<P, Outs>};
  static P take(const Call &call, std::uint32_t place) {
    if constexpr (kIsScalars) {
      const plug_value &value = tagged(call, place, PLUG_VALUE_LIST);
      return P(value.as.values, value.count);
    } else {
      const plug_value &value = tagged(call, place, PLUG_VALUE_TENSORS);
      return P(value.as.tensors, value.count);
    }
  }
};

template <>
struct Parameter<Scalar> {
  static constexpr Kind kKind = one(Base::kScalar);
  static Scalar take(const Call &call, std::uint32_t place) {
    return Scalar(value_of(call, place));
  }
};

template <>
struct Parameter<std::int64_t> {
  static constexpr Kind kKind = one(Base::kInt);
  static std::int64_t take(const Call &call, std::uint32_t place) {
    return Scalar(value_of(call, place)).to<std::int64_t>();
  }
};

template <>
struct Parameter<double> {
  static constexpr Kind kKind = one(Base::kFloat);
  static double take(const Call &call, std::uint32_t place) {
    return Scalar(value_of(call, place)).to<double>();
  }
};

template <>
struct Parameter<bool> {
  static constexpr Kind kKind = one(Base::kBool);
  static bool take(const Call &call, std::uint32_t place) {
    return Scalar(value_of(call, place)).to<bool>();
  }
};

template <>
struct Parameter<Ints> {
  static constexpr Kind kKind = list(Base::kInt);
  static Ints take(const Call &call, std::uint32_t place) {
    const plug_value &value = tagged(call, place, PLUG_VALUE_INTS);
    return {value.as.ints, value.count};
  }
};

template <>
struct Parameter<Doubles> {
  static constexpr Kind kKind = list(Base::kFloat);
  static Doubles take(const Call &call, std::uint32_t place) {
    const plug_value &value = tagged(call, place, PLUG_VALUE_FLOATS);
    return {value.as.floats, value.count};
  }
};

template <>
struct Parameter<Bools> {
  static constexpr Kind kKind = list(Base::kBool);
  static Bools take(const Call &call, std::uint32_t place) {
    const plug_value &value = tagged(call, place, PLUG_VALUE_BOOLS);
    return {value.as.bools, value.count};
  }
};

template <>
struct Parameter<std::string_view> {
  static constexpr Kind kKind = one(Base::kStr);
  static std::string_view take(const Call &call, std::uint32_t place) {
    const plug_value &value = tagged(call, place, PLUG_VALUE_STR);
    return {value.as.str, value.count};
  }
};

template <>
struct Parameter<Dtype> {
  static constexpr Kind kKind = one(Base::kScalarType);
  static Dtype take(const Call &call, std::uint32_t place) {
    return {static_cast<plug_dtype>(tagged(call, place, PLUG_VALUE_DTYPE).as.u)};
  }
};

template <>
struct Parameter<Layout> {
  static constexpr Kind kKind = one(Base::kLayout);
  static Layout take(const Call &call, std::uint32_t place) {
    return {tagged(call, place, PLUG_VALUE_LAYOUT).as.i};
  }
};

template <>
struct Parameter<MemoryFormat> {
  static constexpr Kind kKind = one(Base::kMemoryFormat);
  static MemoryFormat take(const Call &call, std::uint32_t place) {
    return {tagged(call, place, PLUG_VALUE_FORMAT).as.i};
  }
};

template <>
struct Parameter<Device> {
  static constexpr Kind kKind = one(Base::kDevice);
  static Device take(const Call &call, std::uint32_t place) {
    return {static_cast<std::int32_t>(tagged(call, place, PLUG_VALUE_DEVICE).as.i)};
  }
};

template <>
struct Parameter<Generator> {
  static constexpr Kind kKind = one(Base::kGenerator);
  static Generator take(const Call &, std::uint32_t) { return {}; }
};

template <class P>
struct Parameter<std::optional<P>> {
  static constexpr Kind kKind = {Parameter<P>::kKind.base, Parameter<P>::kKind.is_list,
                                 Parameter<P>::kKind.has_optional_items, true,
                                 Parameter<P>::kKind.is_written};
  static std::optional<P> take(const Call &call, std::uint32_t place) {
    if (value_of(call, place).tag == PLUG_NONE) return std::nullopt;
    return Parameter<P>::take(call, place);
  }
};

template <>
struct Parameter<const plug_value &> {
  static constexpr Kind kKind = one(Base::kUnknown);
  static const plug_value &take(const Call &call, std::uint32_t place) {
    return value_of(call, place);
  }
};

template <>
struct Parameter<Unshaped> {
  static constexpr Kind kKind = one(Base::kTensor);
  static Unshaped take(const Call &call, std::uint32_t place) {
    return {call, place - call.raw().arg_count};
  }
};

template <class T>
struct Parameter<Returned<T>> {
  static constexpr Kind kKind = Parameter<T>::kKind;
  static Returned<T> take(const Call &call, std::uint32_t place) {
    return Returned<T>(call.raw().results[place - call.raw().arg_count]);
  }
};

template <class P>
constexpr bool kIsOfResults = std::is_same_v<P, Unshaped>;
template <class T>
constexpr bool kIsOfResults<Returned<T>> = true;

template <class P>
constexpr bool takes_argument(const Kind &argument) {
  if (std::is_same_v<P, const plug_value &>) return true;
  return !kIsOfResults<P> && argument.base != Base::kUnknown &&
         Parameter<P>::kKind == argument;
}

// Results are written whatever the schema marks, and a tensor may be one that is not
// wanted.
template <class P>
constexpr bool takes_result(const Kind &result) {
  if (std::is_same_v<P, const plug_value &>) return true;
  if (std::is_same_v<P, Out> || std::is_same_v<P, std::optional<Out>> ||
      std::is_same_v<P, Unshaped>)
    return result.base == Base::kTensor && !result.is_list;
  if (std::is_same_v<P, Outs>) return result.base == Base::kTensor && result.is_list;
  if (!kIsOfResults<P> || result.is_list) return false;
  return Parameter<P>::kKind.base == result.base || result.base == Base::kScalar;
}

}  // namespace parameters

// -------------------------- function against schema -------------------------

// Not constexpr: where the compiler needs a constant, its error names the one that was
// called, and prints the place, which counts from 0, results after the arguments.
namespace mismatch {
inline void the_schema_cannot_be_read() {}
inline void the_function_has_not_one_parameter_for_each_argument_and_result(int, int) {}
inline void the_parameter_is_of_another_type_than_the_schema_says(int /*place*/) {}
}  // namespace mismatch

template <class Function>
struct Signature;

template <class R, class... Ps>
struct Signature<R (*)(Call &, Ps...)> {
  using Result = R;
  static constexpr int kCount = sizeof...(Ps);

  // Why the function cannot be a kernel for the schema; nullptr if it can.
  static constexpr const char *problem_with(std::string_view text) {
    const Schema schema = read_schema(text);
    if (!schema.is_read) {
      mismatch::the_schema_cannot_be_read();
      return "the schema of a kernel cannot be read";
    }
    const int expected = schema.argument_count + schema.result_count;
    if (kCount != expected) {
      mismatch::the_function_has_not_one_parameter_for_each_argument_and_result(kCount,
                                                                                expected);
      return "a kernel has another number of parameters than its schema has arguments "
             "and results";
    }
    int place = 0, wrong = -1;
    ((takes<Ps>(schema, place) || wrong >= 0 ? ++place : (wrong = place++)), ...);
    if (wrong < 0) return nullptr;
    mismatch::the_parameter_is_of_another_type_than_the_schema_says(wrong);
    return "a parameter of a kernel is of another type than its schema says";
  }

  // With the call and what stands before the schema's parameters.
  template <auto function, class... Before>
  static R call(Call &call, const Before &...before) {
    return call_with<function>(std::make_integer_sequence<std::uint32_t, kCount>(), call,
                               before...);
  }

 private:
  template <class P>
  static constexpr bool takes(const Schema &schema, int place) {
    return place < schema.argument_count
               ? parameters::takes_argument<P>(schema.arguments[place])
               : parameters::takes_result<P>(
                     schema.results[place - schema.argument_count]);
  }

  template <auto function, std::uint32_t... I, class... Before>
  static R call_with(std::integer_sequence<std::uint32_t, I...>, Call &call,
                     const Before &...before) {
    if (call.raw().arg_count + call.raw().result_count != sizeof...(I))
      throw Failure(PLUG_INVALID,
                    "the call has another number of arguments than the schema");
    return function(call, before..., parameters::Parameter<Ps>::take(call, I)...);
  }
};

template <class R, class... Ps>
struct Signature<R (*)(Call &, Ps...) noexcept> : Signature<R (*)(Call &, Ps...)> {};

// Of a kernel that has a state as its second parameter: the state, and the rest.
template <class Function>
struct WithState;

template <class R, class S, class... Ps>
struct WithState<R (*)(Call &, const S &, Ps...)> {
  using State = S;
  using Parameters = Signature<R (*)(Call &, Ps...)>;
  template <class Prepare>
  static constexpr bool kPreparedBy = std::is_same_v<Prepare, S (*)(Call &, Ps...)>;
};

// An entry of plug_kernels.list.
struct Kernel : plug_kernel {
  template <std::size_t N>
  constexpr Kernel with_dtypes(const plug_dtype (&list)[N]) const {
    Kernel kernel = *this;
    kernel.dtypes = list;
    kernel.dtype_count = N;
    return kernel;
  }
  constexpr Kernel with_writes(std::uint64_t bits) const {
    Kernel kernel = *this;
    kernel.writes = bits;
    return kernel;
  }
  constexpr Kernel with_user(const void *pointer) const {
    Kernel kernel = *this;
    kernel.user = pointer;
    return kernel;
  }
  constexpr Kernel with_prepare(plug_status (*function)(const plug_call *, void **),
                                void (*end)(void *)) const {
    Kernel kernel = *this;
    kernel.prepare = function;
    kernel.forget = end;
    return kernel;
  }
  constexpr Kernel with_shapes(const char *text) const {
    Kernel kernel = *this;
    kernel.shapes = text;
    return kernel;
  }
  constexpr Kernel with_shape(plug_status (*function)(const plug_call *)) const {
    Kernel kernel = *this;
    kernel.shape = function;
    return kernel;
  }
  constexpr Kernel with_gradient(const char *text) const {
    Kernel kernel = *this;
    kernel.gradient = text;
    return kernel;
  }
};
static_assert(sizeof(Kernel) == sizeof(plug_kernel),
              "a list of one is a list of the other");

namespace edge {

template <class R>
constexpr bool kIsAnswer = std::is_void_v<R> || std::is_same_v<R, plug_status>;

template <auto function>
PLUG_OF_THIS_LIBRARY plug_status call(const plug_call *raw) noexcept {
  static_assert(kIsAnswer<typename Signature<decltype(function)>::Result>,
                "a kernel returns plug_status or nothing");
  return guarded([raw] {
    Call call(*raw);
    return Signature<decltype(function)>::template call<function>(call);
  });
}

template <auto function>
PLUG_OF_THIS_LIBRARY plug_status call_with_state(const plug_call *raw) noexcept {
  using Types = WithState<decltype(function)>;
  static_assert(kIsAnswer<typename Types::Parameters::Result>,
                "a kernel returns plug_status or nothing");
  return guarded([raw] {
    Call call(*raw);
    return Types::Parameters::template call<function>(
        call, call.state<const typename Types::State>());
  });
}

template <auto prepare>
PLUG_OF_THIS_LIBRARY plug_status make_state(const plug_call *raw, void **state) noexcept {
  using Prepare = Signature<decltype(prepare)>;
  return guarded([raw, state] {
    Call call(*raw);
    auto made =
        std::make_unique<typename Prepare::Result>(Prepare::template call<prepare>(call));
    *state = made.release();
  });
}

template <class State>
PLUG_OF_THIS_LIBRARY void forget_state(void *state) {
  const std::unique_ptr<State> forgotten(static_cast<State *>(state));
}

PLUG_OF_THIS_LIBRARY inline plug_status misfit(const plug_call *raw) noexcept {
  return plug::fail(PLUG_INTERNAL, static_cast<const char *>(raw->user));
}

}  // namespace edge

namespace edge {

// One that does not fit is a compile error where the kernel is a constant, which in C++20
// it always is; else each of its calls fails with the reason.
template <class Parameters>
PLUG_CONSTEVAL Kernel entry(const char *schema, std::uint64_t accepts,
                            plug_kernel_fn function) {
  Kernel made{};
  made.schema = schema;
  made.fn = function;
  made.accepts = accepts;
  const char *problem = Parameters::problem_with(schema);
  if (problem != nullptr) {
    made.fn = &edge::misfit;
    made.user = problem;
  }
  return made;
}

}  // namespace edge

// The function as a kernel for the schema.
template <auto function>
PLUG_CONSTEVAL Kernel kernel(const char *schema, std::uint64_t accepts = 0) {
  return edge::entry<Signature<decltype(function)>>(schema, accepts,
                                                    &edge::call<function>);
}

// The same for one that is given what `prepare` has returned for calls like this.
template <auto function, auto prepare>
PLUG_CONSTEVAL Kernel kernel(const char *schema, std::uint64_t accepts = 0) {
  using Types = WithState<decltype(function)>;
  static_assert(Types::template kPreparedBy<decltype(prepare)>,
                "prepare has the parameters of the kernel, but for the state, which it "
                "returns");
  Kernel made = edge::entry<typename Types::Parameters>(schema, accepts,
                                                        &edge::call_with_state<function>);
  if (made.user != nullptr) return made;
  made.prepare = &edge::make_state<prepare>;
  made.forget = &edge::forget_state<typename Types::State>;
  return made;
}

}  // namespace plug

#endif  // TORCHPLUG_PLUG_KERNEL_HPP
