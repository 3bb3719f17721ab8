"""PyTorch's graph of a program (fx) as the one that compilers are given, and why a node is not for them."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import fx

from torchplug import _C
from torchplug.compile import _numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    import sympy  # type: ignore[import-untyped]

    from torchplug.compile._options import Options

FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
COPY = torch.ops.aten.copy_.default
ITEM = torch.ops.aten._local_scalar_dense.default
# A view whose schema does not say so: of what nobody else looks at.
UNSAFE_VIEW = torch.ops.aten._unsafe_view.default
# Traces of them take operands of several dtypes, kernels do not.
DIFFERENCES = {"sub", "rsub"}
PRODUCTS = {"mm", "addmm", "mv", "addmv", "linear", "_addmm_activation"}
# Dynamo's name of the model in the frame that it was called in.
LOCAL = re.compile(r"^[LG]\['[^']*'\]\.?")
# Stands for what is no tensor of the device, or has a size that is known only when the program runs.
UNKNOWN = (torch.int64, [0], [1])


@dataclass
class Part:
    """A node of the graph, and the one of fx it is."""

    fx: fx.Node
    may_compile: bool
    is_view: bool
    why: str


@dataclass
class Built:
    """A graph, and what its parts are in fx."""

    graph: Any
    parts: list[Part] = field(default_factory=list)
    value_of: dict[fx.Node, int] = field(default_factory=dict)
    fx_of: dict[int, fx.Node] = field(default_factory=dict)
    symbols: list[sympy.Expr] = field(default_factory=list)
    updates: dict[fx.Node, tuple[fx.Node, fx.Node]] = field(default_factory=dict)
    """A node copy_ -> the input and its new content."""
    copies: list[fx.Node] = field(default_factory=list)
    """All nodes copy_ into inputs: they come after all that reads these."""


class NotForCompilers(Exception):
    """Why a node cannot be given to the compiler."""


def is_device_tensor(value: Any, device: torch.device) -> bool:
    return isinstance(value, torch.Tensor) and value.device == device


class Builder:
    """Builds the graph of one fx graph for the compiler of a device."""

    def __init__(self, module: fx.GraphModule, device: torch.device, options: Options) -> None:
        self.module = module
        self.device = device
        self.options = options
        self.operators = listed_operators(device)
        self.facts = _C.describe_compiler(device.index)
        self.places: dict[sympy.Expr, int] = {}
        self.built = Built(_C.CompilerGraph())
        self._unknown: set[int] = set()  # values that are UNKNOWN
        self._many: dict[Any, list[int]] = {}  # of a node with several results: their values
        # Sizes that depend on what is computed, such as nonzero's: of inputs; used by the node that is being added; and
        # of each value those that are known as soon as the value is.
        self._given: set[sympy.Symbol] = set()
        self._used: set[sympy.Symbol] = set()
        self._known_with: dict[int, set[sympy.Symbol]] = {}

    def build(self, weights: set[int]) -> Built:
        """`weights`: the places of inputs that seldom change."""
        placeholders = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        for node in placeholders:
            self._given |= _numbers_in(node.meta.get("val"))
        for place, node in enumerate(placeholders):
            self._add_source(node, node.meta.get("val"), place in weights)
        for node in self.module.graph.nodes:
            if node.op == "get_attr":
                self._add_attribute(node, getattr(self.module, str(node.target), None))
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self._add_call(node)
        self._set_outputs()
        return self.built

    def listed(self, node: fx.Node) -> dict[str, Any] | None:
        """What the compiler has for the node's operator."""
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            return None
        name = name_of(target)
        return None if self.options.is_eager(name) else self.operators.get(name)

    # ---- values ----

    def _add_source(self, node: fx.Node, value: Any, is_weight: bool) -> None:
        if not is_device_tensor(value, self.device):
            return
        try:
            dtype, sizes, strides = self._type(value)
        except NotForCompilers:
            return  # what takes it runs by itself
        number = self.built.graph.add_input(dtype, sizes, strides, node.name, is_weight)
        self._name(node, number)

    def _add_attribute(self, node: fx.Node, value: Any) -> None:
        if self.options.freeze and is_device_tensor(value, self.device):
            self._name(node, self.built.graph.add_constant(value, node.name))
        else:
            self._add_source(node, value, True)

    def _name(self, node: fx.Node, value: int) -> None:
        self.built.value_of[node] = value
        self.built.fx_of[value] = node

    def engine_strides(self, value: torch.Tensor) -> Iterable[Any]:
        """What an engine is given, or gives: as PyTorch has it where the compiler takes it so."""
        if self.facts["strided"] and _numbers.is_dense(value):
            return value.stride()
        return torch._prims_common.make_contiguous_strides_for(value.shape)

    def is_taken_as_it_is(self, node: fx.Node) -> bool:
        """Whether an engine can be given it without a copy."""
        value = node.meta.get("val")
        return isinstance(value, torch.Tensor) and _numbers.are_same(
            list(value.stride()), list(self.engine_strides(value))
        )

    def _extents(self, values: Iterable[Any]) -> list[int]:
        return [self._extent(value) for value in values]

    def _extent(self, value: Any) -> int:
        """A number; or -1 - symbol."""
        known = _numbers.expression_of(value)
        return known if isinstance(known, int) else -1 - self.symbol(value, at_least=0)

    def symbol(self, value: torch.SymInt, at_least: int = -_numbers.MOST) -> int:
        expression = _numbers.expression_of(value)
        self._used |= _numbers.computed_in(value)
        if expression not in self.places:
            if _numbers.computed_in(value) and not self.facts["symbols"]:
                raise NotForCompilers("its size depends on what is computed")
            least, most, hint = _numbers.bounds_of(value)
            self.places[expression] = self.built.graph.add_symbol(
                max(least, at_least), most, hint, str(expression)
            )
            self.built.symbols.append(expression)
        return self.places[expression]

    # ---- nodes ----

    def _add_call(self, node: fx.Node) -> None:
        args: Any = node.args
        if node.target is operator.getitem and args[0] in self._many:
            number = self._many[args[0]][args[1]]
            if number >= 0:
                self._name(node, number)
            return
        if (
            node.target is COPY
            and args[0].op == "placeholder"
            and all(user.op == "output" for user in node.users)  # where it is its input
        ):
            self.built.copies.append(node)
            if self._is_update(*args[:2]):
                self.built.updates[node] = (args[0], args[1])
            return
        results = self._tensors_of(node)
        try:
            self._add_listed(node, results)
        except NotForCompilers as reason:
            self._add_opaque(node, results, str(reason))

    def _tensors_of(self, node: fx.Node) -> list[Any]:
        value = node.meta.get("val")
        return list(value) if isinstance(value, (tuple, list)) else [value]

    def _is_update(self, target: fx.Node, content: fx.Node) -> bool:
        """Whether the new content of an input is of its own kind."""
        if target not in self.built.value_of or content not in self.built.value_of:
            return False
        a, b = target.meta["val"], content.meta["val"]
        return (
            a.dtype == b.dtype
            and _numbers.are_same(a.shape, b.shape)
            and _numbers.are_same(a.stride(), b.stride())
        )

    def _add_listed(self, node: fx.Node, results: list[Any]) -> None:
        if not isinstance(node.target, torch._ops.OpOverload):
            raise NotForCompilers("it is not an operator")
        name = name_of(node.target)
        if self.options.is_eager(name):
            raise NotForCompilers("the option 'eager' names it")
        if not all(value is None or is_device_tensor(value, self.device) for value in results):
            raise NotForCompilers("its results are not all tensors of the device")
        bound = self.operators.get(name)
        if bound is None:
            raise NotForCompilers("the compiler does not list it")
        has_gaps = any(_numbers.has_gaps(value) for value in results if value is not None)
        if has_gaps and not is_view(node) and shows_layout(node):
            raise NotForCompilers("its results are to have gaps between their elements")
        self._used = set()
        if refuses_operands(node):
            raise NotForCompilers("it refuses operands of these dtypes")
        args = self._bound_arguments(node, bound)
        types = [None if value is None else self._type(value) for value in results]
        values = {self.built.value_of.get(one) for one in node.all_input_nodes}
        known = self._known_to(values - self._unknown)
        if not self._used <= self._given | known:
            raise NotForCompilers("its size depends on what is computed")
        numbers = self.built.graph.add_node(
            bound["schema"], bound["place"], args, types, source_of(node)
        )
        self._known_with |= dict.fromkeys(numbers, known)
        self._keep(node, numbers, True, is_view(node), "")

    def _type(self, value: torch.Tensor) -> tuple[torch.dtype, list[int], list[int]]:
        return value.dtype, self._extents(value.shape), self._extents(self.engine_strides(value))

    def _keep(self, node: fx.Node, numbers: list[int], may: bool, is_view: bool, why: str) -> None:
        self.built.parts.append(Part(node, may, is_view, why))
        if isinstance(node.meta.get("val"), (tuple, list)):
            self._many[node] = numbers
        elif numbers:
            self._name(node, numbers[0])

    def _add_opaque(self, node: fx.Node, results: list[Any], why: str) -> None:
        """One that is only to run at its time: after all that it depends on."""
        refs = sorted({self.built.value_of[one] for one in self._dependencies(node)})
        types = [self._opaque_type(value) for value in results]
        said = None if any(kind is UNKNOWN for kind in types) else self._unlisted(node, refs)
        schema, args = said or _opaque(refs, len(results))
        numbers = self.built.graph.add_node(schema, -1, args, types, source_of(node))
        known = self._known_to(refs) | _numbers_in(results)
        self._unknown |= {
            number for number, kind in zip(numbers, types, strict=True) if kind is UNKNOWN
        }
        self._known_with |= dict.fromkeys(numbers, known)
        self._keep(node, numbers, False, False, why)

    def _unlisted(self, node: fx.Node, refs: list[int]) -> tuple[str, list[Any]] | None:
        """Its schema and arguments, for a plugin that groups nodes itself; None if they do not say all that it depends on."""
        target = node.target
        if not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable:
            return None
        if any(str(one.type) != "Tensor" for one in target._schema.returns):
            return None
        kinds = [argument.type for argument in target._schema.arguments]
        try:
            args = [
                self._encode(given, kind)
                for given, kind in zip(_normalized(node), kinds, strict=True)
            ]
        except NotForCompilers:
            return None
        return (str(target._schema), args) if _refs_in(args) == set(refs) else None

    def _known_to(self, needed: Iterable[int | None]) -> set[sympy.Symbol]:
        """Sizes that are known to a node which needs these values."""
        found: set[sympy.Symbol] = set()
        return found.union(*(self._known_with[one] for one in needed if one in self._known_with))

    def _opaque_type(self, value: Any) -> tuple[torch.dtype, list[int], list[int]]:
        if not is_device_tensor(value, self.device):
            return UNKNOWN
        try:
            return self._type(value)
        except NotForCompilers:
            return UNKNOWN

    def _dependencies(self, node: fx.Node) -> set[fx.Node]:
        """Values that have to be there before it, also through numbers."""
        found: set[fx.Node] = set()
        for one in node.all_input_nodes:
            if one in self.built.value_of:
                found.add(one)
            elif one.op == "call_function":
                found |= self._dependencies(one)
        return found

    # ---- arguments ----

    def _bound_arguments(self, node: fx.Node, bound: dict[str, Any]) -> list[tuple[str, Any]]:
        schema = schema_of(node)
        given = _normalized(node)
        for place in bound["unknown"]:
            argument = schema.arguments[place]
            if given[place] != argument.default_value:
                raise NotForCompilers(f"the compiler does not know its argument {argument.name!r}")
        encoded = []
        for place, needs in zip(bound["arguments"], bound["needs_value"], strict=True):
            argument = schema.arguments[place]
            if given[place] is None and needs:
                raise NotForCompilers(f"the compiler needs its argument {argument.name!r}")
            encoded.append(self._encode(given[place], argument.type))
        return encoded

    def _encode(self, value: Any, kind: Any) -> tuple[str, Any]:
        if kind.kind() == "OptionalType":
            return ("none", None) if value is None else self._encode(value, kind.getElementType())
        if isinstance(value, fx.Node):
            return self._encode_node(value)
        if isinstance(value, torch.SymInt):
            return ("symbol", self.symbol(value))
        if isinstance(value, (list, tuple)):
            return self._encode_list(list(value), kind)
        return self._encode_plain(value, str(kind))

    def _encode_node(self, node: fx.Node) -> tuple[str, Any]:
        number = self.built.value_of.get(node)
        if number is not None and number not in self._unknown:
            return ("ref", number)
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            known = _numbers.expression_of(value)
            return ("int", known) if isinstance(known, int) else ("symbol", self.symbol(value))
        if isinstance(value, torch.Tensor) and value.device != self.device:
            raise NotForCompilers(f"its argument {node.name!r} is on {value.device}")
        raise NotForCompilers(f"its argument {node.name!r} is known only when the program runs")

    def _encode_plain(self, value: Any, kind: str) -> tuple[str, Any]:
        if value is None:
            return ("none", None)
        if isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, int):
            return ("float", float(value)) if kind == "float" else ("int", value)
        simple = {float: "float", complex: "complex", str: "str", torch.dtype: "dtype"}
        for one, name in simple.items():
            if isinstance(value, one):
                return (name, value)
        if isinstance(value, torch.memory_format):
            return ("format", FORMATS[value])
        if isinstance(value, torch.layout) and value is torch.strided:
            return ("layout", 0)
        if isinstance(value, torch.device):
            is_own = value.type == self.device.type and value.index in (None, self.device.index)
            return ("device", self.device.index if is_own else -1)
        raise NotForCompilers(f"plug.h has no form for {value!r}")

    def _encode_list(self, items: list[Any], kind: Any) -> tuple[str, Any]:
        element = kind.getElementType() if kind.kind() == "ListType" else None
        name = str(element)
        if name.startswith(("Tensor", "Optional[Tensor")):
            return ("refs", [self._ref(item) for item in items])
        coded = [self._encode(item, element) for item in items]
        kinds = {code for code, _ in coded}
        plain = {"int": "ints", "float": "floats", "bool": "bools"}
        if not coded:
            return (plain.get(name, "list"), [])
        if len(kinds) == 1 and (one := kinds.pop()) in plain:
            return (plain[one], [content for _, content in coded])
        return ("list", coded)

    def _ref(self, item: Any) -> int:
        if item is None:
            return -1
        kind, number = self._encode_node(item)
        if kind != "ref":
            raise NotForCompilers("a list of tensors has something else in it")
        return int(number)

    # ---- results ----

    def _set_outputs(self) -> None:
        (output,) = (node for node in self.module.graph.nodes if node.op == "output")
        value_of = self.built.value_of
        bases = [views_of(node)[0] for node in output.all_input_nodes]
        outputs = [(value_of[node], -1) for node in bases if node in value_of]
        for node in self.built.copies:
            target, content, *_ = cast("tuple[fx.Node, ...]", node.args)
            if node in self.built.updates and self.facts["updates"]:
                outputs.append((value_of[content], value_of[target]))
            elif content in value_of:
                outputs.append((value_of[content], -1))
        self.built.graph.set_outputs(outputs)


