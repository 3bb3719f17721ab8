/* A synchronous device whose kernels are written with plug_util.h, in C.
** docs/kernels.md takes its code from here. */
#include "base.h"
#include "torchplug/plug_util.h"
#include "torchplug/schemas.h"

/* self + alpha * other, of any strides, sizes that expand and dtypes. */
static plug_status add(const plug_call *call) {
  const plug_tensor *self = call->args[PLUG_ARG_ADD_TENSOR_SELF].as.tensors;
  const plug_tensor *other = call->args[PLUG_ARG_ADD_TENSOR_OTHER].as.tensors;
  const plug_tensor *out = call->results[0].as.tensors;
  const plug_tensor *tensors[] = {out, self, other};
  plug_loop loop;
  plug_runs runs;
  double alpha = 1;
  if (out->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  plug_status status = plug_get_double(&call->args[PLUG_ARG_ADD_TENSOR_ALPHA], &alpha);
  if (status == PLUG_OK) status = plug_loop_make(&loop, 3, tensors, 0);
  if (status != PLUG_OK) return status;
  for (plug_runs_begin(&runs, &loop, 0, loop.count); plug_runs_next(&runs);) {
    for (int64_t i = 0; i < runs.n; i++) {
      const double a = plug_load(runs.data[1] + i * runs.strides[1], self->dtype);
      const double b = plug_load(runs.data[2] + i * runs.strides[2], other->dtype);
      plug_store(runs.data[0] + i * runs.strides[0], out->dtype, a + alpha * b);
    }
  }
  return PLUG_OK;
}

static void sum_part(void *arg, int32_t index, int32_t count) {
  const plug_reduction *reduction = (const plug_reduction *)arg;
  plug_runs rows, run;
  int64_t begin, end;
  plug_split(reduction->kept.count, 16, index, count, &begin, &end);
  for (plug_runs_begin(&rows, &reduction->kept, begin, end); plug_runs_next(&rows);) {
    for (int64_t i = 0; i < rows.n; i++) {
      char *from[] = {rows.data[1] + i * rows.strides[1]};
      double sum = 0;
      plug_runs_from(&run, &reduction->reduced, from, 0, reduction->reduced.count);
      while (plug_runs_next(&run)) {
        for (int64_t j = 0; j < run.n; j++)
          sum += *(const float *)(run.data[0] + j * run.strides[0]);
      }
      *(float *)(rows.data[0] + i * rows.strides[0]) = (float)sum;
    }
  }
}

static plug_status sum(const plug_call *call) {
  const plug_tensor *self = call->args[PLUG_ARG_SUM_DIM_INTLIST_SELF].as.tensors;
  const plug_value *dims = &call->args[PLUG_ARG_SUM_DIM_INTLIST_DIM];
  const plug_tensor *tensors[] = {call->results[0].as.tensors, self};
  plug_reduction reduction;
  if (self->dtype != PLUG_F32 || tensors[0]->dtype != PLUG_F32) return PLUG_UNSUPPORTED;
  const plug_status status = plug_reduction_make(&reduction, 1, 1, tensors, dims, 0);
  if (status != PLUG_OK) return status;
  host->team(host, sum_part, &reduction);
  return PLUG_OK;
}

static const plug_kernel list[] = {
    {.schema = PLUG_SCHEMA_ADD_TENSOR,
     .fn = add,
     .accepts = PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_BROADCAST | PLUG_ACCEPTS_MIXED |
                PLUG_ACCEPTS_ALIAS | PLUG_ACCEPTS_HOST_SCALAR},
    {.schema = PLUG_SCHEMA_SUM_DIM_INTLIST, .fn = sum, .accepts = PLUG_ACCEPTS_STRIDED},
};

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "looping");
  add_kernels(list, sizeof list / sizeof *list);
  *out = &module;
  return PLUG_OK;
}
