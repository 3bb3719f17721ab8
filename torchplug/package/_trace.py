"""An exported program as torch.compile's backend has it: one program of engines and operators, and what its inputs are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch.utils import _pytree as pytree

from torchplug.compile import _backend
from torchplug.dump import exported
from torchplug.package._steps import NotForPackages

if TYPE_CHECKING:
    from torch import fx
    from torch.export import ExportedProgram

    from torchplug.compile._program import Program


@dataclass
class Trace:
    program: Program
    tensors: dict[str, torch.Tensor]
    """Weights by name, as they were saved."""
    weights: list[str]
    """Of the program's first inputs."""
    names: list[str]
    """Of the inputs behind them, and what they were in the trace."""
    values: list[torch.Tensor | torch.SymInt]
    returned: dict[int, int]
    """Results that are inputs: which of all inputs each is."""
    structure: str
    """Of what callers give and get, for Python."""
    outputs: list[str]
    conditions: list[tuple[Any, str]] = field(default_factory=list)
    """Expressions that hold for all inputs which the program is for, and how they read."""
    ranges: dict[Any, Any] = field(default_factory=dict)


def trace(path: str, device: torch.device, options: dict[str, Any]) -> Trace:
    """Raises a sentence for what is no exported program, and for what no package can hold."""
    saved = exported.load(path)
    tensors = {**saved.state_dict, **saved.constants}
    tensors = {name: one for name, one in tensors.items() if isinstance(one, torch.Tensor)}
    structure, outputs = _structure(saved)
    module, inputs, sources = exported.flatten(saved, device)
    conditions = _exported_conditions(saved, inputs)
    weights = [source.name for source in sources if source.is_weight]
    kept = _drop_constants(module, inputs, structure)
    names = [
        one.arg.name for one in saved.graph_signature.input_specs if one.kind.name == "USER_INPUT"
    ]
    before = len(_guards(inputs))
    _open_ranges(saved, inputs)
    program, metadata = _compile(module, [inputs[i] for i in kept], options)
    _check(program, metadata, len(weights) + len(kept))
    conditions += [(guard.expr, str(guard.expr)) for guard in _guards(inputs)[before:]]
    return Trace(
        program,
        tensors,
        weights,
        [names[i] for i in kept],
        [inputs[i] for i in kept],
        _returned(metadata),
        json.dumps(structure),
        outputs,
        conditions,
        saved.range_constraints,
    )


def _structure(saved: ExportedProgram) -> tuple[dict[str, Any], list[str]]:
    """What callers give and get, and names of results by where they are."""
    given, results = saved.call_spec.in_spec, saved.call_spec.out_spec
    try:
        structure = {
            "given": pytree.treespec_dumps(given),
            "results": pytree.treespec_dumps(results),
        }
    except (NotImplementedError, ValueError) as error:
        raise NotForPackages(
            f"What the model is given or gives cannot be written down ({str(error).splitlines()[0]}). "
            "Export it with tuples, lists and dictionaries."
        ) from error
    leaves = pytree.tree_unflatten(list(range(results.num_leaves)), results)
    paths = pytree.tree_flatten_with_path(leaves)[0]
    return structure, [_name(path, place) for place, (path, _) in enumerate(paths)]


def _name(path: Any, place: int) -> str:
    parts = [getattr(key, "key", getattr(key, "idx", getattr(key, "name", place))) for key in path]
    return ".".join(map(str, parts)) or "output"


