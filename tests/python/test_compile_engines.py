"""torch.compile(backend="torchplug"): options, engines and their files, and what explain() says of them."""

import concurrent.futures
import gc
import threading
import warnings
from functools import partial

import pytest
import torch
from compiling import compiled, perceptron, reports, same_as_eager, total
from helpers import assert_same, capture, output_of
from session import Session
from torch.nn import functional as F
from vendors import compile_example

import torchplug
from torchplug.compile import _backend, _program

pytestmark = [
    pytest.mark.accelerator("it has a compiler", only="sim"),
    pytest.mark.usefixtures("compiling_afresh"),
]


@pytest.fixture
def own_directory(monkeypatch, tmp_path):
    """Engines on disk that no other test has made."""
    monkeypatch.setenv("TORCHPLUG_CACHE_DIR", str(tmp_path / "engines"))
    return tmp_path / "engines"


def steps(x):
    return (x * 2 + 1).softmax(-1)


# ---- options ----


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min_node": 2}, "has no option 'min_node'; did you mean 'min_nodes'?"),
        ({"size": 2}, "has no option 'size'. It has min_nodes, "),
        ({3: 4}, "has no option 3. It has min_nodes, "),
        ({"min_nodes": 0}, "Option 'min_nodes' is 0. It is a number from 1 to 2147483647."),
        ({"engines": True}, "Option 'engines' is True. It is a number from 1 to 2147483647."),
        ({"engines": "8"}, "Option 'engines' is '8'. It is a number from 1 to 2147483647."),
        ({"background": 1}, "Option 'background' is 1. It is True or False."),
        ({"cache": None}, "Option 'cache' is None. It is True or False."),
        ({"on_error": "go on"}, "Option 'on_error' is 'go on'. It is 'raise' or 'eager'."),
        ({"eager": "aten::mm"}, "Option 'eager' is 'aten::mm'. It is a list of operators"),
        ({"eager": 5}, "Option 'eager' is 5. It is a list of operators"),
        ({"eager": ["mm"]}, "names 'mm', and PyTorch has no such operator. Write it as"),
        ({"eager": ["aten::mn"]}, "names 'aten::mn', and PyTorch has no such operator."),
        ({"eager": ["aten::add.No"]}, "names 'aten::add.No', and PyTorch has no such operator."),
        ({"plugin": 3}, "Option 'plugin' is 3. It is a dict of strings"),
        ({"plugin": {"level": 3}}, "Option 'plugin' is {'level': 3}. It is a dict of strings"),
    ],
    ids=str,
)
def test_a_wrong_option_gets_one_sentence(device, options, sentence):
    with pytest.raises(Exception, match="torchplug") as raised:
        compiled(steps, options=options)(torch.ones(3, device=device))
    line = str(raised.value).splitlines()[1]
    assert line.startswith("ValueError: ")
    assert sentence in line


def test_a_mode_of_inductor_gets_one_sentence(device):
    with pytest.raises(Exception, match="has no mode 'max-autotune'\\. What it can be told"):
        compiled(steps, mode="max-autotune")(torch.ones(3, device=device))


