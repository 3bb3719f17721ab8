"""One call, made on the CPU and on the device."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from .compare import Differs, Expectation, Tolerance, compare, compare_all
from .exceptions import (
    AMPLIFIES,
    HOST_ARGUMENTS,
    HOST_WRONG,
    OTHER_COMPOSITION,
    OTHER_FORMULA,
    UNDETERMINED,
)
from .places import Place

HOST = Place()
HALF = (torch.float16, torch.bfloat16)
Call = Callable[[Place, SampleInput], Any]


class NotApplicable(Exception):
    """The check says nothing about this sample."""


class RefusedAlike(Exception):
    """The CPU refuses the sample, and so does the device."""


class DeviceError(Exception):
    """The device raised where the CPU did not."""


@dataclass(frozen=True)
class Case:
    """One check of one sample of one operator in one dtype."""

    op: OpInfo
    dtype: torch.dtype | None
    check: str
    index: int
    sample: SampleInput
    # The same sample from another seed: nearly always other values in the same shapes.
    redrawn: SampleInput | None
    place: Place
    seed: int

    @property
    def operator(self) -> str:
        return self.op.full_name

    @cached_property
    def tolerance(self) -> Tolerance | None:
        """PyTorch's own tolerance for this operator, asked for when its default is too strict."""
        if self.dtype in HALF and self.operator in OTHER_FORMULA:
            return Tolerance(*OTHER_FORMULA[self.operator])
        if self.dtype in (*HALF, torch.float32) and self.operator in AMPLIFIES:
            return Tolerance(*AMPLIFIES[self.operator])
        found = [
            override.d[self.dtype]
            for info in self.op.decorators
            if getattr(info, "cls_name", None) in (None, "TestCommon")
            for override in getattr(info, "decorators", [info])
            if isinstance(override, toleranceOverride) and self.dtype in override.d
        ]
        if not found:
            return None
        return Tolerance(rtol=max(t.rtol for t in found), atol=max(t.atol for t in found))


@dataclass
class Attempt:
    """What came of a call in one place: a result or an error, and the inputs as it left them."""

    sample: SampleInput
    result: Any = None
    error: Exception | None = None


@dataclass
class Pair:
    """What came of a call that both places accepted."""

    case: Case
    expected: Attempt
    actual: Attempt
    random: bool

    @property
    def determined(self) -> bool:
        known = self.case.operator not in UNDETERMINED
        right = (self.case.operator, self.case.check) not in HOST_WRONG
        return known and right and not self.random

    def expectation(self) -> Expectation:
        return Expectation(
            self.case.place.device.type,
            values=self.determined,
            strides=self.case.operator not in OTHER_COMPOSITION,
            tolerance=self.case.tolerance,
        )

    def compare(self) -> None:
        """Compares the results and what became of the inputs."""
        compare(self.expected.result, self.actual.result, self.expectation())
        expected, actual = self.expected.sample, self.actual.sample
        if self.case.operator in HOST_ARGUMENTS:
            expected, actual = expected.input, actual.input
        compare_all(expected, actual, self.expectation())


def attempt(case: Case, place: Place, call: Call, sample: SampleInput) -> Attempt:
    """Makes the call on a copy of the sample and waits for its errors."""
    made = Attempt(place.bring(sample))
    if case.operator in HOST_ARGUMENTS:
        made.sample.args = HOST.bring(sample.args)
    try:
        made.result = place.call(case, lambda moved: call(place, moved), made.sample)
        place.synchronize()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the result
        made.error = error
    return made


def both(case: Case, call: Call, sample: SampleInput) -> Pair:
    """Makes the call in both places; ends the check where the CPU refuses."""
    before = _seed(case.seed)
    expected = attempt(case, HOST, call, sample)
    random = not torch.equal(before, torch.get_rng_state())
    if random:
        # Seeds the device too; too slow to do for every operator.
        torch.manual_seed(case.seed)
    before = _seed(case.seed)
    actual = attempt(case, case.place, call, sample)
    if case.place.own_generator and not torch.equal(before, torch.get_rng_state()):
        raise Differs("the call on the device moved the CPU's generator")
    _compare_errors(expected.error, actual.error)
    return Pair(case, expected, actual, random)


def _seed(seed: int) -> torch.Tensor:
    torch.default_generator.manual_seed(seed)
    return torch.get_rng_state()


def _compare_errors(expected: Exception | None, actual: Exception | None) -> None:
    if isinstance(expected, NotApplicable):
        raise expected
    if expected is None and actual is None:
        return
    if expected is None:
        raise DeviceError(one_line(actual)) from actual
    if actual is None:
        raise Differs(f"accepted; the CPU raises {one_line(expected)}")
    if type(actual) is not type(expected):
        raise Differs(f"raises {one_line(actual)}; the CPU raises {one_line(expected)}")
    raise RefusedAlike(one_line(expected))


def one_line(error: BaseException) -> str:
    """An exception's type and text on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
