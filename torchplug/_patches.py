"""What PyTorch leaves no hook for. Each part names the versions that need it; a test fails when one
no longer does."""

from __future__ import annotations

import atexit
import contextlib
import functools
from collections.abc import Callable
from multiprocessing import reduction
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing import reductions
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils import dlpack

from torchplug import _C, _devices, _sharing
from torchplug._when_imported import when_imported


def apply() -> None:
    """Applies every patch."""
    atexit.register(finish_backward)
    replace_dlpack()
    replace_sharing()
    replace_byteswap()
    replace_inductors_questions()
    register_optimizer_step_pre_hook(refuse_uncapturable)
    register_optimizer_step_post_hook(count_fused_writes)


def _has_autograd_threads() -> bool:
    try:
        names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    except OSError:
        return True
    return any(name.startswith("pt_autograd") for name in names)


def finish_backward() -> None:
    """Lets autograd's device threads let go of the last backward before Python ends.

    backward() returns while its device thread still holds the Python object that
    torch.autograd.graph._engine_run_backward put into the task (PyTorch 2.13; 2.11 puts none). The thread
    needs the GIL to release it; if Python has ended by then, the process aborts. The thread takes the
    next task only when it has released the last one, so one without any Python object is run.
    """
    if _C.is_forked() or not _has_autograd_threads():
        return
    with contextlib.suppress(RuntimeError):  # of a device that no longer works
        _C.finish_backward()


def _in_place_of(owner: Any, name: str) -> Callable[[Callable[..., Any]], None]:
    """Puts the decorated function in the place of `owner.name`."""

    def put(function: Callable[..., Any]) -> None:
        setattr(owner, name, functools.wraps(getattr(owner, name))(function))

    return put


# ---- DLPack, PyTorch 2.11 to 2.13 ----

EXTERNAL = dlpack.DLDeviceType.kDLExtDev
"""What DLPack calls a device that it has no name for."""


def _is_on_device(tensor: torch.Tensor) -> bool:
    return tensor.device.type == _devices.name() and not torch._C._has_torch_function_unary(tensor)


def _name_of(index: int) -> Any:
    """What DLPack calls memory of the device: the plugin may know."""
    kind = _C.dlpack_type(index)
    return dlpack.DLDeviceType(kind) if kind in list(dlpack.DLDeviceType) else kind


def _renamed(options: dict[str, Any], old: Any, new: Any) -> dict[str, Any]:
    """The options of __dlpack__ with `new` for the device `old`."""
    wish = options.get("dl_device")
    return (
        {**options, "dl_device": (new, wish[1])} if wish is not None and wish[0] == old else options
    )


class _Producer:
    """An object that has memory of the device, under the name by which PyTorch takes it.

    An object of another library is asked for it with the consumer's stream, as CUDA's are.
    """

    def __init__(self, producer: Any, kind: Any, index: int) -> None:
        self._producer = producer
        self._place = (kind, index)
        self._options: dict[str, Any] = {}
        if not isinstance(producer, torch.Tensor):
            current: Any = torch.accelerator.current_stream(
                index
            )  # PyTorch's stubs lack native_handle
            self._options["stream"] = current.native_handle

    def __dlpack_device__(self) -> Any:
        return EXTERNAL, self._place[1]

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._producer.__dlpack__(
            **self._options, **_renamed(options, EXTERNAL, self._place[0])
        )
        _C.unname_dlpack_device(capsule)
        return capsule


def replace_dlpack() -> None:
    """Teaches Tensor.__dlpack_device__, Tensor.__dlpack__ and torch.from_dlpack the device.

    The first knows the literal name privateuse1 and no other. The second ignores `stream` unless the tensor is
    CUDA's, and the third passes it for no device but CUDA, so that a consumer could see unfinished work. What
    another library made, the third also makes known to the allocator. PyTorch's C++ says kDLExtDev of every device
    from outside; where the plugin has another name for its memory, capsules that leave get it, and lose it when
    they come back.
    """
    device_of: Any = torch.Tensor.__dlpack_device__
    export: Any = torch.Tensor.__dlpack__
    import_from: Any = dlpack.from_dlpack

    @_in_place_of(torch.Tensor, "__dlpack_device__")
    def __dlpack_device__(self: torch.Tensor) -> Any:
        return (
            (_name_of(self.device.index), self.device.index)
            if _is_on_device(self)
            else device_of(self)
        )

    @_in_place_of(torch.Tensor, "__dlpack__")
    def __dlpack__(self: torch.Tensor, *, stream: Any = -1, **options: Any) -> Any:
        if not _is_on_device(self):
            return export(self, stream=stream, **options)
        if stream is None or type(stream) is int:
            if stream != -1:
                _C.let_stream_wait(self.device.index, stream or 0)
            stream = -1
        capsule = export(
            self, stream=stream, **_renamed(options, _name_of(self.device.index), EXTERNAL)
        )
        _C.name_dlpack_device(capsule)
        return capsule

    @_in_place_of(dlpack, "from_dlpack")
    def from_dlpack(ext_tensor: Any, **options: Any) -> torch.Tensor:
        if hasattr(ext_tensor, "__dlpack_device__"):
            kind, index = ext_tensor.__dlpack_device__()
            if kind != dlpack.DLDeviceType.kDLCPU and kind == _name_of(index):
                ext_tensor = _Producer(ext_tensor, kind, index)
        elif not hasattr(ext_tensor, "__dlpack__"):
            _C.unname_dlpack_device(ext_tensor)
        tensor: torch.Tensor = import_from(ext_tensor, **options)
        if tensor.device.type == _devices.name():
            _C.adopt_storage(tensor.untyped_storage())
        return tensor

    _in_place_of(torch, "from_dlpack")(dlpack.from_dlpack)


