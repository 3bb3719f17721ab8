"""Operators of a plugin's own that are given None or empty lists, and those without a tensor among their arguments."""

import re

import pytest
import torch
from interpreter import run
from torch._subclasses import FakeTensorMode
from vendors import compile_plugin

import torchplug

pytestmark = pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")

# Kernels that rely on what their schemas promise: a Tensor is there, and so are the items of a Tensor[].
SOURCE = """
#include "base.h"
static plug_status add(const plug_call *call) {{
  const plug_tensor *x = call->args[0].as.tensors, *w = call->args[1].as.tensors;
  const plug_tensor *y = call->results[0].as.tensors;
  const int has_w = call->args[1].tag == PLUG_VALUE_TENSOR;
  for (int64_t i = 0; i < count_of(y); i++)
    ((float *)at(&y->mem))[i] =
        ((float *)at(&x->mem))[i] + (has_w ? ((float *)at(&w->mem))[i] : 0);
  return PLUG_OK;
}}
static plug_status total(const plug_call *call) {{
  int64_t count = 0;
  for (uint32_t i = 0; i < call->args[0].count; i++) {{
    const plug_tensor *x = call->args[0].as.tensors + i;
    if (x->ndim >= 0) count += count_of(x);
  }}
  call->results[0].as.i = count;
  return PLUG_OK;
}}
static plug_status filled(const plug_call *call) {{
  const plug_tensor *y = call->results[0].as.tensors;
  for (int64_t i = 0; i < count_of(y); i++)
    ((float *)at(&y->mem))[i] = call->args[0].tag == PLUG_NONE ? 1.0f : 2.0f;
  return PLUG_OK;
}}
static plug_status pair(const plug_call *call) {{
  for (int r = 0; r < 2; r++) {{
    const plug_tensor *y = call->results[r].as.tensors;
    for (int64_t i = 0; i < count_of(y); i++) ((float *)at(&y->mem))[i] = (float)r;
  }}
  return PLUG_OK;
}}
static plug_status noise(const plug_call *call) {{
  const plug_tensor *y = call->results[0].as.tensors;
  plug_rng rng = {{.size = sizeof rng}};
  const plug_status status = host->rng(host, call, 1, &rng);
  for (int64_t i = 0; i < count_of(y) && status == PLUG_OK; i++)
    ((float *)at(&y->mem))[i] = (float)(rng.seed % 1000);
  return status;
}}
#define HOST .accepts = PLUG_ACCEPTS_HOST
static const plug_kernel list[] = {{
    {{.schema = "{name}::add(Tensor x, Tensor w) -> Tensor", .fn = add, HOST, .shapes = "x",
      .gradient = "x: grad; w: grad"}},
    {{.schema = "{name}::add_some(Tensor x, Tensor? w) -> Tensor", .fn = add, HOST, .shapes = "x"}},
    {{.schema = "{name}::total(Tensor[] xs) -> int", .fn = total, HOST}},
    {{.schema = "{name}::total_some(Tensor?[] xs) -> int", .fn = total, HOST}},
    {{.schema = "{name}::filled(Tensor? like, SymInt n) -> Tensor", .fn = filled, HOST,
      .shapes = "[n] float32"}},
    {{.schema = "{name}::pair(SymInt n) -> (Tensor, Tensor)", .fn = pair, HOST,
      .shapes = "[n] float32; [n + 1] float32"}},
    {{.schema = "{name}::noise(SymInt[] size, *, Generator? generator=None) -> Tensor",
      .fn = noise, HOST, .shapes = "[size] float32"}},
    {{.schema = "{name}::filled_there(Tensor? like, int n) -> Tensor", .fn = filled,
      .accepts = {there}, .shapes = "[n] float32"}},
}};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "{name}");
  add_kernels(list, sizeof list / sizeof *list);
  {change}
  *out = &module;
  return PLUG_OK;
}}
"""


@pytest.fixture(scope="module")
def absent(tmp_path_factory):
    code = SOURCE.format(name="absent", there="PLUG_ACCEPTS_HOST", change="module.runtime = NULL;")
    torchplug.load_operators(compile_plugin(tmp_path_factory.mktemp("absent"), "absent", code))
    return torch.ops.absent


