"""How many bytes an operator has to move: each tensor that it is given once, each that it writes once more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverload

GATHERS = {"aten::embedding": "weight", "aten::index_select": "self", "aten::gather": "self"}
"""Operators that read of an argument as much as they return."""
OVERWRITES = {"aten::copy_", "aten::fill_", "aten::zero_"}
"""Operators that do not read what they write, as none does of an `out`."""
CACHE = "cache"
"""An argument of this name is read or written where `slots` say, or for the first `lengths` tokens of sequences."""


def tensors_in(value: object) -> Iterator[Tensor]:
    """Also those in lists."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def bytes_in(tensor: Tensor) -> int:
    """Of its elements, those that lie at one address counted once; 0 for tensors without memory of their own."""
    import torch

    if tensor.layout != torch.strided:
        return 0
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= int(size) if stride != 0 or size == 0 else 1
    return count * tensor.element_size()


def bytes_of_call(
    operator: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: object
) -> int:
    """What a call moves between memory and the processor, if all of it is in no cache."""
    schema = operator._schema
    given = {
        argument.name: kwargs.get(argument.name) if place >= len(args) else args[place]
        for place, argument in enumerate(schema.arguments)
    }
    written = {
        argument.name
        for argument in schema.arguments
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    unread = {
        argument.name
        for argument in schema.arguments
        if argument.name in written and (argument.kwarg_only or schema.name in OVERWRITES)
    }
    results = list(tensors_in(result))
    inputs = {_place_of(tensor) for value in given.values() for tensor in tensors_in(value)}
    storages = {place[0] for place in inputs}
    new = [tensor for tensor in results if _place_of(tensor)[0] not in storages]
    if results and not new and not written:
        return 0  # a view
    moved = sum(map(bytes_in, new))
    partly = _partly_read(schema.name, given, moved)
    moved += sum(partly.values())
    seen = set()
    for name, value in given.items():
        for tensor in tensors_in(value) if name not in partly else ():
            if name not in unread and _place_of(tensor) not in seen:
                seen.add(_place_of(tensor))
                moved += bytes_in(tensor)
            moved += bytes_in(tensor) if name in written else 0
    return moved


def _place_of(tensor: Tensor) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    import torch

    if tensor.layout != torch.strided:
        return (id(tensor), 0, (), ())
    storage = tensor.untyped_storage()._cdata
    return storage, int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride()


def _partly_read(operator: str, given: dict[str, Any], returned: int) -> dict[str, int]:
    """The bytes moved of arguments of which a call touches a part."""
    if operator in GATHERS:
        return {GATHERS[operator]: returned}
    cache = given.get(CACHE)
    if cache is None or cache.dim() != 4:
        return {}
    pages, _, tokens, _ = cache.shape
    of_token = bytes_in(cache) // max(pages * tokens, 1)
    if given.get("slots") is not None:
        return {CACHE: int((given["slots"] >= 0).sum()) * of_token}
    if given.get("lengths") is not None:
        lengths = given["lengths"]
        # A token at a time reads the window alone.
        one_each = given.get("q_starts") is None and given.get("window")
        return {
            CACHE: int((lengths.clamp(max=given["window"]) if one_each else lengths).sum())
            * of_token
        }
    return {}
