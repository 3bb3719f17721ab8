#include "nonzero.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "launch.h"
#include "vectors.h"

namespace torchplug::sim {
namespace {

constexpr std::int32_t kMostDims = 16;

// -0 is 0, and NaN is not.
template <class T>
SIM_INLINE inline bool is_nonzero(T value) {
  return value != T{0};
}
template <>
SIM_INLINE inline bool is_nonzero(plug::Half value) {
  return (value.bits & 0x7FFF) != 0;
}
template <>
SIM_INLINE inline bool is_nonzero(plug::BFloat16 value) {
  return (value.bits & 0x7FFF) != 0;
}

// The elements in the order of their indices, in parts of kGrain.
template <class T>
class Search {
 public:
  explicit Search(const plug_tensor& tensor)
      : data_(static_cast<const char*>(plug_address(&tensor.mem))),
        ndim_(tensor.ndim),
        count_(plug_numel(&tensor)) {
    for (std::int32_t d = 0; d < ndim_; ++d) {
      sizes_[static_cast<std::size_t>(d)] = tensor.sizes[d];
      strides_[static_cast<std::size_t>(d)] = tensor.strides[d] * static_cast<std::int64_t>(sizeof(T));
    }
    found_.resize(static_cast<std::size_t>((count_ + kGrain - 1) / kGrain));
  }

  // How many there are, and where in the result those of each part begin.
  std::int64_t count() {
    share(parts(), 1, [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        std::int64_t found = 0;
        walk(part, [&](const Index& /*index*/, const char* from, std::int64_t stride, std::int64_t n) {
          found += count_row(from, stride, n);
          return true;
        });
        found_[static_cast<std::size_t>(part)] = found;
      }
    });
    total_ = std::accumulate(found_.begin(), found_.end(), std::int64_t{0});
    return total_;
  }

  // Column by column, as PyTorch lays them out.
  void write_to(std::int64_t* result) const noexcept {
    std::vector<std::int64_t> starts(found_.size());
    std::exclusive_scan(found_.begin(), found_.end(), starts.begin(), std::int64_t{0});
    share(parts(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) {
        const auto place = static_cast<std::size_t>(part);
        write_part(part, result + starts[place], found_[place]);
      }
    });
  }

 private:
  using Index = std::array<std::int64_t, kMostDims>;

  std::int64_t parts() const { return static_cast<std::int64_t>(found_.size()); }

  // visit(index of the first, address, stride, n) for each row of the part, until it returns false.
  template <class Visit>
  void walk(std::int64_t part, const Visit& visit) const noexcept {
    const std::int64_t end = std::min((part + 1) * kGrain, count_);
    const std::size_t last = static_cast<std::size_t>(std::max(ndim_, 1) - 1);
    Index index{};
    std::int64_t rest = part * kGrain;
    for (std::size_t d = last + 1; d-- > 0;) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
    }
    for (std::int64_t at = part * kGrain; at < end;) {
      const char* from = data_;
      for (std::size_t d = 0; d <= last; ++d) from += index[d] * strides_[d];
      const std::int64_t n = std::min(sizes_[last] - index[last], end - at);
      if (!visit(index, from, strides_[last], n)) return;
      at += n;
      index[last] += n;
      for (std::size_t d = last; d > 0 && index[d] == sizes_[d]; --d) {
        index[d] = 0;
        ++index[d - 1];
      }
    }
  }

  static std::int64_t count_row(const char* from, std::int64_t stride, std::int64_t n) noexcept {
    std::int32_t found = 0;
    run_vectorised([&]() SIM_INLINE {
      std::int32_t sum = 0;
      if (stride == sizeof(T)) {
        const T* const row = reinterpret_cast<const T*>(from);
        for (std::int64_t i = 0; i < n; ++i) sum += is_nonzero(row[i]) ? 1 : 0;
      } else {
        for (std::int64_t i = 0; i < n; ++i)
          sum += is_nonzero(*reinterpret_cast<const T*>(from + i * stride)) ? 1 : 0;
      }
      found = sum;
    });
    return found;
  }

  // Each index is written, and kept if its element is not 0: cheaper than to ask. No more are written than
  // were counted, whatever the elements have become.
  void write_part(std::int64_t part, std::int64_t* to, std::int64_t count) const noexcept {
    const std::int64_t* const end = to + count;
    walk(part, [&](const Index& index, const char* from, std::int64_t stride, std::int64_t n) {
      const auto last = static_cast<std::size_t>(ndim_ - 1);
      for (std::int64_t i = 0; i < n && to != end; ++i) {
        for (std::size_t d = 0; d < last; ++d) to[static_cast<std::int64_t>(d) * total_] = index[d];
        to[static_cast<std::int64_t>(last) * total_] = index[last] + i;
        to += is_nonzero(*reinterpret_cast<const T*>(from + i * stride)) ? 1 : 0;
      }
      return to != end;
    });
  }

  const char* data_;
  std::int32_t ndim_;
  std::int64_t count_;
  std::int64_t total_ = 0;
  Index sizes_ = {1};
  Index strides_{};
  std::vector<std::int64_t> found_;
};

template <class T>
plug_status search(const plug::Call& call, const plug::Tensor& self, const plug::Unshaped& result) {
  auto found = std::make_unique<Search<T>>(usable(self.raw()));
  const std::int64_t count = found->count();
  const std::int64_t sizes[] = {count, self.ndim()}, strides[] = {1, count};
  const plug_tensor out = usable(result.shape(PLUG_I64, {sizes, 2}, {strides, 2}).raw());
  if (count == 0 || self.ndim() == 0) return PLUG_OK;
  auto work = [to = static_cast<std::int64_t*>(plug_address(&out.mem)), found = std::move(found)]() noexcept {
    found->write_to(to);
  };
  // The memory may be that of a result that work of another thread, enqueued since, still reads.
  const Stream& stream = open_device(call.device()).stream(call.stream());
  if (!stream.is_idle()) {
    launch(call, "sim::nonzero", std::move(work));
  } else {
    run_here(stream, {.kind = PLUG_RECORD_KERNEL, .name = "sim::nonzero"}, work);
  }
  return PLUG_OK;
}

}  // namespace

plug_status nonzero(plug::Call& call, plug::Tensor self, plug::Unshaped result) {
  if (!is_plain(self.raw()) || self.ndim() > kMostDims)
    return declined("the kernel takes strided tensors of up to 16 dims");
  const Stream& stream = open_device(call.device()).stream(call.stream());
  if (stream.captures()) return declined("what the elements decide cannot be captured");
  stream.synchronize();
  // PyTorch takes any byte but 0 for true.
  const plug_dtype dtype = self.dtype() == PLUG_BOOL ? PLUG_U8 : self.dtype();
  return plug::visit<float, double, std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint8_t,
                     plug::Half, plug::BFloat16>(
      dtype, [&](auto type) { return search<typename decltype(type)::type>(call, self, result); });
}

}  // namespace torchplug::sim
