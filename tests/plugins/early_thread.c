/* Starts a thread as soon as it is loaded. */
#include <pthread.h>
#include <unistd.h>

#include "base.h"

static void *wait_for_work(void *arg) {
  pause();
  return arg;
}

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  make_device(given, "early_thread");
  pthread_t worker;
  pthread_create(&worker, NULL, wait_for_work, NULL);
  *out = &module;
  return PLUG_OK;
}
