"""torchplug.lightning: lightning's Trainer and Fabric take the device, and train as on the CPU."""

import functools
import importlib
import json

import pytest
import torch
from processes import run_script

import torchplug.lightning
from torchplug.lightning import Accelerator

SCRIPT = "train_with_lightning.py"
CLOSE = {"rtol": 1e-4, "atol": 1e-6}

pytestmark = [
    pytest.mark.accelerator("lightning knows the CPU"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning"),
]


def part(name):
    """A module of lightning, which is imported late: it takes long, and other tests do not need it."""
    return importlib.import_module(f"lightning{name}")


@functools.cache
def script():
    return importlib.import_module(SCRIPT.removesuffix(".py"))


@pytest.fixture
def train(tmp_path):
    return functools.partial(script().train, tmp_path)


@functools.cache
def losses_of_the_cpu():
    losses = script().train(None, accelerator="cpu")[1].losses
    assert losses[-1] < 0.8 * losses[0]
    return losses


# ---- which device ----

WAYS = {
    "by_its_name": lambda device: {"accelerator": device.type, "devices": 1},
    "by_itself": lambda device: {"devices": "1"},
    "as_an_object": lambda device: {"accelerator": Accelerator(), "devices": [0]},
    "with_a_strategy": lambda device: {
        "strategy": part(".pytorch.strategies").SingleDeviceStrategy(device, Accelerator())
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_a_trainer_takes_the_device_and_learns_as_on_the_cpu(device, train, way):
    trainer, model = train(**WAYS[way](device))
    assert trainer.strategy.root_device == device
    assert isinstance(trainer.accelerator, Accelerator)
    assert model.outputs == {(device, torch.float32)}
    torch.testing.assert_close(model.losses, losses_of_the_cpu(), **CLOSE)


def test_a_trainer_takes_the_second_device(other_device, train):
    with torch.accelerator.device_index(0):
        _, model = train(accelerator=other_device.type, devices=[1])
    assert model.outputs == {(other_device, torch.float32)}
    torch.testing.assert_close(model.losses, losses_of_the_cpu(), **CLOSE)


def test_the_cpu_can_still_be_asked_for():
    on_the_cpu = part(".pytorch.strategies").DDPStrategy(parallel_devices=[torch.device("cpu")])
    for arguments in ({"accelerator": "cpu"}, {"strategy": on_the_cpu}):
        trainer = part("").Trainer(**arguments, **script().QUIET)
        assert trainer.strategy.root_device == torch.device("cpu"), arguments


def test_a_strategy_for_another_device_is_refused_in_a_sentence(device, train):
    strategy = part(".pytorch.strategies").SingleDeviceStrategy("cpu")
    sentence = f"for the device 'cpu', its accelerator is '{device.type}'"
    with pytest.raises(ValueError, match=sentence):
        train(accelerator=device.type, strategy=strategy)


def test_devices_are_counted_as_lightning_does(device):
    everything = list(range(torch.accelerator.device_count()))
    for one in (1, "1", "0,", (0,)):
        assert Accelerator.parse_devices(one) == [0]
    for given in (-1, "-1", len(everything), everything):
        assert Accelerator.parse_devices(given) == everything
    for wrong in (0, [], 99, [0, 0], [99], "0,99"):
        with pytest.raises(ValueError, match=r"was given devices=.*Give their number"):
            Accelerator.parse_devices(wrong)
    assert Accelerator.auto_device_count() == len(everything)


def test_several_devices_are_ddp_over_the_devices_own_backend(device, other_device):
    ddp = part(".pytorch.strategies").DDPStrategy
    for way in ("auto", "ddp", "ddp_spawn", ddp(find_unused_parameters=True)):
        strategy = part("").Trainer(strategy=way, **script().QUIET).strategy
        assert type(strategy) is ddp
        assert strategy.parallel_devices == [device, other_device]
        assert strategy._get_process_group_backend() == "torchplug"


# ---- precision ----

ROUGHLY = {"rtol": 0.05, "atol": 0.05}


@pytest.mark.usefixtures("mixed_precision")
@pytest.mark.parametrize(
    ("precision", "dtype"), [("bf16-mixed", torch.bfloat16), ("16-mixed", torch.float16)]
)
def test_mixed_precision_is_the_devices(device, train, precision, dtype):
    trainer, model = train(devices=1, precision=precision)
    assert model.outputs == {(device, dtype)}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    torch.testing.assert_close(model.losses, losses_of_the_cpu(), **ROUGHLY)
    if dtype == torch.float16:
        assert trainer.precision_plugin.scaler.is_enabled()


@pytest.mark.parametrize(
    ("precision", "dtype"), [("bf16-true", torch.bfloat16), ("64-true", torch.float64)]
)
def test_a_model_is_trained_in_another_type(device, train, precision, dtype):
    _, model = train(devices=1, precision=precision)
    assert model.outputs == {(device, dtype)}
    assert {weight.dtype for weight in model.parameters()} == {dtype}
    torch.testing.assert_close(model.losses, losses_of_the_cpu(), **ROUGHLY)


@pytest.mark.usefixtures("mixed_precision")
def test_a_precision_plugin_of_ones_own_is_kept(device, train):
    plugin = part(".pytorch.plugins").MixedPrecision("bf16-mixed", device.type)
    trainer, model = train(devices=1, plugins=plugin, max_epochs=1)
    assert trainer.precision_plugin is plugin
    assert model.outputs == {(device, torch.bfloat16)}


# ---- checkpoints, random numbers, statistics ----


def test_a_resumed_training_ends_where_the_uninterrupted_one_does(device, train, tmp_path):
    _, whole = train(devices=1, max_epochs=4)
    trainer, first = train(devices=1, max_epochs=2)
    half = tmp_path / "half.ckpt"
    trainer.save_checkpoint(half)
    _, resumed = train(devices=1, max_epochs=4, resume=half)
    assert resumed.outputs == {(device, torch.float32)}
    assert first.losses + resumed.losses == whole.losses
    for weight, expected in zip(resumed.parameters(), whole.parameters(), strict=True):
        assert torch.equal(weight, expected)

    _, on_the_cpu = train(accelerator="cpu", max_epochs=4, resume=half)
    assert on_the_cpu.outputs == {(torch.device("cpu"), torch.float32)}
    torch.testing.assert_close(on_the_cpu.losses, resumed.losses, **CLOSE)


def test_the_best_model_is_kept_and_used_again(train):
    trainer, model = train(devices=1, enable_checkpointing=True)
    (validated,) = trainer.validate(model, script().batches(), verbose=False)
    assert validated["accuracy"] == trainer.callback_metrics["accuracy"].item() > 0.5
    best = script().Classifier.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
    predicted = trainer.predict(best, script().batches())
    expected = model.cpu()(script().batches().dataset.tensors[0])
    torch.testing.assert_close(torch.cat(predicted).cpu(), expected, rtol=1e-4, atol=1e-5)


def test_a_seed_is_the_devices_too(train):
    # The weights and the data are those of losses_of_the_cpu, so that only what is dropped can differ.
    first, again = (train(devices=1, dropout=0.3)[1].losses for _ in range(2))
    assert first == again != losses_of_the_cpu()
    torch.get_device_module().manual_seed(2)
    assert train(devices=1, dropout=0.3)[1].losses == first


def test_a_monitor_logs_the_devices_memory_statistics(device, module, train):
    logged = {}

    class Logger(part(".pytorch.loggers.logger").DummyLogger):
        def log_metrics(self, metrics, *args, **kwargs):
            logged.update(metrics)

    monitor = part(".pytorch.callbacks").DeviceStatsMonitor()
    train(devices=1, max_epochs=1, logger=Logger(), callbacks=[monitor], log_every_n_steps=1)
    names = {name.rpartition("/")[2] for name in logged if "on_train_batch_end" in name}
    assert "allocated_bytes.all.peak" in names <= module.memory_stats(device).keys()


# ---- the other ways into lightning ----


def test_fabric_takes_the_device(device):
    part("").seed_everything(1, verbose=False)
    fabric = part("").Fabric(devices=1)
    network = script().Classifier().network
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-2)
    network, optimizer = fabric.setup(network, optimizer)
    losses = []
    for x, y in fabric.setup_dataloaders(script().batches()):
        assert x.device == fabric.device == device
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), y)
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    torch.testing.assert_close(losses, losses_of_the_cpu()[: len(losses)], **CLOSE)


