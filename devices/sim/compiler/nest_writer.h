#pragma once
// What the emitters of all kinds of nests share: places and values as C++, each named once, those that are
// the same for all inner indices before the inner loops. One thread uses a writer, for one nest.

#include <map>
#include <string>
#include <vector>

#include "emit.h"

namespace torchplug::sim::compiler {

// "$0" and "$1" in the text replaced by the arguments.
std::string replaced(const std::string& text, const std::vector<std::string>& args);

// How a fold begins, takes one more value, and what OpenMP calls it.
struct FoldCode {
  std::string start, step, clause;
};
FoldCode code_of(Fold fold, Type type);

class NestWriter {
 public:
  NestWriter(const NestSource& source, const Nest& nest)
      : program_(source.program), schedule_(source.schedule), plan_(source.plan), nest_(nest) {}
  virtual ~NestWriter() = default;
  NestWriter(const NestWriter&) = delete;
  NestWriter& operator=(const NestWriter&) = delete;

  NestCode run();

 protected:
  // Writes the lines of the body, and the rest of the code.
  virtual void emit(NestCode& code) = 0;

  // ---- Lines. ----
  void line(const std::string& text);
  void open(const std::string& text);
  void open_loop(const std::string& variable, const std::string& first, const std::string& end);
  void close();
  // Lines that were collected.
  void write(const std::string& code);
  // The same, and empties the collection.
  void flush(std::string& code);
  // The index along an outer dim, from what is left of the row's number.
  void decode(std::size_t dim);

  // ---- Places. ----
  const Buffer& buffer(int index) const { return program_.buffers[static_cast<std::size_t>(index)]; }
  bool is_inner(std::size_t dim) const { return dim >= nest_.outer.size(); }
  std::string address(int index) const;
  // The part of a place that inner dims make, or the rest of it.
  std::string sum(const Affine& place, bool inner) const;
  // A pointer to where a row begins.
  std::string pointer(int index, const Affine& place, bool is_written);
  // Of the inner index, in rows of a thread's own.
  std::string linear() const;

  // ---- Values. ----
  // Whether it is another for each inner index.
  bool varies(const Affine& place) const;
  bool varies(const Expr* expr);
  // Its name; computed before the inner loops or inside them.
  std::string value(const Expr* expr);
  // Adds to `code` that a stage's result is `text`.
  void put(const Stage& stage, const std::string& text, std::string& code);

  struct Temp {
    std::string place;
    bool is_filled;
  };
  // What has been computed so far is read from its place from now on.
  void fill_temps();

  Program& program_;
  const Schedule& schedule_;
  const MemoryPlan& plan_;
  const Nest& nest_;
  std::string out_, row_code_, inner_code_;
  std::vector<std::string> variables_;              // of each dim of the nest
  std::map<int, std::string> row_values_;           // of buffers that hold one value for each row
  std::map<const Expr*, std::string> inner_names_;  // of values inside the inner loops of this pass
  std::map<const Expr*, Temp> temps_;               // values that lie in memory between two loops
  std::map<const Expr*, std::string> turned_;       // where a block of what lies across is

 private:
  std::string compute(const Expr* expr);

  int depth_ = 1, names_ = 0;
  std::map<std::string, std::string> pointers_;
  std::map<const Expr*, bool> varies_;
  std::map<const Expr*, std::string> row_names_;
  std::vector<const Expr*> filled_now_;
};

}  // namespace torchplug::sim::compiler
