"""An exported program, traced as torch.compile would: the graph that the device's compiler is given, and its groups."""

from __future__ import annotations

import contextlib
import logging
import operator
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from torchplug.compile import _backend, _graph
from torchplug.dump.sheet import VIEW, Group, Node, Output, Sheet, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch.export import ExportedProgram

    from torchplug.compile._program import Program


HOW_TO_WRITE = "Write one with torch.export.save(torch.export.export(model, inputs), path)."


def load(path: str) -> ExportedProgram:
    """Raises ValueError with a sentence for a file that is none."""
    with _listening() as heard:
        try:
            with Path(path).open("rb") as file:  # by its path, it would have to end in .pt2
                return torch.export.load(file)
        except Exception as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise  # of the file itself, and not of its content
            reason = heard[-1] if heard else error
            raise ValueError(
                f"{path} is not an exported program{why_not(path, reason)}. {HOW_TO_WRITE}"
            ) from error


@contextlib.contextmanager
def _listening() -> Iterator[list[BaseException]]:
    """PyTorch logs why it refuses a file, and raises that it has logged it. Nothing is printed meanwhile."""
    heard: list[BaseException] = []

    def take(record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1]:
            heard.append(record.exc_info[1])
        return False

    known = [logging.root, *logging.root.manager.loggerDict.values()]
    loggers = [one for one in known if isinstance(one, logging.Logger)]
    handlers = {handler for one in loggers for handler in one.handlers}
    if logging.lastResort is not None:
        handlers.add(logging.lastResort)
    for handler in handlers:
        handler.addFilter(take)
    try:
        yield heard
    finally:
        for handler in handlers:
            handler.removeFilter(take)


def why_not(path: str, error: BaseException) -> str:
    """What the archive is instead, or PyTorch's words."""
    try:
        with zipfile.ZipFile(path) as archive:  # names are "model/data.pkl" and so on
            names = {name.partition("/")[2] for name in archive.namelist()}
    except zipfile.BadZipFile:
        return ": it is a zip archive that is damaged or cut off"
    if "constants.pkl" in names and any(name.startswith("code/") for name in names):
        return ": it is a TorchScript program"
    if "data.pkl" in names:
        return ": it was written by torch.save"
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return f" ({said})"


def read(path: str, device: torch.device) -> Sheet:
    """The program at `path` on a device that has a compiler."""
    module, inputs, sources = flatten(load(path), device)
    (program,) = compile_without_engines(module, inputs)
    return _Writer(program, sources, device).write()


def flatten(
    program: ExportedProgram, device: torch.device
) -> tuple[fx.GraphModule, list[Any], list[Source]]:
    """On the device: a module that takes its arguments one by one, fake tensors for them, and what these are called,
    behind the names of the weights."""
    from torch.export.passes import move_to_device_pass

    module = move_to_device_pass(program, str(device)).module(check_guards=False)
    module.graph.set_codegen(fx.graph.CodeGen())
    module.recompile()
    _keep_constants_as_buffers(module)
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    weights = [
        *dict(module.named_parameters(remove_duplicate=False)),
        *dict(module.named_buffers(remove_duplicate=False)),
    ]
    sources = [Source(name, "", is_weight=True) for name in weights]
    sources += [Source(node.name, "") for node in placeholders]
    return module, [node.meta["val"] for node in placeholders], sources


def _keep_constants_as_buffers(module: fx.GraphModule) -> None:
    """So that PyTorch makes them inputs of what it traces, as weights are: an attribute stays outside of its fake tensors."""
    for node in module.graph.find_nodes(op="get_attr"):
        path, _, name = str(node.target).rpartition(".")
        owner = module.get_submodule(path)
        value = getattr(owner, name, None)
        if isinstance(value, torch.Tensor) and name in vars(owner):
            delattr(owner, name)
            owner.register_buffer(name, value)


