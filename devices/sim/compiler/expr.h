#pragma once
// What one element of a tensor is computed from, as a graph without duplicates: numbers, positions, elements
// of buffers, and operations on these. Each lives in the space of a tensor's dims or of a loop's.
// A Pool owns its expressions; one thread uses it.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poly.h"
#include "type.h"

namespace torchplug::sim::compiler {

// offset + coefs[0] i0 + coefs[1] i1 + ...
struct Affine {
  Poly offset;
  std::vector<Poly> coefs;
  bool operator==(const Affine& other) const = default;
};

struct Expr {
  enum class Kind { kNumber, kPosition, kLoad, kApply };
  Kind kind;
  Type type;                      // of the value: never one of 16 bits
  std::string text;               // of a number: C++; of kApply: C++ with $0, $1 for the arguments
  std::vector<const Expr*> args;  // of kLoad: positions that are computed, each times its step
  std::vector<Poly> steps;
  Affine place;  // of a position: its value; of a load: the element of the buffer
  int buffer = -1;
  int cost = 0;  // of computing it, its arguments included; about instructions
};

class Pool {
 public:
  const Expr* number(std::string text, Type type);
  const Expr* position(Affine place);
  const Expr* load(int buffer, Type memory, Affine place, std::vector<const Expr*> args = {},
                   std::vector<Poly> steps = {});
  const Expr* apply(std::string text, Type type, std::vector<const Expr*> args, int cost);

  // The same expression where old dim d is map[d] of the new dims.
  const Expr* remap(const Expr* expr, const std::vector<Affine>& map, std::size_t rank);
  // The same with loads of a buffer replaced by the value that it holds there.
  using Values = std::map<int, const Expr*>;
  const Expr* inline_loads(const Expr* expr, const Values& values);
  // The same elements in another shape; null if that is no affine place of every load.
  const Expr* reshape(const Expr* expr, const Shape& from, const Shape& to);

 private:
  const Expr* keep(Expr made);
  template <class Place>
  const Expr* rewrite(const Expr* expr, std::map<const Expr*, const Expr*>& done, const Place& place);

  std::deque<Expr> all_;
  std::map<std::string, const Expr*> known_;
};

Affine remap(const Affine& place, const std::vector<Affine>& map, std::size_t rank);
std::optional<Affine> reshape(const Affine& place, const Shape& from, const Shape& to);

// Every load in an expression, once each.
std::vector<const Expr*> loads_of(const Expr* expr);

}  // namespace torchplug::sim::compiler
