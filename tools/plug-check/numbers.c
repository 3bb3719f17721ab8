/* Numbers as the elements of tensors. */
#include <string.h>

#include "kernels.h"
#include "torchplug/plug_element.h"

double round_to(plug_dtype dtype, double number) {
  _Alignas(16) unsigned char element[16];
  if (!plug_is_plain(dtype)) return 0;
  store_number(dtype, element, number);
  return load_number(dtype, element);
}

void store_number(plug_dtype dtype, void *at, double number) {
  memset(at, 0, PLUG_DTYPE_BYTES(dtype));
  plug_store(at, dtype, number);
}

double load_number(plug_dtype dtype, const void *at) { return plug_load(at, dtype); }

bool is_float(plug_dtype dtype) {
  return dtype == PLUG_F64 || dtype == PLUG_F32 || dtype == PLUG_F16 ||
         dtype == PLUG_BF16;
}

double tolerance_of(plug_dtype dtype) {
  return dtype == PLUG_F64    ? 1e-9
         : dtype == PLUG_F32  ? 2e-5
         : dtype == PLUG_F16  ? 4e-3
         : dtype == PLUG_BF16 ? 3e-2
                              : 0;
}
