#include "runtime/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "immortal.h"

namespace torchplug {
namespace {

constexpr size_t kStateBytes = 2 * sizeof(uint64_t);

// Spreads seed and offset over 64 bits (splitmix64), since a CPU generator takes one number.
uint64_t mix(const Draw& draw) {
  uint64_t z = draw.seed + 0x9e3779b97f4a7c15ULL * (draw.offset / 4 + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// The default generators, made when the first of them is asked for.
struct Generators {
  std::mutex lock;
  std::deque<at::Generator> made;
  std::optional<uint64_t> seed;  // what they begin with

  const at::Generator& of(DeviceIndex device) {
    for (auto i = static_cast<DeviceIndex>(made.size()); i < device_count(); ++i) {
      made.push_back(at::make_generator<PhiloxGenerator>(i));
      if (seed) made.back().set_current_seed(*seed);
    }
    return made[static_cast<size_t>(device)];
  }
};

Generators& default_generators() {
  static auto& generators = *immortal<Generators>();
  return generators;
}

}  // namespace

PhiloxGenerator::PhiloxGenerator(DeviceIndex device)
    : GeneratorImpl(c10::Device(kDeviceType, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      seed_(c10::detail::getNonDeterministicRandom()) {}

void PhiloxGenerator::set_current_seed(uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
}

uint64_t PhiloxGenerator::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom());
  return seed_;
}

void PhiloxGenerator::set_offset(uint64_t offset) {
  TORCH_CHECK(offset % 4 == 0, "A generator's offset is a multiple of 4, not ", offset, ".");
  offset_ = offset;
}

void PhiloxGenerator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == kStateBytes, "The state of a generator of '", active_module().name, "' has ",
              kStateBytes, " bytes, not ", state.numel(), ".");
  const auto* bytes = static_cast<const char*>(state.data());
  uint64_t offset = 0;
  std::memcpy(&offset, bytes + sizeof seed_, sizeof offset);
  set_offset(offset);
  std::memcpy(&seed_, bytes, sizeof seed_);
}

c10::intrusive_ptr<c10::TensorImpl> PhiloxGenerator::get_state() const {
  at::Tensor state = at::empty({static_cast<int64_t>(kStateBytes)}, at::device(at::kCPU).dtype(at::kByte));
  auto* bytes = state.mutable_data_ptr<uint8_t>();
  std::memcpy(bytes, &seed_, sizeof seed_);
  std::memcpy(bytes + sizeof seed_, &offset_, sizeof offset_);
  return state.getIntrusivePtr();
}

Draw PhiloxGenerator::draw(uint64_t count) {
  std::lock_guard lock(mutex_);
  const Draw draw{seed_, offset_};
  offset_ += (count + 3) / 4 * 4;
  return draw;
}

PhiloxGenerator* PhiloxGenerator::clone_impl() const {
  auto copy = std::make_unique<PhiloxGenerator>(device().index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy.release();
}

const at::Generator& default_generator(DeviceIndex device) {
  const DeviceIndex index = device < 0 ? current_device() : device;
  device_info(index);
  Generators& generators = default_generators();
  std::lock_guard lock(generators.lock);
  return generators.of(index);
}

void seed_default_generators(uint64_t seed) {
  Generators& generators = default_generators();
  std::lock_guard lock(generators.lock);
  generators.seed = seed;
  for (at::Generator& generator : generators.made) {
    std::lock_guard state_lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

at::Generator new_generator(DeviceIndex device) {
  const DeviceIndex index = device < 0 ? current_device() : device;
  device_info(index);
  return at::make_generator<PhiloxGenerator>(index);
}

at::Generator cpu_generator_from(const at::Generator& generator) {
  auto* philox = at::check_generator<PhiloxGenerator>(generator);
  return at::make_generator<at::CPUGeneratorImpl>(mix(philox->draw(1)));
}

}  // namespace torchplug
