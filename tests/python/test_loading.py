"""Which plugin `import torch` loads, when, and what it says when it cannot."""

import ctypes
import inspect
from pathlib import Path

import pytest
import torch
from interpreter import HELLO, NAME, PLUGINS, SIM, UNTOUCHED, run
from vendors import compile_plugin, install, install_device

import torchplug
from torchplug import _C, _plugins

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

MAPPED = "print('sim.so' in open('/proc/self/maps').read())"


# ---- what is chosen ----


@pytest.mark.parametrize("name", ["sim", "hello"])
def test_import_torch_is_enough(name):
    code = f"import torch; print(torch.ones(2, device='{name}').sum().item())"
    assert run(code, name, fresh=True) == ("2.0", "")


def test_none_loads_nothing():
    assert run(NAME, "none") == ("privateuseone", "")


def test_a_plugin_can_be_given_by_path():
    assert run(NAME, HELLO) == ("hello", "")


def test_a_plugin_can_be_given_by_a_relative_path(tmp_path):
    library = compile_plugin(tmp_path, "near")
    assert run(NAME, f"./{library.name}", cwd=tmp_path) == ("near", "")


def test_a_plugin_can_be_loaded_by_hand():
    code = f"import torch, torchplug; print(torchplug.load({HELLO!r}))"
    assert run(code, "none") == ("hello", "")


def test_loading_a_plugin_twice_does_nothing():
    code = f"import torch, torchplug; print(torchplug.load({HELLO!r}), torch.ones(1, device='hello').item())"
    assert run(code, "hello") == ("hello 1.0", "")


def test_sim_is_the_device_of_last_resort():
    plugins = {"sim": _plugins.Plugin("sim", "torchplug-sim", "1", lambda: SIM)}
    assert _plugins.choose("", plugins, lambda _: "").plugin == plugins["sim"]
    assert _plugins.choose("", {}, lambda _: "").plugin is None


def test_an_installed_device_is_used_when_it_is_asked_for(tmp_path):
    install_device(tmp_path, "acme", group="torchplug.devices")
    assert run(NAME, path=tmp_path) == ("sim", "")
    assert run(NAME, "acme", path=tmp_path) == ("acme", "")


def test_one_that_is_announced_as_the_default_is_used_unasked(tmp_path):
    install_device(tmp_path, "acme")
    code = f"{NAME}; print(torch.ones(2, device='acme').sum().item())"
    assert run(code, path=tmp_path) == ("acme\n2.0", "")


def test_sim_and_hello_are_no_defaults(tmp_path):
    install_device(tmp_path, "zeta")
    assert run(NAME, path=tmp_path) == ("zeta", "")


def test_of_several_the_first_by_name_is_used_with_one_warning_that_names_all(tmp_path):
    for name in ("zeta", "acme", "beta"):
        install_device(tmp_path, name)
    output, errors = run(NAME, path=tmp_path)
    assert output == "acme"
    assert errors.count("Warning") == 1
    assert "'acme'" in errors and "acme, beta, zeta" in errors and "TORCHPLUG_DEVICE" in errors
    assert "sim" not in errors


def test_a_choice_among_several_is_not_warned_about(tmp_path):
    for name in ("acme", "zeta"):
        install_device(tmp_path, name)
    assert run(NAME, "zeta", path=tmp_path) == ("zeta", "")
    assert run(NAME, "sim", path=tmp_path) == ("sim", "")


def test_a_function_may_give_the_path(tmp_path):
    library = compile_plugin(tmp_path, "acme")
    code = f"import pathlib\ndef find():\n    return pathlib.Path({str(library)!r})\n"
    install(tmp_path, "acme", code, "find")
    assert run(f"{NAME}; torch.ones(1, device='acme')", path=tmp_path) == ("acme", "")


def test_only_the_package_of_the_chosen_plugin_is_imported(tmp_path):
    install_device(tmp_path, "acme")
    install(tmp_path, "zeta", "raise RuntimeError('nobody asked')")
    assert run(NAME, "acme", path=tmp_path) == ("acme", "")


