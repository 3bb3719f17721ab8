"""Models of transformers train on the device as on the CPU."""

import pytest
import tiny_models
import torch
from tiny_models import MODELS, llama, on, seeded, text_with_labels, train

CLOSE = {"rtol": 1e-4, "atol": 1e-6}


@pytest.mark.parametrize("name", MODELS)
def test_the_losses_of_five_steps_are_the_cpus(device, name):
    expected, _ = tiny_models.trained_on_the_cpu(name)
    losses, _ = tiny_models.train_by_name(name, device)
    assert losses.device == device
    torch.testing.assert_close(losses.cpu(), expected, **CLOSE)


@pytest.mark.parametrize("name", MODELS)
def test_the_gradients_of_the_first_step_are_the_cpus(device, name):
    _, expected = tiny_models.trained_on_the_cpu(name)
    _, gradients = tiny_models.train_by_name(name, device)
    assert gradients.keys() == expected.keys()
    for key, gradient in gradients.items():
        assert gradient.device == device
        torch.testing.assert_close(gradient.cpu(), expected[key], rtol=1e-4, atol=1e-5, msg=key)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_every_implementation_of_attention_gives_the_cpus_losses(device, attention):
    batch = text_with_labels()
    expected, _ = train(seeded(llama, attn_implementation=attention), batch)
    model = seeded(llama, attn_implementation=attention).to(device)
    assert model.config._attn_implementation == attention
    losses, _ = train(model, on(device, batch))
    torch.testing.assert_close(losses.cpu(), expected, **CLOSE)


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradient_checkpointing_changes_no_loss(device, reentrant):
    expected, _ = tiny_models.trained_on_the_cpu("llama")
    model = seeded(llama).to(device)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    losses, _ = train(model, on(device, text_with_labels()))
    torch.testing.assert_close(losses.cpu(), expected, **CLOSE)


def test_a_model_in_bfloat16_trains_as_on_the_cpu(device):
    batch = text_with_labels()
    expected, _ = train(seeded(llama).to(torch.bfloat16), batch)
    model = seeded(llama).to(device, torch.bfloat16)
    losses, _ = train(model, on(device, batch))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    torch.testing.assert_close(losses.cpu(), expected, rtol=2e-2, atol=0)


def test_dropout_on_the_device_repeats_with_the_seed(device):
    def losses(seed):
        model = seeded(llama, attention_dropout=0.3, attn_implementation="eager").to(device)
        torch.manual_seed(seed)
        return train(model, on(device, text_with_labels()))[0].tolist()

    assert losses(1) == losses(1)
    assert losses(1) != losses(2)


def test_a_model_can_be_split_by_hand_over_two_devices(device, other_device):
    class TwoHalves(torch.nn.Module):
        def __init__(self, first, second):
            super().__init__()
            self.first, self.second = first.to(device), second.to(other_device)

        def forward(self, x):
            return self.second(self.first(x.to(device)).to(other_device))

    torch.manual_seed(0)
    halves = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
    x = torch.randn(3, 4)
    torch.nn.Sequential(*halves)(x).sum().backward()
    expected = [half.weight.grad.clone() for half in halves]
    for half in halves:
        half.zero_grad()
    split = TwoHalves(*halves)
    split(x).sum().backward()
    for half, gradient in zip([split.first, split.second], expected, strict=True):
        torch.testing.assert_close(half.weight.grad.cpu(), gradient)
