"""Operators whose results do not depend on data are enqueued: a call returns while the stream stands still.

All operators that PyTorch describes, with the first of its sample inputs.
"""

import re
import threading

import pytest
import torch
from helpers import map_tensors
from torch.testing._internal.common_methods_invocations import op_db

from torchplug.testing import hold

pytestmark = [
    pytest.mark.accelerator("streams run beside the caller", only="sim"),
    pytest.mark.filterwarnings("ignore"),  # of operators that PyTorch will drop
]


# What the host has to see before the call can return. CUDA waits for these too, where it has them.
NEEDS_DATA = {
    "a copy for the host": ["to"],
    "a number for Python": ["allclose", "equal", "item"],
    "a number that decides how to go on": [
        "corrcoef",
        "cov",
        "nn.functional.gaussian_nll_loss",
    ],
    "a size of the result": [
        "argwhere",
        "combinations",
        "masked_select",
        "nonzero",
        "to_sparse",
        "unique",
        "unique_consecutive",
    ],
    "a number that comes as a tensor": [
        "linspace.tensor_overload",
        "logspace.tensor_overload",
        "nn.functional.ctc_loss",
    ],
    "whether a matrix is singular": [
        "linalg.cholesky",
        "linalg.inv",
        "linalg.ldl_factor",
        "linalg.lstsq",
        "linalg.lstsq.grad_oriented",
        "linalg.lu_factor",
        "linalg.solve",
        "linalg.tensorinv",
        "linalg.tensorsolve",
    ],
    "what sparse tensors hold": ["sparse.mm.reduce", "sparse.sampled_addmm"],
}
# What could be enqueued and is not.
NOT_YET = {
    "its kernel asks, when it runs, for the deterministic mode that was set when it was called": [
        "nn.functional.max_unpool1d",
        "nn.functional.max_unpool1d.grad",
        "nn.functional.max_unpool2d",
        "nn.functional.max_unpool2d.grad",
        "nn.functional.max_unpool3d",
        "nn.functional.max_unpool3d.grad",
        "put",
    ],
    "its results are in a list": ["histogramdd"],
}
WAITING = {name for group in (NEEDS_DATA, NOT_YET) for names in group.values() for name in names}


def name_of(op):
    return ".".join(filter(None, [op.name, op.variant_test_name]))


def call_on(device, op):
    """The operator with its first sample on the device, to be called again and again."""
    # Not op.sample_inputs: it looks for a test through the stack.
    sample = next(iter(op.sample_inputs_func(op, "cpu", torch.float32, requires_grad=False)))
    sample.kwargs.pop("device", None)
    arguments = map_tensors(lambda t: t.to(device), (sample.input, *sample.args))
    keywords = map_tensors(lambda t: t.to(device), sample.kwargs)

    def call():
        with torch.device(device):
            op.op(*arguments, **keywords)

    return call


def returns_while_held(call, limit):
    """Whether a call ends though the stream stands still; one that waits never does."""
    thread = threading.Thread(target=call)
    with hold(torch.accelerator.current_stream()):
        thread.start()
        thread.join(limit)
        ended = not thread.is_alive()
    thread.join()
    return ended


def learnt(device, op):
    """A call whose plan is known."""
    call = call_on(device, op)
    call()
    call()
    torch.accelerator.synchronize()
    return call


OPERATORS = {name_of(op): op for op in op_db if torch.float32 in op.dtypes}
# Compiled by CUDA's compiler; takes its indices from the host.
ELSEWHERE = re.compile("jiterator|tensor_split")
ENQUEUED = [name for name in OPERATORS if name not in WAITING and not ELSEWHERE.match(name)]


def test_no_operator_waits_that_need_not(device):
    waited = []
    for name in ENQUEUED:
        # The limit is for one that fails: it would wait for ever.
        if not returns_while_held(learnt(device, OPERATORS[name]), limit=20):
            waited.append(name)
        assert len(waited) < 5, waited
    assert not waited


@pytest.mark.parametrize("name", sorted(WAITING))
def test_an_operator_that_is_said_to_wait_does(device, name):
    assert not returns_while_held(learnt(device, OPERATORS[name]), limit=0.1)
