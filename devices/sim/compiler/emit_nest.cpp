#include <algorithm>
#include <map>
#include <set>

#include "emit.h"
#include "error.h"

namespace torchplug::sim::compiler {
namespace {

using Kind = Expr::Kind;

std::string replaced(const std::string& text, const std::vector<std::string>& args) {
  std::string made;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$' && i + 1 < text.size()) {
      made += args[static_cast<std::size_t>(text[++i] - '0')];
    } else {
      made += text[i];
    }
  }
  return made;
}

// How a fold begins, takes one more value, and what OpenMP calls it.
struct FoldCode {
  std::string start, step, clause;
};

FoldCode code_of(Fold fold, Type type) {
  const bool real = is_real(type);
  const std::string name = value_name(type);
  const auto limit = [&](bool most) {
    if (real) return literal(most ? -__builtin_inf() : __builtin_inf(), type);
    return "limit<" + name + ">(" + (most ? "false)" : "true)");
  };
  switch (fold) {
    case Fold::kSum: return {"0", "$0 + $1", "+"};
    case Fold::kProduct: return {"1", "$0 * $1", "*"};
    case Fold::kMost: return {limit(true), "x_max($0, $1)", "most"};
    case Fold::kLeast: return {limit(false), "x_min($0, $1)", "least"};
    case Fold::kAny: return {"0", "$0 | $1", "|"};
    case Fold::kAll: return {"1", "$0 & $1", "&"};
    default: return {};
  }
}

class NestEmitter {
 public:
  NestEmitter(const Program& program, const Schedule& schedule, const MemoryPlan& plan, const Nest& nest)
      : program_(program), schedule_(schedule), plan_(plan), nest_(nest) {}

  NestCode run(const std::string& name) {
    NestCode code;
    switch (nest_.kind) {
      case Nest::Kind::kRows: emit_rows(code); break;
      case Nest::Kind::kColumns: emit_columns(code); break;
      case Nest::Kind::kProduct: emit_product(code); break;
      case Nest::Kind::kScatter: emit_scatter(code); break;
      case Nest::Kind::kRandom: emit_random(code); break;
    }
    code.body = "static void " + name + "(const Args* a, char* tmp, int64_t begin, int64_t end) {\n"
                "  const int64_t* const s = a->s; (void)s; (void)tmp;\n" + out_ + "}\n\n";
    return code;
  }

 private:
  struct Step {
    int pass = 0;
    Stage stage;
    bool is_row = false;
    bool is_stored = true;
  };

