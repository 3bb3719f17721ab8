"""A forked child is told at once that it cannot use the device; the parent goes on."""

import pytest
from helpers import run_python
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU survives a fork")

# fork(child) prints how a forked child ended and what child() answered there, then uses the device
# in the parent. A child that hangs is ended by its alarm, and its status says so.
FORK = """
import os, signal, torch
from helpers import still_works

def fork(child):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            answer = "returned " + str(child())
        except BaseException as error:
            answer = type(error).__name__ + ": " + str(error).splitlines()[0]
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(status, answer, flush=True)
    assert still_works(device)
    print("parent works", flush=True)

"""


# Twice in place: such calls are planned by then, and take nothing else from the device.
START = """
x = torch.arange(4.0, device=device) + 1
for _ in range(2):
    x.clone().sigmoid_(), x.clone().relu_()
torch.accelerator.synchronize()
"""


def answers_of_children(device, body):
    """What each child that `body` forks answers. `x` is a tensor the parent has on the device."""
    done = run_python(FORK + START + body, device)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.strip().splitlines()
    assert set(lines[1::2]) == {"parent works"}
    assert all(line.startswith("0 ") for line in lines[::2]), lines
    return [line.removeprefix("0 ") for line in lines[::2]]


USES = [
    "torch.ones(3, device=device)",
    "x + 1",
    "x.relu()",
    "x.sigmoid_()",
    "x.relu_()",
    "x.cpu()",
    "x[0].item()",
    "torch.zeros(4).to(device)",
    "x.copy_(torch.zeros(4))",
    "repr(x)",
    "torch.accelerator.synchronize()",
]


def test_use_in_a_forked_child_is_an_error_that_says_what_to_do(device):
    body = "\n".join(f"fork(lambda: {use})" for use in USES)
    answers = answers_of_children(device, body)
    assert len(answers) == len(USES)
    for use, answer in zip(USES, answers, strict=True):
        assert "Error: " in answer, f"{use}: {answer}"
        assert "fork" in answer and "spawn" in answer, f"{use}: {answer}"


def test_the_child_may_use_the_cpu_and_its_random_numbers(device):
    body = """
def child():
    torch.manual_seed(7)
    return (torch.ones(2, 2) @ torch.ones(2, 2)).tolist(), torch.rand(3).numel()

fork(child)
"""
    assert answers_of_children(device, body) == ["returned ([[2.0, 2.0], [2.0, 2.0]], 3)"]


def test_the_child_may_drop_device_tensors(device):
    body = """
def child():
    global x
    del x
    return "dropped"

fork(child)
"""
    assert answers_of_children(device, body) == ["returned dropped"]


def test_the_child_may_ask_for_its_devices(device):
    body = "fork(lambda: torch.get_device_module(device)._is_in_bad_fork())"
    assert answers_of_children(device, body) == ["returned True"]


def test_a_child_that_ends_in_the_ordinary_way_ends(device):
    """Neither exit handlers nor the destruction of device objects may wait for lost threads."""
    code = """
        import os, signal
        from helpers import still_works
        x = torch.arange(4.0, device=device) + 1
        pid = os.fork()
        if pid == 0:
            signal.alarm(10)
            sys.exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), still_works(device))
    """
    done = run_python(code, device)
    assert done.stdout.strip() == "3 True", done.stderr


def test_a_fork_with_work_queued_harms_neither_side(device):
    code = """
        import os, signal
        a = torch.full((512, 512), 1 / 512, device=device)
        b = a
        for _ in range(20):
            b = b @ a
        pid = os.fork()
        if pid == 0:
            signal.alarm(10)
            os._exit(4)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(status, round(b[5, 5].item() * 512, 3))
    """
    done = run_python(code, device)
    assert done.stdout.strip() == "4 1.0", done.stderr


def test_a_fork_before_the_first_use_works_or_says_why_not(device):
    done = run_python(FORK + "fork(lambda: still_works(device))", device)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.strip().splitlines()
    assert last == "parent works"
    assert first == "0 returned True" or ("fork" in first and "spawn" in first), first


COUNTS = [
    "torch.accelerator.device_count()",
    "torch.accelerator.is_available()",
    "torch.manual_seed(3)",
    "torch.get_device_module(device).device_count()",
    "torch.get_device_module(device).is_available()",
    "torch.get_device_module(device).current_device()",
    "torch.Generator(device)",
]


@pytest.mark.accelerator("its plugin is one of the tests'", only="sim")
@pytest.mark.parametrize("count", COUNTS)
def test_a_child_of_a_process_that_only_counted_has_a_working_device(tmp_path, count):
    """The plugin's driver does not survive a fork once a device was asked what it is."""
    library = compile_test_plugin(tmp_path, "no_fork")
    body = f"{FORK}\n{count}\nfork(lambda: still_works(device))"
    done = run_python(body, "no_fork", TORCHPLUG_DEVICE=library)
    assert done.stdout.splitlines() == ["0 returned True", "parent works"], done.stderr
