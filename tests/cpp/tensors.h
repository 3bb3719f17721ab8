#pragma once
// Tensors on the device under test, and their comparison with the CPU's.

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <vector>

#include "aten/plan/ledger.h"
#include "harness.h"
#include "runtime/device.h"

namespace torchplug::tests {

inline c10::Device device(int index = 0) { return {kDeviceType, static_cast<c10::DeviceIndex>(index)}; }

inline at::Tensor on_device(const at::Tensor& tensor, int index = 0) { return tensor.to(device(index)); }

// -n/2 .. n/2 in steps of 1: sums and products of a few of them are exact.
inline at::Tensor numbers(at::IntArrayRef sizes, at::ScalarType dtype = at::kFloat) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return at::arange(-(count / 2), count - count / 2, at::dtype(at::kLong)).to(dtype).view(sizes);
}

// The device's tensor is what the CPU's is: type, shape, strides and every value.
inline void expect_same(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_TRUE(actual.defined());
  EXPECT_EQ(actual.device().type(), kDeviceType);
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(expected.numel() == 0 || actual.strides() == expected.strides()) << actual.strides();
  EXPECT_TRUE(actual.cpu().equal(expected)) << actual.cpu() << "\nis not\n" << expected;
}

inline void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(actual.cpu(), expected, 1e-5, 1e-6)) << actual.cpu() << "\nis not\n" << expected;
}

// How often an operator ran one way for one reason.
inline uint64_t ledger_count(const std::string& op, Way way, Reason reason) {
  for (const LedgerEntry& entry : ledger_entries()) {
    if (entry.op == op && entry.way == way && entry.reason == reason) return entry.count;
  }
  return 0;
}

}  // namespace torchplug::tests
