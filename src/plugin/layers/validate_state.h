#pragma once
// What the parts of the validate layer share: what lies below it, what it knows, and what is asked of every
// call and of every answer. Any thread may use it once the layer is in place.

#include "plugin/layers/validate_memory.h"
#include "plugin/layers/validate_order.h"
#include "torchplug/plug.h"

namespace torchplug::plugin::validation {

extern constinit plug_runtime below;

// Reads TORCHPLUG_VALIDATE; throws c10::Error if it is wrong.
void begin_validation(const plug_host& given);
// From now on every call is one too many.
void end_validation();

const plug_host& host();
Memory& memory();
inline Order& order() { return Order::instance(); }

// Neither after the end, nor on a stream's own thread.
void check_moment(const char* function);
// A device that there is; one that is open.
void check_index(const char* function, int32_t device);
void check_device(const char* function, int32_t device);
void note_open(int32_t device);

// A status that there is, and words for an error. Gives the status back.
plug_status check_status(const char* function, plug_status status, bool is_query);

}  // namespace torchplug::plugin::validation
