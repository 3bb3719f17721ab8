// What an extension registers with PyTorch by PyTorch's own means wins over torchplug's kernels, in C++
// alone. Each test is a process of its own, since what is registered belongs to the whole process.

#include <ATen/OpaqueTensorImpl.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/linalg_cross.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/view_as_complex.h>
#include <torch/library.h>

#include <cstring>
#include <vector>

#include "aten/plan/ledger.h"
#include "sim_device.h"
#include "tensors.h"
#include "torchplug/torchplug.hpp"

namespace {

using namespace torchplug::tests;

// Everything PyTorch warns of on this thread.
class Collected final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override { messages.push_back(warning.msg()); }
  std::vector<std::string> messages;
};

torch::Library aten_library(c10::DispatchKey key = c10::DispatchKey::PrivateUse1) {
  return {torch::Library::IMPL, "aten", key, __FILE__, __LINE__};
}

at::Tensor sixes(const at::Tensor& self) { return at::full(self.sizes(), 6.0, self.options()); }

at::Tensor& sevens_out(const at::Tensor& /*self*/, at::Tensor& out) { return out.fill_(7.0); }

at::Tensor full_like(const at::Tensor& tensor, double value) {
  return at::full(tensor.sizes(), value, tensor.options().device(at::kCPU));
}

TEST(Overriding, what_is_registered_before_the_devices_first_use_stays_without_a_warning) {
  alone([] {
    Collected collected;
    const c10::WarningUtils::WarningHandlerGuard guard(&collected);
    torch::Library library = aten_library();
    library.impl("relu", &sixes);
    library.impl("cos", &sixes);
    library.impl("erf.out", &sevens_out);
    library.impl("zero_", [](at::Tensor& self) -> at::Tensor& { return self.fill_(8.0); });
    torchplug::activate(SIM_LIBRARY);
    at::Tensor x = on_device(numbers({4}));
    expect_same(x.relu(), full_like(x, 6));
    expect_same(x.cos(), full_like(x, 6));
    expect_same(x.erf(), full_like(x, 7));
    expect_same(x.erf_(), full_like(x, 7));
    expect_same(x.zero_(), full_like(x, 8));
    expect_same(x.sin(), full_like(x, 8).sin());
    EXPECT_EQ(collected.messages, std::vector<std::string>());
  });
}

TEST(Overriding, later_it_takes_a_guard_which_leaves_pytorchs_warning_unspent) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    expect_same(x.relu().add(x.cos()), numbers({4}).relu().add(numbers({4}).cos()));
    Collected collected;
    const c10::WarningUtils::WarningHandlerGuard guard(&collected);
    torch::Library library = aten_library();
    {
      const torchplug::Overriding overriding;
      library.impl("relu", &sixes);
      {
        const torchplug::Overriding once_more;
        library.impl("cos", &sixes);
      }
      library.impl("relu", &sixes);
      TORCH_WARN("something else");
    }
    EXPECT_EQ(collected.messages, std::vector<std::string>{"something else"});
    expect_same(x.relu(), full_like(x, 6));
    expect_same(x.cos(), full_like(x, 6));
    library.impl("sin", &sixes);
    library.impl("tan", &sixes);
    ASSERT_EQ(collected.messages.size(), 2U) << "it warns once, as ever";
    expect_says(collected.messages.back(), {"Overriding a previously registered kernel", "aten::sin"});
  });
}

TEST(Overriding, an_out_form_serves_all_forms_once_the_guard_is_gone) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    expect_same(x.erf(), numbers({4}).erf());
    torch::Library library = aten_library();
    {
      const torchplug::Overriding overriding;
      library.impl("erf.out", &sevens_out);
    }
    for (int i = 0; i < 2; ++i) {
      expect_same(x.erf(), full_like(x, 7));
      expect_same(x.clone().erf_(), full_like(x, 7));
      at::Tensor out = at::empty({4}, x.options());
      expect_same(at::erf_out(out, x), full_like(x, 7));
    }
    library.reset();
    expect_same(x.erf(), numbers({4}).erf());
    expect_same(x.clone().erf_(), numbers({4}).erf());
  });
}

TEST(Overriding, jobs_of_a_withdrawn_kernel_still_run) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    at::Tensor y = x.erf();
    for (int i = 0; i < 100; ++i) y = x.erf();
    torch::Library library = aten_library();
    {
      const torchplug::Overriding overriding;
      library.impl("erf.out", &sevens_out);
    }
    expect_same(y, numbers({4}).erf());
  });
}

TEST(Overriding, the_kernel_of_a_library_that_is_gone_gives_its_place_back) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    expect_same(x.relu(), numbers({4}).relu());
    {
      torch::Library library = aten_library();
      const torchplug::Overriding overriding;
      library.impl("relu", &sixes);
      expect_same(x.relu(), full_like(x, 6));
    }
    expect_same(x.relu(), numbers({4}).relu());
  });
}

