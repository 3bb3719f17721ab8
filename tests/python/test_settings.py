"""The environment variables: one table of them, and what is said of one that nobody reads."""

import re
from pathlib import Path

import pytest
import torch  # noqa: F401  torchplug's bindings need its libraries
import torchplug_hello
import torchplug_sim
import torchplug_xcpu
from interpreter import HELLO, NAME, run
from vendors import compile_plugin, install, install_device

from torchplug import _plugins, _settings

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")

ROOT = Path(__file__).resolve().parents[2]
TABLE = {setting.name: setting for setting in _settings.table()}
VARIABLE = re.compile(r"TORCHPLUG_[A-Z][A-Z_]*[A-Z]")


def sources(folder, *suffixes):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes]


# ---- the table ----


def test_the_core_reads_the_environment_in_one_file():
    readers = {path.name for path in sources("src", ".cpp", ".h") if "getenv" in path.read_text()}
    assert readers == {"settings.cpp"}


@pytest.mark.parametrize("name", TABLE)
def test_a_variable_is_read_where_the_table_says(name):
    text = (ROOT / TABLE[name].reader).read_text()
    if TABLE[name].reader.endswith(".cpp"):
        assert f'"{name}"' in text
    else:
        (constant,) = (key for key, value in vars(_settings).items() if value == name)
        assert f"_settings.read(_settings.{constant})" in text


def test_python_names_no_other_variables():
    for path in sources("torchplug", ".py"):
        quoted = set(re.findall(rf'"({VARIABLE.pattern})', path.read_text()))
        assert quoted <= TABLE.keys(), path


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in sources("docs", ".md"))])
def test_a_page_names_no_variable_that_nobody_reads(page):
    named = set(VARIABLE.findall((ROOT / page).read_text()))
    others = {
        name for name in named if name.startswith("TORCHPLUG_ACME_")
    }  # of an invented vendor's
    devices = torchplug_sim.options.keys() | torchplug_xcpu.options.keys()
    assert named - others <= TABLE.keys() | devices


