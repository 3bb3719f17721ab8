#pragma once
// The random numbers of one device: a Philox seed and an offset that every draw advances.
// A kernel takes a range of the sequence; an operator run by the CPU takes one step of it, from
// which a CPU generator is seeded, so the CPU's own generator never moves.
// A generator's mutex_ guards its state, as PyTorch's do.

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include "runtime/device.h"

namespace torchplug {

struct Draw {
  uint64_t seed;
  uint64_t offset;
};

class PhiloxGenerator final : public c10::GeneratorImpl {
 public:
  explicit PhiloxGenerator(DeviceIndex device);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return seed_; }
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override { return offset_; }
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  // Sets `count` 32-bit numbers aside and returns where they begin. Takes the mutex.
  Draw draw(uint64_t count);

  static c10::DeviceType device_type() { return kDeviceType; }

 private:
  PhiloxGenerator* clone_impl() const override;

  uint64_t seed_;
  uint64_t offset_ = 0;
};

const at::Generator& default_generator(DeviceIndex device);
// Seeds the default generator of every device, also of those that no one has asked for yet. Loads no plugin.
void seed_default_generators(uint64_t seed);
at::Generator new_generator(DeviceIndex device);

// A CPU generator seeded by the next draw of `generator`: for random operators the CPU runs.
at::Generator cpu_generator_from(const at::Generator& generator);

}  // namespace torchplug
