"""torch.compile(backend="torchplug"): programs that are unlike models: odd aliases, weights that come and go."""

import pytest
import torch
from compiling import compiled
from helpers import assert_same
from torch import nn

pytestmark = pytest.mark.accelerator("it has a compiler", only="sim")


@pytest.fixture(autouse=True)
def compiling(compiling_afresh):
    pass


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        return x * self.weight.exp() + 1


@pytest.mark.parametrize("capture", [False, True])
@torch.no_grad()
def test_a_frozen_weight_in_the_memory_of_one_that_is_gone_is_noticed(device, capture):
    model, x = Scaled().to(device), torch.randn(64, 64, device=device)
    call = compiled(model, options={"freeze": True, "capture": capture})
    for _ in range(3):
        assert_same(call(x), model(x))
    address = model.weight.data_ptr()
    model.to("cpu")
    model.weight.data = model.weight.data + 1
    model.to(device)
    assert model.weight.data_ptr() == address
    assert_same(call(x), model(x))
