"""What a program gives in float64 on the CPU, and how much of that rounding may change: where large terms cancel, nothing but rounding
is left, however right the operators are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch.utils._pytree import tree_map

from torchplug.compile import _graph, _random

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CPU = torch.device("cpu")


def run(
    module: fx.GraphModule, given: Sequence[Any], noise: Mapping[torch.dtype, float] | None = None
) -> Sequence[Any] | None:
    """The results, with `noise` of inputs and operators that are each off by so much of what they are, by their dtype. None if the CPU lacks an
    operator, or has it for narrower numbers alone."""
    try:
        with _random.kept(CPU), torch.no_grad():
            wide = _Wide(module, noise or {})
            results: Sequence[Any] = wide.run(*(wide.off(widened(one), one) for one in given))
            return results
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def widened(value: Any) -> Any:
    """A tensor, a dtype, a device or anything else as it is in such a program."""
    if isinstance(value, torch.Tensor):
        return value.to(CPU, _wide(value.dtype))
    if isinstance(value, torch.dtype):
        return _wide(value)
    return CPU if isinstance(value, torch.device) else value


def usual_of(values: torch.Tensor) -> torch.Tensor:
    """The mean magnitude of those that are finite."""
    known = values[values.isfinite()].abs()
    return known.mean() if known.numel() else torch.zeros((), dtype=torch.float64)


def _wide(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


class _Wide(fx.Interpreter):
    def __init__(self, module: fx.GraphModule, noise: Mapping[torch.dtype, float]) -> None:
        super().__init__(module)
        self.noise = noise
        self.draws = torch.Generator()

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if not self.noise or not _graph.computes(n):
            return result
        if isinstance(result, torch.Tensor):
            return self.off(result, n.meta["val"])
        return [self.off(one, val) for one, val in zip(result, n.meta["val"], strict=True)]

    def off(self, exact: Any, val: Any) -> Any:
        """What is exact as it may be after rounding. `val`: of the dtype that it has been rounded to."""
        if not isinstance(val, torch.Tensor) or val.dtype not in self.noise:
            return exact
        return exact + self.noise[val.dtype] * self._spread(exact)

    def _spread(self, exact: torch.Tensor) -> torch.Tensor:
        """Of an element's magnitude and of the usual one, each for itself; and the same for all of a row, of a column and so on, since an
        operator may have got a mean of theirs wrong."""
        usual = usual_of(exact)
        spread = (exact.abs() + usual) * self._draw(exact.shape)
        for dim, size in enumerate(exact.shape):
            shape = [1] * exact.dim()
            shape[dim] = size
            spread = spread + usual * self._draw(shape)
        return spread

    def _draw(self, shape: Sequence[int]) -> torch.Tensor:
        return torch.rand(shape, generator=self.draws, dtype=torch.float64) * 2 - 1

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return super().call_function(target, tree_map(widened, args), tree_map(widened, kwargs))

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return widened(super().get_attr(target, args, kwargs))
