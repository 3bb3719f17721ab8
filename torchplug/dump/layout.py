"""Boxes in layers, with lines between them: where each box stands, and the points that each line goes through.

A line goes down. Where it passes a layer it has a place in it, as a box without width; lines that leave a box together
share these places. The order in a layer is one with few crossings, and everything stands as near to what it is connected
with as that order allows.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

SWEEPS = 16
# How much a box, a line that passes layer after layer, and a line where it begins to, keep to what is above them.
BOX, PASSING, BEGINNING = 4.0, 1.0, 0.02


@dataclass
class Box:
    width: float
    height: float
    end: int = 0
    """-1: above all others; 1: below them."""
    layer: int = 0
    x: float = 0.0
    """Of its left side; y: of its upper side."""
    y: float = 0.0


class Line(NamedTuple):
    """From the lower side of a box to the upper side of another."""

    source: int
    target: int
    leaves: float
    """So far from the left side of the source; enters: of the target."""
    enters: float


class Gaps(NamedTuple):
    beside: float
    below: float
    lines: float
    """Beside a line."""


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Layout:
    width: float
    height: float
    routes: list[list[Point]] = field(default_factory=list)
    """Of each line: straight down from its first point to its second, curved to the third, straight to the fourth ..."""


def arrange(boxes: Sequence[Box], lines: Sequence[Line], gaps: Gaps) -> Layout:
    """Places the boxes. The lines make no circle."""
    return _Arrangement(boxes, lines, gaps).make()


class _Arrangement:
    def __init__(self, boxes: Sequence[Box], lines: Sequence[Line], gaps: Gaps) -> None:
        self.items = list(boxes)
        """Boxes, and behind them the places of lines that pass."""
        self.box_count = len(boxes)
        self.lines = lines
        self.gaps = gaps
        self.into: dict[int, list[Line]] = defaultdict(list)
        self.out_of: dict[int, list[Line]] = defaultdict(list)
        self.layers: list[list[int]] = []
        self.heights: list[float] = []
        self.chains: list[list[int]] = []
        """Of each line, the items it goes through."""
        self.links: list[Line] = []
        """Pieces of lines, between items of neighbouring layers."""

    def make(self) -> Layout:
        if not self.items:
            return Layout(0.0, 0.0)
        for line in self.lines:
            self.into[line.target].append(line)
            self.out_of[line.source].append(line)
        self._choose_layers()
        self._split_lines()
        self._order()
        self._place_beside()
        self._place_below()
        routes = [
            self._route(line, chain) for line, chain in zip(self.lines, self.chains, strict=True)
        ]
        boxes = self.items[: self.box_count]
        return Layout(
            max([*(box.x + box.width for box in boxes), *(p.x for route in routes for p in route)]),
            max(box.y + box.height for box in boxes),
            routes,
        )

    # ---- layers ----

    def _choose_layers(self) -> None:
        order = self._sorted()
        first = 1 if any(box.end < 0 for box in self.items) else 0
        for i in order:
            above = [self.items[line.source].layer for line in self.into[i]]
            self.items[i].layer = 0 if self.items[i].end < 0 else max([first - 1, *above]) + 1
        for i in reversed(order):
            self._sink(i)
        last = max((box.layer for box in self.items if box.end <= 0), default=0)
        for box in self.items:
            box.layer = last + 1 if box.end > 0 else box.layer

    def _sorted(self) -> list[int]:
        """Each box behind all that it depends on."""
        missing = {i: len(self.into[i]) for i in range(self.box_count)}
        ready = [i for i, count in missing.items() if not count]
        order = []
        while ready:
            i = ready.pop(0)
            order.append(i)
            for line in self.out_of[i]:
                missing[line.target] -= 1
                if not missing[line.target]:
                    ready.append(line.target)
        return order

    def _sink(self, i: int) -> None:
        """Down to its users, if no line gets longer by it but one that hangs on nothing else."""
        below = [
            self.items[line.target].layer
            for line in self.out_of[i]
            if not self.items[line.target].end
        ]
        if self.items[i].end == 0 and below and self._is_loose(i):
            self.items[i].layer = min(below) - 1

    def _is_loose(self, i: int) -> bool:
        while len(self.into[i]) == 1 and len(self.out_of[i]) == 1:
            i = self.into[i][0].source
        return not self.into[i] and not self.items[i].end

    def _split_lines(self) -> None:
        passing: dict[tuple[int, float, int], int] = {}
        linked: set[Line] = set()
        for line in self.lines:
            chain = [line.source]
            for layer in range(self.items[line.source].layer + 1, self.items[line.target].layer):
                key = (line.source, line.leaves, layer)
                if key not in passing:
                    passing[key] = len(self.items)
                    self.items.append(Box(0.0, 0.0, layer=layer))
                chain.append(passing[key])
            chain.append(line.target)
            self.chains.append(chain)
            for upper, lower in pairwise(chain):
                leaves = line.leaves if upper == line.source else 0.0
                linked.add(Line(upper, lower, leaves, line.enters if lower == line.target else 0.0))
        self.links = sorted(linked)
        self.into, self.out_of = defaultdict(list), defaultdict(list)
        for link in self.links:
            self.into[link.target].append(link)
            self.out_of[link.source].append(link)

    # ---- order ----

    def _order(self) -> None:
        self.layers = [[] for _ in range(max(box.layer for box in self.items) + 1)]
        for i in self._by_depth():
            self.layers[self.items[i].layer].append(i)
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(SWEEPS):
            down = sweep % 2 == 0
            for layer in self.layers[1:] if down else reversed(self.layers[:-1]):
                self._sort(layer, down=down)
            if (count := self._crossings()) < fewest:
                best, fewest = [list(layer) for layer in self.layers], count
        self.layers = best

    def _by_depth(self) -> Iterable[int]:
        """What is connected stands together."""
        seen: set[int] = set()
        for start in range(len(self.items)):
            ahead = [start]
            while ahead:
                i = ahead.pop()
                if i in seen:
                    continue
                seen.add(i)
                yield i
                ahead += [link.target for link in reversed(self.out_of[i])]
                ahead += [link.source for link in self.into[i]]

    def _ranks(self) -> dict[int, int]:
        return {i: place for layer in self.layers for place, i in enumerate(layer)}

    def _sort(self, layer: list[int], *, down: bool) -> None:
        ranks = self._ranks()
        middle = {i: fmean(self._ends(i, ranks, down=down) or [ranks[i]]) for i in layer}
        layer.sort(key=lambda i: middle[i])

    def _ends(self, i: int, ranks: dict[int, int], *, down: bool) -> list[float]:
        """Where the lines from above, or from below, come from."""
        if down:
            return [ranks[k.source] + self._part(k.source, k.leaves) for k in self.into[i]]
        return [ranks[k.target] + self._part(k.target, k.enters) for k in self.out_of[i]]

    def _part(self, i: int, offset: float) -> float:
        width = self.items[i].width
        return offset / width if width else 0.5

    def _crossings(self) -> int:
        ranks = self._ranks()
        by_layer: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for link in self.links:
            by_layer[self.items[link.source].layer].append(
                (
                    ranks[link.source] + self._part(link.source, link.leaves),
                    ranks[link.target] + self._part(link.target, link.enters),
                )
            )
        return sum(map(_inversions, by_layer.values()))

    # ---- places ----

    def _place_beside(self) -> None:
        for layer in self.layers:
            self._set(layer, [0.0] * len(layer), [1.0] * len(layer))
        for sweep in range(
            SWEEPS + 1
        ):  # the last one down: what hangs on one thing alone hangs straight
            down = sweep % 2 == 0
            for layer in self.layers if down else reversed(self.layers):
                self._draw_near(layer, down=down)
        left = min(box.x for box in self.items)
        for box in self.items:
            box.x -= left

    def _draw_near(self, layer: list[int], *, down: bool) -> None:
        wishes, weights = [], []
        for i in layer:
            links = self.into[i] if down else self.out_of[i]
            others = [link.source if down else link.target for link in links]
            pulls = [BOX if other < self.box_count else BEGINNING for other in others]
            found = sum(
                self._left_for(link, i) * pull for link, pull in zip(links, pulls, strict=True)
            )
            wishes.append(found / sum(pulls) if links else self.items[i].x)
            weights.append(self._weight(i, others) if links else BEGINNING)
        self._set(layer, wishes, weights)

    def _left_for(self, link: Line, i: int) -> float:
        """Where an item's left side is if the link is straight."""
        if i == link.target:
            return self.items[link.source].x + link.leaves - link.enters
        return self.items[link.target].x + link.enters - link.leaves

    def _weight(self, i: int, others: list[int]) -> float:
        if i < self.box_count:
            return BOX
        return PASSING if min(others) >= self.box_count else BEGINNING

    def _set(self, layer: list[int], wishes: list[float], weights: list[float]) -> None:
        """As near to the wishes as can be, by least squares, in this order and with the gaps between."""
        offsets = [0.0]
        for a, b in pairwise(layer):
            gap = self.gaps.lines if max(a, b) >= self.box_count else self.gaps.beside
            offsets.append(offsets[-1] + self.items[a].width + gap)
        wanted = [wish - offset for wish, offset in zip(wishes, offsets, strict=True)]
        for i, offset, x in zip(layer, offsets, _rising(wanted, weights), strict=True):
            self.items[i].x = x + offset

    def _place_below(self) -> None:
        y = 0.0
        shifts: dict[int, float] = defaultdict(float)
        for link in self.links:
            upper, lower = self.items[link.source], self.items[link.target]
            shift = abs(upper.x + link.leaves - lower.x - link.enters)
            shifts[upper.layer] = max(shifts[upper.layer], shift)
        for number, layer in enumerate(self.layers):
            self.heights.append(max(self.items[i].height for i in layer))
            for i in layer:
                self.items[i].y = y
            y += self.heights[number] + self.gaps.below + min(shifts[number] * 0.04, 36.0)

    def _route(self, line: Line, chain: list[int]) -> list[Point]:
        points = []
        for i in chain[:-1]:
            item = self.items[i]
            x = item.x + (line.leaves if i == line.source else 0.0)
            begin = item.y + item.height if i == line.source else item.y
            points += [Point(x, begin), Point(x, item.y + self.heights[item.layer])]
        last = self.items[chain[-1]]
        return [*points, Point(last.x + line.enters, last.y)]


def _inversions(pairs: list[tuple[float, float]]) -> int:
    """How many of these lines cross."""
    seen: list[float] = []
    count = 0
    for _, end in sorted(pairs):
        count += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return count


def _rising(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers nearest to these of which none is less than the one before."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, m), (b, v, n) = blocks[-2:]
            blocks[-2:] = [((a * u + b * v) / (u + v), u + v, m + n)]
    return [mean for mean, _, count in blocks for _ in range(count)]
