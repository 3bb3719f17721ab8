#include "packing.h"

#include <array>
#include <string>

#include "arguments.h"

namespace xcpu::plugin {
namespace {

constexpr std::int32_t kUsualGroup = 128;
constexpr plug_dtype kElements[] = {PLUG_I32, PLUG_I16, PLUG_I8, PLUG_U8};  // by xcpu_kind

// What a matrix becomes. The other one of a pair has the same sizes.
xcpu_packed packed_shape(const plug::Tensor& weight, const char* name, std::string_view kind,
                         std::int64_t group, bool is_pair) {
  xcpu_packed shape{};
  shape.kind = word_of(kind, "kind", {"fp32", "bf16", "int8", "int4"});
  dtype_of(weight, name);
  if (weight.ndim() != 2 || weight.numel() == 0) {
    refuse(std::string(name) + " has the sizes " + text_of(weight.sizes()) +
           "; it is a matrix of outputs by inputs, with at least one of each");
  }
  const bool has_group = shape.kind == XCPU_W_INT4;
  if (has_group ? group != 0 && group != 32 && group != 64 && group != 128 : group != 0) {
    refuse("group is " + std::to_string(group) + "; it is " +
           (has_group ? "32, 64 or 128, or 0 for 128" : "of int4 weights alone"));
  }
  shape.group = has_group ? (group == 0 ? kUsualGroup : static_cast<std::int32_t>(group)) : 0;
  if (has_group && weight.size(1) % shape.group != 0) {
    refuse(std::string(name) + " has " + std::to_string(weight.size(1)) +
           " inputs, which is no multiple of group, " + std::to_string(shape.group));
  }
  shape.pair = is_pair ? 1 : 0;
  shape.n = weight.size(0);
  shape.k = weight.size(1);
  return shape;
}

void shape_result(const plug_call* call, plug_dtype dtype, plug::Ints sizes) {
  plug::check(plug::host->output(plug::host, call, 0, dtype, static_cast<std::int32_t>(sizes.size()),
                                 sizes.data(), nullptr));
}

// The arguments of `call` are the matrices, then the kind and the group.
plug_status shape_packed(const plug_call* call, const char* name, bool is_pair) {
  return plug::guarded([&] {
    const plug_value* words = call->args + (is_pair ? 2 : 1);
    const std::string_view kind(words[0].as.str, words[0].count);
    const xcpu_packed shape =
        packed_shape(plug::Tensor(*call->args[0].as.tensors), name, kind, words[1].as.i, is_pair);
    std::array<std::int64_t, 3> sizes{};
    check(xcpu_packed_sizes(&shape, sizes.data()));
    shape_result(call, kElements[shape.kind], {sizes.data(), 3});
  });
}

}  // namespace

plug_status shape_of_pack(const plug_call* call) { return shape_packed(call, "weight", false); }
plug_status shape_of_pack_pair(const plug_call* call) { return shape_packed(call, "gate", true); }

void pack(plug::Call& /*call*/, plug::Tensor weight, std::string_view kind, std::int64_t group,
          plug::Out packed) {
  const xcpu_packed shape = packed_shape(weight, "weight", kind, group, false);
  const xcpu_matrix matrix = matrix_of(weight, "weight");
  check(xcpu_pack(&shape, &matrix, nullptr, plug_address(&packed.raw().mem), team()));
}

void pack_pair(plug::Call& /*call*/, plug::Tensor gate, plug::Tensor up, std::string_view kind,
               std::int64_t group, plug::Out packed) {
  const xcpu_packed shape = packed_shape(gate, "gate", kind, group, true);
  expect_sizes(up, "up", gate.sizes());
  const xcpu_matrix first = matrix_of(gate, "gate"), second = matrix_of(up, "up");
  check(xcpu_pack(&shape, &first, &second, plug_address(&packed.raw().mem), team()));
}

// [N, K], of a pair [2, N, K].
plug_status shape_of_unpack(const plug_call* call) {
  return plug::guarded([&] {
    const xcpu_packed packed = packed_of(plug::Tensor(*call->args[0].as.tensors), "packed");
    const plug_value& dtype = call->args[1];
    const std::array<std::int64_t, 3> sizes = {2, packed.n, packed.k};
    const std::int64_t dims = 2 + packed.pair;
    shape_result(call, dtype.tag == PLUG_NONE ? PLUG_F32 : static_cast<plug_dtype>(dtype.as.u),
                 {sizes.data() + (3 - dims), dims});
  });
}

void unpack(plug::Call& /*call*/, plug::Tensor packed, std::optional<plug::Dtype> /*dtype*/,
            plug::Out matrix) {
  const xcpu_packed shape = packed_of(packed, "packed");
  const xcpu_dtype dtype = dtype_of(matrix, "dtype");
  char* begin = static_cast<char*>(plug_address(&matrix.raw().mem));
  const xcpu_matrix first = {begin, dtype, shape.k, 1};
  const xcpu_matrix second = {begin + shape.n * shape.k * PLUG_DTYPE_BYTES(matrix.dtype()), dtype, shape.k,
                              1};
  check(xcpu_unpack(&shape, &first, shape.pair != 0 ? &second : nullptr, team()));
}

}  // namespace xcpu::plugin
