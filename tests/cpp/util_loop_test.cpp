// Loops, splits and reductions of plug_util.h, against counting through all indices.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "strided.h"

namespace util_test {
namespace {

using Ints = Strided<std::int64_t>;

void number(Ints& tensor) { std::iota(tensor.memory().begin(), tensor.memory().end(), std::int64_t{1}); }

plug_value ints(const Index& list) {
  plug_value value{};
  value.tag = PLUG_VALUE_INTS;
  value.count = static_cast<std::uint32_t>(list.size());
  value.as.ints = list.data();
  return value;
}

std::int64_t& element(char* address) { return *reinterpret_cast<std::int64_t*>(address); }

// out = 3 a + b over elements [begin, end) of the loop.
void add_part(const plug_loop& loop, std::int64_t begin, std::int64_t end) {
  plug_runs runs;
  std::int64_t position = begin;
  for (plug_runs_begin(&runs, &loop, begin, end); plug_runs_next(&runs) != 0;) {
    EXPECT_EQ(runs.position, position);
    EXPECT_GT(runs.n, 0);
    position += runs.n;
    for (std::int64_t i = 0; i < runs.n; ++i)
      element(runs.data[0] + i * runs.strides[0]) =
          3 * element(runs.data[1] + i * runs.strides[1]) + element(runs.data[2] + i * runs.strides[2]);
  }
  EXPECT_EQ(position, std::max(begin, end));
}

TEST(Loop, walks_every_element_once_whatever_the_strides_and_shapes_that_expand) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const Index sizes = random.shape(5, 4);
    Ints out(PLUG_I64, sizes, random.strides(sizes));
    const Index a_sizes = random.expandable(sizes);
    const Index b_sizes = random.expandable(sizes);
    Ints a(PLUG_I64, a_sizes, random.strides(a_sizes));
    Ints b(PLUG_I64, b_sizes, random.strides(b_sizes));
    number(a), number(b);
    const plug_tensor* tensors[] = {out.raw(), a.raw(), b.raw()};
    plug_loop loop;
    ASSERT_EQ(plug_loop_make(&loop, 3, tensors, random.one_in(2) ? PLUG_LOOP_IN_ORDER : 0), PLUG_OK);
    ASSERT_EQ(loop.count, product(sizes));
    const auto parts = static_cast<std::int32_t>(1 + random.up_to(5));
    for (std::int32_t part = 0; part < parts; ++part) {
      std::int64_t begin = 0;
      std::int64_t end = 0;
      plug_split(loop.count, 2, part, parts, &begin, &end);
      add_part(loop, begin, end);
    }
    for (const Index& index : indices(sizes)) ASSERT_EQ(out.at(index), 3 * a.at(index) + b.at(index));
  }
}

TEST(Loop, walks_expanded_tensors_with_strides_of_zero) {
  const Index sizes{3, 4};
  Ints out(PLUG_I64, sizes, {4, 1});
  Ints a(PLUG_I64, {3, 4}, {0, 1});
  Ints b(PLUG_I64, {3, 4}, {0, 0});
  number(a), number(b);
  const plug_tensor* tensors[] = {out.raw(), a.raw(), b.raw()};
  plug_loop loop;
  ASSERT_EQ(plug_loop_make(&loop, 3, tensors, 0), PLUG_OK);
  add_part(loop, 0, loop.count);
  for (const Index& index : indices(sizes)) EXPECT_EQ(out.at(index), 3 * (index[1] + 1) + 1);
}

TEST(Loop, of_tensors_that_lie_alike_is_one_run) {
  const std::vector<std::pair<Index, Index>> layouts = {{{2, 3, 4}, {12, 4, 1}},
                                                        {{4, 3, 2}, {1, 4, 12}},
                                                        {{2, 1, 3, 4}, {12, 99, 4, 1}},
                                                        {{}, {}},
                                                        {{1, 1}, {7, 7}}};
  for (const auto& [sizes, strides] : layouts) {
    Ints out(PLUG_I64, sizes, strides);
    Ints in(PLUG_I64, sizes, strides);
    const plug_tensor* tensors[] = {out.raw(), in.raw()};
    plug_loop loop;
    ASSERT_EQ(plug_loop_make(&loop, 2, tensors, 0), PLUG_OK);
    EXPECT_EQ(loop.ndim, 1);
    EXPECT_EQ(loop.strides[0][0], 8);
    EXPECT_EQ(loop.strides[0][1], 8);
    EXPECT_EQ(loop.sizes[0], product(sizes));
  }
}

