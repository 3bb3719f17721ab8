#include "capture/accelerator_graph.h"

#include "base/torch_compat.h"

#ifdef TORCHPLUG_HAS_ACCELERATOR_GRAPH

#include <ATen/core/GraphImplInterface.h>

#include "capture/graph.h"

namespace torchplug::capture {
namespace {

CaptureMode mode_of(at::GraphCaptureMode mode) {
  switch (mode) {
    case at::GraphCaptureMode::ThreadLocal: return CaptureMode::kThread;
    case at::GraphCaptureMode::Relaxed: return CaptureMode::kRelaxed;
    default: return CaptureMode::kGlobal;
  }
}

class AcceleratorGraph final : public at::GraphImplInterface {
 public:
  explicit AcceleratorGraph(const at::GraphImplArgs& args) : graph_(args.keep_graph) {}

  void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode mode) override {
    graph_.capture_begin(pool, mode_of(mode));
  }
  void capture_end() override { graph_.capture_end(); }
  void instantiate() override { graph_.instantiate(); }
  void replay() override { graph_.replay(); }
  void reset() override { graph_.reset(); }
  c10::MempoolId_t pool() const override { return graph_.pool(); }
  void enable_debug_mode() override { graph_.enable_debug_mode(); }
  void debug_dump(const std::string& path) override { graph_.debug_dump(path); }

 private:
  Graph graph_;
};

}  // namespace

void register_accelerator_graph() {
  const std::string key = c10::DeviceTypeName(kDeviceType, /*lower_case=*/false);
  at::GraphImplRegistry()->Register(key,
                                    [](at::GraphImplArgs args) -> std::unique_ptr<at::GraphImplInterface> {
                                      return std::make_unique<AcceleratorGraph>(args);
                                    });
}

}  // namespace torchplug::capture

#else

namespace torchplug::capture {
void register_accelerator_graph() {}
}  // namespace torchplug::capture

#endif
