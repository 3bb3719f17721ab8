#include <algorithm>
#include <set>
#include <utility>

#include "nest_writer.h"
#include "pieces.h"

namespace torchplug::sim::compiler {
namespace {

// Passes over the inner dims of each row, with a fold between each two of them.
class RowsEmitter : public NestWriter {
  using NestWriter::NestWriter;

  struct Step {
    int pass = 0;
    Stage stage;
    bool is_row = false;
    bool is_stored = true;
  };

  void find_steps() {
    Pool::Values values;
    for (const Nest::Item& item : nest_.items) {
      Step step{.stage = item.stage, .is_row = item.is_row};
      step.stage.value = program_.pool.inline_loads(item.stage.value, values);
      step.is_stored = schedule_.lives[static_cast<std::size_t>(item.stage.buffer)].is_stored;
      for (const Expr* load : loads_of(step.stage.value)) {
        const auto made = folded_in_.find(load->buffer);
        if (made == folded_in_.end()) continue;
        step.pass = std::max(step.pass, made->second + (item.is_row ? 0 : 1));
      }
      if (item.stage.fold != Fold::kNone) {
        folded_in_[item.stage.buffer] = step.pass;
        row_values_[item.stage.buffer] = "r" + std::to_string(item.stage.buffer);
      } else if (!item.stage.is_part) {
        values[item.stage.buffer] = as_others_see_it(step.stage);
      }
      passes_ = std::max(passes_, step.pass + 1);
      steps_.push_back(std::move(step));
    }
    // What overwrites an argument is written after all that reads it.
    for (Step& step : steps_) {
      if (buffer(step.stage.buffer).overwritten >= 0) step.pass = passes_ - 1;
    }
  }

  // What other nests read from memory is here too rounded to the 16 bits that lie there.
  const Expr* as_others_see_it(const Stage& stage) {
    const Schedule::Life& life = schedule_.lives[static_cast<std::size_t>(stage.buffer)];
    const Type memory = buffer(stage.buffer).type;
    if (life.first == life.last || computed(memory) == memory) return stage.value;
    const char* const text = memory == Type::kBF16 ? "of_bf16(to_bf16($0))" : "of_f16(to_f16($0))";
    return program_.pool.apply(text, computed(memory), {stage.value}, 4);
  }

  // Values that cost much and that two passes need lie in a row between these.
  void find_temps() {
    constexpr int kWorthARow = 10;
    std::set<const Expr*> before;
    for (int pass = 0; pass < passes_; ++pass) {
      std::set<const Expr*> now;
      for (const Step& step : steps_) {
        if (step.pass == pass && !step.is_row && (step.is_stored || step.stage.fold != Fold::kNone))
          visit(step.stage.value, before, now, kWorthARow);
      }
      before.insert(now.begin(), now.end());
    }
  }

  void visit(const Expr* expr, const std::set<const Expr*>& before, std::set<const Expr*>& now, int worth) {
    if (!varies(expr) || !now.insert(expr).second) return;
    if (before.contains(expr) && expr->kind != Expr::Kind::kNumber && expr->cost >= worth) {
      add_temp(expr);
      return;
    }
    for (const Expr* arg : expr->args) visit(arg, before, now, worth);
  }

  void add_temp(const Expr* expr) {
    if (temps_.contains(expr)) return;
    const std::string name = "t" + std::to_string(temps_.size());
    const std::string type = value_name(expr->type);
    line(type + "* const " + name + " = (" + type + "*)(tmp + " + temp_bytes_ + ");");
    const Poly bytes = product(nest_.inner) * Poly(expr->type == Type::kBool ? 1 : bytes_of(expr->type));
    temp_bytes_ += "+(" + bytes.text() + "+63)/64*64";
    temps_[expr] = {name + "[" + linear() + "]", false};
  }

  void emit(NestCode& code) override {
    const bool is_flat = nest_.outer.empty() && !nest_.is_split && nest_.inner.size() == 1;
    const std::size_t rank = nest_.outer.size() + nest_.inner.size();
    for (std::size_t d = 0; d < rank; ++d)
      variables_.push_back((is_inner(d) ? "i" : "o") + std::to_string(d));
    find_steps();
    find_temps();
    if (const int across = crossed_dim(); across >= 0)
      return emit_tiles(code, static_cast<std::size_t>(across));
    code.rows = is_flat ? nest_.inner[0].text() : product(nest_.outer).text();
    code.grain = grain(is_flat ? Poly(1) : product(nest_.inner));
    code.bytes = temp_bytes_;
    if (is_flat) return emit_passes("begin", "end");
    open_rows();
    emit_passes("0", nest_.inner.empty() ? "0" : nest_.inner.back().text());
    close();
  }

  void emit_passes(const std::string& first, const std::string& end) {
    first_ = first;
    end_ = end;
    for (int pass = 0; pass < passes_; ++pass) emit_pass(pass);
  }

