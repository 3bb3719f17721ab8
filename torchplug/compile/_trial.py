"""A call of a model that is made to have its engines: nothing remains of it but these."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.utils import _pytree as pytree

from torchplug import _devices
from torchplug.compile import _backend, _program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


MANY = 1 << 20


def call(model: Any, inputs: Sequence[Any], named: dict[str, Any]) -> None:
    """Forward, and backward where results have a gradient."""
    _go_back(model(*inputs, **named))


def compiled_apart(model: Any, options: dict[str, Any] | None) -> Callable[..., Any]:
    """The model, compiled for itself: PyTorch keeps what it compiles with the code of a function and the backend, and both are
    new."""
    model = torch._dynamo.eval_frame.innermost_fn(getattr(model, "_orig_mod", model))

    def called(*args: Any, **named: Any) -> Any:
        return model(*args, **named)

    called.__code__ = called.__code__.replace()
    own: Any = functools.partial(_backend.backend, options=options)
    own.__name__ = "torchplug"  # for messages
    compile: Any = torch.compile
    # PyTorch 2.13; others count it among those that functions which the model calls may be compiled for.
    apart = "isolate_recompiles"
    options_of_its_own = {apart: True} if apart in inspect.signature(compile).parameters else {}
    compiled = compile(called, backend=own, **options_of_its_own)
    settings: dict[str, Any] = {"automatic_dynamic_shapes": False}
    if not options_of_its_own:
        settings |= {"recompile_limit": MANY, "accumulated_recompile_limit": MANY}

    def one_call(*args: Any, **named: Any) -> Any:
        # For the sizes that are given, whatever came before; and without an effect on what comes.
        with torch._dynamo.config.patch(settings):
            return compiled(*args, **named)

    return one_call


@contextlib.contextmanager
def without_traces(model: Any, given: Any) -> Iterator[None]:
    """Attributes and buffers of the model and its modules, tensors among its inputs and the states of generators are afterwards as
    before."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    # A lazy module becomes another with its first call, for good.
    modules = [one for one in modules if not isinstance(one, LazyModuleMixin)]
    attributes = [(module, dict(vars(module))) for module in modules]
    registered = [(table, dict(table)) for module in modules for table in _tables(module)]
    tensors = list(model.buffers()) if modules else []
    tensors += [x for x in pytree.tree_leaves(given) if isinstance(x, torch.Tensor)]
    before = [(x, x.detach().clone()) for x in tensors]
    devices = range(_devices.device_count())
    with torch.random.fork_rng(devices, device_type=_devices.name()):
        try:
            yield
        finally:
            for module, known in attributes:
                _reset(vars(module), known)
            for table, entries in registered:
                _reset(table, entries)
            for tensor, content in before:
                _restore(tensor, content)


def _tables(module: torch.nn.Module) -> list[dict[str, Any]]:
    """What of it is registered by name."""
    return [module._parameters, module._buffers, module._modules]


def _reset(table: dict[str, Any], known: dict[str, Any]) -> None:
    if list(table) != list(known) or any(table[name] is not known[name] for name in known):
        table.clear()
        table.update(known)


def _restore(tensor: torch.Tensor, content: torch.Tensor) -> None:
    if not torch.equal(tensor.detach(), content):
        with torch.inference_mode(tensor.is_inference()), torch.no_grad():
            tensor.copy_(content)


@contextlib.contextmanager
def waiting_for_engines() -> Iterator[None]:
    """At the end, for those that are made in the background."""
    before, _program.without_engine = _program.without_engine, []
    try:
        yield
        for group, numbers in _program.without_engine:
            _prepare(group, numbers)
    finally:
        _program.without_engine = before


def _prepare(group: _program.Group, numbers: list[int]) -> None:
    try:
        group.engines.prepare(numbers)
    except RuntimeError as error:
        _program.take_failure(group, error)


def _go_back(given: Any) -> None:
    leaves = pytree.tree_leaves(given)
    results = [x for x in leaves if isinstance(x, torch.Tensor) and x.requires_grad]
    if variables := _variables_behind(results):
        loss = torch.stack([x.float().sum() for x in results]).sum()
        torch.autograd.grad(loss, variables, allow_unused=True)


def _variables_behind(results: list[torch.Tensor]) -> list[torch.Tensor]:
    """Whose gradients a backward would work out."""
    found: dict[int, torch.Tensor] = {}
    known: set[Any] = set()
    ahead = [x.grad_fn for x in results]
    while ahead:
        one = ahead.pop()
        if one is None or one in known:
            continue
        known.add(one)
        ahead += [function for function, _ in one.next_functions]
        if isinstance(variable := getattr(one, "variable", None), torch.Tensor):
            found[id(variable)] = variable
    return list(found.values())
