"""Dependencies point down: the core knows no device, and a device knows nothing of PyTorch."""

import re
import subprocess
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import torch  # noqa: F401  torchplug's bindings need its libraries
from torch.utils import cpp_extension

import torchplug._C

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = {entry.name: Path(entry.load()) for entry in entry_points(group="torchplug.devices")}
DEVICE_FOLDERS = [
    path.parent
    for directory in ("devices", "examples")
    for path in (ROOT / directory).glob("*/pyproject.toml")
]
DEVICE_SOURCES = sorted(
    path
    for directory in DEVICE_FOLDERS
    for path in directory.rglob("*")
    if path.suffix in (".c", ".cpp", ".h") and "build" not in path.parts
)
CORE_SOURCES = sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in (".cpp", ".h"))

DEVICES = {path.name for path in DEVICE_FOLDERS}
VENDORS = {"cuda", "rocm", "hip", "xpu", "npu", "mps", "tpu", "gpu", "nvidia", "amd", "intel"}

# PyTorch's own names for what every device does.
NEUTRAL = re.compile(
    r"\b(?:GPU_MEMCPY|GPU_MEMSET|GPU_USER_ANNOTATION|CUDA_SYNC|kLinkAsyncCpuGpu)\b"
)

# The folders of the core, from the lowest on: each includes itself and what it stands on. The same order as in
# src/base/namespaces.h; `aten` is a module of several folders with an order of their own.
STANDS_ON = {
    "base": set(),
    "plugin": {"base"},
    "plugin/layers": {"base", "plugin"},
    "runtime": {"base", "plugin", "plugin/layers"},
    "memory": {"runtime"},
    "sharing": {"memory"},
    "capture": {"memory"},
    "aten/tensor": {"memory", "capture"},
    "aten/host": {"aten/tensor"},
    "aten/plan": {"aten/host"},
    "aten/kernel": {"aten/plan"},
    "aten/fallback": {"aten/plan"},
    "aten/decomposed": {"aten/kernel"},
    "aten/op": {"aten/decomposed", "aten/fallback"},
    "aten/layouts": {"aten/op"},
    "aten/shims": {"aten/op"},
    "aten/own": {"aten/op"},
    "aten": {"aten/layouts", "aten/shims", "aten/own"},
    "graph": {"base"},
    "compile": {"aten", "graph"},
    "package": {"compile"},
    "torchscript": {"compile"},
    "inductor": {"aten"},
    "autocast": {"plugin"},
    "profiler": {"memory"},
    "distributed": {"aten"},
    "pytorch": {
        "sharing",
        "package",
        "torchscript",
        "inductor",
        "autocast",
        "profiler",
        "distributed",
    },
    "python": {"pytorch"},
}
MOST_CONCEPTS = 20

EXTENSION_HEADER = ROOT / "include" / "torchplug" / "torchplug.hpp"

FOREIGN_HEADER = re.compile(r"#\s*include\s*[<\"](torch/|ATen/|c10/|caffe2/|pybind11/|Python\.h)")
FOREIGN_SYMBOL = re.compile(
    r"_?Py[A-Z_]|_ZN?K?(?:St)?(?:2at|3c10|5torch|6caffe2)|torch_|aoti_torch"
)
FOREIGN_LIBRARY = re.compile(r"\[lib(?:torch|c10|python)[^\]]*\]")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def words_of(code):
    """The words that identifiers and texts are made of: HostKernel, host_kernel give host, kernel."""
    for name in re.findall(r"[A-Za-z][A-Za-z0-9_]*", code):
        for part in name.split("_"):
            yield part.lower()
            yield from (word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+", part))


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def name_of(path):
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT / "devices") else path.name


