#pragma once
// Tensors that are not there yet: a shape, and what each element is computed from. Operators are made of
// these; only what is reduced, scattered, used by several or returned becomes a stage of the Program.
// Fails with PLUG_UNSUPPORTED for what cannot be compiled. One thread uses a Builder.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program.h"

namespace torchplug::sim::compiler {

struct Tensor {
  Type type;
  Shape sizes;
  const Expr* expr;

  std::size_t rank() const { return sizes.size(); }
};

// A dim that may count from the end.
std::size_t wrapped(std::int64_t dim, std::size_t rank);

class Builder {
 public:
  explicit Builder(Program& program) : program_(program) {}
  Program& program() { return program_; }

  // ---- Elements. ----
  Tensor number(double value, Type type, Shape sizes = {});
  Tensor integer(std::int64_t value, Type type, Shape sizes = {});
  // The value of a size.
  Tensor size(const Poly& value, Type type);
  // Where each element lies along a dim of this shape, as int64.
  Tensor position(const Shape& sizes, std::size_t dim);
  // `text` of the arguments, which are expanded to each other.
  Tensor apply(const std::string& text, Type type, const std::vector<Tensor>& args, int cost = 1);
  // Of 16 bits: rounded to them.
  Tensor convert(const Tensor& tensor, Type type);
  // The same where PyTorch's operators convert for themselves: no rounding to 16 bits.
  Tensor widen(const Tensor& tensor, Type type);

  Tensor add(const Tensor& a, const Tensor& b) { return apply("($0 + $1)", a.type, {a, b}); }
  Tensor sub(const Tensor& a, const Tensor& b) { return apply("($0 - $1)", a.type, {a, b}); }
  Tensor mul(const Tensor& a, const Tensor& b) { return apply("($0 * $1)", a.type, {a, b}); }
  Tensor div(const Tensor& a, const Tensor& b) { return apply("($0 / $1)", a.type, {a, b}, 5); }

  // ---- Shapes. ----
  Tensor expand(const Tensor& tensor, const Shape& sizes);
  Tensor permute(const Tensor& tensor, const std::vector<std::size_t>& order);
  Tensor transpose(const Tensor& tensor, std::size_t a, std::size_t b);
  Tensor slice(const Tensor& tensor, std::size_t dim, const Poly& start, const Poly& step, const Poly& size);
  Tensor select(const Tensor& tensor, std::size_t dim, const Poly& index);
  Tensor unsqueeze(const Tensor& tensor, std::size_t dim);
  Tensor reshape(const Tensor& tensor, const Shape& sizes);
  // Old dim d is map[d] of new dims.
  Tensor remap(const Tensor& tensor, const std::vector<Affine>& map, const Shape& sizes);

  // ---- Stages. ----
  // `by_columns`: what is kept lies side by side, as results of a convolution do.
  Tensor reduce(Fold fold, const Tensor& tensor, const std::vector<std::size_t>& dims, bool keep, Type type,
                bool by_columns = false);
  // The value in memory, or as it is if it lies there.
  Tensor realised(const Tensor& tensor);
  Tensor copied(const Tensor& tensor);
  int scratch(Type type, const Shape& sizes);
  Tensor load(int buffer);

  // ---- Tensors of which parts are written anew. ----
  // Writes them into a buffer in which the tensor's element [i, j ...] lies at `where`.
  using Write = std::function<void(int buffer, const Affine& where)>;
  // Where the elements of a part lie, if those of the whole lie at `where`.
  using Part = std::function<Affine(const Affine& where)>;
  // A copy of `base` with what `write` writes.
  Tensor rewritten(const Tensor& base, Type type, const Shape& sizes, Write write);
  // A copy of `base` with `source` in the place of `before`, which is that part of it. If the source is
  // itself a copy of `before` with parts written, these are written and no more.
  Tensor replaced(const Tensor& base, Type type, const Shape& sizes, const Tensor& before, const Part& part,
                  const Tensor& source);

  // Writes all of the tensor into the buffer's elements [offset + strides].
  void store(const Tensor& tensor, int buffer, const Affine& place, bool is_part);
  // buffer[positions * steps + place] (+)= tensor.
  void scatter(const Tensor& tensor, int buffer, const Affine& place, const std::vector<Tensor>& positions,
               const std::vector<Poly>& steps, bool accumulates);
  // The elements of a tensor in memory at positions that are themselves elements: positions[k] along dims[k].
  Tensor gather(const Tensor& table, const std::vector<std::size_t>& dims,
                const std::vector<Tensor>& positions, const std::vector<Affine>& map, const Shape& sizes);
  // A position that a run checks to be in [0, limit), negative ones counted from the end where `wraps`.
  Tensor checked(const Tensor& position, const Poly& limit, bool wraps, const std::string& what);
  // A whole number to divide by, which a run checks not to be 0.
  // `quotient`: if it has no elements, nothing is divided.
  Tensor divisor(const Tensor& number, const Shape& quotient, const std::string& what);
  Tensor random(const Shape& sizes, Type type);

 private:
  std::optional<Tensor> reduced_in_parts(Fold fold, const Tensor& tensor,
                                         const std::vector<std::size_t>& dims, Type type);

  // What a tensor is a copy of, and what was written into it.
  struct Rewritten {
    const Expr* base;
    Write write;
  };

  Program& program_;
  std::map<const Expr*, Rewritten> rewritten_;
};

// The dims of a shape each as itself.
std::vector<Affine> identity(std::size_t rank);

}  // namespace torchplug::sim::compiler
