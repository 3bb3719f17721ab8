"""The memory of sim is out of the host's reach: a missing copy is a crash, never a wrong number."""

import signal

import pytest
from helpers import output_of, run_python

pytestmark = pytest.mark.accelerator("the host may not touch its memory", only="sim")


@pytest.mark.parametrize(
    ("tensor", "touch"),
    [
        ("torch.ones(100, device=device)", "read"),
        ("torch.ones(100, device=device)", "write"),
        ("(torch.ones(1 << 20, device=device) + 1)[5:]", "read"),
        ("torch.ones(100).to(device)", "read"),
        ("torch.rand(100, device=torch.device(device.type, 1))", "read"),
    ],
)
def test_the_host_that_touches_device_memory_dies(device, tensor, touch):
    act = {
        "read": "ctypes.c_float.from_address(x.data_ptr()).value",
        "write": "ctypes.memset(x.data_ptr(), 0, 4)",
    }[touch]
    code = f"""
        import ctypes
        x = {tensor}
        torch.accelerator.synchronize(x.device)
        print("before", flush=True)
        {act}
        print("after", flush=True)
    """
    done = run_python(code, device)
    assert done.stdout.split() == ["before"]
    assert done.returncode == -signal.SIGSEGV


def test_memory_stays_out_of_reach_while_operators_use_it(device):
    code = """
        import ctypes
        x = torch.full((1024, 1024), 1 / 1024).to(device)
        x = x @ x  # borrowed or a kernel: either way on the memory itself
        y = x @ x
        print("before", flush=True)
        ctypes.c_float.from_address(x.data_ptr()).value
        print("after", flush=True)
    """
    done = run_python(code, device)
    assert done.stdout.split() == ["before"]
    assert done.returncode == -signal.SIGSEGV


def test_pinned_memory_is_in_reach(device):
    code = """
        import ctypes
        x = torch.full((100,), 2.5).pin_memory()
        y = x.to(device, non_blocking=True) + 1
        print(ctypes.c_float.from_address(x.data_ptr() + 4 * 99).value, y[99].item())
    """
    assert output_of(code, device) == "2.5 3.5"
