"""Vendors for the tests: plugins compiled from a few lines of C, and packages that announce them."""

import subprocess
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

DEVICE = """
#include "base.h"
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "{name}");
  *out = &module;
  return PLUG_OK;
}}
"""

CRASHES = """
#include <stdlib.h>
#include "torchplug/plug.h"
plug_status torchplug_plugin_v0(const plug_host *host, const plug_module **out) {
  (void)host, (void)out;
  abort();
}
"""

REFUSES = """
#include "torchplug/plug.h"
plug_status torchplug_plugin_v0(const plug_host *host, const plug_module **out) {
  (void)out;
  host->set_error(host, "there is no licence");
  return PLUG_INTERNAL;
}
"""

HANGS = """
#include <unistd.h>
#include "torchplug/plug.h"
plug_status torchplug_plugin_v0(const plug_host *host, const plug_module **out) {
  (void)host, (void)out;
  for (;;) pause();
}
"""


def compile_plugin(folder, name, code=DEVICE):
    """The path of a plugin, by default of a device called `name`."""
    source, library = folder / f"{name}.c", folder / f"lib{name}.so"
    source.write_text(code.format(name=name) if code is DEVICE else code)
    include = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests' / 'plugins'}"]
    command = ["cc", "-std=c11", "-shared", "-fPIC", *include, str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def compile_example(folder):
    """The path of the plugin examples/compiler."""
    source, library = ROOT / "examples" / "compiler" / "compiler.c", folder / "libfuse.so"
    command = ["cc", "-std=c11", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(library), "-lm"], check=True)
    return library


def compile_test_plugin(folder, name):
    """The path of a plugin made of tests/plugins/<name>.c or <name>.cpp."""
    import torchplug_sim

    library = folder / f"{name}.so"
    source = ROOT / "tests" / "plugins" / f"{name}.c"
    compiler = ["cc", "-std=c11"]
    if not source.exists():
        source, compiler = source.with_suffix(".cpp"), ["c++", "-std=c++17"]
    options = [f"-I{ROOT / 'include'}", f'-DSIM_LIBRARY="{torchplug_sim.library}"']
    if '"on_fuse.h"' in source.read_text():
        options.append(f'-DFUSE_LIBRARY="{compile_example(folder)}"')
    command = [*compiler, "-O1", "-shared", "-fPIC", *options, str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    return library


def install(folder, name, code, value=None, group="torchplug.default_devices"):
    """Installs into `folder` a package of Python code that announces the device `name`, as the default."""
    package = f"vendor_{name}"
    (folder / f"{package}.py").write_text(code)
    info = folder / f"{package}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vendor-{name}\nVersion: 1.5\n")
    entry = f"{name} = {package}:{value or 'PATH'}"
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


def install_device(folder, name, **options):
    """Installs a vendor's package with a working device."""
    install(folder, name, f"PATH = {str(compile_plugin(folder, name))!r}\n", **options)


def plugin_library(name):
    """The path of an installed device's plugin."""
    (entry,) = entry_points(group="torchplug.devices", name=name)
    return entry.load()


def shadow(folder):
    """The plugin tests/plugins/shadow.c, which counts and breaks sim's calls: its path, and the environment
    of a process whose device it is."""
    source = ROOT / "tests" / "plugins" / "shadow.c"
    path = compile_plugin(folder, "shadow", source.read_text())
    return path, {"TORCHPLUG_DEVICE": path, "TORCHPLUG_SHADOW_SIM": plugin_library("sim")}
