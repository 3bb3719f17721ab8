"""`torchplug schema`: what it prints is what PyTorch has, and what it says to bind is what reaches the device."""

import contextlib
import io
import json
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from rich.console import Console
from torch.utils._python_dispatch import TorchDispatchMode

import torchplug
from torchplug import _schemas
from torchplug.cli import families, main
from torchplug.cli import schema as schema_command

pytestmark = pytest.mark.accelerator("what reaches a device is the same on all", only="sim")


@pytest.fixture
def schema(capsys):
    """Runs the command; gives the exit code, standard output and standard error."""

    def run(*words):
        code = main(["schema", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def facts(schema):
    def run(*words):
        code, output, errors = schema(*words, "--json")
        assert code == 0, errors
        return json.loads(output)

    return run


# ---- what it prints ----


def test_every_argument_has_its_place_tag_member_and_default(schema):
    code, output, _ = schema("add.Tensor")
    assert code == 0
    rows = [line.split() for line in output.splitlines() if line.startswith(("args", "results"))]
    assert [row[:3] for row in rows] == [
        ["args[0]", "self", "Tensor"],
        ["args[1]", "other", "Tensor"],
        ["args[2]", "alpha", "Scalar"],
        ["results[0]", "Tensor", "PLUG_VALUE_TENSOR"],
    ]
    assert rows[0][3:] == ["PLUG_VALUE_TENSOR", "as.tensors[0]"]
    assert rows[2][-1] == "1" and "PLUG_VALUE_BOOL," in rows[2]
    assert "also serves: aten::add_.Tensor, aten::add.out" in output
    assert "pointwise" in output


def test_the_line_for_the_table_is_c_that_names_the_operator(facts):
    ((operator,),) = ([*answer["operators"]] for answer in facts("gelu"))
    assert operator["line"] == (
        '{.schema = "aten::gelu(Tensor self, *, str approximate=\\"none\\") -> Tensor", .fn = gelu, .accepts = 0},'
    )
    assert operator["backward"] == ["aten::gelu_backward"]
    assert operator["gradients"] == {"self": "gelu_backward(grad, self, approximate)"}


def test_an_operator_has_all_its_overloads_that_can_be_bound(facts):
    (answer,) = facts("sum")
    names = [operator["name"] for operator in answer["operators"]]
    assert names == ["aten::sum", "aten::sum.dim_IntList"]
    assert [len(a["operators"]) for a in facts("relu", "aten::mm")] == [1, 2]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("relu_", "a kernel for aten::relu"),
        ("add.out", "a kernel for aten::add.Tensor"),
        ("view", "gives a view"),
        ("empty.memory_format", "torchplug does aten::empty.memory_format itself"),
        ("copy_", "by the runtime's copy and copy_strided"),
        ("einsum", "PyTorch composes aten::einsum of other operators"),
    ],
)
def test_what_cannot_be_bound_says_why(schema, name, why):
    code, output, _ = schema(name)
    assert code == 0 and "No kernel can be bound" in output and why in output


def test_a_kernel_for_copy_serves_no_form_that_torchplug_does_itself(facts):
    (answer,) = facts("copy")
    (operator,) = answer["operators"]
    assert operator["name"] == "aten::copy" and operator["serves"] == ["aten::copy.out"]


def test_results_that_a_mask_can_leave_out_are_said_to_be_none(schema, facts):
    (answer,) = facts("native_layer_norm_backward")
    (operator,) = answer["operators"]
    assert [result["tag"] for result in operator["results"]] == [
        "PLUG_NONE or PLUG_VALUE_TENSOR"
    ] * 3
    assert "PLUG_NONE unless output_mask[2]" in schema("native_layer_norm_backward")[1]
    (answer,) = facts("native_layer_norm")
    assert {r["tag"] for o in answer["operators"] for r in o["results"]} == {"PLUG_VALUE_TENSOR"}


NAMES = ("convolution_backward", "native_layer_norm_backward")


def test_in_a_pipe_no_line_is_wrapped(schema):
    _, output, _ = schema(*NAMES)
    rows = [line for line in output.splitlines() if line.startswith(("args[", "results["))]
    expected = [len(_schemas.operators()[n].arguments) + 3 for n in NAMES]
    assert len(rows) == sum(expected)
    assert all("PLUG_VALUE_" in row for row in rows)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_on_a_terminal_no_word_is_broken(width):
    answers = [schema_command.look_up(name) for name in NAMES]
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    with contextlib.redirect_stdout(io.StringIO()):
        for answer in answers:
            schema_command.show(console, answer)
    words = console.file.getvalue().split()
    assert words.count("PLUG_VALUE_TENSOR") == sum(
        "PLUG_VALUE_TENSOR" in item["tag"].split()
        for answer in answers
        for item in answer["operators"][0]["arguments"] + answer["operators"][0]["results"]
    )


