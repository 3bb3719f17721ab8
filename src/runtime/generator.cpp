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

#include "base/immortal.h"
#include "runtime/capture.h"

namespace torchplug::runtime {
namespace {

// Seed and offset.
constexpr size_t kStateBytes = sizeof(Draw);

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
    : PhiloxGenerator(device, std::make_shared<PhiloxState>(c10::detail::getNonDeterministicRandom())) {}

PhiloxGenerator::PhiloxGenerator(DeviceIndex device, std::shared_ptr<PhiloxState> state)
    : GeneratorImpl(c10::Device(kDeviceType, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      state_(std::move(state)) {}

Draw PhiloxGenerator::place() const {
  Draw place = state_->place();
  if (any_capture()) {
    if (const auto capture = capture_of(Stream::current(device().index())))
      place.offset = capture->drawn(state_);
  }
  return place;
}

// What a graph draws depends on the seed at its replay: in the capture there is no other.
void PhiloxGenerator::set_place(const Draw& place) {
  if (any_capture()) {
    if (const auto capture = capture_of(Stream::current(device().index()))) {
      if (place.seed != state_->place().seed) {
        capture->refuse(
            "Seeding a generator cannot be captured in a graph. Seed it before the capture, or before a "
            "replay.");
      }
      capture->set_drawn(state_, place.offset);
      return;
    }
  }
  state_->set_place(place);
}

void PhiloxGenerator::set_current_seed(uint64_t seed) {
  const bool stays =
      any_capture() && seed == state_->place().seed && is_capturing(Stream::current(device().index()));
  if (!stays) set_place({seed, 0});
}

uint64_t PhiloxGenerator::seed() {
  const uint64_t chosen = c10::detail::getNonDeterministicRandom();
  set_current_seed(chosen);
  return chosen;
}

void PhiloxGenerator::set_offset(uint64_t offset) {
  TORCH_CHECK(offset % 4 == 0, "A generator's offset must be a multiple of 4, not ", offset, ".");
  set_place({current_seed(), offset});
}

void PhiloxGenerator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == kStateBytes, "The state of a generator of '", device_type_name(), "' has ",
              kStateBytes, " bytes, not ", state.numel(), ".");
  Draw place{};
  std::memcpy(&place, state.data(), sizeof place);
  TORCH_CHECK(place.offset % 4 == 0, "A generator's offset must be a multiple of 4, not ", place.offset, ".");
  set_place(place);
}

c10::intrusive_ptr<c10::TensorImpl> PhiloxGenerator::get_state() const {
  at::Tensor state = at::empty({static_cast<int64_t>(kStateBytes)}, at::device(at::kCPU).dtype(at::kByte));
  const Draw now = place();
  std::memcpy(state.mutable_data_ptr<uint8_t>(), &now, sizeof now);
  return state.getIntrusivePtr();
}

c10::intrusive_ptr<c10::GeneratorImpl> PhiloxGenerator::graphsafe_get_state() const {
  return c10::make_intrusive<PhiloxGenerator>(device().index(), state_);
}

void PhiloxGenerator::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& other) {
  auto* philox = dynamic_cast<PhiloxGenerator*>(other.get());
  TORCH_CHECK(philox != nullptr && philox->device() == device(), "A generator of ", device(),
              " cannot share its state with one of ", other->device(), ".");
  state_ = philox->state_;
}

Draw PhiloxGenerator::draw(uint64_t count) {
  std::lock_guard lock(mutex_);
  return state_->take(count);
}

std::shared_ptr<PhiloxState> PhiloxGenerator::shared_state() {
  std::lock_guard lock(mutex_);
  return state_;
}

PhiloxGenerator* PhiloxGenerator::clone_impl() const {
  auto state = std::make_shared<PhiloxState>(0);
  state->set_place(state_->place());
  return std::make_unique<PhiloxGenerator>(device().index(), std::move(state)).release();
}

const at::Generator& default_generator(DeviceIndex device) {
  const DeviceIndex index = device < 0 ? current_device() : device;
  check_device(index);
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
  check_device(index);
  return at::make_generator<PhiloxGenerator>(index);
}

HostGenerator::HostGenerator(const at::Generator& generator, const Stream& stream) {
  auto* philox = at::check_generator<PhiloxGenerator>(generator);
  if (const auto capture = capture_of(stream)) {
    CapturedDraw draw = capture->draw_for_host(philox->shared_state(), 1);
    generator_ = at::make_generator<at::CPUGeneratorImpl>();
    replay_ = std::move(draw.for_host);
    offset_ = draw.offset;
  } else {
    generator_ = at::make_generator<at::CPUGeneratorImpl>(mix(philox->draw(1)));
  }
}

void HostGenerator::seed_for_run() {
  if (replay_ == nullptr) return;
  generator_.set_current_seed(mix({replay_->seed, replay_->offset + offset_}));
}

}  // namespace torchplug::runtime
