"""The command line: what it prints where, and with which exit code."""

import ast
import json
import os
import signal
import subprocess
import sys

import pytest
import torch
import warm_interpreter
from interpreter import run, search_path
from vendors import CRASHES, HANGS, compile_plugin, compile_test_plugin, install, install_device

import torchplug
import torchplug._C
from torchplug import _settings
from torchplug.cli import doctor, inspection

pytestmark = pytest.mark.accelerator("commands choose their devices, so once is enough", only="sim")

TIMEOUT = 120


# What the installed script does.
COMMAND = "import sys; from torchplug.cli import main; sys.exit(main())"


def torchplug_command(*args, path=None, cwd=None, input="", fresh=False, **environment):
    """Runs `torchplug args...`; returns exit code, standard output and standard error.

    `fresh`: where the command itself is to import PyTorch with a device.
    """
    chosen = ("TORCHPLUG_", "ACCELERATE_", "PL_TRAINER_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(chosen)}
    env["PYTHONPATH"] = search_path(path)
    args, env = [str(arg) for arg in args], env | environment
    if fresh:
        done = subprocess.run(
            [sys.executable, "-m", "torchplug", *args],
            env=env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    else:
        done = warm_interpreter.run(
            COMMAND, args, env, TIMEOUT, input=input, cwd=cwd, autoload=False
        )
    return done.returncode, done.stdout, done.stderr


def json_of(*args, code=0, **options):
    actual, output, errors = torchplug_command(*args, "--json", **options)
    assert actual == code, errors
    return json.loads(output)


# ---- all of it ----


def test_help_names_the_commands_and_the_exit_codes():
    code, output, _ = torchplug_command("--help")
    assert code == 0
    for word in (
        "devices",
        "doctor",
        "run",
        "plug-check",
        "schema",
        "replay",
        "demo",
        "bench",
        "graph",
        "0 success",
        "1 a problem",
        "2 usage",
    ):
        assert word in output


@pytest.mark.parametrize(
    "command", ["devices", "doctor", "run", "plug-check", "schema", "graph", "demo", "bench"]
)
def test_every_command_has_help_with_the_exit_codes(command):
    code, output, _ = torchplug_command(command, "--help")
    assert code == 0 and "exit codes" in output and "--json" in output


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["devices", "--nonsense"], ["run"]])
def test_wrong_usage_is_code_2_and_nothing_on_stdout(arguments):
    code, output, errors = torchplug_command(*arguments)
    assert (code, output) == (2, "") and "torchplug" in errors


def test_the_version_is_the_packages():
    assert torchplug_command("--version") == (0, f"torchplug {torchplug.__version__}\n", "")


def test_the_script_is_installed_beside_python():
    script = os.path.join(os.path.dirname(sys.executable), "torchplug")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"torchplug {torchplug.__version__}\n"


# ---- devices ----


def test_devices_tells_what_each_plugin_gives():
    found = {facts["name"]: facts for facts in json_of("devices")["plugins"]}
    sim, hello = found["sim"], found["hello"]
    assert (
        sim["error"] is None
        and sim["version"]
        and sim["abi"] == list(torchplug._C.built_with()["abi"])
    )
    assert os.path.isfile(sim["path"]) and sim["package"] and sim["package_version"]
    assert len(sim["devices"]) == 2 and sim["devices"][0]["total_memory"] > 0
    assert sim["capabilities"]["streams"] and sim["capabilities"]["host_view"]
    assert sim["capabilities"]["profiler"] and not hello["capabilities"]["profiler"]
    assert not hello["capabilities"]["streams"] and len(hello["devices"]) == 1
    assert hello["compiler"] is None and "aten::gelu" in sim["compiler"]["operators"]
    assert sim["compiler"]["symbols"] and sim["compiler"]["saves"]
    assert hello["kernels"] == ["aten::relu(Tensor self) -> Tensor"]
    assert hello["devices"][0]["dtypes"] == ["float32"]


