"""A view is a view: outputs share memory with inputs exactly where the CPU's do."""

from itertools import combinations
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

from .compare import Differs
from .pair import Attempt, Case, NotApplicable, Pair, both
from .places import Place
from .transport import tensors


def view(case: Case) -> None:
    """What shares memory on the CPU shares it on the device, and a write through it shows."""
    if not any(t.layout == torch.strided for _, t in tensors(case.sample)):
        raise NotApplicable("no input could be shared")

    def call(place: Place, sample: SampleInput) -> Any:
        result = case.op(sample.input, *sample.args, **sample.kwargs)
        inputs = {_storage(t) for _, t in _dense(sample)}
        with torch.no_grad():
            for _, output in _dense(result):
                if _storage(output) in inputs:
                    _scribble(output)
        return result

    pair = both(case, call, case.sample)
    compare_sharing(pair)
    pair.compare()


def compare_sharing(pair: Pair) -> None:
    """Compares who shares memory with whom, and the views of inputs in detail."""
    expected, actual = _named(pair.expected), _named(pair.actual)
    for left, right in combinations(expected, 2):
        here = _relation(expected[left], expected[right])
        there = _relation(actual[left], actual[right])
        if here != there:
            raise Differs(f"{left} and {right} {there}; on the CPU they {here}")
    inputs = {_storage(t) for _, t in _dense(pair.expected.sample)}
    for name, tensor in expected.items():
        # A fresh result may be a view of a temporary in one place and not in the other.
        if _storage(tensor) in inputs:
            other = actual[name]
            _equal(name, "storage offset", tensor.storage_offset(), other.storage_offset())
            _equal(name, "_is_view()", tensor._is_view(), other._is_view())
            _equal(name, "is_conj()", tensor.is_conj(), other.is_conj())
            _equal(name, "is_neg()", tensor.is_neg(), other.is_neg())


def _named(attempt: Attempt) -> dict[str, torch.Tensor]:
    return dict(_dense(attempt.sample)) | dict(_dense(attempt.result, "output"))


def _dense(tree: Any, path: str = "") -> list[tuple[str, torch.Tensor]]:
    return [(name, t) for name, t in tensors(tree, path) if t.layout == torch.strided]


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _relation(left: torch.Tensor, right: torch.Tensor) -> str:
    if left is right:
        return "are one tensor"
    if _storage(left) == _storage(right):
        return "share a storage"
    address = left.untyped_storage().data_ptr()
    if address != 0 and address == right.untyped_storage().data_ptr():
        return "share memory through two storages"
    return "share nothing"


def _scribble(tensor: torch.Tensor) -> None:
    if tensor.dtype == torch.bool:
        tensor.logical_not_()
    else:
        tensor.fill_(7)


def _equal(name: str, what: str, expected: Any, actual: Any) -> None:
    if expected != actual:
        raise Differs(f"{name} has {what} {actual}, the CPU's has {expected}")
