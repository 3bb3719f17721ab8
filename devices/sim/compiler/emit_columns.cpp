#include "nest_writer.h"

namespace torchplug::sim::compiler {
namespace {

// Folds of neighbours side by side, 256 of them at a time.
class ColumnsEmitter : public NestWriter {
  using NestWriter::NestWriter;

  void emit(NestCode& code) override {
    const std::string width = nest_.inner[0].text(), blocks = "((" + width + "+255)/256)";
    for (std::size_t d = 0; d < nest_.outer.size(); ++d) variables_.push_back("o" + std::to_string(d));
    variables_.emplace_back("i");
    for (std::size_t d = 0; d < nest_.reduced.size(); ++d) variables_.push_back("k" + std::to_string(d));
    code.rows = product(nest_.outer).text() + "*" + blocks;
    code.grain = "x_grain(8192L, 64*" + product(nest_.reduced).text() + ")";
    code.bytes = "0";
    open("for (int64_t row = begin; row < end; ++row)");
    line("int64_t left = row / " + blocks + "; (void)left;");
    line("const int64_t from = row % " + blocks + " * 256, most = " + width +
         ", to = from + 256 < most ? from + 256 : most;");
    for (std::size_t d = nest_.outer.size(); d-- > 0;) decode(d);
    for (const Nest::Item& item : nest_.items) open_column(item.stage);
    std::string writes;
    for (const Nest::Item& item : nest_.items) {
      const std::string place = "c" + std::to_string(item.stage.buffer) + "[i - from]";
      writes += place + " = " + next(item.stage, place) + ";\n";
    }
    flush(row_code_);
    for (std::size_t d = 0; d < nest_.reduced.size(); ++d) {
      open_loop("k" + std::to_string(d), "0", nest_.reduced[d].text());
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

  // One more value; of a sum of products in one step, where the processor has it.
  std::string next(const Stage& stage, const std::string& place) {
    const Expr& what = *stage.value;
    const bool is_product = stage.fold == Fold::kSum && is_real(what.type) && !is_long_sum(stage) &&
                            what.kind == Expr::Kind::kApply && what.text == "($0 * $1)";
    if (is_product) return "fma_(" + value(what.args[0]) + ", " + value(what.args[1]) + ", " + place + ")";
    return replaced(code_of(stage.fold, what.type).step, {place, value(&what)});
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
};

}  // namespace

NestCode emit_columns(const NestSource& source, const Nest& nest) {
  return ColumnsEmitter(source, nest).run();
}

}  // namespace torchplug::sim::compiler
