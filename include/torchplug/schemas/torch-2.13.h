/* torch-2.13.h - the schemas of PyTorch 2.13: those of schemas.h, and here those that
** 2.11, 2.12 and 2.13 have not alike. Written by tools/codegen from PyTorch 2.13.
** A file includes one of these, not two. */
#ifndef TORCHPLUG_SCHEMAS_TORCH_2_13_H
#define TORCHPLUG_SCHEMAS_TORCH_2_13_H

#include "torchplug/schemas.h"

/* clang-format off */
/* _flash_attention_forward: backward _flash_attention_backward */
#define PLUG_SCHEMA__FLASH_ATTENTION_FORWARD "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)"
enum { PLUG_ARG__FLASH_ATTENTION_FORWARD_QUERY, PLUG_ARG__FLASH_ATTENTION_FORWARD_KEY, PLUG_ARG__FLASH_ATTENTION_FORWARD_VALUE, PLUG_ARG__FLASH_ATTENTION_FORWARD_CUM_SEQ_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_CUM_SEQ_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_MAX_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_MAX_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_DROPOUT_P, PLUG_ARG__FLASH_ATTENTION_FORWARD_IS_CAUSAL, PLUG_ARG__FLASH_ATTENTION_FORWARD_RETURN_DEBUG_MASK, PLUG_ARG__FLASH_ATTENTION_FORWARD_SCALE, PLUG_ARG__FLASH_ATTENTION_FORWARD_WINDOW_SIZE_LEFT, PLUG_ARG__FLASH_ATTENTION_FORWARD_WINDOW_SIZE_RIGHT, PLUG_ARG__FLASH_ATTENTION_FORWARD_SEQUSED_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_ALIBI_SLOPES, PLUG_ARG__FLASH_ATTENTION_FORWARD_BLOCK_TABLE, PLUG_ARG__FLASH_ATTENTION_FORWARD_NUM_SPLITS, PLUG_ARGS__FLASH_ATTENTION_FORWARD };
enum { PLUG_RESULT__FLASH_ATTENTION_FORWARD_OUTPUT, PLUG_RESULT__FLASH_ATTENTION_FORWARD_SOFTMAX_LOGSUMEXP, PLUG_RESULT__FLASH_ATTENTION_FORWARD_RNG_STATE, PLUG_RESULT__FLASH_ATTENTION_FORWARD_UNUSED, PLUG_RESULT__FLASH_ATTENTION_FORWARD_DEBUG_ATTN_MASK, PLUG_RESULTS__FLASH_ATTENTION_FORWARD };
/* _flash_attention_forward_no_dropout_inplace */
#define PLUG_SCHEMA__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE "aten::_flash_attention_forward_no_dropout_inplace(Tensor(a!) out, Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> Tensor softmax_logsumexp"
enum { PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_OUT, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_QUERY, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_KEY, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_VALUE, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_CUM_SEQ_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_CUM_SEQ_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_MAX_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_MAX_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_DROPOUT_P, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_IS_CAUSAL, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_RETURN_DEBUG_MASK, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_SCALE, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_WINDOW_SIZE_LEFT, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_WINDOW_SIZE_RIGHT, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_SEQUSED_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_ALIBI_SLOPES, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_BLOCK_TABLE, PLUG_ARG__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_NUM_SPLITS, PLUG_ARGS__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE };
enum { PLUG_RESULT__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE_SOFTMAX_LOGSUMEXP, PLUG_RESULTS__FLASH_ATTENTION_FORWARD_NO_DROPOUT_INPLACE };
/* _foreach_clone: also _foreach_clone.out */
#define PLUG_SCHEMA__FOREACH_CLONE "aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]"
enum { PLUG_ARG__FOREACH_CLONE_SELF, PLUG_ARG__FOREACH_CLONE_MEMORY_FORMAT, PLUG_ARGS__FOREACH_CLONE };
/* _foreach_mm */
#define PLUG_SCHEMA__FOREACH_MM "aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]"
enum { PLUG_ARG__FOREACH_MM_SELF, PLUG_ARG__FOREACH_MM_MAT2, PLUG_ARGS__FOREACH_MM };
/* _philox_key_fold_in */
#define PLUG_SCHEMA__PHILOX_KEY_FOLD_IN "aten::_philox_key_fold_in(Tensor key, int data) -> Tensor"
enum { PLUG_ARG__PHILOX_KEY_FOLD_IN_KEY, PLUG_ARG__PHILOX_KEY_FOLD_IN_DATA, PLUG_ARGS__PHILOX_KEY_FOLD_IN };
/* _philox_key_split */
#define PLUG_SCHEMA__PHILOX_KEY_SPLIT "aten::_philox_key_split(Tensor key, int num_splits) -> Tensor"
enum { PLUG_ARG__PHILOX_KEY_SPLIT_KEY, PLUG_ARG__PHILOX_KEY_SPLIT_NUM_SPLITS, PLUG_ARGS__PHILOX_KEY_SPLIT };
/* _philox_normal: also _philox_normal_, _philox_normal.out */
#define PLUG_SCHEMA__PHILOX_NORMAL "aten::_philox_normal(Tensor self, Tensor key, float mean=0, float std=1) -> Tensor"
enum { PLUG_ARG__PHILOX_NORMAL_SELF, PLUG_ARG__PHILOX_NORMAL_KEY, PLUG_ARG__PHILOX_NORMAL_MEAN, PLUG_ARG__PHILOX_NORMAL_STD, PLUG_ARGS__PHILOX_NORMAL };
/* _philox_uniform: also _philox_uniform_, _philox_uniform.out */
#define PLUG_SCHEMA__PHILOX_UNIFORM "aten::_philox_uniform(Tensor self, Tensor key, float low=0, float high=1) -> Tensor"
enum { PLUG_ARG__PHILOX_UNIFORM_SELF, PLUG_ARG__PHILOX_UNIFORM_KEY, PLUG_ARG__PHILOX_UNIFORM_LOW, PLUG_ARG__PHILOX_UNIFORM_HIGH, PLUG_ARGS__PHILOX_UNIFORM };
/* _upsample_lanczos2d_aa: also _upsample_lanczos2d_aa.out; backward _upsample_lanczos2d_aa_backward */
#define PLUG_SCHEMA__UPSAMPLE_LANCZOS2D_AA "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_SELF, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_SCALES_H, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_SCALES_W, PLUG_ARGS__UPSAMPLE_LANCZOS2D_AA };
/* _upsample_lanczos2d_aa_backward: also _upsample_lanczos2d_aa_backward.grad_input */
#define PLUG_SCHEMA__UPSAMPLE_LANCZOS2D_AA_BACKWARD "aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor"
enum { PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_GRAD_OUTPUT, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_OUTPUT_SIZE, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_INPUT_SIZE, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_ALIGN_CORNERS, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_SCALES_H, PLUG_ARG__UPSAMPLE_LANCZOS2D_AA_BACKWARD_SCALES_W, PLUG_ARGS__UPSAMPLE_LANCZOS2D_AA_BACKWARD };
/* clang-format on */

#endif /* TORCHPLUG_SCHEMAS_TORCH_2_13_H */
