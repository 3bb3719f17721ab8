"""A tokenizer of 64 words: w0 (padding), w1, w2 (end) and so on."""

import tokenizers
import transformers
from tiny_models import TOKENS


def tokenizer():
    vocabulary = {f"w{index}": index for index in range(TOKENS)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="w0", eos_token="w2", padding_side="left"
    )
