"""A C++ extension built by torchplug.cpp_extension works on the device as one for CUDA does on CUDA."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from filelock import FileLock

import torchplug.testing
from torchplug import _plugins, cpp_extension

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "extension"

hold = functools.partial(torchplug.testing.hold, limit=20)

pytestmark = pytest.mark.skipif(
    torch._C._get_privateuse1_backend_name() != "sim",
    reason="its kernel needs host_func and host_view, which sim has",
)


@pytest.fixture(scope="module", autouse=True)
def acme():
    """torch.ops.acme_ext, compiled if it is not in build/ already."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with FileLock(BUILD / "one_at_a_time"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # for ninja
        (BUILD / "lock").unlink(missing_ok=True)  # PyTorch's own, left by a build that was ended
        cpp_extension.load(
            "acme_axpy",
            [str(HERE / "axpy.cpp")],
            build_directory=str(BUILD),
            extra_cflags=["-Wall", "-Wextra"],
            is_python_module=False,
        )
    return torch.ops.acme_ext


@pytest.fixture(params=["sim:0", "sim:1"])
def device(request):
    return torch.device(request.param)


def test_the_header_is_found_where_the_package_says():
    (directory,) = cpp_extension.include_paths()
    assert (Path(directory) / "torchplug" / "torchplug.hpp").exists()
    assert (Path(directory) / "torchplug" / "plug.h").exists()


def test_the_result_is_the_cpus(acme, device):
    x, y = torch.randn(1000), torch.randn(1000)
    result = acme.axpy(2.5, x.to(device), y.to(device))
    assert result.device == device
    torch.testing.assert_close(result.cpu(), 2.5 * x + y)


def test_a_view_is_read_where_it_lies(acme, device):
    x, y = torch.arange(100.0), torch.ones(100)
    result = acme.axpy(3.0, x.to(device)[40:60], y.to(device)[:20])
    assert torch.equal(result.cpu(), 3 * x[40:60] + y[:20])


def test_it_runs_on_the_device_of_its_arguments_whichever_is_current(acme):
    x = torch.ones(4, device="sim:1")
    assert torch.accelerator.current_device_index() == 0
    assert acme.axpy(1.0, x, x).tolist() == [2.0] * 4
    assert torch.accelerator.current_device_index() == 0


@pytest.mark.parametrize("operator", ["axpy", "axpy_aside"])
def test_it_waits_for_the_work_before_it_and_the_work_after_it_waits(acme, device, operator):
    axpy, stream = getattr(acme, operator), torch.accelerator.current_stream(device)
    x = torch.zeros(1000, device=device)
    axpy(2.0, x.add_(0), x) + 1  # the first call of an operator may wait
    with hold(stream):
        x.add_(1)
        result = axpy(2.0, x, x) + 1
        assert stream.query() is False, "the caller waited"
    assert torch.equal(result.cpu(), torch.full((1000,), 4.0))


def test_on_another_stream_it_runs_beside_the_default_one(acme, device):
    x = torch.ones(8, device=device)
    acme.axpy(2.0, x, x).cpu()
    default, stream = torch.accelerator.current_stream(device), torch.Stream(device)
    with hold(default):
        with stream:
            assert acme.axpy(2.0, x, x).tolist() == [3.0] * 8
        assert default.query() is False, "the other stream was waited for"


def test_temporaries_may_be_freed_while_it_is_queued(acme, device):
    x = torch.arange(1000.0).to(device)
    total = torch.zeros(1000, device=device)
    x + 0
    with hold(torch.accelerator.current_stream(device)):
        for i in range(100):
            total = acme.axpy_aside(float(i % 2), x + i, total)
        assert torch.accelerator.current_stream(device).query() is False
    assert torch.equal(total.cpu(), 50 * torch.arange(1000.0) + sum(range(1, 100, 2)))


def test_guards_restore_the_device_and_the_stream(acme):
    torch.ops.acme_ext.elsewhere(1, False)
    before = [torch.accelerator.current_stream(index) for index in (0, 1)]
    device, current, aside = acme.elsewhere(1, False)
    assert (device, current) == (1, aside)
    assert aside != 0
    with pytest.raises(RuntimeError, match="it fails elsewhere"):
        acme.elsewhere(1, True)
    assert torch.accelerator.current_device_index() == 0
    assert [torch.accelerator.current_stream(index) for index in (0, 1)] == before


def test_what_fails_on_the_stream_is_raised_where_it_is_waited_for(acme, device):
    acme.fail_later(torch.ones(1, device=device))
    with pytest.raises(IndexError, match="late"):
        torch.accelerator.synchronize(device)
    torch.accelerator.synchronize(device)


def test_its_memory_is_counted_as_a_tensors_is(acme, device):
    def allocated():
        return torch.accelerator.memory_stats(device)["allocated_bytes.all.current"]

    before = allocated()
    workspace = torch.classes.acme_ext.Workspace(1 << 20, device.index)
    assert workspace.device() == device.index
    assert allocated() >= before + (1 << 20)
    del workspace
    assert allocated() == before


def test_it_runs_on_the_devices_that_are_visible(acme):
    code = f"""
import torch
torch.ops.load_library({str(BUILD / "acme_axpy.so")!r})
x = torch.ones(3, device="sim")
print(torch.ops.acme_ext.axpy(2.0, x, x).tolist(), torch.classes.acme_ext.Workspace(64, 0).device())
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"TORCHPLUG_VISIBLE_DEVICES": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "[3.0, 3.0, 3.0] 1\n"


def test_it_knows_the_plugin(acme):
    assert acme.plugin() == ("sim", _plugins.installed_plugins()["sim"].resolve())


def test_a_cpu_tensor_has_no_kernel_of_the_extension(acme):
    with pytest.raises(NotImplementedError, match="acme_ext::axpy"):
        acme.axpy(1.0, torch.ones(2), torch.ones(2))


def test_an_extension_for_setup_py_has_the_header_and_the_library_and_keeps_its_own():
    extension = cpp_extension.CppExtension("acme", ["axpy.cpp"], libraries=["acme_kernels"])
    assert set(cpp_extension.include_paths()) < set(extension.include_dirs)
    assert extension.library_dirs[:1] == cpp_extension.library_paths()
    assert extension.runtime_library_dirs == cpp_extension.library_paths()
    assert {"torchplug", "acme_kernels", "c10"} <= set(extension.libraries)