  // An outer dim along which something lies one behind the other that does not so along the inner one; -1 if
  // there is none. Blocks of both dims use all of each line of the cache then.
  int crossed_dim() const {
    if (nest_.is_split || nest_.inner.size() != 1 || nest_.outer.empty()) return -1;
    std::vector<Affine> places;
    for (const Step& step : steps_) {
      places.push_back(step.stage.place);
      for (const Expr* load : loads_of(step.stage.value)) places.push_back(load->place);
    }
    for (const Affine& place : places) {
      const Poly& along = place.coefs[nest_.outer.size()];
      for (std::size_t d = 0; d < nest_.outer.size() && !along.is(0) && !along.is(1); ++d) {
        if (place.coefs[d].is(1)) return static_cast<int>(d);
      }
    }
    return -1;
  }

  void emit_tiles(NestCode& code, std::size_t across) {
    const std::string height = nest_.outer[across].text(), width = nest_.inner[0].text(),
                      tiles = "((" + height + "+15)/16)";
    Poly rest = 1;
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) rest = d == across ? rest : rest * nest_.outer[d];
    code.rows = rest.text() + "*" + tiles;
    code.grain = grain(nest_.inner[0] * Poly(16));
    code.bytes = "0";
    open("for (int64_t row = begin; row < end; ++row)");
    line("int64_t left = row / " + tiles + "; (void)left;");
    line("const int64_t top = row % " + tiles + " * 16, bottom = top + 16 < " + height +
         " ? top + 16 : " + height + ";");
    for (std::size_t d = nest_.outer.size(); d-- > 0;) {
      if (d != across) decode(d);
    }
    open("for (int64_t first = 0; first < " + width + "; first += 64)");
    line("const int64_t last = first + 64 < " + width + " ? first + 64 : " + width + ";");
    const std::string o = variables_[across];
    for (const Step& step : steps_) {
      for (const Expr* load : loads_of(step.stage.value)) turn(*load, across);
    }
    open_loop(o, "top", "bottom");
    emit_passes("first", "last");
    close();
    close();
    close();
  }

  // Brings a block of what lies across into the order of the loops: each line of the cache is read once.
  void turn(const Expr& load, std::size_t across) {
    const Poly& along = load.place.coefs[nest_.outer.size()];
    const bool lies_across =
        load.args.empty() && load.place.coefs[across].is(1) && !along.is(0) && !along.is(1);
    if (!lies_across || turned_.contains(&load)) return;
    const std::string name = "q" + std::to_string(turned_.size()),
                      type = memory_name(buffer(load.buffer).type);
    const std::string &o = variables_[across], &i = variables_[nest_.outer.size()];
    Affine row = load.place;
    row.coefs[across] = 0;
    line(type + " " + name + "[16*64];");
    open("");
    line("const " + type + "* const from = (const " + type + "*)" + address(load.buffer) + " + (" +
         sum(row, false) + ");");
    line("for (int64_t " + i + " = first; " + i + " < last; ++" + i + ")");
    line("  for (int64_t " + o + " = top; " + o + " < bottom; ++" + o + ") " + name + "[(" + o +
         "-top)*64 + " + i + "-first] = from[" + o + " + " + sum(row, true) + "];");
    close();
    turned_[&load] = name + "[(" + o + "-top)*64 + " + i + "-first]";
  }

  // Of rows of so many elements.
  std::string grain(const Poly& each) const {
    constexpr int kWork = 100'000;  // about instructions of one element after the other
    int cost = 0;
    for (const Step& step : steps_) cost += std::min(step.stage.value->cost + 1, 400);
    const int elements = std::max(1, kWork / std::max(cost, 2));
    return "x_grain(" + std::to_string(elements) + "L, " + each.text() + ")";
  }

  void open_rows() {
    open("for (int64_t row = begin; row < end; ++row)");
    if (nest_.outer.size() == 1) return line("const int64_t o0 = row;");
    line("int64_t left = row; (void)left;");
    for (std::size_t d = nest_.outer.size(); d-- > 1;) decode(d);
    if (!nest_.outer.empty()) line("const int64_t o0 = left;");
  }

  void emit_pass(int pass) {
    const std::vector<std::string> blocks = emit_pieces(pass);
    inner_names_.clear();
    std::string writes, clauses;
    for (const Step& step : steps_) {
      if (!is_looped(step, pass)) continue;
      if (step.stage.fold != Fold::kNone) {
        emit_fold(step, writes, clauses);
      } else {
        put(step.stage, value(step.stage.value), writes);
      }
    }
    flush(row_code_);
    if (!inner_code_.empty() || !writes.empty()) emit_loops(blocks, inner_code_ + writes, clauses);
    inner_code_.clear();
    fill_temps();
    for (const Expr* expr : in_block_) temps_.erase(expr);
    in_block_.clear();
    for (const Step& step : steps_) {
      if (step.pass == pass) emit_row_value(step);
    }
  }

