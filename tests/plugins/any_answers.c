/* A device whose kernel for any operator computes nothing and answers as the option
** any_answers.how says. "takes": it takes every pointwise operator. "declines": it
** declines all. "prepares_none": its `prepare` declines all. "shapes_none": its
** `prepare` is content with all, and shapes nothing. */
#include "base.h"

static plug_status take(const plug_call *call) {
  return call->compute != 0 ? PLUG_OK : PLUG_UNSUPPORTED;
}

static plug_status decline(const plug_call *call) {
  (void)call;
  return PLUG_UNSUPPORTED;
}

static plug_status prepare_none(const plug_call *call, void **state) {
  (void)call, (void)state;
  return PLUG_UNSUPPORTED;
}

static plug_status shape_none(const plug_call *call, void **state) {
  (void)call;
  *state = NULL;
  return PLUG_OK;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  static plug_kernel any = {.fn = decline};
  make_device(given, "any_answers");
  const char *how = host->option(host, "any_answers.how");
  if (how && strcmp(how, "takes") == 0) any.fn = take;
  if (how && strcmp(how, "prepares_none") == 0) any.prepare = prepare_none;
  if (how && strcmp(how, "shapes_none") == 0) any.prepare = shape_none;
  kernels.any = &any;
  add_kernels(NULL, 0);
  *out = &module;
  return PLUG_OK;
}
