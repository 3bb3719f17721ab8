#pragma once
// A scheduled Program as C++ that needs no header: one function for each nest, and what an Engine asks.

#include <string>

#include "schedule.h"

namespace torchplug::sim::compiler {

std::string emit(Program& program, const Schedule& schedule);

// The body of one nest's function nest_<index>(a, tmp, begin, end), with how many rows it has, how many of
// them are worth a thread and how many bytes a thread needs for rows of its own: all in C++.
struct NestCode {
  std::string body;
  std::string rows, grain, bytes;
};
struct NestSource {
  Program& program;
  const Schedule& schedule;
  const MemoryPlan& plan;
};
// Each kind of nest in its own file.
NestCode emit_rows(const NestSource& source, const Nest& nest);
NestCode emit_columns(const NestSource& source, const Nest& nest);
NestCode emit_product(const NestSource& source, const Nest& nest);
NestCode emit_scatter(const NestSource& source, const Nest& nest);
NestCode emit_random(const NestSource& source, const Nest& nest);

// What generated code calls; by the name it is called by.
std::string prelude_for(const std::string& code);

}  // namespace torchplug::sim::compiler