def listed_operators(device: torch.device) -> dict[str, Any]:
    """What the compiler has for operators, by their names. A node has no results that are lists."""
    return {
        name: bound
        for name, bound in _C.compiler_operators(device.index).items()
        if not any(str(one.type).startswith("List") for one in _operator(name)._schema.returns)
    }


def _operator(name: str) -> Any:
    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")


def name_of(op: Any) -> str:
    """ "aten::add.Tensor"."""
    return str(op.name())


def views_of(given: fx.Node) -> tuple[fx.Node, list[fx.Node]]:
    """What a node is a view of, or the node itself; and the views between, from there on."""
    node: Any = given
    views: list[fx.Node] = []
    while True:
        is_item = node.target is operator.getitem
        source = node.args[0] if is_item else node
        if not is_view(source):
            return node, views
        views[:0] = [source, node] if is_item else [node]
        node = source.args[0]


def _numbers_in(value: Any) -> set[sympy.Symbol]:
    """Sizes and numbers of a result, or several, that depend on what is computed."""
    values = value if isinstance(value, (tuple, list)) else [value]
    found: set[sympy.Symbol] = set()
    for one in values:
        for size in one.shape if isinstance(one, torch.Tensor) else [one]:
            if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                found |= _numbers.computed_in(size)
    return found


