#pragma once
// The random numbers of one device: a Philox seed and an offset that every draw advances.
// A kernel takes a range of the sequence; an operator run by the CPU takes one step of it, from
// which a CPU generator is seeded, so the CPU's own generator never moves. In the capture of a graph a
// generator stands still, and offsets are counted from where a replay will begin.
// A state guards itself; a generator's mutex_, as PyTorch's do, guards which state is its.

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <memory>

#include "runtime/device.h"
#include "runtime/draw.h"
#include "runtime/stream.h"

namespace torchplug::runtime {

class PhiloxGenerator final : public c10::GeneratorImpl {
 public:
  explicit PhiloxGenerator(DeviceIndex device);
  PhiloxGenerator(DeviceIndex device, std::shared_ptr<PhiloxState> state);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return state_->place().seed; }
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override { return place().offset; }
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  // A generator that shares this one's state, and taking over the state of another: how a graph is captured
  // with one state of several.
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) override;

  // Sets `count` 32-bit numbers aside and returns where they begin. Takes the mutex. Not in a capture.
  Draw draw(uint64_t count);
  std::shared_ptr<PhiloxState> shared_state();

  static c10::DeviceType device_type() { return kDeviceType; }

 private:
  PhiloxGenerator* clone_impl() const override;
  // In a capture on the calling thread's stream the offset is that of the capture.
  Draw place() const;
  void set_place(const Draw& place);

  std::shared_ptr<PhiloxState> state_;
};

const at::Generator& default_generator(DeviceIndex device);
// Seeds the default generator of every device, also of those that no one has asked for yet. Loads no plugin.
void seed_default_generators(uint64_t seed);
at::Generator new_generator(DeviceIndex device);

// For a random operator that the CPU runs: a CPU generator seeded by the next draw of the device's. For an
// operator in a capture, one that is seeded anew before each run.
class HostGenerator {
 public:
  HostGenerator() = default;
  HostGenerator(const at::Generator& generator, const Stream& stream);

  const at::Generator& generator() const { return generator_; }
  void seed_for_run();

 private:
  at::Generator generator_;
  std::shared_ptr<const Draw> replay_;  // null outside of captures
  uint64_t offset_ = 0;
};

}  // namespace torchplug::runtime
