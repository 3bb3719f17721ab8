"""What an operator decomposes into, written down for the core, which runs it from then on without Python.

PyTorch's decompositions are Python and C++ functions that call other operators. They are called here on tensors
without data (device `meta`), and every operator they call that a kernel of the plugin takes becomes a step of the
program; others are decomposed in their turn, until nothing is left or something has no kernel. Imported by the first
call of a plugin with PLUG_DECOMPOSE that no kernel takes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch._ops import OpOverload

    from torchplug import _C

aten = torch.ops.aten

# What torchplug does itself for every device, without touching data.
FACTORIES = (
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.empty_like.default,
    aten.new_empty.default,
    aten.new_empty_strided.default,
)
COPIES = (aten._to_copy.default, aten.clone.default, aten.copy_.default)


class NotCoveredError(Exception):
    """An operator that a decomposition comes to, and why it cannot be part of a program."""

    def __init__(self, op: OpOverload, why: str, *, is_circle: bool = False) -> None:
        super().__init__(f"it decomposes into {full_name(op)}, {why}")
        self.op = op
        self.is_circle = is_circle


def trace(
    name: str,
    overload: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    recorder: _C.DecompositionRecorder,
) -> tuple[Sequence[torch.Tensor | None] | None, str, bool]:
    """Records the steps of one call. Its results; or None, why there is no program, and whether that is so for every
    call of the operator."""
    namespace, _, base = name.partition("::")
    op = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")
    if next(ways_to_decompose(op), None) is None:
        return None, "PyTorch has no decomposition of it", True
    try:
        with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
            mode = Tracing(recorder)
            results = mode.decompose(op, args, kwargs)
    except NotCoveredError as error:
        if error.op is op:
            # With a kernel of its own it may become a call that the kernel takes: of converted arguments.
            has_kernel = not recorder.why_not_served(*name_of(op), [])
            is_final = error.is_circle and not has_kernel and op not in OWN
            return None, "PyTorch has no decomposition of such a call", is_final
        return None, str(error), False
    except Exception as error:  # noqa: BLE001 - a decomposition may raise anything; then the CPU's kernel answers
        return None, f"its decomposition raises {type(error).__name__}", False
    return (results if isinstance(results, (tuple, list)) else (results,)), "", False


def ways_to_decompose(op: OpOverload) -> Iterator[Callable[..., Any]]:
    """Functions that do what the operator does by other operators."""
    if op.namespace == "prims":
        yield op.impl_aten  # type: ignore[attr-defined]
        return
    if op in OWN:
        yield OWN[op]
    if op in decomposition_table:
        yield decomposition_table[op]
    if op._can_decompose():
        yield op.decompose
    composite = DispatchKey.CompositeExplicitAutograd
    if torch._C._dispatch_has_kernel_for_dispatch_key(full_name(op), composite):
        yield lambda *args, **kwargs: op._op_dk(composite, *args, **kwargs)


def variance(
    x: torch.Tensor,
    dim: list[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> torch.Tensor:
    """PyTorch's decomposition of this, on which all norms rest, ends with itself."""
    if not x.is_floating_point():
        return NotImplemented  # type: ignore[no-any-return]
    exact = x.to(torch._prims_common.get_computation_dtype(x.dtype))
    dims = list(dim) if dim else list(range(x.dim()))
    deviation = exact - exact.mean(dims, keepdim=True)
    count = math.prod(x.shape[d] for d in dims) if x.dim() else 1
    freedom = max(0, count - (1 if correction is None else correction))
    result: torch.Tensor = ((deviation * deviation).sum(dims, keepdim) / freedom).to(x.dtype)
    return result


# Where PyTorch has none, or one that leads back to the operator.
OWN: dict[OpOverload, Callable[..., Any]] = {aten.var.correction: variance}


def is_view(op: OpOverload) -> bool:
    """Whether it gives another look at an argument, always: what PyTorch composes may copy as well."""
    return bool(op.is_view) and op.namespace == "aten" and not op._can_decompose()


def tensors_of(*values: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def is_on_meta(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the call is about the device: numbers on the host are computed at once."""
    leaves = tree_leaves((args, kwargs))
    meta = torch.device("meta")
    return any(leaf.device == meta for leaf in leaves if isinstance(leaf, torch.Tensor)) or any(
        leaf == meta for leaf in leaves if isinstance(leaf, torch.device)
    )


class Tracing(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operator that a decomposition calls."""

    def __init__(self, recorder: _C.DecompositionRecorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        self.open: list[OpOverload] = []
        """Those being decomposed, the outermost first."""

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if not is_on_meta(args, kwargs):
            return func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise NotCoveredError(func, "which is random")
        if self.is_known(func):
            results = self.run(func, args, kwargs)
            why = self.why_not_taken(func, args, kwargs, results)
            if not why:
                if not self.recorder.add(*name_of(func), args, kwargs, tensors_of(results)):
                    raise NotCoveredError(func, "on a tensor that comes from nowhere")
                return results
        else:
            why = "which has no kernel"
        return self.decompose(func, args, kwargs, why)

    def is_known(self, func: OpOverload) -> bool:
        """Whether it may be a step: the plugin has a kernel for it, or torchplug does it for every device."""
        is_own = is_view(func) or func in FACTORIES or func in COPIES
        if func is aten.zero_.default and self.recorder.fills_memory:
            is_own = True
        return is_own or not self.recorder.why_not_served(*name_of(func), [])

    def run(self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return func(*args, **kwargs)
        except NotImplementedError:
            raise NotCoveredError(func, "whose results PyTorch cannot tell the shapes of") from None

    def why_not_taken(
        self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], results: object
    ) -> str:
        """Why a known operator cannot do this call on the device; nothing if it can."""
        why = self.recorder.why_not_served(*name_of(func), tensors_of(args, kwargs, results))
        if not why or func in FACTORIES or is_view(func):
            return ""
        if func in COPIES:
            *_, source = tensors_of(args)
            (copy,) = tensors_of(results)
            is_plain = copy.dtype == source.dtype and copy.stride() == source.stride()
            plain_or_by_device = is_plain or self.recorder.copies_any
            return "" if plain_or_by_device else "for which the plugin has no copy_strided"
        return "" if func is aten.zero_.default and self.recorder.fills_memory else why

    def decompose(
        self, func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], why: str = ""
    ) -> Any:
        """What the operator gives, by the first way in which everything is covered."""
        if func in self.open:
            named = next(op for op in (func, *reversed(self.open)) if op.namespace != "prims")
            raise NotCoveredError(named, "which has no kernel", is_circle=True)
        failure: NotCoveredError | None = None
        self.open.append(func)
        begin = self.recorder.count()
        try:
            for way in ways_to_decompose(func):
                try:
                    with self:
                        results = way(*args, **kwargs)
                except NotCoveredError as error:
                    self.recorder.rewind(begin)
                    if failure is None or failure.is_circle:
                        failure = error
                    continue
                if results is not NotImplemented:
                    return results
        finally:
            self.open.pop()
        # Of several forms of one operator, the one that was called.
        if failure is None or failure.op._schema.name == func._schema.name:
            failure = NotCoveredError(func, why, is_circle=failure is not None)
        raise failure


def name_of(op: OpOverload) -> tuple[str, str]:
    """As the dispatcher knows it: "aten::add", "Tensor"."""
    return op._schema.name, op._schema.overload_name


def full_name(op: OpOverload) -> str:
    """ "aten::add.Tensor" """
    return ".".join(filter(None, name_of(op)))
