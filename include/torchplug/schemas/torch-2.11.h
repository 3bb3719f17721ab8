/* torch-2.11.h - the schemas of PyTorch 2.11: those of schemas.h, and here those that
** 2.11, 2.12 and 2.13 have not alike. Written by tools/codegen from PyTorch 2.11.
** A file includes one of these, not two. */
#ifndef TORCHPLUG_SCHEMAS_TORCH_2_11_H
#define TORCHPLUG_SCHEMAS_TORCH_2_11_H

#include "torchplug/schemas.h"

/* clang-format off */
/* _flash_attention_forward: backward _flash_attention_backward */
#define PLUG_SCHEMA__FLASH_ATTENTION_FORWARD "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)"
enum { PLUG_ARG__FLASH_ATTENTION_FORWARD_QUERY, PLUG_ARG__FLASH_ATTENTION_FORWARD_KEY, PLUG_ARG__FLASH_ATTENTION_FORWARD_VALUE, PLUG_ARG__FLASH_ATTENTION_FORWARD_CUM_SEQ_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_CUM_SEQ_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_MAX_Q, PLUG_ARG__FLASH_ATTENTION_FORWARD_MAX_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_DROPOUT_P, PLUG_ARG__FLASH_ATTENTION_FORWARD_IS_CAUSAL, PLUG_ARG__FLASH_ATTENTION_FORWARD_RETURN_DEBUG_MASK, PLUG_ARG__FLASH_ATTENTION_FORWARD_SCALE, PLUG_ARG__FLASH_ATTENTION_FORWARD_WINDOW_SIZE_LEFT, PLUG_ARG__FLASH_ATTENTION_FORWARD_WINDOW_SIZE_RIGHT, PLUG_ARG__FLASH_ATTENTION_FORWARD_SEQUSED_K, PLUG_ARG__FLASH_ATTENTION_FORWARD_ALIBI_SLOPES, PLUG_ARGS__FLASH_ATTENTION_FORWARD };
enum { PLUG_RESULT__FLASH_ATTENTION_FORWARD_OUTPUT, PLUG_RESULT__FLASH_ATTENTION_FORWARD_SOFTMAX_LOGSUMEXP, PLUG_RESULT__FLASH_ATTENTION_FORWARD_RNG_STATE, PLUG_RESULT__FLASH_ATTENTION_FORWARD_UNUSED, PLUG_RESULT__FLASH_ATTENTION_FORWARD_DEBUG_ATTN_MASK, PLUG_RESULTS__FLASH_ATTENTION_FORWARD };
/* clang-format on */

#endif /* TORCHPLUG_SCHEMAS_TORCH_2_11_H */