TEST(Overriding, the_fallback_is_asked_before_the_cpus_kernel_and_may_decline) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4, 3}));
    expect_same(x.cos(), numbers({4, 3}).cos());
    std::vector<std::string> asked;
    torchplug::set_fallback([&](const c10::OperatorHandle& op, torch::jit::Stack* stack) {
      asked.push_back(op.operator_name().name);
      if (asked.back() != "aten::cos") return false;
      at::native::cpu_fallback(op, stack);
      return true;
    });
    torchplug::aten::reset_ledger();
    for (int i = 0; i < 2; ++i) {
      expect_same(x.cos(), numbers({4, 3}).cos());
      expect_same(x.sin(), numbers({4, 3}).sin());
      expect_same(x.relu(), numbers({4, 3}).relu());
    }
    EXPECT_EQ(asked, (std::vector<std::string>{"aten::cos", "aten::sin", "aten::cos", "aten::sin"}));
    EXPECT_EQ(ledger_count("aten::cos", Way::kBorrow, Reason::kNoKernel), 0U);
    EXPECT_EQ(ledger_count("aten::sin", Way::kBorrow, Reason::kNoKernel), 2U);
    torchplug::set_fallback({});
    expect_same(x.cos(), numbers({4, 3}).cos());
    EXPECT_EQ(asked.size(), 4U);
  });
}

TEST(Overriding, what_the_fallback_throws_is_thrown) {
  on_sim([] {
    const at::Tensor x = on_device(numbers({4}));
    torchplug::set_fallback(
        [](const c10::OperatorHandle&, torch::jit::Stack*) -> bool { TORCH_CHECK(false, "not this one"); });
    EXPECT_EQ(error_of([&] { x.cos(); }), "not this one");
    expect_same(x.relu(), numbers({4}).relu());
  });
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::native::cpu_fallback(op, stack);
}

TEST(Overriding, a_fallback_in_pytorchs_own_place_is_told_of_torchplugs) {
  on_sim([] {
    torch::Library library(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    expect_says(error_of([&] { library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>()); }),
                {"multiple backend fallbacks", "PrivateUse1", "torchplug::set_fallback"});
    expect_same(on_device(numbers({4})).cos(), numbers({4}).cos());
  });
}

TEST(Overriding, a_fallback_that_is_in_pytorchs_own_place_first_has_what_the_plugin_has_no_kernel_for) {
  alone([] {
    torch::Library library(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
    torchplug::activate(SIM_LIBRARY);
    at::Tensor x = on_device(numbers({4}));
    expect_same(x.cos(), numbers({4}).cos());
    expect_same(x.relu().sub_(1).view({2, 2}), numbers({4}).relu().sub_(1).view({2, 2}));
    EXPECT_EQ(ledger_count("aten::cos", Way::kBorrow, Reason::kNoKernel), 0U);
  });
}

struct MarkedStorage final : c10::StorageImpl {
  using StorageImpl::StorageImpl;
};

bool is_marked(const at::Tensor& tensor) {
  return dynamic_cast<const MarkedStorage*>(tensor.storage().unsafeGetStorageImpl()) != nullptr;
}

c10::intrusive_ptr<c10::StorageImpl> make_marked(c10::StorageImpl::use_byte_size_t in_bytes, c10::SymInt size,
                                                 c10::DataPtr data, c10::Allocator* allocator,
                                                 bool resizable) {
  if (data == nullptr) return c10::make_intrusive<MarkedStorage>(in_bytes, size, allocator, resizable);
  return c10::make_intrusive<MarkedStorage>(in_bytes, size, std::move(data), allocator, resizable);
}

TEST(Overriding, storages_are_of_the_class_that_an_extension_asks_for) {
  on_sim([] {
    EXPECT_FALSE(is_marked(on_device(numbers({4}))));
    c10::SetStorageImplCreate(c10::kPrivateUse1, &make_marked);
    const at::Tensor x = on_device(numbers({4}), 1);
    EXPECT_TRUE(is_marked(x));
    EXPECT_TRUE(is_marked(x.add(x)));
    EXPECT_TRUE(is_marked(x.cos()));
    const at::Tensor none = at::empty({0}, x.options());
    EXPECT_TRUE(is_marked(none));
    EXPECT_EQ(none.storage().device(), device(1)) << "not the current one";
    EXPECT_EQ(at::empty({2}, x.options()).storage().device(), device(1));
    at::Tensor nothing = at::empty({2}, x.options());
    EXPECT_TRUE(is_marked(nothing.set_()));
    EXPECT_EQ(nothing.storage().device(), device(1));
    const plug_mem memory = torchplug::memory_of(x);
    EXPECT_TRUE(is_marked(torchplug::from_blob(memory.base, {2}, std::nullopt, at::kFloat, 1)));
    expect_same(x.resize_({6}).narrow(0, 0, 4), numbers({4}));
    EXPECT_TRUE(is_marked(x));
  });
}

// Sizes of its own, half of those that TensorImpl would say.
struct HalfTensor final : c10::TensorImpl {
  explicit HalfTensor(const at::Tensor& whole)
      : TensorImpl(c10::Storage(whole.storage()), whole.key_set(), whole.dtype()) {
    set_sizes_and_strides(whole.sizes(), whole.strides());
    set_custom_sizes_strides(SizesStridesPolicy::CustomSizes);
    half_ = {whole.size(0) / 2};
    refresh_contiguous();
  }
  c10::IntArrayRef sizes_custom() const override { return half_; }
  c10::IntArrayRef strides_custom() const override { return strides_; }
  c10::SymIntArrayRef sym_sizes_custom() const override { return c10::fromIntArrayRefSlow(half_); }
  c10::SymIntArrayRef sym_strides_custom() const override { return c10::fromIntArrayRefSlow(strides_); }
  int64_t dim_custom() const override { return 1; }
  int64_t numel_custom() const override { return half_[0]; }
  c10::SymInt sym_numel_custom() const override { return half_[0]; }

 private:
  std::vector<int64_t> half_, strides_{1};
};

TEST(Overriding, a_tensor_that_keeps_its_sizes_elsewhere_is_what_it_says) {
  on_sim([] {
    const at::Tensor whole = on_device(numbers({8}));
    const at::Tensor half = at::detail::make_tensor<HalfTensor>(whole);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(half.cos().cpu().equal(numbers({8}).narrow(0, 0, 4).cos()));
      EXPECT_TRUE(half.add(1).cpu().equal(numbers({8}).narrow(0, 0, 4).add(1)));
    }
  });
}

