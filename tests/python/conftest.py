"""The state each test starts from and leaves."""

import os
import sys

import pytest
import torch
from helpers import still_works
from torch.profiler import profile
from traces import ACTIVITIES, Trace

# Spawned children import the test modules by name.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def clean_state(fresh_seeds, no_error_left_behind):
    """Every test here begins with the same seeds and answers for its own errors."""


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def real_dtype(request):
    return request.param


@pytest.fixture
def nothing_left_behind(device, module):
    """For tests of graphs: no capture goes on after the test, and the device works."""
    torch.zeros(4, device=device).fill_(0).add_(1)  # some capture these without a step before
    yield
    assert not module.is_current_stream_capturing()
    module.synchronize()
    assert still_works(device)


@pytest.fixture
def trace_of(tmp_path):
    """trace_of(body) profiles body() and gives the trace; options are the profiler's."""

    def run(body, activities=ACTIVITIES, **options):
        with profile(activities=activities, **options) as profiler:
            body()
        path = tmp_path / "trace.json"
        profiler.export_chrome_trace(str(path))
        trace = Trace(path)
        trace.profiler = profiler
        return trace

    return run


@pytest.fixture
def square(device):
    """A matrix whose products, sums and copies have run before: such calls only enqueue."""
    matrix = torch.eye(256).to(device)
    for _ in range(2):
        (matrix @ matrix).relu().add(matrix).cpu()
    return matrix


@pytest.fixture(scope="session")
def engine_directory(tmp_path_factory):
    return tmp_path_factory.mktemp("engines")


@pytest.fixture
def compiling_afresh(monkeypatch, engine_directory):
    """For tests of torch.compile: nothing compiled before is known, but for engines on disk."""
    from torchplug.compile import _backend

    monkeypatch.setenv("TORCHPLUG_CACHE_DIR", str(engine_directory))
    monkeypatch.setattr(_backend, "programs", [])
    torch._dynamo.reset()


@pytest.fixture
def groups(compiling_afresh):
    """TorchScript groups are enabled."""
    from torchplug import torchscript

    torchscript.enable()
    yield
    torchscript.disable()


@pytest.fixture
def threads_given_back():
    """The number of threads and their cores are what they were, after a test that changes them."""
    import torchplug.cpu

    count = torch.get_num_threads()
    yield
    torchplug.cpu.unbind()
    torch.set_num_threads(count)


@pytest.fixture
def two_sockets(monkeypatch, tmp_path):
    """A machine of two sockets, of two cores of two threads each: 0 and 4 are one core."""
    from torchplug.cpu import _cores

    cpus, nodes = tmp_path / "cpu", tmp_path / "node"

    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    write(cpus / "online", "0-7")
    write(nodes / "online", "0-2")
    for core in range(8):
        socket = core % 4 // 2
        write(
            cpus / f"cpu{core}" / "topology" / "thread_siblings_list", f"{core % 4},{core % 4 + 4}"
        )
        near = f"{2 * socket}-{2 * socket + 1},{2 * socket + 4}-{2 * socket + 5}"
        for index, (level, kind, size, shared) in enumerate(
            [(1, "Data", "48K", f"{core % 4},{core % 4 + 4}"), (3, "Unified", "32768K", near)]
        ):
            folder = cpus / f"cpu{core}" / "cache" / f"index{index}"
            for name, text in [
                ("level", level),
                ("type", kind),
                ("size", size),
                ("shared_cpu_list", shared),
            ]:
                write(folder / name, text)
        write(nodes / f"node{socket}" / "cpulist", near)
    for node in range(3):
        write(nodes / f"node{node}" / "meminfo", f"Node {node} MemTotal:   1048576 kB")
    write(nodes / "node2" / "cpulist", "")
    monkeypatch.setattr(_cores, "CPUS", cpus)
    monkeypatch.setattr(_cores, "NODES", nodes)


@pytest.fixture(scope="session")
def acme(tmp_path_factory):
    """torch.ops.acme: the operators of tests/plugins/own_operators.h. A process has them once."""
    from vendors import compile_test_plugin

    import torchplug

    names = torchplug.load_operators(
        str(compile_test_plugin(tmp_path_factory.mktemp("operators"), "operators"))
    )
    assert "acme::scale" in names and "acme::noise.like" in names
    return torch.ops.acme
