#include "expr.h"

#include <functional>
#include <set>
#include <utility>

namespace torchplug::sim::compiler {
namespace {

std::string key_of(const Affine& place) {
  std::string key = place.offset.text();
  for (const Poly& coef : place.coefs) key += "," + coef.text();
  return key;
}

std::string key_of(const Expr& expr) {
  std::string key = std::to_string(static_cast<int>(expr.kind)) + ":" +
                    std::to_string(static_cast<int>(expr.type)) + ":" + std::to_string(expr.buffer) + ":" +
                    expr.text + ":" + key_of(expr.place);
  for (const Expr* arg : expr.args) key += ":" + std::to_string(reinterpret_cast<std::uintptr_t>(arg));
  for (const Poly& step : expr.steps) key += "|" + step.text();
  return key;
}

struct Groups {  // runs of old dims and of new ones that hold the same number of elements
  std::vector<std::pair<std::size_t, std::size_t>> from, to;
};

// The shortest runs that begin at i and j and are equally long; all that is left if none can be told to be.
std::pair<std::size_t, std::size_t> next_cut(const Shape& from, const Shape& to, std::size_t i,
                                             std::size_t j) {
  for (std::size_t sum = 2; sum <= from.size() - i + to.size() - j; ++sum) {
    for (std::size_t a = 1; a < sum; ++a) {
      const std::size_t b = sum - a;
      if (i + a > from.size() || j + b > to.size()) continue;
      if (product(from, i, i + a) == product(to, j, j + b)) return {i + a, j + b};
    }
  }
  return {from.size(), to.size()};
}

Groups groups_of(const Shape& from, const Shape& to) {
  Groups groups;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const auto [a, b] = next_cut(from, to, i, j);
    groups.from.emplace_back(i, a);
    groups.to.emplace_back(j, b);
    i = a;
    j = b;
  }
  return groups;
}

// The stride of a run of dims taken as one.
std::optional<Poly> run_stride(const Affine& place, const Shape& sizes, std::size_t begin, std::size_t end) {
  std::optional<Poly> stride;
  Poly expected;
  for (std::size_t d = end; d-- > begin;) {
    if (sizes[d].is(1)) continue;
    if (!stride) {
      stride = place.coefs[d];
    } else if (!(place.coefs[d] == expected)) {
      return std::nullopt;
    }
    expected = place.coefs[d] * sizes[d];
  }
  return stride ? stride : Poly(0);
}

}  // namespace

const Expr* Pool::keep(Expr made) {
  const auto [found, is_new] = known_.try_emplace(key_of(made), nullptr);
  if (is_new) {
    all_.push_back(std::move(made));
    found->second = &all_.back();
  }
  return found->second;
}

const Expr* Pool::number(std::string text, Type type) {
  return keep({.kind = Expr::Kind::kNumber, .type = type, .text = std::move(text)});
}

const Expr* Pool::position(Affine place) {
  return keep({.kind = Expr::Kind::kPosition, .type = Type::kI64, .place = std::move(place), .cost = 1});
}

const Expr* Pool::load(int buffer, Type memory, Affine place, std::vector<const Expr*> args,
                       std::vector<Poly> steps) {
  int cost = bytes_of(memory) == 2 ? 3 : 1;
  for (const Expr* arg : args) cost += arg->cost + 4;
  return keep({.kind = Expr::Kind::kLoad,
               .type = computed(memory),
               .args = std::move(args),
               .steps = std::move(steps),
               .place = std::move(place),
               .buffer = buffer,
               .cost = cost});
}

const Expr* Pool::apply(std::string text, Type type, std::vector<const Expr*> args, int cost) {
  for (const Expr* arg : args) cost += arg->cost;
  if (cost > 1'000'000) cost = 1'000'000;  // shared arguments count each time
  return keep({.kind = Expr::Kind::kApply,
               .type = type,
               .text = std::move(text),
               .args = std::move(args),
               .cost = cost});
}

