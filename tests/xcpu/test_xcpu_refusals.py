"""A wrong dtype, size, device or layout is one sentence that names the argument."""

import pytest
import torch
from xcpu_weights import xcpu

x = torch.randn(3, 64)
matrix = torch.randn(40, 64)
weight = xcpu.pack(matrix, "int8")
pair = xcpu.pack_pair(matrix, matrix, "int8")
cos = torch.ones(5, 4)
q = torch.randn(3, 2, 8)
down = xcpu.pack(torch.randn(8, 40), "int8")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        # What is no packed weight.
        (lambda: xcpu.linear(x, matrix), r"weight is float32 \[40, 64\].*xcpu::pack"),
        (lambda: xcpu.linear(x, weight.long()), r"weight is int64 \[40, 1, 72\].*xcpu::pack"),
        (lambda: xcpu.linear(x, weight[:, :, :7]), r"weight is int8 \[40, 1, 7\].*xcpu::pack"),
        (lambda: xcpu.linear(x, weight[0]), r"weight is int8 \[1, 72\].*xcpu::pack"),
        (lambda: xcpu.linear(x, weight.repeat(1, 1, 2)[:, :, ::2]), "weight has the strides"),
        (lambda: xcpu.linear(x, pair), "weight is a pair.*xcpu::gate_up"),
        (lambda: xcpu.gate_up(x, weight), "weight is one matrix.*xcpu::linear"),
        (lambda: xcpu.mlp(x, pair, pair), "down is a pair"),
        (lambda: xcpu.unpack(matrix), r"packed is float32 \[40, 64\]"),
        # Dtypes.
        (lambda: xcpu.linear(x.double(), weight), "x is float64; it is float32, bfloat16 or"),
        (lambda: xcpu.linear(x.int(), weight), "x is int32; it is float32, bfloat16 or"),
        (lambda: xcpu.linear(x, weight, torch.zeros(40).double()), "bias is float64"),
        (lambda: xcpu.linear(x, weight, mul=torch.zeros(3, 40).long()), "mul is int64"),
        (lambda: xcpu.linear(x, weight, dtype=torch.float64), "dtype is float64"),
        (lambda: xcpu.unpack(weight, torch.int32), "dtype is int32"),
        (lambda: xcpu.pack(matrix.double(), "bf16"), "weight is float64"),
        (lambda: xcpu.pack_pair(matrix, matrix.double(), "bf16"), "up is float64"),
        # Sizes.
        (lambda: xcpu.linear(x[:, :63], weight), r"x is float32 \[3, 63\], and weight takes 64"),
        (lambda: xcpu.gate_up(x[:, :63], pair), r"x is float32 \[3, 63\], and weight takes 64"),
        (lambda: xcpu.mlp(x[:, :63], pair, down), r"x is float32 \[3, 63\], and up takes 64"),
        (lambda: xcpu.mlp(x, pair, weight), "down takes 64 inputs, and up gives 40"),
        (lambda: xcpu.linear(torch.tensor(1.0), weight), "x"),
        (lambda: xcpu.linear(x, weight, torch.zeros(39)), r"bias has the sizes \[39\].*\[40\]"),
        (lambda: xcpu.linear(x, weight, torch.zeros(1, 40)), r"bias has the sizes \[1, 40\]"),
        (lambda: xcpu.gate_up(x, pair, torch.zeros(40)), r"bias has the sizes \[40\].*\[80\]"),
        (lambda: xcpu.linear(x, weight, mul=torch.zeros(40)), r"mul has the sizes \[40\]"),
        (lambda: xcpu.linear(x, weight, residual=torch.zeros(3, 1)), r"residual has .*\[3, 40\]"),
        (lambda: xcpu.mlp(x, pair, down, torch.zeros(8)), r"up_bias has the sizes \[8\]"),
        (lambda: xcpu.mlp(x, pair, down, None, torch.zeros(1)), r"down_bias has the sizes \[1\]"),
        (lambda: xcpu.pack(matrix[0], "bf16"), r"weight has the sizes \[64\].*matrix"),
        (lambda: xcpu.pack(matrix[:0], "bf16"), r"weight has the sizes \[0, 64\].*matrix"),
        (lambda: xcpu.pack(matrix[:, :60], "int4"), "weight has 60 inputs.*group, 128"),
        (lambda: xcpu.pack_pair(matrix, matrix[:3], "bf16"), r"up has the sizes \[3, 64\]"),
        (lambda: xcpu.rms_norm(x, matrix[0, :3]), r"weight has the sizes \[3\].*\[64\]"),
        (lambda: xcpu.layer_norm(x, None, x), r"bias has the sizes \[3, 64\].*\[64\]"),
        (lambda: xcpu.layer_norm(x.long()), "x is int64"),
        (lambda: xcpu.add_rms_norm(x, x[:1]), r"residual has the sizes \[1, 64\].*\[3, 64\]"),
        (lambda: xcpu.rotary(x, x, cos, cos), r"q has the sizes \[3, 64\].*heads, head_dim"),
        (lambda: xcpu.rotary(q, q[:2], cos, cos), r"k is float32 \[2, 2, 8\].*q, float32"),
        (lambda: xcpu.rotary(q, q[..., :6], cos, cos), r"k is float32 \[3, 2, 6\].*head_dim"),
        (lambda: xcpu.rotary(q, q, x, x), r"cos has the sizes \[3, 64\].*head_dim, 8"),
        (lambda: xcpu.rotary(q, q, cos, cos[:1]), r"sin has the sizes \[1, 4\]"),
        (lambda: xcpu.rotary(q, q, cos[:2], cos[:2]), "cos has 2 positions, and q has 3 tokens"),
        (lambda: xcpu.rotary(q, q, cos, cos, torch.arange(2)), r"positions has the sizes \[2\]"),
        (lambda: xcpu.rotary(q, q, cos, cos, x[:, 0]), r"positions is float32 \[3\]; it is int64"),
        (lambda: xcpu.rotary(q, q, cos, cos, torch.tensor([0, 9, 1])), "position.* 9"),
        (lambda: xcpu.rotary(q, q, cos, cos, torch.tensor([0, -1, 1])), "position.* -1"),
        # Words and numbers.
        (lambda: xcpu.pack(matrix, "int5"), 'kind is "int5"; it is one of "fp32", "bf16"'),
        (lambda: xcpu.pack(matrix, "int4", 48), "group is 48; it is 32, 64 or 128"),
        (lambda: xcpu.pack(matrix, "int8", 32), "group is 32; it is of int4 weights alone"),
        (lambda: xcpu.linear(x, weight, activation="swish"), 'activation is "swish"; it is one'),
        (lambda: xcpu.linear(x, weight, precision="int4"), 'precision is "int4"; it is one of'),
    ],
)
def test_the_argument_is_named(call, words):
    for _ in range(2):  # a plan of the first call changes nothing
        with pytest.raises(RuntimeError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("xcpu::")


@pytest.mark.parametrize(
    "call",
    [
        lambda: xcpu.linear(x.to_sparse(), weight),
        lambda: xcpu.linear(x, weight, torch.zeros(40).to_sparse()),
        lambda: xcpu.pack(matrix.to_sparse(), "bf16"),
    ],
)
def test_other_layouts_are_refused(call):
    with pytest.raises((RuntimeError, NotImplementedError), match=r"xcpu::.*[Ss]parse"):
        call()


def test_other_devices_are_refused(device):
    for given in ((x.to(device), weight), (x, weight.to(device))):
        with pytest.raises(RuntimeError, match="same device"):
            xcpu.linear(*given)


cache = xcpu.make_cache("bf16", 1, 2, 8)
first = torch.tensor([0])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: xcpu.linear(x.to("meta"), weight), "weight"),
        (lambda: xcpu.linear(x, weight.to("meta")), "x"),
        (lambda: xcpu.linear(x.to("meta"), weight.to("meta"), torch.zeros(40)), "bias"),
        (lambda: xcpu.cache_write(cache.to("meta"), first, q[:1], q[:1]), "slots"),
        (lambda: xcpu.paged_attention(q[:1].to("meta"), cache, first + 1, first[None]), "cache"),
    ],
)
def test_half_of_a_model_on_meta_is_refused(call, argument):
    with pytest.raises(RuntimeError, match=rf"same device.*meta and cpu! \(xcpu::.*'{argument}'"):
        call()
