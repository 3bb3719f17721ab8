"""The sizes of inputs: what determines each symbol, and sets of sizes as the command line has them, "x=8x128,y=4"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from torchplug.compile import _numbers
from torchplug.package import _expressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sympy  # type: ignore[import-untyped]

    from torchplug.package._expressions import Terms

FORM = "x=8x128,y=4"


@dataclass
class Place:
    """The size that determines a symbol: scale * symbol + shift."""

    input: int
    dimension: int
    scale: int
    shift: int


@dataclass
class Sizes:
    """Of all inputs that are tensors or numbers."""

    names: list[str]
    values: list[torch.Tensor | torch.SymInt]
    """As they were traced."""
    ranges: dict[Any, tuple[int, int]] = field(default_factory=dict)
    places: dict[sympy.Symbol, Place] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for i, extents in enumerate(self.extents):
            for dimension, expression in enumerate(extents):
                for symbol in sorted(getattr(expression, "free_symbols", ()), key=str):
                    line = _numbers.line_of(expression, symbol)
                    known = self.places.get(symbol)
                    if line is not None and (known is None or line == (1, 0) != known_line(known)):
                        self.places[symbol] = Place(i, dimension, *line)

    @property
    def extents(self) -> list[list[Any]]:
        """Sizes of tensors; of a number itself."""
        return [extents_of(value) for value in self.values]

    @property
    def symbols(self) -> list[sympy.Symbol]:
        """In the order of the package's."""
        return list(self.places)

    @property
    def numbered(self) -> dict[sympy.Symbol, Terms]:
        return {symbol: _expressions.symbol(i) for i, symbol in enumerate(self.places)}

    def missing(self) -> list[sympy.Symbol]:
        """Symbols that no size determines."""
        found = {
            symbol
            for extents in self.extents
            for expression in extents
            for symbol in getattr(expression, "free_symbols", ())
        }
        return sorted(found - set(self.places), key=str)

    def numbers(self, text: str) -> dict[sympy.Symbol, int]:
        """What the symbols are for sizes as the command line has them. ValueError with a sentence for others."""
        given = parse(text)
        for name in given:
            if name not in self.names:
                raise ValueError(
                    f"--shapes names an input {name!r}, and the model has {', '.join(map(repr, self.names)) or 'none'}."
                )
        known: dict[sympy.Symbol, int] = {}
        for name, sizes in given.items():
            self._bind(name, sizes, known)
        for name, sizes in given.items():
            self._check(name, sizes, known)
        for symbol, place in self.places.items():
            if symbol not in known:
                raise ValueError(
                    f"--shapes {text!r} leaves dimension {place.dimension} of {self.names[place.input]!r} open. "
                    f"Give its sizes too."
                )
        return known

    def _bind(self, name: str, sizes: Sequence[int], known: dict[sympy.Symbol, int]) -> None:
        extents = self.extents[self.names.index(name)]
        if len(extents) != len(sizes):
            raise ValueError(
                f"--shapes gives {name!r} {len(sizes)} sizes, and it has {len(extents)} dimensions."
            )
        for expression, size in zip(extents, sizes, strict=True):
            for symbol in getattr(expression, "free_symbols", ()):
                line = _numbers.line_of(expression, symbol)
                if line is not None and (size - line[1]) % line[0] == 0:
                    known.setdefault(symbol, (size - line[1]) // line[0])

    def _check(self, name: str, sizes: Sequence[int], known: dict[sympy.Symbol, int]) -> None:
        extents = self.extents[self.names.index(name)]
        for dimension, (expression, size) in enumerate(zip(extents, sizes, strict=True)):
            where = f"--shapes gives {size} for dimension {dimension} of {name!r}"
            for symbol in getattr(expression, "free_symbols", ()):
                least, most = self.ranges[symbol]
                if symbol in known and not least <= known[symbol] <= most:
                    upper = f"to {most}" if most < _numbers.MOST else "on"
                    raise ValueError(
                        f"{where}, where {symbol} = {known[symbol]}, and the model was exported for {symbol} from {least} {upper}."
                    )
            wanted = expression if isinstance(expression, int) else expression.subs(known)
            if wanted != size:
                raise ValueError(f"{where}, and the model was exported for {expression}.")


def extents_of(value: torch.Tensor | torch.SymInt) -> list[Any]:
    sizes = value.shape if isinstance(value, torch.Tensor) else [value]
    return [_numbers.expression_of(size) for size in sizes]


def known_line(place: Place) -> tuple[int, int]:
    return place.scale, place.shift


def parse(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for part in text.split(","):
        name, equals, sizes = part.strip().partition("=")
        if not equals or not name or not re.fullmatch(r"\d{1,18}(x\d{1,18})*|", sizes):
            raise ValueError(
                f"--shapes {text!r} is not of the form {FORM!r}: see {part.strip()!r}."
            )
        if name in found:
            raise ValueError(f"--shapes {text!r} gives {name!r} twice.")
        found[name] = [int(size) for size in sizes.split("x")] if sizes else []
    return found
