// plug.hpp without PyTorch: what a schema says, which functions fit it, what a kernel is given, what becomes
// of exceptions, teams, loops in types.

#include <gtest/gtest.h>
#include <torchplug/plug.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "strided.h"

namespace util_test {
namespace {

// ---- a host ----

std::string last_error;
std::vector<double> scratch_memory;

plug_host make_host() {
  plug_host made{};
  made.size = sizeof made;
  made.set_error = [](const plug_host*, const char* message) { last_error = message; };
  made.scratch = [](const plug_host* self, const plug_call*, std::uint64_t bytes,
                    plug_mem* mem) -> plug_status {
    if (bytes > 1000000) {
      self->set_error(self, "no scratch left");
      return PLUG_NO_MEMORY;
    }
    scratch_memory.resize(bytes / sizeof(double) + 1);
    mem->base = scratch_memory.data();
    return PLUG_OK;
  };
  made.team = [](const plug_host*, void (*fn)(void*, std::int32_t, std::int32_t), void* arg) {
    std::vector<std::thread> threads;
    for (std::int32_t i = 0; i < 3; ++i) threads.emplace_back([=] { fn(arg, i, 3); });
    for (auto& thread : threads) thread.join();
  };
  return made;
}

class Kernels : public testing::Test {
 protected:
  Kernels() {
    plug::host = &host_;
    last_error.clear();
  }
  plug_host host_ = make_host();
};

struct Values {
  std::vector<plug_value> args;
  std::vector<plug_value> results;

