"""What became of a model: its groups, their engines, and why other operators run one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from torchplug.compile import _backend, _graph
from torchplug.compile._program import Group, Program


@dataclass
class GroupReport:
    nodes: int
    engines: int
    compiled: int
    loaded: int
    seconds: float
    runs: int
    runs_without: int
    declined: list[str]
    disk: list[str]
    operators: dict[str, int] = field(default_factory=dict)


@dataclass
class GraphReport:
    kind: str
    nodes: int
    groups: list[GroupReport]
    eager: list[tuple[str, str]]
    """Operators that run one by one, and why."""

    @property
    def share(self) -> float:
        """Of the nodes, how many are in groups."""
        inside = sum(group.nodes for group in self.groups)
        return inside / self.nodes if self.nodes else 1.0


@dataclass
class Report:
    graphs: list[GraphReport]

    def __str__(self) -> str:
        lines = []
        for number, graph in enumerate(self.graphs):
            lines.append(
                f"graph {number} ({graph.kind}): {graph.nodes} nodes, {graph.share:.0%} in "
                f"{len(graph.groups)} group{'' if len(graph.groups) == 1 else 's'}"
            )
            for place, group in enumerate(graph.groups):
                made = f"{group.compiled} compiled, {group.loaded} from disk, {group.seconds:.2f} s"
                lines.append(
                    f"  group {place}: {group.nodes} nodes, {group.engines} engines ({made})"
                )
                lines += [f"    declined: {why}" for why in group.declined]
                lines += [f"    disk: {why}" for why in group.disk]
            for (name, why), count in Counter(graph.eager).most_common():
                lines.append(f"  eager: {name} ({count}): {why}")
        return "\n".join(lines)


def explain(
    model: Any, *inputs: Any, options: dict[str, Any] | None = None, **named: Any
) -> Report:
    """Compiles the model anew, calls it once, backward too where results have a gradient, and says what was made."""
    before, _backend.programs = _backend.programs, []
    try:
        torch._dynamo.reset()
        compiled: Any = torch.compile(model, backend="torchplug", options=options)
        results = compiled(*inputs, **named)
        _go_back(results)
        return Report([_report(program) for program in _backend.programs])
    finally:
        _backend.programs = before


def precompile(model: Any, inputs: Any, *, options: dict[str, Any] | None = None) -> Any:
    """The model, compiled, with its engines made for such inputs: a tuple of arguments, or one alone.

    Under torch.no_grad() those of calls without gradients; otherwise those of the backward too.
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    compiled: Any = torch.compile(model, backend="torchplug", options=options)
    _go_back(compiled(*given))
    return compiled


def _go_back(given: Any) -> None:
    leaves = torch.utils._pytree.tree_leaves(given)
    results = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if variables := _variables_behind(results):
        loss = torch.stack([x.float().sum() for x in results]).sum()
        torch.autograd.grad(loss, variables, allow_unused=True)


def _variables_behind(results: list[torch.Tensor]) -> list[torch.Tensor]:
    """Whose gradients a backward would work out."""
    found: dict[int, torch.Tensor] = {}
    known: set[Any] = set()
    ahead = [x.grad_fn for x in results]
    while ahead:
        one = ahead.pop()
        if one is None or one in known:
            continue
        known.add(one)
        ahead += [function for function, _ in one.next_functions]
        if isinstance(variable := getattr(one, "variable", None), torch.Tensor):
            found[id(variable)] = variable
    return list(found.values())


def _report(program: Program) -> GraphReport:
    groups = [_report_group(group) for group in program.groups]
    eager = [(_name(node), why) for node, why in program.outside]
    count = len(eager) + sum(group.nodes for group in groups)
    return GraphReport("backward" if program.is_training else "forward", count, groups, eager)


def _report_group(group: Group) -> GroupReport:
    return GroupReport(
        nodes=len(group.nodes),
        operators=dict(Counter(map(_name, group.nodes))),
        **group.engines.report(),
    )


def _name(node: Any) -> str:
    target = node.target
    return _graph.name_of(target) if isinstance(target, torch._ops.OpOverload) else str(target)
