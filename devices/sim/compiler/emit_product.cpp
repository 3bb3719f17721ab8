#include "nest_writer.h"

namespace torchplug::sim::compiler {
namespace {

// Products of matrices: 64 columns at a time, by product_() of the prelude.
class ProductEmitter : public NestWriter {
  using NestWriter::NestWriter;

  void emit(NestCode& code) override {
    const Stage& stage = nest_.items[0].stage;
    const std::size_t rank = nest_.outer.size();
    const std::string width = nest_.outer[rank - 1].text(), blocks = "((" + width + "+63)/64)";
    const std::string type = value_name(stage.value->type);
    const Poly batches = product(nest_.outer, 0, rank - 2);
    code.rows = batches.text() + "*" + blocks;
    code.grain = "x_grain(1024L, " + nest_.reduced[0].text() + "*" + nest_.outer[rank - 2].text() + "/64)";
    code.bytes = std::to_string(bytes_of(stage.value->type)) + "*64*" + nest_.reduced[0].text();
    open("for (int64_t row = begin; row < end; ++row)");
    line("const int64_t from = row % " + blocks + " * 64, most = " + width +
         " - from; int64_t left = row / " + blocks + "; (void)left;");
    for (std::size_t d = 0; d < rank; ++d) variables_.push_back(d + 2 < rank ? "o" + std::to_string(d) : "0");
    variables_.emplace_back("0");
    for (std::size_t d = rank - 2; d-- > 0;) decode(d);
    const Expr &a = *stage.value->args[0], &b = *stage.value->args[1];
    const auto at = [&](const Affine& place, std::size_t d) { return "(" + place.coefs[d].text() + ")"; };
    const std::string left = pointer(a.buffer, without_last(a.place), false),
                      right = pointer(b.buffer, without_last(b.place), false);
    const std::string to = pointer(stage.buffer, without_last(stage.place), true);
    flush(row_code_);
    line("product_<" + type + ">(" + left + ", " + at(a.place, rank - 2) + ", " + at(a.place, rank) + ", " +
         right + " + from*" + at(b.place, rank - 1) + ", " + at(b.place, rank) + ", " +
         at(b.place, rank - 1) + ", " + to + " + from*" + at(stage.place, rank - 1) + ", " +
         at(stage.place, rank - 2) + ", " + at(stage.place, rank - 1) + ", " + nest_.outer[rank - 2].text() +
         ", " + nest_.reduced[0].text() + ", most < 64 ? most : 64, (" + type + "*)tmp);");
    close();
  }

  // Of the first element of a matrix.
  Affine without_last(Affine place) const {
    for (std::size_t d = nest_.outer.size() - 2; d < place.coefs.size(); ++d) place.coefs[d] = 0;
    return place;
  }
};

}  // namespace

NestCode emit_product(const NestSource& source, const Nest& nest) {
  return ProductEmitter(source, nest).run();
}

}  // namespace torchplug::sim::compiler
