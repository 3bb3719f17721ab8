"""A device that is wrong in many ways, each in one check of one operator.

It is the CPU for everything else, so the sweep must find these faults and nothing more.
"""

import ctypes
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .pair import Case
from .places import Place
from .transport import move, tensors

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Fault:
    """What goes wrong in which check, and the outcome and words that must come of it."""

    check: str
    fail: Callable[[Function, Any], Any]
    outcome: str
    words: str


class Faulty(Place):
    """The device with all of FAULTS."""

    def call(self, case: Case, function: Function, sample: Any) -> Any:
        fault = FAULTS.get(case.operator)
        if fault is not None and fault.check == case.check:
            return fault.fail(function, sample)
        return function(sample)


class HostGenerator(Place):
    """Claims a generator of its own and draws from the CPU's."""

    own_generator = True


class AlwaysHangs(Place):
    """Never returns from anything."""

    def call(self, case: Case, function: Function, sample: Any) -> Any:
        return hangs(function, sample)


def wrong_value(function: Function, sample: Any) -> Any:
    return function(sample) * 1.01


def wrong_dtype(function: Function, sample: Any) -> Any:
    return function(sample).double()


def wrong_stride(function: Function, sample: Any) -> Any:
    result = function(sample)
    return torch.empty((*result.shape, 2))[..., 0].copy_(result)


def wrong_place(function: Function, sample: Any) -> Any:
    return function(sample).to("meta")


def raises(function: Function, sample: Any) -> Any:
    raise RuntimeError("out of order")


def changes_its_input(function: Function, sample: Any) -> Any:
    result = function(sample)
    sample.input.add_(1)
    return result


def remembers_by_shape(function: Function, sample: Any) -> Any:
    """As a cache with too small a key does."""
    result = function(sample)
    return remembered.setdefault(result.shape, result)


def wrong_gradient(function: Function, sample: Any) -> Any:
    outputs, grads = function(sample)
    return outputs, [grad + 1 for grad in grads]


def writes_into_gaps(function: Function, sample: Any) -> Any:
    result = function(sample)
    out = sample.kwargs["out"]
    kept = out.clone()
    torch.empty(0).set_(out.untyped_storage()).zero_()
    out.copy_(kept)
    return result


def resizes_wrong(function: Function, sample: Any) -> Any:
    result = function(sample)
    sample.kwargs["out"].resize_(1, *result.shape)
    return result


def copies(function: Function, sample: Any) -> Any:
    return move(function(sample), torch.device("cpu"))


def shares(function: Function, sample: Any) -> Any:
    return sample.input.copy_(function(sample))


def aborts(function: Function, sample: Any) -> Any:
    os.abort()


def segfaults(function: Function, sample: Any) -> Any:
    return ctypes.string_at(0)


def hangs(function: Function, sample: Any) -> Any:
    time.sleep(1000)


def accepts(function: Function, sample: Any) -> Any:
    try:
        return function(sample)
    except Exception:  # noqa: BLE001 - the fault in question
        return None


def raises_another_kind(function: Function, sample: Any) -> Any:
    try:
        return function(sample)
    except Exception as error:
        raise KeyError("another kind") from error


def ignores_the_seed(function: Function, sample: Any) -> Any:
    torch.seed()
    return function(sample)


def draws_a_constant(function: Function, sample: Any) -> Any:
    result = function(sample)
    for _, tensor in tensors(result):
        tensor.zero_()
    return result


remembered: dict[torch.Size, torch.Tensor] = {}

FAULTS = {
    "add": Fault("forward", wrong_value, "differ", "not close"),
    "sub": Fault("forward", wrong_dtype, "differ", "dtype torch.float64"),
    "exp": Fault("forward", wrong_stride, "differ", "strides (2,), the CPU's has (1,)"),
    "maximum": Fault("forward", wrong_place, "differ", "is on meta"),
    "minimum": Fault("forward", raises, "error", "RuntimeError: out of order"),
    "atan2": Fault("forward", changes_its_input, "differ", "input after the call"),
    "hypot": Fault("repeat", remembers_by_shape, "differ", "not close"),
    "tan": Fault("backward", wrong_gradient, "differ", "grad[0]"),
    "sin": Fault("out_strided", writes_into_gaps, "differ", "between its elements"),
    "cos": Fault("out_resized", resizes_wrong, "differ", "shape"),
    "abs": Fault("inplace", copies, "differ", "on the CPU they are one tensor"),
    "transpose": Fault("view", copies, "differ", "on the CPU they share a storage"),
    "neg": Fault("view", shares, "differ", "on the CPU they share nothing"),
    "tanh": Fault("forward", aborts, "crash", "SIGABRT"),
    "sqrt": Fault("forward", segfaults, "crash", "SIGSEGV"),
    "floor": Fault("forward", hangs, "hang", "no answer"),
    "gather": Fault("errors", accepts, "differ", "accepted; the CPU raises"),
    "take": Fault("errors", raises_another_kind, "differ", "raises KeyError"),
    "uniform": Fault("random", ignores_the_seed, "differ", "the same seed"),
    "normal": Fault("random", draws_a_constant, "differ", "seeds give the same numbers"),
}
