"""Lists of tensors at once: foreach functions, fused steps, and every optimizer built on them."""

import pytest
import torch
from helpers import assert_same, on, same_as_cpu
from torch import nn


def real(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def positive(*shape):
    return torch.rand(*shape, dtype=torch.float64) + 0.5


def lists():
    return [real(3), real(2, 2), real(0)]


FOREACH = {
    "add_number": lambda x, y: torch._foreach_add(x, 2.5),
    "add_lists": lambda x, y: torch._foreach_add(x, y, alpha=3),
    "add_numbers": lambda x, y: torch._foreach_add(x, [1.0, 2.0, 3.0]),
    "sub": lambda x, y: torch._foreach_sub(x, y),
    "mul": lambda x, y: torch._foreach_mul(x, y),
    "mul_0_dim_tensor": lambda x, y: torch._foreach_mul(x, y[0][0]),
    "div": lambda x, y: torch._foreach_div(x, [2.0, 3.0, 4.0]),
    "maximum": lambda x, y: torch._foreach_maximum(x, y),
    "clamp_min": lambda x, y: torch._foreach_clamp_min(x, 0.0),
    "sqrt_abs": lambda x, y: torch._foreach_sqrt(torch._foreach_abs(x)),
    "neg": lambda x, y: torch._foreach_neg(x),
    "exp": lambda x, y: torch._foreach_exp(x),
    "pow": lambda x, y: torch._foreach_pow(torch._foreach_abs(x), 2.0),
    "lerp": lambda x, y: torch._foreach_lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch._foreach_addcmul(x, x, y, 0.5),
    "addcdiv": lambda x, y: torch._foreach_addcdiv(x, y, torch._foreach_exp(x), [0.5, 1.0, 2.0]),
    "norm": lambda x, y: torch._foreach_norm(x),
    "norm_inf": lambda x, y: torch._foreach_norm(x[:2], float("inf")),
    "sign": lambda x, y: torch._foreach_sign(x),
    "add_": lambda x, y: torch._foreach_add_(x, y, alpha=2),
    "mul_": lambda x, y: torch._foreach_mul_(x, 3.0),
    "zero_": lambda x, y: torch._foreach_zero_(x),
    "copy_": lambda x, y: torch._foreach_copy_(x, y),
    "lerp_": lambda x, y: torch._foreach_lerp_(x, y, 0.5),
    "addcdiv_": lambda x, y: torch._foreach_addcdiv_(x, y, torch._foreach_exp(y), 0.1),
    "max": lambda x, y: torch._foreach_max(x[:2]),
}


@pytest.mark.parametrize("name", FOREACH)
def test_foreach_functions(device, name):
    same_as_cpu(device, FOREACH[name], lists(), lists())


def test_foreach_over_mixed_dtypes(device):
    mixed = [torch.ones(2), torch.ones(3, dtype=torch.float64), torch.ones(2, dtype=torch.bfloat16)]
    same_as_cpu(device, lambda x: torch._foreach_add(x, 1.5), mixed)


def adam_arguments():
    count = 2
    tensors = [[positive(3, 2) for _ in range(count)] for _ in range(5)]
    steps = [torch.tensor(3.0) for _ in range(count)]
    return [*tensors, steps]


@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_a_fused_adam_step(device, name):
    def step(parameters, grads, averages, squares, max_squares, steps):
        getattr(torch, name)(
            parameters,
            grads,
            averages,
            squares,
            max_squares,
            steps,
            lr=0.1,
            beta1=0.9,
            beta2=0.99,
            weight_decay=0.01,
            eps=1e-8,
            amsgrad=True,
            maximize=False,
            grad_scale=None,
            found_inf=None,
        )

    same_as_cpu(device, step, *adam_arguments())


def test_a_fused_sgd_step(device):
    def step(parameters, grads, buffers):
        torch._fused_sgd_(
            parameters,
            grads,
            buffers,
            lr=0.1,
            momentum=0.9,
            dampening=0.0,
            weight_decay=0.01,
            nesterov=True,
            maximize=False,
            is_first_step=False,
            grad_scale=None,
            found_inf=None,
        )

    same_as_cpu(device, step, *[[positive(3, 2) for _ in range(2)] for _ in range(3)])


OPTIMIZERS = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "Adamax",
    "AdamW",
    "ASGD",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
]


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_steps_as_on_the_cpu(device, name, foreach):
    def run(where, foreach):
        parameters = [nn.Parameter(p) for p in on(where, start)]
        optimizer = getattr(torch.optim, name)(parameters, lr=0.05, foreach=foreach)
        for step in range(4):
            for parameter in parameters:
                parameter.grad = (parameter.detach() * (step + 1)).cos()
            optimizer.step()
        return [p.detach() for p in parameters]

    start = [real(3), real(2, 2)]
    actual = run(device, foreach)
    assert all(p.device == device for p in actual)
    assert_same(actual, run("cpu", False))


def test_lbfgs_finds_the_minimum(device):
    x = nn.Parameter(torch.tensor([-1.0, 2.0], dtype=torch.float64, device=device))
    optimizer = torch.optim.LBFGS([x], max_iter=100, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    torch.testing.assert_close(
        x.detach().cpu(), torch.ones(2, dtype=torch.float64), rtol=1e-4, atol=1e-4
    )


def test_fused_steps_still_do_not_count_their_writes():
    """Fails when torchplug's hook behind optimizers is no longer needed."""
    weight = torch.nn.Parameter(torch.ones(3))
    before = weight._version
    torch._fused_sgd_(
        [weight],
        [torch.ones(3)],
        [],
        weight_decay=0.0,
        momentum=0.0,
        lr=0.1,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=True,
    )
    assert weight.tolist() == pytest.approx([0.9] * 3) and weight._version == before


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_a_fused_step_is_seen_in_the_versions_of_what_it_writes(device, kind):
    written, left = (nn.Parameter(torch.ones(3, device=device)) for _ in range(2))
    optimizer = kind([written, left], fused=True)
    written.grad = torch.ones(3, device=device)
    before = written._version, left._version
    optimizer.step()
    assert written._version > before[0] and left._version == before[1]
