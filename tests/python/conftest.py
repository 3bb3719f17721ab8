"""The state each test starts from and leaves."""

import os
import sys

import pytest
import torch

# Spawned children import the test modules by name.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def clean_state(fresh_seeds, no_error_left_behind):
    """Every test here begins with the same seeds and answers for its own errors."""


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def real_dtype(request):
    return request.param