TEST(Loop, goes_along_the_memory_of_the_result_and_row_by_row_if_asked) {
  Ints out(PLUG_I64, {3, 5}, {1, 4});
  const plug_tensor* tensors[] = {out.raw()};
  plug_loop loop;
  ASSERT_EQ(plug_loop_make(&loop, 1, tensors, 0), PLUG_OK);
  EXPECT_EQ(loop.strides[loop.ndim - 1][0], 8);
  ASSERT_EQ(plug_loop_make(&loop, 1, tensors, PLUG_LOOP_IN_ORDER), PLUG_OK);
  plug_runs runs;
  std::int64_t next = 0;
  for (plug_runs_begin(&runs, &loop, 0, loop.count); plug_runs_next(&runs) != 0;)
    for (std::int64_t i = 0; i < runs.n; ++i) element(runs.data[0] + i * runs.strides[0]) = next++;
  for (const Index& index : indices({3, 5})) EXPECT_EQ(out.at(index), index[0] * 5 + index[1]);
}

TEST(Loop, over_nothing_has_no_run) {
  for (const Index& sizes : {Index{0}, Index{3, 0, 2}, Index{0, 0}}) {
    Ints out(PLUG_I64, sizes, Index(sizes.size(), 1));
    Ints number_alone(PLUG_I64, {}, {});
    const plug_tensor* tensors[] = {out.raw(), number_alone.raw()};
    plug_loop loop;
    ASSERT_EQ(plug_loop_make(&loop, 2, tensors, 0), PLUG_OK);
    plug_runs runs;
    plug_runs_begin(&runs, &loop, 0, loop.count);
    EXPECT_EQ(plug_runs_next(&runs), 0);
  }
}

TEST(Loop, refuses_what_does_not_expand_is_absent_or_too_much) {
  Ints out(PLUG_I64, {3, 4}, {4, 1});
  Ints three(PLUG_I64, {3}, {1});
  Ints deeper(PLUG_I64, {1, 3, 4}, {12, 4, 1});
  Ints absent(PLUG_I64, {}, {});
  absent.changed().ndim = -1;
  Ints sparse(PLUG_I64, {3, 4}, {4, 1});
  sparse.changed().layout = 1;
  plug_loop loop;
  for (Ints* other : {&three, &deeper, &absent, &sparse}) {
    const plug_tensor* tensors[] = {out.raw(), other->raw()};
    EXPECT_EQ(plug_loop_make(&loop, 2, tensors, 0), PLUG_UNSUPPORTED);
  }
  const plug_tensor* many[PLUG_LOOP_OPERANDS + 1];
  std::fill(std::begin(many), std::end(many), out.raw());
  EXPECT_EQ(plug_loop_make(&loop, PLUG_LOOP_OPERANDS, many, 0), PLUG_OK);
  EXPECT_EQ(plug_loop_make(&loop, PLUG_LOOP_OPERANDS + 1, many, 0), PLUG_UNSUPPORTED);
}

TEST(Loop, has_room_for_as_many_dimensions_as_can_be_counted) {
  Index sizes(64, 1);
  sizes[5] = sizes[40] = 2;
  Ints out(PLUG_I64, sizes, Index(64, 1));
  const plug_tensor* tensors[] = {out.raw()};
  plug_loop loop;
  EXPECT_EQ(plug_loop_make(&loop, 1, tensors, 0), PLUG_OK);
  EXPECT_EQ(loop.count, 4);
  Ints nothing(PLUG_I64, Index(64, 0), Index(64, 1));
  const plug_tensor* none[] = {nothing.raw()};
  EXPECT_EQ(plug_loop_make(&loop, 1, none, 0), PLUG_OK);
  std::int64_t element_alone = 0;
  Ints large(PLUG_I64, {}, {});
  const Index twos(33, 2);
  const Index zeros(33, 0);
  large.changed().mem.base = &element_alone;
  large.changed().ndim = 33;
  large.changed().sizes = twos.data();
  large.changed().strides = zeros.data();
  const plug_tensor* expanded[] = {large.raw()};
  EXPECT_EQ(plug_loop_make(&loop, 1, expanded, PLUG_LOOP_IN_ORDER), PLUG_UNSUPPORTED);
}

TEST(Split, gives_every_unit_to_one_part_and_parts_alike) {
  for (std::int64_t total : {0, 1, 7, 64, 1000})
    for (std::int64_t unit : {1, 3, 16})
      for (std::int32_t count : {1, 2, 7, 64}) {
        std::int64_t next = 0;
        std::int64_t least = total;
        std::int64_t most = 0;
        for (std::int32_t index = 0; index < count; ++index) {
          std::int64_t begin = -1;
          std::int64_t end = -1;
          plug_split(total, unit, index, count, &begin, &end);
          ASSERT_EQ(begin, next);
          ASSERT_TRUE(end == total || end % unit == 0);
          next = end;
          least = std::min(least, end - begin);
          most = std::max(most, end - begin);
        }
        ASSERT_EQ(next, total);
        ASSERT_LE(most - least, 2 * unit - 1);
      }
}

