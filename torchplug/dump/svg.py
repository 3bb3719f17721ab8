"""The picture of a graph as SVG: one file without anything from elsewhere, for light and for dark backgrounds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from xml.sax.saxutils import escape

from torchplug.dump import scene
from torchplug.dump.layout import Box
from torchplug.dump.scene import SMALL, Frame, Route, Scene, Shape, width_of
from torchplug.dump.sheet import Sheet

MARGIN = 28.0
TITLE, LINE = 17.0, 19.0

# Kind: fill, stroke; on a light background, then on a dark one. All of it by rules without variables, which not
# all programs that show SVG know.
COLOURS = {
    "page": (("#ffffff", "none"), ("#0d1117", "none")),
    "frame": (("#e9f1fe", "#a9c7f5"), ("#0f2038", "#2b5693")),
    "engine": (("#ffffff", "#3b7ddd"), ("#12294a", "#5b9bf3")),
    "eager": (("#fff3e0", "#dd8f1f"), ("#33240c", "#d0923a")),
    "view": (("#f6f8fa", "#b3bcc5"), ("#161b22", "#59626c")),
    "input": (("#eceff3", "#8f99a4"), ("#20262e", "#6f7985")),
    "output": (("#eceff3", "#8f99a4"), ("#20262e", "#6f7985")),
    "badge": (("#dd8f1f", "none"), ("#d0923a", "none")),
}
TEXTS = {
    "text": ("#1c2126", "#e6edf3"),
    ".detail, .note": ("#59636e", "#9aa4af"),
    ".name": ("#2a63b8", "#7fb2fb"),
    ".number": ("#ffffff", "#0d1117"),
}
LINES = ("#8a949e", "#7b8692")
MEANINGS = {"engine": "in an engine", "eager": "runs by itself", "view": "a view: nothing to run"}


def draw(sheet: Sheet) -> str:
    drawn, head = scene.build(sheet), _Head(sheet)
    inner = max(drawn.width, head.width)
    width, height = inner + 2 * MARGIN, drawn.height + head.height + 2 * MARGIN
    left = MARGIN + (inner - drawn.width) / 2
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(head.title)}</title>",
            f"<style>{_style()}</style>",
            '<rect class="page" width="100%" height="100%"/>',
            f'<g transform="translate({MARGIN:g} {MARGIN:g})">',
            *head.draw(),
            "</g>",
            f'<g transform="translate({left:.1f} {MARGIN + head.height:.1f})">',
            *_body(drawn),
            "</g>",
            "</svg>",
            "",
        ]
    )


class _Head:
    """What stands above: the title, what the colours mean, and the reasons that have numbers."""

    def __init__(self, sheet: Sheet) -> None:
        self.title = f"{sheet.title} on {sheet.device}: {sheet.summary}"
        self.reasons = [f"{why} ({count})" for why, count in sheet.reasons()]
        self.kinds = {node.kind for node in sheet.nodes}
        self.height = TITLE + LINE * (len(self.reasons) + 2)
        self.width = max(
            width_of(self.title, TITLE),
            *(width_of(reason, SMALL) + 26 for reason in self.reasons),
            520.0,
        )

    def draw(self) -> Iterator[str]:
        yield f'<text class="title" y="{TITLE - 3:g}">{escape(self.title)}</text>'
        x, y = 0.0, TITLE + LINE
        for kind, meaning in MEANINGS.items():
            if kind not in self.kinds:
                continue
            yield f'<rect class="{kind}" x="{x + 0.5:g}" y="{y - 10:g}" width="18" height="12" rx="3"/>'
            yield f'<text class="note" x="{x + 26:g}" y="{y:g}">{meaning}</text>'
            x += 26 + width_of(meaning, SMALL) + 26
        for number, reason in enumerate(self.reasons, 1):
            y += LINE
            yield from _badge(9.5, y - 3.5, str(number))
            yield f'<text class="note" x="26" y="{y:g}">{escape(reason)}</text>'


# ---- the graph ----


def _body(drawn: Scene) -> Iterator[str]:
    for frame in drawn.frames:
        yield from _frame(frame)
    for route in drawn.routes:
        yield from _route(route)
    for frame in drawn.frames:
        x, y = frame.box.x + 10, frame.box.y + 15
        yield f'<text class="name" x="{x:.1f}" y="{y:.1f}">{escape(frame.label)}</text>'
    for shape in drawn.shapes:
        yield from _shape(shape)


def _frame(frame: Frame) -> Iterator[str]:
    yield f'<rect class="frame" {_at(frame.box)} rx="10"/>'


def _at(box: Box) -> str:
    return f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'


def _shape(shape: Shape) -> Iterator[str]:
    box = shape.box
    round_by = box.height / 2 if shape.kind in ("input", "output") else 6
    x = box.x + 11
    yield f"<g><title>{escape(shape.about)}</title>"
    yield f'<rect class="{shape.kind}" {_at(box)} rx="{round_by:g}"/>'
    yield f'<text x="{x:.1f}" y="{box.y + 16:.1f}">{escape(shape.label)}</text>'
    if shape.detail:
        yield f'<text class="detail" x="{x:.1f}" y="{box.y + 30:.1f}">{escape(shape.detail)}</text>'
    if shape.badge:
        yield from _badge(box.x + box.width - 15, box.y + 12.5, shape.badge)
    yield "</g>"


def _badge(x: float, y: float, number: str) -> Iterator[str]:
    yield f'<circle class="badge" cx="{x:.1f}" cy="{y:.1f}" r="7.5"/>'
    yield f'<text class="number" x="{x:.1f}" y="{y + 3.2:.1f}">{number}</text>'


def _route(route: Route) -> Iterator[str]:
    points = route.points
    path = [f"M{points[0].x:.1f} {points[0].y:.1f}"]
    for number, (a, b) in enumerate(pairwise(points)):
        if number % 2 == 0:
            path.append(f"V{b.y:.1f}")
        else:
            middle = (a.y + b.y) / 2
            path.append(f"C{a.x:.1f} {middle:.1f} {b.x:.1f} {middle:.1f} {b.x:.1f} {b.y:.1f}")
    yield f'<path class="line" d="{"".join(path)}"/>'
    if route.ends:
        x, y = points[-1]
        yield f'<path class="tip" d="M{x - 3.2:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}L{x + 3.2:.1f} {y - 6:.1f}Z"/>'


# ---- the style ----


def _style() -> str:
    light, dark = ("\n".join(_colours(which)) for which in (0, 1))
    return f"\n{FONTS}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def _colours(which: int) -> Iterator[str]:
    for kind, pair in COLOURS.items():
        fill, stroke = pair[which]
        yield f".{kind} {{fill: {fill}; stroke: {stroke}}}"
    for selector, colours in TEXTS.items():
        yield f"{selector} {{fill: {colours[which]}}}"
    yield f".name {{stroke: {COLOURS['frame'][which][0]}}}"
    yield f".line {{stroke: {LINES[which]}}}.tip {{fill: {LINES[which]}}}"


FONTS = (
    "text {font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace}"
    f".detail, .note, .name {{font-size: {SMALL}px}}"
    f".title {{font-size: {TITLE}px; font-weight: 600}}.name {{font-weight: 600; stroke-width: 5; paint-order: stroke}}"
    ".number {font-size: 9.5px; font-weight: 700; text-anchor: middle}"
    ".line {fill: none; stroke-width: 1.2}.frame {stroke-width: 1.2}"
    ".view {stroke-dasharray: 3 3}"
)
