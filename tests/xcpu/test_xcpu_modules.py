"""Modules hold packed weights as they hold any tensor: they are copied, saved, cast, compiled and exported."""

import copy
import io
import pickle
from pathlib import Path

import pytest
import safetensors.torch as safetensors
import torch
from helpers import assert_equal, assert_same
from torch._dynamo.testing import CompileCounterWithBackend
from xcpu_modules import Mlp
from xcpu_weights import KINDS, xcpu


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def module(kind):
    return Mlp(kind=kind).requires_grad_(False)


X = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))


def mapping_of(address):
    """The line of the kernel's table of this process's memory that has the address."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(bound, 16) for bound in line.split()[0].split("-"))
        if begin <= address < end:
            return line
    return ""


def packed_weights(module):
    return [module.up, module.down]


def test_copies_and_pickles_compute_the_same(module):
    expected = module(X)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.copy(module)):
        assert_equal(packed_weights(other), packed_weights(module))
        assert_equal(other(X), expected)


@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_has_all_of_a_packed_weight(module, kind, mmap, tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(module.state_dict(), path)
    other = Mlp(kind=kind).requires_grad_(False)
    state = torch.load(path, mmap=mmap, weights_only=True)
    other.load_state_dict(state, assign=True)
    assert_equal(other(X), module(X))
    if mmap:
        assert str(path) in mapping_of(other.up.data_ptr())


def test_safetensors_keep_packed_weights(module, kind, tmp_path):
    path = tmp_path / "weights.safetensors"
    safetensors.save_file(module.state_dict(), path)
    other = Mlp(kind=kind).requires_grad_(False)
    other.load_state_dict(safetensors.load_file(path), assign=True)
    assert_equal(other(X), module(X))


def test_copying_into_a_packed_weight_of_the_same_shape_loads_it(module):
    other = copy.deepcopy(module)
    for weight in packed_weights(other):
        weight.zero_()
    assert not torch.equal(other(X), module(X))
    other.load_state_dict(module.state_dict())
    assert_equal(other(X), module(X))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_casting_a_module_leaves_packed_weights_alone(module, dtype):
    expected = module(X)
    before = [weight.clone() for weight in packed_weights(module)]
    cast = copy.deepcopy(module).to(dtype)
    assert_equal(packed_weights(cast), before)
    assert cast.bias.dtype == dtype
    y = cast(X.to(dtype))
    assert y.dtype == dtype
    assert_same(y.float(), expected, rtol=0.1, atol=0.1)


def test_sizes_and_dtype_are_there_without_contents(module):
    meta = copy.deepcopy(module).to("meta")
    y = meta(X.to("meta"))
    assert y.is_meta and y.shape == X.shape


def test_a_weight_in_the_memory_of_another_is_not_taken_for_it():
    """Nothing is kept by address: what is at an address now is what counts."""
    first, second = (Mlp().requires_grad_(False) for _ in range(2))
    expected = second(X)
    assert not torch.equal(first(X), expected)
    first.load_state_dict(second.state_dict())
    assert_equal(first(X), expected)


def test_scripts_and_traces_of_a_module_are_saved_and_loaded(module):
    expected = module(X)
    for made in (torch.jit.script(module), torch.jit.trace(module, X)):
        file = io.BytesIO()
        torch.jit.save(made, file)
        file.seek(0)
        loaded = torch.jit.load(file)
        for rows in (X, X[:2]):
            assert_same(loaded(rows), module(rows))
        assert_same(made(X), expected)


def test_one_program_serves_every_length(module):
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, dynamic=True, backend=counter)
    assert_same(compiled(X), module(X))
    compiles = counter.frame_count
    for rows in (2, 3, 7, 33):
        x = torch.randn(rows, 64)
        assert_same(compiled(x), module(x))
    assert counter.frame_count == compiles


def test_inductor_compiles_what_stands_around():
    torch._dynamo.reset()
    module = Mlp().requires_grad_(False)
    compiled = torch.compile(module, fullgraph=True, dynamic=True)
    for rows in (2, 5):
        x = torch.randn(rows, 64)
        assert_same(compiled(x), module(x), rtol=0.02, atol=0.02)


def test_an_exported_module_takes_any_length_and_is_saved(module):
    rows = torch.export.Dim("rows", min=2, max=1024)
    exported = torch.export.export(module, (X,), dynamic_shapes={"x": {0: rows}})
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    for count in (2, 9):
        x = torch.randn(count, 64)
        assert_same(loaded(x), module(x))


def test_what_stands_around_frozen_weights_is_trained_through_them():
    """An adapter before a packed linear learns what the linear alone cannot give."""
    weight = xcpu.pack(torch.randn(64, 64) / 8, "int8")
    adapter = torch.nn.Linear(64, 64)
    optimizer = torch.optim.AdamW(adapter.parameters(), 0.02)
    x, target = torch.randn(2, 32, 64)
    losses = []
    for _ in range(60):
        loss = torch.nn.functional.mse_loss(xcpu.linear(adapter(x), weight), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]
