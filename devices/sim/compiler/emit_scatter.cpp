#include <algorithm>
#include "nest_writer.h"

namespace torchplug::sim::compiler {
namespace {

// Elements written where other elements say, one after the other.
class ScatterEmitter : public NestWriter {
  using NestWriter::NestWriter;

  // Whether threads may share the last dim: each writes elements of its own.
  bool spreads(const Stage& stage) const {
    if (nest_.outer.empty() || stage.place.coefs.back().is(0)) return false;
    return std::ranges::none_of(stage.positions, looks_at_last);
  }

  static bool looks_at_last(const Expr* expr) {
    const bool has_place = expr->kind == Expr::Kind::kLoad || expr->kind == Expr::Kind::kPosition;
    if (has_place && !expr->place.coefs.back().is(0)) return true;
    return std::ranges::any_of(expr->args, looks_at_last);
  }

  void emit(NestCode& code) override {
    const Stage& stage = nest_.items[0].stage;
    const bool is_shared = spreads(stage);
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) variables_.push_back("o" + std::to_string(d));
    code.rows = is_shared ? nest_.outer.back().text() : "1";
    code.grain = is_shared ? "64" : "1";
    code.bytes = "0";
    if (!is_shared) line("(void)begin; (void)end;");
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) {
      const bool is_part = is_shared && d + 1 == nest_.outer.size();
      open_loop(variables_[d], is_part ? "begin" : "0", is_part ? "end" : nest_.outer[d].text());
    }
    std::string index = "0";
    for (std::size_t k = 0; k < stage.positions.size(); ++k)
      index += " + " + value(stage.positions[k]) + "*" + stage.steps[k].text();
    const std::string what = value(stage.value);
    const std::string place = pointer(stage.buffer, stage.place, true) + "[" + index + "]";
    const Type memory = buffer(stage.buffer).type;
    row_code_ += place + " = " +
                 stored(memory, stage.accumulates ? loaded(memory, place) + " + " + what : what) + ";\n";
    flush(row_code_);
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) close();
  }
};

}  // namespace

NestCode emit_scatter(const NestSource& source, const Nest& nest) {
  return ScatterEmitter(source, nest).run();
}

}  // namespace torchplug::sim::compiler
