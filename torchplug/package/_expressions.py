"""Numbers of a traced program as the expressions that a package keeps: operations in postfix, as src/package/expression.h has
them, over the symbols of the program."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import sympy  # type: ignore[import-untyped]

Terms = list[tuple[str, Any]]


class NoSuchNumber(Exception):
    """What cannot be worked out without Python."""


def integer(value: int) -> Terms:
    return [("int", int(value))]


def symbol(number: int) -> Terms:
    return [("symbol", number)]


def constant(value: float) -> Terms:
    return [("float", value)] if isinstance(value, float) else integer(value)


def _do(name: str, *operands: Terms) -> Terms:
    return [term for operand in operands for term in operand] + [(name, 0)]


def _all(name: str, operands: Sequence[Terms]) -> Terms:
    result = operands[0]
    for one in operands[1:]:
        result = _do(name, result, one)
    return result


def _float(terms: Terms) -> Terms:
    return _do("to_float", terms)


def _minus(a: Terms, b: Terms) -> Terms:
    return _do("add", a, _negative(b))


def _negative(a: Terms) -> Terms:
    return _do("mul", integer(-1), a)


def _quotient(a: Terms, b: Terms) -> Terms:
    return _do("div", _float(a), _float(b))


def _modular(a: Terms, divisor: Terms, modulus: Terms) -> Terms:
    return _do("mod", _do("floordiv", a, divisor), modulus)


def _swapped(name: str) -> Callable[..., Terms]:
    return lambda a, b: _do(name, b, a)


def _plain(name: str) -> Callable[..., Terms]:
    return lambda *operands: _do(name, *operands)


def _chain(name: str) -> Callable[..., Terms]:
    return lambda *operands: _all(name, operands)


def _left(a: Terms, b: Terms) -> Terms:
    return _do("mul", a, _do("pow", integer(2), b))


def _right(a: Terms, b: Terms) -> Terms:
    return _do("floordiv", a, _do("pow", integer(2), b))


SYMPY: dict[str, Callable[..., Terms]] = {
    "Add": _chain("add"),
    "And": _chain("and"),
    "Or": _chain("or"),
    "Min": _chain("min"),
    "Max": _chain("max"),
    "FloorDiv": _plain("floordiv"),
    "CleanDiv": _plain("floordiv"),
    "Mod": _plain("mod"),
    "PythonMod": _plain("mod"),
    "ModularIndexing": _modular,
    "IntTrueDiv": _quotient,
    "FloatTrueDiv": _quotient,
    "FloatPow": lambda a, b: _do("pow", _float(a), _float(b)),
    "PowByNatural": _plain("pow"),
    "ToFloat": _float,
    "CeilToInt": _plain("ceil"),
    "ceiling": _plain("ceil"),
    "FloorToInt": _plain("floor"),
    "floor": _plain("floor"),
    "TruncToInt": _plain("trunc"),
    "RoundToInt": _plain("round"),
    "OpaqueUnaryFn_sqrt": _plain("sqrt"),
    "Abs": lambda a: _do("max", a, _negative(a)),
    "Not": _plain("not"),
    "Equality": _plain("eq"),
    "Unequality": _plain("ne"),
    "StrictLessThan": _plain("lt"),
    "LessThan": _plain("le"),
    "StrictGreaterThan": _swapped("lt"),
    "GreaterThan": _swapped("le"),
    "Where": _plain("select"),
    "LShift": _left,
    "RShift": _right,
    "Identity": lambda a: a,
}

PYTHON: dict[Any, Callable[..., Terms]] = {
    operator.add: _plain("add"),
    operator.sub: _minus,
    operator.mul: _plain("mul"),
    operator.truediv: _quotient,
    operator.floordiv: _plain("floordiv"),
    operator.mod: _plain("mod"),
    operator.pow: _plain("pow"),
    operator.neg: _negative,
    operator.lshift: _left,
    operator.rshift: _right,
    operator.eq: _plain("eq"),
    operator.ne: _plain("ne"),
    operator.lt: _plain("lt"),
    operator.le: _plain("le"),
    operator.gt: _swapped("lt"),
    operator.ge: _swapped("le"),
    operator.and_: _plain("and"),
    operator.or_: _plain("or"),
    math.floor: _plain("floor"),
    math.ceil: _plain("ceil"),
    math.trunc: _plain("trunc"),
    round: _plain("round"),
    torch.sym_float: _float,
    torch.sym_int: _plain("trunc"),
    torch.sym_max: _plain("max"),
    torch.sym_min: _plain("min"),
    torch.sym_not: _plain("not"),
    torch.sym_ite: _plain("select"),
    getattr(torch, "_sym_sqrt"): _plain("sqrt"),  # noqa: B009  which has no type
}
"""What a trace calls with numbers."""


def terms_of(expression: Any, known: Mapping[sympy.Symbol, Terms]) -> Terms:
    """Of an int, or an expression over symbols that are `known`. NoSuchNumber if a package cannot work it out."""
    if isinstance(expression, (int, float)):
        return constant(expression)
    if expression.is_Symbol:
        if expression not in known:
            raise NoSuchNumber(f"{expression} is no size of an input")
        return known[expression]
    if expression.is_Boolean and not expression.args:
        return integer(bool(expression))
    if expression.is_Integer:
        return integer(expression)
    if expression.is_Rational:
        return _do("div", integer(expression.p), integer(expression.q))
    if expression.is_number and expression.is_Float:
        return constant(float(expression))
    if expression.is_Mul:
        return _product(expression, known)
    if expression.is_Pow:
        return _power(expression, known)
    name = type(expression).__name__
    if name not in SYMPY:
        raise NoSuchNumber(f"{expression} has {name}, which packages do not know")
    return SYMPY[name](*(terms_of(arg, known) for arg in expression.args))


def _product(expression: Any, known: Mapping[sympy.Symbol, Terms]) -> Terms:
    """Divided at last, so that s0*s1/2 is exact."""
    above, below = [], []
    for factor in expression.args:
        if factor.is_Rational and not factor.is_Integer:
            above.append(integer(factor.p))
            below.append(integer(factor.q))
        elif factor.is_Pow and factor.exp == -1:
            below.append(terms_of(factor.base, known))
        else:
            above.append(terms_of(factor, known))
    product = _all("mul", above or [integer(1)])
    return _do("div", product, _all("mul", below)) if below else product


def _power(expression: Any, known: Mapping[sympy.Symbol, Terms]) -> Terms:
    base = terms_of(expression.base, known)
    if expression.exp == -1:
        return _do("div", integer(1), base)
    return _do("pow", base, terms_of(expression.exp, known))
