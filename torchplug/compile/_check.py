"""Option check: a group's engine beside its operators one by one, and the first node at which they differ."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from torchplug.compile import _exact, _graph, _random, _warnings

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


NOISE = {dtype: allowed / 10 for dtype, allowed in TOLERANCES.items()}
"""By how much operators may be off through rounding, of what they give."""
FARTHER = 4
"""How many times as far from exact results as those of operators that are off by chance."""


UNWRITTEN = {
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
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
        x, y = _exact.widened(a), _exact.widened(e)
        amount = (x - y).abs()
        near = y.isfinite() & (amount <= tolerance * (y.abs() + _exact.usual_of(y)))
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
        one_by_one: fx.GraphModule,
        results: list[fx.Node],
    ) -> None:
        """`nodes`: by their numbers in the graph that `make_group` takes nodes of; `one_by_one`: gives these results of nodes, all that
        there are, for the group's inputs and numbers."""
        self.device = device
        self.group = group
        self.nodes = nodes
        self.make_group = make_group
        self.one_by_one = one_by_one
        self.results = results
        self.drawn = _drawn(group.nodes)
        self.is_told = False

    def compare(
        self, inputs: list[torch.Tensor], numbers: Sequence[int], outputs: Sequence[torch.Tensor]
    ) -> None:
        """Raises a sentence about the first node that differs. `inputs`: as they were before the engine ran."""
        self._tell()
        expected = Expected(self, inputs, numbers)
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
        expected: Expected,
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
        self, nodes: Sequence[fx.Node], outputs: Sequence[torch.Tensor], expected: Expected
    ) -> Difference | None:
        for node, output in zip(nodes, outputs, strict=True):
            if node in self.drawn or _is_unwritten(node):
                continue
            found = difference(output, expected.values[node])
            if found is not None and not expected.is_rounding(node, output):
                return found
        return None

    def _tell(self) -> None:
        first = next((node for node in self.group.nodes if node in self.drawn), None)
        if first is None or self.is_told:
            return
        self.is_told = True
        _warnings.warn(
            f"Option 'check': {_name(first)} draws random numbers, so what depends on it is not compared."
        )


class Expected:
    """What the nodes of a group give, one by one, in one call."""

    def __init__(
        self, checker: Checker, inputs: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> None:
        self._checker = checker
        self._given = [*inputs, *numbers]
        self.values = self._named(self._run())

    def _run(self) -> Sequence[Any]:
        """Who draws random numbers next draws those that he would have drawn."""
        if not self._checker.drawn:
            return self._checker.one_by_one.forward(*self._given)  # type: ignore[no-any-return]
        with _random.kept(self._checker.device):
            return self._checker.one_by_one.forward(*self._given)  # type: ignore[no-any-return]

    def _named(self, results: Sequence[Any]) -> dict[fx.Node, Any]:
        return dict(zip(self._checker.results, results, strict=True))

    @functools.cached_property
    def exact(self) -> dict[fx.Node, Any]:
        """The same in float64; nothing if the CPU cannot do it."""
        results = _exact.run(self._checker.one_by_one, self._given)
        return {} if results is None else self._named(results)

    @functools.cached_property
    def rounded(self) -> dict[fx.Node, Any]:
        """The same with operators that are a little off."""
        return self._named(_exact.run(self._checker.one_by_one, self._given, NOISE) or [])

    def is_rounding(self, node: fx.Node, output: torch.Tensor) -> bool:
        """Whether operators that are a little off give something as far from exact results."""
        exact = self.exact.get(node)
        if exact is None or not (exact.is_floating_point() or exact.is_complex()):
            return False
        found = _exact.widened(output.detach())
        return distance(found, exact) <= FARTHER * distance(self.rounded[node], exact)


def distance(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """Infinite where one of them is not finite, and the other is something else."""
    same = (actual == exact) | (actual.isnan() & exact.isnan())
    apart = (actual - exact).abs().nan_to_num(torch.inf, torch.inf)
    return float(torch.where(same, 0.0, apart).max()) if apart.numel() else 0.0


def _drawn(nodes: Sequence[fx.Node]) -> set[fx.Node]:
    """Those that depend on random numbers of the group's own, and what is taken out of them."""
    found: set[fx.Node] = set()
    for node in nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.nondeterministic_seeded in tags or not found.isdisjoint(node.all_input_nodes):
            found |= {node, *_graph.items_of(node)}
    return found


def _is_unwritten(node: fx.Node) -> bool:
    """Whether it is memory that nobody has written."""
    source, _ = _graph.views_of(node)
    target = source.target
    return isinstance(target, torch._ops.OpOverload) and target._opname in UNWRITTEN


def _name(node: fx.Node) -> str:
    source = _graph.source_of(node)
    name = _graph.name_of(node.target)
    return f"{name} ({source})" if source else name
