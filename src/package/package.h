#pragma once
// A compiled program that was made by `torchplug package`, loaded onto one device: what is called. It has its
// weights, its engines and a state, if the program writes buffers. Any thread may call it; calls of a program
// that has a state take place one after another, on the device too.

#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "package/contents.h"
#include "package/file.h"
#include "package/loaded_group.h"
#include "package/runner.h"
#include "package/signature.h"
#include "runtime/event.h"

namespace torchplug::package {

class Package {
 public:
  // All of the file is checked before any of it is used. Throws, with one sentence, for what is no package.
  Package(const std::string& path, DeviceIndex device);
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  // Integers and tensors, in the order of inputs(), to results in that of outputs().
  std::vector<c10::IValue> run(const std::vector<c10::IValue>& inputs,
                               const Runner::Interruption& interruption);

  const Contents& contents() const { return contents_; }
  // As contents().weights; they may be written.
  const std::vector<at::Tensor>& weights() const { return weights_; }
  const Runner::Groups& groups() const { return groups_; }
  c10::Device device() const { return device_; }
  // Why engines of the package are not used, and are compiled anew; "": they are.
  const std::string& why_anew() const { return why_anew_; }

 private:
  explicit Package(const PackageFile& file, DeviceIndex device);
  void load_groups(const PackageFile& file);
  std::string compare_origins() const;
  std::vector<c10::IValue> run_in_turn(const std::vector<c10::IValue>& inputs,
                                       const Runner::Interruption& interruption);
  std::vector<c10::IValue> run_now(const std::vector<c10::IValue>& inputs,
                                   const Runner::Interruption& interruption) const;

  Contents contents_;
  c10::Device device_;
  Signature signature_;
  std::vector<at::Tensor> weights_;
  std::vector<c10::IValue> weight_values_;
  std::string why_anew_;
  Runner::Groups groups_;
  std::optional<Runner> program_;
  bool has_state_ = false;

  std::mutex order_lock_;       // guards what a program with a state has:
  std::optional<Stream> last_;  // the stream it was given to
  std::unique_ptr<Event> done_;
};

}  // namespace torchplug::package
