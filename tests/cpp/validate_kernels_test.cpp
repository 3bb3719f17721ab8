// What the validate layer finds of misuse of kernels by the core, and of kernels that break their promises;
// here done by hand.

#include "tensors.h"
#include "validated.h"

namespace torchplug::tests {
namespace {

TEST(Validate, a_kernel_is_given_what_it_accepts) {
  alone([] {
    Module& module = load_module(SIM_LIBRARY);
    const auto kernel_of = [](const char* schema, uint64_t accepts) {
      plug_kernel kernel{};
      kernel.schema = schema;
      kernel.fn = [](const plug_call*) -> plug_status { return PLUG_OK; };
      kernel.accepts = accepts;
      return kernel;
    };
    module.kernels = {kernel_of("acme::plain(Tensor x) -> ()", 0),
                      kernel_of("acme::dense(Tensor x) -> ()", PLUG_ACCEPTS_DENSE),
                      kernel_of("acme::strided(Tensor x) -> ()",
                                PLUG_ACCEPTS_STRIDED | PLUG_ACCEPTS_LAZY_BITS | PLUG_ACCEPTS_HOST_SCALAR)};
    insert_validate(module);
    const plug_runtime& runtime = table_of(module);
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    void* base = allocate(runtime, 1000);
    const int64_t sizes[] = {2, 3};
    const int64_t rows[] = {3, 1};
    const int64_t columns[] = {1, 2};
    const int64_t gaps[] = {6, 1};
    float number = 1;
    const auto of = [&](const int64_t* strides, uint32_t flags = 0) {
      return plug_tensor{{base, 0, 0, 0}, PLUG_F32, 2, sizes, strides, flags, 0, nullptr};
    };
    const plug_tensor scalar{{&number, 0, PLUG_HOST, 0}, PLUG_F32, 0, nullptr, nullptr, 0, 0, nullptr};
    const auto call = [&](size_t kernel, const plug_tensor& tensor) {
      plug_value argument{PLUG_VALUE_TENSOR, 1, {}};
      argument.as.tensors = &tensor;
      plug_call made{};
      made.size = sizeof made;
      made.args = &argument;
      made.arg_count = 1;
      made.user = module.kernels[kernel].user;
      return module.kernels[kernel].fn(&made);
    };
    EXPECT_EQ(call(0, of(rows)), PLUG_OK);
    expect_refused(call(0, of(columns)), "kernel-tensor");
    EXPECT_EQ(call(1, of(columns)), PLUG_OK);
    expect_refused(call(1, of(gaps)), "kernel-tensor");
    EXPECT_EQ(call(2, of(gaps, PLUG_TENSOR_NEG)), PLUG_OK);
    expect_refused(call(0, of(rows, PLUG_TENSOR_NEG)), "kernel-tensor");
    EXPECT_EQ(call(2, scalar), PLUG_OK);
    expect_refused(call(0, scalar), "kernel-tensor");
  });
}

// A kernel of a module under the layer, with a call that has no tensors.
class LayeredKernel {
 public:
  explicit LayeredKernel(const plug_kernel& kernel) : module_(load_module(SIM_LIBRARY)) {
    module_.kernels = {kernel};
    insert_validate(module_);
    EXPECT_EQ(table_of(module_).device_open(0), PLUG_OK);
    call_.size = sizeof call_;
    call_.user = layered().user;
    call_.name = "acme::kernel";
  }
  const plug_kernel& layered() const { return module_.kernels[0]; }
  const plug_runtime& runtime() { return table_of(module_); }
  plug_status prepare(void** state) { return layered().prepare(&call_, state); }
  plug_status run(void* state) {
    call_.state = state;
    return layered().fn(&call_);
  }
  plug_status run_with(plug_value& result) {
    call_.results = &result;
    call_.result_count = 1;
    return layered().fn(&call_);
  }

