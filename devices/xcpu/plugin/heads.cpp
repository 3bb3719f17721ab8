#include "heads.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "arguments.h"

namespace xcpu::plugin {

Heads shape_of_heads(const plug::Tensor& tensor, const char* name) {
  Heads found{};
  found.heads.dtype = dtype_of(tensor, name);
  if (tensor.ndim() < 3) {
    refuse(std::string(name) + " has the sizes " + text_of(tensor.sizes()) +
           "; it is [..., tokens, heads, head_dim]");
  }
  found.count = tensor.size(-2);
  found.head_dim = tensor.size(-1);
  found.tokens = 1;
  for (std::int32_t d = 0; d < tensor.ndim() - 2; ++d) found.tokens *= tensor.size(d);
  found.heads.head_stride = found.head_dim;
  found.heads.token_stride = found.count * found.head_dim;
  if (tensor.numel() == 0) return found;
  const auto token_stride = common_stride(tensor, tensor.ndim() - 2);
  // Vectors that lie one in another are for nobody to read side by side.
  const bool is_apart = token_stride && (found.tokens == 1 || *token_stride >= found.head_dim) &&
                        (found.count == 1 || tensor.stride(-2) >= found.head_dim);
  found.is_copied = !is_apart || (found.head_dim > 1 && tensor.stride(-1) != 1);
  if (!found.is_copied && found.count > 1) found.heads.head_stride = tensor.stride(-2);
  if (!found.is_copied && found.tokens > 1) found.heads.token_stride = *token_stride;
  return found;
}

xcpu_heads place_heads(const plug::Call& call, const plug::Tensor& tensor, const Heads& shape) {
  xcpu_heads heads = shape.heads;
  if (shape.tokens * shape.count * shape.head_dim == 0) return heads;
  heads.data = shape.is_copied ? copy_contiguous(call, tensor) : address_of(tensor);
  return heads;
}

Heads heads_of(const plug::Call& call, const plug::Tensor& tensor, const char* name) {
  Heads found = shape_of_heads(tensor, name);
  found.heads = place_heads(call, tensor, found);
  return found;
}

const std::int64_t* integers_of(const plug::Call& call, const plug::Tensor& tensor, const char* name) {
  if (tensor.dtype() != PLUG_I64) refuse(std::string(name) + " is " + look_of(tensor) + "; it is int64");
  if (tensor.is_contiguous()) return tensor.data<std::int64_t>();
  return static_cast<const std::int64_t*>(copy_contiguous(call, tensor));
}

const float* floats_of(const plug::Call& call, const plug::Tensor& tensor, const char* name) {
  dtype_of(tensor, name);
  const plug::Scratch<float> numbers(call, tensor.numel());
  const auto bytes = static_cast<std::int64_t>(PLUG_DTYPE_BYTES(tensor.dtype()));
  plug::check(plug_convert(reinterpret_cast<char*>(numbers.data()), PLUG_F32, sizeof(float),
                           static_cast<char*>(plug_address(&tensor.raw().mem)), tensor.dtype(),
                           tensor.stride(0) * bytes, tensor.numel()));
  return numbers.data();
}

Starts starts_of(const plug::Call& call, const plug::Tensor& starts, const char* name, std::int64_t tokens) {
  if (starts.ndim() != 1 || starts.numel() < 1) {
    refuse(std::string(name) + " has the sizes " + text_of(starts.sizes()) +
           "; it is where each sequence begins, and the end");
  }
  const Starts found{integers_of(call, starts, name), starts.numel() - 1};
  if (found.data[0] != 0 || found.data[found.sequences] != tokens ||
      !std::is_sorted(found.data, found.data + found.sequences + 1)) {
    refuse(std::string(name) + " begins with " + std::to_string(found.data[0]) + " and ends with " +
           std::to_string(found.data[found.sequences]) + "; it ascends from 0 to the " +
           std::to_string(tokens) + " tokens");
  }
  return found;
}

std::int32_t most_threads() {
  static const auto count = static_cast<std::int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return count;
}

}  // namespace xcpu::plugin