  plug_status call(const plug_kernel& kernel) {
    plug_call call{};
    call.size = sizeof call;
    call.user = kernel.user;
    call.args = args.data();
    call.arg_count = static_cast<std::uint32_t>(args.size());
    call.results = results.data();
    call.result_count = static_cast<std::uint32_t>(results.size());
    call.name = "aten::test";
    return kernel.fn(&call);
  }
};

plug_value tensor(const plug_tensor* raw) {
  plug_value value{};
  value.tag = PLUG_VALUE_TENSOR;
  value.as.tensors = raw;
  return value;
}

plug_value real(double number) {
  plug_value value{};
  value.tag = PLUG_VALUE_FLOAT;
  value.as.f = number;
  return value;
}

plug_value integer(std::int32_t tag, std::int64_t number) {
  plug_value value{};
  value.tag = tag;
  value.as.i = number;
  return value;
}

// ---- schemas ----

constexpr plug::Kind kind_of(const char* type) { return plug::schema_reader::read_type(type); }
constexpr plug::Kind made(plug::Base base, bool list, bool items, bool optional, bool written) {
  return {base, list, items, optional, written};
}
static_assert(kind_of("Tensor") == made(plug::Base::kTensor, false, false, false, false));
static_assert(kind_of("Tensor?") == made(plug::Base::kTensor, false, false, true, false));
static_assert(kind_of("Tensor(a!)") == made(plug::Base::kTensor, false, false, false, true));
static_assert(kind_of("Tensor(a! -> a|b)[]") == made(plug::Base::kTensor, true, false, false, true));
static_assert(kind_of("Tensor?[]") == made(plug::Base::kTensor, true, true, false, false));
static_assert(kind_of("SymInt[2]?") == made(plug::Base::kInt, true, false, true, false));
static_assert(kind_of("float[]?") == made(plug::Base::kFloat, true, false, true, false));
static_assert(kind_of("Dimname") == made(plug::Base::kUnknown, false, false, false, false));

constexpr plug::Schema kQuoted = plug::read_schema(
    "acme::op.some(Tensor(a!) x, str mode=\"a, \\\"(b\", int[2] by=[1, 2], *, Generator? g=None) -> "
    "(Tensor values, int[] sizes)");
static_assert(kQuoted.is_read && kQuoted.argument_count == 4 && kQuoted.result_count == 2);
static_assert(kQuoted.arguments[1].base == plug::Base::kStr && kQuoted.arguments[2].is_list);
static_assert(kQuoted.arguments[3].base == plug::Base::kGenerator && kQuoted.arguments[3].is_optional);
static_assert(plug::read_schema("acme::op() -> ()").is_read);
static_assert(plug::read_schema("acme::op() -> ()").result_count == 0);
static_assert(!plug::read_schema("relu(Tensor self) -> Tensor").is_read);
static_assert(!plug::read_schema("aten::relu(Tensor self)").is_read);

// ---- kernels ----

struct Seen {
  std::int64_t integer = 0;
  std::optional<std::int64_t> maybe;
  std::vector<std::int64_t> ints;
  double real = 0;
  bool flag = false;
  std::string text;
  std::optional<plug_dtype> dtype;
  std::int64_t tensors = 0;
  std::int64_t absent = 0;
} seen;

void takes_all(plug::Call&, plug::Tensor self, std::optional<plug::Tensor> weight, plug::Tensors list,
               plug::OptionalTensors indices, std::int64_t dim, std::optional<std::int64_t> maybe,
               plug::Ints sizes, std::optional<plug::Ints> none, double eps, bool flag, plug::Scalar alpha,
               std::optional<plug::Scalar> beta, std::string_view mode, std::optional<plug::Dtype> dtype,
               std::optional<plug::Generator> generator, plug::Out result,
               std::optional<plug::Out> unwanted) {
  seen.integer = dim;
  seen.maybe = maybe;
  seen.ints.assign(sizes.begin(), sizes.end());
  seen.real = eps + alpha.to<double>();
  seen.flag = flag;
  seen.text = mode;
  if (dtype) seen.dtype = dtype->value;
  seen.tensors = list.size();
  for (const auto index : indices) seen.absent += index ? 0 : 1;
  EXPECT_FALSE(weight || none || beta || unwanted || !generator);
  EXPECT_EQ(list[1].numel(), 2);
  std::copy_n(self.data<float>(), self.numel(), result.data<float>());
}

constexpr plug::Kernel kTakesAll = plug::kernel<&takes_all>(
    "acme::all(Tensor self, Tensor? weight, Tensor[] list, Tensor?[] indices, int dim, SymInt? maybe, "
    "SymInt[] sizes, "
    "int[2]? none, float eps, bool flag, Scalar alpha, Scalar? beta=None, str mode=\"none\", *, ScalarType? "
    "dtype=None, "
    "Generator? generator=None) -> (Tensor, Tensor)",
    PLUG_ACCEPTS_STRIDED);

TEST_F(Kernels, are_given_each_argument_as_what_it_is) {
  Strided<float> in(PLUG_F32, {2}, {1});
  Strided<float> out(PLUG_F32, {2}, {1});
  in.memory() = {3, 4};
  std::vector<plug_tensor> list(2, *in.raw());
  std::vector<plug_tensor> indices(3, *in.raw());
  indices[0].ndim = indices[2].ndim = -1;
  const Index sizes{5, 6, 7};
  plug_value tensors{PLUG_VALUE_TENSORS, 2, {}};
  tensors.as.tensors = list.data();
  plug_value optional_tensors{PLUG_VALUE_TENSORS, 3, {}};
  optional_tensors.as.tensors = indices.data();
  plug_value ints{PLUG_VALUE_INTS, 3, {}};
  ints.as.ints = sizes.data();
  plug_value text{PLUG_VALUE_STR, 4, {}};
  text.as.str = "mean";
  plug_value dtype{PLUG_VALUE_DTYPE, 0, {}};
  dtype.as.u = PLUG_BF16;
  Values values;
  values.args = {tensor(in.raw()),
                 plug_value{},
                 tensors,
                 optional_tensors,
                 integer(PLUG_VALUE_INT, -1),
                 integer(PLUG_VALUE_INT, 8),
                 ints,
                 plug_value{},
                 real(0.5),
                 integer(PLUG_VALUE_BOOL, 1),
                 integer(PLUG_VALUE_INT, 2),
                 plug_value{},
                 text,
                 dtype,
                 plug_value{PLUG_VALUE_GENERATOR, 0, {}}};
  values.results = {tensor(out.raw()), plug_value{}};
  ASSERT_EQ(values.call(kTakesAll), PLUG_OK) << last_error;
  EXPECT_EQ(kTakesAll.accepts, std::uint64_t{PLUG_ACCEPTS_STRIDED});
  EXPECT_EQ(seen.integer, -1);
  EXPECT_EQ(seen.maybe, 8);
  EXPECT_EQ(seen.ints, sizes);
  EXPECT_EQ(seen.real, 2.5);
  EXPECT_TRUE(seen.flag);
  EXPECT_EQ(seen.text, "mean");
  EXPECT_EQ(seen.dtype, PLUG_BF16);
  EXPECT_EQ(seen.tensors, 2);
  EXPECT_EQ(seen.absent, 2);
  EXPECT_EQ(out.memory(), in.memory());
  values.args.pop_back();
  EXPECT_EQ(values.call(kTakesAll), PLUG_INVALID);
  EXPECT_NE(last_error, "");
}

void writes(plug::Call&, plug::Out self, plug::Outs list, plug::Out result) {
  self.data<float>()[0] = 1;
  for (const plug::Out item : list) item.span<float>()[0] = 2;
  EXPECT_EQ(&self.raw(), &result.raw());
}
constexpr plug::Kernel kWrites =
    plug::kernel<&writes>("acme::w(Tensor(a!) self, Tensor(b!)[] list) -> Tensor(a!)");

void counts(plug::Call&, plug::Tensor self, plug::Returned<std::int64_t> count, plug::Returned<bool> is_any) {
  count = self.numel();
  is_any = self.numel() > 0;
}
constexpr plug::Kernel kCounts = plug::kernel<&counts>("acme::count(Tensor self) -> (int, bool)");

TEST_F(Kernels, write_arguments_that_are_marked_and_return_numbers) {
  Strided<float> self(PLUG_F32, {1}, {1});
  Strided<float> item(PLUG_F32, {1}, {1});
  plug_value list{PLUG_VALUE_TENSORS, 1, {}};
  list.as.tensors = item.raw();
  Values values{{tensor(self.raw()), list}, {tensor(self.raw())}};
  ASSERT_EQ(values.call(kWrites), PLUG_OK) << last_error;
  EXPECT_EQ(self.memory()[0], 1);
  EXPECT_EQ(item.memory()[0], 2);
  Values numbers{{tensor(self.raw())}, {integer(PLUG_VALUE_INT, 0), integer(PLUG_VALUE_BOOL, 0)}};
  ASSERT_EQ(numbers.call(kCounts), PLUG_OK) << last_error;
  EXPECT_EQ(numbers.results[0].as.i, 1);
  EXPECT_EQ(numbers.results[1].tag, PLUG_VALUE_BOOL);
  EXPECT_EQ(numbers.results[1].as.i, 1);
}

#if !defined(__cpp_consteval)
TEST_F(Kernels, that_do_not_fit_and_are_no_constants_fail_with_the_reason) {
  const std::string schema = "aten::relu(Tensor self, int dim) -> Tensor";
  const plug::Kernel kernel = plug::kernel<&counts>(schema.c_str());
  EXPECT_EQ(Values{}.call(kernel), PLUG_INTERNAL);
  EXPECT_NE(last_error.find("type"), std::string::npos);
}
#endif

// ---- failures ----

int how_to_fail = 0;
plug_status fails(plug::Call& call, plug::Tensor self, plug::Out) {
  switch (how_to_fail) {
    case 0: throw std::runtime_error("the pump is dry");
    case 1: throw 7;
    case 2: plug::decline("odd sizes");
    case 3: plug::Scratch<double>(call, 1 << 30); break;
    case 4: self.data<double>(); break;
    case 5: self.span<float>(); break;
    case 6: self.size(3); break;
    case 7: plug::Scalar(call.raw().args[0]).to<double>(); break;
    default: return plug::fail(PLUG_TIMEOUT, "too late");
  }
  return PLUG_OK;
}
constexpr plug::Kernel kFails = plug::kernel<&fails>("aten::relu(Tensor self) -> Tensor");

TEST_F(Kernels, let_no_exception_out) {
  const std::vector<std::pair<plug_status, std::string>> expected = {{PLUG_INTERNAL, "the pump is dry"},
                                                                     {PLUG_INTERNAL, "no std::exception"},
                                                                     {PLUG_UNSUPPORTED, "odd sizes"},
                                                                     {PLUG_NO_MEMORY, "no scratch left"},
                                                                     {PLUG_INTERNAL, "dtype"},
                                                                     {PLUG_INTERNAL, "contiguous"},
                                                                     {PLUG_INVALID, "dim"},
                                                                     {PLUG_UNSUPPORTED, ""},
                                                                     {PLUG_TIMEOUT, "too late"}};
  Strided<float> in(PLUG_F32, {2, 2}, {1, 2});
  Strided<float> out(PLUG_F32, {2, 2}, {2, 1});
  for (how_to_fail = 0; how_to_fail < static_cast<int>(expected.size()); ++how_to_fail) {
    last_error.clear();
    Values values{{tensor(in.raw())}, {tensor(out.raw())}};
    EXPECT_EQ(values.call(kFails), expected[static_cast<std::size_t>(how_to_fail)].first) << how_to_fail;
    EXPECT_NE(last_error.find(expected[static_cast<std::size_t>(how_to_fail)].second), std::string::npos)
        << last_error;
  }
}

// ---- scratch, teams ----

TEST_F(Kernels, have_scratch_of_their_type) {
  const plug_call raw{};
  const plug::Call call(raw);
  plug::Scratch<double> scratch(call, 10);
  EXPECT_EQ(scratch.size(), 10);
  std::iota(scratch.begin(), scratch.end(), 0.0);
  EXPECT_EQ(scratch_memory[9], 9);
  EXPECT_EQ(scratch.mem().base, scratch_memory.data());
}

TEST_F(Kernels, share_work_among_a_team_without_leaving_or_doubling_any) {
  for (const std::int64_t n : {0, 1, 5, 100})
    for (const std::int64_t grain : {1, 3, 40, 1000}) {
      std::vector<int> done(static_cast<std::size_t>(n));
      std::mutex lock;
      int parts = 0;
      plug::team(plug::host, n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++done[static_cast<std::size_t>(i)];
        const std::lock_guard hold(lock);
        ++parts;
      });
      EXPECT_EQ(std::count(done.begin(), done.end(), 1), n);
      EXPECT_LE(parts, std::max<std::int64_t>(1, (n + grain - 1) / grain));
    }
}

TEST_F(Kernels, get_the_exception_of_a_thread_of_their_team) {
  EXPECT_THROW(plug::team(plug::host, 9, 1,
                          [](std::int64_t begin, std::int64_t) {
                            if (begin > 0) throw plug::Failure(PLUG_TIMEOUT, "late");
                          }),
               plug::Failure);
}

// ---- loops ----

TEST_F(Kernels, loop_over_elements_in_their_types) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    const Index sizes = random.shape(4, 5);
    Strided<double> out(PLUG_F64, sizes, random.strides(sizes));
    const Index a_sizes = random.expandable(sizes);
    Strided<float> a(PLUG_F32, a_sizes, random.strides(a_sizes));
    Strided<std::int32_t> b(PLUG_I32, sizes, random.strides(sizes));
    std::iota(a.memory().begin(), a.memory().end(), 0.5F);
    std::iota(b.memory().begin(), b.memory().end(), 7);
    const plug::Loop loop{plug::Out(*out.raw()), plug::Tensor(*a.raw()), plug::Tensor(*b.raw())};
    const std::int64_t middle = loop.count() / 3;
    const auto body = [](double& y, float x, std::int32_t z) { y = double{x} - z; };
    loop.each<double, float, std::int32_t>(0, middle, body);
    loop.each<double, float, std::int32_t>(middle, loop.count(), body);
    for (const Index& index : indices(sizes)) ASSERT_EQ(out.at(index), double{a.at(index)} - b.at(index));
  }
}

