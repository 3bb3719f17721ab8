"""Plugins built against an earlier plug.h load and run: tables of every shorter size, and a device that was kept."""

import ctypes
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from helpers import output_of, run_python
from session import Session
from vendors import compile_test_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

RECORDED = (ROOT / "tests" / "abi" / "plug_v0.txt").read_text()
KEPT = ROOT / "tests" / "abi" / "kept"


def load_tool(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layout = load_tool(ROOT / "tools" / "abi" / "layout.py")


def members_of(struct, text=RECORDED):
    """(name, offset, size, declaration) of each member, in order."""
    block = text.split(f"\nstruct {struct} ")[1].split("\n\n")[0]
    found = re.findall(r"^  (\w+) (\d+) (\d+): (.*)$", block, flags=re.MULTILINE)
    return [
        (name, int(offset), int(size), declaration) for name, offset, size, declaration in found
    ]


def ends_of(struct, first):
    """The sizes of the struct from its member `first` on, each ending behind a member. Behind a member of four bytes
    stands the one that fills the word."""
    members = members_of(struct)
    place = [name for name, *_ in members].index(first)
    ends = {name: offset + size for name, offset, size, _ in members[place:]}
    return {name: end for name, end in ends.items() if end % 8 == 0}


# From where a plugin has what is mandatory, and the groups that are whole or absent, by their last function.
RUNTIME = ends_of("plug_runtime", "copy")
GROUPS = [
    ("stream_create", "event_sync"),
    ("host_alloc", "host_free"),
    ("capture_begin", "capture_destroy"),
    ("ipc_export", "ipc_import_event"),
    ("mem_reserve", "mem_unmap"),
    ("host_map", "host_unmap"),
]


def inside_of_a_group(member):
    names = list(RUNTIME)
    spans = [names[names.index(first) : names.index(last)] for first, last in GROUPS]
    return any(member in span for span in spans)


WHOLE_RUNTIMES = {name: size for name, size in RUNTIME.items() if not inside_of_a_group(name)}
PARTIAL = [name for name in RUNTIME if inside_of_a_group(name)]
OTHERS = {
    "module": list(ends_of("plug_module", "runtime").values()),
    "kernels": list(ends_of("plug_kernels", "list").values()),
    "kernel": list(ends_of("plug_kernel", "fn").values()),
    "autocast": list(ends_of("plug_autocast", "dtype").values()),
    "compiler": [
        end
        for last, end in ends_of("plug_compiler", "engine_destroy").items()
        if last not in ("identity", "engine_save")  # of a group that is whole or absent
    ],
}

BODY = """
import torchplug
module = torch.get_device_module(device)
x = torch.linspace(-2, 2, 12).reshape(3, 4)
there = x.to(device)
for _ in range(2):
    assert torch.equal(there.relu().cpu(), x.relu())
    assert torch.equal((there + there.t().contiguous().t()).cpu(), x + x)
    assert torch.equal(there.t().to(torch.float64).cpu(), x.t().double())
    assert torch.allclose((there @ there.t()).softmax(1).cpu(), (x @ x.t()).softmax(1))
    assert torch.zeros(5, device=device).sum().item() == 0
module.synchronize()
if torchplug._C.has_compiler(0):
    assert "aten::relu" in torchplug._C.compiler_operators(0)
print(torchplug._C.describe()["abi"][1])
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_test_plugin(tmp_path_factory.mktemp("plugin"), "short_tables")


def sizes(turn, runtime):
    """The settings for one load: the runtime table so long, and each other table in its turn."""
    chosen = {name: ends[turn % len(ends)] for name, ends in OTHERS.items()} | {"runtime": runtime}
    return {f"TORCHPLUG_SHORT_TABLES_{name.upper()}": str(size) for name, size in chosen.items()}


@pytest.mark.parametrize("last", WHOLE_RUNTIMES)
def test_tables_that_end_after_any_member_load_and_work(plugin, last):
    turn = list(WHOLE_RUNTIMES).index(last)
    output_of(BODY, "short_tables", TORCHPLUG_DEVICE=plugin, **sizes(turn, WHOLE_RUNTIMES[last]))


def test_every_shorter_size_of_every_table_is_among_them():
    assert len(WHOLE_RUNTIMES) >= max(len(ends) for ends in OTHERS.values())


REFUSED = """
import os
from torchplug import _C
for name in [name for name in os.environ if name.startswith("TORCHPLUG_SHORT_TABLES_")]:
    del os.environ[name]
os.environ[{name!r}] = {value!r}
try:
    _C.plugin_name({path!r})
except RuntimeError as error:
    print(str(error).splitlines()[0])
else:
    print("loaded")
"""


@pytest.fixture(scope="module")
def refusal_of(plugin, tmp_path_factory):
    """refusal_of(name, value): why the plugin is not loaded with this setting. A library of its own for each."""
    session = Session("sim", TORCHPLUG_DEVICE="sim")

    def ask(name, value):
        path = shutil.copy(plugin, tmp_path_factory.mktemp("copy") / "short_tables.so")
        name = f"TORCHPLUG_SHORT_TABLES_{name}"
        return session(REFUSED.format(name=name, value=str(value), path=str(path)))

    yield ask
    session.close()


@pytest.mark.parametrize("last", ["stream_create", "mem_map"])
def test_a_table_that_ends_inside_of_a_group_is_refused_by_name(refusal_of, last):
    said = refusal_of("RUNTIME", RUNTIME[last])
    assert "implements only part of the group" in said and last in said


@pytest.mark.parametrize("last", ["identity", "engine_save"])
def test_a_compiler_that_ends_inside_of_its_group_for_the_disk_is_refused(refusal_of, last):
    said = refusal_of("COMPILER", ends_of("plug_compiler", "compile")[last])
    assert "has a part of identity, engine_save and engine_load" in said


@pytest.mark.parametrize("last", ["compile", "run"])
def test_a_compiler_that_ends_before_its_three_functions_is_refused(refusal_of, last):
    said = refusal_of("COMPILER", ends_of("plug_compiler", "compile")[last])
    assert "has a plug_compiler without" in said


@pytest.mark.parametrize("size", [members_of("plug_profiler")[-2][1], 8])
def test_a_profiler_that_lacks_a_function_is_refused(refusal_of, size):
    assert "has a plug_profiler with a missing function" in refusal_of("PROFILER", size)


def test_a_plugin_of_the_minor_before_the_first_that_stays_is_refused_in_one_sentence(
    plugin, refusal_of
):
    minor = {"TORCHPLUG_SHORT_TABLES_MINOR": "1"}
    said = refusal_of("MINOR", 1)
    assert "was built against plug.h 0.1, and this torchplug loads 0.2 and later." in said
    # By a user, who never asked for the path.
    done = run_python(
        "torch.ones(2, device=device)", "short_tables", TORCHPLUG_DEVICE=plugin, **minor
    )
    assert done.returncode != 0 and "was built against plug.h 0.1" in done.stderr


# ---- the device that was kept ----


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    library = tmp_path_factory.mktemp("kept") / "libkept.so"
    command = ["cc", "-std=c11", "-shared", "-fPIC", str(KEPT / "device-0.2.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def facts_of(address, struct, text):
    """What a table of a plugin holds: its numbers, and of pointers whether they are there."""
    lines = []
    for name, offset, size, declaration in members_of(struct, text):
        raw = int.from_bytes(ctypes.string_at(address + offset, size), "little")
        is_pointer = "*" in declaration or declaration.startswith("plug_kernel_fn")
        lines.append(f"{struct}.{name} {bool(raw) if is_pointer else raw}")
    return lines


def pointer(address, struct, member, text):
    (offset,) = [offset for name, offset, *_ in members_of(struct, text) if name == member]
    return int.from_bytes(ctypes.string_at(address + offset, 8), "little")


def facts_of_plugin(library, text):
    """What its tables hold, as the header that it was built against lays them out: the same with every compiler."""
    table = ctypes.c_void_p()
    host = ctypes.create_string_buffer(4096)
    assert ctypes.CDLL(str(library)).torchplug_plugin_v0(host, ctypes.byref(table)) == 0
    lines = facts_of(table.value, "plug_module", text)
    for member in ("runtime", "kernels", "autocast"):
        lines += facts_of(pointer(table.value, "plug_module", member, text), f"plug_{member}", text)
    kernels = pointer(table.value, "plug_module", "kernels", text)
    return [*lines, *facts_of(pointer(kernels, "plug_kernels", "list", text), "plug_kernel", text)]


def test_the_kept_device_is_the_one_that_was_built(kept):
    """Its digest is of its header's layout and of what its tables hold, not of what a compiler makes of it."""
    text = layout.layout(KEPT / "plug-0.2.h")
    facts = text + "\n".join(facts_of_plugin(kept, text)) + "\n"
    recorded = (KEPT / "device-0.2.sha256").read_text().split()[0]
    assert hashlib.sha256(facts.encode()).hexdigest() == recorded, (
        "What tests/abi/kept holds stands for plugins that others have built: it must not change."
    )


def test_what_was_kept_is_laid_out_in_the_same_way_today():
    today = layout.layout()
    for line in layout.layout(KEPT / "plug-0.2.h").splitlines():
        is_size = line.startswith(("struct ", "constant PLUG_ABI_MINOR"))
        assert is_size or line in today, line


KEPT_BODY = """
import torchplug

for index in range(2):
    place = torch.device(device.type, index)
    x = torch.linspace(-2, 2, 12).reshape(3, 4)
    there = x.to(place)
    for _ in range(2):
        assert torch.equal(there.relu().cpu(), x.relu())
        assert torch.equal(there.double().float().cpu(), x)
        assert torch.equal(there.t().to(torch.int64).cpu(), x.t().long())
        assert torch.allclose((there @ there.t()).softmax(1).cpu(), (x @ x.t()).softmax(1))
    drawn = torch.empty(100, device=place).uniform_()
    assert 0 <= drawn.min().item() and drawn.max().item() < 1
    w = torch.ones(4, 2, device=place, requires_grad=True)
    (there @ w).relu().sum().backward()
    assert w.grad.shape == (4, 2)
    with torch.get_device_module(device).amp.autocast():
        assert torch.ones(2, 2, device=place).mm(torch.ones(2, 2, device=place)).dtype == torch.bfloat16
        assert torch.ones(2, device=place, dtype=torch.bfloat16).relu().dtype == torch.float32
properties = torch.get_device_module(device).get_device_properties()
print(properties.largest_allocation, properties.L2_cache_size, properties.shared_memory_per_block, properties.warp_size)
assert {e.op: e.way for e in torchplug.ledger()}["aten::relu"] == "kernel"
"""


@pytest.mark.parametrize(
    "layers", [{}, {"TORCHPLUG_LAYERS": "validate"}], ids=["alone", "validated"]
)
def test_the_kept_device_runs(kept, layers):
    said = output_of(KEPT_BODY, "kept", TORCHPLUG_DEVICE=kept, **layers)
    assert said == f"{1 << 29} {1 << 20} {1 << 14} 8"
