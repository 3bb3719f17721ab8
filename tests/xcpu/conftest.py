"""The state each test starts from. The operators are those that `import torch` brings."""

import os
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
sys.path.append(str(HERE.parents[1] / "examples"))
# Spawned children import by name what the tests share.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))


@pytest.fixture(autouse=True)
def clean_state(fresh_seeds):
    """Every test here begins with the same seeds and gives back the threads it found."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)
