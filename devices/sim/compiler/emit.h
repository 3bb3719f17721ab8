#pragma once
// A scheduled Program as C++ that needs no header: one function for each nest, and what an Engine asks.

#include <string>

#include "schedule.h"

namespace torchplug::sim::compiler {

std::string emit(const Program& program, const Schedule& schedule);

// One nest as the function nest_<index>(a, tmp, begin, end), with how many rows it has, how many of them are
// worth a thread and how many bytes a thread needs for rows of its own: all in C++.
struct NestCode {
  std::string body;
  std::string rows, grain, bytes;
};
NestCode emit_nest(const Program& program, const Schedule& schedule, const MemoryPlan& plan, const Nest& nest,
                   const std::string& name);

// What generated code calls; by the name it is called by.
std::string prelude_for(const std::string& code);

}  // namespace torchplug::sim::compiler