  void line(const std::string& text) { out_ += std::string(static_cast<std::size_t>(2 * depth_), ' ') + text + "\n"; }
  void open(const std::string& text) {
    line(text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  const Buffer& buffer(int index) const { return program_.buffers[static_cast<std::size_t>(index)]; }

  // ---- Places. ----

  std::string address(int index) const {
    const Buffer& from = buffer(index);
    const std::string number = std::to_string(from.index);
    switch (from.origin) {
      case Buffer::Origin::kInput: return "a->in[" + number + "]";
      case Buffer::Origin::kOutput: return "a->out[" + number + "]";
      case Buffer::Origin::kConstant: return "(a->constants + " + number + ")";
      default: break;
    }
    const int slot = plan_.slots[static_cast<std::size_t>(index)];
    if (slot < 0) fail(PLUG_INTERNAL, "Buffer ", index, " of the engine has no place.");
    return "(a->scratch + (" + plan_.offsets[static_cast<std::size_t>(slot)] + "))";
  }

  bool is_inner(std::size_t dim) const { return dim >= nest_.outer.size(); }

  std::string sum(const Affine& place, bool inner) const {
    std::string text;
    const auto add = [&](const std::string& term) { text += (text.empty() ? "" : " + ") + term; };
    if (!inner && !place.offset.is(0)) add(place.offset.text());
    for (std::size_t d = 0; d < place.coefs.size(); ++d) {
      const Poly& coef = place.coefs[d];
      if (is_inner(d) != inner || coef.is(0)) continue;
      add(coef.is(1) ? variables_[d] : variables_[d] + "*" + coef.text());
    }
    return text.empty() ? "0" : text;
  }

  bool varies(const Affine& place) const {
    for (std::size_t d = nest_.outer.size(); d < place.coefs.size(); ++d) {
      if (!place.coefs[d].is(0)) return true;
    }
    return false;
  }

  // Whether the value is another for each inner index.
  bool varies(const Expr* expr) {
    if (const auto found = varies_.find(expr); found != varies_.end()) return found->second;
    bool does = (expr->kind == Kind::kPosition || expr->kind == Kind::kLoad) && varies(expr->place);
    if (expr->kind == Kind::kLoad && row_values_.count(expr->buffer) != 0) does = false;
    for (const Expr* arg : expr->args) does = varies(arg) || does;
    return varies_[expr] = does;
  }

  // A pointer to where a row begins.
  std::string pointer(int index, const Affine& place, bool is_written) {
    const std::string row = sum(place, false);
    const std::string key = std::to_string(index) + (is_written ? "w" : "r") + row;
    const auto [found, is_new] = pointers_.try_emplace(key, "p" + std::to_string(pointers_.size()));
    if (is_new) {
      const std::string type = std::string(is_written ? "" : "const ") + memory_name(buffer(index).type) + "*";
      row_code_ += type + " const " + found->second + " = (" + type + ")" + address(index) + " + (" + row + ");\n";
    }
    return found->second;
  }

  // ---- Values. ----

  // The name of the value, computed before the inner loops or inside them.
  std::string value(const Expr* expr) {
    if (expr->kind == Kind::kNumber) return expr->text;
    if (expr->kind == Kind::kLoad) {
      if (const auto found = row_values_.find(expr->buffer); found != row_values_.end()) return found->second;
    }
    const bool inner = varies(expr);
    auto& known = inner ? inner_names_ : row_names_;
    if (const auto found = known.find(expr); found != known.end()) return found->second;
    std::string text;
    const auto temp = temps_.find(expr);
    const bool is_kept = temp != temps_.end() && temp->second.is_filled;
    if (is_kept) {
      text = temp->second.name + "[" + linear() + "]";
    } else {
      text = compute(expr);
    }
    const std::string name = "v" + std::to_string(names_++);
    (inner ? inner_code_ : row_code_) += "const " + std::string(value_name(expr->type)) + " " + name + " = " + text + ";\n";
    if (inner && temp != temps_.end() && !is_kept) {
      inner_code_ += temp->second.name + "[" + linear() + "] = " + name + ";\n";
      filled_now_.push_back(expr);
    }
    known[expr] = name;
    return name;
  }

  std::string compute(const Expr* expr) {
    std::vector<std::string> args;
    for (const Expr* arg : expr->args) args.push_back(value(arg));
    if (expr->kind == Kind::kApply) return replaced(expr->text, args);
    if (expr->kind == Kind::kPosition) return sum(expr->place, false) + " + " + sum(expr->place, true);
    if (const auto found = turned_.find(expr); found != turned_.end())
      return loaded(buffer(expr->buffer).type, found->second);
    std::string index = sum(expr->place, true);
    for (std::size_t k = 0; k < args.size(); ++k) index += " + " + args[k] + "*" + expr->steps[k].text();
    return loaded(buffer(expr->buffer).type, pointer(expr->buffer, expr->place, false) + "[" + index + "]");
  }

  // Of the inner index, in rows of a thread's own.
  std::string linear() const {
    std::string text;
    const std::vector<Poly> strides = contiguous(nest_.inner);
    for (std::size_t d = 0; d < nest_.inner.size(); ++d) {
      const std::string& variable = variables_[nest_.outer.size() + d];
      text += (text.empty() ? "" : " + ") + (strides[d].is(1) ? variable : variable + "*" + strides[d].text());
    }
    return text.empty() ? "0" : text;
  }

  void flush(std::string& code) {
    std::size_t at = 0;
    while (at < code.size()) {
      const std::size_t end = code.find('\n', at);
      line(code.substr(at, end - at));
      at = end + 1;
    }
    code.clear();
  }

  void put(const Stage& stage, const std::string& text, std::string& code) {
    const Buffer& to = buffer(stage.buffer);
    std::string index = sum(stage.place, true);
    const std::string place = pointer(stage.buffer, stage.place, true) + "[" + index + "]";
    code += place + " = " + stored(to.type, text) + ";\n";
  }

  // ---- Rows. ----

  void find_steps() {
    Pool& pool = const_cast<Pool&>(program_.pool);
    Pool::Values values;
    for (const Nest::Item& item : nest_.items) {
      Step step{.stage = item.stage, .is_row = item.is_row};
      step.stage.value = pool.inline_loads(item.stage.value, values);
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
        values[item.stage.buffer] = step.stage.value;
      }
      passes_ = std::max(passes_, step.pass + 1);
      steps_.push_back(std::move(step));
    }
    // What overwrites an argument is written after all that reads it.
    for (Step& step : steps_) {
      if (buffer(step.stage.buffer).overwritten >= 0) step.pass = passes_ - 1;
    }
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
    if (before.count(expr) != 0 && expr->kind != Kind::kNumber && expr->cost >= worth) {
      add_temp(expr);
      return;
    }
    for (const Expr* arg : expr->args) visit(arg, before, now, worth);
  }

  void add_temp(const Expr* expr) {
    if (temps_.count(expr) != 0) return;
    const std::string name = "t" + std::to_string(temps_.size());
    const std::string type = value_name(expr->type);
    line(type + "* const " + name + " = (" + type + "*)(tmp + " + temp_bytes_ + ");");
    const Poly bytes = product(nest_.inner) * Poly(expr->type == Type::kBool ? 1 : bytes_of(expr->type));
    temp_bytes_ += "+(" + bytes.text() + "+63)/64*64";
    temps_[expr] = {name, false};
  }

  void emit_rows(NestCode& code) {
    const bool is_flat = nest_.outer.empty() && !nest_.is_split && nest_.inner.size() == 1;
    const std::size_t rank = nest_.outer.size() + nest_.inner.size();
    for (std::size_t d = 0; d < rank; ++d) variables_.push_back((is_inner(d) ? "i" : "o") + std::to_string(d));
    find_steps();
    find_temps();
    if (const int across = crossed_dim(); across >= 0) return emit_tiles(code, static_cast<std::size_t>(across));
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
    const std::string height = nest_.outer[across].text(), width = nest_.inner[0].text(), tiles = "((" + height + "+15)/16)";
    Poly rest = 1;
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) rest = d == across ? rest : rest * nest_.outer[d];
    code.rows = rest.text() + "*" + tiles;
    code.grain = grain(nest_.inner[0] * Poly(16));
    code.bytes = "0";
    open("for (int64_t row = begin; row < end; ++row)");
    line("int64_t left = row / " + tiles + "; (void)left;");
    line("const int64_t top = row % " + tiles + " * 16, bottom = top + 16 < " + height + " ? top + 16 : " + height + ";");
    for (std::size_t d = nest_.outer.size(); d-- > 0;) {
      if (d != across) decode(d);
    }
    open("for (int64_t first = 0; first < " + width + "; first += 64)");
    line("const int64_t last = first + 64 < " + width + " ? first + 64 : " + width + ";");
    const std::string o = variables_[across];
    for (const Step& step : steps_) {
      for (const Expr* load : loads_of(step.stage.value)) turn(*load, across);
    }
    open("for (int64_t " + o + " = top; " + o + " < bottom; ++" + o + ")");
    emit_passes("first", "last");
    close();
    close();
    close();
  }

