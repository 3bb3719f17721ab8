// plug_loop.hpp - loops and reductions over tensors, element by element: a part of
// plug.hpp.
#ifndef TORCHPLUG_PLUG_LOOP_HPP
#define TORCHPLUG_PLUG_LOOP_HPP

#include "torchplug/plug_call.hpp"

namespace plug {

// That a kernel's code reads tensors as what they are.
inline void check_dtypes(std::initializer_list<plug_dtype> asked,
                         const plug_dtype *dtypes) {
  for (const plug_dtype one : asked) {
    if (one != *dtypes++)
      throw Failure(PLUG_INTERNAL,
                    "the kernel reads a tensor as another dtype than it has");
  }
}

// N tensors of the shape of the first, to which the others are expanded. What they cannot
// be expanded to is declined. Parts [begin, end) of it may be walked on several threads.
template <int N>
class Loop {
 public:
  template <class... Others>
  explicit Loop(const Tensor &first, const Others &...others)
      : dtypes_{first.dtype(), others.dtype()...} {
    const plug_tensor *const tensors[] = {&first.raw(), &others.raw()...};
    if (plug_loop_make(&raw_, N, tensors, 0) != PLUG_OK)
      decline("the kernel cannot expand these shapes to the first");
  }

  const plug_loop &raw() const { return raw_; }
  std::int64_t count() const { return raw_.count; }

  // body(data, strides, n): a run of n elements; N addresses, and N strides in bytes.
  template <class Body>
  void runs(std::int64_t begin, std::int64_t end, Body &&body) const {
    plug_runs runs;
    plug_runs_begin(&runs, &raw_, begin, end);
    while (plug_runs_next(&runs) != 0)
      body(static_cast<char *const *>(runs.data), runs.strides, runs.n);
  }

  // body(T0&, T1, ...) for each element, with the types of the N tensors.
  template <class... Ts, class Body>
  void each(std::int64_t begin, std::int64_t end, Body &&body) const {
    static_assert(sizeof...(Ts) == N, "a type for each tensor");
    check_dtypes({dtype_of<Ts>()...}, dtypes_);
    runs(begin, end, [&](char *const *data, const std::int64_t *strides, std::int64_t n) {
      each_of_run<Ts...>(data, strides, n, body, std::make_index_sequence<N>());
    });
  }

  template <class... Ts, class Body>
  void each(Body &&body) const {
    each<Ts...>(0, count(), body);
  }

  // first = body(others...) in T, each tensor converted from and to its own dtype.
  template <class T, class Body>
  void map(std::int64_t begin, std::int64_t end, Body &&body) const {
    for (const plug_dtype dtype : dtypes_) {
      if (plug_is_plain(dtype) == 0) decline("the kernel cannot convert this dtype");
    }
    runs(begin, end, [&](char *const *data, const std::int64_t *strides, std::int64_t n) {
      for (std::int64_t i = 0; i < n; i += kBlock)
        map_block<T>(data, strides, i, n - i < kBlock ? n - i : kBlock, body,
                     std::make_index_sequence<N - 1>());
    });
  }

  template <class T, class Body>
  void map(Body &&body) const {
    map<T>(0, count(), body);
  }

 private:
  static constexpr std::int64_t kBlock = 256;

  template <class... Ts, class Body, std::size_t... I>
  static void each_of_run(char *const *data, const std::int64_t *strides, std::int64_t n,
                          Body &body, std::index_sequence<I...>) {
    // The one that compilers vectorise.
    if (((strides[I] == static_cast<std::int64_t>(sizeof(Ts))) && ...)) {
      for (std::int64_t i = 0; i < n; ++i) body(reinterpret_cast<Ts *>(data[I])[i]...);
    } else {
      for (std::int64_t i = 0; i < n; ++i)
        body(*reinterpret_cast<Ts *>(data[I] + i * strides[I])...);
    }
  }

  template <class T, class Body, std::size_t... I>
  void map_block(char *const *data, const std::int64_t *strides, std::int64_t at,
                 std::int64_t n, Body &body, std::index_sequence<I...>) const {
    T inputs[N][kBlock];
    T results[kBlock];
    (plug_convert(inputs[I], dtype_of<T>(), sizeof(T), data[I + 1] + at * strides[I + 1],
                  dtypes_[I + 1], strides[I + 1], n),
     ...);
    for (std::int64_t i = 0; i < n; ++i)
      results[i] = static_cast<T>(body(inputs[I][i]...));
    plug_convert(data[0] + at * strides[0], dtypes_[0], strides[0], results,
                 dtype_of<T>(), sizeof(T), n);
  }

  plug_loop raw_;
  plug_dtype dtypes_[N];
};

template <class... Others>
Loop(const Tensor &, const Others &...) -> Loop<1 + static_cast<int>(sizeof...(Others))>;

// One input reduced over some of its dims, or over all; whether they are kept is seen in
// the result. Parts of the result's elements may be walked on several threads.
class Reduction {
 public:
  Reduction(const Tensor &result, const Tensor &input, std::optional<Ints> dims)
      : dtypes_{result.dtype(), input.dtype()} {
    plug_value value{};
    if (dims) {
      value.tag = PLUG_VALUE_INTS;
      value.count = static_cast<std::uint32_t>(dims->size());
      value.as.ints = dims->data();
    }
    const plug_tensor *const tensors[] = {&result.raw(), &input.raw()};
    const plug_status status = plug_reduction_make(&raw_, 1, 1, tensors, &value, 0);
    if (status != PLUG_OK) throw Failure(status, "the kernel cannot reduce these dims");
  }

  const plug_reduction &raw() const { return raw_; }
  std::int64_t count() const { return raw_.kept.count; }      // of results
  std::int64_t length() const { return raw_.reduced.count; }  // of what becomes one

  // result = finish(step(... step(step(start, x0), x1) ...)) for elements [begin, end) of
  // the result, which are R; those of the input are T.
  template <class R, class T, class Start, class Step, class Finish>
  void fold(std::int64_t begin, std::int64_t end, const Start &start, Step &&step,
            Finish &&finish) const {
    check_dtypes({dtype_of<R>(), dtype_of<T>()}, dtypes_);
    plug_runs rows;
    plug_runs_begin(&rows, &raw_.kept, begin, end);
    while (plug_runs_next(&rows) != 0) {
      for (std::int64_t i = 0; i < rows.n; ++i) {
        char *const from[] = {rows.data[1] + i * rows.strides[1]};
        const Start folded = fold_one<T>(from, start, step);
        *reinterpret_cast<R *>(rows.data[0] + i * rows.strides[0]) =
            static_cast<R>(finish(folded));
      }
    }
  }

 private:
  template <class T, class Start, class Step>
  Start fold_one(char *const *from, Start folded, Step &step) const {
    plug_runs run;
    plug_runs_from(&run, &raw_.reduced, from, 0, raw_.reduced.count);
    while (plug_runs_next(&run) != 0) {
      for (std::int64_t i = 0; i < run.n; ++i)
        folded =
            step(folded, *reinterpret_cast<const T *>(run.data[0] + i * run.strides[0]));
    }
    return folded;
  }

  plug_reduction raw_;
  plug_dtype dtypes_[2];
};

}  // namespace plug

#endif  // TORCHPLUG_PLUG_LOOP_HPP