  static bool is_looped(const Step& step, int pass) {
    return step.pass == pass && !step.is_row && (step.is_stored || step.stage.fold != Fold::kNone);
  }

  // The bodies of loops over a block before the one that uses what they compute.
  std::vector<std::string> emit_pieces(int pass) {
    std::vector<std::string> bodies;
    std::vector<const Expr*> results;
    for (const Step& step : steps_) {
      if (is_looped(step, pass)) results.push_back(step.stage.value);
    }
    if (!has_blocks()) return bodies;
    const Pieces pieces(results, [this](const Expr* expr) { return is_at_hand(expr); });
    for (std::size_t piece = 0; piece < pieces.before_last(); ++piece) {
      inner_names_.clear();
      for (const Expr* expr : pieces.kept(piece)) {
        if (!temps_.contains(expr)) add_to_block(expr);
        value(expr);
      }
      bodies.push_back(std::exchange(inner_code_, {}));
      fill_temps();
    }
    return bodies;
  }

  // Loops over few elements cost more than they save.
  bool has_blocks() const {
    constexpr std::int64_t kFew = 32;
    if (nest_.inner.empty()) return false;
    const auto size = nest_.inner.back().number();
    return !size || *size > kFew;
  }

  bool is_at_hand(const Expr* expr) {
    if (!varies(expr) || expr->kind == Expr::Kind::kPosition) return true;
    if (expr->kind == Expr::Kind::kLoad && expr->args.empty()) return true;
    const auto temp = temps_.find(expr);
    return temp != temps_.end() && temp->second.is_filled;
  }

  void add_to_block(const Expr* expr) {
    const std::string name = "b" + std::to_string(blocks_++);
    row_code_ += std::string(value_name(expr->type)) + " " + name + "[256];\n";
    temps_[expr] = {name + "[" + variables_.back() + " - from]", false};
    in_block_.push_back(expr);
  }

  void emit_fold(const Step& step, std::string& writes, std::string& clauses) {
    const Type type = step.stage.value->type;
    const FoldCode fold = code_of(step.stage.fold, type);
    const std::string sum = "r" + std::to_string(step.stage.buffer) + "_";
    const std::string what = value(step.stage.value);
    row_code_ +=
        std::string(type == Type::kBool ? "int" : value_name(type)) + " " + sum + " = " + fold.start + ";\n";
    writes += sum + " = " + replaced(fold.step, {sum, what}) + ";\n";
    const bool is_named = step.stage.fold == Fold::kMost || step.stage.fold == Fold::kLeast;
    clauses +=
        " reduction(" + fold.clause + (is_named ? "_" + std::string(value_name(type)) : "") + ":" + sum + ")";
  }

  void emit_loops(const std::vector<std::string>& pieces, const std::string& last,
                  const std::string& clauses) {
    const std::size_t first = nest_.outer.size(), count = nest_.inner.size();
    for (std::size_t d = 0; d + 1 < count; ++d) {
      open_loop(variables_[first + d], "0", nest_.inner[d].text());
    }
    if (count == 0) {
      write(last);
    } else if (pieces.empty()) {
      emit_loop(first_, end_, last, clauses);
    } else {
      open("for (int64_t from = " + first_ + "; from < " + end_ + "; from += 256)");
      line("const int64_t to = from + 256 < " + end_ + " ? from + 256 : " + end_ + ";");
      for (const std::string& piece : pieces) emit_loop("from", "to", piece, "");
      emit_loop("from", "to", last, clauses);
      close();
    }
    for (std::size_t d = 0; d + 1 < count; ++d) close();
  }

  void emit_loop(const std::string& from, const std::string& to, const std::string& body,
                 const std::string& clauses) {
    const std::string& i = variables_.back();
    line("#pragma omp simd" + clauses);
    open_loop(i, from, to);
    write(body);
    close();
  }

  void emit_row_value(const Step& step) {
    std::string writes;
    if (step.stage.fold != Fold::kNone) {
      const std::string name = "r" + std::to_string(step.stage.buffer);
      row_code_ += "const " + std::string(value_name(step.stage.value->type)) + " " + name + " = " + name +
                   "_; (void)" + name + ";\n";
      if (step.is_stored) put(step.stage, name, writes);
    } else if (step.is_row && step.is_stored) {
      put(step.stage, value(step.stage.value), writes);
    }
    row_code_ += writes;
    flush(row_code_);
  }

  std::string temp_bytes_ = "0";
  int passes_ = 1;
  std::vector<Step> steps_;
  std::map<int, int> folded_in_;       // the pass that each fold of the nest ends with
  std::string first_, end_;            // of the innermost loop
  std::vector<const Expr*> in_block_;  // what lies in a block between two loops of this pass
  int blocks_ = 0;
};

}  // namespace

NestCode emit_rows(const NestSource& source, const Nest& nest) { return RowsEmitter(source, nest).run(); }

}  // namespace torchplug::sim::compiler