TEST_F(Kernels, map_in_one_type_what_has_others) {
  Random random(4);
  for (int round = 0; round < 100; ++round) {
    Index sizes = random.shape(3, 5);
    if (round == 0) sizes = {3, 600};  // more than a block
    Strided<plug::Half> out(PLUG_F16, sizes, random.strides(sizes));
    Strided<plug::BFloat16> a(PLUG_BF16, sizes, random.strides(sizes));
    Strided<std::int64_t> b(PLUG_I64, {}, {});
    for (std::size_t i = 0; i < a.memory().size(); ++i)
      a.memory()[i] = plug::BFloat16(static_cast<float>(i % 40));
    b.memory()[0] = 3;
    const plug::Loop loop{plug::Out(*out.raw()), plug::Tensor(*a.raw()), plug::Tensor(*b.raw())};
    loop.map<float>([](float x, float y) { return x * y; });
    for (const Index& index : indices(sizes)) ASSERT_EQ(float{out.at(index)}, 3 * float{a.at(index)});
  }
}

TEST_F(Kernels, fold_dims_into_one) {
  Strided<float> in(PLUG_F32, {2, 3, 2}, {1, 2, 6});
  std::iota(in.memory().begin(), in.memory().end(), 0.0F);
  Strided<double> out(PLUG_F64, {2, 1, 2}, {2, 2, 1});
  const Index dims{-2};
  const plug::Reduction reduction(plug::Out(*out.raw()), plug::Tensor(*in.raw()), plug::Ints(dims.data(), 1));
  EXPECT_EQ(reduction.count(), 4);
  EXPECT_EQ(reduction.length(), 3);
  reduction.fold<double, float>(
      0, reduction.count(), 0.0, [](double sum, float x) { return sum + double{x}; },
      [&](double sum) { return sum / static_cast<double>(reduction.length()); });
  for (const Index& index : indices({2, 1, 2})) {
    double sum = 0;
    for (std::int64_t i = 0; i < 3; ++i) sum += double{in.at({index[0], i, index[2]})};
    EXPECT_EQ(out.at(index), sum / 3);
  }
  const auto add = [](auto sum, auto x) { return sum + x; };
  const auto same = [](auto sum) { return sum; };
  EXPECT_THROW((reduction.fold<float, float>(0, 4, 0.0F, add, same)), plug::Failure);
  EXPECT_THROW((reduction.fold<double, std::int32_t>(0, 4, 0.0, add, same)), plug::Failure);
}

