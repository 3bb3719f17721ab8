#pragma once
// What the core's tests share: where the plugins are, what an error said, and processes of their own.
// A process has one device plugin, so a test that activates one either belongs to an executable whose
// main() has activated it, or does so inside alone().

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "base/namespaces.h"
#include "plugin/module.h"
#include "pytorch/plain_table.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace torchplug::tests {

using namespace pytorch;

// A module's functions, with its layers, as plain C. The latest module asked for counts.
inline const plug_runtime& table_of(const plugin::Module& module) {
  struct ForTests {};
  return pytorch::PlainTable<ForTests>::of(module.runtime);
}

// The library made of tests/plugins/<name>.c.
inline std::string plugin_path(const std::string& name) { return TEST_PLUGINS "/" + name + ".so"; }

// A function that a plugin exports for tests; the library has been loaded already.
template <class Function>
Function* exported(const std::string& path, const char* name) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) throw std::runtime_error(path + " is not loaded");
  void* symbol = ::dlsym(library, name);
  if (symbol == nullptr) throw std::runtime_error(::dlerror());
  return reinterpret_cast<Function*>(symbol);
}

// The module's kernel whose schema begins so.
inline const plug_kernel& kernel_named(const plugin::Module& module, std::string_view schema_start) {
  for (const plug_kernel& kernel : module.kernels) {
    if (std::string_view(kernel.schema).starts_with(schema_start)) return kernel;
  }
  throw std::runtime_error("there is no kernel " + std::string(schema_start));
}

// What `body` throws, without the backtrace; "" if it does not throw. Another type than Error fails
// the test.
template <class Error = c10::Error>
std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(typeid(error), typeid(Error)) << error.what();
    if constexpr (std::is_base_of_v<c10::Error, Error>) return error.what_without_backtrace();
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type of error: " << error.what();
  }
  return "";
}

inline void expect_says(const std::string& text, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in: " << text;
  }
}

// An error is one sentence, for people: one line and no C++ in it.
inline void expect_one_sentence(const std::string& text) {
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_EQ(text.find("Exception raised from"), std::string::npos) << text;
  EXPECT_EQ(text.find(".cpp"), std::string::npos) << text;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // and so slower
#else
inline constexpr bool kSanitized = false;
#endif

// Under AddressSanitizer: whether all memory that was allocated can still be found. Otherwise nothing.
inline void expect_no_leaks() {
#ifdef __SANITIZE_ADDRESS__
  EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0) << "memory has leaked";
#endif
}

// Runs `body` in a child of this process, which must not have activated a plugin. What the body
// expects, the test expects. A child that hangs is ended by the alarm and fails the test.
inline void alone(const std::function<void()>& body) {
  constexpr unsigned kHangs = kSanitized ? 300 : 30;  // seconds
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kHangs);
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    expect_no_leaks();
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "the process was ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "see the failures above";
}

// For what must happen but has no function to wait with: true as soon as it has.
inline bool eventually(const std::function<bool()>& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace torchplug::tests
