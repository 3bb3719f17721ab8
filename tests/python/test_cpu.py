"""torchplug.cpu: threads on cores, what the machine is, what operators on CPU tensors take; and `torchplug run`, which
places a process. All of it is the CPU's, whatever the device."""

import dataclasses
import json
import os
import subprocess
import threading
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

import pytest
import torch
from helpers import output_of, run_python
from test_command_line import checks_of, json_of, torchplug_command

import torchplug.cpu
from torchplug.cli import doctor
from torchplug.cpu import _cores, _libraries, _machine, _placement, _roof

CORES = sorted(os.sched_getaffinity(0))
NO_SUCH = max(_cores.existing()) + 1

several_cores = pytest.mark.skipif(len(CORES) < 2, reason="this process may use one core")
with_xcpu = pytest.mark.skipif(
    find_spec("torchplug_xcpu") is None, reason="the package torchplug-xcpu is not installed"
)
commands = pytest.mark.accelerator("commands choose their devices, so once is enough", only="sim")


def words(error):
    """What was raised, which is one sentence or two in one line."""
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    return text


@pytest.fixture(autouse=True)
def threads_given_back():
    count = torch.get_num_threads()
    yield
    torchplug.cpu.unbind()
    torch.set_num_threads(count)


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


# ---- messages of plugins ----


@pytest.mark.accelerator("the CPU has no layers")
@pytest.mark.parametrize("level", ["info", 1])
def test_the_log_level_is_in_force_at_once_and_as_often_as_it_is_set(device, level):
    code = f"""
    import ctypes, torchplug.cpu
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(torch.ones(3, device=device)))
    torchplug.cpu.set_log_level("none")
    torchplug.cpu.set_log_level({level!r})
    """
    done = run_python(code, device, TORCHPLUG_LAYERS="validate")
    assert "torchplug info: VALIDATE-leak" in done.stderr
    done = run_python(
        code + "\n    torchplug.cpu.set_log_level('warning')", device, TORCHPLUG_LAYERS="validate"
    )
    assert "VALIDATE-leak" not in done.stderr


@pytest.mark.parametrize("level", ["loud", 5, -1])
def test_a_log_level_that_there_is_not_is_refused(level):
    with pytest.raises(ValueError, match="debug, info, warning, error or none") as error:
        torchplug.cpu.set_log_level(level)
    words(error)


# ---- the report ----


def test_the_report_is_what_this_machine_says(capsys):
    report = torchplug.cpu.report()
    assert [core.number for core in report.cores] == _cores.existing()
    assert report.allowed == CORES
    assert report.threads.count == torch.get_num_threads()
    assert report.instruction_set in ("avx512_bf16", "avx512", "avx2", "scalar")
    assert set(report.features) <= set(_machine.features())
    assert all(set(cache.cores) <= set(_cores.existing()) for cache in report.caches)
    assert json.loads(json.dumps(dataclasses.asdict(report)))["model"] == report.model
    torchplug.cpu.describe()
    assert capsys.readouterr().out == f"{report}\n"


def test_pytorch_and_the_report_agree_on_the_instruction_set():
    has = _machine.instruction_set(_machine.features())
    capability = torch.backends.cpu.get_cpu_capability()
    assert has.startswith("avx512") == (capability == "AVX512")
    assert (has != "scalar") == (capability in ("AVX2", "AVX512"))


@pytest.fixture
def two_sockets(monkeypatch, tmp_path):
    """A machine of two sockets, of two cores of two threads each: 0 and 4 are one core."""
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


def test_threads_caches_and_nodes_of_a_larger_machine_are_told_apart(two_sockets):
    rows = dict(torchplug.cpu.report().rows())
    assert rows["cores"].startswith("0-7: 4 cores of 2 threads, such as 0,4; this process may use")
    assert rows["caches"] == "4 x L1d 48.0 KiB for 2 cores; 2 x L3 32.0 MiB for 4 cores"
    assert rows["NUMA"] == (
        "node 0: cores 0-1,4-5, 1.0 GiB; node 1: cores 2-3,6-7, 1.0 GiB; node 2: no cores, 1.0 GiB"
    )
    assert _cores.one_of_each([0, 1, 2, 3, 4, 5, 6, 7]) == [0, 1, 2, 3]
    assert _cores.one_of_each([5, 4, 1]) == [1, 4]


@pytest.mark.parametrize(
    ("flags", "kernels"),
    [
        ("", "scalar"),
        ("avx2 fma f16c bmi1 bmi2 movbe", "avx2"),
        ("avx512f avx512_bf16 avx512_vnni", "scalar"),
        ("avx2 fma f16c bmi1 bmi2 movbe avx512f avx512bw avx512cd avx512dq avx512vl", "avx512"),
        (f"{' '.join(sorted(_machine.AVX512))} avx512_vnni amx_tile", "avx512"),
        (f"{' '.join(sorted(_machine.AVX512))} avx512_vnni avx512_bf16", "avx512_bf16"),
    ],
)
def test_kernels_are_those_for_which_the_processor_has_everything(flags, kernels):
    assert _machine.instruction_set(flags.split()) == kernels


