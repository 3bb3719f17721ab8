"""The promises an operator keeps on the device, one function each.

A check returns when the device does what the CPU does and raises Differs when not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from . import out, views
from .compare import Differs, compare
from .exceptions import SELDOM_SEEN
from .layouts import layouts as in_all_layouts
from .pair import Call, Case, NotApplicable, Pair, attempt, both
from .places import Place
from .refusals import refused_at_once
from .transport import map_tree, tensors

# How many seeds may give equal numbers before a random operator counts as constant.
SEEDS = 16
# The dtypes of a check that takes its time, unless all samples are wanted.
FEW = (torch.float32, torch.complex64)


@dataclass(frozen=True)
class Check:
    """A promise, whom it concerns, and what it is tried on: samples, grad samples or errors."""

    run: Callable[[Case], None]
    applies: Callable[[OpInfo, torch.dtype | None], bool]
    inputs: str = "samples"
    # Takes its time: with the first samples alone it is tried in FEW dtypes.
    few: bool = False


def forward(case: Case) -> None:
    """The results, and the inputs after the call, are the CPU's."""
    both(case, plain(case), case.sample).compare()


def noncontiguous(case: Case) -> None:
    """So they are for inputs with gaps between their elements."""
    both(case, plain(case), _noncontiguous(case)).compare()


def conjugated(case: Case) -> None:
    """So they are for inputs that are conjugated lazily."""
    both(case, plain(case), _lazily(case.sample, _conjugated)).compare()


def negated(case: Case) -> None:
    """So they are for inputs that are negated lazily."""
    both(case, plain(case), _lazily(case.sample, _negated)).compare()


def repeat(case: Case) -> None:
    """A second call, which finds what the first one prepared, is as right as the first."""
    for sample in (case.sample, case.sample, case.redrawn):
        if sample is not None:
            both(case, plain(case), sample).compare()


def layouts(case: Case) -> None:
    """So are the results and their strides for inputs that lie in memory in another order."""
    in_all_layouts(case, plain(case), Pair.compare)


def layouts_backward(case: Case) -> None:
    """So are their gradients."""
    in_all_layouts(case, _gradients(case, plain(case)), _compare_gradients)


def backward(case: Case) -> None:
    """The gradients of all inputs are the CPU's."""
    _compare_gradients(both(case, _gradients(case, plain(case)), case.sample))


def noncontiguous_backward(case: Case) -> None:
    """So they are for inputs with gaps between their elements."""
    _compare_gradients(both(case, _gradients(case, plain(case)), _noncontiguous(case)))


def inplace(case: Case) -> None:
    """The in-place form changes its input as on the CPU and returns that very input."""

    def call(place: Place, sample: SampleInput) -> Any:
        return case.op.inplace_variant(sample.input, *sample.args, **sample.kwargs)

    pair = both(case, call, case.sample)
    pair.compare()
    views.compare_sharing(pair)


def inplace_backward(case: Case) -> None:
    """The gradients through the in-place form are the CPU's."""

    def call(place: Place, sample: SampleInput) -> Any:
        # A leaf may not change in place, its copy may.
        return case.op.inplace_variant(sample.input.clone(), *sample.args, **sample.kwargs)

    _compare_gradients(both(case, _gradients(case, call), case.sample))


def random(case: Case) -> None:
    """A seed gives the same numbers again; another seed gives others."""
    if not both(case, plain(case), case.sample).random:
        raise NotApplicable("the operator draws no numbers")
    first = _drawn(case, case.place, case.seed)
    again = _drawn(case, case.place, case.seed)
    if first != again:
        raise Differs("the same seed gives other numbers")
    if case.operator in SELDOM_SEEN:
        return
    if _depends_on_seed(case, Place()) and not _depends_on_seed(case, case.place):
        raise Differs(f"{SEEDS} seeds give the same numbers")


def errors(case: Case) -> None:
    """What the CPU refuses is refused, with the same kind of exception."""
    both(case, plain(case), case.sample).compare()


def refusals(case: Case) -> None:
    """So it is by the call itself, also after calls that differ in nothing but what is wrong."""
    refused_at_once(case, plain(case))


def plain(case: Case) -> Call:
    """The operator as the sample calls it."""
    return lambda place, sample: case.op(sample.input, *sample.args, **sample.kwargs)


def _noncontiguous(case: Case) -> SampleInput:
    if any(t.layout != torch.strided for _, t in tensors(case.sample)):
        raise NotApplicable("a sparse tensor has no strides")
    return case.sample.noncontiguous()


