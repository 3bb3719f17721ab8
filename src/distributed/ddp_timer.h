#pragma once
// The timer by which DistributedDataParallel measures the phases of a step: events on the device's current
// stream.

namespace torchplug::distributed {

// DDP looks for it by device type, and warns where there is none.
void register_ddp_timer();

}  // namespace torchplug::distributed
