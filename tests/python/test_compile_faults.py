"""torch.compile with compilers that fail, decline, dawdle or answer nonsense, and through the layers around plugins."""

import re
import subprocess

import pytest
from helpers import output_of, run_python
from session import Session
from vendors import compile_example, compile_test_plugin

from torchplug.cli import replay

pytestmark = pytest.mark.accelerator("they choose their plugins, so once is enough", only="sim")

# Of a GPU beside the device, which PyTorch's compiler looks at, there would be a warning.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

BEGIN = """
import os, warnings
import torchplug
import torchplug.compile
from torchplug import _C
from torchplug.compile import _backend
_backend.programs = []
torch._dynamo.reset()

def fn(x):
    return torch.relu(x * 2 + 1).tanh()

def reports():
    return [group.engines.report() for program in _backend.programs for group in program.groups]

def compiled(**options):
    return torch.compile(fn, backend="torchplug", options=options)

def said(call, *args):
    try:
        call(*args)
        torch.accelerator.synchronize()
    except Exception as error:
        lines = str(error).splitlines()
        return lines[1] if "backend=" in lines[0] else lines[0]

def is_right(call):
    torch.testing.assert_close(call(x).cpu(), fn(x.cpu()))
    return True

x = torch.tensor([[-1.0, 2.0, -3.0], [4.0, 0.5, -0.25]], device=device)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def odd(folder):
    """odd(how, code): what code printed on examples/compiler, odd in that way."""
    session = Session("odd_fuse", TORCHPLUG_DEVICE=str(compile_test_plugin(folder, "odd_fuse")))
    begin = "import os\nos.environ['TORCHPLUG_ODD_FUSE_HOW'] = {!r}\n"
    yield lambda how, code: session(begin.format(how) + BEGIN + code)
    session.close()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """faulty(faults, code): what code printed on sim, with these faults."""
    directory = tmp_path_factory.mktemp("engines")
    session = Session("sim", TORCHPLUG_LAYERS="fault", TORCHPLUG_CACHE_DIR=directory)
    yield lambda faults, code: session(f"{BEGIN}\n_C.set_faults({faults!r})\n{code}")
    session.close()


# ---- answers that are none ----

RAISED = "call = compiled()\nprint(said(call, x))\n"
GONE_ON = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    call = compiled(on_error="eager")
    print(is_right(call), is_right(call), is_right(call))
print(*[str(w.message) for w in caught if "one by one" in str(w.message)], sep="\\n")
"""

WRONG = {
    "compile gives no engine": "compile returned PLUG_OK and no engine. Set *engine, or return",
    "compile fails": "odd_fuse:0: compile failed (internal error): the chip has no such unit",
    "compile is silent": "odd_fuse:0: compile failed (internal error): no reason given",
    "compile writes on error": "odd_fuse:0: compile failed (internal error): the chip has no such unit",
    "partition fails": "odd_fuse:0: partition failed (internal error): there are too many nodes",
    "partition names nothing": "the compiler's partition names none of 4 nodes",
    "partition names a node that is not there": "the compiler's partition names node 8, but the graph has 4",
}


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_answer_is_raised_in_one_sentence(odd, how):
    printed = odd(how, RAISED)
    assert WRONG[how] in printed and len(printed.splitlines()) == 1


@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_answer_is_warned_of_once_if_the_user_says_so(odd, how):
    right, *warned = odd(how, GONE_ON).splitlines()
    assert right == "True True True"
    assert len(warned) == 1 and WRONG[how] in warned[0]
    assert warned[0].endswith(". Its operators run one by one.")


@pytest.mark.parametrize("how", ["compile gives no engine", "compile fails"])
def test_a_failed_compile_names_the_line_that_it_is_of(odd, how):
    assert re.search(r"\(<session>:\d+\)\.$", odd(how, RAISED))


def test_a_failed_compile_is_tried_again_unless_it_was_warned_of(odd):
    code = "os.environ['TORCHPLUG_ODD_FUSE_HOW'] = ''\nprint(is_right(call), reports()[-1]['runs'])"
    assert odd("compile fails", RAISED + code).splitlines()[-1] == "True 1"
    last = odd("compile fails", GONE_ON + code).splitlines()[-1]
    assert last == "True 0"


def test_what_failed_in_the_background_is_raised_once_by_who_calls_next_or_waits(odd):
    code = """
call = compiled(background=True)
is_right(call)
while _C.compilations_under_way():
    pass
print(said(call, x))
is_right(call)
(group,) = _backend.programs[-1].groups
print(said(group.engines.prepare, []))
os.environ["TORCHPLUG_ODD_FUSE_HOW"] = ""
is_right(call)
group.engines.prepare([])
print(is_right(call), reports()[-1]["runs"])
"""
    raised, waited, after = odd("compile fails", code).splitlines()
    assert "no such unit" in raised
    assert "no such unit" in waited
    assert after == "True 1"