def test_devices_in_a_pipe_is_plain_text_of_80_columns():
    code, output, errors = torchplug_command("devices", COLUMNS="80")
    assert code == 0 and errors == ""
    assert output.isascii() and "\x1b" not in output
    lines = [line for line in output.splitlines() if "/" not in line]  # paths are not broken
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)
    for word in (
        "sim:0",
        "sim:1",
        "hello:0",
        "L0 runtime",
        "L1 kernels",
        "L2 compiler",
        "streams",
        "float32",
    ):
        assert word in output


def test_devices_can_be_asked_of_one_plugin():
    assert [facts["name"] for facts in json_of("devices", "hello")["plugins"]] == ["hello"]


def test_devices_of_an_unknown_plugin_is_wrong_usage():
    code, output, errors = torchplug_command("devices", "nonsense")
    assert (code, output) == (2, "") and "'nonsense'" in errors and "sim" in errors


def test_devices_takes_the_path_of_a_plugin(tmp_path):
    library = compile_plugin(tmp_path, "acme")
    (facts,) = json_of("devices", library)["plugins"]
    assert facts["name"] == "acme" and facts["path"] == str(library)


def test_devices_says_what_a_compiler_takes_and_does(tmp_path):
    packs = compile_test_plugin(tmp_path, "packs")
    (facts,) = json_of("devices", packs)["plugins"]
    assert facts["compiler"]["packs"] and not facts["compiler"]["partitions"]
    (sim,) = json_of("devices", "sim")["plugins"]
    assert not sim["compiler"]["packs"]
    shown = torchplug_command("devices", packs)[1]
    assert "packs weights" in shown and "groups operators" not in shown


def test_a_plugin_that_crashes_is_a_row_with_the_reason(tmp_path):
    library = compile_plugin(tmp_path, "broken", CRASHES)
    install(tmp_path, "broken", f"PATH = {str(library)!r}")
    found = json_of("devices", "broken", "hello", code=1, path=tmp_path)["plugins"]
    assert "SIGABRT" in found[0]["error"] and found[0]["package"] == "vendor-broken"
    assert found[1]["name"] == "hello" and found[1]["error"] is None
    code, output, _ = torchplug_command("devices", "broken", path=tmp_path)
    assert code == 1 and "cannot be loaded" in output and "SIGABRT" in output


def test_a_plugin_that_hangs_is_given_up(tmp_path):
    library = compile_plugin(tmp_path, "slow", HANGS)
    code = f"""
import torch
from torchplug.cli import inspection
print(inspection.Look({str(library)!r}, seconds=0.01).facts())
"""
    output, _ = run(code, "none")
    facts = ast.literal_eval(output)
    assert "did not load within 0 seconds" in facts["error"] and facts["late"]


class TestPatience:
    """With a plugin, on a clock of the test's own."""

    def patience(self, seconds):
        self.now = self.waited = 100.0
        return inspection.Patience(seconds, lambda: self.waited, lambda: self.now)

    def test_time_of_its_own_passes(self):
        patience = self.patience(20)
        assert patience.next_look() == 1
        self.now += 19.5
        assert patience.next_look() == 0.5
        self.now += 0.5
        with pytest.raises(TimeoutError):
            patience.next_look()

    def test_time_spent_waiting_for_a_processor_does_not_pass(self):
        patience = self.patience(20)
        self.now, self.waited = 400.0, 381.0
        assert patience.next_look() == 1
        self.now += 2
        with pytest.raises(TimeoutError):
            patience.next_look()

    def test_it_ends_all_the_same(self):
        patience = self.patience(20)
        self.now = self.waited = 100.0 + inspection.LONGEST_SECONDS
        with pytest.raises(TimeoutError):
            patience.next_look()

    def test_the_kernel_tells_how_long_a_process_waited(self):
        assert inspection.waited_for_a_processor(os.getpid()) > 0
        assert inspection.waited_for_a_processor(2**22 + 1) == 0  # there is none


def test_a_package_that_raises_is_a_row_with_the_reason(tmp_path):
    install(tmp_path, "acme", "raise OSError('no driver')")
    (facts,) = json_of("devices", "acme", code=1, path=tmp_path)["plugins"]
    assert "vendor-acme 1.5" in facts["error"] and "no driver" in facts["error"]


