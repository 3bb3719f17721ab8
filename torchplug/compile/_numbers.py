"""Integers that only a call knows: the expressions that sizes and arguments are, and functions that work them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import sympy  # type: ignore[import-untyped]

SIZE = torch.ops.aten.sym_size.int
MOST = 2**62
USUAL = 64
"""A size that nobody knows before it is computed."""


def expression_of(value: int | torch.SymInt) -> int | sympy.Expr:
    """A number, or the expression that a trace has for it."""
    if isinstance(value, int):
        return value
    expression = value.node.expr
    return int(expression) if expression.is_number else expression


def computed_in(value: int | torch.SymInt) -> set[sympy.Symbol]:
    """What it follows from besides the sizes of the call that was traced: numbers that depend on what is computed."""
    if isinstance(value, int):
        return set()
    env = value.node.shape_env
    return {symbol for symbol in value.node.expr.free_symbols if env.is_unbacked_symint(symbol)}


def is_known_at_entry(value: int | torch.SymInt) -> bool:
    """Whether it follows from the sizes of inputs, and not from what is computed."""
    return not computed_in(value)


def is_dense(value: torch.Tensor) -> bool:
    """Whether its elements are known to lie without gaps, and each by itself."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    known = [
        (size, stride)
        for size, stride in zip(value.shape, value.stride(), strict=True)
        if not statically_known_true(size == 1)
    ]
    expected: Any = 1
    while known:
        # By their places: to compare sizes would be a guard on them.
        places = [
            i for i, (_, stride) in enumerate(known) if statically_known_true(stride == expected)
        ]
        if not places:
            return False
        expected = expected * known.pop(places[0])[0]
    return True


def has_gaps(value: torch.Tensor) -> bool:
    """Whether elements do not lie as those of an engine's result do: without gaps, in any order of dimensions."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return not is_dense(value) and not statically_known_true(value.numel() == 0)


def are_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether numbers are known to be equal, with no guard for it."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return len(a) == len(b) and all(
        statically_known_true(x == y) for x, y in zip(a, b, strict=True)
    )


def is_at_least(a: int | torch.SymInt, b: int | torch.SymInt) -> bool:
    """Whether it is known, with no guard for it."""
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return statically_known_true(a >= b)


def line_of(expression: Any, symbol: sympy.Symbol) -> tuple[int, int] | None:
    """(a, b) of a*symbol + b; None if it is none."""
    import sympy

    if expression.free_symbols != {symbol}:
        return None
    scale, shift = expression.coeff(symbol, 1), expression.subs(symbol, 0)
    is_line = sympy.expand(expression - scale * symbol - shift) == 0
    if is_line and scale.is_Integer and scale > 0 and shift.is_Integer:
        return int(scale), int(shift)
    return None


def bounds_of(value: torch.SymInt) -> tuple[int, int, int]:
    """The least and the most it can be, and what it is in the call that was traced, as far as that is known."""
    bounds = value.node.shape_env.bound_sympy(value.node.expr)
    least = int(bounds.lower) if bounds.lower > -MOST else -MOST
    most = int(bounds.upper) if bounds.upper < MOST else MOST
    hint = int(value.node.hint) if value.node.has_hint() else min(max(least, USUAL), most)
    return least, most, hint


def function_of(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> Callable[..., int]:
    """The expression as a function of its symbols, in their order."""
    from torch.utils._sympy.printers import PythonPrinter

    names = [f"s{i}" for i in range(len(symbols))]
    import sympy

    renamed = expression.xreplace(
        {
            symbol: sympy.Symbol(name, integer=True)
            for symbol, name in zip(symbols, names, strict=True)
        }
    )
    text = f"lambda {', '.join(names)}: {PythonPrinter().doprint(renamed)}"
    function: Callable[..., int] = eval(text, {"math": __import__("math"), "torch": torch})
    function.__name__ = "size"
    function.__module__ = __name__
    function.expression, function.symbols = expression, list(symbols)  # type: ignore[attr-defined]  # for packages
    return function
