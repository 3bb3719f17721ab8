#include "compile/compilation.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/immortal.h"

namespace torchplug::compile {
namespace {

struct UnderWay {
  std::mutex lock;
  std::condition_variable changed;
  std::set<std::shared_ptr<Compilation>> all;
};

UnderWay& under_way() {
  static auto& instance = *immortal<UnderWay>();
  return instance;
}

}  // namespace

std::shared_ptr<Compilation> start_compilation(
    std::function<void(const std::shared_ptr<Compilation>&)> work) {
  auto compilation = std::make_shared<Compilation>();
  {
    const std::lock_guard lock(under_way().lock);
    under_way().all.insert(compilation);
  }
  std::thread([compilation, work = std::move(work)]() mutable {
    work(compilation);
    work = nullptr;  // what it holds goes before the others are told
    const std::lock_guard lock(under_way().lock);
    under_way().all.erase(compilation);
    under_way().changed.notify_all();
  }).detach();
  return compilation;
}

std::vector<double> compilations_under_way() {
  const std::lock_guard lock(under_way().lock);
  std::vector<double> done;
  for (const auto& compilation : under_way().all) done.push_back(compilation->done());
  return done;
}

void end_compilations(std::chrono::milliseconds longest) {
  std::unique_lock lock(under_way().lock);
  for (const auto& compilation : under_way().all) compilation->cancel();
  under_way().changed.wait_for(lock, longest, [] { return under_way().all.empty(); });
}

}  // namespace torchplug::compile
