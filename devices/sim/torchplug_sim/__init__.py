"""The torchplug device "sim". torchplug finds it by its entry point and loads `library`."""

from pathlib import Path

library = str(Path(__file__).with_name("libsim.so"))