@pytest.mark.usefixtures("mixed_precision")
def test_fabric_autocasts_on_the_device(device):
    fabric = part("").Fabric(devices=1, precision="bf16-mixed")
    network = fabric.setup(torch.nn.Linear(2, 2))
    with fabric.autocast():
        assert torch.is_autocast_enabled(device.type)
        output = network(torch.ones(1, 2, device=device)) @ torch.ones(2, 1, device=device)
    assert (output.device, output.dtype) == (device, torch.bfloat16)


def test_the_package_of_the_old_name_takes_the_device(device):
    package = importlib.import_module("pytorch_lightning")
    trainer = package.Trainer(devices=1, precision="bf16-mixed", **script().QUIET)
    assert trainer.strategy.root_device == device
    assert trainer.precision_plugin.device == device.type


def test_left_alone_lightning_would_train_on_the_cpu():
    """With an accelerator of one's own that is like ours: what _plug does is needed."""
    likeness = {name: value for name, value in vars(Accelerator).items() if name[0] != "_"}
    stranger = type("Stranger", (part(".pytorch.accelerators").Accelerator,), likeness)
    arguments = {"accelerator": stranger(), "devices": 1, "precision": "bf16-mixed"}
    trainer = part("").Trainer(**arguments, **script().QUIET)
    assert trainer.strategy.root_device == torch.device("cpu")
    assert trainer.precision_plugin.device == "cuda"


def test_a_lightning_that_is_made_otherwise_is_left_alone_with_a_warning(device):
    module = type(torch)("lightning.fabric.connector")
    sentence = f"does not know this version of lightning.*{device.type}"
    with pytest.warns(RuntimeWarning, match=sentence):
        torchplug.lightning._plug(module)


def test_an_unchanged_script_trains_on_all_devices_as_on_the_cpu(device, train, tmp_path):
    """With `torchplug run`; two devices are two processes, which share each batch."""
    run_script(device, SCRIPT, tmp_path)
    count = torch.accelerator.device_count()
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(count)]
    assert [rank["device"] for rank in ranks] == [f"{device.type}:{i}" for i in range(count)]
    losses = torch.tensor([rank["losses"] for rank in ranks]).mean(0)
    _, expected = train(accelerator="cpu")
    torch.testing.assert_close(losses.tolist(), expected.losses, **CLOSE)
    saved = torch.load(tmp_path / "final.ckpt", map_location="cpu", weights_only=True)
    torch.testing.assert_close(saved["state_dict"], expected.state_dict(), rtol=1e-3, atol=1e-5)
