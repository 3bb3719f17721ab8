"""plug-check finds the fault of every broken plugin, and none in those that are right."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from vendors import compile_plugin, compile_test_plugin, install

from torchplug import _plugins, cli
from torchplug.cli import plug_check

pytestmark = pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")

# Plugin, the check that finds it out, and words of the reason.
BROKEN = [
    ("early_thread", "entry", "started 1 threads"),
    ("half_profiler", "tables", "plug_profiler has a function missing"),
    ("half_maps", "tables", "'a host view for a while' has 1 of its 2 functions"),
    ("half_streams", "tables", "'streams and events' has 2 of its 10 functions"),
    ("misaligned", "alloc-alignment", "not a multiple of 64"),
    ("overlapping", "alloc-distinct", "overlap"),
    ("silent", "alloc-too-much", "without calling set_error"),
    ("writes_on_error", "alloc-too-much", "wrote its output though it failed"),
    ("exits", "alloc-too-much", "ended the process with code 3"),
    ("odd_status", "device-sync", "an unknown status"),
    ("hangs", "device-sync", "not finished after 2 s"),
    ("crashes", "alloc-reuse", "ended by signal 6"),
    ("same_view", "host-view", "does not show what was copied"),
    ("chatty", "copy-host", "wrote to stdout"),
    ("ignores_offset", "copy-host", "with offsets"),
    ("overruns", "copy-host", "with offsets"),
    ("no_overlap", "copy-overlap", "overlap"),
    ("reads_late", "copy-pageable", "not done with it when it returned"),
    ("forward_strides", "copy-strided", "is wrong at byte"),
    ("reinterprets", "copy-converts", "is wrong at element"),
    ("lost_maps", "host-map", "is not what the host or a copy wrote there"),
    ("pins_all", "host-pinned", "memory of calloc is pinned"),
    ("one_stream", "stream-independent", "not finished after 2 s"),
    ("one_stream", "stream-default", "not finished after 2 s"),
    ("early_query", "stream-query", "returned: ok"),
    ("early_sync", "stream-sync", "work of the stream had not run"),
    ("waits_to_destroy", "stream-destroy", "stream_destroy, which does not wait"),
    ("never_ready", "event-never-recorded", "not ready"),
    ("latest_record", "event-record-again", "recorded again elsewhere since"),
    ("runs_twice", "host-func-once", "ran 2 times"),
    ("runs_at_once", "host-func-after", "must not run its function before it returns"),
    ("never_releases", "host-func-release", "had not been released"),
    ("not_threadsafe", "threads", "bytes of one thread reached another's"),
    ("copies_at_once", "stream-behind", "a copy was done before"),
    ("fills_at_once", "stream-behind", "mem_fill was done before"),
    ("replays_at_once", "capture-behind", "a replay was done before"),
    ("joins_nobody", "capture-join", "ran before the replay"),
    ("waits_in_capture", "capture-wait", "did not fail"),
    ("any_flag", "error-memory-flags", "did not fail"),
    ("kernel_odd_table", "kernel-tables", "aten::relu has shapes or a gradient"),
    ("kernel_ignores_strides", "kernel-strided", "2 dimensions, strided): element 1 of result 0"),
    ("kernel_overruns", "kernel-bounds", "outside of a result, behind its end"),
    ("kernel_changes_argument", "kernel-arguments", "changed an argument that it may only read"),
    ("kernel_declines_late", "kernel-declines", "changed a result and then returned"),
    ("own_overruns", "kernel-own", "own_overruns::use wrote outside of a result, behind its end"),
    ("odd_kernels", "kernel-random", "the variance of aten::normal_ is 0, not 1"),
]

OWN_OPERATORS = (Path(__file__).parents[1] / "plugins" / "own_operators.h").read_text()

# With a part of a group of functions.
HALVES = [plugin for plugin, check, _ in BROKEN if plugin.startswith("half_")]

# Wrong in one kernel, and in one way.
KERNELS = [plugin for plugin, check, _ in BROKEN if check.startswith("kernel-")]

# What only a plugin with more than base.h's six functions can be asked.
ABSENT = re.compile(r"(stream|event|host-func|capture|ipc|growth)-?")


def run(*arguments):
    """Exit code, standard output, standard error."""
    command = [plug_check.program(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def checks_of(*arguments):
    """The exit code and {name: (state, reason)}."""
    code, output, errors = run(*arguments, "--json")
    assert output, errors
    answer = json.loads(output)
    checks = {check["name"]: (check["state"], check["reason"]) for check in answer["checks"]}
    states = [state for state, _ in checks.values()]
    assert [answer[state] for state in ("ok", "failed", "absent")] == [
        states.count(state) for state in ("ok", "failed", "absent")
    ]
    return code, checks


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """broken(name) is the path of a plugin of tests/plugins, compiled once."""
    folder = tmp_path_factory.mktemp("plugins")
    compiled = {}

    def path(name):
        if name not in compiled:
            compiled[name] = compile_test_plugin(folder, name)
        return compiled[name]

    return path


@pytest.mark.parametrize("name", ["sim", "hello"])
def test_nothing_is_wrong_with(name):
    path = _plugins.installed_plugins()[name].resolve()
    code, checks = checks_of(path)
    assert code == 0
    assert not {name for name, (state, _) in checks.items() if state == "failed"}
    assert checks["copy-host"] == ("ok", "") and checks["threads"] == ("ok", "")
    expected = {"sim": "ok", "hello": "absent"}[name]
    for check in ("stream-independent", "event-record-again", "host-func-order", "copy-strided"):
        assert checks[check][0] == expected
    for check in ("kernel-tables", "kernel-results", "kernel-alias", "kernel-bounds"):
        assert checks[check] == ("ok", "")


def test_a_second_device_is_checked_as_the_first():
    path = _plugins.installed_plugins()["sim"].resolve()
    assert checks_of(path, "--device", 1)[0] == 0
    code, _, errors = run(path, "--device", 7)
    assert code == 2 and "there is no device 7: the plugin has 2" in errors


@pytest.mark.parametrize(
    ("plugin", "check", "words"), BROKEN, ids=[f"{p}-{c}" for p, c, _ in BROKEN]
)
def test_a_broken_plugin_is_found_out(broken, plugin, check, words):
    code, checks = checks_of(broken(plugin), "--only", check, "--timeout", 2)
    assert code == 1 and checks.keys() == {check}
    state, reason = checks[check]
    assert state == "failed" and words in reason


@pytest.mark.parametrize(
    ("fault", "check", "words"),
    [
        ("no run", "compiler-tables", "lacks some of compile, run and engine_destroy"),
        ("identity alone", "compiler-tables", "all or none"),
        ("wrong results", "compiler-nodes", "element 0 of result 0"),
        ("wrong results", "compiler-chains", "element 0 of"),
        ("an engine that is NULL", "compiler-nodes", "engine"),
        ("takes anything", "compiler-unknown", "not in its list did not fail"),
        (
            "compile fails",
            "compiler-unknown",
            "returned: internal error; PLUG_UNSUPPORTED was wanted",
        ),
        ("several wrong schemas", "compiler-tables", "schema 1 is 'nonsense': it has no list"),
        ("several wrong schemas", "compiler-tables", "schema 2 is '': "),
        (
            "several wrong schemas",
            "compiler-tables",
            "schema 3 is 'aten::relu(Tensor self) -> Tensor': it is in the list twice",
        ),
        ("more than all is done", "compiler-progress", "says that 2 of it is done"),
        ("run fails", "compiler-nodes", "the unit has overheated"),
        ("run is not ready", "compiler-nodes", "returned: not ready, which is for queries"),
        ("no schema", "compiler-tables", "it has neither schemas nor list_schemas"),
        ("saves nothing", "compiler-disk", "engine_save wrote nothing"),
        ("partition fails", "compiler-partition", "the chip has no plan"),
    ],
)
def test_a_broken_compiler_is_found_out(broken, monkeypatch, fault, check, words):
    monkeypatch.setenv("TORCHPLUG_ODD_COMPILER_FAULT", fault)
    code, checks = checks_of(broken("odd_compiler"), "--only", check)
    state, reason = checks[check]
    assert code == 1 and state == "failed" and words in reason


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("list_schemas fails", "the list of schemas could not be had"),
        ("a schema that is NULL", "the list of schemas could not be had"),
        ("no run", "some of its three functions are missing"),
    ],
)
def test_a_table_that_cannot_be_used_fails_one_check(broken, monkeypatch, fault, why):
    monkeypatch.setenv("TORCHPLUG_ODD_COMPILER_FAULT", fault)
    _, checks = checks_of(broken("odd_compiler"))
    of_compilers = {name: checks[name] for name in checks if name.startswith("compiler-")}
    assert of_compilers.pop("compiler-tables")[0] == "failed"
    assert set(of_compilers.values()) == {("absent", why)}


def test_devices_quotes_a_schema_that_has_no_name(broken, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_ODD_COMPILER_FAULT", "several wrong schemas")
    command = [sys.executable, "-m", "torchplug", "devices", broken("odd_compiler")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    unused = [line.split(None, 1)[1] for line in done.stdout.splitlines() if " unused " in line]
    assert unused == ["nonsense: it cannot be read", "'': it cannot be read"]


LEFT_OUT = r"the rest left out after \d\.\d s: give a longer --timeout"


@pytest.mark.parametrize(
    ("check", "state", "words"),
    [
        ("nodes", "ok", "1 of 1 graphs compiled, "),
        ("chains", "ok", "1 of 1 graphs compiled, "),
        ("outputs", "absent", "the compiler declined all 1 graphs, "),
        ("engines", "absent", "1 of 3 graphs compiled, "),
        ("unknown", "ok", "1 of 4 graphs tried, "),
        ("progress", "ok", "asked 1 times, and finished all the same, "),
    ],
)
def test_of_a_slow_compiler_one_graph_is_tried(broken, monkeypatch, check, state, words):
    monkeypatch.setenv("TORCHPLUG_ODD_COMPILER_FAULT", "slow")
    check = f"compiler-{check}"
    code, checks = checks_of(broken("odd_compiler"), "--only", check, "--timeout", 5)
    assert code == 0 and checks[check][0] == state
    assert re.fullmatch(re.escape(words) + LEFT_OUT, checks[check][1])


def test_of_a_slow_compiler_one_weight_is_packed(broken, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_SIM_COMPILER", "whole")
    monkeypatch.setenv("TORCHPLUG_SIM_COMPILE_SECONDS", "2")
    _, checks = checks_of(broken("packs"), "--only", "compiler-pack", "--timeout", 11)
    state, reason = checks["compiler-pack"]
    assert state == "ok" and re.fullmatch("weights of aten::mul.Tensor, " + LEFT_OUT, reason)


def test_a_compile_that_takes_longer_than_a_check_may_is_told_of_the_option(broken, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_ODD_COMPILER_FAULT", "without end")
    _, checks = checks_of(broken("odd_compiler"), "--only", "compiler-threads", "--timeout", 5)
    state, reason = checks["compiler-threads"]
    assert state == "failed" and "compile of an engine; one that takes longer needs" in reason


def test_packed_weights_are_tried_whatever_they_are_weights_of(broken, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_SIM_COMPILER", "whole")
    code, checks = checks_of(broken("packs"), "--only", "compiler-pack")
    assert code == 0
    status, said = checks["compiler-pack"]
    assert status == "ok" and "aten::mul.Tensor aten::mm aten::linear" in said


@pytest.mark.parametrize("compiled", ["on", "whole"])
def test_a_weight_that_was_packed_once_for_ever_is_found_out(broken, monkeypatch, compiled):
    monkeypatch.setenv("TORCHPLUG_SIM_COMPILER", compiled)
    monkeypatch.setenv("TORCHPLUG_PACKS_ONCE", "1")
    code, checks = checks_of(broken("packs"), "--only", "compiler-pack")
    assert code != 0 and "aten::mul.Tensor: element" in checks["compiler-pack"][1]


def test_nothing_is_wrong_with_a_compiler_of_three_functions(broken):
    code, checks = checks_of(broken("odd_compiler"))
    assert code == 0
    for check in ("tables", "nodes", "chains", "engines", "threads", "unknown", "progress"):
        assert checks[f"compiler-{check}"][0] == "ok", check
    assert {checks[f"compiler-{check}"][0] for check in ("pack", "disk", "partition")} == {"absent"}


@pytest.mark.parametrize(
    "plugin", ["silent", "no_overlap", "any_flag", "early_thread", *HALVES, *KERNELS]
)
def test_one_fault_fails_its_check_alone(broken, plugin):
    expected = {check for name, check, _ in BROKEN if name == plugin}
    _, checks = checks_of(broken(plugin))
    assert {name for name, (state, _) in checks.items() if state == "failed"} == expected


def test_kernels_of_all_kinds_are_called(broken):
    _, checks = checks_of(broken("kernel_kinds"))
    kinds = ("tables", "declines", "prepare", "any")
    assert {checks[f"kernel-{kind}"] for kind in kinds} == {("ok", "")}
    assert checks["kernel-own"] == ("ok", "called: kernel_kinds::scale")
    _, checks = checks_of(broken("kernels"))
    ways = ("results", "strided", "broadcast", "mixed", "host-scalar", "alias", "dtypes", "random")
    assert {checks[f"kernel-{way}"] for way in ways} == {("ok", "")}


def test_what_a_device_lacks_is_no_fault(broken):
    code, checks = checks_of(broken("lacks"), "--device", 1)
    assert code == 0 and checks["device-info"] == ("ok", "")
    lacking = ("host-view", "host-func-once", "capture-replay")
    assert {checks[name][0] for name in lacking} == {"absent"}
    assert checks_of(broken("lacks"), "--only", "host-view")[1] == {"host-view": ("ok", "")}


def own_operators_of(plugin):
    """What plug-check says of a plugin's own operators: by what became of them, the names with what was said."""
    state, told = checks_of(plugin, "--only", "kernel-own")[1]["kernel-own"]
    assert state == "ok"
    found = {}
    for part in told.split(" | "):
        title, names = part.split(": ", 1)
        found[title] = dict((each + ": ").split(": ", 1) for each in names.split("; "))
    return found


