"""Moves a sample to another place, byte for byte.

A tensor keeps its storage, offset, strides, conjugate and negative bit and whether it requires
grad; tensors that shared a storage still share one. `Tensor.to` keeps none of these promises.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

CPU = torch.device("cpu")
COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


def move(tree: Any, device: torch.device) -> Any:
    """A copy of every tensor in tree on device; arguments that name the CPU name the device."""
    return _Move(device).tree(tree)


def map_tree(leaf: Callable[[Any], Any], tree: Any) -> Any:
    """The same containers with leaf applied to what they hold."""
    if isinstance(tree, torch.Size):
        return tree
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tree(leaf, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_tree(leaf, item) for item in tree)
    if isinstance(tree, dict):
        return {key: map_tree(leaf, item) for key, item in tree.items()}
    if isinstance(tree, SampleInput):
        return SampleInput(
            map_tree(leaf, tree.input),
            args=map_tree(leaf, tree.args),
            kwargs=map_tree(leaf, tree.kwargs),
            output_process_fn_grad=tree.output_process_fn_grad,
            broadcasts_input=tree.broadcasts_input,
            name=tree.name,
        )
    return leaf(tree)


def tensors(tree: Any, path: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of a tree with the words that lead to it."""
    if isinstance(tree, torch.Tensor):
        yield path, tree
    elif isinstance(tree, SampleInput):
        yield from tensors(tree.input, "input")
        yield from tensors(tree.args, "args")
        yield from tensors(tree.kwargs, "kwargs")
    elif isinstance(tree, (list, tuple)):
        for index, item in enumerate(tree):
            yield from tensors(item, f"{path}[{index}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from tensors(item, f"{path}[{key}]")


def parts(tensor: torch.Tensor) -> dict[str, torch.Tensor]:
    """The dense tensors that a sparse tensor consists of, by name."""
    if tensor.layout == torch.sparse_coo:
        return {"indices": tensor._indices(), "values": tensor._values()}
    names = (*COMPRESSED[tensor.layout], "values")
    return {name: getattr(tensor, name)() for name in names}


def storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage behind a tensor, as bytes on the CPU."""
    everything = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return everything.set_(tensor.untyped_storage()).to(CPU, copy=True)


class _Move:
    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.storages: dict[int, torch.UntypedStorage] = {}

    def tree(self, tree: Any) -> Any:
        with torch.no_grad():
            return map_tree(self.leaf, tree)

    def leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            # A sample may hold a tensor of a third device on purpose.
            return self.tensor(leaf) if leaf.device == CPU else leaf
        if isinstance(leaf, torch.device) and leaf == CPU:
            return self.device
        if isinstance(leaf, str) and leaf == "cpu":
            return str(self.device)
        return leaf

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        source = tensor.detach()
        moved = self.strided(source) if source.layout == torch.strided else self.sparse(source)
        return moved.requires_grad_(tensor.requires_grad)

    def strided(self, source: torch.Tensor) -> torch.Tensor:
        moved = torch.empty(0, dtype=source.dtype, device=self.device)
        moved.set_(self.storage(source), source.storage_offset(), source.size(), source.stride())
        if source.is_conj():
            torch._C._set_conj(moved, True)
        if source.is_neg():
            torch._C._set_neg(moved, True)
        return moved

    def storage(self, source: torch.Tensor) -> torch.UntypedStorage:
        storage = source.untyped_storage()
        if storage._cdata not in self.storages:
            everything = torch.empty(0, dtype=torch.uint8).set_(storage)
            copied = everything.to(self.device, copy=True)
            self.storages[storage._cdata] = copied.untyped_storage()
        return self.storages[storage._cdata]

    def sparse(self, source: torch.Tensor) -> torch.Tensor:
        moved = [self.tensor(part) for part in parts(source).values()]
        if source.layout == torch.sparse_coo:
            coalesced = source.is_coalesced()
            return torch.sparse_coo_tensor(*moved, source.size(), is_coalesced=coalesced)
        return torch.sparse_compressed_tensor(*moved, source.size(), layout=source.layout)
