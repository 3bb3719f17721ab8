// What the layer trace writes down: kernels and what they ask for, threads, processes.

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "harness.h"
#include "plugin/layers/layers.h"

namespace torchplug::tests {
namespace {

using namespace plugin;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Runs body(module, path) in a process where the plugin of that library is traced into the file at `path`.
void traced(const std::string& library, const std::function<void(Module&, const std::string&)>& body) {
  alone([&] {
    char folder[] = "/tmp/traceXXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    const std::string path = std::string(folder) + "/a.trace";
    ::setenv("TORCHPLUG_LAYERS", "trace", 1);
    ::setenv("TORCHPLUG_TRACE", path.c_str(), 1);
    Module& module = load_module(library);
    apply_layers(module);
    body(module, path);
    for (const char* more : {"", ".2"}) ::unlink((path + more).c_str());
    ::rmdir(folder);
  });
}

// A kernel's call with a tensor of two numbers, and a result like it.
struct Call {
  explicit Call(const Module& module) {
    EXPECT_EQ(table_of(module).mem_alloc(0, 256, &base), PLUG_OK);
    const plug_mem device{base, 0, 0, 0};
    const plug_mem host{numbers, 0, PLUG_HOST, 0};
    EXPECT_EQ(table_of(module).copy(0, nullptr, &device, &host, sizeof numbers), PLUG_OK);
    tensors[0] = {device, PLUG_F32, 1, &size, &stride, 0, 0, nullptr};
    tensors[1] = {{base, 128, 0, 0}, PLUG_F32, 1, &size, &stride, PLUG_TENSOR_WRITTEN, 0, nullptr};
    argument.as.tensors = &tensors[0];
    result.as.tensors = &tensors[1];
    call.size = sizeof call;
    call.args = &argument;
    call.results = &result;
    call.arg_count = call.result_count = 1;
  }

  plug_call& of(const plug_kernel& kernel, const char* name) {
    call.user = kernel.user;
    call.name = name;
    return call;
  }

  void* base = nullptr;
  float numbers[2] = {1.5F, -2};
  int64_t size = 2;
  int64_t stride = 1;
  plug_tensor tensors[2]{};
  plug_value argument{PLUG_VALUE_TENSOR, 1, {}};
  plug_value result{PLUG_VALUE_TENSOR, 1, {}};
  plug_call call{};
};

TEST(Trace, what_prepare_kept_has_a_name_and_reaches_the_kernel_as_it_was) {
  traced(plugin_path("kernel_kinds"), [](Module& module, const std::string& path) {
    Call call(module);
    const plug_kernel& relu = module.kernels.at(1);
    void* state = nullptr;
    ASSERT_EQ(relu.prepare(&call.of(relu, "aten::relu"), &state), PLUG_OK);
    call.call.state = state;
    EXPECT_EQ(relu.fn(&call.of(relu, "aten::relu")), PLUG_OK);
    relu.forget(state);
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 6U);
    expect_says(lines[3], {"3 prepare schema=\"aten::relu(", " = ok state=p1"});
    expect_says(lines[4], {"4 kernel ", " state=p1 args=[tensor(f32 m1+0 [2] [1] data=[0x1.8p+0,-0x1p+1])]",
                           " = ok results=[tensor(f32 m1+128 [2] [1] written data=[0x1.8p+0,0x0p+0])]"});
    EXPECT_EQ(lines[5], "5 forget state=p1 = ok");
  });
}

TEST(Trace, the_kernel_any_is_written_by_the_name_of_the_operator) {
  traced(plugin_path("kernel_kinds"), [](Module& module, const std::string& path) {
    Call call(module);
    call.call.schema = "aten::neg(Tensor self) -> Tensor";
    EXPECT_EQ(module.any->fn(&call.of(*module.any, "aten::neg")), PLUG_OK);
    EXPECT_EQ(module.any->fn(&call.of(*module.any, "aten::exp")), PLUG_UNSUPPORTED);
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 5U);
    expect_says(lines[3], {"3 any schema=\"aten::neg(Tensor self) -> Tensor\" name=\"aten::neg\"",
                           "written data=[-0x1.8p+0,0x1p+1])]"});
    expect_says(lines[4], {"name=\"aten::exp\"", " = unsupported"});
  });
}

