"""What is in the picture of a graph, and where: nodes, inputs and outputs, a frame around each engine, lines between them.

Each engine is laid out by itself; then its frame stands among the other nodes as one of them. Lines into a frame
and out of it go through ports: places on its upper and on its lower side. Weights, and views of them, are not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from torchplug.dump.layout import Box, Gaps, Line, Point, arrange
from torchplug.dump.sheet import Node, Sheet, counted, general

ADVANCE = 0.602
"""Of a character of a font in which all have one width, in parts of the font's size."""
LARGE, SMALL = 12.5, 10.5
PADDING, HEADER = 16.0, 24.0
INSIDE = Gaps(beside=18.0, below=20.0, lines=14.0)
AROUND = Gaps(beside=30.0, below=30.0, lines=16.0)
LONGEST = 44
"""Characters of a label."""


@dataclass
class Shape:
    """Something with a label."""

    kind: str
    """engine, eager, view, input or output."""
    label: str
    detail: str
    about: str
    """All there is to know."""
    badge: str = ""
    """The number of the reason why it is in no engine."""
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.label, self.detail = _shortened(self.label), _shortened(self.detail)
        label = width_of(self.label, LARGE) + (22 if self.badge else 0)
        self.box = Box(max(label, width_of(self.detail, SMALL)) + 22, 38 if self.detail else 24)


@dataclass
class Frame:
    """Around the nodes of an engine."""

    label: str
    members: list[str]
    entries: list[str]
    """What its nodes read that is not theirs."""
    exits: list[str]
    """Its nodes that others read."""
    box: Box = field(default_factory=lambda: Box(0, 0))
    enters: dict[str, float] = field(default_factory=dict)
    """How far from its left side the port of an entry is; leaves: of an exit."""
    leaves: dict[str, float] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    """Within it, from its upper left corner."""


class Route(NamedTuple):
    points: list[Point]
    ends: bool
    """It does not go on behind a port."""


class Edge(NamedTuple):
    source: str
    target: str


@dataclass
class Scene:
    shapes: list[Shape]
    frames: list[Frame]
    routes: list[Route]
    width: float
    height: float


def build(sheet: Sheet) -> Scene:
    return _Builder(sheet).build()


def width_of(text: str, size: float) -> float:
    return len(text) * ADVANCE * size


