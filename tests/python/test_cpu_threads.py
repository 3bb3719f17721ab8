"""torchplug.cpu binds PyTorch's threads to cores."""

import json
import os
import subprocess
import threading
from textwrap import dedent

import pytest
import torch
from helpers import output_of
from machine import CORES, NO_SUCH, several_cores, words

import torchplug.cpu
from torchplug.cpu import _cores

pytestmark = pytest.mark.usefixtures("threads_given_back")

# ---- lists of cores ----


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ("0-1", [0, 1]),
        ("0,2-3", [0, 2, 3]),
        (" 4 , 1 - 2 ", [4, 1, 2]),
        (5, [5]),
        ("5", [5]),
        ([2, 0], [2, 0]),
        (range(3), [0, 1, 2]),
    ],
)
def test_a_list_is_a_text_a_number_or_numbers_in_the_order_given(given, numbers):
    assert _cores.numbers_in(given) == numbers


@pytest.mark.parametrize("given", ["x", "1-0", "0--1", "0:3", "-1", "", ",", [], "0,0", [1, 2, 1]])
def test_what_is_no_list_is_refused(given):
    with pytest.raises(ValueError, match="list of cores") as error:
        _cores.numbers_in(given)
    words(error)


def test_a_list_is_written_as_it_is_read():
    assert _cores.text_of([3, 0, 1, 2, 8, 10, 9]) == "0-3,8-10"
    assert _cores.numbers_in("0-3,8-10") == [0, 1, 2, 3, 8, 9, 10]


# ---- threads ----

BOUND = """
import json, os, torchplug.cpu
def cores(): return {thread: sorted(os.sched_getaffinity(int(thread))) for thread in os.listdir("/proc/self/task")}
def bound(): return list(torchplug.cpu.report().threads.bound.values())
"""


def told(code, device):
    """What the lines print, in a process of their own that can bind threads."""
    return [json.loads(line) for line in output_of(BOUND + dedent(code), device).splitlines()]


@several_cores
def test_each_thread_has_a_core_and_the_one_that_calls_has_all(device):
    code = f"""
    before = set(cores())
    given = torchplug.cpu.bind({CORES!r})
    torch.randn(1 << 20).exp_()
    added = [each for thread, each in cores().items() if thread not in before]
    print(json.dumps([given, torch.get_num_threads(), sorted(os.sched_getaffinity(0)), bound(), added]))
    """
    (told_so,) = told(code, device)
    alone = [[core] for core in CORES[1:]]
    assert told_so[:4] == [CORES, len(CORES), CORES, [CORES, *alone]]
    assert all(each in told_so[4] for each in alone)


@several_cores
def test_what_a_bound_thread_starts_may_use_all_of_the_cores():
    torchplug.cpu.bind(CORES)
    found = []
    thread = threading.Thread(target=lambda: found.append(sorted(os.sched_getaffinity(0))))
    thread.start()
    thread.join()
    allowed = subprocess.run(
        ["grep", "Cpus_allowed_list", "/proc/self/status"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found == [CORES]
    assert _cores.numbers_in(allowed.stdout.split()[1]) == CORES


def test_a_core_that_does_not_exist_is_refused_and_nothing_is_changed():
    count, cores = torch.get_num_threads(), os.sched_getaffinity(0)
    with pytest.raises(ValueError, match=f"no core {NO_SUCH}: this machine has core") as error:
        torchplug.cpu.bind([CORES[0], NO_SUCH])
    words(error)
    assert (torch.get_num_threads(), os.sched_getaffinity(0)) == (count, cores)
    assert torchplug.cpu.report().threads.bound == {}


def test_a_core_that_exists_but_is_not_this_processs_is_refused(monkeypatch):
    """As in a container: the kernel leaves such cores out of what it is asked for, or refuses them all."""
    cores = os.sched_getaffinity(0)
    monkeypatch.setattr(_cores, "existing", lambda: [*CORES, NO_SUCH])
    for given in ([CORES[0], NO_SUCH], [NO_SUCH]):
        with pytest.raises(ValueError, match=f"may not use core {NO_SUCH}") as error:
            torchplug.cpu.bind(given)
        words(error)
        assert os.sched_getaffinity(0) == cores


def test_results_are_the_same_where_threads_are_bound():
    x = torch.randn(300, 300)
    torch.set_num_threads(len(CORES))
    expected = x.exp().sum(1)
    torchplug.cpu.bind(CORES)
    assert torch.equal(x.exp().sum(1), expected)


@several_cores
def test_threads_stay_bound_when_their_number_changes(device):
    code = f"""
    torchplug.cpu.bind({CORES[:2]!r})
    torchplug.cpu.set_num_threads(1)
    print(torch.get_num_threads())
    torchplug.cpu.set_num_threads(2)
    print(json.dumps([torch.get_num_threads(), bound()]))
    """
    assert told(code, device) == [1, [2, [CORES[:2], CORES[1:2]]]]


def test_more_threads_than_cores_are_refused():
    torchplug.cpu.bind(CORES[0])
    for count in (0, 2):
        with pytest.raises(ValueError, match=f"{count} threads on core {CORES[0]}") as error:
            torchplug.cpu.set_num_threads(count)
        words(error)
    assert torch.get_num_threads() == 1
    torchplug.cpu.unbind()
    torchplug.cpu.set_num_threads(len(CORES))
    assert torch.get_num_threads() == len(CORES)


@several_cores
def test_unbind_gives_all_threads_what_the_caller_had(device):
    code = f"""
    torchplug.cpu.bind({CORES[0]})
    torchplug.cpu.bind({CORES!r})
    for _ in range(2):
        torchplug.cpu.unbind()
    print(json.dumps([[each for each in cores().values() if each != {CORES!r}], bound()]))
    """
    assert told(code, device) == [[[], []]]


def test_a_forked_process_has_no_bound_threads(device):
    code = f"""
    torchplug.cpu.bind({CORES!r})
    pid = os.fork()
    if pid == 0:
        os._exit(len(bound()))
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(bound())]))
    """
    assert told(code, device) == [[0, len(CORES)]]


def test_without_a_list_each_core_has_one_thread(monkeypatch):
    """A core that runs two threads at once has two numbers, of which one is taken."""
    monkeypatch.setattr(_cores, "siblings_of", lambda core: sorted(CORES))
    assert torchplug.cpu.bind() == CORES[:1]
    monkeypatch.setattr(_cores, "siblings_of", lambda core: [core])
    torchplug.cpu.unbind()
    assert torchplug.cpu.bind() == CORES