  // Brings a block of what lies across into the order of the loops: each line of the cache is read once.
  void turn(const Expr& load, std::size_t across) {
    const Poly& along = load.place.coefs[nest_.outer.size()];
    const bool lies_across = load.args.empty() && load.place.coefs[across].is(1) && !along.is(0) && !along.is(1);
    if (!lies_across || turned_.count(&load) != 0) return;
    const std::string name = "q" + std::to_string(turned_.size()), type = memory_name(buffer(load.buffer).type);
    const std::string &o = variables_[across], &i = variables_[nest_.outer.size()];
    Affine row = load.place;
    row.coefs[across] = 0;
    line(type + " " + name + "[16*64];");
    open("");
    line("const " + type + "* const from = (const " + type + "*)" + address(load.buffer) + " + (" + sum(row, false) + ");");
    line("for (int64_t " + i + " = first; " + i + " < last; ++" + i + ")");
    line("  for (int64_t " + o + " = top; " + o + " < bottom; ++" + o + ") " + name + "[(" + o + "-top)*64 + " + i + "-first] = from[" + o +
         " + " + sum(row, true) + "];");
    close();
    turned_[&load] = name + "[(" + o + "-top)*64 + " + i + "-first]";
  }

  void decode(std::size_t d) {
    line("const int64_t o" + std::to_string(d) + " = left % " + nest_.outer[d].text() + "; left /= " + nest_.outer[d].text() + ";");
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
    inner_names_.clear();
    std::string writes, clauses;
    for (const Step& step : steps_) {
      if (step.pass != pass || step.is_row) continue;
      if (step.stage.fold != Fold::kNone) {
        emit_fold(step, writes, clauses);
      } else if (step.is_stored) {
        put(step.stage, value(step.stage.value), writes);
      }
    }
    flush(row_code_);
    if (!inner_code_.empty() || !writes.empty()) emit_loops(writes, clauses);
    for (const Expr* expr : filled_now_) temps_[expr].is_filled = true;
    filled_now_.clear();
    for (const Step& step : steps_) {
      if (step.pass == pass) emit_row_value(step);
    }
  }

