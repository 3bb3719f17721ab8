"""What fails on the device surfaces at the next wait and says what it was; a lost device stays lost."""

import re

import pytest
import torch
from helpers import output_of, run_python, still_works
from vendors import shadow

import torchplug.testing

pytestmark = pytest.mark.accelerator("work runs beside the caller", only="sim")


def fail(device):
    """Gives the device work that fails when its turn comes: a gather out of bounds."""
    x = torch.ones(4, device=device)
    index = torch.tensor([0], device=device)
    x.gather(0, index)  # the first call may wait
    return x.gather(0, index + 100)


WAITS = {
    "device": lambda module, event, y: module.synchronize(),
    "accelerator": lambda module, event, y: torch.accelerator.synchronize(),
    "stream": lambda module, event, y: module.current_stream().synchronize(),
    "event": lambda module, event, y: event.synchronize(),
    "cpu": lambda module, event, y: y.cpu(),
    "item": lambda module, event, y: y.item(),
    "copy": lambda module, event, y: torch.empty(1).copy_(y),
}


@pytest.mark.parametrize("wait", WAITS)
def test_every_way_to_wait_raises_once_what_failed_with_operator_device_and_number(
    device, module, wait
):
    fail(device)
    with pytest.raises(RuntimeError):
        module.synchronize()
    module.synchronize()
    expected = r"index 100 is out of bounds .*\(sim:0, aten::gather, call \d+\)$"
    event = module.Event()
    y = fail(device)
    event.record()
    with pytest.raises(RuntimeError, match=expected) as caught:
        WAITS[wait](module, event, y)
    assert len(str(caught.value).splitlines()) == 1
    WAITS[wait](module, event, y)
    module.synchronize()
    assert still_works(device)


def test_an_index_error_stays_an_index_error(device, module):
    x, index = torch.arange(4.0, device=device), torch.tensor([0], device=device)
    x[index]
    with pytest.raises(IndexError, match=r"out of bounds.*\(sim:0, aten::index.Tensor, call \d+\)"):
        x[index + 10]
        module.synchronize()


def test_of_many_calls_the_one_that_failed_is_named(device, module):
    fail(device)
    with pytest.raises(RuntimeError) as first:
        module.synchronize()
    x = torch.ones(4, device=device)
    torch.erf(x)
    with torchplug.testing.hold(module.current_stream()):
        for _ in range(10):
            torch.erf(x)
        fail_again = x.gather(0, torch.tensor([4]).to(device))
        for _ in range(10):
            torch.erf(x)
    with pytest.raises(RuntimeError, match=r"index 4 .*aten::gather") as second:
        fail_again.cpu()
    numbers = [int(re.search(r"call (\d+)\)", str(e.value)).group(1)) for e in (first, second)]
    assert numbers[1] >= numbers[0] + 11


def test_a_failure_waits_on_a_stream_that_nobody_waits_for(device, other_device, module):
    with module.stream(module.Stream()):
        fail(device)
    module.synchronize(1)  # another device's wait does not raise it
    with pytest.raises(RuntimeError, match="aten::gather"):
        module.synchronize(0)


PRELUDE = """
import ctypes, gc
library = ctypes.CDLL(sys.argv[2])
library.shadow_name.restype = ctypes.c_char_p
library.shadow_sequence.restype = ctypes.c_uint64
module = torch.get_device_module(device)
TIMEOUT, LOST, INTERNAL = 18, 19, 20

def raised(fn):
    try:
        fn()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def run_on_shadow(code, folder, **env):
    path, settings = shadow(folder)
    done = run_python(PRELUDE + code, "shadow", path, **settings, **env)
    assert done.returncode == 0, done.stderr
    return done


def test_a_report_of_the_plugins_names_the_operator_as_it_was_called(tmp_path):
    code = """
x = torch.ones(4, device=device)
for call, name in ((torch.neg, "aten::neg"), (lambda x: x.neg_(), "aten::neg_"),
                   (lambda x: torch.neg(x, out=torch.empty_like(x)), "aten::neg.out")):
    library.shadow_report_next(TIMEOUT, b"the fan stopped")
    call(x)
    text = raised(module.synchronize)
    number = library.shadow_sequence()
    assert library.shadow_name().decode() == name, library.shadow_name()
    expected = f"RuntimeError: shadow:0: {name} (call {number}) failed (timeout): the fan stopped"
    assert text == expected, text
    assert raised(module.synchronize) is None
print((torch.ones(4, device=device) * 2).tolist())
"""
    done = run_on_shadow(code, tmp_path)
    assert done.stdout == "[2.0, 2.0, 2.0, 2.0]\n" and done.stderr == ""


def test_a_kernel_that_fails_at_its_call_names_the_operator(tmp_path):
    code = """
x = torch.ones(4, device=device)
library.shadow_break(b"kernel", INTERNAL, b"a fuse blew")
print(raised(lambda: torch.neg(x)))
print((-x).tolist())
"""
    said, after = run_on_shadow(code, tmp_path).stdout.splitlines()
    assert said.startswith("RuntimeError: shadow:0: aten::neg failed (") and "a fuse blew" in said
    assert after == "[-1.0, -1.0, -1.0, -1.0]"


LOSSES = {
    "report": """
