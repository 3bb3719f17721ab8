"""Generates with a random decoder in plain PyTorch and on torch.ops.xcpu, and compares speed and tokens.

cd examples && python -m xcpu_decode

The largest logits of a random decoder are near one another: where rounding changes a token, those after it
are others too.
"""

from __future__ import annotations

import copy

import torch

from . import packed, plain
from .generate import Generated, generate_packed, generate_plain

KINDS = {"bf16": ("bf16", "bf16"), "int8": ("int8", "int8"), "int4": ("int4", "int8")}
"""The kind of weights, and that of the cache."""


def row(name: str, generated: Generated, asked: int, expected: list[list[int]]) -> str:
    new, first, rest = generated
    count = sum(map(len, new))
    same = sum(
        mine == theirs
        for pair in zip(new, expected, strict=True)
        for mine, theirs in zip(*pair, strict=True)
    )
    rates = f"{asked / first:15.0f} {(count - len(new)) / rest:14.0f}"
    return f"{name:15} {rates}   {same} of {count}"


@torch.inference_mode()
def main() -> None:
    torch.manual_seed(0)
    shape, count = plain.Shape(), 48
    model = plain.Decoder(shape)
    prompts = [torch.randint(shape.vocabulary, (n,)).tolist() for n in (37, 5, 120, 64)]
    asked = sum(map(len, prompts))

    print("decoder         prompt tokens/s   new tokens/s   the same tokens")
    generate_plain(model, prompts, 2)  # starts threads
    first = generate_plain(model, prompts, count)
    expected = first[0]
    print(row("plain, float32", first, asked, expected))
    generated = generate_plain(copy.deepcopy(model).bfloat16(), prompts, count)
    print(row("plain, bfloat16", generated, asked, expected))
    for name, (kind, cache_kind) in KINDS.items():
        decoder = packed.Decoder(model, kind)
        caches = decoder.make_caches(cache_kind, 64)
        generated = generate_packed(decoder, caches, prompts, count)
        print(row(f"xcpu, {name}", generated, asked, expected))


if __name__ == "__main__":
    main()
