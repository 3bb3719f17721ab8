"""The models of `torchplug bench compile`, as small as they can be."""

from torchplug.bench.models import Sizes, models

SIZES = Sizes(
    width=16,
    heads=4,
    layers=1,
    words=13,
    length=4,
    batch=2,
    channels=4,
    image=8,
    cells=2,
    experts=2,
)
MODELS = models(SIZES)
TRACED = {name: value for model in MODELS.values() for name, value in model.config.items()}
