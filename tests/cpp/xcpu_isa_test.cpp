// Which instruction set the kernels of xcpu use.

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "xcpu/xcpu.h"

namespace xcpu_test {
namespace {

std::vector<std::string> supported() {
  std::vector<std::string> names;
  for (const char* const* name = xcpu_isas(); *name != nullptr; ++name) names.emplace_back(*name);
  return names;
}

// The choice by the environment is made once in a process, so each of these has one of its own, which prints
// it.
void print_isa(const char* asked) {
  ::setenv("TORCHPLUG_XCPU_ISA", asked, 1);
  std::fprintf(stderr, "%s", xcpu_isa());
  std::_Exit(0);
}

TEST(XcpuIsa, the_last_one_is_scalar_which_every_machine_has) {
  ASSERT_FALSE(supported().empty());
  EXPECT_EQ(supported().back(), "scalar");
}

TEST(XcpuIsa, each_that_the_machine_has_can_be_chosen) {
  for (const std::string& name : supported()) {
    EXPECT_EQ(xcpu_use_isa(name.c_str()), nullptr);
    EXPECT_EQ(xcpu_isa(), name);
  }
  EXPECT_EQ(xcpu_use_isa(nullptr), nullptr);
  EXPECT_EQ(xcpu_isa(), supported().front());
}

TEST(XcpuIsa, a_name_that_is_none_is_refused_and_changes_nothing) {
  const std::string before = xcpu_isa();
  EXPECT_STREQ(xcpu_use_isa("sse9"),
               "xcpu_use_isa asks for 'sse9', which is none of avx512_bf16, avx512, avx2 and scalar");
  EXPECT_EQ(xcpu_isa(), before);
}

TEST(XcpuIsaDeathTest, the_environment_forces_a_lower_one) {
  EXPECT_EXIT(print_isa("scalar"), testing::ExitedWithCode(0), "^scalar$");
  EXPECT_EXIT(print_isa(""), testing::ExitedWithCode(0), "^" + supported().front() + "$");
}

TEST(XcpuIsaDeathTest, what_the_environment_asks_for_in_vain_is_said_in_a_sentence) {
  EXPECT_EXIT(print_isa("sse9"), testing::ExitedWithCode(0),
              "^TORCHPLUG_XCPU_ISA asks for 'sse9', which is none of avx512_bf16, avx512, avx2 and scalar$");
}

}  // namespace
}  // namespace xcpu_test
