#pragma once
// Weights as kernels read them: a packed weight is a tensor of integers whose dtype and three sizes say all
// about it (xcpu.h), so that it is saved, copied and traced like any other.

#include <string_view>

#include "torchplug/plug.hpp"

namespace xcpu::plugin {

inline constexpr const char* kPack = "xcpu::pack(Tensor weight, str kind, int group=0) -> Tensor";
plug_status shape_of_pack(const plug_call* call);
void pack(plug::Call& call, plug::Tensor weight, std::string_view kind, std::int64_t group, plug::Out packed);

inline constexpr const char* kPackPair =
    "xcpu::pack_pair(Tensor gate, Tensor up, str kind, int group=0) -> Tensor";
plug_status shape_of_pack_pair(const plug_call* call);
void pack_pair(plug::Call& call, plug::Tensor gate, plug::Tensor up, std::string_view kind,
               std::int64_t group, plug::Out packed);

inline constexpr const char* kUnpack = "xcpu::unpack(Tensor packed, ScalarType? dtype=None) -> Tensor";
plug_status shape_of_unpack(const plug_call* call);
void unpack(plug::Call& call, plug::Tensor packed, std::optional<plug::Dtype> dtype, plug::Out matrix);

}  // namespace xcpu::plugin