class TestBesideAnotherAccelerator:
    """PyTorch's own accelerator keeps its place unless a device is asked for."""

    def plugins(self, *names):
        return {
            name: _plugins.Plugin(name, f"vendor-{name}", "1", str, is_default=name != "sim")
            for name in names
        }

    @pytest.mark.parametrize("names", [["sim"], ["acme", "sim"]])
    def test_nothing_is_chosen_unasked(self, names):
        choice = _plugins.choose("", self.plugins(*names), lambda _: "PyTorch's accelerator 'cuda'")
        assert choice.plugin is None and "cuda" in choice.rule

    def test_what_is_asked_for_is_chosen(self):
        choice = _plugins.choose("acme", self.plugins("acme"), lambda _: "cuda")
        assert choice.plugin.name == "acme"

    def test_a_backend_that_is_yet_to_be_loaded_only_keeps_sim_away(self):
        def later(before):
            return "the PyTorch backend 'other'" if before else ""

        assert _plugins.choose("", self.plugins("sim"), later).plugin is None
        assert _plugins.choose("", self.plugins("acme", "sim"), later).plugin.name == "acme"

    def pretend(self, monkeypatch, built_for, driver):
        """A PyTorch with an accelerator called cuda."""

        def open_library(name):
            if not driver:
                raise OSError(f"{name}: cannot open shared object file")

        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
        monkeypatch.setattr(torch.version, "cuda", built_for)
        monkeypatch.setattr(ctypes, "CDLL", open_library)

    @pytest.mark.parametrize("built_for", ["13.0", None], ids=["for_cuda", "for_hip"])
    def test_what_pytorch_was_built_with_counts(self, monkeypatch, built_for):
        self.pretend(monkeypatch, built_for, driver=built_for is not None)
        assert "'cuda'" in _plugins.rival(False)

    def test_what_it_was_built_with_does_not_count_where_it_cannot_be(self, monkeypatch):
        self.pretend(monkeypatch, "13.0", driver=False)
        assert _plugins.rival(False) == ""

    def test_a_device_that_is_registered_counts(self):
        assert torch._C._get_privateuse1_backend_name() in _plugins.rival(False)

    def test_a_device_is_refused_once_cuda_is_in_use(self):
        code = f"""
import torch, torchplug
torch.cuda.is_initialized = lambda: True
try:
    torchplug.load({HELLO!r})
except RuntimeError as error:
    print(error)
{UNTOUCHED}
"""
        output, errors = run(code, "none")
        assert "'hello'" in output and "'cuda'" in output and "different processes" in output
        assert (len(output.splitlines()), errors) == (1, "")

    def test_the_first_use_of_cuda_beside_the_device_is_one_warning(self):
        """PyTorch calls what is queued when it initialises CUDA."""
        code = f"""
import torch, torchplug
torch.cuda._is_compiled = lambda: True
queued = len(torch.cuda._queued_calls)
torchplug.load({HELLO!r})
((initialised, _),) = torch.cuda._queued_calls[queued:]
print(torch.ones(2, device="hello").sum().item())
import sys
print("first use", file=sys.stderr)
initialised()
"""
        output, errors = run(code, "none")
        before, after = errors.split("first use")
        assert (output, before) == ("2.0", "")
        assert after.count("Warning") == 1
        assert "'cuda'" in after and "'hello'" in after and "backward()" in after

    def test_backward_of_the_other_accelerators_tensors_is_refused_in_one_sentence(self):
        """With meta tensors for those of the other accelerator."""
        code = """
import torch
from torchplug import _beside
x = torch.ones(2, device="meta", requires_grad=True)
y = torch.ones(2, requires_grad=True)
x.sum().backward()
_beside.refuse_backward("hello", "meta")
for use in (lambda: x.sum().backward(), lambda: torch.autograd.grad(x.sum(), x)):
    try:
        use()
    except RuntimeError as error:
        print(error)
(y.sum() * 2).backward()
print(y.grad.tolist())
"""
        output, errors = run(code, "none")
        first, second, works = output.splitlines()
        assert first == second and "'hello'" in first and "different processes" in first
        assert (works, errors) == ("[2.0, 2.0]", "")

    def test_nothing_is_queued_where_pytorch_has_no_other_accelerator(self):
        code = f"""
import torch, torchplug
queued = len(torch.cuda._queued_calls)
torchplug.load({HELLO!r})
print(len(torch.cuda._queued_calls) - queued)
"""
        assert run(code, "none") == ("1" if torch.cuda._is_compiled() else "0", "")

    def test_another_installed_backend_keeps_sim_away(self, tmp_path):
        install(tmp_path, "other", "def load(): pass", "load", group="torch.backends")
        assert run(NAME, path=tmp_path) == ("privateuseone", "")


