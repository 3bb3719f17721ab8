/* schemas.h - the schemas of PyTorch's operators, and the places of their arguments: for
** every operator that a kernel can be bound to, as PyTorch 2.11, 2.12 and 2.13 have it
** alike. What differs between them is in schemas/torch-*.h. Written by tools/codegen.
**
** aten::add.Tensor is PLUG_SCHEMA_ADD_TENSOR; its argument alpha is at the place
** PLUG_ARG_ADD_TENSOR_ALPHA of call->args, of which there are PLUG_ARGS_ADD_TENSOR.
** Results that have names are at PLUG_RESULT_MAX_DIM_VALUES and so on. A name is
** PyTorch's in capitals, with "_" for ".". */
#ifndef TORCHPLUG_SCHEMAS_H
#define TORCHPLUG_SCHEMAS_H

/* clang-format off */
/* __ilshift__.Scalar: pointwise */
#define PLUG_SCHEMA___ILSHIFT___SCALAR "aten::__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)"
enum { PLUG_ARG___ILSHIFT___SCALAR_SELF, PLUG_ARG___ILSHIFT___SCALAR_OTHER, PLUG_ARGS___ILSHIFT___SCALAR };
/* __ilshift__.Tensor: pointwise */
#define PLUG_SCHEMA___ILSHIFT___TENSOR "aten::__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
enum { PLUG_ARG___ILSHIFT___TENSOR_SELF, PLUG_ARG___ILSHIFT___TENSOR_OTHER, PLUG_ARGS___ILSHIFT___TENSOR };
/* __irshift__.Scalar */
#define PLUG_SCHEMA___IRSHIFT___SCALAR "aten::__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)"
enum { PLUG_ARG___IRSHIFT___SCALAR_SELF, PLUG_ARG___IRSHIFT___SCALAR_OTHER, PLUG_ARGS___IRSHIFT___SCALAR };
/* __irshift__.Tensor */
#define PLUG_SCHEMA___IRSHIFT___TENSOR "aten::__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
enum { PLUG_ARG___IRSHIFT___TENSOR_SELF, PLUG_ARG___IRSHIFT___TENSOR_OTHER, PLUG_ARGS___IRSHIFT___TENSOR };
/* __lshift__.Scalar: also __lshift__.Scalar_out; pointwise */
#define PLUG_SCHEMA___LSHIFT___SCALAR "aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG___LSHIFT___SCALAR_SELF, PLUG_ARG___LSHIFT___SCALAR_OTHER, PLUG_ARGS___LSHIFT___SCALAR };
/* __lshift__.Tensor: also __lshift__.Tensor_out; pointwise */
#define PLUG_SCHEMA___LSHIFT___TENSOR "aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG___LSHIFT___TENSOR_SELF, PLUG_ARG___LSHIFT___TENSOR_OTHER, PLUG_ARGS___LSHIFT___TENSOR };
/* __rshift__.Scalar: also __rshift__.Scalar_out; pointwise */
#define PLUG_SCHEMA___RSHIFT___SCALAR "aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG___RSHIFT___SCALAR_SELF, PLUG_ARG___RSHIFT___SCALAR_OTHER, PLUG_ARGS___RSHIFT___SCALAR };
/* __rshift__.Tensor: also __rshift__.Tensor_out; pointwise */
#define PLUG_SCHEMA___RSHIFT___TENSOR "aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG___RSHIFT___TENSOR_SELF, PLUG_ARG___RSHIFT___TENSOR_OTHER, PLUG_ARGS___RSHIFT___TENSOR };
/* _adaptive_avg_pool2d: also _adaptive_avg_pool2d.out; backward _adaptive_avg_pool2d_backward */
#define PLUG_SCHEMA__ADAPTIVE_AVG_POOL2D "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor"
enum { PLUG_ARG__ADAPTIVE_AVG_POOL2D_SELF, PLUG_ARG__ADAPTIVE_AVG_POOL2D_OUTPUT_SIZE, PLUG_ARGS__ADAPTIVE_AVG_POOL2D };
/* _adaptive_avg_pool2d_backward: also _adaptive_avg_pool2d_backward.out; backward _adaptive_avg_pool2d_backward */
#define PLUG_SCHEMA__ADAPTIVE_AVG_POOL2D_BACKWARD "aten::_adaptive_avg_pool2d_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG__ADAPTIVE_AVG_POOL2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG__ADAPTIVE_AVG_POOL2D_BACKWARD_SELF, PLUG_ARGS__ADAPTIVE_AVG_POOL2D_BACKWARD };
/* _adaptive_avg_pool3d: also _adaptive_avg_pool3d.out; backward _adaptive_avg_pool3d_backward */
#define PLUG_SCHEMA__ADAPTIVE_AVG_POOL3D "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor"
enum { PLUG_ARG__ADAPTIVE_AVG_POOL3D_SELF, PLUG_ARG__ADAPTIVE_AVG_POOL3D_OUTPUT_SIZE, PLUG_ARGS__ADAPTIVE_AVG_POOL3D };
/* _adaptive_avg_pool3d_backward: also _adaptive_avg_pool3d_backward.out; backward _adaptive_avg_pool3d_backward */
#define PLUG_SCHEMA__ADAPTIVE_AVG_POOL3D_BACKWARD "aten::_adaptive_avg_pool3d_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG__ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG__ADAPTIVE_AVG_POOL3D_BACKWARD_SELF, PLUG_ARGS__ADAPTIVE_AVG_POOL3D_BACKWARD };
/* _add_relu.Scalar: also _add_relu_.Scalar, _add_relu.Scalar_out */
#define PLUG_SCHEMA__ADD_RELU_SCALAR "aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG__ADD_RELU_SCALAR_SELF, PLUG_ARG__ADD_RELU_SCALAR_OTHER, PLUG_ARG__ADD_RELU_SCALAR_ALPHA, PLUG_ARGS__ADD_RELU_SCALAR };
/* _add_relu.Tensor: also _add_relu_.Tensor, _add_relu.out */
#define PLUG_SCHEMA__ADD_RELU_TENSOR "aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG__ADD_RELU_TENSOR_SELF, PLUG_ARG__ADD_RELU_TENSOR_OTHER, PLUG_ARG__ADD_RELU_TENSOR_ALPHA, PLUG_ARGS__ADD_RELU_TENSOR };
/* _addmm_activation: also _addmm_activation.out */
#define PLUG_SCHEMA__ADDMM_ACTIVATION "aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor"
enum { PLUG_ARG__ADDMM_ACTIVATION_SELF, PLUG_ARG__ADDMM_ACTIVATION_MAT1, PLUG_ARG__ADDMM_ACTIVATION_MAT2, PLUG_ARG__ADDMM_ACTIVATION_BETA, PLUG_ARG__ADDMM_ACTIVATION_ALPHA, PLUG_ARG__ADDMM_ACTIVATION_USE_GELU, PLUG_ARGS__ADDMM_ACTIVATION };
/* _aminmax: also _aminmax.out */
#define PLUG_SCHEMA__AMINMAX "aten::_aminmax(Tensor self) -> (Tensor, Tensor)"
enum { PLUG_ARG__AMINMAX_SELF, PLUG_ARGS__AMINMAX };
/* _aminmax.dim: also _aminmax.dim_out */
#define PLUG_SCHEMA__AMINMAX_DIM "aten::_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)"
enum { PLUG_ARG__AMINMAX_DIM_SELF, PLUG_ARG__AMINMAX_DIM_DIM, PLUG_ARG__AMINMAX_DIM_KEEPDIM, PLUG_ARGS__AMINMAX_DIM };
/* _amp_foreach_non_finite_check_and_unscale_ */
#define PLUG_SCHEMA__AMP_FOREACH_NON_FINITE_CHECK_AND_UNSCALE_ "aten::_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()"
enum { PLUG_ARG__AMP_FOREACH_NON_FINITE_CHECK_AND_UNSCALE__SELF, PLUG_ARG__AMP_FOREACH_NON_FINITE_CHECK_AND_UNSCALE__FOUND_INF, PLUG_ARG__AMP_FOREACH_NON_FINITE_CHECK_AND_UNSCALE__INV_SCALE, PLUG_ARGS__AMP_FOREACH_NON_FINITE_CHECK_AND_UNSCALE_ };
/* _amp_update_scale: also _amp_update_scale_, _amp_update_scale.out */
#define PLUG_SCHEMA__AMP_UPDATE_SCALE "aten::_amp_update_scale(Tensor self, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> (Tensor, Tensor growth_tracker_out)"
enum { PLUG_ARG__AMP_UPDATE_SCALE_SELF, PLUG_ARG__AMP_UPDATE_SCALE_GROWTH_TRACKER, PLUG_ARG__AMP_UPDATE_SCALE_FOUND_INF, PLUG_ARG__AMP_UPDATE_SCALE_SCALE_GROWTH_FACTOR, PLUG_ARG__AMP_UPDATE_SCALE_SCALE_BACKOFF_FACTOR, PLUG_ARG__AMP_UPDATE_SCALE_GROWTH_INTERVAL, PLUG_ARGS__AMP_UPDATE_SCALE };
enum { PLUG_RESULT__AMP_UPDATE_SCALE_GROWTH_TRACKER_OUT, PLUG_RESULTS__AMP_UPDATE_SCALE };
/* _batch_norm_no_update: also _batch_norm_no_update.out; backward batch_norm_backward */
#define PLUG_SCHEMA__BATCH_NORM_NO_UPDATE "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__BATCH_NORM_NO_UPDATE_INPUT, PLUG_ARG__BATCH_NORM_NO_UPDATE_WEIGHT, PLUG_ARG__BATCH_NORM_NO_UPDATE_BIAS, PLUG_ARG__BATCH_NORM_NO_UPDATE_RUNNING_MEAN, PLUG_ARG__BATCH_NORM_NO_UPDATE_RUNNING_VAR, PLUG_ARG__BATCH_NORM_NO_UPDATE_MOMENTUM, PLUG_ARG__BATCH_NORM_NO_UPDATE_EPS, PLUG_ARGS__BATCH_NORM_NO_UPDATE };
/* _batch_norm_with_update: backward batch_norm_backward */
#define PLUG_SCHEMA__BATCH_NORM_WITH_UPDATE "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__BATCH_NORM_WITH_UPDATE_INPUT, PLUG_ARG__BATCH_NORM_WITH_UPDATE_WEIGHT, PLUG_ARG__BATCH_NORM_WITH_UPDATE_BIAS, PLUG_ARG__BATCH_NORM_WITH_UPDATE_RUNNING_MEAN, PLUG_ARG__BATCH_NORM_WITH_UPDATE_RUNNING_VAR, PLUG_ARG__BATCH_NORM_WITH_UPDATE_MOMENTUM, PLUG_ARG__BATCH_NORM_WITH_UPDATE_EPS, PLUG_ARGS__BATCH_NORM_WITH_UPDATE };
/* _batch_norm_with_update_functional */
#define PLUG_SCHEMA__BATCH_NORM_WITH_UPDATE_FUNCTIONAL "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)"
enum { PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_INPUT, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_WEIGHT, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_BIAS, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_RUNNING_MEAN, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_RUNNING_VAR, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_MOMENTUM, PLUG_ARG__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_EPS, PLUG_ARGS__BATCH_NORM_WITH_UPDATE_FUNCTIONAL };
enum { PLUG_RESULT__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_RUNNING_MEAN_OUT, PLUG_RESULT__BATCH_NORM_WITH_UPDATE_FUNCTIONAL_RUNNING_VAR_OUT, PLUG_RESULTS__BATCH_NORM_WITH_UPDATE_FUNCTIONAL };
/* _cdist_backward: also _cdist_backward.out */
#define PLUG_SCHEMA__CDIST_BACKWARD "aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor"
enum { PLUG_ARG__CDIST_BACKWARD_GRAD, PLUG_ARG__CDIST_BACKWARD_X1, PLUG_ARG__CDIST_BACKWARD_X2, PLUG_ARG__CDIST_BACKWARD_P, PLUG_ARG__CDIST_BACKWARD_CDIST, PLUG_ARGS__CDIST_BACKWARD };
/* _cdist_forward: also _cdist_forward.out; backward _cdist_backward */
#define PLUG_SCHEMA__CDIST_FORWARD "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor"
enum { PLUG_ARG__CDIST_FORWARD_X1, PLUG_ARG__CDIST_FORWARD_X2, PLUG_ARG__CDIST_FORWARD_P, PLUG_ARG__CDIST_FORWARD_COMPUTE_MODE, PLUG_ARGS__CDIST_FORWARD };
/* _cholesky_solve_helper: also _cholesky_solve_helper.out */
#define PLUG_SCHEMA__CHOLESKY_SOLVE_HELPER "aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor"
enum { PLUG_ARG__CHOLESKY_SOLVE_HELPER_SELF, PLUG_ARG__CHOLESKY_SOLVE_HELPER_A, PLUG_ARG__CHOLESKY_SOLVE_HELPER_UPPER, PLUG_ARGS__CHOLESKY_SOLVE_HELPER };
/* _chunk_cat: also _chunk_cat.out */
#define PLUG_SCHEMA__CHUNK_CAT "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor"
enum { PLUG_ARG__CHUNK_CAT_TENSORS, PLUG_ARG__CHUNK_CAT_DIM, PLUG_ARG__CHUNK_CAT_NUM_CHUNKS, PLUG_ARGS__CHUNK_CAT };
/* _compute_linear_combination: also _compute_linear_combination.out */
#define PLUG_SCHEMA__COMPUTE_LINEAR_COMBINATION "aten::_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor"
enum { PLUG_ARG__COMPUTE_LINEAR_COMBINATION_INPUT, PLUG_ARG__COMPUTE_LINEAR_COMBINATION_COEFFICIENTS, PLUG_ARGS__COMPUTE_LINEAR_COMBINATION };
/* _conj_physical: also _conj_physical.out; pointwise */
#define PLUG_SCHEMA__CONJ_PHYSICAL "aten::_conj_physical(Tensor self) -> Tensor"
enum { PLUG_ARG__CONJ_PHYSICAL_SELF, PLUG_ARGS__CONJ_PHYSICAL };
/* _convert_indices_from_coo_to_csr: also _convert_indices_from_coo_to_csr.out */
#define PLUG_SCHEMA__CONVERT_INDICES_FROM_COO_TO_CSR "aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor"
enum { PLUG_ARG__CONVERT_INDICES_FROM_COO_TO_CSR_SELF, PLUG_ARG__CONVERT_INDICES_FROM_COO_TO_CSR_SIZE, PLUG_ARG__CONVERT_INDICES_FROM_COO_TO_CSR_OUT_INT32, PLUG_ARGS__CONVERT_INDICES_FROM_COO_TO_CSR };
/* _convert_indices_from_csr_to_coo: also _convert_indices_from_csr_to_coo.out */
#define PLUG_SCHEMA__CONVERT_INDICES_FROM_CSR_TO_COO "aten::_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False, bool transpose=False) -> Tensor"
enum { PLUG_ARG__CONVERT_INDICES_FROM_CSR_TO_COO_CROW_INDICES, PLUG_ARG__CONVERT_INDICES_FROM_CSR_TO_COO_COL_INDICES, PLUG_ARG__CONVERT_INDICES_FROM_CSR_TO_COO_OUT_INT32, PLUG_ARG__CONVERT_INDICES_FROM_CSR_TO_COO_TRANSPOSE, PLUG_ARGS__CONVERT_INDICES_FROM_CSR_TO_COO };
/* _convert_weight_to_int4pack */
#define PLUG_SCHEMA__CONVERT_WEIGHT_TO_INT4PACK "aten::_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor"
enum { PLUG_ARG__CONVERT_WEIGHT_TO_INT4PACK_SELF, PLUG_ARG__CONVERT_WEIGHT_TO_INT4PACK_INNERKTILES, PLUG_ARGS__CONVERT_WEIGHT_TO_INT4PACK };
/* _convert_weight_to_int4pack_for_cpu */
#define PLUG_SCHEMA__CONVERT_WEIGHT_TO_INT4PACK_FOR_CPU "aten::_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor"
enum { PLUG_ARG__CONVERT_WEIGHT_TO_INT4PACK_FOR_CPU_SELF, PLUG_ARG__CONVERT_WEIGHT_TO_INT4PACK_FOR_CPU_INNERKTILES, PLUG_ARGS__CONVERT_WEIGHT_TO_INT4PACK_FOR_CPU };
/* _convolution: also _convolution.out; backward convolution_backward */
#define PLUG_SCHEMA__CONVOLUTION "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor"
enum { PLUG_ARG__CONVOLUTION_INPUT, PLUG_ARG__CONVOLUTION_WEIGHT, PLUG_ARG__CONVOLUTION_BIAS, PLUG_ARG__CONVOLUTION_STRIDE, PLUG_ARG__CONVOLUTION_PADDING, PLUG_ARG__CONVOLUTION_DILATION, PLUG_ARG__CONVOLUTION_TRANSPOSED, PLUG_ARG__CONVOLUTION_OUTPUT_PADDING, PLUG_ARG__CONVOLUTION_GROUPS, PLUG_ARG__CONVOLUTION_BENCHMARK, PLUG_ARG__CONVOLUTION_DETERMINISTIC, PLUG_ARG__CONVOLUTION_CUDNN_ENABLED, PLUG_ARG__CONVOLUTION_ALLOW_TF32, PLUG_ARGS__CONVOLUTION };
/* _ctc_loss: also _ctc_loss.out; backward _ctc_loss_backward */
#define PLUG_SCHEMA__CTC_LOSS "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"
enum { PLUG_ARG__CTC_LOSS_LOG_PROBS, PLUG_ARG__CTC_LOSS_TARGETS, PLUG_ARG__CTC_LOSS_INPUT_LENGTHS, PLUG_ARG__CTC_LOSS_TARGET_LENGTHS, PLUG_ARG__CTC_LOSS_BLANK, PLUG_ARG__CTC_LOSS_ZERO_INFINITY, PLUG_ARGS__CTC_LOSS };
/* _ctc_loss.Tensor: also _ctc_loss.Tensor_out; backward _ctc_loss_backward */
#define PLUG_SCHEMA__CTC_LOSS_TENSOR "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"
enum { PLUG_ARG__CTC_LOSS_TENSOR_LOG_PROBS, PLUG_ARG__CTC_LOSS_TENSOR_TARGETS, PLUG_ARG__CTC_LOSS_TENSOR_INPUT_LENGTHS, PLUG_ARG__CTC_LOSS_TENSOR_TARGET_LENGTHS, PLUG_ARG__CTC_LOSS_TENSOR_BLANK, PLUG_ARG__CTC_LOSS_TENSOR_ZERO_INFINITY, PLUG_ARGS__CTC_LOSS_TENSOR };
/* _ctc_loss_backward: also _ctc_loss_backward.out */
#define PLUG_SCHEMA__CTC_LOSS_BACKWARD "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"
enum { PLUG_ARG__CTC_LOSS_BACKWARD_GRAD, PLUG_ARG__CTC_LOSS_BACKWARD_LOG_PROBS, PLUG_ARG__CTC_LOSS_BACKWARD_TARGETS, PLUG_ARG__CTC_LOSS_BACKWARD_INPUT_LENGTHS, PLUG_ARG__CTC_LOSS_BACKWARD_TARGET_LENGTHS, PLUG_ARG__CTC_LOSS_BACKWARD_NEG_LOG_LIKELIHOOD, PLUG_ARG__CTC_LOSS_BACKWARD_LOG_ALPHA, PLUG_ARG__CTC_LOSS_BACKWARD_BLANK, PLUG_ARG__CTC_LOSS_BACKWARD_ZERO_INFINITY, PLUG_ARGS__CTC_LOSS_BACKWARD };
/* _ctc_loss_backward.Tensor */
#define PLUG_SCHEMA__CTC_LOSS_BACKWARD_TENSOR "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"
enum { PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_GRAD, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_LOG_PROBS, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_TARGETS, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_INPUT_LENGTHS, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_TARGET_LENGTHS, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_NEG_LOG_LIKELIHOOD, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_LOG_ALPHA, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_BLANK, PLUG_ARG__CTC_LOSS_BACKWARD_TENSOR_ZERO_INFINITY, PLUG_ARGS__CTC_LOSS_BACKWARD_TENSOR };
/* _cummax_helper */
#define PLUG_SCHEMA__CUMMAX_HELPER "aten::_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()"
enum { PLUG_ARG__CUMMAX_HELPER_SELF, PLUG_ARG__CUMMAX_HELPER_VALUES, PLUG_ARG__CUMMAX_HELPER_INDICES, PLUG_ARG__CUMMAX_HELPER_DIM, PLUG_ARGS__CUMMAX_HELPER };
/* _cummin_helper */
#define PLUG_SCHEMA__CUMMIN_HELPER "aten::_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()"
enum { PLUG_ARG__CUMMIN_HELPER_SELF, PLUG_ARG__CUMMIN_HELPER_VALUES, PLUG_ARG__CUMMIN_HELPER_INDICES, PLUG_ARG__CUMMIN_HELPER_DIM, PLUG_ARGS__CUMMIN_HELPER };
/* _dirichlet_grad: also _dirichlet_grad.out */
#define PLUG_SCHEMA__DIRICHLET_GRAD "aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor"
enum { PLUG_ARG__DIRICHLET_GRAD_X, PLUG_ARG__DIRICHLET_GRAD_ALPHA, PLUG_ARG__DIRICHLET_GRAD_TOTAL, PLUG_ARGS__DIRICHLET_GRAD };
/* _dyn_quant_matmul_4bit */
#define PLUG_SCHEMA__DYN_QUANT_MATMUL_4BIT "aten::_dyn_quant_matmul_4bit(Tensor inp, Tensor packed_weights, int block_size, int in_features, int out_features) -> Tensor"
enum { PLUG_ARG__DYN_QUANT_MATMUL_4BIT_INP, PLUG_ARG__DYN_QUANT_MATMUL_4BIT_PACKED_WEIGHTS, PLUG_ARG__DYN_QUANT_MATMUL_4BIT_BLOCK_SIZE, PLUG_ARG__DYN_QUANT_MATMUL_4BIT_IN_FEATURES, PLUG_ARG__DYN_QUANT_MATMUL_4BIT_OUT_FEATURES, PLUG_ARGS__DYN_QUANT_MATMUL_4BIT };
/* _dyn_quant_pack_4bit_weight */
#define PLUG_SCHEMA__DYN_QUANT_PACK_4BIT_WEIGHT "aten::_dyn_quant_pack_4bit_weight(Tensor weights, Tensor scales_zeros, Tensor? bias, int block_size, int in_features, int out_features) -> Tensor"
enum { PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_WEIGHTS, PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_SCALES_ZEROS, PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_BIAS, PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_BLOCK_SIZE, PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_IN_FEATURES, PLUG_ARG__DYN_QUANT_PACK_4BIT_WEIGHT_OUT_FEATURES, PLUG_ARGS__DYN_QUANT_PACK_4BIT_WEIGHT };
/* _efficient_attention_backward */
#define PLUG_SCHEMA__EFFICIENT_ATTENTION_BACKWARD "aten::_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int? num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_GRAD_OUT_, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_QUERY, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_KEY, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_VALUE, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_BIAS, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_OUT, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_CU_SEQLENS_Q, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_CU_SEQLENS_K, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_MAX_SEQLEN_Q, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_MAX_SEQLEN_K, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_LOGSUMEXP, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_DROPOUT_P, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_PHILOX_SEED, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_PHILOX_OFFSET, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_CUSTOM_MASK_TYPE, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_BIAS_REQUIRES_GRAD, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_SCALE, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_NUM_SPLITS_KEY, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_WINDOW_SIZE, PLUG_ARG__EFFICIENT_ATTENTION_BACKWARD_SHARED_STORAGE_DQDKDV, PLUG_ARGS__EFFICIENT_ATTENTION_BACKWARD };
/* _efficient_attention_forward: backward _efficient_attention_backward */
#define PLUG_SCHEMA__EFFICIENT_ATTENTION_FORWARD "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)"
enum { PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_QUERY, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_KEY, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_VALUE, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_BIAS, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_CU_SEQLENS_Q, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_CU_SEQLENS_K, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_MAX_SEQLEN_Q, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_MAX_SEQLEN_K, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_DROPOUT_P, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_CUSTOM_MASK_TYPE, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_COMPUTE_LOG_SUMEXP, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_SCALE, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_SEQLEN_K, PLUG_ARG__EFFICIENT_ATTENTION_FORWARD_WINDOW_SIZE, PLUG_ARGS__EFFICIENT_ATTENTION_FORWARD };
enum { PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_OUTPUT, PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_LOGSUMEXP, PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_PHILOX_SEED, PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_PHILOX_OFFSET, PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_MAX_SEQLEN_BATCH_Q, PLUG_RESULT__EFFICIENT_ATTENTION_FORWARD_MAX_SEQLEN_BATCH_K, PLUG_RESULTS__EFFICIENT_ATTENTION_FORWARD };
/* _embedding_bag: also _embedding_bag.out; backward _embedding_bag_backward, _embedding_bag_per_sample_weights_backward */
#define PLUG_SCHEMA__EMBEDDING_BAG "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__EMBEDDING_BAG_WEIGHT, PLUG_ARG__EMBEDDING_BAG_INDICES, PLUG_ARG__EMBEDDING_BAG_OFFSETS, PLUG_ARG__EMBEDDING_BAG_SCALE_GRAD_BY_FREQ, PLUG_ARG__EMBEDDING_BAG_MODE, PLUG_ARG__EMBEDDING_BAG_SPARSE, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_INCLUDE_LAST_OFFSET, PLUG_ARG__EMBEDDING_BAG_PADDING_IDX, PLUG_ARGS__EMBEDDING_BAG };
/* _embedding_bag_backward */
#define PLUG_SCHEMA__EMBEDDING_BAG_BACKWARD "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor"
enum { PLUG_ARG__EMBEDDING_BAG_BACKWARD_GRAD, PLUG_ARG__EMBEDDING_BAG_BACKWARD_INDICES, PLUG_ARG__EMBEDDING_BAG_BACKWARD_OFFSETS, PLUG_ARG__EMBEDDING_BAG_BACKWARD_OFFSET2BAG, PLUG_ARG__EMBEDDING_BAG_BACKWARD_BAG_SIZE, PLUG_ARG__EMBEDDING_BAG_BACKWARD_MAXIMUM_INDICES, PLUG_ARG__EMBEDDING_BAG_BACKWARD_NUM_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_BACKWARD_SCALE_GRAD_BY_FREQ, PLUG_ARG__EMBEDDING_BAG_BACKWARD_MODE, PLUG_ARG__EMBEDDING_BAG_BACKWARD_SPARSE, PLUG_ARG__EMBEDDING_BAG_BACKWARD_PER_SAMPLE_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_BACKWARD_PADDING_IDX, PLUG_ARGS__EMBEDDING_BAG_BACKWARD };
/* _embedding_bag_dense_backward: also _embedding_bag_dense_backward.out */
#define PLUG_SCHEMA__EMBEDDING_BAG_DENSE_BACKWARD "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor"
enum { PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_GRAD, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_INDICES, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_OFFSET2BAG, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_BAG_SIZE, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_MAXIMUM_INDICES, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_NUM_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_SCALE_GRAD_BY_FREQ, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_MODE, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_PER_SAMPLE_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_DENSE_BACKWARD_PADDING_IDX, PLUG_ARGS__EMBEDDING_BAG_DENSE_BACKWARD };
/* _embedding_bag_forward_only: also _embedding_bag_forward_only.out */
#define PLUG_SCHEMA__EMBEDDING_BAG_FORWARD_ONLY "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_WEIGHT, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_INDICES, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_OFFSETS, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_SCALE_GRAD_BY_FREQ, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_MODE, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_SPARSE, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_PER_SAMPLE_WEIGHTS, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_INCLUDE_LAST_OFFSET, PLUG_ARG__EMBEDDING_BAG_FORWARD_ONLY_PADDING_IDX, PLUG_ARGS__EMBEDDING_BAG_FORWARD_ONLY };
/* _embedding_bag_per_sample_weights_backward: also _embedding_bag_per_sample_weights_backward.out */
#define PLUG_SCHEMA__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD "aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor"
enum { PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_GRAD, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_WEIGHT, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_INDICES, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_OFFSETS, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_OFFSET2BAG, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_MODE, PLUG_ARG__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD_PADDING_IDX, PLUG_ARGS__EMBEDDING_BAG_PER_SAMPLE_WEIGHTS_BACKWARD };
/* _euclidean_dist: also _euclidean_dist.out */
#define PLUG_SCHEMA__EUCLIDEAN_DIST "aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor"
enum { PLUG_ARG__EUCLIDEAN_DIST_X1, PLUG_ARG__EUCLIDEAN_DIST_X2, PLUG_ARGS__EUCLIDEAN_DIST };
/* _fft_c2c: also _fft_c2c.out */
#define PLUG_SCHEMA__FFT_C2C "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor"
enum { PLUG_ARG__FFT_C2C_SELF, PLUG_ARG__FFT_C2C_DIM, PLUG_ARG__FFT_C2C_NORMALIZATION, PLUG_ARG__FFT_C2C_FORWARD, PLUG_ARGS__FFT_C2C };
/* _fft_c2r: also _fft_c2r.out */
#define PLUG_SCHEMA__FFT_C2R "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"
enum { PLUG_ARG__FFT_C2R_SELF, PLUG_ARG__FFT_C2R_DIM, PLUG_ARG__FFT_C2R_NORMALIZATION, PLUG_ARG__FFT_C2R_LAST_DIM_SIZE, PLUG_ARGS__FFT_C2R };
/* _fft_r2c: also _fft_r2c.out */
#define PLUG_SCHEMA__FFT_R2C "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor"
enum { PLUG_ARG__FFT_R2C_SELF, PLUG_ARG__FFT_R2C_DIM, PLUG_ARG__FFT_R2C_NORMALIZATION, PLUG_ARG__FFT_R2C_ONESIDED, PLUG_ARGS__FFT_R2C };
/* _fill_mem_eff_dropout_mask_ */
#define PLUG_SCHEMA__FILL_MEM_EFF_DROPOUT_MASK_ "aten::_fill_mem_eff_dropout_mask_(Tensor(a!) self, float dropout_p, int seed, int offset) -> Tensor(a!)"
enum { PLUG_ARG__FILL_MEM_EFF_DROPOUT_MASK__SELF, PLUG_ARG__FILL_MEM_EFF_DROPOUT_MASK__DROPOUT_P, PLUG_ARG__FILL_MEM_EFF_DROPOUT_MASK__SEED, PLUG_ARG__FILL_MEM_EFF_DROPOUT_MASK__OFFSET, PLUG_ARGS__FILL_MEM_EFF_DROPOUT_MASK_ };
/* _flash_attention_backward */
#define PLUG_SCHEMA__FLASH_ATTENTION_BACKWARD "aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__FLASH_ATTENTION_BACKWARD_GRAD_OUT, PLUG_ARG__FLASH_ATTENTION_BACKWARD_QUERY, PLUG_ARG__FLASH_ATTENTION_BACKWARD_KEY, PLUG_ARG__FLASH_ATTENTION_BACKWARD_VALUE, PLUG_ARG__FLASH_ATTENTION_BACKWARD_OUT, PLUG_ARG__FLASH_ATTENTION_BACKWARD_LOGSUMEXP, PLUG_ARG__FLASH_ATTENTION_BACKWARD_CUM_SEQ_Q, PLUG_ARG__FLASH_ATTENTION_BACKWARD_CUM_SEQ_K, PLUG_ARG__FLASH_ATTENTION_BACKWARD_MAX_Q, PLUG_ARG__FLASH_ATTENTION_BACKWARD_MAX_K, PLUG_ARG__FLASH_ATTENTION_BACKWARD_DROPOUT_P, PLUG_ARG__FLASH_ATTENTION_BACKWARD_IS_CAUSAL, PLUG_ARG__FLASH_ATTENTION_BACKWARD_RNG_STATE, PLUG_ARG__FLASH_ATTENTION_BACKWARD_UNUSED, PLUG_ARG__FLASH_ATTENTION_BACKWARD_SCALE, PLUG_ARG__FLASH_ATTENTION_BACKWARD_WINDOW_SIZE_LEFT, PLUG_ARG__FLASH_ATTENTION_BACKWARD_WINDOW_SIZE_RIGHT, PLUG_ARGS__FLASH_ATTENTION_BACKWARD };
/* _foreach_abs: also _foreach_abs_, _foreach_abs.out */
#define PLUG_SCHEMA__FOREACH_ABS "aten::_foreach_abs(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ABS_SELF, PLUG_ARGS__FOREACH_ABS };
/* _foreach_abs_ */
#define PLUG_SCHEMA__FOREACH_ABS_ "aten::_foreach_abs_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ABS__SELF, PLUG_ARGS__FOREACH_ABS_ };
/* _foreach_acos: also _foreach_acos_, _foreach_acos.out */
#define PLUG_SCHEMA__FOREACH_ACOS "aten::_foreach_acos(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ACOS_SELF, PLUG_ARGS__FOREACH_ACOS };
/* _foreach_acos_ */
#define PLUG_SCHEMA__FOREACH_ACOS_ "aten::_foreach_acos_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ACOS__SELF, PLUG_ARGS__FOREACH_ACOS_ };
/* _foreach_add.List: also _foreach_add_.List, _foreach_add.List_out */
#define PLUG_SCHEMA__FOREACH_ADD_LIST "aten::_foreach_add.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADD_LIST_SELF, PLUG_ARG__FOREACH_ADD_LIST_OTHER, PLUG_ARG__FOREACH_ADD_LIST_ALPHA, PLUG_ARGS__FOREACH_ADD_LIST };
/* _foreach_add.Scalar: also _foreach_add_.Scalar, _foreach_add.Scalar_out */
#define PLUG_SCHEMA__FOREACH_ADD_SCALAR "aten::_foreach_add.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADD_SCALAR_SELF, PLUG_ARG__FOREACH_ADD_SCALAR_SCALAR, PLUG_ARGS__FOREACH_ADD_SCALAR };
/* _foreach_add.ScalarList: also _foreach_add_.ScalarList, _foreach_add.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_ADD_SCALARLIST "aten::_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADD_SCALARLIST_SELF, PLUG_ARG__FOREACH_ADD_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADD_SCALARLIST };
/* _foreach_add.Tensor: also _foreach_add_.Tensor, _foreach_add.Tensor_out */
#define PLUG_SCHEMA__FOREACH_ADD_TENSOR "aten::_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADD_TENSOR_SELF, PLUG_ARG__FOREACH_ADD_TENSOR_OTHER, PLUG_ARG__FOREACH_ADD_TENSOR_ALPHA, PLUG_ARGS__FOREACH_ADD_TENSOR };
/* _foreach_add_.List */
#define PLUG_SCHEMA__FOREACH_ADD__LIST "aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()"
enum { PLUG_ARG__FOREACH_ADD__LIST_SELF, PLUG_ARG__FOREACH_ADD__LIST_OTHER, PLUG_ARG__FOREACH_ADD__LIST_ALPHA, PLUG_ARGS__FOREACH_ADD__LIST };
/* _foreach_add_.Scalar */
#define PLUG_SCHEMA__FOREACH_ADD__SCALAR "aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_ADD__SCALAR_SELF, PLUG_ARG__FOREACH_ADD__SCALAR_SCALAR, PLUG_ARGS__FOREACH_ADD__SCALAR };
/* _foreach_add_.ScalarList */
#define PLUG_SCHEMA__FOREACH_ADD__SCALARLIST "aten::_foreach_add_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_ADD__SCALARLIST_SELF, PLUG_ARG__FOREACH_ADD__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADD__SCALARLIST };
/* _foreach_add_.Tensor */
#define PLUG_SCHEMA__FOREACH_ADD__TENSOR "aten::_foreach_add_.Tensor(Tensor(a!)[] self, Tensor other, *, Scalar alpha=1) -> ()"
enum { PLUG_ARG__FOREACH_ADD__TENSOR_SELF, PLUG_ARG__FOREACH_ADD__TENSOR_OTHER, PLUG_ARG__FOREACH_ADD__TENSOR_ALPHA, PLUG_ARGS__FOREACH_ADD__TENSOR };
/* _foreach_addcdiv.Scalar: also _foreach_addcdiv_.Scalar, _foreach_addcdiv.Scalar_out */
#define PLUG_SCHEMA__FOREACH_ADDCDIV_SCALAR "aten::_foreach_addcdiv.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCDIV_SCALAR_SELF, PLUG_ARG__FOREACH_ADDCDIV_SCALAR_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV_SCALAR_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV_SCALAR_VALUE, PLUG_ARGS__FOREACH_ADDCDIV_SCALAR };
/* _foreach_addcdiv.ScalarList: also _foreach_addcdiv_.ScalarList, _foreach_addcdiv.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_ADDCDIV_SCALARLIST "aten::_foreach_addcdiv.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCDIV_SCALARLIST_SELF, PLUG_ARG__FOREACH_ADDCDIV_SCALARLIST_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV_SCALARLIST_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADDCDIV_SCALARLIST };
/* _foreach_addcdiv.Tensor: also _foreach_addcdiv_.Tensor, _foreach_addcdiv.Tensor_out */
#define PLUG_SCHEMA__FOREACH_ADDCDIV_TENSOR "aten::_foreach_addcdiv.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCDIV_TENSOR_SELF, PLUG_ARG__FOREACH_ADDCDIV_TENSOR_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV_TENSOR_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV_TENSOR_SCALARS, PLUG_ARGS__FOREACH_ADDCDIV_TENSOR };
/* _foreach_addcdiv_.Scalar */
#define PLUG_SCHEMA__FOREACH_ADDCDIV__SCALAR "aten::_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()"
enum { PLUG_ARG__FOREACH_ADDCDIV__SCALAR_SELF, PLUG_ARG__FOREACH_ADDCDIV__SCALAR_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV__SCALAR_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV__SCALAR_VALUE, PLUG_ARGS__FOREACH_ADDCDIV__SCALAR };
/* _foreach_addcdiv_.ScalarList */
#define PLUG_SCHEMA__FOREACH_ADDCDIV__SCALARLIST "aten::_foreach_addcdiv_.ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_ADDCDIV__SCALARLIST_SELF, PLUG_ARG__FOREACH_ADDCDIV__SCALARLIST_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV__SCALARLIST_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADDCDIV__SCALARLIST };
/* _foreach_addcdiv_.Tensor */
#define PLUG_SCHEMA__FOREACH_ADDCDIV__TENSOR "aten::_foreach_addcdiv_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()"
enum { PLUG_ARG__FOREACH_ADDCDIV__TENSOR_SELF, PLUG_ARG__FOREACH_ADDCDIV__TENSOR_TENSOR1, PLUG_ARG__FOREACH_ADDCDIV__TENSOR_TENSOR2, PLUG_ARG__FOREACH_ADDCDIV__TENSOR_SCALARS, PLUG_ARGS__FOREACH_ADDCDIV__TENSOR };
/* _foreach_addcmul.Scalar: also _foreach_addcmul_.Scalar, _foreach_addcmul.Scalar_out */
#define PLUG_SCHEMA__FOREACH_ADDCMUL_SCALAR "aten::_foreach_addcmul.Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCMUL_SCALAR_SELF, PLUG_ARG__FOREACH_ADDCMUL_SCALAR_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL_SCALAR_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL_SCALAR_VALUE, PLUG_ARGS__FOREACH_ADDCMUL_SCALAR };
/* _foreach_addcmul.ScalarList: also _foreach_addcmul_.ScalarList, _foreach_addcmul.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_ADDCMUL_SCALARLIST "aten::_foreach_addcmul.ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCMUL_SCALARLIST_SELF, PLUG_ARG__FOREACH_ADDCMUL_SCALARLIST_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL_SCALARLIST_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADDCMUL_SCALARLIST };
/* _foreach_addcmul.Tensor: also _foreach_addcmul_.Tensor, _foreach_addcmul.Tensor_out */
#define PLUG_SCHEMA__FOREACH_ADDCMUL_TENSOR "aten::_foreach_addcmul.Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ADDCMUL_TENSOR_SELF, PLUG_ARG__FOREACH_ADDCMUL_TENSOR_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL_TENSOR_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL_TENSOR_SCALARS, PLUG_ARGS__FOREACH_ADDCMUL_TENSOR };
/* _foreach_addcmul_.Scalar */
#define PLUG_SCHEMA__FOREACH_ADDCMUL__SCALAR "aten::_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()"
enum { PLUG_ARG__FOREACH_ADDCMUL__SCALAR_SELF, PLUG_ARG__FOREACH_ADDCMUL__SCALAR_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL__SCALAR_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL__SCALAR_VALUE, PLUG_ARGS__FOREACH_ADDCMUL__SCALAR };
/* _foreach_addcmul_.ScalarList */
#define PLUG_SCHEMA__FOREACH_ADDCMUL__SCALARLIST "aten::_foreach_addcmul_.ScalarList(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_ADDCMUL__SCALARLIST_SELF, PLUG_ARG__FOREACH_ADDCMUL__SCALARLIST_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL__SCALARLIST_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_ADDCMUL__SCALARLIST };
/* _foreach_addcmul_.Tensor */
#define PLUG_SCHEMA__FOREACH_ADDCMUL__TENSOR "aten::_foreach_addcmul_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()"
enum { PLUG_ARG__FOREACH_ADDCMUL__TENSOR_SELF, PLUG_ARG__FOREACH_ADDCMUL__TENSOR_TENSOR1, PLUG_ARG__FOREACH_ADDCMUL__TENSOR_TENSOR2, PLUG_ARG__FOREACH_ADDCMUL__TENSOR_SCALARS, PLUG_ARGS__FOREACH_ADDCMUL__TENSOR };
/* _foreach_asin: also _foreach_asin_, _foreach_asin.out */
#define PLUG_SCHEMA__FOREACH_ASIN "aten::_foreach_asin(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ASIN_SELF, PLUG_ARGS__FOREACH_ASIN };
/* _foreach_asin_ */
#define PLUG_SCHEMA__FOREACH_ASIN_ "aten::_foreach_asin_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ASIN__SELF, PLUG_ARGS__FOREACH_ASIN_ };
/* _foreach_atan: also _foreach_atan_, _foreach_atan.out */
#define PLUG_SCHEMA__FOREACH_ATAN "aten::_foreach_atan(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ATAN_SELF, PLUG_ARGS__FOREACH_ATAN };
/* _foreach_atan_ */
#define PLUG_SCHEMA__FOREACH_ATAN_ "aten::_foreach_atan_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ATAN__SELF, PLUG_ARGS__FOREACH_ATAN_ };
/* _foreach_ceil: also _foreach_ceil_, _foreach_ceil.out */
#define PLUG_SCHEMA__FOREACH_CEIL "aten::_foreach_ceil(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CEIL_SELF, PLUG_ARGS__FOREACH_CEIL };
/* _foreach_ceil_ */
#define PLUG_SCHEMA__FOREACH_CEIL_ "aten::_foreach_ceil_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_CEIL__SELF, PLUG_ARGS__FOREACH_CEIL_ };
/* _foreach_clamp_max.List: also _foreach_clamp_max_.List, _foreach_clamp_max.List_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX_LIST "aten::_foreach_clamp_max.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MAX_LIST_SELF, PLUG_ARG__FOREACH_CLAMP_MAX_LIST_OTHER, PLUG_ARGS__FOREACH_CLAMP_MAX_LIST };
/* _foreach_clamp_max.Scalar: also _foreach_clamp_max_.Scalar, _foreach_clamp_max.Scalar_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX_SCALAR "aten::_foreach_clamp_max.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MAX_SCALAR_SELF, PLUG_ARG__FOREACH_CLAMP_MAX_SCALAR_SCALAR, PLUG_ARGS__FOREACH_CLAMP_MAX_SCALAR };
/* _foreach_clamp_max.ScalarList: also _foreach_clamp_max_.ScalarList, _foreach_clamp_max.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX_SCALARLIST "aten::_foreach_clamp_max.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MAX_SCALARLIST_SELF, PLUG_ARG__FOREACH_CLAMP_MAX_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_CLAMP_MAX_SCALARLIST };
/* _foreach_clamp_max_.List */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX__LIST "aten::_foreach_clamp_max_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MAX__LIST_SELF, PLUG_ARG__FOREACH_CLAMP_MAX__LIST_OTHER, PLUG_ARGS__FOREACH_CLAMP_MAX__LIST };
/* _foreach_clamp_max_.Scalar */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX__SCALAR "aten::_foreach_clamp_max_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MAX__SCALAR_SELF, PLUG_ARG__FOREACH_CLAMP_MAX__SCALAR_SCALAR, PLUG_ARGS__FOREACH_CLAMP_MAX__SCALAR };
/* _foreach_clamp_max_.ScalarList */
#define PLUG_SCHEMA__FOREACH_CLAMP_MAX__SCALARLIST "aten::_foreach_clamp_max_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MAX__SCALARLIST_SELF, PLUG_ARG__FOREACH_CLAMP_MAX__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_CLAMP_MAX__SCALARLIST };
/* _foreach_clamp_min.List: also _foreach_clamp_min_.List, _foreach_clamp_min.List_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN_LIST "aten::_foreach_clamp_min.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MIN_LIST_SELF, PLUG_ARG__FOREACH_CLAMP_MIN_LIST_OTHER, PLUG_ARGS__FOREACH_CLAMP_MIN_LIST };
/* _foreach_clamp_min.Scalar: also _foreach_clamp_min_.Scalar, _foreach_clamp_min.Scalar_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN_SCALAR "aten::_foreach_clamp_min.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MIN_SCALAR_SELF, PLUG_ARG__FOREACH_CLAMP_MIN_SCALAR_SCALAR, PLUG_ARGS__FOREACH_CLAMP_MIN_SCALAR };
/* _foreach_clamp_min.ScalarList: also _foreach_clamp_min_.ScalarList, _foreach_clamp_min.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN_SCALARLIST "aten::_foreach_clamp_min.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLAMP_MIN_SCALARLIST_SELF, PLUG_ARG__FOREACH_CLAMP_MIN_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_CLAMP_MIN_SCALARLIST };
/* _foreach_clamp_min_.List */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN__LIST "aten::_foreach_clamp_min_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MIN__LIST_SELF, PLUG_ARG__FOREACH_CLAMP_MIN__LIST_OTHER, PLUG_ARGS__FOREACH_CLAMP_MIN__LIST };
/* _foreach_clamp_min_.Scalar */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN__SCALAR "aten::_foreach_clamp_min_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MIN__SCALAR_SELF, PLUG_ARG__FOREACH_CLAMP_MIN__SCALAR_SCALAR, PLUG_ARGS__FOREACH_CLAMP_MIN__SCALAR };
/* _foreach_clamp_min_.ScalarList */
#define PLUG_SCHEMA__FOREACH_CLAMP_MIN__SCALARLIST "aten::_foreach_clamp_min_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_CLAMP_MIN__SCALARLIST_SELF, PLUG_ARG__FOREACH_CLAMP_MIN__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_CLAMP_MIN__SCALARLIST };
/* _foreach_copy: also _foreach_copy_, _foreach_copy.out */
#define PLUG_SCHEMA__FOREACH_COPY "aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out"
enum { PLUG_ARG__FOREACH_COPY_SELF, PLUG_ARG__FOREACH_COPY_SRC, PLUG_ARG__FOREACH_COPY_NON_BLOCKING, PLUG_ARGS__FOREACH_COPY };
enum { PLUG_RESULT__FOREACH_COPY_SELF_OUT, PLUG_RESULTS__FOREACH_COPY };
/* _foreach_copy_ */
#define PLUG_SCHEMA__FOREACH_COPY_ "aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()"
enum { PLUG_ARG__FOREACH_COPY__SELF, PLUG_ARG__FOREACH_COPY__SRC, PLUG_ARG__FOREACH_COPY__NON_BLOCKING, PLUG_ARGS__FOREACH_COPY_ };
/* _foreach_cos: also _foreach_cos_, _foreach_cos.out */
#define PLUG_SCHEMA__FOREACH_COS "aten::_foreach_cos(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_COS_SELF, PLUG_ARGS__FOREACH_COS };
/* _foreach_cos_ */
#define PLUG_SCHEMA__FOREACH_COS_ "aten::_foreach_cos_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_COS__SELF, PLUG_ARGS__FOREACH_COS_ };
/* _foreach_cosh: also _foreach_cosh_, _foreach_cosh.out */
#define PLUG_SCHEMA__FOREACH_COSH "aten::_foreach_cosh(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_COSH_SELF, PLUG_ARGS__FOREACH_COSH };
/* _foreach_cosh_ */
#define PLUG_SCHEMA__FOREACH_COSH_ "aten::_foreach_cosh_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_COSH__SELF, PLUG_ARGS__FOREACH_COSH_ };
/* _foreach_div.List: also _foreach_div_.List, _foreach_div.List_out */
#define PLUG_SCHEMA__FOREACH_DIV_LIST "aten::_foreach_div.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_DIV_LIST_SELF, PLUG_ARG__FOREACH_DIV_LIST_OTHER, PLUG_ARGS__FOREACH_DIV_LIST };
/* _foreach_div.Scalar: also _foreach_div_.Scalar, _foreach_div.Scalar_out */
#define PLUG_SCHEMA__FOREACH_DIV_SCALAR "aten::_foreach_div.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_DIV_SCALAR_SELF, PLUG_ARG__FOREACH_DIV_SCALAR_SCALAR, PLUG_ARGS__FOREACH_DIV_SCALAR };
/* _foreach_div.ScalarList: also _foreach_div_.ScalarList, _foreach_div.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_DIV_SCALARLIST "aten::_foreach_div.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_DIV_SCALARLIST_SELF, PLUG_ARG__FOREACH_DIV_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_DIV_SCALARLIST };
/* _foreach_div.Tensor: also _foreach_div_.Tensor, _foreach_div.Tensor_out */
#define PLUG_SCHEMA__FOREACH_DIV_TENSOR "aten::_foreach_div.Tensor(Tensor[] self, Tensor other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_DIV_TENSOR_SELF, PLUG_ARG__FOREACH_DIV_TENSOR_OTHER, PLUG_ARGS__FOREACH_DIV_TENSOR };
/* _foreach_div_.List */
#define PLUG_SCHEMA__FOREACH_DIV__LIST "aten::_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_DIV__LIST_SELF, PLUG_ARG__FOREACH_DIV__LIST_OTHER, PLUG_ARGS__FOREACH_DIV__LIST };
/* _foreach_div_.Scalar */
#define PLUG_SCHEMA__FOREACH_DIV__SCALAR "aten::_foreach_div_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_DIV__SCALAR_SELF, PLUG_ARG__FOREACH_DIV__SCALAR_SCALAR, PLUG_ARGS__FOREACH_DIV__SCALAR };
/* _foreach_div_.ScalarList */
#define PLUG_SCHEMA__FOREACH_DIV__SCALARLIST "aten::_foreach_div_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_DIV__SCALARLIST_SELF, PLUG_ARG__FOREACH_DIV__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_DIV__SCALARLIST };
/* _foreach_div_.Tensor */
#define PLUG_SCHEMA__FOREACH_DIV__TENSOR "aten::_foreach_div_.Tensor(Tensor(a!)[] self, Tensor other) -> ()"
enum { PLUG_ARG__FOREACH_DIV__TENSOR_SELF, PLUG_ARG__FOREACH_DIV__TENSOR_OTHER, PLUG_ARGS__FOREACH_DIV__TENSOR };
/* _foreach_erf: also _foreach_erf_, _foreach_erf.out */
#define PLUG_SCHEMA__FOREACH_ERF "aten::_foreach_erf(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ERF_SELF, PLUG_ARGS__FOREACH_ERF };
/* _foreach_erf_ */
#define PLUG_SCHEMA__FOREACH_ERF_ "aten::_foreach_erf_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ERF__SELF, PLUG_ARGS__FOREACH_ERF_ };
/* _foreach_erfc: also _foreach_erfc_, _foreach_erfc.out */
#define PLUG_SCHEMA__FOREACH_ERFC "aten::_foreach_erfc(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ERFC_SELF, PLUG_ARGS__FOREACH_ERFC };
/* _foreach_erfc_ */
#define PLUG_SCHEMA__FOREACH_ERFC_ "aten::_foreach_erfc_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ERFC__SELF, PLUG_ARGS__FOREACH_ERFC_ };
/* _foreach_exp: also _foreach_exp_, _foreach_exp.out */
#define PLUG_SCHEMA__FOREACH_EXP "aten::_foreach_exp(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_EXP_SELF, PLUG_ARGS__FOREACH_EXP };
/* _foreach_exp_ */
#define PLUG_SCHEMA__FOREACH_EXP_ "aten::_foreach_exp_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_EXP__SELF, PLUG_ARGS__FOREACH_EXP_ };
/* _foreach_expm1: also _foreach_expm1_, _foreach_expm1.out */
#define PLUG_SCHEMA__FOREACH_EXPM1 "aten::_foreach_expm1(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_EXPM1_SELF, PLUG_ARGS__FOREACH_EXPM1 };
/* _foreach_expm1_ */
#define PLUG_SCHEMA__FOREACH_EXPM1_ "aten::_foreach_expm1_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_EXPM1__SELF, PLUG_ARGS__FOREACH_EXPM1_ };
/* _foreach_floor: also _foreach_floor_, _foreach_floor.out */
#define PLUG_SCHEMA__FOREACH_FLOOR "aten::_foreach_floor(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_FLOOR_SELF, PLUG_ARGS__FOREACH_FLOOR };
/* _foreach_floor_ */
#define PLUG_SCHEMA__FOREACH_FLOOR_ "aten::_foreach_floor_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_FLOOR__SELF, PLUG_ARGS__FOREACH_FLOOR_ };
/* _foreach_frac: also _foreach_frac_, _foreach_frac.out */
#define PLUG_SCHEMA__FOREACH_FRAC "aten::_foreach_frac(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_FRAC_SELF, PLUG_ARGS__FOREACH_FRAC };
/* _foreach_frac_ */
#define PLUG_SCHEMA__FOREACH_FRAC_ "aten::_foreach_frac_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_FRAC__SELF, PLUG_ARGS__FOREACH_FRAC_ };
/* _foreach_lerp.List: also _foreach_lerp_.List, _foreach_lerp.List_out */
#define PLUG_SCHEMA__FOREACH_LERP_LIST "aten::_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LERP_LIST_SELF, PLUG_ARG__FOREACH_LERP_LIST_TENSORS1, PLUG_ARG__FOREACH_LERP_LIST_WEIGHTS, PLUG_ARGS__FOREACH_LERP_LIST };
/* _foreach_lerp.Scalar: also _foreach_lerp_.Scalar, _foreach_lerp.Scalar_out */
#define PLUG_SCHEMA__FOREACH_LERP_SCALAR "aten::_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LERP_SCALAR_SELF, PLUG_ARG__FOREACH_LERP_SCALAR_TENSORS1, PLUG_ARG__FOREACH_LERP_SCALAR_WEIGHT, PLUG_ARGS__FOREACH_LERP_SCALAR };
/* _foreach_lerp.ScalarList: also _foreach_lerp_.ScalarList, _foreach_lerp.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_LERP_SCALARLIST "aten::_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LERP_SCALARLIST_SELF, PLUG_ARG__FOREACH_LERP_SCALARLIST_TENSORS1, PLUG_ARG__FOREACH_LERP_SCALARLIST_WEIGHT, PLUG_ARGS__FOREACH_LERP_SCALARLIST };
/* _foreach_lerp_.List */
#define PLUG_SCHEMA__FOREACH_LERP__LIST "aten::_foreach_lerp_.List(Tensor(a!)[] self, Tensor[] tensors1, Tensor[] weights) -> ()"
enum { PLUG_ARG__FOREACH_LERP__LIST_SELF, PLUG_ARG__FOREACH_LERP__LIST_TENSORS1, PLUG_ARG__FOREACH_LERP__LIST_WEIGHTS, PLUG_ARGS__FOREACH_LERP__LIST };
/* _foreach_lerp_.Scalar */
#define PLUG_SCHEMA__FOREACH_LERP__SCALAR "aten::_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()"
enum { PLUG_ARG__FOREACH_LERP__SCALAR_SELF, PLUG_ARG__FOREACH_LERP__SCALAR_TENSORS1, PLUG_ARG__FOREACH_LERP__SCALAR_WEIGHT, PLUG_ARGS__FOREACH_LERP__SCALAR };
/* _foreach_lerp_.ScalarList */
#define PLUG_SCHEMA__FOREACH_LERP__SCALARLIST "aten::_foreach_lerp_.ScalarList(Tensor(a!)[] self, Tensor[] tensors1, Scalar[] weight) -> ()"
enum { PLUG_ARG__FOREACH_LERP__SCALARLIST_SELF, PLUG_ARG__FOREACH_LERP__SCALARLIST_TENSORS1, PLUG_ARG__FOREACH_LERP__SCALARLIST_WEIGHT, PLUG_ARGS__FOREACH_LERP__SCALARLIST };
/* _foreach_lgamma: also _foreach_lgamma_, _foreach_lgamma.out */
#define PLUG_SCHEMA__FOREACH_LGAMMA "aten::_foreach_lgamma(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LGAMMA_SELF, PLUG_ARGS__FOREACH_LGAMMA };
/* _foreach_lgamma_ */
#define PLUG_SCHEMA__FOREACH_LGAMMA_ "aten::_foreach_lgamma_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_LGAMMA__SELF, PLUG_ARGS__FOREACH_LGAMMA_ };
/* _foreach_log: also _foreach_log_, _foreach_log.out */
#define PLUG_SCHEMA__FOREACH_LOG "aten::_foreach_log(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LOG_SELF, PLUG_ARGS__FOREACH_LOG };
/* _foreach_log10: also _foreach_log10_, _foreach_log10.out */
#define PLUG_SCHEMA__FOREACH_LOG10 "aten::_foreach_log10(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LOG10_SELF, PLUG_ARGS__FOREACH_LOG10 };
/* _foreach_log10_ */
#define PLUG_SCHEMA__FOREACH_LOG10_ "aten::_foreach_log10_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_LOG10__SELF, PLUG_ARGS__FOREACH_LOG10_ };
/* _foreach_log1p: also _foreach_log1p_, _foreach_log1p.out */
#define PLUG_SCHEMA__FOREACH_LOG1P "aten::_foreach_log1p(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LOG1P_SELF, PLUG_ARGS__FOREACH_LOG1P };
/* _foreach_log1p_ */
#define PLUG_SCHEMA__FOREACH_LOG1P_ "aten::_foreach_log1p_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_LOG1P__SELF, PLUG_ARGS__FOREACH_LOG1P_ };
/* _foreach_log2: also _foreach_log2_, _foreach_log2.out */
#define PLUG_SCHEMA__FOREACH_LOG2 "aten::_foreach_log2(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_LOG2_SELF, PLUG_ARGS__FOREACH_LOG2 };
/* _foreach_log2_ */
#define PLUG_SCHEMA__FOREACH_LOG2_ "aten::_foreach_log2_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_LOG2__SELF, PLUG_ARGS__FOREACH_LOG2_ };
/* _foreach_log_ */
#define PLUG_SCHEMA__FOREACH_LOG_ "aten::_foreach_log_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_LOG__SELF, PLUG_ARGS__FOREACH_LOG_ };
/* _foreach_max: also _foreach_max.out */
#define PLUG_SCHEMA__FOREACH_MAX "aten::_foreach_max(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MAX_SELF, PLUG_ARGS__FOREACH_MAX };
/* _foreach_maximum.List: also _foreach_maximum_.List, _foreach_maximum.List_out */
#define PLUG_SCHEMA__FOREACH_MAXIMUM_LIST "aten::_foreach_maximum.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MAXIMUM_LIST_SELF, PLUG_ARG__FOREACH_MAXIMUM_LIST_OTHER, PLUG_ARGS__FOREACH_MAXIMUM_LIST };
/* _foreach_maximum.Scalar: also _foreach_maximum_.Scalar, _foreach_maximum.Scalar_out */
#define PLUG_SCHEMA__FOREACH_MAXIMUM_SCALAR "aten::_foreach_maximum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MAXIMUM_SCALAR_SELF, PLUG_ARG__FOREACH_MAXIMUM_SCALAR_SCALAR, PLUG_ARGS__FOREACH_MAXIMUM_SCALAR };
/* _foreach_maximum.ScalarList: also _foreach_maximum_.ScalarList, _foreach_maximum.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_MAXIMUM_SCALARLIST "aten::_foreach_maximum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MAXIMUM_SCALARLIST_SELF, PLUG_ARG__FOREACH_MAXIMUM_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MAXIMUM_SCALARLIST };
/* _foreach_maximum_.List */
#define PLUG_SCHEMA__FOREACH_MAXIMUM__LIST "aten::_foreach_maximum_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_MAXIMUM__LIST_SELF, PLUG_ARG__FOREACH_MAXIMUM__LIST_OTHER, PLUG_ARGS__FOREACH_MAXIMUM__LIST };
/* _foreach_maximum_.Scalar */
#define PLUG_SCHEMA__FOREACH_MAXIMUM__SCALAR "aten::_foreach_maximum_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_MAXIMUM__SCALAR_SELF, PLUG_ARG__FOREACH_MAXIMUM__SCALAR_SCALAR, PLUG_ARGS__FOREACH_MAXIMUM__SCALAR };
/* _foreach_maximum_.ScalarList */
#define PLUG_SCHEMA__FOREACH_MAXIMUM__SCALARLIST "aten::_foreach_maximum_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_MAXIMUM__SCALARLIST_SELF, PLUG_ARG__FOREACH_MAXIMUM__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MAXIMUM__SCALARLIST };
/* _foreach_minimum.List: also _foreach_minimum_.List, _foreach_minimum.List_out */
#define PLUG_SCHEMA__FOREACH_MINIMUM_LIST "aten::_foreach_minimum.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MINIMUM_LIST_SELF, PLUG_ARG__FOREACH_MINIMUM_LIST_OTHER, PLUG_ARGS__FOREACH_MINIMUM_LIST };
/* _foreach_minimum.Scalar: also _foreach_minimum_.Scalar, _foreach_minimum.Scalar_out */
#define PLUG_SCHEMA__FOREACH_MINIMUM_SCALAR "aten::_foreach_minimum.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MINIMUM_SCALAR_SELF, PLUG_ARG__FOREACH_MINIMUM_SCALAR_SCALAR, PLUG_ARGS__FOREACH_MINIMUM_SCALAR };
/* _foreach_minimum.ScalarList: also _foreach_minimum_.ScalarList, _foreach_minimum.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_MINIMUM_SCALARLIST "aten::_foreach_minimum.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MINIMUM_SCALARLIST_SELF, PLUG_ARG__FOREACH_MINIMUM_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MINIMUM_SCALARLIST };
/* _foreach_minimum_.List */
#define PLUG_SCHEMA__FOREACH_MINIMUM__LIST "aten::_foreach_minimum_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_MINIMUM__LIST_SELF, PLUG_ARG__FOREACH_MINIMUM__LIST_OTHER, PLUG_ARGS__FOREACH_MINIMUM__LIST };
/* _foreach_minimum_.Scalar */
#define PLUG_SCHEMA__FOREACH_MINIMUM__SCALAR "aten::_foreach_minimum_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_MINIMUM__SCALAR_SELF, PLUG_ARG__FOREACH_MINIMUM__SCALAR_SCALAR, PLUG_ARGS__FOREACH_MINIMUM__SCALAR };
/* _foreach_minimum_.ScalarList */
#define PLUG_SCHEMA__FOREACH_MINIMUM__SCALARLIST "aten::_foreach_minimum_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_MINIMUM__SCALARLIST_SELF, PLUG_ARG__FOREACH_MINIMUM__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MINIMUM__SCALARLIST };
/* _foreach_mul.List: also _foreach_mul_.List, _foreach_mul.List_out */
#define PLUG_SCHEMA__FOREACH_MUL_LIST "aten::_foreach_mul.List(Tensor[] self, Tensor[] other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MUL_LIST_SELF, PLUG_ARG__FOREACH_MUL_LIST_OTHER, PLUG_ARGS__FOREACH_MUL_LIST };
/* _foreach_mul.Scalar: also _foreach_mul_.Scalar, _foreach_mul.Scalar_out */
#define PLUG_SCHEMA__FOREACH_MUL_SCALAR "aten::_foreach_mul.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MUL_SCALAR_SELF, PLUG_ARG__FOREACH_MUL_SCALAR_SCALAR, PLUG_ARGS__FOREACH_MUL_SCALAR };
/* _foreach_mul.ScalarList: also _foreach_mul_.ScalarList, _foreach_mul.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_MUL_SCALARLIST "aten::_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MUL_SCALARLIST_SELF, PLUG_ARG__FOREACH_MUL_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MUL_SCALARLIST };
/* _foreach_mul.Tensor: also _foreach_mul_.Tensor, _foreach_mul.Tensor_out */
#define PLUG_SCHEMA__FOREACH_MUL_TENSOR "aten::_foreach_mul.Tensor(Tensor[] self, Tensor other) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MUL_TENSOR_SELF, PLUG_ARG__FOREACH_MUL_TENSOR_OTHER, PLUG_ARGS__FOREACH_MUL_TENSOR };
/* _foreach_mul_.List */
#define PLUG_SCHEMA__FOREACH_MUL__LIST "aten::_foreach_mul_.List(Tensor(a!)[] self, Tensor[] other) -> ()"
enum { PLUG_ARG__FOREACH_MUL__LIST_SELF, PLUG_ARG__FOREACH_MUL__LIST_OTHER, PLUG_ARGS__FOREACH_MUL__LIST };
/* _foreach_mul_.Scalar */
#define PLUG_SCHEMA__FOREACH_MUL__SCALAR "aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_MUL__SCALAR_SELF, PLUG_ARG__FOREACH_MUL__SCALAR_SCALAR, PLUG_ARGS__FOREACH_MUL__SCALAR };
/* _foreach_mul_.ScalarList */
#define PLUG_SCHEMA__FOREACH_MUL__SCALARLIST "aten::_foreach_mul_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_MUL__SCALARLIST_SELF, PLUG_ARG__FOREACH_MUL__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_MUL__SCALARLIST };
/* _foreach_mul_.Tensor */
#define PLUG_SCHEMA__FOREACH_MUL__TENSOR "aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()"
enum { PLUG_ARG__FOREACH_MUL__TENSOR_SELF, PLUG_ARG__FOREACH_MUL__TENSOR_OTHER, PLUG_ARGS__FOREACH_MUL__TENSOR };
/* _foreach_neg: also _foreach_neg_, _foreach_neg.out */
#define PLUG_SCHEMA__FOREACH_NEG "aten::_foreach_neg(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_NEG_SELF, PLUG_ARGS__FOREACH_NEG };
/* _foreach_neg_ */
#define PLUG_SCHEMA__FOREACH_NEG_ "aten::_foreach_neg_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_NEG__SELF, PLUG_ARGS__FOREACH_NEG_ };
/* _foreach_norm.Scalar: also _foreach_norm.Scalar_out */
#define PLUG_SCHEMA__FOREACH_NORM_SCALAR "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]"
enum { PLUG_ARG__FOREACH_NORM_SCALAR_SELF, PLUG_ARG__FOREACH_NORM_SCALAR_ORD, PLUG_ARG__FOREACH_NORM_SCALAR_DTYPE, PLUG_ARGS__FOREACH_NORM_SCALAR };
/* _foreach_pow.List: also _foreach_pow_.List, _foreach_pow.List_out */
#define PLUG_SCHEMA__FOREACH_POW_LIST "aten::_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]"
enum { PLUG_ARG__FOREACH_POW_LIST_SELF, PLUG_ARG__FOREACH_POW_LIST_EXPONENT, PLUG_ARGS__FOREACH_POW_LIST };
/* _foreach_pow.Scalar: also _foreach_pow_.Scalar, _foreach_pow.Scalar_out */
#define PLUG_SCHEMA__FOREACH_POW_SCALAR "aten::_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]"
enum { PLUG_ARG__FOREACH_POW_SCALAR_SELF, PLUG_ARG__FOREACH_POW_SCALAR_EXPONENT, PLUG_ARGS__FOREACH_POW_SCALAR };
/* _foreach_pow.ScalarAndTensor */
#define PLUG_SCHEMA__FOREACH_POW_SCALARANDTENSOR "aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]"
enum { PLUG_ARG__FOREACH_POW_SCALARANDTENSOR_SELF, PLUG_ARG__FOREACH_POW_SCALARANDTENSOR_EXPONENT, PLUG_ARGS__FOREACH_POW_SCALARANDTENSOR };
/* _foreach_pow.ScalarList: also _foreach_pow_.ScalarList, _foreach_pow.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_POW_SCALARLIST "aten::_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]"
enum { PLUG_ARG__FOREACH_POW_SCALARLIST_SELF, PLUG_ARG__FOREACH_POW_SCALARLIST_EXPONENT, PLUG_ARGS__FOREACH_POW_SCALARLIST };
/* _foreach_pow_.List */
#define PLUG_SCHEMA__FOREACH_POW__LIST "aten::_foreach_pow_.List(Tensor(a!)[] self, Tensor[] exponent) -> ()"
enum { PLUG_ARG__FOREACH_POW__LIST_SELF, PLUG_ARG__FOREACH_POW__LIST_EXPONENT, PLUG_ARGS__FOREACH_POW__LIST };
/* _foreach_pow_.Scalar */
#define PLUG_SCHEMA__FOREACH_POW__SCALAR "aten::_foreach_pow_.Scalar(Tensor(a!)[] self, Scalar exponent) -> ()"
enum { PLUG_ARG__FOREACH_POW__SCALAR_SELF, PLUG_ARG__FOREACH_POW__SCALAR_EXPONENT, PLUG_ARGS__FOREACH_POW__SCALAR };
/* _foreach_pow_.ScalarList */
#define PLUG_SCHEMA__FOREACH_POW__SCALARLIST "aten::_foreach_pow_.ScalarList(Tensor(a!)[] self, Scalar[] exponent) -> ()"
enum { PLUG_ARG__FOREACH_POW__SCALARLIST_SELF, PLUG_ARG__FOREACH_POW__SCALARLIST_EXPONENT, PLUG_ARGS__FOREACH_POW__SCALARLIST };
/* _foreach_powsum.Scalar: also _foreach_powsum.Scalar_out */
#define PLUG_SCHEMA__FOREACH_POWSUM_SCALAR "aten::_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]"
enum { PLUG_ARG__FOREACH_POWSUM_SCALAR_SELF, PLUG_ARG__FOREACH_POWSUM_SCALAR_ORD, PLUG_ARG__FOREACH_POWSUM_SCALAR_DTYPE, PLUG_ARGS__FOREACH_POWSUM_SCALAR };
/* _foreach_reciprocal: also _foreach_reciprocal_, _foreach_reciprocal.out */
#define PLUG_SCHEMA__FOREACH_RECIPROCAL "aten::_foreach_reciprocal(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_RECIPROCAL_SELF, PLUG_ARGS__FOREACH_RECIPROCAL };
/* _foreach_reciprocal_ */
#define PLUG_SCHEMA__FOREACH_RECIPROCAL_ "aten::_foreach_reciprocal_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_RECIPROCAL__SELF, PLUG_ARGS__FOREACH_RECIPROCAL_ };
/* _foreach_round: also _foreach_round_, _foreach_round.out */
#define PLUG_SCHEMA__FOREACH_ROUND "aten::_foreach_round(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_ROUND_SELF, PLUG_ARGS__FOREACH_ROUND };
/* _foreach_round_ */
#define PLUG_SCHEMA__FOREACH_ROUND_ "aten::_foreach_round_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ROUND__SELF, PLUG_ARGS__FOREACH_ROUND_ };
/* _foreach_rsqrt: also _foreach_rsqrt_, _foreach_rsqrt.out */
#define PLUG_SCHEMA__FOREACH_RSQRT "aten::_foreach_rsqrt(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_RSQRT_SELF, PLUG_ARGS__FOREACH_RSQRT };
/* _foreach_rsqrt_ */
#define PLUG_SCHEMA__FOREACH_RSQRT_ "aten::_foreach_rsqrt_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_RSQRT__SELF, PLUG_ARGS__FOREACH_RSQRT_ };
/* _foreach_sigmoid: also _foreach_sigmoid_, _foreach_sigmoid.out */
#define PLUG_SCHEMA__FOREACH_SIGMOID "aten::_foreach_sigmoid(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SIGMOID_SELF, PLUG_ARGS__FOREACH_SIGMOID };
/* _foreach_sigmoid_ */
#define PLUG_SCHEMA__FOREACH_SIGMOID_ "aten::_foreach_sigmoid_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_SIGMOID__SELF, PLUG_ARGS__FOREACH_SIGMOID_ };
/* _foreach_sign: also _foreach_sign_, _foreach_sign.out */
#define PLUG_SCHEMA__FOREACH_SIGN "aten::_foreach_sign(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SIGN_SELF, PLUG_ARGS__FOREACH_SIGN };
/* _foreach_sign_ */
#define PLUG_SCHEMA__FOREACH_SIGN_ "aten::_foreach_sign_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_SIGN__SELF, PLUG_ARGS__FOREACH_SIGN_ };
/* _foreach_sin: also _foreach_sin_, _foreach_sin.out */
#define PLUG_SCHEMA__FOREACH_SIN "aten::_foreach_sin(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SIN_SELF, PLUG_ARGS__FOREACH_SIN };
/* _foreach_sin_ */
#define PLUG_SCHEMA__FOREACH_SIN_ "aten::_foreach_sin_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_SIN__SELF, PLUG_ARGS__FOREACH_SIN_ };
/* _foreach_sinh: also _foreach_sinh_, _foreach_sinh.out */
#define PLUG_SCHEMA__FOREACH_SINH "aten::_foreach_sinh(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SINH_SELF, PLUG_ARGS__FOREACH_SINH };
/* _foreach_sinh_ */
#define PLUG_SCHEMA__FOREACH_SINH_ "aten::_foreach_sinh_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_SINH__SELF, PLUG_ARGS__FOREACH_SINH_ };
/* _foreach_sqrt: also _foreach_sqrt_, _foreach_sqrt.out */
#define PLUG_SCHEMA__FOREACH_SQRT "aten::_foreach_sqrt(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SQRT_SELF, PLUG_ARGS__FOREACH_SQRT };
/* _foreach_sqrt_ */
#define PLUG_SCHEMA__FOREACH_SQRT_ "aten::_foreach_sqrt_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_SQRT__SELF, PLUG_ARGS__FOREACH_SQRT_ };
/* _foreach_sub.List: also _foreach_sub_.List, _foreach_sub.List_out */
#define PLUG_SCHEMA__FOREACH_SUB_LIST "aten::_foreach_sub.List(Tensor[] self, Tensor[] other, *, Scalar alpha=1) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SUB_LIST_SELF, PLUG_ARG__FOREACH_SUB_LIST_OTHER, PLUG_ARG__FOREACH_SUB_LIST_ALPHA, PLUG_ARGS__FOREACH_SUB_LIST };
/* _foreach_sub.Scalar: also _foreach_sub_.Scalar, _foreach_sub.Scalar_out */
#define PLUG_SCHEMA__FOREACH_SUB_SCALAR "aten::_foreach_sub.Scalar(Tensor[] self, Scalar scalar) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SUB_SCALAR_SELF, PLUG_ARG__FOREACH_SUB_SCALAR_SCALAR, PLUG_ARGS__FOREACH_SUB_SCALAR };
/* _foreach_sub.ScalarList: also _foreach_sub_.ScalarList, _foreach_sub.ScalarList_out */
#define PLUG_SCHEMA__FOREACH_SUB_SCALARLIST "aten::_foreach_sub.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]"
enum { PLUG_ARG__FOREACH_SUB_SCALARLIST_SELF, PLUG_ARG__FOREACH_SUB_SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_SUB_SCALARLIST };
/* _foreach_sub_.List */
#define PLUG_SCHEMA__FOREACH_SUB__LIST "aten::_foreach_sub_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()"
enum { PLUG_ARG__FOREACH_SUB__LIST_SELF, PLUG_ARG__FOREACH_SUB__LIST_OTHER, PLUG_ARG__FOREACH_SUB__LIST_ALPHA, PLUG_ARGS__FOREACH_SUB__LIST };
/* _foreach_sub_.Scalar */
#define PLUG_SCHEMA__FOREACH_SUB__SCALAR "aten::_foreach_sub_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()"
enum { PLUG_ARG__FOREACH_SUB__SCALAR_SELF, PLUG_ARG__FOREACH_SUB__SCALAR_SCALAR, PLUG_ARGS__FOREACH_SUB__SCALAR };
/* _foreach_sub_.ScalarList */
#define PLUG_SCHEMA__FOREACH_SUB__SCALARLIST "aten::_foreach_sub_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()"
enum { PLUG_ARG__FOREACH_SUB__SCALARLIST_SELF, PLUG_ARG__FOREACH_SUB__SCALARLIST_SCALARS, PLUG_ARGS__FOREACH_SUB__SCALARLIST };
/* _foreach_tan: also _foreach_tan_, _foreach_tan.out */
#define PLUG_SCHEMA__FOREACH_TAN "aten::_foreach_tan(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_TAN_SELF, PLUG_ARGS__FOREACH_TAN };
/* _foreach_tan_ */
#define PLUG_SCHEMA__FOREACH_TAN_ "aten::_foreach_tan_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_TAN__SELF, PLUG_ARGS__FOREACH_TAN_ };
/* _foreach_tanh: also _foreach_tanh_, _foreach_tanh.out */
#define PLUG_SCHEMA__FOREACH_TANH "aten::_foreach_tanh(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_TANH_SELF, PLUG_ARGS__FOREACH_TANH };
/* _foreach_tanh_ */
#define PLUG_SCHEMA__FOREACH_TANH_ "aten::_foreach_tanh_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_TANH__SELF, PLUG_ARGS__FOREACH_TANH_ };
/* _foreach_trunc: also _foreach_trunc_, _foreach_trunc.out */
#define PLUG_SCHEMA__FOREACH_TRUNC "aten::_foreach_trunc(Tensor[] self) -> Tensor[]"
enum { PLUG_ARG__FOREACH_TRUNC_SELF, PLUG_ARGS__FOREACH_TRUNC };
/* _foreach_trunc_ */
#define PLUG_SCHEMA__FOREACH_TRUNC_ "aten::_foreach_trunc_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_TRUNC__SELF, PLUG_ARGS__FOREACH_TRUNC_ };
/* _foreach_zero_ */
#define PLUG_SCHEMA__FOREACH_ZERO_ "aten::_foreach_zero_(Tensor(a!)[] self) -> ()"
enum { PLUG_ARG__FOREACH_ZERO__SELF, PLUG_ARGS__FOREACH_ZERO_ };
/* _fused_adagrad_ */
#define PLUG_SCHEMA__FUSED_ADAGRAD_ "aten::_fused_adagrad_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor(d!)[] state_steps, *, float lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAGRAD__SELF, PLUG_ARG__FUSED_ADAGRAD__GRADS, PLUG_ARG__FUSED_ADAGRAD__STATE_SUMS, PLUG_ARG__FUSED_ADAGRAD__STATE_STEPS, PLUG_ARG__FUSED_ADAGRAD__LR, PLUG_ARG__FUSED_ADAGRAD__LR_DECAY, PLUG_ARG__FUSED_ADAGRAD__WEIGHT_DECAY, PLUG_ARG__FUSED_ADAGRAD__EPS, PLUG_ARG__FUSED_ADAGRAD__MAXIMIZE, PLUG_ARG__FUSED_ADAGRAD__GRAD_SCALE, PLUG_ARG__FUSED_ADAGRAD__FOUND_INF, PLUG_ARGS__FUSED_ADAGRAD_ };
/* _fused_adagrad_.tensor_lr */
#define PLUG_SCHEMA__FUSED_ADAGRAD__TENSOR_LR "aten::_fused_adagrad_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, Tensor[] state_steps, *, Tensor lr, float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_SELF, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_GRADS, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_STATE_SUMS, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_STATE_STEPS, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_LR, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_LR_DECAY, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_WEIGHT_DECAY, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_EPS, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_MAXIMIZE, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_GRAD_SCALE, PLUG_ARG__FUSED_ADAGRAD__TENSOR_LR_FOUND_INF, PLUG_ARGS__FUSED_ADAGRAD__TENSOR_LR };
/* _fused_adam_ */
#define PLUG_SCHEMA__FUSED_ADAM_ "aten::_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAM__SELF, PLUG_ARG__FUSED_ADAM__GRADS, PLUG_ARG__FUSED_ADAM__EXP_AVGS, PLUG_ARG__FUSED_ADAM__EXP_AVG_SQS, PLUG_ARG__FUSED_ADAM__MAX_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAM__STATE_STEPS, PLUG_ARG__FUSED_ADAM__LR, PLUG_ARG__FUSED_ADAM__BETA1, PLUG_ARG__FUSED_ADAM__BETA2, PLUG_ARG__FUSED_ADAM__WEIGHT_DECAY, PLUG_ARG__FUSED_ADAM__EPS, PLUG_ARG__FUSED_ADAM__AMSGRAD, PLUG_ARG__FUSED_ADAM__MAXIMIZE, PLUG_ARG__FUSED_ADAM__GRAD_SCALE, PLUG_ARG__FUSED_ADAM__FOUND_INF, PLUG_ARGS__FUSED_ADAM_ };
/* _fused_adam_.tensor_lr */
#define PLUG_SCHEMA__FUSED_ADAM__TENSOR_LR "aten::_fused_adam_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAM__TENSOR_LR_SELF, PLUG_ARG__FUSED_ADAM__TENSOR_LR_GRADS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_EXP_AVGS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_MAX_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_STATE_STEPS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_LR, PLUG_ARG__FUSED_ADAM__TENSOR_LR_BETA1, PLUG_ARG__FUSED_ADAM__TENSOR_LR_BETA2, PLUG_ARG__FUSED_ADAM__TENSOR_LR_WEIGHT_DECAY, PLUG_ARG__FUSED_ADAM__TENSOR_LR_EPS, PLUG_ARG__FUSED_ADAM__TENSOR_LR_AMSGRAD, PLUG_ARG__FUSED_ADAM__TENSOR_LR_MAXIMIZE, PLUG_ARG__FUSED_ADAM__TENSOR_LR_GRAD_SCALE, PLUG_ARG__FUSED_ADAM__TENSOR_LR_FOUND_INF, PLUG_ARGS__FUSED_ADAM__TENSOR_LR };
/* _fused_adamw_ */
#define PLUG_SCHEMA__FUSED_ADAMW_ "aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAMW__SELF, PLUG_ARG__FUSED_ADAMW__GRADS, PLUG_ARG__FUSED_ADAMW__EXP_AVGS, PLUG_ARG__FUSED_ADAMW__EXP_AVG_SQS, PLUG_ARG__FUSED_ADAMW__MAX_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAMW__STATE_STEPS, PLUG_ARG__FUSED_ADAMW__LR, PLUG_ARG__FUSED_ADAMW__BETA1, PLUG_ARG__FUSED_ADAMW__BETA2, PLUG_ARG__FUSED_ADAMW__WEIGHT_DECAY, PLUG_ARG__FUSED_ADAMW__EPS, PLUG_ARG__FUSED_ADAMW__AMSGRAD, PLUG_ARG__FUSED_ADAMW__MAXIMIZE, PLUG_ARG__FUSED_ADAMW__GRAD_SCALE, PLUG_ARG__FUSED_ADAMW__FOUND_INF, PLUG_ARGS__FUSED_ADAMW_ };
/* _fused_adamw_.tensor_lr */
#define PLUG_SCHEMA__FUSED_ADAMW__TENSOR_LR "aten::_fused_adamw_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, Tensor lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_ADAMW__TENSOR_LR_SELF, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_GRADS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_EXP_AVGS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_MAX_EXP_AVG_SQS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_STATE_STEPS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_LR, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_BETA1, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_BETA2, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_WEIGHT_DECAY, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_EPS, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_AMSGRAD, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_MAXIMIZE, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_GRAD_SCALE, PLUG_ARG__FUSED_ADAMW__TENSOR_LR_FOUND_INF, PLUG_ARGS__FUSED_ADAMW__TENSOR_LR };
/* _fused_dropout: also _fused_dropout.out */
#define PLUG_SCHEMA__FUSED_DROPOUT "aten::_fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)"
enum { PLUG_ARG__FUSED_DROPOUT_SELF, PLUG_ARG__FUSED_DROPOUT_P, PLUG_ARG__FUSED_DROPOUT_GENERATOR, PLUG_ARGS__FUSED_DROPOUT };
/* _fused_moving_avg_obs_fq_helper */
#define PLUG_SCHEMA__FUSED_MOVING_AVG_OBS_FQ_HELPER "aten::_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)"
enum { PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_SELF, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_OBSERVER_ON, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FAKE_QUANT_ON, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_RUNNING_MIN, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_RUNNING_MAX, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_SCALE, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_ZERO_POINT, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_AVERAGING_CONST, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_QUANT_MIN, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_QUANT_MAX, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_CH_AXIS, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_PER_ROW_FAKE_QUANT, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_SYMMETRIC_QUANT, PLUG_ARGS__FUSED_MOVING_AVG_OBS_FQ_HELPER };
enum { PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_OUTPUT, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_MASK, PLUG_RESULTS__FUSED_MOVING_AVG_OBS_FQ_HELPER };
/* _fused_moving_avg_obs_fq_helper_functional */
#define PLUG_SCHEMA__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL "aten::_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask, Tensor running_min_out, Tensor running_max_out, Tensor scale_out, Tensor zero_point_out)"
enum { PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_SELF, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_OBSERVER_ON, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_FAKE_QUANT_ON, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_RUNNING_MIN, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_RUNNING_MAX, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_SCALE, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_ZERO_POINT, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_AVERAGING_CONST, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_QUANT_MIN, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_QUANT_MAX, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_CH_AXIS, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_PER_ROW_FAKE_QUANT, PLUG_ARG__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_SYMMETRIC_QUANT, PLUG_ARGS__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL };
enum { PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_OUTPUT, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_MASK, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_RUNNING_MIN_OUT, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_RUNNING_MAX_OUT, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_SCALE_OUT, PLUG_RESULT__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL_ZERO_POINT_OUT, PLUG_RESULTS__FUSED_MOVING_AVG_OBS_FQ_HELPER_FUNCTIONAL };
/* _fused_rms_norm: backward _fused_rms_norm_backward */
#define PLUG_SCHEMA__FUSED_RMS_NORM "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)"
enum { PLUG_ARG__FUSED_RMS_NORM_INPUT, PLUG_ARG__FUSED_RMS_NORM_NORMALIZED_SHAPE, PLUG_ARG__FUSED_RMS_NORM_WEIGHT, PLUG_ARG__FUSED_RMS_NORM_EPS, PLUG_ARGS__FUSED_RMS_NORM };
/* _fused_rms_norm_backward */
#define PLUG_SCHEMA__FUSED_RMS_NORM_BACKWARD "aten::_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, bool[2] output_mask) -> (Tensor, Tensor)"
enum { PLUG_ARG__FUSED_RMS_NORM_BACKWARD_GRAD_OUT, PLUG_ARG__FUSED_RMS_NORM_BACKWARD_INPUT, PLUG_ARG__FUSED_RMS_NORM_BACKWARD_NORMALIZED_SHAPE, PLUG_ARG__FUSED_RMS_NORM_BACKWARD_RSTD, PLUG_ARG__FUSED_RMS_NORM_BACKWARD_WEIGHT, PLUG_ARG__FUSED_RMS_NORM_BACKWARD_OUTPUT_MASK, PLUG_ARGS__FUSED_RMS_NORM_BACKWARD };
/* _fused_sgd_ */
#define PLUG_SCHEMA__FUSED_SGD_ "aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_SGD__SELF, PLUG_ARG__FUSED_SGD__GRADS, PLUG_ARG__FUSED_SGD__MOMENTUM_BUFFER_LIST, PLUG_ARG__FUSED_SGD__WEIGHT_DECAY, PLUG_ARG__FUSED_SGD__MOMENTUM, PLUG_ARG__FUSED_SGD__LR, PLUG_ARG__FUSED_SGD__DAMPENING, PLUG_ARG__FUSED_SGD__NESTEROV, PLUG_ARG__FUSED_SGD__MAXIMIZE, PLUG_ARG__FUSED_SGD__IS_FIRST_STEP, PLUG_ARG__FUSED_SGD__GRAD_SCALE, PLUG_ARG__FUSED_SGD__FOUND_INF, PLUG_ARGS__FUSED_SGD_ };
/* _fused_sgd_.tensor_lr */
#define PLUG_SCHEMA__FUSED_SGD__TENSOR_LR "aten::_fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, Tensor lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
enum { PLUG_ARG__FUSED_SGD__TENSOR_LR_SELF, PLUG_ARG__FUSED_SGD__TENSOR_LR_GRADS, PLUG_ARG__FUSED_SGD__TENSOR_LR_MOMENTUM_BUFFER_LIST, PLUG_ARG__FUSED_SGD__TENSOR_LR_WEIGHT_DECAY, PLUG_ARG__FUSED_SGD__TENSOR_LR_MOMENTUM, PLUG_ARG__FUSED_SGD__TENSOR_LR_LR, PLUG_ARG__FUSED_SGD__TENSOR_LR_DAMPENING, PLUG_ARG__FUSED_SGD__TENSOR_LR_NESTEROV, PLUG_ARG__FUSED_SGD__TENSOR_LR_MAXIMIZE, PLUG_ARG__FUSED_SGD__TENSOR_LR_IS_FIRST_STEP, PLUG_ARG__FUSED_SGD__TENSOR_LR_GRAD_SCALE, PLUG_ARG__FUSED_SGD__TENSOR_LR_FOUND_INF, PLUG_ARGS__FUSED_SGD__TENSOR_LR };
/* _grouped_mm */
#define PLUG_SCHEMA__GROUPED_MM "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor"
enum { PLUG_ARG__GROUPED_MM_SELF, PLUG_ARG__GROUPED_MM_MAT2, PLUG_ARG__GROUPED_MM_OFFS, PLUG_ARG__GROUPED_MM_BIAS, PLUG_ARG__GROUPED_MM_OUT_DTYPE, PLUG_ARGS__GROUPED_MM };
/* _histogramdd_bin_edges: also _histogramdd_bin_edges.out */
#define PLUG_SCHEMA__HISTOGRAMDD_BIN_EDGES "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]"
enum { PLUG_ARG__HISTOGRAMDD_BIN_EDGES_SELF, PLUG_ARG__HISTOGRAMDD_BIN_EDGES_BINS, PLUG_ARG__HISTOGRAMDD_BIN_EDGES_RANGE, PLUG_ARG__HISTOGRAMDD_BIN_EDGES_WEIGHT, PLUG_ARG__HISTOGRAMDD_BIN_EDGES_DENSITY, PLUG_ARGS__HISTOGRAMDD_BIN_EDGES };
/* _histogramdd_from_bin_cts: also _histogramdd_from_bin_cts.out */
#define PLUG_SCHEMA__HISTOGRAMDD_FROM_BIN_CTS "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor"
enum { PLUG_ARG__HISTOGRAMDD_FROM_BIN_CTS_SELF, PLUG_ARG__HISTOGRAMDD_FROM_BIN_CTS_BINS, PLUG_ARG__HISTOGRAMDD_FROM_BIN_CTS_RANGE, PLUG_ARG__HISTOGRAMDD_FROM_BIN_CTS_WEIGHT, PLUG_ARG__HISTOGRAMDD_FROM_BIN_CTS_DENSITY, PLUG_ARGS__HISTOGRAMDD_FROM_BIN_CTS };
/* _histogramdd_from_bin_tensors: also _histogramdd_from_bin_tensors.out */
#define PLUG_SCHEMA__HISTOGRAMDD_FROM_BIN_TENSORS "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor"
enum { PLUG_ARG__HISTOGRAMDD_FROM_BIN_TENSORS_SELF, PLUG_ARG__HISTOGRAMDD_FROM_BIN_TENSORS_BINS, PLUG_ARG__HISTOGRAMDD_FROM_BIN_TENSORS_WEIGHT, PLUG_ARG__HISTOGRAMDD_FROM_BIN_TENSORS_DENSITY, PLUG_ARGS__HISTOGRAMDD_FROM_BIN_TENSORS };
/* _index_put_impl: also _index_put_impl_, _index_put_impl.out */
#define PLUG_SCHEMA__INDEX_PUT_IMPL "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor"
enum { PLUG_ARG__INDEX_PUT_IMPL_SELF, PLUG_ARG__INDEX_PUT_IMPL_INDICES, PLUG_ARG__INDEX_PUT_IMPL_VALUES, PLUG_ARG__INDEX_PUT_IMPL_ACCUMULATE, PLUG_ARG__INDEX_PUT_IMPL_UNSAFE, PLUG_ARGS__INDEX_PUT_IMPL };
/* _int_mm: also _int_mm.out */
#define PLUG_SCHEMA__INT_MM "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor"
enum { PLUG_ARG__INT_MM_SELF, PLUG_ARG__INT_MM_MAT2, PLUG_ARGS__INT_MM };
/* _is_all_true */
#define PLUG_SCHEMA__IS_ALL_TRUE "aten::_is_all_true(Tensor self) -> Tensor"
enum { PLUG_ARG__IS_ALL_TRUE_SELF, PLUG_ARGS__IS_ALL_TRUE };
/* _is_any_true */
#define PLUG_SCHEMA__IS_ANY_TRUE "aten::_is_any_true(Tensor self) -> Tensor"
enum { PLUG_ARG__IS_ANY_TRUE_SELF, PLUG_ARGS__IS_ANY_TRUE };
/* _jagged_to_padded_dense_forward */
#define PLUG_SCHEMA__JAGGED_TO_PADDED_DENSE_FORWARD "aten::_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float padding_value=0.0) -> Tensor"
enum { PLUG_ARG__JAGGED_TO_PADDED_DENSE_FORWARD_VALUES, PLUG_ARG__JAGGED_TO_PADDED_DENSE_FORWARD_OFFSETS, PLUG_ARG__JAGGED_TO_PADDED_DENSE_FORWARD_MAX_LENGTHS, PLUG_ARG__JAGGED_TO_PADDED_DENSE_FORWARD_PADDING_VALUE, PLUG_ARGS__JAGGED_TO_PADDED_DENSE_FORWARD };
/* _linalg_det: also _linalg_det.result */
#define PLUG_SCHEMA__LINALG_DET "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)"
enum { PLUG_ARG__LINALG_DET_A, PLUG_ARGS__LINALG_DET };
enum { PLUG_RESULT__LINALG_DET_RESULT, PLUG_RESULT__LINALG_DET_LU, PLUG_RESULT__LINALG_DET_PIVOTS, PLUG_RESULTS__LINALG_DET };
/* _linalg_eigh: also _linalg_eigh.eigenvalues */
#define PLUG_SCHEMA__LINALG_EIGH "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)"
enum { PLUG_ARG__LINALG_EIGH_A, PLUG_ARG__LINALG_EIGH_UPLO, PLUG_ARG__LINALG_EIGH_COMPUTE_V, PLUG_ARGS__LINALG_EIGH };
enum { PLUG_RESULT__LINALG_EIGH_EIGENVALUES, PLUG_RESULT__LINALG_EIGH_EIGENVECTORS, PLUG_RESULTS__LINALG_EIGH };
/* _linalg_eigvals */
#define PLUG_SCHEMA__LINALG_EIGVALS "aten::_linalg_eigvals(Tensor self) -> Tensor"
enum { PLUG_ARG__LINALG_EIGVALS_SELF, PLUG_ARGS__LINALG_EIGVALS };
/* _linalg_slogdet: also _linalg_slogdet.sign */
#define PLUG_SCHEMA__LINALG_SLOGDET "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)"
enum { PLUG_ARG__LINALG_SLOGDET_A, PLUG_ARGS__LINALG_SLOGDET };
enum { PLUG_RESULT__LINALG_SLOGDET_SIGN, PLUG_RESULT__LINALG_SLOGDET_LOGABSDET, PLUG_RESULT__LINALG_SLOGDET_LU, PLUG_RESULT__LINALG_SLOGDET_PIVOTS, PLUG_RESULTS__LINALG_SLOGDET };
/* _linalg_solve_ex: also _linalg_solve_ex.result */
#define PLUG_SCHEMA__LINALG_SOLVE_EX "aten::_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)"
enum { PLUG_ARG__LINALG_SOLVE_EX_A, PLUG_ARG__LINALG_SOLVE_EX_B, PLUG_ARG__LINALG_SOLVE_EX_LEFT, PLUG_ARG__LINALG_SOLVE_EX_CHECK_ERRORS, PLUG_ARGS__LINALG_SOLVE_EX };
enum { PLUG_RESULT__LINALG_SOLVE_EX_RESULT, PLUG_RESULT__LINALG_SOLVE_EX_LU, PLUG_RESULT__LINALG_SOLVE_EX_PIVOTS, PLUG_RESULT__LINALG_SOLVE_EX_INFO, PLUG_RESULTS__LINALG_SOLVE_EX };
/* _linalg_svd: also _linalg_svd.U */
#define PLUG_SCHEMA__LINALG_SVD "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)"
enum { PLUG_ARG__LINALG_SVD_A, PLUG_ARG__LINALG_SVD_FULL_MATRICES, PLUG_ARG__LINALG_SVD_COMPUTE_UV, PLUG_ARG__LINALG_SVD_DRIVER, PLUG_ARGS__LINALG_SVD };
enum { PLUG_RESULT__LINALG_SVD_U, PLUG_RESULT__LINALG_SVD_S, PLUG_RESULT__LINALG_SVD_VH, PLUG_RESULTS__LINALG_SVD };
/* _log_softmax: also _log_softmax.out; backward _log_softmax_backward_data */
#define PLUG_SCHEMA__LOG_SOFTMAX "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"
enum { PLUG_ARG__LOG_SOFTMAX_SELF, PLUG_ARG__LOG_SOFTMAX_DIM, PLUG_ARG__LOG_SOFTMAX_HALF_TO_FLOAT, PLUG_ARGS__LOG_SOFTMAX };
/* _log_softmax_backward_data: also _log_softmax_backward_data.out */
#define PLUG_SCHEMA__LOG_SOFTMAX_BACKWARD_DATA "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"
enum { PLUG_ARG__LOG_SOFTMAX_BACKWARD_DATA_GRAD_OUTPUT, PLUG_ARG__LOG_SOFTMAX_BACKWARD_DATA_OUTPUT, PLUG_ARG__LOG_SOFTMAX_BACKWARD_DATA_DIM, PLUG_ARG__LOG_SOFTMAX_BACKWARD_DATA_INPUT_DTYPE, PLUG_ARGS__LOG_SOFTMAX_BACKWARD_DATA };
/* _logcumsumexp: also _logcumsumexp.out */
#define PLUG_SCHEMA__LOGCUMSUMEXP "aten::_logcumsumexp(Tensor self, int dim) -> Tensor"
enum { PLUG_ARG__LOGCUMSUMEXP_SELF, PLUG_ARG__LOGCUMSUMEXP_DIM, PLUG_ARGS__LOGCUMSUMEXP };
/* _masked_scale: also _masked_scale.out */
#define PLUG_SCHEMA__MASKED_SCALE "aten::_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor"
enum { PLUG_ARG__MASKED_SCALE_SELF, PLUG_ARG__MASKED_SCALE_MASK, PLUG_ARG__MASKED_SCALE_SCALE, PLUG_ARGS__MASKED_SCALE };
/* _masked_softmax: also _masked_softmax.out; backward _masked_softmax_backward */
#define PLUG_SCHEMA__MASKED_SOFTMAX "aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor"
enum { PLUG_ARG__MASKED_SOFTMAX_SELF, PLUG_ARG__MASKED_SOFTMAX_MASK, PLUG_ARG__MASKED_SOFTMAX_DIM, PLUG_ARG__MASKED_SOFTMAX_MASK_TYPE, PLUG_ARGS__MASKED_SOFTMAX };
/* _masked_softmax_backward: also _masked_softmax_backward.out */
#define PLUG_SCHEMA__MASKED_SOFTMAX_BACKWARD "aten::_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor"
enum { PLUG_ARG__MASKED_SOFTMAX_BACKWARD_GRAD_OUTPUT, PLUG_ARG__MASKED_SOFTMAX_BACKWARD_OUTPUT, PLUG_ARG__MASKED_SOFTMAX_BACKWARD_MASK, PLUG_ARG__MASKED_SOFTMAX_BACKWARD_DIM, PLUG_ARGS__MASKED_SOFTMAX_BACKWARD };
/* _mixed_dtypes_linear */
#define PLUG_SCHEMA__MIXED_DTYPES_LINEAR "aten::_mixed_dtypes_linear(Tensor input, Tensor weight, Tensor scale, *, Tensor? bias=None, str? activation=None) -> Tensor"
enum { PLUG_ARG__MIXED_DTYPES_LINEAR_INPUT, PLUG_ARG__MIXED_DTYPES_LINEAR_WEIGHT, PLUG_ARG__MIXED_DTYPES_LINEAR_SCALE, PLUG_ARG__MIXED_DTYPES_LINEAR_BIAS, PLUG_ARG__MIXED_DTYPES_LINEAR_ACTIVATION, PLUG_ARGS__MIXED_DTYPES_LINEAR };
/* _native_batch_norm_legit: backward native_batch_norm_backward */
#define PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_INPUT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_WEIGHT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_BIAS, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_RUNNING_MEAN, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_RUNNING_VAR, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_TRAINING, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_MOMENTUM, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_EPS, PLUG_ARGS__NATIVE_BATCH_NORM_LEGIT };
/* _native_batch_norm_legit.no_stats: also _native_batch_norm_legit.no_stats_out; backward native_batch_norm_backward */
#define PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_NO_STATS "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_INPUT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_WEIGHT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_BIAS, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_TRAINING, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_MOMENTUM, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_STATS_EPS, PLUG_ARGS__NATIVE_BATCH_NORM_LEGIT_NO_STATS };
/* _native_batch_norm_legit_functional */
#define PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)"
enum { PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_INPUT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_WEIGHT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_BIAS, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_RUNNING_MEAN, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_RUNNING_VAR, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_TRAINING, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_MOMENTUM, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_EPS, PLUG_ARGS__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL };
enum { PLUG_RESULT__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_RUNNING_MEAN_OUT, PLUG_RESULT__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL_RUNNING_VAR_OUT, PLUG_RESULTS__NATIVE_BATCH_NORM_LEGIT_FUNCTIONAL };
/* _native_batch_norm_legit_no_training: also _native_batch_norm_legit_no_training.out; backward native_batch_norm_backward */
#define PLUG_SCHEMA__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_INPUT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_WEIGHT, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_BIAS, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_RUNNING_MEAN, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_RUNNING_VAR, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_MOMENTUM, PLUG_ARG__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING_EPS, PLUG_ARGS__NATIVE_BATCH_NORM_LEGIT_NO_TRAINING };
/* _native_multi_head_attention: also _native_multi_head_attention.out */
#define PLUG_SCHEMA__NATIVE_MULTI_HEAD_ATTENTION "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"
enum { PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_QUERY, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_KEY, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_VALUE, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_EMBED_DIM, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_NUM_HEAD, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_QKV_WEIGHT, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_QKV_BIAS, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_PROJ_WEIGHT, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_PROJ_BIAS, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_MASK, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_NEED_WEIGHTS, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_AVERAGE_ATTN_WEIGHTS, PLUG_ARG__NATIVE_MULTI_HEAD_ATTENTION_MASK_TYPE, PLUG_ARGS__NATIVE_MULTI_HEAD_ATTENTION };
/* _pack_padded_sequence: also _pack_padded_sequence.out */
#define PLUG_SCHEMA__PACK_PADDED_SEQUENCE "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"
enum { PLUG_ARG__PACK_PADDED_SEQUENCE_INPUT, PLUG_ARG__PACK_PADDED_SEQUENCE_LENGTHS, PLUG_ARG__PACK_PADDED_SEQUENCE_BATCH_FIRST, PLUG_ARGS__PACK_PADDED_SEQUENCE };
/* _padded_dense_to_jagged_forward */
#define PLUG_SCHEMA__PADDED_DENSE_TO_JAGGED_FORWARD "aten::_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) -> Tensor"
enum { PLUG_ARG__PADDED_DENSE_TO_JAGGED_FORWARD_DENSE, PLUG_ARG__PADDED_DENSE_TO_JAGGED_FORWARD_OFFSETS, PLUG_ARG__PADDED_DENSE_TO_JAGGED_FORWARD_TOTAL_L, PLUG_ARGS__PADDED_DENSE_TO_JAGGED_FORWARD };
/* _pdist_backward: also _pdist_backward.out */
#define PLUG_SCHEMA__PDIST_BACKWARD "aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor"
enum { PLUG_ARG__PDIST_BACKWARD_GRAD, PLUG_ARG__PDIST_BACKWARD_SELF, PLUG_ARG__PDIST_BACKWARD_P, PLUG_ARG__PDIST_BACKWARD_PDIST, PLUG_ARGS__PDIST_BACKWARD };
/* _pdist_forward: also _pdist_forward.out; backward _pdist_backward */
#define PLUG_SCHEMA__PDIST_FORWARD "aten::_pdist_forward(Tensor self, float p=2) -> Tensor"
enum { PLUG_ARG__PDIST_FORWARD_SELF, PLUG_ARG__PDIST_FORWARD_P, PLUG_ARGS__PDIST_FORWARD };
/* _prelu_kernel: backward _prelu_kernel_backward */
#define PLUG_SCHEMA__PRELU_KERNEL "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor"
enum { PLUG_ARG__PRELU_KERNEL_SELF, PLUG_ARG__PRELU_KERNEL_WEIGHT, PLUG_ARGS__PRELU_KERNEL };
/* _prelu_kernel_backward */
#define PLUG_SCHEMA__PRELU_KERNEL_BACKWARD "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)"
enum { PLUG_ARG__PRELU_KERNEL_BACKWARD_GRAD_OUTPUT, PLUG_ARG__PRELU_KERNEL_BACKWARD_SELF, PLUG_ARG__PRELU_KERNEL_BACKWARD_WEIGHT, PLUG_ARGS__PRELU_KERNEL_BACKWARD };
/* _safe_softmax: backward _softmax_backward_data */
#define PLUG_SCHEMA__SAFE_SOFTMAX "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG__SAFE_SOFTMAX_SELF, PLUG_ARG__SAFE_SOFTMAX_DIM, PLUG_ARG__SAFE_SOFTMAX_DTYPE, PLUG_ARGS__SAFE_SOFTMAX };
/* _sample_dirichlet: also _sample_dirichlet.out */
#define PLUG_SCHEMA__SAMPLE_DIRICHLET "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor"
enum { PLUG_ARG__SAMPLE_DIRICHLET_SELF, PLUG_ARG__SAMPLE_DIRICHLET_GENERATOR, PLUG_ARGS__SAMPLE_DIRICHLET };
/* _scaled_dot_product_efficient_attention: backward _scaled_dot_product_efficient_attention_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_ATTN_BIAS, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_COMPUTE_LOG_SUMEXP, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_OUTPUT, PLUG_RESULT__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_LOG_SUMEXP, PLUG_RESULT__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_PHILOX_SEED, PLUG_RESULT__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_PHILOX_OFFSET, PLUG_RESULTS__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION };
/* _scaled_dot_product_efficient_attention_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD "aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_GRAD_OUT_, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_ATTN_BIAS, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_LOGSUMEXP, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_PHILOX_SEED, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_PHILOX_OFFSET, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_GRAD_INPUT_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_EFFICIENT_ATTENTION_BACKWARD };
/* _scaled_dot_product_flash_attention: backward _scaled_dot_product_flash_attention_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FLASH_ATTENTION "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_RETURN_DEBUG_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FLASH_ATTENTION };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_OUTPUT, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_LOGSUMEXP, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_CUM_SEQ_Q, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_CUM_SEQ_K, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_MAX_Q, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_MAX_K, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_RNG_STATE, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_UNUSED, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_DEBUG_ATTN_MASK, PLUG_RESULTS__SCALED_DOT_PRODUCT_FLASH_ATTENTION };
/* _scaled_dot_product_flash_attention_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD "aten::_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_GRAD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_LOGSUMEXP, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_CUM_SEQ_Q, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_CUM_SEQ_K, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_MAX_Q, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_MAX_K, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_PHILOX_SEED, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_PHILOX_OFFSET, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_GRAD_QUERY, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_GRAD_KEY, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD_GRAD_VALUE, PLUG_RESULTS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_BACKWARD };
/* _scaled_dot_product_flash_attention_for_cpu: backward _scaled_dot_product_flash_attention_for_cpu_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_ATTN_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_OUTPUT, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_LOGSUMEXP, PLUG_RESULTS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU };
/* _scaled_dot_product_flash_attention_for_cpu_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD "aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_GRAD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_LOGSUMEXP, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_ATTN_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_GRAD_QUERY, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_GRAD_KEY, PLUG_RESULT__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD_GRAD_VALUE, PLUG_RESULTS__SCALED_DOT_PRODUCT_FLASH_ATTENTION_FOR_CPU_BACKWARD };
/* _scaled_dot_product_fused_attention_overrideable: backward _scaled_dot_product_fused_attention_overrideable_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE "aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_ATTN_BIAS, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_RETURN_DEBUG_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_OUTPUT, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_LOGSUMEXP, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_CUM_SEQ_Q, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_CUM_SEQ_K, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_MAX_Q, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_MAX_K, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_PHILOX_SEED, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_PHILOX_OFFSET, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_DEBUG_ATTN_MASK, PLUG_RESULTS__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE };
/* _scaled_dot_product_fused_attention_overrideable_backward */
#define PLUG_SCHEMA__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD "aten::_scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor attn_bias, bool[4] grad_input_mask, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value, Tensor grad_attn_bias)"
enum { PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_QUERY, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_KEY, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_VALUE, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_ATTN_BIAS, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_INPUT_MASK, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_OUT, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_LOGSUMEXP, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_CUM_SEQ_Q, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_CUM_SEQ_K, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_MAX_Q, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_MAX_K, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_DROPOUT_P, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_IS_CAUSAL, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_PHILOX_SEED, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_PHILOX_OFFSET, PLUG_ARG__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_SCALE, PLUG_ARGS__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD };
enum { PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_QUERY, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_KEY, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_VALUE, PLUG_RESULT__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD_GRAD_ATTN_BIAS, PLUG_RESULTS__SCALED_DOT_PRODUCT_FUSED_ATTENTION_OVERRIDEABLE_BACKWARD };
/* _scaled_grouped_mm */
#define PLUG_SCHEMA__SCALED_GROUPED_MM "aten::_scaled_grouped_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? offs=None, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor"
enum { PLUG_ARG__SCALED_GROUPED_MM_SELF, PLUG_ARG__SCALED_GROUPED_MM_MAT2, PLUG_ARG__SCALED_GROUPED_MM_SCALE_A, PLUG_ARG__SCALED_GROUPED_MM_SCALE_B, PLUG_ARG__SCALED_GROUPED_MM_OFFS, PLUG_ARG__SCALED_GROUPED_MM_BIAS, PLUG_ARG__SCALED_GROUPED_MM_SCALE_RESULT, PLUG_ARG__SCALED_GROUPED_MM_OUT_DTYPE, PLUG_ARG__SCALED_GROUPED_MM_USE_FAST_ACCUM, PLUG_ARGS__SCALED_GROUPED_MM };
/* _scaled_grouped_mm_v2 */
#define PLUG_SCHEMA__SCALED_GROUPED_MM_V2 "aten::_scaled_grouped_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor"
enum { PLUG_ARG__SCALED_GROUPED_MM_V2_SELF, PLUG_ARG__SCALED_GROUPED_MM_V2_MAT2, PLUG_ARG__SCALED_GROUPED_MM_V2_SCALE_A, PLUG_ARG__SCALED_GROUPED_MM_V2_RECIPE_A, PLUG_ARG__SCALED_GROUPED_MM_V2_SWIZZLE_A, PLUG_ARG__SCALED_GROUPED_MM_V2_SCALE_B, PLUG_ARG__SCALED_GROUPED_MM_V2_RECIPE_B, PLUG_ARG__SCALED_GROUPED_MM_V2_SWIZZLE_B, PLUG_ARG__SCALED_GROUPED_MM_V2_OFFS, PLUG_ARG__SCALED_GROUPED_MM_V2_BIAS, PLUG_ARG__SCALED_GROUPED_MM_V2_OUT_DTYPE, PLUG_ARG__SCALED_GROUPED_MM_V2_CONTRACTION_DIM, PLUG_ARG__SCALED_GROUPED_MM_V2_USE_FAST_ACCUM, PLUG_ARGS__SCALED_GROUPED_MM_V2 };
/* _scaled_mm: also _scaled_mm.out */
#define PLUG_SCHEMA__SCALED_MM "aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, Tensor? bias=None, Tensor? scale_result=None, ScalarType? out_dtype=None, bool use_fast_accum=False) -> Tensor"
enum { PLUG_ARG__SCALED_MM_SELF, PLUG_ARG__SCALED_MM_MAT2, PLUG_ARG__SCALED_MM_SCALE_A, PLUG_ARG__SCALED_MM_SCALE_B, PLUG_ARG__SCALED_MM_BIAS, PLUG_ARG__SCALED_MM_SCALE_RESULT, PLUG_ARG__SCALED_MM_OUT_DTYPE, PLUG_ARG__SCALED_MM_USE_FAST_ACCUM, PLUG_ARGS__SCALED_MM };
/* _scaled_mm_v2: also _scaled_mm_v2.out */
#define PLUG_SCHEMA__SCALED_MM_V2 "aten::_scaled_mm_v2(Tensor self, Tensor mat2, Tensor[] scale_a, int[] recipe_a, int[] swizzle_a, Tensor[] scale_b, int[] recipe_b, int[] swizzle_b, Tensor? bias, ScalarType? out_dtype, int[] contraction_dim=[], bool use_fast_accum=False) -> Tensor"
enum { PLUG_ARG__SCALED_MM_V2_SELF, PLUG_ARG__SCALED_MM_V2_MAT2, PLUG_ARG__SCALED_MM_V2_SCALE_A, PLUG_ARG__SCALED_MM_V2_RECIPE_A, PLUG_ARG__SCALED_MM_V2_SWIZZLE_A, PLUG_ARG__SCALED_MM_V2_SCALE_B, PLUG_ARG__SCALED_MM_V2_RECIPE_B, PLUG_ARG__SCALED_MM_V2_SWIZZLE_B, PLUG_ARG__SCALED_MM_V2_BIAS, PLUG_ARG__SCALED_MM_V2_OUT_DTYPE, PLUG_ARG__SCALED_MM_V2_CONTRACTION_DIM, PLUG_ARG__SCALED_MM_V2_USE_FAST_ACCUM, PLUG_ARGS__SCALED_MM_V2 };
/* _segment_reduce_backward: also _segment_reduce_backward.out */
#define PLUG_SCHEMA__SEGMENT_REDUCE_BACKWARD "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor"
enum { PLUG_ARG__SEGMENT_REDUCE_BACKWARD_GRAD, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_OUTPUT, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_DATA, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_REDUCE, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_LENGTHS, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_OFFSETS, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_AXIS, PLUG_ARG__SEGMENT_REDUCE_BACKWARD_INITIAL, PLUG_ARGS__SEGMENT_REDUCE_BACKWARD };
/* _softmax: also _softmax.out; backward _softmax_backward_data */
#define PLUG_SCHEMA__SOFTMAX "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"
enum { PLUG_ARG__SOFTMAX_SELF, PLUG_ARG__SOFTMAX_DIM, PLUG_ARG__SOFTMAX_HALF_TO_FLOAT, PLUG_ARGS__SOFTMAX };
/* _softmax_backward_data: also _softmax_backward_data.out; backward _softmax_backward_data */
#define PLUG_SCHEMA__SOFTMAX_BACKWARD_DATA "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor"
enum { PLUG_ARG__SOFTMAX_BACKWARD_DATA_GRAD_OUTPUT, PLUG_ARG__SOFTMAX_BACKWARD_DATA_OUTPUT, PLUG_ARG__SOFTMAX_BACKWARD_DATA_DIM, PLUG_ARG__SOFTMAX_BACKWARD_DATA_INPUT_DTYPE, PLUG_ARGS__SOFTMAX_BACKWARD_DATA };
/* _stack: also _stack.out */
#define PLUG_SCHEMA__STACK "aten::_stack(Tensor[] tensors, int dim=0) -> Tensor"
enum { PLUG_ARG__STACK_TENSORS, PLUG_ARG__STACK_DIM, PLUG_ARGS__STACK };
/* _standard_gamma: also _standard_gamma.out */
#define PLUG_SCHEMA__STANDARD_GAMMA "aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor"
enum { PLUG_ARG__STANDARD_GAMMA_SELF, PLUG_ARG__STANDARD_GAMMA_GENERATOR, PLUG_ARGS__STANDARD_GAMMA };
/* _standard_gamma_grad: also _standard_gamma_grad.out */
#define PLUG_SCHEMA__STANDARD_GAMMA_GRAD "aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor"
enum { PLUG_ARG__STANDARD_GAMMA_GRAD_SELF, PLUG_ARG__STANDARD_GAMMA_GRAD_OUTPUT, PLUG_ARGS__STANDARD_GAMMA_GRAD };
/* _thnn_fused_gru_cell: also _thnn_fused_gru_cell.out; backward _thnn_fused_gru_cell_backward */
#define PLUG_SCHEMA__THNN_FUSED_GRU_CELL "aten::_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor)"
enum { PLUG_ARG__THNN_FUSED_GRU_CELL_INPUT_GATES, PLUG_ARG__THNN_FUSED_GRU_CELL_HIDDEN_GATES, PLUG_ARG__THNN_FUSED_GRU_CELL_HX, PLUG_ARG__THNN_FUSED_GRU_CELL_INPUT_BIAS, PLUG_ARG__THNN_FUSED_GRU_CELL_HIDDEN_BIAS, PLUG_ARGS__THNN_FUSED_GRU_CELL };
/* _thnn_fused_gru_cell_backward: also _thnn_fused_gru_cell_backward.out */
#define PLUG_SCHEMA__THNN_FUSED_GRU_CELL_BACKWARD "aten::_thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG__THNN_FUSED_GRU_CELL_BACKWARD_GRAD_HY, PLUG_ARG__THNN_FUSED_GRU_CELL_BACKWARD_WORKSPACE, PLUG_ARG__THNN_FUSED_GRU_CELL_BACKWARD_HAS_BIAS, PLUG_ARGS__THNN_FUSED_GRU_CELL_BACKWARD };
/* _thnn_fused_lstm_cell: also _thnn_fused_lstm_cell.out */
#define PLUG_SCHEMA__THNN_FUSED_LSTM_CELL "aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__THNN_FUSED_LSTM_CELL_INPUT_GATES, PLUG_ARG__THNN_FUSED_LSTM_CELL_HIDDEN_GATES, PLUG_ARG__THNN_FUSED_LSTM_CELL_CX, PLUG_ARG__THNN_FUSED_LSTM_CELL_INPUT_BIAS, PLUG_ARG__THNN_FUSED_LSTM_CELL_HIDDEN_BIAS, PLUG_ARGS__THNN_FUSED_LSTM_CELL };
/* _thnn_fused_lstm_cell_backward_impl: also _thnn_fused_lstm_cell_backward_impl.out */
#define PLUG_SCHEMA__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL "aten::_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy, Tensor workspace, bool has_bias) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_GRAD_HY, PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_GRAD_CY, PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_CX, PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_CY, PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_WORKSPACE, PLUG_ARG__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL_HAS_BIAS, PLUG_ARGS__THNN_FUSED_LSTM_CELL_BACKWARD_IMPL };
/* _to_copy */
#define PLUG_SCHEMA__TO_COPY "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG__TO_COPY_SELF, PLUG_ARG__TO_COPY_DTYPE, PLUG_ARG__TO_COPY_LAYOUT, PLUG_ARG__TO_COPY_DEVICE, PLUG_ARG__TO_COPY_PIN_MEMORY, PLUG_ARG__TO_COPY_NON_BLOCKING, PLUG_ARG__TO_COPY_MEMORY_FORMAT, PLUG_ARGS__TO_COPY };
/* _transform_bias_rescale_qkv: also _transform_bias_rescale_qkv.out */
#define PLUG_SCHEMA__TRANSFORM_BIAS_RESCALE_QKV "aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__TRANSFORM_BIAS_RESCALE_QKV_QKV, PLUG_ARG__TRANSFORM_BIAS_RESCALE_QKV_QKV_BIAS, PLUG_ARG__TRANSFORM_BIAS_RESCALE_QKV_NUM_HEADS, PLUG_ARGS__TRANSFORM_BIAS_RESCALE_QKV };
/* _transformer_encoder_layer_fwd: also _transformer_encoder_layer_fwd.out */
#define PLUG_SCHEMA__TRANSFORMER_ENCODER_LAYER_FWD "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor"
enum { PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_SRC, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_EMBED_DIM, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NUM_HEADS, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_QKV_WEIGHT, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_QKV_BIAS, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_PROJ_WEIGHT, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_PROJ_BIAS, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_USE_GELU, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NORM_FIRST, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_EPS, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NORM_WEIGHT_1, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NORM_BIAS_1, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NORM_WEIGHT_2, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_NORM_BIAS_2, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_FFN_WEIGHT_1, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_FFN_BIAS_1, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_FFN_WEIGHT_2, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_FFN_BIAS_2, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_MASK, PLUG_ARG__TRANSFORMER_ENCODER_LAYER_FWD_MASK_TYPE, PLUG_ARGS__TRANSFORMER_ENCODER_LAYER_FWD };
/* _trilinear: also _trilinear.out */
#define PLUG_SCHEMA__TRILINEAR "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor"
enum { PLUG_ARG__TRILINEAR_I1, PLUG_ARG__TRILINEAR_I2, PLUG_ARG__TRILINEAR_I3, PLUG_ARG__TRILINEAR_EXPAND1, PLUG_ARG__TRILINEAR_EXPAND2, PLUG_ARG__TRILINEAR_EXPAND3, PLUG_ARG__TRILINEAR_SUMDIM, PLUG_ARG__TRILINEAR_UNROLL_DIM, PLUG_ARGS__TRILINEAR };
/* _unique: also _unique.out */
#define PLUG_SCHEMA__UNIQUE "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)"
enum { PLUG_ARG__UNIQUE_SELF, PLUG_ARG__UNIQUE_SORTED, PLUG_ARG__UNIQUE_RETURN_INVERSE, PLUG_ARGS__UNIQUE };
/* _unique2: also _unique2.out */
#define PLUG_SCHEMA__UNIQUE2 "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG__UNIQUE2_SELF, PLUG_ARG__UNIQUE2_SORTED, PLUG_ARG__UNIQUE2_RETURN_INVERSE, PLUG_ARG__UNIQUE2_RETURN_COUNTS, PLUG_ARGS__UNIQUE2 };
/* _unsafe_index.Tensor */
#define PLUG_SCHEMA__UNSAFE_INDEX_TENSOR "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"
enum { PLUG_ARG__UNSAFE_INDEX_TENSOR_SELF, PLUG_ARG__UNSAFE_INDEX_TENSOR_INDICES, PLUG_ARGS__UNSAFE_INDEX_TENSOR };
/* _unsafe_index_put */
#define PLUG_SCHEMA__UNSAFE_INDEX_PUT "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"
enum { PLUG_ARG__UNSAFE_INDEX_PUT_SELF, PLUG_ARG__UNSAFE_INDEX_PUT_INDICES, PLUG_ARG__UNSAFE_INDEX_PUT_VALUES, PLUG_ARG__UNSAFE_INDEX_PUT_ACCUMULATE, PLUG_ARGS__UNSAFE_INDEX_PUT };
/* _unsafe_masked_index */
#define PLUG_SCHEMA__UNSAFE_MASKED_INDEX "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor"
enum { PLUG_ARG__UNSAFE_MASKED_INDEX_SELF, PLUG_ARG__UNSAFE_MASKED_INDEX_MASK, PLUG_ARG__UNSAFE_MASKED_INDEX_INDICES, PLUG_ARG__UNSAFE_MASKED_INDEX_FILL, PLUG_ARGS__UNSAFE_MASKED_INDEX };
/* _unsafe_masked_index_put_accumulate */
#define PLUG_SCHEMA__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor"
enum { PLUG_ARG__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE_SELF, PLUG_ARG__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE_MASK, PLUG_ARG__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE_INDICES, PLUG_ARG__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE_VALUES, PLUG_ARGS__UNSAFE_MASKED_INDEX_PUT_ACCUMULATE };
/* _unsafe_view: also _unsafe_view.out */
#define PLUG_SCHEMA__UNSAFE_VIEW "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor"
enum { PLUG_ARG__UNSAFE_VIEW_SELF, PLUG_ARG__UNSAFE_VIEW_SIZE, PLUG_ARGS__UNSAFE_VIEW };
/* _upsample_bicubic2d_aa: also _upsample_bicubic2d_aa.out; backward _upsample_bicubic2d_aa_backward */
#define PLUG_SCHEMA__UPSAMPLE_BICUBIC2D_AA "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_SELF, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_SCALES_H, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_SCALES_W, PLUG_ARGS__UPSAMPLE_BICUBIC2D_AA };
/* _upsample_bicubic2d_aa_backward: also _upsample_bicubic2d_aa_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_BICUBIC2D_AA_BACKWARD "aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_SCALES_H, PLUG_ARG__UPSAMPLE_BICUBIC2D_AA_BACKWARD_SCALES_W, PLUG_ARGS__UPSAMPLE_BICUBIC2D_AA_BACKWARD };
/* _upsample_bilinear2d_aa: also _upsample_bilinear2d_aa.out; backward _upsample_bilinear2d_aa_backward */
#define PLUG_SCHEMA__UPSAMPLE_BILINEAR2D_AA "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_SELF, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_SCALES_H, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_SCALES_W, PLUG_ARGS__UPSAMPLE_BILINEAR2D_AA };
/* _upsample_bilinear2d_aa_backward: also _upsample_bilinear2d_aa_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_BILINEAR2D_AA_BACKWARD "aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_SCALES_H, PLUG_ARG__UPSAMPLE_BILINEAR2D_AA_BACKWARD_SCALES_W, PLUG_ARGS__UPSAMPLE_BILINEAR2D_AA_BACKWARD };
/* _upsample_nearest_exact1d: also _upsample_nearest_exact1d.out; backward _upsample_nearest_exact1d_backward */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT1D "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_SELF, PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_SCALES, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT1D };
/* _upsample_nearest_exact1d_backward: also _upsample_nearest_exact1d_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT1D_BACKWARD "aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT1D_BACKWARD_SCALES, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT1D_BACKWARD };
/* _upsample_nearest_exact2d: also _upsample_nearest_exact2d.out; backward _upsample_nearest_exact2d_backward */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT2D "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_SELF, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_SCALES_H, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_SCALES_W, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT2D };
/* _upsample_nearest_exact2d_backward: also _upsample_nearest_exact2d_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT2D_BACKWARD "aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_BACKWARD_SCALES_H, PLUG_ARG__UPSAMPLE_NEAREST_EXACT2D_BACKWARD_SCALES_W, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT2D_BACKWARD };
/* _upsample_nearest_exact3d: also _upsample_nearest_exact3d.out; backward _upsample_nearest_exact3d_backward */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT3D "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_SELF, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_SCALES_D, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_SCALES_H, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_SCALES_W, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT3D };
/* _upsample_nearest_exact3d_backward: also _upsample_nearest_exact3d_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_NEAREST_EXACT3D_BACKWARD "aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_SCALES_D, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_SCALES_H, PLUG_ARG__UPSAMPLE_NEAREST_EXACT3D_BACKWARD_SCALES_W, PLUG_ARGS__UPSAMPLE_NEAREST_EXACT3D_BACKWARD };
/* _weight_int4pack_mm */
#define PLUG_SCHEMA__WEIGHT_INT4PACK_MM "aten::_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor"
enum { PLUG_ARG__WEIGHT_INT4PACK_MM_SELF, PLUG_ARG__WEIGHT_INT4PACK_MM_MAT2, PLUG_ARG__WEIGHT_INT4PACK_MM_QGROUPSIZE, PLUG_ARG__WEIGHT_INT4PACK_MM_QSCALEANDZEROS, PLUG_ARGS__WEIGHT_INT4PACK_MM };
/* _weight_int4pack_mm_for_cpu */
#define PLUG_SCHEMA__WEIGHT_INT4PACK_MM_FOR_CPU "aten::_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor"
enum { PLUG_ARG__WEIGHT_INT4PACK_MM_FOR_CPU_SELF, PLUG_ARG__WEIGHT_INT4PACK_MM_FOR_CPU_MAT2, PLUG_ARG__WEIGHT_INT4PACK_MM_FOR_CPU_QGROUPSIZE, PLUG_ARG__WEIGHT_INT4PACK_MM_FOR_CPU_QSCALEANDZEROS, PLUG_ARGS__WEIGHT_INT4PACK_MM_FOR_CPU };
/* _weight_int8pack_mm */
#define PLUG_SCHEMA__WEIGHT_INT8PACK_MM "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor"
enum { PLUG_ARG__WEIGHT_INT8PACK_MM_SELF, PLUG_ARG__WEIGHT_INT8PACK_MM_MAT2, PLUG_ARG__WEIGHT_INT8PACK_MM_SCALES, PLUG_ARGS__WEIGHT_INT8PACK_MM };
/* _weight_norm_interface: also _weight_norm_interface.out; backward _weight_norm_interface_backward */
#define PLUG_SCHEMA__WEIGHT_NORM_INTERFACE "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"
enum { PLUG_ARG__WEIGHT_NORM_INTERFACE_V, PLUG_ARG__WEIGHT_NORM_INTERFACE_G, PLUG_ARG__WEIGHT_NORM_INTERFACE_DIM, PLUG_ARGS__WEIGHT_NORM_INTERFACE };
/* _weight_norm_interface_backward: also _weight_norm_interface_backward.out */
#define PLUG_SCHEMA__WEIGHT_NORM_INTERFACE_BACKWARD "aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)"
enum { PLUG_ARG__WEIGHT_NORM_INTERFACE_BACKWARD_GRAD_W, PLUG_ARG__WEIGHT_NORM_INTERFACE_BACKWARD_SAVED_V, PLUG_ARG__WEIGHT_NORM_INTERFACE_BACKWARD_SAVED_G, PLUG_ARG__WEIGHT_NORM_INTERFACE_BACKWARD_SAVED_NORMS, PLUG_ARG__WEIGHT_NORM_INTERFACE_BACKWARD_DIM, PLUG_ARGS__WEIGHT_NORM_INTERFACE_BACKWARD };
/* abs: also abs_, abs.out; pointwise */
#define PLUG_SCHEMA_ABS "aten::abs(Tensor self) -> Tensor"
enum { PLUG_ARG_ABS_SELF, PLUG_ARGS_ABS };
/* acos: also acos_, acos.out; pointwise */
#define PLUG_SCHEMA_ACOS "aten::acos(Tensor self) -> Tensor"
enum { PLUG_ARG_ACOS_SELF, PLUG_ARGS_ACOS };
/* acosh: also acosh_, acosh.out; pointwise */
#define PLUG_SCHEMA_ACOSH "aten::acosh(Tensor self) -> Tensor"
enum { PLUG_ARG_ACOSH_SELF, PLUG_ARGS_ACOSH };
/* adaptive_avg_pool3d_backward.grad_input */
#define PLUG_SCHEMA_ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_INPUT "aten::adaptive_avg_pool3d_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)"
enum { PLUG_ARG_ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_INPUT_GRAD_OUTPUT, PLUG_ARG_ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_INPUT_SELF, PLUG_ARG_ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_INPUT_GRAD_INPUT, PLUG_ARGS_ADAPTIVE_AVG_POOL3D_BACKWARD_GRAD_INPUT };
/* adaptive_max_pool2d: also adaptive_max_pool2d.out; backward adaptive_max_pool2d_backward */
#define PLUG_SCHEMA_ADAPTIVE_MAX_POOL2D "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)"
enum { PLUG_ARG_ADAPTIVE_MAX_POOL2D_SELF, PLUG_ARG_ADAPTIVE_MAX_POOL2D_OUTPUT_SIZE, PLUG_ARGS_ADAPTIVE_MAX_POOL2D };
/* adaptive_max_pool2d_backward: also adaptive_max_pool2d_backward.grad_input */
#define PLUG_SCHEMA_ADAPTIVE_MAX_POOL2D_BACKWARD "aten::adaptive_max_pool2d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"
enum { PLUG_ARG_ADAPTIVE_MAX_POOL2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_ADAPTIVE_MAX_POOL2D_BACKWARD_SELF, PLUG_ARG_ADAPTIVE_MAX_POOL2D_BACKWARD_INDICES, PLUG_ARGS_ADAPTIVE_MAX_POOL2D_BACKWARD };
/* adaptive_max_pool3d: also adaptive_max_pool3d.out; backward adaptive_max_pool3d_backward */
#define PLUG_SCHEMA_ADAPTIVE_MAX_POOL3D "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)"
enum { PLUG_ARG_ADAPTIVE_MAX_POOL3D_SELF, PLUG_ARG_ADAPTIVE_MAX_POOL3D_OUTPUT_SIZE, PLUG_ARGS_ADAPTIVE_MAX_POOL3D };
/* adaptive_max_pool3d_backward: also adaptive_max_pool3d_backward.grad_input */
#define PLUG_SCHEMA_ADAPTIVE_MAX_POOL3D_BACKWARD "aten::adaptive_max_pool3d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor"
enum { PLUG_ARG_ADAPTIVE_MAX_POOL3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_ADAPTIVE_MAX_POOL3D_BACKWARD_SELF, PLUG_ARG_ADAPTIVE_MAX_POOL3D_BACKWARD_INDICES, PLUG_ARGS_ADAPTIVE_MAX_POOL3D_BACKWARD };
/* add.Scalar: also add_.Scalar, add.Scalar_out; pointwise */
#define PLUG_SCHEMA_ADD_SCALAR "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADD_SCALAR_SELF, PLUG_ARG_ADD_SCALAR_OTHER, PLUG_ARG_ADD_SCALAR_ALPHA, PLUG_ARGS_ADD_SCALAR };
/* add.Tensor: also add_.Tensor, add.out; pointwise */
#define PLUG_SCHEMA_ADD_TENSOR "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADD_TENSOR_SELF, PLUG_ARG_ADD_TENSOR_OTHER, PLUG_ARG_ADD_TENSOR_ALPHA, PLUG_ARGS_ADD_TENSOR };
/* addbmm: also addbmm_, addbmm.out */
#define PLUG_SCHEMA_ADDBMM "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADDBMM_SELF, PLUG_ARG_ADDBMM_BATCH1, PLUG_ARG_ADDBMM_BATCH2, PLUG_ARG_ADDBMM_BETA, PLUG_ARG_ADDBMM_ALPHA, PLUG_ARGS_ADDBMM };
/* addcdiv: also addcdiv_, addcdiv.out; pointwise */
#define PLUG_SCHEMA_ADDCDIV "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"
enum { PLUG_ARG_ADDCDIV_SELF, PLUG_ARG_ADDCDIV_TENSOR1, PLUG_ARG_ADDCDIV_TENSOR2, PLUG_ARG_ADDCDIV_VALUE, PLUG_ARGS_ADDCDIV };
/* addcmul: also addcmul_, addcmul.out; pointwise */
#define PLUG_SCHEMA_ADDCMUL "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"
enum { PLUG_ARG_ADDCMUL_SELF, PLUG_ARG_ADDCMUL_TENSOR1, PLUG_ARG_ADDCMUL_TENSOR2, PLUG_ARG_ADDCMUL_VALUE, PLUG_ARGS_ADDCMUL };
/* addmm: also addmm_, addmm.out */
#define PLUG_SCHEMA_ADDMM "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADDMM_SELF, PLUG_ARG_ADDMM_MAT1, PLUG_ARG_ADDMM_MAT2, PLUG_ARG_ADDMM_BETA, PLUG_ARG_ADDMM_ALPHA, PLUG_ARGS_ADDMM };
/* addmm.dtype: also addmm.dtype_out */
#define PLUG_SCHEMA_ADDMM_DTYPE "aten::addmm.dtype(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADDMM_DTYPE_SELF, PLUG_ARG_ADDMM_DTYPE_MAT1, PLUG_ARG_ADDMM_DTYPE_MAT2, PLUG_ARG_ADDMM_DTYPE_OUT_DTYPE, PLUG_ARG_ADDMM_DTYPE_BETA, PLUG_ARG_ADDMM_DTYPE_ALPHA, PLUG_ARGS_ADDMM_DTYPE };
/* addmv: also addmv_, addmv.out */
#define PLUG_SCHEMA_ADDMV "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADDMV_SELF, PLUG_ARG_ADDMV_MAT, PLUG_ARG_ADDMV_VEC, PLUG_ARG_ADDMV_BETA, PLUG_ARG_ADDMV_ALPHA, PLUG_ARGS_ADDMV };
/* addr: also addr_, addr.out */
#define PLUG_SCHEMA_ADDR "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_ADDR_SELF, PLUG_ARG_ADDR_VEC1, PLUG_ARG_ADDR_VEC2, PLUG_ARG_ADDR_BETA, PLUG_ARG_ADDR_ALPHA, PLUG_ARGS_ADDR };
/* affine_grid_generator: also affine_grid_generator.out */
#define PLUG_SCHEMA_AFFINE_GRID_GENERATOR "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor"
enum { PLUG_ARG_AFFINE_GRID_GENERATOR_THETA, PLUG_ARG_AFFINE_GRID_GENERATOR_SIZE, PLUG_ARG_AFFINE_GRID_GENERATOR_ALIGN_CORNERS, PLUG_ARGS_AFFINE_GRID_GENERATOR };
/* all: also all.all_out */
#define PLUG_SCHEMA_ALL "aten::all(Tensor self) -> Tensor"
enum { PLUG_ARG_ALL_SELF, PLUG_ARGS_ALL };
/* all.dim: also all.out */
#define PLUG_SCHEMA_ALL_DIM "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ALL_DIM_SELF, PLUG_ARG_ALL_DIM_DIM, PLUG_ARG_ALL_DIM_KEEPDIM, PLUG_ARGS_ALL_DIM };
/* all.dims: also all.dims_out */
#define PLUG_SCHEMA_ALL_DIMS "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ALL_DIMS_SELF, PLUG_ARG_ALL_DIMS_DIM, PLUG_ARG_ALL_DIMS_KEEPDIM, PLUG_ARGS_ALL_DIMS };
/* allclose */
#define PLUG_SCHEMA_ALLCLOSE "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool"
enum { PLUG_ARG_ALLCLOSE_SELF, PLUG_ARG_ALLCLOSE_OTHER, PLUG_ARG_ALLCLOSE_RTOL, PLUG_ARG_ALLCLOSE_ATOL, PLUG_ARG_ALLCLOSE_EQUAL_NAN, PLUG_ARGS_ALLCLOSE };
/* amax: also amax.out */
#define PLUG_SCHEMA_AMAX "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"
enum { PLUG_ARG_AMAX_SELF, PLUG_ARG_AMAX_DIM, PLUG_ARG_AMAX_KEEPDIM, PLUG_ARGS_AMAX };
/* amin: also amin.out */
#define PLUG_SCHEMA_AMIN "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"
enum { PLUG_ARG_AMIN_SELF, PLUG_ARG_AMIN_DIM, PLUG_ARG_AMIN_KEEPDIM, PLUG_ARGS_AMIN };
/* aminmax: also aminmax.out */
#define PLUG_SCHEMA_AMINMAX "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"
enum { PLUG_ARG_AMINMAX_SELF, PLUG_ARG_AMINMAX_DIM, PLUG_ARG_AMINMAX_KEEPDIM, PLUG_ARGS_AMINMAX };
enum { PLUG_RESULT_AMINMAX_MIN, PLUG_RESULT_AMINMAX_MAX, PLUG_RESULTS_AMINMAX };
/* angle: also angle.out; pointwise */
#define PLUG_SCHEMA_ANGLE "aten::angle(Tensor self) -> Tensor"
enum { PLUG_ARG_ANGLE_SELF, PLUG_ARGS_ANGLE };
/* any: also any.all_out */
#define PLUG_SCHEMA_ANY "aten::any(Tensor self) -> Tensor"
enum { PLUG_ARG_ANY_SELF, PLUG_ARGS_ANY };
/* any.dim: also any.out */
#define PLUG_SCHEMA_ANY_DIM "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ANY_DIM_SELF, PLUG_ARG_ANY_DIM_DIM, PLUG_ARG_ANY_DIM_KEEPDIM, PLUG_ARGS_ANY_DIM };
/* any.dims: also any.dims_out */
#define PLUG_SCHEMA_ANY_DIMS "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ANY_DIMS_SELF, PLUG_ARG_ANY_DIMS_DIM, PLUG_ARG_ANY_DIMS_KEEPDIM, PLUG_ARGS_ANY_DIMS };
/* arange */
#define PLUG_SCHEMA_ARANGE "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_ARANGE_END, PLUG_ARG_ARANGE_DTYPE, PLUG_ARG_ARANGE_LAYOUT, PLUG_ARG_ARANGE_DEVICE, PLUG_ARG_ARANGE_PIN_MEMORY, PLUG_ARGS_ARANGE };
/* arange.out */
#define PLUG_SCHEMA_ARANGE_OUT "aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_ARANGE_OUT_END, PLUG_ARG_ARANGE_OUT_OUT, PLUG_ARGS_ARANGE_OUT };
/* arange.start */
#define PLUG_SCHEMA_ARANGE_START "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_ARANGE_START_START, PLUG_ARG_ARANGE_START_END, PLUG_ARG_ARANGE_START_DTYPE, PLUG_ARG_ARANGE_START_LAYOUT, PLUG_ARG_ARANGE_START_DEVICE, PLUG_ARG_ARANGE_START_PIN_MEMORY, PLUG_ARGS_ARANGE_START };
/* arange.start_out */
#define PLUG_SCHEMA_ARANGE_START_OUT "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_ARANGE_START_OUT_START, PLUG_ARG_ARANGE_START_OUT_END, PLUG_ARG_ARANGE_START_OUT_STEP, PLUG_ARG_ARANGE_START_OUT_OUT, PLUG_ARGS_ARANGE_START_OUT };
/* arange.start_step */
#define PLUG_SCHEMA_ARANGE_START_STEP "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_ARANGE_START_STEP_START, PLUG_ARG_ARANGE_START_STEP_END, PLUG_ARG_ARANGE_START_STEP_STEP, PLUG_ARG_ARANGE_START_STEP_DTYPE, PLUG_ARG_ARANGE_START_STEP_LAYOUT, PLUG_ARG_ARANGE_START_STEP_DEVICE, PLUG_ARG_ARANGE_START_STEP_PIN_MEMORY, PLUG_ARGS_ARANGE_START_STEP };
/* argmax: also argmax.out */
#define PLUG_SCHEMA_ARGMAX "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ARGMAX_SELF, PLUG_ARG_ARGMAX_DIM, PLUG_ARG_ARGMAX_KEEPDIM, PLUG_ARGS_ARGMAX };
/* argmin: also argmin.out */
#define PLUG_SCHEMA_ARGMIN "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_ARGMIN_SELF, PLUG_ARG_ARGMIN_DIM, PLUG_ARG_ARGMIN_KEEPDIM, PLUG_ARGS_ARGMIN };
/* as_strided_scatter: also as_strided_scatter.out */
#define PLUG_SCHEMA_AS_STRIDED_SCATTER "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"
enum { PLUG_ARG_AS_STRIDED_SCATTER_SELF, PLUG_ARG_AS_STRIDED_SCATTER_SRC, PLUG_ARG_AS_STRIDED_SCATTER_SIZE, PLUG_ARG_AS_STRIDED_SCATTER_STRIDE, PLUG_ARG_AS_STRIDED_SCATTER_STORAGE_OFFSET, PLUG_ARGS_AS_STRIDED_SCATTER };
/* asin: also asin_, asin.out; pointwise */
#define PLUG_SCHEMA_ASIN "aten::asin(Tensor self) -> Tensor"
enum { PLUG_ARG_ASIN_SELF, PLUG_ARGS_ASIN };
/* asinh: also asinh_, asinh.out; pointwise */
#define PLUG_SCHEMA_ASINH "aten::asinh(Tensor self) -> Tensor"
enum { PLUG_ARG_ASINH_SELF, PLUG_ARGS_ASINH };
/* atan: also atan_, atan.out; pointwise */
#define PLUG_SCHEMA_ATAN "aten::atan(Tensor self) -> Tensor"
enum { PLUG_ARG_ATAN_SELF, PLUG_ARGS_ATAN };
/* atan2: also atan2_, atan2.out; pointwise */
#define PLUG_SCHEMA_ATAN2 "aten::atan2(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_ATAN2_SELF, PLUG_ARG_ATAN2_OTHER, PLUG_ARGS_ATAN2 };
/* atanh: also atanh_, atanh.out; pointwise */
#define PLUG_SCHEMA_ATANH "aten::atanh(Tensor self) -> Tensor"
enum { PLUG_ARG_ATANH_SELF, PLUG_ARGS_ATANH };
/* avg_pool2d: also avg_pool2d.out; backward avg_pool2d_backward */
#define PLUG_SCHEMA_AVG_POOL2D "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
enum { PLUG_ARG_AVG_POOL2D_SELF, PLUG_ARG_AVG_POOL2D_KERNEL_SIZE, PLUG_ARG_AVG_POOL2D_STRIDE, PLUG_ARG_AVG_POOL2D_PADDING, PLUG_ARG_AVG_POOL2D_CEIL_MODE, PLUG_ARG_AVG_POOL2D_COUNT_INCLUDE_PAD, PLUG_ARG_AVG_POOL2D_DIVISOR_OVERRIDE, PLUG_ARGS_AVG_POOL2D };
/* avg_pool2d_backward: also avg_pool2d_backward.grad_input; backward avg_pool2d_backward */
#define PLUG_SCHEMA_AVG_POOL2D_BACKWARD "aten::avg_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
enum { PLUG_ARG_AVG_POOL2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_AVG_POOL2D_BACKWARD_SELF, PLUG_ARG_AVG_POOL2D_BACKWARD_KERNEL_SIZE, PLUG_ARG_AVG_POOL2D_BACKWARD_STRIDE, PLUG_ARG_AVG_POOL2D_BACKWARD_PADDING, PLUG_ARG_AVG_POOL2D_BACKWARD_CEIL_MODE, PLUG_ARG_AVG_POOL2D_BACKWARD_COUNT_INCLUDE_PAD, PLUG_ARG_AVG_POOL2D_BACKWARD_DIVISOR_OVERRIDE, PLUG_ARGS_AVG_POOL2D_BACKWARD };
/* avg_pool3d: also avg_pool3d.out; backward avg_pool3d_backward */
#define PLUG_SCHEMA_AVG_POOL3D "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
enum { PLUG_ARG_AVG_POOL3D_SELF, PLUG_ARG_AVG_POOL3D_KERNEL_SIZE, PLUG_ARG_AVG_POOL3D_STRIDE, PLUG_ARG_AVG_POOL3D_PADDING, PLUG_ARG_AVG_POOL3D_CEIL_MODE, PLUG_ARG_AVG_POOL3D_COUNT_INCLUDE_PAD, PLUG_ARG_AVG_POOL3D_DIVISOR_OVERRIDE, PLUG_ARGS_AVG_POOL3D };
/* avg_pool3d_backward: also avg_pool3d_backward.grad_input; backward avg_pool3d_backward */
#define PLUG_SCHEMA_AVG_POOL3D_BACKWARD "aten::avg_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"
enum { PLUG_ARG_AVG_POOL3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_AVG_POOL3D_BACKWARD_SELF, PLUG_ARG_AVG_POOL3D_BACKWARD_KERNEL_SIZE, PLUG_ARG_AVG_POOL3D_BACKWARD_STRIDE, PLUG_ARG_AVG_POOL3D_BACKWARD_PADDING, PLUG_ARG_AVG_POOL3D_BACKWARD_CEIL_MODE, PLUG_ARG_AVG_POOL3D_BACKWARD_COUNT_INCLUDE_PAD, PLUG_ARG_AVG_POOL3D_BACKWARD_DIVISOR_OVERRIDE, PLUG_ARGS_AVG_POOL3D_BACKWARD };
/* baddbmm: also baddbmm_, baddbmm.out */
#define PLUG_SCHEMA_BADDBMM "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_BADDBMM_SELF, PLUG_ARG_BADDBMM_BATCH1, PLUG_ARG_BADDBMM_BATCH2, PLUG_ARG_BADDBMM_BETA, PLUG_ARG_BADDBMM_ALPHA, PLUG_ARGS_BADDBMM };
/* baddbmm.dtype: also baddbmm.dtype_out */
#define PLUG_SCHEMA_BADDBMM_DTYPE "aten::baddbmm.dtype(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_BADDBMM_DTYPE_SELF, PLUG_ARG_BADDBMM_DTYPE_BATCH1, PLUG_ARG_BADDBMM_DTYPE_BATCH2, PLUG_ARG_BADDBMM_DTYPE_OUT_DTYPE, PLUG_ARG_BADDBMM_DTYPE_BETA, PLUG_ARG_BADDBMM_DTYPE_ALPHA, PLUG_ARGS_BADDBMM_DTYPE };
/* bartlett_window */
#define PLUG_SCHEMA_BARTLETT_WINDOW "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_BARTLETT_WINDOW_WINDOW_LENGTH, PLUG_ARG_BARTLETT_WINDOW_DTYPE, PLUG_ARG_BARTLETT_WINDOW_LAYOUT, PLUG_ARG_BARTLETT_WINDOW_DEVICE, PLUG_ARG_BARTLETT_WINDOW_PIN_MEMORY, PLUG_ARGS_BARTLETT_WINDOW };
/* bartlett_window.periodic */
#define PLUG_SCHEMA_BARTLETT_WINDOW_PERIODIC "aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_BARTLETT_WINDOW_PERIODIC_WINDOW_LENGTH, PLUG_ARG_BARTLETT_WINDOW_PERIODIC_PERIODIC, PLUG_ARG_BARTLETT_WINDOW_PERIODIC_DTYPE, PLUG_ARG_BARTLETT_WINDOW_PERIODIC_LAYOUT, PLUG_ARG_BARTLETT_WINDOW_PERIODIC_DEVICE, PLUG_ARG_BARTLETT_WINDOW_PERIODIC_PIN_MEMORY, PLUG_ARGS_BARTLETT_WINDOW_PERIODIC };
/* batch_norm_backward */
#define PLUG_SCHEMA_BATCH_NORM_BACKWARD "aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_BACKWARD_GRAD_OUT, PLUG_ARG_BATCH_NORM_BACKWARD_INPUT, PLUG_ARG_BATCH_NORM_BACKWARD_WEIGHT, PLUG_ARG_BATCH_NORM_BACKWARD_RUNNING_MEAN, PLUG_ARG_BATCH_NORM_BACKWARD_RUNNING_VAR, PLUG_ARG_BATCH_NORM_BACKWARD_SAVE_MEAN, PLUG_ARG_BATCH_NORM_BACKWARD_SAVE_VAR, PLUG_ARG_BATCH_NORM_BACKWARD_UPDATE, PLUG_ARG_BATCH_NORM_BACKWARD_EPS, PLUG_ARG_BATCH_NORM_BACKWARD_OUTPUT_MASK, PLUG_ARG_BATCH_NORM_BACKWARD_RESERVE, PLUG_ARGS_BATCH_NORM_BACKWARD };
/* batch_norm_backward_elemt: also batch_norm_backward_elemt.out */
#define PLUG_SCHEMA_BATCH_NORM_BACKWARD_ELEMT "aten::batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) -> Tensor"
enum { PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_GRAD_OUT, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_INPUT, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_MEAN, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_INVSTD, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_WEIGHT, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_SUM_DY, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_SUM_DY_XMU, PLUG_ARG_BATCH_NORM_BACKWARD_ELEMT_COUNT, PLUG_ARGS_BATCH_NORM_BACKWARD_ELEMT };
/* batch_norm_backward_reduce: also batch_norm_backward_reduce.out */
#define PLUG_SCHEMA_BATCH_NORM_BACKWARD_REDUCE "aten::batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool input_g, bool weight_g, bool bias_g) -> (Tensor, Tensor, Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_GRAD_OUT, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_INPUT, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_MEAN, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_INVSTD, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_WEIGHT, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_INPUT_G, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_WEIGHT_G, PLUG_ARG_BATCH_NORM_BACKWARD_REDUCE_BIAS_G, PLUG_ARGS_BATCH_NORM_BACKWARD_REDUCE };
/* batch_norm_elemt: also batch_norm_elemt.out */
#define PLUG_SCHEMA_BATCH_NORM_ELEMT "aten::batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps) -> Tensor"
enum { PLUG_ARG_BATCH_NORM_ELEMT_INPUT, PLUG_ARG_BATCH_NORM_ELEMT_WEIGHT, PLUG_ARG_BATCH_NORM_ELEMT_BIAS, PLUG_ARG_BATCH_NORM_ELEMT_MEAN, PLUG_ARG_BATCH_NORM_ELEMT_INVSTD, PLUG_ARG_BATCH_NORM_ELEMT_EPS, PLUG_ARGS_BATCH_NORM_ELEMT };
/* batch_norm_gather_stats: also batch_norm_gather_stats.out */
#define PLUG_SCHEMA_BATCH_NORM_GATHER_STATS "aten::batch_norm_gather_stats(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, int count) -> (Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_GATHER_STATS_INPUT, PLUG_ARG_BATCH_NORM_GATHER_STATS_MEAN, PLUG_ARG_BATCH_NORM_GATHER_STATS_INVSTD, PLUG_ARG_BATCH_NORM_GATHER_STATS_RUNNING_MEAN, PLUG_ARG_BATCH_NORM_GATHER_STATS_RUNNING_VAR, PLUG_ARG_BATCH_NORM_GATHER_STATS_MOMENTUM, PLUG_ARG_BATCH_NORM_GATHER_STATS_EPS, PLUG_ARG_BATCH_NORM_GATHER_STATS_COUNT, PLUG_ARGS_BATCH_NORM_GATHER_STATS };
/* batch_norm_gather_stats_with_counts: also batch_norm_gather_stats_with_counts.out */
#define PLUG_SCHEMA_BATCH_NORM_GATHER_STATS_WITH_COUNTS "aten::batch_norm_gather_stats_with_counts(Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, Tensor counts) -> (Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_INPUT, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_MEAN, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_INVSTD, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_RUNNING_MEAN, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_RUNNING_VAR, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_MOMENTUM, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_EPS, PLUG_ARG_BATCH_NORM_GATHER_STATS_WITH_COUNTS_COUNTS, PLUG_ARGS_BATCH_NORM_GATHER_STATS_WITH_COUNTS };
/* batch_norm_stats: also batch_norm_stats.out */
#define PLUG_SCHEMA_BATCH_NORM_STATS "aten::batch_norm_stats(Tensor input, float eps) -> (Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_STATS_INPUT, PLUG_ARG_BATCH_NORM_STATS_EPS, PLUG_ARGS_BATCH_NORM_STATS };
/* batch_norm_update_stats: also batch_norm_update_stats.out */
#define PLUG_SCHEMA_BATCH_NORM_UPDATE_STATS "aten::batch_norm_update_stats(Tensor input, Tensor? running_mean, Tensor? running_var, float momentum) -> (Tensor, Tensor)"
enum { PLUG_ARG_BATCH_NORM_UPDATE_STATS_INPUT, PLUG_ARG_BATCH_NORM_UPDATE_STATS_RUNNING_MEAN, PLUG_ARG_BATCH_NORM_UPDATE_STATS_RUNNING_VAR, PLUG_ARG_BATCH_NORM_UPDATE_STATS_MOMENTUM, PLUG_ARGS_BATCH_NORM_UPDATE_STATS };
/* bernoulli: also bernoulli.out */
#define PLUG_SCHEMA_BERNOULLI "aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_BERNOULLI_SELF, PLUG_ARG_BERNOULLI_GENERATOR, PLUG_ARGS_BERNOULLI };
/* bernoulli.Tensor: also bernoulli_.Tensor, bernoulli.Tensor_out */
#define PLUG_SCHEMA_BERNOULLI_TENSOR "aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_BERNOULLI_TENSOR_SELF, PLUG_ARG_BERNOULLI_TENSOR_P, PLUG_ARG_BERNOULLI_TENSOR_GENERATOR, PLUG_ARGS_BERNOULLI_TENSOR };
/* bernoulli.p: also bernoulli.float_out */
#define PLUG_SCHEMA_BERNOULLI_P "aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_BERNOULLI_P_SELF, PLUG_ARG_BERNOULLI_P_P, PLUG_ARG_BERNOULLI_P_GENERATOR, PLUG_ARGS_BERNOULLI_P };
/* bernoulli_.float */
#define PLUG_SCHEMA_BERNOULLI__FLOAT "aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)"
enum { PLUG_ARG_BERNOULLI__FLOAT_SELF, PLUG_ARG_BERNOULLI__FLOAT_P, PLUG_ARG_BERNOULLI__FLOAT_GENERATOR, PLUG_ARGS_BERNOULLI__FLOAT };
/* binary_cross_entropy: also binary_cross_entropy.out; backward binary_cross_entropy_backward */
#define PLUG_SCHEMA_BINARY_CROSS_ENTROPY "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_BINARY_CROSS_ENTROPY_SELF, PLUG_ARG_BINARY_CROSS_ENTROPY_TARGET, PLUG_ARG_BINARY_CROSS_ENTROPY_WEIGHT, PLUG_ARG_BINARY_CROSS_ENTROPY_REDUCTION, PLUG_ARGS_BINARY_CROSS_ENTROPY };
/* binary_cross_entropy_backward: also binary_cross_entropy_backward.grad_input */
#define PLUG_SCHEMA_BINARY_CROSS_ENTROPY_BACKWARD "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_BINARY_CROSS_ENTROPY_BACKWARD_GRAD_OUTPUT, PLUG_ARG_BINARY_CROSS_ENTROPY_BACKWARD_SELF, PLUG_ARG_BINARY_CROSS_ENTROPY_BACKWARD_TARGET, PLUG_ARG_BINARY_CROSS_ENTROPY_BACKWARD_WEIGHT, PLUG_ARG_BINARY_CROSS_ENTROPY_BACKWARD_REDUCTION, PLUG_ARGS_BINARY_CROSS_ENTROPY_BACKWARD };
/* binary_cross_entropy_with_logits: also binary_cross_entropy_with_logits.out */
#define PLUG_SCHEMA_BINARY_CROSS_ENTROPY_WITH_LOGITS "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_BINARY_CROSS_ENTROPY_WITH_LOGITS_SELF, PLUG_ARG_BINARY_CROSS_ENTROPY_WITH_LOGITS_TARGET, PLUG_ARG_BINARY_CROSS_ENTROPY_WITH_LOGITS_WEIGHT, PLUG_ARG_BINARY_CROSS_ENTROPY_WITH_LOGITS_POS_WEIGHT, PLUG_ARG_BINARY_CROSS_ENTROPY_WITH_LOGITS_REDUCTION, PLUG_ARGS_BINARY_CROSS_ENTROPY_WITH_LOGITS };
/* bincount: also bincount.out */
#define PLUG_SCHEMA_BINCOUNT "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"
enum { PLUG_ARG_BINCOUNT_SELF, PLUG_ARG_BINCOUNT_WEIGHTS, PLUG_ARG_BINCOUNT_MINLENGTH, PLUG_ARGS_BINCOUNT };
/* binomial: also binomial.out */
#define PLUG_SCHEMA_BINOMIAL "aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_BINOMIAL_COUNT, PLUG_ARG_BINOMIAL_PROB, PLUG_ARG_BINOMIAL_GENERATOR, PLUG_ARGS_BINOMIAL };
/* bitwise_and.Scalar: also bitwise_and_.Scalar, bitwise_and.Scalar_out; pointwise */
#define PLUG_SCHEMA_BITWISE_AND_SCALAR "aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_BITWISE_AND_SCALAR_SELF, PLUG_ARG_BITWISE_AND_SCALAR_OTHER, PLUG_ARGS_BITWISE_AND_SCALAR };
/* bitwise_and.Scalar_Tensor: also bitwise_and.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_AND_SCALAR_TENSOR "aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_AND_SCALAR_TENSOR_SELF, PLUG_ARG_BITWISE_AND_SCALAR_TENSOR_OTHER, PLUG_ARGS_BITWISE_AND_SCALAR_TENSOR };
/* bitwise_and.Tensor: also bitwise_and_.Tensor, bitwise_and.Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_AND_TENSOR "aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_AND_TENSOR_SELF, PLUG_ARG_BITWISE_AND_TENSOR_OTHER, PLUG_ARGS_BITWISE_AND_TENSOR };
/* bitwise_left_shift.Scalar_Tensor: also bitwise_left_shift.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_LEFT_SHIFT_SCALAR_TENSOR "aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_LEFT_SHIFT_SCALAR_TENSOR_SELF, PLUG_ARG_BITWISE_LEFT_SHIFT_SCALAR_TENSOR_OTHER, PLUG_ARGS_BITWISE_LEFT_SHIFT_SCALAR_TENSOR };
/* bitwise_left_shift.Tensor: also bitwise_left_shift_.Tensor, bitwise_left_shift.Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_LEFT_SHIFT_TENSOR "aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_LEFT_SHIFT_TENSOR_SELF, PLUG_ARG_BITWISE_LEFT_SHIFT_TENSOR_OTHER, PLUG_ARGS_BITWISE_LEFT_SHIFT_TENSOR };
/* bitwise_left_shift.Tensor_Scalar: also bitwise_left_shift_.Tensor_Scalar, bitwise_left_shift.Tensor_Scalar_out; pointwise */
#define PLUG_SCHEMA_BITWISE_LEFT_SHIFT_TENSOR_SCALAR "aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_BITWISE_LEFT_SHIFT_TENSOR_SCALAR_SELF, PLUG_ARG_BITWISE_LEFT_SHIFT_TENSOR_SCALAR_OTHER, PLUG_ARGS_BITWISE_LEFT_SHIFT_TENSOR_SCALAR };
/* bitwise_not: also bitwise_not_, bitwise_not.out; pointwise */
#define PLUG_SCHEMA_BITWISE_NOT "aten::bitwise_not(Tensor self) -> Tensor"
enum { PLUG_ARG_BITWISE_NOT_SELF, PLUG_ARGS_BITWISE_NOT };
/* bitwise_or.Scalar: also bitwise_or_.Scalar, bitwise_or.Scalar_out; pointwise */
#define PLUG_SCHEMA_BITWISE_OR_SCALAR "aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_BITWISE_OR_SCALAR_SELF, PLUG_ARG_BITWISE_OR_SCALAR_OTHER, PLUG_ARGS_BITWISE_OR_SCALAR };
/* bitwise_or.Scalar_Tensor: also bitwise_or.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_OR_SCALAR_TENSOR "aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_OR_SCALAR_TENSOR_SELF, PLUG_ARG_BITWISE_OR_SCALAR_TENSOR_OTHER, PLUG_ARGS_BITWISE_OR_SCALAR_TENSOR };
/* bitwise_or.Tensor: also bitwise_or_.Tensor, bitwise_or.Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_OR_TENSOR "aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_OR_TENSOR_SELF, PLUG_ARG_BITWISE_OR_TENSOR_OTHER, PLUG_ARGS_BITWISE_OR_TENSOR };
/* bitwise_right_shift.Scalar_Tensor: also bitwise_right_shift.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_RIGHT_SHIFT_SCALAR_TENSOR "aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_RIGHT_SHIFT_SCALAR_TENSOR_SELF, PLUG_ARG_BITWISE_RIGHT_SHIFT_SCALAR_TENSOR_OTHER, PLUG_ARGS_BITWISE_RIGHT_SHIFT_SCALAR_TENSOR };
/* bitwise_right_shift.Tensor: also bitwise_right_shift_.Tensor, bitwise_right_shift.Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_RIGHT_SHIFT_TENSOR "aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_RIGHT_SHIFT_TENSOR_SELF, PLUG_ARG_BITWISE_RIGHT_SHIFT_TENSOR_OTHER, PLUG_ARGS_BITWISE_RIGHT_SHIFT_TENSOR };
/* bitwise_right_shift.Tensor_Scalar: also bitwise_right_shift_.Tensor_Scalar, bitwise_right_shift.Tensor_Scalar_out; pointwise */
#define PLUG_SCHEMA_BITWISE_RIGHT_SHIFT_TENSOR_SCALAR "aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_BITWISE_RIGHT_SHIFT_TENSOR_SCALAR_SELF, PLUG_ARG_BITWISE_RIGHT_SHIFT_TENSOR_SCALAR_OTHER, PLUG_ARGS_BITWISE_RIGHT_SHIFT_TENSOR_SCALAR };
/* bitwise_xor.Scalar: also bitwise_xor_.Scalar, bitwise_xor.Scalar_out; pointwise */
#define PLUG_SCHEMA_BITWISE_XOR_SCALAR "aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_BITWISE_XOR_SCALAR_SELF, PLUG_ARG_BITWISE_XOR_SCALAR_OTHER, PLUG_ARGS_BITWISE_XOR_SCALAR };
/* bitwise_xor.Scalar_Tensor: also bitwise_xor.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_XOR_SCALAR_TENSOR "aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_XOR_SCALAR_TENSOR_SELF, PLUG_ARG_BITWISE_XOR_SCALAR_TENSOR_OTHER, PLUG_ARGS_BITWISE_XOR_SCALAR_TENSOR };
/* bitwise_xor.Tensor: also bitwise_xor_.Tensor, bitwise_xor.Tensor_out; pointwise */
#define PLUG_SCHEMA_BITWISE_XOR_TENSOR "aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_BITWISE_XOR_TENSOR_SELF, PLUG_ARG_BITWISE_XOR_TENSOR_OTHER, PLUG_ARGS_BITWISE_XOR_TENSOR };
/* blackman_window */
#define PLUG_SCHEMA_BLACKMAN_WINDOW "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_BLACKMAN_WINDOW_WINDOW_LENGTH, PLUG_ARG_BLACKMAN_WINDOW_DTYPE, PLUG_ARG_BLACKMAN_WINDOW_LAYOUT, PLUG_ARG_BLACKMAN_WINDOW_DEVICE, PLUG_ARG_BLACKMAN_WINDOW_PIN_MEMORY, PLUG_ARGS_BLACKMAN_WINDOW };
/* blackman_window.periodic */
#define PLUG_SCHEMA_BLACKMAN_WINDOW_PERIODIC "aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_WINDOW_LENGTH, PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_PERIODIC, PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_DTYPE, PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_LAYOUT, PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_DEVICE, PLUG_ARG_BLACKMAN_WINDOW_PERIODIC_PIN_MEMORY, PLUG_ARGS_BLACKMAN_WINDOW_PERIODIC };
/* block_diag: also block_diag.out */
#define PLUG_SCHEMA_BLOCK_DIAG "aten::block_diag(Tensor[] tensors) -> Tensor"
enum { PLUG_ARG_BLOCK_DIAG_TENSORS, PLUG_ARGS_BLOCK_DIAG };
/* bmm: also bmm.out */
#define PLUG_SCHEMA_BMM "aten::bmm(Tensor self, Tensor mat2) -> Tensor"
enum { PLUG_ARG_BMM_SELF, PLUG_ARG_BMM_MAT2, PLUG_ARGS_BMM };
/* bmm.dtype: also bmm.dtype_out */
#define PLUG_SCHEMA_BMM_DTYPE "aten::bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor"
enum { PLUG_ARG_BMM_DTYPE_SELF, PLUG_ARG_BMM_DTYPE_MAT2, PLUG_ARG_BMM_DTYPE_OUT_DTYPE, PLUG_ARGS_BMM_DTYPE };
/* bucketize.Scalar: also bucketize.Scalar_out */
#define PLUG_SCHEMA_BUCKETIZE_SCALAR "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"
enum { PLUG_ARG_BUCKETIZE_SCALAR_SELF, PLUG_ARG_BUCKETIZE_SCALAR_BOUNDARIES, PLUG_ARG_BUCKETIZE_SCALAR_OUT_INT32, PLUG_ARG_BUCKETIZE_SCALAR_RIGHT, PLUG_ARGS_BUCKETIZE_SCALAR };
/* bucketize.Tensor: also bucketize.Tensor_out */
#define PLUG_SCHEMA_BUCKETIZE_TENSOR "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"
enum { PLUG_ARG_BUCKETIZE_TENSOR_SELF, PLUG_ARG_BUCKETIZE_TENSOR_BOUNDARIES, PLUG_ARG_BUCKETIZE_TENSOR_OUT_INT32, PLUG_ARG_BUCKETIZE_TENSOR_RIGHT, PLUG_ARGS_BUCKETIZE_TENSOR };
/* cat: also cat.out */
#define PLUG_SCHEMA_CAT "aten::cat(Tensor[] tensors, int dim=0) -> Tensor"
enum { PLUG_ARG_CAT_TENSORS, PLUG_ARG_CAT_DIM, PLUG_ARGS_CAT };
/* cauchy: also cauchy_, cauchy.out */
#define PLUG_SCHEMA_CAUCHY "aten::cauchy(Tensor self, float median=0, float sigma=1, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_CAUCHY_SELF, PLUG_ARG_CAUCHY_MEDIAN, PLUG_ARG_CAUCHY_SIGMA, PLUG_ARG_CAUCHY_GENERATOR, PLUG_ARGS_CAUCHY };
/* ceil: also ceil_, ceil.out; pointwise */
#define PLUG_SCHEMA_CEIL "aten::ceil(Tensor self) -> Tensor"
enum { PLUG_ARG_CEIL_SELF, PLUG_ARGS_CEIL };
/* celu: also celu_, celu.out; pointwise; backward elu_backward */
#define PLUG_SCHEMA_CELU "aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor"
enum { PLUG_ARG_CELU_SELF, PLUG_ARG_CELU_ALPHA, PLUG_ARGS_CELU };
/* channel_shuffle: also channel_shuffle.out */
#define PLUG_SCHEMA_CHANNEL_SHUFFLE "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor"
enum { PLUG_ARG_CHANNEL_SHUFFLE_SELF, PLUG_ARG_CHANNEL_SHUFFLE_GROUPS, PLUG_ARGS_CHANNEL_SHUFFLE };
/* cholesky: also cholesky.out */
#define PLUG_SCHEMA_CHOLESKY "aten::cholesky(Tensor self, bool upper=False) -> Tensor"
enum { PLUG_ARG_CHOLESKY_SELF, PLUG_ARG_CHOLESKY_UPPER, PLUG_ARGS_CHOLESKY };
/* cholesky_inverse: also cholesky_inverse.out */
#define PLUG_SCHEMA_CHOLESKY_INVERSE "aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor"
enum { PLUG_ARG_CHOLESKY_INVERSE_SELF, PLUG_ARG_CHOLESKY_INVERSE_UPPER, PLUG_ARGS_CHOLESKY_INVERSE };
/* cholesky_solve: also cholesky_solve.out */
#define PLUG_SCHEMA_CHOLESKY_SOLVE "aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor"
enum { PLUG_ARG_CHOLESKY_SOLVE_SELF, PLUG_ARG_CHOLESKY_SOLVE_INPUT2, PLUG_ARG_CHOLESKY_SOLVE_UPPER, PLUG_ARGS_CHOLESKY_SOLVE };
/* clamp: also clamp_, clamp.out; pointwise */
#define PLUG_SCHEMA_CLAMP "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"
enum { PLUG_ARG_CLAMP_SELF, PLUG_ARG_CLAMP_MIN, PLUG_ARG_CLAMP_MAX, PLUG_ARGS_CLAMP };
/* clamp.Tensor: also clamp_.Tensor, clamp.Tensor_out; pointwise */
#define PLUG_SCHEMA_CLAMP_TENSOR "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"
enum { PLUG_ARG_CLAMP_TENSOR_SELF, PLUG_ARG_CLAMP_TENSOR_MIN, PLUG_ARG_CLAMP_TENSOR_MAX, PLUG_ARGS_CLAMP_TENSOR };
/* clamp_max: also clamp_max_, clamp_max.out; pointwise */
#define PLUG_SCHEMA_CLAMP_MAX "aten::clamp_max(Tensor self, Scalar max) -> Tensor"
enum { PLUG_ARG_CLAMP_MAX_SELF, PLUG_ARG_CLAMP_MAX_MAX, PLUG_ARGS_CLAMP_MAX };
/* clamp_max.Tensor: also clamp_max_.Tensor, clamp_max.Tensor_out; pointwise */
#define PLUG_SCHEMA_CLAMP_MAX_TENSOR "aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"
enum { PLUG_ARG_CLAMP_MAX_TENSOR_SELF, PLUG_ARG_CLAMP_MAX_TENSOR_MAX, PLUG_ARGS_CLAMP_MAX_TENSOR };
/* clamp_min: also clamp_min_, clamp_min.out; pointwise */
#define PLUG_SCHEMA_CLAMP_MIN "aten::clamp_min(Tensor self, Scalar min) -> Tensor"
enum { PLUG_ARG_CLAMP_MIN_SELF, PLUG_ARG_CLAMP_MIN_MIN, PLUG_ARGS_CLAMP_MIN };
/* clamp_min.Tensor: also clamp_min_.Tensor, clamp_min.Tensor_out; pointwise */
#define PLUG_SCHEMA_CLAMP_MIN_TENSOR "aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"
enum { PLUG_ARG_CLAMP_MIN_TENSOR_SELF, PLUG_ARG_CLAMP_MIN_TENSOR_MIN, PLUG_ARGS_CLAMP_MIN_TENSOR };
/* clone: also clone.out; pointwise */
#define PLUG_SCHEMA_CLONE "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_CLONE_SELF, PLUG_ARG_CLONE_MEMORY_FORMAT, PLUG_ARGS_CLONE };
/* col2im: also col2im.out */
#define PLUG_SCHEMA_COL2IM "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"
enum { PLUG_ARG_COL2IM_SELF, PLUG_ARG_COL2IM_OUTPUT_SIZE, PLUG_ARG_COL2IM_KERNEL_SIZE, PLUG_ARG_COL2IM_DILATION, PLUG_ARG_COL2IM_PADDING, PLUG_ARG_COL2IM_STRIDE, PLUG_ARGS_COL2IM };
/* complex: also complex.out */
#define PLUG_SCHEMA_COMPLEX "aten::complex(Tensor real, Tensor imag) -> Tensor"
enum { PLUG_ARG_COMPLEX_REAL, PLUG_ARG_COMPLEX_IMAG, PLUG_ARGS_COMPLEX };
/* constant_pad_nd: also constant_pad_nd.out */
#define PLUG_SCHEMA_CONSTANT_PAD_ND "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"
enum { PLUG_ARG_CONSTANT_PAD_ND_SELF, PLUG_ARG_CONSTANT_PAD_ND_PAD, PLUG_ARG_CONSTANT_PAD_ND_VALUE, PLUG_ARGS_CONSTANT_PAD_ND };
/* conv_tbc: also conv_tbc.out */
#define PLUG_SCHEMA_CONV_TBC "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor"
enum { PLUG_ARG_CONV_TBC_SELF, PLUG_ARG_CONV_TBC_WEIGHT, PLUG_ARG_CONV_TBC_BIAS, PLUG_ARG_CONV_TBC_PAD, PLUG_ARGS_CONV_TBC };
/* convolution: also convolution.out; backward convolution_backward */
#define PLUG_SCHEMA_CONVOLUTION "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"
enum { PLUG_ARG_CONVOLUTION_INPUT, PLUG_ARG_CONVOLUTION_WEIGHT, PLUG_ARG_CONVOLUTION_BIAS, PLUG_ARG_CONVOLUTION_STRIDE, PLUG_ARG_CONVOLUTION_PADDING, PLUG_ARG_CONVOLUTION_DILATION, PLUG_ARG_CONVOLUTION_TRANSPOSED, PLUG_ARG_CONVOLUTION_OUTPUT_PADDING, PLUG_ARG_CONVOLUTION_GROUPS, PLUG_ARGS_CONVOLUTION };
/* convolution_backward: also convolution_backward.out; backward convolution_backward */
#define PLUG_SCHEMA_CONVOLUTION_BACKWARD "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_CONVOLUTION_BACKWARD_GRAD_OUTPUT, PLUG_ARG_CONVOLUTION_BACKWARD_INPUT, PLUG_ARG_CONVOLUTION_BACKWARD_WEIGHT, PLUG_ARG_CONVOLUTION_BACKWARD_BIAS_SIZES, PLUG_ARG_CONVOLUTION_BACKWARD_STRIDE, PLUG_ARG_CONVOLUTION_BACKWARD_PADDING, PLUG_ARG_CONVOLUTION_BACKWARD_DILATION, PLUG_ARG_CONVOLUTION_BACKWARD_TRANSPOSED, PLUG_ARG_CONVOLUTION_BACKWARD_OUTPUT_PADDING, PLUG_ARG_CONVOLUTION_BACKWARD_GROUPS, PLUG_ARG_CONVOLUTION_BACKWARD_OUTPUT_MASK, PLUG_ARGS_CONVOLUTION_BACKWARD };
/* copysign.Scalar: also copysign_.Scalar, copysign.Scalar_out; pointwise */
#define PLUG_SCHEMA_COPYSIGN_SCALAR "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_COPYSIGN_SCALAR_SELF, PLUG_ARG_COPYSIGN_SCALAR_OTHER, PLUG_ARGS_COPYSIGN_SCALAR };
/* copysign.Tensor: also copysign_.Tensor, copysign.out; pointwise */
#define PLUG_SCHEMA_COPYSIGN_TENSOR "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_COPYSIGN_TENSOR_SELF, PLUG_ARG_COPYSIGN_TENSOR_OTHER, PLUG_ARGS_COPYSIGN_TENSOR };
/* cos: also cos_, cos.out; pointwise */
#define PLUG_SCHEMA_COS "aten::cos(Tensor self) -> Tensor"
enum { PLUG_ARG_COS_SELF, PLUG_ARGS_COS };
/* cosh: also cosh_, cosh.out; pointwise */
#define PLUG_SCHEMA_COSH "aten::cosh(Tensor self) -> Tensor"
enum { PLUG_ARG_COSH_SELF, PLUG_ARGS_COSH };
/* count_nonzero: also count_nonzero.out */
#define PLUG_SCHEMA_COUNT_NONZERO "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor"
enum { PLUG_ARG_COUNT_NONZERO_SELF, PLUG_ARG_COUNT_NONZERO_DIM, PLUG_ARGS_COUNT_NONZERO };
/* count_nonzero.dim_IntList: also count_nonzero.dim_IntList_out */
#define PLUG_SCHEMA_COUNT_NONZERO_DIM_INTLIST "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor"
enum { PLUG_ARG_COUNT_NONZERO_DIM_INTLIST_SELF, PLUG_ARG_COUNT_NONZERO_DIM_INTLIST_DIM, PLUG_ARGS_COUNT_NONZERO_DIM_INTLIST };
/* cummax: also cummax.out */
#define PLUG_SCHEMA_CUMMAX "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_CUMMAX_SELF, PLUG_ARG_CUMMAX_DIM, PLUG_ARGS_CUMMAX };
enum { PLUG_RESULT_CUMMAX_VALUES, PLUG_RESULT_CUMMAX_INDICES, PLUG_RESULTS_CUMMAX };
/* cummin: also cummin.out */
#define PLUG_SCHEMA_CUMMIN "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_CUMMIN_SELF, PLUG_ARG_CUMMIN_DIM, PLUG_ARGS_CUMMIN };
enum { PLUG_RESULT_CUMMIN_VALUES, PLUG_RESULT_CUMMIN_INDICES, PLUG_RESULTS_CUMMIN };
/* cumprod: also cumprod_, cumprod.out */
#define PLUG_SCHEMA_CUMPROD "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_CUMPROD_SELF, PLUG_ARG_CUMPROD_DIM, PLUG_ARG_CUMPROD_DTYPE, PLUG_ARGS_CUMPROD };
/* cumsum: also cumsum_, cumsum.out */
#define PLUG_SCHEMA_CUMSUM "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_CUMSUM_SELF, PLUG_ARG_CUMSUM_DIM, PLUG_ARG_CUMSUM_DTYPE, PLUG_ARGS_CUMSUM };
/* deg2rad: also deg2rad_, deg2rad.out; pointwise */
#define PLUG_SCHEMA_DEG2RAD "aten::deg2rad(Tensor self) -> Tensor"
enum { PLUG_ARG_DEG2RAD_SELF, PLUG_ARGS_DEG2RAD };
/* diag_embed: also diag_embed.out */
#define PLUG_SCHEMA_DIAG_EMBED "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"
enum { PLUG_ARG_DIAG_EMBED_SELF, PLUG_ARG_DIAG_EMBED_OFFSET, PLUG_ARG_DIAG_EMBED_DIM1, PLUG_ARG_DIAG_EMBED_DIM2, PLUG_ARGS_DIAG_EMBED };
/* diagonal_backward: also diagonal_backward.out */
#define PLUG_SCHEMA_DIAGONAL_BACKWARD "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor"
enum { PLUG_ARG_DIAGONAL_BACKWARD_GRAD_OUTPUT, PLUG_ARG_DIAGONAL_BACKWARD_INPUT_SIZES, PLUG_ARG_DIAGONAL_BACKWARD_OFFSET, PLUG_ARG_DIAGONAL_BACKWARD_DIM1, PLUG_ARG_DIAGONAL_BACKWARD_DIM2, PLUG_ARGS_DIAGONAL_BACKWARD };
/* diagonal_scatter: also diagonal_scatter.out */
#define PLUG_SCHEMA_DIAGONAL_SCATTER "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor"
enum { PLUG_ARG_DIAGONAL_SCATTER_SELF, PLUG_ARG_DIAGONAL_SCATTER_SRC, PLUG_ARG_DIAGONAL_SCATTER_OFFSET, PLUG_ARG_DIAGONAL_SCATTER_DIM1, PLUG_ARG_DIAGONAL_SCATTER_DIM2, PLUG_ARGS_DIAGONAL_SCATTER };
/* digamma: also digamma_, digamma.out; pointwise */
#define PLUG_SCHEMA_DIGAMMA "aten::digamma(Tensor self) -> Tensor"
enum { PLUG_ARG_DIGAMMA_SELF, PLUG_ARGS_DIGAMMA };
/* dist: also dist.out */
#define PLUG_SCHEMA_DIST "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"
enum { PLUG_ARG_DIST_SELF, PLUG_ARG_DIST_OTHER, PLUG_ARG_DIST_P, PLUG_ARGS_DIST };
/* div.Scalar: also div_.Scalar, div.Scalar_out; pointwise */
#define PLUG_SCHEMA_DIV_SCALAR "aten::div.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_DIV_SCALAR_SELF, PLUG_ARG_DIV_SCALAR_OTHER, PLUG_ARGS_DIV_SCALAR };
/* div.Scalar_mode: also div_.Scalar_mode, div.Scalar_mode_out; pointwise */
#define PLUG_SCHEMA_DIV_SCALAR_MODE "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"
enum { PLUG_ARG_DIV_SCALAR_MODE_SELF, PLUG_ARG_DIV_SCALAR_MODE_OTHER, PLUG_ARG_DIV_SCALAR_MODE_ROUNDING_MODE, PLUG_ARGS_DIV_SCALAR_MODE };
/* div.Tensor: also div_.Tensor, div.out; pointwise */
#define PLUG_SCHEMA_DIV_TENSOR "aten::div.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_DIV_TENSOR_SELF, PLUG_ARG_DIV_TENSOR_OTHER, PLUG_ARGS_DIV_TENSOR };
/* div.Tensor_mode: also div_.Tensor_mode, div.out_mode; pointwise */
#define PLUG_SCHEMA_DIV_TENSOR_MODE "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"
enum { PLUG_ARG_DIV_TENSOR_MODE_SELF, PLUG_ARG_DIV_TENSOR_MODE_OTHER, PLUG_ARG_DIV_TENSOR_MODE_ROUNDING_MODE, PLUG_ARGS_DIV_TENSOR_MODE };
/* dot: also dot.out */
#define PLUG_SCHEMA_DOT "aten::dot(Tensor self, Tensor tensor) -> Tensor"
enum { PLUG_ARG_DOT_SELF, PLUG_ARG_DOT_TENSOR, PLUG_ARGS_DOT };
/* elu: also elu_, elu.out; pointwise; backward elu_backward */
#define PLUG_SCHEMA_ELU "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"
enum { PLUG_ARG_ELU_SELF, PLUG_ARG_ELU_ALPHA, PLUG_ARG_ELU_SCALE, PLUG_ARG_ELU_INPUT_SCALE, PLUG_ARGS_ELU };
/* elu_backward: also elu_backward.grad_input; backward elu_backward */
#define PLUG_SCHEMA_ELU_BACKWARD "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor"
enum { PLUG_ARG_ELU_BACKWARD_GRAD_OUTPUT, PLUG_ARG_ELU_BACKWARD_ALPHA, PLUG_ARG_ELU_BACKWARD_SCALE, PLUG_ARG_ELU_BACKWARD_INPUT_SCALE, PLUG_ARG_ELU_BACKWARD_IS_RESULT, PLUG_ARG_ELU_BACKWARD_SELF_OR_RESULT, PLUG_ARGS_ELU_BACKWARD };
/* embedding: also embedding.out */
#define PLUG_SCHEMA_EMBEDDING "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor"
enum { PLUG_ARG_EMBEDDING_WEIGHT, PLUG_ARG_EMBEDDING_INDICES, PLUG_ARG_EMBEDDING_PADDING_IDX, PLUG_ARG_EMBEDDING_SCALE_GRAD_BY_FREQ, PLUG_ARG_EMBEDDING_SPARSE, PLUG_ARGS_EMBEDDING };
/* embedding_dense_backward: also embedding_dense_backward.out */
#define PLUG_SCHEMA_EMBEDDING_DENSE_BACKWARD "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor"
enum { PLUG_ARG_EMBEDDING_DENSE_BACKWARD_GRAD_OUTPUT, PLUG_ARG_EMBEDDING_DENSE_BACKWARD_INDICES, PLUG_ARG_EMBEDDING_DENSE_BACKWARD_NUM_WEIGHTS, PLUG_ARG_EMBEDDING_DENSE_BACKWARD_PADDING_IDX, PLUG_ARG_EMBEDDING_DENSE_BACKWARD_SCALE_GRAD_BY_FREQ, PLUG_ARGS_EMBEDDING_DENSE_BACKWARD };
/* embedding_renorm: also embedding_renorm_, embedding_renorm.out */
#define PLUG_SCHEMA_EMBEDDING_RENORM "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor"
enum { PLUG_ARG_EMBEDDING_RENORM_SELF, PLUG_ARG_EMBEDDING_RENORM_INDICES, PLUG_ARG_EMBEDDING_RENORM_MAX_NORM, PLUG_ARG_EMBEDDING_RENORM_NORM_TYPE, PLUG_ARGS_EMBEDDING_RENORM };
/* eq.Scalar: also eq_.Scalar, eq.Scalar_out; pointwise */
#define PLUG_SCHEMA_EQ_SCALAR "aten::eq.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_EQ_SCALAR_SELF, PLUG_ARG_EQ_SCALAR_OTHER, PLUG_ARGS_EQ_SCALAR };
/* eq.Tensor: also eq_.Tensor, eq.Tensor_out; pointwise */
#define PLUG_SCHEMA_EQ_TENSOR "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_EQ_TENSOR_SELF, PLUG_ARG_EQ_TENSOR_OTHER, PLUG_ARGS_EQ_TENSOR };
/* equal: pointwise */
#define PLUG_SCHEMA_EQUAL "aten::equal(Tensor self, Tensor other) -> bool"
enum { PLUG_ARG_EQUAL_SELF, PLUG_ARG_EQUAL_OTHER, PLUG_ARGS_EQUAL };
/* erf: also erf_, erf.out; pointwise */
#define PLUG_SCHEMA_ERF "aten::erf(Tensor self) -> Tensor"
enum { PLUG_ARG_ERF_SELF, PLUG_ARGS_ERF };
/* erfc: also erfc_, erfc.out; pointwise */
#define PLUG_SCHEMA_ERFC "aten::erfc(Tensor self) -> Tensor"
enum { PLUG_ARG_ERFC_SELF, PLUG_ARGS_ERFC };
/* erfinv: also erfinv_, erfinv.out; pointwise */
#define PLUG_SCHEMA_ERFINV "aten::erfinv(Tensor self) -> Tensor"
enum { PLUG_ARG_ERFINV_SELF, PLUG_ARGS_ERFINV };
/* exp: also exp_, exp.out; pointwise */
#define PLUG_SCHEMA_EXP "aten::exp(Tensor self) -> Tensor"
enum { PLUG_ARG_EXP_SELF, PLUG_ARGS_EXP };
/* exp2: also exp2_, exp2.out; pointwise */
#define PLUG_SCHEMA_EXP2 "aten::exp2(Tensor self) -> Tensor"
enum { PLUG_ARG_EXP2_SELF, PLUG_ARGS_EXP2 };
/* expm1: also expm1_, expm1.out; pointwise */
#define PLUG_SCHEMA_EXPM1 "aten::expm1(Tensor self) -> Tensor"
enum { PLUG_ARG_EXPM1_SELF, PLUG_ARGS_EXPM1 };
/* exponential: also exponential_, exponential.out */
#define PLUG_SCHEMA_EXPONENTIAL "aten::exponential(Tensor self, float lambd=1, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_EXPONENTIAL_SELF, PLUG_ARG_EXPONENTIAL_LAMBD, PLUG_ARG_EXPONENTIAL_GENERATOR, PLUG_ARGS_EXPONENTIAL };
/* eye */
#define PLUG_SCHEMA_EYE "aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_EYE_N, PLUG_ARG_EYE_DTYPE, PLUG_ARG_EYE_LAYOUT, PLUG_ARG_EYE_DEVICE, PLUG_ARG_EYE_PIN_MEMORY, PLUG_ARGS_EYE };
/* eye.m */
#define PLUG_SCHEMA_EYE_M "aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_EYE_M_N, PLUG_ARG_EYE_M_M, PLUG_ARG_EYE_M_DTYPE, PLUG_ARG_EYE_M_LAYOUT, PLUG_ARG_EYE_M_DEVICE, PLUG_ARG_EYE_M_PIN_MEMORY, PLUG_ARGS_EYE_M };
/* eye.m_out */
#define PLUG_SCHEMA_EYE_M_OUT "aten::eye.m_out(SymInt n, SymInt m, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_EYE_M_OUT_N, PLUG_ARG_EYE_M_OUT_M, PLUG_ARG_EYE_M_OUT_OUT, PLUG_ARGS_EYE_M_OUT };
/* eye.out */
#define PLUG_SCHEMA_EYE_OUT "aten::eye.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_EYE_OUT_N, PLUG_ARG_EYE_OUT_OUT, PLUG_ARGS_EYE_OUT };
/* fft_fftfreq */
#define PLUG_SCHEMA_FFT_FFTFREQ "aten::fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_FFT_FFTFREQ_N, PLUG_ARG_FFT_FFTFREQ_D, PLUG_ARG_FFT_FFTFREQ_DTYPE, PLUG_ARG_FFT_FFTFREQ_LAYOUT, PLUG_ARG_FFT_FFTFREQ_DEVICE, PLUG_ARG_FFT_FFTFREQ_PIN_MEMORY, PLUG_ARGS_FFT_FFTFREQ };
/* fft_fftfreq.out */
#define PLUG_SCHEMA_FFT_FFTFREQ_OUT "aten::fft_fftfreq.out(int n, float d=1.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_FFT_FFTFREQ_OUT_N, PLUG_ARG_FFT_FFTFREQ_OUT_D, PLUG_ARG_FFT_FFTFREQ_OUT_OUT, PLUG_ARGS_FFT_FFTFREQ_OUT };
/* fft_rfftfreq */
#define PLUG_SCHEMA_FFT_RFFTFREQ "aten::fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_FFT_RFFTFREQ_N, PLUG_ARG_FFT_RFFTFREQ_D, PLUG_ARG_FFT_RFFTFREQ_DTYPE, PLUG_ARG_FFT_RFFTFREQ_LAYOUT, PLUG_ARG_FFT_RFFTFREQ_DEVICE, PLUG_ARG_FFT_RFFTFREQ_PIN_MEMORY, PLUG_ARGS_FFT_RFFTFREQ };
/* fft_rfftfreq.out */
#define PLUG_SCHEMA_FFT_RFFTFREQ_OUT "aten::fft_rfftfreq.out(int n, float d=1.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_FFT_RFFTFREQ_OUT_N, PLUG_ARG_FFT_RFFTFREQ_OUT_D, PLUG_ARG_FFT_RFFTFREQ_OUT_OUT, PLUG_ARGS_FFT_RFFTFREQ_OUT };
/* fill.Scalar: also fill_.Scalar, fill.Scalar_out */
#define PLUG_SCHEMA_FILL_SCALAR "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor"
enum { PLUG_ARG_FILL_SCALAR_SELF, PLUG_ARG_FILL_SCALAR_VALUE, PLUG_ARGS_FILL_SCALAR };
/* fill.Tensor: also fill_.Tensor, fill.Tensor_out */
#define PLUG_SCHEMA_FILL_TENSOR "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor"
enum { PLUG_ARG_FILL_TENSOR_SELF, PLUG_ARG_FILL_TENSOR_VALUE, PLUG_ARGS_FILL_TENSOR };
/* flip: also flip.out */
#define PLUG_SCHEMA_FLIP "aten::flip(Tensor self, int[] dims) -> Tensor"
enum { PLUG_ARG_FLIP_SELF, PLUG_ARG_FLIP_DIMS, PLUG_ARGS_FLIP };
/* floor: also floor_, floor.out; pointwise */
#define PLUG_SCHEMA_FLOOR "aten::floor(Tensor self) -> Tensor"
enum { PLUG_ARG_FLOOR_SELF, PLUG_ARGS_FLOOR };
/* floor_divide: also floor_divide.out */
#define PLUG_SCHEMA_FLOOR_DIVIDE "aten::floor_divide(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_FLOOR_DIVIDE_SELF, PLUG_ARG_FLOOR_DIVIDE_OTHER, PLUG_ARGS_FLOOR_DIVIDE };
/* floor_divide.Scalar: also floor_divide_.Scalar, floor_divide.Scalar_out */
#define PLUG_SCHEMA_FLOOR_DIVIDE_SCALAR "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_FLOOR_DIVIDE_SCALAR_SELF, PLUG_ARG_FLOOR_DIVIDE_SCALAR_OTHER, PLUG_ARGS_FLOOR_DIVIDE_SCALAR };
/* floor_divide_.Tensor */
#define PLUG_SCHEMA_FLOOR_DIVIDE__TENSOR "aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
enum { PLUG_ARG_FLOOR_DIVIDE__TENSOR_SELF, PLUG_ARG_FLOOR_DIVIDE__TENSOR_OTHER, PLUG_ARGS_FLOOR_DIVIDE__TENSOR };
/* fmax: also fmax.out; pointwise */
#define PLUG_SCHEMA_FMAX "aten::fmax(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_FMAX_SELF, PLUG_ARG_FMAX_OTHER, PLUG_ARGS_FMAX };
/* fmin: also fmin.out; pointwise */
#define PLUG_SCHEMA_FMIN "aten::fmin(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_FMIN_SELF, PLUG_ARG_FMIN_OTHER, PLUG_ARGS_FMIN };
/* fmod.Scalar: also fmod_.Scalar, fmod.Scalar_out; pointwise */
#define PLUG_SCHEMA_FMOD_SCALAR "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_FMOD_SCALAR_SELF, PLUG_ARG_FMOD_SCALAR_OTHER, PLUG_ARGS_FMOD_SCALAR };
/* fmod.Tensor: also fmod_.Tensor, fmod.Tensor_out; pointwise */
#define PLUG_SCHEMA_FMOD_TENSOR "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_FMOD_TENSOR_SELF, PLUG_ARG_FMOD_TENSOR_OTHER, PLUG_ARGS_FMOD_TENSOR };
/* frac: also frac_, frac.out; pointwise */
#define PLUG_SCHEMA_FRAC "aten::frac(Tensor self) -> Tensor"
enum { PLUG_ARG_FRAC_SELF, PLUG_ARGS_FRAC };
/* fractional_max_pool2d: also fractional_max_pool2d.output; backward fractional_max_pool2d_backward */
#define PLUG_SCHEMA_FRACTIONAL_MAX_POOL2D "aten::fractional_max_pool2d(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor, Tensor)"
enum { PLUG_ARG_FRACTIONAL_MAX_POOL2D_SELF, PLUG_ARG_FRACTIONAL_MAX_POOL2D_KERNEL_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL2D_OUTPUT_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL2D_RANDOM_SAMPLES, PLUG_ARGS_FRACTIONAL_MAX_POOL2D };
/* fractional_max_pool2d_backward: also fractional_max_pool2d_backward.grad_input */
#define PLUG_SCHEMA_FRACTIONAL_MAX_POOL2D_BACKWARD "aten::fractional_max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] output_size, Tensor indices) -> Tensor"
enum { PLUG_ARG_FRACTIONAL_MAX_POOL2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_FRACTIONAL_MAX_POOL2D_BACKWARD_SELF, PLUG_ARG_FRACTIONAL_MAX_POOL2D_BACKWARD_KERNEL_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL2D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL2D_BACKWARD_INDICES, PLUG_ARGS_FRACTIONAL_MAX_POOL2D_BACKWARD };
/* fractional_max_pool3d: also fractional_max_pool3d.output; backward fractional_max_pool3d_backward */
#define PLUG_SCHEMA_FRACTIONAL_MAX_POOL3D "aten::fractional_max_pool3d(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor, Tensor)"
enum { PLUG_ARG_FRACTIONAL_MAX_POOL3D_SELF, PLUG_ARG_FRACTIONAL_MAX_POOL3D_KERNEL_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL3D_OUTPUT_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL3D_RANDOM_SAMPLES, PLUG_ARGS_FRACTIONAL_MAX_POOL3D };
/* fractional_max_pool3d_backward: also fractional_max_pool3d_backward.grad_input */
#define PLUG_SCHEMA_FRACTIONAL_MAX_POOL3D_BACKWARD "aten::fractional_max_pool3d_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] output_size, Tensor indices) -> Tensor"
enum { PLUG_ARG_FRACTIONAL_MAX_POOL3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_FRACTIONAL_MAX_POOL3D_BACKWARD_SELF, PLUG_ARG_FRACTIONAL_MAX_POOL3D_BACKWARD_KERNEL_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL3D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_FRACTIONAL_MAX_POOL3D_BACKWARD_INDICES, PLUG_ARGS_FRACTIONAL_MAX_POOL3D_BACKWARD };
/* frexp.Tensor: also frexp.Tensor_out; pointwise */
#define PLUG_SCHEMA_FREXP_TENSOR "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)"
enum { PLUG_ARG_FREXP_TENSOR_SELF, PLUG_ARGS_FREXP_TENSOR };
enum { PLUG_RESULT_FREXP_TENSOR_MANTISSA, PLUG_RESULT_FREXP_TENSOR_EXPONENT, PLUG_RESULTS_FREXP_TENSOR };
/* full */
#define PLUG_SCHEMA_FULL "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_FULL_SIZE, PLUG_ARG_FULL_FILL_VALUE, PLUG_ARG_FULL_DTYPE, PLUG_ARG_FULL_LAYOUT, PLUG_ARG_FULL_DEVICE, PLUG_ARG_FULL_PIN_MEMORY, PLUG_ARGS_FULL };
/* full.out */
#define PLUG_SCHEMA_FULL_OUT "aten::full.out(SymInt[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_FULL_OUT_SIZE, PLUG_ARG_FULL_OUT_FILL_VALUE, PLUG_ARG_FULL_OUT_OUT, PLUG_ARGS_FULL_OUT };
/* full_like */
#define PLUG_SCHEMA_FULL_LIKE "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_FULL_LIKE_SELF, PLUG_ARG_FULL_LIKE_FILL_VALUE, PLUG_ARG_FULL_LIKE_DTYPE, PLUG_ARG_FULL_LIKE_LAYOUT, PLUG_ARG_FULL_LIKE_DEVICE, PLUG_ARG_FULL_LIKE_PIN_MEMORY, PLUG_ARG_FULL_LIKE_MEMORY_FORMAT, PLUG_ARGS_FULL_LIKE };
/* gather: also gather.out */
#define PLUG_SCHEMA_GATHER "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"
enum { PLUG_ARG_GATHER_SELF, PLUG_ARG_GATHER_DIM, PLUG_ARG_GATHER_INDEX, PLUG_ARG_GATHER_SPARSE_GRAD, PLUG_ARGS_GATHER };
/* gcd: also gcd_, gcd.out; pointwise */
#define PLUG_SCHEMA_GCD "aten::gcd(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_GCD_SELF, PLUG_ARG_GCD_OTHER, PLUG_ARGS_GCD };
/* ge.Scalar: also ge_.Scalar, ge.Scalar_out; pointwise */
#define PLUG_SCHEMA_GE_SCALAR "aten::ge.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_GE_SCALAR_SELF, PLUG_ARG_GE_SCALAR_OTHER, PLUG_ARGS_GE_SCALAR };
/* ge.Tensor: also ge_.Tensor, ge.Tensor_out; pointwise */
#define PLUG_SCHEMA_GE_TENSOR "aten::ge.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_GE_TENSOR_SELF, PLUG_ARG_GE_TENSOR_OTHER, PLUG_ARGS_GE_TENSOR };
/* gelu: also gelu_, gelu.out; pointwise; backward gelu_backward */
#define PLUG_SCHEMA_GELU "aten::gelu(Tensor self, *, str approximate='none') -> Tensor"
enum { PLUG_ARG_GELU_SELF, PLUG_ARG_GELU_APPROXIMATE, PLUG_ARGS_GELU };
/* gelu_backward: also gelu_backward.grad_input; pointwise; backward gelu_backward */
#define PLUG_SCHEMA_GELU_BACKWARD "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor"
enum { PLUG_ARG_GELU_BACKWARD_GRAD_OUTPUT, PLUG_ARG_GELU_BACKWARD_SELF, PLUG_ARG_GELU_BACKWARD_APPROXIMATE, PLUG_ARGS_GELU_BACKWARD };
/* geometric: also geometric_, geometric.out */
#define PLUG_SCHEMA_GEOMETRIC "aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_GEOMETRIC_SELF, PLUG_ARG_GEOMETRIC_P, PLUG_ARG_GEOMETRIC_GENERATOR, PLUG_ARGS_GEOMETRIC };
/* geqrf: also geqrf.a */
#define PLUG_SCHEMA_GEQRF "aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)"
enum { PLUG_ARG_GEQRF_SELF, PLUG_ARGS_GEQRF };
enum { PLUG_RESULT_GEQRF_A, PLUG_RESULT_GEQRF_TAU, PLUG_RESULTS_GEQRF };
/* glu: also glu.out; backward glu_backward */
#define PLUG_SCHEMA_GLU "aten::glu(Tensor self, int dim=-1) -> Tensor"
enum { PLUG_ARG_GLU_SELF, PLUG_ARG_GLU_DIM, PLUG_ARGS_GLU };
/* glu_backward: also glu_backward.grad_input; backward glu_backward_jvp */
#define PLUG_SCHEMA_GLU_BACKWARD "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor"
enum { PLUG_ARG_GLU_BACKWARD_GRAD_OUTPUT, PLUG_ARG_GLU_BACKWARD_SELF, PLUG_ARG_GLU_BACKWARD_DIM, PLUG_ARGS_GLU_BACKWARD };
/* glu_backward_jvp: also glu_backward_jvp.out */
#define PLUG_SCHEMA_GLU_BACKWARD_JVP "aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor"
enum { PLUG_ARG_GLU_BACKWARD_JVP_GRAD_X, PLUG_ARG_GLU_BACKWARD_JVP_GRAD_GLU, PLUG_ARG_GLU_BACKWARD_JVP_X, PLUG_ARG_GLU_BACKWARD_JVP_DGRAD_GLU, PLUG_ARG_GLU_BACKWARD_JVP_DX, PLUG_ARG_GLU_BACKWARD_JVP_DIM, PLUG_ARGS_GLU_BACKWARD_JVP };
/* glu_jvp: also glu_jvp.out */
#define PLUG_SCHEMA_GLU_JVP "aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor"
enum { PLUG_ARG_GLU_JVP_GLU, PLUG_ARG_GLU_JVP_X, PLUG_ARG_GLU_JVP_DX, PLUG_ARG_GLU_JVP_DIM, PLUG_ARGS_GLU_JVP };
/* grid_sampler_2d: also grid_sampler_2d.out; backward grid_sampler_2d_backward */
#define PLUG_SCHEMA_GRID_SAMPLER_2D "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"
enum { PLUG_ARG_GRID_SAMPLER_2D_INPUT, PLUG_ARG_GRID_SAMPLER_2D_GRID, PLUG_ARG_GRID_SAMPLER_2D_INTERPOLATION_MODE, PLUG_ARG_GRID_SAMPLER_2D_PADDING_MODE, PLUG_ARG_GRID_SAMPLER_2D_ALIGN_CORNERS, PLUG_ARGS_GRID_SAMPLER_2D };
/* grid_sampler_2d_backward: also grid_sampler_2d_backward.out */
#define PLUG_SCHEMA_GRID_SAMPLER_2D_BACKWARD "aten::grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)"
enum { PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_INPUT, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_GRID, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_INTERPOLATION_MODE, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_PADDING_MODE, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_GRID_SAMPLER_2D_BACKWARD_OUTPUT_MASK, PLUG_ARGS_GRID_SAMPLER_2D_BACKWARD };
/* grid_sampler_3d: also grid_sampler_3d.out; backward grid_sampler_3d_backward */
#define PLUG_SCHEMA_GRID_SAMPLER_3D "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"
enum { PLUG_ARG_GRID_SAMPLER_3D_INPUT, PLUG_ARG_GRID_SAMPLER_3D_GRID, PLUG_ARG_GRID_SAMPLER_3D_INTERPOLATION_MODE, PLUG_ARG_GRID_SAMPLER_3D_PADDING_MODE, PLUG_ARG_GRID_SAMPLER_3D_ALIGN_CORNERS, PLUG_ARGS_GRID_SAMPLER_3D };
/* grid_sampler_3d_backward: also grid_sampler_3d_backward.out */
#define PLUG_SCHEMA_GRID_SAMPLER_3D_BACKWARD "aten::grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)"
enum { PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_INPUT, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_GRID, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_INTERPOLATION_MODE, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_PADDING_MODE, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_GRID_SAMPLER_3D_BACKWARD_OUTPUT_MASK, PLUG_ARGS_GRID_SAMPLER_3D_BACKWARD };
/* gt.Scalar: also gt_.Scalar, gt.Scalar_out; pointwise */
#define PLUG_SCHEMA_GT_SCALAR "aten::gt.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_GT_SCALAR_SELF, PLUG_ARG_GT_SCALAR_OTHER, PLUG_ARGS_GT_SCALAR };
/* gt.Tensor: also gt_.Tensor, gt.Tensor_out; pointwise */
#define PLUG_SCHEMA_GT_TENSOR "aten::gt.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_GT_TENSOR_SELF, PLUG_ARG_GT_TENSOR_OTHER, PLUG_ARGS_GT_TENSOR };
/* hamming_window */
#define PLUG_SCHEMA_HAMMING_WINDOW "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HAMMING_WINDOW_WINDOW_LENGTH, PLUG_ARG_HAMMING_WINDOW_DTYPE, PLUG_ARG_HAMMING_WINDOW_LAYOUT, PLUG_ARG_HAMMING_WINDOW_DEVICE, PLUG_ARG_HAMMING_WINDOW_PIN_MEMORY, PLUG_ARGS_HAMMING_WINDOW };
/* hamming_window.periodic */
#define PLUG_SCHEMA_HAMMING_WINDOW_PERIODIC "aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HAMMING_WINDOW_PERIODIC_WINDOW_LENGTH, PLUG_ARG_HAMMING_WINDOW_PERIODIC_PERIODIC, PLUG_ARG_HAMMING_WINDOW_PERIODIC_DTYPE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_LAYOUT, PLUG_ARG_HAMMING_WINDOW_PERIODIC_DEVICE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_PIN_MEMORY, PLUG_ARGS_HAMMING_WINDOW_PERIODIC };
/* hamming_window.periodic_alpha */
#define PLUG_SCHEMA_HAMMING_WINDOW_PERIODIC_ALPHA "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_WINDOW_LENGTH, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_PERIODIC, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_ALPHA, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_DTYPE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_LAYOUT, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_DEVICE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_PIN_MEMORY, PLUG_ARGS_HAMMING_WINDOW_PERIODIC_ALPHA };
/* hamming_window.periodic_alpha_beta */
#define PLUG_SCHEMA_HAMMING_WINDOW_PERIODIC_ALPHA_BETA "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_WINDOW_LENGTH, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_PERIODIC, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_ALPHA, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_BETA, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_DTYPE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_LAYOUT, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_DEVICE, PLUG_ARG_HAMMING_WINDOW_PERIODIC_ALPHA_BETA_PIN_MEMORY, PLUG_ARGS_HAMMING_WINDOW_PERIODIC_ALPHA_BETA };
/* hann_window */
#define PLUG_SCHEMA_HANN_WINDOW "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HANN_WINDOW_WINDOW_LENGTH, PLUG_ARG_HANN_WINDOW_DTYPE, PLUG_ARG_HANN_WINDOW_LAYOUT, PLUG_ARG_HANN_WINDOW_DEVICE, PLUG_ARG_HANN_WINDOW_PIN_MEMORY, PLUG_ARGS_HANN_WINDOW };
/* hann_window.periodic */
#define PLUG_SCHEMA_HANN_WINDOW_PERIODIC "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_HANN_WINDOW_PERIODIC_WINDOW_LENGTH, PLUG_ARG_HANN_WINDOW_PERIODIC_PERIODIC, PLUG_ARG_HANN_WINDOW_PERIODIC_DTYPE, PLUG_ARG_HANN_WINDOW_PERIODIC_LAYOUT, PLUG_ARG_HANN_WINDOW_PERIODIC_DEVICE, PLUG_ARG_HANN_WINDOW_PERIODIC_PIN_MEMORY, PLUG_ARGS_HANN_WINDOW_PERIODIC };
/* hardshrink: also hardshrink.out; pointwise; backward hardshrink_backward */
#define PLUG_SCHEMA_HARDSHRINK "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"
enum { PLUG_ARG_HARDSHRINK_SELF, PLUG_ARG_HARDSHRINK_LAMBD, PLUG_ARGS_HARDSHRINK };
/* hardshrink_backward: also hardshrink_backward.grad_input; backward hardshrink_backward */
#define PLUG_SCHEMA_HARDSHRINK_BACKWARD "aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor"
enum { PLUG_ARG_HARDSHRINK_BACKWARD_GRAD_OUT, PLUG_ARG_HARDSHRINK_BACKWARD_SELF, PLUG_ARG_HARDSHRINK_BACKWARD_LAMBD, PLUG_ARGS_HARDSHRINK_BACKWARD };
/* hardsigmoid: also hardsigmoid_, hardsigmoid.out; pointwise; backward hardsigmoid_backward */
#define PLUG_SCHEMA_HARDSIGMOID "aten::hardsigmoid(Tensor self) -> Tensor"
enum { PLUG_ARG_HARDSIGMOID_SELF, PLUG_ARGS_HARDSIGMOID };
/* hardsigmoid_backward: also hardsigmoid_backward.grad_input */
#define PLUG_SCHEMA_HARDSIGMOID_BACKWARD "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG_HARDSIGMOID_BACKWARD_GRAD_OUTPUT, PLUG_ARG_HARDSIGMOID_BACKWARD_SELF, PLUG_ARGS_HARDSIGMOID_BACKWARD };
/* hardswish: also hardswish_, hardswish.out; backward hardswish_backward */
#define PLUG_SCHEMA_HARDSWISH "aten::hardswish(Tensor self) -> Tensor"
enum { PLUG_ARG_HARDSWISH_SELF, PLUG_ARGS_HARDSWISH };
/* hardswish_backward: also hardswish_backward.out; backward hardswish_backward */
#define PLUG_SCHEMA_HARDSWISH_BACKWARD "aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG_HARDSWISH_BACKWARD_GRAD_OUTPUT, PLUG_ARG_HARDSWISH_BACKWARD_SELF, PLUG_ARGS_HARDSWISH_BACKWARD };
/* hardtanh: also hardtanh_, hardtanh.out; pointwise; backward hardtanh_backward */
#define PLUG_SCHEMA_HARDTANH "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"
enum { PLUG_ARG_HARDTANH_SELF, PLUG_ARG_HARDTANH_MIN_VAL, PLUG_ARG_HARDTANH_MAX_VAL, PLUG_ARGS_HARDTANH };
/* hardtanh_backward: also hardtanh_backward.grad_input; backward hardtanh_backward */
#define PLUG_SCHEMA_HARDTANH_BACKWARD "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor"
enum { PLUG_ARG_HARDTANH_BACKWARD_GRAD_OUTPUT, PLUG_ARG_HARDTANH_BACKWARD_SELF, PLUG_ARG_HARDTANH_BACKWARD_MIN_VAL, PLUG_ARG_HARDTANH_BACKWARD_MAX_VAL, PLUG_ARGS_HARDTANH_BACKWARD };
/* hash_tensor: also hash_tensor.out */
#define PLUG_SCHEMA_HASH_TENSOR "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor"
enum { PLUG_ARG_HASH_TENSOR_SELF, PLUG_ARG_HASH_TENSOR_DIM, PLUG_ARG_HASH_TENSOR_KEEPDIM, PLUG_ARG_HASH_TENSOR_MODE, PLUG_ARGS_HASH_TENSOR };
/* heaviside: also heaviside_, heaviside.out; pointwise */
#define PLUG_SCHEMA_HEAVISIDE "aten::heaviside(Tensor self, Tensor values) -> Tensor"
enum { PLUG_ARG_HEAVISIDE_SELF, PLUG_ARG_HEAVISIDE_VALUES, PLUG_ARGS_HEAVISIDE };
/* histc: also histc.out */
#define PLUG_SCHEMA_HISTC "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"
enum { PLUG_ARG_HISTC_SELF, PLUG_ARG_HISTC_BINS, PLUG_ARG_HISTC_MIN, PLUG_ARG_HISTC_MAX, PLUG_ARGS_HISTC };
/* histogram.bin_ct: also histogram.bin_ct_out */
#define PLUG_SCHEMA_HISTOGRAM_BIN_CT "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)"
enum { PLUG_ARG_HISTOGRAM_BIN_CT_SELF, PLUG_ARG_HISTOGRAM_BIN_CT_BINS, PLUG_ARG_HISTOGRAM_BIN_CT_RANGE, PLUG_ARG_HISTOGRAM_BIN_CT_WEIGHT, PLUG_ARG_HISTOGRAM_BIN_CT_DENSITY, PLUG_ARGS_HISTOGRAM_BIN_CT };
enum { PLUG_RESULT_HISTOGRAM_BIN_CT_HIST, PLUG_RESULT_HISTOGRAM_BIN_CT_BIN_EDGES, PLUG_RESULTS_HISTOGRAM_BIN_CT };
/* histogram.bins_tensor: also histogram.bins_tensor_out */
#define PLUG_SCHEMA_HISTOGRAM_BINS_TENSOR "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)"
enum { PLUG_ARG_HISTOGRAM_BINS_TENSOR_SELF, PLUG_ARG_HISTOGRAM_BINS_TENSOR_BINS, PLUG_ARG_HISTOGRAM_BINS_TENSOR_WEIGHT, PLUG_ARG_HISTOGRAM_BINS_TENSOR_DENSITY, PLUG_ARGS_HISTOGRAM_BINS_TENSOR };
enum { PLUG_RESULT_HISTOGRAM_BINS_TENSOR_HIST, PLUG_RESULT_HISTOGRAM_BINS_TENSOR_BIN_EDGES, PLUG_RESULTS_HISTOGRAM_BINS_TENSOR };
/* huber_loss: also huber_loss.out; backward huber_loss_backward */
#define PLUG_SCHEMA_HUBER_LOSS "aten::huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor"
enum { PLUG_ARG_HUBER_LOSS_SELF, PLUG_ARG_HUBER_LOSS_TARGET, PLUG_ARG_HUBER_LOSS_REDUCTION, PLUG_ARG_HUBER_LOSS_DELTA, PLUG_ARGS_HUBER_LOSS };
/* huber_loss_backward: also huber_loss_backward.out */
#define PLUG_SCHEMA_HUBER_LOSS_BACKWARD "aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor"
enum { PLUG_ARG_HUBER_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_HUBER_LOSS_BACKWARD_SELF, PLUG_ARG_HUBER_LOSS_BACKWARD_TARGET, PLUG_ARG_HUBER_LOSS_BACKWARD_REDUCTION, PLUG_ARG_HUBER_LOSS_BACKWARD_DELTA, PLUG_ARGS_HUBER_LOSS_BACKWARD };
/* hypot: also hypot_, hypot.out; pointwise */
#define PLUG_SCHEMA_HYPOT "aten::hypot(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_HYPOT_SELF, PLUG_ARG_HYPOT_OTHER, PLUG_ARGS_HYPOT };
/* i0: also i0_, i0.out; pointwise */
#define PLUG_SCHEMA_I0 "aten::i0(Tensor self) -> Tensor"
enum { PLUG_ARG_I0_SELF, PLUG_ARGS_I0 };
/* igamma: also igamma_, igamma.out; pointwise */
#define PLUG_SCHEMA_IGAMMA "aten::igamma(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_IGAMMA_SELF, PLUG_ARG_IGAMMA_OTHER, PLUG_ARGS_IGAMMA };
/* igammac: also igammac_, igammac.out; pointwise */
#define PLUG_SCHEMA_IGAMMAC "aten::igammac(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_IGAMMAC_SELF, PLUG_ARG_IGAMMAC_OTHER, PLUG_ARGS_IGAMMAC };
/* im2col: also im2col.out */
#define PLUG_SCHEMA_IM2COL "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"
enum { PLUG_ARG_IM2COL_SELF, PLUG_ARG_IM2COL_KERNEL_SIZE, PLUG_ARG_IM2COL_DILATION, PLUG_ARG_IM2COL_PADDING, PLUG_ARG_IM2COL_STRIDE, PLUG_ARGS_IM2COL };
/* index.Tensor: also index.Tensor_out */
#define PLUG_SCHEMA_INDEX_TENSOR "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor"
enum { PLUG_ARG_INDEX_TENSOR_SELF, PLUG_ARG_INDEX_TENSOR_INDICES, PLUG_ARGS_INDEX_TENSOR };
/* index_add: also index_add_, index_add.out */
#define PLUG_SCHEMA_INDEX_ADD "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_INDEX_ADD_SELF, PLUG_ARG_INDEX_ADD_DIM, PLUG_ARG_INDEX_ADD_INDEX, PLUG_ARG_INDEX_ADD_SOURCE, PLUG_ARG_INDEX_ADD_ALPHA, PLUG_ARGS_INDEX_ADD };
/* index_copy: also index_copy_, index_copy.out */
#define PLUG_SCHEMA_INDEX_COPY "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"
enum { PLUG_ARG_INDEX_COPY_SELF, PLUG_ARG_INDEX_COPY_DIM, PLUG_ARG_INDEX_COPY_INDEX, PLUG_ARG_INDEX_COPY_SOURCE, PLUG_ARGS_INDEX_COPY };
/* index_fill.int_Scalar: also index_fill_.int_Scalar, index_fill.int_Scalar_out */
#define PLUG_SCHEMA_INDEX_FILL_INT_SCALAR "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"
enum { PLUG_ARG_INDEX_FILL_INT_SCALAR_SELF, PLUG_ARG_INDEX_FILL_INT_SCALAR_DIM, PLUG_ARG_INDEX_FILL_INT_SCALAR_INDEX, PLUG_ARG_INDEX_FILL_INT_SCALAR_VALUE, PLUG_ARGS_INDEX_FILL_INT_SCALAR };
/* index_fill.int_Tensor: also index_fill_.int_Tensor, index_fill.int_Tensor_out */
#define PLUG_SCHEMA_INDEX_FILL_INT_TENSOR "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor"
enum { PLUG_ARG_INDEX_FILL_INT_TENSOR_SELF, PLUG_ARG_INDEX_FILL_INT_TENSOR_DIM, PLUG_ARG_INDEX_FILL_INT_TENSOR_INDEX, PLUG_ARG_INDEX_FILL_INT_TENSOR_VALUE, PLUG_ARGS_INDEX_FILL_INT_TENSOR };
/* index_put: also index_put_, index_put.out */
#define PLUG_SCHEMA_INDEX_PUT "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"
enum { PLUG_ARG_INDEX_PUT_SELF, PLUG_ARG_INDEX_PUT_INDICES, PLUG_ARG_INDEX_PUT_VALUES, PLUG_ARG_INDEX_PUT_ACCUMULATE, PLUG_ARGS_INDEX_PUT };
/* index_reduce: also index_reduce_, index_reduce.out */
#define PLUG_SCHEMA_INDEX_REDUCE "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"
enum { PLUG_ARG_INDEX_REDUCE_SELF, PLUG_ARG_INDEX_REDUCE_DIM, PLUG_ARG_INDEX_REDUCE_INDEX, PLUG_ARG_INDEX_REDUCE_SOURCE, PLUG_ARG_INDEX_REDUCE_REDUCE, PLUG_ARG_INDEX_REDUCE_INCLUDE_SELF, PLUG_ARGS_INDEX_REDUCE };
/* index_select: also index_select.out */
#define PLUG_SCHEMA_INDEX_SELECT "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor"
enum { PLUG_ARG_INDEX_SELECT_SELF, PLUG_ARG_INDEX_SELECT_DIM, PLUG_ARG_INDEX_SELECT_INDEX, PLUG_ARGS_INDEX_SELECT };
/* isin.Scalar_Tensor: also isin.Scalar_Tensor_out */
#define PLUG_SCHEMA_ISIN_SCALAR_TENSOR "aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"
enum { PLUG_ARG_ISIN_SCALAR_TENSOR_ELEMENT, PLUG_ARG_ISIN_SCALAR_TENSOR_TEST_ELEMENTS, PLUG_ARG_ISIN_SCALAR_TENSOR_ASSUME_UNIQUE, PLUG_ARG_ISIN_SCALAR_TENSOR_INVERT, PLUG_ARGS_ISIN_SCALAR_TENSOR };
/* isin.Tensor_Scalar: also isin.Tensor_Scalar_out */
#define PLUG_SCHEMA_ISIN_TENSOR_SCALAR "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor"
enum { PLUG_ARG_ISIN_TENSOR_SCALAR_ELEMENTS, PLUG_ARG_ISIN_TENSOR_SCALAR_TEST_ELEMENT, PLUG_ARG_ISIN_TENSOR_SCALAR_ASSUME_UNIQUE, PLUG_ARG_ISIN_TENSOR_SCALAR_INVERT, PLUG_ARGS_ISIN_TENSOR_SCALAR };
/* isin.Tensor_Tensor: also isin.Tensor_Tensor_out */
#define PLUG_SCHEMA_ISIN_TENSOR_TENSOR "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"
enum { PLUG_ARG_ISIN_TENSOR_TENSOR_ELEMENTS, PLUG_ARG_ISIN_TENSOR_TENSOR_TEST_ELEMENTS, PLUG_ARG_ISIN_TENSOR_TENSOR_ASSUME_UNIQUE, PLUG_ARG_ISIN_TENSOR_TENSOR_INVERT, PLUG_ARGS_ISIN_TENSOR_TENSOR };
/* isinf: also isinf.out; pointwise */
#define PLUG_SCHEMA_ISINF "aten::isinf(Tensor self) -> Tensor"
enum { PLUG_ARG_ISINF_SELF, PLUG_ARGS_ISINF };
/* isnan: also isnan.out; pointwise */
#define PLUG_SCHEMA_ISNAN "aten::isnan(Tensor self) -> Tensor"
enum { PLUG_ARG_ISNAN_SELF, PLUG_ARGS_ISNAN };
/* isneginf: also isneginf.out; pointwise */
#define PLUG_SCHEMA_ISNEGINF "aten::isneginf(Tensor self) -> Tensor"
enum { PLUG_ARG_ISNEGINF_SELF, PLUG_ARGS_ISNEGINF };
/* isposinf: also isposinf.out; pointwise */
#define PLUG_SCHEMA_ISPOSINF "aten::isposinf(Tensor self) -> Tensor"
enum { PLUG_ARG_ISPOSINF_SELF, PLUG_ARGS_ISPOSINF };
/* kaiser_window */
#define PLUG_SCHEMA_KAISER_WINDOW "aten::kaiser_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_KAISER_WINDOW_WINDOW_LENGTH, PLUG_ARG_KAISER_WINDOW_DTYPE, PLUG_ARG_KAISER_WINDOW_LAYOUT, PLUG_ARG_KAISER_WINDOW_DEVICE, PLUG_ARG_KAISER_WINDOW_PIN_MEMORY, PLUG_ARGS_KAISER_WINDOW };
/* kaiser_window.beta */
#define PLUG_SCHEMA_KAISER_WINDOW_BETA "aten::kaiser_window.beta(int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_KAISER_WINDOW_BETA_WINDOW_LENGTH, PLUG_ARG_KAISER_WINDOW_BETA_PERIODIC, PLUG_ARG_KAISER_WINDOW_BETA_BETA, PLUG_ARG_KAISER_WINDOW_BETA_DTYPE, PLUG_ARG_KAISER_WINDOW_BETA_LAYOUT, PLUG_ARG_KAISER_WINDOW_BETA_DEVICE, PLUG_ARG_KAISER_WINDOW_BETA_PIN_MEMORY, PLUG_ARGS_KAISER_WINDOW_BETA };
/* kaiser_window.periodic */
#define PLUG_SCHEMA_KAISER_WINDOW_PERIODIC "aten::kaiser_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_KAISER_WINDOW_PERIODIC_WINDOW_LENGTH, PLUG_ARG_KAISER_WINDOW_PERIODIC_PERIODIC, PLUG_ARG_KAISER_WINDOW_PERIODIC_DTYPE, PLUG_ARG_KAISER_WINDOW_PERIODIC_LAYOUT, PLUG_ARG_KAISER_WINDOW_PERIODIC_DEVICE, PLUG_ARG_KAISER_WINDOW_PERIODIC_PIN_MEMORY, PLUG_ARGS_KAISER_WINDOW_PERIODIC };
/* kthvalue: also kthvalue.values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_KTHVALUE "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_KTHVALUE_SELF, PLUG_ARG_KTHVALUE_K, PLUG_ARG_KTHVALUE_DIM, PLUG_ARG_KTHVALUE_KEEPDIM, PLUG_ARGS_KTHVALUE };
enum { PLUG_RESULT_KTHVALUE_VALUES, PLUG_RESULT_KTHVALUE_INDICES, PLUG_RESULTS_KTHVALUE };
/* lcm: also lcm_, lcm.out; pointwise */
#define PLUG_SCHEMA_LCM "aten::lcm(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LCM_SELF, PLUG_ARG_LCM_OTHER, PLUG_ARGS_LCM };
/* ldexp.Tensor: also ldexp.out; pointwise */
#define PLUG_SCHEMA_LDEXP_TENSOR "aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LDEXP_TENSOR_SELF, PLUG_ARG_LDEXP_TENSOR_OTHER, PLUG_ARGS_LDEXP_TENSOR };
/* ldexp_: pointwise */
#define PLUG_SCHEMA_LDEXP_ "aten::ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)"
enum { PLUG_ARG_LDEXP__SELF, PLUG_ARG_LDEXP__OTHER, PLUG_ARGS_LDEXP_ };
/* le.Scalar: also le_.Scalar, le.Scalar_out; pointwise */
#define PLUG_SCHEMA_LE_SCALAR "aten::le.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_LE_SCALAR_SELF, PLUG_ARG_LE_SCALAR_OTHER, PLUG_ARGS_LE_SCALAR };
/* le.Tensor: also le_.Tensor, le.Tensor_out; pointwise */
#define PLUG_SCHEMA_LE_TENSOR "aten::le.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LE_TENSOR_SELF, PLUG_ARG_LE_TENSOR_OTHER, PLUG_ARGS_LE_TENSOR };
/* leaky_relu: also leaky_relu_, leaky_relu.out; pointwise; backward leaky_relu_backward */
#define PLUG_SCHEMA_LEAKY_RELU "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"
enum { PLUG_ARG_LEAKY_RELU_SELF, PLUG_ARG_LEAKY_RELU_NEGATIVE_SLOPE, PLUG_ARGS_LEAKY_RELU };
/* leaky_relu_backward: also leaky_relu_backward.grad_input; backward leaky_relu_backward */
#define PLUG_SCHEMA_LEAKY_RELU_BACKWARD "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor"
enum { PLUG_ARG_LEAKY_RELU_BACKWARD_GRAD_OUTPUT, PLUG_ARG_LEAKY_RELU_BACKWARD_SELF, PLUG_ARG_LEAKY_RELU_BACKWARD_NEGATIVE_SLOPE, PLUG_ARG_LEAKY_RELU_BACKWARD_SELF_IS_RESULT, PLUG_ARGS_LEAKY_RELU_BACKWARD };
/* lerp.Scalar: also lerp_.Scalar, lerp.Scalar_out; pointwise */
#define PLUG_SCHEMA_LERP_SCALAR "aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"
enum { PLUG_ARG_LERP_SCALAR_SELF, PLUG_ARG_LERP_SCALAR_END, PLUG_ARG_LERP_SCALAR_WEIGHT, PLUG_ARGS_LERP_SCALAR };
/* lerp.Tensor: also lerp_.Tensor, lerp.Tensor_out; pointwise */
#define PLUG_SCHEMA_LERP_TENSOR "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"
enum { PLUG_ARG_LERP_TENSOR_SELF, PLUG_ARG_LERP_TENSOR_END, PLUG_ARG_LERP_TENSOR_WEIGHT, PLUG_ARGS_LERP_TENSOR };
/* lgamma: also lgamma_, lgamma.out; pointwise */
#define PLUG_SCHEMA_LGAMMA "aten::lgamma(Tensor self) -> Tensor"
enum { PLUG_ARG_LGAMMA_SELF, PLUG_ARGS_LGAMMA };
/* linalg__powsum */
#define PLUG_SCHEMA_LINALG__POWSUM "aten::linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_LINALG__POWSUM_SELF, PLUG_ARG_LINALG__POWSUM_ORD, PLUG_ARG_LINALG__POWSUM_DIM, PLUG_ARG_LINALG__POWSUM_KEEPDIM, PLUG_ARG_LINALG__POWSUM_DTYPE, PLUG_ARGS_LINALG__POWSUM };
/* linalg_cholesky_ex: also linalg_cholesky_ex.L */
#define PLUG_SCHEMA_LINALG_CHOLESKY_EX "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)"
enum { PLUG_ARG_LINALG_CHOLESKY_EX_SELF, PLUG_ARG_LINALG_CHOLESKY_EX_UPPER, PLUG_ARG_LINALG_CHOLESKY_EX_CHECK_ERRORS, PLUG_ARGS_LINALG_CHOLESKY_EX };
enum { PLUG_RESULT_LINALG_CHOLESKY_EX_L, PLUG_RESULT_LINALG_CHOLESKY_EX_INFO, PLUG_RESULTS_LINALG_CHOLESKY_EX };
/* linalg_cross: also linalg_cross.out */
#define PLUG_SCHEMA_LINALG_CROSS "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor"
enum { PLUG_ARG_LINALG_CROSS_SELF, PLUG_ARG_LINALG_CROSS_OTHER, PLUG_ARG_LINALG_CROSS_DIM, PLUG_ARGS_LINALG_CROSS };
/* linalg_eig: also linalg_eig.out */
#define PLUG_SCHEMA_LINALG_EIG "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)"
enum { PLUG_ARG_LINALG_EIG_SELF, PLUG_ARGS_LINALG_EIG };
enum { PLUG_RESULT_LINALG_EIG_EIGENVALUES, PLUG_RESULT_LINALG_EIG_EIGENVECTORS, PLUG_RESULTS_LINALG_EIG };
/* linalg_householder_product: also linalg_householder_product.out */
#define PLUG_SCHEMA_LINALG_HOUSEHOLDER_PRODUCT "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor"
enum { PLUG_ARG_LINALG_HOUSEHOLDER_PRODUCT_INPUT, PLUG_ARG_LINALG_HOUSEHOLDER_PRODUCT_TAU, PLUG_ARGS_LINALG_HOUSEHOLDER_PRODUCT };
/* linalg_inv_ex: also linalg_inv_ex.inverse */
#define PLUG_SCHEMA_LINALG_INV_EX "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)"
enum { PLUG_ARG_LINALG_INV_EX_A, PLUG_ARG_LINALG_INV_EX_CHECK_ERRORS, PLUG_ARGS_LINALG_INV_EX };
enum { PLUG_RESULT_LINALG_INV_EX_INVERSE, PLUG_RESULT_LINALG_INV_EX_INFO, PLUG_RESULTS_LINALG_INV_EX };
/* linalg_ldl_factor_ex: also linalg_ldl_factor_ex.out */
#define PLUG_SCHEMA_LINALG_LDL_FACTOR_EX "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots, Tensor info)"
enum { PLUG_ARG_LINALG_LDL_FACTOR_EX_SELF, PLUG_ARG_LINALG_LDL_FACTOR_EX_HERMITIAN, PLUG_ARG_LINALG_LDL_FACTOR_EX_CHECK_ERRORS, PLUG_ARGS_LINALG_LDL_FACTOR_EX };
enum { PLUG_RESULT_LINALG_LDL_FACTOR_EX_LD, PLUG_RESULT_LINALG_LDL_FACTOR_EX_PIVOTS, PLUG_RESULT_LINALG_LDL_FACTOR_EX_INFO, PLUG_RESULTS_LINALG_LDL_FACTOR_EX };
/* linalg_ldl_solve: also linalg_ldl_solve.out */
#define PLUG_SCHEMA_LINALG_LDL_SOLVE "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor"
enum { PLUG_ARG_LINALG_LDL_SOLVE_LD, PLUG_ARG_LINALG_LDL_SOLVE_PIVOTS, PLUG_ARG_LINALG_LDL_SOLVE_B, PLUG_ARG_LINALG_LDL_SOLVE_HERMITIAN, PLUG_ARGS_LINALG_LDL_SOLVE };
/* linalg_lstsq: also linalg_lstsq.out */
#define PLUG_SCHEMA_LINALG_LSTSQ "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)"
enum { PLUG_ARG_LINALG_LSTSQ_SELF, PLUG_ARG_LINALG_LSTSQ_B, PLUG_ARG_LINALG_LSTSQ_RCOND, PLUG_ARG_LINALG_LSTSQ_DRIVER, PLUG_ARGS_LINALG_LSTSQ };
enum { PLUG_RESULT_LINALG_LSTSQ_SOLUTION, PLUG_RESULT_LINALG_LSTSQ_RESIDUALS, PLUG_RESULT_LINALG_LSTSQ_RANK, PLUG_RESULT_LINALG_LSTSQ_SINGULAR_VALUES, PLUG_RESULTS_LINALG_LSTSQ };
/* linalg_lu: also linalg_lu.out */
#define PLUG_SCHEMA_LINALG_LU "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)"
enum { PLUG_ARG_LINALG_LU_A, PLUG_ARG_LINALG_LU_PIVOT, PLUG_ARGS_LINALG_LU };
enum { PLUG_RESULT_LINALG_LU_P, PLUG_RESULT_LINALG_LU_L, PLUG_RESULT_LINALG_LU_U, PLUG_RESULTS_LINALG_LU };
/* linalg_lu_factor_ex: also linalg_lu_factor_ex.out */
#define PLUG_SCHEMA_LINALG_LU_FACTOR_EX "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)"
enum { PLUG_ARG_LINALG_LU_FACTOR_EX_A, PLUG_ARG_LINALG_LU_FACTOR_EX_PIVOT, PLUG_ARG_LINALG_LU_FACTOR_EX_CHECK_ERRORS, PLUG_ARGS_LINALG_LU_FACTOR_EX };
enum { PLUG_RESULT_LINALG_LU_FACTOR_EX_LU, PLUG_RESULT_LINALG_LU_FACTOR_EX_PIVOTS, PLUG_RESULT_LINALG_LU_FACTOR_EX_INFO, PLUG_RESULTS_LINALG_LU_FACTOR_EX };
/* linalg_lu_solve: also linalg_lu_solve.out */
#define PLUG_SCHEMA_LINALG_LU_SOLVE "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor"
enum { PLUG_ARG_LINALG_LU_SOLVE_LU, PLUG_ARG_LINALG_LU_SOLVE_PIVOTS, PLUG_ARG_LINALG_LU_SOLVE_B, PLUG_ARG_LINALG_LU_SOLVE_LEFT, PLUG_ARG_LINALG_LU_SOLVE_ADJOINT, PLUG_ARGS_LINALG_LU_SOLVE };
/* linalg_matrix_exp: also linalg_matrix_exp.out */
#define PLUG_SCHEMA_LINALG_MATRIX_EXP "aten::linalg_matrix_exp(Tensor self) -> Tensor"
enum { PLUG_ARG_LINALG_MATRIX_EXP_SELF, PLUG_ARGS_LINALG_MATRIX_EXP };
/* linalg_pinv.atol_rtol_tensor: also linalg_pinv.atol_rtol_tensor_out */
#define PLUG_SCHEMA_LINALG_PINV_ATOL_RTOL_TENSOR "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"
enum { PLUG_ARG_LINALG_PINV_ATOL_RTOL_TENSOR_SELF, PLUG_ARG_LINALG_PINV_ATOL_RTOL_TENSOR_ATOL, PLUG_ARG_LINALG_PINV_ATOL_RTOL_TENSOR_RTOL, PLUG_ARG_LINALG_PINV_ATOL_RTOL_TENSOR_HERMITIAN, PLUG_ARGS_LINALG_PINV_ATOL_RTOL_TENSOR };
/* linalg_qr: also linalg_qr.out */
#define PLUG_SCHEMA_LINALG_QR "aten::linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)"
enum { PLUG_ARG_LINALG_QR_A, PLUG_ARG_LINALG_QR_MODE, PLUG_ARGS_LINALG_QR };
enum { PLUG_RESULT_LINALG_QR_Q, PLUG_RESULT_LINALG_QR_R, PLUG_RESULTS_LINALG_QR };
/* linalg_solve_triangular: also linalg_solve_triangular.out */
#define PLUG_SCHEMA_LINALG_SOLVE_TRIANGULAR "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor"
enum { PLUG_ARG_LINALG_SOLVE_TRIANGULAR_SELF, PLUG_ARG_LINALG_SOLVE_TRIANGULAR_B, PLUG_ARG_LINALG_SOLVE_TRIANGULAR_UPPER, PLUG_ARG_LINALG_SOLVE_TRIANGULAR_LEFT, PLUG_ARG_LINALG_SOLVE_TRIANGULAR_UNITRIANGULAR, PLUG_ARGS_LINALG_SOLVE_TRIANGULAR };
/* linalg_vector_norm: also linalg_vector_norm.out */
#define PLUG_SCHEMA_LINALG_VECTOR_NORM "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_LINALG_VECTOR_NORM_SELF, PLUG_ARG_LINALG_VECTOR_NORM_ORD, PLUG_ARG_LINALG_VECTOR_NORM_DIM, PLUG_ARG_LINALG_VECTOR_NORM_KEEPDIM, PLUG_ARG_LINALG_VECTOR_NORM_DTYPE, PLUG_ARGS_LINALG_VECTOR_NORM };
/* linear: also linear.out; backward linear_backward */
#define PLUG_SCHEMA_LINEAR "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor"
enum { PLUG_ARG_LINEAR_INPUT, PLUG_ARG_LINEAR_WEIGHT, PLUG_ARG_LINEAR_BIAS, PLUG_ARGS_LINEAR };
/* linear_backward: also linear_backward.out */
#define PLUG_SCHEMA_LINEAR_BACKWARD "aten::linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_LINEAR_BACKWARD_SELF, PLUG_ARG_LINEAR_BACKWARD_GRAD_OUTPUT, PLUG_ARG_LINEAR_BACKWARD_WEIGHT, PLUG_ARG_LINEAR_BACKWARD_OUTPUT_MASK, PLUG_ARGS_LINEAR_BACKWARD };
/* linspace */
#define PLUG_SCHEMA_LINSPACE "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LINSPACE_START, PLUG_ARG_LINSPACE_END, PLUG_ARG_LINSPACE_STEPS, PLUG_ARG_LINSPACE_DTYPE, PLUG_ARG_LINSPACE_LAYOUT, PLUG_ARG_LINSPACE_DEVICE, PLUG_ARG_LINSPACE_PIN_MEMORY, PLUG_ARGS_LINSPACE };
/* linspace.Scalar_Tensor */
#define PLUG_SCHEMA_LINSPACE_SCALAR_TENSOR "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LINSPACE_SCALAR_TENSOR_START, PLUG_ARG_LINSPACE_SCALAR_TENSOR_END, PLUG_ARG_LINSPACE_SCALAR_TENSOR_STEPS, PLUG_ARG_LINSPACE_SCALAR_TENSOR_DTYPE, PLUG_ARG_LINSPACE_SCALAR_TENSOR_LAYOUT, PLUG_ARG_LINSPACE_SCALAR_TENSOR_DEVICE, PLUG_ARG_LINSPACE_SCALAR_TENSOR_PIN_MEMORY, PLUG_ARGS_LINSPACE_SCALAR_TENSOR };
/* linspace.Scalar_Tensor_out */
#define PLUG_SCHEMA_LINSPACE_SCALAR_TENSOR_OUT "aten::linspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LINSPACE_SCALAR_TENSOR_OUT_START, PLUG_ARG_LINSPACE_SCALAR_TENSOR_OUT_END, PLUG_ARG_LINSPACE_SCALAR_TENSOR_OUT_STEPS, PLUG_ARG_LINSPACE_SCALAR_TENSOR_OUT_OUT, PLUG_ARGS_LINSPACE_SCALAR_TENSOR_OUT };
/* linspace.Tensor_Scalar */
#define PLUG_SCHEMA_LINSPACE_TENSOR_SCALAR "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LINSPACE_TENSOR_SCALAR_START, PLUG_ARG_LINSPACE_TENSOR_SCALAR_END, PLUG_ARG_LINSPACE_TENSOR_SCALAR_STEPS, PLUG_ARG_LINSPACE_TENSOR_SCALAR_DTYPE, PLUG_ARG_LINSPACE_TENSOR_SCALAR_LAYOUT, PLUG_ARG_LINSPACE_TENSOR_SCALAR_DEVICE, PLUG_ARG_LINSPACE_TENSOR_SCALAR_PIN_MEMORY, PLUG_ARGS_LINSPACE_TENSOR_SCALAR };
/* linspace.Tensor_Scalar_out */
#define PLUG_SCHEMA_LINSPACE_TENSOR_SCALAR_OUT "aten::linspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LINSPACE_TENSOR_SCALAR_OUT_START, PLUG_ARG_LINSPACE_TENSOR_SCALAR_OUT_END, PLUG_ARG_LINSPACE_TENSOR_SCALAR_OUT_STEPS, PLUG_ARG_LINSPACE_TENSOR_SCALAR_OUT_OUT, PLUG_ARGS_LINSPACE_TENSOR_SCALAR_OUT };
/* linspace.Tensor_Tensor */
#define PLUG_SCHEMA_LINSPACE_TENSOR_TENSOR "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LINSPACE_TENSOR_TENSOR_START, PLUG_ARG_LINSPACE_TENSOR_TENSOR_END, PLUG_ARG_LINSPACE_TENSOR_TENSOR_STEPS, PLUG_ARG_LINSPACE_TENSOR_TENSOR_DTYPE, PLUG_ARG_LINSPACE_TENSOR_TENSOR_LAYOUT, PLUG_ARG_LINSPACE_TENSOR_TENSOR_DEVICE, PLUG_ARG_LINSPACE_TENSOR_TENSOR_PIN_MEMORY, PLUG_ARGS_LINSPACE_TENSOR_TENSOR };
/* linspace.Tensor_Tensor_out */
#define PLUG_SCHEMA_LINSPACE_TENSOR_TENSOR_OUT "aten::linspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LINSPACE_TENSOR_TENSOR_OUT_START, PLUG_ARG_LINSPACE_TENSOR_TENSOR_OUT_END, PLUG_ARG_LINSPACE_TENSOR_TENSOR_OUT_STEPS, PLUG_ARG_LINSPACE_TENSOR_TENSOR_OUT_OUT, PLUG_ARGS_LINSPACE_TENSOR_TENSOR_OUT };
/* linspace.out */
#define PLUG_SCHEMA_LINSPACE_OUT "aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LINSPACE_OUT_START, PLUG_ARG_LINSPACE_OUT_END, PLUG_ARG_LINSPACE_OUT_STEPS, PLUG_ARG_LINSPACE_OUT_OUT, PLUG_ARGS_LINSPACE_OUT };
/* log: also log_, log.out; pointwise */
#define PLUG_SCHEMA_LOG "aten::log(Tensor self) -> Tensor"
enum { PLUG_ARG_LOG_SELF, PLUG_ARGS_LOG };
/* log10: also log10_, log10.out; pointwise */
#define PLUG_SCHEMA_LOG10 "aten::log10(Tensor self) -> Tensor"
enum { PLUG_ARG_LOG10_SELF, PLUG_ARGS_LOG10 };
/* log1p: also log1p_, log1p.out; pointwise */
#define PLUG_SCHEMA_LOG1P "aten::log1p(Tensor self) -> Tensor"
enum { PLUG_ARG_LOG1P_SELF, PLUG_ARGS_LOG1P };
/* log2: also log2_, log2.out; pointwise */
#define PLUG_SCHEMA_LOG2 "aten::log2(Tensor self) -> Tensor"
enum { PLUG_ARG_LOG2_SELF, PLUG_ARGS_LOG2 };
/* log_normal: also log_normal_, log_normal.out */
#define PLUG_SCHEMA_LOG_NORMAL "aten::log_normal(Tensor self, float mean=1, float std=2, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_LOG_NORMAL_SELF, PLUG_ARG_LOG_NORMAL_MEAN, PLUG_ARG_LOG_NORMAL_STD, PLUG_ARG_LOG_NORMAL_GENERATOR, PLUG_ARGS_LOG_NORMAL };
/* log_sigmoid_backward: also log_sigmoid_backward.grad_input; backward log_sigmoid_backward */
#define PLUG_SCHEMA_LOG_SIGMOID_BACKWARD "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor"
enum { PLUG_ARG_LOG_SIGMOID_BACKWARD_GRAD_OUTPUT, PLUG_ARG_LOG_SIGMOID_BACKWARD_SELF, PLUG_ARG_LOG_SIGMOID_BACKWARD_BUFFER, PLUG_ARGS_LOG_SIGMOID_BACKWARD };
/* log_sigmoid_forward: also log_sigmoid_forward.output; backward log_sigmoid_backward */
#define PLUG_SCHEMA_LOG_SIGMOID_FORWARD "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)"
enum { PLUG_ARG_LOG_SIGMOID_FORWARD_SELF, PLUG_ARGS_LOG_SIGMOID_FORWARD };
enum { PLUG_RESULT_LOG_SIGMOID_FORWARD_OUTPUT, PLUG_RESULT_LOG_SIGMOID_FORWARD_BUFFER, PLUG_RESULTS_LOG_SIGMOID_FORWARD };
/* logaddexp: also logaddexp.out; pointwise */
#define PLUG_SCHEMA_LOGADDEXP "aten::logaddexp(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LOGADDEXP_SELF, PLUG_ARG_LOGADDEXP_OTHER, PLUG_ARGS_LOGADDEXP };
/* logaddexp2: also logaddexp2.out; pointwise */
#define PLUG_SCHEMA_LOGADDEXP2 "aten::logaddexp2(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LOGADDEXP2_SELF, PLUG_ARG_LOGADDEXP2_OTHER, PLUG_ARGS_LOGADDEXP2 };
/* logcumsumexp: also logcumsumexp.out */
#define PLUG_SCHEMA_LOGCUMSUMEXP "aten::logcumsumexp(Tensor self, int dim) -> Tensor"
enum { PLUG_ARG_LOGCUMSUMEXP_SELF, PLUG_ARG_LOGCUMSUMEXP_DIM, PLUG_ARGS_LOGCUMSUMEXP };
/* logical_and: also logical_and_, logical_and.out; pointwise */
#define PLUG_SCHEMA_LOGICAL_AND "aten::logical_and(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LOGICAL_AND_SELF, PLUG_ARG_LOGICAL_AND_OTHER, PLUG_ARGS_LOGICAL_AND };
/* logical_not: also logical_not_, logical_not.out; pointwise */
#define PLUG_SCHEMA_LOGICAL_NOT "aten::logical_not(Tensor self) -> Tensor"
enum { PLUG_ARG_LOGICAL_NOT_SELF, PLUG_ARGS_LOGICAL_NOT };
/* logical_or: also logical_or_, logical_or.out; pointwise */
#define PLUG_SCHEMA_LOGICAL_OR "aten::logical_or(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LOGICAL_OR_SELF, PLUG_ARG_LOGICAL_OR_OTHER, PLUG_ARGS_LOGICAL_OR };
/* logical_xor: also logical_xor_, logical_xor.out; pointwise */
#define PLUG_SCHEMA_LOGICAL_XOR "aten::logical_xor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LOGICAL_XOR_SELF, PLUG_ARG_LOGICAL_XOR_OTHER, PLUG_ARGS_LOGICAL_XOR };
/* logit: also logit_, logit.out; pointwise; backward logit_backward */
#define PLUG_SCHEMA_LOGIT "aten::logit(Tensor self, float? eps=None) -> Tensor"
enum { PLUG_ARG_LOGIT_SELF, PLUG_ARG_LOGIT_EPS, PLUG_ARGS_LOGIT };
/* logit_backward: also logit_backward.grad_input; pointwise */
#define PLUG_SCHEMA_LOGIT_BACKWARD "aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor"
enum { PLUG_ARG_LOGIT_BACKWARD_GRAD_OUTPUT, PLUG_ARG_LOGIT_BACKWARD_SELF, PLUG_ARG_LOGIT_BACKWARD_EPS, PLUG_ARGS_LOGIT_BACKWARD };
/* logspace */
#define PLUG_SCHEMA_LOGSPACE "aten::logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LOGSPACE_START, PLUG_ARG_LOGSPACE_END, PLUG_ARG_LOGSPACE_STEPS, PLUG_ARG_LOGSPACE_BASE, PLUG_ARG_LOGSPACE_DTYPE, PLUG_ARG_LOGSPACE_LAYOUT, PLUG_ARG_LOGSPACE_DEVICE, PLUG_ARG_LOGSPACE_PIN_MEMORY, PLUG_ARGS_LOGSPACE };
/* logspace.Scalar_Tensor */
#define PLUG_SCHEMA_LOGSPACE_SCALAR_TENSOR "aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LOGSPACE_SCALAR_TENSOR_START, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_END, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_STEPS, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_BASE, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_DTYPE, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_LAYOUT, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_DEVICE, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_PIN_MEMORY, PLUG_ARGS_LOGSPACE_SCALAR_TENSOR };
/* logspace.Scalar_Tensor_out */
#define PLUG_SCHEMA_LOGSPACE_SCALAR_TENSOR_OUT "aten::logspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LOGSPACE_SCALAR_TENSOR_OUT_START, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_OUT_END, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_OUT_STEPS, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_OUT_BASE, PLUG_ARG_LOGSPACE_SCALAR_TENSOR_OUT_OUT, PLUG_ARGS_LOGSPACE_SCALAR_TENSOR_OUT };
/* logspace.Tensor_Scalar */
#define PLUG_SCHEMA_LOGSPACE_TENSOR_SCALAR "aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LOGSPACE_TENSOR_SCALAR_START, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_END, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_STEPS, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_BASE, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_DTYPE, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_LAYOUT, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_DEVICE, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_PIN_MEMORY, PLUG_ARGS_LOGSPACE_TENSOR_SCALAR };
/* logspace.Tensor_Scalar_out */
#define PLUG_SCHEMA_LOGSPACE_TENSOR_SCALAR_OUT "aten::logspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LOGSPACE_TENSOR_SCALAR_OUT_START, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_OUT_END, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_OUT_STEPS, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_OUT_BASE, PLUG_ARG_LOGSPACE_TENSOR_SCALAR_OUT_OUT, PLUG_ARGS_LOGSPACE_TENSOR_SCALAR_OUT };
/* logspace.Tensor_Tensor */
#define PLUG_SCHEMA_LOGSPACE_TENSOR_TENSOR "aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_LOGSPACE_TENSOR_TENSOR_START, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_END, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_STEPS, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_BASE, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_DTYPE, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_LAYOUT, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_DEVICE, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_PIN_MEMORY, PLUG_ARGS_LOGSPACE_TENSOR_TENSOR };
/* logspace.Tensor_Tensor_out */
#define PLUG_SCHEMA_LOGSPACE_TENSOR_TENSOR_OUT "aten::logspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LOGSPACE_TENSOR_TENSOR_OUT_START, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_OUT_END, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_OUT_STEPS, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_OUT_BASE, PLUG_ARG_LOGSPACE_TENSOR_TENSOR_OUT_OUT, PLUG_ARGS_LOGSPACE_TENSOR_TENSOR_OUT };
/* logspace.out */
#define PLUG_SCHEMA_LOGSPACE_OUT "aten::logspace.out(Scalar start, Scalar end, int steps, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_LOGSPACE_OUT_START, PLUG_ARG_LOGSPACE_OUT_END, PLUG_ARG_LOGSPACE_OUT_STEPS, PLUG_ARG_LOGSPACE_OUT_BASE, PLUG_ARG_LOGSPACE_OUT_OUT, PLUG_ARGS_LOGSPACE_OUT };
/* logsumexp: also logsumexp.out */
#define PLUG_SCHEMA_LOGSUMEXP "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_LOGSUMEXP_SELF, PLUG_ARG_LOGSUMEXP_DIM, PLUG_ARG_LOGSUMEXP_KEEPDIM, PLUG_ARGS_LOGSUMEXP };
/* lt.Scalar: also lt_.Scalar, lt.Scalar_out; pointwise */
#define PLUG_SCHEMA_LT_SCALAR "aten::lt.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_LT_SCALAR_SELF, PLUG_ARG_LT_SCALAR_OTHER, PLUG_ARGS_LT_SCALAR };
/* lt.Tensor: also lt_.Tensor, lt.Tensor_out; pointwise */
#define PLUG_SCHEMA_LT_TENSOR "aten::lt.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_LT_TENSOR_SELF, PLUG_ARG_LT_TENSOR_OTHER, PLUG_ARGS_LT_TENSOR };
/* lu_unpack: also lu_unpack.out */
#define PLUG_SCHEMA_LU_UNPACK "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)"
enum { PLUG_ARG_LU_UNPACK_LU_DATA, PLUG_ARG_LU_UNPACK_LU_PIVOTS, PLUG_ARG_LU_UNPACK_UNPACK_DATA, PLUG_ARG_LU_UNPACK_UNPACK_PIVOTS, PLUG_ARGS_LU_UNPACK };
enum { PLUG_RESULT_LU_UNPACK_P, PLUG_RESULT_LU_UNPACK_L, PLUG_RESULT_LU_UNPACK_U, PLUG_RESULTS_LU_UNPACK };
/* masked_fill.Scalar: also masked_fill_.Scalar, masked_fill.Scalar_out; pointwise */
#define PLUG_SCHEMA_MASKED_FILL_SCALAR "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"
enum { PLUG_ARG_MASKED_FILL_SCALAR_SELF, PLUG_ARG_MASKED_FILL_SCALAR_MASK, PLUG_ARG_MASKED_FILL_SCALAR_VALUE, PLUG_ARGS_MASKED_FILL_SCALAR };
/* masked_fill.Tensor: also masked_fill_.Tensor, masked_fill.Tensor_out */
#define PLUG_SCHEMA_MASKED_FILL_TENSOR "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor"
enum { PLUG_ARG_MASKED_FILL_TENSOR_SELF, PLUG_ARG_MASKED_FILL_TENSOR_MASK, PLUG_ARG_MASKED_FILL_TENSOR_VALUE, PLUG_ARGS_MASKED_FILL_TENSOR };
/* masked_scatter: also masked_scatter_, masked_scatter.out; backward masked_scatter_backward */
#define PLUG_SCHEMA_MASKED_SCATTER "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"
enum { PLUG_ARG_MASKED_SCATTER_SELF, PLUG_ARG_MASKED_SCATTER_MASK, PLUG_ARG_MASKED_SCATTER_SOURCE, PLUG_ARGS_MASKED_SCATTER };
/* masked_scatter_backward: backward masked_scatter_backward */
#define PLUG_SCHEMA_MASKED_SCATTER_BACKWARD "aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor"
enum { PLUG_ARG_MASKED_SCATTER_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MASKED_SCATTER_BACKWARD_MASK, PLUG_ARG_MASKED_SCATTER_BACKWARD_SIZES, PLUG_ARGS_MASKED_SCATTER_BACKWARD };
/* masked_select: also masked_select.out */
#define PLUG_SCHEMA_MASKED_SELECT "aten::masked_select(Tensor self, Tensor mask) -> Tensor"
enum { PLUG_ARG_MASKED_SELECT_SELF, PLUG_ARG_MASKED_SELECT_MASK, PLUG_ARGS_MASKED_SELECT };
/* matmul: also matmul.out; backward matmul_backward */
#define PLUG_SCHEMA_MATMUL "aten::matmul(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_MATMUL_SELF, PLUG_ARG_MATMUL_OTHER, PLUG_ARGS_MATMUL };
/* matmul_backward: also matmul_backward.out */
#define PLUG_SCHEMA_MATMUL_BACKWARD "aten::matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)"
enum { PLUG_ARG_MATMUL_BACKWARD_GRAD, PLUG_ARG_MATMUL_BACKWARD_SELF, PLUG_ARG_MATMUL_BACKWARD_OTHER, PLUG_ARG_MATMUL_BACKWARD_MASK, PLUG_ARGS_MATMUL_BACKWARD };
/* max: also max.unary_out */
#define PLUG_SCHEMA_MAX "aten::max(Tensor self) -> Tensor"
enum { PLUG_ARG_MAX_SELF, PLUG_ARGS_MAX };
/* max.dim: also max.dim_max; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_MAX_DIM "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_MAX_DIM_SELF, PLUG_ARG_MAX_DIM_DIM, PLUG_ARG_MAX_DIM_KEEPDIM, PLUG_ARGS_MAX_DIM };
enum { PLUG_RESULT_MAX_DIM_VALUES, PLUG_RESULT_MAX_DIM_INDICES, PLUG_RESULTS_MAX_DIM };
/* max_pool2d: backward max_pool2d_backward */
#define PLUG_SCHEMA_MAX_POOL2D "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor"
enum { PLUG_ARG_MAX_POOL2D_SELF, PLUG_ARG_MAX_POOL2D_KERNEL_SIZE, PLUG_ARG_MAX_POOL2D_STRIDE, PLUG_ARG_MAX_POOL2D_PADDING, PLUG_ARG_MAX_POOL2D_DILATION, PLUG_ARG_MAX_POOL2D_CEIL_MODE, PLUG_ARGS_MAX_POOL2D };
/* max_pool2d_backward: also max_pool2d_backward.out */
#define PLUG_SCHEMA_MAX_POOL2D_BACKWARD "aten::max_pool2d_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor"
enum { PLUG_ARG_MAX_POOL2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MAX_POOL2D_BACKWARD_SELF, PLUG_ARG_MAX_POOL2D_BACKWARD_KERNEL_SIZE, PLUG_ARG_MAX_POOL2D_BACKWARD_STRIDE, PLUG_ARG_MAX_POOL2D_BACKWARD_PADDING, PLUG_ARG_MAX_POOL2D_BACKWARD_DILATION, PLUG_ARG_MAX_POOL2D_BACKWARD_CEIL_MODE, PLUG_ARGS_MAX_POOL2D_BACKWARD };
/* max_pool2d_with_indices: also max_pool2d_with_indices.out; backward max_pool2d_with_indices_backward */
#define PLUG_SCHEMA_MAX_POOL2D_WITH_INDICES "aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"
enum { PLUG_ARG_MAX_POOL2D_WITH_INDICES_SELF, PLUG_ARG_MAX_POOL2D_WITH_INDICES_KERNEL_SIZE, PLUG_ARG_MAX_POOL2D_WITH_INDICES_STRIDE, PLUG_ARG_MAX_POOL2D_WITH_INDICES_PADDING, PLUG_ARG_MAX_POOL2D_WITH_INDICES_DILATION, PLUG_ARG_MAX_POOL2D_WITH_INDICES_CEIL_MODE, PLUG_ARGS_MAX_POOL2D_WITH_INDICES };
/* max_pool2d_with_indices_backward: also max_pool2d_with_indices_backward.grad_input */
#define PLUG_SCHEMA_MAX_POOL2D_WITH_INDICES_BACKWARD "aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor"
enum { PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_SELF, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_KERNEL_SIZE, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_STRIDE, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_PADDING, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_DILATION, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_CEIL_MODE, PLUG_ARG_MAX_POOL2D_WITH_INDICES_BACKWARD_INDICES, PLUG_ARGS_MAX_POOL2D_WITH_INDICES_BACKWARD };
/* max_pool3d_with_indices: also max_pool3d_with_indices.out; backward max_pool3d_with_indices_backward */
#define PLUG_SCHEMA_MAX_POOL3D_WITH_INDICES "aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"
enum { PLUG_ARG_MAX_POOL3D_WITH_INDICES_SELF, PLUG_ARG_MAX_POOL3D_WITH_INDICES_KERNEL_SIZE, PLUG_ARG_MAX_POOL3D_WITH_INDICES_STRIDE, PLUG_ARG_MAX_POOL3D_WITH_INDICES_PADDING, PLUG_ARG_MAX_POOL3D_WITH_INDICES_DILATION, PLUG_ARG_MAX_POOL3D_WITH_INDICES_CEIL_MODE, PLUG_ARGS_MAX_POOL3D_WITH_INDICES };
/* max_pool3d_with_indices_backward: also max_pool3d_with_indices_backward.grad_input */
#define PLUG_SCHEMA_MAX_POOL3D_WITH_INDICES_BACKWARD "aten::max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, bool ceil_mode, Tensor indices) -> Tensor"
enum { PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_SELF, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_KERNEL_SIZE, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_STRIDE, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_PADDING, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_DILATION, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_CEIL_MODE, PLUG_ARG_MAX_POOL3D_WITH_INDICES_BACKWARD_INDICES, PLUG_ARGS_MAX_POOL3D_WITH_INDICES_BACKWARD };
/* max_unpool2d: also max_unpool2d.out */
#define PLUG_SCHEMA_MAX_UNPOOL2D "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor"
enum { PLUG_ARG_MAX_UNPOOL2D_SELF, PLUG_ARG_MAX_UNPOOL2D_INDICES, PLUG_ARG_MAX_UNPOOL2D_OUTPUT_SIZE, PLUG_ARGS_MAX_UNPOOL2D };
/* max_unpool3d: also max_unpool3d.out */
#define PLUG_SCHEMA_MAX_UNPOOL3D "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor"
enum { PLUG_ARG_MAX_UNPOOL3D_SELF, PLUG_ARG_MAX_UNPOOL3D_INDICES, PLUG_ARG_MAX_UNPOOL3D_OUTPUT_SIZE, PLUG_ARG_MAX_UNPOOL3D_STRIDE, PLUG_ARG_MAX_UNPOOL3D_PADDING, PLUG_ARGS_MAX_UNPOOL3D };
/* maximum: also maximum.out; pointwise */
#define PLUG_SCHEMA_MAXIMUM "aten::maximum(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_MAXIMUM_SELF, PLUG_ARG_MAXIMUM_OTHER, PLUG_ARGS_MAXIMUM };
/* mean: also mean.dtype_out */
#define PLUG_SCHEMA_MEAN "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_MEAN_SELF, PLUG_ARG_MEAN_DTYPE, PLUG_ARGS_MEAN };
/* mean.dim: also mean.out */
#define PLUG_SCHEMA_MEAN_DIM "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_MEAN_DIM_SELF, PLUG_ARG_MEAN_DIM_DIM, PLUG_ARG_MEAN_DIM_KEEPDIM, PLUG_ARG_MEAN_DIM_DTYPE, PLUG_ARGS_MEAN_DIM };
/* median: also median.out */
#define PLUG_SCHEMA_MEDIAN "aten::median(Tensor self) -> Tensor"
enum { PLUG_ARG_MEDIAN_SELF, PLUG_ARGS_MEDIAN };
/* median.dim: also median.dim_values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_MEDIAN_DIM "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_MEDIAN_DIM_SELF, PLUG_ARG_MEDIAN_DIM_DIM, PLUG_ARG_MEDIAN_DIM_KEEPDIM, PLUG_ARGS_MEDIAN_DIM };
enum { PLUG_RESULT_MEDIAN_DIM_VALUES, PLUG_RESULT_MEDIAN_DIM_INDICES, PLUG_RESULTS_MEDIAN_DIM };
/* min: also min.unary_out */
#define PLUG_SCHEMA_MIN "aten::min(Tensor self) -> Tensor"
enum { PLUG_ARG_MIN_SELF, PLUG_ARGS_MIN };
/* min.dim: also min.dim_min; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_MIN_DIM "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_MIN_DIM_SELF, PLUG_ARG_MIN_DIM_DIM, PLUG_ARG_MIN_DIM_KEEPDIM, PLUG_ARGS_MIN_DIM };
enum { PLUG_RESULT_MIN_DIM_VALUES, PLUG_RESULT_MIN_DIM_INDICES, PLUG_RESULTS_MIN_DIM };
/* minimum: also minimum.out; pointwise */
#define PLUG_SCHEMA_MINIMUM "aten::minimum(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_MINIMUM_SELF, PLUG_ARG_MINIMUM_OTHER, PLUG_ARGS_MINIMUM };
/* mish: also mish_, mish.out; pointwise; backward mish_backward */
#define PLUG_SCHEMA_MISH "aten::mish(Tensor self) -> Tensor"
enum { PLUG_ARG_MISH_SELF, PLUG_ARGS_MISH };
/* mish_backward */
#define PLUG_SCHEMA_MISH_BACKWARD "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG_MISH_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MISH_BACKWARD_SELF, PLUG_ARGS_MISH_BACKWARD };
/* mm: also mm.out */
#define PLUG_SCHEMA_MM "aten::mm(Tensor self, Tensor mat2) -> Tensor"
enum { PLUG_ARG_MM_SELF, PLUG_ARG_MM_MAT2, PLUG_ARGS_MM };
/* mm.dtype: also mm.dtype_out */
#define PLUG_SCHEMA_MM_DTYPE "aten::mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor"
enum { PLUG_ARG_MM_DTYPE_SELF, PLUG_ARG_MM_DTYPE_MAT2, PLUG_ARG_MM_DTYPE_OUT_DTYPE, PLUG_ARGS_MM_DTYPE };
/* mode: also mode.values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_MODE "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_MODE_SELF, PLUG_ARG_MODE_DIM, PLUG_ARG_MODE_KEEPDIM, PLUG_ARGS_MODE };
enum { PLUG_RESULT_MODE_VALUES, PLUG_RESULT_MODE_INDICES, PLUG_RESULTS_MODE };
/* mse_loss: also mse_loss.out; backward mse_loss_backward */
#define PLUG_SCHEMA_MSE_LOSS "aten::mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_MSE_LOSS_SELF, PLUG_ARG_MSE_LOSS_TARGET, PLUG_ARG_MSE_LOSS_REDUCTION, PLUG_ARGS_MSE_LOSS };
/* mse_loss_backward: also mse_loss_backward.grad_input; backward mse_loss_backward */
#define PLUG_SCHEMA_MSE_LOSS_BACKWARD "aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor"
enum { PLUG_ARG_MSE_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MSE_LOSS_BACKWARD_SELF, PLUG_ARG_MSE_LOSS_BACKWARD_TARGET, PLUG_ARG_MSE_LOSS_BACKWARD_REDUCTION, PLUG_ARGS_MSE_LOSS_BACKWARD };
/* mul.Scalar: also mul_.Scalar, mul.Scalar_out; pointwise */
#define PLUG_SCHEMA_MUL_SCALAR "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_MUL_SCALAR_SELF, PLUG_ARG_MUL_SCALAR_OTHER, PLUG_ARGS_MUL_SCALAR };
/* mul.Tensor: also mul_.Tensor, mul.out; pointwise */
#define PLUG_SCHEMA_MUL_TENSOR "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_MUL_TENSOR_SELF, PLUG_ARG_MUL_TENSOR_OTHER, PLUG_ARGS_MUL_TENSOR };
/* multi_margin_loss: also multi_margin_loss.out; backward multi_margin_loss_backward */
#define PLUG_SCHEMA_MULTI_MARGIN_LOSS "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_MULTI_MARGIN_LOSS_SELF, PLUG_ARG_MULTI_MARGIN_LOSS_TARGET, PLUG_ARG_MULTI_MARGIN_LOSS_P, PLUG_ARG_MULTI_MARGIN_LOSS_MARGIN, PLUG_ARG_MULTI_MARGIN_LOSS_WEIGHT, PLUG_ARG_MULTI_MARGIN_LOSS_REDUCTION, PLUG_ARGS_MULTI_MARGIN_LOSS };
/* multi_margin_loss_backward: also multi_margin_loss_backward.grad_input */
#define PLUG_SCHEMA_MULTI_MARGIN_LOSS_BACKWARD "aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_SELF, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_TARGET, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_P, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_MARGIN, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_WEIGHT, PLUG_ARG_MULTI_MARGIN_LOSS_BACKWARD_REDUCTION, PLUG_ARGS_MULTI_MARGIN_LOSS_BACKWARD };
/* multilabel_margin_loss_backward: also multilabel_margin_loss_backward.grad_input */
#define PLUG_SCHEMA_MULTILABEL_MARGIN_LOSS_BACKWARD "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor"
enum { PLUG_ARG_MULTILABEL_MARGIN_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_MULTILABEL_MARGIN_LOSS_BACKWARD_SELF, PLUG_ARG_MULTILABEL_MARGIN_LOSS_BACKWARD_TARGET, PLUG_ARG_MULTILABEL_MARGIN_LOSS_BACKWARD_REDUCTION, PLUG_ARG_MULTILABEL_MARGIN_LOSS_BACKWARD_IS_TARGET, PLUG_ARGS_MULTILABEL_MARGIN_LOSS_BACKWARD };
/* multilabel_margin_loss_forward: also multilabel_margin_loss_forward.output; backward multilabel_margin_loss_backward */
#define PLUG_SCHEMA_MULTILABEL_MARGIN_LOSS_FORWARD "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)"
enum { PLUG_ARG_MULTILABEL_MARGIN_LOSS_FORWARD_SELF, PLUG_ARG_MULTILABEL_MARGIN_LOSS_FORWARD_TARGET, PLUG_ARG_MULTILABEL_MARGIN_LOSS_FORWARD_REDUCTION, PLUG_ARGS_MULTILABEL_MARGIN_LOSS_FORWARD };
enum { PLUG_RESULT_MULTILABEL_MARGIN_LOSS_FORWARD_OUTPUT, PLUG_RESULT_MULTILABEL_MARGIN_LOSS_FORWARD_IS_TARGET, PLUG_RESULTS_MULTILABEL_MARGIN_LOSS_FORWARD };
/* multinomial: also multinomial.out */
#define PLUG_SCHEMA_MULTINOMIAL "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_MULTINOMIAL_SELF, PLUG_ARG_MULTINOMIAL_NUM_SAMPLES, PLUG_ARG_MULTINOMIAL_REPLACEMENT, PLUG_ARG_MULTINOMIAL_GENERATOR, PLUG_ARGS_MULTINOMIAL };
/* mv: also mv.out */
#define PLUG_SCHEMA_MV "aten::mv(Tensor self, Tensor vec) -> Tensor"
enum { PLUG_ARG_MV_SELF, PLUG_ARG_MV_VEC, PLUG_ARGS_MV };
/* mvlgamma: also mvlgamma_, mvlgamma.out; pointwise */
#define PLUG_SCHEMA_MVLGAMMA "aten::mvlgamma(Tensor self, int p) -> Tensor"
enum { PLUG_ARG_MVLGAMMA_SELF, PLUG_ARG_MVLGAMMA_P, PLUG_ARGS_MVLGAMMA };
/* nan_to_num: also nan_to_num_, nan_to_num.out; pointwise */
#define PLUG_SCHEMA_NAN_TO_NUM "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"
enum { PLUG_ARG_NAN_TO_NUM_SELF, PLUG_ARG_NAN_TO_NUM_NAN, PLUG_ARG_NAN_TO_NUM_POSINF, PLUG_ARG_NAN_TO_NUM_NEGINF, PLUG_ARGS_NAN_TO_NUM };
/* nanmedian: also nanmedian.out */
#define PLUG_SCHEMA_NANMEDIAN "aten::nanmedian(Tensor self) -> Tensor"
enum { PLUG_ARG_NANMEDIAN_SELF, PLUG_ARGS_NANMEDIAN };
/* nanmedian.dim: also nanmedian.dim_values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_NANMEDIAN_DIM "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_NANMEDIAN_DIM_SELF, PLUG_ARG_NANMEDIAN_DIM_DIM, PLUG_ARG_NANMEDIAN_DIM_KEEPDIM, PLUG_ARGS_NANMEDIAN_DIM };
enum { PLUG_RESULT_NANMEDIAN_DIM_VALUES, PLUG_RESULT_NANMEDIAN_DIM_INDICES, PLUG_RESULTS_NANMEDIAN_DIM };
/* nansum: also nansum.out */
#define PLUG_SCHEMA_NANSUM "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_NANSUM_SELF, PLUG_ARG_NANSUM_DIM, PLUG_ARG_NANSUM_KEEPDIM, PLUG_ARG_NANSUM_DTYPE, PLUG_ARGS_NANSUM };
/* native_batch_norm: also native_batch_norm.out; backward native_batch_norm_backward */
#define PLUG_SCHEMA_NATIVE_BATCH_NORM "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_BATCH_NORM_INPUT, PLUG_ARG_NATIVE_BATCH_NORM_WEIGHT, PLUG_ARG_NATIVE_BATCH_NORM_BIAS, PLUG_ARG_NATIVE_BATCH_NORM_RUNNING_MEAN, PLUG_ARG_NATIVE_BATCH_NORM_RUNNING_VAR, PLUG_ARG_NATIVE_BATCH_NORM_TRAINING, PLUG_ARG_NATIVE_BATCH_NORM_MOMENTUM, PLUG_ARG_NATIVE_BATCH_NORM_EPS, PLUG_ARGS_NATIVE_BATCH_NORM };
/* native_batch_norm_backward: also native_batch_norm_backward.out */
#define PLUG_SCHEMA_NATIVE_BATCH_NORM_BACKWARD "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_GRAD_OUT, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_INPUT, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_WEIGHT, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_RUNNING_MEAN, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_RUNNING_VAR, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_SAVE_MEAN, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_SAVE_INVSTD, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_TRAIN, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_EPS, PLUG_ARG_NATIVE_BATCH_NORM_BACKWARD_OUTPUT_MASK, PLUG_ARGS_NATIVE_BATCH_NORM_BACKWARD };
/* native_channel_shuffle */
#define PLUG_SCHEMA_NATIVE_CHANNEL_SHUFFLE "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor"
enum { PLUG_ARG_NATIVE_CHANNEL_SHUFFLE_SELF, PLUG_ARG_NATIVE_CHANNEL_SHUFFLE_GROUPS, PLUG_ARGS_NATIVE_CHANNEL_SHUFFLE };
/* native_dropout: also native_dropout.out; backward native_dropout_backward */
#define PLUG_SCHEMA_NATIVE_DROPOUT "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_DROPOUT_INPUT, PLUG_ARG_NATIVE_DROPOUT_P, PLUG_ARG_NATIVE_DROPOUT_TRAIN, PLUG_ARGS_NATIVE_DROPOUT };
/* native_dropout_backward: also native_dropout_backward.out; pointwise */
#define PLUG_SCHEMA_NATIVE_DROPOUT_BACKWARD "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor"
enum { PLUG_ARG_NATIVE_DROPOUT_BACKWARD_GRAD_OUTPUT, PLUG_ARG_NATIVE_DROPOUT_BACKWARD_MASK, PLUG_ARG_NATIVE_DROPOUT_BACKWARD_SCALE, PLUG_ARGS_NATIVE_DROPOUT_BACKWARD };
/* native_group_norm: also native_group_norm.out; backward native_group_norm_backward */
#define PLUG_SCHEMA_NATIVE_GROUP_NORM "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_GROUP_NORM_INPUT, PLUG_ARG_NATIVE_GROUP_NORM_WEIGHT, PLUG_ARG_NATIVE_GROUP_NORM_BIAS, PLUG_ARG_NATIVE_GROUP_NORM_N, PLUG_ARG_NATIVE_GROUP_NORM_C, PLUG_ARG_NATIVE_GROUP_NORM_HXW, PLUG_ARG_NATIVE_GROUP_NORM_GROUP, PLUG_ARG_NATIVE_GROUP_NORM_EPS, PLUG_ARGS_NATIVE_GROUP_NORM };
/* native_group_norm_backward: also native_group_norm_backward.out */
#define PLUG_SCHEMA_NATIVE_GROUP_NORM_BACKWARD "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_GRAD_OUT, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_INPUT, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_MEAN, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_RSTD, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_WEIGHT, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_N, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_C, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_HXW, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_GROUP, PLUG_ARG_NATIVE_GROUP_NORM_BACKWARD_OUTPUT_MASK, PLUG_ARGS_NATIVE_GROUP_NORM_BACKWARD };
/* native_layer_norm: also native_layer_norm.out; backward native_layer_norm_backward */
#define PLUG_SCHEMA_NATIVE_LAYER_NORM "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_LAYER_NORM_INPUT, PLUG_ARG_NATIVE_LAYER_NORM_NORMALIZED_SHAPE, PLUG_ARG_NATIVE_LAYER_NORM_WEIGHT, PLUG_ARG_NATIVE_LAYER_NORM_BIAS, PLUG_ARG_NATIVE_LAYER_NORM_EPS, PLUG_ARGS_NATIVE_LAYER_NORM };
/* native_layer_norm_backward: also native_layer_norm_backward.out */
#define PLUG_SCHEMA_NATIVE_LAYER_NORM_BACKWARD "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_GRAD_OUT, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_INPUT, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_NORMALIZED_SHAPE, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_MEAN, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_RSTD, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_WEIGHT, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_BIAS, PLUG_ARG_NATIVE_LAYER_NORM_BACKWARD_OUTPUT_MASK, PLUG_ARGS_NATIVE_LAYER_NORM_BACKWARD };
/* ne.Scalar: also ne_.Scalar, ne.Scalar_out; pointwise */
#define PLUG_SCHEMA_NE_SCALAR "aten::ne.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_NE_SCALAR_SELF, PLUG_ARG_NE_SCALAR_OTHER, PLUG_ARGS_NE_SCALAR };
/* ne.Tensor: also ne_.Tensor, ne.Tensor_out; pointwise */
#define PLUG_SCHEMA_NE_TENSOR "aten::ne.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_NE_TENSOR_SELF, PLUG_ARG_NE_TENSOR_OTHER, PLUG_ARGS_NE_TENSOR };
/* neg: also neg_, neg.out; pointwise */
#define PLUG_SCHEMA_NEG "aten::neg(Tensor self) -> Tensor"
enum { PLUG_ARG_NEG_SELF, PLUG_ARGS_NEG };
/* new_full */
#define PLUG_SCHEMA_NEW_FULL "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_NEW_FULL_SELF, PLUG_ARG_NEW_FULL_SIZE, PLUG_ARG_NEW_FULL_FILL_VALUE, PLUG_ARG_NEW_FULL_DTYPE, PLUG_ARG_NEW_FULL_LAYOUT, PLUG_ARG_NEW_FULL_DEVICE, PLUG_ARG_NEW_FULL_PIN_MEMORY, PLUG_ARGS_NEW_FULL };
/* new_ones */
#define PLUG_SCHEMA_NEW_ONES "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_NEW_ONES_SELF, PLUG_ARG_NEW_ONES_SIZE, PLUG_ARG_NEW_ONES_DTYPE, PLUG_ARG_NEW_ONES_LAYOUT, PLUG_ARG_NEW_ONES_DEVICE, PLUG_ARG_NEW_ONES_PIN_MEMORY, PLUG_ARGS_NEW_ONES };
/* new_zeros */
#define PLUG_SCHEMA_NEW_ZEROS "aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_NEW_ZEROS_SELF, PLUG_ARG_NEW_ZEROS_SIZE, PLUG_ARG_NEW_ZEROS_DTYPE, PLUG_ARG_NEW_ZEROS_LAYOUT, PLUG_ARG_NEW_ZEROS_DEVICE, PLUG_ARG_NEW_ZEROS_PIN_MEMORY, PLUG_ARGS_NEW_ZEROS };
/* nextafter: also nextafter_, nextafter.out; pointwise */
#define PLUG_SCHEMA_NEXTAFTER "aten::nextafter(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_NEXTAFTER_SELF, PLUG_ARG_NEXTAFTER_OTHER, PLUG_ARGS_NEXTAFTER };
/* nll_loss2d_backward: also nll_loss2d_backward.grad_input */
#define PLUG_SCHEMA_NLL_LOSS2D_BACKWARD "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
enum { PLUG_ARG_NLL_LOSS2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_NLL_LOSS2D_BACKWARD_SELF, PLUG_ARG_NLL_LOSS2D_BACKWARD_TARGET, PLUG_ARG_NLL_LOSS2D_BACKWARD_WEIGHT, PLUG_ARG_NLL_LOSS2D_BACKWARD_REDUCTION, PLUG_ARG_NLL_LOSS2D_BACKWARD_IGNORE_INDEX, PLUG_ARG_NLL_LOSS2D_BACKWARD_TOTAL_WEIGHT, PLUG_ARGS_NLL_LOSS2D_BACKWARD };
/* nll_loss2d_forward: also nll_loss2d_forward.output; backward nll_loss2d_backward */
#define PLUG_SCHEMA_NLL_LOSS2D_FORWARD "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)"
enum { PLUG_ARG_NLL_LOSS2D_FORWARD_SELF, PLUG_ARG_NLL_LOSS2D_FORWARD_TARGET, PLUG_ARG_NLL_LOSS2D_FORWARD_WEIGHT, PLUG_ARG_NLL_LOSS2D_FORWARD_REDUCTION, PLUG_ARG_NLL_LOSS2D_FORWARD_IGNORE_INDEX, PLUG_ARGS_NLL_LOSS2D_FORWARD };
enum { PLUG_RESULT_NLL_LOSS2D_FORWARD_OUTPUT, PLUG_RESULT_NLL_LOSS2D_FORWARD_TOTAL_WEIGHT, PLUG_RESULTS_NLL_LOSS2D_FORWARD };
/* nll_loss_backward: also nll_loss_backward.grad_input */
#define PLUG_SCHEMA_NLL_LOSS_BACKWARD "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
enum { PLUG_ARG_NLL_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_NLL_LOSS_BACKWARD_SELF, PLUG_ARG_NLL_LOSS_BACKWARD_TARGET, PLUG_ARG_NLL_LOSS_BACKWARD_WEIGHT, PLUG_ARG_NLL_LOSS_BACKWARD_REDUCTION, PLUG_ARG_NLL_LOSS_BACKWARD_IGNORE_INDEX, PLUG_ARG_NLL_LOSS_BACKWARD_TOTAL_WEIGHT, PLUG_ARGS_NLL_LOSS_BACKWARD };
/* nll_loss_forward: also nll_loss_forward.output; backward nll_loss_backward */
#define PLUG_SCHEMA_NLL_LOSS_FORWARD "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)"
enum { PLUG_ARG_NLL_LOSS_FORWARD_SELF, PLUG_ARG_NLL_LOSS_FORWARD_TARGET, PLUG_ARG_NLL_LOSS_FORWARD_WEIGHT, PLUG_ARG_NLL_LOSS_FORWARD_REDUCTION, PLUG_ARG_NLL_LOSS_FORWARD_IGNORE_INDEX, PLUG_ARGS_NLL_LOSS_FORWARD };
enum { PLUG_RESULT_NLL_LOSS_FORWARD_OUTPUT, PLUG_RESULT_NLL_LOSS_FORWARD_TOTAL_WEIGHT, PLUG_RESULTS_NLL_LOSS_FORWARD };
/* nonzero: also nonzero.out */
#define PLUG_SCHEMA_NONZERO "aten::nonzero(Tensor self) -> Tensor"
enum { PLUG_ARG_NONZERO_SELF, PLUG_ARGS_NONZERO };
/* nonzero_static: also nonzero_static.out */
#define PLUG_SCHEMA_NONZERO_STATIC "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"
enum { PLUG_ARG_NONZERO_STATIC_SELF, PLUG_ARG_NONZERO_STATIC_SIZE, PLUG_ARG_NONZERO_STATIC_FILL_VALUE, PLUG_ARGS_NONZERO_STATIC };
/* norm.Scalar: also norm.Scalar_out */
#define PLUG_SCHEMA_NORM_SCALAR "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor"
enum { PLUG_ARG_NORM_SCALAR_SELF, PLUG_ARG_NORM_SCALAR_P, PLUG_ARGS_NORM_SCALAR };
/* norm.ScalarOpt_dim: also norm.out */
#define PLUG_SCHEMA_NORM_SCALAROPT_DIM "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_NORM_SCALAROPT_DIM_SELF, PLUG_ARG_NORM_SCALAROPT_DIM_P, PLUG_ARG_NORM_SCALAROPT_DIM_DIM, PLUG_ARG_NORM_SCALAROPT_DIM_KEEPDIM, PLUG_ARGS_NORM_SCALAROPT_DIM };
/* norm.ScalarOpt_dim_dtype: also norm.dtype_out */
#define PLUG_SCHEMA_NORM_SCALAROPT_DIM_DTYPE "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor"
enum { PLUG_ARG_NORM_SCALAROPT_DIM_DTYPE_SELF, PLUG_ARG_NORM_SCALAROPT_DIM_DTYPE_P, PLUG_ARG_NORM_SCALAROPT_DIM_DTYPE_DIM, PLUG_ARG_NORM_SCALAROPT_DIM_DTYPE_KEEPDIM, PLUG_ARG_NORM_SCALAROPT_DIM_DTYPE_DTYPE, PLUG_ARGS_NORM_SCALAROPT_DIM_DTYPE };
/* norm.ScalarOpt_dtype: also norm.ScalarOpt_dtype_out */
#define PLUG_SCHEMA_NORM_SCALAROPT_DTYPE "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor"
enum { PLUG_ARG_NORM_SCALAROPT_DTYPE_SELF, PLUG_ARG_NORM_SCALAROPT_DTYPE_P, PLUG_ARG_NORM_SCALAROPT_DTYPE_DTYPE, PLUG_ARGS_NORM_SCALAROPT_DTYPE };
/* normal.Tensor_Tensor: also normal.Tensor_Tensor_out */
#define PLUG_SCHEMA_NORMAL_TENSOR_TENSOR "aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_NORMAL_TENSOR_TENSOR_MEAN, PLUG_ARG_NORMAL_TENSOR_TENSOR_STD, PLUG_ARG_NORMAL_TENSOR_TENSOR_GENERATOR, PLUG_ARGS_NORMAL_TENSOR_TENSOR };
/* normal.Tensor_float: also normal.Tensor_float_out */
#define PLUG_SCHEMA_NORMAL_TENSOR_FLOAT "aten::normal.Tensor_float(Tensor mean, float std=1, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_NORMAL_TENSOR_FLOAT_MEAN, PLUG_ARG_NORMAL_TENSOR_FLOAT_STD, PLUG_ARG_NORMAL_TENSOR_FLOAT_GENERATOR, PLUG_ARGS_NORMAL_TENSOR_FLOAT };
/* normal.float_Tensor: also normal.float_Tensor_out */
#define PLUG_SCHEMA_NORMAL_FLOAT_TENSOR "aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_NORMAL_FLOAT_TENSOR_MEAN, PLUG_ARG_NORMAL_FLOAT_TENSOR_STD, PLUG_ARG_NORMAL_FLOAT_TENSOR_GENERATOR, PLUG_ARGS_NORMAL_FLOAT_TENSOR };
/* normal.float_float */
#define PLUG_SCHEMA_NORMAL_FLOAT_FLOAT "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_NORMAL_FLOAT_FLOAT_MEAN, PLUG_ARG_NORMAL_FLOAT_FLOAT_STD, PLUG_ARG_NORMAL_FLOAT_FLOAT_SIZE, PLUG_ARG_NORMAL_FLOAT_FLOAT_GENERATOR, PLUG_ARG_NORMAL_FLOAT_FLOAT_DTYPE, PLUG_ARG_NORMAL_FLOAT_FLOAT_LAYOUT, PLUG_ARG_NORMAL_FLOAT_FLOAT_DEVICE, PLUG_ARG_NORMAL_FLOAT_FLOAT_PIN_MEMORY, PLUG_ARGS_NORMAL_FLOAT_FLOAT };
/* normal.float_float_out */
#define PLUG_SCHEMA_NORMAL_FLOAT_FLOAT_OUT "aten::normal.float_float_out(float mean, float std, SymInt[] size, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_NORMAL_FLOAT_FLOAT_OUT_MEAN, PLUG_ARG_NORMAL_FLOAT_FLOAT_OUT_STD, PLUG_ARG_NORMAL_FLOAT_FLOAT_OUT_SIZE, PLUG_ARG_NORMAL_FLOAT_FLOAT_OUT_GENERATOR, PLUG_ARG_NORMAL_FLOAT_FLOAT_OUT_OUT, PLUG_ARGS_NORMAL_FLOAT_FLOAT_OUT };
/* normal_ */
#define PLUG_SCHEMA_NORMAL_ "aten::normal_(Tensor(a!) self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor(a!)"
enum { PLUG_ARG_NORMAL__SELF, PLUG_ARG_NORMAL__MEAN, PLUG_ARG_NORMAL__STD, PLUG_ARG_NORMAL__GENERATOR, PLUG_ARGS_NORMAL_ };
/* normal_functional */
#define PLUG_SCHEMA_NORMAL_FUNCTIONAL "aten::normal_functional(Tensor self, float mean=0, float std=1, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_NORMAL_FUNCTIONAL_SELF, PLUG_ARG_NORMAL_FUNCTIONAL_MEAN, PLUG_ARG_NORMAL_FUNCTIONAL_STD, PLUG_ARG_NORMAL_FUNCTIONAL_GENERATOR, PLUG_ARGS_NORMAL_FUNCTIONAL };
/* ones */
#define PLUG_SCHEMA_ONES "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_ONES_SIZE, PLUG_ARG_ONES_DTYPE, PLUG_ARG_ONES_LAYOUT, PLUG_ARG_ONES_DEVICE, PLUG_ARG_ONES_PIN_MEMORY, PLUG_ARGS_ONES };
/* ones.out */
#define PLUG_SCHEMA_ONES_OUT "aten::ones.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_ONES_OUT_SIZE, PLUG_ARG_ONES_OUT_OUT, PLUG_ARGS_ONES_OUT };
/* ones_like */
#define PLUG_SCHEMA_ONES_LIKE "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_ONES_LIKE_SELF, PLUG_ARG_ONES_LIKE_DTYPE, PLUG_ARG_ONES_LIKE_LAYOUT, PLUG_ARG_ONES_LIKE_DEVICE, PLUG_ARG_ONES_LIKE_PIN_MEMORY, PLUG_ARG_ONES_LIKE_MEMORY_FORMAT, PLUG_ARGS_ONES_LIKE };
/* ormqr: also ormqr.out */
#define PLUG_SCHEMA_ORMQR "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor"
enum { PLUG_ARG_ORMQR_SELF, PLUG_ARG_ORMQR_INPUT2, PLUG_ARG_ORMQR_INPUT3, PLUG_ARG_ORMQR_LEFT, PLUG_ARG_ORMQR_TRANSPOSE, PLUG_ARGS_ORMQR };
/* pixel_shuffle: also pixel_shuffle.out */
#define PLUG_SCHEMA_PIXEL_SHUFFLE "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"
enum { PLUG_ARG_PIXEL_SHUFFLE_SELF, PLUG_ARG_PIXEL_SHUFFLE_UPSCALE_FACTOR, PLUG_ARGS_PIXEL_SHUFFLE };
/* pixel_unshuffle: also pixel_unshuffle.out */
#define PLUG_SCHEMA_PIXEL_UNSHUFFLE "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"
enum { PLUG_ARG_PIXEL_UNSHUFFLE_SELF, PLUG_ARG_PIXEL_UNSHUFFLE_DOWNSCALE_FACTOR, PLUG_ARGS_PIXEL_UNSHUFFLE };
/* poisson: also poisson.out */
#define PLUG_SCHEMA_POISSON "aten::poisson(Tensor self, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_POISSON_SELF, PLUG_ARG_POISSON_GENERATOR, PLUG_ARGS_POISSON };
/* polar: also polar.out */
#define PLUG_SCHEMA_POLAR "aten::polar(Tensor abs, Tensor angle) -> Tensor"
enum { PLUG_ARG_POLAR_ABS, PLUG_ARG_POLAR_ANGLE, PLUG_ARGS_POLAR };
/* polygamma: also polygamma_, polygamma.out; pointwise */
#define PLUG_SCHEMA_POLYGAMMA "aten::polygamma(int n, Tensor self) -> Tensor"
enum { PLUG_ARG_POLYGAMMA_N, PLUG_ARG_POLYGAMMA_SELF, PLUG_ARGS_POLYGAMMA };
/* pow.Scalar: also pow_.Scalar, pow.Scalar_out; pointwise */
#define PLUG_SCHEMA_POW_SCALAR "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor"
enum { PLUG_ARG_POW_SCALAR_SELF, PLUG_ARG_POW_SCALAR_EXPONENT, PLUG_ARGS_POW_SCALAR };
/* pow.Tensor_Scalar: also pow.Tensor_Scalar_out; pointwise */
#define PLUG_SCHEMA_POW_TENSOR_SCALAR "aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"
enum { PLUG_ARG_POW_TENSOR_SCALAR_SELF, PLUG_ARG_POW_TENSOR_SCALAR_EXPONENT, PLUG_ARGS_POW_TENSOR_SCALAR };
/* pow.Tensor_Tensor: also pow.Tensor_Tensor_out; pointwise */
#define PLUG_SCHEMA_POW_TENSOR_TENSOR "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor"
enum { PLUG_ARG_POW_TENSOR_TENSOR_SELF, PLUG_ARG_POW_TENSOR_TENSOR_EXPONENT, PLUG_ARGS_POW_TENSOR_TENSOR };
/* pow_.Tensor: pointwise */
#define PLUG_SCHEMA_POW__TENSOR "aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)"
enum { PLUG_ARG_POW__TENSOR_SELF, PLUG_ARG_POW__TENSOR_EXPONENT, PLUG_ARGS_POW__TENSOR };
/* prod: also prod.out */
#define PLUG_SCHEMA_PROD "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_PROD_SELF, PLUG_ARG_PROD_DTYPE, PLUG_ARGS_PROD };
/* prod.dim_int: also prod.int_out */
#define PLUG_SCHEMA_PROD_DIM_INT "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_PROD_DIM_INT_SELF, PLUG_ARG_PROD_DIM_INT_DIM, PLUG_ARG_PROD_DIM_INT_KEEPDIM, PLUG_ARG_PROD_DIM_INT_DTYPE, PLUG_ARGS_PROD_DIM_INT };
/* put: also put_, put.out */
#define PLUG_SCHEMA_PUT "aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"
enum { PLUG_ARG_PUT_SELF, PLUG_ARG_PUT_INDEX, PLUG_ARG_PUT_SOURCE, PLUG_ARG_PUT_ACCUMULATE, PLUG_ARGS_PUT };
/* rad2deg: also rad2deg_, rad2deg.out; pointwise */
#define PLUG_SCHEMA_RAD2DEG "aten::rad2deg(Tensor self) -> Tensor"
enum { PLUG_ARG_RAD2DEG_SELF, PLUG_ARGS_RAD2DEG };
/* rand */
#define PLUG_SCHEMA_RAND "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RAND_SIZE, PLUG_ARG_RAND_DTYPE, PLUG_ARG_RAND_LAYOUT, PLUG_ARG_RAND_DEVICE, PLUG_ARG_RAND_PIN_MEMORY, PLUG_ARGS_RAND };
/* rand.generator */
#define PLUG_SCHEMA_RAND_GENERATOR "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RAND_GENERATOR_SIZE, PLUG_ARG_RAND_GENERATOR_GENERATOR, PLUG_ARG_RAND_GENERATOR_DTYPE, PLUG_ARG_RAND_GENERATOR_LAYOUT, PLUG_ARG_RAND_GENERATOR_DEVICE, PLUG_ARG_RAND_GENERATOR_PIN_MEMORY, PLUG_ARGS_RAND_GENERATOR };
/* rand.out */
#define PLUG_SCHEMA_RAND_OUT "aten::rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RAND_OUT_SIZE, PLUG_ARG_RAND_OUT_OUT, PLUG_ARGS_RAND_OUT };
/* rand_like */
#define PLUG_SCHEMA_RAND_LIKE "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RAND_LIKE_SELF, PLUG_ARG_RAND_LIKE_DTYPE, PLUG_ARG_RAND_LIKE_LAYOUT, PLUG_ARG_RAND_LIKE_DEVICE, PLUG_ARG_RAND_LIKE_PIN_MEMORY, PLUG_ARG_RAND_LIKE_MEMORY_FORMAT, PLUG_ARGS_RAND_LIKE };
/* rand_like.generator */
#define PLUG_SCHEMA_RAND_LIKE_GENERATOR "aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RAND_LIKE_GENERATOR_SELF, PLUG_ARG_RAND_LIKE_GENERATOR_GENERATOR, PLUG_ARG_RAND_LIKE_GENERATOR_DTYPE, PLUG_ARG_RAND_LIKE_GENERATOR_LAYOUT, PLUG_ARG_RAND_LIKE_GENERATOR_DEVICE, PLUG_ARG_RAND_LIKE_GENERATOR_PIN_MEMORY, PLUG_ARG_RAND_LIKE_GENERATOR_MEMORY_FORMAT, PLUG_ARGS_RAND_LIKE_GENERATOR };
/* randint */
#define PLUG_SCHEMA_RANDINT "aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDINT_HIGH, PLUG_ARG_RANDINT_SIZE, PLUG_ARG_RANDINT_DTYPE, PLUG_ARG_RANDINT_LAYOUT, PLUG_ARG_RANDINT_DEVICE, PLUG_ARG_RANDINT_PIN_MEMORY, PLUG_ARGS_RANDINT };
/* randint.generator */
#define PLUG_SCHEMA_RANDINT_GENERATOR "aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDINT_GENERATOR_HIGH, PLUG_ARG_RANDINT_GENERATOR_SIZE, PLUG_ARG_RANDINT_GENERATOR_GENERATOR, PLUG_ARG_RANDINT_GENERATOR_DTYPE, PLUG_ARG_RANDINT_GENERATOR_LAYOUT, PLUG_ARG_RANDINT_GENERATOR_DEVICE, PLUG_ARG_RANDINT_GENERATOR_PIN_MEMORY, PLUG_ARGS_RANDINT_GENERATOR };
/* randint.generator_out */
#define PLUG_SCHEMA_RANDINT_GENERATOR_OUT "aten::randint.generator_out(SymInt high, SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDINT_GENERATOR_OUT_HIGH, PLUG_ARG_RANDINT_GENERATOR_OUT_SIZE, PLUG_ARG_RANDINT_GENERATOR_OUT_GENERATOR, PLUG_ARG_RANDINT_GENERATOR_OUT_OUT, PLUG_ARGS_RANDINT_GENERATOR_OUT };
/* randint.low */
#define PLUG_SCHEMA_RANDINT_LOW "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LOW_LOW, PLUG_ARG_RANDINT_LOW_HIGH, PLUG_ARG_RANDINT_LOW_SIZE, PLUG_ARG_RANDINT_LOW_DTYPE, PLUG_ARG_RANDINT_LOW_LAYOUT, PLUG_ARG_RANDINT_LOW_DEVICE, PLUG_ARG_RANDINT_LOW_PIN_MEMORY, PLUG_ARGS_RANDINT_LOW };
/* randint.low_generator */
#define PLUG_SCHEMA_RANDINT_LOW_GENERATOR "aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LOW_GENERATOR_LOW, PLUG_ARG_RANDINT_LOW_GENERATOR_HIGH, PLUG_ARG_RANDINT_LOW_GENERATOR_SIZE, PLUG_ARG_RANDINT_LOW_GENERATOR_GENERATOR, PLUG_ARG_RANDINT_LOW_GENERATOR_DTYPE, PLUG_ARG_RANDINT_LOW_GENERATOR_LAYOUT, PLUG_ARG_RANDINT_LOW_GENERATOR_DEVICE, PLUG_ARG_RANDINT_LOW_GENERATOR_PIN_MEMORY, PLUG_ARGS_RANDINT_LOW_GENERATOR };
/* randint.low_generator_out */
#define PLUG_SCHEMA_RANDINT_LOW_GENERATOR_OUT "aten::randint.low_generator_out(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDINT_LOW_GENERATOR_OUT_LOW, PLUG_ARG_RANDINT_LOW_GENERATOR_OUT_HIGH, PLUG_ARG_RANDINT_LOW_GENERATOR_OUT_SIZE, PLUG_ARG_RANDINT_LOW_GENERATOR_OUT_GENERATOR, PLUG_ARG_RANDINT_LOW_GENERATOR_OUT_OUT, PLUG_ARGS_RANDINT_LOW_GENERATOR_OUT };
/* randint.low_out */
#define PLUG_SCHEMA_RANDINT_LOW_OUT "aten::randint.low_out(SymInt low, SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDINT_LOW_OUT_LOW, PLUG_ARG_RANDINT_LOW_OUT_HIGH, PLUG_ARG_RANDINT_LOW_OUT_SIZE, PLUG_ARG_RANDINT_LOW_OUT_OUT, PLUG_ARGS_RANDINT_LOW_OUT };
/* randint.out */
#define PLUG_SCHEMA_RANDINT_OUT "aten::randint.out(SymInt high, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDINT_OUT_HIGH, PLUG_ARG_RANDINT_OUT_SIZE, PLUG_ARG_RANDINT_OUT_OUT, PLUG_ARGS_RANDINT_OUT };
/* randint_like */
#define PLUG_SCHEMA_RANDINT_LIKE "aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_SELF, PLUG_ARG_RANDINT_LIKE_HIGH, PLUG_ARG_RANDINT_LIKE_DTYPE, PLUG_ARG_RANDINT_LIKE_LAYOUT, PLUG_ARG_RANDINT_LIKE_DEVICE, PLUG_ARG_RANDINT_LIKE_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE };
/* randint_like.Tensor */
#define PLUG_SCHEMA_RANDINT_LIKE_TENSOR "aten::randint_like.Tensor(Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_TENSOR_SELF, PLUG_ARG_RANDINT_LIKE_TENSOR_HIGH, PLUG_ARG_RANDINT_LIKE_TENSOR_DTYPE, PLUG_ARG_RANDINT_LIKE_TENSOR_LAYOUT, PLUG_ARG_RANDINT_LIKE_TENSOR_DEVICE, PLUG_ARG_RANDINT_LIKE_TENSOR_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_TENSOR_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE_TENSOR };
/* randint_like.Tensor_generator */
#define PLUG_SCHEMA_RANDINT_LIKE_TENSOR_GENERATOR "aten::randint_like.Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_SELF, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_HIGH, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_GENERATOR, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_DTYPE, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_LAYOUT, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_DEVICE, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_TENSOR_GENERATOR_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE_TENSOR_GENERATOR };
/* randint_like.generator */
#define PLUG_SCHEMA_RANDINT_LIKE_GENERATOR "aten::randint_like.generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_GENERATOR_SELF, PLUG_ARG_RANDINT_LIKE_GENERATOR_HIGH, PLUG_ARG_RANDINT_LIKE_GENERATOR_GENERATOR, PLUG_ARG_RANDINT_LIKE_GENERATOR_DTYPE, PLUG_ARG_RANDINT_LIKE_GENERATOR_LAYOUT, PLUG_ARG_RANDINT_LIKE_GENERATOR_DEVICE, PLUG_ARG_RANDINT_LIKE_GENERATOR_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_GENERATOR_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE_GENERATOR };
/* randint_like.low_dtype */
#define PLUG_SCHEMA_RANDINT_LIKE_LOW_DTYPE "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_SELF, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_LOW, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_HIGH, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_DTYPE, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_LAYOUT, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_DEVICE, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_LOW_DTYPE_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE_LOW_DTYPE };
/* randint_like.low_generator_dtype */
#define PLUG_SCHEMA_RANDINT_LIKE_LOW_GENERATOR_DTYPE "aten::randint_like.low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_SELF, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_LOW, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_HIGH, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_GENERATOR, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_DTYPE, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_LAYOUT, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_DEVICE, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_PIN_MEMORY, PLUG_ARG_RANDINT_LIKE_LOW_GENERATOR_DTYPE_MEMORY_FORMAT, PLUG_ARGS_RANDINT_LIKE_LOW_GENERATOR_DTYPE };
/* randn */
#define PLUG_SCHEMA_RANDN "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDN_SIZE, PLUG_ARG_RANDN_DTYPE, PLUG_ARG_RANDN_LAYOUT, PLUG_ARG_RANDN_DEVICE, PLUG_ARG_RANDN_PIN_MEMORY, PLUG_ARGS_RANDN };
/* randn.generator */
#define PLUG_SCHEMA_RANDN_GENERATOR "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDN_GENERATOR_SIZE, PLUG_ARG_RANDN_GENERATOR_GENERATOR, PLUG_ARG_RANDN_GENERATOR_DTYPE, PLUG_ARG_RANDN_GENERATOR_LAYOUT, PLUG_ARG_RANDN_GENERATOR_DEVICE, PLUG_ARG_RANDN_GENERATOR_PIN_MEMORY, PLUG_ARGS_RANDN_GENERATOR };
/* randn_like */
#define PLUG_SCHEMA_RANDN_LIKE "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDN_LIKE_SELF, PLUG_ARG_RANDN_LIKE_DTYPE, PLUG_ARG_RANDN_LIKE_LAYOUT, PLUG_ARG_RANDN_LIKE_DEVICE, PLUG_ARG_RANDN_LIKE_PIN_MEMORY, PLUG_ARG_RANDN_LIKE_MEMORY_FORMAT, PLUG_ARGS_RANDN_LIKE };
/* randn_like.generator */
#define PLUG_SCHEMA_RANDN_LIKE_GENERATOR "aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_RANDN_LIKE_GENERATOR_SELF, PLUG_ARG_RANDN_LIKE_GENERATOR_GENERATOR, PLUG_ARG_RANDN_LIKE_GENERATOR_DTYPE, PLUG_ARG_RANDN_LIKE_GENERATOR_LAYOUT, PLUG_ARG_RANDN_LIKE_GENERATOR_DEVICE, PLUG_ARG_RANDN_LIKE_GENERATOR_PIN_MEMORY, PLUG_ARG_RANDN_LIKE_GENERATOR_MEMORY_FORMAT, PLUG_ARGS_RANDN_LIKE_GENERATOR };
/* random: also random_, random.out */
#define PLUG_SCHEMA_RANDOM "aten::random(Tensor self, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_RANDOM_SELF, PLUG_ARG_RANDOM_GENERATOR, PLUG_ARGS_RANDOM };
/* random.from: also random_.from, random.from_out */
#define PLUG_SCHEMA_RANDOM_FROM "aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_RANDOM_FROM_SELF, PLUG_ARG_RANDOM_FROM_FROM, PLUG_ARG_RANDOM_FROM_TO, PLUG_ARG_RANDOM_FROM_GENERATOR, PLUG_ARGS_RANDOM_FROM };
/* random.to: also random_.to, random.to_out */
#define PLUG_SCHEMA_RANDOM_TO "aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_RANDOM_TO_SELF, PLUG_ARG_RANDOM_TO_TO, PLUG_ARG_RANDOM_TO_GENERATOR, PLUG_ARGS_RANDOM_TO };
/* randperm */
#define PLUG_SCHEMA_RANDPERM "aten::randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDPERM_N, PLUG_ARG_RANDPERM_DTYPE, PLUG_ARG_RANDPERM_LAYOUT, PLUG_ARG_RANDPERM_DEVICE, PLUG_ARG_RANDPERM_PIN_MEMORY, PLUG_ARGS_RANDPERM };
/* randperm.generator */
#define PLUG_SCHEMA_RANDPERM_GENERATOR "aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANDPERM_GENERATOR_N, PLUG_ARG_RANDPERM_GENERATOR_GENERATOR, PLUG_ARG_RANDPERM_GENERATOR_DTYPE, PLUG_ARG_RANDPERM_GENERATOR_LAYOUT, PLUG_ARG_RANDPERM_GENERATOR_DEVICE, PLUG_ARG_RANDPERM_GENERATOR_PIN_MEMORY, PLUG_ARGS_RANDPERM_GENERATOR };
/* randperm.generator_out */
#define PLUG_SCHEMA_RANDPERM_GENERATOR_OUT "aten::randperm.generator_out(SymInt n, *, Generator? generator, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDPERM_GENERATOR_OUT_N, PLUG_ARG_RANDPERM_GENERATOR_OUT_GENERATOR, PLUG_ARG_RANDPERM_GENERATOR_OUT_OUT, PLUG_ARGS_RANDPERM_GENERATOR_OUT };
/* randperm.out */
#define PLUG_SCHEMA_RANDPERM_OUT "aten::randperm.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANDPERM_OUT_N, PLUG_ARG_RANDPERM_OUT_OUT, PLUG_ARGS_RANDPERM_OUT };
/* range */
#define PLUG_SCHEMA_RANGE "aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANGE_START, PLUG_ARG_RANGE_END, PLUG_ARG_RANGE_DTYPE, PLUG_ARG_RANGE_LAYOUT, PLUG_ARG_RANGE_DEVICE, PLUG_ARG_RANGE_PIN_MEMORY, PLUG_ARGS_RANGE };
/* range.out */
#define PLUG_SCHEMA_RANGE_OUT "aten::range.out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANGE_OUT_START, PLUG_ARG_RANGE_OUT_END, PLUG_ARG_RANGE_OUT_STEP, PLUG_ARG_RANGE_OUT_OUT, PLUG_ARGS_RANGE_OUT };
/* range.out_ */
#define PLUG_SCHEMA_RANGE_OUT_ "aten::range.out_(Scalar start, Scalar end, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_RANGE_OUT__START, PLUG_ARG_RANGE_OUT__END, PLUG_ARG_RANGE_OUT__OUT, PLUG_ARGS_RANGE_OUT_ };
/* range.step */
#define PLUG_SCHEMA_RANGE_STEP "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_RANGE_STEP_START, PLUG_ARG_RANGE_STEP_END, PLUG_ARG_RANGE_STEP_STEP, PLUG_ARG_RANGE_STEP_DTYPE, PLUG_ARG_RANGE_STEP_LAYOUT, PLUG_ARG_RANGE_STEP_DEVICE, PLUG_ARG_RANGE_STEP_PIN_MEMORY, PLUG_ARGS_RANGE_STEP };
/* reciprocal: also reciprocal_, reciprocal.out; pointwise */
#define PLUG_SCHEMA_RECIPROCAL "aten::reciprocal(Tensor self) -> Tensor"
enum { PLUG_ARG_RECIPROCAL_SELF, PLUG_ARGS_RECIPROCAL };
/* reflection_pad1d: also reflection_pad1d.out; backward reflection_pad1d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD1D "aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD1D_SELF, PLUG_ARG_REFLECTION_PAD1D_PADDING, PLUG_ARGS_REFLECTION_PAD1D };
/* reflection_pad1d_backward: also reflection_pad1d_backward.grad_input; backward reflection_pad1d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD1D_BACKWARD "aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD1D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REFLECTION_PAD1D_BACKWARD_SELF, PLUG_ARG_REFLECTION_PAD1D_BACKWARD_PADDING, PLUG_ARGS_REFLECTION_PAD1D_BACKWARD };
/* reflection_pad2d: also reflection_pad2d.out; backward reflection_pad2d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD2D "aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD2D_SELF, PLUG_ARG_REFLECTION_PAD2D_PADDING, PLUG_ARGS_REFLECTION_PAD2D };
/* reflection_pad2d_backward: also reflection_pad2d_backward.grad_input; backward reflection_pad2d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD2D_BACKWARD "aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REFLECTION_PAD2D_BACKWARD_SELF, PLUG_ARG_REFLECTION_PAD2D_BACKWARD_PADDING, PLUG_ARGS_REFLECTION_PAD2D_BACKWARD };
/* reflection_pad3d: also reflection_pad3d.out; backward reflection_pad3d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD3D "aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD3D_SELF, PLUG_ARG_REFLECTION_PAD3D_PADDING, PLUG_ARGS_REFLECTION_PAD3D };
/* reflection_pad3d_backward: also reflection_pad3d_backward.grad_input; backward reflection_pad3d_backward */
#define PLUG_SCHEMA_REFLECTION_PAD3D_BACKWARD "aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"
enum { PLUG_ARG_REFLECTION_PAD3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REFLECTION_PAD3D_BACKWARD_SELF, PLUG_ARG_REFLECTION_PAD3D_BACKWARD_PADDING, PLUG_ARGS_REFLECTION_PAD3D_BACKWARD };
/* relu: also relu_, relu.out; pointwise; backward threshold_backward */
#define PLUG_SCHEMA_RELU "aten::relu(Tensor self) -> Tensor"
enum { PLUG_ARG_RELU_SELF, PLUG_ARGS_RELU };
/* remainder.Scalar: also remainder_.Scalar, remainder.Scalar_out; pointwise */
#define PLUG_SCHEMA_REMAINDER_SCALAR "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_REMAINDER_SCALAR_SELF, PLUG_ARG_REMAINDER_SCALAR_OTHER, PLUG_ARGS_REMAINDER_SCALAR };
/* remainder.Scalar_Tensor: also remainder.Scalar_Tensor_out; pointwise */
#define PLUG_SCHEMA_REMAINDER_SCALAR_TENSOR "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_REMAINDER_SCALAR_TENSOR_SELF, PLUG_ARG_REMAINDER_SCALAR_TENSOR_OTHER, PLUG_ARGS_REMAINDER_SCALAR_TENSOR };
/* remainder.Tensor: also remainder_.Tensor, remainder.Tensor_out; pointwise */
#define PLUG_SCHEMA_REMAINDER_TENSOR "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_REMAINDER_TENSOR_SELF, PLUG_ARG_REMAINDER_TENSOR_OTHER, PLUG_ARGS_REMAINDER_TENSOR };
/* renorm: also renorm_, renorm.out */
#define PLUG_SCHEMA_RENORM "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor"
enum { PLUG_ARG_RENORM_SELF, PLUG_ARG_RENORM_P, PLUG_ARG_RENORM_DIM, PLUG_ARG_RENORM_MAXNORM, PLUG_ARGS_RENORM };
/* repeat: also repeat.out */
#define PLUG_SCHEMA_REPEAT "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor"
enum { PLUG_ARG_REPEAT_SELF, PLUG_ARG_REPEAT_REPEATS, PLUG_ARGS_REPEAT };
/* repeat_interleave.Tensor: also repeat_interleave.Tensor_out */
#define PLUG_SCHEMA_REPEAT_INTERLEAVE_TENSOR "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor"
enum { PLUG_ARG_REPEAT_INTERLEAVE_TENSOR_REPEATS, PLUG_ARG_REPEAT_INTERLEAVE_TENSOR_OUTPUT_SIZE, PLUG_ARGS_REPEAT_INTERLEAVE_TENSOR };
/* replication_pad1d: also replication_pad1d.out; backward replication_pad1d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD1D "aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD1D_SELF, PLUG_ARG_REPLICATION_PAD1D_PADDING, PLUG_ARGS_REPLICATION_PAD1D };
/* replication_pad1d_backward: also replication_pad1d_backward.grad_input; backward replication_pad1d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD1D_BACKWARD "aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD1D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REPLICATION_PAD1D_BACKWARD_SELF, PLUG_ARG_REPLICATION_PAD1D_BACKWARD_PADDING, PLUG_ARGS_REPLICATION_PAD1D_BACKWARD };
/* replication_pad2d: also replication_pad2d.out; backward replication_pad2d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD2D "aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD2D_SELF, PLUG_ARG_REPLICATION_PAD2D_PADDING, PLUG_ARGS_REPLICATION_PAD2D };
/* replication_pad2d_backward: also replication_pad2d_backward.grad_input; backward replication_pad2d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD2D_BACKWARD "aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REPLICATION_PAD2D_BACKWARD_SELF, PLUG_ARG_REPLICATION_PAD2D_BACKWARD_PADDING, PLUG_ARGS_REPLICATION_PAD2D_BACKWARD };
/* replication_pad3d: also replication_pad3d.out; backward replication_pad3d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD3D "aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD3D_SELF, PLUG_ARG_REPLICATION_PAD3D_PADDING, PLUG_ARGS_REPLICATION_PAD3D };
/* replication_pad3d_backward: also replication_pad3d_backward.grad_input; backward replication_pad3d_backward */
#define PLUG_SCHEMA_REPLICATION_PAD3D_BACKWARD "aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"
enum { PLUG_ARG_REPLICATION_PAD3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_REPLICATION_PAD3D_BACKWARD_SELF, PLUG_ARG_REPLICATION_PAD3D_BACKWARD_PADDING, PLUG_ARGS_REPLICATION_PAD3D_BACKWARD };
/* roll: also roll.out */
#define PLUG_SCHEMA_ROLL "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor"
enum { PLUG_ARG_ROLL_SELF, PLUG_ARG_ROLL_SHIFTS, PLUG_ARG_ROLL_DIMS, PLUG_ARGS_ROLL };
/* rot90: also rot90.out */
#define PLUG_SCHEMA_ROT90 "aten::rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor"
enum { PLUG_ARG_ROT90_SELF, PLUG_ARG_ROT90_K, PLUG_ARG_ROT90_DIMS, PLUG_ARGS_ROT90 };
/* round: also round_, round.out; pointwise */
#define PLUG_SCHEMA_ROUND "aten::round(Tensor self) -> Tensor"
enum { PLUG_ARG_ROUND_SELF, PLUG_ARGS_ROUND };
/* round.decimals: also round_.decimals, round.decimals_out; pointwise */
#define PLUG_SCHEMA_ROUND_DECIMALS "aten::round.decimals(Tensor self, *, int decimals) -> Tensor"
enum { PLUG_ARG_ROUND_DECIMALS_SELF, PLUG_ARG_ROUND_DECIMALS_DECIMALS, PLUG_ARGS_ROUND_DECIMALS };
/* rrelu_with_noise: backward rrelu_with_noise_backward */
#define PLUG_SCHEMA_RRELU_WITH_NOISE "aten::rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_RRELU_WITH_NOISE_SELF, PLUG_ARG_RRELU_WITH_NOISE_NOISE, PLUG_ARG_RRELU_WITH_NOISE_LOWER, PLUG_ARG_RRELU_WITH_NOISE_UPPER, PLUG_ARG_RRELU_WITH_NOISE_TRAINING, PLUG_ARG_RRELU_WITH_NOISE_GENERATOR, PLUG_ARGS_RRELU_WITH_NOISE };
/* rrelu_with_noise_backward: also rrelu_with_noise_backward.out; backward rrelu_with_noise_backward */
#define PLUG_SCHEMA_RRELU_WITH_NOISE_BACKWARD "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor"
enum { PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_GRAD_OUTPUT, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_SELF, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_NOISE, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_LOWER, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_UPPER, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_TRAINING, PLUG_ARG_RRELU_WITH_NOISE_BACKWARD_SELF_IS_RESULT, PLUG_ARGS_RRELU_WITH_NOISE_BACKWARD };
/* rrelu_with_noise_functional: backward rrelu_with_noise_backward */
#define PLUG_SCHEMA_RRELU_WITH_NOISE_FUNCTIONAL "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)"
enum { PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_SELF, PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_NOISE, PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_LOWER, PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_UPPER, PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_TRAINING, PLUG_ARG_RRELU_WITH_NOISE_FUNCTIONAL_GENERATOR, PLUG_ARGS_RRELU_WITH_NOISE_FUNCTIONAL };
enum { PLUG_RESULT_RRELU_WITH_NOISE_FUNCTIONAL_NOISE_OUT, PLUG_RESULTS_RRELU_WITH_NOISE_FUNCTIONAL };
/* rsqrt: also rsqrt_, rsqrt.out; pointwise */
#define PLUG_SCHEMA_RSQRT "aten::rsqrt(Tensor self) -> Tensor"
enum { PLUG_ARG_RSQRT_SELF, PLUG_ARGS_RSQRT };
/* rsub.Scalar: also rsub.Scalar_out; pointwise */
#define PLUG_SCHEMA_RSUB_SCALAR "aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_RSUB_SCALAR_SELF, PLUG_ARG_RSUB_SCALAR_OTHER, PLUG_ARG_RSUB_SCALAR_ALPHA, PLUG_ARGS_RSUB_SCALAR };
/* rsub.Tensor: also rsub.Tensor_out */
#define PLUG_SCHEMA_RSUB_TENSOR "aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_RSUB_TENSOR_SELF, PLUG_ARG_RSUB_TENSOR_OTHER, PLUG_ARG_RSUB_TENSOR_ALPHA, PLUG_ARGS_RSUB_TENSOR };
/* scalar_tensor */
#define PLUG_SCHEMA_SCALAR_TENSOR "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_SCALAR_TENSOR_S, PLUG_ARG_SCALAR_TENSOR_DTYPE, PLUG_ARG_SCALAR_TENSOR_LAYOUT, PLUG_ARG_SCALAR_TENSOR_DEVICE, PLUG_ARG_SCALAR_TENSOR_PIN_MEMORY, PLUG_ARGS_SCALAR_TENSOR };
/* scatter.reduce: also scatter_.reduce, scatter.reduce_out */
#define PLUG_SCHEMA_SCATTER_REDUCE "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"
enum { PLUG_ARG_SCATTER_REDUCE_SELF, PLUG_ARG_SCATTER_REDUCE_DIM, PLUG_ARG_SCATTER_REDUCE_INDEX, PLUG_ARG_SCATTER_REDUCE_SRC, PLUG_ARG_SCATTER_REDUCE_REDUCE, PLUG_ARGS_SCATTER_REDUCE };
/* scatter.src: also scatter_.src, scatter.src_out */
#define PLUG_SCHEMA_SCATTER_SRC "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"
enum { PLUG_ARG_SCATTER_SRC_SELF, PLUG_ARG_SCATTER_SRC_DIM, PLUG_ARG_SCATTER_SRC_INDEX, PLUG_ARG_SCATTER_SRC_SRC, PLUG_ARGS_SCATTER_SRC };
/* scatter.value: also scatter_.value, scatter.value_out */
#define PLUG_SCHEMA_SCATTER_VALUE "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"
enum { PLUG_ARG_SCATTER_VALUE_SELF, PLUG_ARG_SCATTER_VALUE_DIM, PLUG_ARG_SCATTER_VALUE_INDEX, PLUG_ARG_SCATTER_VALUE_VALUE, PLUG_ARGS_SCATTER_VALUE };
/* scatter.value_reduce: also scatter_.value_reduce, scatter.value_reduce_out */
#define PLUG_SCHEMA_SCATTER_VALUE_REDUCE "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor"
enum { PLUG_ARG_SCATTER_VALUE_REDUCE_SELF, PLUG_ARG_SCATTER_VALUE_REDUCE_DIM, PLUG_ARG_SCATTER_VALUE_REDUCE_INDEX, PLUG_ARG_SCATTER_VALUE_REDUCE_VALUE, PLUG_ARG_SCATTER_VALUE_REDUCE_REDUCE, PLUG_ARGS_SCATTER_VALUE_REDUCE };
/* scatter_add: also scatter_add_, scatter_add.out */
#define PLUG_SCHEMA_SCATTER_ADD "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor"
enum { PLUG_ARG_SCATTER_ADD_SELF, PLUG_ARG_SCATTER_ADD_DIM, PLUG_ARG_SCATTER_ADD_INDEX, PLUG_ARG_SCATTER_ADD_SRC, PLUG_ARGS_SCATTER_ADD };
/* scatter_reduce.two: also scatter_reduce_.two, scatter_reduce.two_out */
#define PLUG_SCHEMA_SCATTER_REDUCE_TWO "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor"
enum { PLUG_ARG_SCATTER_REDUCE_TWO_SELF, PLUG_ARG_SCATTER_REDUCE_TWO_DIM, PLUG_ARG_SCATTER_REDUCE_TWO_INDEX, PLUG_ARG_SCATTER_REDUCE_TWO_SRC, PLUG_ARG_SCATTER_REDUCE_TWO_REDUCE, PLUG_ARG_SCATTER_REDUCE_TWO_INCLUDE_SELF, PLUG_ARGS_SCATTER_REDUCE_TWO };
/* searchsorted.Scalar: also searchsorted.Scalar_out */
#define PLUG_SCHEMA_SEARCHSORTED_SCALAR "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"
enum { PLUG_ARG_SEARCHSORTED_SCALAR_SORTED_SEQUENCE, PLUG_ARG_SEARCHSORTED_SCALAR_SELF, PLUG_ARG_SEARCHSORTED_SCALAR_OUT_INT32, PLUG_ARG_SEARCHSORTED_SCALAR_RIGHT, PLUG_ARG_SEARCHSORTED_SCALAR_SIDE, PLUG_ARG_SEARCHSORTED_SCALAR_SORTER, PLUG_ARGS_SEARCHSORTED_SCALAR };
/* searchsorted.Tensor: also searchsorted.Tensor_out */
#define PLUG_SCHEMA_SEARCHSORTED_TENSOR "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"
enum { PLUG_ARG_SEARCHSORTED_TENSOR_SORTED_SEQUENCE, PLUG_ARG_SEARCHSORTED_TENSOR_SELF, PLUG_ARG_SEARCHSORTED_TENSOR_OUT_INT32, PLUG_ARG_SEARCHSORTED_TENSOR_RIGHT, PLUG_ARG_SEARCHSORTED_TENSOR_SIDE, PLUG_ARG_SEARCHSORTED_TENSOR_SORTER, PLUG_ARGS_SEARCHSORTED_TENSOR };
/* segment_reduce: also segment_reduce.out; backward _segment_reduce_backward */
#define PLUG_SCHEMA_SEGMENT_REDUCE "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor"
enum { PLUG_ARG_SEGMENT_REDUCE_DATA, PLUG_ARG_SEGMENT_REDUCE_REDUCE, PLUG_ARG_SEGMENT_REDUCE_LENGTHS, PLUG_ARG_SEGMENT_REDUCE_INDICES, PLUG_ARG_SEGMENT_REDUCE_OFFSETS, PLUG_ARG_SEGMENT_REDUCE_AXIS, PLUG_ARG_SEGMENT_REDUCE_UNSAFE, PLUG_ARG_SEGMENT_REDUCE_INITIAL, PLUG_ARGS_SEGMENT_REDUCE };
/* select_backward: also select_backward.out */
#define PLUG_SCHEMA_SELECT_BACKWARD "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor"
enum { PLUG_ARG_SELECT_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SELECT_BACKWARD_INPUT_SIZES, PLUG_ARG_SELECT_BACKWARD_DIM, PLUG_ARG_SELECT_BACKWARD_INDEX, PLUG_ARGS_SELECT_BACKWARD };
/* select_scatter: also select_scatter.out */
#define PLUG_SCHEMA_SELECT_SCATTER "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor"
enum { PLUG_ARG_SELECT_SCATTER_SELF, PLUG_ARG_SELECT_SCATTER_SRC, PLUG_ARG_SELECT_SCATTER_DIM, PLUG_ARG_SELECT_SCATTER_INDEX, PLUG_ARGS_SELECT_SCATTER };
/* sgn: also sgn_, sgn.out; pointwise */
#define PLUG_SCHEMA_SGN "aten::sgn(Tensor self) -> Tensor"
enum { PLUG_ARG_SGN_SELF, PLUG_ARGS_SGN };
/* sigmoid: also sigmoid_, sigmoid.out; pointwise; backward sigmoid_backward */
#define PLUG_SCHEMA_SIGMOID "aten::sigmoid(Tensor self) -> Tensor"
enum { PLUG_ARG_SIGMOID_SELF, PLUG_ARGS_SIGMOID };
/* sigmoid_backward: also sigmoid_backward.grad_input; pointwise; backward sigmoid_backward */
#define PLUG_SCHEMA_SIGMOID_BACKWARD "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor"
enum { PLUG_ARG_SIGMOID_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SIGMOID_BACKWARD_OUTPUT, PLUG_ARGS_SIGMOID_BACKWARD };
/* sign: also sign_, sign.out; pointwise */
#define PLUG_SCHEMA_SIGN "aten::sign(Tensor self) -> Tensor"
enum { PLUG_ARG_SIGN_SELF, PLUG_ARGS_SIGN };
/* signbit: also signbit.out; pointwise */
#define PLUG_SCHEMA_SIGNBIT "aten::signbit(Tensor self) -> Tensor"
enum { PLUG_ARG_SIGNBIT_SELF, PLUG_ARGS_SIGNBIT };
/* silu: also silu_, silu.out; pointwise; backward silu_backward */
#define PLUG_SCHEMA_SILU "aten::silu(Tensor self) -> Tensor"
enum { PLUG_ARG_SILU_SELF, PLUG_ARGS_SILU };
/* silu_backward: also silu_backward.grad_input; pointwise */
#define PLUG_SCHEMA_SILU_BACKWARD "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor"
enum { PLUG_ARG_SILU_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SILU_BACKWARD_SELF, PLUG_ARGS_SILU_BACKWARD };
/* sin: also sin_, sin.out; pointwise */
#define PLUG_SCHEMA_SIN "aten::sin(Tensor self) -> Tensor"
enum { PLUG_ARG_SIN_SELF, PLUG_ARGS_SIN };
/* sinc: also sinc_, sinc.out; pointwise */
#define PLUG_SCHEMA_SINC "aten::sinc(Tensor self) -> Tensor"
enum { PLUG_ARG_SINC_SELF, PLUG_ARGS_SINC };
/* sinh: also sinh_, sinh.out; pointwise */
#define PLUG_SCHEMA_SINH "aten::sinh(Tensor self) -> Tensor"
enum { PLUG_ARG_SINH_SELF, PLUG_ARGS_SINH };
/* slice_backward: also slice_backward.out */
#define PLUG_SCHEMA_SLICE_BACKWARD "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor"
enum { PLUG_ARG_SLICE_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SLICE_BACKWARD_INPUT_SIZES, PLUG_ARG_SLICE_BACKWARD_DIM, PLUG_ARG_SLICE_BACKWARD_START, PLUG_ARG_SLICE_BACKWARD_END, PLUG_ARG_SLICE_BACKWARD_STEP, PLUG_ARGS_SLICE_BACKWARD };
/* smooth_l1_loss: also smooth_l1_loss.out; backward smooth_l1_loss_backward */
#define PLUG_SCHEMA_SMOOTH_L1_LOSS "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor"
enum { PLUG_ARG_SMOOTH_L1_LOSS_SELF, PLUG_ARG_SMOOTH_L1_LOSS_TARGET, PLUG_ARG_SMOOTH_L1_LOSS_REDUCTION, PLUG_ARG_SMOOTH_L1_LOSS_BETA, PLUG_ARGS_SMOOTH_L1_LOSS };
/* smooth_l1_loss_backward: also smooth_l1_loss_backward.grad_input; backward smooth_l1_loss_backward */
#define PLUG_SCHEMA_SMOOTH_L1_LOSS_BACKWARD "aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor"
enum { PLUG_ARG_SMOOTH_L1_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SMOOTH_L1_LOSS_BACKWARD_SELF, PLUG_ARG_SMOOTH_L1_LOSS_BACKWARD_TARGET, PLUG_ARG_SMOOTH_L1_LOSS_BACKWARD_REDUCTION, PLUG_ARG_SMOOTH_L1_LOSS_BACKWARD_BETA, PLUG_ARGS_SMOOTH_L1_LOSS_BACKWARD };
/* soft_margin_loss: also soft_margin_loss.out; backward soft_margin_loss_backward */
#define PLUG_SCHEMA_SOFT_MARGIN_LOSS "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"
enum { PLUG_ARG_SOFT_MARGIN_LOSS_SELF, PLUG_ARG_SOFT_MARGIN_LOSS_TARGET, PLUG_ARG_SOFT_MARGIN_LOSS_REDUCTION, PLUG_ARGS_SOFT_MARGIN_LOSS };
/* soft_margin_loss_backward: also soft_margin_loss_backward.grad_input */
#define PLUG_SCHEMA_SOFT_MARGIN_LOSS_BACKWARD "aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor"
enum { PLUG_ARG_SOFT_MARGIN_LOSS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SOFT_MARGIN_LOSS_BACKWARD_SELF, PLUG_ARG_SOFT_MARGIN_LOSS_BACKWARD_TARGET, PLUG_ARG_SOFT_MARGIN_LOSS_BACKWARD_REDUCTION, PLUG_ARGS_SOFT_MARGIN_LOSS_BACKWARD };
/* softplus: also softplus.out; pointwise; backward softplus_backward */
#define PLUG_SCHEMA_SOFTPLUS "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"
enum { PLUG_ARG_SOFTPLUS_SELF, PLUG_ARG_SOFTPLUS_BETA, PLUG_ARG_SOFTPLUS_THRESHOLD, PLUG_ARGS_SOFTPLUS };
/* softplus_backward: also softplus_backward.grad_input; backward softplus_backward */
#define PLUG_SCHEMA_SOFTPLUS_BACKWARD "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor"
enum { PLUG_ARG_SOFTPLUS_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SOFTPLUS_BACKWARD_SELF, PLUG_ARG_SOFTPLUS_BACKWARD_BETA, PLUG_ARG_SOFTPLUS_BACKWARD_THRESHOLD, PLUG_ARGS_SOFTPLUS_BACKWARD };
/* softshrink: also softshrink.out; pointwise; backward softshrink_backward */
#define PLUG_SCHEMA_SOFTSHRINK "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"
enum { PLUG_ARG_SOFTSHRINK_SELF, PLUG_ARG_SOFTSHRINK_LAMBD, PLUG_ARGS_SOFTSHRINK };
/* softshrink_backward: also softshrink_backward.grad_input; backward softshrink_backward */
#define PLUG_SCHEMA_SOFTSHRINK_BACKWARD "aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor"
enum { PLUG_ARG_SOFTSHRINK_BACKWARD_GRAD_OUTPUT, PLUG_ARG_SOFTSHRINK_BACKWARD_SELF, PLUG_ARG_SOFTSHRINK_BACKWARD_LAMBD, PLUG_ARGS_SOFTSHRINK_BACKWARD };
/* sort: also sort.values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_SORT "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_SORT_SELF, PLUG_ARG_SORT_DIM, PLUG_ARG_SORT_DESCENDING, PLUG_ARGS_SORT };
enum { PLUG_RESULT_SORT_VALUES, PLUG_RESULT_SORT_INDICES, PLUG_RESULTS_SORT };
/* sort.stable: also sort.values_stable; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_SORT_STABLE "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_SORT_STABLE_SELF, PLUG_ARG_SORT_STABLE_STABLE, PLUG_ARG_SORT_STABLE_DIM, PLUG_ARG_SORT_STABLE_DESCENDING, PLUG_ARGS_SORT_STABLE };
enum { PLUG_RESULT_SORT_STABLE_VALUES, PLUG_RESULT_SORT_STABLE_INDICES, PLUG_RESULTS_SORT_STABLE };
/* special_airy_ai: also special_airy_ai.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_AIRY_AI "aten::special_airy_ai(Tensor x) -> Tensor"
enum { PLUG_ARG_SPECIAL_AIRY_AI_X, PLUG_ARGS_SPECIAL_AIRY_AI };
/* special_bessel_j0: also special_bessel_j0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_BESSEL_J0 "aten::special_bessel_j0(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_BESSEL_J0_SELF, PLUG_ARGS_SPECIAL_BESSEL_J0 };
/* special_bessel_j1: also special_bessel_j1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_BESSEL_J1 "aten::special_bessel_j1(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_BESSEL_J1_SELF, PLUG_ARGS_SPECIAL_BESSEL_J1 };
/* special_bessel_y0: also special_bessel_y0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_BESSEL_Y0 "aten::special_bessel_y0(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_BESSEL_Y0_SELF, PLUG_ARGS_SPECIAL_BESSEL_Y0 };
/* special_bessel_y1: also special_bessel_y1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_BESSEL_Y1 "aten::special_bessel_y1(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_BESSEL_Y1_SELF, PLUG_ARGS_SPECIAL_BESSEL_Y1 };
/* special_chebyshev_polynomial_t: also special_chebyshev_polynomial_t.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_T "aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_T };
/* special_chebyshev_polynomial_t.n_scalar: also special_chebyshev_polynomial_t.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR "aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR };
/* special_chebyshev_polynomial_t.x_scalar: also special_chebyshev_polynomial_t.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR "aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR };
/* special_chebyshev_polynomial_u: also special_chebyshev_polynomial_u.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_U "aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_U };
/* special_chebyshev_polynomial_u.n_scalar: also special_chebyshev_polynomial_u.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR "aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR };
/* special_chebyshev_polynomial_u.x_scalar: also special_chebyshev_polynomial_u.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR "aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR };
/* special_chebyshev_polynomial_v: also special_chebyshev_polynomial_v.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_V "aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_V };
/* special_chebyshev_polynomial_v.n_scalar: also special_chebyshev_polynomial_v.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR "aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR };
/* special_chebyshev_polynomial_v.x_scalar: also special_chebyshev_polynomial_v.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR "aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR };
/* special_chebyshev_polynomial_w: also special_chebyshev_polynomial_w.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_W "aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_W };
/* special_chebyshev_polynomial_w.n_scalar: also special_chebyshev_polynomial_w.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR "aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR };
/* special_chebyshev_polynomial_w.x_scalar: also special_chebyshev_polynomial_w.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR "aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR_X, PLUG_ARG_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR_N, PLUG_ARGS_SPECIAL_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR };
/* special_entr: also special_entr.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_ENTR "aten::special_entr(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_ENTR_SELF, PLUG_ARGS_SPECIAL_ENTR };
/* special_erfcx: also special_erfcx.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_ERFCX "aten::special_erfcx(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_ERFCX_SELF, PLUG_ARGS_SPECIAL_ERFCX };
/* special_hermite_polynomial_h: also special_hermite_polynomial_h.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_H "aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_H };
/* special_hermite_polynomial_h.n_scalar: also special_hermite_polynomial_h.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_H_N_SCALAR "aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_N_SCALAR_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_N_SCALAR_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_H_N_SCALAR };
/* special_hermite_polynomial_h.x_scalar: also special_hermite_polynomial_h.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_H_X_SCALAR "aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_X_SCALAR_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_H_X_SCALAR_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_H_X_SCALAR };
/* special_hermite_polynomial_he: also special_hermite_polynomial_he.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_HE "aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_HE };
/* special_hermite_polynomial_he.n_scalar: also special_hermite_polynomial_he.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_HE_N_SCALAR "aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_N_SCALAR_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_N_SCALAR_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_HE_N_SCALAR };
/* special_hermite_polynomial_he.x_scalar: also special_hermite_polynomial_he.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_HERMITE_POLYNOMIAL_HE_X_SCALAR "aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_X_SCALAR_X, PLUG_ARG_SPECIAL_HERMITE_POLYNOMIAL_HE_X_SCALAR_N, PLUG_ARGS_SPECIAL_HERMITE_POLYNOMIAL_HE_X_SCALAR };
/* special_i0e: also special_i0e.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_I0E "aten::special_i0e(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_I0E_SELF, PLUG_ARGS_SPECIAL_I0E };
/* special_i1: also special_i1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_I1 "aten::special_i1(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_I1_SELF, PLUG_ARGS_SPECIAL_I1 };
/* special_i1e: also special_i1e.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_I1E "aten::special_i1e(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_I1E_SELF, PLUG_ARGS_SPECIAL_I1E };
/* special_laguerre_polynomial_l: also special_laguerre_polynomial_l.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LAGUERRE_POLYNOMIAL_L "aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_X, PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_N, PLUG_ARGS_SPECIAL_LAGUERRE_POLYNOMIAL_L };
/* special_laguerre_polynomial_l.n_scalar: also special_laguerre_polynomial_l.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LAGUERRE_POLYNOMIAL_L_N_SCALAR "aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_N_SCALAR_X, PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_N_SCALAR_N, PLUG_ARGS_SPECIAL_LAGUERRE_POLYNOMIAL_L_N_SCALAR };
/* special_laguerre_polynomial_l.x_scalar: also special_laguerre_polynomial_l.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LAGUERRE_POLYNOMIAL_L_X_SCALAR "aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_X_SCALAR_X, PLUG_ARG_SPECIAL_LAGUERRE_POLYNOMIAL_L_X_SCALAR_N, PLUG_ARGS_SPECIAL_LAGUERRE_POLYNOMIAL_L_X_SCALAR };
/* special_legendre_polynomial_p: also special_legendre_polynomial_p.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LEGENDRE_POLYNOMIAL_P "aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_X, PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_N, PLUG_ARGS_SPECIAL_LEGENDRE_POLYNOMIAL_P };
/* special_legendre_polynomial_p.n_scalar: also special_legendre_polynomial_p.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LEGENDRE_POLYNOMIAL_P_N_SCALAR "aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_N_SCALAR_X, PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_N_SCALAR_N, PLUG_ARGS_SPECIAL_LEGENDRE_POLYNOMIAL_P_N_SCALAR };
/* special_legendre_polynomial_p.x_scalar: also special_legendre_polynomial_p.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LEGENDRE_POLYNOMIAL_P_X_SCALAR "aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_X_SCALAR_X, PLUG_ARG_SPECIAL_LEGENDRE_POLYNOMIAL_P_X_SCALAR_N, PLUG_ARGS_SPECIAL_LEGENDRE_POLYNOMIAL_P_X_SCALAR };
/* special_log_ndtr: also special_log_ndtr.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_LOG_NDTR "aten::special_log_ndtr(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_LOG_NDTR_SELF, PLUG_ARGS_SPECIAL_LOG_NDTR };
/* special_modified_bessel_i0: also special_modified_bessel_i0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_MODIFIED_BESSEL_I0 "aten::special_modified_bessel_i0(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_MODIFIED_BESSEL_I0_SELF, PLUG_ARGS_SPECIAL_MODIFIED_BESSEL_I0 };
/* special_modified_bessel_i1: also special_modified_bessel_i1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_MODIFIED_BESSEL_I1 "aten::special_modified_bessel_i1(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_MODIFIED_BESSEL_I1_SELF, PLUG_ARGS_SPECIAL_MODIFIED_BESSEL_I1 };
/* special_modified_bessel_k0: also special_modified_bessel_k0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_MODIFIED_BESSEL_K0 "aten::special_modified_bessel_k0(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_MODIFIED_BESSEL_K0_SELF, PLUG_ARGS_SPECIAL_MODIFIED_BESSEL_K0 };
/* special_modified_bessel_k1: also special_modified_bessel_k1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_MODIFIED_BESSEL_K1 "aten::special_modified_bessel_k1(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_MODIFIED_BESSEL_K1_SELF, PLUG_ARGS_SPECIAL_MODIFIED_BESSEL_K1 };
/* special_ndtri: also special_ndtri.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_NDTRI "aten::special_ndtri(Tensor self) -> Tensor"
enum { PLUG_ARG_SPECIAL_NDTRI_SELF, PLUG_ARGS_SPECIAL_NDTRI };
/* special_scaled_modified_bessel_k0: also special_scaled_modified_bessel_k0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SCALED_MODIFIED_BESSEL_K0 "aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor"
enum { PLUG_ARG_SPECIAL_SCALED_MODIFIED_BESSEL_K0_X, PLUG_ARGS_SPECIAL_SCALED_MODIFIED_BESSEL_K0 };
/* special_scaled_modified_bessel_k1: also special_scaled_modified_bessel_k1.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SCALED_MODIFIED_BESSEL_K1 "aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor"
enum { PLUG_ARG_SPECIAL_SCALED_MODIFIED_BESSEL_K1_X, PLUG_ARGS_SPECIAL_SCALED_MODIFIED_BESSEL_K1 };
/* special_shifted_chebyshev_polynomial_t: also special_shifted_chebyshev_polynomial_t.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T "aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T };
/* special_shifted_chebyshev_polynomial_t.n_scalar: also special_shifted_chebyshev_polynomial_t.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR "aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_N_SCALAR };
/* special_shifted_chebyshev_polynomial_t.x_scalar: also special_shifted_chebyshev_polynomial_t.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR "aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_T_X_SCALAR };
/* special_shifted_chebyshev_polynomial_u: also special_shifted_chebyshev_polynomial_u.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U "aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U };
/* special_shifted_chebyshev_polynomial_u.n_scalar: also special_shifted_chebyshev_polynomial_u.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR "aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_N_SCALAR };
/* special_shifted_chebyshev_polynomial_u.x_scalar: also special_shifted_chebyshev_polynomial_u.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR "aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_U_X_SCALAR };
/* special_shifted_chebyshev_polynomial_v: also special_shifted_chebyshev_polynomial_v.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V "aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V };
/* special_shifted_chebyshev_polynomial_v.n_scalar: also special_shifted_chebyshev_polynomial_v.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR "aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_N_SCALAR };
/* special_shifted_chebyshev_polynomial_v.x_scalar: also special_shifted_chebyshev_polynomial_v.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR "aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_V_X_SCALAR };
/* special_shifted_chebyshev_polynomial_w: also special_shifted_chebyshev_polynomial_w.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W "aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W };
/* special_shifted_chebyshev_polynomial_w.n_scalar: also special_shifted_chebyshev_polynomial_w.n_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR "aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_N_SCALAR };
/* special_shifted_chebyshev_polynomial_w.x_scalar: also special_shifted_chebyshev_polynomial_w.x_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR "aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor"
enum { PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR_X, PLUG_ARG_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR_N, PLUG_ARGS_SPECIAL_SHIFTED_CHEBYSHEV_POLYNOMIAL_W_X_SCALAR };
/* special_spherical_bessel_j0: also special_spherical_bessel_j0.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_SPHERICAL_BESSEL_J0 "aten::special_spherical_bessel_j0(Tensor x) -> Tensor"
enum { PLUG_ARG_SPECIAL_SPHERICAL_BESSEL_J0_X, PLUG_ARGS_SPECIAL_SPHERICAL_BESSEL_J0 };
/* special_xlog1py: also special_xlog1py.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_XLOG1PY "aten::special_xlog1py(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_SPECIAL_XLOG1PY_SELF, PLUG_ARG_SPECIAL_XLOG1PY_OTHER, PLUG_ARGS_SPECIAL_XLOG1PY };
/* special_xlog1py.other_scalar: also special_xlog1py.other_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_XLOG1PY_OTHER_SCALAR "aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_SPECIAL_XLOG1PY_OTHER_SCALAR_SELF, PLUG_ARG_SPECIAL_XLOG1PY_OTHER_SCALAR_OTHER, PLUG_ARGS_SPECIAL_XLOG1PY_OTHER_SCALAR };
/* special_xlog1py.self_scalar: also special_xlog1py.self_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_XLOG1PY_SELF_SCALAR "aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_SPECIAL_XLOG1PY_SELF_SCALAR_SELF, PLUG_ARG_SPECIAL_XLOG1PY_SELF_SCALAR_OTHER, PLUG_ARGS_SPECIAL_XLOG1PY_SELF_SCALAR };
/* special_zeta: also special_zeta.out; pointwise */
#define PLUG_SCHEMA_SPECIAL_ZETA "aten::special_zeta(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_SPECIAL_ZETA_SELF, PLUG_ARG_SPECIAL_ZETA_OTHER, PLUG_ARGS_SPECIAL_ZETA };
/* special_zeta.other_scalar: also special_zeta.other_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_ZETA_OTHER_SCALAR "aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_SPECIAL_ZETA_OTHER_SCALAR_SELF, PLUG_ARG_SPECIAL_ZETA_OTHER_SCALAR_OTHER, PLUG_ARGS_SPECIAL_ZETA_OTHER_SCALAR };
/* special_zeta.self_scalar: also special_zeta.self_scalar_out; pointwise */
#define PLUG_SCHEMA_SPECIAL_ZETA_SELF_SCALAR "aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_SPECIAL_ZETA_SELF_SCALAR_SELF, PLUG_ARG_SPECIAL_ZETA_SELF_SCALAR_OTHER, PLUG_ARGS_SPECIAL_ZETA_SELF_SCALAR };
/* sqrt: also sqrt_, sqrt.out; pointwise */
#define PLUG_SCHEMA_SQRT "aten::sqrt(Tensor self) -> Tensor"
enum { PLUG_ARG_SQRT_SELF, PLUG_ARGS_SQRT };
/* stack: also stack.out */
#define PLUG_SCHEMA_STACK "aten::stack(Tensor[] tensors, int dim=0) -> Tensor"
enum { PLUG_ARG_STACK_TENSORS, PLUG_ARG_STACK_DIM, PLUG_ARGS_STACK };
/* std.correction: also std.correction_out */
#define PLUG_SCHEMA_STD_CORRECTION "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_STD_CORRECTION_SELF, PLUG_ARG_STD_CORRECTION_DIM, PLUG_ARG_STD_CORRECTION_CORRECTION, PLUG_ARG_STD_CORRECTION_KEEPDIM, PLUG_ARGS_STD_CORRECTION };
/* std_mean.correction: also std_mean.correction_out */
#define PLUG_SCHEMA_STD_MEAN_CORRECTION "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"
enum { PLUG_ARG_STD_MEAN_CORRECTION_SELF, PLUG_ARG_STD_MEAN_CORRECTION_DIM, PLUG_ARG_STD_MEAN_CORRECTION_CORRECTION, PLUG_ARG_STD_MEAN_CORRECTION_KEEPDIM, PLUG_ARGS_STD_MEAN_CORRECTION };
/* sub.Scalar: also sub_.Scalar, sub.Scalar_out; pointwise */
#define PLUG_SCHEMA_SUB_SCALAR "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_SUB_SCALAR_SELF, PLUG_ARG_SUB_SCALAR_OTHER, PLUG_ARG_SUB_SCALAR_ALPHA, PLUG_ARGS_SUB_SCALAR };
/* sub.Tensor: also sub_.Tensor, sub.out; pointwise */
#define PLUG_SCHEMA_SUB_TENSOR "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
enum { PLUG_ARG_SUB_TENSOR_SELF, PLUG_ARG_SUB_TENSOR_OTHER, PLUG_ARG_SUB_TENSOR_ALPHA, PLUG_ARGS_SUB_TENSOR };
/* sum: also sum.out */
#define PLUG_SCHEMA_SUM "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_SUM_SELF, PLUG_ARG_SUM_DTYPE, PLUG_ARGS_SUM };
/* sum.dim_IntList: also sum.IntList_out */
#define PLUG_SCHEMA_SUM_DIM_INTLIST "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
enum { PLUG_ARG_SUM_DIM_INTLIST_SELF, PLUG_ARG_SUM_DIM_INTLIST_DIM, PLUG_ARG_SUM_DIM_INTLIST_KEEPDIM, PLUG_ARG_SUM_DIM_INTLIST_DTYPE, PLUG_ARGS_SUM_DIM_INTLIST };
/* take: also take.out */
#define PLUG_SCHEMA_TAKE "aten::take(Tensor self, Tensor index) -> Tensor"
enum { PLUG_ARG_TAKE_SELF, PLUG_ARG_TAKE_INDEX, PLUG_ARGS_TAKE };
/* tan: also tan_, tan.out; pointwise */
#define PLUG_SCHEMA_TAN "aten::tan(Tensor self) -> Tensor"
enum { PLUG_ARG_TAN_SELF, PLUG_ARGS_TAN };
/* tanh: also tanh_, tanh.out; pointwise; backward tanh_backward */
#define PLUG_SCHEMA_TANH "aten::tanh(Tensor self) -> Tensor"
enum { PLUG_ARG_TANH_SELF, PLUG_ARGS_TANH };
/* tanh_backward: also tanh_backward.grad_input; pointwise; backward tanh_backward */
#define PLUG_SCHEMA_TANH_BACKWARD "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor"
enum { PLUG_ARG_TANH_BACKWARD_GRAD_OUTPUT, PLUG_ARG_TANH_BACKWARD_OUTPUT, PLUG_ARGS_TANH_BACKWARD };
/* threshold: also threshold_, threshold.out; pointwise; backward threshold_backward */
#define PLUG_SCHEMA_THRESHOLD "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"
enum { PLUG_ARG_THRESHOLD_SELF, PLUG_ARG_THRESHOLD_THRESHOLD, PLUG_ARG_THRESHOLD_VALUE, PLUG_ARGS_THRESHOLD };
/* threshold_backward: also threshold_backward.grad_input; pointwise; backward threshold_backward */
#define PLUG_SCHEMA_THRESHOLD_BACKWARD "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor"
enum { PLUG_ARG_THRESHOLD_BACKWARD_GRAD_OUTPUT, PLUG_ARG_THRESHOLD_BACKWARD_SELF, PLUG_ARG_THRESHOLD_BACKWARD_THRESHOLD, PLUG_ARGS_THRESHOLD_BACKWARD };
/* topk: also topk.values; backward value_selecting_reduction_backward */
#define PLUG_SCHEMA_TOPK "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)"
enum { PLUG_ARG_TOPK_SELF, PLUG_ARG_TOPK_K, PLUG_ARG_TOPK_DIM, PLUG_ARG_TOPK_LARGEST, PLUG_ARG_TOPK_SORTED, PLUG_ARGS_TOPK };
enum { PLUG_RESULT_TOPK_VALUES, PLUG_RESULT_TOPK_INDICES, PLUG_RESULTS_TOPK };
/* trace: also trace.out */
#define PLUG_SCHEMA_TRACE "aten::trace(Tensor self) -> Tensor"
enum { PLUG_ARG_TRACE_SELF, PLUG_ARGS_TRACE };
/* triangular_solve: also triangular_solve.X */
#define PLUG_SCHEMA_TRIANGULAR_SOLVE "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"
enum { PLUG_ARG_TRIANGULAR_SOLVE_SELF, PLUG_ARG_TRIANGULAR_SOLVE_A, PLUG_ARG_TRIANGULAR_SOLVE_UPPER, PLUG_ARG_TRIANGULAR_SOLVE_TRANSPOSE, PLUG_ARG_TRIANGULAR_SOLVE_UNITRIANGULAR, PLUG_ARGS_TRIANGULAR_SOLVE };
enum { PLUG_RESULT_TRIANGULAR_SOLVE_SOLUTION, PLUG_RESULT_TRIANGULAR_SOLVE_CLONED_COEFFICIENT, PLUG_RESULTS_TRIANGULAR_SOLVE };
/* tril: also tril_, tril.out */
#define PLUG_SCHEMA_TRIL "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor"
enum { PLUG_ARG_TRIL_SELF, PLUG_ARG_TRIL_DIAGONAL, PLUG_ARGS_TRIL };
/* tril_indices */
#define PLUG_SCHEMA_TRIL_INDICES "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_TRIL_INDICES_ROW, PLUG_ARG_TRIL_INDICES_COL, PLUG_ARG_TRIL_INDICES_OFFSET, PLUG_ARG_TRIL_INDICES_DTYPE, PLUG_ARG_TRIL_INDICES_LAYOUT, PLUG_ARG_TRIL_INDICES_DEVICE, PLUG_ARG_TRIL_INDICES_PIN_MEMORY, PLUG_ARGS_TRIL_INDICES };
/* triu: also triu_, triu.out */
#define PLUG_SCHEMA_TRIU "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor"
enum { PLUG_ARG_TRIU_SELF, PLUG_ARG_TRIU_DIAGONAL, PLUG_ARGS_TRIU };
/* triu_indices */
#define PLUG_SCHEMA_TRIU_INDICES "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_TRIU_INDICES_ROW, PLUG_ARG_TRIU_INDICES_COL, PLUG_ARG_TRIU_INDICES_OFFSET, PLUG_ARG_TRIU_INDICES_DTYPE, PLUG_ARG_TRIU_INDICES_LAYOUT, PLUG_ARG_TRIU_INDICES_DEVICE, PLUG_ARG_TRIU_INDICES_PIN_MEMORY, PLUG_ARGS_TRIU_INDICES };
/* trunc: also trunc_, trunc.out; pointwise */
#define PLUG_SCHEMA_TRUNC "aten::trunc(Tensor self) -> Tensor"
enum { PLUG_ARG_TRUNC_SELF, PLUG_ARGS_TRUNC };
/* unfold_backward: also unfold_backward.out */
#define PLUG_SCHEMA_UNFOLD_BACKWARD "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor"
enum { PLUG_ARG_UNFOLD_BACKWARD_GRAD_IN, PLUG_ARG_UNFOLD_BACKWARD_INPUT_SIZES, PLUG_ARG_UNFOLD_BACKWARD_DIM, PLUG_ARG_UNFOLD_BACKWARD_SIZE, PLUG_ARG_UNFOLD_BACKWARD_STEP, PLUG_ARGS_UNFOLD_BACKWARD };
/* uniform: also uniform_, uniform.out */
#define PLUG_SCHEMA_UNIFORM "aten::uniform(Tensor self, float from=0, float to=1, *, Generator? generator=None) -> Tensor"
enum { PLUG_ARG_UNIFORM_SELF, PLUG_ARG_UNIFORM_FROM, PLUG_ARG_UNIFORM_TO, PLUG_ARG_UNIFORM_GENERATOR, PLUG_ARGS_UNIFORM };
/* unique_consecutive: also unique_consecutive.out */
#define PLUG_SCHEMA_UNIQUE_CONSECUTIVE "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_UNIQUE_CONSECUTIVE_SELF, PLUG_ARG_UNIQUE_CONSECUTIVE_RETURN_INVERSE, PLUG_ARG_UNIQUE_CONSECUTIVE_RETURN_COUNTS, PLUG_ARG_UNIQUE_CONSECUTIVE_DIM, PLUG_ARGS_UNIQUE_CONSECUTIVE };
/* unique_dim: also unique_dim.out */
#define PLUG_SCHEMA_UNIQUE_DIM "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_UNIQUE_DIM_SELF, PLUG_ARG_UNIQUE_DIM_DIM, PLUG_ARG_UNIQUE_DIM_SORTED, PLUG_ARG_UNIQUE_DIM_RETURN_INVERSE, PLUG_ARG_UNIQUE_DIM_RETURN_COUNTS, PLUG_ARGS_UNIQUE_DIM };
/* unique_dim_consecutive: also unique_dim_consecutive.out */
#define PLUG_SCHEMA_UNIQUE_DIM_CONSECUTIVE "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"
enum { PLUG_ARG_UNIQUE_DIM_CONSECUTIVE_SELF, PLUG_ARG_UNIQUE_DIM_CONSECUTIVE_DIM, PLUG_ARG_UNIQUE_DIM_CONSECUTIVE_RETURN_INVERSE, PLUG_ARG_UNIQUE_DIM_CONSECUTIVE_RETURN_COUNTS, PLUG_ARGS_UNIQUE_DIM_CONSECUTIVE };
/* unsafe_split.Tensor: also unsafe_split.Tensor_out */
#define PLUG_SCHEMA_UNSAFE_SPLIT_TENSOR "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"
enum { PLUG_ARG_UNSAFE_SPLIT_TENSOR_SELF, PLUG_ARG_UNSAFE_SPLIT_TENSOR_SPLIT_SIZE, PLUG_ARG_UNSAFE_SPLIT_TENSOR_DIM, PLUG_ARGS_UNSAFE_SPLIT_TENSOR };
/* unsafe_split_with_sizes: also unsafe_split_with_sizes.out */
#define PLUG_SCHEMA_UNSAFE_SPLIT_WITH_SIZES "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"
enum { PLUG_ARG_UNSAFE_SPLIT_WITH_SIZES_SELF, PLUG_ARG_UNSAFE_SPLIT_WITH_SIZES_SPLIT_SIZES, PLUG_ARG_UNSAFE_SPLIT_WITH_SIZES_DIM, PLUG_ARGS_UNSAFE_SPLIT_WITH_SIZES };
/* upsample_bicubic2d: also upsample_bicubic2d.out; backward upsample_bicubic2d_backward */
#define PLUG_SCHEMA_UPSAMPLE_BICUBIC2D "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_BICUBIC2D_SELF, PLUG_ARG_UPSAMPLE_BICUBIC2D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_BICUBIC2D_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_BICUBIC2D_SCALES_H, PLUG_ARG_UPSAMPLE_BICUBIC2D_SCALES_W, PLUG_ARGS_UPSAMPLE_BICUBIC2D };
/* upsample_bicubic2d_backward: also upsample_bicubic2d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_BICUBIC2D_BACKWARD "aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_SCALES_H, PLUG_ARG_UPSAMPLE_BICUBIC2D_BACKWARD_SCALES_W, PLUG_ARGS_UPSAMPLE_BICUBIC2D_BACKWARD };
/* upsample_bilinear2d: also upsample_bilinear2d.out; backward upsample_bilinear2d_backward */
#define PLUG_SCHEMA_UPSAMPLE_BILINEAR2D "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_BILINEAR2D_SELF, PLUG_ARG_UPSAMPLE_BILINEAR2D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_BILINEAR2D_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_BILINEAR2D_SCALES_H, PLUG_ARG_UPSAMPLE_BILINEAR2D_SCALES_W, PLUG_ARGS_UPSAMPLE_BILINEAR2D };
/* upsample_bilinear2d_backward: also upsample_bilinear2d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_BILINEAR2D_BACKWARD "aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_SCALES_H, PLUG_ARG_UPSAMPLE_BILINEAR2D_BACKWARD_SCALES_W, PLUG_ARGS_UPSAMPLE_BILINEAR2D_BACKWARD };
/* upsample_linear1d: also upsample_linear1d.out; backward upsample_linear1d_backward */
#define PLUG_SCHEMA_UPSAMPLE_LINEAR1D "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? scales=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_LINEAR1D_SELF, PLUG_ARG_UPSAMPLE_LINEAR1D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_LINEAR1D_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_LINEAR1D_SCALES, PLUG_ARGS_UPSAMPLE_LINEAR1D };
/* upsample_linear1d_backward: also upsample_linear1d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_LINEAR1D_BACKWARD "aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, bool align_corners, float? scales=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_LINEAR1D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_LINEAR1D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_LINEAR1D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_LINEAR1D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_LINEAR1D_BACKWARD_SCALES, PLUG_ARGS_UPSAMPLE_LINEAR1D_BACKWARD };
/* upsample_nearest1d: also upsample_nearest1d.out; backward upsample_nearest1d_backward */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST1D "aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST1D_SELF, PLUG_ARG_UPSAMPLE_NEAREST1D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST1D_SCALES, PLUG_ARGS_UPSAMPLE_NEAREST1D };
/* upsample_nearest1d_backward: also upsample_nearest1d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST1D_BACKWARD "aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] input_size, float? scales=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST1D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_NEAREST1D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST1D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST1D_BACKWARD_SCALES, PLUG_ARGS_UPSAMPLE_NEAREST1D_BACKWARD };
/* upsample_nearest2d: also upsample_nearest2d.out; backward upsample_nearest2d_backward */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST2D "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST2D_SELF, PLUG_ARG_UPSAMPLE_NEAREST2D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST2D_SCALES_H, PLUG_ARG_UPSAMPLE_NEAREST2D_SCALES_W, PLUG_ARGS_UPSAMPLE_NEAREST2D };
/* upsample_nearest2d_backward: also upsample_nearest2d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST2D_BACKWARD "aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST2D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_NEAREST2D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST2D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST2D_BACKWARD_SCALES_H, PLUG_ARG_UPSAMPLE_NEAREST2D_BACKWARD_SCALES_W, PLUG_ARGS_UPSAMPLE_NEAREST2D_BACKWARD };
/* upsample_nearest3d: also upsample_nearest3d.out; backward upsample_nearest3d_backward */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST3D "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST3D_SELF, PLUG_ARG_UPSAMPLE_NEAREST3D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST3D_SCALES_D, PLUG_ARG_UPSAMPLE_NEAREST3D_SCALES_H, PLUG_ARG_UPSAMPLE_NEAREST3D_SCALES_W, PLUG_ARGS_UPSAMPLE_NEAREST3D };
/* upsample_nearest3d_backward: also upsample_nearest3d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_NEAREST3D_BACKWARD "aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_SCALES_D, PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_SCALES_H, PLUG_ARG_UPSAMPLE_NEAREST3D_BACKWARD_SCALES_W, PLUG_ARGS_UPSAMPLE_NEAREST3D_BACKWARD };
/* upsample_trilinear3d: also upsample_trilinear3d.out; backward upsample_trilinear3d_backward */
#define PLUG_SCHEMA_UPSAMPLE_TRILINEAR3D "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_TRILINEAR3D_SELF, PLUG_ARG_UPSAMPLE_TRILINEAR3D_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_TRILINEAR3D_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_TRILINEAR3D_SCALES_D, PLUG_ARG_UPSAMPLE_TRILINEAR3D_SCALES_H, PLUG_ARG_UPSAMPLE_TRILINEAR3D_SCALES_W, PLUG_ARGS_UPSAMPLE_TRILINEAR3D };
/* upsample_trilinear3d_backward: also upsample_trilinear3d_backward.grad_input */
#define PLUG_SCHEMA_UPSAMPLE_TRILINEAR3D_BACKWARD "aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_GRAD_OUTPUT, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_OUTPUT_SIZE, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_INPUT_SIZE, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_ALIGN_CORNERS, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_SCALES_D, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_SCALES_H, PLUG_ARG_UPSAMPLE_TRILINEAR3D_BACKWARD_SCALES_W, PLUG_ARGS_UPSAMPLE_TRILINEAR3D_BACKWARD };
/* value_selecting_reduction_backward */
#define PLUG_SCHEMA_VALUE_SELECTING_REDUCTION_BACKWARD "aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor"
enum { PLUG_ARG_VALUE_SELECTING_REDUCTION_BACKWARD_GRAD, PLUG_ARG_VALUE_SELECTING_REDUCTION_BACKWARD_DIM, PLUG_ARG_VALUE_SELECTING_REDUCTION_BACKWARD_INDICES, PLUG_ARG_VALUE_SELECTING_REDUCTION_BACKWARD_SIZES, PLUG_ARG_VALUE_SELECTING_REDUCTION_BACKWARD_KEEPDIM, PLUG_ARGS_VALUE_SELECTING_REDUCTION_BACKWARD };
/* var.correction: also var.correction_out */
#define PLUG_SCHEMA_VAR_CORRECTION "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"
enum { PLUG_ARG_VAR_CORRECTION_SELF, PLUG_ARG_VAR_CORRECTION_DIM, PLUG_ARG_VAR_CORRECTION_CORRECTION, PLUG_ARG_VAR_CORRECTION_KEEPDIM, PLUG_ARGS_VAR_CORRECTION };
/* var_mean.correction: also var_mean.correction_out */
#define PLUG_SCHEMA_VAR_MEAN_CORRECTION "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"
enum { PLUG_ARG_VAR_MEAN_CORRECTION_SELF, PLUG_ARG_VAR_MEAN_CORRECTION_DIM, PLUG_ARG_VAR_MEAN_CORRECTION_CORRECTION, PLUG_ARG_VAR_MEAN_CORRECTION_KEEPDIM, PLUG_ARGS_VAR_MEAN_CORRECTION };
/* vdot: also vdot.out */
#define PLUG_SCHEMA_VDOT "aten::vdot(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_VDOT_SELF, PLUG_ARG_VDOT_OTHER, PLUG_ARGS_VDOT };
/* where.self: also where.self_out; pointwise */
#define PLUG_SCHEMA_WHERE_SELF "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_WHERE_SELF_CONDITION, PLUG_ARG_WHERE_SELF_SELF, PLUG_ARG_WHERE_SELF_OTHER, PLUG_ARGS_WHERE_SELF };
/* xlogy.Scalar_Other: also xlogy_.Scalar_Other, xlogy.OutScalar_Other; pointwise */
#define PLUG_SCHEMA_XLOGY_SCALAR_OTHER "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor"
enum { PLUG_ARG_XLOGY_SCALAR_OTHER_SELF, PLUG_ARG_XLOGY_SCALAR_OTHER_OTHER, PLUG_ARGS_XLOGY_SCALAR_OTHER };
/* xlogy.Scalar_Self: also xlogy.OutScalar_Self; pointwise */
#define PLUG_SCHEMA_XLOGY_SCALAR_SELF "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor"
enum { PLUG_ARG_XLOGY_SCALAR_SELF_SELF, PLUG_ARG_XLOGY_SCALAR_SELF_OTHER, PLUG_ARGS_XLOGY_SCALAR_SELF };
/* xlogy.Tensor: also xlogy_.Tensor, xlogy.OutTensor; pointwise */
#define PLUG_SCHEMA_XLOGY_TENSOR "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"
enum { PLUG_ARG_XLOGY_TENSOR_SELF, PLUG_ARG_XLOGY_TENSOR_OTHER, PLUG_ARGS_XLOGY_TENSOR };
/* zero: also zero_, zero.out */
#define PLUG_SCHEMA_ZERO "aten::zero(Tensor self) -> Tensor"
enum { PLUG_ARG_ZERO_SELF, PLUG_ARGS_ZERO };
/* zeros */
#define PLUG_SCHEMA_ZEROS "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
enum { PLUG_ARG_ZEROS_SIZE, PLUG_ARG_ZEROS_DTYPE, PLUG_ARG_ZEROS_LAYOUT, PLUG_ARG_ZEROS_DEVICE, PLUG_ARG_ZEROS_PIN_MEMORY, PLUG_ARGS_ZEROS };
/* zeros.out */
#define PLUG_SCHEMA_ZEROS_OUT "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
enum { PLUG_ARG_ZEROS_OUT_SIZE, PLUG_ARG_ZEROS_OUT_OUT, PLUG_ARGS_ZEROS_OUT };
/* zeros_like */
#define PLUG_SCHEMA_ZEROS_LIKE "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"
enum { PLUG_ARG_ZEROS_LIKE_SELF, PLUG_ARG_ZEROS_LIKE_DTYPE, PLUG_ARG_ZEROS_LIKE_LAYOUT, PLUG_ARG_ZEROS_LIKE_DEVICE, PLUG_ARG_ZEROS_LIKE_PIN_MEMORY, PLUG_ARG_ZEROS_LIKE_MEMORY_FORMAT, PLUG_ARGS_ZEROS_LIKE };
/* clang-format on */

#endif /* TORCHPLUG_SCHEMAS_H */