def test_operators_named_eager_are_not_compiled(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    options = {"eager": ["aten::gelu", "aten::native_layer_norm.default"]}
    same_as_eager(model, x, options={"eager": ["aten::gelu"]})
    report = torchplug.compile.explain(model, x, options=options)
    reasons = dict(report.graphs[0].eager)
    assert reasons["aten::gelu"] == "the option 'eager' names it"
    inside = {name for group in report.graphs[0].groups for name in group.operators}
    assert "aten::gelu" not in inside


def test_groups_below_min_nodes_run_operator_by_operator(device):
    x = torch.randn(3, 4, device=device)
    few = torchplug.compile.explain(lambda x: x + 1, x, options={"min_nodes": 2})
    assert few.graphs[0].groups == []
    assert few.graphs[0].eager == [
        ("aten::add.Tensor", "its group would have 1 node, fewer than min_nodes (2)")
    ]
    enough = torchplug.compile.explain(lambda x: (x + 1).exp(), x, options={"min_nodes": 2})
    assert [group.nodes for group in enough.graphs[0].groups] == [2]


@pytest.mark.parametrize("options", [{}, {"capture": True}], ids=["called", "captured"])
def test_a_model_on_two_devices_has_engines_on_the_one_that_has_more_of_it(
    device, other_device, options
):
    def fn(x, w, y):
        return ((x * w).exp() + 1).to(y.device).tanh() * y

    args = (torch.randn(3, device=d) for d in (device, device, other_device))
    x, w, y = args
    call = compiled(fn, options=options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            assert_same(call(x, w, y), fn(x, w, y), rtol=1e-5, atol=1e-5)
    assert [group["runs"] for group in reports()] == [3]
    said = [str(one.message) for one in told if "capture" in str(one.message)]
    assert len(said) == (1 if options else 0)
    assert all(f"is on {other_device}, and a capture is of {device} alone" in one for one in said)


def test_a_compiler_that_groups_nodes_itself_sees_what_it_does_not_list(device, monkeypatch):
    texts = []
    grouped = _program._grouped

    def seen(built, *rest):
        texts.append(str(built.graph))
        return grouped(built, *rest)

    monkeypatch.setattr(_program, "_grouped", seen)
    x = torch.randn(3, 4, device=device)
    compiled(lambda x: ((x * 2).cumsum(1) + 1).topk(2, 1)[0].cpu())(x)
    (text,) = texts
    nodes = [line.partition(" = ")[2].partition("  #")[0] for line in text.splitlines()]
    assert [node for node in nodes if node] == [
        "aten::mul.Tensor(%arg0_1, 2)",
        "aten::cumsum(%1, 1, dtype=None)",
        "aten::add.Tensor(%2, 1, alpha=1)",
        "aten::topk(%3, 2, 1, True, True)",
        "torchplug::opaque([%4])",  # what it gives is on the CPU
    ]


# ---- explain and precompile ----


def test_explain_names_groups_engines_and_reasons(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    report = torchplug.compile.explain(model, x)
    assert [graph.kind for graph in report.graphs] == ["forward", "backward"]
    for graph in report.graphs:
        assert graph.nodes == len(graph.eager) + sum(group.nodes for group in graph.groups)
        assert all(group.engines == 1 and group.runs == 1 for group in graph.groups)
    text = str(report)
    assert text.splitlines()[0].startswith("graph 0 (forward): ")
    assert "eager: aten::addmm (2): the compiler does not list it" in text
    assert "  group 0: " in text
    assert "from disk" in text
    assert all(parameter.grad is None for parameter in model.parameters())


def test_precompile_makes_engines_before_they_are_needed(device):
    model, x = perceptron().to(device), torch.randn(3, 8, device=device)
    call = torchplug.compile.precompile(model, x)
    made = total("compiled") + total("loaded")
    assert made > 1
    result = call(x)
    assert_same(result, model(x))
    result.sum().backward()
    assert total("compiled") + total("loaded") == made
    assert len(reports()) == made


# ---- engines for shapes, in processes of their own ----

STATIC = """
import torchplug.compile
from torchplug.compile import _backend, _program
_backend.programs = []
fn = lambda x: (x * 2 + 1).softmax(-1)
call = torch.compile(fn, backend="torchplug", dynamic=True, options={"engines": 3})
for size in (2, 3, 4, 5, 6, 2):
    x = torch.randn(size, 4, device=device)
    torch.testing.assert_close(call(x), fn(x))
    torch.testing.assert_close(call(x), fn(x))
(program,) = _backend.programs
(group,) = program.groups
report = group.engines.report()
print(report["engines"], report["compiled"] + report["loaded"], report["runs"])
"""


def test_a_compiler_without_symbols_has_an_engine_for_each_shape(device):
    printed = output_of(STATIC, device, TORCHPLUG_SIM_COMPILER="static")
    assert printed == "3 6 12"  # the first had to go and was made again


SLOW = """
import torchplug.compile
from torchplug.compile import _backend, _program
_backend.programs = []

def fn(x):
    x.add_(1)
    return (x * 2).softmax(-1)

call = torch.compile(fn, backend="torchplug", options={"background": True, "cache": False})
ours, theirs = torch.zeros(3, 4, device=device), torch.zeros(3, 4, device=device)
for _ in range(3):
    torch.testing.assert_close(call(ours), fn(theirs))
    torch.testing.assert_close(ours, theirs)
(group,) = _backend.programs[0].groups
assert group.engines.report()["runs_without"] == 3, group.engines.report()
group.engines.prepare([])  # waits for the one that is under way
for _ in range(2):
    torch.testing.assert_close(call(ours), fn(theirs))
    torch.testing.assert_close(ours, theirs)
report = group.engines.report()
print(report["compiled"], report["runs"], report["runs_without"])
"""


def test_operators_run_one_by_one_until_the_engine_is_there(device):
    assert output_of(SLOW, device, TORCHPLUG_SIM_COMPILE_SECONDS="3") == "1 2 3"


# ---- engines on disk ----

SHOWN = """
import torchplug.compile
x = torch.arange(12.0, device=device).reshape(3, 4)
report = torchplug.compile.explain(lambda x: (x * 2 + 1).softmax(-1), x)
(group,) = report.graphs[0].groups
print(group.compiled, group.loaded, len(group.disk))
"""


def test_a_second_process_loads_what_the_first_has_compiled(device, own_directory):
    assert output_of(SHOWN, device) == "1 0 0"
    assert output_of(SHOWN, device) == "0 1 0"


def files_in(directory):
    return sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_compiled_anew(device, own_directory, damage):
    x = torch.randn(3, 4, device=device)
    same_as_eager(steps, x)
    (path,) = files_in(own_directory)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    path.write_bytes({"cut": whole[:middle], "flipped": flipped, "empty": b""}[damage])
    torch._dynamo.reset()
    same_as_eager(steps, x)
    last = reports()[-1]
    assert (last["compiled"], last["loaded"], len(last["disk"])) == (1, 0, 1)
    torch._dynamo.reset()
    same_as_eager(steps, x)
    assert reports()[-1]["loaded"] == 1


def test_without_the_cache_no_file_is_written(device, own_directory):
    same_as_eager(steps, torch.randn(3, 4, device=device), options={"cache": False})
    assert not own_directory.exists()


def test_a_directory_that_cannot_be_written_is_said_and_does_not_stop(device, own_directory):
    own_directory.write_text("a file")
    report = torchplug.compile.explain(steps, torch.randn(3, 4, device=device))
    (group,) = report.graphs[0].groups
    assert group.compiled == 1
    assert str(own_directory) in group.disk[0]
    assert f"disk: {group.disk[0]}" in str(report)


# ---- compiles that fail ----

DECLINED = """
import torchplug.compile
from torchplug.compile import _backend, _program
_backend.programs = []
fn = lambda x: (x * 2 + 1).softmax(-1)
x = torch.randn(3, 4, device=device)
call = torch.compile(fn, backend="torchplug", options={"cache": False})
for _ in range(2):
    torch.testing.assert_close(call(x), fn(x))
(group,) = _backend.programs[0].groups
report = group.engines.report()
print(report["runs"], report["runs_without"])
print(*report["declined"])
"""


def test_without_a_system_compiler_programs_run_operator_by_operator(device, tmp_path):
    lines = output_of(DECLINED, device, CXX=tmp_path / "none", PATH=tmp_path).splitlines()
    assert lines[0] == "0 2"
    assert "compiler" in lines[1]


REFUSED = """
try:
    torch.compile(lambda x: x + 1, backend="torchplug")(torch.ones(2, device=device))
except Exception as error:
    print(str(error).splitlines()[1])
"""


def test_a_plugin_without_a_compiler_is_refused_in_one_sentence(device):
    printed = output_of(REFUSED, device, TORCHPLUG_SIM_COMPILER="off")
    assert "Plugin 'sim' has no compiler (plug_module.compiler). Run the model without" in printed


# ---- files of others ----


def test_two_processes_fill_one_directory_at_once(device, own_directory):
    sessions = [Session(device.type, TORCHPLUG_CACHE_DIR=own_directory) for _ in range(2)]
    for session in sessions:
        session.start()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        printed = list(pool.map(lambda session: session(SHOWN), sessions))
    for session in sessions:
        session.close()
    assert all(line in ("1 0 0", "0 1 0") for line in printed)
    assert output_of(SHOWN, device) == "0 1 0"
    assert len(files_in(own_directory)) == 1


def test_what_is_no_engine_of_this_key_is_compiled_anew(device, own_directory):
    x = torch.randn(3, 4, device=device)
    same_as_eager(steps, x)
    (path,) = files_in(own_directory)
    same_as_eager(lambda x: (x * 3 + 1).softmax(-1), x)
    (other,) = (file for file in files_in(own_directory) if file != path)
    path.write_bytes(other.read_bytes())
    (own_directory / ".unfinished-1-2-3").write_bytes(b"half")
    torch._dynamo.reset()
    same_as_eager(steps, x)
    last = reports()[-1]
    assert (last["compiled"], last["loaded"]) == (1, 0)
    assert "is the engine of another key" in last["disk"][0]


@pytest.mark.parametrize("place", ["/proc/torchplug", "/dev/full/engines"])
def test_a_directory_that_cannot_be_made_is_said_once_and_engines_are_made(
    device, monkeypatch, place
):
    monkeypatch.setenv("TORCHPLUG_CACHE_DIR", place)
    same_as_eager(steps, torch.randn(3, 4, device=device), calls=2)
    (report,) = reports()
    assert (report["compiled"], report["runs"]) == (1, 2)
    assert place in report["disk"][-1] and len(set(report["disk"])) <= 2


# ---- threads ----

EVICTED = """
import threading
from functools import partial
import torchplug.compile
from torchplug.compile import _backend, _program
_backend.programs = []
fn = lambda x: (x * 2 + 1).softmax(-1)
call = torch.compile(fn, backend="torchplug", dynamic=True, options={"engines": 1})
call(torch.randn(2, 4, device=device))
failed = []
together = threading.Barrier(2)  # in each round, so that each has an engine which the other's put out

def work(size):
    stream = torch.Stream(device=device)
    x = torch.randn(size, 4, device=device)
    torch.accelerator.synchronize()
    try:
        with stream:
            for _ in range(15):
                together.wait()
                torch.testing.assert_close(call(x), fn(x))
    except BaseException as error:
        failed.append(error)
        together.abort()

threads = [threading.Thread(target=work, args=(size,)) for size in (3, 4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
(group,) = _backend.programs[0].groups
report = group.engines.report()
print(report["engines"], report["runs"], report["compiled"] + report["loaded"] > 3)
"""


def test_engines_may_go_while_another_thread_runs_them(device, engine_directory):
    settings = {"TORCHPLUG_SIM_COMPILER": "static", "TORCHPLUG_LAYERS": "validate"}
    printed = output_of(EVICTED, device, TORCHPLUG_CACHE_DIR=engine_directory, **settings)
    assert printed == "1 31 True"


def test_threads_may_compile_one_function_at_once(device):
    call, failed = compiled(steps, options={"cache": False}), []
    begin = threading.Barrier(2)

    def work(seed):
        x = torch.randn(3, 4, generator=torch.Generator().manual_seed(seed)).to(device)
        begin.wait()
        try:
            for _ in range(2):
                assert_same(call(x), steps(x))
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert total("runs") == 4
    assert total("compiled") <= 2  # each thread may have traced it


def test_threads_that_need_one_engine_have_it_compiled_once(device):
    listed = torchplug._C.compiler_operators(0)["aten::exp"]
    text = f"operator {listed['place']} {listed['schema']}\n"
    text += "graph(%x: f32[4]) {\n  %y: f32[4] = aten::exp(%x)\n  return %y\n}\n"
    graph = torchplug._C.CompilerGraph(text)
    group = torchplug._C.EngineGroup(0, graph, [], 8, False, "", [None])
    x = torch.randn(4, device=device)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda _: group.run([x], [])[0], range(4)))
    assert_same(results, [x.exp()] * 4)
    assert (group.report()["compiled"], group.report()["runs"]) == (1, 4)


# ---- graphs that are captured ----


def test_a_captured_engine_is_replayed_with_what_its_inputs_hold_then(device, module):
    x = torch.randn(3, 4, device=device)
    call = compiled(steps)
    graph, result = capture(module, lambda: call(x))
    for seed in range(3):
        x.copy_(torch.randn(3, 4, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        assert_same(result, steps(x))


def test_a_captured_engine_draws_other_numbers_at_each_replay(device, module):
    x = torch.ones(64, 8, device=device)
    call = compiled(lambda x: F.dropout(x * 2, 0.5))
    graph, result = capture(module, lambda: call(x))

    def replay():
        graph.replay()
        return result.cpu().clone()

    module.manual_seed(3)
    first, second = replay(), replay()
    module.manual_seed(3)
    assert torch.equal(replay(), first)
    assert not torch.equal(first, second)
    module.manual_seed(3)
    assert_same(call(x), first)
    assert_same(call(x), second)


ENGINES_ALONE = """
from torch.nn import functional as F
call = torch.compile(lambda x: F.dropout(x + 1, 0.5), backend="torchplug", options={"capture": True})
x = torch.zeros(64, device=device)
drawn = [call(x).tolist() for _ in range(4)]
print(len(set(map(tuple, drawn))), sorted({number for one in drawn for number in one}))
"""


@pytest.mark.parametrize("captures", ["on", "off"])
def test_engines_of_a_plugin_without_kernels_draw_at_each_replay(device, captures):
    settings = {"TORCHPLUG_SIM_KERNELS": "off", "TORCHPLUG_SIM_CAPTURE": captures}
    assert output_of(ENGINES_ALONE, device, **settings) == "4 [0.0, 2.0]"


def test_a_captured_engine_outlives_what_it_was_compiled_for(device, module):
    x = torch.randn(3, 4, device=device)
    call = compiled(steps)
    graph, result = capture(module, partial(call, x))
    torch._dynamo.reset()
    _backend.programs.clear()
    del call
    gc.collect()
    x.mul_(2)
    graph.replay()
    assert_same(result, steps(x))


RECORDED = """
import torchplug.compile
module = torch.get_device_module(device)
fn = lambda x, y: torch.relu(x * y + 2.5).tanh()
x, y = (torch.randn(3, 4, device=device) for _ in range(2))
call = torch.compile(fn, backend="torchplug")
call(x, y)
graph = module.Graph()
with module.graph(graph):
    result = call(x, y)
for i in range(3):
    x.copy_(torch.randn(3, 4))
    graph.replay()
    torch.testing.assert_close(result.cpu(), fn(x.cpu(), y.cpu()))
print("right")
"""


def test_so_does_a_device_that_cannot_capture_itself(tmp_path):
    plugin = compile_example(tmp_path)
    assert output_of(RECORDED, "fuse", TORCHPLUG_DEVICE=plugin) == "right"


# ---- flags ----


def test_what_the_user_asks_of_the_process_reaches_the_graph(device):
    fn = lambda x: (x * 2).exp()
    x = torch.randn(3, device=device)
    same_as_eager(fn, x)
    texts = [str(_backend.programs[-1].groups[0].engines.graph)]
    try:
        torch.use_deterministic_algorithms(True)
        torch._dynamo.reset()
        same_as_eager(fn, x)
    finally:
        torch.use_deterministic_algorithms(False)
    texts.append(str(_backend.programs[-1].groups[0].engines.graph))
    assert "deterministic" not in texts[0] and "deterministic" in texts[1]


# ---- what people see of engines ----


def test_the_profiler_shows_engines_by_name(device, module, trace_of):
    call, x = compiled(steps), torch.randn(3, 4, device=device)
    call(x)

    def body():
        call(x)
        module.synchronize()

    names = [event.key for event in trace_of(body).profiler.key_averages()]
    assert [name for name in names if "engine" in name], names
