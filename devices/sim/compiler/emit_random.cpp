#include "nest_writer.h"

namespace torchplug::sim::compiler {
namespace {

// Whole groups of random numbers, as philox.h orders them.
class RandomEmitter : public NestWriter {
  using NestWriter::NestWriter;

  void emit(NestCode& code) override {
    const Stage& stage = nest_.items[0].stage;
    const bool is_double = buffer(stage.buffer).type == Type::kF64;
    const std::string each = is_double ? "32" : "64";
    code.rows = "((" + product(stage.kept).text() + "+" + each + "-1)/" + each + ")";
    code.grain = "64";
    code.bytes = "0";
    line("for (int64_t row = begin; row < end; ++row) draw_" + std::string(is_double ? "f64" : "f32") +
         "(a->rng[" + stage.steps[0].text() + "], row, (" + (is_double ? "double" : "float") + "*)" +
         address(stage.buffer) + " + row*" + each + ");");
  }
};

}  // namespace

NestCode emit_random(const NestSource& source, const Nest& nest) { return RandomEmitter(source, nest).run(); }

}  // namespace torchplug::sim::compiler
