"""`torchplug run` places a process on cores and NUMA nodes, with another malloc."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from machine import CORES, NO_SUCH, commands, words
from test_command_line import torchplug_command

from torchplug.cpu import _cores, _libraries, _placement

PLACED = """
import json, os, torch, torchplug.cpu
print(json.dumps({
    "cores": sorted(os.sched_getaffinity(0)), "threads": torch.get_num_threads(),
    "allocator": torchplug.cpu.report().allocator, "preloaded": os.environ.get("LD_PRELOAD"),
    "policy": open("/proc/self/numa_maps").readline().split()[1] if os.path.exists("/proc/self/numa_maps") else "",
}))
"""


def placed(*options, **environment):
    code, output, errors = torchplug_command("run", *options, "-c", PLACED, **environment)
    assert code == 0, errors
    return json.loads(output)


def refused(*options, **environment):
    """In one line, and nothing is run."""
    code, output, errors = torchplug_command("run", *options, "-c", "print('ran')", **environment)
    assert (code, output) == (2, "") and len(errors.splitlines()) == 1
    return errors


@commands
def test_run_puts_a_script_on_cores_with_a_thread_for_each():
    for cores in (CORES[:1], CORES):
        found = placed("--cores", _cores.text_of(cores), OMP_NUM_THREADS="7")
        assert (found["cores"], found["threads"]) == (cores, len(cores))


@commands
def test_run_without_these_options_changes_nothing():
    found = placed(OMP_NUM_THREADS="1")
    assert (found["threads"], found["cores"], found["preloaded"]) == (1, CORES, None)


@commands
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--cores", f"0,{NO_SUCH}"], f"There is no core {NO_SUCH}: this machine has core"),
        (["--cores", "a-b"], "'a-b' is no list of cores. Write one as 0-1"),
        (["--numa", "999"], "There is no NUMA node 999: this machine has node"),
        (["--numa", "0;1"], "'0;1' is no list of nodes"),
    ],
)
def test_run_refuses_cores_and_nodes_that_do_not_exist(options, expected):
    assert refused(*options).startswith(f"torchplug: {expected}")


def has_numa():
    try:
        _libraries.numa()
    except ValueError:
        return False
    return bool(_cores.nodes())


@commands
@pytest.mark.skipif(not has_numa(), reason="there is no libnuma.so.1, or no NUMA node in /sys")
def test_run_takes_memory_from_the_nodes_and_cores_near_to_it():
    node = next(node for node in _cores.nodes() if {*_cores.cores_of_node(node)} & {*CORES})
    near = sorted({*_cores.cores_of_node(node)} & {*CORES})
    code, output, errors = torchplug_command("run", "--numa", node, "-c", PLACED)
    if code == 2:  # a container that lets nobody choose
        assert "CAP_SYS_NICE" in errors
        return
    found = json.loads(output)
    assert found["policy"] == f"bind:{node}" and found["cores"] == near
    assert found["threads"] == len(_cores.one_of_each(near))
    found = placed("--numa", node, "--cores", CORES[-1])
    assert found["policy"] == f"bind:{node}" and found["cores"] == CORES[-1:]


def test_nodes_have_a_thread_for_each_of_their_cores(two_sockets, monkeypatch):
    monkeypatch.setattr(_libraries, "numa", lambda: None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert _placement.placement(None, "1", None) == _placement.Placement([2, 3, 6, 7], 2, [1], "")
    assert _placement.placement("0,4", "1", None) == _placement.Placement([0, 4], 2, [1], "")
    with pytest.raises(ValueError, match="node 2 has no core that this process may use") as error:
        _placement.placement(None, "2", None)
    words(error)
    assert _placement.placement("0", "2", None).nodes == [2]


@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc"])
def test_an_allocator_that_is_not_installed_is_refused_with_its_package(name, monkeypatch):
    monkeypatch.setattr(_libraries, "folders", list)
    library = _libraries.ALLOCATORS[name]
    with pytest.raises(ValueError, match=f"{name} is not installed") as error:
        _placement.placement(None, None, name)
    assert library.file in words(error) and f"package {library.package} has it" in words(error)


def test_a_missing_libnuma_is_refused_with_its_package(monkeypatch):
    missing = _libraries.NUMA._replace(file="libnuma.so.no_such")
    monkeypatch.setattr(_libraries, "NUMA", missing)
    with pytest.raises(ValueError, match="Debian's package libnuma1 has it") as error:
        _placement.placement(None, str((_cores.nodes() or [0])[0]), None)
    words(error)


@commands
@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc"])
def test_run_preloads_the_allocator_before_what_is_preloaded(name, tmp_path):
    """A library of that name, which does nothing: where the loader looks, it is found."""
    file, other = tmp_path / _libraries.ALLOCATORS[name].file, tmp_path / "libother.so"
    for library in (file, other):
        subprocess.run(["cc", "-shared", "-x", "c", os.devnull, "-o", library], check=True)
    found = placed("--alloc", name, LD_LIBRARY_PATH=str(tmp_path), LD_PRELOAD=str(other))
    assert found["allocator"] == name and found["preloaded"] == f"{file}:{other}"


@commands
@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc"])
def test_pytorch_computes_with_an_allocator_that_is_installed(name):
    try:
        path = _libraries.path_of(name)
    except ValueError as error:
        pytest.skip(str(error))
    code = "import torch, torchplug.cpu; x = torch.ones(9, 9); print((x @ x).sum().item(), torchplug.cpu.report().allocator)"
    done = torchplug_command("run", "--alloc", name, "--device", "none", "-c", code)
    assert done == (0, f"729.0 {name}\n", "") and Path(path).exists()
