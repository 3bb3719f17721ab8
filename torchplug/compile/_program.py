"""A user's graph with its groups as engines: a program that runs them, and the other nodes one by one."""

from __future__ import annotations

import cmath
import functools
import operator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from torchplug import _C
from torchplug.compile import (
    _check,
    _graph,
    _norms,
    _numbers,
    _promotion,
    _random,
    _streams,
    _views,
    _warnings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import sympy  # type: ignore[import-untyped]

    from torchplug.compile._graph import Builder, Built
    from torchplug.compile._options import Options


WRITTEN = "no engine writes this input"

without_engine: list[tuple[Group, list[int]]] | None = None
"""Calls of groups that ran node by node, and their numbers, while somebody asks: precompile()."""


@dataclass
class Group:
    """Nodes that run as one."""

    nodes: list[fx.Node]
    engines: Any
    """An EngineGroup."""
    inputs: list[fx.Node]
    outputs: list[fx.Node]
    symbols: list[sympy.Expr]
    updates: list[int]
    strides: list[list[int] | None]
    """Of outputs, as the program wants them where the engine gives others."""
    gives_up: bool = False
    """Whether its nodes run one by one where a compile has failed, instead of an error."""
    is_told: bool = False
    """Whether somebody has been warned of it."""
    eager: Callable[..., Any] | None = None
    """The same, node by node."""
    checker: _check.Checker | None = None


@dataclass
class Program:
    module: fx.GraphModule
    groups: list[Group] = field(default_factory=list)
    outside: list[tuple[fx.Node, str]] = field(default_factory=list)
    """Nodes that run one by one, and why."""
    kind: str = "forward"


def make(
    module: fx.GraphModule, device: torch.device, options: Options, weights: set[int]
) -> Program:
    if _streams.are_used(module.graph):
        nodes = [node for node in module.graph.nodes if node.op == "call_function"]
        return Program(_streams.placed(module), [], [(node, _streams.WHY) for node in nodes])
    builder = _graph.Builder(module, device, options)
    _promotion.add_conversions(
        module.graph,
        lambda node: (
            builder.listed(node) is not None
            and _is_on(node, device)
            and not _graph.refuses_operands(node)
        ),
    )
    _views.split(module.graph)
    built = builder.build(weights)
    found = _grouped(built, device, options)
    writer = _Writer(builder, built, options)
    placed = _views.place(builder, built, found["groups"])
    groups = [writer.finish_group(nodes) for nodes in placed]
    inside = {node for nodes in placed for node in nodes}
    outside = [
        (part.fx, why)
        for i, (part, why) in enumerate(zip(built.parts, found["why"], strict=True))
        if why and i not in inside
    ] + [(node, WRITTEN) for node in built.copies if not writer.is_done(node)]
    return Program(writer.write(found["steps"], groups), groups, outside)


def _grouped(built: Built, device: torch.device, options: Options) -> dict[str, Any]:
    """The groups, as the plugin wants them or as the host makes them."""
    group: Callable[..., dict[str, Any]] = built.graph.group
    parts = [(part.may_compile, part.is_view, part.why) for part in built.parts]
    try:
        return group(device.index, parts, options.min_nodes)
    except (_C.GraphError, RuntimeError) as error:
        if options.on_error != "eager":
            raise
        why = str(error).splitlines()[0].removesuffix(".")
        _warnings.warn(f"{why}. Its operators run one by one.")
        none = [(False, part.is_view, part.why or why) for part in built.parts]
        return group(device.index, none, options.min_nodes)


def _is_on(node: fx.Node, device: torch.device) -> bool:
    return _graph.is_device_tensor(node.meta.get("val"), device)


class _Numbers:
    """Numbers that only a call knows, as nodes of a new graph."""

    def __init__(self, graph: fx.Graph) -> None:
        self.graph = graph
        self.known: dict[Any, Any] = {}

    def node_of(self, expression: Any) -> Any:
        if isinstance(expression, int):
            return expression
        if expression not in self.known:
            symbols = sorted(expression.free_symbols, key=str)
            if unknown := [symbol for symbol in symbols if symbol not in self.known]:
                raise RuntimeError(
                    f"No size of an input tells what {unknown[0]} is. Export the model with sizes that do."
                )
            function = _numbers.function_of(expression, symbols)
            self.known[expression] = self.graph.call_function(
                function, tuple(self.known[symbol] for symbol in symbols)
            )
        return self.known[expression]


def _place(expression: sympy.Expr, symbols: list[sympy.Expr]) -> int:
    """Of a symbol that a list has, or has from now on; the first is -1."""
    if expression not in symbols:
        symbols.append(expression)
    return -1 - symbols.index(expression)


class _Writer:
    """Writes the program."""

    def __init__(self, builder: Builder, built: Built, options: Options) -> None:
        self.builder = builder
        self.built = built
        self.options = options
        self.done_updates: set[tuple[fx.Node, fx.Node]] = set()
        self.views: dict[Any, fx.Node] = {}
        """In a new graph, by what they are views of: each user has one of its own in the old one."""

    # ---- groups ----

    def finish_group(self, nodes: list[int]) -> Group:
        """A group of the program."""
        group = self.make_group(nodes)
        group.eager = self.one_by_one(group).forward
        for node, update in zip(group.outputs, group.updates, strict=True):
            if update >= 0:
                self.done_updates.add((group.inputs[update], node))
        if self.options.check:
            group.checker = self._checker(group, nodes)
        return group

    def make_group(self, nodes: list[int], *, as_wanted: bool = True) -> Group:
        """`as_wanted`: its results have PyTorch's strides."""
        graph, inputs, outputs, known, updates = self.built.graph.extract(nodes)
        output_nodes = [self.built.fx_of[value] for value in outputs]
        symbols = [self.built.symbols[symbol] for symbol in known]
        strides = [
            self._wanted_strides(node, symbols) if as_wanted else None for node in output_nodes
        ]
        engines = _C.EngineGroup(
            self.builder.device.index,
            graph,
            self.options.plugin_list(),
            self.options.engines,
            self.options.background,
            self.options.directory(),
            strides,
            self.options.on_error == "eager",
        )
        return Group(
            _needed([self.built.parts[node].fx for node in nodes], output_nodes),
            engines,
            [self.built.fx_of[value] for value in inputs],
            output_nodes,
            symbols,
            updates,
            strides,
            self.options.on_error == "eager",
        )

    def _checker(self, group: Group, nodes: list[int]) -> _check.Checker:
        known = {node: self.built.parts[node].fx for node in nodes}
        results = [one for node in group.nodes for one in (node, *_graph.items_of(node))]
        one_by_one = self.one_by_one(replace(group, outputs=results))
        return _check.Checker(
            self.builder.device,
            group,
            known,
            functools.partial(self.make_group, as_wanted=False),
            one_by_one,
            results,
        )

    def _wanted_strides(self, node: fx.Node, symbols: list[sympy.Expr]) -> list[int] | None:
        """As PyTorch has them, if the engine gives others and these tell the elements apart. Those that only a call knows are among
        the symbols then: the first is -1."""
        value = node.meta["val"]
        given = list(self.builder.engine_strides(value))
        if not _numbers.is_dense(value) or _numbers.are_same(list(value.stride()), given):
            return None
        wanted = [_numbers.expression_of(stride) for stride in value.stride()]
        return [stride if isinstance(stride, int) else _place(stride, symbols) for stride in wanted]

    def one_by_one(self, group: Group) -> fx.GraphModule:
        """The nodes of a group without an engine."""
        graph = fx.Graph()
        env: dict[fx.Node, Any] = {
            node: graph.placeholder(f"x{i}") for i, node in enumerate(group.inputs)
        }
        numbers = _Numbers(graph)
        for i, expression in enumerate(group.symbols):
            numbers.known[expression] = graph.placeholder(f"n{i}")
        for node in group.nodes:
            env[node] = self._copy(graph, node, env, numbers)
            self._copy_items(graph, node, env)
        graph.output(tuple(env[node] for node in group.outputs))
        return fx.GraphModule(self.builder.module, graph)

    def is_done(self, copy: fx.Node) -> bool:
        """Whether a group writes the input."""
        return self.built.updates.get(copy) in self.done_updates

    # ---- the program ----

    def write(self, steps: list[tuple[int, int]], groups: list[Group]) -> fx.GraphModule:
        graph = fx.Graph()
        env: dict[fx.Node, Any] = {}
        numbers = _Numbers(graph)
        for node in self.builder.module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                env[node] = graph.node_copy(node, lambda one: env[one])
        self._add_sizes(graph, env, env, numbers)
        for group, node in steps:
            if group >= 0 and groups[group].outputs:
                self._call_group(graph, groups[group], env, numbers)
            else:
                one = self.built.parts[node].fx
                env[one] = self._copy(graph, one, env, numbers)
                self._copy_items(graph, one, env)
                self._add_sizes(graph, [one, *_graph.items_of(one)], env, numbers)
        (output,) = (node for node in self.builder.module.graph.nodes if node.op == "output")
        for node in output.all_input_nodes:
            for view in _graph.views_of(node)[1]:
                env.pop(view, None)  # made anew: it shares memory with what it is a view of
        env |= {node: env[node.all_input_nodes[0]] for node in self.built.copies}
        results = self._map(output.args[0], graph, env, numbers)
        for node in self.built.copies:
            if not self.is_done(node):
                self._copy(graph, node, env, numbers)
        graph.output(results)
        graph.lint()
        return fx.GraphModule(self.builder.module, graph)

    def _add_sizes(
        self, graph: fx.Graph, nodes: Iterable[fx.Node], env: dict[fx.Node, Any], numbers: _Numbers
    ) -> None:
        """Every symbol that one of the nodes is, or that is a size of one, or alone in a size of one, such as 2*s0."""
        sizes = []
        for node in nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.SymInt):
                numbers.known.setdefault(_numbers.expression_of(value), env[node])
            elif isinstance(value, torch.Tensor):
                known = [
                    (place, _numbers.expression_of(size)) for place, size in enumerate(value.shape)
                ]
                sizes += [(node, place, size) for place, size in known if not isinstance(size, int)]
        for node, place, size in sizes:
            if size.is_Symbol and size not in numbers.known:
                numbers.known[size] = graph.call_function(_numbers.SIZE, (env[node], place))
        for node, place, size in sizes:
            for symbol in sorted(size.free_symbols - numbers.known.keys(), key=str):
                if line := _numbers.line_of(size, symbol):
                    scale, shift = line
                    above = graph.call_function(_numbers.SIZE, (env[node], place))
                    above = graph.call_function(operator.sub, (above, shift))
                    numbers.known[symbol] = graph.call_function(operator.floordiv, (above, scale))

    def _call_group(
        self, graph: fx.Graph, group: Group, env: dict[fx.Node, Any], numbers: _Numbers
    ) -> None:
        call = graph.call_function(
            _caller(group),
            (
                [self._find(node, graph, env, numbers) for node in group.inputs],
                [numbers.node_of(expression) for expression in group.symbols],
            ),
        )
        for place, node in enumerate(group.outputs):
            env[node] = graph.call_function(operator.getitem, (call, place))

    def _copy(
        self, graph: fx.Graph, node: fx.Node, env: dict[fx.Node, Any], numbers: _Numbers
    ) -> fx.Node:
        target: Any = node.target
        args, options = self._map((node.args, node.kwargs), graph, env, numbers)
        alike = (graph, target, str(args), str(options))
        if alike in self.views:
            return self.views[alike]
        target = _random.FUNCTIONS.get(target, target)
        made = graph.call_function(*_norms.call_of(node, target, args), options)
        made.meta = dict(node.meta)
        if _graph.is_view(node):
            self.views[alike] = made
        return made

    def _copy_items(self, graph: fx.Graph, node: fx.Node, env: dict[fx.Node, Any]) -> None:
        for user in node.users:
            if user.target is operator.getitem and user.args[0] is node:
                env[user] = graph.call_function(operator.getitem, (env[node], user.args[1]))
                self._copy_items(graph, user, env)

    def _map(self, value: Any, graph: fx.Graph, env: dict[fx.Node, Any], numbers: _Numbers) -> Any:
        def mapped(one: Any) -> Any:
            if isinstance(one, fx.Node):
                return self._find(one, graph, env, numbers)
            if isinstance(one, complex) and not cmath.isfinite(
                one
            ):  # fx writes code, and nanj is none
                return graph.call_function(complex, (one.real, one.imag))
            return one

        return fx.node.map_aggregate(value, mapped)

    def _find(
        self, node: fx.Node, graph: fx.Graph, env: dict[fx.Node, Any], numbers: _Numbers
    ) -> Any:
        """What stands for a node; a number is worked out where it is first needed."""
        if node in env:
            return env[node]
        if node.op == "get_attr":
            env[node] = graph.get_attr(str(node.target))
            return env[node]
        value = node.meta.get("val")
        if value is None and "val" in node.meta and node.target is operator.getitem:
            return None
        if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
            known = _numbers.expression_of(value)
            if known in numbers.known or _numbers.is_known_at_entry(value):
                return numbers.node_of(known)
        env[node] = self._copy(graph, node, env, numbers)
        return env[node]


