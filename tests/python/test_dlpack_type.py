"""Memory that DLPack has a name for: other libraries see it, and PyTorch takes it back."""

import pytest
from helpers import output_of
from vendors import compile_plugin

pytestmark = pytest.mark.accelerator("the CPU has no plugin", only="sim")

PLUGIN = """
#include "base.h"
static plug_status device_info(int32_t device, plug_device_info *info) {
  base_info(device, info);
  if (PLUG_HAS(info, dlpack_type)) info->dlpack_type = 4;
  return PLUG_OK;
}
plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "named");
  runtime.device_info = device_info;
  *out = &module;
  return PLUG_OK;
}
"""

BODY = """
import ctypes
from torch.utils.dlpack import DLDeviceType, to_dlpack

OPENCL = 4
device = torch.device(device.type, 0)
x = torch.arange(6.0, device=device).reshape(2, 3)
assert x.__dlpack_device__() == (OPENCL, 0) and isinstance(x.__dlpack_device__()[0], DLDeviceType)

def device_in(capsule, name):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = get(capsule, name)
    # Behind the data pointer; in the versioned struct behind version, context, deleter and flags too.
    at += 8 if name == b"dltensor" else 8 + 8 + 8 + 8 + 8
    return tuple(ctypes.cast(at, ctypes.POINTER(ctypes.c_int32))[:2])

class Producer:
    def __init__(self, tensor): self.tensor, self.asked = tensor, []
    def __dlpack_device__(self): return self.tensor.__dlpack_device__()
    def __dlpack__(self, **options):
        self.asked.append(options)
        return self.tensor.__dlpack__(**options)

old, new = x.__dlpack__(), x.__dlpack__(max_version=(1, 0))
assert device_in(old, b"dltensor") == (OPENCL, 0)
assert device_in(new, b"dltensor_versioned") == (OPENCL, 0)
assert device_in(x.__dlpack__(dl_device=(OPENCL, 0)), b"dltensor") == (OPENCL, 0)
assert device_in(x.__dlpack__(dl_device=(1, 0), copy=True), b"dltensor") == (1, 0)
for packed in (x, old, new, to_dlpack(x), Producer(x)):
    y = torch.from_dlpack(packed)
    assert y.device == device and y.data_ptr() == x.data_ptr() and y.shape == (2, 3)
    y[0, 0] += 1
assert x[0, 0].item() == 5
assert torch.from_dlpack(x, device=device).data_ptr() == x.data_ptr()
assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
assert torch.from_dlpack(x, device="cpu").tolist() == x.tolist()
producer = Producer(x)
torch.from_dlpack(producer, device=device)
assert producer.asked[0]["dl_device"] == (OPENCL, 0)
assert torch.ones(2).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)
assert torch.from_dlpack(torch.ones(2)).sum().item() == 2
"""


def test_other_libraries_see_the_plugins_name_of_the_memory(tmp_path):
    output_of(BODY, "named", TORCHPLUG_DEVICE=compile_plugin(tmp_path, "named", PLUGIN))
