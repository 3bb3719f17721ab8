"""TORCHPLUG_VISIBLE_DEVICES says which devices there are, and in which order."""

import pytest
from helpers import output_of, run_python

pytestmark = pytest.mark.accelerator("several devices that can be told apart", only="sim")


def with_visible(code, visible, **environment):
    """What code prints where the plugin has three devices, and these are visible."""
    environment |= {"TORCHPLUG_SIM_DEVICES": "3", "TORCHPLUG_SIM_MEMORY": "64M"}
    if visible is not None:
        environment["TORCHPLUG_VISIBLE_DEVICES"] = visible
    return output_of(code, "sim", **environment)


IDENTITIES = """
print([torch.sim.get_device_properties(i).bus_id for i in range(torch.accelerator.device_count())])
"""


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, ["sim:0", "sim:1", "sim:2"]),
        ("2,0", ["sim:2", "sim:0"]),
        ("1", ["sim:1"]),
        ("2,1,0", ["sim:2", "sim:1", "sim:0"]),
        ("", []),
    ],
)
def test_devices_are_those_named_in_the_order_named(visible, expected):
    assert with_visible(IDENTITIES, visible) == str(expected)


def test_without_a_visible_device_there_is_none():
    code = """
print(torch.sim.is_available(), torch.sim.device_count(), torch.accelerator.is_available())
torch.sim.manual_seed(1), torch.sim.seed(), torch.sim.seed_all(), torch.sim.manual_seed_all(1)
print(torch.sim.get_rng_state_all(), torch.sim.default_generators)
try:
    torch.ones(1, device="sim")
except RuntimeError as error:
    print(error)
"""
    output = with_visible(code, "")
    assert output.startswith("False 0 False\n[] ()\n")
    assert "no device sim:0" in output


@pytest.mark.parametrize(
    ("visible", "words"),
    [("3", "from 0 to 2"), ("0,x", "'x'"), ("-1", "'-1'"), ("1,1", "twice"), ("0,,1", "''")],
)
def test_a_wrong_value_is_one_sentence_at_first_use(visible, words):
    code = """
print(torch.sim.is_available())
try:
    torch.ones(1, device="sim")
except RuntimeError as error:
    print(error)
"""
    output = with_visible(code, visible)
    assert output.startswith("False\nTORCHPLUG_VISIBLE_DEVICES is") and words in output
    assert len(output.splitlines()) == 2


def test_memory_is_that_of_the_device_behind():
    code = """
before = [torch.sim.mem_get_info(i)[0] for i in range(2)]
kept = torch.zeros(8 << 20, dtype=torch.uint8, device="sim:1")
after = [torch.sim.mem_get_info(i)[0] for i in range(2)]
assert before[0] == after[0], "the other device's"
assert before[1] - after[1] >= 8 << 20
assert torch.sim.memory_allocated(0) == 0
assert torch.sim.memory_allocated(1) == 8 << 20
"""
    with_visible(code, "2,0")


def test_memory_of_hidden_devices_is_out_of_reach():
    """Each device has 64 MiB: two of 40 need two devices, and only one is visible."""
    code = """
kept = torch.zeros(40 << 20, dtype=torch.uint8, device="sim")
try:
    torch.zeros(40 << 20, dtype=torch.uint8, device="sim")
except torch.OutOfMemoryError as error:
    print("sim:0" in str(error))
"""
    assert with_visible(code, "1") == "True"


def test_visible_devices_compute_and_copy_among_each_other():
    code = """
x = torch.arange(6.0, device="sim:0").reshape(2, 3)
y = x.to("sim:1")
with torch.sim.device(1):
    z = (y @ y.t()).to("sim:0", non_blocking=True)
torch.sim.synchronize(1)
print(y.device, z.device, z.tolist(), (x + 1).device)
print(torch.sim.can_device_access_peer(0, 1))
"""
    expected = "sim:1 sim:0 [[5.0, 14.0], [14.0, 50.0]] sim:0\nTrue"
    assert with_visible(code, "2,1") == expected
    assert with_visible(code, None) == expected


def test_streams_and_events_belong_to_the_device_behind():
    code = """
stream = torch.sim.Stream(1)
with torch.sim.stream(stream):
    x = torch.ones(200, 200, device="sim")
    for _ in range(5):
        x = x @ x / 200
    event = stream.record_event()
torch.sim.current_stream(0).wait_event(event)
y = x.to("sim:0")
print(x.device, stream.device, y.mean().item(), event.query())
"""
    assert with_visible(code, "2,0") == "sim:1 sim:1 1.0 True"


def test_a_failure_is_raised_on_the_device_it_happened_on():
    """On a stream, where it is found later: an index out of range."""
    code = """
table, index = torch.zeros(3, 2, device="sim:1"), torch.tensor([1], device="sim:1")
torch.nn.functional.embedding(index, table)
torch.nn.functional.embedding(index + 8, table)
torch.sim.synchronize(0)
try:
    torch.sim.synchronize(1)
except IndexError as error:
    print("raised by 1")
print((table + 1).sum().item())
"""
    assert with_visible(code, "2,0") == "raised by 1\n6.0"


def test_a_kernel_runs_on_the_device_of_its_arguments():
    code = """
import torchplug
x = torch.tensor([-1.0, 2.0], device="sim:1")
torchplug.reset_ledger()
y = x.relu()
print(y.device, y.tolist(), [(entry.op, entry.way) for entry in torchplug.ledger()][0])
"""
    assert with_visible(code, "2,0") == "sim:1 [0.0, 2.0] ('aten::relu', 'kernel')"


def test_an_error_names_the_visible_device():
    code = """
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="sim:1")
except torch.OutOfMemoryError as error:
    print("sim:1" in str(error))
try:
    torch.ones(1, device="sim:2")
except RuntimeError as error:
    print(error)
"""
    output = with_visible(code, "2,0")
    assert output.startswith("True\n") and "no device sim:2" in output and "0 to 1" in output


def test_children_see_the_same_devices():
    code = """
import torch.multiprocessing as multiprocessing
from visible_child import identity
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(identity, (0,)), identity(0))
"""
    assert with_visible(code, "2") == "sim:2 sim:2"


def test_the_mask_is_read_once():
    code = """
import os
torch.ones(1, device="sim")
os.environ["TORCHPLUG_VISIBLE_DEVICES"] = "0,1"
print(torch.sim.device_count(), torch.sim.get_device_properties().bus_id)
"""
    assert with_visible(code, "2") == "1 sim:2"


def test_a_mask_for_more_than_there_is_breaks_only_the_device():
    done = run_python("print(torch.ones(2).sum().item())", "cpu", TORCHPLUG_VISIBLE_DEVICES="99")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2.0", "")
