"""Python finds the sanitized torchplug, not the one installed for editing. Imported by every process that
run.sh starts, before anything else."""

import os
import sys

_site = os.environ["TORCHPLUG_TEST_SITE"]
sys.meta_path[:] = [
    finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__
]
sys.path.insert(0, _site)
