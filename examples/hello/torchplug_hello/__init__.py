"""The torchplug device "hello". torchplug finds it by its entry point and loads `library`."""

from pathlib import Path

library = str(Path(__file__).with_name("libhello.so"))
options: dict[str, str] = {}  # no environment variables of its own
