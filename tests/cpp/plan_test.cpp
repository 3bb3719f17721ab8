// The second call of a kind: no shape is worked out, and nothing is allocated but the output.
// This executable counts what passes through operator new.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

#include <cstdlib>
#include <new>

#include "kernels_device.h"

namespace {

thread_local int64_t allocations = 0;

void* counted(size_t bytes, size_t alignment) {
  ++allocations;
  // A whole number of alignments, as aligned_alloc wants it.
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
// The library's own would call the one above; a sanitizer's would not.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, size_t(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return counted(bytes, size_t(alignment)); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace torchplug::tests {
namespace {

using torch::jit::Stack;

// An operator as the dispatcher calls it for the device, without the boxing around it.
class BoxedOperator {
 public:
  BoxedOperator(const char* name, const char* overload)
      : handle_(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload)) {
    stack_.reserve(16);
  }

  void call(const std::vector<c10::IValue>& arguments) {
    stack_.assign(arguments.begin(), arguments.end());
    handle_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack_);
  }
  void drop_results() { stack_.clear(); }

  // By the third call and the end of its results' lives; the first two have planned it and filled
  // caches.
  int64_t allocations_of_a_repeated_call(const std::vector<c10::IValue>& arguments) {
    for (int i = 0; i < 2; ++i) {
      call(arguments);
      drop_results();
    }
    const int64_t before = allocations;
    call(arguments);
    drop_results();
    return allocations - before;
  }

 private:
  c10::OperatorHandle handle_;
  Stack stack_;
};

// By making a tensor like this one, and the end of its life.
int64_t allocations_of_a_tensor(const at::Tensor& like) {
  const auto make = [&] { return at::empty_strided(like.sizes(), like.strides(), like.options()); };
  make();
  const int64_t before = allocations;
  make();
  return allocations - before;
}

TEST(Plan, a_repeated_call_allocates_its_output_and_nothing_else) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4, 8}));
    const int64_t output = allocations_of_a_tensor(x);
    EXPECT_GT(output, 0) << "the counter counts";
    EXPECT_EQ(BoxedOperator("aten::relu", "").allocations_of_a_repeated_call({x}), output);
    EXPECT_EQ(BoxedOperator("aten::add", "Tensor").allocations_of_a_repeated_call({x, x, 1}), output);
    EXPECT_EQ(BoxedOperator("aten::mul", "Tensor").allocations_of_a_repeated_call({x, x}), output);
    EXPECT_EQ(seen("relu(").count, 3u);
  });
}

TEST(Plan, a_repeated_call_with_a_list_allocates_its_output_and_nothing_else) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4, 8}));
    const int64_t output = allocations_of_a_tensor(x.select(1, 0).contiguous());
    // Called as C++ calls it: a list that comes boxed costs the unboxing.
    const auto sum = [&x] { at::sum(x, {1}); };
    for (int i = 0; i < 2; ++i) sum();
    const int64_t before = allocations;
    sum();
    EXPECT_EQ(allocations - before, output);
  });
}

TEST(Plan, a_repeated_call_in_place_or_into_an_output_allocates_nothing) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({4, 8}));
    const at::Tensor out = on_device(numbers({4, 8}));
    EXPECT_EQ(BoxedOperator("aten::mul_", "Tensor").allocations_of_a_repeated_call({x, out}), 0);
    EXPECT_EQ(BoxedOperator("aten::relu", "out").allocations_of_a_repeated_call({x, out}), 0);
    EXPECT_EQ(BoxedOperator("aten::add", "out").allocations_of_a_repeated_call({x, x, 1, out}), 0);
  });
}

TEST(Plan, a_repeated_call_on_channels_last_memory_allocates_no_copy) {
  on_kernels([] {
    const at::Tensor image = on_device(numbers({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast));
    const auto allocated = exported<int64_t()>(plugin_path("kernels"), "kernels_allocations");
    image.relu();
    const int64_t before = allocated();
    image.relu();
    EXPECT_EQ(allocated(), before);
    EXPECT_EQ(seen("relu(").count, 2u);
  });
}

TEST(Plan, shapes_are_worked_out_once_for_each_kind_of_call) {
  on_kernels([] {
    static int shaped = 0;
    // relu takes the shape function of clamp_min.
    torch::Library shapes(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse2, __FILE__, __LINE__);
    shapes.impl("clamp_min", [](const at::Tensor& self, const at::Scalar&) {
      ++shaped;
      return at::empty_like(self);
    });
    const at::Tensor x = on_device(numbers({4, 8}));
    for (int i = 0; i < 5; ++i) x.relu();
    EXPECT_EQ(shaped, 1);
    for (int i = 0; i < 5; ++i) x.t().relu();
    EXPECT_EQ(shaped, 2);
    for (int i = 0; i < 5; ++i) on_device(numbers({4, 8}, at::kDouble)).relu();
    EXPECT_EQ(shaped, 3);
    for (int rows = 1; rows < 4; ++rows) x.narrow(0, 0, rows).relu();
    EXPECT_EQ(shaped, 3) << "nothing but the size is new";
    x.relu();
    EXPECT_EQ(shaped, 3);
    EXPECT_EQ(seen("relu(").count, 19u);
  });
}

TEST(Plan, a_call_with_sizes_never_met_before_allocates_its_output_and_nothing_else) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({8, 8}));
    std::vector<at::Tensor> parts;
    for (int rows = 1; rows <= 8; ++rows) parts.push_back(x.narrow(0, 0, rows));
    const int64_t output = allocations_of_a_tensor(x);
    for (const at::Tensor& part : {parts[0], parts[1]}) at::mul(part, part);
    for (size_t i = 2; i < parts.size(); ++i) {
      const int64_t before = allocations;
      at::mul(parts[i], parts[i]);
      EXPECT_EQ(allocations - before, output) << parts[i].sizes();
    }
  });
}

TEST(Plan, the_first_call_and_the_next_agree_bit_for_bit) {
  on_kernels([] {
    const at::Tensor x = on_device(numbers({5, 7})).mul(0.1);
    const at::Tensor first = x.sum(1).cpu();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(x.sum(1).cpu().equal(first));
    EXPECT_EQ(seen("sum.dim_IntList(").count, 4u) << "the kernel computed every one of them";
  });
}

}  // namespace
}  // namespace torchplug::tests
