"""The wheels in dist/ (`make wheel`) hold what they should, and work beside PyTorch with nothing else."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

import torchplug

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
DEVICES = {
    "sim": ROOT / "devices" / "sim",
    "xcpu": ROOT / "devices" / "xcpu",
    "hello": ROOT / "examples" / "hello",
}
NAMES = ["torchplug", *(f"torchplug_{device}" for device in DEVICES)]
PLATFORM = sysconfig.get_platform().replace("-", "_")

# All that a plugin may need at run time: the C and C++ libraries.
SYSTEM_LIBRARY = re.compile(r"(lib(c|m|gcc_s|stdc\+\+|pthread|dl|rt)|ld-linux-x86-64)\.so\.\d+")
FOREIGN_SYMBOL = re.compile(r"_?Py[A-Z_]|_ZN?K?(?:St)?(?:2at|3c10|5torch|6caffe2)")


def wheel(name):
    found = list(DIST.glob(f"{name}-*.whl"))
    assert len(found) == 1, f"dist/ holds {len(found)} wheels of {name}. Run: make wheel"
    return found[0]


def files(name):
    """What the wheel installs: {path: contents}, the metadata left out."""
    with zipfile.ZipFile(wheel(name)) as archive:
        return {n: archive.read(n) for n in archive.namelist() if ".dist-info/" not in n}


def metadata(name, file="METADATA"):
    with zipfile.ZipFile(wheel(name)) as archive:
        (path,) = (n for n in archive.namelist() if n.endswith(f".dist-info/{file}"))
        return archive.read(path).decode()


def libraries(name, directory):
    """The shared libraries of a wheel, unpacked."""
    with zipfile.ZipFile(wheel(name)) as archive:
        archive.extractall(directory)
    return sorted(directory.rglob("*.so"))


def run(*command, **options):
    result = subprocess.run(
        [str(word) for word in command], check=False, capture_output=True, text=True, **options
    )
    assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
    return result.stdout.strip(), result.stderr.strip()


def dynamic_section(library, tag):
    output, _ = run("readelf", "--dynamic", library)
    return re.findall(rf"\({tag}\).*\[(.*)\]", output)


class Environment:
    """A virtual environment that sees chosen packages of this one, and whose pip sees dist/ alone."""

    def __init__(self, directory, sees):
        venv.create(directory, with_pip=False)
        self.directory = directory
        self.python = directory / "bin" / "python"
        self.site_packages = Path(
            sysconfig.get_path("purelib", vars={"base": str(directory), "platbase": str(directory)})
        )
        for path in SITE_PACKAGES.iterdir():
            if sees(path.name):
                (self.site_packages / path.name).symlink_to(path)
        own = ("PYTHON", "PIP_", "TORCHPLUG_", "VIRTUAL_ENV")
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith(own)}
        self.environ["PIP_CONFIG_FILE"] = os.devnull

    def pip(self, *arguments):
        run(sys.executable, "-m", "pip", "--python", self.python, *arguments, "--no-index",
            cwd=self.directory, env=self.environ)  # fmt: skip

    def install(self, package):
        self.pip("install", "--quiet", "--find-links", DIST, package)

    def run(self, code, **environ):
        """Standard output and standard error."""
        return run(self.python, "-c", code, cwd=self.directory, env=self.environ | environ)


@pytest.fixture(scope="module")
def beside_torch(tmp_path_factory):
    """PyTorch and what it needs, and of torchplug what `pip install torchplug` installs."""
    environment = Environment(
        tmp_path_factory.mktemp("beside_torch") / "venv",
        sees=lambda name: (
            not re.match(r"torchplug|_editable|__pycache__|pip", name) and not name.endswith(".pth")
        ),
    )
    found = (
        "import importlib.util as u; print(u.find_spec('torchplug'), u.find_spec('torchplug_sim'))"
    )
    assert environment.run(found) == ("None None", "")
    environment.install("torchplug")
    return environment


# ---- what is in them ----


def test_the_core_is_for_one_python_and_a_device_for_every_one():
    ours = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert wheel("torchplug").name.endswith(f"-{ours}-{ours}-{PLATFORM}.whl")
    for device in DEVICES:
        assert wheel(f"torchplug_{device}").name.endswith(f"-py3-none-{PLATFORM}.whl")


def test_the_core_holds_its_python_files_its_headers_its_libraries_its_program_and_no_plugin():
    held = files("torchplug")
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in (ROOT / "torchplug").rglob("*")
        if path.suffix in (".py", ".pyi") or path.name == "py.typed"
    } | {
        f"torchplug/{path.relative_to(ROOT).as_posix()}": path.read_bytes()
        for path in [*(ROOT / "include").rglob("*.h*"), ROOT / "cmake" / "torchplugConfig.cmake"]
    }
    assert {"torchplug/py.typed", "torchplug/include/torchplug/torchplug.hpp"} < sources.keys()
    compiled = {
        f"torchplug/_C{sysconfig.get_config_var('EXT_SUFFIX')}",
        "torchplug/libtorchplug.so",
        "torchplug/libtorchplug_torchscript.so",
        "torchplug/bin/plug-check",
        "torchplug/bin/plug-replay",
    }
    assert held.keys() == sources.keys() | compiled
    old = [name for name in sources if held[name] != sources[name]]
    assert not old, f"dist/ is older than {old}. Run: make wheel"
    assert "torchplug.devices" not in metadata("torchplug", "entry_points.txt")


def also_in(device):
    """What a device's wheel holds beside its plugin: of xcpu, the kernels for programs in C."""
    if device != "xcpu":
        return set()
    headers = (DEVICES[device] / "include").rglob("*.h")
    names = [str(path.relative_to(DEVICES[device])) for path in headers]
    names += ["py.typed", "lib/libxcpu_kernels.a", "cmake/xcpuConfig.cmake", "bench/xcpu_probe"]
    package = DEVICES[device] / "torchplug_xcpu"
    names += [str(path.relative_to(package)) for path in (package / "bench").rglob("*.py")]
    return {f"torchplug_xcpu/{name}" for name in names}


