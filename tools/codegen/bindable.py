"""The operators of PyTorch that a kernel can be bound to, read from the yaml that torchgen ships.

What plug.h says of plug_kernel.schema, applied to native_functions.yaml: functional operators that PyTorch
does not compose of others, and other forms where there is no functional one or where they return nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import torchgen
import yaml
from torchgen.gen import parse_native_yaml
from torchgen.model import DispatchKey, NativeFunction, SchemaKind

# torchplug does these itself, in one way for every device (src/aten/shims), or they ask or change nothing that a
# device has: sizes, storages, assertions about symbols.
NOT_FOR_KERNELS = re.compile(
    r"(copy|_copy_from\w*|_lazy_clone|_local_scalar_dense|(new_)?empty\w*|_efficientzerotensor|lift|resize\w*"
    r"|_resize_output\w*|set|record_stream|_pin_memory|from_file|dense_dim|is_\w+|_has_\w+|_new_zeros_with\w+"
    r"|_fused_sdp_choice|_print|_make_dep_token|_functional_\w+|sym_\w+|_assert\w+|_linalg_check_errors"
    r"|_reshape_copy|_debug\w*)_?(\.\w+)?"
)

# Of one vendor's library, of one layout, or for PyTorch's own tests: no call of them reaches another device.
# torchplug takes convolution whole, so that PyTorch does not get to ask for the overrideable ones.
NOT_FOR_OTHER_DEVICES = re.compile(
    r"cudnn|miopen|mkldnn|mps|nnpack|cslt|fbgemm|cufft|cuda|triton|^_test_|^_mkl|^_foobar|sparse|quantize|^q_"
    r"|nested|^_coalesce|hspmm|sspaddmm|^_values|^_indices|^_spdiags|^_use_|^convolution.*_overrideable|_cpu_fallback"
    r"|^_slow_conv|^slow_conv|^_?conv_depthwise"
)

# What plug.h has no tag for.
UNKNOWN_TYPES = re.compile(r"\b(Storage|Stream|Dimname|QScheme|ConstQuantizerPtr)\b")


@dataclass(frozen=True)
class Operator:
    """One operator: its schema as text, and what is known of it."""

    name: str  # "add.Tensor"
    schema: str  # "aten::add.Tensor(Tensor self, ...) -> Tensor"
    arguments: tuple[str, ...]  # their names
    results: tuple[str, ...]  # their names, where they have any
    forms: tuple[str, ...]  # that a kernel for it serves too: "add_.Tensor", "add.out"
    is_pointwise: bool
    backward: tuple[str, ...]  # operators for gradients alone that its derivative calls


def packaged() -> Path:
    """Where the importable torchgen keeps its yaml."""
    return Path(torchgen.__file__).parent / "packaged"


def release() -> str:
    """The release of PyTorch that torchgen is a part of: "2.13"."""
    text = (Path(torchgen.__file__).parents[1] / "torch" / "version.py").read_text()
    found = re.search(r"__version__ = '(\d+\.\d+)", text)
    assert found is not None
    return found[1]


def operators() -> list[Operator]:
    """All of them, in the order of their names."""
    native = packaged() / "ATen" / "native"
    parsed = parse_native_yaml(str(native / "native_functions.yaml"), str(native / "tags.yaml"))
    functions = [f for f in parsed.native_functions if f.namespace == "aten"]
    forms = _Forms(functions)
    candidates = [f for f in functions if _is_for_devices(f) and forms.is_named(f)]
    known = {f.func.name.name.base for f in candidates}
    backward = {
        name: tuple(other for other in called if other in known)
        for name, called in _backward_operators().items()
    }
    indices = [parsed.backend_indices[key] for key in (DispatchKey.CPU, DispatchKey.CUDA)]
    bindable = [
        f for f in candidates
        if _runs_anywhere(f) or any(index.has_kernel(f) for index in indices)
    ]  # fmt: skip
    # Gradients of operators that PyTorch composes elsewhere: a device that takes the one needs the other.
    wanted = {other for f in bindable for other in backward.get(str(f.func.name), ())}
    bindable += [f for f in candidates if f not in bindable and f.func.name.name.base in wanted]
    described = [_describe(f, forms, backward.get(str(f.func.name), ())) for f in bindable]
    return sorted(described, key=lambda operator: operator.name)


def _runs_anywhere(function: NativeFunction) -> bool:
    return function.structured_delegate is not None or function.has_composite_kernel


def _is_for_devices(function: NativeFunction) -> bool:
    name = str(function.func.name)
    if NOT_FOR_KERNELS.fullmatch(name) or NOT_FOR_OTHER_DEVICES.search(name):
        return False
    if UNKNOWN_TYPES.search(str(function.func)) or {"view_copy", "inplace_view"} & function.tags:
        return False
    if any(r.annotation is not None and not r.annotation.is_write for r in function.func.returns):
        return False  # a view
    # One that has its gradient from what it is composed of would lose it; those that have another
    # implementation beside the composed one have a formula.
    return not function.has_composite_implicit_autograd_kernel or function.is_abstract


class _Forms:
    """Which operators are forms of one: functional, in place, out."""

    def __init__(self, functions: list[NativeFunction]) -> None:
        self.functions = {str(f.func.name): f for f in functions}
        self.outs: dict[str, list[str]] = {}
        self.functionals = set()
        for function in functions:
            if function.func.kind() is SchemaKind.out:
                self.outs.setdefault(_inputs(function), []).append(str(function.func.name))
            if function.func.kind() in (SchemaKind.functional, SchemaKind.mutable):
                self.functionals.add(_inputs(function))

    def is_named(self, function: NativeFunction) -> bool:
        """Whether a kernel is bound by this form's name."""
        name, kind = str(function.func.name), function.func.kind()
        if kind is SchemaKind.functional:
            in_place = self.functions.get(_with_underscore(name))
            is_made_of_it = "generated" in function.tags and in_place is not None
            return not (is_made_of_it and not in_place.func.returns)
        if kind is SchemaKind.inplace:
            return not function.func.returns or _without_underscore(name) not in self.functions
        if kind is SchemaKind.out:
            return "generated" not in function.tags and _inputs(function) not in self.functionals
        return True

    def served_with(self, function: NativeFunction) -> tuple[str, ...]:
        """The forms that a kernel for this one serves too."""
        if function.func.kind() is not SchemaKind.functional:
            return ()
        in_place = _with_underscore(str(function.func.name))
        return (*([in_place] if in_place in self.functions else []),
                *self.outs.get(_inputs(function), []))  # fmt: skip


