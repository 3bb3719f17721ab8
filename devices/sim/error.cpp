#include "error.h"

#include <new>

namespace torchplug::sim {
namespace {

const plug_host* g_host = nullptr;

plug_status answer(plug_status status, const char* sentence) noexcept {
  if (status >= PLUG_INVALID) g_host->set_error(g_host, sentence);
  return status;
}

}  // namespace

void set_host(const plug_host* host) noexcept { g_host = host; }

const plug_host& host() noexcept { return *g_host; }

plug_status answer_current_exception() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return answer(failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return answer(PLUG_NO_MEMORY, "The sim plugin ran out of host memory.");
  } catch (const std::exception& error) {
    return answer(PLUG_INTERNAL, error.what());
  } catch (...) {
    return answer(PLUG_INTERNAL, "The sim plugin met an exception of unknown type.");
  }
}

}  // namespace torchplug::sim
