#include "operators.h"

#include <iterator>

#include "aten_activation.h"
#include "aten_attention.h"
#include "aten_embedding_bag.h"
#include "aten_norm.h"
#include "aten_product.h"
#include "aten_softmax.h"
#include "attention.h"
#include "attention_backward.h"
#include "cache.h"
#include "decoding.h"
#include "linear.h"
#include "norm.h"
#include "packing.h"
#include "rotary.h"
#include "torchplug/plug.hpp"
#include "torchplug/schemas.h"

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

// Tensors of the same permutation without gaps, and the result may be one of them.
constexpr std::uint64_t kElements = PLUG_ACCEPTS_DENSE | PLUG_ACCEPTS_ALIAS;

constexpr plug_dtype kIndexed[] = {PLUG_F32, PLUG_BF16, PLUG_F16, PLUG_I64};
constexpr plug_dtype kFloats[] = {PLUG_F32, PLUG_BF16, PLUG_F16, PLUG_F64};

constexpr plug::Kernel kList[] = {
    plug::kernel<&pack>(kPack, kOwn).with_shape(shape_of_pack),
    plug::kernel<&pack_pair>(kPackPair, kOwn).with_shape(shape_of_pack_pair),
    plug::kernel<&unpack>(kUnpack, kOwn).with_shape(shape_of_unpack),

    plug::kernel<&linear, &plan_linear>(kLinear, kOwn)
        .with_shapes("[x[:-1], weight.0] dtype|x")
        .with_gradient(kLinearGradient),
    plug::kernel<&linear_grad>(kLinearGrad, kOwn).with_shapes("grad"),
    plug::kernel<&gate_up, &plan_gate_up>(kGateUp, kOwn).with_shapes("[x[:-1], weight.0] dtype|x"),
    plug::kernel<&mlp, &plan_mlp>(kMlp, kOwn).with_shapes("[x[:-1], down.0] dtype|x"),

    plug::kernel<&rms_norm, &plan_rms_norm>(kRmsNorm, kOwn)
        .with_shapes("x")
        .with_gradient("x, weight: xcpu::rms_norm_backward(grad, x, weight, eps, plus_one, wanted)"),
    plug::kernel<&layer_norm, &plan_layer_norm>(kLayerNorm, kOwn)
        .with_shapes("x")
        .with_gradient("x, weight, bias: xcpu::layer_norm_backward(grad, x, weight, bias, eps, wanted)"),
    plug::kernel<&add_rms_norm, &plan_add_rms_norm>(kAddRmsNorm, kOwn)
        .with_shapes("x; residual")
        .with_gradient("x, residual, weight: xcpu::add_rms_norm_backward(grads.0, grads.1, result.1, "
                       "weight, eps, plus_one, wanted)"),
    plug::kernel<&add_layer_norm, &plan_add_layer_norm>(kAddLayerNorm, kOwn)
        .with_shapes("x; residual")
        .with_gradient("x, residual, weight, bias: xcpu::add_layer_norm_backward(grads.0, grads.1, "
                       "result.1, weight, bias, eps, wanted)"),
    plug::kernel<&rms_norm_backward>(kRmsNormBackward, kOwn)
        .with_shapes("x if wanted.0; [x.-1] weight|x if wanted.1"),
    plug::kernel<&layer_norm_backward>(kLayerNormBackward, kOwn)
        .with_shapes("x if wanted.0; [x.-1] weight|x if wanted.1; [x.-1] bias|x if wanted.2"),
    plug::kernel<&add_rms_norm_backward>(kAddRmsNormBackward, kOwn)
        .with_shapes("sum if wanted.0; sum if wanted.1; [sum.-1] weight|sum if wanted.2"),
    plug::kernel<&add_layer_norm_backward>(kAddLayerNormBackward, kOwn)
        .with_shapes("sum if wanted.0; sum if wanted.1; [sum.-1] weight|sum if wanted.2; "
                     "[sum.-1] bias|sum if wanted.3"),

    plug::kernel<&rotary>(kRotary, kOwn)
        .with_shapes("q; k")
        .with_gradient("q, k: xcpu::rotary_inverse(grads.0, grads.1, cos, sin, positions, "
                       "interleaved=interleaved)"),
    plug::kernel<&rotary_inverse>(kRotaryInverse, kOwn)
        .with_shapes("q; k")
        .with_gradient("q, k: xcpu::rotary(grads.0, grads.1, cos, sin, positions, "
                       "interleaved=interleaved)"),

    plug::kernel<&make_cache>(kMakeCache, kOwn).with_shape(shape_of_cache),
    plug::kernel<&cache_write>(kCacheWrite, kOwn),
    plug::kernel<&cache_read>(kCacheRead, kOwn)
        .with_shapes("[slots.0, cache.1, head_dim] dtype; [slots.0, cache.1, head_dim] dtype"),
    plug::kernel<&attention>(kAttention, kOwn)
        .with_shapes("q")
        .with_gradient("q, k, v, sinks: xcpu::attention_backward(grad, q, k, v, q_starts, k_starts, "
                       "causal, scale, window, softcap, alibi, sinks, wanted)"),
    plug::kernel<&attention_backward>(kAttentionBackward, kOwn)
        .with_shapes("q if wanted.0; k if wanted.1; v if wanted.2; [q.-2] sinks|q if wanted.3"),
    plug::kernel<&paged_attention, &plan_paged_attention>(kPagedAttention, kOwn).with_shapes("q"),
    plug::kernel<&qkv>(kQkv, kOwn).with_shapes("[x[:-1], q_heads, weight.0 // (q_heads + 2 * cache.1)] x"),
    plug::kernel<&lm_head_topk>(kTop, kOwn).with_shapes("[x[:-1], k] float32; [x[:-1], k] int64"),
    plug::kernel<&lm_head_topk_of_rows>(kTopOfRows, kOwn)
        .with_shapes("[rows.0, k] float32; [rows.0, k] int64"),
    plug::kernel<&embedding_bag>(kEmbeddingBag, kOwn).with_shapes("[starts.0 - 1, table.1] table"),

    // PyTorch's, where they are faster than its own on the CPU; the rest is borrowed.
    plug::kernel<&native_layer_norm>(PLUG_SCHEMA_NATIVE_LAYER_NORM),
    plug::kernel<&native_layer_norm_backward>(PLUG_SCHEMA_NATIVE_LAYER_NORM_BACKWARD),
    plug::kernel<&fused_rms_norm>(PLUG_SCHEMA__FUSED_RMS_NORM).with_dtypes(kFloats),
    plug::kernel<&fused_rms_norm_backward>(PLUG_SCHEMA__FUSED_RMS_NORM_BACKWARD).with_dtypes(kFloats),
    plug::kernel<&aten_linear>(PLUG_SCHEMA_LINEAR, PLUG_ACCEPTS_STRIDED)
        .with_prepare(prepare_linear, nullptr),
    plug::kernel<&mm>(PLUG_SCHEMA_MM, PLUG_ACCEPTS_STRIDED).with_prepare(prepare_mm, nullptr),
    plug::kernel<&mm>(PLUG_SCHEMA_BMM, PLUG_ACCEPTS_STRIDED).with_prepare(prepare_mm, nullptr),
    plug::kernel<&addmm>(PLUG_SCHEMA_ADDMM, PLUG_ACCEPTS_STRIDED).with_prepare(prepare_addmm, nullptr),
    plug::kernel<&gelu>(PLUG_SCHEMA_GELU, kElements),
    plug::kernel<&gelu_backward>(PLUG_SCHEMA_GELU_BACKWARD, kElements),
    plug::kernel<&silu>(PLUG_SCHEMA_SILU, kElements),
    plug::kernel<&silu_backward>(PLUG_SCHEMA_SILU_BACKWARD, kElements),
    plug::kernel<&softmax>(PLUG_SCHEMA__SOFTMAX),
    plug::kernel<&softmax_backward>(PLUG_SCHEMA__SOFTMAX_BACKWARD_DATA),
    plug::kernel<&log_softmax>(PLUG_SCHEMA__LOG_SOFTMAX),
    plug::kernel<&log_softmax_backward>(PLUG_SCHEMA__LOG_SOFTMAX_BACKWARD_DATA),
    plug::kernel<&aten_embedding_bag>(PLUG_SCHEMA__EMBEDDING_BAG, PLUG_ACCEPTS_STRIDED).with_dtypes(kIndexed),
    plug::kernel<&aten_embedding_bag>(PLUG_SCHEMA__EMBEDDING_BAG_FORWARD_ONLY, PLUG_ACCEPTS_STRIDED)
        .with_dtypes(kIndexed),
    plug::kernel<&fused_attention>(PLUG_SCHEMA__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE,
                                   PLUG_ACCEPTS_STRIDED)
        .with_dtypes(kIndexed)
        .with_prepare(prepare_attention, nullptr),
    plug::kernel<&fused_attention_backward>(
        PLUG_SCHEMA__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD, PLUG_ACCEPTS_STRIDED)
        .with_dtypes(kIndexed),
};

}  // namespace

const plug_kernels kKernels = {
    .size = sizeof(plug_kernels),
    .kernel_size = sizeof(plug_kernel),
    .count = std::size(kList),
    .list = kList,
};

}  // namespace xcpu::plugin
