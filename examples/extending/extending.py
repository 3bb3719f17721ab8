"""What torch.library has, for the device of a torchplug plugin: importing this registers it all."""

import torch

import torchplug

DEVICE = torch._C._get_privateuse1_backend_name()

# An operator of PyTorch's. The kernel is called below autograd, as one in C++ is, and may call other operators.
aten = torch.library.Library("aten", "IMPL")


def hardswish(x):
    return x * (x + 3).clamp(0, 6) / 6


with torchplug.overriding():  # not needed if the device has not been used yet
    aten.impl("hardswish", hardswish, "PrivateUse1")


# A new operator with all there is to it.
@torch.library.custom_op("extending_py::scale", mutates_args=(), device_types=DEVICE)
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor):
    return torch.empty_like(x)


def keep_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=keep_factor)

# The same in parts: a schema, a kernel for the device, another for the CPU.
torch.library.define("extending_py::shift", "(Tensor x, float by) -> Tensor")


@torch.library.register_kernel("extending_py::shift", DEVICE)
def shift_on_device(x, by):
    return x + by


@torch.library.register_kernel("extending_py::shift", "cpu")
def shift_on_cpu(x, by):
    return x + by


@torch.library.register_fake("extending_py::shift")
def _(x, by):
    return torch.empty_like(x)


torch.library.register_autograd("extending_py::shift", lambda ctx, grad: (grad, None))
