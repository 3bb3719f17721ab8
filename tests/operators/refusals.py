"""What is refused is refused by the call, also where calls like it have been accepted before."""

import contextlib
from collections.abc import Iterator

import torch
from torch.testing._internal.opinfo.core import SampleInput

from .compare import Differs
from .exceptions import REFUSED_BY_DATA
from .pair import HOST, Call, Case, NotApplicable, RefusedAlike, attempt, one_line
from .samples import draw

# How many of the operator's samples are called before, as they are and with the tensors that will be refused.
BEFORE = 6


def refused_at_once(case: Case, call: Call) -> None:
    """Calls that are accepted, each twice, so that all about them is known, and then one that is not."""
    expected = attempt(case, HOST, call, case.sample).error
    if expected is None:
        raise NotApplicable("the CPU takes it")
    for sample in _accepted(case, call):
        for _ in range(2):
            attempt(case, case.place, call, sample)
    moved = case.place.bring(case.sample)
    actual = _error_of(case, call, moved)
    if actual is None and case.operator not in REFUSED_BY_DATA:
        raise Differs(f"accepted by the call; the CPU raises {one_line(expected)}")
    if actual is not None and type(actual) is not type(expected):
        raise Differs(f"raises {one_line(actual)}; the CPU raises {one_line(expected)}")
    raise RefusedAlike(one_line(expected))


def _error_of(case: Case, call: Call, moved: SampleInput) -> Exception | None:
    """What the call itself raises. What comes of it later is for the check of errors."""
    error = None
    try:
        case.place.call(case, lambda sample: call(case.place, sample), moved)
    except Exception as raised:  # noqa: BLE001 - whatever it is, it is the result
        error = raised
    with contextlib.suppress(Exception):
        case.place.synchronize()
    return error


def _accepted(case: Case, call: Call) -> Iterator[SampleInput]:
    dtypes = case.op.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in dtypes else min(dtypes, key=str)
    for sample in draw(case.op, dtype, case.seed, BEFORE, requires_grad=False):
        for given in (sample, _mixed(case.sample, sample)):
            if given is not None and attempt(case, HOST, call, given).error is None:
                yield given


def _mixed(refused: SampleInput, taken: SampleInput) -> SampleInput | None:
    """The tensors of one with the numbers of the other."""
    same_names = refused.kwargs.keys() == taken.kwargs.keys()
    if len(refused.args) != len(taken.args) or not same_names:
        return None
    args = tuple(map(_tensor_or, refused.args, taken.args))
    kwargs = {name: _tensor_or(refused.kwargs[name], taken.kwargs[name]) for name in taken.kwargs}
    return SampleInput(refused.input, args=args, kwargs=kwargs)


def _tensor_or(value: object, other: object) -> object:
    return value if isinstance(value, torch.Tensor) else other
