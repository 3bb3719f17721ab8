"""Tiny models of transformers with random weights, a batch for each, and their training."""

import functools

import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

TOKENS = 64
SHAPE = {
    "vocab_size": TOKENS,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
DECODER = {
    **SHAPE,
    "num_key_value_heads": 1,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    # Far from uniform, so that rounding does not decide which token is the likeliest.
    "initializer_range": 0.3,
}


def llama(**options):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER | options))


def qwen2(**options):
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**DECODER | options))


def mixtral(**options):
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**DECODER | experts | options)
    )


def mamba():
    return transformers.MambaForCausalLM(
        transformers.MambaConfig(
            vocab_size=TOKENS,
            hidden_size=16,
            state_size=4,
            num_hidden_layers=2,
            initializer_range=0.3,
            tie_word_embeddings=False,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
    )


def bert():
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return transformers.BertForMaskedLM(transformers.BertConfig(**SHAPE, **dropout))


def t5():
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=TOKENS,
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            dropout_rate=0.0,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )
    )
    # Tied to the embedding, it would repeat one token for ever.
    model.lm_head = torch.nn.Linear(16, TOKENS, bias=False)
    return model


def vit():
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=16,
            patch_size=4,
            num_labels=5,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def tokens(rows=3, length=9):
    return torch.randint(3, TOKENS, (rows, length), generator=torch.Generator().manual_seed(5))


def text(padding):
    """Rows of 9, 6 and 4 tokens, padded on one side."""
    lengths = torch.tensor([[9], [6], [4]])
    mask = torch.arange(9) < lengths
    if padding == "left":
        mask = mask.flip(1)
    ids = tokens().where(mask, torch.tensor(0))
    return {"input_ids": ids, "attention_mask": mask.long()}


def text_with_labels():
    batch = text("right")
    return batch | {"labels": batch["input_ids"].where(batch["attention_mask"] == 1, -100)}


def images():
    generator = torch.Generator().manual_seed(6)
    return {
        "pixel_values": torch.randn(3, 3, 16, 16, generator=generator),
        "labels": torch.tensor([0, 3, 2]),
    }


# name: the model, and a batch with labels for it
MODELS = {
    "llama": (llama, text_with_labels),
    "qwen2": (qwen2, text_with_labels),
    "bert": (bert, text_with_labels),
    "t5": (t5, text_with_labels),
    "vit": (vit, images),
    "mixtral": (functools.partial(mixtral, output_router_logits=True), text_with_labels),
    "mamba": (mamba, text_with_labels),
}


def seeded(make, **options):
    """The same weights at every call."""
    torch.manual_seed(3)
    return make(**options)


def on(device, batch):
    return {name: tensor.to(device) for name, tensor in batch.items()}


def train(model, batch, steps=5, **options):
    """The loss before each step of AdamW, and the gradients of the first."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, **options)
    losses, gradients = [], {}
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        if not gradients:
            gradients = {
                name: parameter.grad.clone()
                for name, parameter in model.named_parameters()
                if parameter.grad is not None
            }
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), gradients


def train_by_name(name, device):
    make, make_batch = MODELS[name]
    return train(seeded(make).to(device), on(device, make_batch()))


@functools.cache
def trained_on_the_cpu(name):
    losses, gradients = train_by_name(name, "cpu")
    assert losses[-1] < 0.95 * losses[0], "the model does not learn: it would show nothing"
    assert any(gradient.abs().max() > 1e-3 for gradient in gradients.values())
    return losses, gradients
