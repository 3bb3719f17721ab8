"""What a vendor is told whose plugin is nearly right: which of its kernels serve nothing, what is missing, and why."""

import pytest
from helpers import output_of, run_python
from test_command_line import torchplug_command
from vendors import compile_plugin

pytestmark = pytest.mark.accelerator("it chooses its plugins, so once is enough", only="sim")

HASTY = """
#include "base.h"

static plug_status fill(int32_t device, plug_stream stream, const plug_mem *dst, uint8_t byte,
                        uint64_t bytes) {
  (void)device, (void)stream, (void)dst, (void)byte, (void)bytes;
  return PLUG_UNSUPPORTED;
}

static plug_status narrow_info(int32_t device, plug_device_info *info) {
  static const plug_dtype dtypes[] = {PLUG_F32};
  plug_status status = base_info(device, info);
  info->dtypes = dtypes;
  info->dtype_count = 1;
  return status;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static const plug_kernel list[] = {
      {.schema = "aten::relu(Tensor self) -> Tensor", .fn = base_relu},
      {.schema = "aten::rleu(Tensor self) -> Tensor", .fn = base_relu},
      {.schema = "aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", .fn = base_relu},
  };
  make_device(given, "hasty");
  runtime.mem_fill = fill;
  runtime.device_info = narrow_info;
  add_kernels(list, 3);
  *out = &module;
  return PLUG_OK;
}
"""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    return str(compile_plugin(tmp_path_factory.mktemp("plugin"), "hasty", HASTY))


def test_devices_counts_the_kernels_that_serve_an_operator_and_names_the_others(hasty):
    code, output, _ = torchplug_command("devices", hasty)
    assert code == 0 and "2 kernels: relu, eq.Tensor" in output
    assert "rleu: this PyTorch has no such operator" in " ".join(output.split())


def test_doctor_warns_of_kernels_that_serve_no_operator(hasty):
    code, output, _ = torchplug_command("doctor", TORCHPLUG_DEVICE=hasty)
    assert code == 0 and "kernels that serve no operator: rleu" in " ".join(output.split())


def test_a_function_that_answers_unsupported_is_told_to_be_left_out(hasty):
    done = run_python("torch.zeros(3, device=device)", "hasty", TORCHPLUG_DEVICE=hasty)
    assert done.returncode != 0
    assert "mem_fill failed (unsupported): it returned PLUG_UNSUPPORTED" in done.stderr
    assert "leaves its member NULL" in done.stderr


def test_the_ledger_says_whether_an_argument_or_a_result_has_a_dtype_that_the_device_lacks(hasty):
    code = """
import torchplug
x = torch.ones(3).to(device)
torch.eq(x, x)
x.double().relu()
for entry in torchplug.ledger():
    if entry.op in ("aten::eq.Tensor", "aten::relu"):
        print(entry.op, entry.reason)
"""
    said = output_of(code, "hasty", TORCHPLUG_DEVICE=hasty)
    assert "aten::eq.Tensor a result's dtype is not among the device's dtypes" in said
    assert "aten::relu an argument's dtype is not among the device's dtypes" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("runtime.size = 100000;", "plug_runtime whose size is 100000. Set .size ="),
        ("runtime.size = 16;", "its .size to sizeof(plug_runtime)"),
        ("module.size = 16;", "its .size to sizeof(plug_module)"),
    ],
)
def test_a_table_whose_size_is_wrong_is_refused_with_the_size_to_set(tmp_path, change, words):
    code = f"""
#include "base.h"
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {{
  make_device(given, "sizes");
  {change}
  *out = &module;
  return PLUG_OK;
}}
"""
    library = compile_plugin(tmp_path, "sizes", code)
    load = f"import torchplug; torchplug.load({str(library)!r})"
    done = run_python(load, "cpu", TORCHPLUG_DEVICE="none")
    assert done.returncode != 0 and words in done.stderr
