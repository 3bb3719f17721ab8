"""The out= form, into every kind of out that PyTorch allows and some that it refuses."""

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

from .compare import Differs
from .pair import HOST, Case, NotApplicable, Pair, attempt, both
from .places import Place
from .transport import map_tree, storage_bytes, tensors
from .views import compare_sharing


def same_layout(case: Case) -> None:
    """An out of the right shape and strides is filled."""
    _into(case, lambda t: _filled(torch.empty_strided(t.size(), t.stride(), dtype=t.dtype)))


def resized(case: Case) -> None:
    """An empty out takes the CPU's shape and strides."""
    _into(case, lambda t: torch.empty(0, dtype=t.dtype))


def strided(case: Case) -> None:
    """An out with gaps keeps its strides, and nothing is written into the gaps."""
    pair = _into(case, _gapped)
    expected = tensors(pair.expected.sample.kwargs["out"], "out")
    actual = tensors(pair.actual.sample.kwargs["out"], "out")
    for (path, left), (_, right) in zip(expected, actual, strict=True):
        if not torch.equal(_gaps(left), _gaps(right)):
            raise Differs(f"{path} was written between its elements")


def wrong_shape(case: Case) -> None:
    """An out of another shape, with elements, is resized or refused as on the CPU."""
    _into(case, lambda t: _filled(torch.empty([n + 1 for n in t.shape] or [3], dtype=t.dtype)))


def wrong_dtype(case: Case) -> None:
    """An out of another dtype is cast into or refused as on the CPU."""

    def other(t: torch.Tensor) -> torch.Tensor:
        exact = not (t.is_floating_point() or t.is_complex())
        return _filled(torch.empty(t.shape, dtype=torch.float32 if exact else torch.int64))

    _into(case, other)


def _into(case: Case, make: Callable[[torch.Tensor], torch.Tensor]) -> Pair:
    """Calls the operator with an out made from each of its results."""
    sample = map_tree(lambda leaf: leaf, case.sample)
    sample.kwargs["out"] = map_tree(make, _results(case))

    def call(place: Place, moved: SampleInput) -> Any:
        return case.op(moved.input, *moved.args, **moved.kwargs)

    pair = both(case, call, sample)
    pair.compare()
    compare_sharing(pair)
    return pair


def _results(case: Case) -> Any:
    def call(place: Place, sample: SampleInput) -> Any:
        return case.op(sample.input, *sample.args, **sample.kwargs)

    made = attempt(case, HOST, call, case.sample)
    if made.error is not None:
        raise NotApplicable("the CPU refuses the sample")
    found = [t for _, t in tensors(made.result)]
    if not found or any(t.layout != torch.strided for t in found):
        raise NotApplicable("no dense result")
    if isinstance(made.result, torch.Tensor):
        return made.result
    if len(found) != len(made.result):
        raise NotApplicable("the result is not tensors alone")
    return type(made.result)(found) if isinstance(made.result, list) else tuple(found)


def _filled(tensor: torch.Tensor) -> torch.Tensor:
    """Values that show when they are read: an out is written, never read."""
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.fill_(float("nan"))
    return tensor.fill_(77)


def _gapped(t: torch.Tensor) -> torch.Tensor:
    return _filled(torch.empty((*t.shape, 3), dtype=t.dtype))[..., 1]


def _gaps(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a storage with those of the tensor zeroed."""
    everything = storage_bytes(tensor)
    mine = torch.empty(0, dtype=tensor.dtype).set_(
        everything.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride()
    )
    mine.zero_()
    return everything
