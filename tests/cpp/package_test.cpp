// Packages by themselves: their file, their contents, their expressions. What is no package is refused.

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "package/contents.h"
#include "package/expression.h"
#include "package/file.h"

namespace torchplug::package {
namespace {

// What body() refuses with; "" if it refuses nothing.
std::string refusal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

// ---- the file ----

class PackageOnDisk : public testing::Test {
 protected:
  PackageOnDisk() {
    std::string folder = (std::filesystem::temp_directory_path() / "package-XXXXXX").string();
    folder_ = ::mkdtemp(folder.data());
    path_ = (folder_ / "model.plug").string();
    const std::string storage = "weights of some kind";
    const std::vector<Bytes> storages = {std::as_bytes(std::span(storage)), {}};
    const std::vector<std::string> engines = {"an engine", std::string(70, 'e')};
    write_package(path_, "contents", storages, engines);
    bytes_ = read_file();
  }
  ~PackageOnDisk() override { std::filesystem::remove_all(folder_); }

  std::string read_file() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Reads all of a file of these bytes.
  std::string refusal_of_file(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return refusal_of([this] { read_all(); });
  }

  std::vector<std::string> read_all() const {
    const PackageFile file(path_);
    std::vector<std::string> parts = {file.read(file.contents())};
    for (const Section& section : file.storages()) parts.push_back(file.read(section));
    for (const Section& section : file.engines()) parts.push_back(file.read(section));
    return parts;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string bytes_;
};

TEST_F(PackageOnDisk, WhatIsWrittenIsRead) {
  const std::vector<std::string> expected = {"contents", "weights of some kind", "", "an engine",
                                             std::string(70, 'e')};
  EXPECT_EQ(read_all(), expected);
}

TEST_F(PackageOnDisk, EverySectionBeginsAtAMultipleOf64) {
  const PackageFile file(path_);
  for (const Section& section : file.storages()) EXPECT_EQ(section.offset % 64, 0U);
  EXPECT_EQ(file.contents().offset % 64, 0U);
}

TEST_F(PackageOnDisk, NothingElseIsLeftInItsFolder) {
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(PackageOnDisk, EveryByteThatChangesIsFound) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    for (const int bit : {static_cast<int>(i % 8)}) {
      std::string changed = bytes_;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      EXPECT_NE(refusal_of_file(changed), "") << "byte " << i << ", bit " << bit;
    }
  }
  EXPECT_EQ(refusal_of_file(bytes_), "");
}

TEST_F(PackageOnDisk, APackageThatIsCutShortAnywhereIsRefused) {
  for (size_t length = 0; length < bytes_.size(); ++length)
    EXPECT_NE(refusal_of_file(bytes_.substr(0, length)), "") << length;
}

TEST_F(PackageOnDisk, APackageWithMoreBehindItIsRefused) {
  EXPECT_NE(refusal_of_file(bytes_ + '\0').find("bytes instead of"), std::string::npos);
}

TEST_F(PackageOnDisk, AnotherVersionIsNamed) {
  std::string later = bytes_;
  later[16] = 7;
  const std::string refusal = refusal_of_file(later);
  EXPECT_NE(refusal.find("is a package of version 7, and this torchplug reads version 1"), std::string::npos)
      << refusal;
}

TEST_F(PackageOnDisk, AFileOfAnotherKindIsNamed) {
  EXPECT_NE(refusal_of_file("PK\3\4 a zip archive").find("is no package"), std::string::npos);
  EXPECT_NE(refusal_of([this] { PackageFile(folder_.string()); }).find("is no file"), std::string::npos);
  EXPECT_NE(refusal_of([this] { PackageFile(path_ + "x"); }).find("Cannot open"), std::string::npos);
}

TEST_F(PackageOnDisk, AFolderThatIsNotThereIsAnErrorOfTheWrite) {
  const auto write = [this] { write_package(path_ + "/x.plug", "", {}, {}); };
  EXPECT_NE(refusal_of(write).find("Cannot write"), std::string::npos);
}

// ---- expressions ----

using Terms = std::vector<Term>;

Term term(const char* name, int64_t bits = 0) { return {Expression::operation_named(name), bits}; }
Term term(double value) { return {Operation::kFloat, std::bit_cast<int64_t>(value)}; }

Number worked_out(std::vector<Term> terms, const std::vector<Number>& symbols = {}) {
  return Expression(std::move(terms)).value(symbols);
}

Number of_two(const char* name, int64_t a, int64_t b) {
  return worked_out({term("symbol", 0), term("symbol", 1), term(name)}, {a, b});
}

TEST(Expression, DividesAsPythonDoes) {
  for (int64_t a = -7; a <= 7; ++a) {
    for (int64_t b = -3; b <= 3; ++b) {
      if (b == 0) continue;
      const double floor = std::floor(static_cast<double>(a) / static_cast<double>(b));
      EXPECT_EQ(std::get<int64_t>(of_two("floordiv", a, b)), static_cast<int64_t>(floor)) << a << "//" << b;
      EXPECT_EQ(std::get<int64_t>(of_two("mod", a, b)), a - b * static_cast<int64_t>(floor)) << a << "%" << b;
    }
  }
}

TEST(Expression, IsAnIntegerWhereADivisionIsExact) {
  EXPECT_EQ(of_two("div", 12, 4), Number(int64_t{3}));
  EXPECT_EQ(of_two("div", 7, 2), Number(3.5));
}

TEST(Expression, KnowsItsOperations) {
  EXPECT_EQ(of_two("add", 2, 3), Number(int64_t{5}));
  EXPECT_EQ(of_two("mul", -2, 3), Number(int64_t{-6}));
  EXPECT_EQ(of_two("pow", 3, 4), Number(int64_t{81}));
  EXPECT_EQ(of_two("min", 3, 4), Number(int64_t{3}));
  EXPECT_EQ(of_two("max", 3, 4), Number(int64_t{4}));
  EXPECT_EQ(of_two("lt", 3, 4), Number(int64_t{1}));
  EXPECT_EQ(of_two("le", 4, 4), Number(int64_t{1}));
  EXPECT_EQ(of_two("eq", 3, 4), Number(int64_t{0}));
  EXPECT_EQ(of_two("ne", 3, 4), Number(int64_t{1}));
  EXPECT_EQ(of_two("and", 3, 0), Number(int64_t{0}));
  EXPECT_EQ(of_two("or", 3, 0), Number(int64_t{1}));
  EXPECT_EQ(worked_out({term("int", 0), term("not")}), Number(int64_t{1}));
  EXPECT_EQ(worked_out({term("int", 16), term("sqrt")}), Number(4.0));
  EXPECT_EQ(worked_out({term("int", 3), term("to_float")}), Number(3.0));
  EXPECT_EQ(worked_out({term(-2.5), term("floor")}), Number(int64_t{-3}));
  EXPECT_EQ(worked_out({term(-2.5), term("ceil")}), Number(int64_t{-2}));
  EXPECT_EQ(worked_out({term(-2.7), term("trunc")}), Number(int64_t{-2}));
  EXPECT_EQ(worked_out({term(2.5), term("round")}), Number(int64_t{2}));
  EXPECT_EQ(worked_out({term("int", 0), term("int", 5), term("int", 6), term("select")}), Number(int64_t{6}));
  EXPECT_EQ(worked_out({term("int", 9), term("int", 5), term("int", 6), term("select")}), Number(int64_t{5}));
}

TEST(Expression, RefusesWhatIsNoNumberOf64Bits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const auto& [name, a, b] :
       std::vector<std::tuple<const char*, int64_t, int64_t>>{{"add", kMost, 1},
                                                              {"mul", kMost, 2},
                                                              {"pow", 10, 40},
                                                              {"floordiv", kLeast, -1},
                                                              {"div", kLeast, -1}})
    EXPECT_NE(refusal_of([&] { of_two(name, a, b); }), "") << name;
  for (const char* name : {"div", "floordiv", "mod"})
    EXPECT_NE(refusal_of([&] { of_two(name, 3, 0); }), "") << name;
  EXPECT_NE(refusal_of([] { worked_out({term(1e30), term("floor")}); }), "");
}

TEST(Expression, RefusesTermsThatAreNone) {
  EXPECT_NE(refusal_of([] { const Expression none(Terms{}); }), "");
  EXPECT_NE(refusal_of([] { const Expression none(Terms{term("add")}); }), "");
  EXPECT_NE(refusal_of([] { const Expression none(Terms{term("int", 1), term("int", 1)}); }), "");
  EXPECT_NE(refusal_of([] { const Expression none(Terms{term("symbol", -1)}); }), "");
  EXPECT_NE(refusal_of([] { const Expression none(Terms{{static_cast<Operation>(99), 0}}); }), "");
  EXPECT_NE(refusal_of([] { const Expression none(Terms(100, term("int", 1))); }), "");
  EXPECT_NE(refusal_of([] { Expression::operation_named("xor"); }), "");
}

// ---- contents ----

// One input, one weight, one step of each kind that needs no group.
Contents small_contents() {
  Contents contents;
  contents.origin = {"1", "2", "acme 3", "chip"};
  contents.symbols = {{"s0", 1, 9, 0, 0, 2, 1}};
  const Expression size(Terms{term("int", 2), term("symbol", 0), term("mul"), term("int", 1), term("add")});
  contents.inputs = {{"x", true, PLUG_F32, {{size, "2*s0 + 1"}}, {Expression::integer(1)}, false}};
  contents.conditions = {{Expression(Terms{term("symbol", 0), term("int", 3), term("ne")}), "s0 != 3"}};
  contents.weights = {{"w", 0, PLUG_F32, 0, {2, 3}, {3, 1}, false, false}};
  contents.storages = 1;
  Program& program = contents.program;
  program.given = 2;
  program.registers = 4;
  program.symbols = 1;
  program.expressions = {size};
  program.callees = {{"aten::mul.Tensor", {"self", "other"}}, {"aten::cat", {"tensors", "dim"}}};
  program.steps = {{StepKind::kOperator, 0, {Argument::ref(0), Argument::number(0.5)}, {2}, "model.py:3"},
                   {StepKind::kSize, 0, {Argument::ref(2)}, {}, ""},
                   {StepKind::kOperator, 1, {Argument::refs({0, 2, -1}), Argument::symbol(0)}, {3}, ""}};
  program.results = {Argument::ref(3), Argument(), Argument::symbol(0), Argument::text("a"),
                     Argument::list({Argument::list({Argument::ints({1, 2})}), Argument::complex(1, 2)})};
  contents.outputs = {{"a", -1}, {"b", -1}, {"c", 0}, {"d", -1}, {"e", -1}};
  return contents;
}

TEST(Contents, AreReadAsTheyWereWritten) {
  const std::string bytes = to_bytes(small_contents());
  const Contents read = from_bytes(bytes);
  EXPECT_EQ(to_bytes(read), bytes);
  EXPECT_EQ(read.inputs[0].sizes[0].value.value(std::vector<Number>{int64_t{4}}), Number(int64_t{9}));
  EXPECT_EQ(read.program.steps[0].source, "model.py:3");
  EXPECT_EQ(read.outputs[2].input, 0);
}

TEST(Contents, ThatEndTooEarlyOrTooLateAreRefused) {
  const std::string bytes = to_bytes(small_contents());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(refusal_of([&] { from_bytes(std::string_view(bytes).substr(0, length)); }), "") << length;
  EXPECT_NE(refusal_of([&] { from_bytes(bytes + '\0'); }), "");
}

// Someone may have made the digests anew: there is a sentence, or contents that keep all rules.
TEST(Contents, OfAnyBytesAreRefusedOrWhole) {
  const std::string bytes = to_bytes(small_contents());
  std::mt19937 random(7);
  size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string changed = bytes;
    for (unsigned changes = random() % 3 + 1; changes > 0; --changes)
      changed[random() % changed.size()] = static_cast<char>(random() % 2 == 0 ? random() % 4 : random());
    const std::string refusal = refusal_of([&] { check(from_bytes(changed)); });
    refused += !refusal.empty();
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << refusal;
  }
  EXPECT_GT(refused, 400U);
}