TEST(Trace, threads_have_every_call_and_answer_whole) {
  traced(plugin_path("kernel_kinds"), [](Module& module, const std::string& path) {
    constexpr int kThreads = 4;
    constexpr int kCalls = 50;
    const plug_runtime& runtime = table_of(module);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&runtime] {
        for (int n = 0; n < kCalls; ++n) {
          void* base = nullptr;
          runtime.mem_alloc(0, 64, &base);
          runtime.mem_free(0, base);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<std::string> given;
    int answers = 0;
    for (const std::string& line : lines_of(path)) {
      if (const size_t at = line.find("= ok base="); at != std::string::npos) given.insert(line.substr(at));
      answers += line.find(" = ok") != std::string::npos;
    }
    EXPECT_EQ(given.size(), size_t{kThreads * kCalls});
    EXPECT_EQ(answers, 2 * kThreads * kCalls);
  });
}

TEST(Trace, a_process_that_is_forked_off_has_a_file_of_its_own) {
  traced(plugin_path("kernel_kinds"), [](Module& module, const std::string& path) {
    const plug_runtime& runtime = table_of(module);
    int32_t count = 0;
    runtime.device_count(&count);
    const pid_t child = ::fork();
    if (child == 0) {
      runtime.device_count(&count);
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    runtime.device_count(&count);
    EXPECT_EQ(lines_of(path).size(), 3U);
    const auto lines = lines_of(path + ".2");
    ASSERT_EQ(lines.size(), 2U);
    expect_says(lines[0], {"torchplug-trace 1 plugin=\"kernel_kinds\"", "pid=" + std::to_string(child)});
    EXPECT_EQ(lines[1], "2 device_count = ok count=1");
  });
}

TEST(Trace, while_a_stream_captures_nothing_is_read) {
  traced(SIM_LIBRARY, [](Module& module, const std::string& path) {
    const plug_runtime& runtime = table_of(module);
    ASSERT_EQ(runtime.device_open(0), PLUG_OK);
    plug_stream stream = nullptr;
    plug_capture capture = nullptr;
    ASSERT_EQ(runtime.stream_create(0, 0, &stream), PLUG_OK);
    Call call(module);
    const plug_kernel& relu = kernel_named(module, "aten::relu(");
    call.call.stream = stream;
    call.call.compute = PLUG_F32;
    ASSERT_EQ(runtime.capture_begin(0, stream, PLUG_CAPTURE_GLOBAL), PLUG_OK);
    EXPECT_EQ(relu.fn(&call.of(relu, "aten::relu")), PLUG_OK);
    ASSERT_EQ(runtime.capture_end(0, stream, &capture), PLUG_OK);
    EXPECT_EQ(runtime.capture_replay(0, capture, stream), PLUG_OK);
    EXPECT_EQ(runtime.stream_sync(0, stream), PLUG_OK);
    EXPECT_EQ(relu.fn(&call.of(relu, "aten::relu")), PLUG_OK);
    std::vector<std::string> kernels;
    for (const std::string& line : lines_of(path)) {
      if (line.find(" kernel ") != std::string::npos) kernels.push_back(line);
    }
    ASSERT_EQ(kernels.size(), 2U);
    expect_says(kernels[0], {"[2] [1] unread)]", "written unread)]"});
    expect_says(kernels[1], {"data=[0x1.8p+0,-0x1p+1]", "written data=[0x1.8p+0,0x0p+0]"});
  });
}

}  // namespace
}  // namespace torchplug::tests
