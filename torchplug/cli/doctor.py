"""`torchplug doctor`: whether everything is as it should be, and what to do where it is not."""

from __future__ import annotations

import argparse
import difflib
import os
import platform
import re
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from typing import Any

from torchplug import __version__, _plugins
from torchplug.cli import devices, output

NAME = "doctor"
SUMMARY = "what is installed, what would be loaded, and what is wrong"
DESCRIPTION = """Checks PyTorch, torchplug, the environment and every plugin, and computes something on each device.
Exits with 1 if something is wrong."""

OLDEST, NEWEST = (2, 11), (2, 13)
SWITCH = ("0", "1", "")
VARIABLES: dict[str, tuple[str, ...]] = {
    "TORCHPLUG_DEVICE": (),
    "TORCHPLUG_VISIBLE_DEVICES": (),
    "TORCHPLUG_FALLBACK": ("allow", "warn", "error"),
    "TORCHPLUG_FAULT": (),
    "TORCHPLUG_LAUNCH_BLOCKING": SWITCH,
    "TORCHPLUG_LAYERS": (),
    "TORCHPLUG_LEDGER": (*SWITCH, "json"),
    "TORCHPLUG_LOG": ("0", "1", "2", "3"),
    "TORCHPLUG_VALIDATE": ("error", "log", "abort"),
}
"""What torchplug reads, and the values allowed if they can be listed."""
SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
"""In the name of a variable of a plugin: its value is not printed, since reports of bugs contain it all."""


@dataclass
class Check:
    """One thing looked at."""

    subject: str
    finding: str
    advice: str = ""
    state: str = "ok"
    """"ok", "note" for what a user should know, or "wrong"."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    with output.looking("Examining"):
        checks = [without_home(check) for check in examine()]
    healthy = all(check.state != "wrong" for check in checks)
    if args.json:
        output.print_json({"healthy": healthy, "checks": [asdict(check) for check in checks]})
    else:
        show(checks)
    return 0 if healthy else 1


def examine() -> list[Check]:
    """Every check, in the order in which one rests on another."""
    checks = [Check("Python", f"{platform.python_version()} ({platform.python_implementation()})")]
    checks.append(check_autoload())
    # Looked at as it is before torchplug changes it.
    before = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    try:
        versions = check_versions()
        plugins = _plugins.installed_plugins()
        checks += [*versions, *check_variables(plugins)]
        if any(check.state == "wrong" for check in versions):
            return checks
        checks.append(check_choice(plugins))
    finally:
        if before is None:
            del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
        else:
            os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = before
    wish = os.environ.get("TORCHPLUG_DEVICE", "")
    looked_at = plugins | ({wish: _plugins.plugin_at(wish)} if _plugins.is_path(wish) else {})
    checks += [check_plugin(facts) for facts in devices.inspect_all(looked_at, compute=True)]
    return checks


def without_home(check: Check) -> Check:
    """The same with ~ for the home directory, whose path has the user's name."""
    home = os.path.expanduser("~").rstrip("/") + "/"
    words = {name: text.replace(home, "~/") for name, text in asdict(check).items()}
    return check if home == "/" else Check(**words)


def check_autoload() -> Check:
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD") == "0":
        return Check(
            "autoload",
            "TORCH_DEVICE_BACKEND_AUTOLOAD is 0: `import torch` registers no device",
            "Unset it, or call torchplug.autoload() after `import torch`.",
            "wrong",
        )
    if not entry_points(group="torch.backends", name="torchplug"):
        return Check(
            "autoload",
            "PyTorch does not find torchplug: the package is importable but not installed",
            "Install it with pip, or call torchplug.autoload() after `import torch`.",
            "wrong",
        )
    return Check("autoload", "`import torch` calls torchplug")


