"""torch.distributed on the device: the backend "torchplug", which lets gloo communicate in stream order.

It is there once the device is registered: `init_process_group("torchplug")`, or with a backend for CPU
tensors beside it `init_process_group("cpu:gloo,<device>:torchplug")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch.distributed as dist

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Backend

BACKEND = "torchplug"


def register(device: str) -> None:
    """Makes "torchplug" the backend of the device, where PyTorch was built with torch.distributed."""
    if dist.is_available():
        dist.Backend.register_backend(BACKEND, _make, extended_api=True, devices=[device])


def _make(settings: Any, options: Any) -> Backend:
    """The backend of one group; `options` are gloo's, if there are any."""
    if not dist.is_gloo_available():
        raise RuntimeError(
            f"The backend '{BACKEND}' communicates through gloo, which this PyTorch was built without."
        )
    from torch._C._distributed_c10d import ProcessGroupGloo

    from torchplug import _C

    _C.register_ddp_timer()
    arguments = (settings.store, settings.group_rank, settings.group_size)
    if options is None:
        return _C.ProcessGroup(ProcessGroupGloo(*arguments, timeout=settings.timeout))
    if not isinstance(options, ProcessGroupGloo._Options):  # type: ignore[attr-defined]
        raise TypeError(
            f"The backend '{BACKEND}' was given options of type {type(options).__name__}. "
            "Give it ProcessGroupGloo._Options, or none."
        )
    options._timeout = settings.timeout
    return _C.ProcessGroup(ProcessGroupGloo(*arguments, options))