// place(affine) is the new place of a load or a position, or nothing.
template <class Place>
const Expr* Pool::rewrite(const Expr* expr, std::map<const Expr*, const Expr*>& done, const Place& place) {
  if (expr->kind == Expr::Kind::kNumber) return expr;
  if (const auto found = done.find(expr); found != done.end()) return found->second;
  Expr made = *expr;
  for (const Expr*& arg : made.args) {
    arg = rewrite(arg, done, place);
    if (arg == nullptr) return done[expr] = nullptr;
  }
  if (made.kind != Expr::Kind::kApply) {
    const std::optional<Affine> moved = place(made.place);
    if (!moved) return done[expr] = nullptr;
    made.place = *moved;
  }
  return done[expr] = keep(std::move(made));
}

const Expr* Pool::remap(const Expr* expr, const std::vector<Affine>& map, std::size_t rank) {
  std::map<const Expr*, const Expr*> done;
  return rewrite(expr, done, [&](const Affine& place) -> std::optional<Affine> {
    return compiler::remap(place, map, rank);
  });
}

const Expr* Pool::reshape(const Expr* expr, const Shape& from, const Shape& to) {
  if (from == to) return expr;
  std::map<const Expr*, const Expr*> done;
  return rewrite(expr, done, [&](const Affine& place) { return compiler::reshape(place, from, to); });
}

const Expr* Pool::inline_loads(const Expr* expr, const Values& values) {
  std::map<const Expr*, const Expr*> done;
  const std::function<const Expr*(const Expr*)> walk = [&](const Expr* at) -> const Expr* {
    if (at->kind == Expr::Kind::kNumber || at->kind == Expr::Kind::kPosition) return at;
    if (const auto found = done.find(at); found != done.end()) return found->second;
    if (at->kind == Expr::Kind::kLoad) {
      if (const auto found = values.find(at->buffer); found != values.end()) return done[at] = found->second;
    }
    Expr made = *at;
    for (const Expr*& arg : made.args) arg = walk(arg);
    return done[at] = keep(std::move(made));
  };
  return walk(expr);
}

Affine remap(const Affine& place, const std::vector<Affine>& map, std::size_t rank) {
  Affine made{place.offset, std::vector<Poly>(rank)};
  for (std::size_t d = 0; d < map.size(); ++d) {
    if (place.coefs[d].is(0)) continue;
    made.offset = made.offset + place.coefs[d] * map[d].offset;
    for (std::size_t e = 0; e < rank; ++e) made.coefs[e] = made.coefs[e] + place.coefs[d] * map[d].coefs[e];
  }
  return made;
}

std::optional<Affine> reshape(const Affine& place, const Shape& from, const Shape& to) {
  const Groups groups = groups_of(from, to);
  Affine made{place.offset, std::vector<Poly>(to.size())};
  for (std::size_t g = 0; g < groups.from.size(); ++g) {
    const auto [from_begin, from_end] = groups.from[g];
    const auto [to_begin, to_end] = groups.to[g];
    const std::optional<Poly> stride = run_stride(place, from, from_begin, from_end);
    if (!stride) return std::nullopt;
    Poly next = *stride;
    for (std::size_t d = to_end; d-- > to_begin;) {
      made.coefs[d] = to[d].is(1) ? Poly(0) : next;
      next = next * to[d];
    }
  }
  return made;
}

std::vector<const Expr*> loads_of(const Expr* expr) {
  std::vector<const Expr*> found;
  std::set<const Expr*> seen;
  const std::function<void(const Expr*)> walk = [&](const Expr* at) {
    if (!seen.insert(at).second) return;
    if (at->kind == Expr::Kind::kLoad) found.push_back(at);
    for (const Expr* arg : at->args) walk(arg);
  };
  walk(expr);
  return found;
}

}  // namespace torchplug::sim::compiler
