#pragma once
// Failures of work that had already been enqueued, kept until somebody synchronises.
// The first failure of a device is kept with its own exception type and text; it is thrown once, at
// the next synchronisation of that device. A lost device stays lost: every use of it throws
// c10::AcceleratorError with the sentence it was lost with. Any thread may call anything.

#include <exception>
#include <string>

#include "runtime/device.h"

namespace torchplug::runtime {

void record_failure(DeviceIndex device, std::exception_ptr failure);
// Records the failure of a job; its text also says which job it was.
void record_failure_of(DeviceIndex device, const char* name, uint64_t sequence, std::exception_ptr failure);
void throw_recorded_failure(DeviceIndex device);
// What every wait ends with: warnings of the work that was waited for, then its failure.
void finish_wait(DeviceIndex device);

// From now on the device is lost; the first sentence is the one that stays.
void lose_device(DeviceIndex device, const std::string& sentence);
[[noreturn]] void throw_lost(DeviceIndex device);

// Says on standard error what failed and was never thrown, since nobody synchronised.
void print_recorded_failures();

// Makes host->report() end up here.
void listen_to_plugin_reports();

}  // namespace torchplug::runtime