@pytest.mark.parametrize("how", ["no partition", "partition declines", "no engine_info", ""])
def test_what_a_compiler_may_leave_to_the_host_is_done_by_it(odd, how):
    assert odd(how, "print(is_right(compiled()), reports()[-1]['runs'])") == "True 1"


def test_a_run_that_declines_is_made_node_by_node_and_the_reason_is_kept(odd):
    code = """
call = compiled()
is_right(call), is_right(call)
report = reports()[-1]
print(report["runs"], report["runs_without"], report["declined"])
os.environ["TORCHPLUG_ODD_FUSE_HOW"] = ""
print(is_right(call), reports()[-1]["runs"])
"""
    assert odd("run declines", code).splitlines() == ["0 2 ['not at this hour']", "True 1"]


def test_a_run_that_fails_is_raised_and_named_whatever_the_user_says(odd):
    printed = odd("run fails", "print(said(compiled(on_error='eager'), x))")
    words = r"odd_fuse:0: engine\(mul, add, relu, tanh\) of <session>:\d+ failed \(internal error\): the unit has overheated"
    assert re.fullmatch(words, printed)


def test_a_failure_that_is_reported_later_names_the_engine(odd):
    printed = odd("run reports", "print(said(compiled(), x))")
    assert re.search(
        r"engine\(mul, add, relu, tanh\) of <session>:\d+ \(call \d+\) .*a fuse blew", printed
    )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("list_schemas gives no list", "list_schemas gave 6 schemas but no list. Set *schemas."),
        ("engine_info fails", "engine_info failed (internal error): the engine is shy"),
    ],
)
def test_what_is_asked_for_once_is_looked_at_too(folder, how, words):
    plugin = compile_test_plugin(folder, "odd_fuse")
    settings = {"TORCHPLUG_DEVICE": plugin, "TORCHPLUG_ODD_FUSE_HOW": how}
    printed = output_of(BEGIN + RAISED, "odd_fuse", **settings)
    assert words in printed and len(printed.splitlines()) == 1


def test_a_compiler_that_lists_nothing_compiles_nothing(folder):
    plugin = compile_test_plugin(folder, "odd_fuse")
    settings = {"TORCHPLUG_ODD_FUSE_HOW": "list_schemas gives nothing"}
    code = BEGIN + "print(is_right(compiled()), reports())"
    assert output_of(code, "odd_fuse", TORCHPLUG_DEVICE=plugin, **settings) == "True []"


def test_engines_run_on_memory_without_addresses(folder):
    code = """
call = torch.compile(fn, backend="torchplug", dynamic=True)
for rows in (2, 3, 2):
    x = torch.randn(rows, 5)
    torch.testing.assert_close(call(x.to(device)).cpu(), fn(x))
    torch.testing.assert_close(call(x.t().to(device)).cpu(), fn(x.t()))
print(sum(report["runs"] for report in reports()))
"""
    plugin = compile_test_plugin(folder, "opaque_fuse")
    assert int(output_of(BEGIN + code, "opaque_fuse", TORCHPLUG_DEVICE=plugin)) == 6


# ---- compiles that take long ----

WAITING = """
import signal, threading
text = "\\n".join(f"operator {one['place']} {one['schema']}" for name, one in _C.compiler_operators(0).items() if name == "aten::relu")
text += "\\ngraph(%x: f32[2, 3]) {\\n  %y: f32[2, 3] = aten::relu(%x)\\n  return %y\\n}\\n"
group = _C.EngineGroup(0, _C.CompilerGraph(text), [], 8, False, "", [None])

class Enough(Exception):
    pass

def interrupt(number, frame):
    os.environ["TORCHPLUG_ODD_FUSE_HOW"] = after
    raise Enough

signal.signal(signal.SIGALRM, interrupt)
"""


def test_a_wait_can_be_interrupted_and_the_next_call_compiles(odd):
    code = """
after = ""
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    group.run([x], [])
except Enough:
    print("interrupted")
print(group.run([x], [])[0].tolist() == x.relu().tolist(), group.report()["compiled"])
"""
    assert odd("compile takes long", WAITING + code).splitlines() == ["interrupted", "True 1"]


