#include "operators.h"

#include <iterator>

#include "linear.h"
#include "packing.h"
#include "torchplug/plug.hpp"

namespace xcpu::plugin {
namespace {

constexpr std::uint64_t kOwn = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_HOST;

// x weight' + bias has the gradient xcpu::linear_grad; what weight does not have, a tensor of integers cannot
// be asked for.
#define XCPU_SUM "xcpu::linear_grad(grad, x, weight, bias, mul, activation, precision)"
constexpr const char* kLinearGradient =
    "x: aten::matmul(" XCPU_SUM ", aten::to.other(xcpu::unpack(weight), grad)); bias: " XCPU_SUM
    "; mul: aten::mul.Tensor(grad, xcpu::linear(x, weight, bias, activation=activation, "
    "precision=precision)); residual: grad";
#undef XCPU_SUM

constexpr plug::Kernel kList[] = {
    plug::kernel<&pack>(kPack, kOwn).with_shape(shape_of_pack),
    plug::kernel<&pack_pair>(kPackPair, kOwn).with_shape(shape_of_pack_pair),
    plug::kernel<&unpack>(kUnpack, kOwn).with_shape(shape_of_unpack),

    plug::kernel<&linear>(kLinear, kOwn)
        .with_shapes("[x[:-1], weight.0] dtype|x")
        .with_gradient(kLinearGradient),
    plug::kernel<&linear_grad>(kLinearGrad, kOwn).with_shapes("grad"),
    plug::kernel<&gate_up>(kGateUp, kOwn).with_shapes("[x[:-1], weight.0] dtype|x"),
    plug::kernel<&mlp>(kMlp, kOwn).with_shapes("[x[:-1], down.0] dtype|x"),
};

}  // namespace

const plug_kernels kKernels = {
    .size = sizeof(plug_kernels),
    .kernel_size = sizeof(plug_kernel),
    .count = std::size(kList),
    .list = kList,
};

}  // namespace xcpu::plugin