def test_own_operators_get_a_dtype_of_their_list(broken):
    found = own_operators_of(broken("own_dtypes"))
    assert set(found) == {"called"} and len(found["called"]) == 3


@pytest.mark.parametrize("name", ["own_device", "operators"])
def test_own_operators_of_all_kinds_are_called(broken, name):
    """With texts, lists, numbers, shapes that are expressions or functions, and those that prepare."""
    found, space = own_operators_of(broken(name)), {"own_device": "owner"}.get(name, "acme")
    schemas = re.findall(r'NAME\s+"::([\w.]+)\(', OWN_OPERATORS)
    refusing = {"asks_wrongly", "fails", "keeps_nothing"}
    assert {f"{space}::{each}" for each in schemas if each not in refusing} == found[
        "called"
    ].keys()
    refused = found["refused what was made up"]
    assert {f"{space}::{each}" for each in refusing} <= refused.keys()
    assert refused[f"{space}::asks_wrongly"].startswith("a list of numbers has one dimension")


def test_own_operators_whose_results_are_lists_are_called(broken):
    found = own_operators_of(broken("lists"))
    assert found == {"called": {"lists::rows": "", "lists::positives": ""}}


def test_what_an_operator_makes_is_given_to_the_others(broken):
    _, output, _ = run(broken("own_overruns"), "--only", "kernel-own")
    assert re.search(r"FAIL +kernel-own +own_overruns::use wrote outside of a result", output)


