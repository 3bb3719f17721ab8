"""The same operator on inputs that lie in memory in one way and then in another."""

from collections.abc import Callable, Iterator

import torch
from torch.testing._internal.opinfo.core import SampleInput

from .pair import Call, Case, NotApplicable, Pair, both
from .transport import map_tree, tensors

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


def layouts(case: Case, call: Call, compare: Callable[[Pair], None]) -> None:
    """Compares two calls with each layout: the first of a kind finds out what the second relies on."""
    if any(t.layout != torch.strided for _, t in tensors(case.sample)):
        raise NotApplicable("a sparse tensor has no strides")
    for sample in _arranged(case.sample):
        for _ in range(2):
            compare(both(case, call, sample))


def _arranged(sample: SampleInput) -> Iterator[SampleInput]:
    """The sample in every layout that changes one of its tensors."""
    for arrange in (_contiguous, _channels_last, _sliced_channels_last, _transposed, _sliced):
        arranged = map_tree(lambda leaf, arrange=arrange: _apply(arrange, leaf), sample)
        pairs = zip(tensors(sample), tensors(arranged), strict=True)
        if arrange is _contiguous or any(b.stride() != a.stride() for (_, a), (_, b) in pairs):
            yield arranged


def _apply(arrange: Callable[[torch.Tensor], torch.Tensor], leaf: object) -> object:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    arranged = arrange(leaf.detach().resolve_conj().resolve_neg())
    return arranged.requires_grad_(leaf.requires_grad)


def _contiguous(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _channels_last(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() not in CHANNELS_LAST:
        return _contiguous(tensor)
    return tensor.clone(memory_format=CHANNELS_LAST[tensor.dim()])


def _sliced_channels_last(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() not in CHANNELS_LAST:
        return _contiguous(tensor)
    wider = tensor.new_zeros([*tensor.shape[:-1], tensor.shape[-1] + 2])
    wider = wider.to(memory_format=CHANNELS_LAST[tensor.dim()])
    return wider[..., 1:-1].copy_(tensor)


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() < 2:
        return _contiguous(tensor)
    return tensor.mT.clone(memory_format=torch.contiguous_format).mT


def _sliced(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0:
        return _contiguous(tensor)
    wider = tensor.new_zeros([*tensor.shape[:-1], tensor.shape[-1] + 3])
    return wider[..., 1:-2].copy_(tensor)
