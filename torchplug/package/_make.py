"""Makes a package of an exported program."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException

import torchplug
from torchplug import _C
from torchplug.compile import _graph, _numbers
from torchplug.compile._options import Options
from torchplug.package import _expressions, _steps
from torchplug.package._expressions import NoSuchNumber
from torchplug.package._shapes import Sizes
from torchplug.package._steps import NotForPackages
from torchplug.package._trace import Trace, trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import fx

    from torchplug.compile._program import Group


@dataclass
class GroupSummary:
    operators: list[str]
    nodes: int
    engines: int = 0
    bytes: int = 0
    declined: list[str] = field(default_factory=list)


@dataclass
class Summary:
    """What is in a package."""

    groups: list[GroupSummary]
    eager: list[tuple[str, str]]
    """Operators that run one by one, and why."""
    weights: int
    weight_bytes: int
    saves: bool
    """Whether the plugin can save engines."""
    bytes: int = 0


def make(
    source: str,
    target: str,
    device: torch.device,
    shapes: Sequence[str] = (),
    plugin: dict[str, str] | None = None,
) -> Summary:
    """Writes the package. Raises a sentence where the model, the sizes or the file do not do."""
    _check_target(target)
    try:
        traced = trace(source, device, {"plugin": plugin or {}})
        maker = _Maker(traced, device, Options.of({"plugin": plugin or {}}))
        numbers = maker.numbers_of(shapes)
        summary = maker.write(numbers)
    except NoSuchNumber as error:
        raise NotForPackages(
            f"The model has a size that no package can work out: {error}."
        ) from error
    except DataDependentOutputException as error:
        raise NotForPackages(
            f"A size of the model depends on what {error.func} gives of a constant, which no package can work out. Work it out before "
            "the export."
        ) from error
    maker.writer.write(target)
    summary.bytes = os.path.getsize(target)
    return summary


def _check_target(target: str) -> None:
    """Before minutes are spent on engines."""
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise ValueError(f"There is no folder {folder}.")
    if os.path.isdir(target):
        raise ValueError(f"{target} is a folder. Give the name of a file.")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"The folder {folder} cannot be written to.")


class _Maker:
    def __init__(self, traced: Trace, device: torch.device, options: Options) -> None:
        self.traced = traced
        self.device = device
        self.options = options
        self.groups = [group for group in traced.program.groups if group.outputs]
        self.facts = _C.describe_compiler(device.index)
        self.writer = _C.PackageWriter(device.index, torchplug.__version__)
        self.sizes = Sizes(traced.names, traced.values)
        self.sizes.ranges = {symbol: self._range(symbol) for symbol in self.sizes.symbols}
        if missing := self.sizes.missing():
            raise NotForPackages(
                f"No size of an input tells what {missing[0]} is. Export the model with sizes that do."
            )

    # ---- numbers ----

    @property
    def environment(self) -> Any:
        """Where the trace keeps what it knows of symbols, of which there is one."""
        values: list[Any] = list(self.traced.values)
        is_number = isinstance(values[0], torch.SymInt)
        return values[0].node.shape_env if is_number else values[0].fake_mode.shape_env

    def _range(self, symbol: Any) -> tuple[int, int]:
        found = self.traced.ranges.get(symbol) or self.environment.bound_sympy(symbol)
        least = int(found.lower) if found.lower > -_numbers.MOST else -_numbers.MOST
        return least, int(found.upper) if found.upper < _numbers.MOST else _numbers.MOST

    def numbers_of(self, shapes: Sequence[str]) -> list[dict[Any, int]]:
        """What symbols are, for each set of sizes; those of the export, if there is none."""
        if shapes:
            return [self._checked(self.sizes.numbers(text), text) for text in shapes]
        if not self.sizes.symbols:
            return [{}]
        environment = self.environment
        known = getattr(environment, "backed_var_to_val", None) or environment.var_to_val
        if not all(symbol in known for symbol in self.sizes.symbols):
            return []
        return [{symbol: int(known[symbol]) for symbol in self.sizes.symbols}]

    def _checked(self, numbers: dict[Any, int], text: str) -> dict[Any, int]:
        for expression, condition in self.traced.conditions:
            if not expression.subs(numbers):
                raise ValueError(f"--shapes {text!r} does not fit: {condition} is to hold.")
        return numbers

    # ---- what is written ----

    def write(self, numbers: Sequence[dict[Any, int]]) -> Summary:
        self.writer.set_structure(self.traced.structure)
        self._write_inputs()
        summaries = [self._write_group(group) for group in self.groups]
        self._write_program()
        weight_bytes, weights = self._write_weights()
        for place, name in enumerate(self.traced.outputs):
            returned = self.traced.returned.get(place, -1) - len(self.traced.weights)
            self.writer.add_output(name, max(returned, -1))
        for place, group in enumerate(self.groups):
            self._write_engines(place, group, numbers, summaries[place])
        outside = [
            (_graph.name_of(node.target), why)
            for node, why in self.traced.program.outside
            if _graph.computes(node) and isinstance(node.target, torch._ops.OpOverload)
        ]
        return Summary(summaries, outside, weights, weight_bytes, self.facts["saves"])

    def _write_inputs(self) -> None:
        numbered = self.sizes.numbered
        for symbol, place in self.sizes.places.items():
            is_tensor = isinstance(self.traced.values[place.input], torch.Tensor)
            self.writer.add_symbol(
                str(symbol),
                *self.sizes.ranges[symbol],
                place.input,
                place.dimension if is_tensor else -1,
                place.scale,
                place.shift,
            )

        def sized(expression: Any) -> tuple[Any, str]:
            return _expressions.terms_of(expression, numbered), str(expression)

        written = self._written()
        for number, (name, value) in enumerate(
            zip(self.traced.names, self.traced.values, strict=True)
        ):
            sizes = [sized(size) for size in self.sizes.extents[number]]
            if not isinstance(value, torch.Tensor):
                self.writer.add_number(name, sizes[0])
                continue
            if value.device != self.device:
                raise NotForPackages(
                    f"The model takes {name!r} on {value.device}, not on a device."
                )
            strides = [sized(_numbers.expression_of(one))[0] for one in value.stride()]
            is_written = self._placeholders()[len(self.traced.weights) + number] in written
            self.writer.add_tensor(name, value.dtype, sizes, strides, is_written)
        for expression, text in self.traced.conditions:
            self.writer.add_condition(_expressions.terms_of(expression, numbered), text)

    def _placeholders(self) -> list[fx.Node]:
        return [n for n in self.traced.program.module.graph.nodes if n.op == "placeholder"]

    def _written(self) -> set[fx.Node]:
        """Inputs and weights that the program writes."""
        found: set[Any] = set()
        for node in self.traced.program.module.graph.nodes:
            if node.target is _graph.COPY:
                found.add(node.args[0])
            elif node.op == "call_function" and hasattr(node.target, "group"):
                group: Any = node.target.group
                found |= {node.args[0][place] for place in group.updates if place >= 0}
        return found

    def _write_group(self, group: Group) -> GroupSummary:
        strides = group.strides
        steps = _steps.of_group(group, self.device)
        self.writer.add_group(group.engines, strides, self.options.plugin_list(), steps)
        work = [node for node in group.nodes if _graph.computes(node)]
        names = [_graph.name_of(cast("Any", node.target)) for node in work]
        return GroupSummary(list(dict.fromkeys(names)), len(work))

    def _weight_nodes(self) -> list[fx.Node]:
        """That the program looks at: parameters, buffers, and constants."""
        nodes = self.traced.program.module.graph.nodes
        constants = [node for node in nodes if node.op == "get_attr" and node.users]
        given = self._placeholders()[: len(self.traced.weights)]
        return [node for node in given if node.users] + constants

    def _write_program(self) -> None:
        placeholders = self._placeholders()
        inputs = placeholders[len(self.traced.weights) :]
        places = {id(group): place for place, group in enumerate(self.groups)}
        registers = [*inputs, *self._weight_nodes()]
        writer = _steps.Writer(self.device, places, registers, len(self.sizes.symbols))
        numbered = self.sizes.numbered
        for node, extents, value in zip(
            inputs, self.sizes.extents, self.traced.values, strict=True
        ):
            terms = [_expressions.terms_of(extent, numbered) for extent in extents]
            if isinstance(value, torch.Tensor):
                writer.sizes[node] = terms
            else:
                writer.numbers[node] = terms[0]
        self.writer.set_program(writer.write(self.traced.program.module.graph))

    # ---- weights ----

    def _write_weights(self) -> tuple[int, int]:
        """Bytes, and how many weights there are."""
        written = self._written()
        storages: dict[Any, int] = {}
        total = 0
        for node, name, tensor in self._named_weights():
            traced = node.meta.get("val", tensor)
            kept = _as_traced(tensor, traced, name)
            # What shares memory and lies in it alike is one weight.
            memory = (tensor.untyped_storage()._cdata, tensor.storage_offset(), kept.dtype)
            key = (*memory, kept.shape, kept.stride())
            if key not in storages:
                storages[key] = self.writer.add_storage(_bytes_of(kept))
                total += kept.untyped_storage().nbytes()
            self.writer.add_weight(
                name,
                storages[key],
                kept.dtype,
                0,
                list(kept.shape),
                list(kept.stride()),
                node in written,
                traced.device.type == "cpu",
            )
        return total, len(storages)

    def _named_weights(self) -> list[tuple[fx.Node, str, torch.Tensor]]:
        module = self.traced.program.module
        names = dict(zip(self._placeholders(), self.traced.weights, strict=False))
        found = []
        for node in self._weight_nodes():
            name = names.get(node, str(node.target))
            tensor = (
                self.traced.tensors.get(name)
                if node.op == "placeholder"
                else operator.attrgetter(str(node.target))(module)
            )
            if not isinstance(tensor, torch.Tensor):
                raise NotForPackages(
                    f"The model has {name}, which is no tensor, so no package can hold it."
                )
            found.append((node, name, tensor))
        return found

    # ---- engines ----

    def _write_engines(
        self, place: int, group: Group, sets: Sequence[dict[Any, int]], summary: GroupSummary
    ) -> None:
        done: set[tuple[int, ...]] = set()
        for numbers in sets:
            values = self._values(group, numbers)
            key = () if self.facts["symbols"] or values is None else tuple(values)
            if values is None or key in done:
                continue
            done.add(key)
            made = self.writer.add_engine(place, group.engines, values)
            if made is None:
                continue
            count, declined = made
            summary.engines += not declined
            summary.bytes += count
            if declined and declined not in summary.declined:
                summary.declined.append(declined)

    def _values(self, group: Group, numbers: dict[Any, int]) -> list[int] | None:
        """Of the symbols of a group; None if only a call knows them, and an engine is for one set of sizes."""
        values = []
        for expression in group.symbols:
            value = expression.subs(numbers) if not isinstance(expression, int) else expression
            if not getattr(value, "is_number", True):
                if not self.facts["symbols"]:
                    return None
                value = _numbers.USUAL
            values.append(int(value))
        return values


def _as_traced(tensor: torch.Tensor, traced: torch.Tensor, name: str) -> torch.Tensor:
    """On the host, in memory of its own, with the strides that the program was traced with."""
    if (
        tensor.layout is not torch.strided
        or tensor.is_quantized
        or type(tensor.data) is not torch.Tensor
    ):
        raise NotForPackages(
            f"The weight {name} is {tensor.layout} {type(tensor).__name__}, and packages hold dense tensors alone."
        )
    made = torch.empty_strided(traced.shape, traced.stride(), dtype=tensor.dtype)
    made.copy_(tensor.detach())
    return made


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
