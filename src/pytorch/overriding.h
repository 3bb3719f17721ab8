#pragma once
// The time in which an extension registers kernels over torchplug's. PyTorch warns of the first kernel of a
// process that is registered over another; here that is meant. The warning is left unspent by having PyTorch
// warn every time, and is dropped by the thread that registers. Belongs to the thread that made it; of
// several on one thread the last made goes first.

#include <c10/util/Exception.h>

#include "base/namespaces.h"

namespace torchplug::pytorch {

class Overriding {
 public:
  Overriding();
  ~Overriding();
  Overriding(const Overriding&) = delete;
  Overriding& operator=(const Overriding&) = delete;

 private:
  class Handler final : public c10::WarningHandler {
   public:
    void process(const c10::Warning& warning) override;
    c10::WarningHandler* next() const { return next_; }

   private:
    c10::WarningHandler* next_ = c10::WarningUtils::get_warning_handler();
  };

  Handler handler_;
};

}  // namespace torchplug::pytorch