def test_a_plugin_under_another_name_is_a_row_with_the_reason(tmp_path):
    library = compile_plugin(tmp_path, "other")
    install(tmp_path, "acme", f"PATH = {str(library)!r}")
    (facts,) = json_of("devices", "acme", code=1, path=tmp_path)["plugins"]
    assert "'other'" in facts["error"] and "'acme'" in facts["error"]


def test_a_plugin_without_devices_says_so():
    (facts,) = json_of("devices", "sim", TORCHPLUG_VISIBLE_DEVICES="")["plugins"]
    assert facts["error"] is None and facts["devices"] == [] and facts["no_device"]
    code, output, _ = torchplug_command("devices", "sim", TORCHPLUG_VISIBLE_DEVICES="9")
    assert code == 0 and "TORCHPLUG_VISIBLE_DEVICES is '9'" in output


def test_a_reader_that_leaves_early_is_no_error():
    command = f"{sys.executable} -m torchplug devices hello | head -c 1"
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "h", "")


# ---- doctor ----


def checks_of(answer):
    return {check["subject"]: check for check in answer["checks"]}


@pytest.fixture(scope="module")
def healthy():
    return json_of("doctor")


# One mistake each, beside which the others can be seen.
MISTAKES = {
    "TORCHPLUG_FALLBCK": "warn",
    "TORCHPLUG_FALLBACK": "maybe",
    "TORCHPLUG_DEVICE": "nonsense",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "TORCHPLUG_SIM_DEVCES": "1",
}


@pytest.fixture(scope="module")
def mistaken():
    return json_of("doctor", code=1, **MISTAKES)


def test_doctor_is_content_with_a_healthy_installation(healthy):
    checks = checks_of(healthy)
    assert healthy["healthy"] is True
    machine = {"huge pages", "threads"}  # are as they are
    assert {c["state"] for c in healthy["checks"] if c["subject"] not in machine} == {"ok"}
    assert torch.__version__ in checks["PyTorch"]["finding"]
    assert "2.11 to 2.13" in checks["PyTorch"]["finding"]
    assert torchplug.__version__ in checks["torchplug"]["finding"]
    assert checks["choice"]["finding"].startswith("sim: no package announces a default")
    for name in ("sim", "hello"):
        assert "results match the CPU" in checks[f"plugin {name}"]["finding"]


def test_doctor_in_a_pipe_is_plain_text_with_every_variable_there_is():
    code, output, errors = torchplug_command("doctor", COLUMNS="80")
    assert code == 0 and errors == "" and "\x1b" not in output and output.isascii()
    assert all(len(line) <= 80 for line in output.splitlines())
    assert output.endswith("No problems found.\n")
    words = " ".join(output.split())
    for name in [row.name for row in _settings.table()] + ["TORCHPLUG_SIM_MEMORY"]:
        assert name in words


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("TORCHPLUG_FALLBCK", "Did you mean TORCHPLUG_FALLBACK?"),
        ("TORCHPLUG_FALLBACK", "allow, warn, error"),
        ("choice", "'nonsense'"),
        ("autoload", "Unset it"),
        ("TORCHPLUG_SIM_DEVCES", "Did you mean TORCHPLUG_SIM_DEVICES?"),
    ],
    ids=["unknown_variable", "bad_value", "unknown_device", "autoload_off", "option_of_a_plugin"],
)
def test_doctor_says_what_to_do(mistaken, subject, words):
    check = checks_of(mistaken)[subject]
    assert mistaken["healthy"] is False and check["state"] == "error" and words in check["advice"]


def test_doctor_blames_the_setting_for_which_a_plugin_cannot_be_loaded():
    environment = {"TORCHPLUG_SIM_DEVCES": "1", "TORCHPLUG_LAYERS": "nonsense"}
    checks = checks_of(json_of("doctor", code=1, **environment))
    assert "'nonsense'" in checks["plugin sim"]["finding"] and not checks["plugin sim"]["advice"]
    mistyped = checks["TORCHPLUG_SIM_DEVCES"]
    assert mistyped["state"] == "error" and "TORCHPLUG_SIM_DEVICES?" in mistyped["advice"]