  void emit_fold(const Step& step, std::string& writes, std::string& clauses) {
    const Type type = step.stage.value->type;
    const FoldCode fold = code_of(step.stage.fold, type);
    const std::string sum = "r" + std::to_string(step.stage.buffer) + "_";
    const std::string what = value(step.stage.value);
    row_code_ += std::string(type == Type::kBool ? "int" : value_name(type)) + " " + sum + " = " + fold.start + ";\n";
    writes += sum + " = " + replaced(fold.step, {sum, what}) + ";\n";
    const bool is_named = step.stage.fold == Fold::kMost || step.stage.fold == Fold::kLeast;
    clauses += " reduction(" + fold.clause + (is_named ? "_" + std::string(value_name(type)) : "") + ":" + sum + ")";
  }

  void emit_loops(std::string& writes, const std::string& clauses) {
    const std::size_t first = nest_.outer.size(), count = nest_.inner.size();
    for (std::size_t d = 0; d < count; ++d) {
      const std::string& i = variables_[first + d];
      const bool is_last = d + 1 == count;
      if (is_last) line("#pragma omp simd" + clauses);
      open("for (int64_t " + i + " = " + (is_last ? first_ : "0") + "; " + i + " < " + (is_last ? end_ : nest_.inner[d].text()) + "; ++" + i + ")");
    }
    flush(inner_code_);
    flush(writes);
    for (std::size_t d = 0; d < count; ++d) close();
  }

  void emit_row_value(const Step& step) {
    std::string writes;
    if (step.stage.fold != Fold::kNone) {
      const std::string name = "r" + std::to_string(step.stage.buffer);
      row_code_ += "const " + std::string(value_name(step.stage.value->type)) + " " + name + " = " + name + "_; (void)" + name + ";\n";
      if (step.is_stored) put(step.stage, name, writes);
    } else if (step.is_row && step.is_stored) {
      put(step.stage, value(step.stage.value), writes);
    }
    row_code_ += writes;
    flush(row_code_);
  }

  // ---- Columns. ----

  static constexpr int kWidth = 256;

