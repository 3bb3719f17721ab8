#include "pytorch/overriding.h"

#include <mutex>

#include "aten/register.h"
#include "pytorch/active_module.h"

namespace torchplug::pytorch {
namespace {

// PyTorch has one switch for all threads.
std::mutex switch_lock;
int switched_on = 0;
bool was_on = false;

void warn_always() {
  const std::lock_guard guard(switch_lock);
  if (switched_on++ > 0) return;
  was_on = c10::WarningUtils::get_warnAlways();
  c10::WarningUtils::set_warnAlways(true);
}

void warn_as_before() {
  const std::lock_guard guard(switch_lock);
  if (--switched_on == 0) c10::WarningUtils::set_warnAlways(was_on);
}

}  // namespace

void Overriding::Handler::process(const c10::Warning& warning) {
  if (warning.msg().find("Overriding a previously registered kernel") == std::string::npos)
    next_->process(warning);
}

Overriding::Overriding() {
  warn_always();
  c10::WarningUtils::set_warning_handler(&handler_);
}

Overriding::~Overriding() {
  c10::WarningUtils::set_warning_handler(handler_.next());
  warn_as_before();
  if (is_module_loaded()) give_way_to_extensions();
}

}  // namespace torchplug::pytorch
