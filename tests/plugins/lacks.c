/* sim with a second device that lacks what the first has: a host view, host functions and
** captures. lacks.only: one of "view", "func" and "capture". Whoever uses there what it
** lacks is told so. */
#include "on_sim.h"

static uint32_t lacking =
    PLUG_LACKS_HOST_VIEW | PLUG_LACKS_HOST_FUNC | PLUG_LACKS_CAPTURE;

static plug_status device_info(int32_t device, plug_device_info *info) {
  const plug_status status = sim.device_info(device, info);
  if (status == PLUG_OK && device == 1) info->flags |= lacking;
  return status;
}

/* Not PLUG_OK: the device lacks it. */
static plug_status check(int32_t device, uint32_t what) {
  if (device != 1 || (lacking & what) == 0) return PLUG_OK;
  host->set_error(host, "device 1 was asked for what it lacks");
  return PLUG_INVALID;
}

static plug_status host_view(int32_t device, void *base, void **view) {
  const plug_status status = check(device, PLUG_LACKS_HOST_VIEW);
  return status ? status : sim.host_view(device, base, view);
}

static plug_status host_func(int32_t device, plug_stream stream,
                             void (*fn)(void *arg, plug_status status),
                             void (*release)(void *arg), void *arg) {
  const plug_status status = check(device, PLUG_LACKS_HOST_FUNC);
  return status ? status : sim.host_func(device, stream, fn, release, arg);
}

static plug_status capture_begin(int32_t device, plug_stream stream, int32_t mode) {
  const plug_status status = check(device, PLUG_LACKS_CAPTURE);
  return status ? status : sim.capture_begin(device, stream, mode);
}

static plug_status capture_end(int32_t device, plug_stream stream,
                               plug_capture *capture) {
  const plug_status status = check(device, PLUG_LACKS_CAPTURE);
  return status ? status : sim.capture_end(device, stream, capture);
}

static plug_status capture_replay(int32_t device, plug_capture capture,
                                  plug_stream stream) {
  const plug_status status = check(device, PLUG_LACKS_CAPTURE);
  return status ? status : sim.capture_replay(device, capture, stream);
}

static plug_status capture_destroy(int32_t device, plug_capture capture) {
  const plug_status status = check(device, PLUG_LACKS_CAPTURE);
  return status ? status : sim.capture_destroy(device, capture);
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  const plug_status status = make_sim(given, "lacks");
  if (status != PLUG_OK) return status;
  const char *only = host->option(host, "lacks.only");
  if (only && strcmp(only, "view") == 0) lacking = PLUG_LACKS_HOST_VIEW;
  if (only && strcmp(only, "func") == 0) lacking = PLUG_LACKS_HOST_FUNC;
  if (only && strcmp(only, "capture") == 0) lacking = PLUG_LACKS_CAPTURE;
  runtime.device_info = device_info;
  runtime.host_view = host_view;
  runtime.host_func = host_func;
  runtime.capture_begin = capture_begin;
  runtime.capture_end = capture_end;
  runtime.capture_replay = capture_replay;
  runtime.capture_destroy = capture_destroy;
  *out = &module;
  return PLUG_OK;
}
