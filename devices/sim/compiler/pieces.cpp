#include "pieces.h"

#include <algorithm>
#include <utility>

namespace torchplug::sim::compiler {
namespace {

constexpr int kDeepest = 32;

int own_cost(const Expr& expr) {
  int cost = expr.cost;
  for (const Expr* arg : expr.args) cost -= arg->cost;
  return std::max(cost, 1);
}

}  // namespace

Pieces::Pieces(const std::vector<const Expr*>& results, std::function<bool(const Expr*)> is_at_hand)
    : is_at_hand_(std::move(is_at_hand)) {
  std::size_t last = 0;
  for (const Expr* result : results) last = std::max(last, visit(result).piece);
  kept_.resize(last);
  for (const Expr* result : results) keep(result, last);
  for (const Expr* expr : computed_) {
    for (const Expr* arg : expr->args) keep(arg, positions_[expr].piece);
  }
}

const Pieces::Position& Pieces::visit(const Expr* expr) {
  const auto [found, is_new] = positions_.try_emplace(expr);
  Position& position = found->second;
  if (!is_new || is_at_hand_(expr)) return position;
  computed_.push_back(expr);
  for (const Expr* arg : expr->args) position.piece = std::max(position.piece, visit(arg).piece);
  for (const Expr* arg : expr->args) {
    const Position& before = positions_[arg];
    if (before.piece == position.piece) position.depth = std::max(position.depth, before.depth);
  }
  const int cost = own_cost(*expr);
  if (position.depth > 0 && position.depth + cost > kDeepest) {
    ++position.piece;
    position.depth = 0;
  }
  position.depth += cost;
  return position;
}

void Pieces::keep(const Expr* expr, std::size_t reader) {
  Position& position = positions_[expr];
  if (position.is_kept || position.piece >= reader || is_at_hand_(expr)) return;
  position.is_kept = true;
  kept_[position.piece].push_back(expr);
}

}  // namespace torchplug::sim::compiler