TEST(Contents, ThatNameWhatTheyDoNotHaveAreRefused) {
  const std::vector<std::pair<const char*, std::function<void(Contents&)>>> faults = {
      {"a register that is not filled", [](Contents& c) { c.program.steps[0].args[0] = Argument::ref(3); }},
      {"a register that there is not", [](Contents& c) { c.program.results[0] = Argument::ref(4); }},
      {"a given register as a result", [](Contents& c) { c.program.steps[0].results = {1}; }},
      {"an operator that there is not", [](Contents& c) { c.program.steps[0].target = 2; }},
      {"too few arguments", [](Contents& c) { c.program.steps[0].args.pop_back(); }},
      {"a group that there is not", [](Contents& c) { c.program.steps[0].kind = StepKind::kEngine; }},
      {"an expression that there is not", [](Contents& c) { c.program.results[2] = Argument::symbol(1); }},
      {"a symbol before it is known",
       [](Contents& c) {
         c.program.expressions[0] = Expression(Terms{term("symbol", 1)});
         c.program.results[2] = Argument();
         c.program.steps[0].args[1] = Argument::symbol(0);
       }},
      {"a storage that there is not", [](Contents& c) { c.weights[0].storage = 1; }},
      {"a stride below 0", [](Contents& c) { c.weights[0].strides[0] = -1; }},
      {"an input that there is not", [](Contents& c) { c.outputs[2].input = 1; }},
      {"a dimension that there is not", [](Contents& c) { c.symbols[0].dimension = 1; }},
      {"a symbol of no size", [](Contents& c) { c.symbols[0].scale = 0; }},
      {"an engine that there is not", [](Contents& c) { c.made = {{0, {}, 0, ""}}; }},
      {"more registers than are used", [](Contents& c) { c.program.registers = 1000000; }},
      {"another number of results", [](Contents& c) { c.outputs.pop_back(); }},
      {"a kind of step that there is not",
       [](Contents& c) { c.program.steps[0].kind = static_cast<StepKind>(9); }},
  };
  for (const auto& [what, damage] : faults) {
    Contents contents = small_contents();
    damage(contents);
    EXPECT_NE(refusal_of([&] { check(contents); }), "") << what;
  }
  EXPECT_EQ(refusal_of([] { check(small_contents()); }), "");
}

}  // namespace
}  // namespace torchplug::package