def test_threads_that_another_has_ended_are_told():
    torchplug.cpu.bind(CORES)
    torchplug.cpu._threads.binding().threads.append(2**22)
    report = torchplug.cpu.report()
    assert report.threads.gone == 1 and "call torchplug.cpu.bind again" in str(report)


# ---- what operators take ----


def measured(fn):
    """By operator: calls and bytes."""
    with torchplug.cpu.measure(roof=False) as found:
        fn()
    return {op.op.removeprefix("aten::"): (op.calls, op.bytes) for op in found.operators}


def test_bytes_are_what_a_call_has_to_move():
    x, y = torch.randn(100, 10), torch.randn(100, 10)
    of_x = 4000
    assert measured(lambda: x + y) == {"add": (1, 3 * of_x)}
    assert measured(lambda: x * x) == {"mul": (1, 2 * of_x)}
    assert measured(lambda: x.add_(y)) == {"add_": (1, 3 * of_x)}
    assert measured(lambda: x + y[:1].expand(100, 10))["add"] == (1, 2 * of_x + 40)
    assert measured(lambda: x.t()[2:]) == {"t": (1, 0), "slice": (1, 0)}
    assert measured(lambda: torch.add(x, y, out=y)) == {"add": (1, 3 * of_x)}
    z = torch.empty(100, 10)
    assert measured(lambda: torch.add(x, y, out=z)) == {"add": (1, 3 * of_x)}
    assert measured(lambda: z.copy_(x)) == {"copy_": (1, 2 * of_x)}
    assert measured(z.zero_) == {"zero_": (1, of_x)}
    assert measured(lambda: x.double()) == {"_to_copy": (1, 3 * of_x)}
    assert measured(lambda: torch.cat([x, y])) == {"cat": (1, 4 * of_x)}
    assert measured(lambda: x.sum().item())["sum"] == (1, of_x + 4)
    table, rows = torch.randn(1000, 16), torch.tensor([1, 2, 1])
    lookup = measured(lambda: torch.nn.functional.embedding(rows, table))
    assert lookup == {"embedding": (1, 2 * 3 * 16 * 4 + 24)}


def test_calls_are_counted_also_in_backward_and_in_scripted_modules():
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    found = measured(lambda: [layer(x).sum().backward() for _ in range(3)])
    assert found["addmm"][0] == 3 and found["mm"][0] == 3
    scripted = torch.jit.script(layer)
    assert measured(lambda: [scripted(x) for _ in range(3)])["addmm"][0] == 3


def test_a_failing_call_is_the_callers_and_ends_the_measurement():
    x = torch.randn(2, 3)
    with pytest.raises(RuntimeError), torchplug.cpu.measure(roof=False) as found:
        (x + 1) @ x
    assert found.by_operator["aten::add"].calls == 1 and found.seconds > 0
    x + 1
    assert found.by_operator["aten::add"].calls == 1


def test_what_is_compiled_stays_compiled_while_it_is_measured():
    runs = []

    def backend(graph, inputs):
        return lambda *args: runs.append(1) or graph(*args)

    x = torch.randn(4)
    before, within = (torch.compile(lambda x, n=n: (x + n).relu(), backend=backend) for n in (1, 2))
    before(x)
    found = measured(lambda: (before(x), within(x)))
    before(x), within(x)
    assert len(runs) == 5
    assert found["add"][0] == found["relu"][0] == 2


@pytest.mark.accelerator("there is no other device")
def test_operators_of_a_device_are_not_the_cpus(device):
    x = torch.ones(4, device=device)
    assert measured(lambda: x + x) == {}


def test_the_table_has_the_share_of_the_roof(monkeypatch):
    monkeypatch.setattr(_roof, "_known", {})
    monkeypatch.setattr(_roof, "_measure", lambda size: 10e9)
    with torchplug.cpu.measure() as found:
        torch.ones(10)
    operator = found.by_operator["aten::ones"]
    operator.calls, operator.seconds, operator.bytes, found.seconds = 4, 0.5, 4 * 10**9, 2.0
    assert operator.bytes_per_second == 8e9 and found.share_of_roof("aten::ones") == 0.8
    head, row, roof = str(found).splitlines()
    assert head.split() == ["operator", "calls", "time", "GB/s", "of", "the", "roof"]
    assert row.split() == ["aten::ones", "4", "500", "ms", "25.0%", "8.0", "80%"]
    assert roof == "The roof: memory is read at 10.0 GB/s."