def _needed(nodes: list[fx.Node], outputs: list[fx.Node]) -> list[fx.Node]:
    """Those of the nodes that the outputs depend on."""
    known = set(outputs)
    found = []
    for node in reversed(nodes):
        if not known.isdisjoint([node, *_graph.items_of(node)]):
            found.append(node)
            known.update(node.all_input_nodes)
    return found[::-1]


def _caller(group: Group) -> Callable[..., Any]:
    """What the program calls: the engine, or, where there is none, the nodes one by one."""
    run = _checked(group) if group.checker is not None else group.engines.run

    def engine(inputs: list[torch.Tensor], numbers: list[int]) -> Any:
        try:
            outputs = run(inputs, numbers)
        except RuntimeError as error:
            take_failure(group, error)
            outputs = None
        return _one_by_one(group, inputs, numbers) if outputs is None else outputs

    engine.__module__ = __name__
    engine.group = group  # type: ignore[attr-defined]  # for packages
    return engine


def take_failure(group: Group, error: RuntimeError) -> None:
    """Of a compile, if the group gives up then: with one warning. Raises others."""
    if not group.gives_up or not isinstance(error, _C.CompileError):
        raise error
    if not group.is_told:
        group.is_told = True
        _warnings.warn(f"{str(error).splitlines()[0]} Its operators run one by one.")


def _one_by_one(group: Group, inputs: list[torch.Tensor], numbers: list[int]) -> list[torch.Tensor]:
    if without_engine is not None:
        without_engine.append((group, list(numbers)))
    eager: Any = group.eager
    outputs = list(eager(*inputs, *numbers))
    written = {inputs[place].untyped_storage().data_ptr() for place in group.updates if place >= 0}
    for i, (output, place) in enumerate(zip(outputs, group.updates, strict=True)):
        if place < 0 and output.untyped_storage().data_ptr() in written:
            outputs[i] = output.clone()  # what an engine gives is no view of an input
    for i, place in enumerate(group.updates):
        if place >= 0:
            outputs[i] = inputs[place].copy_(outputs[i])
    return outputs


def _checked(group: Group) -> Callable[..., Any]:
    """The engine, compared with the nodes, which are given copies of what it writes."""
    run, checker = group.engines.run, group.checker

    def engine(inputs: list[torch.Tensor], numbers: list[int]) -> Any:
        is_written = any(place >= 0 for place in group.updates)
        before = [x.clone() for x in inputs] if is_written else inputs
        outputs = run(inputs, numbers)
        if outputs is not None and checker is not None:
            checker.compare(before, numbers, outputs)
        return outputs

    return engine
