"""What dtypes, shapes or numbers decide is refused by the call, also where calls like it were taken."""

import pytest
import torch
from torch import nn


def pool(*sizes):
    """A fractional pooling of so many images with random samples for so many."""
    kind = nn.FractionalMaxPool2d if len(sizes) == 2 else nn.FractionalMaxPool3d
    space = [8] * len(sizes)

    def call(device, images, drawn):
        numbers = torch.rand(drawn, 3, len(sizes), device=device)
        layer = kind(sizes, output_size=[1] * len(sizes), _random_samples=numbers)
        return layer(torch.ones(images, 3, *space, device=device))

    return call


def in_place(name, dtype=torch.float32):
    return lambda device, *numbers: getattr(torch.ones(4, dtype=dtype, device=device), name)(
        *numbers
    )


def of_bool(operator, *sizes):
    """A product of boolean matrices: nothing is computed where there are none."""
    return lambda device, count: operator(
        *(torch.ones(count, *size, dtype=torch.bool, device=device) for size in sizes)
    )


def mm_of_bool(device, rows):
    return torch.mm(
        torch.ones(rows, 2, dtype=torch.bool, device=device),
        torch.ones(2, 2, dtype=torch.bool, device=device),
    )


# name -> (call, what it takes, what it refuses)
REFUSED = {
    "exponential_": (in_place("exponential_"), (1.0,), (-1.0,)),
    "cauchy_": (in_place("cauchy_"), (0.0, 1.0), (0.0, -1.0)),
    "uniform_": (in_place("uniform_"), (0.0, 1.0), (1.0, 0.0)),
    "uniform_of_large_numbers": (in_place("uniform_"), (3.0, 5.0), (5.0, 3.0)),
    "normal_": (in_place("normal_"), (0.0, 1.0), (0.0, -1.0)),
    "normal": (
        lambda device, std: torch.normal(0.0, std, (4,), device=device),
        (1.0,),
        (-1.0,),
    ),
    "geometric_": (in_place("geometric_"), (0.5,), (2.0,)),
    "geometric_of_one": (in_place("geometric_"), (0.5,), (1.0,)),
    "log_normal_": (in_place("log_normal_"), (0.0, 1.0), (0.0, -1.0)),
    "bernoulli_": (in_place("bernoulli_"), (0.5,), (2.0,)),
    "fill_uint8": (in_place("fill_", torch.uint8), (200,), (300,)),
    "fill_uint8_by_one_too_much": (in_place("fill_", torch.uint8), (255,), (256,)),
    "fill_int8": (in_place("fill_", torch.int8), (-128,), (-129,)),
    "full_of_int32": (
        lambda device, number: torch.full((3,), number, dtype=torch.int32, device=device),
        (2.0,),
        (float("nan"),),
    ),
    "full_of_uint8": (
        lambda device, number: torch.full((3,), number, dtype=torch.uint8, device=device),
        (0.5,),
        (-1.5,),
    ),
    "fill_float16": (in_place("fill_", torch.float16), (65504.0,), (65600.0,)),
    "pow": (
        lambda device, exponent: torch.pow(
            torch.ones(4, dtype=torch.long, device=device), exponent
        ),
        (2,),
        (-2,),
    ),
    "histc": (
        lambda device, low, high: torch.histc(torch.ones(4, device=device), 4, low, high),
        (0, 1),
        (1, 0),
    ),
    "vector_norm": (
        lambda device, order: torch.linalg.vector_norm(torch.ones(0, device=device), order),
        (0,),
        (-1,),
    ),
    "renorm": (
        lambda device, p: torch.renorm(torch.ones(2, 2, device=device), p, 0, 1.0),
        (1,),
        (-1,),
    ),
    "renorm_to_a_norm": (
        lambda device, norm: torch.renorm(torch.ones(2, 2, device=device), 1, 0, norm),
        (1.0,),
        (-1.0,),
    ),
    "bmm_of_bool": (of_bool(torch.bmm, (2, 2), (2, 2)), (0,), (1,)),
    "mm_of_bool": (mm_of_bool, (0,), (1,)),
    "fractional_max_pool2d": (pool(2, 2), (2, 2), (2, 1)),
    "fractional_max_pool3d": (pool(2, 2, 2), (2, 2), (2, 1)),
    "fractional_max_pool2d_of_nothing": (pool(2, 2), (0, 0), (1, 0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_at_once_where_others_were_taken(device, name):
    call, taken, refused = REFUSED[name]
    with pytest.raises(RuntimeError) as expected:
        call("cpu", *refused)
    for _ in range(3):
        call(device, *taken)
    with pytest.raises(RuntimeError) as actual:
        call(device, *refused)
    assert first_line(actual) == first_line(expected)
    torch.get_device_module(device).synchronize()
    call(device, *taken)


def first_line(raised):
    return str(raised.value).splitlines()[0]
