"""For tests of what runs before what."""

from __future__ import annotations

import torch

from torchplug import _C

__all__ = ["hold"]


def hold(stream: torch.Stream, limit: float = 60.0) -> _C.Gate:
    """Holds a stream of the device: what is given to it from now on waits until the gate is opened.

        with torchplug.testing.hold(stream) as gate:
            ...  # the stream stands still
            gate.open()

    The end of the `with`, and the gate's own end, open it too. A gate that is still shut after
    `limit` seconds gives way, and the next wait for the device raises that.
    """
    return _C.hold_stream(stream.stream_id, stream.device_index, limit)