def check_versions() -> list[Check]:
    """PyTorch, then torchplug."""
    supported = f"{'.'.join(map(str, OLDEST))} to {'.'.join(map(str, NEWEST))}"
    try:
        import torch
    except Exception as error:  # noqa: BLE001 - the reason is the finding
        return [Check("PyTorch", str(error), f"Install PyTorch {supported}.", "wrong")]
    running = minor_of(torch.__version__)
    torch_check = Check("PyTorch", f"{torch.__version__} (torchplug supports {supported})")
    if not OLDEST <= running <= NEWEST:
        torch_check.state, torch_check.advice = "wrong", f"Install PyTorch {supported}."
    try:
        from torchplug import _C
    except ImportError as error:
        advice = f"Install a torchplug that was built for PyTorch {torch.__version__}."
        return [torch_check, Check("torchplug", f"{__version__}: {error}", advice, "wrong")]
    built = _C.built_with()
    plugin_abi = ".".join(map(str, built["abi"]))
    core_check = Check(
        "torchplug",
        f"{__version__}, built for PyTorch {built['torch']} with {built['compiler']}, "
        f"plug.h {plugin_abi}",
    )
    if minor_of(built["torch"]) != running:
        core_check.state = "wrong"
        core_check.advice = f"Install a torchplug that was built for PyTorch {torch.__version__}."
    return [torch_check, core_check]


def minor_of(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def check_variables(plugins: dict[str, _plugins.Plugin]) -> list[Check]:
    """The environment variables that are set."""
    checks = []
    for name, value in sorted(os.environ.items()):
        if not name.startswith("TORCHPLUG_"):
            continue
        allowed = VARIABLES.get(name)
        owners = [p for p in plugins if name.startswith(f"TORCHPLUG_{p.upper()}_")]
        hidden = value and name not in VARIABLES and SECRET.search(name)
        check = Check(name, "(not shown)" if hidden else value or "(empty)")
        if allowed and value not in allowed:
            check.state = "wrong"
            check.advice = f"Set it to {', '.join(filter(None, allowed))}."
        elif allowed is None and owners:
            check.finding += f", for the plugin '{owners[0]}'"
        elif allowed is None:
            check.state = "wrong"
            check.finding += ": nothing reads this variable"
            similar = difflib.get_close_matches(name, VARIABLES, 1)
            check.advice = f"Did you mean {similar[0]}?" if similar else "Unset it."
        checks.append(check)
    return checks


def check_choice(plugins: dict[str, _plugins.Plugin]) -> Check:
    """Which plugin `import torch` would use, and by which rule."""
    try:
        choice = _plugins.choose(os.environ.get("TORCHPLUG_DEVICE", ""), plugins, _plugins.rival)
    except RuntimeError as error:
        return Check("choice", "no device", str(error), "wrong")
    if choice.plugin is None:
        advice = "Set TORCHPLUG_DEVICE to the device you want." if plugins else ""
        if not plugins:
            advice = "Install a vendor's package, or torchplug-sim."
        return Check("choice", f"no device: {choice.rule}", advice, "note")
    chosen = choice.plugin.name or choice.plugin.resolve()
    state = "note" if choice.warning else "ok"
    return Check("choice", f"{chosen}: {choice.rule}", choice.warning, state)


def check_plugin(facts: dict[str, Any]) -> Check:
    subject = f"plugin {facts['name']}"
    package = facts["package"] or "the plugin"
    if facts["error"]:
        advice = f"Ask whoever made {package}, or uninstall it."
        if not facts["package"]:
            advice = "Check TORCHPLUG_DEVICE, or ask whoever made the plugin."
        return Check(subject, facts["error"], advice, "wrong")
    count = len(facts["devices"])
    if count == 0:
        advice = "Check that the device is there, and TORCHPLUG_VISIBLE_DEVICES."
        return Check(subject, facts["no_device"], advice, "note")
    found = f"{count} device{'' if count == 1 else 's'}"
    if not facts["computes"]:
        advice = f"Do not use it before whoever made {package} has looked at it."
        return Check(subject, f"{found}; computes something else than the CPU", advice, "wrong")
    return Check(subject, f"{found}; computes what the CPU does")


def show(checks: list[Check]) -> None:
    from rich.text import Text

    console = output.console()
    table = output.table(console, "", "", "")
    styles = {"ok": "green", "note": "yellow", "wrong": "bold red"}
    for check in checks:
        text = Text(check.finding)
        if check.advice:
            text.append(f"\n{check.advice}", style="italic")
        table.add_row(Text(check.state, style=styles[check.state]), Text(check.subject), text)
    output.put(console, table)
    wrong = sum(check.state == "wrong" for check in checks)
    console.print("Everything is fine." if wrong == 0 else f"Wrong: {wrong}.")
