"""Running statistics of batch norm: its backward in training does not look at them, so no forward keeps them for it.

What a forward both keeps and writes in place an engine would have to give twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import fx

BACKWARD = torch.ops.aten.native_batch_norm_backward.default
MEAN, VARIANCE, TRAINS = 3, 4, 7


def partition(joint: fx.GraphModule, *args: Any, **options: Any) -> Any:
    """AOTAutograd's forward and backward graphs of a joint one."""
    from torch._functorch.partitioners import default_partition

    for node in joint.graph.find_nodes(op="call_function", target=BACKWARD):
        if node.args[TRAINS] is True:
            node.update_arg(MEAN, None)
            node.update_arg(VARIANCE, None)
    return default_partition(joint, *args, **options)