def test_a_plugin_without_a_device_has_its_kernels_checked(broken, monkeypatch):
    monkeypatch.setenv("TORCHPLUG_KERNEL_KINDS_ALONE", "1")
    code, checks = checks_of(broken("kernel_kinds"))
    assert code == 0
    assert all(name.startswith("kernel-") for name in checks)
    done = {name for name, (state, _) in checks.items() if state == "ok"}
    assert done == {"kernel-tables", "kernel-own"}


def test_a_crash_costs_one_check(broken):
    _, checks = checks_of(broken("exits"))
    assert [state for state, _ in checks.values()].count("failed") == 1
    assert checks["copy-host"][0] == "ok"


def test_what_is_absent_says_what_the_host_does_instead(tmp_path):
    _, checks = checks_of(compile_plugin(tmp_path, "acme"))
    absent = {name: reason for name, (state, reason) in checks.items() if state == "absent"}
    assert {name for name in checks if ABSENT.match(name)} <= absent.keys()
    assert "the host" in absent["mem-info"] and all(absent.values())


def test_the_output_is_a_line_for_each_check_and_one_for_all(broken):
    code, output, errors = run(broken("silent"))
    lines = output.splitlines()
    names = [line.split()[0] for line in run("--list")[1].splitlines()]
    assert code == 1 and errors == ""
    assert "silent 1.2.3, 1 device; checking device 0" in lines[0]
    assert [line.split()[1] for line in lines[1:-1]] == names
    assert {line.split()[0] for line in lines[1:-1]} == {"ok", "FAIL", "absent"}
    assert re.fullmatch(r"\d+ ok, 1 failed, \d+ absent", lines[-1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no plugin to check"),
        (["/no/such/plugin.so"], "no file"),
        (["x.so", "y.so"], "unknown argument y.so"),
        (["--only", "nonsense"], "no check called nonsense"),
        (["--device"], "number is missing"),
    ],
    ids=["nothing", "no_file", "two", "no_check", "no_number"],
)
def test_wrong_usage_is_code_2_and_nothing_on_stdout(arguments, words):
    code, output, errors = run(*arguments)
    assert (code, output) == (2, "") and words in errors