def test_the_operators_of_xcpu_are_there_without_its_device():
    announced = metadata("torchplug_xcpu", "entry_points.txt")
    assert "[torchplug.operators]\nxcpu = torchplug_xcpu:library" in announced
    assert "default_devices" not in announced


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_holds_its_library_and_says_where_it_is(device):
    package = f"torchplug_{device}"
    held = {f"{package}/__init__.py", f"{package}/lib{device}.so"}
    assert files(package).keys() == held | also_in(device)
    assert f"[torchplug.devices]\n{device} = {package}:library" in metadata(
        package, "entry_points.txt"
    )
    assert "Requires-Dist" not in metadata(package)


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_says_under_which_license_it_is(name):
    assert metadata(name, "licenses/LICENSE") == (ROOT / "LICENSE").read_text()


def test_all_have_one_version_and_the_core_requires_its_device_of_last_resort():
    versions = {re.search(r"^Version: (.*)$", metadata(name), re.MULTILINE)[1] for name in NAMES}
    versions.add(
        re.search(r"project\(torchplug VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    )
    assert versions == {torchplug.__version__}
    assert str(required_by_core()["torchplug-sim"].specifier) == f"=={torchplug.__version__}"


def required_by_core():
    lines = re.findall(r"^Requires-Dist: (.*)$", metadata("torchplug"), re.MULTILINE)
    return {Requirement(line).name: Requirement(line) for line in lines}


def test_the_core_requires_the_one_minor_of_pytorch_it_was_built_for():
    major, minor = map(int, torch.__version__.split(".")[:2])
    accepted = required_by_core()["torch"].specifier
    assert accepted.contains(f"{major}.{minor}.0") and accepted.contains(f"{major}.{minor}.7")
    assert not accepted.contains(f"{major}.{minor + 1}.0")
    assert not accepted.contains(f"{major}.{minor - 1}.9")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_says_where_it_was_built(name):
    places = {str(ROOT).encode(), str(SITE_PACKAGES).encode()}
    for file, contents in files(name).items():
        assert not [place for place in places if place in contents], file


def test_the_core_looks_for_pytorch_beside_itself_alone(tmp_path):
    for library in libraries("torchplug", tmp_path):
        (path,) = dynamic_section(library, "RUNPATH")
        assert set(path.split(":")) <= {"$ORIGIN", "$ORIGIN/../torch/lib"}


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_needs_the_systems_libraries_alone(device, tmp_path):
    (library,) = libraries(f"torchplug_{device}", tmp_path)
    needed = dynamic_section(library, "NEEDED")
    assert not [name for name in needed if not SYSTEM_LIBRARY.fullmatch(name)]
    assert not dynamic_section(library, "RUNPATH") + dynamic_section(library, "RPATH")
    symbols, _ = run("nm", "--dynamic", "--undefined-only", "--format=posix", library)
    assert not [line for line in symbols.splitlines() if FOREIGN_SYMBOL.match(line)]


# ---- installing them ----


def test_the_core_and_its_device_work_beside_pytorch(beside_torch):
    output, errors = beside_torch.run(
        "import torch; print(torch.ones(2, device='sim').sum().item(), torch.ones(2).to('sim').device);"
        "print(open('/proc/self/maps').read())"
    )
    assert output.startswith("2.0 sim:0\n") and errors == ""
    loaded = set(re.findall(r"\S+/lib(?:torchplug|sim)\.so", output))
    package = beside_torch.site_packages.resolve()
    assert loaded == {f"{package}/torchplug/libtorchplug.so", f"{package}/torchplug_sim/libsim.so"}


def test_a_device_is_found_once_its_wheel_is_installed(beside_torch):
    code = "import torch; print(torch._C._get_privateuse1_backend_name())"
    name, warning = beside_torch.run(code, TORCHPLUG_DEVICE="hello")
    assert name == "privateuseone"
    assert "no device plugin named 'hello'" in warning and "one of: sim," in warning
    beside_torch.install("torchplug-hello")
    assert beside_torch.run(code, TORCHPLUG_DEVICE="hello") == ("hello", "")
    assert beside_torch.run(code) == ("sim", "")


def test_the_installed_core_says_where_its_headers_and_its_library_are(beside_torch):
    output, _ = beside_torch.run(
        "from torchplug import cpp_extension as e; print(*e.include_paths(), *e.library_paths())"
    )
    include, library = map(Path, output.split())
    assert (include / "torchplug" / "torchplug.hpp").exists()
    assert (library / "libtorchplug.so").exists()


# ---- a vendor's copy ----


@pytest.mark.parametrize("place", ["beside", "elsewhere"])
def test_a_copy_of_hello_is_packed_without_pytorch(tmp_path, place):
    """With plug.h copied along, or in a directory given by PLUG_INCLUDE."""
    environment = Environment(
        tmp_path / "venv", sees=re.compile(r"scikit_build_core|packaging|pathspec").match
    )
    environment.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    copy = tmp_path / "acme"
    shutil.copytree(DEVICES["hello"], copy, ignore=shutil.ignore_patterns("build"))
    include = (copy if place == "beside" else tmp_path) / "include"
    (include / "torchplug").mkdir(parents=True)
    shutil.copy(ROOT / "include" / "torchplug" / "plug.h", include / "torchplug")
    given = (
        [f"--config-settings=cmake.define.PLUG_INCLUDE={include}"] if place == "elsewhere" else []
    )
    environment.pip(
        "wheel", "--quiet", "--no-build-isolation", *given, "--wheel-dir", tmp_path, copy
    )
    assert (tmp_path / wheel("torchplug_hello").name).exists()
