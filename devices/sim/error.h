#pragma once
// How the plugin fails: code inside throws Failure, and guarded() at each function of the
// interface turns whatever was thrown into a plug_status and one sentence for the host.
// Any thread may use all of it once the entry point has set plug::host.

#include <locale>
#include <sstream>

#include "torchplug/plug.hpp"

namespace torchplug::sim {

using plug::Failure;
using plug::guarded;

// Throws a Failure whose sentence is the parts strung together.
template <class... Parts>
[[noreturn]] void fail(plug_status status, const Parts&... parts) {
  std::ostringstream sentence;
  sentence.imbue(std::locale::classic());  // the program's locale may group digits
  (sentence << ... << parts);
  throw Failure(status, sentence.str());
}

// What a kernel returns to send its call another way, before it has done anything: the ledger shows why.
// An exception would cost more than many a call that is declined.
inline plug_status declined(const char* why) noexcept { return plug::fail(PLUG_UNSUPPORTED, why); }

inline const plug_host& host() noexcept { return *plug::host; }

}  // namespace torchplug::sim
