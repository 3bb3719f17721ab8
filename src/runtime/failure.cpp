#include "runtime/failure.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>

#include "base/exception_text.h"
#include "base/immortal.h"
#include "base/utf8.h"
#include "plugin/sequence.h"
#include "runtime/deferred_warnings.h"

namespace torchplug::runtime {
namespace {

struct Slot {
  std::atomic<bool> pending{false};
  std::mutex failure_lock;
  std::exception_ptr failure;
  std::string lost;       // the sentence; empty while the device is not
  bool is_known = false;  // somebody has been thrown that sentence
};

Slot& slot(DeviceIndex device) {
  static auto& slots = *immortal<std::array<Slot, std::numeric_limits<DeviceIndex>::max() + 1>>();
  return slots[static_cast<size_t>(device)];
}

std::string name_of(DeviceIndex device) { return device_type_name() + ":" + std::to_string(int{device}); }

// An exception of the same type with another text, for the types that PyTorch tells apart; else nothing.
template <class... Types>
std::exception_ptr retold(const std::exception& error, const std::string& text) {
  std::exception_ptr made;
  const auto try_type = [&]<class Type>() {
    if (typeid(error) == typeid(Type)) made = std::make_exception_ptr(Type(text));
  };
  (try_type.template operator()<Types>(), ...);
  return made;
}

std::exception_ptr with_place(std::exception_ptr failure, const std::string& place) {
  try {
    std::rethrow_exception(failure);
  } catch (c10::Error& error) {
    error.add_context(place);
  } catch (const std::exception& error) {
    const std::string text = std::string(error.what()) + " (" + place + ")";
    std::exception_ptr made =
        retold<std::runtime_error, std::out_of_range, std::invalid_argument, std::domain_error,
               std::length_error, std::range_error, std::overflow_error, std::logic_error>(error, text);
    if (made != nullptr) return made;
  } catch (...) {
    return failure;  // has no text to add to
  }
  return failure;
}

// "aten::add.Tensor (call 42)", as far as it is known.
std::string work_of(uint64_t sequence) {
  if (sequence == 0) return "work";
  const char* name = name_of_sequence(sequence);
  const std::string number = std::to_string(sequence);
  return name == nullptr ? "operator call " + number : std::string(name) + " (call " + number + ")";
}

void on_report(int32_t plugins_index, plug_stream /*stream*/, uint64_t sequence, plug_status status,
               const char* message) {
  if (!are_devices_known()) return;
  const DeviceIndex device = visible_index(plugins_index);
  const std::string said = message == nullptr ? "no reason given" : as_utf8(message);
  if (device < 0) {
    TORCH_WARN("Plugin '", device_type_name(), "' reported a failure of device ", plugins_index,
               ", which is not in use: ", said);
    return;
  }
  const std::string text =
      name_of(device) + ": " + work_of(sequence) + " failed (" + status_name(status) + "): " + said;
  if (status == PLUG_LOST) {
    lose_device(device, text);
    return;
  }
  const c10::SourceLocation here{__func__, __FILE__, uint32_t(__LINE__)};
  record_failure(device, std::make_exception_ptr(c10::Error(here, text)));
}

// What is left to say of a device at the end, or nothing.
std::string take_unseen(DeviceIndex device) {
  {
    Slot& kept = slot(device);
    std::lock_guard lock(kept.failure_lock);
    if (!kept.lost.empty()) return kept.is_known ? "" : kept.lost;
  }
  try {
    throw_recorded_failure(device);
  } catch (...) {
    return text_of(std::current_exception());
  }
  return "";
}

}  // namespace

void record_failure(DeviceIndex device, std::exception_ptr failure) {
  Slot& kept = slot(device);
  std::lock_guard lock(kept.failure_lock);
  if (kept.failure != nullptr || !kept.lost.empty()) return;
  kept.failure = std::move(failure);
  kept.pending.store(true, std::memory_order_release);
}

void record_failure_of(DeviceIndex device, const char* name, uint64_t sequence, std::exception_ptr failure) {
  const std::string place = name_of(device) + ", " + std::string(name) + ", call " + std::to_string(sequence);
  record_failure(device, with_place(std::move(failure), place));
}

void throw_recorded_failure(DeviceIndex device) {
  Slot& kept = slot(device);
  if (C10_LIKELY(!kept.pending.load(std::memory_order_acquire))) return;
  std::exception_ptr failure;
  {
    std::lock_guard lock(kept.failure_lock);
    failure = std::exchange(kept.failure, nullptr);
    // Of a lost device there is always something to throw.
    kept.pending.store(!kept.lost.empty(), std::memory_order_release);
  }
  if (is_lost(device)) throw_lost(device);
  if (failure != nullptr) std::rethrow_exception(failure);
}

void finish_wait(DeviceIndex device) {
  issue_deferred_warnings();
  throw_recorded_failure(device);
}

void lose_device(DeviceIndex device, const std::string& sentence) {
  Slot& kept = slot(device);
  {
    std::lock_guard lock(kept.failure_lock);
    if (!kept.lost.empty()) return;
    kept.lost = sentence;
    kept.failure = nullptr;
    kept.pending.store(true, std::memory_order_release);
  }
  detail::mark_lost(device);
}

void throw_lost(DeviceIndex device) {
  Slot& kept = slot(device);
  std::string sentence;
  {
    std::lock_guard lock(kept.failure_lock);
    sentence = kept.lost;
    kept.is_known = true;
  }
  throw c10::AcceleratorError({__func__, __FILE__, uint32_t(__LINE__)}, PLUG_LOST, sentence);
}

void print_recorded_failures() {
  for (DeviceIndex device = 0; device < device_count(); ++device) {
    const std::string unseen = take_unseen(device);
    if (unseen.empty()) continue;
    std::fprintf(stderr, "%s: work failed and was never waited for: %s\n", name_of(device).c_str(),
                 unseen.c_str());
  }
}

void listen_to_plugin_reports() { set_report_handler(on_report); }

}  // namespace torchplug::runtime
