#include "aten/kernel/recorded_kernel.h"

#include <string>
#include <utility>

namespace torchplug::aten {

RecordedKernel::RecordedKernel(const KernelTarget& target, std::shared_ptr<const KernelState> state,
                               const Stream& stream, const plug_call& call, at::Generator generator)
    : target_{target.module, target.kernel, target.name, target.schema, {}},
      stream_(stream),
      call_(call),
      generator_(std::move(generator)) {
  alike_.compute = call.compute;
  alike_.state = std::move(state);
}

void RecordedKernel::set_draw(CapturedDraw draw, uint64_t count) {
  draw_ = std::move(draw);
  draws_ = count;
}

plug_status RecordedKernel::run(plug_stream handle) {
  const plug_call call = call_.call();
  const Stream stream = handle == stream_.handle() ? stream_ : Stream::of_handle(stream_.device(), handle);
  KernelCall replayed(target_, alike_, stream, {call.results, call.result_count});
  if (generator_.defined()) replayed.set_generator(generator_);
  replayed.set_draw(draw_, draws_);
  const uint64_t flags = call.flags & ~uint64_t{PLUG_CALL_CAPTURED};
  const plug_status status = replayed.run({call.args, call.arg_count}, flags);
  if (status != PLUG_UNSUPPORTED) return status;
  const std::string sentence = std::string("kernel ") + target_.title() +
                               " declined in a replay a call that it had not declined when it was captured";
  target_.module.host.set_error(&target_.module.host, sentence.c_str());
  return PLUG_INVALID;
}

}  // namespace torchplug::aten
