"""A graph as it is shown: its nodes, which engine each is in, and why others are in none."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

VIEW = "a view, made where it is used"
"""Why a node is in no engine although it could be in several."""


@dataclass
class Source:
    """What is given to the graph."""

    name: str
    type: str
    """ "f32[8, 64]"."""
    is_weight: bool = False


@dataclass
class Node:
    name: str
    operator: str
    """ "aten::add.Tensor"."""
    types: list[str]
    """Of its results."""
    inputs: list[str]
    """Names of nodes and sources, each once."""
    group: int | None = None
    why: str = ""
    """It is in no engine."""
    place: str = ""
    """Where the user wrote it."""
    computes: bool = True
    """Views do not, and are not counted."""

    @property
    def result(self) -> str:
        """The type of the first, and how many more there are."""
        more = len(self.types) - 1
        return self.types[0] + (f" and {more} more" if more else "")

    @property
    def kind(self) -> str:
        """ "engine"; outside of all, "view" or "eager"."""
        if self.group is not None:
            return "engine"
        return "eager" if self.computes else "view"


@dataclass
class Group:
    """Nodes that become one engine."""

    nodes: list[str]
    text: str
    """Its graph, which reads back."""


@dataclass
class Output:
    node: str
    """Or a source."""
    updates: str = ""
    """The source that it is the new content of."""


@dataclass
class Sheet:
    title: str
    device: str
    sources: list[Source] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Of nodes that compute, as `explain` counts them."""
        return sum(node.computes for node in self.nodes)

    @property
    def share(self) -> float:
        """Of them, how many are in engines."""
        inside = sum(node.computes and node.group is not None for node in self.nodes)
        return inside / self.count if self.count else 1.0

    @property
    def summary(self) -> str:
        nodes, groups = counted(self.count, "node"), counted(len(self.groups), "engine")
        return f"{nodes}, {self.share:.0%} in {groups}"

    def reasons(self) -> list[tuple[str, int]]:
        """Why nodes that compute something are in no engine, the most frequent first."""
        outside = [node for node in self.nodes if node.kind == "eager"]
        return Counter(general(node.why) for node in outside).most_common()


def general(why: str) -> str:
    """A reason without the name of the argument that it is about."""
    return re.sub(r"^its argument '[^']*'", "an argument", why)


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
