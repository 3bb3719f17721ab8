#pragma once
// The values of one pass in pieces, each a loop over the same block of elements. A processor looks ahead over
// some hundred instructions: where one element takes more of them, each after the other, it would wait for
// this element instead of beginning the next ones. One thread uses it.

#include <functional>
#include <map>
#include <vector>

#include "expr.h"

namespace torchplug::sim::compiler {

class Pieces {
 public:
  // is_at_hand: it costs nothing to read it in any piece.
  Pieces(const std::vector<const Expr*>& results, std::function<bool(const Expr*)> is_at_hand);

  // How many come before the last, in which all results are used.
  std::size_t before_last() const { return kept_.size(); }
  // What this piece computes and a later one reads.
  const std::vector<const Expr*>& kept(std::size_t piece) const { return kept_[piece]; }

 private:
  struct Position {
    std::size_t piece = 0;
    int depth = 0;  // in the piece; about instructions, one after the other
    bool is_kept = false;
  };

  const Position& visit(const Expr* expr);
  void keep(const Expr* expr, std::size_t reader);

  std::function<bool(const Expr*)> is_at_hand_;
  std::map<const Expr*, Position> positions_;
  std::vector<const Expr*> computed_;  // all that is not at hand
  std::vector<std::vector<const Expr*>> kept_;
};

}  // namespace torchplug::sim::compiler
