"""`torchplug doctor`: whether everything is as it should be, and what to do where it is not."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from torchplug import __version__, _plugins, _settings, cpu
from torchplug.cli import devices, inspection, output

if TYPE_CHECKING:
    from rich.console import Console

NAME = "doctor"
SUMMARY = "check the installation: what is installed, what is loaded, what is wrong"
DESCRIPTION = """Checks PyTorch, torchplug, the environment and every plugin, and computes something on each device.
Exits with 1 if there is a problem. What --json prints can be published: of the environment it has the variables
of PyTorch and torchplug alone, no secrets and not the name of your home directory."""

OLDEST, NEWEST = (2, 11), (2, 13)
PYTORCHS = ("PYTORCH_", "TORCH_")
SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
"""In the name of a variable: its value is not printed, since reports of bugs contain it all."""


@dataclass
class Check:
    """One thing looked at."""

    subject: str
    finding: str
    advice: str = ""
    state: str = "ok"
    """"ok", "warning" for what a user should know, or "error"."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    checks, settings = examine()
    checks = [without_home(check) for check in checks]
    healthy = all(check.state != "error" for check in checks)
    if args.json:
        found = {"healthy": healthy, "checks": [asdict(check) for check in checks]}
        found["settings"] = [setting._asdict() for setting in settings]
        found["cpu"] = asdict(cpu.report())
        output.print_json(found)
    else:
        show(checks, settings)
    return 0 if healthy else 1


def examine() -> tuple[list[Check], list[_settings.Setting]]:
    """Every check, in the order in which one rests on another, and every variable there is."""
    checks = [Check("Python", f"{platform.python_version()} ({platform.python_implementation()})")]
    checks.append(check_autoload())
    plugins, installed = _plugins.all_plugins(), _plugins.installed_plugins()
    # PyTorch is looked at as it is before torchplug changes it.
    with output.looking("Importing PyTorch"), inspection.autoload_off():
        versions = check_versions()
        can_load = all(check.state != "error" for check in versions)
        choices = [check_choice(installed)] if can_load else []
    looked_at = plugins | plugin_by_path() if can_load else {}
    found = devices.inspect_all(looked_at, compute=True)
    settings = table(found)
    checks += [*versions, *check_cpu(cpu.report())]
    checks += check_variables(settings, options_of(plugins, found))
    return [*checks, *choices, *map(check_plugin, found)], settings


def plugin_by_path() -> dict[str, _plugins.Plugin]:
    wish = _settings.read(_settings.DEVICE)
    return {wish: _plugins.plugin_at(wish)} if _plugins.is_path(wish) else {}


def without_home(check: Check) -> Check:
    """The same with ~ for the home directory, whose path has the user's name."""
    home = os.path.expanduser("~").rstrip("/") + "/"
    words = {name: text.replace(home, "~/") for name, text in asdict(check).items()}
    return check if home == "/" else Check(**words)


def check_autoload() -> Check:
    if os.environ.get(inspection.AUTOLOAD) == "0":
        return Check(
            "autoload",
            "TORCH_DEVICE_BACKEND_AUTOLOAD is 0: `import torch` registers no device",
            "Unset it, or call torchplug.autoload() after `import torch`.",
            "error",
        )
    if not entry_points(group="torch.backends", name="torchplug"):
        return Check(
            "autoload",
            "PyTorch does not find torchplug: the package is importable but not installed",
            "Install it with pip, or call torchplug.autoload() after `import torch`.",
            "error",
        )
    return Check("autoload", "`import torch` calls torchplug")


