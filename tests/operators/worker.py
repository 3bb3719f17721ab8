"""The process in which operators run. It may die or hang; the driver starts another.

It speaks JSON lines over two inherited file descriptors, because whatever runs here may print.
Every check is announced before it is run, so that the driver knows which one killed it.
"""

import faulthandler
import json
import sys
import warnings
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, TextIO

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from .checks import CHECKS, checks_of
from .compare import Differs
from .pair import Case, DeviceError, NotApplicable, RefusedAlike, one_line
from .places import Place, open_place
from .samples import draw, draw_errors, seed_of

OPERATORS = {op.full_name: op for op in common_methods_invocations.op_db}
# Random operators come wrapped in a fixed seed, which would hide what seeds do.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


def main() -> None:
    """Serves one driver until it closes the pipe. argv: read fd, write fd, device, adapter."""
    read, write, device, adapter = sys.argv[1:5]
    faulthandler.enable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with open(int(read)) as requests, open(int(write), "w", buffering=1) as replies:
        try:
            place = open_place(device, adapter or None)
        except Exception as error:  # noqa: BLE001 - the driver reports it
            _send(replies, kind="broken", reason=one_line(error))
            return
        _send(replies, kind="ready")
        for line in requests:
            request = json.loads(line)
            if request["kind"] == "list":
                _send(replies, kind="list", operators=_catalogue(request["dtypes"]))
            else:
                _run(request, place, replies)


def _send(replies: TextIO, **message: Any) -> None:
    replies.write(json.dumps(message) + "\n")


def _catalogue(dtypes: list[str]) -> list[tuple[str, list[str]]]:
    """Every operator with those of the dtypes that the CPU has it in."""
    supported = {name: op.supported_dtypes("cpu") for name, op in OPERATORS.items()}
    return [
        (name, [dtype for dtype in dtypes if getattr(torch, dtype) in supported[name]])
        for name in OPERATORS
    ]


def _run(request: dict[str, Any], place: Place, replies: TextIO) -> None:
    op = OPERATORS[request["operator"]]
    dtype = getattr(torch, request["dtype"]) if request["dtype"] else None
    checks = list(checks_of(op, dtype, request["checks"], request["limit"] is None))
    _send(replies, kind="checks", checks=checks)
    after = request["after"]
    try:
        for case in _cases(op, dtype, request["limit"], checks, place):
            if after is not None:
                after = None if after == [case.check, case.index] else after
            elif case.check not in request["lost"]:
                _send(replies, kind="begin", check=case.check, index=case.index)
                outcome, reason = _judge(case)
                _send(replies, kind="end", outcome=outcome, reason=reason)
    except Exception as error:  # noqa: BLE001 - the driver reports it
        _send(replies, kind="failed", reason=f"no samples: {one_line(error)}")
    else:
        _send(replies, kind="done")


def _judge(case: Case) -> tuple[str, str]:
    try:
        CHECKS[case.check].run(case)
        return "match", ""
    except NotApplicable as reason:
        return "none", str(reason)
    except RefusedAlike as reason:
        return "refused", str(reason)
    except Differs as reason:
        return "differ", str(reason)[:600]
    except DeviceError as reason:
        return "error", str(reason)
    except Exception as error:  # noqa: BLE001 - the driver reports it
        return "error", f"while comparing: {one_line(error)}"


def _cases(
    op: OpInfo, dtype: torch.dtype | None, limit: int | None, checks: list[str], place: Place
) -> Iterator[Case]:
    """Always the same cases in the same order: a driver resumes by position."""
    seed = seed_of(op.full_name, str(dtype))
    inputs: dict[str, list[tuple[SampleInput, SampleInput | None]]] = {}
    for name in checks:
        kind = CHECKS[name].inputs
        if kind not in inputs:
            inputs[kind] = _inputs(op, dtype, seed, limit, kind)
        for index, (sample, redrawn) in enumerate(inputs[kind]):
            yield Case(op, dtype, name, index, sample, redrawn, place, seed)


def _inputs(
    op: OpInfo, dtype: torch.dtype | None, seed: int, limit: int | None, kind: str
) -> list[tuple[SampleInput, SampleInput | None]]:
    if kind == "errors":
        return [(sample, None) for sample in draw_errors(op, seed)]
    requires_grad = kind == "grad samples"
    samples = draw(op, dtype, seed, limit, requires_grad)
    if requires_grad:
        return [(sample, None) for sample in samples]
    others = draw(op, dtype, seed + 1, limit, requires_grad)
    return list(zip_longest(samples, others[: len(samples)]))