plug_status shape_of_none(const plug_call* /*call*/) { return PLUG_OK; }

TEST_F(Kernels, carry_what_defines_an_operator) {
  constexpr plug::Kernel bare{};
  constexpr plug::Kernel kernel = bare.with_shape(&shape_of_none).with_gradient("x: grad");
  EXPECT_EQ(kernel.shape, &shape_of_none);
  EXPECT_STREQ(kernel.gradient, "x: grad");
  EXPECT_STREQ(bare.with_shapes("x").shapes, "x");
}

// What it is of, and how many there are.
struct Counted {
  static inline int alive = 0;
  std::int64_t size;
  explicit Counted(std::int64_t of) : size(of) { ++alive; }
  Counted(const Counted& other) : size(other.size) { ++alive; }
  ~Counted() { --alive; }
};

Counted look(plug::Call& /*call*/, plug::Tensor x, std::string_view word,
             plug::Returned<std::int64_t> /*y*/) {
  if (word == "never") plug::decline("there is no such word");
  return Counted(x.numel() + static_cast<std::int64_t>(word.size()));
}
void tell(plug::Call& /*call*/, const Counted& counted, plug::Tensor /*x*/, std::string_view /*word*/,
          plug::Returned<std::int64_t> y) {
  y = counted.size;
}

