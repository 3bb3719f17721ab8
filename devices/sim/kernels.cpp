#include "kernels.h"

#include <cstdint>
#include <iterator>

#include "pointwise.h"
#include "torchplug/schemas.h"

namespace torchplug::sim {
namespace {

constexpr std::uint64_t kElementwise = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                                       PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR;
constexpr plug_dtype kReal[] = {PLUG_F32, PLUG_F64, PLUG_I64, PLUG_I32,  PLUG_I16,
                                PLUG_I8,  PLUG_U8,  PLUG_F16, PLUG_BF16, PLUG_BOOL};

constexpr plug::Kernel kList[] = {
    plug::kernel<&add>(PLUG_SCHEMA_ADD_TENSOR, kElementwise).with_dtypes(kReal),
    plug::kernel<&sub>(PLUG_SCHEMA_SUB_TENSOR, kElementwise).with_dtypes(kReal),
    plug::kernel<&mul>(PLUG_SCHEMA_MUL_TENSOR, kElementwise).with_dtypes(kReal),
    plug::kernel<&div>(PLUG_SCHEMA_DIV_TENSOR, kElementwise).with_dtypes(kReal),
    plug::kernel<&maximum>(PLUG_SCHEMA_MAXIMUM, kElementwise).with_dtypes(kReal),
    plug::kernel<&minimum>(PLUG_SCHEMA_MINIMUM, kElementwise).with_dtypes(kReal),
    plug::kernel<&relu>(PLUG_SCHEMA_RELU, kElementwise).with_dtypes(kReal),
    plug::kernel<&neg>(PLUG_SCHEMA_NEG, kElementwise).with_dtypes(kReal),
    plug::kernel<&where>(PLUG_SCHEMA_WHERE_SELF, kElementwise).with_dtypes(kReal),
};

}  // namespace

const plug_kernels kKernels = {
    .size = sizeof(plug_kernels),
    .kernel_size = sizeof(plug_kernel),
    .count = std::size(kList),
    .list = kList,
};

}  // namespace torchplug::sim
