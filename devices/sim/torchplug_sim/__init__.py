"""The torchplug device "sim". torchplug finds it by its entry point and loads `library`."""

from pathlib import Path

library = str(Path(__file__).with_name("libsim.so"))

options = {
    "TORCHPLUG_SIM_DEVICES": "how many devices there are: 2, or 0 to 64",
    "TORCHPLUG_SIM_MEMORY": "bytes of each, such as 64M or 2G; half of the host's memory without it",
    "TORCHPLUG_SIM_PROFILER": "off: no profiler of its own, so that torchplug times work by events",
    "TORCHPLUG_SIM_KERNELS": "off: no kernels, so that the CPU computes everything",
    "TORCHPLUG_SIM_COMPILER": "off, on (default), whole (products and convolutions too) or static (no symbols)",
    "TORCHPLUG_SIM_COMPILE_SECONDS": "how long each compile takes at least; 0 by default",
    "TORCHPLUG_SIM_ANY": "on: a kernel is asked for every operator that has none of its own",
    "TORCHPLUG_SIM_CAPTURE": "off: no capture of its own, so that torchplug records and replays graphs",
}