def test_a_name_of_pytorchs_own_is_found(tmp_path):
    code, output, _ = run(compile_plugin(tmp_path, "meta"), "--only", "tables")
    assert code == 1 and "called 'meta', as one of PyTorch's own" in output


def test_what_is_no_plugin_is_code_2(broken):
    code, output, errors = run(broken("not_a_plugin"))
    assert (code, output) == (2, "") and "does not export torchplug_plugin_v0" in errors


def test_it_needs_the_systems_libraries_alone():
    command = ["readelf", "--dynamic", str(plug_check.program())]
    needed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"\(NEEDED\).*\[(lib\w+)", needed)) <= {
        "libc",
        "libdl",
        "libpthread",
        "libm",
    }


def test_torchplug_runs_it_by_the_name_of_a_plugin():
    command = [sys.executable, "-m", "torchplug", "plug-check"]

    def torchplug(*arguments):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    code, output, errors = torchplug("hello", "--only", "copy-host")
    assert (code, errors) == (0, "") and output.endswith("1 ok, 0 failed, 0 absent\n")
    assert torchplug("--list")[1] == run("--list")[1]
    code, output, errors = torchplug("nonsense")
    assert (code, output) == (2, "") and "'nonsense'" in errors
    assert torchplug()[0] == 2


def test_torchplug_runs_it_by_the_name_of_a_plugin_of_operators_alone(
    broken, tmp_path, monkeypatch
):
    library = broken("operators")
    install(tmp_path, "checked", f"PATH = {str(library)!r}\n", group="torchplug.operators")
    monkeypatch.syspath_prepend(tmp_path)
    started = []
    monkeypatch.setattr("os.execv", lambda program, words: started.append(words))
    cli.main(["plug-check", "checked", "--json"])
    assert started == [["plug-check", "--json", str(library)]]
