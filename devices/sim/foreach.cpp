#include "foreach.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arithmetic.h"
#include "elementwise.h"
#include "scalar.h"

namespace torchplug::sim {
namespace {

template <class T>
struct AddNumber {
  T number;
  SIM_INLINE T operator()(T x) const { return x + number; }
};

template <class T>
struct MulNumber {
  T number;
  SIM_INLINE T operator()(T x) const { return x * number; }
};

// Tensors one behind the other, so that threads share all elements whichever tensor they are of.
template <class Op, class T, class... Ins>
struct Lists {
  struct Item {
    DenseElements<Op, T, Ins...> elements;
    std::int64_t begin;  // among the elements of all
  };
  std::vector<Item> items;
  std::int64_t count = 0;

  void operator()() const noexcept {
    share(count, kGrain, [this](std::int64_t begin, std::int64_t end) {
      auto item = std::upper_bound(items.begin(), items.end(), begin,
                                   [](std::int64_t at, const Item& other) { return at < other.begin; });
      for (--item; item != items.end() && item->begin < end; ++item) {
        const DenseElements<Op, T, Ins...>& of = item->elements;
        const std::int64_t from = std::max(begin - item->begin, std::int64_t{0});
        const std::int64_t to = std::min(end - item->begin, of.count);
        std::apply([&](const Ins*... input) { apply(of.op, to - from, of.result + from, (input + from)...); },
                   of.inputs);
      }
    });
  }
};

// The memory that lists use. An input that is its own result is not there twice.
class Ranges {
 public:
  void add(const char* begin, std::int64_t bytes, bool is_written) {
    ranges_.push_back({begin, begin + bytes, is_written});
  }
  // Whether something is written that is used elsewhere too.
  bool overlap() {
    std::ranges::sort(ranges_, {}, &Range::begin);
    const char* used = nullptr;  // up to where
    const char* written = nullptr;
    for (const Range& range : ranges_) {
      if (range.begin < (range.is_written ? used : written)) return true;
      used = std::max(used, range.end);
      if (range.is_written) written = std::max(written, range.end);
    }
    return false;
  }

 private:
  struct Range {
    const char* begin;
    const char* end;
    bool is_written;
  };
  std::vector<Range> ranges_;
};

// results[i] = op(inputs[i]...), all of T and each like its result.
template <class T, class Op, class Results, class... Inputs>
plug_status for_each_tensor(const plug::Call& call, const char* name, const Op& op, const Results& results,
                            const Inputs&... inputs) {
  if (results.empty() || ((inputs.size() != results.size()) || ...)) {
    return declined("PyTorch does not take lists of these lengths");
  }
  constexpr plug_dtype kDtypes[] = {plug::dtype_of<T>(),
                                    plug::dtype_of<std::conditional_t<true, T, Inputs>>()...};
  using Work = Lists<Op, T, std::conditional_t<true, T, Inputs>...>;
  auto work = std::make_unique<Work>();
  work->items.reserve(static_cast<std::size_t>(results.size()));
  Operands operands;
  Ranges memory;
  for (std::int64_t i = 0; i < results.size(); ++i) {
    const plug_tensor* const tensors[] = {&results[i].raw(), &inputs[i].raw()...};
    const plug_status status = read_operands(call, std::size(tensors), tensors, kDtypes, {}, operands);
    if (status != PLUG_OK) return status;
    if (!operands.is_dense)
      return declined("the kernel takes lists of tensors that lie alike, without gaps, in one dtype");
    const auto add_item = [&]<std::size_t... I>(std::index_sequence<I...>) {
      work->items.push_back({{reinterpret_cast<T*>(operands.loop.base[0]),
                              {reinterpret_cast<const T*>(operands.loop.base[I + 1])...},
                              operands.loop.count,
                              op},
                             work->count});
    };
    add_item(std::make_index_sequence<sizeof...(Inputs)>());
    work->count += operands.loop.count;
    for (std::size_t k = 0; k < std::size(tensors); ++k) {
      const char* const base = operands.loop.base[k];
      if (k == 0 || base != operands.loop.base[0])
        memory.add(base, operands.loop.count * std::int64_t{sizeof(T)}, k == 0);
    }
  }
  if (memory.overlap()) return declined("the kernel takes lists of tensors that do not share memory");
  launch_kept(call, name, std::move(work));
  return PLUG_OK;
}

template <class Results, class Body>
plug_status with_number(const Results& results, const plug::Scalar& scalar, const Body& body) {
  if (results.empty()) return declined("PyTorch does not take an empty list");
  return plug::visit<float, double>(results[0].dtype(), [&](auto type) -> plug_status {
    using T = typename decltype(type)::type;
    const std::optional<T> number = exact<T>(scalar.raw());
    if (!number) return declined("PyTorch does not convert this number to the dtype of the elements");
    return body(*number);
  });
}

plug_status add_lists(const plug::Call& call, const auto& results, const auto& self,
                      const plug::Tensors& other, const plug::Scalar& alpha) {
  return with_number(results, alpha, [&]<class T>(T by) {
    if (by == 1) return for_each_tensor<T>(call, "sim::foreach_add", Add(), results, self, other);
    return for_each_tensor<T>(call, "sim::foreach_add", AddScaled<T>{by}, results, self, other);
  });
}

plug_status add_number(const plug::Call& call, const auto& results, const auto& self,
                       const plug::Scalar& scalar) {
  return with_number(results, scalar, [&]<class T>(T by) {
    return for_each_tensor<T>(call, "sim::foreach_add", AddNumber<T>{by}, results, self);
  });
}

plug_status mul_number(const plug::Call& call, const auto& results, const auto& self,
                       const plug::Scalar& scalar) {
  return with_number(results, scalar, [&]<class T>(T by) {
    return for_each_tensor<T>(call, "sim::foreach_mul", MulNumber<T>{by}, results, self);
  });
}

}  // namespace

plug_status foreach_add(plug::Call& call, plug::Tensors self, plug::Tensors other, plug::Scalar alpha,
                        plug::Outs results) {
  return add_lists(call, results, self, other, alpha);
}

plug_status foreach_add_scalar(plug::Call& call, plug::Tensors self, plug::Scalar scalar,
                               plug::Outs results) {
  return add_number(call, results, self, scalar);
}

plug_status foreach_mul_scalar(plug::Call& call, plug::Tensors self, plug::Scalar scalar,
                               plug::Outs results) {
  return mul_number(call, results, self, scalar);
}

plug_status foreach_add_(plug::Call& call, plug::Outs self, plug::Tensors other, plug::Scalar alpha) {
  return add_lists(call, self, self, other, alpha);
}

plug_status foreach_add_scalar_(plug::Call& call, plug::Outs self, plug::Scalar scalar) {
  return add_number(call, self, self, scalar);
}

plug_status foreach_mul_scalar_(plug::Call& call, plug::Outs self, plug::Scalar scalar) {
  return mul_number(call, self, self, scalar);
}

}  // namespace torchplug::sim
