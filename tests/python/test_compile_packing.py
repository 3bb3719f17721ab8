"""torch.compile with a compiler that packs weights: whatever changes them counts from the next call."""

import pytest
from session import Session
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("it chooses its plugin, so once is enough", only="sim")

PACKED = """
import ctypes
import torchplug.compile
from torchplug import _C
from torchplug.compile import _backend
_backend.programs = []
packs_made = ctypes.CDLL(os.environ["TORCHPLUG_DEVICE"]).packs_made
module = torch.get_device_module(device)

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))
        self.bias = torch.nn.Parameter(torch.randn(4))

    def forward(self, x):
        return torch.relu(x * self.weight + self.bias)

def packs(call):
    before = packs_made()
    call()
    return packs_made() - before

def expect(count):
    with torch.no_grad():
        made = packs(lambda: torch.testing.assert_close(call(x), model(x)))
    assert made == count, (made, count)

x = torch.randn(3, 4, device=device)
model = Scaled().to(device)
call = torch.compile(model, backend="torchplug")
"""


@pytest.fixture(scope="module")
def packing(tmp_path_factory):
    plugin = str(compile_test_plugin(tmp_path_factory.mktemp("packs"), "packs"))
    session = Session("packs", TORCHPLUG_DEVICE=plugin)
    yield lambda code: session("import os\n" + PACKED + code)
    session.close()


CHANGES = {
    "an optimizer's step": "model(x).sum().backward(); torch.optim.SGD(model.parameters(), 0.1).step()\nexpect(2)",
    "load_state_dict": "model.load_state_dict(Scaled().state_dict())\nexpect(2)",
    "an assignment to .data": "model.weight.data = torch.randn(4, device=device)\nexpect(1)",
    "a change in place": "with torch.no_grad(): model.weight.mul_(2)\nexpect(1)",
    "a change of a view": "with torch.no_grad(): model.weight[1:3].zero_()\nexpect(1)",
    "a swapped parameter": "model.bias = torch.nn.Parameter(torch.randn(4, device=device))\nexpect(1)",
}


@pytest.mark.parametrize("change", CHANGES)
def test_packed_weights_are_packed_anew_after(packing, change):
    packing(f"expect(2)\nexpect(0)\n{CHANGES[change]}\nexpect(0)\n")


def test_weights_of_one_engine_may_come_and_go(packing):
    packing("""
expect(2)
first, second = model, Scaled().to(device)
states = [first.state_dict(), {k: v.clone() for k, v in second.state_dict().items()}]
a, b = first.weight.data, torch.randn(4, device=device)
for data in (b, a, b):
    model.weight.data = data
    expect(1)
""")


def test_packed_weights_serve_two_streams_and_threads(packing):
    packing("""
import threading
expect(2)
wrong = []
def work(seed):
    stream = torch.Stream(device=device)
    with stream, torch.no_grad():
        for _ in range(10):
            y = torch.full((3, 4), float(seed), device=device)
            if not torch.equal(call(y), model(y)):
                wrong.append(seed)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not wrong, wrong
""")


def test_a_captured_engine_packs_the_weights_of_each_replay(packing):
    packing("""
expect(2)
graph = module.Graph()
with torch.no_grad(), module.graph(graph):
    result = call(x)
with torch.no_grad():
    for i in range(3):
        model.weight.add_(1)
        graph.replay()
        torch.testing.assert_close(result, model(x))
        expect(1)  # the engine of other calls knows nothing of it
        stream = torch.Stream(device=device)
        stream.wait_stream(torch.accelerator.current_stream())
        with stream:
            torch.testing.assert_close(call(x), model(x))
        torch.accelerator.synchronize()
""")


def test_where_a_compiler_declines_to_pack_the_operators_run_one_by_one(packing):
    packing("""
os.environ["TORCHPLUG_PACKS_DECLINES"] = "1"
expect(0)
expect(0)
group, = _backend.programs[-1].groups
assert group.engines.report()["runs_without"] == 2, group.engines.report()
del os.environ["TORCHPLUG_PACKS_DECLINES"]
expect(2)
""")