def _lazily(sample: SampleInput, transform: Callable[[torch.Tensor], torch.Tensor]) -> SampleInput:
    changed = False

    def leaf(value: Any) -> Any:
        nonlocal changed
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return value
        lazy = transform(value)
        changed |= lazy is not value
        return lazy

    result = map_tree(leaf, sample)
    if not changed:
        raise NotApplicable("no input can be lazy")
    return result


def _conjugated(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, behind the conjugate bit."""
    return tensor.conj().resolve_conj().conj() if tensor.is_complex() else tensor


def _negated(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, behind the negative bit."""
    signed = tensor.is_floating_point() or tensor.is_complex()
    return torch._neg_view(-tensor) if signed else tensor


def _gradients(case: Case, function: Call) -> Call:
    """Returns the results and the gradients of the inputs for the same random cotangents."""

    def call(place: Place, sample: SampleInput) -> Any:
        inputs = [t for _, t in tensors(sample) if t.requires_grad]
        processed = sample.output_process_fn_grad(function(place, sample))
        outputs = [t for _, t in tensors(processed) if t.requires_grad]
        if not inputs or not outputs:
            raise NotApplicable("nothing here has a gradient")
        cotangents = place.bring(_cotangents(outputs, case.seed))
        grads = torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True)
        return [t.detach() for t in outputs], list(grads)

    return call


def _cotangents(outputs: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    # A generator of their own: the cotangents are no draw of the operator.
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, dtype=t.dtype, generator=generator) for t in outputs]


def _compare_gradients(pair: Pair) -> None:
    outputs, grads = pair.expected.result
    device_outputs, device_grads = pair.actual.result
    compare(outputs, device_outputs, pair.expectation())
    compare(grads, device_grads, pair.expectation(), "grad")


def _drawn(case: Case, place: Place, seed: int) -> list[Any]:
    torch.manual_seed(seed)
    made = attempt(case, place, plain(case), case.sample)
    if made.error is not None:
        raise made.error
    return [_bits(t) for _, t in tensors((made.result, list(tensors(made.sample))))]


def _bits(tensor: torch.Tensor) -> Any:
    # Bytes, so that a NaN equals itself.
    return tensor.cpu().resolve_conj().resolve_neg().flatten().view(torch.uint8).tolist()


def _depends_on_seed(case: Case, place: Place) -> bool:
    first = _drawn(case, place, case.seed)
    return any(_drawn(case, place, case.seed + n) != first for n in range(1, SEEDS))


def _always(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return True


def _is_complex(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return dtype is not None and dtype.is_complex


def _is_inexact(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return dtype is not None and (dtype.is_complex or dtype.is_floating_point)


def _has_gradient(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")


def _has_inplace(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return op.inplace_variant is not None


def _has_inplace_gradient(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return _has_inplace(op, dtype) and op.supports_inplace_autograd and _has_gradient(op, dtype)


def _has_out(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return op.supports_out


def _has_errors(op: OpInfo, dtype: torch.dtype | None) -> bool:
    return op.error_inputs_func is not None


CHECKS = {
    "forward": Check(forward, _always),
    "repeat": Check(repeat, _always),
    "noncontiguous": Check(noncontiguous, _always),
    "conjugated": Check(conjugated, _is_complex),
    "negated": Check(negated, _is_inexact),
    "layouts": Check(layouts, _always, few=True),
    "view": Check(views.view, _always),
    "random": Check(random, _always),
    "inplace": Check(inplace, _has_inplace),
    "out": Check(out.same_layout, _has_out),
    "out_resized": Check(out.resized, _has_out),
    "out_strided": Check(out.strided, _has_out),
    "out_wrong_shape": Check(out.wrong_shape, _has_out),
    "out_wrong_dtype": Check(out.wrong_dtype, _has_out),
    "backward": Check(backward, _has_gradient, "grad samples"),
    "noncontiguous_backward": Check(noncontiguous_backward, _has_gradient, "grad samples"),
    "layouts_backward": Check(layouts_backward, _has_gradient, "grad samples", few=True),
    "inplace_backward": Check(inplace_backward, _has_inplace_gradient, "grad samples"),
    "errors": Check(errors, _has_errors, "errors"),
    "refusals": Check(refusals, _has_errors, "errors"),
}


def checks_of(
    op: OpInfo, dtype: torch.dtype | None, selected: list[str], all_samples: bool
) -> Iterator[str]:
    """The selected checks that concern an operator; dtype None means its error inputs."""
    for name in selected:
        check = CHECKS[name]
        if check.few and not all_samples and dtype not in FEW:
            continue
        if (check.inputs == "errors") == (dtype is None) and check.applies(op, dtype):
            yield name
