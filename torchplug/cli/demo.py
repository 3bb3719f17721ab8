"""`torchplug demo`: two small models trained on the device and on the CPU."""

from __future__ import annotations

import argparse
import os

from torchplug import _plugins, _settings
from torchplug.cli import output

NAME = "demo"
SUMMARY = "train two small models on the device and on the CPU"
DESCRIPTION = """Trains a convolutional net and a transformer on the device and on the CPU, compares the losses, and
shows where the device's operators ran. Exits with 1 if the losses differ."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", help="a device's name, or the path of a plugin")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if args.device is not None:
        try:
            _plugins.find(args.device, _plugins.installed_plugins())
        except RuntimeError as error:
            output.complain(str(error))
            return 2
        os.environ[_settings.DEVICE] = args.device
    from torchplug import demo

    return demo.run(as_json=args.json)
