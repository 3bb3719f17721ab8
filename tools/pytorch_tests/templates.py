"""Files with a template of tests, from which PyTorch makes a class for the CPU and one for its own GPU: Inductor's.

Such a class has its device's name as `device`, at the end of its tests' names, and `common`, by which they compile a
model and compare. In `gen` of another kind of class are inputs, and the tests are made for these.
"""

import dataclasses
import unittest


def instantiate_templates(module, device):
    """Adds a class of the device for each of the CPU's, and gives its name: that of the CPU's."""
    classes = [one for one in vars(module).values() if isinstance(one, type)]
    classes = [one for one in classes if issubclass(one, unittest.TestCase)]
    twins = {}
    for cpu in classes:
        members = _with_device(vars(cpu), device) or _with_inputs(vars(cpu), device)
        if members:
            name = cpu.__name__.replace("Cpu", device.capitalize())
            twins[name] = cpu.__name__
            one = type(name, cpu.__bases__, {"__module__": cpu.__module__, **members})
            setattr(module, name, one)
            if "gen" in members:
                one.populate()
    return twins


def _with_device(members, device):
    """Tests know their device by `device` alone: they are taken as they are, with what is expected of the CPU's."""
    if members.get("device") != "cpu" or "common" not in members:
        return None
    renamed = {
        f"{name.removesuffix('_cpu')}_{device}" if name.startswith("test_") else name: value
        for name, value in members.items()
        if not name.startswith("__")
    }
    return renamed | {"device": device, "common": _on_device(members["common"], device)}


def _with_inputs(members, device):
    inputs = members.get("gen")
    if getattr(inputs, "device", None) != "cpu":
        return None
    return {"gen": dataclasses.replace(inputs, device=device)}


def _on_device(check, device):
    """The CPU's `common` for a model and inputs that are moved to the device, as GPUTests moves them to the GPU."""
    from torch.testing._internal.inductor_utils import clone_preserve_strides_offset

    def common(self, model, inputs, *arguments, copy_to_gpu=True, **options):
        if hasattr(model, "to"):
            model = model.to(device=device)
        if copy_to_gpu:
            inputs = tuple(clone_preserve_strides_offset(one, device=device) for one in inputs)
        return check(self, model, inputs, *arguments, **options)

    return common
