"""Option check: a group's engine beside its operators one by one, and the first node at which they differ."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from torchplug.compile import _graph, _random

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torchplug.compile._program import Group

# Of an element's magnitude and of the mean one. A compiler may keep a chain of operators in a wider type, and add in another order.
TOLERANCES = {
    torch.float64: 1e-10,
    torch.complex128: 1e-10,
    torch.float32: 1e-4,
    torch.complex64: 1e-4,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}


@dataclass
class Difference:
    """Of two tensors, at the element where it is largest."""

    largest: float
    place: list[int]
    actual: Any
    expected: Any
    dtype: torch.dtype

    def __str__(self) -> str:
        where = f" at {self.place}" if self.place else ""
        allowed = TOLERANCES.get(self.dtype)
        rule = "are to be equal" if allowed is None else f"may differ by {allowed} of what they are"
        return (
            f"by {self.largest:.3g}{where}, {self.actual} instead of {self.expected}; "
            f"values of {self.dtype} {rule}"
        )


def difference(actual: torch.Tensor, expected: torch.Tensor) -> Difference | None:
    """What is more than rounding."""
    a, e = actual.detach().cpu(), expected.detach().cpu()
    tolerance = TOLERANCES.get(e.dtype)
    if tolerance is None:
        wrong = a != e
        amount = (
            wrong.to(torch.float64) if e.dtype == torch.bool else (a.double() - e.double()).abs()
        )
    else:
        wide = torch.complex128 if e.dtype.is_complex else torch.float64
        x, y = a.to(wide), e.to(wide)
        known = y[y.isfinite()].abs()
        usual = known.mean() if known.numel() else torch.zeros((), dtype=torch.float64)
        amount = (x - y).abs()
        near = y.isfinite() & (amount <= tolerance * (y.abs() + usual))
        wrong = ~(near | (x == y) | (x.isnan() & y.isnan()))
    if not wrong.any():
        return None
    worst = torch.where(wrong, amount.nan_to_num(torch.inf, torch.inf), -1.0).flatten().argmax()
    place = [int(i) for i in torch.unravel_index(worst, a.shape)]
    return Difference(
        float(amount.flatten()[worst]),
        place,
        a.flatten()[worst].item(),
        e.flatten()[worst].item(),
        e.dtype,
    )


class Checker:
    """Compares a group's engine with its nodes, run one by one."""

    def __init__(
        self,
        device: torch.device,
        group: Group,
        nodes: dict[int, fx.Node],
        make_group: Callable[[list[int]], Group],
        values: Callable[..., dict[fx.Node, Any]],
    ) -> None:
        """`nodes`: by their numbers in the graph that `make_group` takes nodes of; `values`: of all nodes of the group, given its
        inputs and numbers."""
        self.device = device
        self.group = group
        self.nodes = nodes
        self.make_group = make_group
        self.values = values
        self.drawn = _drawn(group.nodes)
        self.is_told = False

    def reference(
        self, inputs: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> dict[fx.Node, Any]:
        """The values of all nodes. Who draws random numbers next draws those that he would have drawn."""
        if not self.drawn:
            return self.values(*inputs, *numbers)
        with _random.kept(self.device):
            return self.values(*inputs, *numbers)

    def compare(
        self, inputs: list[torch.Tensor], numbers: Sequence[int], outputs: Sequence[torch.Tensor]
    ) -> None:
        """Raises a sentence about the first node that differs. `inputs`: as they were before the engine ran."""
        self._tell()
        expected = self.reference(inputs, numbers)
        found = self._differs(self.group.outputs, outputs, expected)
        if found is None:
            return
        # The engine of the first nodes alone, as few of them as differ.
        order = list(self.nodes)
        right, wrong = 0, len(order)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            other = self._difference_of(order[:middle], inputs, numbers, expected)
            if other is None:
                right = middle
            else:
                wrong, found = middle, other
        node = self.nodes[order[wrong - 1]]
        raise RuntimeError(
            f"Option 'check': {_name(node)} differs in an engine from the operator {found}."
        )

    def _difference_of(
        self,
        nodes: list[int],
        inputs: list[torch.Tensor],
        numbers: Sequence[int],
        expected: dict[fx.Node, Any],
    ) -> Difference | None:
        group = self.make_group(nodes)
        if not group.outputs:
            return None
        input_of = dict(zip(self.group.inputs, inputs, strict=True))
        number_of = dict(zip(self.group.symbols, numbers, strict=True))
        outputs = group.engines.run(
            [input_of[node].clone() for node in group.inputs],
            [number_of[symbol] for symbol in group.symbols],
        )
        return None if outputs is None else self._differs(group.outputs, outputs, expected)

    def _differs(
        self,
        nodes: Sequence[fx.Node],
        outputs: Sequence[torch.Tensor],
        expected: dict[fx.Node, Any],
    ) -> Difference | None:
        for node, output in zip(nodes, outputs, strict=True):
            if node not in self.drawn and (found := difference(output, expected[node])) is not None:
                return found
        return None

    def _tell(self) -> None:
        first = next((node for node in self.group.nodes if node in self.drawn), None)
        if first is None or self.is_told:
            return
        self.is_told = True
        warnings.warn(
            f"Option 'check': {_name(first)} draws random numbers, so what depends on it is not compared.",
            stacklevel=2,
        )


def _drawn(nodes: Sequence[fx.Node]) -> set[fx.Node]:
    """Those that depend on random numbers of the group's own, and what is taken out of them."""
    found: set[fx.Node] = set()
    for node in nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags or not found.isdisjoint(node.all_input_nodes):
            found |= {node, *_graph.items_of(node)}
    return found


def _name(node: fx.Node) -> str:
    source = _graph.source_of(node)
    name = _graph.name_of(node.target)
    return f"{name} ({source})" if source else name
