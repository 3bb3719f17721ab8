"""Autocast by the plugin's rules and types, in place of PyTorch's."""

import pytest
from helpers import output_of, run_python
from vendors import compile_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PLUGIN = """
#include "base.h"
static const plug_autocast_rule rules[] = {
    {"aten::softmax.int", PLUG_AUTOCAST_LOWER, 0},
    {"aten::mm", PLUG_AUTOCAST_NONE, 0},
    {"aten::relu", PLUG_AUTOCAST_F32, 0},
    {"aten::cat", PLUG_AUTOCAST_LOWER, 0},
    {"aten::maximum", PLUG_AUTOCAST_WIDEST, 0},
    {"aten::where.self", PLUG_AUTOCAST_WIDEST, 0},
    {"aten::no_such_operator", PLUG_AUTOCAST_F32, 0},
    {"aten::sin", 77, 0},
};
static const plug_dtype dtypes[] = {PLUG_BF16, PLUG_F32};
static const plug_autocast autocast = {.size = sizeof autocast,
                                       .rule_size = sizeof *rules,
                                       .rule_count = sizeof rules / sizeof *rules,
                                       .dtype = PLUG_BF16,
                                       .dtypes = dtypes,
                                       .dtype_count = 2,
                                       .rules = rules};
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "ruled");
  module.autocast = &autocast;
  *out = &module;
  return PLUG_OK;
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return compile_plugin(tmp_path_factory.mktemp("plugin"), "ruled", PLUGIN)


RULES = """
import warnings
warnings.simplefilter("ignore")
x = torch.randn(4, 4, device=device)
low = x.bfloat16()
with torch.autocast(device.type, torch.bfloat16):
    assert x.softmax(1).dtype == torch.bfloat16          # PyTorch: float32
    assert torch.mm(x, x).dtype == torch.float32         # PyTorch: bfloat16
    assert torch.mm(low, low).dtype == torch.bfloat16
    assert low.relu().dtype == torch.float32             # PyTorch: as it is
    assert torch.cat([x, low]).dtype == torch.bfloat16   # PyTorch: the widest
    assert torch.maximum(low, x).dtype == torch.float32
    assert torch.maximum(low, low).dtype == torch.bfloat16
    assert torch.where(x > 0, low, x).dtype == torch.float32
    assert x.double().softmax(1).dtype == torch.float64  # what autocast leaves alone
    parts = [x, low]
    torch.cat(parts)
    assert [part.dtype for part in parts] == [torch.float32, torch.bfloat16]
    # By PyTorch's lists, as before.
    assert (x @ x).dtype == torch.bfloat16 and torch.bmm(x[None], x[None]).dtype == torch.bfloat16
    assert low.exp().dtype == torch.float32
    assert low.sum().dtype == torch.float32
    w = torch.randn(4, 4, device=device, requires_grad=True)
    w.softmax(1).float().pow(2).sum().backward()
    assert w.grad.dtype == torch.float32
torch.testing.assert_close(x.softmax(1).cpu(), x.cpu().softmax(1))
assert x.softmax(1).dtype == torch.float32
"""

TYPES = """
import warnings
warnings.simplefilter("ignore")
module = torch.get_device_module(device)
assert module.get_amp_supported_dtype() == [torch.bfloat16, torch.float32]
assert torch.get_autocast_dtype(device.type) == torch.bfloat16
x = torch.randn(4, 4, device=device)
with torch.autocast(device.type):
    assert torch.bmm(x[None], x[None]).dtype == torch.bfloat16
with module.amp.autocast(dtype=torch.float16):  # turned off
    assert torch.bmm(x[None], x[None]).dtype == torch.float32
"""


def test_a_rule_of_the_plugins_is_in_the_place_of_pytorchs(plugin):
    output_of(RULES, "ruled", TORCHPLUG_DEVICE=plugin)


def test_the_types_and_the_default_are_the_plugins(plugin):
    output_of(TYPES, "ruled", TORCHPLUG_DEVICE=plugin)


def test_rules_that_cannot_be_used_are_named(plugin):
    done = run_python("torch.ones(2, device=device)", "ruled", TORCHPLUG_DEVICE=plugin)
    assert done.returncode == 0, done.stderr
    assert "rule of plugin 'ruled' for 'aten::no_such_operator' is not used" in done.stderr
    assert "rule of plugin 'ruled' for 'aten::sin' is not used: it has the rule 77" in done.stderr
    assert done.stderr.count("is not used") == 2


def test_types_without_a_list_are_refused(tmp_path):
    plugin = compile_plugin(tmp_path, "ruled", PLUGIN.replace(".dtypes = dtypes", ".dtypes = NULL"))
    done = run_python("torch.ones(2, device=device)", "ruled", TORCHPLUG_DEVICE=plugin)
    assert "Plugin 'ruled' has 2 autocast dtypes but no list." in done.stderr


def test_a_plugin_that_is_loaded_at_its_first_use_has_its_rules_too(plugin, tmp_path):
    """Named by a package, it is loaded by the first tensor, when autocast has long been registered."""
    from vendors import install

    install(tmp_path, "ruled", f"PATH = {str(plugin)!r}\n")
    output_of(RULES + TYPES, "ruled", TORCHPLUG_DEVICE="ruled", PYTHONPATH=str(tmp_path))