class _Builder:
    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.weights = self._weights()
        self.nodes = [node for node in sheet.nodes if node.name not in self.weights]
        self.numbers = {why: str(i) for i, (why, _) in enumerate(sheet.reasons(), 1)}
        self.home = {node.name: node.group for node in self.nodes}
        self.edges = list(self._edges())
        self.shapes = dict(self._shapes())
        self.frames = [self._frame(number) for number in range(len(sheet.groups))]

    def build(self) -> Scene:
        for frame in self.frames:
            self._fill(frame)
        outside = {
            name: shape for name, shape in self.shapes.items() if self.home.get(name) is None
        }
        places = {name: i for i, name in enumerate(outside)}
        boxes = [shape.box for shape in outside.values()] + [frame.box for frame in self.frames]
        lines = list(dict.fromkeys(self._line(edge, places) for edge in self._edges_around()))
        layout = arrange(boxes, lines, AROUND)
        ends = [line.target < len(outside) for line in lines]
        routes = [Route(*pair) for pair in zip(layout.routes, ends, strict=True)]
        for frame in self.frames:
            routes += self._settle(frame)
        return Scene(list(self.shapes.values()), self.frames, routes, layout.width, layout.height)

    # ---- what there is ----

    def _weights(self) -> set[str]:
        """Weights, and views of them that are in no engine."""
        found = {source.name for source in self.sheet.sources if source.is_weight}
        for node in self.sheet.nodes:
            if node.kind == "view" and node.inputs and found.issuperset(node.inputs):
                found.add(node.name)
        return found

    def _edges(self) -> list[Edge]:
        drawn = {source.name for source in self.sheet.sources} - self.weights | set(self.home)
        pairs = [(name, node.name) for node in self.nodes for name in node.inputs]
        pairs += [(output.node, f"output {i}") for i, output in enumerate(self.sheet.outputs)]
        return [Edge(source, target) for source, target in pairs if source in drawn]

    def _shapes(self) -> dict[str, Shape]:
        read = {edge.source for edge in self.edges}
        found = {
            source.name: Shape("input", source.name, source.type, f"input {source.name}")
            for source in self.sheet.sources
            if source.name in read
        }
        found |= {node.name: self._shape(node) for node in self.nodes}
        for i, output in enumerate(self.sheet.outputs):
            label = f"updates {output.updates}" if output.updates else "output"
            found[f"output {i}"] = Shape("output", label, "", label)
        return found

    def _shape(self, node: Node) -> Shape:
        used = [name for name in node.inputs if name in self.weights]
        about = [
            f"{node.operator} -> {', '.join(node.types)}",
            node.place,
            f"weights: {', '.join(used)}" if used else "",
            f"engine {node.group}" if node.group is not None else f"in no engine: {node.why}",
        ]
        label = node.operator.removeprefix("aten::").removesuffix(".default")
        badge = self.numbers[general(node.why)] if node.kind == "eager" else ""
        return Shape(node.kind, label, node.result, "\n".join(filter(None, about)), badge)

    def _frame(self, number: int) -> Frame:
        members = [name for name, group in self.home.items() if group == number]
        into = [e.source for e in self.edges if self.home.get(e.target) == number]
        out_of = [
            e.source
            for e in self.edges
            if self.home.get(e.source) == number != self.home.get(e.target)
        ]
        entries = [name for name in into if self.home.get(name) != number]
        label = f"engine {number}: {counted(len(members), 'node')}"
        return Frame(label, members, list(dict.fromkeys(entries)), list(dict.fromkeys(out_of)))

    # ---- an engine ----

    def _fill(self, frame: Frame) -> None:
        """Lays out its nodes, from its upper left corner."""
        above = {name: Box(0, 0, end=-1) for name in frame.entries}
        below = {name: Box(0, 0, end=1) for name in frame.exits}
        inside = {name: self.shapes[name].box for name in frame.members}
        boxes = [*above.values(), *inside.values(), *below.values()]
        start = {name: i for i, name in enumerate([*above, *inside])}
        end = {name: len(start) + i for i, name in enumerate(below)}
        edges = [e for e in self.edges if e.target in inside]
        lines = [_straight(boxes, start[e.source], start[e.target]) for e in edges]
        lines += [_straight(boxes, start[name], end[name]) for name in below]
        lines = list(dict.fromkeys(lines))
        layout = arrange(boxes, lines, INSIDE)
        for box in boxes:
            box.x, box.y = box.x + PADDING, box.y + HEADER
        frame.enters = {name: box.x for name, box in above.items()}
        frame.leaves = {name: box.x for name, box in below.items()}
        frame.box.width = max(layout.width, width_of(frame.label, SMALL)) + 2 * PADDING
        frame.box.height = HEADER + layout.height + (0 if below else PADDING)
        for line, points in zip(lines, layout.routes, strict=True):
            moved = [Point(p.x + PADDING, p.y + HEADER) for p in points]
            if line.source < len(above):
                moved[0] = Point(moved[0].x, 0.0)
            frame.routes.append(Route(moved, line.target < len(start)))

    def _settle(self, frame: Frame) -> list[Route]:
        """Moves all that is in a frame to where it stands."""
        for name in frame.members:
            box = self.shapes[name].box
            box.x, box.y = box.x + frame.box.x, box.y + frame.box.y
        return [
            Route([Point(p.x + frame.box.x, p.y + frame.box.y) for p in points], ends)
            for points, ends in frame.routes
        ]

    # ---- around them ----

    def _edges_around(self) -> list[Edge]:
        return [
            e
            for e in self.edges
            if self.home.get(e.source) is None or self.home.get(e.source) != self.home.get(e.target)
        ]

    def _line(self, edge: Edge, places: dict[str, int]) -> Line:
        out_of, into = self.home.get(edge.source), self.home.get(edge.target)
        source = places[edge.source] if out_of is None else len(places) + out_of
        target = places[edge.target] if into is None else len(places) + into
        leaves = (
            self.shapes[edge.source].box.width / 2
            if out_of is None
            else self.frames[out_of].leaves[edge.source]
        )
        enters = (
            self.shapes[edge.target].box.width / 2
            if into is None
            else self.frames[into].enters[edge.source]
        )
        return Line(source, target, leaves, enters)


def _straight(boxes: list[Box], source: int, target: int) -> Line:
    return Line(source, target, boxes[source].width / 2, boxes[target].width / 2)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
