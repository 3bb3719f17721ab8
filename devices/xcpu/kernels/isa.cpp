// Which instruction set's kernels are used: the best of the machine's, or a lower one that is asked for.

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

#include "error.h"
#include "kernels.h"

namespace xcpu {

#if defined(__x86_64__)
namespace avx512_bf16 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
#endif
namespace scalar {
extern const Kernels kKernels;
}

namespace {

struct Choice {
  const char* name;
  const Kernels* kernels;
  bool is_supported;
};

constexpr int kChoices = 4;

// The compiler's builtin asks the processor and the operating system, which has to save the registers.
std::array<Choice, kChoices> find_choices() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("x86-64-v3") != 0;
  const bool avx512 = avx2 && __builtin_cpu_supports("x86-64-v4") != 0;
  const bool bf16 =
      avx512 && __builtin_cpu_supports("avx512bf16") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
  return {{{"avx512_bf16", &avx512_bf16::kKernels, bf16},
           {"avx512", &avx512::kKernels, avx512},
           {"avx2", &avx2::kKernels, avx2},
           {"scalar", &scalar::kKernels, true}}};
#else
  return {{{"avx512_bf16", nullptr, false},
           {"avx512", nullptr, false},
           {"avx2", nullptr, false},
           {"scalar", &scalar::kKernels, true}}};
#endif
}

const std::array<Choice, kChoices>& choices() {
  static const auto found = find_choices();
  return found;
}

const Choice& best() {
  for (const Choice& choice : choices()) {
    if (choice.is_supported) return choice;
  }
  return choices().back();
}

// The kernels of that name; null, with a sentence in `error`, where there are none.
const Kernels* find(std::string_view name, std::string_view asked_by, std::string& error) {
  for (const Choice& choice : choices()) {
    if (name != choice.name) continue;
    if (choice.is_supported) return choice.kernels;
    error = std::string(asked_by) + " asks for " + choice.name +
            ", which this machine cannot run: the best it has is " + best().name;
    return nullptr;
  }
  error = std::string(asked_by) + " asks for '" + std::string(name) +
          "', which is none of avx512_bf16, avx512, avx2 and scalar";
  return nullptr;
}

struct FromEnvironment {
  const Kernels* kernels = nullptr;
  std::string error;

  FromEnvironment() {
    const char* asked = std::getenv("TORCHPLUG_XCPU_ISA");
    kernels = asked == nullptr || *asked == '\0' ? best().kernels : find(asked, "TORCHPLUG_XCPU_ISA", error);
  }
};

const FromEnvironment& from_environment() {
  static const FromEnvironment read;
  return read;
}

constinit std::atomic<const Kernels*> chosen{nullptr};

}  // namespace

const Kernels* kernels() {
  const Kernels* used = chosen.load(std::memory_order_acquire);
  return used != nullptr ? used : from_environment().kernels;
}

const char* isa_error() { return from_environment().error.c_str(); }

}  // namespace xcpu

const char* xcpu_isa(void) {
  const xcpu::Kernels* used = xcpu::kernels();
  return used != nullptr ? used->name : xcpu::isa_error();
}

const char* const* xcpu_isas(void) {
  static const auto names = [] {
    std::array<const char*, xcpu::kChoices + 1> listed{};
    std::size_t count = 0;
    for (const xcpu::Choice& choice : xcpu::choices()) {
      if (choice.is_supported) listed[count++] = choice.name;
    }
    return listed;
  }();
  return names.data();
}

const char* xcpu_use_isa(const char* name) {
  std::string error;
  const xcpu::Kernels* found =
      name == nullptr ? xcpu::best().kernels : xcpu::find(name, "xcpu_use_isa", error);
  if (found == nullptr) return xcpu::refuse(error);
  xcpu::chosen.store(found, std::memory_order_release);
  return nullptr;
}
