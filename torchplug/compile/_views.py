"""Views stand with what looks through them: a group that gives one to others copies memory that they could see.

Before nodes are grouped, each user of a view gets one of its own. Afterwards each goes to the group of its user, or to none: it is
made then where it is needed, of what its group gives or was given.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torchplug.compile import _graph, _numbers

if TYPE_CHECKING:
    from torch import fx

    from torchplug.compile._graph import Builder, Built

OUTSIDE = -1
WHY = "it is a view, which is made of what a group gives or takes"
COPY = "torchplug_copy"


def split(graph: fx.Graph) -> None:
    """One view for each user."""
    for node in reversed(list(graph.nodes)):
        if not _is_view(node):
            continue
        for user in list(node.users)[1:]:
            with graph.inserting_after(node):
                copy = graph.node_copy(node)
            copy.meta[COPY] = True
            user.replace_input_with(node, copy)


def is_copy(node: fx.Node) -> bool:
    """Whether it is there only for another user."""
    return COPY in node.meta


def _is_view(node: fx.Node) -> bool:
    return _graph.is_view(node) and not _graph.items_of(node)


def place(builder: Builder, built: Built, groups: list[list[int]]) -> list[list[int]]:
    """The groups, with each view where it copies nothing."""
    places = _Places(builder, built, groups)
    for part in reversed(built.parts):
        places.move(part.fx)
    for part in built.parts:
        places.merge(part.fx)
    return places.groups()


class _Places:
    """The groups of nodes, while views are moved."""

    def __init__(self, builder: Builder, built: Built, groups: list[list[int]]) -> None:
        self.builder = builder
        self.built = built
        self.count = len(groups)
        self.home = {built.parts[node].fx: i for i, group in enumerate(groups) for node in group}
        (output,) = (node for node in builder.module.graph.nodes if node.op == "output")
        chains = [_graph.views_of(node) for node in output.all_input_nodes]
        self.returned = {node for base, views in chains for node in (base, *views)}
        self.contents = {content for _, content in built.updates.values()}
        self.leaving: dict[Any, fx.Node] = {}

    def group_of(self, node: Any) -> int:
        is_item = node.target is operator.getitem
        return self.home.get(node.args[0] if is_item else node, OUTSIDE)

    def leaves(self, view: Any) -> bool:
        """Whether its user is in another group than it is."""
        return any(self.group_of(user) != self.group_of(view) for user in view.users)

    def move(self, view: fx.Node) -> None:
        if not _is_view(view) or view not in self.home or view in self.contents:
            return
        source: Any = view.args[0]
        if not self.leaves(view) or not self._may_leave(view, source):
            return
        (user,) = view.users
        there = self.group_of(user)
        if there != OUTSIDE and self.builder.is_taken_as_it_is(source):
            self.home[view] = there
        else:
            del self.home[view]

    def _may_leave(self, view: fx.Node, source: fx.Node) -> bool:
        """Not, if the group would have to give more for it than it is: all that it is a part of."""
        here = self.home[view]
        if self.group_of(source) != here or source in self.returned or not _is_part(view, source):
            return True
        others = [one for one in source.users if one is not view]
        if any(self.group_of(one) != here for one in others):
            return True
        parts = {
            str(one.args): one for one in [view, *others] if _is_view(one) and self.leaves(one)
        }
        return _numbers.is_at_least(sum(map(_count, parts.values())), _count(source))

    def merge(self, view: fx.Node) -> None:
        """One that a group gives serves all users outside."""
        if not _is_view(view) or view not in self.home or not self.leaves(view):
            return
        alike = (self.home[view], view.target, str(view.args), str(view.kwargs))
        first = self.leaving.setdefault(alike, view)
        if first is not view and view not in self.contents:
            self.built.same[view] = first
            del self.home[view]

    def groups(self) -> list[list[int]]:
        number_of = {part.fx: i for i, part in enumerate(self.built.parts)}
        return [
            sorted(number_of[node] for node, group in self.home.items() if group == i)
            for i in range(self.count)
        ]


def _count(node: fx.Node) -> Any:
    return node.meta["val"].numel()


def _is_part(view: fx.Node, source: fx.Node) -> bool:
    """Whether it may have fewer elements."""
    return not _numbers.is_at_least(_count(view), _count(source))
