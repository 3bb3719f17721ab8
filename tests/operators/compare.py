"""Says how a result differs from the CPU's, or that it does not."""

from dataclasses import dataclass
from typing import Any

import torch

from .transport import parts, tensors


class Differs(Exception):
    """One sentence: what the device gave and what the CPU gives."""


@dataclass(frozen=True)
class Tolerance:
    """How far values may lie apart where PyTorch's defaults for the dtype are too strict."""

    rtol: float
    atol: float


@dataclass(frozen=True)
class Expectation:
    """What is compared: values only where the CPU's own are determined."""

    device: str
    values: bool = True
    strides: bool = True
    tolerance: Tolerance | None = None


def compare(expected: Any, actual: Any, wanted: Expectation, path: str = "output") -> None:
    """Raises Differs at the first difference."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(actual, torch.Tensor):
            raise Differs(f"{path} is a {type(actual).__name__}, not a tensor")
        _compare_tensors(expected, actual, wanted, path)
    elif type(expected) is not type(actual):
        raise Differs(f"{path} is a {type(actual).__name__}, not a {type(expected).__name__}")
    elif isinstance(expected, (list, tuple)):
        _equal(path, "length", len(expected), len(actual))
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            compare(left, right, wanted, f"{path}[{index}]")
    elif isinstance(expected, dict):
        _equal(path, "keys", list(expected), list(actual))
        for key, left in expected.items():
            compare(left, actual[key], wanted, f"{path}[{key}]")
    elif isinstance(expected, (int, float, complex)) and wanted.values:
        _close(torch.tensor(expected), torch.tensor(actual), wanted.tolerance, path)


def compare_all(expected: Any, actual: Any, wanted: Expectation) -> None:
    """Compares every tensor of two trees of one structure, whatever holds them."""
    for (path, left), (_, right) in zip(tensors(expected), tensors(actual), strict=True):
        _compare_tensors(left, right, wanted, f"{path} after the call")


def _compare_tensors(
    expected: torch.Tensor, actual: torch.Tensor, wanted: Expectation, path: str
) -> None:
    if actual.device.type != wanted.device:
        raise Differs(f"{path} is on {actual.device}, not on {wanted.device}")
    _equal(path, "layout", expected.layout, actual.layout)
    _equal(path, "dtype", expected.dtype, actual.dtype)
    _equal(path, "shape", tuple(expected.shape), tuple(actual.shape))
    _equal(path, "requires_grad", expected.requires_grad, actual.requires_grad)
    if expected.layout != torch.strided:
        if expected.layout == torch.sparse_coo:
            _equal(path, "is_coalesced", expected.is_coalesced(), actual.is_coalesced())
        compare(parts(expected.detach()), parts(actual.detach()), wanted, path)
        return
    if wanted.strides:
        _equal(path, "strides", expected.stride(), actual.stride())
    if wanted.values:
        _close(expected.detach(), actual.detach().cpu(), wanted.tolerance, path)


def _equal(path: str, what: str, expected: Any, actual: Any) -> None:
    if expected != actual:
        raise Differs(f"{path} has {what} {actual}, the CPU's has {expected}")


def _close(
    expected: torch.Tensor, actual: torch.Tensor, tolerance: Tolerance | None, path: str
) -> None:
    if expected.dtype == torch.complex32:  # which nothing can compare
        expected, actual = expected.to(torch.complex64), actual.to(torch.complex64)
    if torch.equal(expected, actual):
        return
    try:
        torch.testing.assert_close(actual, expected, equal_nan=True)
    except AssertionError as error:
        if tolerance is None or not _within(expected, actual, tolerance):
            raise Differs(f"{path}: {' '.join(str(error).split())}") from None


def _within(expected: torch.Tensor, actual: torch.Tensor, tolerance: Tolerance) -> bool:
    if not (expected.is_floating_point() or expected.is_complex()):
        return False
    return torch.allclose(
        actual, expected, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True
    )
