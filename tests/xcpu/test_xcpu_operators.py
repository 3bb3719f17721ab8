"""What holds of every operator: PyTorch's own checks pass, and it is in scripts, traces and exported programs."""

import io

import pytest
import torch
from helpers import assert_equal, assert_same
from xcpu_samples import SAMPLES, operators

every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=str)


def tensors_of(values):
    """The arguments that are tensors, by name, and the rest."""
    tensors = {name: value for name, value in values.items() if isinstance(value, torch.Tensor)}
    return tensors, {name: value for name, value in values.items() if name not in tensors}


def function_of(sample):
    """The call as a function of its tensors, and these."""
    tensors, rest = tensors_of(sample.values())

    def function(*given):
        return sample.operator(**dict(zip(tensors, given, strict=True)), **rest)

    return function, tuple(tensors.values())


def test_every_operator_has_a_sample():
    assert {f"{sample.name}.{sample.overload}" for sample in SAMPLES} == set(operators())


@every_sample
def test_opcheck_passes(sample):
    values = sample.values()
    torch.library.opcheck(sample.operator, (), values)
    if sample.differentiable:
        for name in sample.differentiable:
            values[name].requires_grad_()
        torch.library.opcheck(sample.operator, (), values)


@every_sample
def test_scripted_and_traced_calls_give_the_same(sample):
    expected = sample()
    tensors, rest = tensors_of(sample.values())
    words = [f"{name}={name}" for name in tensors]
    words += [f"{name}={value!r}" for name, value in rest.items()]
    returns = ", ".join(["Tensor"] * sample.results)
    returns = f"Tuple[{returns}]" if sample.results > 1 else returns or "None"
    source = f"def f({', '.join(f'{name}: Tensor' for name in tensors)}) -> {returns}:\n"
    call = f"torch.ops.xcpu.{sample.name}({', '.join(words)})"
    source += f"    return {call}\n" if sample.results else f"    {call}\n"
    scripted = torch.jit.CompilationUnit(source).f
    for _ in range(3):  # the second call is optimised
        assert_equal(scripted(*tensors_of(sample.values())[0].values()), expected)
    function, given = function_of(sample)
    if sample.results and "wanted" not in rest:  # PyTorch traces no list of bools
        traced, file = torch.jit.trace(function, given), io.BytesIO()
        torch.jit.save(traced, file)
        file.seek(0)
        for each in (traced, torch.jit.load(file)):
            assert_equal(each(*given), expected)


@every_sample
def test_compiled_programs_give_the_same(sample):
    torch._dynamo.reset()
    function, given = function_of(sample)
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    assert_equal(compiled(*given), sample())


@every_sample
def test_exported_programs_give_the_same(sample):
    function, given = function_of(sample)

    class Call(torch.nn.Module):
        def forward(self, *tensors):
            return function(*tensors)

    exported = torch.export.export(Call(), given)
    assert f"xcpu.{sample.name}" in str(exported.graph)
    assert_equal(exported.module()(*function_of(sample)[1]), sample())


@every_sample
def test_meta_tensors_tell_dtypes_and_sizes(sample):
    tensors, rest = tensors_of(sample.values())
    if sample.results == 0 or not tensors:
        return  # it tells nothing, or makes what it makes on the CPU
    meta = {name: tensor.to("meta") for name, tensor in tensors.items()}
    told, given = sample.operator(**meta, **rest), sample()
    for one, other in zip(
        *[t if isinstance(t, tuple) else (t,) for t in (told, given)], strict=True
    ):
        assert one.is_meta
        assert (one.dtype, one.shape, one.stride()) == (other.dtype, other.shape, other.stride())


@every_sample
def test_half_precision_is_near_float32(sample):
    """Of floating arguments, all at once: sums are of float32, so that only inputs and results are rounded."""
    for dtype in (torch.bfloat16, torch.float16):
        values = sample.values()
        for name, value in values.items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                values[name] = value.to(dtype)
        rounded = {
            name: value.float()
            if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value
            for name, value in values.items()
        }
        found, expected = sample.operator(**values), sample.operator(**rounded)
        if sample.results == 1 and found.is_floating_point():
            assert_same(found.float(), expected, rtol=0.02, atol=0.02 * expected.abs().max().item())


def with_gaps(tensor):
    """The same numbers, each at a distance from the next, in another order of dimensions."""
    gaps = tensor.new_empty([2 * size + 1 for size in reversed(tensor.shape)]).permute(
        *reversed(range(tensor.dim()))
    )
    gaps = gaps[tuple(slice(1, None, 2) for _ in tensor.shape)]
    return gaps.copy_(tensor)


def beside_its_place(tensor):
    """The same numbers in memory that is not aligned to more than an element."""
    return tensor.new_empty(tensor.numel() + 1)[1:].view(tensor.shape).copy_(tensor)


@every_sample
def test_tensors_may_have_any_strides_but_packed_weights_and_caches(sample):
    values, expected = sample.values(), sample()
    for name, value in sample.arguments.items():
        if isinstance(value, torch.Tensor) and name != "cache":
            values[name] = with_gaps(value)
            assert not values[name].is_contiguous() or value.numel() == 1
    assert_same(sample.operator(**values), expected)


@every_sample
def test_tensors_may_be_anywhere_in_memory(sample):
    values, expected = sample.values(), sample()
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            values[name] = beside_its_place(value)
    assert_same(sample.operator(**values), expected)


@every_sample
def test_calls_in_inference_mode_give_the_same(sample):
    with torch.inference_mode():
        found = sample.operator(**sample.values())
    assert_equal(found, sample())