def test_who_is_interrupted_does_not_take_the_engine_from_others(odd):
    code = """
after = ""
results = []
threads = [threading.Thread(target=lambda: results.append(group.run([x], [])[0].tolist())) for _ in range(2)]
for thread in threads:
    thread.start()
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    group.run([x], [])
except Enough:
    print("interrupted")
for thread in threads:
    thread.join()
print(results == [x.relu().tolist()] * 2, group.report()["compiled"])
"""
    assert odd("compile takes long", WAITING + code).splitlines() == ["interrupted", "True 1"]


def test_a_process_ends_while_a_compile_is_under_way(folder):
    plugin = compile_test_plugin(folder, "odd_fuse")
    code = BEGIN + "print(is_right(compiled(background=True)), reports()[-1]['runs_without'])"
    settings = {"TORCHPLUG_DEVICE": plugin, "TORCHPLUG_ODD_FUSE_HOW": "compile takes long"}
    settings |= NO_GPU
    done = run_python(code, "odd_fuse", **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True 1\n", "")


# ---- the layer fault ----


def test_a_compile_that_fails_once_is_raised_and_the_next_call_works(faulty):
    code = "call = compiled(cache=False)\nprint(said(call, x))\nprint(is_right(call))"
    raised, after = faulty("compile:1", code).splitlines()
    words = r"sim:0: compile failed \(internal error\): the fault layer was told 'compile:1' \(<session>:\d+\)\."
    assert re.fullmatch(words, raised)
    assert after == "True"


def test_a_run_that_fails_once_is_raised_and_the_next_call_works(faulty):
    code = "call = compiled()\nis_right(call)\n_C.set_faults('run:1')\nprint(said(call, x))\nprint(is_right(call))"
    raised, after = faulty("", code).splitlines()
    words = r"sim:0: engine\(mul, add, relu, tanh\) of <session>:\d+ failed \(internal error\): the fault layer was told 'run:1'"
    assert re.fullmatch(words, raised)
    assert after == "True"


@pytest.mark.parametrize("fault", ["engine_save:1", "engine_load:1"])
def test_engines_that_cannot_be_saved_or_loaded_are_made_all_the_same(faulty, fault):
    code = f"""
fn.__code__ = fn.__code__.replace(co_consts=tuple({fault!r}.count("s") + 2.5 if c == 2 else c for c in fn.__code__.co_consts))
is_right(compiled())
torch._dynamo.reset()
_C.set_faults("" if {fault!r} == "engine_save:1" else {fault!r})
is_right(compiled())
first, second = reports()
print(first["compiled"], second["compiled"], second["loaded"])
print(*first["disk"], *second["disk"])
"""
    made, told = faulty(fault if fault == "engine_save:1" else "", code).splitlines()
    assert made == "1 1 0"
    name = fault.partition(":")[0]
    assert told == f"sim:0: {name} failed (internal error): the fault layer was told '{fault}'"


def test_a_late_failure_names_the_engine_and_the_next_call_works(faulty):
    code = "call = compiled()\nis_right(call)\n_C.set_faults('later:1')\nprint(said(call, x))\n_C.set_faults('')\nprint(is_right(call))"
    raised, after = faulty("", code).splitlines()
    assert re.search(r"engine\(mul, add, relu, tanh\) of <session>:\d+ \(call \d+\)", raised)
    assert "'later:1'" in raised and after == "True"


def test_packing_that_fails_once_is_raised_and_done_by_the_next_call(folder):
    code = """
weight = torch.nn.Parameter(torch.randn(3))
there = torch.nn.Parameter(weight.detach().to(device))
class Model(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight
    def forward(self, x):
        return torch.relu(x * self.weight)
call = torch.compile(Model(there), backend="torchplug")
_C.set_faults("engine_pack:1")
with torch.no_grad():
    print(said(call, x))
    torch.testing.assert_close(call(x).cpu(), Model(weight)(x.cpu()))
"""
    plugin = compile_test_plugin(folder, "packs")
    settings = {"TORCHPLUG_DEVICE": plugin, "TORCHPLUG_LAYERS": "fault"}
    printed = output_of(BEGIN + code, "packs", **settings)
    assert "packs:0: engine(mul, relu) failed" in printed and "'engine_pack:1'" in printed


# ---- the layer validate ----


def test_validate_has_nothing_to_say_of_engines(tmp_path):
    code = (
        BEGIN
        + """
call = torch.compile(fn, backend="torchplug", dynamic=True)
for rows in (2, 3, 4):
    y = torch.randn(rows, 3, device=device, requires_grad=True)
    call(y).sum().backward()
torch._dynamo.reset()
_backend.programs.clear()
del call, y
import gc
gc.collect()
torch.accelerator.synchronize()
print(_C.validation_messages())
"""
    )
    for mode in ("", "static"):
        settings = {"TORCHPLUG_SIM_COMPILER": mode} if mode else {}
        settings |= {"TORCHPLUG_LAYERS": "validate", "TORCHPLUG_CACHE_DIR": tmp_path, **NO_GPU}
        done = run_python(code, "sim", **settings)
        assert (done.stdout, done.stderr) == ("[]\n", "")


def test_validate_knows_that_runs_without_streams_are_over(folder):
    code = """
call = torch.compile(fn, backend="torchplug", dynamic=False, options={"engines": 1, "cache": False})
for rows in (2, 3, 4):
    call(torch.randn(rows, 3, device=device))
print(_C.validation_messages())
"""
    settings = {"TORCHPLUG_DEVICE": compile_example(folder), "TORCHPLUG_LAYERS": "validate"}
    done = run_python(BEGIN + code, "fuse", **settings, **NO_GPU)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("how", "id"),
    [
        ("compile gives no engine", "VALIDATE-output-missing"),
        ("compile writes on error", "VALIDATE-output-on-error"),
        ("compile is silent", "VALIDATE-error-silent"),
    ],
)
def test_validate_names_what_is_wrong_with_a_compiler(validated, how, id):
    assert id in validated(how, RAISED)


