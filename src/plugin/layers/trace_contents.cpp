#include "plugin/layers/trace_contents.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "plugin/host.h"
#include "plugin/layers/trace_text.h"
#include "plugin/layers/validate_memory.h"

namespace torchplug::plugin::tracing {
namespace {

constexpr uint64_t kMostElements = 64;      // of a tensor that is written out whatever it holds
constexpr uint64_t kMostBytes = 4096;       // of integers, and of bytes of which no more is known
constexpr uint64_t kSparseBytes = 1 << 20;  // elements that span more are read one by one, if they are few
constexpr uint64_t kSparseElements = 4096;

bool holds_integers(plug_dtype dtype) {
  const uint32_t code = dtype & 0xff;
  return (code <= 1 || code == 6) && dtype >> 16 == 1;
}

uint64_t count_of(const plug_tensor& tensor) {
  uint64_t count = 1;
  for (int32_t d = 0; d < tensor.ndim; ++d) count *= static_cast<uint64_t>(tensor.sizes[d]);
  return count;
}

// Calls visit(bytes past element [0, 0, ...]) for every element, the last dimension first.
template <class Visitor>
void for_each_place(const plug_tensor& tensor, Visitor visit) {
  const auto item = static_cast<int64_t>(PLUG_DTYPE_BYTES(tensor.dtype));
  std::vector<int64_t> index(static_cast<size_t>(tensor.ndim));
  int64_t place = 0;
  for (uint64_t left = count_of(tensor); left > 0; --left) {
    visit(place * item);
    for (auto d = static_cast<size_t>(tensor.ndim); d-- > 0;) {
      place += tensor.strides[d];
      if (++index[d] < tensor.sizes[d]) break;
      place -= tensor.sizes[d] * tensor.strides[d];
      index[d] = 0;
    }
  }
}

template <class T>
T element(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string raw_text(const std::byte* at, size_t bytes) {
  std::string text = "0x";
  for (size_t i = bytes; i-- > 0;) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(at[i]));
    text += digits;
  }
  return text;
}

std::string element_text(plug_dtype dtype, const std::byte* at) {
  switch (dtype) {
    case PLUG_I8: return std::to_string(element<int8_t>(at));
    case PLUG_I16: return std::to_string(element<int16_t>(at));
    case PLUG_I32: return std::to_string(element<int32_t>(at));
    case PLUG_I64: return std::to_string(element<int64_t>(at));
    case PLUG_BOOL:
    case PLUG_U8: return std::to_string(element<uint8_t>(at));
    case PLUG_U16: return std::to_string(element<uint16_t>(at));
    case PLUG_U32: return std::to_string(element<uint32_t>(at));
    case PLUG_U64: return std::to_string(element<uint64_t>(at));
    case PLUG_F32: return text_of(static_cast<double>(element<float>(at)));
    case PLUG_F64: return text_of(element<double>(at));
    case PLUG_C64: return element_text(PLUG_F32, at) + "," + element_text(PLUG_F32, at + sizeof(float));
    case PLUG_C128: return element_text(PLUG_F64, at) + "," + element_text(PLUG_F64, at + sizeof(double));
    default: return raw_text(at, PLUG_DTYPE_BYTES(dtype));
  }
}

std::string data_text(plug_dtype dtype, const std::vector<std::byte>& bytes) {
  const size_t item = PLUG_DTYPE_BYTES(dtype);
  std::string text = " data=[";
  for (size_t at = 0; at < bytes.size(); at += item) {
    text.append(at == 0 ? "" : ",").append(element_text(dtype, bytes.data() + at));
  }
  return text + "]";
}

// As int64: what is beyond is beyond any index too.
int64_t integer_at(plug_dtype dtype, const std::byte* at) {
  switch (dtype) {
    case PLUG_I8: return element<int8_t>(at);
    case PLUG_I16: return element<int16_t>(at);
    case PLUG_I32: return element<int32_t>(at);
    case PLUG_U16: return element<uint16_t>(at);
    case PLUG_U32: return element<uint32_t>(at);
    case PLUG_BOOL:
    case PLUG_U8: return element<uint8_t>(at);
    default: return element<int64_t>(at);
  }
}

// Between which numbers a replay has to choose.
std::string range_text(plug_dtype dtype, const std::vector<std::byte>& bytes) {
  int64_t least = INT64_MAX;
  int64_t most = INT64_MIN;
  for (size_t at = 0; at < bytes.size(); at += PLUG_DTYPE_BYTES(dtype)) {
    const int64_t value = integer_at(dtype, bytes.data() + at);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return " range=[" + std::to_string(least) + "," + std::to_string(most) + "]";
}

}  // namespace

uint64_t digest_of(const std::byte* bytes, size_t count) {
  uint64_t digest = 0xcbf29ce484222325;
  for (size_t i = 0; i < count; ++i) digest = (digest ^ std::to_integer<uint64_t>(bytes[i])) * 0x100000001b3;
  return digest;
}

std::string text_of_bytes(const void* bytes, uint64_t count) {
  const auto* at = static_cast<const std::byte*>(bytes);
  if (count > kMostBytes) return " fill=" + hexadecimal_text(digest_of(at, count));
  std::string text = " data=";
  for (uint64_t i = 0; i < count; ++i) text += raw_text(at + i, 1).substr(2);
  return text;
}

std::string Contents::text(const plug_tensor& tensor, const Moment& moment) const {
  const auto bytes = read(tensor, moment);
  if (!bytes) return " unread";
  const bool is_integer = holds_integers(tensor.dtype);
  const bool is_short = count_of(tensor) <= kMostElements || (is_integer && bytes->size() <= kMostBytes);
  if (is_short) return data_text(tensor.dtype, *bytes);
  return " fill=" + hexadecimal_text(digest_of(bytes->data(), bytes->size())) +
         (is_integer ? range_text(tensor.dtype, *bytes) : "");
}

std::optional<std::vector<std::byte>> Contents::read(const plug_tensor& tensor, const Moment& moment) const {
  if (captures_ > 0 && tensor.mem.device != PLUG_HOST) return std::nullopt;
  const size_t item = PLUG_DTYPE_BYTES(tensor.dtype);
  const uint64_t count = count_of(tensor);
  std::vector<std::byte> elements(count * item);
  std::byte* to = elements.data();
  bool is_read = true;
  const validation::Extent extent = validation::extent_of(tensor);
  if (extent.bytes > kSparseBytes && count <= kSparseElements) {
    for_each_place(tensor, [&](int64_t place) {
      is_read = is_read && read_bytes(tensor.mem, place, item, to, moment);
      to += item;
    });
  } else {
    std::vector<std::byte> all(extent.bytes);
    is_read = read_bytes(tensor.mem, extent.first, extent.bytes, all.data(), moment);
    for_each_place(tensor, [&](int64_t place) {
      std::memcpy(to, all.data() + (place - extent.first), item);
      to += item;
    });
  }
  return is_read ? std::optional(std::move(elements)) : std::nullopt;
}

bool Contents::read_bytes(const plug_mem& from, int64_t first, uint64_t bytes, std::byte* to,
                          const Moment& moment) const {
  plug_mem source = from;
  source.offset += static_cast<uint64_t>(first);
  if (source.device == PLUG_HOST) {
    std::memcpy(to, static_cast<const std::byte*>(source.base) + source.offset, bytes);
    return true;
  }
  const plug_mem target{to, 0, PLUG_HOST, 0};
  const plug_status status =
      below_.call<&plug_runtime::copy>(moment.device, moment.stream, &target, &source, bytes);
  if (status != PLUG_OK) take_plugin_error();  // it is not the core that asked
  return status == PLUG_OK;
}

}  // namespace torchplug::plugin::tracing