// The shape of a reduction's result.
Index reduced_shape(const Index& sizes, const std::set<std::size_t>& dims, bool keepdim) {
  Index made;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool is_reduced = dims.count(d) != 0;
    if (is_reduced && keepdim) made.push_back(1);
    if (!is_reduced) made.push_back(sizes[d]);
  }
  return made;
}

void sum_part(const plug_reduction& reduction, std::int64_t begin, std::int64_t end) {
  plug_runs rows;
  plug_runs run;
  for (plug_runs_begin(&rows, &reduction.kept, begin, end); plug_runs_next(&rows) != 0;) {
    for (std::int64_t i = 0; i < rows.n; ++i) {
      char* const from[] = {rows.data[1] + i * rows.strides[1]};
      std::int64_t sum = 0;
      for (plug_runs_from(&run, &reduction.reduced, from, 0, reduction.reduced.count);
           plug_runs_next(&run) != 0;)
        for (std::int64_t j = 0; j < run.n; ++j) sum += element(run.data[0] + j * run.strides[0]);
      element(rows.data[0] + i * rows.strides[0]) = sum;
    }
  }
}

// The same with the loops the other way round, and the reduced one in two parts.
void add_up(const plug_reduction& reduction) {
  plug_runs outer;
  plug_runs rows;
  const std::int64_t half = reduction.reduced.count / 2;
  for (const auto& [begin, end] :
       {std::pair(std::int64_t{0}, half), std::pair(half, reduction.reduced.count)}) {
    for (plug_runs_begin(&outer, &reduction.reduced, begin, end); plug_runs_next(&outer) != 0;)
      for (std::int64_t j = 0; j < outer.n; ++j) {
        char* const from[] = {reduction.kept.base[0], outer.data[0] + j * outer.strides[0]};
        for (plug_runs_from(&rows, &reduction.kept, from, 0, reduction.kept.count);
             plug_runs_next(&rows) != 0;)
          for (std::int64_t i = 0; i < rows.n; ++i)
            element(rows.data[0] + i * rows.strides[0]) += element(rows.data[1] + i * rows.strides[1]);
      }
  }
}

TEST(Reduction, sums_over_any_dims_kept_or_not_in_parts_and_either_way_round) {
  Random random(2);
  for (int round = 0; round < 400; ++round) {
    const Index sizes = random.shape(5, 4);
    Ints in(PLUG_I64, sizes, random.strides(sizes));
    number(in);
    std::set<std::size_t> dims;
    Index named;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (!random.one_in(2)) continue;
      dims.insert(d);
      named.push_back(static_cast<std::int64_t>(d) -
                      (random.one_in(2) ? static_cast<std::int64_t>(sizes.size()) : 0));
    }
    std::shuffle(named.begin(), named.end(), random.engine());
    plug_value list = ints(named);
    if (named.empty()) {  // all of them, in both ways to say so
      for (std::size_t d = 0; d < sizes.size(); ++d) dims.insert(d);
      if (random.one_in(2)) list = plug_value{};
    }
    const Index out_sizes = reduced_shape(sizes, dims, random.one_in(2));
    Ints out(PLUG_I64, out_sizes, random.strides(out_sizes));
    const plug_tensor* tensors[] = {out.raw(), in.raw()};
    plug_reduction reduction;
    ASSERT_EQ(plug_reduction_make(&reduction, 1, 1, tensors, &list, 0), PLUG_OK);
    ASSERT_EQ(reduction.kept.count, product(out_sizes));

    std::vector<std::int64_t> expected;
    for (const Index& kept : indices(out_sizes)) {
      std::int64_t sum = 0;
      for (const Index& index : indices(sizes)) {
        bool is_part = true;
        std::size_t k = 0;
        for (std::size_t d = 0; d < sizes.size(); ++d) {
          const bool is_reduced = dims.count(d) != 0;
          if (!is_reduced) is_part = is_part && index[d] == kept[k];
          if (!is_reduced || out_sizes.size() == sizes.size()) ++k;
        }
        if (is_part) sum += in.at(index);
      }
      expected.push_back(sum);
    }
    const std::int64_t middle = random.up_to(reduction.kept.count);
    for (const bool is_swapped : {false, true}) {
      std::fill(out.memory().begin(), out.memory().end(), is_swapped ? 0 : -1);
      if (is_swapped) {
        add_up(reduction);
      } else {
        sum_part(reduction, 0, middle);
        sum_part(reduction, middle, reduction.kept.count);
      }
      std::size_t at = 0;
      for (const Index& kept : indices(out_sizes)) ASSERT_EQ(out.at(kept), expected[at++]);
    }
  }
}