def _inputs(function: NativeFunction) -> str:
    """The operator's name without overload, and its arguments but those of out=, with types."""
    arguments = function.func.arguments
    inputs = [f"{a.type} {a.name}" for a in arguments.flat_all if a not in arguments.out]
    name = str(function.func.name).partition(".")[0]
    return f"{name}({', '.join(inputs)})"


def _with_underscore(name: str) -> str:
    base, point, overload = name.partition(".")
    return f"{base}_{point}{overload}"


def _without_underscore(name: str) -> str:
    base, point, overload = name.partition(".")
    return f"{base.removesuffix('_')}{point}{overload}"


def _describe(function: NativeFunction, forms: _Forms, backward: tuple[str, ...]) -> Operator:
    func = function.func
    return Operator(
        name=str(func.name),
        schema=f"aten::{func}",
        arguments=tuple(argument.name for argument in func.arguments.flat_all),
        results=tuple(result.name for result in func.returns if result.name is not None),
        forms=forms.served_with(function),
        is_pointwise="pointwise" in function.tags,
        backward=backward,
    )


def _backward_operators() -> dict[str, tuple[str, ...]]:
    """{operator: what its formulas call that is for gradients alone}."""
    path = packaged() / "autograd" / "derivatives.yaml"
    entries = yaml.load(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    called = {}
    for entry in entries:
        name = entry["name"].partition("(")[0]
        formulas = " ".join(_texts({key: entry[key] for key in entry if key != "name"}))
        found = re.findall(r"(?<![\w.:])(\w+_backward\w*?)(?:_symint)?\(", formulas)
        called[name] = tuple(dict.fromkeys(found))
    return called


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return [value] if isinstance(value, str) else []
