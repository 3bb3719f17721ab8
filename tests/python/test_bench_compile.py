"""`torchplug bench compile`, and the rows about engines. How fast anything is, no test asks."""

import io
import json
import os

import pytest
import torch
from rich.console import Console
from test_bench import results_of

import torchplug
from torchplug.bench import compile as compiling
from torchplug.bench import disk, engines, models, rows, settings

pytestmark = pytest.mark.accelerator("it chooses its devices, so once is enough", only="sim")


# ---- rows about engines ----


def inputs_of(function):
    torch.manual_seed(0)
    if function is engines.step:
        cache = torch.rand(engines.HEADS, 2 * engines.WINDOW, engines.HEAD_WIDTH)
        new, query = (torch.rand(engines.HEADS, 1, engines.HEAD_WIDTH) for _ in range(2))
        return [cache, new, query, torch.tensor([7])]
    shapes = {
        engines.block: [(4, engines.WIDTH), (engines.WIDTH,), (engines.WIDTH,)],
        engines.sigmoids: [(4, 4)],
        engines.small: [(16,), (16,)],
    }
    return [torch.randn(shape) for shape in shapes[function]]


@pytest.mark.usefixtures("compiling_afresh")
@pytest.mark.parametrize(
    "function",
    [engines.block, engines.sigmoids, engines.small, engines.step],
    ids=lambda function: function.__name__,
)
def test_what_a_row_compiles_runs_in_one_engine_and_is_right(device, function):
    given = inputs_of(function)
    moved = [x.to(device) for x in given]
    with engines.compiling():
        compiled = engines.compiled(function, "torchplug")
        compiled(*[x.clone() for x in moved])
        torchplug.reset_ledger()
        actual = compiled(*moved)
        ways = {entry.way: entry.count for entry in torchplug.ledger()}
        torch.testing.assert_close(actual.cpu(), function(*given))
        torch.testing.assert_close([x.cpu() for x in moved], given)
    assert ways == {"engine": 1}


def test_a_cache_has_the_size_that_the_row_names(device, monkeypatch):
    made = []
    monkeypatch.setattr(engines, "compiled", lambda function, backend: lambda *a: made.append(a[0]))
    engines.decode(device, engines.MIB)()
    assert {cache.nbytes for cache in made} == {1 << 20}
    assert len({cache.data_ptr() for cache in made}) == 1


class Calls(list):
    """Of what asks for engines."""

    def speed(self, directory, *, expected):
        self.append((directory.name, expected))
        return 1.0


def test_engines_are_loaded_from_where_they_were_compiled_last(tmp_path):
    calls = Calls()
    pair = disk._Pair(calls, tmp_path)
    for clock in (pair.load, pair.compile, pair.compile, pair.load):
        clock()
    assert calls == [
        ("1", "compiled"),
        ("1", "loaded"),
        ("2", "compiled"),
        ("3", "compiled"),
        ("3", "loaded"),
    ]


def test_rows_about_engines_are_those_that_need_a_compiler():
    needing = [group for group in rows.GROUPS if group.kind in rows.OF_COMPILERS]
    assert needing == [
        rows.FUSED,
        rows.FUSED_ALL,
        rows.ENGINE,
        rows.DECODE,
        rows.SCRIPTED,
        rows.DISK,
    ]
    assert set(engines.COUNTS) == set(rows.FUSED.calls) == set(rows.FUSED_ALL.calls)


# ---- models ----


def test_the_models_are_those_that_are_named():
    assert tuple(models.MODELS) == compiling.NAMES


@pytest.mark.parametrize("name", compiling.NAMES)
def test_a_model_has_gradients_for_all_its_weights(name):
    model = models.MODELS[name]
    module = model.make()
    module(*model.inputs()).square().mean().backward()
    assert all(weight.grad is not None for weight in module.parameters())


# ---- what is made of the results ----


def graph(kind, **facts):
    known = {"nodes": 10, "share": 0.9, "groups": 2, "engines": 2, "compiled": 2, "loaded": 0}
    return {"kind": kind, **known, "seconds": 3.5, **facts}


@pytest.fixture
def report(monkeypatch):
    """Of two processes for each model, in the second of which one graph is not from disk."""
    result = {"device": 2e6, "reference": 8e6, "figure": 0.25, "low": 0.2, "high": 0.3, "rounds": 9}
    about = {"device": "sim", "hardware": "Sim", "torch": "2.13.0", "compiler": "GCC"}

    def work(name, used, env, *, again):
        assert env["TORCHPLUG_CACHE_DIR"] and used == settings.QUICK
        if name == "lstm":
            return about | {"failure": "no graph"}
        if again:
            loaded = graph("inference", compiled=0, loaded=2, seconds=0.02)
            return about | {"graphs": [loaded, graph("forward")]}
        times = {"eager": result, "inductor": result | {"figure": 0.5, "reference": 4e6}}
        return about | {"graphs": [graph("inference"), graph("forward")], "times": times}

    monkeypatch.setattr(compiling, "work", work)
    return compiling.make_report(["unet", "lstm"], settings.QUICK, {})


def test_engines_that_a_second_process_compiles_again_are_not_from_disk(report):
    (unet,) = report["models"]
    assert [graph["disk_seconds"] for graph in unet["graphs"]] == [0.02, None]
    assert report["failures"] == ["lstm: no graph"]
    json.dumps(report)


def test_the_tables_have_shares_engines_seconds_and_times(report):
    console = Console(file=io.StringIO(), width=120)
    compiling.show(console, report)
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]
    assert "unet inference 10 90% 2 2 3.50 s 0.020 s" in lines
    assert "forward 10 90% 2 2 3.50 s -" in lines
    assert "unet 8 ms 2 ms 4.00x 4 ms 2.00x" in lines
    assert "FAILED: lstm: no graph" in lines


@pytest.mark.skipif(
    os.environ.get("TORCHPLUG_TEST_SWEEP") != "all", reason="a minute: `make test-full` measures"
)
def test_it_measures_a_model():
    found = results_of("compile", "--only", "unet", TORCHPLUG_DEVICE="sim")
    (unet,) = found["models"]
    assert unet["graphs"][0]["loaded"] == 0
    assert [graph["kind"] for graph in unet["graphs"]] == ["inference", "forward", "backward"]
    for one in unet["graphs"]:
        assert one["engines"] == one["compiled"] + one["loaded"] >= one["groups"] > 0
        assert one["disk_seconds"] > 0
    assert unet["times"]["inductor"]["reference"] > 0 and found["failures"] == []
