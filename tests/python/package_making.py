"""What the tests of packages share: models that are exported, packaged and loaded."""

import contextlib
import io

import torch
from helpers import map_tensors

import torchplug
from torchplug.cli import main


def export(path, model, args, kwargs=None, **options):
    with torch.no_grad():
        program = torch.export.export(model, args, kwargs, **options)
    torch.export.save(program, path)
    return path


def package(source, *words):
    """The path of what `torchplug package` makes of a file, and what it says."""
    target = source.with_suffix(".plug")
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = main(["package", str(source), "-o", str(target), *words])
    assert code == 0, complained.getvalue()
    return target, said.getvalue()


def refusal(source, *words):
    """The one sentence with which the command ends."""
    complained = io.StringIO()
    target = source.with_suffix(".refused")
    with contextlib.redirect_stderr(complained):
        code = main(["package", str(source), "-o", str(target), *map(str, words)])
    assert code == 2 and not target.exists()
    (line,) = complained.getvalue().splitlines()
    assert line.startswith("torchplug: ") and line.endswith(".")
    return line.removeprefix("torchplug: ")


def packaged(folder, model, args, kwargs=None, shapes=(), **options):
    """A package of the model, loaded."""
    source = export(folder / "model.pt2", model, args, kwargs, **options)
    words = [word for one in shapes for word in ("--shapes", one)]
    return torchplug.load_package(package(source, *words)[0])


def there(device, value):
    return map_tensors(lambda tensor: tensor.to(device), value)


def total(loaded, name):
    return sum(getattr(group, name) for group in loaded.report())
