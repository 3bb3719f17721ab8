#include "schedule.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace torchplug::sim::compiler {
namespace {

Shape joined(const Shape& a, const Shape& b) {
  Shape both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

Shape without_ones(const Shape& sizes) {
  Shape left;
  for (const Poly& size : sizes) {
    if (!size.is(1)) left.push_back(size);
  }
  return left;
}

// A place over the first dims of a space, as one over all of them.
Affine padded(Affine place, std::size_t rank) {
  place.coefs.resize(rank);
  return place;
}

// The stage with its loops over other dims that hold the same elements in the same order.
std::optional<Stage> reshaped(Pool& pool, const Stage& stage, const Shape& kept, const Shape& reduced) {
  Stage made = stage;
  const Shape from = joined(stage.kept, stage.reduced), to = joined(kept, reduced);
  made.value = pool.reshape(stage.value, from, to);
  const std::optional<Affine> place = reshape(stage.place, stage.kept, kept);
  if (made.value == nullptr || !place) return std::nullopt;
  for (const Expr*& position : made.positions) {
    position = pool.reshape(position, from, to);
    if (position == nullptr) return std::nullopt;
  }
  made.place = *place;
  made.kept = kept;
  made.reduced = reduced;
  return made;
}

// Whether neighbours of what is kept lie beside each other more often than those of what is reduced.
bool folds_columns(const Stage& stage) {
  if (stage.kept.empty() || stage.reduced.empty()) return false;
  const auto width = stage.kept.back().number();
  if (width && *width < 4) return false;
  const std::size_t column = stage.kept.size() - 1, last = column + stage.reduced.size();
  int columns = 0, rows = 0;
  for (const Expr* load : loads_of(stage.value)) {
    bool is_folded = false;
    for (std::size_t d = column + 1; d <= last; ++d) is_folded = is_folded || !load->place.coefs[d].is(0);
    if (!is_folded) continue;  // the same for all that becomes one result
    columns += load->place.coefs[column].is(1) ? 1 : 0;
    rows += load->place.coefs[last].is(1) ? 1 : 0;
  }
  return stage.by_columns || (columns > 0 && columns >= rows);
}

bool is_at_least(const Poly& size, std::int64_t least) { return size.number().value_or(least) >= least; }

// Sums of products of elements of two matrices in memory, of which there are enough for blocks of them.
bool is_product(const Program& program, const Stage& stage) {
  const std::size_t rank = stage.kept.size();
  const bool is_sum = stage.fold == Fold::kSum && stage.reduced.size() == 1 && rank >= 2 &&
                      stage.value->kind == Expr::Kind::kApply && stage.value->text == "($0 * $1)";
  if (!is_sum || !is_at_least(stage.kept[rank - 2], 4) || !is_at_least(stage.kept[rank - 1], 8)) return false;
  for (const Expr* load : stage.value->args) {
    const bool is_plain = load->kind == Expr::Kind::kLoad && load->args.empty() && is_real(load->type) &&
                          program.buffers[static_cast<std::size_t>(load->buffer)].type == load->type;
    if (!is_plain) return false;
  }
  const Affine &left = stage.value->args[0]->place, &right = stage.value->args[1]->place;
  return left.coefs[rank - 1].is(0) && right.coefs[rank - 2].is(0) && !left.coefs[rank - 2].is(0) &&
         !right.coefs[rank - 1].is(0);
}

class Scheduler {
 public:
  explicit Scheduler(Program& program) : program_(program) { made_.lives.resize(program.buffers.size()); }

  Schedule run() {
    drop_unused();
    for (const Stage& stage : program_.stages) add(stage);
    for (Nest& nest : made_.nests) finish(nest);
    find_lives();
    return std::move(made_);
  }

 private:
  using Kind = Nest::Kind;

  // Stages whose results nobody reads.
  void drop_unused() {
    std::vector<bool> is_used(program_.buffers.size());
    std::vector<Stage> used;
    for (Stage& stage : program_.stages | std::views::reverse) {
      const auto buffer = static_cast<std::size_t>(stage.buffer);
      if (!is_used[buffer] && program_.buffers[buffer].origin != Buffer::Origin::kOutput) continue;
      std::vector<const Expr*> roots = stage.positions;
      if (stage.value != nullptr) roots.push_back(stage.value);
      for (const Expr* root : roots) {
        for (const Expr* load : loads_of(root)) is_used[static_cast<std::size_t>(load->buffer)] = true;
      }
      used.push_back(std::move(stage));
    }
    program_.stages.assign(used.rbegin(), used.rend());
  }

  void add(const Stage& given) {
    Stage stage = given;
    if (stage.kind == Stage::Kind::kRandom) return append(Kind::kRandom, std::move(stage));
    stage = *reshaped(program_.pool, stage, without_ones(stage.kept), without_ones(stage.reduced));
    if (stage.kind == Stage::Kind::kScatter) return append(Kind::kScatter, std::move(stage));
    if (is_product(program_, stage)) return append(Kind::kProduct, merged_rows(stage));
    const Kind kind = folds_columns(stage) ? Kind::kColumns : Kind::kRows;
    const int earliest = earliest_nest(stage);
    for (int n = static_cast<int>(made_.nests.size()) - 1; n >= std::max(earliest, 0); --n) {
      Nest& nest = made_.nests[static_cast<std::size_t>(n)];
      if (nest.kind == kind && join(nest, stage)) return;
    }
    append(kind, std::move(stage));
  }

  // Rows of several matrices as those of one, where they lie so.
  Stage merged_rows(Stage stage) {
    while (stage.kept.size() > 2) {
      Shape kept = stage.kept;
      kept[kept.size() - 3] = kept[kept.size() - 3] * kept[kept.size() - 2];
      kept.erase(kept.end() - 2);
      auto merged = reshaped(program_.pool, stage, kept, stage.reduced);
      if (!merged) break;
      stage = std::move(*merged);
    }
    return stage;
  }

  void append(Kind kind, Stage stage) {
    Nest nest;
    nest.kind = kind;
    if (kind == Kind::kColumns) {
      nest.outer.assign(stage.kept.begin(), stage.kept.end() - 1);
      nest.inner = {stage.kept.back()};
      nest.reduced = stage.reduced;
    } else if (kind == Kind::kProduct) {
      nest.outer = stage.kept;
      nest.reduced = stage.reduced;
    } else {
      nest.outer = stage.kept;
      nest.inner = stage.reduced;
      nest.is_split = stage.fold != Fold::kNone;
    }
    put(nest, std::move(stage), false);
    made_.nests.push_back(std::move(nest));
  }

  static void put(Nest& nest, Stage stage, bool is_row) {
    stage.place = padded(stage.place, nest.space().size());
    nest.items.push_back({std::move(stage), is_row});
  }

  bool touches(const Stage& stage, int buffer, bool writes) const {
    if (writes && stage.buffer == buffer) return true;
    if (writes || stage.value == nullptr) return false;
    for (const Expr* load : loads_of(stage.value)) {
      if (load->buffer == buffer) return true;
    }
    for (const Expr* position : stage.positions) {
      for (const Expr* load : loads_of(position)) {
        if (load->buffer == buffer) return true;
      }
    }
    return false;
  }

  // The first nest that comes not before anything the stage needs, or needs to come after.
  int earliest_nest(const Stage& stage) const {
    const int overwritten = program_.buffers[static_cast<std::size_t>(stage.buffer)].overwritten;
    int earliest = 0;
    for (int n = 0; n < static_cast<int>(made_.nests.size()); ++n) {
      for (const Nest::Item& item : made_.nests[static_cast<std::size_t>(n)].items) {
        const Stage& other = item.stage;
        const bool is_read = touches(stage, other.buffer, false);
        const bool is_written_again = other.buffer == stage.buffer;
        const bool is_spoilt =
            overwritten >= 0 && (touches(other, overwritten, false) || other.buffer == overwritten);
        if (is_read) earliest = std::max(earliest, n);
        if (is_written_again) earliest = std::max(earliest, other.is_part && stage.is_part ? n : n + 1);
        if (is_spoilt) earliest = std::max(earliest, n + 1);
      }
    }
    return earliest;
  }

  bool join(Nest& nest, const Stage& stage) {
    if (nest.kind == Kind::kColumns) return join_columns(nest, stage);
    if (stage.fold != Fold::kNone) return join_fold(nest, stage);
    const Shape space = nest.space();
    if (auto full = fitted(stage, space, {}); full && reads_its_own(nest, *full, false)) {
      put(nest, std::move(*full), false);
      return true;
    }
    if (!nest.is_split) return false;
    if (auto row = fitted(stage, nest.outer, {}); row && reads_its_own(nest, widened(*row, nest), true)) {
      put(nest, widened(*row, nest), true);
      return true;
    }
    return false;
  }

  bool join_columns(Nest& nest, const Stage& stage) {
    const Shape kept = joined(nest.outer, nest.inner);
    const bool fits = stage.kept == kept && stage.reduced == nest.reduced;
    if (!fits) return false;
    for (const Nest::Item& item : nest.items) {
      if (touches(stage, item.stage.buffer, false)) return false;
    }
    put(nest, stage, false);
    return true;
  }

  bool join_fold(Nest& nest, const Stage& stage) {
    if (nest.is_split) {
      auto same = fitted(stage, nest.outer, nest.inner);
      if (!same || !reads_its_own(nest, *same, false)) return false;
      put(nest, std::move(*same), false);
      return true;
    }
    if (nest.outer == joined(stage.kept, stage.reduced)) {
      if (!reads_its_own(nest, stage, false)) return false;
      nest.outer = stage.kept;
      nest.inner = stage.reduced;
      nest.is_split = true;
      put(nest, stage, false);
      return true;
    }
    return false;
  }

  std::optional<Stage> fitted(const Stage& stage, const Shape& kept, const Shape& reduced) {
    if (stage.kept == kept && stage.reduced == reduced) return stage;
    const bool holds_as_many =
        product(stage.kept) == product(kept) && product(stage.reduced) == product(reduced);
    if (!holds_as_many) return std::nullopt;
    return reshaped(program_.pool, stage, kept, reduced);
  }

  // A stage over the outer dims, as one over all of them that does not look at the inner ones.
  Stage widened(Stage stage, const Nest& nest) {
    const std::size_t rank = nest.space().size();
    std::vector<Affine> map;
    for (std::size_t d = 0; d < nest.outer.size(); ++d) {
      map.push_back({0, std::vector<Poly>(rank)});
      map.back().coefs[d] = 1;
    }
    stage.value = program_.pool.remap(stage.value, map, rank);
    return stage;
  }

  // Whether what the stage reads of the nest's own results is what the same index has computed.
  bool reads_its_own(const Nest& nest, const Stage& stage, bool is_row) const {
    const std::size_t rank = nest.space().size();
    for (const Nest::Item& item : nest.items) {
      if (!touches(stage, item.stage.buffer, false)) continue;
      const bool is_value_of_row = item.is_row || item.stage.fold != Fold::kNone;
      if (item.stage.is_part || (is_row && !is_value_of_row)) return false;
      for (const Expr* load : loads_of(stage.value)) {
        const bool is_same =
            load->buffer != item.stage.buffer ||
            (load->args.empty() && padded(load->place, rank) == padded(item.stage.place, rank));
        if (!is_same) return false;
      }
    }
    return true;
  }

  // ---- Fewer dims. ----

  void finish(Nest& nest) {
    if (nest.kind != Kind::kRows && nest.kind != Kind::kColumns) return;
    if (nest.kind == Kind::kRows && !nest.is_split && !nest.outer.empty()) {
      order(nest);
      while (merge(nest, nest.outer, 0)) continue;
      nest.inner = {nest.outer.back()};
      nest.outer.pop_back();
    }
    while (merge(nest, nest.outer, 0)) continue;
    if (nest.kind == Kind::kRows)
      while (merge(nest, nest.inner, nest.outer.size())) continue;
    while (merge(nest, nest.reduced, nest.outer.size() + nest.inner.size())) continue;
  }

  // Puts the dim innermost along which most of what is written and read lies one behind the other.
  void order(Nest& nest) {
    const std::size_t rank = nest.outer.size();
    std::vector<int> neighbours(rank);
    const auto count = [&](const Affine& place, int weight) {
      for (std::size_t d = 0; d < rank; ++d) neighbours[d] += place.coefs[d].is(1) ? weight : 0;
    };
    for (const Nest::Item& item : nest.items) {
      count(item.stage.place, 2);
      for (const Expr* load : loads_of(item.stage.value)) count(load->place, 1);
    }
    std::size_t best = rank - 1;
    for (std::size_t d = rank; d-- > 0;) {
      if (neighbours[d] > neighbours[best]) best = d;
    }
    if (best != rank - 1) move_last(nest, best);
  }

  void move_last(Nest& nest, std::size_t dim) {
    const std::size_t rank = nest.outer.size();
    std::vector<Affine> map(rank, Affine{0, std::vector<Poly>(rank)});
    for (std::size_t d = 0; d < rank; ++d) {
      if (d != dim) map[d].coefs[d < dim ? d : d - 1] = 1;
    }
    map[dim].coefs[rank - 1] = 1;
    for (Nest::Item& item : nest.items) {
      item.stage.value = program_.pool.remap(item.stage.value, map, rank);
      item.stage.place = remap(item.stage.place, map, rank);
    }
    const Poly size = nest.outer[dim];
    nest.outer.erase(nest.outer.begin() + static_cast<std::ptrdiff_t>(dim));
    nest.outer.push_back(size);
  }

  // Makes two neighbouring dims of `dims`, which begin at `first`, one.
  bool merge(Nest& nest, Shape& dims, std::size_t first) {
    for (std::size_t d = 0; d + 1 < dims.size(); ++d) {
      const Shape from = nest.space();
      Shape to = from;
      to[first + d] = from[first + d] * from[first + d + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(first + d) + 1);
      if (!reshape_items(nest, from, to)) continue;
      dims[d] = dims[d] * dims[d + 1];
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(d) + 1);
      return true;
    }
    return false;
  }

  bool reshape_items(Nest& nest, const Shape& from, const Shape& to) {
    std::vector<Nest::Item> items = nest.items;
    for (Nest::Item& item : items) {
      item.stage.value = program_.pool.reshape(item.stage.value, from, to);
      const auto place = reshape(item.stage.place, from, to);
      if (item.stage.value == nullptr || !place) return false;
      item.stage.place = *place;
    }
    nest.items = std::move(items);
    return true;
  }

  // ---- Lives. ----

  void find_lives() {
    for (int n = 0; n < static_cast<int>(made_.nests.size()); ++n) {
      for (const Nest::Item& item : made_.nests[static_cast<std::size_t>(n)].items) {
        Schedule::Life& life = made_.lives[static_cast<std::size_t>(item.stage.buffer)];
        if (life.first < 0) life.first = n;
        life.last = std::max(life.last, n);
        const Buffer& buffer = program_.buffers[static_cast<std::size_t>(item.stage.buffer)];
        if (buffer.origin == Buffer::Origin::kOutput || item.stage.kind != Stage::Kind::kLoops ||
            item.stage.is_part)
          life.is_stored = true;
        std::vector<const Expr*> read =
            item.stage.value == nullptr ? std::vector<const Expr*>() : loads_of(item.stage.value);
        for (const Expr* position : item.stage.positions) {
          for (const Expr* load : loads_of(position)) read.push_back(load);
        }
        for (const Expr* load : read) {
          Schedule::Life& used = made_.lives[static_cast<std::size_t>(load->buffer)];
          if (used.first < n) used.is_stored = true;
          used.last = std::max(used.last, n);
        }
      }
    }
  }

  Program& program_;
  Schedule made_;
};

}  // namespace

Shape Nest::space() const { return joined(joined(outer, inner), reduced); }

Schedule schedule(Program& program) { return Scheduler(program).run(); }

}  // namespace torchplug::sim::compiler
