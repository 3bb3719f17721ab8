"""PyTorch's operators as the author of a kernel needs them: arguments, forms, gradients.

From the schemas of the installed PyTorch; gradients from the derivatives.yaml that comes with it.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

# How plug.h gives an argument of the type: its tag, and what to read.
READ = {
    "Tensor": ("PLUG_VALUE_TENSOR", "as.tensors[0]"),
    "Tensor[]": ("PLUG_VALUE_TENSORS", "as.tensors, count"),
    "int": ("PLUG_VALUE_INT", "as.i"),
    "int[]": ("PLUG_VALUE_INTS", "as.ints, count"),
    "float": ("PLUG_VALUE_FLOAT", "as.f"),
    "float[]": ("PLUG_VALUE_FLOATS", "as.floats, count"),
    "bool": ("PLUG_VALUE_BOOL", "as.i"),
    "bool[]": ("PLUG_VALUE_BOOLS", "as.bools, count"),
    "Scalar": ("PLUG_VALUE_BOOL, _INT, _UINT, _FLOAT or _COMPLEX", "as.i, .u, .f or .floats"),
    "str": ("PLUG_VALUE_STR", "as.str, count"),
    "ScalarType": ("PLUG_VALUE_DTYPE", "as.u"),
    "Layout": ("PLUG_VALUE_LAYOUT", "as.i"),
    "MemoryFormat": ("PLUG_VALUE_FORMAT", "as.i"),
    "Device": ("PLUG_VALUE_DEVICE", "as.i"),
    "Generator": ("PLUG_VALUE_GENERATOR", "host->rng"),
}

# torchplug does these itself, in one way for every device.
DONE_BY_TORCHPLUG = {
    "_copy_from",
    "_copy_from_and_resize",
    "_local_scalar_dense",
    "copy_",
    "empty.memory_format",
    "empty_strided",
    "resize_",
    "set_.source_Storage_storage_offset",
    "set_.source_Tensor",
}


@dataclass(frozen=True)
class Argument:
    """One argument or result, as the schema says it."""

    place: int
    name: str
    type: str
    default: str = ""
    is_out: bool = False

    @property
    def is_written(self) -> bool:
        return "!" in self.type

    @property
    def read_as(self) -> tuple[str, str]:
        """The tag that plug.h gives it, and what to read it by."""
        plain = re.sub(r"\(.*?\)", "", self.type).replace("SymInt", "int")
        inner = re.sub(r"\[\d*\]", "[]", plain.removesuffix("?")).replace("?[]", "[]")
        tag, reads = READ.get(inner, ("PLUG_VALUE_LIST", "as.values, count"))
        return (f"PLUG_NONE or {tag}" if plain.endswith("?") else tag), reads


@dataclass(frozen=True)
class Operator:
    """One operator of aten."""

    name: str  # "add.Tensor"
    schema: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]

    @property
    def base(self) -> str:
        return self.name.partition(".")[0]

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """Names and types of the arguments, but of those that are given as out=."""
        return tuple((a.name, a.type) for a in self.arguments if not a.is_out)

    @property
    def is_out(self) -> bool:
        return len(self.inputs) < len(self.arguments)

    @property
    def mask(self) -> Argument | None:
        """The argument that says which results are wanted; the others are PLUG_NONE."""
        wanted = f"bool[{len(self.results)}]"
        masks = [a for a in self.arguments if a.type == wanted and a.name.endswith("_mask")]
        return masks[0] if masks else None

    @property
    def is_view(self) -> bool:
        return any("(" in r.type and not r.is_written for r in self.results)


def _split(text: str) -> Iterator[str]:
    """What commas outside of brackets and quotes divide."""
    depth, start, quote, is_escaped = 0, 0, "", False
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote and not is_escaped else quote
            is_escaped = c == "\\" and not is_escaped
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def _item(place: int, text: str) -> Argument:
    # "Tensor(a! -> a|b)[] self": the type ends at the first blank outside of brackets.
    match = re.match(r"((?:\([^)]*\)|\[[^\]]*\]|[^\s(\[])+)\s*(\w*)(?:=(.*))?$", text, re.DOTALL)
    assert match is not None, text
    return Argument(place, match[2], match[1], match[3] or "")


def parse(schema: str) -> Operator:
    """A schema as PyTorch prints it."""
    match = re.match(r"aten::([\w.]+)\((.*)\) -> (.*)$", schema)
    assert match is not None, schema
    results = match[3][1:-1] if match[3].startswith("(") else match[3]
    items = list(_split(match[2]))
    keywords = items.index("*") if "*" in items else len(items)
    arguments = [_item(place, item) for place, item in enumerate(i for i in items if i != "*")]
    return Operator(
        match[1],
        schema,
        tuple(replace(a, is_out=a.place >= keywords and a.is_written) for a in arguments),
        tuple(_item(place, item) for place, item in enumerate(_split(results))),
    )


@functools.cache
def operators() -> dict[str, Operator]:
    """All that the dispatcher has, by name."""
    import torch

    names = {name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")}
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if full in names:
            operator = parse(str(schema))
            found[operator.name] = operator
    return found


def tags(operator: Operator) -> set[str]:
    """What PyTorch says of it: "pointwise"."""
    import torch

    _, _, overload = operator.name.partition(".")
    packet = getattr(torch.ops.aten, operator.base)
    return {tag.name for tag in getattr(packet, overload or "default").tags}


def has_kernel(operator: Operator, key: str) -> bool:
    import torch

    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{operator.name}", key))


def forms(operator: Operator) -> list[Operator]:
    """The forms that a kernel for it serves too: in place, out."""
    if any(argument.is_written for argument in operator.arguments):
        return []
    base, point, overload = operator.name.partition(".")
    in_place = operators().get(f"{base}_{point}{overload}")
    outs = [
        other
        for other in operators().values()
        if other.base == base and other.is_out and other.inputs == operator.inputs
    ]
    every = [*([in_place] if in_place else []), *outs]
    return [form for form in every if form.name not in DONE_BY_TORCHPLUG]


def functional(operator: Operator) -> Operator | None:
    """For a form that returns what it writes, the one that a kernel is bound by."""
    if not operator.results or not all(result.is_written for result in operator.results):
        return None
    if operator.is_out:
        named = [o for o in operators().values() if o.base == operator.base]
        return next((o for o in named if operator in forms(o)), None)
    base, point, overload = operator.name.partition(".")
    return operators().get(f"{base.removesuffix('_')}{point}{overload}")


def obstacle(operator: Operator) -> str | None:
    """Why no kernel can be bound to it, in one sentence; None if one can."""
    name = f"aten::{operator.name}"
    if operator.name in DONE_BY_TORCHPLUG:
        how = ", by the runtime's copy and copy_strided" if operator.name == "copy_" else ""
        return f"torchplug does {name} itself, in one way for every device{how}."
    if operator.is_view:
        return f"{name} gives a view, which needs no kernel."
    if (bound := functional(operator)) is not None:
        return f"{name} is served by a kernel for aten::{bound.name}."
    if has_kernel(operator, "CompositeImplicitAutograd") and not has_kernel(operator, "Autograd"):
        return (
            f"PyTorch composes {name} of other operators, which reach the device: torchplug run --ledger "
            "names them."
        )
    return None


@functools.cache
def _derivatives() -> dict[str, dict[str, str]]:
    """{operator: {argument: formula}}, from the installed derivatives.yaml; empty without one."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or spec.origin is None:
        return {}
    path = Path(spec.origin).parent / "packaged" / "autograd" / "derivatives.yaml"
    found: dict[str, dict[str, str]] = {}
    formulas: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if match := re.match(r"- name: ([\w.]+)\(", line):
            formulas = found.setdefault(match[1], {})
        elif match := re.match(r"\s+(\w[\w, ]*): +(\S.*)$", line):
            key = match[1]
            if key not in ("result", "dispatch", "output_differentiability", "name"):
                formulas.setdefault(key, match[2])
    return found


def gradients(operator: Operator) -> dict[str, str]:
    """{argument: the formula of its gradient}, of those that have one."""
    known = {argument.name for argument in operator.arguments}
    formulas = _derivatives().get(operator.name, {})
    return {
        key: formula
        for key, formula in formulas.items()
        if set(re.split(r", *", key)) <= known and formula != "non_differentiable"
    }


def backward_operators(operator: Operator) -> list[str]:
    """Operators of aten that the formulas call by name: "threshold_backward"."""
    text = " ".join(gradients(operator).values())
    called = re.findall(r"(?<![\w.:])(\w+?)(?:_symint)?\(", text)
    bases: dict[str, Any] = {other.base: None for other in operators().values()}
    return list(dict.fromkeys(name for name in called if name in bases))