  void emit_columns(NestCode& code) {
    const std::string width = nest_.inner[0].text(), blocks = "((" + width + "+255)/256)";
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) variables_.push_back("o" + std::to_string(d));
    variables_.push_back("i");
    for (std::size_t d = 0; d < nest_.reduced.size(); ++d) variables_.push_back("k" + std::to_string(d));
    code.rows = product(nest_.outer).text() + "*" + blocks;
    code.grain = "x_grain(8192L, 64*" + product(nest_.reduced).text() + ")";
    code.bytes = "0";
    open("for (int64_t row = begin; row < end; ++row)");
    line("int64_t left = row / " + blocks + "; (void)left;");
    line("const int64_t from = row % " + blocks + " * 256, most = " + width + ", to = from + 256 < most ? from + 256 : most;");
    for (std::size_t d = nest_.outer.size(); d-- > 0;) decode(d);
    for (const Nest::Item& item : nest_.items) open_column(item.stage);
    std::string writes;
    for (const Nest::Item& item : nest_.items) {
      const std::string place = "c" + std::to_string(item.stage.buffer) + "[i - from]";
      writes += place + " = " + replaced(code_of(item.stage.fold, item.stage.value->type).step, {place, value(item.stage.value)}) + ";\n";
    }
    flush(row_code_);
    for (std::size_t d = 0; d < nest_.reduced.size(); ++d) {
      const std::string k = "k" + std::to_string(d);
      open("for (int64_t " + k + " = 0; " + k + " < " + nest_.reduced[d].text() + "; ++" + k + ")");
    }
    line("#pragma omp simd");
    open("for (int64_t i = from; i < to; ++i)");
    flush(inner_code_);
    flush(writes);
    close();
    for (std::size_t d = 0; d < nest_.reduced.size(); ++d) close();
    for (const Nest::Item& item : nest_.items) put(item.stage, column_value(item.stage), writes);
    flush(row_code_);
    open("for (int64_t i = from; i < to; ++i)");
    flush(writes);
    close();
    close();
  }

  // Sums of float32 over many rows keep their digits in float64.
  bool is_long_sum(const Stage& stage) const {
    const auto count = product(nest_.reduced).number();
    return stage.fold == Fold::kSum && stage.value->type == Type::kF32 && (!count || *count > 4096);
  }

  void open_column(const Stage& stage) {
    const Type type = is_long_sum(stage) ? Type::kF64 : stage.value->type;
    const std::string name = "c" + std::to_string(stage.buffer);
    line(std::string(type == Type::kBool ? "uint8_t" : value_name(type)) + " " + name + "[256];");
    line("for (int j = 0; j < 256; ++j) " + name + "[j] = " + code_of(stage.fold, type).start + ";");
  }

  std::string column_value(const Stage& stage) const {
    const std::string place = "c" + std::to_string(stage.buffer) + "[i - from]";
    return is_long_sum(stage) ? "(float)" + place : place;
  }

  // ---- Products. ----

  void emit_product(NestCode& code) {
    const Stage& stage = nest_.items[0].stage;
    const std::size_t rank = nest_.outer.size();
    const std::string width = nest_.outer[rank - 1].text(), blocks = "((" + width + "+63)/64)";
    const std::string type = value_name(stage.value->type);
    const Poly batches = product(nest_.outer, 0, rank - 2);
    code.rows = batches.text() + "*" + blocks;
    code.grain = "x_grain(1024L, " + nest_.reduced[0].text() + "*" + nest_.outer[rank - 2].text() + "/64)";
    code.bytes = std::to_string(bytes_of(stage.value->type)) + "*64*" + nest_.reduced[0].text();
    open("for (int64_t row = begin; row < end; ++row)");
    line("const int64_t from = row % " + blocks + " * 64, most = " + width + " - from; int64_t left = row / " + blocks + "; (void)left;");
    for (std::size_t d = 0; d < rank; ++d) variables_.push_back(d + 2 < rank ? "o" + std::to_string(d) : "0");
    variables_.emplace_back("0");
    for (std::size_t d = rank - 2; d-- > 0;) decode(d);
    const Expr &a = *stage.value->args[0], &b = *stage.value->args[1];
    const auto at = [&](const Affine& place, std::size_t d) { return "(" + place.coefs[d].text() + ")"; };
    const std::string left = pointer(a.buffer, without_last(a.place), false), right = pointer(b.buffer, without_last(b.place), false);
    const std::string to = pointer(stage.buffer, without_last(stage.place), true);
    flush(row_code_);
    line("product_<" + type + ">(" + left + ", " + at(a.place, rank - 2) + ", " + at(a.place, rank) + ", " + right + " + from*" +
         at(b.place, rank - 1) + ", " + at(b.place, rank) + ", " + at(b.place, rank - 1) + ", " + to + " + from*" +
         at(stage.place, rank - 1) + ", " + at(stage.place, rank - 2) + ", " + at(stage.place, rank - 1) + ", " +
         nest_.outer[rank - 2].text() + ", " + nest_.reduced[0].text() + ", most < 64 ? most : 64, (" + type + "*)tmp);");
    close();
  }

  // Of the first element of a matrix.
  Affine without_last(Affine place) const {
    for (std::size_t d = nest_.outer.size() - 2; d < place.coefs.size(); ++d) place.coefs[d] = 0;
    return place;
  }

  // ---- The rest. ----

  // Whether threads may share the last dim: each writes elements of its own.
  bool spreads(const Stage& stage) const {
    if (nest_.outer.empty() || stage.place.coefs.back().is(0)) return false;
    for (const Expr* position : stage.positions) {
      if (looks_at_last(position)) return false;
    }
    return true;
  }

  static bool looks_at_last(const Expr* expr) {
    const bool has_place = expr->kind == Kind::kLoad || expr->kind == Kind::kPosition;
    if (has_place && !expr->place.coefs.back().is(0)) return true;
    for (const Expr* arg : expr->args) {
      if (looks_at_last(arg)) return true;
    }
    return false;
  }

  void emit_scatter(NestCode& code) {
    const Stage& stage = nest_.items[0].stage;
    const bool is_shared = spreads(stage);
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) variables_.push_back("o" + std::to_string(d));
    code.rows = is_shared ? nest_.outer.back().text() : "1";
    code.grain = is_shared ? "64" : "1";
    code.bytes = "0";
    if (!is_shared) line("(void)begin; (void)end;");
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) {
      const std::string o = variables_[d];
      const bool is_part = is_shared && d + 1 == nest_.outer.size();
      open("for (int64_t " + o + " = " + (is_part ? "begin" : "0") + "; " + o + " < " + (is_part ? "end" : nest_.outer[d].text()) + "; ++" + o + ")");
    }
    std::string index = "0";
    for (std::size_t k = 0; k < stage.positions.size(); ++k)
      index += " + " + value(stage.positions[k]) + "*" + stage.steps[k].text();
    const std::string what = value(stage.value);
    const std::string place = pointer(stage.buffer, stage.place, true) + "[" + index + "]";
    const Type memory = buffer(stage.buffer).type;
    row_code_ += place + " = " + stored(memory, stage.accumulates ? loaded(memory, place) + " + " + what : what) + ";\n";
    flush(row_code_);
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) close();
  }

  void emit_random(NestCode& code) {
    const Stage& stage = nest_.items[0].stage;
    const bool is_double = buffer(stage.buffer).type == Type::kF64;
    const std::string each = is_double ? "32" : "64";
    code.rows = "((" + product(stage.kept).text() + "+" + each + "-1)/" + each + ")";
    code.grain = "64";
    code.bytes = "0";
    line("for (int64_t row = begin; row < end; ++row) draw_" + std::string(is_double ? "f64" : "f32") + "(a->rng[" +
         stage.steps[0].text() + "], row, (" + (is_double ? "double" : "float") + "*)" + address(stage.buffer) + " + row*" + each + ");");
  }

  struct Temp {
    std::string name;
    bool is_filled;
  };

  const Program& program_;
  const Schedule& schedule_;
  const MemoryPlan& plan_;
  const Nest& nest_;
  std::string out_, row_code_, inner_code_, temp_bytes_ = "0";
  std::string first_, end_;  // of the innermost loop
  int depth_ = 1, names_ = 0, passes_ = 1;
  std::vector<std::string> variables_;
  std::vector<Step> steps_;
  std::map<int, int> folded_in_;
  std::map<int, std::string> row_values_;
  std::map<std::string, std::string> pointers_;
  std::map<const Expr*, bool> varies_;
  std::map<const Expr*, std::string> inner_names_, row_names_;
  std::map<const Expr*, Temp> temps_;
  std::map<const Expr*, std::string> turned_;  // where a block of it lies
  std::vector<const Expr*> filled_now_;
};

}  // namespace

NestCode emit_nest(const Program& program, const Schedule& schedule, const MemoryPlan& plan, const Nest& nest,
                   const std::string& name) {
  return NestEmitter(program, schedule, plan, nest).run(name);
}

}  // namespace torchplug::sim::compiler