TEST_F(Kernels, have_what_was_worked_out_for_calls_like_theirs) {
  constexpr plug::Kernel kernel = plug::kernel<&tell, &look>("acme::tell(Tensor x, str word) -> int");
  const Strided<float> x(PLUG_F32, {2, 3}, {3, 1});
  const auto call_with = [&](const char* word, plug_value& result) {
    plug_value text{};
    text.tag = PLUG_VALUE_STR;
    text.as.str = word;
    text.count = static_cast<std::uint32_t>(std::strlen(word));
    const std::vector<plug_value> args = {tensor(x.raw()), text};
    plug_call call{};
    call.size = sizeof call;
    call.args = args.data();
    call.arg_count = 2;
    call.results = &result;
    call.result_count = 1;
    const plug_status status = kernel.prepare(&call, &call.state);
    if (status != PLUG_OK) return status;
    const plug_status answer = kernel.fn(&call);
    kernel.forget(call.state);
    return answer;
  };
  plug_value result{};
  EXPECT_EQ(call_with("four", result), PLUG_OK);
  EXPECT_EQ(result.as.i, 10);
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_EQ(call_with("never", result), PLUG_UNSUPPORTED);
  EXPECT_EQ(last_error, "there is no such word");
  EXPECT_EQ(Counted::alive, 0);
}

TEST_F(Kernels, choose_by_dtype_and_decline_others) {
  std::string chosen;
  const auto choose = [&](plug_dtype dtype) {
    plug::visit<float, plug::BFloat16, bool>(
        dtype, [&](auto type) { chosen = std::to_string(sizeof(typename decltype(type)::type)); });
  };
  choose(PLUG_F32);
  EXPECT_EQ(chosen, "4");
  choose(PLUG_BF16);
  EXPECT_EQ(chosen, "2");
  choose(PLUG_BOOL);
  EXPECT_EQ(chosen, "1");
  EXPECT_THROW(choose(PLUG_I8), plug::Failure);
}

}  // namespace
}  // namespace util_test
