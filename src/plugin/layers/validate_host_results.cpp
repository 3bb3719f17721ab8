#include "plugin/layers/validate_host_results.h"

#include <algorithm>
#include <cstring>

#include "plugin/layers/validate_memory.h"

namespace torchplug::plugin::validation {
namespace {

// As many bytes as keep what a caller aligned aligned.
constexpr size_t kGuardBytes = 256;
constexpr char kGuard = static_cast<char>(0xa5);

bool is_tensors(const plug_value& value) {
  return value.tag == PLUG_VALUE_TENSOR || value.tag == PLUG_VALUE_TENSORS;
}

uint32_t count_of(const plug_value& value) { return value.tag == PLUG_VALUE_TENSOR ? 1 : value.count; }

bool is_argument(const plug_call& call, const plug_tensor& result) {
  for (uint32_t i = 0; i < call.arg_count; ++i) {
    if (!is_tensors(call.args[i])) continue;
    const plug_tensor* first = call.args[i].as.tensors;
    const auto is_same = [&](const plug_tensor& tensor) { return tensor.mem.base == result.mem.base; };
    if (std::any_of(first, first + count_of(call.args[i]), is_same)) return true;
  }
  return false;
}

// host->output writes into the results that it was given, so what the kernel shapes cannot be moved.
bool is_open(const plug_value& result) { return result.tag == PLUG_NONE; }

}  // namespace

GuardedResults::GuardedResults(const plug_call& call) : given_(call), call_(call) {
  if (std::any_of(call.results, call.results + call.result_count, is_open)) return;
  values_.assign(call.results, call.results + call.result_count);
  tensors_.resize(call.result_count);
  for (uint32_t i = 0; i < call.result_count; ++i) {
    if (!is_tensors(values_[i])) continue;
    tensors_[i].assign(values_[i].as.tensors, values_[i].as.tensors + count_of(values_[i]));
    for (plug_tensor& tensor : tensors_[i]) {
      if (!is_argument(call, tensor)) guard(i, tensor);
    }
    values_[i].as.tensors = tensors_[i].data();
  }
  call_.results = values_.data();
}

void GuardedResults::guard(uint32_t result, plug_tensor& tensor) {
  const Extent extent = extent_of(tensor);
  if (extent.bytes == 0) return;
  char* target = static_cast<char*>(tensor.mem.base) + tensor.mem.offset + extent.first;
  std::vector<char> room(3 * kGuardBytes + extent.bytes, kGuard);
  const auto address = reinterpret_cast<uintptr_t>(room.data());
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(target) % kGuardBytes;
  const size_t skipped = (wanted + kGuardBytes - address % kGuardBytes) % kGuardBytes;
  char* begin = room.data() + skipped + kGuardBytes;
  std::memcpy(begin, target, extent.bytes);
  tensor.mem.base = begin - extent.first;
  tensor.mem.offset = 0;
  guarded_.push_back({result, target, extent.bytes, begin, std::move(room)});
}

std::string GuardedResults::settle() {
  std::string wrong;
  for (uint32_t i = 0; i < values_.size(); ++i) {
    if (!is_tensors(values_[i])) given_.results[i] = values_[i];
  }
  for (const Guarded& guarded : guarded_) {
    std::memcpy(guarded.target, guarded.begin, guarded.bytes);
    const auto is_whole = [](const char* from, const char* to) {
      return std::all_of(from, to, [](char byte) { return byte == kGuard; });
    };
    const char* end = guarded.begin + guarded.bytes;
    std::string side;
    if (!is_whole(guarded.room.data(), guarded.begin)) side = "before the beginning";
    if (!is_whole(end, guarded.room.data() + guarded.room.size())) side = "behind the end";
    if (side.empty() || !wrong.empty()) continue;
    wrong = "wrote " + side + " of result " + std::to_string(guarded.result) + ", which has " +
            std::to_string(guarded.bytes) + " bytes";
  }
  return wrong;
}

}  // namespace torchplug::plugin::validation
