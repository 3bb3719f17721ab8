#pragma once
// Host memory that streams copy from or to and that no allocator of torchplug's keeps: it is held until they
// have. Any thread may call it.

#include <c10/core/Storage.h>

#include "runtime/stream.h"

namespace torchplug::memory {

// Until the stream's work so far is done, and somebody asks again; or release_passed_storages() is called.
void hold_storage(const c10::Storage& storage, const Stream& stream);
void release_passed_storages();

}  // namespace torchplug::memory