def _drop_constants(
    module: fx.GraphModule, inputs: list[Any], structure: dict[str, Any]
) -> list[int]:
    """The places of tensors and open numbers. What else the model was given it was exported for, and does not look at."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    kept = [i for i, x in enumerate(inputs) if isinstance(x, (torch.Tensor, torch.SymInt))]
    constants = {}
    for i, node in enumerate(placeholders):
        if i in kept:
            continue
        if not isinstance(inputs[i], (bool, int, float, str, type(None))):
            raise NotForPackages(f"The model takes {node.name}, a {type(inputs[i]).__name__}.")
        constants[i] = inputs[i]
        node.replace_all_uses_with(inputs[i])
        module.graph.erase_node(node)
    module.recompile()
    structure["constants"] = constants
    return kept


def _compile(
    module: fx.GraphModule, inputs: list[Any], options: dict[str, Any]
) -> tuple[Program, Any]:
    """The program, of which nothing is compiled yet, and what PyTorch says of inputs and results."""
    from torch._functorch._aot_autograd import graph_compile
    from torch._guards import TracingContext, detect_fake_mode, tracing
    from torch.fx.experimental import _config

    context = TracingContext(detect_fake_mode(inputs))
    # It makes tensors of numbers that change from call to call, and stumbles over sizes that are expressions.
    untouched = mock.patch.object(graph_compile, "_apply_tensorify_python_scalars", lambda _: None)
    before, _backend.programs = _backend.programs, []
    try:
        # A size that may be 1 is not taken to be another because it was in the export.
        config: Any = _config
        general = config.patch(backed_size_oblivious=True)
        with torch.no_grad(), tracing(context), untouched, general:
            _backend.backend(module, inputs, options=options)
        (program,) = _backend.programs
    finally:
        _backend.programs = before
    return program, context.fw_metadata


def _check(program: Program, metadata: Any, count: int) -> None:
    placeholders = [node for node in program.module.graph.nodes if node.op == "placeholder"]
    if len(placeholders) != count or metadata.num_mutated_inp_runtime_indices or metadata.tokens:
        raise NotForPackages(
            "The model changes the sizes of what it is given, writes inputs that share memory, or has effects beside its "
            "results, which no package can hold. Export it without."
        )


def _returned(metadata: Any) -> dict[int, int]:
    return {
        place: info.base_idx
        for place, info in enumerate(metadata.output_info)
        if info.output_type.name == "is_input"
    }


# ---- what holds for the inputs ----


def _environment(inputs: list[Any]) -> Any:
    """Where the trace keeps what it knows of symbols; None if there can be none."""
    tensors = [x for x in inputs if isinstance(x, torch.Tensor)]
    mode = getattr(tensors[0], "fake_mode", None) if tensors else None
    return mode.shape_env if mode is not None else None


def _guards(inputs: list[Any]) -> list[Any]:
    environment = _environment(inputs)
    return environment.guards if environment is not None else []


def _open_ranges(saved: ExportedProgram, inputs: list[Any]) -> None:
    """PyTorch loads some symbols as if they were never 1, whatever the model was exported for."""
    environment = _environment(inputs)
    known = environment.var_to_range if environment is not None else {}
    for symbol in known.keys() & saved.range_constraints.keys():
        known[symbol] = saved.range_constraints[symbol]


class _Arguments(dict[str, Any]):
    """By name. Those of `*more` are called more_0, more_1 and so on, and all of them together `more`."""

    def __missing__(self, name: str) -> list[Any]:
        found = [self[one] for one in self if re.fullmatch(rf"{re.escape(name)}_\d+", one)]
        if not found:
            raise KeyError(name)
        return found


def _exported_conditions(saved: ExportedProgram, inputs: list[Any]) -> list[tuple[Any, str]]:
    """What torch.export found to hold, as code about L['x'].size()[0]."""
    args, named = pytree.tree_unflatten(inputs, saved.call_spec.in_spec)
    signature = saved.module_call_graph[0].signature
    names = (signature.forward_arg_names if signature is not None else None) or []
    by_name = dict(zip(names, args, strict=False)) | named
    known = _Arguments(by_name | {"args": args, "kwargs": named})
    conditions = []
    for code in getattr(saved, "_guards_code", []):
        try:
            holds = eval(code, {"L": known, "math": __import__("math"), "torch": torch})
        except Exception:  # noqa: BLE001  code about what the trace has another name for
            raise NotForPackages(
                f"The model was exported for inputs of which {code} holds, which a package cannot check."
            ) from None
        if isinstance(holds, torch.SymBool):
            conditions.append((holds.node.expr, str(holds.node.expr)))
    return conditions
