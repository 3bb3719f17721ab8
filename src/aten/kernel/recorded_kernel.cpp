#include "aten/kernel/recorded_kernel.h"

#include <string>
#include <utility>

#include "aten/kernel/kernel_call.h"
#include "runtime/capture.h"

namespace torchplug::aten {

RecordedKernel::RecordedKernel(const Module& module, const plug_kernel& kernel, const Stream& stream,
                               const plug_call& call, at::Generator generator)
    : module_(module), kernel_(kernel), stream_(stream), call_(call), generator_(std::move(generator)) {}

plug_status RecordedKernel::run() {
  const plug_call call = call_.call();
  KernelCall replayed(module_, kernel_, call.name, ReplayScope::stream_for(stream_),
                      {call.results, call.result_count});
  if (generator_.defined()) replayed.set_generator(generator_);
  const plug_status status = replayed.run({call.args, call.arg_count}, call.flags);
  if (status != PLUG_UNSUPPORTED) return status;
  const std::string sentence = std::string("kernel ") + kernel_.schema +
                               " declined in a replay a call that it had not declined when it was captured";
  module_.host.set_error(&module_.host, sentence.c_str());
  return PLUG_INVALID;
}

}  // namespace torchplug::aten