 private:
  Module& module_;
  plug_call call_{};
};

plug_status keeps(const plug_call* /*call*/, void** state) {
  static int kept = 0;
  *state = &kept;
  return PLUG_OK;
}

plug_kernel kernel_with_state() {
  plug_kernel kernel{};
  kernel.schema = "acme::kernel() -> ()";
  kernel.fn = [](const plug_call* call) -> plug_status {
    return call->state != nullptr ? PLUG_OK : PLUG_UNSUPPORTED;
  };
  kernel.prepare = keeps;
  return kernel;
}

TEST(Validate, a_kernel_is_called_with_a_state_that_lives) {
  alone([] {
    LayeredKernel kernel(kernel_with_state());
    void* state = nullptr;
    ASSERT_EQ(kernel.prepare(&state), PLUG_OK);
    EXPECT_EQ(kernel.run(state), PLUG_OK);
    EXPECT_EQ(kernel.runtime().device_sync(0), PLUG_OK);
    void* again = nullptr;
    ASSERT_EQ(kernel.prepare(&again), PLUG_OK);
    kernel.layered().forget(state);
    EXPECT_EQ(found("kernel-state"), 0u);
    EXPECT_EQ(kernel.run(again), PLUG_OK) << "two plans may keep the same";
    kernel.runtime().device_sync(0);
    kernel.layered().forget(again);
    EXPECT_EQ(found("kernel-state"), 0u);
  });
}

TEST(Validate, a_state_is_forgotten_when_its_work_is_done) {
  alone([] {
    ::setenv("TORCHPLUG_LOG", "4", 1);
    LayeredKernel kernel(kernel_with_state());
    void* state = nullptr;
    ASSERT_EQ(kernel.prepare(&state), PLUG_OK);
    ASSERT_EQ(kernel.run(state), PLUG_OK);
    kernel.layered().forget(state);
    EXPECT_EQ(found("kernel-state"), 1u);
  });
}

TEST(Validate, a_kernel_leaves_the_tag_of_a_number_as_it_is) {
  alone([] {
    plug_kernel counts{};
    counts.schema = "acme::count() -> int";
    counts.fn = [](const plug_call* call) -> plug_status {
      call->results[0].tag = call->results[0].as.i == 7 ? PLUG_VALUE_FLOAT : PLUG_VALUE_INT;
      return PLUG_OK;
    };
    LayeredKernel kernel(counts);
    plug_value result{};
    result.tag = PLUG_VALUE_INT;
    EXPECT_EQ(kernel.run_with(result), PLUG_OK);
    result.as.i = 7;
    expect_refused(kernel.run_with(result), "kernel-result");
  });
}

TEST(Validate, a_kernel_is_given_memory_that_lives) {
  on_validated_sim([](const plug_runtime& runtime) {
    const plug_kernel& relu = kernel_named(load_module(SIM_LIBRARY), "aten::relu(");
    void* base = allocate(runtime, 40);
    void* other = allocate(runtime, 40);
    const int64_t strides[] = {1};
    const auto call = [&](int64_t size) {
      const int64_t sizes[] = {size};
      const plug_tensor in{{base, 0, 0, 0}, PLUG_F32, 1, sizes, strides, 0, 0, nullptr};
      const plug_tensor out{{other, 0, 0, 0}, PLUG_F32, 1, sizes, strides, PLUG_TENSOR_WRITTEN, 0, nullptr};
      plug_value argument{PLUG_VALUE_TENSOR, 0, {}};
      plug_value result{PLUG_VALUE_TENSOR, 0, {}};
      argument.as.tensors = &in;
      result.as.tensors = &out;
      plug_call made{};
      made.size = sizeof made;
      made.user = relu.user;
      made.compute = PLUG_F32;
      made.args = &argument;
      made.results = &result;
      made.arg_count = made.result_count = 1;
      return relu.fn(&made);
    };
    EXPECT_EQ(call(10), PLUG_OK);
    expect_refused(runtime.mem_free(0, base), "free-in-use");
    expect_refused(runtime.mem_free(0, other), "free-in-use");
    expect_refused(call(11), "memory-extent");
  });
}

}  // namespace
}  // namespace torchplug::tests
