"""Trains a small network with accelerate.Accelerator. It knows of no device.

    train_with_accelerate.py RESULT [--mixed-precision bf16] [--interrupt] ...

Writes the losses and the final weights into the file RESULT. With --interrupt it saves its state
halfway, spoils what it has learnt, and loads the state again.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeviceRandomness:
    """The random state of the accelerator, as something that can be checkpointed."""

    def state_dict(self):
        return {"state": torch.get_device_module().get_rng_state()}

    def load_state_dict(self, state):
        torch.get_device_module().set_rng_state(state["state"])


def train(options):
    set_seed(0)
    accelerator = Accelerator(
        mixed_precision=options.mixed_precision, gradient_accumulation_steps=2
    )
    network = nn.Sequential(
        nn.Linear(8, 32), nn.ReLU(), nn.Dropout(options.dropout), nn.Linear(32, 4)
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-2)
    inputs = torch.randn(64, 8)
    data = TensorDataset(inputs, inputs[:, :4].argmax(1))
    loader = DataLoader(data, batch_size=8, shuffle=True, pin_memory=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=32)
    network, optimizer, loader, schedule = accelerator.prepare(network, optimizer, loader, schedule)
    if options.device_randomness:
        accelerator.register_for_checkpointing(DeviceRandomness())

    losses = []
    for epoch in range(6):
        if options.interrupt and epoch == 3:
            with tempfile.TemporaryDirectory() as folder:
                accelerator.save_state(folder)
                nn.init.zeros_(network[0].weight)
                torch.rand(5), torch.rand(5, device=accelerator.device)
                accelerator.load_state(folder)
        for x, y in loader:
            with accelerator.accumulate(network):
                loss = nn.functional.cross_entropy(network(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            losses.append(accelerator.gather_for_metrics(loss.detach()).mean().item())

    result = {
        "device": str(next(network.parameters()).device),
        "losses": losses,
        "weights": [weight.tolist() for weight in accelerator.unwrap_model(network).parameters()],
    }
    options.result.write_text(json.dumps(result))
    accelerator.end_training()


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("result", type=Path)
    parser.add_argument("--mixed-precision", default="no")
    parser.add_argument("--interrupt", action="store_true")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--device-randomness", action="store_true")
    train(parser.parse_args(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
