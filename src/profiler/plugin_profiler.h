#pragma once
// The plugin's own profiler: plug.h's table L4, for whoever needs it to run. Any thread may call anything.
// Failures are thrown as c10::Error in the plugin's words.

#include <functional>

#include "runtime/device.h"

namespace torchplug::profiler {

// Runs from the first start to the last stop. Without the table these do nothing.
void start_plugin_profiler();
void stop_plugin_profiler();

// The rest needs the table.
int64_t read_plugin_clock(DeviceIndex device);
void set_plugin_label(DeviceIndex device, plug_stream stream, uint64_t label);
// Gives each record of work that has ended to `take`; returns how many the plugin had no room for.
uint64_t drain_plugin_profiler(DeviceIndex device, const std::function<void(const plug_record&)>& take);

}  // namespace torchplug::profiler
