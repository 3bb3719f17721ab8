#pragma once
// Failures of work that had already been enqueued, kept until somebody synchronises.
// The first failure of a device is kept with its own exception type and text; it is thrown once, at
// the next synchronisation of that device. A lost device stays lost and throws at every one.

#include <exception>

#include "runtime/device.h"

namespace torchplug {

void record_failure(DeviceIndex device, std::exception_ptr failure);
void throw_recorded_failure(DeviceIndex device);
// Says on standard error what failed and was never thrown, since nobody synchronised.
void print_recorded_failures();

// Makes host->report() end up here.
void listen_to_plugin_reports();

}  // namespace torchplug