X = torch.arange(2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda o: o.add(X, None),
            "absent::add expected a tensor but got None for argument #2 'w'.",
        ),
        (
            lambda o: o.add(None, X),
            "absent::add expected a tensor but got None for argument #1 'x'.",
        ),
        (lambda o: o.add_some(None, X), "argument #1 'x'."),
        (lambda o: o.add(X.clone().requires_grad_(), None), "argument #2 'w'."),
        (lambda o: o.add(X.to("meta"), None), "argument #2 'w'."),
    ],
)
def test_none_for_a_tensor_is_refused_by_name(absent, call, words):
    for _ in range(2):
        with pytest.raises(RuntimeError, match=re.escape(words)) as caught:
            call(absent)
        assert "\n" not in str(caught.value)


def test_none_in_a_list_of_tensors_is_refused_by_pytorch(absent):
    for given in ([X, None], [None]):
        with pytest.raises(
            RuntimeError, match=r"absent::total.*'List\[Tensor\]' for argument 'xs'"
        ):
            absent.total(given)


def test_none_for_what_may_be_absent_reaches_the_kernel(absent):
    for _ in range(2):
        assert absent.add_some(X, None).tolist() == [0, 1]
        assert absent.add_some(X, X).tolist() == [0, 2]
        assert absent.total_some([X, None, X]) == 4


def test_a_call_in_which_no_tensor_is_there_runs_on_the_host(absent):
    for _ in range(2):
        assert absent.filled(None, 2).tolist() == [1, 1]
        assert absent.filled(X, 2).tolist() == [2, 2]
        assert absent.total([]) == absent.total_some([]) == absent.total_some([None]) == 0


ON_DEVICE = """
import torch
own, x = torch.ops.away, torch.arange(2.0, device="away")
def refusal(call):
    try: call()
    except (RuntimeError, NotImplementedError) as error: return str(error)
for _ in range(2):
    print(refusal(lambda: own.add(x, None)))
    assert "'xs'" in refusal(lambda: own.total([x, None]))
    assert own.add_some(x, None).tolist() == [0, 1] and own.total_some([x, None]) == 2
assert own.add(x, x).tolist() == [0, 2]
assert own.filled(None, 1).tolist() == [1] and own.filled(None, 1).device.type == "cpu"
assert own.filled_there(x, 1).tolist() == [2]
print(refusal(lambda: own.filled_there(None, 1)))
"""


def test_on_a_device_too(tmp_path):
    code = SOURCE.format(name="away", there="0", change="")
    output, errors = run(ON_DEVICE, compile_plugin(tmp_path, "away", code))
    assert errors == ""
    told = output.splitlines()
    assert told[0] == told[1] == "away::add expected a tensor but got None for argument #2 'w'."
    assert "away::filled_there" in told[2] and "'away'" in told[2] and "no tensor" in told[2]


# ---- traced ----


def test_an_operator_that_makes_a_tensor_of_none_is_traced(absent):
    opcheck = torch.library.opcheck
    with FakeTensorMode():
        made = absent.noise([3, 2])
        pair = absent.pair(4)
    assert made.shape == (3, 2) and made.dtype == torch.float32 and made.device.type == "cpu"
    assert [tensor.shape for tensor in pair] == [(4,), (5,)]
    # Random numbers differ from call to call.
    opcheck(absent.noise.default, ([3],), test_utils=("test_schema", "test_faketensor"))
    opcheck(absent.pair.default, (3,))
    opcheck(absent.filled.default, (None, 3))


def test_a_compiled_program_calls_it_with_any_size(absent):
    compiled = torch.compile(
        lambda x: absent.pair(x.shape[0])[0] + absent.filled(None, x.shape[0]) + x,
        backend="aot_eager",
        fullgraph=True,
        dynamic=True,
    )
    for size in (3, 5):
        assert compiled(torch.ones(size)).tolist() == [2.0] * size
    noisy = torch.compile(lambda x: absent.noise([3]) * x, backend="aot_eager", fullgraph=True)
    assert noisy(torch.zeros(3)).tolist() == [0.0] * 3
