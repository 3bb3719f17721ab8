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


# ---- a plugin that fails without a word ----

SULLEN = """
#include "base.h"

static plug_status unsupported(const plug_call *call) {
  (void)call;
  return PLUG_UNSUPPORTED;
}

/* One element more than there is room for. */
static plug_status overrun(const plug_call *call) {
  const plug_tensor *y = call->results[0].as.tensors;
  for (int64_t i = 0; i <= y->sizes[0]; i++) ((float *)at(&y->mem))[i] = 1;
  return PLUG_OK;
}

static plug_status no_view(int32_t device, void *base, void **view) {
  (void)device, (void)base, (void)view;
  return fail(PLUG_INTERNAL, "the window is shut");
}

static plug_status no_end(void) { return PLUG_INTERNAL; }

static plug_status no_copy(int32_t device, plug_stream stream, const plug_mem *dst, const plug_mem *src,
                           uint64_t bytes) {
  (void)device, (void)stream, (void)dst, (void)src, (void)bytes;
  return PLUG_UNSUPPORTED;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static const plug_kernel list[] = {
      {.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", .fn = unsupported},
      {.schema = "sullen::never(Tensor x) -> Tensor", .fn = unsupported, .shapes = "x"},
      {.schema = "sullen::overrun(Tensor x) -> Tensor",
       .fn = overrun,
       .accepts = PLUG_ACCEPTS_HOST,
       .shapes = "[x.0] x"},
  };
  make_device(given, "sullen");
  if (host->option(host, "sullen.view")) runtime.host_view = no_view;
  if (host->option(host, "sullen.copy")) runtime.copy = no_copy;
  if (host->option(host, "sullen.end")) runtime.shutdown = no_end;
  add_kernels(list, 3);
  *out = &module;
  return PLUG_OK;
}
"""


@pytest.fixture(scope="module")
def sullen(tmp_path_factory):
    return str(compile_plugin(tmp_path_factory.mktemp("plugin"), "sullen", SULLEN))


def test_a_kernel_for_copy_is_told_which_form_it_does_not_serve(sullen):
    code = """
import torchplug
x = torch.ones(2, 3, device=device)
x.t().contiguous()
torch.ops.aten.copy(x, x)
for entry in torchplug.ledger():
    print(entry.op, entry.way, entry.reason)
"""
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen)
    assert done.returncode == 0, done.stderr
    assert "is not used for aten::copy_: torchplug does aten::copy_ itself" in done.stderr
    assert "copy and copy_strided" in done.stderr
    lines = done.stdout.splitlines()
    assert (
        "aten::copy_ stage the plugin has no copy_strided, or none that takes such a copy" in lines
    )
    assert "aten::copy stage the plugin's kernel declined the call" in lines
    code, output, _ = torchplug_command("devices", sullen)
    assert code == 0 and "copy" in output and "not used" not in output


def test_an_operator_of_its_own_that_declines_silently_is_told_of_the_call(sullen):
    code = "torch.ops.sullen.never(torch.ones(2, device=device))"
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen)
    assert done.returncode != 0
    assert "(unsupported): its kernel does not take such a call" in done.stderr
    assert "member" not in done.stderr


def test_a_function_that_every_device_needs_is_not_told_to_be_left_out(sullen):
    done = run_python(
        "torch.ones(2).to(device)", "sullen", TORCHPLUG_DEVICE=sullen, TORCHPLUG_SULLEN_COPY=1
    )
    assert done.returncode != 0
    assert "copy failed (unsupported): it returned PLUG_UNSUPPORTED" in done.stderr
    assert "every device has to" in done.stderr and "member" not in done.stderr


def test_a_copy_that_fails_for_an_operator_names_it(sullen):
    code = "x = torch.empty(2, device=device); x.sin()"
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen, TORCHPLUG_SULLEN_COPY=1)
    assert done.returncode != 0
    assert "sullen:0: copy for aten::sin failed (unsupported)" in done.stderr


def test_a_host_view_that_fails_is_warned_of_once_and_copied_around(sullen):
    code = "print([torch.ones(n, device=device).sin().numel() for n in (1, 1 << 20, 1 << 22)])"
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen, TORCHPLUG_SULLEN_VIEW=1)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1, 1048576, 4194304]"
    assert done.stderr.count("host_view failed (internal error): the window is shut") == 1


def test_a_shutdown_that_fails_is_said_on_standard_error(sullen):
    code = "torch.ones(1, device=device)"
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen, TORCHPLUG_SULLEN_END=1)
    assert done.returncode == 0
    assert "sullen: shutdown failed (internal error): no reason given" in done.stderr


def test_validate_finds_what_a_kernel_writes_beside_a_result_in_host_memory(sullen):
    code = "torch.ops.sullen.overrun(torch.ones(5))"
    done = run_python(code, "sullen", TORCHPLUG_DEVICE=sullen, TORCHPLUG_LAYERS="validate")
    assert done.returncode != 0
    assert (
        "VALIDATE-red-zone: sullen::overrun(Tensor x) -> Tensor wrote behind the end" in done.stderr
    )
