"""Trains a small network with lightning's Trainer. It knows of no device.

    train_with_lightning.py FOLDER

Leaves in FOLDER, for each rank, RANK.json, and the checkpoint final.ckpt.
"""

import json
import sys
from pathlib import Path

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 8
QUIET = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


class Classifier(lightning.LightningModule):
    """Learns which of the first four numbers is the largest."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.save_hyperparameters()
        self.network = nn.Sequential(
            nn.Linear(8, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 4)
        )
        self.losses, self.outputs = [], set()

    def forward(self, x):
        return self.network(x)

    def training_step(self, batch, index):
        x, y = batch
        scores = self(x)
        loss = nn.functional.cross_entropy(scores, y)
        self.losses.append(loss.item())
        self.outputs.add((scores.device, scores.dtype))
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("accuracy", (self(x).argmax(1) == y).float().mean())

    def predict_step(self, batch, index):
        return self(batch[0])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-2)
        return [optimizer], [torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)]


def batches(ranks=1, rank=0):
    """What this rank sees of each batch."""
    x = torch.randn(32, 8, generator=torch.Generator().manual_seed(4))
    data = TensorDataset(x, x[:, :4].argmax(1))
    sampler = DistributedSampler(data, ranks, rank, shuffle=False)
    return DataLoader(data, batch_size=BATCH // ranks, sampler=sampler)


def train(folder, dropout=0.0, seed=1, resume=None, **arguments):
    """Trains with these arguments of Trainer; returns it and the model."""
    lightning.seed_everything(seed, verbose=False)
    model = Classifier(dropout)
    defaults = {"max_epochs": 3, "default_root_dir": folder, "use_distributed_sampler": False}
    trainer = lightning.Trainer(**{**defaults, **QUIET, **arguments})
    data = batches(trainer.world_size, trainer.global_rank)
    trainer.fit(model, data, data, ckpt_path=resume)
    return trainer, model


def main(arguments):
    folder = Path(arguments[0])
    trainer, model = train(folder)
    result = {"device": str(trainer.strategy.root_device), "losses": model.losses}
    (folder / f"{trainer.global_rank}.json").write_text(json.dumps(result))
    trainer.save_checkpoint(folder / "final.ckpt")


if __name__ == "__main__":
    main(sys.argv[1:])