library.shadow_report_next(LOST, b"the board was unplugged")
torch.neg(x)
first = raised(module.synchronize)
""",
    "copy": """
library.shadow_break(b"copy", LOST, b"the board was unplugged")
first = raised(lambda: x.copy_(torch.ones(4)))
""",
    "sync": """
library.shadow_break(b"stream_sync", LOST, b"the board was unplugged")
first = raised(lambda: module.current_stream().synchronize())
""",
    "launch": """
library.shadow_break(b"host_func", LOST, b"the board was unplugged")
first = raised(lambda: x.sin_())
""",
    "allocation": """
library.shadow_break(b"mem_alloc", LOST, b"the board was unplugged")
first = raised(lambda: torch.empty(1 << 20, device=device))
""",
}

LOSE = """
stream, event = module.Stream(), module.Event()
x = torch.ones(4, device=device).sin_()
leaf = torch.ones(4, device=device, requires_grad=True)
loss = (leaf * 2).sum()
far = torch.arange(4.0, device="shadow:1")
pinned = torch.ones(100).pin_memory()
big = torch.ones(100_000, device=device)
big.record_stream(stream)
event.record(stream)
module.synchronize()
{lose}
assert first.startswith("AcceleratorError: shadow:0: "), first
assert first.endswith("failed (device lost): the board was unplugged"), first
uses = dict(
    launch=lambda: x + x, in_place=lambda: x.add_(1), borrowed=lambda: x.sin_(), first=lambda: x.lgamma(),
    allocate=lambda: torch.empty(4, device=device), allocate_much=lambda: torch.empty(1 << 22, device=device),
    there=lambda: torch.ones(4).to(device), back=lambda: x.cpu(), item=lambda: x[0].item(),
    across=lambda: x.copy_(far), and_back=lambda: far.copy_(x), print=lambda: str(x),
    sync=lambda: module.synchronize(), stream=lambda: stream.synchronize(), query=lambda: stream.query(),
    event=lambda: event.synchronize(), record=lambda: event.record(), backward=lambda: loss.backward(),
    accelerator=lambda: torch.accelerator.synchronize(), new=lambda: module.Stream(),
    pinned=lambda: pinned.to(device, non_blocking=True),
)
for again in range(2):
    for name, use in uses.items():
        assert raised(use) == first, (name, raised(use), first)
uses = use = loss = None
del x, leaf, big, event, pinned
gc.collect()
print(module.memory_allocated(0))
torch.accelerator.empty_cache()
with module.device(1):
    torch.accelerator.empty_cache()
    assert (far + 1).tolist() == [1.0, 2.0, 3.0, 4.0]
    pinned = torch.ones(100).pin_memory()
    assert pinned.to("shadow:1", non_blocking=True).sum().item() == 100.0
    module.synchronize()
print(torch.ones(3).sum().item(), module.device_count(), module.get_device_name(0))
kept = torch.ones(3, device="shadow:1")  # lives until the process ends
"""


@pytest.mark.parametrize("how", LOSSES)
def test_a_lost_device_stays_lost_while_the_others_and_the_process_live(tmp_path, how):
    done = run_on_shadow(LOSE.replace("{lose}", LOSSES[how]), tmp_path)
    assert done.stdout == "0\n3.0 2 torchplug simulated accelerator\n"
    assert done.stderr == ""


def test_a_device_lost_at_the_end_of_the_process_is_said_once(tmp_path):
    code = """
x = torch.ones(4, device=device)
library.shadow_report_next(LOST, b"the board was unplugged")
torch.neg(x)
"""
    said = run_on_shadow(code, tmp_path).stderr.splitlines()
    assert len(said) == 1
    assert re.fullmatch(
        r"shadow:0: work failed and was never waited for: shadow:0: aten::neg \(call \d+\) failed "
        r"\(device lost\): the board was unplugged",
        said[0],
    )


def test_a_process_group_on_a_lost_device_lets_the_process_end(tmp_path):
    code = """
import torch.distributed as dist
dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
x = torch.ones(4, device=device)
dist.all_reduce(x)
module.synchronize()
dist.all_reduce(x)
library.shadow_break(b"copy", LOST, b"the board was unplugged")
print(raised(lambda: x.copy_(torch.ones(4))))
"""
    done = run_on_shadow(code, tmp_path)
    assert "device lost" in done.stdout


def test_failed_work_leaks_nothing(device):
    code = """
import gc, os, resource
module = torch.get_device_module(device)
x = torch.ones(4, device=device)
index = torch.tensor([0], device=device)

def fail(times):
    for _ in range(times):
        try:
            x.gather(0, index + 100).cpu()
        except RuntimeError:
            pass

fail(200)
gc.collect()
module.synchronize()
before = module.memory_allocated(), module.host_memory_stats()["active_bytes.current"]
size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
fail(3000)
gc.collect()
module.synchronize()
print((module.memory_allocated(), module.host_memory_stats()["active_bytes.current"]) == before)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size < 4096)  # KiB; an error has kilobytes
"""
    assert output_of(code, device).split("\n") == ["True", "True"]