def compile_without_engines(module: fx.GraphModule, inputs: list[Any]) -> list[Program]:
    """Programs whose engines nobody has asked for."""
    from torch._guards import TracingContext, detect_fake_mode, tracing

    before, _backend.programs = _backend.programs, []
    mode = detect_fake_mode(inputs)
    _keep_symbols_alone(mode.shape_env if mode is not None else None)
    try:
        with torch.no_grad(), tracing(TracingContext(mode)):
            _backend.backend(module, inputs, options={"cache": False})
        return _backend.programs
    finally:
        _backend.programs = before


def _keep_symbols_alone(shapes: Any) -> None:
    """Of a program that is loaded, PyTorch notes values of expressions such as s0 + 1 as if they were symbols, which its passes
    refuse."""
    known = {} if shapes is None else vars(shapes)
    values = known.get(
        "backed_var_to_val", known.get("var_to_val", {})
    )  # since PyTorch 2.13; before
    for one in [one for one in values if not one.is_Symbol]:
        del values[one]


class _Writer:
    """Writes down the graph of a program, node by node."""

    def __init__(self, program: Program, sources: list[Source], device: torch.device) -> None:
        self.program = program
        self.group_of = {n: i for i, group in enumerate(program.groups) for n in group.nodes}
        self.why = dict(program.outside)
        known = next(iter([*self.group_of, *self.why]), None)
        self.nodes = list(known.graph.nodes) if known is not None else []
        self.sources = self._sources(sources)
        self.sheet = Sheet("", str(device))

    def _sources(self, given: list[Source]) -> dict[fx.Node, Source]:
        """By the nodes that they are; those of a trace that has left some out have its names."""
        nodes = [node for node in self.nodes if node.op in ("placeholder", "get_attr")]
        if len(nodes) != len(given):
            given = [Source(node.name, "") for node in nodes]
        return dict(zip(nodes, given, strict=True))

    def write(self) -> Sheet:
        for node in self.nodes:
            if node in self.sources and (types := types_of(node)):
                self.sources[node].type = types[0]
                self.sheet.sources.append(self.sources[node])
            elif node.op == "call_function":
                self._add_call(node)
            elif node.op == "output":
                self._add_outputs(node)
        for group in self.program.groups:
            text = str(group.engines.graph)
            self.sheet.groups.append(Group([node.name for node in group.nodes], text))
        return self.sheet

    def _add_call(self, node: fx.Node) -> None:
        is_update = node.target is _graph.COPY and all(one.op == "output" for one in node.users)
        if is_update:
            target, content = (self._tensors([arg]) for arg in node.args[:2])
            self.sheet.outputs += [Output(name, target[0]) for name in content if target]
        if is_update and node not in self.why:
            return
        if isinstance(node.target, torch._ops.OpOverload) and types_of(node):
            why = "" if node in self.group_of else self.why.get(node, VIEW)
            self.sheet.nodes.append(
                Node(
                    node.name,
                    _graph.name_of(node.target),
                    types_of(node),
                    self._tensors(node.all_input_nodes),
                    self.group_of.get(node),
                    why,
                    _graph.source_of(node),
                    _graph.computes(node),
                )
            )

    def _add_outputs(self, node: fx.Node) -> None:
        self.sheet.outputs += [Output(name) for name in self._tensors(node.all_input_nodes)]

    def _tensors(self, nodes: Iterable[Any]) -> list[str]:
        """Names of what the nodes are, or are parts of; numbers aside."""
        found = []
        for node in nodes:
            one = node
            while one.target is operator.getitem:
                one = one.args[0]
            if types_of(one):
                found.append(self.sources[one].name if one in self.sources else one.name)
        return list(dict.fromkeys(found))


def types_of(node: fx.Node) -> list[str]:
    """Of its results that are tensors."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [type_text(one) for one in values if isinstance(one, torch.Tensor)]


def type_text(tensor: torch.Tensor) -> str:
    """ "f32[s0, 64]", as the text form of a graph has it."""
    return f"{dtype_text(tensor.dtype)}[{', '.join(map(str, tensor.shape))}]"


def dtype_text(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    for whole, short in SHORT.items():
        if name.startswith(whole):
            return short + name.removeprefix(whole)
    return name


SHORT = {"bfloat": "bf", "float": "f", "complex": "c", "uint": "u", "int": "i"}
