#pragma once
// What the validate layer can find wrong, and what it has found. TORCHPLUG_VALIDATE says what then happens:
// `error` (the default) fails the call with PLUG_INVALID and the sentence, `log` prints the sentence and goes
// on, `abort` ends the process. Any thread may use all of it.

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "torchplug/plug.h"

namespace torchplug::plugin {

namespace validation {

enum class Rule : uint8_t {
  kDeviceIndex,
  kDeviceClosed,
  kAfterShutdown,
  kCallInHostFunc,
  kStreamHandle,
  kEventHandle,
  kCaptureHandle,
  kCaptureOrder,
  kCaptureInUse,
  kElapsedUntimed,
  kFlags,
  kMemoryDead,
  kMemoryExtent,
  kMemoryPinned,
  kTensor,
  kCopyStrided,
  kKernelTensor,
  kKernelState,
  kKernelResult,
  kEngineHandle,
  kEngineInUse,
  kCompileProgress,
  kFreeInUse,
  kMapRange,
  kHostMap,
  kMappedUse,
  kDeviceLacks,
  kAllocLargest,
  kStatusUnknown,
  kErrorSilent,
  kOutputOnError,
  kOutputMissing,
  kAllocAlignment,
  kAllocOverlap,
  kViewOverlap,
  kHandleTwice,
  kEventNeverRecorded,
  kHostFuncTwice,
  kHostFuncOrder,
  kReleaseTwice,
  kSyncEarly,
  kReleaseLate,
  kRedZone,
  kLeak,
};

}  // namespace validation

struct RuleText {
  const char* id;       // "VALIDATE-memory-extent"; never changes
  const char* meaning;  // what is then wrong, in one line
};
// By Rule.
std::span<const RuleText> validation_rules();

struct ValidationMessage {
  std::string id;
  uint64_t count;
  std::string last;  // the latest sentence
};
// What has been found wrong since the process began, or since it was last forgotten.
std::vector<ValidationMessage> validation_messages();
void forget_validation_messages();

namespace validation {

// Thrown by violate(), and caught where the call came in.
struct Violation : std::exception {
  explicit Violation(std::string sentence) : text(std::move(sentence)) {}
  const char* what() const noexcept override { return text.c_str(); }
  std::string text;
};

// Reads TORCHPLUG_VALIDATE; throws c10::Error if it is none of the three.
void prepare_messages();
// Something is wrong with a call: throws Violation, prints, or ends the process.
void violate(Rule rule, const std::string& sentence);
// Something is wrong where no caller can be told: prints or ends the process, never throws. Gives the whole
// sentence, with its id.
std::string note(Rule rule, const std::string& sentence) noexcept;

// "0x7f..." for messages.
std::string hexadecimal(const void* address);

}  // namespace validation
}  // namespace torchplug::plugin