# ---- when ----


def test_a_named_plugin_is_not_loaded_by_the_import():
    assert run(f"import torch; {MAPPED}; torch.ones(1, device='sim'); {MAPPED}", "sim") == (
        "False\nTrue",
        "",
    )


def test_a_path_is_loaded_by_the_import():
    assert run(f"import torch; {MAPPED}", SIM) == ("True", "")


OVERRIDES = """
import torch
library = torch.library.Library("aten", "IMPL")

@torch.library.impl(library, "erf.out", "PrivateUse1")
def erf_out(x, *, out):
    return out.resize_(x.shape).fill_(7)

x = torch.zeros(2, device=torch._C._get_privateuse1_backend_name())
print(torch.erf(x).tolist(), x.clone().erf_().tolist(), torch.erf(x, out=torch.empty(0, device=x.device)).tolist())
"""


@pytest.mark.parametrize("choice", ["sim", SIM], ids=["name", "path"])
def test_an_extension_that_comes_before_the_first_use_has_every_form_and_no_warning(choice):
    assert run(OVERRIDES, choice) == ("[7.0, 7.0] [7.0, 7.0] [7.0, 7.0]", "")


@pytest.mark.parametrize("seed", [5, -1, 2**64 - 1])
def test_seeding_a_program_that_never_uses_the_device_loads_no_plugin(seed):
    code = f"import torch; torch.manual_seed({seed}); torch.rand(2); {MAPPED}"
    assert run(code, "sim") == ("False", "")


def test_a_seed_given_before_the_device_is_used_holds():
    code = """
import torch
torch.manual_seed(-7)
early = torch.rand(4, device="sim").tolist()
torch.manual_seed(-7)
print(early == torch.rand(4, device="sim").tolist(), torch.sim.initial_seed() == 2**64 - 7)
"""
    assert run(code, "sim") == ("True True", "")


@pytest.mark.parametrize("choice", ["sim", SIM], ids=["by_name", "by_path"])
def test_importing_starts_no_thread(choice):
    """By torchplug: a process that has imported PyTorch forks, and then loads the device."""
    code = "import torch; import os; print(len(os.listdir('/proc/self/task')))"
    assert run(code, choice) == ("1", "")


def test_importing_torchplug_or_its_command_line_imports_no_torch():
    code = "import sys, torchplug.cli; torchplug.cli.main(['--version'])"
    output, _ = run(
        f"import atexit, sys; atexit.register(lambda: print('torch' in sys.modules))\n{code}"
    )
    assert output.splitlines()[-1] == "False"


# ---- what is said when it goes wrong ----


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("nonsense", ["no device plugin named 'nonsense'", "hello", "sim"]),
        ("/no/such/plugin.so", ["/no/such/plugin.so", "No such file"]),
        (_C.__file__, ["is not a torchplug plugin", "torchplug_plugin_v0"]),
        (__file__, ["cannot be loaded", "invalid ELF header"]),
    ],
    ids=["unknown_name", "no_file", "no_plugin", "no_library"],
)
def test_a_plugin_that_cannot_be_loaded_is_a_warning_and_torch_works(choice, words):
    output, errors = run("import torch; print(torch.ones(2).sum().item())", choice)
    assert output == "2.0"
    assert errors.count("Warning") == 1
    for word in words:
        assert word in errors


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('libdriver is missing')", "ImportError: libdriver is missing"),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence"),
        ("PATH = 5", "TypeError"),
        ("", "AttributeError"),
    ],
    ids=["raises", "exits", "no_path", "no_attribute"],
)
def test_a_vendors_package_that_fails_is_one_warning_that_names_it(tmp_path, code, words):
    install(tmp_path, "acme", code)
    output, errors = run(f"{NAME}; torch.ones(2)", path=tmp_path)
    assert output == "privateuseone"
    assert errors.count("Warning") == 1
    assert "vendor-acme 1.5" in errors and "'acme'" in errors and words in errors


