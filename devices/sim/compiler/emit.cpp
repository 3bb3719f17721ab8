#include "emit.h"

namespace torchplug::sim::compiler {
namespace {

NestCode emit_nest(const NestSource& source, const Nest& nest) {
  switch (nest.kind) {
    case Nest::Kind::kColumns: return emit_columns(source, nest);
    case Nest::Kind::kProduct: return emit_product(source, nest);
    case Nest::Kind::kScatter: return emit_scatter(source, nest);
    case Nest::Kind::kRandom: return emit_random(source, nest);
    default: return emit_rows(source, nest);
  }
}

std::string function_of(const NestCode& nest, const std::string& name) {
  return "static void " + name + "(const Args* a, char* tmp, int64_t begin, int64_t end) {\n" +
         "  const int64_t* const s = a->s; (void)s; (void)tmp;\n" + nest.body + "}\n\n";
}

std::string table(const std::string& result, const std::string& name,
                  const std::vector<std::string>& values) {
  std::string text =
      "extern \"C\" int64_t " + name + "(int32_t step, const int64_t* s) {\n  (void)s;\n  switch (step) {\n";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += "    case " + std::to_string(i) + ": return " + values[i] + ";\n";
  return text + "    default: return " + result + ";\n  }\n}\n";
}

}  // namespace

std::string emit(Program& program, const Schedule& schedule) {
  const MemoryPlan plan = plan_memory(program, schedule);
  std::string code;
  std::vector<std::string> rows, grains, bytes, draws;
  std::string steps =
      "extern \"C\" void engine_step(int32_t step, const Args* a, char* tmp, int64_t begin, int64_t end) {\n"
      "  switch (step) {\n";
  for (std::size_t n = 0; n < schedule.nests.size(); ++n) {
    const std::string name = "nest_" + std::to_string(n);
    const NestCode nest = emit_nest({program, schedule, plan}, schedule.nests[n]);
    code += function_of(nest, name);
    rows.push_back(nest.rows);
    grains.push_back(nest.grain);
    bytes.push_back(nest.bytes);
    steps += "    case " + std::to_string(n) + ": return " + name + "(a, tmp, begin, end);\n";
  }
  steps += "    default: (void)a; (void)tmp; (void)begin; (void)end;\n  }\n}\n";
  for (const Poly& draw : program.draws) draws.push_back(draw.text());
  const std::string shape = std::to_string(program.inputs) + ", " + std::to_string(program.outputs) + ", " +
                            std::to_string(program.symbols) + ", " + std::to_string(program.draws.size()) +
                            ", " + std::to_string(schedule.nests.size());
  return prelude_for(code) + code + steps + table("0", "engine_rows", rows) +
         table("1", "engine_grain", grains) + table("0", "engine_row_bytes", bytes) +
         table("0", "engine_draws", draws) +
         "extern \"C\" int64_t engine_scratch(const int64_t* s) { (void)s; return " + plan.bytes + "; }\n" +
         "extern \"C\" const int32_t engine_shape[] = {" + shape + "};\n";
}

}  // namespace torchplug::sim::compiler
