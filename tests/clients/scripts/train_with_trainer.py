"""Trains a tiny Llama with transformers.Trainer. It knows of no device.

    train_with_trainer.py FOLDER [--resume CHECKPOINT] [--dropout P] ...

Leaves in FOLDER the checkpoints, the final weights (final/) and result.json.
"""

import argparse
import json
import sys
from pathlib import Path

import torch
from torch.utils.data import Dataset
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Sentences(Dataset):
    """Counting in steps of 1 to 4, in 64 words."""

    def __len__(self):
        return 48

    def __getitem__(self, index):
        words = (torch.arange(9) * (index % 4 + 1) + index) % 64
        return {"input_ids": words, "labels": words}


class DeviceRandomness(TrainerCallback):
    """Keeps the random state of the accelerator in each checkpoint."""

    def on_save(self, args, state, control, **kwargs):
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        torch.save(torch.get_device_module().get_rng_state(), folder / "device_rng.pth")

    def on_train_begin(self, args, state, control, **kwargs):
        if args.resume_from_checkpoint:
            file = Path(args.resume_from_checkpoint, "device_rng.pth")
            torch.get_device_module().set_rng_state(torch.load(file))


def train(options):
    set_seed(1)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            max_position_embeddings=64,
            attention_dropout=options.dropout,
        )
    )
    arguments = {
        "per_device_train_batch_size": 8,
        "max_steps": 10,
        "save_steps": 4,
        "eval_strategy": "steps",
        "eval_steps": 4,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "warmup_steps": 2,
        "report_to": [],
        "disable_tqdm": True,
        **options.arguments,
    }
    trainer = Trainer(
        model,
        TrainingArguments(str(options.folder), resume_from_checkpoint=options.resume, **arguments),
        train_dataset=Sentences(),
        eval_dataset=Sentences(),
        callbacks=[DeviceRandomness()] if options.device_randomness else [],
    )
    trainer.train(resume_from_checkpoint=options.resume)
    predictions = trainer.predict(Sentences()).predictions
    trainer.save_model(options.folder / "final")
    history = trainer.state.log_history
    result = {
        "device": str(next(model.parameters()).device),
        "mixed_precision": trainer.accelerator.mixed_precision,
        "losses": [entry["loss"] for entry in history if "loss" in entry],
        "evaluations": [entry["eval_loss"] for entry in history if "eval_loss" in entry],
        "predictions": predictions.shape,
    }
    (options.folder / "result.json").write_text(json.dumps(result))


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--device-randomness", action="store_true")
    parser.add_argument("--arguments", type=json.loads, default={})
    train(parser.parse_args(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
