"""What became of a model: its groups, their engines, and why other operators run one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from torchplug.compile import _backend, _graph, _trial
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
    """That compute something: views cost nothing, in groups or not, and are not counted."""
    groups: list[GroupReport]
    eager: list[tuple[str, str]]
    """Operators that run one by one, and why."""

    @property
    def share(self) -> float:
        """Of the nodes, how many are in groups that the compiler has not declined."""
        inside = sum(group.nodes for group in self.groups if group.engines or not group.declined)
        return inside / self.nodes if self.nodes else 1.0


@dataclass
class Report:
    graphs: list[GraphReport]

    @property
    def groups(self) -> list[GroupReport]:
        return [group for graph in self.graphs for group in graph.groups]

    @property
    def compiled(self) -> int:
        """Engines that the compiler made."""
        return sum(group.compiled for group in self.groups)

    @property
    def loaded(self) -> int:
        """Engines that were on disk."""
        return sum(group.loaded for group in self.groups)

    @property
    def seconds(self) -> float:
        """For both."""
        return sum(group.seconds for group in self.groups)

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
        lines.append(
            f"engines: {self.compiled} compiled, {self.loaded} from disk, {self.seconds:.2f} s"
        )
        return "\n".join(lines)


def explain(
    model: Any, *inputs: Any, options: dict[str, Any] | None = None, **named: Any
) -> Report:
    """Compiles the model for these inputs, calls it once, backward too where results have a gradient, and says what was made.

    The model, its inputs and random numbers are afterwards as before, and so is what others have compiled.
    """
    before, _backend.programs = _backend.programs, []
    try:
        with _trial.without_traces(model, (inputs, named)), _trial.waiting_for_engines():
            _trial.call(_trial.compiled_apart(model, options), inputs, named)
        return Report([_report(program) for program in _backend.programs])
    finally:
        _backend.programs = before


def precompile(model: Any, inputs: Any, *, options: dict[str, Any] | None = None) -> Any:
    """The model, compiled, with its engines made for such inputs: a tuple of arguments, or one alone.

    Under torch.no_grad() those of calls without gradients; otherwise those of the backward too. The model, its inputs and random
    numbers are afterwards as before.
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    compiled: Any = torch.compile(model, backend="torchplug", options=options)
    with _trial.without_traces(model, given), _trial.waiting_for_engines():
        _trial.call(compiled, given, {})
    return compiled


def _report(program: Program) -> GraphReport:
    groups = [_report_group(group) for group in program.groups]
    eager = [(_name(node), why) for node, why in program.outside if _graph.computes(node)]
    count = len(eager) + sum(group.nodes for group in groups)
    return GraphReport(program.kind, count, groups, eager)


def _report_group(group: Group) -> GroupReport:
    nodes = [node for node in group.nodes if _graph.computes(node)]
    return GroupReport(
        nodes=len(nodes),
        operators=dict(Counter(map(_name, nodes))),
        **group.engines.report(),
    )


def _name(node: Any) -> str:
    target = node.target
    return _graph.name_of(target) if isinstance(target, torch._ops.OpOverload) else str(target)