def items_of(node: fx.Node) -> list[fx.Node]:
    """What is taken out of a node with several results."""
    return [user for user in node.users if user.target is operator.getitem]


def schema_of(node: fx.Node) -> Any:
    target: Any = node.target
    return target._schema


def _normalized(node: fx.Node) -> list[Any]:
    """All arguments in the schema's order, defaults too."""
    arguments = schema_of(node).arguments
    values: list[Any] = list(node.args)
    for argument in arguments[len(values) :]:
        values.append(node.kwargs.get(argument.name, argument.default_value))
    return values


def is_view(node: fx.Node) -> bool:
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    if node.target is UNSAFE_VIEW:
        return True
    returns = node.target._schema.returns
    return any(one.alias_info is not None and not one.alias_info.is_write for one in returns)


def shows_layout(node: fx.Node) -> bool:
    """Whether somebody sees how its results lie in memory: the caller, a view by strides, or what lies likewise."""
    return any(
        user.op == "output"
        or user.target is torch.ops.aten.as_strided.default
        or (_takes_layout(user) and shows_layout(user))
        for user in node.users
    )


def _takes_layout(node: fx.Node) -> bool:
    value = node.meta.get("val")
    lies_with_gaps = isinstance(value, torch.Tensor) and _numbers.has_gaps(value)
    return lies_with_gaps or is_view(node) or node.target is operator.getitem