def test_doctor_knows_every_variable_of_the_table():
    table = _settings.table()
    values = {row.name: row.default if row.choices else "" for row in table}
    answer = json_of("doctor", **(values | {"TORCHPLUG_DEVICE": "sim"}))
    assert {check["state"] for check in answer["checks"]} <= {"ok", "warning"}
    assert values.keys() <= checks_of(answer).keys()
    listed = {row["name"]: row for row in answer["settings"]}
    for row in table:
        assert listed[row.name]["meaning"] == row.meaning
    assert listed["TORCHPLUG_SIM_DEVICES"]["reader"] == "plugin sim"


def test_doctor_tells_what_is_set_for_pytorch_and_for_plugins_but_no_secrets():
    variables = {
        "PYTORCH_ALLOC_CONF": "max_split_size_mb:64",
        "TORCH_HUB_PASSWORD": "hunter2",
        "TORCHPLUG_SIM_DEVICES": "1",
        "TORCHPLUG_DEVICE": "sim",
    }
    checks = checks_of(json_of("doctor", **variables))
    assert checks["PYTORCH_ALLOC_CONF"]["finding"] == "max_split_size_mb:64"
    assert "hunter2" not in str(checks) and "TORCH_HUB_PASSWORD" in checks
    assert checks["TORCHPLUG_SIM_DEVICES"]["finding"] == "1"
    assert "TORCHPLUG_DEVICE is a name" in checks["choice"]["finding"]
    assert checks["plugin sim"]["finding"].startswith("1 device;")


def test_doctor_works_where_the_core_cannot_be_loaded(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys; sys.modules['torchplug._C'] = None  # as if it had been built for another PyTorch\n"
    )
    answer = json_of("doctor", code=1, path=tmp_path, TORCHPLUG_FALLBCK="warn")
    checks = checks_of(answer)
    assert (
        checks["torchplug"]["state"] == "error" and "was built for" in checks["torchplug"]["advice"]
    )
    assert checks["TORCHPLUG_FALLBCK"]["state"] == "warning" and answer["settings"] == []


def test_doctor_does_not_blame_the_vendor_for_a_busy_machine():
    facts = {"name": "acme", "package": "vendor-acme", "error": "It did not load.", "late": True}
    assert "machine is busy" in doctor.check_plugin(facts).advice
    assert "machine" not in doctor.check_plugin(facts | {"late": False}).advice


def test_doctor_prints_nothing_private(tmp_path):
    library = tmp_path / "libacme.so"
    answer = json_of(
        "doctor",
        code=1,
        HOME=str(tmp_path),
        TORCHPLUG_DEVICE=str(library),
        TORCHPLUG_SIM_TOKEN="hunter2",
        UNRELATED="hunter3",
    )
    printed = json.dumps(answer)
    assert "~/libacme.so" in printed and "TORCHPLUG_SIM_TOKEN" in printed
    assert str(tmp_path) not in printed and "hunter" not in printed


def test_doctor_names_the_rule_by_which_a_vendor_is_chosen(tmp_path):
    for name in ("acme", "zeta"):
        install_device(tmp_path, name)
    checks = checks_of(json_of("doctor", path=tmp_path))
    assert checks["choice"]["finding"].startswith("acme: it is the first by name")
    assert checks["choice"]["state"] == "warning" and "acme, zeta" in checks["choice"]["advice"]


def test_doctor_finds_a_plugin_that_cannot_be_loaded(tmp_path):
    library = compile_plugin(tmp_path, "broken", CRASHES)
    install(tmp_path, "broken", f"PATH = {str(library)!r}")
    code, output, _ = torchplug_command("doctor", path=tmp_path)
    assert (
        code == 1
        and "SIGABRT" in output
        and "vendor-broken" in output
        and "Problems found: 1." in output
    )


# ---- run ----

