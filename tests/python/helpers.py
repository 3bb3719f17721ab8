"""What the tests share: values on two devices, their comparison, and child processes."""

import os
import subprocess
import sys
import textwrap

import torch
import warm_interpreter

TIMEOUT = 120  # seconds until a child process is taken to hang


def map_tensors(fn, value):
    """`value` with fn applied to each tensor in its lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return fn(value)
    if isinstance(value, dict):
        return {key: map_tensors(fn, item) for key, item in value.items()}
    if isinstance(value, list):
        return [map_tensors(fn, item) for item in value]
    if isinstance(value, tuple):
        return tuple(map_tensors(fn, item) for item in value)
    return value


def tensors_in(value):
    found = []
    map_tensors(found.append, value)
    return found


def on(device, value):
    """Copies on `device` of the tensors in `value`; leaves stay leaves that require a gradient."""

    def copy(tensor):
        return tensor.detach().to(device, copy=True).requires_grad_(tensor.requires_grad)

    return map_tensors(copy, value)


def synchronize(device):
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def assert_same(actual, expected, **tolerance):
    """Equal type, shape, layout and values, wherever the tensors are."""
    if isinstance(expected, torch.Tensor):
        assert isinstance(actual, torch.Tensor)
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        assert actual.layout == expected.layout
        torch.testing.assert_close(
            actual.detach().cpu(), expected.detach().cpu(), equal_nan=True, **tolerance
        )
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for key in expected:
            assert_same(actual[key], expected[key], **tolerance)
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            assert_same(a, e, **tolerance)
    else:
        assert actual == expected


def assert_equal(actual, expected):
    """The same values bit for bit (as numbers: NaN equals NaN)."""
    assert_same(actual, expected, rtol=0, atol=0)


def same_as_cpu(device, fn, *args, **tolerance):
    """fn(*args) with its tensors on the device gives there what it gives on the CPU.

    What fn does to its arguments in place must be the same too.
    """
    here, there = on("cpu", args), on(device, args)
    expected, actual = fn(*here), fn(*there)
    assert all(tensor.device == device for tensor in tensors_in(actual)), "left the device"
    assert_same(actual, expected, **tolerance)
    assert_same(there, here, **tolerance)
    return actual


def gradients(fn, args):
    """The results of fn(*args), and the gradients of a weighted sum of them."""
    results = tensors_in(fn(*args))
    leaves = [tensor for tensor in tensors_in(args) if tensor.requires_grad]
    generator = torch.Generator().manual_seed(11)
    loss = 0
    for result in results:
        if result.requires_grad:
            weight = torch.randn(result.shape, generator=generator, dtype=torch.float64)
            loss = loss + (result * weight.to(result.device, result.dtype)).abs().sum()
    return results, torch.autograd.grad(loss, leaves)


def same_gradients(device, fn, *args, **tolerance):
    """fn gives the CPU's results, and its backward the CPU's gradients, on the device."""
    expected = gradients(fn, on("cpu", args))
    actual = gradients(fn, on(device, args))
    assert all(tensor.device == device for tensor in tensors_in(actual)), "left the device"
    assert_same(actual, expected, **tolerance)


def error_of(fn, device):
    """The type of what fn raises, at the call or when the device is next waited for; or None."""
    try:
        fn()
        synchronize(device)
    except Exception as error:  # noqa: BLE001 - every type is an answer
        return type(error)
    return None


def same_outcome(device, fn, *args, **tolerance):
    """The device gives what the CPU gives, or refuses what it refuses, with the same type."""
    refused = error_of(lambda: fn(*on("cpu", args)), torch.device("cpu"))
    if refused is None:
        return same_as_cpu(device, fn, *args, **tolerance)
    raised = error_of(lambda: fn(*on(device, args)), device)
    assert raised is not None and issubclass(raised, refused), f"{raised} instead of {refused}"
    return None


def still_works(device):
    """Whether the device computes a known result."""
    a = torch.arange(6.0, device=device).reshape(2, 3)
    return (a @ a.t() + 1).relu().cpu().tolist() == [[6.0, 15.0], [15.0, 51.0]]


def environment_of(env):
    """That of this process, with `env` and what the tests share."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [here, os.path.dirname(here), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(filter(None, folders))
    return {**os.environ, "PYTHONPATH": path} | {name: str(env[name]) for name in env}


def run_python(code, *args, **env):
    """Runs code in a fresh interpreter, where `device` is the device of its first argument."""
    code = "import sys\nimport torch\ndevice = torch.device(sys.argv[1])\n" + textwrap.dedent(code)
    args = [str(arg) for arg in args]
    environment = environment_of(env)
    if not warm_interpreter.is_too_late_for(env):
        return warm_interpreter.run(code, args, environment, TIMEOUT)
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def fork_server():
    """As the context "spawn" of torch.multiprocessing, without the seconds in which each process imports PyTorch."""
    context = torch.multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    return context


def output_of(code, *args, **env):
    """What code printed in a fresh interpreter, which must have ended well."""
    done = run_python(code, *args, **env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def on_capture_stream(module, fn, times=1):
    """Runs fn where graphs are captured, so that every operator has a plan and nothing overlaps."""
    module.synchronize()
    with module.stream(module.graphs.own_stream()):
        for _ in range(times):
            fn()
    module.synchronize()


def capture(module, fn, **options):
    """The graph of fn and what fn gave."""
    on_capture_stream(module, fn)
    graph = module.Graph()
    with module.graph(graph, **options):
        result = fn()
    return graph, result
