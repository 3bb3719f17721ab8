"""torch.compile on a plugin's compiler: docs/compile.md.

    model = torch.compile(model, backend="torchplug", options={"min_nodes": 2})

`explain` tells what was compiled and what was not, `precompile` makes engines before they are needed.
"""

from __future__ import annotations

import atexit

from torchplug import _C
from torchplug.compile._backend import backend
from torchplug.compile._explain import explain, precompile
from torchplug.compile._progress import Display

__all__ = ["backend", "explain", "precompile"]

_C.set_compile_display(Display())
atexit.register(_C.end_compilations)
