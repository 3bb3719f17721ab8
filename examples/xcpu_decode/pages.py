"""Which pages of the cache the sequences have, and what a step is told of that."""

from typing import NamedTuple

import torch
from torch import Tensor


class Step(NamedTuple):
    """The new tokens of some sequences, those of one after those of the other."""

    tokens: Tensor
    positions: Tensor
    """Of each token in its sequence."""
    slots: Tensor
    """Of each token in the cache."""
    starts: Tensor
    """Where the tokens of each sequence begin, and the end."""
    lengths: Tensor
    """Of each sequence, with the new tokens."""
    block_table: Tensor
    """The pages of each sequence, a row for each; beyond its pages a row has anything."""


class Pages:
    """Pages are given to sequences as they grow, and given back when they end."""

    def __init__(self, count: int, page_tokens: int = 16):
        self.page_tokens = page_tokens
        self.free = list(range(count))
        self.of: dict[int, list[int]] = {}
        self.length: dict[int, int] = {}

    def step(self, new: dict[int, list[int]]) -> Step:
        """Appends tokens to sequences, of which each has a number of its own."""
        tokens, positions, slots, starts = [], [], [], [0]
        for sequence, more in new.items():
            pages = self.of.setdefault(sequence, [])
            for place in range(
                self.length.get(sequence, 0), self.length.get(sequence, 0) + len(more)
            ):
                if place == len(pages) * self.page_tokens:
                    pages.append(self.free.pop())
                positions.append(place)
                slots.append(pages[-1] * self.page_tokens + place % self.page_tokens)
            tokens += more
            starts.append(len(tokens))
            self.length[sequence] = self.length.get(sequence, 0) + len(more)
        lengths = [self.length[sequence] for sequence in new]
        # A compiled program takes a size of 1 for one that stays: the table has two columns at least.
        most = max(2, *(len(self.of[sequence]) for sequence in new))
        table = [self.of[one] + [0] * (most - len(self.of[one])) for one in new]
        return Step(*map(torch.tensor, (tokens, positions, slots, starts, lengths, table)))

    def end(self, sequence: int) -> None:
        self.free += self.of.pop(sequence)
        del self.length[sequence]
