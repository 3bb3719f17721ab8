#include "kernels.h"

#include <cstdint>
#include <iterator>

#include "any.h"
#include "foreach.h"
#include "matmul.h"
#include "nonzero.h"
#include "operators.h"
#include "pointwise.h"
#include "random.h"
#include "reductions.h"
#include "torchplug/schemas.h"

namespace torchplug::sim {
namespace {

constexpr std::uint64_t kElementwise = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                                       PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR;
constexpr plug_dtype kReal[] = {PLUG_F32, PLUG_F64, PLUG_I64, PLUG_I32,  PLUG_I16,
                                PLUG_I8,  PLUG_U8,  PLUG_F16, PLUG_BF16, PLUG_BOOL};
constexpr plug_dtype kNumbers[] = {PLUG_F32, PLUG_F64, PLUG_I64, PLUG_I32};
constexpr plug_dtype kAdded[] = {PLUG_F32, PLUG_F64, PLUG_I64, PLUG_I32, PLUG_BF16};
constexpr plug_dtype kFloats[] = {PLUG_F32, PLUG_F64};
constexpr plug_dtype kFloat32[] = {PLUG_F32};

constexpr plug::Kernel matmul(plug::Kernel kernel) {
  return kernel.with_dtypes(kFloat32).with_prepare(prepare_matmul, nullptr);
}
constexpr plug::Kernel lists(plug::Kernel kernel) { return kernel.with_dtypes(kFloats); }

constexpr std::uint64_t kLists = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_ALIAS;
constexpr std::uint64_t kOwn = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_HOST;

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

    plug::kernel<&sum>(PLUG_SCHEMA_SUM_DIM_INTLIST, PLUG_ACCEPTS_STRIDED).with_dtypes(kAdded),
    plug::kernel<&mean>(PLUG_SCHEMA_MEAN_DIM, PLUG_ACCEPTS_STRIDED).with_dtypes(kAdded),
    plug::kernel<&amax>(PLUG_SCHEMA_AMAX, PLUG_ACCEPTS_STRIDED).with_dtypes(kNumbers),

    matmul(plug::kernel<&mm>(PLUG_SCHEMA_MM, PLUG_ACCEPTS_STRIDED)),
    matmul(plug::kernel<&addmm>(PLUG_SCHEMA_ADDMM, PLUG_ACCEPTS_STRIDED)),

    plug::kernel<&nonzero>(PLUG_SCHEMA_NONZERO, PLUG_ACCEPTS_STRIDED | PLUG_SHAPES_OUTPUT).with_dtypes(kReal),

    lists(plug::kernel<&foreach_add>(PLUG_SCHEMA__FOREACH_ADD_LIST, kLists)),
    lists(plug::kernel<&foreach_add_scalar>(PLUG_SCHEMA__FOREACH_ADD_SCALAR, kLists)),
    lists(plug::kernel<&foreach_mul_scalar>(PLUG_SCHEMA__FOREACH_MUL_SCALAR, kLists)),
    lists(plug::kernel<&foreach_add_>(PLUG_SCHEMA__FOREACH_ADD__LIST, kLists)),
    lists(plug::kernel<&foreach_add_scalar_>(PLUG_SCHEMA__FOREACH_ADD__SCALAR, kLists)),
    lists(plug::kernel<&foreach_mul_scalar_>(PLUG_SCHEMA__FOREACH_MUL__SCALAR, kLists)),

    plug::kernel<&uniform>(PLUG_SCHEMA_UNIFORM, PLUG_ACCEPTS_DENSE | PLUG_ACCEPTS_ALIAS).with_dtypes(kFloats),
    plug::kernel<&bernoulli>(PLUG_SCHEMA_BERNOULLI__FLOAT, PLUG_ACCEPTS_DENSE).with_dtypes(kFloats),

    // The device's own come last, for who wraps it under another name.
    plug::kernel<&axpy>(kAxpy, kOwn)
        .with_shapes("x")
        .with_gradient("x: aten::mul.Scalar(grad, a); y: aten::clone(grad)"),
    plug::kernel<&scale_>(kScale, kOwn),
    plug::kernel<&ramp>(kRamp, kOwn).with_shapes("each xs"),
};

constexpr plug_kernels table(const plug_kernel* any) {
  return {
      .size = sizeof(plug_kernels),
      .kernel_size = sizeof(plug_kernel),
      .count = std::size(kList),
      .list = kList,
      .any = any,
  };
}

}  // namespace

const plug_kernels kKernels = table(nullptr);
const plug_kernels kKernelsAndAny = table(&kAny);

}  // namespace torchplug::sim