def test_the_roof_is_measured_once_for_each_number_of_threads_and_anew_on_request(monkeypatch):
    speeds = iter([1e9, 2e9, 3e9, 1e9])
    monkeypatch.setattr(_roof, "_known", {})
    monkeypatch.setattr(_roof, "_measure", lambda size: next(speeds))
    torch.set_num_threads(1)
    assert [torchplug.cpu.read_roof() for _ in range(2)] == [1e9, 1e9]
    torch.set_num_threads(2)
    assert torchplug.cpu.read_roof() == 2e9
    torch.set_num_threads(1)
    assert torchplug.cpu.read_roof() == 1e9
    assert torchplug.cpu.read_roof(again=True) == 3e9
    assert torchplug.cpu.read_roof(again=True) == 3e9  # what is slower was disturbed
    with torchplug.cpu.measure(roof=False) as found:
        torch.ones(10)
    assert found.roof is None and "roof" not in str(found)


def test_the_probe_reads_more_than_the_caches_hold():
    cached = sum(cache.bytes for cache in _machine.caches() if cache.level >= 3)
    assert _roof._size() >= min(4 * cached, _machine.available_memory() // 5)
    assert _roof._measure(4 << 20) > 0


def test_nothing_is_measured_at_import(device):
    code = """
    import sys, torchplug.cpu
    from torchplug.cpu import _roof
    print(_roof._known, "torch._dynamo" in sys.modules)
    """
    assert output_of(code, device).startswith("{} ")


# ---- operators of xcpu ----


@with_xcpu
def test_bytes_of_a_packed_weight_are_those_that_it_is_read_in():
    weight, x = torch.ops.xcpu.pack(torch.randn(64, 128), "int8"), torch.randn(3, 128)
    found = measured(lambda: torch.ops.xcpu.linear(x, weight))
    assert found == {"xcpu::linear": (1, 3 * 128 * 4 + weight.nbytes + 3 * 64 * 4)}


@with_xcpu
def test_bytes_of_a_cache_are_those_of_the_tokens_in_question():
    xcpu = torch.ops.xcpu
    cache = xcpu.make_cache("fp32", 32, 2, 16)
    of_token = 2 * 2 * 16 * 4  # keys and values
    k, slots = torch.randn(3, 2, 16), torch.tensor([5, -1, 17])
    found = measured(lambda: xcpu.cache_write(cache, slots, k, k.clone()))
    assert found["xcpu::cache_write"] == (1, 2 * of_token + 3 * 8 + 2 * k.nbytes)
    q, lengths, pages = torch.randn(2, 4, 16), torch.tensor([7, 3]), torch.tensor([[0], [1]])
    rest = 2 * q.nbytes + lengths.nbytes + pages.nbytes
    found = measured(lambda: xcpu.paged_attention(q, cache, lengths, pages))
    assert found["xcpu::paged_attention"] == (1, 10 * of_token + rest)
    found = measured(lambda: xcpu.paged_attention(q, cache, lengths, pages, window=4))
    assert found["xcpu::paged_attention"] == (1, 7 * of_token + rest)


@with_xcpu
def test_the_profiler_shows_each_operator_by_its_name():
    from torch.profiler import ProfilerActivity, profile

    weight, x = torch.ops.xcpu.pack(torch.randn(64, 128), "int8"), torch.randn(3, 128)
    scripted = torch.jit.trace(lambda x: torch.ops.xcpu.rms_norm(x), x)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        torch.ops.xcpu.linear(x, weight)
        scripted(x)
    found = {event.key: event for event in profiler.key_averages(group_by_input_shape=True)}
    assert found["xcpu::linear"].count == 1 and found["xcpu::rms_norm"].count == 1
    assert found["xcpu::linear"].cpu_time_total > 0
    assert found["xcpu::linear"].input_shapes[:2] == [[3, 128], list(weight.shape)]


# ---- torchplug run ----

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


# ---- torchplug doctor ----


@commands
def test_doctor_prints_the_report():
    answer = json_of("doctor")
    checks = checks_of(answer)
    for subject, finding in torchplug.cpu.report().rows():
        if subject != "threads":
            assert checks[subject]["finding"] == finding
    assert [core["number"] for core in answer["cpu"]["cores"]] == _cores.existing()


def test_doctor_advises_huge_pages_and_no_more_threads_than_cores():
    report = torchplug.cpu.report()
    never = dataclasses.replace(report.huge_pages, transparent="never")
    many = dataclasses.replace(report.threads, count=len(CORES) + 1)
    checks = doctor.check_cpu(dataclasses.replace(report, huge_pages=never, threads=many))
    advised = {check.subject: check for check in checks if check.state == "warning"}
    assert set(advised) == {"huge pages", "threads"}
    assert "madvise" in advised["huge pages"].advice
    assert f"OMP_NUM_THREADS to {len(CORES)}" in advised["threads"].advice
    fine = dataclasses.replace(never, transparent="madvise"), dataclasses.replace(many, count=1)
    report = dataclasses.replace(report, huge_pages=fine[0], threads=fine[1])
    assert {check.state for check in doctor.check_cpu(report)} == {"ok"}