# ---- other processes, PyTorch 2.11 to 2.13 ----


def replace_sharing() -> None:
    """Puts `_sharing.reduce_storage` in place, and makes share_memory_ and is_shared say what is so.

    PyTorch has one answer for all plugins, "no" in 2.11 and "yes" in 2.13: that other processes can use tensors as
    they are. It is right if the plugin can share memory. Of other plugins' tensors a process gets copies, and
    training by several processes would silently go wrong.
    """
    reduce: Any = reductions.reduce_storage
    share: Any = torch.UntypedStorage.share_memory_
    is_shared: Any = torch.UntypedStorage.is_shared

    def is_ours(storage: Any) -> bool:
        return bool(storage.device.type == _devices.name())

    @_in_place_of(reductions, "reduce_storage")
    def reduce_storage(storage: Any) -> Any:
        return _sharing.reduce_storage(storage) if is_ours(storage) else reduce(storage)

    reduction.register(torch.UntypedStorage, reductions.reduce_storage)

    @_in_place_of(torch.UntypedStorage, "share_memory_")
    def share_memory_(self: torch.UntypedStorage) -> Any:
        if is_ours(self) and not _C.can_share(self.device.index):
            raise RuntimeError(
                f"Memory of device '{_devices.name()}' cannot be shared between processes: its plugin has "
                "no ipc_export. What is sent through a queue is copied."
            )
        return share(self)

    @_in_place_of(torch.UntypedStorage, "is_shared")
    def untyped_is_shared(self: torch.UntypedStorage) -> Any:
        return _C.can_share(self.device.index) if is_ours(self) else is_shared(self)


# ---- storages, PyTorch 2.11 to 2.13 ----


def replace_byteswap() -> None:
    """Keeps UntypedStorage.byteswap, which follows the addresses of any device, from device memory."""
    swap: Any = torch.UntypedStorage.byteswap

    @_in_place_of(torch.UntypedStorage, "byteswap")
    def byteswap(self: Any, dtype: torch.dtype) -> None:
        if self.device.type != _devices.name():
            swap(self, dtype)
            return
        on_cpu = self.cpu()
        swap(on_cpu, dtype)
        self.copy_(on_cpu)


# ---- Inductor, PyTorch 2.11 to 2.13 ----


def replace_inductors_questions() -> None:
    """Has Inductor decide as for the CPU where it generates C++ for the device.

    It asks by the CPU's name, and takes any other device for a GPU with Triton: that an argmax of a transposed tensor counts in
    its own order, that any scatter may be a kernel, that loops may be reordered by what only Triton's nodes have, and that it
    costs little to compute something again. And only where it knows the device is what a number on the CPU meets there.
    """
    when_imported("torch._inductor.ir", _replace_device_type)
    when_imported("torch._inductor.scheduler", _replace_node_is_cpu)
    when_imported("torch._inductor.lowering", _replace_scatter_fallback)
    when_imported("torch._inductor.lowering", _replace_is_gpu)
    when_imported("torch._inductor.decomposition", _replace_scatter_fallback)


def _as_cpu(device: Any) -> Any:
    return "cpu" if device == _devices.name() else device


def _replace_device_type(ir: Any) -> None:
    type_of: Any = ir.get_device_type

    @_in_place_of(ir, "get_device_type")
    def get_device_type(x: Any) -> Any:
        return _as_cpu(type_of(x))


def _replace_node_is_cpu(scheduler: Any) -> None:
    is_cpu: Any = scheduler.BaseSchedulerNode.is_cpu

    @_in_place_of(scheduler.BaseSchedulerNode, "is_cpu")
    def asked(self: Any) -> bool:
        device = self.get_device()
        return bool(is_cpu(self) or (device is not None and device.type == _devices.name()))


def _replace_is_gpu(lowering: Any) -> None:
    """Asked there for one thing: of which of its operands a result has the device."""
    is_gpu: Any = lowering.is_gpu

    @_in_place_of(lowering, "is_gpu")
    def asked(device: str | None) -> bool:
        return bool(device == _devices.name() or is_gpu(device))


def _replace_scatter_fallback(module: Any) -> None:
    decide: Any = module.use_scatter_fallback

    @_in_place_of(module, "use_scatter_fallback")
    def use_scatter_fallback(
        op: Any, reduction: Any, dtype: Any, src_dtype: Any, src_device: str, src_is_tensor: bool
    ) -> Any:
        return decide(op, reduction, dtype, src_dtype, _as_cpu(src_device), src_is_tensor)


# ---- optimizers, PyTorch 2.11 to 2.13 ----


def refuse_uncapturable(optimizer: Optimizer, *_: object) -> None:
    """Refuses to capture a step that counts on the host: every replay would be the same step.

    PyTorch's own check names the devices it is for.
    """
    if torch.compiler.is_compiling() or not (_C.is_loaded() and _C.is_current_stream_capturing()):
        return
    if not all(group.get("capturable", True) for group in optimizer.param_groups):
        raise RuntimeError(
            f"The step of {type(optimizer).__name__} cannot be captured in a graph, since it counts its steps on "
            "the host. Make the optimizer with capturable=True."
        )


def count_fused_writes(optimizer: Optimizer, *_: object) -> None:
    """Has the versions of parameters tell that a fused step has written them.

    PyTorch's fused operators do not count their writes; weights that are packed, frozen or kept on the device are known by their
    versions to have changed.
    """
    if torch.compiler.is_compiling():
        return
    for group in optimizer.param_groups:
        if group.get("fused"):
            written = [one for one in group["params"] if one.grad is not None]
            torch.autograd.graph.increment_version(written)