def check_versions() -> list[Check]:
    """PyTorch, then torchplug."""
    supported = f"{'.'.join(map(str, OLDEST))} to {'.'.join(map(str, NEWEST))}"
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - the reason is the finding
        return [Check("PyTorch", str(error), f"Install PyTorch {supported}.", "error")]
    running = minor_of(torch.__version__)
    torch_check = Check("PyTorch", f"{torch.__version__} (torchplug supports {supported})")
    if not OLDEST <= running <= NEWEST:
        torch_check.state, torch_check.advice = "error", f"Install PyTorch {supported}."
    try:
        from torchplug import _C
    except ImportError as error:
        advice = f"Install a torchplug that was built for PyTorch {torch.__version__}."
        return [torch_check, Check("torchplug", f"{__version__}: {error}", advice, "error")]
    built = _C.built_with()
    plugin_abi = ".".join(map(str, built["abi"]))
    core_check = Check(
        "torchplug",
        f"{__version__}, built for PyTorch {built['torch']} with {built['compiler']}, "
        f"plug.h {plugin_abi}",
    )
    if minor_of(built["torch"]) != running:
        core_check.state = "error"
        core_check.advice = f"Install a torchplug that was built for PyTorch {torch.__version__}."
    return [torch_check, core_check]


def minor_of(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


# ---- the processor ----


def check_cpu(report: cpu.Report) -> list[Check]:
    """What torchplug.cpu reports, and what makes computing on it slower than it need be."""
    checks = {subject: Check(subject, finding) for subject, finding in report.rows()}
    if report.huge_pages.transparent == "never":
        checks["huge pages"].state = "warning"
        checks["huge pages"].advice = (
            "Large weights are read faster from huge pages: write madvise to "
            "/sys/kernel/mm/transparent_hugepage/enabled, as root."
        )
    if report.threads is not None and report.threads.count > len(report.allowed):
        checks["threads"].state = "warning"
        checks["threads"].advice = (
            "There are more threads than cores that they may use, so that they wait for one another: set "
            f"OMP_NUM_THREADS to {len(report.allowed)}, or use torchplug run --cores."
        )
    return list(checks.values())


# ---- the environment ----


def table(found: list[dict[str, Any]]) -> list[_settings.Setting]:
    """torchplug's variables and those that plugins list; none if the core cannot be loaded."""
    try:
        own = _settings.table()
    except ImportError:
        return []
    for facts in found:
        for name, meaning in (facts.get("options") or {}).items():
            own.append(_settings.Setting(name, "", (), "", meaning, f"plugin {facts['name']}"))
    return own


def options_of(
    plugins: Mapping[str, _plugins.Plugin], found: list[dict[str, Any]]
) -> dict[str, Mapping[str, str] | None]:
    """What each plugin reads; None if it has not said."""
    return dict.fromkeys(plugins) | {facts["name"]: facts.get("options") for facts in found}


def check_variables(
    settings: list[_settings.Setting], options: Mapping[str, Mapping[str, str] | None]
) -> list[Check]:
    """The environment variables that are set, torchplug's and PyTorch's."""
    rows = {setting.name: setting for setting in settings}
    unread = _settings.unread(_settings.present(), rows, options) if rows else {}
    checks = []
    for name in _settings.present():
        check = Check(name, value_of(name))
        choices = rows[name].choices if name in rows else ()
        owner = _settings.owner_of(name, options)
        if name in unread:
            check.state, check.advice = "error", unread[name]
            check.finding += ": nothing reads this variable"
        elif os.environ[name] and choices and os.environ[name] not in choices:
            check.state, check.advice = "error", f"Set it to {', '.join(choices)}."
        elif name not in rows and owner:
            check.finding += f", for the plugin '{owner}'"
        elif not rows:
            check.state, check.advice = "warning", "It cannot be checked without torchplug's core."
        checks.append(check)
    pytorchs = sorted(name for name in os.environ if name.startswith(PYTORCHS))
    return checks + [Check(name, value_of(name)) for name in pytorchs]


def value_of(name: str) -> str:
    """The value of a variable, for others to read."""
    value = os.environ[name]
    return "(not shown)" if value and SECRET.search(name) else value or "(empty)"


# ---- the devices ----


def check_choice(plugins: dict[str, _plugins.Plugin]) -> Check:
    """Which plugin `import torch` would use, and by which rule."""
    wish = _settings.read(_settings.DEVICE)
    try:
        choice = _plugins.choose(wish, plugins, _plugins.rival)
    except RuntimeError as error:
        return Check("choice", "no device", str(error), "error")
    if choice.plugin is None:
        advice = "Set TORCHPLUG_DEVICE to the device you want." if plugins else ""
        if not plugins:
            advice = "Install a vendor's package, or torchplug-sim."
        return Check("choice", f"no device: {choice.rule}", advice, "warning")
    chosen = choice.plugin.name or choice.plugin.resolve()
    advice = choice.warning
    if wish and _plugins.rival(False):
        advice = (
            f"{_plugins.rival(False)} is available too: in this device's process its tensors can be copied, but "
            "backward() of them fails. Use them in different processes."
        )
    return Check("choice", f"{chosen}: {choice.rule}", advice, "warning" if advice else "ok")


def check_plugin(facts: dict[str, Any]) -> Check:
    subject = f"plugin {facts['name']}"
    package = facts["package"] or "the plugin"
    if facts["error"]:
        advice = f"Report it to the author of {package}, or uninstall it."
        if not facts["package"]:
            advice = "Check TORCHPLUG_DEVICE, or report it to the author of the plugin."
        if _settings.PREFIX in facts["error"]:  # a setting, of which the error says what to do
            advice = ""
        elif facts.get("late"):
            advice = f"If the machine is busy, try again. If not: {advice[0].lower()}{advice[1:]}"
        return Check(subject, facts["error"], advice, "error")
    if facts.get("options_error"):
        return Check(
            subject, facts["options_error"], f"Report it to the author of {package}.", "error"
        )
    if not facts["is_device"]:
        return check_operators(subject, package, facts)
    count = len(facts["devices"])
    if count == 0:
        advice = "Check that the device is present, and TORCHPLUG_VISIBLE_DEVICES."
        return Check(subject, facts["no_device"], advice, "warning")
    found = f"{count} device{'' if count == 1 else 's'}"
    if not facts["computes"]:
        advice = f"Do not use it; report it to the author of {package}."
        return Check(subject, f"{found}; results differ from the CPU", advice, "error")
    if facts["unused_kernels"]:
        unused = ", ".join(map(devices.operator_of, facts["unused_kernels"]))
        advice = f"`torchplug devices` says why; report it to the author of {package}."
        finding = f"{found}; results match the CPU; kernels that serve no operator: {unused}"
        return Check(subject, finding, advice, "warning")
    return Check(subject, f"{found}; results match the CPU")


def check_operators(subject: str, package: str, facts: dict[str, Any]) -> Check:
    """A plugin that is no device."""
    finding = f"no device; operators {devices.operators_text(facts['operators'])}"
    if facts["unused_kernels"]:
        unused = ", ".join(map(devices.operator_of, facts["unused_kernels"]))
        advice = f"`torchplug devices` says why; report it to the author of {package}."
        return Check(
            subject, f"{finding}; kernels that serve no operator: {unused}", advice, "warning"
        )
    return Check(subject, finding)


# ---- what is printed ----


def show(checks: list[Check], settings: list[_settings.Setting]) -> None:
    from rich.text import Text

    console = output.console()
    table = output.table(console, "", "", "")
    styles = {"ok": "green", "warning": "yellow", "error": "bold red"}
    for check in checks:
        text = Text(check.finding)
        if check.advice:
            text.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.state, style=styles[check.state]), Text(check.subject), text)
    output.put(console, table)
    if settings:
        show_settings(console, settings)
    wrong = sum(check.state == "error" for check in checks)
    console.print("No problems found." if wrong == 0 else f"Problems found: {wrong}.")


def show_settings(console: Console, settings: list[_settings.Setting]) -> None:
    """Every variable there is."""
    from rich.padding import Padding
    from rich.text import Text

    console.print("\n[bold]Settings[/]")
    for setting in settings:
        heading = Text(f"{setting.name}={setting.values}" if setting.values else setting.name)
        heading.append(f" (default: {setting.default})" if setting.default else "", style="dim")
        output.put(console, Padding(heading, (0, 0, 0, 2)))
        output.put(console, Padding(Text(setting.meaning), (0, 0, 0, 6)))
    console.print()