def test_an_unknown_name_gets_the_nearest_in_one_sentence(schema):
    code, output, errors = schema("rellu")
    assert (code, output) == (2, "")
    assert (
        errors == "torchplug: PyTorch has no operator aten::rellu. Nearest: relu, rrelu, relu_.\n"
    )


def test_no_name_at_all_is_told_what_there_is(schema):
    code, output, errors = schema()
    assert (code, output) == (2, "") and "--for" in errors and "attention" in errors


@pytest.mark.parametrize("topic", families.TOPICS)
def test_every_topic_names_operators_that_can_be_bound(facts, topic):
    for answer in facts("--for", topic):
        assert answer["operators"]
        assert [o["obstacle"] for o in answer["operators"]] == [None] * len(answer["operators"])


def test_what_is_bound_for_a_call_is_there_in_this_pytorch():
    for family in families.ALL:
        assert set(family.bind) <= _schemas.operators().keys()


def test_every_schema_of_pytorch_is_read_whole():
    """Names, defaults and results are those of PyTorch's own parser."""
    for operator in _schemas.operators().values():
        parsed = torch._C.parse_schema(operator.schema)
        assert [a.name for a in operator.arguments] == [a.name for a in parsed.arguments]
        assert [bool(a.default) for a in operator.arguments] == [
            a.has_default_value() for a in parsed.arguments
        ]
        assert [a.is_out for a in operator.arguments] == [a.is_out for a in parsed.arguments]
        assert len(operator.results) == len(parsed.returns)


# ---- what it says reaches the device ----


def given(device, *size):
    return torch.ones(*size).to(device).requires_grad_()


CALLS = {
    "conv2d": lambda g: F.conv2d(g(1, 2, 5, 5), g(3, 2, 3, 3), g(3)),
    "conv_transpose2d": lambda g: F.conv_transpose2d(g(1, 2, 5, 5), g(2, 3, 3, 3)),
    "layer_norm": lambda g: F.layer_norm(g(2, 5), [5], g(5), g(5)),
    "group_norm": lambda g: F.group_norm(g(2, 4, 3), 2),
    "instance_norm": lambda g: F.instance_norm(g(2, 4, 3)),
    "batch_norm": lambda g: F.batch_norm(g(3, 4), None, None, training=True),
    "softmax": lambda g: F.softmax(g(3, 4), 1),
    "log_softmax": lambda g: F.log_softmax(g(3, 4), 1),
    "max_pool1d": lambda g: F.max_pool1d(g(1, 2, 8), 2),
    "matmul": lambda g: torch.matmul(F.linear(g(3, 4), g(5, 4), g(5)), g(5, 2)),
    "cross_entropy": lambda g: F.cross_entropy(g(3, 4), g(3).detach().long()),
}
# What a loss of the results needs, whatever made them.
OF_THE_LOSS = {"sum", "sum.dim_IntList", "fill_.Scalar", "_to_copy", "copy_"}


def reached(run):
    """The operators that ran on the device."""

    def counts():
        return Counter({(entry.op, entry.way): entry.count for entry in torchplug.ledger()})

    before = counts()
    run()
    torch.accelerator.synchronize()
    return {op.removeprefix("aten::") for op, _ in counts() - before}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_needs_is_what_reaches_the_device(device, call):
    names = reached(lambda: CALLS[call](lambda *size: given(device, *size)).sum().backward())
    family = families.of_call(call)
    assert names - OF_THE_LOSS and names - OF_THE_LOSS <= set(family.bind)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.name().removeprefix("aten::"))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("call", "make"),
    [
        ("adamw", lambda p: torch.optim.AdamW(p)),
        ("adamw", lambda p: torch.optim.AdamW(p, fused=True)),
        ("adam", lambda p: torch.optim.Adam(p, fused=True)),
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1)),
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1, fused=True)),
    ],
)
def test_what_an_optimizer_needs_is_what_it_calls(device, call, make):
    parameters = [torch.nn.Parameter(torch.ones(3, device=device)) for _ in range(2)]
    for parameter in parameters:
        parameter.grad = torch.ones(3, device=device)
    optimizer = make(parameters)
    optimizer.step()  # which makes its state
    with Seen() as seen:
        optimizer.step()
    computing = {name for name in seen.names if name.startswith(("_foreach", "_fused"))}
    on_the_host = {"_foreach_add_.Tensor"}  # the number of steps
    assert computing and computing - on_the_host <= set(families.of_call(call).bind)


def test_attention_reaches_the_device_whole_without_kernels_for_its_parts(device):
    q = torch.ones(1, 2, 4, 8, device=device)
    names = reached(lambda: F.scaled_dot_product_attention(q, q, q))
    assert "bmm" not in names and [n for n in names if n.startswith("_scaled_dot_product")]