def test_readme_has_the_table():
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| `(TORCHPLUG_[^`]*)` \| (.*) \| (.*) \|$", readme, re.MULTILINE)
    shown = [(name.replace("\\|", "|"), default, meaning) for name, default, meaning in rows]
    expected = [(f"{row.name}={row.values}", row.default, row.meaning) for row in TABLE.values()]
    # A page with more on the subject may be named behind a colon.
    assert [(n, d, re.sub(r": \[.*\]\(.*\)$", "", m)) for n, d, m in shown] == expected


# ---- options of plugins ----


def test_sim_lists_every_option_that_it_asks_for():
    asked = re.findall(r'"sim\.(\w+)"', (ROOT / "devices/sim/options.cpp").read_text())
    assert {f"TORCHPLUG_SIM_{key.upper()}" for key in asked} == torchplug_sim.options.keys()


def test_hello_has_no_options():
    assert "->option" not in (ROOT / "examples/hello/hello.c").read_text()
    assert torchplug_hello.options == {}


def test_an_announcement_lists_options():
    plugins = _plugins.installed_plugins()
    assert plugins["sim"].options() == torchplug_sim.options
    assert _plugins.plugin_at("/some/library.so").options() is None


# ---- what nobody reads ----

OWN = ["TORCHPLUG_DEVICE", "TORCHPLUG_FALLBACK", "TORCHPLUG_VISIBLE_DEVICES"]
OPTIONS = {
    "acme": {"TORCHPLUG_ACME_CACHE": "bytes"},
    "acme_two": {"TORCHPLUG_ACME_TWO_CACHE": "bytes"},
    "silent": None,
    "plain": {},
}


@pytest.mark.parametrize(
    "name",
    [*OWN, "TORCHPLUG_ACME_CACHE", "TORCHPLUG_ACME_TWO_CACHE", "TORCHPLUG_SILENT_WHATEVER"],
)
def test_what_somebody_reads_is_left_alone(name):
    assert _settings.unread([name], OWN, OPTIONS) == {}


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("TORCHPLUG_DEVCE", "TORCHPLUG_DEVICE"),
        ("TORCHPLUG_FALLBCK", "TORCHPLUG_FALLBACK"),
        ("TORCHPLUG_VISIBLE_DEVICE", "TORCHPLUG_VISIBLE_DEVICES"),
        ("TORCHPLUG_ACME_CASH", "TORCHPLUG_ACME_CACHE"),
        ("TORCHPLUG_ACME_TWO_CASH", "TORCHPLUG_ACME_TWO_CACHE"),
        ("TORCHPLUG_ACNE_CACHE", "TORCHPLUG_ACME_CACHE"),
    ],
)
def test_of_what_nobody_reads_the_nearest_name_is_told(name, nearest):
    assert _settings.unread([name], OWN, OPTIONS) == {name: f"Did you mean {nearest}?"}


@pytest.mark.parametrize("name", ["TORCHPLUG_Q", "TORCHPLUG_PLAIN_CACHE"])
def test_where_none_is_near_the_way_to_all_is_told(name):
    assert "torchplug doctor" in _settings.unread([name], OWN, OPTIONS)[name]


# ---- what is said of it ----


def test_a_variable_that_nobody_reads_is_one_warning_with_the_nearest_name():
    output, errors = run(NAME, "sim", TORCHPLUG_FALLBCK="warn", TORCHPLUG_SIM_DEVCES="1")
    assert output == "sim" and errors.count("Warning") == 2
    assert "TORCHPLUG_FALLBCK. Did you mean TORCHPLUG_FALLBACK?" in errors
    assert "TORCHPLUG_SIM_DEVCES. Did you mean TORCHPLUG_SIM_DEVICES?" in errors


def test_variables_that_are_read_are_not_warned_of():
    own = {row.name: row.default for row in _settings.table() if row.choices}
    environment = own | {"TORCHPLUG_VISIBLE_DEVICES": "0", "TORCHPLUG_ALLOC_CONF": ""}
    environment |= {"TORCHPLUG_SIM_DEVICES": "1", "TORCHPLUG_HELLO_ANYTHING": "1"}
    environment |= {"TORCHPLUG_TEST_ANYTHING": "1"}  # torchplug's own tests'
    assert run(f"{NAME}; torch.ones(1, device='sim')", "sim", **environment) == ("sim", "")


def test_a_plugin_at_a_path_may_read_what_it_likes(tmp_path):
    library = compile_plugin(tmp_path, "near")
    code = f"{NAME}; import torchplug; torchplug.load({str(library)!r})"
    _, errors = run(code, str(library), TORCHPLUG_NEAR_ANYTHING="1", TORCHPLUG_LEGDER="0")
    assert errors.count("Warning") == 1 and "TORCHPLUG_LEDGER" in errors


def test_a_vendor_that_lists_no_options_may_read_what_it_likes(tmp_path):
    install_device(tmp_path, "acme")
    assert run(NAME, path=tmp_path, TORCHPLUG_ACME_ANYTHING="1") == ("acme", "")


def test_a_vendors_list_that_is_none_is_one_warning_that_names_it(tmp_path):
    library = compile_plugin(tmp_path, "acme")
    install(tmp_path, "acme", f"PATH = {str(library)!r}\noptions = ['cache']")
    output, errors = run(NAME, path=tmp_path, TORCHPLUG_ACME_CACHE="1")
    assert output == "acme" and errors.count("Warning") == 1
    assert "vendor-acme 1.5" in errors and "TORCHPLUG_ACME_" in errors


def test_the_warning_comes_with_a_plugin_loaded_by_hand_and_not_without_one():
    environment = {"TORCHPLUG_FALLBCK": "warn"}
    assert run(NAME, "none", **environment) == ("privateuseone", "")
    code = f"import torch, torchplug; torchplug.load({HELLO!r}); torchplug.load({HELLO!r})"
    _, errors = run(code, "none", **environment)
    assert errors.count("Warning") == 1 and "TORCHPLUG_FALLBACK" in errors