def computes(node: fx.Node) -> bool:
    """Whether it is work for a device, and so counts where nodes are counted: views and numbers of the host are none."""
    if node.op != "call_function" or node.target is operator.getitem or is_view(node):
        return False
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return node.target is ITEM or any(isinstance(one, torch.Tensor) for one in values)


def _opaque(refs: list[int], results: int) -> tuple[str, list[Any]]:
    """A node of which no more is said than what it waits for."""
    returns = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    return f"torchplug::opaque(Tensor[] xs) -> {returns}", [("refs", refs)]


def _refs_in(args: list[tuple[str, Any]]) -> set[int]:
    found: set[int] = set()
    for kind, content in args:
        if kind == "ref":
            found.add(content)
        elif kind == "refs":
            found |= {one for one in content if one >= 0}
        elif kind == "list":
            found |= _refs_in(content)
    return found


def refuses_operands(node: fx.Node) -> bool:
    """Whether the operator itself is to say that it takes no tensors of such dtypes."""
    target: Any = node.target
    values = [one.meta.get("val") for one in node.all_input_nodes]
    dtypes = [value.dtype for value in values if isinstance(value, torch.Tensor)]
    if target._opname in DIFFERENCES:
        return torch.bool in dtypes
    if target._opname == "lerp":
        return any(not (dtype.is_floating_point or dtype.is_complex) for dtype in dtypes)
    if target._opname == "index_select":
        return dtypes[-1] not in (torch.int32, torch.int64)
    return target._opname in PRODUCTS and len(set(dtypes)) > 1


def source_of(node: fx.Node) -> str:
    """Where the user wrote it: "model.py:31 layers.0.norm"."""
    lines = [line.strip() for line in (node.stack_trace or "").splitlines()]
    files = [line for line in lines if line.startswith("File ")]
    place = ""
    if files:
        name, line = files[-1].split('"')[1], files[-1].split("line ")[1].split(",")[0]
        place = f"{name.rpartition('/')[2]}:{line}"
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    path = LOCAL.sub("", modules[-1][0]) if modules else ""
    return f"{place} {path}".strip()
