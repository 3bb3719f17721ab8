// Loading a plugin: what is refused, in which words, and what of an older or newer table is taken over.

#include "plugin/module.h"
#include "plugin/layers/serialize.h"

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "harness.h"
#include "serial.h"

namespace torchplug::tests {
namespace {

std::string refusal_of(const std::string& path) {
  const std::string text = error_of([&] { load_module(path); });
  expect_one_sentence(text);
  return text;
}

// A directory that is gone at the end.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "torchplugXXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// Six functions that only differ.
plug_runtime complete_table() {
  plug_runtime table{};
  table.size = sizeof table;
  table.device_count = [](int32_t*) -> plug_status { return PLUG_OK; };
  table.device_info = [](int32_t, plug_device_info*) -> plug_status { return PLUG_OK; };
  table.device_sync = [](int32_t) -> plug_status { return PLUG_OK; };
  table.mem_alloc = [](int32_t, uint64_t, void**) -> plug_status { return PLUG_OK; };
  table.mem_free = [](int32_t, void*) -> plug_status { return PLUG_OK; };
  table.copy = [](int32_t, plug_stream, const plug_mem*, const plug_mem*, uint64_t) -> plug_status {
    return PLUG_OK;
  };
  return table;
}

TEST(Module, a_path_without_a_file_is_named_with_the_systems_reason) {
  expect_says(refusal_of("/nowhere/libnothing.so"), {"/nowhere/libnothing.so", "No such file or directory"});
}

TEST(Module, a_file_that_is_no_library_is_refused_in_the_loaders_words) {
  const Directory directory;
  const auto path = directory / "text.so";
  std::ofstream(path) << "this is no ELF file, and long enough to have had a header of one in it";
  expect_says(refusal_of(path), {path.native(), "invalid ELF header"});
}

TEST(Module, a_library_without_the_entry_point_is_no_plugin) {
  expect_says(refusal_of(plugin_path("not_a_plugin")),
              {plugin_path("not_a_plugin"), "is not a torchplug plugin", "torchplug_plugin_v0()"});
}

TEST(Module, a_plugin_for_another_abi_is_refused_with_both_versions) {
  expect_says(refusal_of(plugin_path("newer_abi")), {plugin_path("newer_abi"), "version 1", "version 0"});
}

TEST(Module, a_missing_mandatory_function_is_named) {
  const std::string text = refusal_of(plugin_path("missing_copy"));
  expect_says(text, {"missing_copy", "copy", "plug_runtime"});
  EXPECT_EQ(text.find("mem_alloc"), std::string::npos) << "names what is there: " << text;
}

TEST(Module, part_of_the_stream_group_is_refused_with_what_is_there_and_what_lacks) {
  expect_says(refusal_of(plugin_path("half_streams")),
              {"half_streams", "streams and events", "it has stream_create, stream_sync",
               "lacks stream_destroy, stream_query, event_create, event_destroy, event_record, event_wait, "
               "event_query, event_sync"});
}

TEST(Module, part_of_the_pinned_memory_group_is_refused_with_what_is_there_and_what_lacks) {
  expect_says(refusal_of(plugin_path("half_pinned")),
              {"half_pinned", "pinned host memory", "it has host_alloc", "lacks host_free"});
}

TEST(Module, a_plugin_that_refuses_to_start_is_quoted) {
  expect_says(refusal_of(plugin_path("refuses")),
              {plugin_path("refuses"), "timeout", "the licence server does not answer"});
}

TEST(Module, a_plugin_that_refused_is_asked_again_when_it_is_loaded_again) {
  const std::string path = plugin_path("refuses");
  refusal_of(path);
  const int before = exported<int()>(path, "refuses_starts")();
  refusal_of(path);
  EXPECT_EQ(exported<int()>(path, "refuses_starts")(), before + 1);
}

TEST(Module, a_table_without_size_is_refused_by_its_type) {
  expect_says(refusal_of(plugin_path("no_size")), {"no_size", "plug_runtime", "size is 0"});
}

TEST(Module, a_name_that_no_device_can_have_is_refused) {
  expect_says(refusal_of(plugin_path("bad_name")), {plugin_path("bad_name"), "Bad-Name"});
}

TEST(Module, what_a_plugin_says_of_itself_is_there) {
  const Module& module = load_module(plugin_path("copy_fails"));
  EXPECT_EQ(module.name, "copy_fails");
  EXPECT_EQ(module.version, "1.2.3");
  EXPECT_EQ(module.flags, 0u);
  EXPECT_FALSE(module.has_streams());
  EXPECT_TRUE(std::filesystem::equivalent(module.path, plugin_path("copy_fails")));
}

TEST(Module, a_file_is_loaded_once_by_its_path_a_relative_path_and_a_symbolic_link) {
  const Directory directory;
  const std::string path = plugin_path("copy_fails");
  const auto link = directory / "link.so";
  std::filesystem::create_symlink(path, link);
  const Module* first = &load_module(path);
  EXPECT_EQ(&load_module(link), first);
  EXPECT_EQ(&load_module(std::filesystem::relative(path)), first);
}

TEST(Module, a_file_is_loaded_once_by_a_hard_link) {
  const std::string path = plugin_path("copy_fails");
  const std::string link = path + ".link";
  std::filesystem::remove(link);
  std::filesystem::create_hard_link(path, link);
  const Module* first = &load_module(path);
  EXPECT_EQ(&load_module(link), first);
  std::filesystem::remove(link);
}

TEST(Module, an_older_plugin_loads_and_what_it_did_not_know_is_absent) {
  const Module& module = load_module(plugin_path("older"));
  const size_t known = offsetof(plug_runtime, copy) + sizeof module.table.copy;
  const plug_runtime nothing{};
  const char* rest = reinterpret_cast<const char*>(&module.table) + known;
  EXPECT_NE(module.table.copy, nullptr);
  EXPECT_EQ(std::memcmp(rest, reinterpret_cast<const char*>(&nothing) + known, sizeof nothing - known), 0);
  EXPECT_EQ(module.table.size, sizeof(plug_runtime)) << "no caller asks for versions";
}

TEST(Module, older_kernels_are_read_by_the_plugins_size_of_one) {
  const Module& module = load_module(plugin_path("older"));
  ASSERT_EQ(module.kernels.size(), 2u);
  EXPECT_STREQ(module.kernels[0].schema, "aten::relu(Tensor self) -> Tensor");
  EXPECT_STREQ(module.kernels[1].schema, "aten::neg(Tensor self) -> Tensor");
  EXPECT_EQ(module.kernels[1].accepts, 0u);
  EXPECT_EQ(module.kernels[1].writes, 0u);
}

TEST(Adoption, a_longer_table_of_a_newer_plugin_is_taken_over_as_far_as_it_is_known) {
  struct Newer {
    plug_runtime known;
    void (*unknown)();
  } newer{complete_table(), nullptr};
  newer.known.size = sizeof newer;
  const plug_runtime adopted = adopt_runtime(newer.known, "newer");
  EXPECT_EQ(adopted.size, sizeof(plug_runtime));
  EXPECT_EQ(adopted.copy, newer.known.copy);
}

TEST(Adoption, a_table_that_ends_before_all_mandatory_functions_lacks_every_one_of_them) {
  plug_runtime table = complete_table();
  table.size = offsetof(plug_runtime, device_count);
  expect_says(error_of([&] { adopt_runtime(table, "short"); }),
              {"short", "device_count, device_info, device_sync, mem_alloc, mem_free, copy"});
}

TEST(Adoption, a_member_that_a_table_reaches_only_half_is_absent) {
  plug_runtime table = complete_table();
  table.size = offsetof(plug_runtime, copy) + sizeof table.copy / 2;
  expect_says(error_of([&] { adopt_runtime(table, "half"); }), {"half", "functions: copy"});
}

TEST(Adoption, part_of_every_group_is_refused_by_the_groups_name) {
  plug_runtime captures = complete_table();
  captures.capture_begin = [](int32_t, plug_stream, int32_t) -> plug_status { return PLUG_OK; };
  expect_says(error_of([&] { adopt_runtime(captures, "p"); }),
              {"capture", "has capture_begin and lacks capture_end"});
  plug_runtime shares = complete_table();
  shares.ipc_close = [](int32_t, void*) -> plug_status { return PLUG_OK; };
  expect_says(error_of([&] { adopt_runtime(shares, "p"); }),
              {"sharing between processes", "has ipc_close and lacks"});
}

plug_kernel kernel_of(const char* schema, plug_kernel_fn function) {
  plug_kernel kernel{};
  kernel.schema = schema;
  kernel.fn = function;
  return kernel;
}

TEST(Adoption, a_kernel_without_a_schema_or_a_function_is_named_by_its_place) {
  const plug_kernel_fn function = [](const plug_call*) -> plug_status { return PLUG_OK; };
  const plug_kernel list[] = {kernel_of("aten::relu(Tensor self) -> Tensor", function),
                              kernel_of("aten::neg(Tensor self) -> Tensor", nullptr)};
  const plug_kernels table{sizeof(plug_kernels), sizeof(plug_kernel), 2, 0, list, nullptr};
  expect_says(error_of([&] { adopt_kernels(table, "p"); }), {"Kernel 1", "'p'", "no function"});
  const plug_kernel nameless[] = {kernel_of(nullptr, function)};
  const plug_kernels other{sizeof(plug_kernels), sizeof(plug_kernel), 1, 0, nameless, nullptr};
  expect_says(error_of([&] { adopt_kernels(other, "p"); }), {"Kernel 0", "no schema"});
}

TEST(Adoption, kernels_counted_but_not_given_are_refused) {
  const plug_kernels table{sizeof(plug_kernels), sizeof(plug_kernel), 3, 0, nullptr, nullptr};
  expect_says(error_of([&] { adopt_kernels(table, "p"); }), {"'p'", "count of 3"});
}

TEST(Adoption, a_layer_offers_what_the_plugin_has_and_no_more) {
  alone([] {
    Module& module = load_module(plugin_path("serial"));
    serialize(module);
    for_each_member([&]<auto Function>(const char* name, Group) {
      EXPECT_EQ(module.runtime.has<Function>(), module.table.*Function != nullptr) << name;
    });
  });
}

}  // namespace
}  // namespace torchplug::tests