TEST(Reduction, refuses_dims_that_are_not_there_or_there_twice_and_results_of_another_shape) {
  Ints in(PLUG_I64, {2, 3}, {3, 1});
  Ints out(PLUG_I64, {2}, {1});
  Ints other(PLUG_I64, {3}, {1});
  plug_reduction reduction;
  const auto make = [&](const Ints& result, const Index& dims) {
    const plug_tensor* tensors[] = {result.raw(), in.raw()};
    const plug_value list = ints(dims);
    return plug_reduction_make(&reduction, 1, 1, tensors, &list, 0);
  };
  EXPECT_EQ(make(out, {1}), PLUG_OK);
  EXPECT_EQ(make(out, {-1}), PLUG_OK);
  EXPECT_EQ(make(out, {2}), PLUG_INVALID);
  EXPECT_EQ(make(out, {1, -1}), PLUG_INVALID);
  EXPECT_EQ(make(other, {1}), PLUG_UNSUPPORTED);
  EXPECT_EQ(make(out, {0, 1}), PLUG_UNSUPPORTED);
}

TEST(Reduction, refuses_tensors_that_are_absent) {
  Ints in(PLUG_I64, {2, 3}, {3, 1});
  Ints out(PLUG_I64, {2}, {1});
  plug_tensor absent{};
  absent.ndim = -1;
  plug_reduction reduction;
  for (const Index& list : {Index{}, Index{1}}) {
    const plug_value dims = ints(list);
    const plug_tensor* without_input[] = {out.raw(), &absent};
    EXPECT_EQ(plug_reduction_make(&reduction, 1, 1, without_input, &dims, 0), PLUG_UNSUPPORTED);
    const plug_tensor* without_result[] = {&absent, in.raw()};
    EXPECT_EQ(plug_reduction_make(&reduction, 1, 1, without_result, &dims, 0), PLUG_UNSUPPORTED);
  }
}

TEST(Tensors, are_told_contiguous_and_dense_and_how_far_they_reach) {
  struct Case {
    Index sizes, strides;
    bool is_contiguous, is_dense;
    std::int64_t first;
    std::uint64_t bytes;
  };
  const std::vector<Case> cases = {
      {{}, {}, true, true, 0, 8},
      {{2, 3}, {3, 1}, true, true, 0, 48},
      {{2, 3}, {1, 2}, false, true, 0, 48},
      {{2, 1, 3}, {3, 77, 1}, true, true, 0, 48},
      {{2, 3, 4, 5}, {60, 1, 15, 3}, false, true, 0, 960},
      {{2, 3}, {4, 1}, false, false, 0, 56},
      {{2, 3}, {0, 1}, false, false, 0, 24},
      {{4}, {-1}, false, false, -24, 32},
      {{2, 3}, {3, -1}, false, false, -16, 48},
      {{0, 3}, {1, 1}, true, true, 0, 0},
  };
  for (const Case& c : cases) {
    Ints tensor(PLUG_I64, c.sizes, c.strides);
    std::int64_t first = 1;
    EXPECT_EQ(plug_is_contiguous(tensor.raw()) != 0, c.is_contiguous);
    EXPECT_EQ(plug_is_dense(tensor.raw()) != 0, c.is_dense);
    EXPECT_EQ(plug_span(tensor.raw(), &first), c.bytes);
    EXPECT_EQ(first, c.first);
    EXPECT_EQ(plug_numel(tensor.raw()), product(c.sizes));
  }
}

TEST(Dims, wrap_as_in_pytorch) {
  for (const auto& [dim, ndim, expected] : std::vector<std::tuple<std::int64_t, std::int32_t, std::int64_t>>{
           {0, 3, 0}, {-1, 3, 2}, {-3, 3, 0}, {2, 3, 2}, {0, 0, 0}, {-1, 0, 0}}) {
    std::int64_t wrapped = dim;
    EXPECT_EQ(plug_wrap_dim(&wrapped, ndim), 1);
    EXPECT_EQ(wrapped, expected);
  }
  for (const auto& [dim, ndim] :
       std::vector<std::pair<std::int64_t, std::int32_t>>{{3, 3}, {-4, 3}, {1, 0}, {-2, 0}}) {
    std::int64_t wrapped = dim;
    EXPECT_EQ(plug_wrap_dim(&wrapped, ndim), 0);
  }
}

}  // namespace
}  // namespace util_test
