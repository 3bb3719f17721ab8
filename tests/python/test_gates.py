"""A gate holds a stream until it is opened, and never for ever: tests of order are made with it."""

import gc

import pytest
from helpers import output_of

from torchplug.testing import hold

pytestmark = pytest.mark.accelerator("streams are real or absent", only="sim")


@pytest.fixture
def stream(module):
    return module.Stream()


def test_a_gate_opens_when_nobody_has_it_any_more(stream):
    gate = hold(stream)
    assert gate.wait_until_reached() is True
    assert stream.query() is False
    del gate
    gc.collect()
    stream.synchronize()


def test_a_gate_that_nobody_opens_gives_way_and_says_so(stream):
    gate = hold(stream, limit=0.01)
    with pytest.raises(RuntimeError, match=r"was not opened.*a gate, call"):
        stream.synchronize()
    assert gate.wait_until_reached() is False


def test_a_gate_needs_a_plugin_with_host_func():
    code = """
    import torchplug.testing
    torch.ones(1, device=device)
    try:
        torchplug.testing.hold(torch.accelerator.current_stream())
    except RuntimeError as error:
        print(error)
    """
    said = output_of(code, "hello", TORCHPLUG_DEVICE="hello")
    assert "cannot be held" in said and "host_func" in said