def test_a_name_no_device_can_have_is_a_warning(tmp_path):
    install(tmp_path, "Acme-1", "")
    _, errors = run(NAME, "Acme-1", path=tmp_path)
    assert "'Acme-1'" in errors and "lower-case letters" in errors


def test_a_plugin_that_calls_itself_something_else_is_an_error_at_first_use(tmp_path):
    library = compile_plugin(tmp_path, "other")
    install(tmp_path, "acme", f"PATH = {str(library)!r}")
    code = """
import torch
try:
    torch.ones(1, device="acme")
except RuntimeError as error:
    print(error)
"""
    output, errors = run(code, path=tmp_path)
    assert errors == ""
    assert "'other'" in output and "'acme'" in output and "entry point" in output


def test_warnings_that_are_errors_do_not_stop_the_import():
    output, errors = run("import torch; print('on')", "nonsense", "-W", "error::RuntimeWarning")
    assert output == "on" and "nonsense" in errors


def test_a_second_device_plugin_is_refused_and_both_are_named():
    code = f"""
import torch, torchplug
try:
    torchplug.load({HELLO!r})
except RuntimeError as error:
    print(error)
print(torch.ones(1, device="sim").item())
"""
    output, _ = run(code, "sim")
    assert "'hello'" in output and "'sim'" in output and "libhello.so" in output
    assert output.endswith("1.0")


def test_a_bad_setting_of_the_device_says_what_to_set():
    code = """
import torch
try:
    torch.ones(1, device="sim")
except RuntimeError as error:
    print(error)
"""
    output, _ = run(code, "sim", TORCHPLUG_SIM_MEMORY="lots")
    assert "TORCHPLUG_SIM_MEMORY" in output and "lots" in output


def test_a_bad_fallback_policy_says_what_to_set():
    code = """
import torch
try:
    torch.ones(2, device="hello").exp()
except RuntimeError as error:
    print(error)
"""
    output, _ = run(code, "hello", TORCHPLUG_FALLBACK="maybe")
    assert "TORCHPLUG_FALLBACK is 'maybe'" in output and "allow, warn or error" in output


# ---- the rest ----


def test_the_package_knows_its_version():
    assert torchplug.__version__.count(".") == 2


def test_the_ledger_is_printed_at_exit_if_asked_for():
    code = "import torch; torch.ones(3, device='hello').relu()"
    output, errors = run(code, "hello", TORCHPLUG_LEDGER="1")
    assert output == "" and "aten::relu" in errors and "kernel" in errors
    assert run("import torch;", "hello", TORCHPLUG_LEDGER="0") == ("", "")


@pytest.mark.parametrize("name", ["sim", "hello"])
def test_a_script_that_ends_right_after_backward_ends_well(name):
    """torchplug._patches.finish_backward: without it about one such script in three aborts."""
    code = f"""
import torch
torch.nn.Linear(4, 2).to("{name}")(torch.ones(3, 4, device="{name}")).sum().backward()
"""
    for _ in range(5):
        assert run(code, name) == ("", "")


@pytest.mark.pytorch("2.11 leaves no such object", since=(2, 13))
def test_finish_backward_is_still_needed():
    """Fails when PyTorch no longer leaves a Python object with autograd's threads."""
    source = inspect.getsource(torch.autograd.graph._engine_run_backward)
    assert "_stash_obj_in_tls" in source


def test_every_plugin_that_is_installed_is_a_file():
    for plugin in PLUGINS.values():
        assert Path(plugin.resolve()).is_file()
