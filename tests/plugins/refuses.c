/* Does not start, and says why. Counts how often it was asked. */
#include "base.h"

PLUG_EXPORT int refuses_starts(void);
static int starts;

int refuses_starts(void) { return starts; }

plug_status torchplug_plugin_v0(const plug_host *given, const plug_module **out) {
  (void)out;
  host = given;
  starts++;
  return fail(PLUG_TIMEOUT, "the licence server does not answer");
}