def test_validate_looks_at_the_progress_of_a_compile(validated):
    code = "print(is_right(compiled()), [one[2] for one in _C.validation_messages() if 'progress' in one[0]])"
    printed = validated("compile is more than done", code)
    assert "True" in printed and "compile said that 1.500000 of the engine is done" in printed


@pytest.fixture(scope="module")
def validated(folder):
    plugin = compile_test_plugin(folder, "odd_fuse")
    session = Session("odd_fuse", TORCHPLUG_DEVICE=str(plugin), TORCHPLUG_LAYERS="validate")
    begin = "import os\nos.environ['TORCHPLUG_ODD_FUSE_HOW'] = {!r}\n"
    yield lambda how, code: session(begin.format(how) + BEGIN + code)
    session.close()


# ---- the layer trace ----


def test_a_trace_has_compilers_and_their_engines(folder, tmp_path):
    plugin, file = compile_example(folder), tmp_path / "engines.trace"
    settings = {"TORCHPLUG_DEVICE": plugin, "TORCHPLUG_LAYERS": "trace", "TORCHPLUG_TRACE": file}
    assert output_of(BEGIN + "print(is_right(compiled()))", "fuse", **settings) == "True"
    lines = [line.partition(" ")[2] for line in file.read_text().splitlines()]
    (made,) = [line for line in lines if line.startswith("compile ")]
    assert made.startswith("compile device=0 nodes=4 inputs=1 outputs=1 symbols=0")
    (run,) = [line for line in lines if line.startswith("run ")]
    assert run.startswith('run engine=g1 name="engine(mul, add, relu, tanh)')
    assert "args=[tensor(f32" in run
    played = subprocess.run(
        [replay.program(), str(file), str(plugin), "--verbose"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 0, played.stdout + played.stderr
    assert re.search(r"line \d+, run.*: .*engine", played.stdout), played.stdout


# ---- a lock around every call ----


def test_a_plugin_that_is_called_under_one_lock_compiles_and_runs(tmp_path):
    from vendors import compile_plugin

    code = """
#include "base.h"
#include <stdlib.h>
static int inside;
static plug_status compile(const plug_compile *wish, plug_engine *engine) {
  (void)wish;
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1) abort();
  *engine = (plug_engine)malloc(1);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  return PLUG_OK;
}
static plug_status run(const plug_call *call) {
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1) abort();
  const plug_status status = base_relu(call);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
  return status;
}
static plug_status engine_destroy(int32_t device, plug_engine engine) {
  (void)device;
  free(engine);
  return PLUG_OK;
}
static const char *const schemas[] = {"aten::relu(Tensor self) -> Tensor"};
static plug_compiler compiler = {.size = sizeof compiler, .schema_count = 1, .schemas = schemas,
                                 .compile = compile, .run = run, .engine_destroy = engine_destroy};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "locked");
  module.flags = PLUG_SERIALIZE;
  module.compiler = &compiler;
  *out = &module;
  return PLUG_OK;
}
"""
    plugin = compile_plugin(tmp_path, "locked", code)
    program = """
import threading
call = torch.compile(torch.relu, backend="torchplug", dynamic=True)
wrong = []
def work(rows):
    x = torch.randn(rows, 3)
    for _ in range(5):
        if not torch.equal(call(x.to(device)).cpu(), x.relu()):
            wrong.append(rows)
work(2)
threads = [threading.Thread(target=work, args=(rows,)) for rows in (3, 4, 5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
"""
    assert output_of(BEGIN + program, "locked", TORCHPLUG_DEVICE=plugin) == "[]"