SCRIPT = """
import os, sys
print(sys.argv, __name__, sys.path[0])
print({name: os.environ.get(name) for name in sys.argv[1:] if name.isupper()})
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def test_run_is_python_with_a_device(script):
    args = ["--device", "x", "ACCELERATE_TORCH_DEVICE", "-m", "TORCHPLUG_DEVICE"]
    code, output, errors = torchplug_command("run", "--device", "hello", script, *args)
    assert (code, errors) == (0, "")
    assert output.splitlines() == [
        f"{[str(script), *args]} __main__ {script.parent}",
        "{'ACCELERATE_TORCH_DEVICE': 'hello', 'TORCHPLUG_DEVICE': 'hello'}",
    ]


def test_run_takes_a_module_and_its_options(script):
    code, output, _ = torchplug_command(
        "run", "--device=hello", "-m", "script", "--verbose", cwd=script.parent
    )
    assert code == 0
    assert output.startswith(f"{[str(script), '--verbose']} __main__ {script.parent}\n")


def test_run_takes_code_and_standard_input():
    code = "import sys, torch; print(sys.stdin.read(), torch.hello.device_count(), sys.argv)"
    done = torchplug_command("run", "--device", "hello", "-c", code, "arg", input="words")
    assert done == (0, "words 1 ['-c', 'arg']\n", "")


def test_run_passes_its_options_on(script):
    names = ["TORCHPLUG_FALLBACK", "TORCHPLUG_VISIBLE_DEVICES"]
    options = ["--device", "sim", "--fallback", "warn", "--visible", "1,0"]
    _, output, _ = torchplug_command("run", *options, script, *names)
    assert output.splitlines()[1] == str(dict(zip(names, ["warn", "1,0"], strict=True)))


def test_run_without_a_device_takes_the_default(script):
    names = ["ACCELERATE_TORCH_DEVICE", "PL_TRAINER_ACCELERATOR"]
    _, output, _ = torchplug_command("run", script, *names)
    assert output.splitlines()[1] == str(dict.fromkeys(names, "sim"))
    _, output, _ = torchplug_command("run", "--device", "none", script, *names, "TORCHPLUG_DEVICE")
    assert output.splitlines()[1] == str(dict.fromkeys(names) | {"TORCHPLUG_DEVICE": "none"})


def test_run_leaves_a_library_the_device_it_was_given(script):
    names = ["ACCELERATE_TORCH_DEVICE", "PL_TRAINER_ACCELERATOR"]
    _, output, _ = torchplug_command("run", script, *names, PL_TRAINER_ACCELERATOR="cpu")
    assert output.splitlines()[1] == str(dict(zip(names, ["sim", "cpu"], strict=True)))


def test_lightning_is_told_of_the_device_only_where_it_is_to_take_it():
    code = (
        "import sys, torch; print('torchplug.lightning' in sys.modules, 'lightning' in sys.modules)"
    )
    for chosen, expected in (("hello", "True False\n"), ("cpu", "False False\n")):
        done = torchplug_command(
            "run", "-c", code, TORCHPLUG_DEVICE="hello", PL_TRAINER_ACCELERATOR=chosen
        )
        assert done == (0, expected, "")


def test_run_asks_a_plugin_at_a_path_for_its_name(script, tmp_path):
    library = compile_plugin(tmp_path, "acme")
    names = ["ACCELERATE_TORCH_DEVICE", "TORCHPLUG_DEVICE"]
    _, output, _ = torchplug_command("run", "--device", library, script, *names)
    assert output.splitlines()[1] == str(dict(zip(names, ["acme", str(library)], strict=True)))


@pytest.mark.parametrize("wish", ["nonsense", "/no/such/plugin.so"])
def test_run_on_an_unknown_device_is_one_sentence(script, wish):
    code, output, errors = torchplug_command("run", "--device", wish, script)
    assert (code, output) == (2, "") and wish in errors and len(errors.splitlines()) == 1


def test_run_gives_the_scripts_exit_code():
    for code, expected in (("raise SystemExit(7)", 7), ("raise ValueError('mine')", 1)):
        actual, output, errors = torchplug_command("run", "--device", "hello", "-c", code)
        assert (actual, output) == (expected, "")
        assert errors == "" or "ValueError: mine" in errors
    missing, _, errors = torchplug_command("run", "--device", "hello", "/no/such/script.py")
    assert missing == 2 and "/no/such/script.py" in errors


def test_run_gives_signals_to_the_script():
    """It is the script's own process, so a signal is the script's."""
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert torchplug_command("run", "--device", "hello", "-c", code)[0] == -signal.SIGTERM
    code = "import os; print(os.getpid())"
    with subprocess.Popen(
        [sys.executable, "-m", "torchplug", "run", "--device", "hello", "-c", code],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert int(process.stdout.read()) == process.pid


COVERED = """
import torch
x = torch.ones(300, 300, device="hello")
for _ in range(3):
    x = x.relu() @ x