TEST(Overriding, a_tensor_without_a_storage_is_refused_in_a_sentence) {
  on_sim([] {
    const at::Tensor bare = at::detail::make_tensor<c10::TensorImpl>(
        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>(), device());
    bare.unsafeGetTensorImpl()->set_sizes_contiguous({4});
    const at::Tensor opaque = at::detail::make_tensor<at::OpaqueTensorImpl<int>>(
        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>(), device(), 5,
        at::IntArrayRef{4});
    const at::Tensor x = on_device(numbers({4}));
    for (const at::Tensor& odd : {bare, opaque}) {
      for (const auto& use :
           std::vector<std::function<void()>>{[&] { odd.cos(); },
                                              [&] { odd.relu(); },
                                              [&] { odd.add(x); },
                                              [&] { x.clone().add_(odd); },
                                              [&] { odd.cpu(); },
                                              [&] { x.clone().copy_(odd); },
                                              [&] { odd.zero_(); },
                                              [&] { odd.clone(); },
                                              [&] { odd.to(at::kHalf); },
                                              [&] { odd.resize_({3}); },
                                              [&] { odd._lazy_clone(); },
                                              [&] { odd.view({2, 2}); },
                                              [&] { odd.as_strided({2}, {1}); },
                                              [&] { odd.reshape({2, 2}); },
                                              [&] { odd.unfold(0, 2, 1); },
                                              [&] { odd.select(0, 1); },
                                              [&] { odd.slice(0, 1, 2); },
                                              [&] { odd.transpose(0, 0); },
                                              [&] { odd.t(); },
                                              [&] { odd.permute({0}); },
                                              [&] { odd.unsqueeze(0); },
                                              [&] { odd.squeeze(); },
                                              [&] { odd.expand({2, 4}); },
                                              [&] { odd.narrow(0, 1, 1); },
                                              [&] { odd.view(at::kInt); },
                                              [&] { at::alias(odd); },
                                              [&] { at::view_as_complex(odd); },
                                              [&] { odd.unbind(); },
                                              [&] { odd.split(2); },
                                              [&] { at::_reshape_alias(odd, {2, 2}, {2, 1}); },
                                              [&] { odd.movedim(0, 0); },
                                              [&] { odd._neg_view(); },
                                              [&] { torchplug::memory_of(odd); },
                                              [&] { torchplug::host_view_of(odd); }}) {
        expect_one_sentence(error_of(use));
      }
    }
    expect_same(x.relu(), numbers({4}).relu());
  });
}

TEST(Overriding, memory_that_is_nobodys_is_refused_in_a_sentence) {
  on_sim([] {
    static float outside[4] = {1, 2, 3, 4};
    const at::Tensor odd = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), sizeof outside, c10::DataPtr(outside, device())),
        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), caffe2::TypeMeta::Make<float>());
    odd.unsafeGetTensorImpl()->set_sizes_contiguous({4});
    for (const auto& use :
         std::vector<std::function<void()>>{[&] { odd.cos(); }, [&] { odd.relu(); }, [&] { odd.cpu(); },
                                            [&] { odd.zero_(); }, [&] { torchplug::host_view_of(odd); }}) {
      expect_one_sentence(error_of(use));
    }
  });
}

}  // namespace
