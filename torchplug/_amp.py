"""`torch.<device>.amp`: mixed precision under the names that torch.cuda.amp has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.amp import autocast_mode, grad_scaler

from torchplug import _autocast_dtype, _devices

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """torch.autocast for this device."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype | None = None,
        cache_enabled: bool | None = None,
    ) -> None:
        _autocast_dtype.adopt_default()
        super().__init__(_devices.name(), dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """torch.amp.GradScaler for this device."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            _devices.name(), init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None
) -> Callable[..., Any]:
    """torch.amp.custom_fwd for this device."""
    decorated: Callable[..., Any] = torch.amp.custom_fwd(
        fwd, device_type=_devices.name(), cast_inputs=cast_inputs
    )
    return decorated


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """torch.amp.custom_bwd for this device."""
    decorated: Callable[..., Any] = torch.amp.custom_bwd(bwd, device_type=_devices.name())
    return decorated


def amp_definitely_not_available() -> bool:
    """Whether there is no device to compute on."""
    return not _devices.is_available()