"""


def test_coverage_ranks_the_operators_that_fall_back_by_time():
    code, output, errors = torchplug_command("coverage", "--device", "hello", "-c", COVERED)
    assert (code, output) == (0, "")
    lines = errors.splitlines()
    assert lines[0].startswith("The plugin's kernels carried out") and "relu" not in errors
    assert lines[1].split() == ["operator", "way", "calls", "time", "why"]
    assert lines[2].split()[:3] == ["aten::mm", "stage", "3"], "the products take longest"


def test_coverage_as_json_has_every_operator_with_its_seconds_and_why():
    _, _, errors = torchplug_command("coverage", "--device", "hello", "--json", "-c", COVERED)
    entries = json.loads(errors)
    assert {entry["way"] for entry in entries} == {"stage"}
    assert {entry["reason"] for entry in entries} == {"the plugin has no kernel for it"}
    seconds = [entry["seconds"] for entry in entries]
    assert seconds == sorted(seconds, reverse=True) and seconds[-1] > 0


def test_coverage_of_nothing_and_of_what_is_covered_says_so():
    _, _, errors = torchplug_command("coverage", "--device", "hello", "-c", "import torch")
    assert errors == "No operator ran on the device.\n"


def test_run_prints_the_ledger_on_stderr():
    code = "import torch; print(torch.ones(3, device='hello').relu().sum().item())"
    _, output, errors = torchplug_command("run", "--device", "hello", "--ledger", "-c", code)
    assert output == "3.0\n" and "aten::relu" in errors and "Where operators ran" in errors
    _, output, errors = torchplug_command(
        "run", "--device", "hello", "--ledger", "--json", "-c", code
    )
    assert output == "3.0\n"
    assert ("aten::relu", "kernel") in {(line["op"], line["way"]) for line in json.loads(errors)}


# ---- demo and bench ----


def test_the_demo_learns_the_same_on_the_device():
    answer = json_of("demo", "--device", "hello", fresh=True)
    assert answer["agree"] is True and answer["device"] == "hello"
    for task in answer["tasks"]:
        assert len(task["device"]["losses"]) == len(task["cpu"]["losses"]) == 40
        assert task["device"]["losses"][-1] < task["device"]["losses"][0]
    assert answer["ledger"]


def test_the_demo_in_a_pipe_keeps_progress_and_results_apart():
    code, output, errors = torchplug_command("demo", COLUMNS="80", fresh=True)
    assert code == 0 and output.isascii() and output.count("the losses agree") == 2
    assert "device 'sim'" in output and "Where the device's operators ran" in output
    assert "40/40" in errors and "40/40" not in output
    assert all(len(line) <= 80 for line in output.splitlines())


def test_the_demo_without_a_device_says_what_to_set():
    code, output, errors = torchplug_command("demo", TORCHPLUG_DEVICE="none", fresh=True)
    assert (code, output) == (2, "") and "TORCHPLUG_DEVICE" in errors


def test_bench_refuses_what_cannot_be_measured_in_one_sentence():
    code, output, errors = torchplug_command("bench", "--rounds", "0")
    assert (code, output) == (2, "") and "0 is not a number from 1 up" in errors
