"""A program of torch.compile's backend, or the operators of one of its groups, as the steps that a package keeps."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import fx

from torchplug import _C
from torchplug.compile import _graph, _numbers
from torchplug.package import _expressions
from torchplug.package._expressions import PYTHON, NoSuchNumber, Terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torchplug.compile._program import Group

Coded = tuple[str, Any]


class NotForPackages(ValueError):
    """What a package cannot hold."""


class Writer:
    """Writes the steps of one graph. Its values are registers or numbers."""

    def __init__(
        self,
        device: torch.device,
        groups: Mapping[int, int],
        registers: Sequence[fx.Node],
        symbols: int,
    ) -> None:
        """`groups`: the place of each in the package, by its id. `registers`: what is there when it begins."""
        self.device = device
        self.groups = groups
        self.program = _C.PackageProgram(len(registers), symbols)
        self.symbols = symbols
        self.registers: dict[fx.Node, int | list[int]] = {n: i for i, n in enumerate(registers)}
        """Of a node with several results a list of them."""
        self.numbers: dict[fx.Node, Terms] = {}
        self.constants: dict[fx.Node, complex] = {}
        self.sizes: dict[fx.Node, list[Terms]] = {}
        """Of inputs, whose sizes are known when it begins."""

    def write(self, graph: fx.Graph) -> Any:
        for node in graph.nodes:
            if node.op == "call_function":
                self._add(node)
            elif node.op == "output":
                results = cast("Sequence[Any]", node.args[0])
                self.program.set_results([self._coded(one, None) for one in results])
        return self.program

    # ---- nodes ----

    def _add(self, node: fx.Node) -> None:
        target: Any = node.target
        if target is _numbers.SIZE:
            self._add_size(node)
        elif isinstance(target, torch._ops.OpOverload):
            self._add_call(node)
        elif target is operator.getitem:
            self._add_item(node)
        elif hasattr(target, "group"):
            self._add_engine(node, target.group)
        elif hasattr(target, "expression"):
            known = dict(zip(target.symbols, map(self._number, node.args), strict=True))
            self.numbers[node] = _expressions.terms_of(target.expression, known)
        elif target in PYTHON:
            self.numbers[node] = PYTHON[target](*map(self._number, node.args))
        elif target is complex:
            self.constants[node] = complex(*cast("tuple[float, float]", node.args))
        else:
            raise NotForPackages(
                f"The model calls {getattr(target, '__name__', target)} ({_graph.source_of(node) or node.name}), which "
                "needs Python, so no package can hold it. Export the model without it."
            )

    def _add_engine(self, node: fx.Node, group: Group) -> None:
        inputs, numbers = cast("tuple[list[fx.Node], list[Any]]", node.args)
        args = [("ref", self._register(one)) for one in inputs]
        args += [("symbol", self.program.expression(self._number(one))) for one in numbers]
        place = self.groups[id(group)]
        self.registers[node] = self.program.engine(place, args, len(group.outputs))

    def _add_item(self, node: fx.Node) -> None:
        source, place = cast("tuple[fx.Node, int]", node.args)
        of = self.registers[source]
        if isinstance(of, list):
            self.registers[node] = of[place]
        else:
            self.registers[node] = self.program.item([("ref", of)], place)

    def _add_size(self, node: fx.Node) -> None:
        tensor, place = cast("tuple[fx.Node, int]", node.args)
        if tensor in self.sizes:
            self.numbers[node] = self.sizes[tensor][place]
            return
        dimensions = tensor.meta["val"].dim() if "val" in tensor.meta else 0
        self.program.size([("ref", self._register(tensor))], place % max(dimensions, 1))
        self._name_symbol(node)

    def _name_symbol(self, node: fx.Node) -> None:
        self.numbers[node] = _expressions.symbol(self.symbols)
        self.symbols += 1

    def _add_call(self, node: fx.Node) -> None:
        target: Any = node.target
        schema = target._schema
        given = dict(zip((one.name for one in schema.arguments), node.args, strict=False))
        given |= node.kwargs
        kinds = {one.name: one.type for one in schema.arguments}
        found = self.program.call(
            _graph.name_of(target),
            list(given),
            [self._coded(value, kinds[name]) for name, value in given.items()],
            len(schema.returns),
            _graph.source_of(node),
        )
        if len(found) == 1:
            self.registers[node] = found[0]
        else:
            self.registers[node] = found
        if len(schema.returns) == 1 and str(schema.returns[0].type) in (
            "number",
            "int",
            "float",
            "bool",
        ):
            self.program.value([("ref", found[0])])
            self._name_symbol(node)

    # ---- values ----

    def _register(self, node: fx.Node) -> int:
        register = self.registers.get(node)
        if not isinstance(register, int):
            raise NotForPackages(f"The model uses {node.name} in a way that no package can hold.")
        return register

    def _number(self, value: Any) -> Terms:
        if isinstance(value, fx.Node):
            if value not in self.numbers:
                raise NoSuchNumber(f"{value.name} is no number")
            return self.numbers[value]
        return _expressions.constant(value)

    def _coded(self, value: Any, kind: Any) -> Coded:
        """As _C takes it, for an argument of that type; None: a result of the program."""
        if isinstance(value, fx.Node):
            return self._coded_node(value)
        if kind is not None and kind.kind() == "OptionalType":
            return ("none", None) if value is None else self._coded(value, kind.getElementType())
        if kind is not None and kind.kind() == "ListType":
            items = list(value) if isinstance(value, (list, tuple)) else [value]
            return self._coded_list(items, kind.getElementType())
        return self._coded_plain(value, str(kind))

    def _coded_node(self, node: fx.Node) -> Coded:
        if node in self.numbers:
            return ("symbol", self.program.expression(self.numbers[node]))
        if node in self.constants:
            return ("complex", self.constants[node])
        return ("ref", self._register(node))

    def _coded_list(self, items: list[Any], element: Any) -> Coded:
        name = str(element)
        if name.startswith(("Tensor", "Optional[Tensor")):
            return ("refs", [-1 if item is None else self._register(item) for item in items])
        coded = [self._coded(item, element) for item in items]
        kinds = {code for code, _ in coded}
        plain = {"int": "ints", "float": "floats", "bool": "bools"}
        if len(kinds) == 1 and (one := kinds.pop()) in plain and plain[one] == plain.get(name):
            return (plain[one], [content for _, content in coded])
        return ("list", coded)

    def _coded_plain(self, value: Any, kind: str) -> Coded:
        if value is None:
            return ("none", None)
        if isinstance(value, bool) and kind in ("int", "SymInt", "float"):
            value = int(value)
        simple = {bool: "bool", int: "int", float: "float", complex: "complex", str: "str"}
        for one, name in simple.items():
            if isinstance(value, one):
                return (name, value)
        if isinstance(value, torch.dtype):
            return ("dtype", value)
        if isinstance(value, torch.memory_format):
            return ("format", _graph.FORMATS[value])
        if value is torch.strided:
            return ("layout", 0)
        if isinstance(value, torch.device) and value.type in (self.device.type, "cpu"):
            return ("device", -1 if value.type == "cpu" else 0)
        raise NotForPackages(f"The model uses {value!r}, which no package can hold.")


def of_group(group: Group, device: torch.device) -> Any:
    """The operators of a group one by one; its symbols are those of its graph."""
    eager: Any = group.eager
    graph: fx.Graph = eager.__self__.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    inputs = placeholders[: len(group.inputs)]
    writer = Writer(device, {}, inputs, len(group.symbols))
    for place, node in enumerate(placeholders[len(inputs) :]):
        writer.numbers[node] = _expressions.symbol(place)
    return writer.write(graph)
