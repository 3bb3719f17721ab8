"""Views stand with what looks through them: a group that gives one to others copies memory that they could see.

Before nodes are grouped, each user of a view gets one of its own: between what computes and what uses it lies a path of views.
Afterwards each path goes to the group of its user, or to none: its views are made then where they are needed. If all that is
seen of a result outside of its group is at most half of the result, the group gives these parts: more would be copies of what it has
anyway.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchplug.compile import _graph, _numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import fx

    from torchplug.compile._graph import Builder, Built

OUTSIDE = -1


def split(graph: fx.Graph) -> None:
    """One view for each user."""
    for node in reversed(list(graph.nodes)):
        if not _is_view(node):
            continue
        for user in list(node.users)[1:]:
            with graph.inserting_after(node):
                user.replace_input_with(node, graph.node_copy(node))


def _is_view(node: fx.Node) -> bool:
    return _graph.is_view(node) and not _graph.items_of(node)


@dataclass
class _Path:
    """Views, each of the one before, and the node behind the last."""

    views: list[fx.Node]
    user: fx.Node

    @property
    def narrowest(self) -> int:
        """How many views there are up to the one with the fewest elements that is not larger than what follows."""
        least = 0
        for i, view in enumerate(self.views[1:], 1):
            if not _numbers.is_at_least(_count(view), _count(self.views[least])):
                least = i
        return least + 1


def _paths(source: fx.Node) -> list[_Path]:
    """Of views of a node that is none."""
    paths = []
    for view in source.users:
        views = [view]
        while _is_view(views[-1]) and views[-1].users:
            views.append(next(iter(views[-1].users)))
        if len(views) > 1:
            paths.append(_Path(views[:-1], views[-1]))
    return paths


def _count(node: fx.Node) -> Any:
    return node.meta["val"].numel()


def place(builder: Builder, built: Built, groups: list[list[int]]) -> list[list[int]]:
    """The groups, with each view where it copies nothing."""
    places = _Places(builder, built, groups)
    for node in builder.module.graph.nodes:
        if not _is_view(node) and (paths := _paths(node)):
            places.move(node, paths)
    return places.groups()


class _Places:
    """The groups of nodes, while views are moved."""

    def __init__(self, builder: Builder, built: Built, groups: list[list[int]]) -> None:
        self.builder = builder
        self.built = built
        self.count = len(groups)
        self.home = {built.parts[node].fx: i for i, group in enumerate(groups) for node in group}
        self.may_compile = {part.fx for part in built.parts if part.may_compile}
        self.contents = {content for _, content in built.updates.values()}

    def group_of(self, node: Any) -> int:
        is_item = node.target is operator.getitem
        return self.home.get(node.args[0] if is_item else node, OUTSIDE)

    def move(self, source: fx.Node, paths: Sequence[_Path]) -> None:
        here = self.group_of(source)
        moving = [path for path in paths if self.contents.isdisjoint(path.views)]
        leaving = [path for path in moving if self.group_of(path.user) != here]
        given = self._parts(source, here, leaving)
        for path in moving:
            self._assign(source, path, path.views[: given.get(id(path), 0)], here)

    def _parts(self, source: fx.Node, here: int, leaving: Sequence[_Path]) -> dict[int, int]:
        """Of each path, how many of its views the group keeps, to give the last of them; none: it gives the source."""
        if here == OUTSIDE or self._is_given(source, here):
            return {}
        kept = {id(path): path.narrowest for path in leaving}
        total = sum(_count(path.views[kept[id(path)] - 1]) for path in leaving)
        if not _numbers.is_at_least(_count(source), 2 * total):
            return {}
        if not all(self.may_compile.issuperset(path.views[: kept[id(path)]]) for path in leaving):
            return {}
        return kept

    def _is_given(self, source: fx.Node, here: int) -> bool:
        """Whether others need all of it: as it is, or to return views of it."""
        for user in source.users:
            node = user
            while _is_view(node) and node.users:
                node = next(iter(node.users))
            if node.op == "output" or (node is user and self.group_of(user) != here):
                return True
        return False

    def _assign(self, source: fx.Node, path: _Path, given: Sequence[fx.Node], here: int) -> None:
        there = self.group_of(path.user)
        rest = path.views[len(given) :]
        seen = given[-1] if given else source
        is_inside = there != OUTSIDE and self.may_compile.issuperset(rest)
        if there != here and not self.builder.is_taken_as_it_is(seen):
            is_inside = False
        for view in given:
            self.home[view] = here
        for view in rest:
            if is_inside:
                self.home[view] = there
            else:
                self.home.pop(view, None)

    def groups(self) -> list[list[int]]:
        number_of = {part.fx: i for i, part in enumerate(self.built.parts)}
        return [
            sorted(number_of[node] for node, group in self.home.items() if group == i)
            for i in range(self.count)
        ]
