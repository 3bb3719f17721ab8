"""Groups of operators in scripted and traced modules: each is compiled by the plugin and runs as one.

Functions that PyTorch optimises while groups are enabled get them: at the second call of a function, as a rule.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchplug import _C

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

__all__ = ["GroupReport", "disable", "enable", "is_enabled", "lower", "register_backend", "report"]


@dataclass(frozen=True)
class GroupReport:
    """What has become of one group."""

    operators: str
    """What it does: "mul, add, softmax"."""
    programs: int
    """Kinds of calls that it keeps a program for."""
    calls: int
    interpreted: int
    """Calls that PyTorch's interpreter did, operator by operator; each kind's first is recorded, and is none of them."""
    engine_runs: int
    compiled: int
    loaded: int
    """Engines that came from the disk."""
    why: tuple[str, ...]
    """Why calls were interpreted, or engines declined."""


def enable(
    *,
    offload: bool = False,
    options: Mapping[str, object] | None = None,
    engines: int = 8,
    min_nodes: int = 1,
    on_error: str = "raise",
) -> None:
    """Groups what scripted and traced modules do on the device.

    offload: modules on the CPU too: their groups are sent to the device, where weights are kept.
    options: for the plugin's compiler.
    engines: for how many kinds of calls - sizes, dtypes, numbers - a group keeps what was compiled.
    min_nodes: a group of fewer operators is none.
    on_error: "eager" has operators run one by one where a compile fails; "raise" raises.
    """
    if on_error not in ("raise", "eager"):
        raise ValueError(f'Option \'on_error\' is {on_error!r}. It may be "raise" or "eager".')
    for name, value in (("engines", engines), ("min_nodes", min_nodes)):
        if not isinstance(value, int):
            raise TypeError(f"Option '{name}' is {value!r}. Give an integer of at least 1.")
        if value < 1:
            raise ValueError(f"Option '{name}' is {value}. Give at least 1.")
    plugin = [text for name, value in (options or {}).items() for text in (name, str(value))]
    table = _decompositions()
    _C.torchscript_enable(
        offload,
        engines,
        min_nodes,
        plugin,
        on_error == "eager",
        set(table),
        functools.partial(_decompose, table),
    )


def _decompositions() -> dict[str, Callable[..., Any]]:
    """What torch.compile's backend takes apart, by the operators' names; nothing without a compiler."""
    import torch
    from torch._decomp import decomposition_table, decompositions

    from torchplug.compile import _decompositions, _graph
    from torchplug.compile._options import Options

    device = torch.device(
        torch._C._get_privateuse1_backend_name(), torch.accelerator.current_device_index()
    )
    try:
        table = _decompositions.table(device, Options())
    except RuntimeError:
        return {}  # enabling says why
    batch_norm = torch.ops.aten.native_batch_norm.default  # AOTAutograd has another for it
    table[batch_norm] = functools.partial(_batch_norm, decomposition_table[batch_norm])
    table[torch.ops.aten.matmul.default] = decompositions.matmul
    table[torch.ops.aten.linear.default] = _linear
    return {
        _graph.name_of(op): function
        for op, function in table.items()
        if isinstance(op, torch._ops.OpOverload)
    }


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Without the writes in place by which PyTorch composes some."""
    product = x @ weight.t()
    return product if bias is None else product + bias


def _batch_norm(
    function: Callable[..., Any], x: torch.Tensor, *rest: Any
) -> Sequence[torch.Tensor]:
    """As kernels have it: one that does not train saves nothing."""
    result, *saved = function(x, *rest)
    trains = rest[4]
    return [result, *(saved if trains else (x.new_empty(0), x.new_empty(0)))]


def _decompose(
    table: dict[str, Callable[..., Any]], name: str, overload: str, given: list[Any]
) -> Sequence[torch.Tensor]:
    """The results of the operator, by others."""
    import torch

    packet = getattr(getattr(torch.ops, name.partition("::")[0]), name.partition("::")[2])
    arguments = getattr(packet, overload or "default")._schema.arguments
    places = [value for value, one in zip(given, arguments, strict=True) if not one.kwarg_only]
    words = {one.name: value for value, one in zip(given, arguments, strict=True) if one.kwarg_only}
    with torch.no_grad():
        results = table[f"{name}.{overload}" if overload else name](*places, **words)
    return [results] if isinstance(results, torch.Tensor) else list(results)


def disable() -> None:
    """What was grouped is interpreted from now on; calls that are under way are finished."""
    _C.torchscript_disable()


def is_enabled() -> bool:
    """Whether groups are enabled."""
    return _C.torchscript_is_enabled()


def report() -> list[GroupReport]:
    """Of all groups of functions that are still there."""
    return [
        GroupReport(**{**group, "why": tuple(group["why"])}) for group in _C.torchscript_report()
    ]


def register_backend() -> None:
    """So that torch.jit.load takes modules that were lowered to the device."""
    _C.torchscript_register_backend()


def lower(
    module: torch.jit.ScriptModule, methods: Sequence[str] = ("forward",)
) -> torch.jit.ScriptModule:
    """The module with these methods as the device's, as torch._C._jit_to_backend makes it: it runs there wherever it lives."""
    import torch

    if not isinstance(module, torch.jit.ScriptModule):
        raise TypeError(
            f"lower() was given {module!r}, which is no ScriptModule. Give it torch.jit.script(module) or torch.jit.trace(module, inputs)."
        )
    register_backend()
    name = torch._C._get_privateuse1_backend_name()
    lower_to: Any = getattr(torch._C, "_jit_to_backend")  # noqa: B009  no stub has it
    lowered: torch.jit.ScriptModule = lower_to(name, module, dict.fromkeys(methods, ""))
    return lowered
