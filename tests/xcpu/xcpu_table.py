"""Writes the reference in docs/xcpu.md: the schemas that PyTorch has, and the dtypes that calls are found to take.

.venv/bin/python tests/xcpu/xcpu_table.py
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from xcpu_samples import SAMPLES, Sample, Weight

PAGE = Path(__file__).resolve().parents[2] / "docs" / "xcpu.md"
BEGIN = "<!-- reference: begin. From tests/xcpu/xcpu_table.py. -->\n"
END = "<!-- reference: end -->\n"

KINDS = ["fp32", "bf16", "int8", "int4"]
DTYPES = [
    "float32",
    "bfloat16",
    "float16",
    "float64",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
]


def is_taken(sample: Sample, values: dict) -> bool:
    try:
        sample.operator(**values)
    except RuntimeError:
        return False
    return True


def tried(sample: Sample, name: str) -> list[str]:
    """The dtypes, or of a packed weight the kinds, with which the argument is taken, the others as they are."""
    argument, values = sample.arguments[name], sample.values()
    if isinstance(argument, Weight):
        ways = {kind: lambda kind=kind: argument.packed(kind) for kind in KINDS}
    else:
        ways = {dtype: lambda dtype=dtype: argument.to(getattr(torch, dtype)) for dtype in DTYPES}
    return [way for way, make in ways.items() if is_taken(sample, {**values, name: make()})]


def dtypes_of(samples: list[Sample]) -> dict[str, list[str]]:
    """By argument, in the order of the schema, what some sample takes."""
    found: dict[str, set[str]] = {}
    for sample in samples:
        for name, value in sample.arguments.items():
            if isinstance(value, (torch.Tensor, Weight)):
                found.setdefault(name, set()).update(tried(sample, name))
    order = [argument.name for argument in samples[0].operator._schema.arguments]
    return {
        name: [way for way in (KINDS if found[name] <= {*KINDS} else DTYPES) if way in found[name]]
        for name in sorted(found, key=order.index)
    }


def rows_of(samples: list[Sample]) -> list[str]:
    """A row for arguments that take the same, the first of them with the operator's name."""
    together: dict[str, list[str]] = {}
    for name, dtypes in dtypes_of(samples).items():
        together.setdefault(", ".join(dtypes), []).append(f"`{name}`")
    return [f"| {', '.join(names)} | {dtypes} |" for dtypes, names in together.items()]


def reference() -> str:
    samples: dict[str, list[Sample]] = {}
    for sample in SAMPLES:
        samples.setdefault(f"{sample.name}.{sample.overload}", []).append(sample)
    text = ""
    for name, those in samples.items():
        schema = re.sub(
            r"\d\.\d{9,}e-\d+",
            lambda number: repr(float(number[0])),
            str(those[0].operator._schema),
        )
        text += f"\n### {name.removesuffix('.default')}\n\n    {schema}\n"
        rows = rows_of(those)
        if rows:
            text += "\n| arguments | dtypes |\n|---|---|\n" + "\n".join(rows) + "\n"
    return text + "\n"


def with_reference(page: str) -> str:
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + reference() + END + after


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text()))