@pytest.mark.parametrize("path", CORE_SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_core_names_no_device(path):
    code = NEUTRAL.sub("", without_comments(path.read_text()))
    named = set(words_of(code)) & (DEVICES | VENDORS)
    assert not named, f"{path} names {named}"


def everything_below(folder):
    direct = STANDS_ON[folder]
    return direct.union(*(everything_below(lower) for lower in direct))


def folder_of(path):
    return path.relative_to(ROOT / "src").parent.as_posix()


def test_every_folder_of_the_core_has_its_place():
    assert {folder_of(path) for path in CORE_SOURCES} == STANDS_ON.keys()


@pytest.mark.parametrize("path", CORE_SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_of_the_core_includes_only_what_its_folder_stands_on(path):
    folder = folder_of(path)
    included = {
        str(Path(name).parent) for name in re.findall(r'#include "([^"]+)"', path.read_text())
    }
    above = included - {"torchplug", folder} - everything_below(folder)
    assert not above, f"{path} includes {above}"


@pytest.mark.parametrize("path", CORE_SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_of_the_core_is_a_namespace(path):
    module = folder_of(path).split("/")[0]
    opened = re.findall(r"^namespace torchplug(?:::(\w+))?[^\n]*\{", path.read_text(), re.MULTILINE)
    public = path.name in (
        "extension.cpp",
        "extension_package.cpp",
        "extension_torchscript.cpp",
        "namespaces.h",
    )
    assert public or set(opened) == {module}


@pytest.mark.parametrize("folder", STANDS_ON)
def test_a_folder_of_the_core_has_few_enough_concepts_to_survey(folder):
    concepts = {path.stem for path in (ROOT / "src" / folder).iterdir() if path.is_file()}
    assert len(concepts) <= MOST_CONCEPTS, f"{folder}: {sorted(concepts)}"


GIVES_WORK = r"(copy|copy_strided|mem_fill|host_func|event_wait|capture_replay)\b"


@pytest.mark.parametrize("path", CORE_SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_work_is_given_to_a_device_through_submit_alone(path):
    if folder_of(path).startswith("plugin"):
        return  # below it
    text = without_comments(path.read_text())
    assert not re.search(rf"call_plugin<&\w+::{GIVES_WORK}", text)
    for asked in re.finditer(rf"(?<!return )ask_plugin<&\w+::{GIVES_WORK}", text):
        before = text[: asked.start()]
        assert before.rstrip().endswith(("?", ":")) and "submit(" in before[-400:]
    if re.search(rf"ask_plugin<&\w+::{GIVES_WORK}", text):
        assert "submit(" in text


def test_the_core_includes_nothing_of_python():
    for path in CORE_SOURCES:
        if path.parent.name != "python":
            foreign = re.findall(
                r"#include [<\"](?:pybind11/|Python\.h|torch/csrc/.*python|python/)",
                path.read_text(),
            )
            assert not foreign, f"{path}: {foreign}"


def test_the_built_core_has_no_standard_library_of_its_own():
    """Two in one process do not agree about locales: printing a number would crash."""
    core = Path(torchplug._C.__file__).parent / "libtorchplug.so"
    symbols = run("nm", "-D", "--defined-only", "--demangle", core)
    assert "std::locale::classic()" not in symbols, (
        "the compiler linked libstdc++ statically; set CXX to one that does not"
    )


def test_the_built_core_needs_nothing_of_python():
    core = Path(torchplug._C.__file__).parent / "libtorchplug.so"
    assert not re.findall(r"lib(?:torch_)?python[^\]]*", run("readelf", "-d", core))
    undefined = run("nm", "-D", "--undefined-only", "--format=posix", core).split()
    assert not [symbol for symbol in undefined if re.match(r"_?Py[A-Z_]", symbol)]


@pytest.mark.parametrize("path", DEVICE_SOURCES, ids=name_of)
def test_a_device_includes_no_header_of_pytorch_or_python(path):
    assert not FOREIGN_HEADER.findall(path.read_text())


@pytest.mark.parametrize("path", [p for p in DEVICE_SOURCES if p.suffix != ".h"], ids=name_of)
def test_a_device_needs_plug_h_its_own_headers_and_the_systems(path):
    compiler = ["cc", "-std=c11"] if path.suffix == ".c" else ["c++", "-std=c++20"]
    own = next(folder for folder in DEVICE_FOLDERS if path.is_relative_to(folder))
    folders = [ROOT / "include", own, *(folder for folder in own.iterdir() if folder.is_dir())]
    depends = run(*compiler, "-M", *(f"-I{folder}" for folder in folders), path)
    headers = [Path(word) for word in depends.replace("\\\n", " ").split()[1:]]
    assert ROOT / "include" / "torchplug" / "plug.h" in headers or path.suffix == ".cpp"
    foreign = [
        header for header in headers if {"torch", "ATen", "c10", "pybind11"} & set(header.parts)
    ]
    assert not foreign
    assert not [header for header in headers if header.name == "Python.h"]


def test_the_header_for_extensions_needs_plug_h_and_pytorch_alone():
    included = re.findall(r'#include [<"](.*)[>"]', EXTENSION_HEADER.read_text())
    own = {name for name in included if not name.startswith(("ATen/", "c10/")) and "/" in name}
    assert own == {"torchplug/plug.h"}


def test_the_header_for_extensions_compiles_alone_in_the_oldest_cpp_that_pytorch_does(tmp_path):
    def compiles(standard, header):
        source = tmp_path / "header.cpp"
        source.write_text(f"#include <{header}>\n")
        system = [f"-isystem{path}" for path in cpp_extension.include_paths()]
        warnings = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
        command = ["c++", f"-std={standard}", "-fsyntax-only", f"-I{ROOT / 'include'}", *system]
        return subprocess.run([*command, *warnings, source], check=False).returncode == 0

    oldest = "c++17" if compiles("c++17", "c10/core/DeviceGuard.h") else "c++20"
    assert compiles(oldest, "torchplug/torchplug.hpp")


def test_every_device_is_announced_to_torchplug():
    assert PLUGINS.keys() >= DEVICES


@pytest.mark.parametrize("path", PLUGINS.values(), ids=PLUGINS)
def test_a_built_plugin_exports_one_symbol(path):
    symbols = run("nm", "-D", "--defined-only", "--format=posix", path)
    names = [line.split()[0].split("@")[0] for line in symbols.splitlines()]
    assert names == ["torchplug_plugin_v0"]


@pytest.mark.parametrize("path", PLUGINS.values(), ids=PLUGINS)
def test_a_built_plugin_imports_nothing_of_pytorch_or_python(path):
    symbols = run("nm", "-D", "--undefined-only", "--format=posix", path)
    names = [line.split()[0] for line in symbols.splitlines()]
    assert not [name for name in names if FOREIGN_SYMBOL.match(name)]
    assert not FOREIGN_LIBRARY.findall(run("readelf", "-d", path))
